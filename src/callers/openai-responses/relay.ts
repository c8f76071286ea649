/**
 * Responses passed on to a provider that speaks them as their maker does.
 *
 * Changed are only: the model's name where a prefix was cut off, the names of end users and caches, and reasoning items that
 * the gateway itself put into the history for another provider.
 */

import { outFrom } from '../../base/json/merge.ts';
import { JsonArray } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import type { DecodedRequest, DialectRelay, RelayedBody, RelayRules } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { isCarriedText } from '../carried-state.ts';
import { Ignored } from '../field-table.ts';
import { commonChanges, memberOf, sourceOf, withMembers } from '../relay.ts';
import { ResponseEvents } from './stream.ts';

const FIELDS = {
  hashed: { user: 'user', safety_identifier: 'user', prompt_cache_key: 'cache' },
  stored: new Set(['previous_response_id', 'conversation', 'file_id', 'file_ids', 'vector_store_ids', 'container', 'container_id']),
} as const;

export const RESPONSES_RELAY: DialectRelay = {
  path: '/responses',
  headers: { 'openai-beta': undefined },
  encode,
  renderReply: (raw) => raw,
  createFrames: (facts) => new ResponseEvents(facts),
};

function encode(request: DecodedRequest, model: string, rules: RelayRules): RelayedBody | Failure {
  const source = sourceOf(request);
  const changes = commonChanges(request, source, model, rules, FIELDS);
  if (changes instanceof Failure) return changes;
  const stored = rules.allowsStored ? undefined : storedObject(source.entries);
  if (stored !== undefined) return stored;
  const ignored = new Ignored();
  const input = source.entries.get('input');
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

/** References that are objects: to a conversation, a prompt, an item. */
function storedObject(entries: ReadonlyMap<string, JsonValue>): Failure | undefined {
  for (const name of ['conversation', 'prompt']) {
    if (typeof memberOf(entries.get(name), 'id') === 'string') return storedFailure(`${name}.id`);
  }
  const input = entries.get('input');
  const items = input instanceof JsonArray ? input.items : [];
  const at = items.findIndex((item) => memberOf(item, 'type') === 'item_reference');
  return at === -1 ? undefined : storedFailure(`input[${at}]`);
}

function storedFailure(place: string): Failure {
  return new Failure('unsupported', `${place}: refers to what is stored at the provider, maybe by another caller (GATEWAY_RELAY_STORED)`);
}

function isOwnReasoning(item: JsonValue): boolean {
  const sealed = memberOf(item, 'type') === 'reasoning' ? memberOf(item, 'encrypted_content') : undefined;
  return isCarriedText(sealed);
}
