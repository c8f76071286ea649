/**
 * What the relays of all dialects have in common: the caller's own JSON with a few values replaced, names of end users and of
 * caches that one caller cannot guess for another, and references to what another caller may have stored.
 */

import { renderPath } from '../base/fields.ts';
import type { Path } from '../base/fields.ts';
import { outFrom } from '../base/json/merge.ts';
import { JsonArray, JsonObject } from '../base/json/value.ts';
import type { JsonOut, JsonValue } from '../base/json/value.ts';
import type { DecodedRequest, RelayRules } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { hashedName } from '../core/tenant.ts';

/** What is to be put in the place of an object's members; undefined = taken out. */
export type Changes = Map<string, JsonOut | undefined>;

/** What a dialect says of its own fields. */
export type RelayFields = {
  /** Top-level texts that name an end user or a cache. */
  readonly hashed: Readonly<Record<string, 'user' | 'cache'>>;
  /** Members, anywhere, that refer by a text or a list of texts to what is stored at the provider. */
  readonly stored: ReadonlySet<string>;
  /** Members, anywhere, that refer to it by the `id` in them. */
  readonly storedById: ReadonlySet<string>;
  /** Members that are a tool's, a schema's or the caller's own, whatever is in them. */
  readonly opaque: ReadonlySet<string>;
};

/** What is opaque in all dialects. */
export const OPAQUE: readonly string[] = ['arguments', 'input_examples', 'input_schema', 'parameters', 'schema'];

/** What every relay replaces in a request, or the failure for what no request may ask. */
export function commonChanges(request: DecodedRequest, source: JsonObject, model: string, rules: RelayRules, fields: RelayFields): Changes | Failure {
  const refused = rules.allowsStored ? undefined : tenantProblem(source, undefined, fields);
  if (refused !== undefined) return refused;
  if (source.entries.get('background') === true) return unsupportedAt({ parent: undefined, key: 'background' }, 'an answer in the background cannot be waited for');
  const changes: Changes = new Map();
  if (request.model !== model) changes.set('model', model);
  for (const [name, kind] of Object.entries(fields.hashed)) {
    const value = source.entries.get(name);
    if (typeof value === 'string') changes.set(name, hashedName(kind, rules.caller, value));
  }
  return changes;
}

/** A request whose dialect keeps no source cannot be relayed: a bug. */
export function sourceOf({ source }: DecodedRequest): JsonObject {
  if (source === undefined) throw new Error('a request without its source is relayed');
  return source;
}

function unsupportedAt(path: Path, complaint: string): Failure {
  return new Failure('unsupported', `${renderPath(path)}: ${complaint}`);
}

/** The failure for a place that refers to something stored. */
export function storedAt(path: Path, complaint = ''): Failure {
  return unsupportedAt(path, `refers to what is stored at the provider, maybe by another caller (GATEWAY_RELAY_STORED)${complaint}`);
}

/**
 * The first place that refers to something stored, or may: of a key that comes twice, the provider may read the other value.
 * Takes time linear in the number of values, which a body bounds.
 */
function tenantProblem(value: JsonValue, path: Path | undefined, fields: RelayFields): Failure | undefined {
  if (value instanceof JsonArray) {
    for (const [index, item] of value.items.entries()) {
      const found = tenantProblem(item, { parent: path, key: index }, fields);
      if (found !== undefined) return found;
    }
  } else if (value instanceof JsonObject) {
    const { duplicateKey, entries } = value;
    if (duplicateKey !== undefined) return new Failure('bad_request', `${renderPath({ parent: path, key: duplicateKey })}: this key comes twice`);
    for (const [key, member] of entries) {
      const place = { parent: path, key };
      if (fields.stored.has(key) && (typeof member === 'string' || member instanceof JsonArray)) return storedAt(place);
      if (fields.storedById.has(key) && typeof memberOf(member, 'id') === 'string') return storedAt({ parent: place, key: 'id' });
      const found = fields.opaque.has(key) ? undefined : tenantProblem(member, place, fields);
      if (found !== undefined) return found;
    }
  }
  return undefined;
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

/** A member of an object; undefined for anything else. */
export function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.entries.get(name) : undefined;
}

/** One event as a server-sent event again. */
export function renderEvent(event: string, data: string): string {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data;
  return event === '' ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`;
}
