import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { Adapter } from '../../../src/core/adapter.ts';
import { isMadeCallId } from '../../../src/core/call-id.ts';
import { REPLY_CALLS_MAX, REPLY_CHARS_MAX, replyText } from '../../../src/core/chat.ts';
import type { ChatReply } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { OPENAI_ROW } from '../../../src/providers/openai/adapter.ts';
import { decodeChunks, endOf } from '../../decode-stream.ts';
import { adapterOf, assistant, bodyText, bodyWith, call, chunk, fixture, good, messagesOf, requestOf, result, sse, user } from './setup.ts';

const openai = adapterOf('openai');

/** The deltas of chunks followed by `[DONE]`. */
const deltasOf = (chunks: readonly unknown[], provider = 'openai'): Delta[] => decodeChunks(adapterOf(provider), [sse(...chunks)]);
const replyOf = (chunks: readonly unknown[], provider = 'openai') => good(endOf(deltasOf(chunks, provider)));
const failureOf = (chunks: readonly unknown[]): Failure => {
  const end = endOf(deltasOf(chunks));
  assert.ok(end instanceof Failure);
  return end;
};
const piece = (fields: object, finishReason: unknown = null): object => chunk({ tool_calls: [fields] }, finishReason);
const callsOf = (chunks: readonly unknown[]) =>
  replyOf([...chunks, chunk({}, 'tool_calls')]).parts.map((part) => (part.type === 'tool_call' ? [part.id, part.name, part.arguments.text] : part.text));

test('text comes at once, the reply when the stream closes', () => {
  assert.deepEqual(decodeChunks(openai, [fixture('text.sse')]), [
    { type: 'text', text: 'Grüße, ' },
    { type: 'text', text: '👋 world' },
    {
      type: 'done',
      reply: {
        id: 'chatcmpl-1', model: 'gpt-4o-2024', parts: [{ type: 'text', text: 'Grüße, 👋 world', state: undefined }], thinking: '', stopReason: 'end_turn',
        usage: { inputTokens: 9, outputTokens: 4, cacheReadTokens: 2, cacheWriteTokens: 0, reasoningTokens: 0 },
      },
    },
  ]);
});

test('tool calls come whole, after the text and before the end', () => {
  const deltas = decodeChunks(openai, [fixture('tools.sse')]);
  assert.deepEqual(deltas.map((delta) => delta.type), ['text', 'tool_call', 'tool_call', 'done']);
  assert.deepEqual(
    deltas.flatMap((delta) => (delta.type === 'tool_call' ? [[delta.call.id, delta.call.name, delta.call.arguments.text]] : [])),
    [['a', 'weather', '{"n":1.0,"big":12345678901234567890}'], ['b', 'time', '{}']],
  );
});

test('a stream without any delta is no answer, though it says why it ended, but for one that a filter withheld', () => {
  const whole = { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }] };
  for (const chunks of [[whole], [{ choices: [{ index: 0, finish_reason: 'stop' }] }], [{ choices: [{ index: 0, delta: null, finish_reason: 'length' }] }]]) {
    const failure = failureOf(chunks);
    assert.deepEqual([failure.kind, failure.message], ['server', 'openai answered 200, but the reply holds no message']);
  }
  assert.equal(failureOf([{ choices: [{ index: 0, finish_reason: 'content_filter' }] }]).kind, 'refusal');
});

test('a stream decodes alike wherever it is split', () => {
  for (const name of ['text.sse', 'tools.sse', 'reasoning.sse']) {
    const bytes = fixture(name);
    const adapter = adapterOf('openrouter');
    const whole = decodeChunks(adapter, [bytes]);
    for (let at = 1; at < bytes.length; at += 1) {
      assert.deepEqual(decodeChunks(adapter, [bytes.subarray(0, at), bytes.subarray(at)]), whole, `${name} at ${at}`);
    }
  }
});

test('a stream cut at any byte is done only once the finish reason has come', () => {
  for (const name of ['text.sse', 'tools.sse', 'reasoning.sse']) {
    const bytes = fixture(name);
    const terminal = bytes.indexOf('\n\n', bytes.indexOf('"finish_reason":"')) + 2;
    for (let kept = 0; kept <= bytes.length; kept += 1) {
      const end = endOf(decodeChunks(openai, [bytes.subarray(0, kept)]));
      assert.equal(end instanceof Failure, kept < terminal, `${name} at ${kept}`);
    }
  }
});

test('a stream without a finish reason fails although it says [DONE]', () => {
  const failure = failureOf([chunk({ content: 'half' })]);
  assert.deepEqual([failure.kind, failure.message], ['server', 'openai ended the stream before the answer was complete']);
});

test('blank frames anywhere, and further frames and [DONE] after the end, change nothing', () => {
  const blank = 'data:\n\ndata: \n\nevent: ping\ndata: \n\n: comment\n\n';
  for (const api of ['chat', 'auto'] as const) {
    const adapter = OPENAI_ROW.createAdapter('openai', { openAiApi: api });
    for (const name of ['text.sse', 'tools.sse', 'reasoning.sse']) {
      const plain = fixture(name).toString();
      const frames = plain.split(/(?<=\r?\n\r?\n)/);
      const noisy = blank + frames.join(blank) + blank + 'data: [DONE]\n\ndata: [DONE]\n\n' + frames.join('');
      assert.deepEqual(decodeChunks(adapter, [Buffer.from(noisy)]), decodeChunks(adapter, [Buffer.from(plain)]), `${api} ${name}`);
    }
  }
});

