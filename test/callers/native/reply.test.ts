import { deepEqual, equal } from 'node:assert/strict';
import test from 'node:test';
import { renderJson } from '../../../src/base/json/render.ts';
import { RawJson } from '../../../src/base/json/value.ts';
import { SseBuffer } from '../../../src/base/sse.ts';
import { encodeChatReply, renderDeltaFrame, renderFailureBody } from '../../../src/callers/native/reply.ts';
import { decodeChatRequest } from '../../../src/callers/native/request.ts';
import type { ChatReply, ToolCallPart } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';

const bare: ChatReply = {
  id: undefined,
  model: undefined,
  parts: [],
  thinking: '',
  stopReason: 'end_turn',
  usage: undefined,
};

const call: ToolCallPart = {
  type: 'tool_call',
  id: 'call_1',
  name: 'weather',
  arguments: new RawJson('{"days":1.0,\r\n "id":12345678901234567890}'),
  state: 'gemini.gemini.e30',
};

const full: ChatReply = {
  id: 'msg_1',
  model: 'm-2',
  parts: [
    { type: 'text', text: 'Let me ', state: undefined },
    { type: 'text', text: '"see"\n', state: 'anthropic.anthropic.e30' },
    call,
    { ...call, id: 'call_2', arguments: new RawJson('{}'), state: undefined },
  ],
  thinking: 'hm',
  stopReason: 'tool_use',
  usage: { inputTokens: 10, outputTokens: 20, cacheReadTokens: 3, cacheWriteTokens: 4, reasoningTokens: 5 },
};

const fullMessage =
  '{"role":"assistant","content":[{"type":"text","text":"Let me "},' +
  '{"type":"text","text":"\\"see\\"\\n","provider_state":"anthropic.anthropic.e30"},' +
  '{"type":"tool_call","id":"call_1","name":"weather","arguments":{"days":1.0,\r\n "id":12345678901234567890},"provider_state":"gemini.gemini.e30"},' +
  '{"type":"tool_call","id":"call_2","name":"weather","arguments":{}}]}';

const fullUsage =
  '{"input_tokens":10,"output_tokens":20,"cache_read_tokens":3,"cache_write_tokens":4,"reasoning_tokens":5}';

test('encodeChatReply writes every field of a full reply, argument text untouched', () => {
  equal(
    renderJson(encodeChatReply('acme', full, '{ "raw":1.0 }\n')),
    `{"id":"msg_1","provider":"acme","model":"m-2","text":"Let me \\"see\\"\\n","message":${fullMessage},"stop_reason":"tool_use",` +
      '"tool_calls":[{"id":"call_1","name":"weather","arguments":{"days":1.0,\r\n "id":12345678901234567890},"provider_state":"gemini.gemini.e30"},' +
      `{"id":"call_2","name":"weather","arguments":{}}],"usage":${fullUsage},"thinking":"hm","raw":{ "raw":1.0 }\n}`,
  );
});

test('encodeChatReply leaves out what the provider did not report', () => {
  equal(
    renderJson(encodeChatReply('acme', bare, undefined)),
    '{"provider":"acme","text":"","message":{"role":"assistant","content":[]},"stop_reason":"end_turn"}',
  );
});

test('encodeChatReply keeps the two totals of usage at zero and leaves out break-downs of zero', () => {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  deepEqual(JSON.parse(renderJson(encodeChatReply('acme', { ...bare, usage }, undefined))).usage, { input_tokens: 0, output_tokens: 0 });
});

test('encodeChatReply leaves out of the message a text part with neither text nor state', () => {
  const parts = [
    { type: 'text', text: '', state: undefined },
    { type: 'text', text: '', state: 'gemini.gemini.e30' },
  ] as const;
  deepEqual(JSON.parse(renderJson(encodeChatReply('acme', { ...bare, parts }, undefined))).message, {
    role: 'assistant',
    content: [{ type: 'text', text: '', provider_state: 'gemini.gemini.e30' }],
  });
});

