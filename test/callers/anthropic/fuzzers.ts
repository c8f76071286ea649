/** The fuzzers of the Messages dialect: a decoder that never throws, and streams that every client can read. */

import assert from 'node:assert/strict';
import { renderJson } from '../../../src/base/json/render.ts';
import { RawJson } from '../../../src/base/json/value.ts';
import { ANTHROPIC } from '../../../src/callers/anthropic/dialect.ts';
import { encodeMessage } from '../../../src/callers/anthropic/reply.ts';
import type { AssistantPart, ChatReply } from '../../../src/core/chat.ts';
import { replyText } from '../../../src/core/chat.ts';
import { checkConversation } from '../../../src/core/conversation.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { mutateJson, mutateText } from '../../fuzz/mutate.ts';
import type { Random } from '../../base/random.ts';
import { assemble } from './message-client.ts';
import { FACTS, HI, translate } from './messages.ts';

const STATE = 'gemini.gemini.e30';
const EPHEMERAL = { type: 'ephemeral' };

/** A request that uses every kind of block and most fields. */
const FULL_REQUEST = {
  model: 'acme/fake',
  max_tokens: 500,
  system: [{ type: 'text', text: 'Be brief.', cache_control: EPHEMERAL }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Look' }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0K' } }] },
    { role: 'system', content: 'Agents' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: `gateway:own=${STATE},text=${STATE}` },
        { type: 'text', text: 'I will.' },
        { type: 'redacted_thinking', data: `gateway:empty=${STATE}` },
        { type: 'thinking', thinking: 'Hm.', signature: 'EqQBCkYIBRgCKkD' },
        { type: 'tool_use', id: 'gwid_Zi4x', name: 'f', input: { big: 12345 } },
        { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { tool_use_id: 'gwid_Zi4x', type: 'tool_result', content: 'rain', is_error: false },
        { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: 'none' }], is_error: true },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      ],
    },
  ],
  tools: [{ name: 'f', description: 'F', input_schema: { type: 'object' } }, { type: 'web_search_20250305', name: 'web_search' }],
  tool_choice: { type: 'tool', name: 'f' },
  thinking: { type: 'enabled', budget_tokens: 2000 },
  output_config: { effort: 'high' },
  temperature: 0.5,
  stop_sequences: ['END'],
  metadata: { user_id: 'u' },
  stream: true,
};

const ROUTE = { name: 'messages', path: '/v1/messages', stream: 'asked' } as const;

/** A body of a caller is a chat, or a failure that names the place. */
export function messagesRequests(random: Random): void {
  const text = random.below(2) === 0 ? mutateText(random, JSON.stringify(FULL_REQUEST)) : JSON.stringify(mutateJson(random, FULL_REQUEST));
  const decoded = ANTHROPIC.decodeRequest(Buffer.from(text, random.below(20) === 0 ? 'latin1' : 'utf8'), ROUTE);
  const outcome = decoded instanceof Failure ? decoded : decoded.translate('m');
  const failure = outcome instanceof Failure ? outcome : checkConversation(outcome.request.turns);
  if (failure !== undefined) {
    assert.ok(failure.kind === 'bad_request' || failure.kind === 'unsupported', failure.kind);
    assert.ok(failure.message.length < 1000, failure.message);
  }
  if (outcome instanceof Failure) return;
  assert.ok(outcome.request.turns.length > 0);
  assert.ok(outcome.ignored.length <= 21);
  for (const { role, parts } of outcome.request.turns) {
    assert.ok(parts.length > 0 || role === 'assistant');
    for (const part of parts) assert.ok(part.type !== 'text' || part.text !== '' || part.state !== undefined);
  }
}

/** Any stream is read by a strict client, and what it appends is the turn, calls and states included. */
export function messagesStreams(random: Random): void {
  const deltas: Delta[] = [];
  const reply = randomReply(random, deltas);
  const frames = ANTHROPIC.createFrames(FACTS);
  const isFailed = random.below(5) === 0;
  const last: Delta = isFailed ? { type: 'failed', failure: new Failure('server', 'x\n\ny') } : { type: 'done', reply };
  let text = '';
  for (const delta of [...deltas, last]) {
    if (text !== '' && random.below(6) === 0) text += ANTHROPIC.keepAlive;
    text += frames.render(delta);
  }
  const message = assemble(text);
  assert.equal(message === undefined, isFailed);
  // A stream that ends in text leaves out what belongs to it.
  const endsInText = message?.content.at(-1)?.type === 'text';
  if (message !== undefined) checkTurn(message.content, reply, endsInText ? [] : statesOf(reply.parts));
  checkTurn((JSON.parse(renderJson(encodeMessage(reply, FACTS))) as { content: unknown }).content, reply, statesOf(reply.parts));
}

function randomReply(random: Random, deltas: Delta[]): ChatReply {
  const parts: AssistantPart[] = [];
  let thinking = '';
  const state = (number: number): string | undefined => (random.below(2) === 0 ? undefined : `gemini.gemini.${number}`);
  for (let left = random.below(8); left > 0; left -= 1) {
    const text = random.pick(['', 'x', ' ', '"\\', '\n\n', 'data: ', '\u2028', '😀', '\ud800']);
    if (random.below(3) === 0) {
      thinking += text;
      deltas.push({ type: 'thinking', text });
    } else if (random.below(2) === 0) {
      parts.push({ type: 'text', text, state: state(left) });
      deltas.push({ type: 'text', text });
    } else {
      const id = random.pick(['toolu', 'functions.f:', 'gwid_', '']) + String(left);
      const call = { type: 'tool_call', id, name: 'f', arguments: new RawJson(random.pick(['{}', '{"a":\n1}', '{"a":"\\n"}'])), state: state(left) } as const;
      parts.push(call);
      deltas.push({ type: 'tool_call', call });
    }
  }
  return { id: undefined, model: undefined, parts, thinking, stopReason: 'end_turn', usage: undefined };
}

/** The content, appended to a history, says the same text and calls, and brings these states back once. */
function checkTurn(content: unknown, reply: ChatReply, states: readonly string[]): void {
  const { request, ignored } = translate({ messages: [HI, { role: 'assistant', content }] });
  const parts = (request.turns[1]?.parts ?? []) as readonly AssistantPart[];
  assert.deepEqual(ignored, []);
  assert.equal(replyText({ ...reply, parts }), replyText(reply));
  assert.deepEqual(callsOf(parts), callsOf(reply.parts));
  assert.deepEqual(statesOf(parts), states);
}

function callsOf(parts: readonly AssistantPart[]): unknown {
  return parts.flatMap((part) => (part.type === 'text' ? [] : [{ ...part, arguments: JSON.parse(part.arguments.text) as unknown }]));
}

function statesOf(parts: readonly AssistantPart[]): readonly string[] {
  return parts.flatMap(({ state }) => (state === undefined ? [] : [state])).sort();
}