test('the decoder emits one terminal delta and is silent after it', () => {
  const decoder = openai.createStreamDecoder();
  const deltas: Delta[] = [];
  const sink = (delta: Delta): void => void deltas.push(delta);
  decoder.frame('', JSON.stringify(chunk({ content: 'a' }, 'stop')), sink);
  decoder.frame('', '[DONE]', sink);
  decoder.frame('', JSON.stringify(chunk({ content: 'b' })), sink);
  decoder.frame('', '[DONE]', sink);
  decoder.end(sink);
  assert.deepEqual(deltas.map((delta) => delta.type), ['text', 'done']);
});

test('pieces of calls belong to their index, else their id, else the last call', () => {
  assert.deepEqual(callsOf([piece({ index: 3, id: 'a', function: { name: 'f', arguments: '{"x"' } }), piece({ index: 9, id: 'b', function: { name: 'g', arguments: '{' } }), piece({ index: 3, function: { arguments: ':1}' } }), piece({ index: 9, function: { arguments: '}' } })]), [['a', 'f', '{"x":1}'], ['b', 'g', '{}']]);
  assert.deepEqual(callsOf([piece({ id: 'a', function: { name: 'f', arguments: '{' } }), piece({ id: 'b', function: { name: 'g', arguments: '{' } }), piece({ id: 'a', function: { arguments: '}' } }), piece({ id: 'b', function: { arguments: '}' } })]), [['a', 'f', '{}'], ['b', 'g', '{}']]);
  assert.deepEqual(callsOf([piece({ id: 'a', function: { name: 'f', arguments: '{' } }), piece({ function: { arguments: '"x":1' } }), piece({ function: { arguments: '}' } })]), [['a', 'f', '{"x":1}']]);
});

test('pieces that say the name of their call each time belong to it by their id, without an index and on one constant index', () => {
  for (const index of [undefined, 0]) {
    const say = (id: string, name: string, text: string): object => piece({ index, id, function: { name, arguments: text } });
    assert.deepEqual(callsOf([say('a', 'f', '{"x":'), say('b', 'g', '{'), say('a', 'f', '1}'), say('b', 'g', '}')]), [['a', 'f', '{"x":1}'], ['b', 'g', '{}']], String(index));
  }
});