for (const [what, reply] of [['full', full], ['bare', bare]] as const) {
  test(`the message of a ${what} reply is taken back as the turn it came from`, () => {
    const { message } = JSON.parse(renderJson(encodeChatReply('acme', { ...reply, parts: reply.parts.map(compact) }, undefined)));
    const request = decodeChatRequest(Buffer.from(JSON.stringify({ model: 'm', messages: [message] })));
    deepEqual(request instanceof Failure ? request : request.turns, [
      { role: 'assistant', parts: reply.parts.map(compact) },
    ]);
  });
}

/** With arguments that JSON.parse and JSON.stringify give back as they were. */
function compact<T extends ChatReply['parts'][number]>(part: T): T {
  return part.type === 'tool_call' ? { ...part, arguments: new RawJson('{"days":1}') } : part;
}

const frames: [what: string, delta: Delta, json: string][] = [
  ['text', { type: 'text', text: 'a "b"\r\n\u2028\ud800' }, '{"type":"text_delta","text":"a \\"b\\"\\r\\n\u2028\\ud800"}'],
  ['thinking', { type: 'thinking', text: 'hm\n' }, '{"type":"thinking_delta","text":"hm\\n"}'],
  [
    'a tool call, its line ends turned to spaces',
    { type: 'tool_call', call },
    '{"type":"tool_call","tool_call":{"id":"call_1","name":"weather",' +
      '"arguments":{"days":1.0,   "id":12345678901234567890},"provider_state":"gemini.gemini.e30"}}',
  ],
  [
    'a tool call without state',
    { type: 'tool_call', call: { ...call, arguments: new RawJson('{}'), state: undefined } },
    '{"type":"tool_call","tool_call":{"id":"call_1","name":"weather","arguments":{}}}',
  ],
  [
    'the end of a full reply',
    { type: 'done', reply: full },
    '{"type":"done","id":"msg_1","provider":"acme","model":"m-2","stop_reason":"tool_use",' +
      `"message":${fullMessage.replace('\r\n', '  ')},"usage":${fullUsage}}`,
  ],
  [
    'the end of a bare reply',
    { type: 'done', reply: bare },
    '{"type":"done","provider":"acme","stop_reason":"end_turn","message":{"role":"assistant","content":[]}}',
  ],
  [
    'a failure, without what the provider wrote',
    { type: 'failed', failure: new Failure('server', 'acme ended\nearly', { detail: 'secret' }) },
    '{"type":"error","kind":"server","error":"acme ended\\nearly"}',
  ],
];

for (const [what, delta, json] of frames) {
  test(`renderDeltaFrame writes ${what}`, () => {
    equal(renderDeltaFrame('acme', delta), `data: ${json}\n\n`);
  });

  test(`an event-stream reader gets one frame for ${what}`, () => {
    const seen: string[] = [];
    new SseBuffer((event, data) => seen.push(event, data), 1024).feed(Buffer.from(renderDeltaFrame('acme', delta)));
    deepEqual(seen, ['', Buffer.from(json).toString()]);
  });
}

test('renderFailureBody writes kind and sentence, never the provider’s prose', () => {
  equal(
    renderFailureBody(new Failure('rate_limit', 'acme is limiting the rate of requests', { detail: 'secret' })),
    '{"kind":"rate_limit","error":"acme is limiting the rate of requests"}',
  );
});

test('encodeChatReply writes a long text in both places as a short one', () => {
  const text = `a"\n${'x'.repeat(600_000)}😀`;
  const rendered = renderJson(encodeChatReply('acme', { ...bare, parts: [{ type: 'text', text, state: 's' }] }, undefined));
  const { text: whole, message } = JSON.parse(rendered) as { text: string; message: unknown };
  deepEqual([whole, message], [text, { role: 'assistant', content: [{ type: 'text', text, provider_state: 's' }] }]);
});
