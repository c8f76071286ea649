/**
 * Responses passed on to a provider that speaks them as their vendor does.
 *
 * Changed are only: the model's name where a prefix was cut off, the names of end users and caches, and reasoning items that
 * the gateway itself put into the history for another provider.
 */

import { memberOf } from '../../base/json/member.ts';
import { outFrom } from '../../base/json/merge.ts';
import { JsonArray, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import type { DecodedRequest, DialectRelay, RelayedBody, RelayRules } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { OPAQUE, storedItem } from '../../core/stored.ts';
import { isCarriedText } from '../carried-state.ts';
import { Ignored } from '../field-table.ts';
import { commonChanges, nameOf, sourceOf, withMembers } from '../relay.ts';

const FIELDS = {
  hashed: [['user', 'user'], ['safety_identifier', 'user'], ['prompt_cache_key', 'cache']],
  stored: new Set([
    'previous_response_id', 'comparison_response_id', 'conversation', 'file_id', 'file_ids', 'vector_store_ids', 'container', 'container_id',
    'skill_id', 'tunnel_id',
  ]),
  storedById: new Set(['conversation', 'prompt']),
  opaque: new Set([...OPAQUE, 'metadata', 'client_metadata']),
} as const;

export const RESPONSES_RELAY: DialectRelay = {
  path: '/responses',
  headers: { 'openai-beta': undefined },
  encode,
  encodeReply: (raw) => new RawJson(raw),
  bringsAnswer: (event, data, parsed) => PIECE.test(nameOf(event, data, parsed)),
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
  const stored = rules.allowsStored ? undefined : storedItem(input, { parent: undefined, key: 'input' });
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

function isOwnReasoning(item: JsonValue): boolean {
  const sealed = memberOf(item, 'type') === 'reasoning' ? memberOf(item, 'encrypted_content') : undefined;
  return isCarriedText(sealed);
}
