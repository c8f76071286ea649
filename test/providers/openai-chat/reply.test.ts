import { test } from 'node:test';
import assert from 'node:assert/strict';
import { RawJson } from '../../../src/base/json/value.ts';
import { isMadeCallId } from '../../../src/core/call-id.ts';
import { replyText, replyToolCalls } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { encodeState } from '../../../src/core/provider-state.ts';
import { decodeChunks, endOf } from '../../decode-stream.ts';
import { adapterOf, bodyWith, good } from './setup.ts';

const openai = adapterOf('openai');

/** The reply for a message, from a host of which nothing special is known. */
const replyTo = (message: unknown, finishReason: unknown = 'stop', extra: object = {}, provider = 'fireworks') =>
  good(adapterOf(provider).decodeChat(bodyWith(message, finishReason, extra)));

const failureTo = (message: unknown, finishReason: unknown = 'stop'): Failure => {
  const failure = openai.decodeChat(bodyWith(message, finishReason));
  assert.ok(failure instanceof Failure);
  return failure;
};

const fn = (args: unknown, id: unknown = 'a', name: unknown = 'weather') => ({ id, type: 'function', function: { name, arguments: args } });
const callsOf = (calls: readonly unknown[], finishReason: unknown = 'tool_calls') =>
  replyTo({ content: null, tool_calls: calls }, finishReason).parts.map((part) => (part.type === 'tool_call' ? [part.id, part.name, part.arguments.text] : part.text));

test('a whole reply gives id, model, text, stop reason and usage', () => {
  assert.deepEqual(replyTo({ role: 'assistant', content: 'hi' }, 'stop', { usage: { prompt_tokens: 3, completion_tokens: 2 } }), {
    id: 'c1', model: 'm1', parts: [{ type: 'text', text: 'hi', state: undefined }], thinking: '', stopReason: 'end_turn',
    usage: { inputTokens: 3, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  });
});

test('absent id, model and usage are undefined', () => {
  const reply = good(openai.decodeChat('{"choices":[{"message":{"content":"x"}}],"usage":null}'));
  assert.deepEqual([reply.id, reply.model, reply.usage, reply.stopReason], [undefined, undefined, undefined, 'unknown']);
});

test('finish reasons map to stop reasons, unheard-of ones to unknown', () => {
  const stops = (reason: unknown): string => replyTo({ content: 'x' }, reason).stopReason;
  const table = { stop: 'end_turn', eos: 'end_turn', length: 'max_tokens', model_length: 'max_tokens', model_context_window_exceeded: 'max_tokens', content_filter: 'refusal', sensitive: 'refusal', tool_calls: 'unknown', odd: 'unknown' };
  for (const [reason, stop] of Object.entries(table)) assert.equal(stops(reason), stop, reason);
  assert.equal(stops(2), 'unknown');
  assert.equal(stops(null), 'unknown');
});

test('calls make the stop reason tool_use whatever the host says', () => {
  for (const reason of ['stop', 'length', 'tool_calls', 'function_call', null]) assert.equal(replyTo({ tool_calls: [fn('{}')] }, reason).stopReason, 'tool_use');
});

test('a matched stop string makes it stop_sequence, a matched token does not', () => {
  const stop = (reason: unknown): string =>
    good(openai.decodeChat(JSON.stringify({ choices: [{ message: { content: 'x' }, finish_reason: 'stop', stop_reason: reason }] }))).stopReason;
  assert.deepEqual([stop('END'), stop(151645), stop(null)], ['stop_sequence', 'end_turn', 'end_turn']);
});

test('finish reasons of a broken host are failures', () => {
  for (const reason of ['insufficient_system_resource', 'error', 'abort', 'network_error']) {
    const failure = failureTo({ content: 'half' }, reason);
    assert.equal(failure.kind, 'server');
    assert.equal(failure.isRetried, true);
  }
});

test('a refusal is text with its own stop reason', () => {
  const reply = replyTo({ content: null, refusal: 'I cannot.' });
  assert.deepEqual([reply.parts, reply.stopReason], [[{ type: 'text', text: 'I cannot.', state: undefined }], 'refusal']);
});

test('an answer that a filter withheld whole is a refusal failure', () => {
  const failure = failureTo({ content: '' }, 'content_filter');
  assert.equal(failure.kind, 'refusal');
  assert.equal(failure.message, 'openai declined the request (HTTP 200, code content_filter)');
  assert.equal(failureTo(undefined, 'content_filter').kind, 'refusal');
});

test('a call that a filter cut is no call, and what was withheld with it is a refusal', () => {
  const reply = replyTo({ content: 'Well,', tool_calls: [fn('{"a":')] }, 'content_filter');
  assert.deepEqual([reply.parts, reply.stopReason], [[{ type: 'text', text: 'Well,', state: undefined }], 'refusal']);
  assert.equal(failureTo({ content: null, tool_calls: [fn('{"a":')] }, 'content_filter').kind, 'refusal');
});

test('a summary of reasoning in a list of parts is thinking', () => {
  const reply = replyTo({ content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm', signature: 's' }] }, { type: 'text', text: 'A' }] });
  assert.deepEqual([reply.thinking, reply.parts], ['hm', [{ type: 'text', text: 'A', state: undefined }]]);
});

test('content as a list of parts gives text and thinking', () => {
  const content = [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }, 1] }, { type: 'thinking', thinking: '!' }, { type: 'text', text: 'A' }, 'B', { type: 'reference' }, null];
  const reply = replyTo({ content });
  assert.deepEqual([reply.thinking, reply.parts], ['hm!', [{ type: 'text', text: 'AB', state: undefined }]]);
});

