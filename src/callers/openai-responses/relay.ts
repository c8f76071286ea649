/**
 * Responses passed on to a provider that speaks them as their maker does.
 *
 * Changed are only: the model's name where a prefix was cut off, the names of end users and caches, and reasoning items that
 * the gateway itself put into the history for another provider.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { outFrom } from '../../base/json/merge.ts';
import { JsonArray, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { stringField } from '../../base/loose.ts';
import type { DecodedRequest, DialectRelay, RelayedBody, RelayRules } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { isCarriedText } from '../carried-state.ts';
import { Ignored } from '../field-table.ts';
import { commonChanges, memberOf, OPAQUE, sourceOf, storedAt, withMembers } from '../relay.ts';
import { ResponseEvents } from './stream.ts';

const FIELDS = {
  hashed: { user: 'user', safety_identifier: 'user', prompt_cache_key: 'cache' },
  stored: new Set(['previous_response_id', 'conversation', 'file_id', 'file_ids', 'vector_store_ids', 'container', 'container_id', 'skill_id']),
  storedById: new Set(['conversation', 'prompt']),
  opaque: new Set([...OPAQUE, 'metadata', 'client_metadata']),
} as const;

export const RESPONSES_RELAY: DialectRelay = {
  path: '/responses',
  headers: { 'openai-beta': undefined },
  encode,
  encodeReply: (raw) => new RawJson(raw),
  createFrames: (facts) => new ResponseEvents(facts),
  bringsAnswer: (event, data) => PIECE.test(event === '' ? (stringField(parseLenient(data), 'type') ?? '') : event),
  sealsForAccount: true,
  relaysDeclined: false,
};

/** Pieces of calls, of code, of pictures; those of texts are told as they come. */
const PIECE = /^(?!response\.(?:output_text|reasoning|refusal)).*\.(?:delta|partial_image)$/;

function encode(request: DecodedRequest, model: string, rules: RelayRules): RelayedBody | Failure {
  const source = sourceOf(request);
  const changes = commonChanges(request, source, model, rules, FIELDS);
  if (changes instanceof Failure) return changes;
  const input = source.entries.get('input');
  const stored = rules.allowsStored ? undefined : storedItem(input);
  if (stored !== undefined) return stored;
  const ignored = new Ignored();
  if (input instanceof JsonArray) {
    const kept = input.items.filter((item, index) => {
      if (!isOwnReasoning(item)) return true;
      ignored.add({ parent: { parent: undefined, key: 'input' }, key: index });
      return false;
    });
    if (kept.length < input.items.length) changes.set('input', kept.map(outFrom));
  }
  return { body: withMembers(source, changes), ignored: ignored.paths };
}

/** The failure for the first item that says nothing but which stored one it is. */
function storedItem(input: JsonValue | undefined): Failure | undefined {
  const items = input instanceof JsonArray ? input.items : [];
  const at = items.findIndex(isReference);
  if (at === -1) return undefined;
  const isReasoning = memberOf(items[at], 'type') === 'reasoning';
  const place = { parent: { parent: undefined, key: 'input' }, key: at };
  return storedAt(place, isReasoning ? ': ask for sealed reasoning, `include: ["reasoning.encrypted_content"]`, and send that' : '');
}

/** What an item of a type holds by which its `id` is of no use; the type of a reference may be left out. */
const SELF_CONTAINED: ReadonlyMap<string, readonly string[]> = new Map([
  ['item_reference', []],
  ['reasoning', ['encrypted_content', 'content']],
  ['image_generation_call', ['result']],
]);

function isReference(item: JsonValue): boolean {
  const type = memberOf(item, 'type') ?? ((memberOf(item, 'role') ?? null) === null ? 'item_reference' : 'message');
  const holds = typeof type === 'string' ? SELF_CONTAINED.get(type) : undefined;
  return holds !== undefined && typeof memberOf(item, 'id') === 'string' && !holds.some((name) => isFilled(memberOf(item, name)));
}

function isFilled(value: JsonValue | undefined): boolean {
  return value instanceof JsonArray ? value.items.length > 0 : typeof value === 'string' && value !== '';
}

function isOwnReasoning(item: JsonValue): boolean {
  const sealed = memberOf(item, 'type') === 'reasoning' ? memberOf(item, 'encrypted_content') : undefined;
  return isCarriedText(sealed);
}
