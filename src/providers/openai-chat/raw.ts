/** Pieces of a reply as the host wrote them, for what `JSON.parse` would alter: digits, order of keys. */

import { parseReplied } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonArray, JsonNumber, JsonObject, JsonProblem, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';

type Path = readonly (string | number)[];

/** A message, or a stream's delta of one, in the text of a body or frame. */
export class MessageSource {
  /** A whole message, not a delta. */
  readonly isWhole: boolean;
  readonly #text: string;
  readonly #exact: JsonValue | JsonProblem | undefined;
  readonly #choiceAt: number;
  /** The whole, once a value was asked for. */
  #root: JsonValue | JsonProblem | undefined;

  /** The `message` (whole) or `delta` of the choice at this place in the list; `exact` is the text parsed, where somebody did that. */
  constructor(text: string, choiceAt: number, isWhole: boolean, exact?: JsonValue | JsonProblem) {
    this.#text = text;
    this.#exact = exact;
    this.#choiceAt = choiceAt;
    this.isWhole = isWhole;
  }

  /**
   * The text of the value at a path below the message; undefined when there is none, or when the whole cannot be read
   * strictly. The first call parses the text, the others only look up: a frame may hold thousands of such values.
   */
  rawAt(...path: Path): RawJson | undefined {
    this.#root ??= this.#exact ?? parseReplied(this.#text);
    if (this.#root instanceof JsonProblem) return undefined;
    const value = valueAt(this.#root, ['choices', this.#choiceAt, this.isWhole ? 'message' : 'delta', ...path]);
    if (value === undefined) return undefined;
    if (value instanceof JsonNumber) return new RawJson(value.text);
    if (!(value instanceof JsonObject || value instanceof JsonArray)) return new RawJson(renderJson(value));
    // A slice of a frame would keep the whole frame in memory for as long as the stream lasts.
    return this.isWhole ? value.raw : new RawJson(Buffer.from(value.raw.text, 'utf16le').toString('utf16le'));
  }

  /** Whether a value was asked for, and the whole cannot be read strictly: something is missing then. */
  get isUnreadable(): boolean {
    return this.#root instanceof JsonProblem;
  }
}

function valueAt(root: JsonValue, path: Path): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const key of path) {
    if (value instanceof JsonArray && typeof key === 'number') value = value.items[key];
    else if (value instanceof JsonObject && typeof key === 'string') value = value.entries.get(key);
    else return undefined;
  }
  return value;
}
