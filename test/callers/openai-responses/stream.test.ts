import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../../src/base/json/parse.ts';
import { renderJson } from '../../../src/base/json/render.ts';
import { JsonObject, RawJson } from '../../../src/base/json/value.ts';
import { ToolNames } from '../../../src/callers/openai-responses/tool-names.ts';
import { encodeResponse, outputItems } from '../../../src/callers/openai-responses/reply.ts';
import { ResponseEvents } from '../../../src/callers/openai-responses/stream.ts';
import type { ChatReply, ToolCallPart } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { BARE_REPLY, eventsOf, FACTS, UNASKED_ECHO } from '../dialect-testing.ts';

const CALL: ToolCallPart = { type: 'tool_call', id: 'call_1', name: 'weather', arguments: new RawJson('{"city":\n"Oslo"}'), state: 'a.acme.BB' };

function framesOf(...deltas: readonly Delta[]): readonly string[] {
  const frames = new ResponseEvents(FACTS);
  return deltas.map((delta) => frames.render(delta));
}

/** The events of a stream as their data, which each name must equal in its type. */
function dataOf(...deltas: readonly Delta[]): readonly Record<string, unknown>[] {
  return eventsOf(framesOf(...deltas).join('')).map(({ name, data }) => {
    const event = JSON.parse(data) as Record<string, unknown>;
    assert.equal(name, event['type']);
    return event;
  });
}

function done(reply: Partial<ChatReply>): Delta {
  return { type: 'done', reply: { ...BARE_REPLY, ...reply } };
}

const START = {
  id: 'resp_a1',
  object: 'response',
  created_at: 1795257683,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  model: 'asked-model',
  output: [],
  usage: null,
  ...UNASKED_ECHO,
};

test('a call of a function in a namespace goes back as the client declared it, whole and streamed', () => {
  const source = parseJson('{"tools":[{"type":"function","name":"read"},{"type":"namespace","name":"mcp__files","tools":[{"type":"function","name":"read"}]}]}');
  assert.ok(source instanceof JsonObject);
  const facts = { ...FACTS, request: { ...FACTS.request, source } };
  const reply: ChatReply = { ...BARE_REPLY, parts: [{ ...CALL, name: 'mcp__files__read', state: undefined }, { ...CALL, id: 'call_2', name: 'read', state: undefined }], stopReason: 'tool_use' };
  const called = { id: 'fc_a1_0', type: 'function_call', call_id: 'call_1', name: 'read', namespace: 'mcp__files', status: 'completed', arguments: CALL.arguments.text };
  const plain = { id: 'fc_a1_1', type: 'function_call', call_id: 'call_2', name: 'read', status: 'completed', arguments: CALL.arguments.text };
  const whole = JSON.parse(renderJson(encodeResponse(reply, facts))) as Record<string, unknown>;
  assert.deepEqual(whole['output'], [called, plain]);
  const events = eventsOf(new ResponseEvents(facts).render({ type: 'done', reply })).map(({ data }) => JSON.parse(data) as Record<string, unknown>);
  assert.deepEqual(events.filter(({ type }) => type === 'response.output_item.added').map(({ item }) => item), [called, plain].map((item) => ({ ...item, status: 'in_progress', arguments: '' })));
  assert.deepEqual(events.filter(({ type }) => type === 'response.function_call_arguments.done').map(({ name }) => name), ['read', 'read']);
  assert.deepEqual(events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item), [called, plain]);
  assert.deepEqual((events.at(-1)?.['response'] as Record<string, unknown>)['output'], [called, plain]);
});

