/**
 * What the relays of all dialects have in common: the caller's own JSON with a few values replaced, and names of end users and
 * of caches that one caller cannot guess for another.
 */

import { createHash } from 'node:crypto';
import { outFrom } from '../base/json/merge.ts';
import { renderJson } from '../base/json/render.ts';
import type { JsonObject, JsonOut } from '../base/json/value.ts';

/** The object as text, with these members replaced in place and, where undefined, taken out. Without changes its own text. */
export function withMembers(object: JsonObject, changes: ReadonlyMap<string, JsonOut | undefined>): string {
  if (changes.size === 0) return object.raw.text;
  const members = new Map<string, JsonOut>();
  for (const [name, value] of object.entries) {
    const changed = changes.has(name) ? changes.get(name) : outFrom(value);
    if (changed !== undefined) members.set(name, changed);
  }
  return renderJson(members);
}

/**
 * The name under which a provider gets to know one caller's end user or cache: SHA-256, in hex, of a JSON text that no two
 * of them share.
 */
export function hashedName(kind: 'user' | 'cache', caller: string, name: string): string {
  return createHash('sha256').update(JSON.stringify([kind, caller, name])).digest('hex');
}

/** One event as a server-sent event again; a provider's data has no line ends but those that the reader joined. */
export function renderEvent(event: string, data: string): string {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data;
  return event === '' ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`;
}
