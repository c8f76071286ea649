import { deepEqual, equal } from 'node:assert/strict';
import test from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import { MessageEvents } from '../../../src/callers/anthropic/stream.ts';
import type { ChatReply, ToolCallPart } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { assemble, eventsOf } from './message-client.ts';
import { BARE, FACTS } from './messages.ts';

const START =
  'event: message_start\n' +
  'data: {"type":"message_start","message":{"id":"msg_answer-1","type":"message","role":"assistant","model":"x/fake","content":[],' +
  '"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}\n\n';

const CALL: ToolCallPart = { type: 'tool_call', id: 'toolu_1', name: 'weather', arguments: new RawJson('{"city":"Oslo",\n"n":1.0}'), state: undefined };

function render(deltas: readonly Delta[]): string {
  const frames = new MessageEvents(FACTS);
  return deltas.map((delta) => frames.render(delta)).join('');
}

function done(reply: Partial<ChatReply>): Delta {
  return { type: 'done', reply: { ...BARE, ...reply } };
}

test('a relayed event keeps its name, or has that of its data, and all lines of its data', () => {
  const relayed = (event: string, data: string): string => new MessageEvents(FACTS).relay(event, data);
  equal(relayed('ping', '{\n"type":\n"ping"}'), 'event: ping\ndata: {\ndata: "type":\ndata: "ping"}\n\n');
  equal(relayed('', '{"type":"ping"}'), 'event: ping\ndata: {"type":"ping"}\n\n');
  equal(relayed('', '{}'), 'data: {}\n\n');
});

test('a stream of text is framed token by token', () => {
  const frames = new MessageEvents(FACTS);
  equal(
    frames.render({ type: 'text', text: 'Hel' }),
    START +
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}\n\n',
  );
  equal(
    frames.render({ type: 'text', text: '"lo"\n' }),
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\"lo\\"\\n"}}\n\n',
  );
  const usage = { inputTokens: 42, outputTokens: 12, cacheReadTokens: 7, cacheWriteTokens: 0, reasoningTokens: 0 };
  equal(
    frames.render(done({ parts: [{ type: 'text', text: 'Hel"lo"\n', state: undefined }], usage })),
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n' +
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},' +
      '"usage":{"input_tokens":35,"cache_creation_input_tokens":0,"cache_read_input_tokens":7,"output_tokens":12}}\n\n' +
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  );
});

test('reasoning, text and calls are blocks one after another, states stand before the calls', () => {
  const parts: ChatReply['parts'] = [
    { type: 'text', text: 'Well', state: 'a.b.e30' },
    { ...CALL, state: 'a.b.e31' },
    { ...CALL, id: 'functions.f:1', arguments: new RawJson('{}') },
  ];
  const frames = new MessageEvents(FACTS);
  equal(
    frames.render({ type: 'thinking', text: 'Hm.' }),
    START +
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}\n\n' +
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}\n\n',
  );
  equal(
    frames.render({ type: 'text', text: 'Well' }),
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"gateway:"}}\n\n' +
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n' +
      'event: content_block_start\ndata: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}\n\n' +
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Well"}}\n\n',
  );
  equal(frames.render({ type: 'tool_call', call: CALL }), '');
  equal(
    frames.render(done({ parts, thinking: 'Hm.', stopReason: 'tool_use' })),
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":1}\n\n' +
      'event: content_block_start\ndata: {"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"gateway:text=a.b.e30,call=a.b.e31"}}\n\n' +
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":2}\n\n' +
      'event: content_block_start\ndata: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}\n\n' +
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\\"city\\":\\"Oslo\\",\\n\\"n\\":1.0}"}}\n\n' +
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":3}\n\n' +
      'event: content_block_start\ndata: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"gwid_ZnVuY3Rpb25zLmY6MQ","name":"weather","input":{}}}\n\n' +
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{}"}}\n\n' +
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":4}\n\n' +
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":0,"output_tokens":0}}\n\n' +
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  );
});

for (const [name, deltas, expected] of [
  ['nothing but its end', [done({ stopReason: 'refusal' })], []],
  ['empty deltas', [{ type: 'thinking', text: '' }, { type: 'text', text: '' }, done({})], []],
  [
    'reasoning before a call, whose signature carries the state',
    [{ type: 'thinking', text: 'H' }, { type: 'thinking', text: 'm' }, { type: 'tool_call', call: CALL }, done({ parts: [{ ...CALL, state: 'a.b.e30' }] })],
    [{ type: 'thinking', thinking: 'Hm', signature: 'gateway:call=a.b.e30' }, { type: 'tool_use', id: 'toolu_1', name: 'weather', partial: undefined, input: { city: 'Oslo', n: 1 } }],
  ],
  [
    'reasoning alone',
    [{ type: 'thinking', text: 'Hm' }, done({ parts: [{ type: 'text', text: '', state: 'a.b.e30' }] })],
    [{ type: 'thinking', thinking: 'Hm', signature: 'gateway:empty=a.b.e30' }],
  ],
  [
    'reasoning between texts',
    [{ type: 'text', text: 'A' }, { type: 'thinking', text: 'Hm' }, { type: 'text', text: 'B' }, done({})],
    [{ type: 'text', text: 'A' }, { type: 'thinking', thinking: 'Hm', signature: 'gateway:' }, { type: 'text', text: 'B' }],
  ],
  [
    'a text with a state',
    [{ type: 'text', text: 'A' }, done({ parts: [{ type: 'text', text: 'A', state: 'a.b.e30' }] })],
    [{ type: 'text', text: 'A' }],
  ],
] as readonly (readonly [string, readonly Delta[], unknown])[]) {
  test(`a stream of ${name} is a message that a client can put together`, () => {
    deepEqual(assemble(render(deltas))?.content, expected);
  });
}

test('the last event says the stop reason and all counts', () => {
  const usage = { inputTokens: 50, outputTokens: 20, cacheReadTokens: 30, cacheWriteTokens: 8, reasoningTokens: 5 };
  const message = assemble(render([done({ stopReason: 'max_tokens', usage })]));
  equal(message?.stop_reason, 'max_tokens');
  deepEqual(message?.usage, {
    input_tokens: 12,
    cache_creation_input_tokens: 8,
    cache_read_input_tokens: 30,
    output_tokens: 20,
    output_tokens_details: { thinking_tokens: 5 },
  });
});

test('a call opens the message, though it is sent at the end', () => {
  equal(render([{ type: 'tool_call', call: CALL }]), START);
});

test('a failed stream ends with an error event and no event of success, whatever was open', () => {
  const failed: Delta = { type: 'failed', failure: new Failure('server', 'acme ended the stream before the answer was complete', { upstreamStatus: 200 }) };
  const error =
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"acme ended the stream before the answer was complete"},"request_id":"req-1"}\n\n';
  equal(render([failed]), error);
  const text = render([{ type: 'text', text: 'A' }, failed]);
  equal(text.slice(-error.length), error);
  deepEqual(eventsOf(text).map(({ type }) => type), ['message_start', 'content_block_start', 'content_block_delta', 'error']);
});
