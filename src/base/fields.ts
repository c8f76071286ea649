/**
 * A strict reader over parsed JSON objects.
 *
 * Every object is opened with the fields it may have: any other, and a key that came twice, is refused before
 * anything is read. A problem names its path as a caller would write it: `messages[0].content[1].colour`. null
 * reads as absent. A problem is thrown as `FieldProblem` and meant to be caught once, where the whole object is
 * decoded.
 */

import { hintOf, nearest } from './nearest.ts';
import { JsonArray, JsonNumber, JsonObject } from './json/value.ts';
import type { JsonValue } from './json/value.ts';

/** Where a value stands. Paths are linked upwards and rendered only for an error. */
export type Path = { readonly parent: Path | undefined; readonly key: string | number };

/** The path as text, e.g. `messages[0].text`; empty for the root. */
export function renderPath(path: Path | undefined): string {
  if (path === undefined) return '';
  const before = renderPath(path.parent);
  if (typeof path.key === 'number') return `${before}[${path.key}]`;
  const key = renderKey(path.key);
  if (before === '') return key;
  return key.startsWith('[') ? before + key : `${before}.${key}`;
}

/** Longest piece of a caller's own key that an error repeats. */
const KEY_CHARS_MAX = 64;

function renderKey(key: string): string {
  if (/^[A-Za-z_$][\w$-]{0,63}$/.test(key)) return key;
  return `[${JSON.stringify(key.length > KEY_CHARS_MAX ? key.slice(0, KEY_CHARS_MAX) + '…' : key)}]`;
}

/** A field that is missing, unknown, doubled, of the wrong type or of an unacceptable value. */
export class FieldProblem {
  /** Empty for the whole. */
  readonly place: string;
  readonly message: string;
  /** A field is not there, rather than wrong: where another is misspelt, that problem says more. */
  readonly isMissing: boolean;
  /** The key as the message repeats it where the caller made it up, rather than one of ours. */
  readonly quote: string | undefined;
  constructor(path: Path | undefined, complaint: string, { isMissing = false, quote }: { isMissing?: boolean; quote?: string } = {}) {
    const place = renderPath(path);
    this.place = place;
    this.message = place === '' ? complaint : `${place}: ${complaint}`;
    this.isMissing = isMissing;
    this.quote = quote;
  }
}

/** The problem that a field is not among the known ones. */
export function unknownField(path: Path | undefined, key: string, known: readonly string[]): FieldProblem {
  return new FieldProblem({ parent: path, key }, `unknown field${hintOf(nearest(key, known))}`, { quote: renderKey(key) });
}

/** What a JSON value is, in the words of an error. */
function describe(value: JsonValue): string {
  if (value === null) return 'null';
  if (value instanceof JsonObject) return 'an object';
  if (value instanceof JsonArray) return 'an array';
  if (value instanceof JsonNumber) return 'a number';
  return typeof value === 'string' ? 'a string' : 'a boolean';
}

function wrongType(path: Path, expected: string, value: JsonValue): FieldProblem {
  return new FieldProblem(path, `expected ${expected}, got ${describe(value)}`);
}

/** One object being read. */
// hot: per request
export class Fields {
  readonly path: Path | undefined;
  readonly #object: JsonObject;
  /** Kept only where any field is taken. */
  readonly #read: string[] | undefined;

  /** Refuses a field that is not among the known ones; without them any field is taken, and `unread` tells the rest. */
  constructor(object: JsonObject, path: Path | undefined, known?: readonly string[]) {
    if (object.duplicateKey !== undefined) {
      const key = object.duplicateKey;
      if (known?.includes(key) === false) throw unknownField(path, key, known);
      throw new FieldProblem({ parent: path, key }, 'duplicate key', known === undefined ? { quote: renderKey(key) } : {});
    }
    this.#object = object;
    this.#read = known === undefined ? [] : undefined;
    this.path = path;
    if (known === undefined) return;
    for (const key of object.entries.keys()) if (!known.includes(key)) throw unknownField(path, key, known);
  }

  /** Reads a whole value as an object: with these fields at most, or with any. */
  static from(value: JsonValue, path: Path | undefined, known?: readonly string[]): Fields {
    if (value instanceof JsonObject) return new Fields(value, path, known);
    if (path === undefined) throw new FieldProblem(undefined, `expected an object, got ${describe(value)}`);
    throw wrongType(path, 'an object', value);
  }

  /**
   * Refuses a field that is not among these, a part of the known ones, unless it is null: programs that keep
   * objects of several kinds in one record write all of its fields.
   */
  only(known: readonly string[]): void {
    for (const [key, value] of this.#object.entries) {
      if (value !== null && !known.includes(key)) throw unknownField(this.path, key, known);
    }
  }

