import { deepEqual, equal } from 'node:assert/strict';
import test from 'node:test';
import { renderJson } from '../../../src/base/json/render.ts';
import { RawJson } from '../../../src/base/json/value.ts';
import { encodeMessage } from '../../../src/callers/anthropic/reply.ts';
import { MessageEvents } from '../../../src/callers/anthropic/stream.ts';
import type { AssistantPart, ChatReply, StopReason, ToolCallPart, Usage } from '../../../src/core/chat.ts';
import { assemble } from './message-client.ts';
import { BARE, decode, FACTS, HI } from './messages.ts';

function contentOf(reply: Partial<ChatReply>): unknown {
  return (JSON.parse(renderJson(encodeMessage({ ...BARE, ...reply }, FACTS))) as { content: unknown }).content;
}

function said(text: string, state?: string): AssistantPart {
  return { type: 'text', text, state };
}

const CALL: ToolCallPart = { type: 'tool_call', id: 'toolu_1', name: 'weather', arguments: new RawJson('{"city":"Oslo",\r\n "n":1.0}'), state: undefined };

test('a call by a name that was cut goes back under the own name of its tool, whole and streamed', () => {
  const [long, fits] = [`mcp__files__${'n'.repeat(70)}`, 'f'.repeat(64)];
  const request = decode({ model: 'm', max_tokens: 1, messages: [HI], tools: [{ name: long }, { name: fits }, { name: 'weather' }] });
  const translation = request.translate('m');
  const shown = 'request' in translation ? translation.request.tools.map(({ name }) => name) : [];
  const reply = { ...BARE, parts: [...shown, 'x'.repeat(64)].map((name, index) => ({ ...CALL, id: `toolu_${index}`, name })) };
  const facts = { ...FACTS, request };
  const expected = [long, fits, 'weather', 'x'.repeat(64)];
  const namesOf = (content: unknown): unknown => (content as { name: string }[]).map(({ name }) => name);
  deepEqual(namesOf((JSON.parse(renderJson(encodeMessage(reply, facts))) as { content: unknown }).content), expected);
  deepEqual(namesOf(assemble(new MessageEvents(facts).render({ type: 'done', reply }))?.content), expected);
});

test('a full reply has every field that clients need, in the form of the API, arguments untouched', () => {
  const reply: ChatReply = {
    id: 'chatcmpl-1',
    model: 'fake-2-20260101',
    parts: [said('Let me ', undefined), said('see', 'openai-chat.acme.e30'), { ...CALL, state: 'gemini.gemini.e30' }],
    thinking: 'Hm.',
    stopReason: 'tool_use',
    usage: { inputTokens: 50, outputTokens: 20, cacheReadTokens: 30, cacheWriteTokens: 8, reasoningTokens: 5 },
  };
  equal(
    renderJson(encodeMessage(reply, FACTS)),
    '{"id":"msg_answer-1","type":"message","role":"assistant","model":"x/fake","content":[' +
      '{"type":"thinking","thinking":"Hm.","signature":"gateway:"},' +
      '{"type":"text","text":"Let me "},' +
      '{"type":"redacted_thinking","data":"gateway:own=openai-chat.acme.e30"},' +
      '{"type":"text","text":"see"},' +
      '{"type":"redacted_thinking","data":"gateway:call=gemini.gemini.e30"},' +
      '{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Oslo",\r\n "n":1.0}}],' +
      '"stop_reason":"tool_use","stop_sequence":null,' +
      '"usage":{"input_tokens":12,"cache_creation_input_tokens":8,"cache_read_input_tokens":30,"output_tokens":20,' +
      '"output_tokens_details":{"thinking_tokens":5}}}',
  );
});

test('a reply that reports nothing counts 0, because clients demand numbers', () => {
  equal(
    renderJson(encodeMessage({ ...BARE, parts: [said('Hello')] }, FACTS)),
    '{"id":"msg_answer-1","type":"message","role":"assistant","model":"x/fake","content":[{"type":"text","text":"Hello"}],' +
      '"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}',
  );
});

