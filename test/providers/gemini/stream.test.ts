import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { encodeState } from '../../../src/core/provider-state.ts';
import { decodeChunks, endOf } from '../../decode-stream.ts';
import { adapter, body, deltasOf, fixture, randomFrom, reply, withStableIds } from './fixtures.ts';

const FIXTURES = ['text.sse', 'tools.sse', 'signed-ending.sse'];

function frame(parts: readonly unknown[], fields: Record<string, unknown> = {}): string {
  return JSON.stringify({ candidates: [{ content: { parts, role: 'model' }, ...fields }] });
}

test('a stream of text gives every piece at once and then the whole', () => {
  assert.deepEqual(decodeChunks(adapter, [fixture('text.sse')]), [
    { type: 'text', text: 'Blåbær' },
    { type: 'text', text: ' og 🫐,' },
    { type: 'text', text: ' takk.' },
    {
      type: 'done',
      reply: {
        id: 'resp-1',
        model: 'gemini-3.8-flash',
        parts: [{ type: 'text', text: 'Blåbær og 🫐, takk.', state: undefined }],
        thinking: '',
        stopReason: 'end_turn',
        usage: { inputTokens: 12, outputTokens: 9, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
      },
    },
  ] satisfies Delta[]);
});

test('a stream of thoughts and calls gives them in order, and takes the usage that follows the finish reason', () => {
  const state = encodeState('gemini', 'gemini', { signature: 'c2lnLW9uZQ==' });
  const calls = [
    { type: 'tool_call', id: 'call-1', name: 'weather', arguments: { raw: '{"city":"Oslo"}' }, state },
    { type: 'tool_call', id: 'made-0', name: 'weather', arguments: { raw: '{"city":"Rome","at":1.0}' } },
    { type: 'tool_call', id: 'made-1', name: 'now', arguments: { raw: '{}' } },
  ];
  assert.deepEqual(withStableIds<unknown>(decodeChunks(adapter, [fixture('tools.sse')])), [
    { type: 'thinking', text: '**Planning**\n\n' },
    { type: 'thinking', text: 'Two cities, two calls.' },
    { type: 'text', text: 'Looking both up.' },
    { type: 'tool_call', call: calls[0] },
    { type: 'tool_call', call: calls[1] },
    { type: 'tool_call', call: calls[2] },
    {
      type: 'done',
      reply: {
        id: 'resp-1',
        model: 'gemini-3.8-flash',
        parts: [{ type: 'text', text: 'Looking both up.' }, ...calls],
        thinking: '**Planning**\n\nTwo cities, two calls.',
        stopReason: 'tool_use',
        usage: { inputTokens: 43, outputTokens: 52, cacheReadTokens: 16, cacheWriteTokens: 0, reasoningTokens: 21 },
      },
    },
  ]);
});

test('a signature on an empty last text is kept, and so is executed code before a text', () => {
  const end = endOf(decodeChunks(adapter, [fixture('signed-ending.sse')]));
  assert.ok(!(end instanceof Failure));
  assert.deepEqual(end.parts, [
    {
      type: 'text',
      text: 'It is 42.',
      state: encodeState('gemini', 'gemini', {
        before: [
          { executableCode: { language: 'PYTHON', code: 'print(6*7)' }, thoughtSignature: 'c2lnLWNvZGU=' },
          { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } },
        ],
      }),
    },
    { type: 'text', text: '', state: encodeState('gemini', 'gemini', { signature: 'c2lnLWVuZA==' }) },
  ]);
});

for (const name of FIXTURES) {
  const bytes = fixture(name);
  const whole = withStableIds(decodeChunks(adapter, [bytes]));

  test(`${name} decodes the same when split at any byte`, () => {
    for (let at = 0; at <= bytes.length; at += 1) {
      assert.deepEqual(withStableIds(decodeChunks(adapter, [bytes.subarray(0, at), bytes.subarray(at)])), whole);
    }
    assert.deepEqual(withStableIds(decodeChunks(adapter, [...bytes].map((byte) => Buffer.of(byte)))), whole);
  });

  test(`${name} cut at any byte before its finish reason arrived whole is a failure`, () => {
    const finishAt = bytes.indexOf('"finishReason"');
    // The frame with the finish reason ends with its blank line: two LF, or two CRLF of which a CR is enough.
    const ending = bytes.includes('\r\n\r\n') ? '\r\n\r' : '\n\n';
    const completeAt = bytes.indexOf(ending, finishAt) + ending.length;
    for (let at = 0; at <= bytes.length; at += 1) {
      const end = endOf(decodeChunks(adapter, [bytes.subarray(0, at)]));
      assert.equal(end instanceof Failure, at < completeAt, `cut at ${at} of ${bytes.length}`);
      if (end instanceof Failure) assert.equal(end.message, 'gemini ended the stream before the answer was complete');
    }
  });

  test(`${name} ends with the reply that the same parts give unstreamed`, () => {
    const frames = bytes.toString().split(/\r?\n\r?\n/).filter((line) => line !== '').map((line) => line.slice('data: '.length));
    const parts = frames.flatMap((source) => /"parts":(\[.*\]),"role"/.exec(source)?.[1]?.slice(1, -1) ?? []).join(',');
    const usage = /"usageMetadata":(\{.*?\})/.exec(frames.at(-1) ?? '')?.[1];
    const twin = `{"candidates":[{"content":{"parts":[${parts}]},"finishReason":"STOP"}],"usageMetadata":${usage},"modelVersion":"gemini-3.8-flash","responseId":"resp-1"}`;
    assert.deepEqual(withStableIds(endOf(decodeChunks(adapter, [bytes]))), withStableIds(reply(twin)));
  });
}

