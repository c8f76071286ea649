import { test } from 'node:test';
import assert from 'node:assert/strict';
import { replyText } from '../../../src/core/chat.ts';
import { REPLY_CHARS_MAX } from '../../../src/core/chat.ts';
import type { ChatReply } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import type { FailureKind } from '../../../src/core/failure.ts';
import { decodeChunks, endOf } from '../../decode-stream.ts';
import { good } from '../openai-chat/setup.ts';
import {
  FIXTURES, completed, contentOf, cutFor, fixture, functionCall, itemDone, message, reasoning, responses, sse, summaryDelta, textDelta,
} from './setup.ts';

const deltasOf = (...events: readonly { type: string }[]): Delta[] => decodeChunks(responses, [sse(...events)]);
const replyOf = (...events: readonly { type: string }[]): ChatReply => good(endOf(deltasOf(...events)));
const failureOf = (...events: readonly { type: string }[]): Failure => {
  const end = endOf(deltasOf(...events));
  assert.ok(end instanceof Failure);
  return end;
};
const kinds = (deltas: readonly Delta[]): string[] => deltas.map((delta) => delta.type);

test('text comes at once, the reply when the response is completed', () => {
  assert.deepEqual(decodeChunks(responses, [fixture('text.sse')]), [
    { type: 'text', text: 'Grüße, ' },
    { type: 'text', text: '👋 world' },
    { type: 'done', reply: good(responses.decodeChat(fixture('text.json').toString())) },
  ]);
});

test('summaries come as thinking, calls whole when their item is done', () => {
  const deltas = decodeChunks(responses, [fixture('tools.sse')]);
  assert.deepEqual(deltas.slice(0, -1).map((delta) => (delta.type === 'tool_call' ? delta.call.id : [delta.type, 'text' in delta ? delta.text : ''])), [
    ['thinking', 'Two '],
    ['thinking', 'look-ups.'],
    ['thinking', '\n\nIn parallel.'],
    ['text', 'Let me '],
    ['text', 'see.'],
    'call_a',
    'call_b',
  ]);
});

for (const name of FIXTURES) {
  test(`the stream ${name} equals its whole twin`, () => {
    const reply = good(endOf(decodeChunks(responses, [fixture(`${name}.sse`)])));
    assert.deepEqual(reply, good(responses.decodeChat(fixture(`${name}.json`).toString())));
  });

  test(`the stream ${name} passes on exactly what its reply holds`, () => {
    const deltas = decodeChunks(responses, [fixture(`${name}.sse`)]);
    const reply = good(endOf(deltas));
    const textOf = (type: 'text' | 'thinking'): string => deltas.map((delta) => (delta.type === type ? delta.text : '')).join('');
    assert.equal(textOf('text'), replyText(reply));
    assert.equal(textOf('thinking'), reply.thinking);
    assert.deepEqual(deltas.flatMap((delta) => (delta.type === 'tool_call' ? [delta.call] : [])), reply.parts.filter((part) => part.type === 'tool_call'));
  });

  test(`the stream ${name} decodes alike wherever it is split`, () => {
    const bytes = fixture(`${name}.sse`);
    const whole = decodeChunks(responses, [bytes]);
    for (let at = 1; at < bytes.length; at += 1) {
      assert.deepEqual(decodeChunks(responses, [bytes.subarray(0, at), bytes.subarray(at)]), whole, `at ${at}`);
    }
  });

  test(`the stream ${name} cut at any byte is done only once its last event has come`, () => {
    const bytes = fixture(`${name}.sse`);
    for (let kept = 0; kept <= bytes.length; kept += 1) {
      const end = endOf(decodeChunks(responses, [bytes.subarray(0, kept)]));
      assert.equal(end instanceof Failure, kept < bytes.length, `at ${kept}`);
    }
  });
}