test('an id of the API is kept, the model is what the caller asked for whatever served it', () => {
  const message = JSON.parse(renderJson(encodeMessage({ ...BARE, id: 'msg_01', model: 'fake-3' }, FACTS))) as { id: string; model: string };
  deepEqual([message.id, message.model], ['msg_01', 'x/fake']);
});

for (const [reason, expected] of Object.entries({
  end_turn: 'end_turn',
  max_tokens: 'max_tokens',
  tool_use: 'tool_use',
  stop_sequence: 'stop_sequence',
  refusal: 'refusal',
  unknown: 'end_turn',
} satisfies Record<StopReason, string>)) {
  test(`stop reason ${reason} is ${expected}`, () => {
    const message = JSON.parse(renderJson(encodeMessage({ ...BARE, stopReason: reason as StopReason }, FACTS))) as Record<string, unknown>;
    deepEqual([message['stop_reason'], message['stop_sequence'], message['content']], [expected, null, []]);
  });
}

for (const [usage, expected] of [
  [{ inputTokens: 10, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0 }, [10, 0, 0]],
  [{ inputTokens: 10, outputTokens: 3, cacheReadTokens: 10, cacheWriteTokens: 0 }, [0, 0, 10]],
  [{ inputTokens: 10, outputTokens: 3, cacheReadTokens: 9, cacheWriteTokens: 9 }, [0, 1, 9]],
  [{ inputTokens: 10, outputTokens: 3, cacheReadTokens: 12, cacheWriteTokens: 0 }, [0, 0, 10]],
] as readonly (readonly [Omit<Usage, 'reasoningTokens'>, unknown])[]) {
  test(`of ${usage.inputTokens} input tokens, ${usage.cacheReadTokens} read from a cache and ${usage.cacheWriteTokens} written, the rest is told, and no more than all`, () => {
    const message = JSON.parse(renderJson(encodeMessage({ ...BARE, usage: { ...usage, reasoningTokens: 0 } }, FACTS))) as { usage: Record<string, unknown> };
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, ...rest } = message.usage;
    deepEqual([input_tokens, cache_creation_input_tokens, cache_read_input_tokens], expected);
    deepEqual(rest, { output_tokens: 3 });
  });
}

for (const [name, reply, expected] of [
  ['a reply that says nothing', {}, []],
  ['an empty text', { parts: [said('')] }, []],
  ['reasoning alone', { thinking: 'Hm.', parts: [said('', 'a.b.e30')] }, [{ type: 'thinking', thinking: 'Hm.', signature: 'gateway:empty=a.b.e30' }]],
  ['a state alone', { parts: [said('', 'a.b.e30')] }, [{ type: 'redacted_thinking', data: 'gateway:empty=a.b.e30' }]],
  [
    'disclosed reasoning with the state of what follows',
    { thinking: 'Hm.', parts: [said('A', 'a.b.e30')] },
    [{ type: 'thinking', thinking: 'Hm.', signature: 'gateway:own=a.b.e30' }, { type: 'text', text: 'A' }],
  ],
  [
    'an empty text before a call',
    { parts: [said('', 'a.b.e30'), { ...CALL, arguments: new RawJson('{}'), state: 'a.b.e31' }] },
    [{ type: 'redacted_thinking', data: 'gateway:empty=a.b.e30,call=a.b.e31' }, { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }],
  ],
  [
    'an id of another vendor',
    { parts: [{ ...CALL, id: 'functions.weather:0', arguments: new RawJson('{}') }] },
    [{ type: 'tool_use', id: 'gwid_ZnVuY3Rpb25zLndlYXRoZXI6MA', name: 'weather', input: {} }],
  ],
] as readonly (readonly [string, Partial<ChatReply>, unknown])[]) {
  test(`the content of ${name} is ${JSON.stringify(expected)}`, () => deepEqual(contentOf(reply), expected));
}