test('a new id on a used index begins another call', () => {
  assert.deepEqual(callsOf([piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":' } }), piece({ index: 0, function: { arguments: '1}' } }), piece({ index: 0, id: 'b', function: { name: 'f', arguments: '{}' } })]), [['a', 'f', '{"x":1}'], ['b', 'f', '{}']]);
});

test('another id without a name goes on with the call of its index, or with the call that it names', () => {
  const [a, b] = [piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":' } }), piece({ index: 1, id: 'b', function: { name: 'g', arguments: '' } })];
  const rest = (index: number, id: string, text: string): object => piece({ index, id, function: { name: null, arguments: text } });
  assert.deepEqual(callsOf([a, rest(0, 'p', '1'), rest(0, 'q', '}'), b, rest(1, 'q', '{}')]), [['a', 'f', '{"x":1}'], ['b', 'g', '{}']]);
  const second = piece({ index: 0, id: 'b', function: { name: 'g', arguments: '{"y":' } });
  assert.deepEqual(callsOf([a, second, rest(0, 'a', '1}'), rest(0, 'b', '2}')]), [['a', 'f', '{"x":1}'], ['b', 'g', '{"y":2}']]);
});

test('arguments that come once more behind their pieces count once, and others that do not fit are a failure', () => {
  const begun = piece({ index: 0, id: 'a', function: { name: 'f', arguments: '' } });
  const further = (...texts: readonly string[]): object[] => texts.map((text) => piece({ index: 0, function: { arguments: text } }));
  for (const texts of [['{"x":1}', '{"x":1}'], ['{"x"', ':1}', '{"x":1}'], ['{"x"', '{"x":1}'], ['{"x"', ':1}', '{"x":1}', '']]) {
    assert.deepEqual(callsOf([begun, ...further(...texts)]), [['a', 'f', '{"x":1}']], texts.join(' '));
  }
  // vLLM says the name once more, too.
  assert.deepEqual(callsOf([begun, piece({ index: 0, function: { arguments: '{"x":1}' } }), piece({ index: 0, function: { name: 'f', arguments: '{"x":1}' } })]), [['a', 'f', '{"x":1}']]);
  // What repeats its own beginning is no repetition.
  assert.deepEqual(callsOf([begun, ...further('{"x":', '{"x":1}', '}')]), [['a', 'f', '{"x":{"x":1}}']]);
  assert.deepEqual(callsOf([begun, ...further('{"x":', '{"x":1}}')]), [['a', 'f', '{"x":{"x":1}}']]);
  assert.deepEqual(replyOf([begun, ...further('{"x":', '{"x":1}'), chunk({}, 'length')]).parts, []);
  for (const texts of [['{"x":1}', '{"y":1}'], ['{"x":1}', '{}'], ['{}', '{"x":1}'], ['{"x"', '{"x"'], ['{"x":', '{"x":1}']]) {
    assert.match(failureOf([begun, ...further(...texts), chunk({}, 'tool_calls')]).message, /arguments of a tool call are not a JSON object/, texts.join(' '));
  }
});

test('a name that comes late or again, and an id that comes again, begin nothing', () => {
  assert.deepEqual(callsOf([piece({ index: 0, id: 'a', function: { arguments: '{' } }), piece({ index: 0, id: 'a', function: { name: 'f', arguments: '}' } })]), [['a', 'f', '{}']]);
  assert.deepEqual(callsOf([piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{' } }), piece({ index: 0, id: 'a', function: { name: 'f', arguments: '}' } })]), [['a', 'f', '{}']]);
  const late = callsOf([piece({ index: 0, function: { arguments: '{' } }), piece({ index: 0, function: { name: 'f', arguments: '}' } })]);
  assert.deepEqual(late.map(([, ...rest]) => rest), [['f', '{}']]);
  const again = callsOf([piece({ index: 0, function: { name: 'f', arguments: '{"n":1}' } }), piece({ index: 0, function: { name: 'f', arguments: '' } })]);
  assert.deepEqual(again.map(([, ...rest]) => rest), [['f', '{"n":1}']]);
  assert.deepEqual(callsOf([piece({ index: 0, id: '', function: { name: 'f', arguments: '{' } }), piece({ index: 0, id: 'a', function: { name: 'f', arguments: '}' } })]), [['a', 'f', '{}']]);
});

test('whole calls in one delta are told apart without index and id', () => {
  const calls = callsOf([chunk({ tool_calls: [{ function: { name: 'f', arguments: '' } }, { function: { name: 'f', arguments: '' } }, { index: 0, function: { name: 'g', arguments: {} } }] })]);
  assert.deepEqual(calls.map(([, ...rest]) => rest), [['f', '{}'], ['f', '{}'], ['g', '{}']]);
  assert.ok(calls.every(([id]) => isMadeCallId(String(id))));
});

test('whole calls to one function, a delta each, are told apart without ids, and on one constant index', () => {
  for (const index of [undefined, 0]) {
    for (const [first, second] of [['{"n":1}', '{"n":2}'], [{ n: 1 }, { n: 2 }], ['{}', ' {}'], [{}, {}]]) {
      const calls = callsOf([piece({ index, id: '', function: { name: 'f', arguments: first } }), piece({ index, id: '', function: { name: 'f', arguments: second } })]);
      assert.deepEqual(calls.map(([, name, args]) => [name, args]), [first, second].map((args) => ['f', typeof args === 'string' ? args.trim() : JSON.stringify(args)]));
      assert.notEqual(calls[0]?.[0], calls[1]?.[0]);
    }
  }
  // Pieces of one call that repeat its name are not.
  const pieces = ['{"a":', '{"b":', '{}}}', ''].map((text) => piece({ index: 0, function: { name: 'f', arguments: text } }));
  assert.deepEqual(callsOf(pieces).map(([, name, args]) => [name, args]), [['f', '{"a":{"b":{}}}']]);
  assert.deepEqual(callsOf([piece({ index: 0, id: 'a', function: { name: 'f', arguments: { n: 1 } } }), piece({ index: 0, id: 'a', function: { name: 'f', arguments: { n: 2 } } })]), [['a', 'f', '{"n":2}']]);
});

test('whole calls of different names, a delta each, are told apart without ids, and on one constant index, arguments or none', () => {
  for (const index of [undefined, 0]) {
    for (const none of ['{}', '', null]) {
      const calls = callsOf([piece({ index, function: { name: 'f', arguments: none } }), piece({ index, function: { name: 'g', arguments: none } })]);
      assert.deepEqual(calls.map(([, ...rest]) => rest), [['f', '{}'], ['g', '{}']], `${index} ${none}`);
    }
  }
});

test('calls of different names under one id and index are told apart, and only the first has the id', () => {
  for (const index of [undefined, 0]) {
    const say = (name: string, text: string): object => piece({ index, id: 'a', function: { name, arguments: text } });
    const calls = callsOf([say('f', '{}'), say('g', '{'), say('g', '}')]);
    assert.deepEqual(calls.map(([, ...rest]) => rest), [['f', '{}'], ['g', '{}']], String(index));
    assert.deepEqual(calls.map(([id]) => isMadeCallId(String(id))), [false, true]);
  }
});

test('an id that is said before its name begins a call where there is no index', () => {
  const calls = callsOf([piece({ id: 'a', function: { name: 'f', arguments: '{}' } }), piece({ id: 'b', function: { arguments: '{"x"' } }), piece({ id: 'b', function: { name: 'g', arguments: ':1}' } })]);
  assert.deepEqual(calls, [['a', 'f', '{}'], ['b', 'g', '{"x":1}']]);
});

test('arguments as an object keep their digits in a stream too', () => {
  const data = '{"choices":[{"index":1,"delta":{},"finish_reason":"stop"},{"index":0,"delta":{"tool_calls":[null,{"id":"a","function":{"name":"f","arguments":{"n":1.0}}}]},"finish_reason":"tool_calls"}]}';
  const [part] = good(endOf(decodeChunks(openai, [Buffer.from(`data: ${data}\n\n`)]))).parts;
  assert.ok(part?.type === 'tool_call');
  assert.equal(part.arguments.text, '{"n":1.0}');
});

test('a streamed legacy function_call is a call', () => {
  const calls = callsOf([chunk({ function_call: { name: 'f', arguments: '{"a"' } }), chunk({ function_call: { arguments: ':1}' } })]);
  assert.deepEqual(calls.map(([, ...rest]) => rest), [['f', '{"a":1}']]);
  assert.deepEqual(callsOf([chunk({ function_call: { name: 'f', arguments: { a: 1 } } })]).map(([, ...rest]) => rest), [['f', '{"a":1}']]);
});

test('a call without a name is a failure, and none where the answer is cut; one without an id takes no other call for itself', () => {
  const nameless = piece({ index: 0, id: 'a', function: { arguments: '{}' } });
  assert.equal(failureOf([nameless, chunk({}, 'tool_calls')]).message, 'openai answered 200, but a tool call has no name');
  assert.deepEqual(replyOf([nameless, chunk({}, 'length')]).parts, []);
  const calls = callsOf([piece({ index: 0, function: { name: 'f', arguments: ' \n' } }), piece({ index: 1, id: 'b', function: { name: 'g', arguments: '{' } }), piece({ index: 1, function: { arguments: '}' } })]);
  assert.deepEqual(calls.map(([, ...rest]) => rest), [['f', '{}'], ['g', '{}']]);
});

test('a call cut for length is no call, a broken one otherwise a failure', () => {
  const cut = piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{"a":' } });
  const deltas = deltasOf([chunk({ content: 'x' }), cut, chunk({}, 'length')]);
  assert.deepEqual(deltas.map((delta) => delta.type), ['text', 'done']);
  assert.equal(good(endOf(deltas)).stopReason, 'max_tokens');
  assert.equal(failureOf([cut, chunk({}, 'tool_calls')]).kind, 'server');
  // The input of a custom tool is a text, which never shows that it is whole.
  assert.deepEqual(replyOf([piece({ index: 0, id: 'a', custom: { name: 'f', input: 'x' } }), chunk({}, 'length')]).parts, []);
});

test('arguments beyond a limit are a failure that names it, for a relay too, which takes what is no object as a text', () => {
  const relayed = { ...openai, createStreamDecoder: () => openai.createStreamDecoder({ isRelayed: true }) };
  const endFor = (adapter: Adapter, text: string): ChatReply | Failure => {
    const chunks = [piece({ index: 0, id: 'a', function: { name: 'f', arguments: text } }), chunk({}, 'tool_calls')];
    return endOf(decodeChunks(adapter, chunks.map((json) => Buffer.from(`data: ${JSON.stringify(json)}\n\n`))));
  };
  for (const adapter of [openai, relayed]) {
    const failure = endFor(adapter, `${'{"a":'.repeat(120)}1${'}'.repeat(120)}`);
    assert.ok(failure instanceof Failure);
    assert.match(failure.message, /nesting beyond 100 levels/);
    assert.deepEqual([failure.isOwn, failure.isRetried], [true, false]);
  }
  const [part] = good(endFor(relayed, '{"a')).parts;
  assert.equal(part?.type === 'tool_call' && part.arguments.text, '{"input":"{\\"a"}');
});

test('an empty reason to finish, and one called null, is none, so that a cut stream is no answer; a number is one', () => {
  for (const reason of ['', 'null']) {
    assert.equal(failureOf([chunk({ content: 'a' }, reason)]).message, 'openai ended the stream before the answer was complete', reason);
    assert.equal(replyOf([chunk({ content: 'a' }, reason), chunk({}, 'stop'), chunk({}, reason)]).stopReason, 'end_turn');
  }
  assert.equal(replyOf([chunk({ content: 'a' }, 1)]).stopReason, 'unknown');
});

test('an answer of nothing, for a reason that nobody knows, is none; one of thoughts alone is one', () => {
  assert.equal(failureOf([chunk({ content: '' }, 'weird')]).message, 'openai answered 200, but the reply has neither content nor a reason for its end');
  assert.deepEqual(replyOf([chunk({ reasoning: 'Hm' }, 'weird')]).thinking, 'Hm');
});

test('calls are there to be run though a filter ended the answer, and a stop string is matched only where the answer ended', () => {
  const filtered = replyOf([piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }), chunk({}, 'content_filter')]);
  assert.deepEqual([filtered.stopReason, filtered.parts.length], ['tool_use', 1]);
  const matched = (reason: string): string => replyOf([{ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: reason, stop_reason: 'END' }] }]).stopReason;
  assert.deepEqual([matched('stop'), matched('length')], ['stop_sequence', 'max_tokens']);
});

test('usage of which only a part was reported counts the rest as none', () => {
  const counts = (usage: object): unknown => {
    const reported = replyOf([{ ...chunk({ content: 'a' }, 'stop'), usage }]).usage;
    return [reported?.inputTokens, reported?.outputTokens];
  };
  assert.deepEqual([counts({ prompt_tokens: 3 }), counts({ completion_tokens: 4 })], [[3, 0], [0, 4]]);
});

test('usage is the last that came, on any chunk, id and model the first', () => {
  const outputs = (chunks: readonly object[]) => replyOf(chunks).usage?.outputTokens;
  const usage = (tokens: number) => ({ usage: { prompt_tokens: 1, completion_tokens: tokens } });
  assert.equal(outputs([{ ...chunk({ content: 'a' }), ...usage(1) }, { ...chunk({ content: 'b' }, 'stop'), ...usage(2) }]), 2);
  assert.equal(outputs([chunk({ content: 'a' }, 'stop'), { choices: [], ...usage(7) }]), 7);
  assert.equal(outputs([chunk({ content: 'a' }, 'stop'), { choices: [], usage: null, x_groq: usage(5) }]), 5);
  assert.equal(outputs([{ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop', ...usage(4) }] }]), 4);
  assert.equal(outputs([{ ...chunk({ content: 'a' }), ...usage(3) }, chunk({}, 'stop')]), 3);
  assert.equal(outputs([chunk({ content: 'a' }, 'stop')]), undefined);
  const { id, model } = replyOf([chunk({ content: 'a' }), { ...chunk({}, 'stop'), id: 'c2', model: 'm2' }, { choices: [], ...usage(1) }]);
  assert.deepEqual([id, model], ['c1', 'm1']);
});

test('only choice 0 counts, for text and for the end', () => {
  const other = (delta: object, reason: unknown = null) => ({ choices: [{ index: 1, delta, finish_reason: reason }] });
  assert.deepEqual(replyOf([chunk({ content: 'A' }), other({ content: 'B' }, 'stop'), chunk({}, 'stop')]).parts, [{ type: 'text', text: 'A', state: undefined }]);
  assert.equal(failureOf([chunk({ content: 'A' }), other({}, 'stop')]).kind, 'server');
  assert.equal(replyOf([chunk({ content: 'A' }), other({ content: 'B' }), chunk({}, 'stop'), other({}, 'stop')]).stopReason, 'end_turn');
});

test('a stream of several choices is complete once each that was begun has said why it ends', () => {
  const second = (delta: object, reason: unknown = null) => ({ index: 1, delta, finish_reason: reason });
  const both = (...choices: readonly object[]) => ({ choices: [{ index: 0, delta: { content: 'A' }, finish_reason: 'stop' }, ...choices] });
  for (const begun of [[chunk({ content: 'A' }, 'stop'), { choices: [second({ content: 'B' })] }], [both(second({ content: 'B' }))]]) {
    assert.equal(failureOf(begun).message, 'openai ended the stream before the answer was complete');
    assert.equal(replyOf([...begun, { choices: [second({}, 'length')] }]).stopReason, 'end_turn');
  }
  assert.equal(replyOf([both({ delta: {} }, { index: 0, delta: {} })]).stopReason, 'end_turn');
});

test('a refusal streams as text', () => {
  const deltas = deltasOf([chunk({ refusal: 'I ' }), chunk({ refusal: 'cannot.' }), chunk({}, 'stop')]);
  assert.deepEqual(deltas.slice(0, 2), [{ type: 'text', text: 'I ' }, { type: 'text', text: 'cannot.' }]);
  assert.equal(good(endOf(deltas)).stopReason, 'refusal');
});

test('reasoning streams as thinking, once', () => {
  const deltas = decodeChunks(adapterOf('openrouter'), [fixture('reasoning.sse')]);
  assert.deepEqual(deltas.slice(0, 3), [{ type: 'thinking', text: 'First ' }, { type: 'thinking', text: 'this.' }, { type: 'text', text: 'Yes.' }]);
  assert.equal(good(endOf(deltas)).thinking, 'First this.');
});

test('a reported error is a failure of its kind, also after the finish reason', () => {
  assert.equal(failureOf([chunk({ content: 'a' }), { error: { code: 'rate_limit_exceeded', message: 'x' } }]).kind, 'rate_limit');
  assert.equal(failureOf([chunk({ content: 'a' }, 'length'), { ...chunk({}), error: { code: 400, message: 'x' } }]).kind, 'bad_request');
  assert.equal(failureOf([{ error: 'overloaded' }]).kind, 'server');
  assert.equal(failureOf([{ error: { code: 'tool_use_failed', type: 'invalid_request_error' } }]).isRetried, true);
  const flex = failureOf([chunk({ content: 'a' }), { choices: [], x_groq: { error: 'over capacity' } }]);
  assert.deepEqual([flex.kind, flex.detail], ['server', 'over capacity']);
  assert.equal(failureOf([chunk({ content: 'a' }, 'error')]).message, 'openai failed on its side (HTTP 200, code error)');
});

test('an error event is a failure whatever its shape', () => {
  for (const data of ['{"message":"x","code":503}', '{}', 'oops']) {
    const end = endOf(decodeChunks(openai, [Buffer.from(`event: error\ndata: ${data}\n\n`)]));
    assert.ok(end instanceof Failure);
    assert.equal(end.kind, 'server');
  }
});

test('null and empty errors are none', () => {
  assert.equal(replyOf([{ ...chunk({ content: 'a' }, 'stop'), error: null }]).stopReason, 'end_turn');
  assert.equal(replyOf([{ ...chunk({ content: 'a' }, 'stop'), error: '' }]).stopReason, 'end_turn');
});

test('a frame that is not a JSON object is a failure, an empty one is nothing', () => {
  for (const data of ['{"choices":[', 'null', '[]', 'x']) {
    const end = endOf(decodeChunks(openai, [Buffer.from(`data: ${JSON.stringify(chunk({ content: 'a' }, 'stop'))}\n\ndata: ${data}\n\n`)]));
    assert.ok(end instanceof Failure, data);
  }
  const kept = decodeChunks(openai, [Buffer.from(`data:\n\ndata: ${JSON.stringify(chunk({ content: 'a' }, 'stop'))}\n\ndata: [DONE] \n\n`)]);
  assert.deepEqual(kept.map((delta) => delta.type), ['text', 'done']);
});

test('an answer may hold more calls than any model makes today', () => {
  const many = Array.from({ length: 1000 }, (_, at) => piece({ index: at, id: `i${at}`, function: { name: 'f', arguments: '{}' } }));
  assert.equal(callsOf(many).length, 1000);
});

/** Frames of empty calls or details, each another one. */
const FLOODS: Readonly<Record<string, (at: number) => unknown>> = {
  tool_calls: (at) => ({ index: at, function: { name: 'f' } }),
  reasoning_details: (at) => ({ type: 'reasoning.text', index: at }),
};

test('a stream that never ends its calls or details is stopped by a limit that the failure names', () => {
  for (const [field, entry] of Object.entries(FLOODS)) {
    const decoder = adapterOf('openrouter').createStreamDecoder();
    let last: Delta | undefined;
    for (let frame = 0; frame < 50 && last === undefined; frame += 1) {
      const entries = Array.from({ length: 1000 }, (_, at) => entry(frame * 1000 + at));
      decoder.frame('', JSON.stringify(chunk({ [field]: entries })), (delta) => (last = delta));
    }
    assert.ok(last?.type === 'failed', field);
    const { kind, message, isOwn, isRetried } = last.failure;
    assert.deepEqual([kind, isOwn, isRetried], ['server', true, false]);
    const limit = field === 'tool_calls' ? `has more than ${REPLY_CALLS_MAX} tool calls` : `is longer than ${REPLY_CHARS_MAX} characters`;
    assert.equal(message, `openrouter answered 200, but the reply ${limit}, which is the gateway's limit`);
  }
});

test('a detail that gets ever more fields stops the stream', () => {
  const decoder = adapterOf('openrouter').createStreamDecoder();
  let last: Delta | undefined;
  for (let frame = 0; frame < 200 && last === undefined; frame += 1) {
    const fields = Array.from({ length: 1000 }, (_, at) => `"k${frame * 1000 + at}":""`);
    decoder.frame('', `{"choices":[{"delta":{"reasoning_details":[{${fields.join()}}]}}]}`, (delta) => (last = delta));
  }
  assert.equal(last?.type, 'failed');
});

/** What a stream may hold thousands of, as the fields of one delta, of some 139 KB, and the frames of one each. */
const CROWDS: Readonly<Record<string, (at: number) => object>> = {
  'details with objects': (at) => ({ reasoning_details: [{ type: 'reasoning.text', index: at, text: 'a', more: { n: 1.5 } }] }),
  'details with ids': (at) => ({ reasoning_details: [{ type: 'reasoning.encrypted', index: 0, id: `rs_${at}`, data: 'AAAA', n: 1.5 }] }),
  'one detail in pieces': (at) => ({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'a', n: at }] }),
  'calls with objects': (at) => ({ tool_calls: [{ index: at, id: `c${at}`, function: { name: 'f', arguments: { n: at, o: {} } } }] }),
  'calls without an index': (at) => ({ tool_calls: [{ id: `c${at}`, function: { name: 'f', arguments: { n: at } } }] }),
  'one call in pieces': () => ({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: ' ' } }] }),
};

// Looking through everything for each of them took half a minute for one of these.
test('what comes in thousands is read once, in one frame or many', { timeout: 120_000 }, () => {
  for (const [name, delta] of Object.entries(CROWDS)) {
    const deltas = Array.from({ length: 2000 }, (_, at) => delta(at));
    const [key = ''] = Object.keys(delta(0));
    const together = { [key]: deltas.flatMap((one) => (one as Record<string, unknown[]>)[key] ?? []) };
    const one = replyOf([chunk(together), chunk({ content: 'x' }, 'stop')], 'openrouter');
    const many = replyOf([...deltas.map((each) => chunk(each)), chunk({ content: 'x' }, 'stop')], 'openrouter');
    assert.deepEqual(many, one, name);
  }
});

test('what is kept as written may hold more values than a caller may send, and so may what stands beside it', () => {
  const many = `[${Array.from({ length: 40_000 }, () => '{"a":1.0}').join()}]`;
  const details = '[{"type":"reasoning.text","text":"t","n":1.0}]';
  const adapter = adapterOf('compat');
  for (const [args, beside] of [[`{"list":${many}}`, '[]'], ['{"n":1.0}', many]] as const) {
    for (const sent of [args, JSON.stringify(args)]) {
      const body =
        `{"choices":[{"index":0,"logprobs":${beside},"finish_reason":"tool_calls","message":{"content":"x","reasoning_details":${details},` +
        `"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":${sent}}}]}}]}`;
      const whole = good(adapter.decodeChat(body));
      assert.deepEqual(whole.parts.map((part) => (part.type === 'tool_call' ? part.arguments.text : part.text)), ['x', args]);
      const turns = [user('q'), assistant(...whole.parts), result('a', 'ok')];
      assert.ok(bodyText(adapter, requestOf({ turns })).includes(`"reasoning_details":${details}`));
      const streamed = good(endOf(decodeChunks(adapter, [Buffer.from(`data: ${body.replace('"message":', '"delta":')}\n\n`)])));
      assert.deepEqual(streamed, whole);
    }
  }
});

/** Log probabilities of 600 tokens with 20 alternatives each, as OpenAI gives them: more values than any caller may send. */
const LOGPROBS = {
  content: Array.from({ length: 600 }, (_, at) => {
    const token = { token: ` word${at}`, logprob: -0.25, bytes: [32, 119, 111, 114, 100] };
    return { ...token, top_logprobs: Array.from({ length: 20 }, () => token) };
  }),
};

test('a reply with 20 log probabilities for each of 600 tokens is decoded, also where parts of it are kept as written', () => {
  const arguments_ = '{"n":1.0}';
  const details = '[{"type":"reasoning.text","text":"t","n":1.0}]';
  const body =
    `{"choices":[{"index":0,"logprobs":${JSON.stringify(LOGPROBS)},"finish_reason":"tool_calls","message":{"content":"x","reasoning_details":${details},` +
    `"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":${arguments_}}}]}}]}`;
  assert.ok(body.length > 500_000);
  const adapter = adapterOf('compat');
  const whole = good(adapter.decodeChat(body));
  assert.deepEqual(whole.parts.map((part) => (part.type === 'tool_call' ? part.arguments.text : part.text)), ['x', arguments_]);
  const turns = [user('q'), assistant(...whole.parts), result('a', 'ok')];
  assert.ok(bodyText(adapter, requestOf({ turns })).includes(`"reasoning_details":${details}`));
  const streamed = good(endOf(decodeChunks(adapter, [Buffer.from(`data: ${body.replace('"message":', '"delta":')}\n\n`)])));
  assert.deepEqual(streamed, whole);
});

test('text beyond the limit stops the stream', () => {
  const decoder = openai.createStreamDecoder();
  let last: Delta | undefined;
  const sink = (delta: Delta): void => void (last = delta);
  const frame = JSON.stringify(chunk({ content: 'x'.repeat(1024 * 1024) }));
  for (let sent = 0; sent < REPLY_CHARS_MAX; sent += 1024 * 1024) decoder.frame('', frame, sink);
  assert.equal(last?.type, 'text');
  decoder.frame('', frame, sink);
  assert.equal(last?.type, 'failed');
});

const TWINS: readonly (readonly [provider: string, chunks: readonly object[], message: object, finish: string])[] = [
  ['openai', [chunk({ content: 'a' }), chunk({ content: 'b' }), chunk({}, 'stop')], { content: 'ab' }, 'stop'],
  ['openai', [piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{"n":' } }), piece({ index: 0, function: { arguments: '1.0}' } }, 'stop')], { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{"n":1.0}' } }] }, 'stop'],
  ['deepseek', [chunk({ reasoning_content: 'wh' }), chunk({ reasoning_content: 'y' }), piece({ index: 0, id: 'a', function: { name: 'f', arguments: '' } }, 'tool_calls')], { reasoning_content: 'why', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '' } }] }, 'tool_calls'],
  ['openrouter', [chunk({ reasoning: 'a', reasoning_details: [{ type: 'reasoning.summary', summary: 'a', index: 0 }] }), chunk({ reasoning: 'b', reasoning_details: [{ type: 'reasoning.summary', summary: 'b', index: 0 }] }), chunk({ content: 'x' }, 'stop')], { reasoning: 'ab', reasoning_details: [{ type: 'reasoning.summary', summary: 'ab', index: 0 }], content: 'x' }, 'stop'],
  ['mistral', [chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'h' }] }] }), chunk({ content: [{ type: 'text', text: 'x' }] }, 'model_length')], { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'h' }] }, { type: 'text', text: 'x' }] }, 'model_length'],
];