test('a frame that is an array of partial replies is taken piece by piece', () => {
  const deltas = deltasOf([`[${frame([{ text: 'a' }])},${frame([{ text: 'b' }])}]`, frame([], { finishReason: 'STOP' })]);
  assert.deepEqual(deltas.map((delta) => (delta.type === 'text' ? delta.text : delta.type)), ['a', 'b', 'done']);
});

for (const data of ['{"message":"words"}', '{"error":{"message":"words"}}', '{"error":"words"}']) {
  test(`a stream fails on an event that is called error, whatever its shape: ${data}`, () => {
    const bytes = Buffer.from(`data: ${frame([{ text: 'a' }])}\n\nevent: error\ndata: ${data}\n\ndata: ${frame([], { finishReason: 'STOP' })}\n\n`);
    const end = endOf(decodeChunks(adapter, [bytes]));
    assert.ok(end instanceof Failure);
    assert.deepEqual([end.kind, end.detail], ['server', 'words']);
  });
}

test('what a piece says of the reply and of its ending holds where later ones say nothing', () => {
  const head = { responseId: 'r', modelVersion: 'm' };
  const blocked = endOf(deltasOf([JSON.stringify({ ...head, promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'no' } }), '{"promptFeedback":{}}']));
  const filtered = endOf(deltasOf([JSON.stringify({ ...head, candidates: [{ finishReason: 'SAFETY', finishMessage: 'no' }] }), '{"candidates":[{}]}']));
  for (const end of [blocked, filtered]) {
    assert.ok(end instanceof Failure);
    assert.deepEqual([end.kind, end.detail, end.reply?.id, end.reply?.model], ['refusal', 'no', 'r', 'm']);
  }
});

test('a call beside an empty text is a call', () => {
  const deltas = deltasOf([frame([{ text: '', functionCall: { name: 'f' } }], { finishReason: 'STOP' })]);
  assert.deepEqual(deltas.map(({ type }) => type), ['tool_call', 'done']);
});

test('a thought or a text without a word gives no delta, and a finish reason that nobody knows ends the answer', () => {
  const deltas = deltasOf([frame([{ text: '', thought: true }, { thought: true }, { text: '' }, { text: 'a' }], { finishReason: 99 })]);
  assert.deepEqual(deltas.map(({ type }) => type), ['text', 'done']);
});

test('text may still follow the finish reason', () => {
  const end = endOf(deltasOf([frame([{ text: 'a' }], { finishReason: 'STOP' }), frame([{ text: 'b' }])]));
  assert.ok(!(end instanceof Failure));
  assert.deepEqual(end.parts, [{ type: 'text', text: 'ab', state: undefined }]);
});

test('metadata without counts does not hide the usage before it', () => {
  const end = endOf(deltasOf(['{"usageMetadata":{"promptTokenCount":5}}', frame([{ text: 'a' }], { finishReason: 'STOP' }), '{"usageMetadata":{"trafficType":"ON_DEMAND"}}']));
  assert.ok(!(end instanceof Failure));
  assert.equal(end.usage?.inputTokens, 5);
});