test('a call of a custom tool goes back as that, with its text, whole and streamed', () => {
  const source = parseJson('{"tools":[{"type":"custom","name":"patch"}],"input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}]}]}');
  assert.ok(source instanceof JsonObject);
  const facts = { ...FACTS, request: { ...FACTS.request, source } };
  const calls = [['patch', '{"input":"a \\"b\\""}'], ['functions__exec', '{"other":1}']].map(([name = '', text = ''], index) => ({ ...CALL, id: `call_${index}`, name, arguments: new RawJson(text), state: undefined }));
  const reply: ChatReply = { ...BARE_REPLY, parts: calls, stopReason: 'tool_use' };
  const item = { type: 'custom_tool_call', status: 'completed' };
  const output = [
    { ...item, id: 'ctc_a1_0', call_id: 'call_0', name: 'patch', input: 'a "b"' },
    // A model that does not keep to its schema is passed on as it wrote.
    { ...item, id: 'ctc_a1_1', call_id: 'call_1', name: 'exec', namespace: 'functions', input: '{"other":1}' },
  ];
  assert.deepEqual((JSON.parse(renderJson(encodeResponse(reply, facts))) as Record<string, unknown>)['output'], output);
  const events = eventsOf(new ResponseEvents(facts).render({ type: 'done', reply })).map(({ data }) => JSON.parse(data) as Record<string, unknown>);
  assert.deepEqual(events.slice(2, 6), [
    { type: 'response.output_item.added', sequence_number: 2, output_index: 0, item: { ...output[0], status: 'in_progress', input: '' } },
    { type: 'response.custom_tool_call_input.delta', sequence_number: 3, item_id: 'ctc_a1_0', output_index: 0, delta: 'a "b"' },
    { type: 'response.custom_tool_call_input.done', sequence_number: 4, item_id: 'ctc_a1_0', output_index: 0, input: 'a "b"' },
    { type: 'response.output_item.done', sequence_number: 5, output_index: 0, item: output[0] },
  ]);
  assert.deepEqual((events.at(-1)?.['response'] as Record<string, unknown>)['output'], output);
});

test('a call is of the tool that is shown to the model: the first with its name', () => {
  const source = parseJson('{"tools":[{"type":"function","name":"a"},{"type":"custom","name":"b"}],"input":[{"type":"additional_tools","tools":[{"type":"custom","name":"a"},{"type":"function","name":"b"}]}]}');
  assert.ok(source instanceof JsonObject);
  const parts = ['a', 'b'].map((name) => ({ ...CALL, id: name, name, state: undefined }));
  const items = outputItems(BARE_REPLY, parts, '', { ...FACTS, request: { ...FACTS.request, source } });
  assert.deepEqual(items.map(({ type }) => type), ['function_call', 'custom_tool_call']);
});

test('a call of a plain function is that, and no function of a namespace whose names are joined to the same', () => {
  const source = parseJson('{"tools":[{"type":"namespace","name":"files","tools":[{"type":"function","name":"read"}]},{"type":"function","name":"files__read"}]}');
  assert.ok(source instanceof JsonObject);
  const facts = { ...FACTS, request: { ...FACTS.request, source } };
  const named = [new ToolNames(source).nameOf({ namespace: 'files', name: 'read' }), 'files__read'];
  const reply: ChatReply = { ...BARE_REPLY, parts: named.map((name, index) => ({ ...CALL, id: `call_${index}`, name, arguments: new RawJson('{"input":"a"}'), state: undefined })), stopReason: 'tool_use' };
  const whole = JSON.parse(renderJson(encodeResponse(reply, facts))) as { readonly output: readonly Record<string, unknown>[] };
  const items = whole.output.map(({ namespace, name, arguments: args }) => [namespace, name, args]);
  assert.deepEqual(items, [['files', 'read', '{"input":"a"}'], [undefined, 'files__read', '{"input":"a"}']]);
});