test('a streamed answer equals its whole twin', () => {
  for (const [provider, chunks, message, finish] of TWINS) {
    assert.deepEqual(replyOf(chunks, provider), good(adapterOf(provider).decodeChat(bodyWith(message, finish))), provider);
  }
});

test('reasoning_details of a stream are put together by type, index and id, and go back', () => {
  const reply = good(endOf(decodeChunks(adapterOf('openrouter'), [fixture('reasoning.sse')])));
  const [, message] = messagesOf(adapterOf('openrouter'), [user('q'), { role: 'assistant', parts: reply.parts }]) as [unknown, Record<string, unknown>];
  assert.deepEqual(message['reasoning_details'], [
    { type: 'reasoning.text', text: 'First this.', format: 'f', index: 0, signature: 'sig==' },
    { type: 'reasoning.encrypted', data: 'AAA', id: 'rs_1', format: null, index: 0 },
    { type: 'reasoning.encrypted', data: 'BBB', id: 'rs_2', format: null, index: 0 },
  ]);
});

test('pieces of details without an id belong to the first of their type and index, and null takes nothing away', () => {
  const details = (...pieces: readonly object[]): object[] => pieces.map((fields) => chunk({ reasoning_details: [fields] }));
  const detail = { type: 'reasoning.text', index: 0 };
  const chunks = details(
    { ...detail, id: 'r1', text: 'a', signature: 's', format: null }, { ...detail, text: 'b', signature: null }, { ...detail, index: 1, text: 'c' },
    { ...detail, index: 1, id: 'r2', text: 'd' }, { ...detail, index: 1, id: 'r3', text: 'e' }, { text: 'f' }, { text: 'g' },
  );
  const { parts } = replyOf([...chunks, chunk({ content: 'x' }, 'stop')], 'openrouter');
  const [, message] = messagesOf(adapterOf('openrouter'), [user('q'), { role: 'assistant', parts }]) as [unknown, Record<string, unknown>];
  assert.deepEqual(message['reasoning_details'], [
    { ...detail, id: 'r1', text: 'ab', signature: 's', format: null }, { ...detail, index: 1, text: 'cd', id: 'r2' }, { ...detail, index: 1, id: 'r3', text: 'e' }, { text: 'fg' },
  ]);
});

