/** Pieces of a reply as the host wrote them, for what `JSON.parse` would alter: digits, order of keys. */

import { parseUncounted } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonArray, JsonNumber, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';

/** Where a message stands in the text of a body or frame. */
export type Place = {
  readonly text: string;
  readonly path: readonly (string | number)[];
  /** A whole message, not a stream's delta. */
  readonly isWhole: boolean;
};

/** The text of the value at a path below a place; undefined when there is none. Parses strictly, so keep it off the common path. */
export function rawAt(place: Place, ...path: readonly (string | number)[]): RawJson | undefined {
  let value: JsonValue | undefined = valueOf(place.text);
  for (const key of [...place.path, ...path]) {
    if (value instanceof JsonArray && typeof key === 'number') value = value.items[key];
    else if (value instanceof JsonObject && typeof key === 'string') value = value.entries.get(key);
    else return undefined;
  }
  if (value instanceof JsonObject || value instanceof JsonArray) return value.raw;
  if (value instanceof JsonNumber) return new RawJson(value.text);
  return value === undefined ? undefined : new RawJson(renderJson(value));
}

function valueOf(text: string): JsonValue | undefined {
  const parsed = parseUncounted(text);
  const isValue =
    parsed === null || typeof parsed !== 'object' ||
    parsed instanceof JsonObject || parsed instanceof JsonArray || parsed instanceof JsonNumber;
  return isValue ? parsed : undefined;
}
