/**
 * Objects of code as JSON text, as strictly as text from outside is read.
 *
 * `JSON.stringify` would make null of NaN, drop a function without a word, and ask a Date or an instance what it would like
 * to be; each is a mistake that a caller should hear of, with its path. Only `undefined` is absent, as optional properties are.
 */

import { FieldProblem } from '../fields.ts';
import type { Path } from '../fields.ts';
import { JSON_DEPTH_MAX, JSON_VALUES_MAX } from './limits.ts';

/** Said in place of a text that is longer than allowed. */
export const TOO_LONG = Symbol('longer than allowed');

/**
 * The text of a value made of plain objects, arrays, strings, finite numbers, booleans and null. The bounds are those of
 * texts that are read: what is deeper, or has more values, could not be. A FieldProblem is thrown for anything else;
 * `path` is where the value stands.
 */
export function plainJson(value: unknown, charsMax: number, path?: Path): string | typeof TOO_LONG {
  const writer = new Writer(charsMax);
  try {
    writer.value(value, path, 0);
    return writer.text;
  } catch (thrown) {
    if (thrown === TOO_LONG) return TOO_LONG;
    throw thrown;
  }
}

class Writer {
  text = '';
  readonly #charsMax: number;
  #valuesLeft = JSON_VALUES_MAX;

  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  value(value: unknown, path: Path | undefined, depth: number): void {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) throw new FieldProblem(undefined, `more than ${JSON_VALUES_MAX} values`);
    // A string that stands in a thousand places is a thousand times as long.
    if (this.text.length > this.#charsMax || (typeof value === 'string' && value.length > this.#charsMax)) throw TOO_LONG;
    if (typeof value === 'string' || typeof value === 'boolean' || value === null) this.text += JSON.stringify(value);
    else if (typeof value === 'number' && Number.isFinite(value)) this.text += String(value);
    else if (typeof value !== 'object') throw notJson(path, typeof value === 'number' ? String(value) : typeof value);
    else if (depth >= JSON_DEPTH_MAX) throw new FieldProblem(undefined, `nesting beyond ${JSON_DEPTH_MAX} levels, or an object that holds itself`);
    else if (Array.isArray(value)) this.#list(value, path, depth + 1);
    else this.#object(value, path, depth + 1);
  }

  #list(items: readonly unknown[], path: Path | undefined, depth: number): void {
    this.text += '[';
    for (let index = 0; index < items.length; index += 1) {
      if (index > 0) this.text += ',';
      this.value(items[index], { parent: path, key: index }, depth);
    }
    this.text += ']';
  }

  #object(object: object, path: Path | undefined, depth: number): void {
    if (!isPlain(object)) throw notJson(path, 'an instance of a class');
    let separator = '{';
    for (const [key, value] of Object.entries(object)) {
      if (value === undefined) continue;
      this.text += `${separator}${JSON.stringify(key)}:`;
      separator = ',';
      this.value(value, { parent: path, key }, depth);
    }
    this.text += separator === '{' ? '{}' : '}';
  }
}

/** Whether it is of no class: its prototype is the last one, of whichever realm, or there is none. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === null || (typeof prototype === 'object' && Object.getPrototypeOf(prototype) === null);
}

function notJson(path: Path | undefined, what: string): FieldProblem {
  return new FieldProblem(path, `expected a string, finite number, boolean, array, plain object or null, got ${what}`);
}
