/**
 * Shapes of JSON objects as tables, and the first place where a value does not have its shape.
 *
 * Each protocol declares its requests with these and words a mismatch as its provider does. Unlike the strict reader
 * for the gateway's own callers, null is a value like any other, and a mismatch is data, not a sentence.
 */

import { isObject } from '../base/loose.ts';

/** A step from a value inwards. A tag is the variant that was chosen on the way, which only some providers name. */
export type Step = string | number | { readonly tag: string };

/** Why a value has not its shape. */
export type Mismatch = {
  readonly path: readonly Step[];
  readonly is: 'unknown' | 'missing' | 'wrong';
  /** What should have been there, e.g. `a string`. */
  readonly expected: string;
  readonly value: unknown;
  /** The strings that would have been right, where it is one of a few. */
  readonly allowed: readonly string[];
};

/** A path as `messages[0].content[1].text`, without its tags; `spell` writes a key as its provider does. */
export function renderPath(path: readonly Step[], spell = (key: string): string => key): string {
  return path.reduce<string>((place, step) => {
    if (typeof step === 'object') return place;
    if (typeof step === 'number') return `${place}[${step}]`;
    return place === '' ? spell(step) : `${place}.${spell(step)}`;
  }, '');
}

/** Undefined when the value at the path has the shape. */
export type Shape = (value: unknown, path: readonly Step[]) => Mismatch | undefined;

type Shapes = Readonly<Record<string, Shape>>;

function mismatch(path: readonly Step[], is: Mismatch['is'], expected: string, value: unknown, allowed: readonly string[] = []): Mismatch {
  return { path, is, expected, value, allowed };
}

function typed(expected: string, isRight: (value: unknown) => boolean): Shape {
  return (value, path) => (isRight(value) ? undefined : mismatch(path, 'wrong', expected, value));
}

/** Any value, and the plain types. */
export const anything: Shape = () => undefined;
export const string = typed('a string', (value) => typeof value === 'string');
export const boolean = typed('a boolean', (value) => typeof value === 'boolean');
export const number = typed('a number', (value) => typeof value === 'number');
/** A whole number of zero or more. */
export const count = typed('an integer', (value) => Number.isInteger(value) && Number(value) >= 0);
/** Any whole number. */
export const integer = typed('an integer', (value) => Number.isInteger(value));
/** An object with whatever in it. */
export const anyObject = typed('an object', isObject);

/** Padded base64. Looked at for wrong characters only: a pattern over megabytes would need as much stack. */
export const base64 = typed('base64', isBase64);
export const PDF_EXPECTED = 'a PDF in base64';
/** What begins as a PDF does. */
export const PDF = typed(PDF_EXPECTED, (value) => isBase64(value) && String(value).startsWith('JVBERi0'));

/** Whether a value is padded base64. */
export function isBase64(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length % 4 === 0 && !/[^A-Za-z0-9+/=]/.test(value);
}

/** A string that matches. */
export function matching(pattern: RegExp): Shape {
  return typed(`a string matching '${pattern.source}'`, (value) => typeof value === 'string' && pattern.test(value));
}

/** One of a few strings. */
export function oneOf(...allowed: readonly string[]): Shape {
  return (value, path) =>
    allowed.includes(value as string) ? undefined : mismatch(path, 'wrong', allowed.map((name) => `'${name}'`).join(', '), value, allowed);
}

/** Null, or else the shape. */
export function nullable(shape: Shape): Shape {
  return (value, path) => (value === null ? undefined : shape(value, path));
}

/** A string, or else the other shape. */
export function stringOr(shape: Shape): Shape {
  return (value, path) => (typeof value === 'string' ? undefined : shape(value, path));
}

/** An array, every item of the shape. */
export function listOf(item: Shape): Shape {
  return (value, path) => {
    if (!Array.isArray(value)) return mismatch(path, 'wrong', 'an array', value);
    return first(value, (element, index) => item(element, [...path, index]));
  };
}

/** An object with any keys, every value of the shape. */
export function mapOf(shape: Shape): Shape {
  return (value, path) => {
    if (!isObject(value)) return mismatch(path, 'wrong', 'an object', value);
    return first(Object.keys(value), (key) => shape(value[key], [...path, key]));
  };
}

/** An object with exactly these fields. */
export function object(required: Shapes, optional: Shapes = {}): Shape {
  return (value, path) => {
    if (!isObject(value)) return mismatch(path, 'wrong', 'an object', value);
    const missing = Object.keys(required).find((key) => !Object.hasOwn(value, key));
    if (missing !== undefined) return mismatch([...path, missing], 'missing', 'a value', undefined);
    return first(Object.keys(value), (key) => {
      const shape = own(required, key) ?? own(optional, key);
      const place = [...path, key];
      return shape === undefined ? mismatch(place, 'unknown', 'nothing', value[key]) : shape(value[key], place);
    });
  };
}

/** An object with these fields and any others. */
export function openObject(required: Shapes): Shape {
  return (value, path) => {
    if (!isObject(value)) return mismatch(path, 'wrong', 'an object', value);
    return first(Object.keys(required), (key) => {
      const place = [...path, key];
      return Object.hasOwn(value, key) ? required[key]?.(value[key], place) : mismatch(place, 'missing', 'a value', undefined);
    });
  };
}

/** One of several objects, told apart by the string in a field of theirs. */
export function tagged(tag: string, variants: Shapes): Shape {
  const names = Object.keys(variants);
  const named = oneOf(...names);
  return (value, path) => {
    if (!isObject(value)) return mismatch(path, 'wrong', 'an object', value);
    if (!Object.hasOwn(value, tag)) return mismatch([...path, tag], 'missing', 'a value', undefined);
    const name = value[tag];
    return named(name, [...path, tag]) ?? own(variants, String(name))?.(value, [...path, { tag: String(name) }]);
  };
}

function own(shapes: Shapes, key: string): Shape | undefined {
  return Object.hasOwn(shapes, key) ? shapes[key] : undefined;
}

/** The first result that is not undefined. */
export function first<T, R>(items: readonly T[], find: (item: T, index: number) => R | undefined): R | undefined {
  for (const [index, item] of items.entries()) {
    const found = find(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}
