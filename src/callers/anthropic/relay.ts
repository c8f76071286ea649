/**
 * Messages passed on to a provider that speaks them as their vendor does.
 *
 * Changed are only: the model's name where a prefix was cut off, which the answer then echoes; the name of the end user; which
 * answer a cache's diagnostics compare with, where it may be another caller's; and blocks of the history that would be refused:
 * thinking that the gateway itself put there for another provider, and an assistant's texts without a word.
 */

import { memberOf } from '../../base/json/member.ts';
import { outFrom } from '../../base/json/merge.ts';
import { parseReplied } from '../../base/json/parse.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonOut, JsonValue } from '../../base/json/value.ts';
import type { DecodedRequest, DialectRelay, RelayedBody, RelayRules } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { OPAQUE } from '../../core/stored.ts';
import { hashedName } from '../../core/tenant.ts';
import { isCarriedText } from '../carried-state.ts';
import { Ignored } from '../field-table.ts';
import { commonChanges, sourceOf, withMembers } from '../relay.ts';
import { echoed } from './echo.ts';
import { continuesThread, lostThread } from './thread.ts';

const FIELDS = {
  hashed: [],
  stored: new Set(['file_id', 'container', 'container_id', 'skill_id', 'user_profile_id']),
  storedById: new Set(['container']),
  opaque: new Set([...OPAQUE, 'input']),
} as const;

export const MESSAGES_RELAY: DialectRelay = {
  path: '/messages',
  headers: { 'anthropic-version': '2023-06-01', 'anthropic-beta': undefined },
  encode,
  encodeReply: (raw, facts, exact = parseReplied(raw)) => echoed(exact, facts) ?? new RawJson(raw),
  bringsAnswer: (_event, data) => data.includes(PIECE),
  sealsForAccount: true,
  relaysDeclined: true,
};

/** A piece of a call; those of texts are told as they come. It cannot stand so in a text: its quotes are escaped. */
const PIECE = '"input_json_delta"';

function encode(request: DecodedRequest, model: string, rules: RelayRules): RelayedBody | Failure {
  const source = sourceOf(request);
  if (continuesThread(source) && !rules.allowsStored) return lostThread();
  const changes = commonChanges(request, source, model, rules, FIELDS);
  if (changes instanceof Failure) return changes;
  const metadata = source.entries.get('metadata');
  const user = memberOf(metadata, 'user_id');
  if (metadata instanceof JsonObject && typeof user === 'string') {
    const hashed = hashedName('user', rules.caller, user, 'metadata.user_id');
    if (hashed instanceof Failure) return hashed;
    changes.set('metadata', withMembers(metadata, new Map([['user_id', hashed]])));
  }
  const ignored = new Ignored();
  const messages = source.entries.get('messages');
  if (messages instanceof JsonArray) {
    const cleaned = messages.items.map((message, index) => withoutRefused(message, index, ignored)).filter((message) => message !== undefined);
    if (ignored.paths.length > 0) changes.set('messages', cleaned);
  }
  if (!rules.allowsStored && isComparing(source)) {
    changes.set('diagnostics', undefined);
    ignored.add({ parent: undefined, key: 'diagnostics' });
  }
  return { body: withMembers(source, changes), ignored: ignored.paths };
}

/** Claude Code names its last answer in every request. It is left out, since the answer is the same without it; refused, no second round would get through. */
function isComparing(source: JsonObject): boolean {
  return (memberOf(source.entries.get('diagnostics'), 'previous_message_id') ?? null) !== null;
}

/** Undefined when nothing is left, since a message without content is refused. */
function withoutRefused(message: JsonValue, index: number, ignored: Ignored): JsonOut | undefined {
  const content = memberOf(message, 'content');
  if (!(message instanceof JsonObject) || !(content instanceof JsonArray)) return outFrom(message);
  const isAssistant = message.entries.get('role') === 'assistant';
  const isRefused = (block: JsonValue): boolean => isOwnThinking(block) || (isAssistant && isBlankText(block));
  if (!content.items.some(isRefused)) return outFrom(message);
  const path = { parent: { parent: { parent: undefined, key: 'messages' }, key: index }, key: 'content' };
  const kept = content.items.filter((block, at) => {
    if (!isRefused(block)) return true;
    ignored.add({ parent: path, key: at });
    return false;
  });
  return kept.length === 0 ? undefined : withMembers(message, new Map([['content', kept.map(outFrom)]]));
}

/** Models write such texts, before a call for one, and the API does not take them back. */
function isBlankText(block: JsonValue): boolean {
  const text = memberOf(block, 'type') === 'text' ? memberOf(block, 'text') : undefined;
  return typeof text === 'string' && text.trim() === '';
}

function isOwnThinking(block: JsonValue): boolean {
  const type = memberOf(block, 'type');
  const sealed = memberOf(block, type === 'redacted_thinking' ? 'data' : 'signature');
  return (type === 'thinking' || type === 'redacted_thinking') && isCarriedText(sealed);
}