test('content as an object is its text, digits untouched', () => {
  const reply = good(openai.decodeChat('{"choices":[{"message":{"content":{"a":1.0}},"finish_reason":"stop"}]}'));
  assert.deepEqual(reply.parts, [{ type: 'text', text: '{"a":1.0}', state: undefined }]);
});

test('reasoning is disclosed once, wherever the host puts it', () => {
  const thinking = (message: object): string => replyTo({ content: 'x', ...message }).thinking;
  assert.equal(thinking({ reasoning_content: 'a' }), 'a');
  assert.equal(thinking({ reasoning: 'a' }), 'a');
  assert.equal(thinking({ reasoning: 'a', reasoning_content: 'a' }), 'a');
  assert.equal(thinking({ reasoning_content: '', reasoning: 'a', reasoning_details: [{ type: 'reasoning.text', text: 'a' }] }), 'a');
  assert.equal(thinking({ reasoning_details: [{ text: 'a' }, { summary: 'b' }, { data: 'c' }] }), 'ab');
});

test('tags in the text are the text that the host sent', () => {
  assert.deepEqual(replyTo({ content: '<think>a</think>b' }).parts, [{ type: 'text', text: '<think>a</think>b', state: undefined }]);
});

test('arguments come as a string, an object, or in three ways of none', () => {
  assert.deepEqual(callsOf([fn('{"n": 1.0}'), fn('', 'b'), fn(null, 'c'), fn('null', 'd'), fn(undefined, 'e')]), [
    ['a', 'weather', '{"n": 1.0}'], ['b', 'weather', '{}'], ['c', 'weather', '{}'], ['d', 'weather', '{}'], ['e', 'weather', '{}'],
  ]);
});

test('arguments whose text was made a text once more are the object that was meant, and nothing deeper is', () => {
  const text = JSON.stringify('{"n": 1.0,"m":[12345678901234567890]}');
  assert.deepEqual(callsOf([fn(text)]), [['a', 'weather', '{"n": 1.0,"m":[12345678901234567890]}']]);
  for (const other of [JSON.stringify(text), '"Oslo"', JSON.stringify('[1]')]) assert.throws(() => callsOf([fn(other)]), other);
});