test('a stream of thinking, text and a call has the events of the Responses form, in order', () => {
  const usage = { inputTokens: 5, outputTokens: 7, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 2 };
  const deltas: readonly Delta[] = [
    { type: 'thinking', text: 'Hm.' },
    { type: 'text', text: 'Hel' },
    { type: 'text', text: 'lo' },
    { type: 'tool_call', call: CALL },
    done({ model: 'served', thinking: 'Hm.', parts: [{ type: 'text', text: 'Hello', state: 'a.acme.AA' }, CALL], stopReason: 'tool_use', usage }),
  ];
  const thought = { id: 'rs_a1_0', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gateway:' };
  const said = { id: 'msg_a1_1', type: 'message', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: 'Hello', annotations: [] }] };
  const ofText = { id: 'rs_a1_2', type: 'reasoning', summary: [], encrypted_content: 'gateway:text=a.acme.AA' };
  const ofCall = { id: 'rs_a1_3', type: 'reasoning', summary: [], encrypted_content: 'gateway:call=a.acme.BB' };
  const args = '{"city":\n"Oslo"}';
  const called = { id: 'fc_a1_4', type: 'function_call', call_id: 'call_1', name: 'weather', status: 'completed', arguments: args };
  const inThought = { item_id: 'rs_a1_0', output_index: 0, summary_index: 0 };
  const inText = { item_id: 'msg_a1_1', output_index: 1, content_index: 0 };
  const inCall = { item_id: 'fc_a1_4', output_index: 4 };
  const expected = [
    { type: 'response.created', response: START },
    { type: 'response.in_progress', response: START },
    { type: 'response.output_item.added', output_index: 0, item: { ...thought, summary: [] } },
    { type: 'response.reasoning_summary_part.added', ...inThought, part: { type: 'summary_text', text: '' } },
    { type: 'response.reasoning_summary_text.delta', ...inThought, delta: 'Hm.' },
    { type: 'response.reasoning_summary_text.done', ...inThought, text: 'Hm.' },
    { type: 'response.reasoning_summary_part.done', ...inThought, part: { type: 'summary_text', text: 'Hm.' } },
    { type: 'response.output_item.done', output_index: 0, item: thought },
    { type: 'response.output_item.added', output_index: 1, item: { ...said, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...inText, part: { type: 'output_text', text: '', annotations: [] } },
    { type: 'response.output_text.delta', ...inText, logprobs: [], delta: 'Hel' },
    { type: 'response.output_text.delta', ...inText, logprobs: [], delta: 'lo' },
    { type: 'response.output_text.done', ...inText, logprobs: [], text: 'Hello' },
    { type: 'response.content_part.done', ...inText, part: { type: 'output_text', text: 'Hello', annotations: [] } },
    { type: 'response.output_item.done', output_index: 1, item: said },
    { type: 'response.output_item.added', output_index: 2, item: ofText },
    { type: 'response.output_item.done', output_index: 2, item: ofText },
    { type: 'response.output_item.added', output_index: 3, item: ofCall },
    { type: 'response.output_item.done', output_index: 3, item: ofCall },
    { type: 'response.output_item.added', output_index: 4, item: { ...called, status: 'in_progress', arguments: '' } },
    { type: 'response.function_call_arguments.delta', ...inCall, delta: args },
    { type: 'response.function_call_arguments.done', ...inCall, name: 'weather', arguments: args },
    { type: 'response.output_item.done', output_index: 4, item: called },
    {
      type: 'response.completed',
      response: {
        ...START,
        status: 'completed',
        model: 'served',
        output: [thought, said, ofText, ofCall, called],
        usage: { input_tokens: 5, input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 }, output_tokens: 7, output_tokens_details: { reasoning_tokens: 2 }, total_tokens: 12 },
      },
    },
  ];
  assert.deepEqual(dataOf(...deltas), expected.map((event, index) => ({ ...event, sequence_number: index })));
});

test('each delta is passed on as it comes, and a call with the end of its turn', () => {
  const types = framesOf({ type: 'text', text: 'A' }, { type: 'text', text: 'B' }, { type: 'tool_call', call: CALL }, { type: 'text', text: '' }).map((frames) =>
    eventsOf(frames).map(({ name }) => name),
  );
  assert.deepEqual(types, [
    ['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added', 'response.output_text.delta'],
    ['response.output_text.delta'],
    [],
    [],
  ]);
});

test('the frame of a piece of text is exactly this', () => {
  assert.equal(
    framesOf({ type: 'text', text: 'A' }, { type: 'text', text: 'B\n"' })[1],
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_a1_0","output_index":0,"content_index":0,"logprobs":[],"delta":"B\\n\\""}\n\n',
  );
});

test('a stream that says nothing begins and completes', () => {
  assert.deepEqual(dataOf(done({})).map(({ type, response }) => [type, (response as { status: string }).status]), [
    ['response.created', 'in_progress'],
    ['response.in_progress', 'in_progress'],
    ['response.completed', 'completed'],
  ]);
});