test('a stream that ends without its terminal event fails, also after [DONE]', () => {
  const bytes = Buffer.concat([sse(textDelta('half'), itemDone(message('half'))), Buffer.from('data: [DONE]\n\n')]);
  const end = endOf(decodeChunks(responses, [bytes]));
  assert.ok(end instanceof Failure);
  assert.deepEqual([end.kind, end.message], ['server', 'openai ended the stream before the answer was complete']);
});

test('the decoder emits one terminal delta and is silent after it', () => {
  const decoder = responses.createStreamDecoder();
  const deltas: Delta[] = [];
  const sink = (delta: Delta): void => void deltas.push(delta);
  for (const event of [textDelta('a'), completed(), textDelta('b'), completed()]) decoder.frame(event.type, JSON.stringify(event), sink);
  decoder.end(sink);
  assert.deepEqual(kinds(deltas), ['text', 'done']);
});

test('events without a name are told by their type, and those without a type by their name', () => {
  const nameless = [textDelta('a'), completed()].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const typeless = 'event: response.output_text.delta\ndata: {"delta":"a"}\n\nevent: response.completed\ndata: {"response":{"status":"completed"}}\n\n';
  for (const bytes of [nameless, typeless]) assert.deepEqual(kinds(decodeChunks(responses, [Buffer.from(bytes)])), ['text', 'done']);
});

test('an item of which nothing was streamed is passed on when it is done', () => {
  const deltas = deltasOf(itemDone(reasoning('s', 'why', 'so')), itemDone(message('ab'), 1), completed());
  assert.deepEqual(deltas.slice(0, 3), [{ type: 'thinking', text: 'why' }, { type: 'thinking', text: '\n\nso' }, { type: 'text', text: 'ab' }]);
  assert.equal(good(endOf(deltas)).thinking, 'why\n\nso');
});

test('what was streamed counts, not what the done item says again', () => {
  const deltas = deltasOf(summaryDelta('why'), itemDone(reasoning('s', 'why')), textDelta('ab', 1), itemDone(message('ab'), 1), completed());
  assert.deepEqual(kinds(deltas), ['thinking', 'text', 'done']);
  assert.deepEqual(good(endOf(deltas)).parts.map((part) => part.type === 'text' && part.text), ['ab']);
});

test('reasoning in its own words comes as thinking, once also where a summary says it again', () => {
  const words = (delta: string, index = 0): { type: string } => ({ type: 'response.reasoning_text.delta', output_index: index, content_index: 0, delta } as { type: string });
  const item = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'short' }], content: [{ type: 'reasoning_text', text: 'why' }] };
  const deltas = deltasOf(words('w'), words('hy'), summaryDelta('short'), itemDone(item), words('more', 1), itemDone({ type: 'reasoning' }, 1), completed());
  assert.deepEqual(deltas.slice(0, -1), ['w', 'hy', '\n\nmore'].map((text) => ({ type: 'thinking', text })));
  assert.equal(good(endOf(deltas)).thinking, 'why\n\nmore');
});

const itemAdded = (index: number): { type: string } => ({ type: 'response.output_item.added', output_index: index, item: {} } as { type: string });

test('an item that is done late keeps its place before what it led to', () => {
  const deltas = deltasOf(
    itemAdded(0), itemAdded(1), textDelta('a', 1), itemDone(message('a'), 1), itemAdded(2), itemDone(functionCall('c', '{}'), 2),
    itemDone(reasoning('s')), itemAdded(3), itemDone(functionCall('d', '{}'), 3), completed(),
  );
  assert.deepEqual(kinds(deltas), ['text', 'tool_call', 'tool_call', 'done']);
  assert.deepEqual(good(endOf(deltas)).parts.map(({ state }) => contentOf(state)), [
    { before: [{ type: 'reasoning', summary: [], encrypted_content: 's' }] }, undefined, undefined,
  ]);
});

test('reasoning that is done late begins no paragraph in the middle of the next', () => {
  const deltas = deltasOf(itemAdded(0), summaryDelta('A'), itemAdded(1), summaryDelta('B', 1), itemDone(reasoning('s', 'A')), summaryDelta('C', 1), itemDone(reasoning('t', 'BC'), 1), completed());
  assert.deepEqual(deltas.slice(0, -1), ['A', '\n\nB', 'C'].map((text) => ({ type: 'thinking', text })));
});

