/**
 * What a request names of what is stored at a provider. All callers of a gateway use one account there, so it may be another's.
 */

import { renderPath } from '../base/fields.ts';
import type { Path } from '../base/fields.ts';
import { itemsOf, memberOf } from '../base/json/member.ts';
import { JsonArray, JsonObject } from '../base/json/value.ts';
import type { JsonValue } from '../base/json/value.ts';
import { Failure } from './failure.ts';

/** Which fields name such things. */
export type StoredFields = {
  /** Members, anywhere, that refer by a text or a list of texts to what is stored at the provider. */
  readonly stored: ReadonlySet<string>;
  /** Members, anywhere, that refer to it by the `id` in them. */
  readonly storedById: ReadonlySet<string>;
  /** Members that are a tool's, a schema's or the caller's own, whatever is in them. */
  readonly opaque: ReadonlySet<string>;
};

/** What is opaque wherever it stands. */
export const OPAQUE: readonly string[] = ['arguments', 'input_examples', 'input_schema', 'parameters', 'schema'];

/** Members that refer to what is stored by some of their texts only (Gemini API, FileData; Vertex AI, VertexAISearch). */
const PLACED: ReadonlySet<string> = new Set(['engine', 'fileUri', 'file_uri']);
/** Such a text: a place in the provider's own store, in the account's buckets, in its projects. */
const STORED_PLACE = /^\s*(?:files\/|gs:|projects\/|https?:\/\/[^/?#]*\bgenerativelanguage\.googleapis\.com\b)/i;

export function unsupportedAt(path: Path, complaint: string): Failure {
  return problemAt('unsupported', path, complaint);
}

/** The keys in a path may be the caller's own. */
function problemAt(kind: 'bad_request' | 'unsupported', path: Path, complaint: string): Failure {
  const place = renderPath(path);
  return new Failure(kind, `${place}: ${complaint}`, { quotes: [place] });
}

/** The failure for a place that refers to something stored. */
function storedAt(path: Path, complaint = ''): Failure {
  return unsupportedAt(path, `refers to something stored at the provider, perhaps by another caller (not allowed without GATEWAY_RELAY_STORED)${complaint}`);
}

/**
 * The first place that refers to something stored, or may: of a key that comes twice, the provider may read the other value.
 * Takes time linear in the number of values, which a body bounds.
 */
export function storedProblem(value: JsonValue, path: Path | undefined, fields: StoredFields): Failure | undefined {
  if (value instanceof JsonArray) {
    for (const [index, item] of value.items.entries()) {
      const found = storedProblem(item, { parent: path, key: index }, fields);
      if (found !== undefined) return found;
    }
  } else if (value instanceof JsonObject) {
    const { duplicateKey, entries } = value;
    if (duplicateKey !== undefined) return problemAt('bad_request', { parent: path, key: duplicateKey }, 'duplicate key');
    for (const [key, member] of entries) {
      const place = { parent: path, key };
      // A skill of the vendor's own is everybody's.
      if (key === 'skill_id' && entries.get('type') === 'anthropic') continue;
      if (fields.stored.has(key) && (typeof member === 'string' || member instanceof JsonArray)) return storedAt(place);
      if (PLACED.has(key) && typeof member === 'string' && STORED_PLACE.test(member)) return storedAt(place);
      if (fields.storedById.has(key) && typeof memberOf(member, 'id') === 'string') return storedAt({ parent: place, key: 'id' });
      const found = fields.opaque.has(key) ? undefined : storedProblem(member, place, fields);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** The failure for the first item of a conversation that says nothing but which stored one it is. */
export function storedItem(input: JsonValue | undefined, path: Path): Failure | undefined {
  const items = itemsOf(input);
  const at = items.findIndex(isStoredItem);
  if (at === -1) return undefined;
  const isReasoning = memberOf(items[at], 'type') === 'reasoning';
  return storedAt({ parent: path, key: at }, isReasoning ? ': ask for sealed reasoning, `include: ["reasoning.encrypted_content"]`, and send that' : '');
}

/** What an item of a type holds by which its `id` is of no use; the type of a reference may be left out. */
const SELF_CONTAINED: ReadonlyMap<string, readonly string[]> = new Map([
  ['item_reference', []],
  ['reasoning', ['encrypted_content', 'content']],
  ['image_generation_call', ['result']],
]);

/** Whether an item of a conversation says nothing but which stored one it is. */
export function isStoredItem(item: JsonValue): boolean {
  const type = memberOf(item, 'type') ?? ((memberOf(item, 'role') ?? null) === null ? 'item_reference' : 'message');
  const holds = typeof type === 'string' ? SELF_CONTAINED.get(type) : undefined;
  return holds !== undefined && typeof memberOf(item, 'id') === 'string' && !holds.some((name) => isFilled(memberOf(item, name)));
}

function isFilled(value: JsonValue | undefined): boolean {
  return value instanceof JsonArray ? value.items.length > 0 : typeof value === 'string' && value !== '';
}