  at(name: string): Path {
    return { parent: this.path, key: name };
  }

  /** A value of any type, undefined when absent or null. */
  any(name: string): Exclude<JsonValue, null> | undefined {
    this.#read?.push(name);
    return this.#object.entries.get(name) ?? undefined;
  }

  /** True when the field is present and not null; does not count as reading it. */
  has(name: string): boolean {
    return (this.#object.entries.get(name) ?? undefined) !== undefined;
  }

  /** Of an object that takes any field: those that no read has asked for, but for null ones, in the order of the text. */
  unread(): readonly (readonly [name: string, value: JsonValue])[] {
    const unread: (readonly [string, JsonValue])[] = [];
    for (const member of this.#object.entries) if (member[1] !== null && this.#read?.includes(member[0]) !== true) unread.push(member);
    return unread;
  }

  problem(name: string, complaint: string): FieldProblem {
    return new FieldProblem(this.at(name), complaint);
  }

  missing(name: string, complaint = 'required'): FieldProblem {
    return new FieldProblem(this.at(name), complaint, { isMissing: true });
  }

  string(name: string): string | undefined {
    const value = this.any(name);
    if (value === undefined || typeof value === 'string') return value;
    throw wrongType(this.at(name), 'a string', value);
  }

  requiredString(name: string): string {
    const value = this.string(name);
    if (value === undefined) throw this.missing(name);
    return value;
  }

  /** A required string of at least one character. */
  requiredText(name: string): string {
    const value = this.requiredString(name);
    if (value === '') throw this.problem(name, 'must not be empty');
    return value;
  }

  boolean(name: string): boolean | undefined {
    const value = this.any(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw wrongType(this.at(name), 'a boolean', value);
  }

  /** A number that a double can hold (rounded, but not infinite). */
  finiteNumber(name: string): number | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (!(value instanceof JsonNumber)) throw wrongType(this.at(name), 'a number', value);
    if (!Number.isFinite(value.value)) throw this.problem(name, 'too large a number');
    return value.value;
  }

  /** A whole number from 0 to 2^53-1. */
  count(name: string): number | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (!(value instanceof JsonNumber)) throw wrongType(this.at(name), 'an integer', value);
    if (!isWhole(value.text) || !Number.isSafeInteger(value.value) || value.value < 0) {
      throw this.problem(name, 'must be an integer from 0 to 9007199254740991');
    }
    return value.value;
  }

  /** One of a closed set of strings. */
  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.string(name);
    if (value === undefined) return undefined;
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) throw this.problem(name, `must be one of ${allowed.join(', ')}`);
    return found;
  }

  requiredOneOf<T extends string>(name: string, allowed: readonly T[]): T {
    const value = this.oneOf(name, allowed);
    if (value === undefined) throw this.missing(name, `required (one of ${allowed.join(', ')})`);
    return value;
  }

  /** An object whose content is anybody's business but ours. */
  opaqueObject(name: string): JsonObject | undefined {
    const value = this.any(name);
    if (value === undefined || value instanceof JsonObject) return value;
    throw wrongType(this.at(name), 'an object', value);
  }

  /** A nested object of the vocabulary. */
  object(name: string, known?: readonly string[]): Fields | undefined {
    const value = this.any(name);
    return value === undefined ? undefined : Fields.from(value, this.at(name), known);
  }

  requiredObject(name: string): Fields {
    const value = this.object(name);
    if (value === undefined) throw this.missing(name);
    return value;
  }

  /** An array, each item decoded in order; `complaint` is added when something else came. */
  list<T>(name: string, decodeItem: (item: JsonValue, path: Path) => T, complaint = ''): T[] | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    const path = this.at(name);
    if (!(value instanceof JsonArray)) {
      throw new FieldProblem(path, `expected an array, got ${describe(value)}${complaint}`);
    }
    return value.items.map((item, index) => decodeItem(item, { parent: path, key: index }));
  }
}

/** Whether a JSON number has no fraction, told from its text: as a double, 1.00000000000000000001 is 1. */
function isWhole(text: string): boolean {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE](.+))?$/.exec(text) ?? [];
  const digits = whole + fraction;
  let length = digits.length;
  while (length > 0 && digits.charCodeAt(length - 1) === 0x30) length -= 1;
  // How far before the point the last digit stands that is not zero.
  return length === 0 || whole.length - length + Number(exponent) >= 0;
}

/** Reads an array item as a non-empty string. */
export function textItem(item: JsonValue, path: Path): string {
  if (typeof item !== 'string') throw wrongType(path, 'a string', item);
  if (item === '') throw new FieldProblem(path, 'must not be empty');
  return item;
}
