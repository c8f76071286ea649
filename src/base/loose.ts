/**
 * Lenient readers over JSON from outside: wrong types read as absent, nothing throws.
 *
 * Providers deviate from their own documentation; a codec reads what it uses and nothing else.
 * Lookups never see a prototype.
 */

import type { JsonValue } from './json/value.ts';

/** The own property of an object, or undefined for anything else. */
export function field(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}

/** A property that is a string, else undefined. */
export function stringField(value: unknown, key: string): string | undefined {
  const found = field(value, key);
  return typeof found === 'string' ? found : undefined;
}

/** A property that is a non-empty string, else undefined. */
export function textField(value: unknown, key: string): string | undefined {
  return stringField(value, key) || undefined;
}

/** A property that is a finite number, else undefined. */
export function numberField(value: unknown, key: string): number | undefined {
  const found = field(value, key);
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

/** A property that is a count (a whole number of zero or more), else undefined. */
export function countField(value: unknown, key: string): number | undefined {
  const found = field(value, key);
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined;
}

/** A property that is an array, else the empty array. */
export function listField(value: unknown, key: string): readonly unknown[] {
  const found = field(value, key);
  return Array.isArray(found) ? (found as readonly unknown[]) : [];
}

/** True for a JSON object: not null, not an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An entry of a losslessly parsed object that is a non-empty string, else undefined. */
export function textEntry(entries: ReadonlyMap<string, JsonValue>, key: string): string | undefined {
  const found = entries.get(key);
  return typeof found === 'string' && found !== '' ? found : undefined;
}