for (const [what, frames, kind, message] of [
  ['nothing', [], 'server', 'gemini ended the stream before the answer was complete'],
  ['text only', [frame([{ text: 'a' }])], 'server', 'gemini ended the stream before the answer was complete'],
  ['an unspecified finish reason', [frame([{ text: 'a' }], { finishReason: 'FINISH_REASON_UNSPECIFIED' })], 'server', 'gemini ended the stream before the answer was complete'],
  ['no JSON', ['{"candidates":'], 'server', 'gemini answered 200, but the reply is not a JSON object'],
  ['a number', ['7'], 'server', 'gemini answered 200, but the reply is not a JSON object'],
  ['an error', [frame([{ text: 'a' }]), '{"error":{"code":503,"status":"UNAVAILABLE","message":"busy"}}'], 'server', 'gemini failed on its side (HTTP 200, code UNAVAILABLE)'],
  ['an error without a code', ['{"error":{"status":"RESOURCE_EXHAUSTED"}}'], 'rate_limit', 'gemini is limiting the rate of requests (HTTP 200, code RESOURCE_EXHAUSTED)'],
  ['an error inside an array', ['[{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]'], 'auth', "gemini rejected the gateway's credential (HTTP 200, code INVALID_ARGUMENT)"],
  ['an error after the finish reason', [frame([{ text: 'a' }], { finishReason: 'STOP' }), '{"error":{"code":500}}'], 'server', 'gemini failed on its side (HTTP 200)'],
  ['a blocked prompt', ['{"promptFeedback":{"blockReason":"SAFETY"}}', '{"usageMetadata":{"promptTokenCount":1}}'], 'refusal', 'gemini declined the request (HTTP 200, code SAFETY)'],
  ['a refusal without content', [frame([], { finishReason: 'PROHIBITED_CONTENT' })], 'refusal', 'gemini declined the request (HTTP 200, code PROHIBITED_CONTENT)'],
  ['a malformed call and nothing else', [frame([], { finishReason: 'MALFORMED_FUNCTION_CALL' })], 'server', 'gemini failed on its side (HTTP 200, code MALFORMED_FUNCTION_CALL)'],
] as const) {
  test(`a stream of ${what} fails as ${kind}`, () => {
    const end = endOf(deltasOf(frames));
    assert.ok(end instanceof Failure);
    assert.equal(end.kind, kind);
    assert.equal(end.message, message);
  });
}

test('a stream that stops for safety after some text is a reply that says so', () => {
  const end = endOf(deltasOf([frame([{ text: 'a' }]), frame([], { finishReason: 'SAFETY' })]));
  assert.ok(!(end instanceof Failure));
  assert.equal(end.stopReason, 'refusal');
});

test('a stream that stops for safety ends without the calls that came before', () => {
  const deltas = deltasOf([frame([{ text: 'a' }, { functionCall: { name: 'f' } }]), frame([], { finishReason: 'SAFETY' })]);
  const end = endOf(deltas);
  assert.ok(!(end instanceof Failure));
  assert.deepEqual(deltas.map(({ type }) => type), ['text', 'tool_call', 'done']);
  assert.deepEqual([end.stopReason, end.parts], ['refusal', [{ type: 'text', text: 'a', state: undefined }]]);
});

test('after the terminal delta nothing more is emitted', () => {
  const deltas: Delta[] = [];
  const sink = (delta: Delta): void => void deltas.push(delta);
  const failing = adapter.createStreamDecoder();
  for (const data of ['{"error":{}}', frame([{ text: 'a' }]), 'x']) failing.frame('', data, sink);
  failing.end(sink);
  assert.deepEqual(deltas.map((delta) => delta.type), ['failed']);
  deltas.length = 0;
  const good = adapter.createStreamDecoder();
  good.frame('', body([{ text: 'a' }]), sink);
  good.end(sink);
  good.frame('', frame([{ text: 'b' }]), sink);
  good.end(sink);
  assert.deepEqual(deltas.map((delta) => delta.type), ['text', 'done']);
});

for (const [what, part] of [
  ['text', { text: 'x'.repeat(1024 * 1024) }],
  ['thoughts', { text: 'x'.repeat(1024 * 1024), thought: true }],
  ['signatures', { text: '', thoughtSignature: 'x'.repeat(1024 * 1024) }],
  ['carried parts', { executableCode: { code: 'x'.repeat(1024 * 1024) } }],
  ['calls', { functionCall: { name: 'f', args: { a: 'x'.repeat(1024 * 1024) } } }],
] as const) {
  test(`a stream of more than 32 Mi characters of ${what} fails`, () => {
    const source = frame([part]);
    const deltas = deltasOf(Array.from({ length: 33 }, () => source));
    const end = endOf(deltas);
    assert.ok(end instanceof Failure);
    assert.equal(end.message, "gemini answered 200, but the reply is longer than 33554432 characters, which is the gateway's limit");
    assert.deepEqual([end.isOwn, end.isRetried], [true, false]);
    assert.ok(deltas.length <= 32);
  });
}

test('a stream decoder never throws and always ends exactly once', () => {
  const random = randomFrom(4);
  const sources = FIXTURES.flatMap((name) => fixture(name).toString().split(/\r?\n\r?\n/)).filter((line) => line !== '').map((line) => line.slice(6));
  let done = 0;
  for (let i = 0; i < 4000; i += 1) {
    const frames = Array.from({ length: 1 + random(5) }, () => {
      const chars = [...(sources[random(sources.length)] as string)];
      if (random(3) === 0) chars.splice(random(chars.length), random(9), '{}[]",:0xn'[random(10)] as string);
      return chars.join('');
    });
    if (!(endOf(deltasOf(frames)) instanceof Failure)) done += 1;
  }
  assert.ok(done > 0);
});