test('an item that is never done keeps nothing from the answer', () => {
  const deltas = deltasOf(itemAdded(0), itemAdded(1), itemDone(functionCall('c', '{}'), 1), completed());
  assert.deepEqual(kinds(deltas), ['tool_call', 'done']);
});

test('an answer that only the last event tells is the same as its whole twin, digit for digit', () => {
  const output = [reasoning('sealed', 'Hm.'), message('Hi'), { type: 'web_search_call', id: 'ws', n: 7 }, functionCall('call_a', '{"n":1.0}')];
  const deltas = deltasOf(completed({ output }));
  assert.deepEqual(kinds(deltas), ['thinking', 'text', 'tool_call', 'done']);
  assert.deepEqual(good(endOf(deltas)), good(responses.decodeChat(JSON.stringify({ id: 'resp_1', object: 'response', model: 'm1', status: 'completed', output }))));
  const withObject = JSON.stringify(completed({ output: [functionCall('call_a', '')] })).replace('"arguments":""', '"arguments":{"n":1.0}');
  const late = good(endOf(decodeChunks(responses, [Buffer.from(`data: ${withObject}\n\n`)])));
  assert.deepEqual(late.parts.map((part) => (part.type === 'tool_call' ? part.arguments.text : part.type)), ['{"n":1.0}']);
});