test('tags in a text are text, whichever model wrote it, but on the host that writes them', () => {
  const reply = replyOf([{ ...chunk({ content: '<reasoning>x</reasoning>y' }, 'stop'), model: 'openai/gpt-oss-120b' }], 'groq');
  assert.deepEqual([reply.thinking, replyText(reply)], ['', '<reasoning>x</reasoning>y']);
});

test('what a detail holds beside text keeps its digits', () => {
  const data = `{"choices":[{"delta":{"content":"x","reasoning_details":[null,{"type":"reasoning.server_tool_call","n":1.0,"o":{"a":1.0},"__proto__":{"p":1}}]},"finish_reason":"stop"}]}`;
  const states = (frame: string) => good(endOf(decodeChunks(adapterOf('openrouter'), [Buffer.from(`data: ${frame}\n\n`)]))).parts;
  const body = (frame: string) => bodyText(adapterOf('openrouter'), requestOf({ turns: [{ role: 'assistant', parts: states(frame) }, user('q')] }));
  assert.ok(body(data).includes('"reasoning_details":[{"type":"reasoning.server_tool_call","n":1.0,"o":{"a":1.0},"__proto__":{"p":1}}]'));
});

test('an answer with calls replays to the host that gave it', () => {
  const chunks = [chunk({ reasoning_content: 'why' }), piece({ index: 0, id: 'a', function: { name: 'weather', arguments: '{"n":1.0}' } }), chunk({}, 'tool_calls')];
  const reply = replyOf(chunks, 'moonshot');
  const turns = [user('q'), { role: 'assistant' as const, parts: reply.parts }, result('a', 'ok')];
  assert.deepEqual(messagesOf(adapterOf('moonshot'), turns), [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: null, reasoning_content: 'why', tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather', arguments: '{"n":1.0}' } }] },
    { role: 'tool', tool_call_id: 'a', content: 'ok' },
  ]);
  assert.deepEqual(messagesOf(openai, turns)[1], messagesOf(openai, [user('q'), assistant(call('a', '{"n":1.0}')), result('a', 'ok')])[1]);
});

