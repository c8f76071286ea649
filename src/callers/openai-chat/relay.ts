/**
 * Chat Completions passed on to a provider that speaks them as their vendor does.
 *
 * Changed are only: the model's name where a prefix was cut off, the names of end users and caches, what the gateway
 * itself put into the history for another provider, reasoning that another one disclosed, and that a stream tells its usage,
 * which is counted here whether the caller wants to see it or not.
 */

import { memberOf } from '../../base/json/member.ts';
import { outFrom } from '../../base/json/merge.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonOut, JsonValue } from '../../base/json/value.ts';
import type { DecodedRequest, DialectRelay, RelayedBody, RelayRules } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { OPAQUE } from '../../core/stored.ts';
import { isCarriedText } from '../carried-state.ts';
import { Ignored } from '../field-table.ts';
import { commonChanges, sourceOf, withMembers } from '../relay.ts';
import type { Changes } from '../relay.ts';

const FIELDS = {
  hashed: [['user', 'user'], ['safety_identifier', 'user'], ['prompt_cache_key', 'cache']],
  stored: new Set(['file_id']),
  // Of an earlier answer that was spoken, and of a voice that was made.
  storedById: new Set(['audio', 'voice']),
  opaque: new Set([...OPAQUE, 'metadata']),
} as const;

export const CHAT_RELAY: DialectRelay = {
  path: '/chat/completions',
  headers: { 'openai-beta': undefined },
  encode,
  encodeReply: (raw) => new RawJson(raw),
  bringsAnswer: (_event, data) => PIECE.test(data),
  sealsForAccount: false,
  relaysDeclined: false,
};

/** Pieces of calls and of what is spoken. The members cannot stand so in a text: its quotes are escaped. */
const PIECE = /"tool_calls": ?\[ ?\{|"(?:audio|function_call)": ?\{/;

function encode(request: DecodedRequest, model: string, rules: RelayRules): RelayedBody | Failure {
  const source = sourceOf(request);
  const changes = commonChanges(request, source, model, rules, FIELDS);
  if (changes instanceof Failure) return changes;
  if (request.isStream && !request.wantsUsage) changes.set('stream_options', withUsage(source.entries.get('stream_options')));
  const ignored = new Ignored();
  const messages = source.entries.get('messages');
  if (messages instanceof JsonArray && messages.items.some((message) => holdsOthers(message, rules))) {
    changes.set('messages', messages.items.map((message, index) => withoutOthers(message, index, rules, ignored)));
  }
  return { body: withMembers(source, changes), ignored: ignored.paths };
}

function withUsage(options: JsonValue | undefined): JsonOut {
  const members = new Map<string, JsonOut>();
  if (options instanceof JsonObject) for (const [name, value] of options.entries) members.set(name, outFrom(value));
  return members.set('include_usage', true);
}

/** Whether the message has something of another provider's: what the gateway carried for it, on the message or on its calls, and its reasoning. */
function holdsOthers(message: JsonValue, rules: RelayRules): message is JsonObject {
  if (!(message instanceof JsonObject)) return false;
  return (rules.isVendor && message.entries.has(REASONING)) || holdsOwnState(message) || callsWithState(message) !== undefined;
}

/** The message's calls, where the gateway carried something on one of them. */
function callsWithState({ entries }: JsonObject): JsonArray | undefined {
  const calls = entries.get('tool_calls');
  return calls instanceof JsonArray && calls.items.some(holdsOwnState) ? calls : undefined;
}

function withoutOthers(message: JsonValue, index: number, rules: RelayRules, ignored: Ignored): JsonOut {
  if (!holdsOthers(message, rules)) return outFrom(message);
  const path = { parent: { parent: undefined, key: 'messages' }, key: index };
  const changes: Changes = new Map();
  const takeOut = (name: string): void => {
    ignored.add({ parent: path, key: name });
    changes.set(name, undefined);
  };
  if (message.entries.has(REASONING)) takeOut(REASONING);
  if (holdsOwnState(message)) takeOut('extra_content');
  const calls = callsWithState(message);
  if (calls !== undefined) {
    const cleaned = calls.items.map((call, at): JsonOut => {
      if (!(call instanceof JsonObject) || !holdsOwnState(call)) return outFrom(call);
      ignored.add({ parent: { parent: { parent: path, key: 'tool_calls' }, key: at }, key: 'extra_content' });
      return withMembers(call, new Map([['extra_content', undefined]]));
    });
    changes.set('tool_calls', cleaned);
  }
  return withMembers(message, changes);
}

/** Where the gateway discloses reasoning, as many hosts do. The vendor itself has no such member, and refuses it. */
const REASONING = 'reasoning_content';

function holdsOwnState(value: JsonValue): boolean {
  const signature = memberOf(memberOf(memberOf(value, 'extra_content'), 'google'), 'thought_signature');
  return isCarriedText(signature);
}