test('items that wait for another and have too many values together are a failure that names the limit', () => {
  const added = (index: number) => ({ type: 'response.output_item.added', output_index: index });
  const many = { type: 'web_search_call', x: Array.from({ length: 400_000 }, () => 0) };
  const failure = failureOf(added(0), ...[1, 2, 3].flatMap((index) => [added(index), itemDone(many, index)]));
  assert.match(failure.message, /more than 1000000 values, which is the gateway's limit/);
  assert.equal(failure.isOwn, true);
});

test('calls that only the last event tells are calls, and those that were done are not told twice', () => {
  const output = [message('a'), functionCall('c', '{"n":1.0}'), functionCall('d', '{}')];
  const deltas = deltasOf(textDelta('a'), itemDone(message('a')), completed({ output }));
  assert.deepEqual(kinds(deltas), ['text', 'tool_call', 'tool_call', 'done']);
  assert.deepEqual(good(endOf(deltas)).parts.map((part) => (part.type === 'text' ? part.text : [part.id, part.arguments.text])), ['a', ['c', '{"n":1.0}'], ['d', '{}']]);
  assert.deepEqual(kinds(deltasOf(itemDone(functionCall('x', '{}'), 1), completed({ output }))), ['tool_call', 'done']);
  assert.equal(failureOf(completed({ output: [functionCall('c', '{"n":')] })).kind, 'server');
});

test('a custom call is a call when it is done, and an item that only the API itself can answer a failure', () => {
  const custom = { type: 'custom_tool_call', call_id: 'c', name: 'math', input: 'x' };
  assert.deepEqual(kinds(deltasOf({ type: 'response.custom_tool_call_input.delta' }, itemDone(custom), completed())), ['tool_call', 'done']);
  const failure = failureOf(textDelta('a'), itemDone({ type: 'mcp_approval_request', name: 'n' }, 1), completed());
  assert.deepEqual([failure.kind, failure.message], ['unsupported', 'openai answered with a mcp_approval_request, which can be answered only in its own API']);
});

test('an item beyond the limits of JSON ends the stream by the name of the limit, also where the last event alone tells it', () => {
  const deep = `${'['.repeat(101)}${']'.repeat(101)}`;
  const items = ['{"type":"mcp_call","output":DEEP}', '{"type":"function_call","call_id":"a","name":"n","arguments":{"a":DEEP}}'];
  const events = items.map((item) => `{"type":"response.output_item.done","item":${item}}`);
  for (const event of [...events, `{"type":"response.completed","response":{"output":[${items[0]}]}}`]) {
    const end = endOf(decodeChunks(responses, [Buffer.from(`data: ${event.replace('DEEP', deep)}\n\n`), sse(completed())]));
    assert.ok(end instanceof Failure, 'no failure');
    assert.deepEqual([end.isOwn, end.isRetried, end.message], [true, false, "openai answered 200, but its JSON has nesting beyond 100 levels, which is the gateway's limit"]);
  }
});

test('an incomplete answer is told by its event alone, and an error inside a completed one ends it', () => {
  assert.equal(replyOf(textDelta('a'), { type: 'response.incomplete' }).stopReason, 'unknown');
  assert.equal(failureOf(textDelta('a'), completed({ error: { code: 'rate_limit_exceeded', message: 'x' } })).kind, 'rate_limit');
});

const ERRORS: readonly (readonly [frame: string, kind: FailureKind])[] = [
  ['data: {"type":"error","code":"rate_limit_exceeded","message":"x"}', 'rate_limit'],
  ['data: {"error":{"code":"rate_limit_exceeded","message":"x"}}', 'rate_limit'],
  ['data: {"code":"rate_limit_exceeded","message":"x"}', 'rate_limit'],
  ['data: {"type":"invalid_request_error","code":"context_length_exceeded","message":"x"}', 'bad_request'],
  ['event: error\ndata: {"type":"authentication_error","message":"x"}', 'auth'],
  ['event: error\ndata: {"type":"","code":"bio_policy","message":"x"}', 'refusal'],
  ['event: error\ndata: {}', 'server'],
];

for (const [frame, kind] of ERRORS) {
  test(`the frame ${JSON.stringify(frame)} ends the stream with ${kind}`, () => {
    const end = endOf(decodeChunks(responses, [sse(textDelta('a')), Buffer.from(`${frame}\n\n`), sse(completed())]));
    assert.ok(end instanceof Failure, 'no failure');
    assert.equal(end.kind, kind);
  });
}

test('blank frames and [DONE] before and after the end mean nothing', () => {
  const noise = Buffer.from(': comment\n\ndata:\n\ndata: [DONE]\n\n');
  assert.deepEqual(kinds(decodeChunks(responses, [noise, sse(textDelta('a')), noise, sse(completed()), noise])), ['text', 'done']);
});

test('a host that numbers no items is understood', () => {
  const events = [
    { type: 'response.reasoning_summary_text.delta', delta: 'why' }, { type: 'response.output_item.done', item: reasoning('s', 'why') },
    { type: 'response.output_text.delta', delta: 'a' }, { type: 'response.output_item.done', item: message('a') },
    { type: 'response.reasoning_summary_text.delta', delta: 'more' }, { type: 'response.output_item.done', item: reasoning('t', 'more') },
    { type: 'response.output_item.done', item: message('b') }, completed(),
  ];
  const reply = replyOf(...events);
  assert.deepEqual([reply.thinking, replyText(reply), reply.parts.length], ['why\n\nmore', 'ab', 2]);
});

test('text whose item is never done is part of the turn', () => {
  const reply = replyOf(itemDone(reasoning('s'), 0), textDelta('half', 1), { ...completed(cutFor('max_output_tokens')), type: 'response.incomplete' });
  assert.deepEqual([reply.stopReason, replyText(reply)], ['max_tokens', 'half']);
  assert.deepEqual(contentOf(reply.parts[0]?.state), { before: [{ type: 'reasoning', summary: [], encrypted_content: 's' }] });
});

test('a call that is begun and never done is a failure, unless the answer was cut or a caller of the API itself had its pieces', () => {
  const begun = { type: 'response.output_item.added', output_index: 0, item: { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '' } };
  const piece = { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc_1', arguments: '{}' };
  const failure = failureOf(begun, piece, completed());
  assert.deepEqual([failure.kind, failure.message], ['server', 'openai answered 200, but a function call is never done']);
  const other = [{ ...begun, output_index: 1 }, itemDone(functionCall('a', '{}'), 1)];
  for (const events of [[begun, ...other], [...other, begun]]) assert.equal(failureOf(...events, completed()).message, failure.message);
  const cut = { type: 'response.incomplete', response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } };
  assert.deepEqual([replyOf(begun, cut).stopReason, replyOf(begun, cut).parts], ['max_tokens', []]);
  const [end] = decodeChunks({ ...responses, createStreamDecoder: () => responses.createStreamDecoder({ isRelayed: true }) }, [sse(begun, piece, completed())]).slice(-1);
  assert.equal(end?.type, 'done');
});

test('a call cut for length is no call, a broken one otherwise a failure', () => {
  const cut = itemDone(functionCall('a', '{"n":'));
  const deltas = deltasOf(cut, { ...completed(cutFor('max_output_tokens')), type: 'response.incomplete' });
  assert.deepEqual(kinds(deltas), ['done']);
  assert.equal(failureOf(cut, completed()).kind, 'server');
  assert.equal(failureOf(itemDone({ type: 'function_call', arguments: '{}' })).kind, 'server');
});

test('an answer withheld whole is a refusal, a part of one a reason for the stop', () => {
  const filtered = { ...completed(cutFor('content_filter')), type: 'response.incomplete' };
  assert.equal(failureOf(filtered).kind, 'refusal');
  assert.equal(replyOf(textDelta('a'), filtered).stopReason, 'refusal');
});

test('what was said in pieces alone is not said again by the last event, whose status alone may tell of a cut', () => {
  const spoken = deltasOf(textDelta('a'), completed({ output: [message('a')], ...cutFor('max_output_tokens') }));
  assert.deepEqual(kinds(spoken), ['text', 'done']);
  const reply = good(endOf(spoken));
  assert.deepEqual([replyText(reply), reply.stopReason], ['a', 'max_tokens']);
  assert.equal(replyOf(summaryDelta('why'), completed({ output: [reasoning('s', 'why')] })).thinking, 'why');
  const custom = { type: 'custom_tool_call', call_id: 'c', name: 'f', input: 'x' };
  assert.deepEqual(kinds(deltasOf(textDelta('a'), completed({ output: [message('a'), custom] }))), ['text', 'tool_call', 'done']);
});

test('usage of which only a part was reported counts the rest as none', () => {
  const counts = (usage: object): unknown => {
    const reported = replyOf(textDelta('a'), completed({ usage })).usage;
    return [reported?.inputTokens, reported?.outputTokens];
  };
  assert.deepEqual([counts({ input_tokens: 3 }), counts({ output_tokens: 4 })], [[3, 0], [0, 4]]);
});

test('a refusal comes at once, as text', () => {
  const declined = (delta: unknown): { type: string } => ({ type: 'response.refusal.delta', output_index: 0, delta } as { type: string });
  const deltas = deltasOf(declined('I '), declined(null), declined('cannot.'), itemDone(message('', { content: [{ type: 'refusal', refusal: 'I cannot.' }] })), completed());
  assert.deepEqual(deltas.slice(0, -1), [{ type: 'text', text: 'I ' }, { type: 'text', text: 'cannot.' }]);
  const reply = good(endOf(deltas));
  assert.deepEqual([reply.stopReason, replyText(reply)], ['refusal', 'I cannot.']);
});

test('paragraphs of reasoning are told apart by their numbers, and a piece without words adds nothing', () => {
  const words = (part: number, delta?: string): { type: string } => ({ type: 'response.reasoning_text.delta', output_index: 0, content_index: part, delta } as { type: string });
  const deltas = deltasOf(words(0, 'a'), words(0), words(1, 'b'), words(1, 'c'), summaryDelta('d', 1), summaryDelta('e', 1, 1), { type: 'response.output_text.delta' }, completed());
  assert.deepEqual(deltas.slice(0, -1), ['a', '\n\nb', 'c', '\n\nd', '\n\ne'].map((text) => ({ type: 'thinking', text })));
});

test('arguments beyond a limit are a failure that names it, for a relay too, which takes what is no object as a text', () => {
  const relayed = { ...responses, createStreamDecoder: () => responses.createStreamDecoder({ isRelayed: true }) };
  const deep = itemDone(functionCall('c', `${'{"a":'.repeat(120)}1${'}'.repeat(120)}`));
  for (const adapter of [responses, relayed]) {
    const failure = endOf(decodeChunks(adapter, [sse(deep, completed())]));
    assert.ok(failure instanceof Failure);
    assert.match(failure.message, /nesting beyond 100 levels/);
    assert.deepEqual([failure.isOwn, failure.isRetried], [true, false]);
  }
  const [part] = good(endOf(decodeChunks(relayed, [sse(itemDone(functionCall('c', '{"a')), completed())]))).parts;
  assert.equal(part?.type === 'tool_call' && part.arguments.text, '{"input":"{\\"a"}');
});

test('id, model and usage are the last that came', () => {
  const head = { type: 'response.created', response: { id: 'resp_0', model: 'alias', usage: null } };
  const usage = { input_tokens: 3, output_tokens: 4 };
  const reply = replyOf(head, completed({ id: undefined, model: 'm-2026', usage }));
  assert.deepEqual([reply.id, reply.model, reply.usage?.outputTokens], ['resp_0', 'm-2026', 4]);
  assert.equal(replyOf(head, completed()).usage, undefined);
});

const error = (fields: object): object => ({ message: 'prose', param: null, ...fields });
const failed = (fields: object | null): { type: string } => ({ type: 'response.failed', response: { status: 'failed', error: fields } } as { type: string });
const FAILED: readonly (readonly [event: { type: string }, kind: FailureKind, isRetried: boolean])[] = [
  [failed(error({ code: 'server_error' })), 'server', true],
  [failed(error({ code: 'rate_limit_exceeded' })), 'rate_limit', true],
  [failed({ code: 'rate_limit_exceeded', message: 'Request too large for gpt-6-sol' }), 'rate_limit', false],
  [failed(error({ code: 'insufficient_quota' })), 'rate_limit', false],
  [failed(error({ code: 'invalid_prompt' })), 'refusal', false],
  [failed(error({ code: 'misalignment_policy_violation' })), 'refusal', false],
  [failed(error({ code: 'image_too_large' })), 'bad_request', false],
  [failed(null), 'server', true],
  [{ type: 'response.failed' }, 'server', true],
  [{ type: 'error', ...error({ code: 'rate_limit_exceeded' }) }, 'rate_limit', true],
  [{ type: 'error', ...error({ code: null }) }, 'server', true],
  [{ type: 'error', error: error({ type: 'insufficient_quota', code: 'insufficient_quota' }) } as { type: string }, 'rate_limit', false],
  [{ type: 'error', error: error({ type: 'server_error', code: null }) } as { type: string }, 'server', true],
  [{ type: 'error' }, 'server', true],
  [{ type: 'response.new_thing', error: error({ code: 'invalid_api_key' }) } as { type: string }, 'auth', false],
];

for (const [event, kind, isRetried] of FAILED) {
  test(`the event ${JSON.stringify(event)} ends the stream with ${kind}`, () => {
    const failure = failureOf(textDelta('a'), event, completed());
    assert.deepEqual([failure.kind, failure.isRetried, failure.upstreamStatus], [kind, isRetried, 200]);
    assert.ok(!failure.message.includes('prose'));
  });
}

test('unknown events and pieces of the unknown mean nothing', () => {
  const strange = [
    { type: 'keepalive' }, { type: 'response.new_thing', delta: 'x' }, { type: 'response.output_text.delta', delta: 7 },
    { type: 'response.output_item.done', item: null }, { type: 'response.output_item.done', item: { type: 'web_search_call', id: 1 } }, { type: '' },
  ];
  assert.deepEqual(kinds(deltasOf(...strange, textDelta('a', 1), completed())), ['text', 'done']);
});

test('a frame that is not a JSON object is a failure, an empty one is nothing', () => {
  for (const data of ['{"type":', 'null', '[]', 'x']) {
    const end = endOf(decodeChunks(responses, [Buffer.from(`event: response.output_text.delta\ndata: ${data}\n\n`)]));
    assert.ok(end instanceof Failure && end.kind === 'server', data);
  }
  assert.deepEqual(kinds(decodeChunks(responses, [Buffer.concat([Buffer.from('data:\n\n'), sse(completed())])])), ['done']);
});

/** Feeds the event until the stream ends for its length; how often it took it. */
const timesTaken = (event: { type: string }): number => {
  const decoder = responses.createStreamDecoder();
  const ends: Failure[] = [];
  const sink = (delta: Delta): void => void (delta.type === 'failed' && ends.push(delta.failure));
  const data = JSON.stringify(event);
  for (let taken = 0; taken < 2_000_000; taken += 1) {
    decoder.frame(event.type, data, sink);
    const [end] = ends;
    if (end === undefined) continue;
    const limit = "openai answered 200, but the reply is longer than 33554432 characters, which is the gateway's limit";
    assert.deepEqual([end.message, end.isOwn, end.isRetried], [limit, true, false]);
    return taken;
  }
  return Infinity;
};

test('text, summaries, calls, seals and empty items beyond the limit stop the stream', () => {
  const mebi = 'x'.repeat(1024 * 1024);
  const most = REPLY_CHARS_MAX / mebi.length;
  assert.equal(timesTaken(textDelta(mebi)), most - 1);
  assert.equal(timesTaken(summaryDelta(mebi)), most - 1);
  assert.equal(timesTaken(itemDone(functionCall('a', JSON.stringify({ mebi })))), most - 1);
  assert.equal(timesTaken(itemDone(reasoning(mebi))), most - 1);
  assert.ok(timesTaken(itemDone(message(''))) <= REPLY_CHARS_MAX / 64);
});

for (const [what, delta] of [['texts', textDelta], ['summaries', summaryDelta]] as const) {
  test(`${what} of items that are never done are bounded, however short each is`, () => {
    const decoder = responses.createStreamDecoder();
    let isEnded = false;
    let taken = 0;
    for (; !isEnded && taken <= REPLY_CHARS_MAX / 64; taken += 1) {
      decoder.frame('', JSON.stringify(delta('x', taken)), ({ type }) => void (isEnded ||= type === 'failed'));
    }
    assert.ok(isEnded, `${taken} items`);
  });
}

test('an item that is carried counts with its event, of which it is a slice', () => {
  const searched = { ...itemDone({ type: 'web_search_call', id: 'ws_1', status: 'completed' }), obfuscation: 'x'.repeat(1024 * 1024) };
  const most = REPLY_CHARS_MAX / 1024 / 1024;
  assert.match(failureOf(...Array.from({ length: most + 1 }, () => searched)).message, /longer than 33554432 characters/);
  assert.equal(kinds(deltasOf(...Array.from({ length: most - 1 }, () => searched), completed())).at(-1), 'done');
});

test('items that wait for one that is never done are bounded', () => {
  const mebi = 'x'.repeat(1024 * 1024);
  const decoder = responses.createStreamDecoder();
  const deltas: Delta[] = [];
  const feed = (event: { type: string }): void => decoder.frame('', JSON.stringify(event), (delta) => void deltas.push(delta));
  feed(itemAdded(0));
  for (let at = 1; at <= REPLY_CHARS_MAX / mebi.length; at += 1) {
    feed(itemAdded(at));
    feed(itemDone(functionCall('a', JSON.stringify({ mebi })), at));
  }
  const end = endOf(deltas);
  assert.ok(end instanceof Failure && end.isOwn, 'no failure');
});

/** Frames made of the format's own words, wrongly used. */
const fuzzer = (seed: number) => {
  let random = seed;
  const next = (limit: number): number => {
    random = (random * 1103515245 + 12345) % 2147483648;
    return Math.floor((random / 2147483648) * limit);
  };
  const words = ['type', 'response', 'item', 'output', 'output_index', 'summary_index', 'delta', 'status', 'error', 'code', 'message', 'content', 'text', 'summary', 'encrypted_content', 'arguments', 'call_id', 'name', 'usage', 'input_tokens', 'incomplete_details', 'reason', 'refusal', 'phase', '__proto__', 'param'];
  const types = ['response.output_text.delta', 'response.refusal.delta', 'response.reasoning_summary_text.delta', 'response.reasoning_text.delta', 'response.output_item.added', 'response.output_item.done', 'response.created', 'response.completed', 'response.incomplete', 'response.failed', 'error', 'response.new'];
  const scalars = ['', 'message', 'function_call', 'reasoning', 'web_search_call', 'custom_tool_call', 'program', 'shell_call', 'compaction', 'completed', 'incomplete', 'max_output_tokens', 'content_filter', '{', '{}', 0, 1, -1, 1.5, 1e300, true, null, 'x'];
  const value = (depth: number): unknown => {
    const shape = depth > 5 ? 0 : next(5);
    if (shape < 2) return scalars[next(scalars.length)];
    if (shape === 2) return Array.from({ length: next(4) }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: next(7) }, () => [words[next(words.length)], value(depth + 1)]));
  };
  const item = (): unknown => ({ ...(value(3) as object), type: scalars[next(9)], content: value(3), arguments: scalars[next(scalars.length)], name: 'n' });
  const frame = (): unknown =>
    next(4) === 0 ? value(0) : { type: types[next(types.length)], output_index: next(3), delta: value(5), item: item(), response: { ...(value(2) as object), output: [item(), item()] } };
  return { next, frame };
};