/** Values of every shape, from a small generator: frames made of the format's own words, wrongly used. */
const fuzzer = (seed: number) => {
  let random = seed;
  const next = (limit: number): number => {
    random = (random * 1103515245 + 12345) % 2147483648;
    return Math.floor((random / 2147483648) * limit);
  };
  const words = ['choices', 'delta', 'message', 'index', 'content', 'tool_calls', 'function', 'name', 'arguments', 'id', 'finish_reason', 'usage', 'error', 'code', 'reasoning_details', 'reasoning_content', 'custom', 'input', 'refusal', 'x_groq', 'type', 'text', '__proto__', 'function_call', 'extra_content', 'detail', 'metadata', 'data'];
  const scalars = ['', 'stop', 'length', '{', '{}', 'null', 0, 1, -1, 1.5, 1e300, true, null, 'thinking', 'error'];
  const value = (depth: number): unknown => {
    const shape = depth > 5 ? 0 : next(5);
    if (shape < 2) return scalars[next(scalars.length)];
    if (shape === 2) return Array.from({ length: next(4) }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: next(6) }, () => [words[next(words.length)], value(depth + 1)]));
  };
  const frame = (): unknown => (next(3) === 0 ? value(0) : { choices: [{ index: 0, delta: value(1), message: value(1), finish_reason: scalars[next(scalars.length)] }] });
  return { next, frame };
};