test('arguments as an object keep digits and the order of keys', () => {
  const body = '{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"2":12345678901234567890,"1":1.0}}}]}}]}';
  const [part] = good(openai.decodeChat(body)).parts;
  assert.ok(part?.type === 'tool_call');
  assert.equal(part.arguments.text, '{"2":12345678901234567890,"1":1.0}');
});

test('missing, empty and doubled ids are replaced, each by its own', () => {
  const ids = callsOf([fn('{}', 'a'), fn('{}', 'a'), fn('{}', ''), fn('{}', null), fn('{}', 7)]).map(([id]) => String(id));
  assert.equal(ids[0], 'a');
  assert.ok(ids.slice(1).every(isMadeCallId));
  assert.equal(new Set(ids).size, 5);
});

test('the legacy function_call is a call', () => {
  const reply = replyTo({ content: null, function_call: { name: 'f', arguments: '{"a":1}' } }, 'function_call');
  const [part] = reply.parts;
  assert.ok(part?.type === 'tool_call');
  assert.deepEqual([part.name, part.arguments.text, isMadeCallId(part.id), reply.stopReason], ['f', '{"a":1}', true, 'tool_use']);
});

for (const [what, value, limit] of [
  ['is nested too deep', `${'{"a":'.repeat(120)}1${'}'.repeat(120)}`, /nesting beyond 100 levels, which is the gateway's limit/],
  ['holds too long a number', `{"a":${'1'.repeat(5000)}}`, /a number of more than 4096 characters, which is the gateway's limit/],
] as const) test(`what has to be read as it was written and ${what} is a failure that names the limit, never left out`, () => {
  for (const field of [`"content":${value}`, `"reasoning_details":[{"type":"t","x":${value}}],"content":"a"`, `"tool_calls":[{"function":{"name":"f","arguments":${value}}}]`]) {
    const whole = adapterOf('openrouter').decodeChat(`{"choices":[{"message":{${field}},"finish_reason":"stop"}]}`);
    const frame = Buffer.from(`data: {"choices":[{"delta":{${field}},"finish_reason":"stop"}]}\n\n`);
    for (const outcome of [whole, endOf(decodeChunks(adapterOf('openrouter'), [frame]))]) {
      assert.ok(outcome instanceof Failure, field);
      assert.match(outcome.message, limit);
      assert.equal(outcome.isOwn, true);
    }
  }
});

test('a custom call keeps its kind when a later piece has neither of the two', () => {
  const frame = (call: object, finish: string | null): Buffer =>
    Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: finish }] })}\n\n`);
  const reply = endOf(decodeChunks(adapterOf('openai'), [
    frame({ id: 'a', type: 'custom', custom: { name: 'run', input: '4 +' } }, null), frame({ id: 'a', type: 'custom' }, null), frame({ custom: { input: ' 4' } }, null), frame({ type: 'custom' }, 'tool_calls'),
  ]));
  assert.ok(!(reply instanceof Failure));
  assert.deepEqual(replyToolCalls(reply).map(({ name, arguments: args }) => [name, args.text]), [['run', '{"input":"4 + 4"}']]);
});

test('a custom call carries its text as input', () => {
  assert.deepEqual(callsOf([{ id: 'a', type: 'custom', custom: { name: 'run', input: '4 + "4"' } }]), [['a', 'run', '{"input":"4 + \\"4\\""}']]);
});

test('entries that are no calls are passed over', () => {
  assert.deepEqual(callsOf([null, 'x', fn('{}')]), [['a', 'weather', '{}']]);
});

test('a call cut for length is no call', () => {
  const reply = replyTo({ content: 'wait', tool_calls: [fn('{"a":'), fn('', 'b')] }, 'length');
  assert.deepEqual([reply.parts.length, reply.stopReason], [1, 'max_tokens']);
  assert.deepEqual(callsOf([fn('{}'), fn('{"a":', 'b')], 'length'), [['a', 'weather', '{}']]);
});

test('a call that makes no sense otherwise is a server failure', () => {
  for (const broken of [fn('{"a":'), fn('[1]'), fn('7'), fn(7), fn([1]), fn('{}', 'a', ''), fn('{}', 'a', null)]) {
    assert.equal(failureTo({ tool_calls: [broken] }, 'tool_calls').kind, 'server', JSON.stringify(broken));
  }
});

test('arguments nested beyond the limit are a failure, not an empty object', () => {
  const deep = '{"a":'.repeat(200) + '1' + '}'.repeat(200);
  const body = `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":${deep}}}]}}]}`;
  const failure = openai.decodeChat(body);
  assert.ok(failure instanceof Failure);
  assert.equal(failure.kind, 'server');
});