test('whatever the frames and bodies, decoding throws nothing and ends once', () => {
  const { next, frame } = fuzzer(11);
  for (let round = 0; round < 2500; round += 1) {
    const deltas: Delta[] = [];
    const sink = (delta: Delta): void => void deltas.push(delta);
    const decoder = responses.createStreamDecoder();
    for (let at = next(5); at >= 0; at -= 1) {
      const value = frame();
      const text = JSON.stringify(value).replaceAll('1e+300', '1e999');
      decoder.frame(next(20) === 0 ? 'error' : '', text, sink);
      responses.decodeChat(text);
      responses.decodeChat(JSON.stringify((value as { response?: unknown } | null)?.response ?? null));
    }
    decoder.end(sink);
    endOf(deltas);
  }
});

test('what any reply carries can go back', () => {
  const { frame } = fuzzer(23);
  let carried = 0;
  for (let round = 0; round < 2500; round += 1) {
    const reply = responses.decodeChat(JSON.stringify((frame() as { response?: unknown } | null)?.response ?? null));
    if (reply instanceof Failure) continue;
    carried += reply.parts.filter(({ state }) => state !== undefined).length;
    const sent = responses.encodeChat(
      {
        provider: undefined, model: 'm', system: undefined, maxTokens: undefined, temperature: undefined, topP: undefined, stop: [], tools: [],
        toolChoice: undefined, thinking: undefined, output: undefined, cache: undefined, user: undefined, providerOptions: undefined, turns: [{ role: 'assistant', parts: reply.parts }],
      },
      false,
    );
    assert.ok(!(sent instanceof Failure), sent instanceof Failure ? sent.message : '');
  }
  assert.ok(carried > 100);
});

test('frames of deep nesting throw nothing', () => {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000);
  for (const type of ['message', 'function_call', 'reasoning', 'web_search_call']) {
    for (const key of ['content', 'summary', 'arguments', 'action']) {
      const frame = `{"type":"response.output_item.done","item":{"type":"${type}","name":"n","${key}":${deep}}}`;
      endOf(decodeChunks(responses, [Buffer.from(`data: ${frame}\n\n`)]));
    }
  }
});
