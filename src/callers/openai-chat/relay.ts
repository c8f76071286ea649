/**
 * Chat Completions passed on to a provider that speaks them as their maker does.
 *
 * Changed are only: the model's name where a prefix was cut off, the names of end users and caches, and what the gateway
 * itself put into the history for another provider.
 */

import { outFrom } from '../../base/json/merge.ts';
import { JsonArray, JsonObject } from '../../base/json/value.ts';
import type { JsonOut, JsonValue } from '../../base/json/value.ts';
import { RawJson } from '../../base/json/value.ts';
import type { DecodedRequest, DialectRelay, RelayedBody, RelayRules } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { carriedStates } from '../carried-state.ts';
import { Ignored } from '../field-table.ts';
import { hashedName, renderEvent, withMembers } from '../relay.ts';

export const CHAT_RELAY: DialectRelay = {
  path: '/chat/completions',
  headers: ['openai-beta'],
  encode: relayedBody,
  renderReply: (raw) => raw,
  renderFrame: renderEvent,
};

const HASHED = { user: 'user', safety_identifier: 'user', prompt_cache_key: 'cache' } as const;

function relayedBody({ source }: DecodedRequest, model: string, { caller }: RelayRules): RelayedBody | Failure {
  if (source === undefined) return new Failure('unknown', 'the gateway failed to relay this request', { status: 500 });
  const ignored = new Ignored();
  const changes = new Map<string, JsonOut | undefined>();
  if (source.entries.get('model') !== model) changes.set('model', model);
  for (const [name, kind] of Object.entries(HASHED)) {
    const value = source.entries.get(name);
    if (typeof value === 'string') changes.set(name, hashedName(kind, caller, value));
  }
  const messages = source.entries.get('messages');
  if (messages instanceof JsonArray) {
    const cleaned = messages.items.map((message, index) => withoutOwnState(message, index, ignored));
    if (ignored.paths.length > 0) changes.set('messages', cleaned);
  }
  return { body: withMembers(source, changes), ignored: ignored.paths };
}

/** The message without what the gateway carried for another provider: on itself, or on its calls. */
function withoutOwnState(message: JsonValue, index: number, ignored: Ignored): JsonOut {
  if (!(message instanceof JsonObject)) return outFrom(message);
  const path = { parent: { parent: undefined, key: 'messages' }, key: index };
  const changes = new Map<string, JsonOut | undefined>();
  if (holdsOwnState(message)) {
    ignored.add({ parent: path, key: 'extra_content' });
    changes.set('extra_content', undefined);
  }
  const calls = message.entries.get('tool_calls');
  if (calls instanceof JsonArray && calls.items.some(holdsOwnState)) {
    const cleaned = calls.items.map((call, at): JsonOut => {
      if (!(call instanceof JsonObject) || !holdsOwnState(call)) return outFrom(call);
      ignored.add({ parent: { parent: { parent: path, key: 'tool_calls' }, key: at }, key: 'extra_content' });
      return new RawJson(withMembers(call, new Map([['extra_content', undefined]])));
    });
    changes.set('tool_calls', cleaned);
  }
  return changes.size === 0 ? message.raw : new RawJson(withMembers(message, changes));
}

function holdsOwnState(value: JsonValue): boolean {
  const google = memberOf(memberOf(value, 'extra_content'), 'google');
  const signature = memberOf(google, 'thought_signature');
  return typeof signature === 'string' && carriedStates(signature) !== undefined;
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.entries.get(name) : undefined;
}
