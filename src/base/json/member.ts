/** One member of a parsed value, or its items. */

import { JsonArray, JsonObject } from './value.ts';
import type { JsonValue } from './value.ts';

/** A member of an object; undefined for anything else. */
export function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.entries.get(name) : undefined;
}

/** The items of an array; none for anything else. */
export function itemsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return value instanceof JsonArray ? value.items : [];
}
