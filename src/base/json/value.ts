/**
 * JSON as values that forget nothing.
 *
 * `JSON.parse` loses three things that this gateway promises to keep: how a number was written
 * (`1.0`, `12345678901234567890`), the order of integer-like keys, and the fact that a key came
 * twice. Objects and numbers here remember their source text.
 */

/** A JSON value as the text it was written in, passed on untouched. The text is valid JSON. */
export class RawJson {
  readonly text: string;
  readonly #members: ReadonlyMap<string, JsonValue> | undefined;
  constructor(text: string, members?: ReadonlyMap<string, JsonValue>) {
    this.text = text;
    this.#members = members;
  }
  /** Of the text of an object that was parsed: what it says, so that nobody parses it again. Else undefined. */
  get members(): ReadonlyMap<string, JsonValue> | undefined {
    return this.#members;
  }
}

/** A parsed number: its text, and on demand its (possibly rounded) value. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  get value(): number {
    return Number(this.text);
  }
}

/** A parsed array, with the text it was parsed from. */
export class JsonArray {
  readonly items: readonly JsonValue[];
  readonly #source: string;
  readonly #start: number;
  readonly #end: number;
  constructor(items: readonly JsonValue[], source: string, start: number, end: number) {
    this.items = items;
    this.#source = source;
    this.#start = start;
    this.#end = end;
  }
  get raw(): RawJson {
    return new RawJson(this.#source.slice(this.#start, this.#end));
  }
}

/** A parsed object in source order, with the text it was parsed from. Of a key that came twice, the last value counts. */
export class JsonObject {
  readonly entries: ReadonlyMap<string, JsonValue>;
  /** The first key that came more than once, or undefined. */
  readonly duplicateKey: string | undefined;
  readonly #source: string;
  readonly #start: number;
  readonly #end: number;
  constructor(
    entries: ReadonlyMap<string, JsonValue>,
    duplicateKey: string | undefined,
    source: string,
    start: number,
    end: number,
  ) {
    this.entries = entries;
    this.duplicateKey = duplicateKey;
    this.#source = source;
    this.#start = start;
    this.#end = end;
  }
  get raw(): RawJson {
    return new RawJson(this.#source.slice(this.#start, this.#end), this.entries);
  }
}

export type JsonValue = JsonObject | JsonArray | JsonNumber | string | boolean | null;

/**
 * Why a text is not acceptable JSON. `reason` never quotes the text; `offset` counts UTF-16 units from 0. `isLimit`: the text is
 * beyond a limit on depth, values or numbers, be it JSON or not.
 */
export class JsonProblem {
  readonly reason: string;
  readonly offset: number;
  readonly isLimit: boolean;
  constructor(reason: string, offset: number, isLimit = false) {
    this.reason = reason;
    this.offset = offset;
    this.isLimit = isLimit;
  }
}

/** Of what is JSON, where an object was to be. */
export const NO_OBJECT = new JsonProblem('not an object', 0);

/** What `renderJson` writes. Properties that are undefined are left out; a Map is an object with exactly its keys. */
export type JsonOut =
  | string
  | number
  | boolean
  | null
  | RawJson
  | readonly JsonOut[]
  | JsonOutObject
  | ReadonlyMap<string, JsonOut>;

export type JsonOutObject = { readonly [key: string]: JsonOut | undefined };

export function isList(value: object): value is readonly JsonOut[] {
  return Array.isArray(value);
}

export function isMap(value: object): value is ReadonlyMap<string, JsonOut> {
  return value instanceof Map;
}