test('a body may hold more calls than any model makes today, and is bounded all the same', () => {
  const calls = (count: number): unknown[] => Array.from({ length: count }, (_, at) => fn('{}', `id${at}`));
  assert.equal(callsOf(calls(1000)).length, 1000);
  const failure = failureTo({ tool_calls: Array.from({ length: 40_000 }, () => ({})) }, 'tool_calls');
  assert.deepEqual([failure.kind, failure.isOwn, failure.isRetried], ['server', true, false]);
});

test('a body with thousands of arguments as objects takes time linear in their number', () => {
  const startedAtMs = performance.now();
  const calls = Array.from({ length: 3000 }, (_, at) => fn({ n: at, o: {} }, `id${at}`));
  assert.deepEqual(callsOf(calls).at(-1), ['id2999', 'weather', '{"n":2999,"o":{}}']);
  assert.ok(performance.now() - startedAtMs < 20_000);
});

test('of several choices only index 0 counts, wherever it stands', () => {
  const body = JSON.stringify({ choices: [{ index: 1, message: { content: 'B' } }, { index: 0, message: { content: 'A' }, finish_reason: 'stop' }] });
  assert.deepEqual(good(openai.decodeChat(body)).parts, [{ type: 'text', text: 'A', state: undefined }]);
});

const usageOf = (usage: unknown, extra: object = {}) => replyTo({ content: 'x' }, 'stop', { usage, ...extra }).usage;
const counts = (usage: unknown, extra: object = {}): readonly (number | undefined)[] => {
  const read = usageOf(usage, extra);
  return [read?.inputTokens, read?.outputTokens, read?.cacheReadTokens, read?.cacheWriteTokens, read?.reasoningTokens];
};

test('usage is read from where each host puts it', () => {
  assert.deepEqual(
    counts({ prompt_tokens: 10, completion_tokens: 8, prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 }, completion_tokens_details: { reasoning_tokens: 5 } }),
    [10, 8, 4, 3, 5],
  );
  assert.deepEqual(counts({ prompt_tokens: 10, completion_tokens: 8, prompt_cache_hit_tokens: 6 }), [10, 8, 6, 0, 0]);
  assert.deepEqual(counts({ prompt_tokens: 10, completion_tokens: 8, cached_tokens: 2 }), [10, 8, 2, 0, 0]);
  assert.deepEqual(counts({ prompt_tokens: 10, completion_tokens: 8, num_cached_tokens: 2 }), [10, 8, 2, 0, 0]);
  assert.deepEqual(counts({ prompt_tokens: 10, completion_tokens: 8, prompt_tokens_details: { cached_tokens: 2, cache_creation_tokens: 3 } }), [10, 8, 2, 3, 0]);
  assert.deepEqual(counts({ prompt_tokens: 10, completion_tokens: 8, cache_creation_input_tokens: 3 }), [10, 8, 0, 3, 0]);
  assert.deepEqual(counts(undefined, { x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } }), [1, 2, 0, 0, 0]);
  const inChoice = JSON.stringify({ choices: [{ message: { content: 'x' }, usage: { prompt_tokens: 1 } }] });
  assert.deepEqual(good(openai.decodeChat(inChoice)).usage?.inputTokens, 1);
});

test('reasoning never exceeds the output', () => {
  assert.deepEqual(counts({ prompt_tokens: 1, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 9 } }), [1, 5, 0, 0, 5]);
});

