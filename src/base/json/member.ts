/** One member of a parsed value. */

import { JsonObject } from './value.ts';
import type { JsonValue } from './value.ts';

/** A member of an object; undefined for anything else. */
export function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.entries.get(name) : undefined;
}