test('a stream that ended early ends with response.incomplete', () => {
  for (const [stopReason, reason] of [['max_tokens', 'max_output_tokens'], ['refusal', 'content_filter']] as const) {
    const last = dataOf({ type: 'text', text: 'A' }, done({ parts: [{ type: 'text', text: 'A', state: undefined }], stopReason })).at(-1);
    assert.equal(last?.['type'], 'response.incomplete');
    const response = last?.['response'] as Record<string, unknown>;
    assert.deepEqual([response['status'], response['incomplete_details']], ['incomplete', { reason }]);
  }
});

test('a refusal without a word is a message with a refusal part, and the response completes', () => {
  const events = dataOf(done({ stopReason: 'refusal' })).slice(2);
  const place = { item_id: 'msg_a1_0', output_index: 0, content_index: 0 };
  const sentence = 'The request was declined.';
  const part = { type: 'refusal', refusal: sentence };
  const item = { id: 'msg_a1_0', type: 'message', status: 'completed', role: 'assistant', content: [part] };
  assert.deepEqual(
    events.slice(0, -1).map(({ sequence_number: _, ...event }) => event),
    [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...place, part: { type: 'refusal', refusal: '' } },
      { type: 'response.refusal.delta', ...place, delta: sentence },
      { type: 'response.refusal.done', ...place, refusal: sentence },
      { type: 'response.content_part.done', ...place, part },
      { type: 'response.output_item.done', output_index: 0, item },
    ],
  );
  assert.equal(events.at(-1)?.['type'], 'response.completed');
});

test('a stream that fails ends with the two events that every client takes for a failure', () => {
  const failure = new Failure('server', 'acme ended the stream');
  const events = framesOf({ type: 'text', text: 'A' }, { type: 'failed', failure });
  assert.equal(
    events[1],
    'event: response.failed\ndata: {"type":"response.failed","sequence_number":5,"response":{"id":"resp_a1","object":"response","created_at":1795257683,"status":"failed",' +
      '"error":{"code":"provider_error","message":"acme ended the stream"},"incomplete_details":null,"model":"asked-model","output":[],"usage":null,' +
      '"instructions":null,"max_output_tokens":null,"metadata":{},"parallel_tool_calls":true,"previous_response_id":null,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,"truncation":"disabled"}}\n\n' +
      'event: error\ndata: {"type":"error","sequence_number":6,"code":"provider_error","message":"acme ended the stream","param":null,' +
      '"error":{"type":"api_error","code":"provider_error","message":"acme ended the stream","param":null}}\n\n',
  );
});

test('a stream that fails before anything was said begins first', () => {
  const types = dataOf({ type: 'failed', failure: new Failure('bad_request', 'No.') }).map(({ type }) => type);
  assert.deepEqual(types, ['response.created', 'response.in_progress', 'response.failed', 'error']);
});

test('a relayed stream that fails goes on counting, and speaks of the response that it began, as far as that says what it is', () => {
  const failed: Delta = { type: 'failed', failure: new Failure('server', 'acme ended the stream') };
  for (const [begun, expected] of [
    [{ id: 'resp_1', created_at: 7, model: 'served' }, ['resp_1', 7, 'served']],
    [{}, ['resp_a1', 1795257683, 'asked-model']],
  ] as const) {
    const frames = new ResponseEvents(FACTS);
    frames.relay('response.created', JSON.stringify({ type: 'response.created', response: begun }));
    frames.relay('response.in_progress', JSON.stringify({ type: 'response.in_progress', response: { id: 'another' } }));
    const events: readonly Record<string, unknown>[] = eventsOf(frames.render(failed)).map(({ data }) => JSON.parse(data) as Record<string, unknown>);
    assert.deepEqual(events.map((event) => [event['type'], event['sequence_number']]), [['response.failed', 2], ['error', 3]]);
    const response = events[0]?.['response'] as Record<string, unknown>;
    assert.deepEqual([response['id'], response['created_at'], response['model']], expected);
  }
});

test('a failure without a code of its own has its type as code', () => {
  const error = dataOf({ type: 'failed', failure: new Failure('bad_request', 'No.') }).at(-1);
  assert.equal(error?.['code'], 'invalid_request_error');
});