test('reasoning that the total shows to be left out of the output is added', () => {
  assert.deepEqual(counts({ prompt_tokens: 165, completion_tokens: 2, total_tokens: 292, completion_tokens_details: { reasoning_tokens: 125 } }), [165, 127, 0, 0, 125]);
});

test('usage that is none is undefined', () => {
  for (const usage of [null, {}, 'x', [], { prompt_tokens: -1, completion_tokens: 1.5 }]) assert.equal(usageOf(usage), undefined);
});

test('bodies that are no reply are server failures', () => {
  for (const body of ['', 'null', '[]', '"x"', '<html>', '{}', '{"choices":[]}', '{"choices":[null]}', '{"choices":[{"message":null}]}', '{"choices":{}}']) {
    const failure = openai.decodeChat(body);
    assert.ok(failure instanceof Failure, body);
    assert.equal(failure.kind, 'server', body);
  }
});

test('an error inside a 200 has the kind that it names', () => {
  const kind = (body: unknown): string => {
    const failure = openai.decodeChat(JSON.stringify(body));
    assert.ok(failure instanceof Failure);
    assert.equal(failure.upstreamStatus, 200);
    return failure.kind;
  };
  assert.equal(kind({ error: { message: 'x' } }), 'server');
  assert.equal(kind({ error: 'broken' }), 'server');
  assert.equal(kind({ error: { code: 429, message: 'x' } }), 'rate_limit');
  assert.equal(kind({ error: { code: 502 } }), 'server');
  assert.equal(kind({ error: { type: 'invalid_request_error' } }), 'bad_request');
  assert.equal(kind({ object: 'error', message: 'x', code: 400 }), 'bad_request');
});

test('reasoning of a turn with calls travels in the state of its first part, for hosts that want it', () => {
  const message = { content: 'A', reasoning_content: 'why', tool_calls: [fn('{}')] };
  const stateOf = (provider: string, fields: object) => replyTo(fields, 'stop', {}, provider).parts.map((part) => part.state);
  assert.deepEqual(stateOf('deepseek', message), [encodeState('openai-chat', 'deepseek', { reasoning_content: 'why' }), undefined]);
  assert.deepEqual(stateOf('deepseek', { ...message, content: null }), [encodeState('openai-chat', 'deepseek', { reasoning_content: 'why' })]);
  assert.deepEqual(stateOf('deepseek', { ...message, tool_calls: null }), [undefined]);
  assert.deepEqual(stateOf('openai', message), [undefined, undefined]);
});

test('reasoning_details travel as they came, on an empty text where the turn has no part', () => {
  const body = '{"choices":[{"message":{"content":null,"reasoning_details":[ {"type":"reasoning.encrypted","data":"x","index":0,"n":1.0} ]},"finish_reason":"stop"}]}';
  const expected = encodeState('openai-chat', 'openrouter', { reasoning_details: new RawJson('[ {"type":"reasoning.encrypted","data":"x","index":0,"n":1.0} ]') });
  assert.deepEqual(good(adapterOf('openrouter').decodeChat(body)).parts, [{ type: 'text', text: '', state: expected }]);
  assert.deepEqual(good(openai.decodeChat(body)).parts, []);
});

test('a thought signature travels on its call', () => {
  const signed = { ...fn('{}'), extra_content: { google: { thought_signature: 'sig' } } };
  const states = replyTo({ tool_calls: [signed, fn('{}', 'b')] }, 'stop', {}, 'compat').parts.map((part) => part.state);
  assert.deepEqual(states, [encodeState('openai-chat', 'compat', { thought_signature: 'sig' }), undefined]);
});

test('an answer in a schema that is refused, or cut, says so in its stop reason', () => {
  const refused = replyTo({ content: null, refusal: "I can't help with that." }, 'stop');
  assert.deepEqual([replyText(refused), refused.stopReason], ["I can't help with that.", 'refusal']);
  const cut = replyTo({ content: '{"city":"Pa', refusal: null }, 'length');
  assert.deepEqual([replyText(cut), cut.stopReason], ['{"city":"Pa', 'max_tokens']);
});
