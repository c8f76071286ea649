/** JSON merge patches (RFC 7396) that keep the text of what they merge. */

import { parseReplied } from './parse.ts';
import { isList, isMap, JsonArray, JsonNumber, JsonObject, RawJson } from './value.ts';
import type { JsonOut, JsonOutObject, JsonValue } from './value.ts';

/**
 * The target with an RFC 7396 merge patch applied: objects merge deeply, arrays and scalars replace,
 * null removes. Numbers of the patch keep their text. The result is made of Maps, so a key such as
 * `__proto__` is a key like any other.
 */
export function mergePatch(target: JsonOutObject, patch: JsonObject): ReadonlyMap<string, JsonOut> {
  return mergeEntries(mapFrom(target), patch);
}

function mergeEntries(merged: Map<string, JsonOut>, patch: JsonObject): Map<string, JsonOut> {
  for (const [key, value] of patch.entries) {
    if (value === null) merged.delete(key);
    else if (value instanceof JsonObject) merged.set(key, mergedObject(merged.get(key), value));
    else merged.set(key, outFrom(value));
  }
  return merged;
}

/** What there is nothing to merge with, or to remove from, goes on as it was written: 48,000 long keys would take 90 ms to write again (make bench ONLY=turns). */
function mergedObject(target: JsonOut | undefined, patch: JsonObject): JsonOut {
  const merged = mapFrom(target);
  return merged.size === 0 && isLiteral(patch) ? patch.raw : mergeEntries(merged, patch);
}

/** Whether an object says the same as a patch and as a value: without null in it, or in the objects in it, and without a key that comes twice. */
function isLiteral({ entries, duplicateKey }: JsonObject): boolean {
  if (duplicateKey !== undefined) return false;
  for (const value of entries.values()) if (value === null || (value instanceof JsonObject && !isLiteral(value))) return false;
  return true;
}

/** A fresh Map of an object's entries; empty for anything that is not an object. */
function mapFrom(value: JsonOut | undefined): Map<string, JsonOut> {
  const entries = new Map<string, JsonOut>();
  if (typeof value !== 'object' || value === null || isList(value)) return entries;
  if (isMap(value)) return new Map(value);
  if (value instanceof RawJson) {
    const parsed = value.members === undefined ? parseReplied(value.text) : undefined;
    const members = parsed instanceof JsonObject ? parsed.entries : value.members;
    if (members !== undefined) for (const [key, inner] of members) entries.set(key, outFrom(inner));
    return entries;
  }
  for (const key of Object.keys(value)) {
    const inner = value[key];
    if (inner !== undefined) entries.set(key, inner);
  }
  return entries;
}

/** A parsed value as one to be written: what is not plain keeps its text. */
export function outFrom(value: JsonValue): JsonOut {
  if (value instanceof JsonObject || value instanceof JsonArray) return value.raw;
  if (value instanceof JsonNumber) return new RawJson(value.text);
  return value;
}
