/**
 * What the relays of all dialects have in common: the caller's own JSON with a few values replaced, names of end users and caches
 * hashed, so that no caller can guess another's, and references to what another caller may have stored.
 */

import { parseLenient } from '../base/json/lenient.ts';
import { outFrom } from '../base/json/merge.ts';
import type { ParsedText } from '../base/json/parse.ts';
import { JsonObject } from '../base/json/value.ts';
import type { JsonOut } from '../base/json/value.ts';
import { stringField } from '../base/loose.ts';
import type { DecodedRequest, RelayRules } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { storedProblem, unsupportedAt } from '../core/stored.ts';
import type { StoredFields } from '../core/stored.ts';
import { hashedName } from '../core/tenant.ts';

/** What is to be put in the place of an object's members; undefined = taken out. */
export type Changes = Map<string, JsonOut | undefined>;

/** What a dialect says of its own fields. */
export type RelayFields = StoredFields & {
  /** Top-level texts that name an end user or a cache. */
  readonly hashed: readonly (readonly [name: string, kind: 'user' | 'cache'])[];
};

/** What every relay replaces in a request, or the failure for what no request may ask. */
export function commonChanges(request: DecodedRequest, source: JsonObject, model: string, rules: RelayRules, fields: RelayFields): Changes | Failure {
  const refused = rules.allowsStored ? undefined : storedProblem(source, undefined, fields);
  if (refused !== undefined) return refused;
  if (source.entries.get('background') === true) return unsupportedAt({ parent: undefined, key: 'background' }, 'an answer in the background cannot be waited for');
  const changes: Changes = new Map();
  if (request.model !== model) changes.set('model', model);
  for (const [name, kind] of fields.hashed) {
    const value = source.entries.get(name);
    if (typeof value !== 'string') continue;
    const hashed = hashedName(kind, rules.caller, value, name);
    if (hashed instanceof Failure) return hashed;
    changes.set(name, hashed);
  }
  return changes;
}

/** A request whose dialect keeps no source cannot be relayed: a bug. */
export function sourceOf({ source }: DecodedRequest): JsonObject {
  if (source === undefined) throw new Error('a request without its source is relayed');
  return source;
}

/** The object with these members replaced in place, taken out, or added at its end. Without changes its own text. */
export function withMembers(object: JsonObject, changes: ReadonlyMap<string, JsonOut | undefined>): JsonOut {
  if (changes.size === 0) return object.raw;
  const members = new Map<string, JsonOut>();
  for (const [name, value] of object.entries) {
    const changed = changes.has(name) ? changes.get(name) : outFrom(value);
    if (changed !== undefined) members.set(name, changed);
  }
  for (const [name, value] of changes) if (value !== undefined && !members.has(name)) members.set(name, value);
  return members;
}

/** What an event is called: some hosts leave the name to its data. */
export function nameOf(event: string, data: string, parsed: ParsedText | undefined): string {
  return event === '' ? (stringField(jsonOf(data, parsed), 'type') ?? '') : event;
}

/** An event's data, which may have been parsed before. */
export function jsonOf(data: string, parsed: ParsedText | undefined): unknown {
  return parsed === undefined ? parseLenient(data) : parsed.json;
}

/** One event as a server-sent event again. */
export function renderEvent(event: string, data: string): string {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data;
  return event === '' ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`;
}