test('whatever the frames and bodies, decoding throws nothing and ends once', () => {
  for (const provider of ['openai', 'compat']) {
    const adapter = adapterOf(provider);
    const { next, frame } = fuzzer(7);
    for (let round = 0; round < 2500; round += 1) {
      const deltas: Delta[] = [];
      const sink = (delta: Delta): void => void deltas.push(delta);
      const decoder = adapter.createStreamDecoder();
      for (let at = next(5); at >= 0; at -= 1) {
        const text = JSON.stringify(frame()).replaceAll('1e+300', '1e999');
        decoder.frame(next(20) === 0 ? 'error' : '', text, sink);
        adapter.decodeChat(text);
        adapter.decodeModels(text);
        adapter.decodeFailure(400 + next(200), text);
      }
      decoder.end(sink);
      endOf(deltas);
    }
  }
});

test('frames of deep nesting throw nothing', () => {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000);
  for (const key of ['content', 'reasoning_details', 'tool_calls', 'refusal']) {
    for (const inner of [deep, `[${deep}]`, `[{"index":${deep},"type":${deep},"function":{"name":"f","arguments":${deep}}}]`]) {
      const frame = `{"choices":[{"index":0,"delta":{"${key}":${inner}},"finish_reason":"stop"}]}`;
      endOf(decodeChunks(adapterOf('compat'), [Buffer.from(`data: ${frame}\n\n`)]));
    }
  }
  assert.ok(openai.decodeFailure(500, `{"error":${deep}}`) instanceof Failure);
});
