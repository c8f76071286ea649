import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMadeCallId } from '../../../src/core/call-id.ts';
import { replyText, replyToolCalls } from '../../../src/core/chat.ts';
import type { StopReason } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { encodeState } from '../../../src/core/provider-state.ts';
import { adapter, body, failedReply, randomFrom, reply } from './fixtures.ts';

test('a reply of text has all its fields', () => {
  assert.deepEqual(reply(body([{ text: 'Hello' }])), {
    id: 'resp-1',
    model: 'gemini-3.8-flash',
    parts: [{ type: 'text', text: 'Hello', state: undefined }],
    thinking: '',
    stopReason: 'end_turn',
    usage: { inputTokens: 7, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  });
});

test('neighbouring unsigned texts become one part, and thoughts are no part', () => {
  const decoded = reply(body([{ text: 'a' }, { text: 'hm, ', thought: true }, { text: '' }, { text: 'b' }, { text: 'well', thought: true }]));
  assert.deepEqual(decoded.parts, [{ type: 'text', text: 'ab', state: undefined }]);
  assert.equal(decoded.thinking, 'hm, well');
});

test('a signed text is a part of its own and carries its signature', () => {
  assert.deepEqual(reply(body([{ text: 'a' }, { text: 'b', thoughtSignature: 'sig' }, { text: 'c' }])).parts, [
    { type: 'text', text: 'a', state: undefined },
    { type: 'text', text: 'b', state: encodeState('gemini', 'gemini', { signature: 'sig' }) },
    { type: 'text', text: 'c', state: undefined },
  ]);
});

test('parts without a place in a chat travel in the state of the next part, trailing ones on an empty text', () => {
  const code = { executableCode: { code: '1' } };
  assert.deepEqual(reply(body([code, { text: 'b' }, { text: 'c' }, code])).parts, [
    { type: 'text', text: 'bc', state: encodeState('gemini', 'gemini', { before: [code] }) },
    { type: 'text', text: '', state: encodeState('gemini', 'gemini', { before: [code] }) },
  ]);
});

test('a signature that stands alone is kept, also beside fields that are null', () => {
  for (const part of [{ thoughtSignature: 'sig' }, { text: null, thought: null, functionCall: null, thoughtSignature: 'sig' }]) {
    assert.deepEqual(reply(body([part])).parts, [{ type: 'text', text: '', state: encodeState('gemini', 'gemini', { signature: 'sig' }) }]);
  }
});

test('a signed thought is disclosed and carried', () => {
  const thought = { text: 'hm', thought: true, thoughtSignature: 'sig' };
  const decoded = reply(body([thought, { text: 'b' }]));
  assert.equal(decoded.thinking, 'hm');
  assert.equal(replyText(decoded), 'b');
  assert.deepEqual(decoded.parts[0]?.type === 'text' && decoded.parts[0].state, encodeState('gemini', 'gemini', { before: [thought] }));
});

test('arguments keep their spelling, and missing or null ones are an empty object', () => {
  const source = body([
    { functionCall: { id: 'x', name: 'f', args: 'ARGS' } },
    { functionCall: { id: 'y', name: 'g' } },
    { functionCall: { id: 'z', name: 'h', args: null } },
  ]).replace('"ARGS"', '{ "n": 12345678901234567890, "2": 1.0, "1": [1e-7] }');
  const calls = replyToolCalls(reply(source));
  assert.deepEqual(calls.map((call) => [call.id, call.name, call.arguments.text]), [
    ['x', 'f', '{ "n": 12345678901234567890, "2": 1.0, "1": [1e-7] }'],
    ['y', 'g', '{}'],
    ['z', 'h', '{}'],
  ]);
});

for (const empty of [null, [], '', {}, false, 0]) {
  test(`a call with whole arguments keeps them beside partialArgs ${JSON.stringify(empty)}`, () => {
    const functionCall = { name: 'f', args: { a: 1 }, partialArgs: empty, willContinue: null };
    assert.deepEqual(replyToolCalls(reply(body([{ text: null, functionCall }]))).map((call) => call.arguments.text), ['{"a":1}']);
  });
}

for (const empty of [null, [], '', false, 0]) {
  test(`a text is kept beside functionCall ${JSON.stringify(empty)}`, () => {
    assert.deepEqual(reply(body([{ text: 'a', thought: null, functionCall: empty }])).parts, [{ type: 'text', text: 'a', state: undefined }]);
  });
}

test('calls whose id is missing, empty or not their own get one from the gateway', () => {
  const functionCall = { name: 'f', args: {} };
  const ids = replyToolCalls(
    reply(body([{ functionCall }, { functionCall: { ...functionCall, id: '' } }, { functionCall: { ...functionCall, id: 'a' } }, { functionCall: { ...functionCall, id: 'a' } }])),
  ).map((call) => call.id);
  assert.deepEqual(ids.map(isMadeCallId), [true, true, false, true]);
  assert.equal(new Set(ids).size, 4);
});

const call = { functionCall: { name: 'f' } };
const stops: readonly (readonly [finishReason: unknown, parts: readonly unknown[], stopReason: StopReason])[] = [
  ['STOP', [{ text: 'a' }], 'end_turn'],
  ['STOP', [], 'end_turn'],
  ['STOP', [call], 'tool_use'],
  ['MAX_TOKENS', [{ text: 'a' }], 'max_tokens'],
  ['MAX_TOKENS', [], 'max_tokens'],
  ['MAX_TOKENS', [call], 'tool_use'],
  ['CONTINUATION', [{ text: 'a' }], 'max_tokens'],
  ['SAFETY', [{ text: 'a' }], 'refusal'],
  ['SAFETY', [{ text: 'a' }, call], 'refusal'],
  ['RECITATION', [{ text: 'a' }], 'refusal'],
  ['BLOCKLIST', [{ text: 'a' }], 'refusal'],
  ['PROHIBITED_CONTENT', [{ text: 'a' }], 'refusal'],
  ['SPII', [{ text: 'a' }], 'refusal'],
  ['MODEL_ARMOR', [{ text: 'a' }], 'refusal'],
  ['IMAGE_SAFETY', [{ text: 'a' }], 'refusal'],
  ['IMAGE_PROHIBITED_CONTENT', [{ text: 'a' }], 'refusal'],
  ['IMAGE_RECITATION', [{ text: 'a' }], 'refusal'],
  ['MALFORMED_FUNCTION_CALL', [{ text: 'a' }], 'unknown'],
  ['UNEXPECTED_TOOL_CALL', [call], 'tool_use'],
  ['TOO_MANY_TOOL_CALLS', [{ text: 'a' }], 'unknown'],
  ['MALFORMED_RESPONSE', [{ text: 'a' }], 'unknown'],
  ['LANGUAGE', [{ text: 'a' }], 'unknown'],
  ['OTHER', [{ text: 'a' }], 'unknown'],
  ['NO_IMAGE', [{ text: 'a' }], 'unknown'],
  ['SOMETHING_NEW', [{ text: 'a' }], 'unknown'],
  ['constructor', [{ text: 'a' }], 'unknown'],
  ['FINISH_REASON_UNSPECIFIED', [{ text: 'a' }], 'unknown'],
  [undefined, [{ text: 'a' }], 'unknown'],
  [undefined, [call], 'tool_use'],
  [0, [{ text: 'a' }], 'unknown'],
  [1, [{ text: 'a' }], 'end_turn'],
  [1, [call], 'tool_use'],
  [2, [{ text: 'a' }], 'max_tokens'],
  [3, [{ text: 'a' }], 'refusal'],
  [4, [{ text: 'a' }], 'refusal'],
  [5, [{ text: 'a' }], 'unknown'],
  [6, [{ text: 'a' }], 'unknown'],
  [7, [{ text: 'a' }], 'refusal'],
  [8, [{ text: 'a' }], 'refusal'],
  [9, [{ text: 'a' }], 'refusal'],
  [10, [{ text: 'a' }], 'unknown'],
  [11, [{ text: 'a' }], 'refusal'],
  [12, [{ text: 'a' }], 'unknown'],
  [99, [{ text: 'a' }], 'unknown'],
];
for (const [finishReason, parts, stopReason] of stops) {
  test(`finish reason ${String(finishReason)} with ${JSON.stringify(parts)} is ${stopReason}`, () => {
    assert.equal(reply(body(parts, { finishReason })).stopReason, stopReason);
  });
}

test('a thinking budget that left no room for content is a good, empty reply', () => {
  const decoded = reply('{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}],"usageMetadata":{"promptTokenCount":6,"thoughtsTokenCount":20}}');
  assert.deepEqual(decoded.parts, []);
  assert.equal(decoded.stopReason, 'max_tokens');
  assert.equal(decoded.id, undefined);
  assert.equal(decoded.model, undefined);
});

test('usage counts server-side tools as input and thoughts as output', () => {
  const usageMetadata = { promptTokenCount: 100, toolUsePromptTokenCount: 11, cachedContentTokenCount: 60, candidatesTokenCount: 20, thoughtsTokenCount: 7, totalTokenCount: 138 };
  assert.deepEqual(reply(JSON.stringify({ ...(JSON.parse(body([{ text: 'a' }])) as object), usageMetadata })).usage, {
    inputTokens: 111,
    outputTokens: 27,
    cacheReadTokens: 60,
    cacheWriteTokens: 0,
    reasoningTokens: 7,
  });
});

test('usage of which only a part was reported counts the rest as none', () => {
  for (const [usageMetadata, counts] of [[{ promptTokenCount: 5 }, [5, 0]], [{ candidatesTokenCount: 4 }, [0, 4]], [{ thoughtsTokenCount: 3 }, [0, 3]]] as const) {
    const { usage } = reply(JSON.stringify({ ...(JSON.parse(body([{ text: 'a' }])) as object), usageMetadata }));
    assert.deepEqual([usage?.inputTokens, usage?.outputTokens], counts);
  }
});

for (const usageMetadata of [undefined, {}, { trafficType: 'ON_DEMAND' }, { promptTokenCount: '5' }, { promptTokenCount: -1 }]) {
  test(`usage metadata ${JSON.stringify(usageMetadata)} is no usage`, () => {
    assert.equal(reply(JSON.stringify({ candidates: [{ content: { parts: [{ text: 'a' }] } }], usageMetadata })).usage, undefined);
  });
}

test('of several candidates the first counts', () => {
  const candidates = [
    { index: 1, content: { parts: [{ text: 'other' }] }, finishReason: 'MAX_TOKENS' },
    { index: 0, content: { parts: [{ functionCall: { id: 'x', name: 'f', args: { a: 1 } } }] }, finishReason: 'STOP' },
  ];
  const decoded = reply(JSON.stringify({ candidates }));
  assert.equal(replyText(decoded), '');
  assert.equal(replyToolCalls(decoded)[0]?.arguments.text, '{"a":1}');
});

test('a reply that was stopped for safety after some text has none of its calls', () => {
  const decoded = reply(body([{ text: 'a' }, call], { finishReason: 'SAFETY' }));
  assert.deepEqual(decoded.parts, [{ type: 'text', text: 'a', state: undefined }]);
});

const refusals: readonly (readonly [what: string, source: string, message: string, detail: string | undefined])[] = [
  ['a blocked prompt', '{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"no"}}', 'gemini declined the request (HTTP 200, code PROHIBITED_CONTENT)', 'no'],
  ['a prompt blocked by number', '{"promptFeedback":{"blockReason":1}}', 'gemini declined the request (HTTP 200, code SAFETY)', undefined],
  ['a refusal without content', '{"candidates":[{"content":{},"finishReason":"SAFETY","finishMessage":"no"}]}', 'gemini declined the request (HTTP 200, code SAFETY)', 'no'],
  ['a refusal with a signature only', body([{ text: '', thoughtSignature: 's' }], { finishReason: 'RECITATION' }), 'gemini declined the request (HTTP 200, code RECITATION)', undefined],
  ['a refusal after nothing but calls', body([call, call], { finishReason: 'SAFETY' }), 'gemini declined the request (HTTP 200, code SAFETY)', undefined],
  ['a block whose candidate is empty', '{"candidates":[{"content":{}}],"promptFeedback":{"blockReason":"OTHER"}}', 'gemini declined the request (HTTP 200, code OTHER)', undefined],
];
for (const [what, source, message, detail] of refusals) {
  test(`${what} is a refusal`, () => {
    const failure = failedReply(source);
    assert.equal(failure.kind, 'refusal');
    assert.equal(failure.message, message);
    assert.equal(failure.detail, detail);
    assert.equal(failure.isRetried, false);
  });
}

const malformed: readonly (readonly [what: string, source: string, message: string])[] = [
  ['no JSON', '<html>', 'gemini answered 200, but the reply is not a JSON object'],
  ['an empty body', '', 'gemini answered 200, but the reply is not a JSON object'],
  ['null', 'null', 'gemini answered 200, but the reply is not a JSON object'],
  ['an array of other things', '[1]', 'gemini answered 200, but the reply is not a JSON object'],
  ['an empty array', '[]', 'gemini answered 200, but the reply holds no candidate'],
  ['an empty object', '{}', 'gemini answered 200, but the reply holds no candidate'],
  ['no candidate and a block reason that is none', '{"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED"}}', 'gemini answered 200, but the reply holds no candidate'],
  ['an empty candidate', '{"candidates":[{}]}', 'gemini failed on its side (HTTP 200)'],
  ['a malformed function call and nothing else', '{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"prose"}]}', 'gemini failed on its side (HTTP 200, code MALFORMED_FUNCTION_CALL)'],
  ['a part that is no object', body([7]), 'gemini answered 200, but a part of the reply is not a JSON object'],
  ['a call without a name', body([{ functionCall: { args: {} } }]), 'gemini answered 200, but a function call has no name'],
  ['arguments that are no object', body([{ functionCall: { name: 'f', args: [] } }]), 'gemini answered 200, but the arguments of a function call are no object'],
];
for (const [what, source, message] of malformed) {
  test(`a reply of ${what} is a failure of the provider, to be retried`, () => {
    const failure = failedReply(source);
    assert.equal(failure.message, message);
    assert.equal(failure.kind, 'server');
    assert.equal(failure.isRetried, true);
    if (source.includes('"prose"')) assert.equal(failure.detail, 'prose');
  });
}

const tooDeep: readonly (readonly [what: string, source: string])[] = [
  ['arguments', body([{ functionCall: { name: 'f', args: JSON.parse('{"a":'.repeat(100) + '1' + '}'.repeat(100)) as unknown } }])],
  ['an array', `[${'['.repeat(200)}${']'.repeat(200)}]`],
];
for (const [what, source] of tooDeep) {
  test(`a reply of ${what} nested beyond the limit is refused by its name, not to be retried`, () => {
    const failure = failedReply(source);
    assert.equal(failure.message, "gemini answered 200, but its JSON has nesting beyond 100 levels, which is the gateway's limit");
    assert.equal(failure.kind, 'server');
    assert.equal(failure.isRetried, false);
  });
}

test('an array of partial replies is read as one reply', () => {
  const decoded = reply(`[${body([{ text: 'a' }], { finishReason: undefined })},${body([{ text: 'b' }])}]`);
  assert.equal(replyText(decoded), 'ab');
  assert.equal(decoded.stopReason, 'end_turn');
});

test('decodeChat never throws', () => {
  const random = randomFrom(3);
  const source = body([
    { text: 'a', thoughtSignature: 's' },
    { functionCall: { name: 'f', id: 'x', args: { a: 1 } } },
    { functionCall: { name: 'g', willContinue: true, partialArgs: [{ jsonPath: '$.a[0]', stringValue: 'x' }] } },
    { executableCode: { code: '' } },
  ]);
  let decoded = 0;
  for (let i = 0; i < 4000; i += 1) {
    const chars = [...source];
    for (let edit = 0; edit < 1 + random(3); edit += 1) chars.splice(random(chars.length), random(4), '{}[]",:0xn'[random(10)] as string);
    if (!(adapter.decodeChat(chars.join('')) instanceof Failure)) decoded += 1;
  }
  assert.ok(decoded > 0);
});
