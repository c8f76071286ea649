import { test } from 'node:test';
import assert from 'node:assert/strict';
import { RawJson } from '../../../src/base/json/value.ts';
import { isMadeCallId } from '../../../src/core/call-id.ts';
import { Failure } from '../../../src/core/failure.ts';
import type { FailureKind } from '../../../src/core/failure.ts';
import { good, result, user } from '../openai-chat/setup.ts';
import { bodyOf, contentOf, cutFor, fixture, functionCall, inputOf, message, reasoning, responses } from './setup.ts';

const replyOf = (output: unknown, fields: object = {}) => good(responses.decodeChat(bodyOf(output, fields)));
const failureOf = (body: string): Failure => {
  const failure = responses.decodeChat(body);
  assert.ok(failure instanceof Failure);
  return failure;
};
const stripped = (output: unknown, fields: object = {}) => replyOf(output, fields).parts.map(({ state, ...part }) => ({ ...part, state: contentOf(state) }));

test('a text comes with id, model, usage and the end of the turn', () => {
  assert.deepEqual(good(responses.decodeChat(fixture('text.json').toString())), {
    id: 'resp_1', model: 'gpt-5.4-2026', parts: [{ type: 'text', text: 'Grüße, 👋 world', state: undefined }], thinking: '', stopReason: 'end_turn',
    usage: { inputTokens: 9, outputTokens: 4, cacheReadTokens: 2, cacheWriteTokens: 0, reasoningTokens: 0 },
  });
});

test('items become parts in their order; reasoning travels with the part it led to', () => {
  const reply = good(responses.decodeChat(fixture('tools.json').toString()));
  assert.equal(reply.stopReason, 'tool_use');
  assert.equal(reply.thinking, 'Two look-ups.\n\nIn parallel.');
  assert.equal(reply.usage?.reasoningTokens, 12);
  assert.deepEqual(reply.parts.map((part) => (part.type === 'text' ? part.text : [part.id, part.name, part.arguments.text])), [
    'Let me see.',
    ['call_a', 'weather', '{"n":1.0,"big":12345678901234567890}'],
    ['call_b', 'time', '{}'],
  ]);
  assert.deepEqual(reply.parts.map(({ state }) => contentOf(state)), [
    {
      before: [{
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Two look-ups.' }, { type: 'summary_text', text: 'In parallel.' }],
        encrypted_content: 'sealed-1',
      }],
      phase: 'commentary',
    },
    undefined,
    { before: [{ type: 'reasoning', summary: [], encrypted_content: 'sealed-2' }] },
  ]);
});

test('a reply appended with its results goes back item for item', () => {
  const reply = good(responses.decodeChat(fixture('tools.json').toString()));
  const turns = [user('q'), { role: 'assistant' as const, parts: reply.parts }, result('call_a', '1'), result('call_b', '2')];
  const input = inputOf(turns, { model: 'gpt-6-sol' });
  assert.deepEqual(input.map((item) => (item as { type?: string; role?: string }).type ?? (item as { role: string }).role), [
    'user', 'reasoning', 'assistant', 'function_call', 'reasoning', 'function_call', 'function_call_output', 'function_call_output',
  ]);
  assert.deepEqual(input[2], { role: 'assistant', content: 'Let me see.', phase: 'commentary' });
});

test('items of server tools are carried as they are written, what follows the last part on an empty text', () => {
  const reply = good(responses.decodeChat(fixture('cut.json').toString()));
  assert.equal(reply.stopReason, 'max_tokens');
  assert.deepEqual(reply.parts.map((part) => (part.type === 'text' ? part.text : part)), ['The Loire.', '']);
  const content = Buffer.from(reply.parts[0]?.state?.split('.')[2] ?? '', 'base64url').toString();
  assert.ok(content.includes('{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"rivers"},"score":1.0}'), content);
  assert.deepEqual(contentOf(reply.parts[1]?.state), { before: [{ type: 'reasoning', summary: [], encrypted_content: 'sealed-2' }] });
  const items = inputOf([{ role: 'assistant', parts: reply.parts }, user('go on')], { model: 'gpt-6-sol' });
  assert.deepEqual(items.map((item) => (item as { type?: string }).type), ['reasoning', 'web_search_call', undefined, 'reasoning', undefined]);
});

test('an empty paragraph of sealed reasoning does not travel, since no state may hold one', () => {
  const summary = ['', 'a'].map((words) => ({ type: 'summary_text', text: words }));
  const { parts, thinking } = replyOf([{ type: 'reasoning', summary, encrypted_content: 'sealed' }, message('x')]);
  assert.equal(thinking, 'a');
  assert.deepEqual(inputOf([{ role: 'assistant', parts }, user('go on')], { model: 'gpt-6-sol' })[0], { type: 'reasoning', summary: [summary[1]], encrypted_content: 'sealed' });
});

test('reasoning without a seal is disclosed but does not travel', () => {
  assert.deepEqual(stripped([reasoning(null, 'why'), message('x')]), [{ type: 'text', text: 'x', state: undefined }]);
  assert.equal(replyOf([reasoning('', 'why'), message('x')]).thinking, 'why');
});

test('reasoning in its own words is disclosed, once also where a summary says it again', () => {
  const open = (fields: object): object => ({ type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'why' }, { type: 'reasoning_text', text: 'so' }], ...fields });
  assert.equal(replyOf([open({}), message('x')]).thinking, 'why\n\nso');
  assert.equal(replyOf([open({ summary: [{ type: 'summary_text', text: 'short' }] }), reasoning(null, 'more')]).thinking, 'why\n\nso\n\nmore');
});

test('what is no item is left out', () => {
  assert.deepEqual(stripped([null, 1, {}, [], { type: '' }, { type: 7 }, message('x')]), [{ type: 'text', text: 'x', state: undefined }]);
});

test('items of other vendors and of other years travel as they are written, in their place', () => {
  const program = { type: 'program', id: 'cm_1', call_id: 'call_p', code: 'await tools.a()', fingerprint: 'f' };
  const called = functionCall('a', '{}', { caller: { type: 'program', caller_id: 'call_p' } });
  const xSearch = { type: 'x_search_call', call_id: '', name: 'x_semantic_search', arguments: '{}', id: 'fc_1' };
  const shell = { type: 'shell_call', call_id: 's', action: {}, environment: { type: 'container_reference', container_id: 'c' } };
  assert.deepEqual(stripped([xSearch, { type: 'new thing', a: { b: [1] } }, message('x'), shell, program, called]), [
    { type: 'text', text: 'x', state: { before: [xSearch, { type: 'new thing', a: { b: [1] } }] } },
    { type: 'tool_call', id: 'a', name: 'weather', arguments: new RawJson('{}'), state: { before: [shell, program], program: 'call_p' } },
  ]);
});

test('a call of a custom tool is a call with its input as the one argument', () => {
  const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'math', input: '4 "+" 4', status: 'completed' };
  const reply = replyOf([reasoning('s'), custom]);
  assert.equal(reply.stopReason, 'tool_use');
  assert.deepEqual(stripped([custom]), [{ type: 'tool_call', id: 'c', name: 'math', arguments: new RawJson('{"input":"4 \\"+\\" 4"}'), state: { type: 'custom_tool_call' } }]);
  assert.deepEqual(inputOf([{ role: 'assistant', parts: reply.parts }, result('c', '8')], { model: 'gpt-6-sol' }).slice(1), [
    { type: 'custom_tool_call', call_id: 'c', name: 'math', input: '4 "+" 4' },
    { type: 'custom_tool_call_output', call_id: 'c', output: '8' },
  ]);
  assert.deepEqual(replyOf([message('x'), { ...custom, status: 'incomplete' }], cutFor('max_output_tokens')).parts.length, 1);
});

const FOR_CALLER: readonly { readonly type: string; readonly [field: string]: unknown }[] = [
  { type: 'local_shell_call', call_id: 'c', action: { type: 'exec', command: ['ls'] } },
  { type: 'shell_call', call_id: 'c', action: {}, environment: { type: 'local' } },
  { type: 'shell_call', call_id: 'c', action: {} },
  { type: 'apply_patch_call', call_id: 'c', operation: {} },
  { type: 'computer_call', call_id: 'c', action: {} },
  { type: 'mcp_approval_request', id: 'a', name: 'n', arguments: '{}', server_label: 's' },
  { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: {} },
];

for (const item of FOR_CALLER) {
  test(`the item ${JSON.stringify(item)} is no silent end but a failure with its name`, () => {
    const failure = failureOf(bodyOf([message('x'), item]));
    assert.deepEqual([failure.kind, failure.isRetried, failure.message], [
      'unsupported', false, `openai answered with a ${item.type}, which can be answered only in its own API`,
    ]);
  });
}

test('an answer that is promised for later is refused, and not asked for again', () => {
  for (const status of ['queued', 'in_progress']) {
    const failure = failureOf(bodyOf([], { status }));
    assert.deepEqual([failure.kind, failure.isRetried, failure.message], [
      'unsupported', false, `openai answered that it will answer later (status ${status}), which the gateway cannot wait for; leave out background`,
    ]);
  }
});

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test('a reply beyond the limits of JSON fails by the name of the limit, and loses no call', () => {
  const deepItem = `{"object":"response","status":"completed","output":[{"type":"mcp_call","output":${nested(101)}},${JSON.stringify(functionCall('a', '{}'))}]}`;
  const deepBody = `{"object":"response","pad":"${'x'.repeat(70_000)}","output":${nested(101)}}`;
  for (const body of [deepItem, deepBody, bodyOf([functionCall('a', `{"a":${nested(101)}}`)]), bodyOf([functionCall('a', 'x', { arguments: { a: JSON.parse(nested(101)) as unknown } })])]) {
    const failure = failureOf(body);
    assert.deepEqual([failure.kind, failure.isOwn, failure.isRetried, failure.message], [
      'server', true, false, "openai answered 200, but its JSON has nesting beyond 100 levels, which is the gateway's limit",
    ]);
  }
  assert.equal(failureOf(bodyOf([functionCall('a', '{"a":')])).isOwn, false);
});

test('arguments that come as an object are those arguments, digit for digit', () => {
  const body = '{"output":[{"type":"function_call","call_id":"a","name":"n","arguments":{"2":1.0,"1":12345678901234567890}}]}';
  assert.deepEqual(good(responses.decodeChat(body)).parts, [
    { type: 'tool_call', id: 'a', name: 'n', arguments: new RawJson('{"2":1.0,"1":12345678901234567890}'), state: undefined },
  ]);
  for (const args of [[], 1, true]) assert.equal(failureOf(bodyOf([functionCall('a', '', { arguments: args })])).kind, 'server');
});

test('calls are as many as there are', () => {
  const calls = Array.from({ length: 300 }, (_, at) => functionCall(`c${at}`, '{}'));
  assert.deepEqual(replyOf(calls).parts.map((part) => part.type === 'tool_call' && part.id), calls.map((_, at) => `c${at}`));
});

test('the pieces of a message are one text, messages are texts of their own', () => {
  const two = message('', { content: [{ type: 'output_text', text: 'a' }, { type: 'new_thing' }, { type: 'output_text', text: 'b' }] });
  assert.deepEqual(stripped([two, message('c', { phase: 'final_answer' }), message('')]), [
    { type: 'text', text: 'ab', state: undefined },
    { type: 'text', text: 'c', state: { phase: 'final_answer' } },
  ]);
});

test('a phase or namespace that could not go back is left out', () => {
  assert.deepEqual(stripped([message('x', { phase: 'two words' }), functionCall('a', '{}', { namespace: 7 })]).map(({ state }) => state), [undefined, undefined]);
  assert.deepEqual(stripped([functionCall('a', '{}', { namespace: 'mail' })]).map(({ state }) => state), [{ namespace: 'mail' }]);
});

test('an empty answer is a good answer', () => {
  assert.deepEqual([replyOf([]).parts, replyOf([]).stopReason, replyOf([message('')]).parts], [[], 'end_turn', []]);
});

test('a refusal is a text, and the reason for the stop', () => {
  const reply = good(responses.decodeChat(fixture('refused.json').toString()));
  assert.deepEqual(reply.parts, [{ type: 'text', text: 'I cannot help with that.', state: undefined }]);
  assert.equal(reply.stopReason, 'refusal');
});

test('status and details become the reason for the stop, a call before all', () => {
  const reasonOf = (output: unknown, fields: object = {}): string => replyOf(output, fields).stopReason;
  assert.equal(reasonOf([message('x')]), 'end_turn');
  assert.equal(reasonOf([message('x')], { status: undefined }), 'end_turn');
  assert.equal(reasonOf([message('x')], cutFor('max_output_tokens')), 'max_tokens');
  assert.equal(reasonOf([message('x')], cutFor('content_filter')), 'refusal');
  assert.equal(reasonOf([message('x')], cutFor('new_reason')), 'unknown');
  assert.equal(reasonOf([message('x')], { status: 'incomplete' }), 'unknown');
  assert.equal(reasonOf([functionCall('a', '{}')], cutFor('max_output_tokens')), 'tool_use');
});

test('an answer withheld whole is a refusal', () => {
  const failure = failureOf(bodyOf([], cutFor('content_filter')));
  assert.deepEqual([failure.kind, failure.message], ['refusal', 'openai declined the request (HTTP 200, code content_filter)']);
});

test('a call cut for length is no call, a broken one otherwise a failure', () => {
  const cut = [message('x'), functionCall('a', '{"n":', { status: 'incomplete' })];
  assert.deepEqual(replyOf(cut, cutFor('max_output_tokens')).parts, [{ type: 'text', text: 'x', state: undefined }]);
  assert.equal(replyOf(cut, cutFor('max_output_tokens')).stopReason, 'max_tokens');
  for (const args of ['{"n":', '[]', '1', 'x']) assert.equal(failureOf(bodyOf([functionCall('a', args)])).kind, 'server', args);
  assert.equal(failureOf(bodyOf([functionCall('a', '{}', { name: undefined })])).message, 'openai answered 200, but a function call has no name');
});

test('no arguments are an empty object; missing and doubled ids are made', () => {
  const calls = replyOf([functionCall('a', ''), functionCall('a', ' {} '), functionCall('', '{}'), functionCall('b', 'null'), functionCall('c', '{}', { arguments: undefined })]).parts;
  assert.ok(calls.every((part) => part.type === 'tool_call' && part.arguments.text === '{}'));
  assert.deepEqual(calls.map((part) => part.type === 'tool_call' && isMadeCallId(part.id)), [false, true, true, false, false]);
});

test('usage is what was reported, or none', () => {
  const usageOf = (usage: unknown) => replyOf([], { usage }).usage;
  assert.equal(usageOf(null), undefined);
  assert.equal(usageOf({ total_tokens: 3 }), undefined);
  assert.deepEqual(
    usageOf({ input_tokens: 10, input_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 }, output_tokens: 5, output_tokens_details: { reasoning_tokens: 9 } }),
    { inputTokens: 10, outputTokens: 5, cacheReadTokens: 4, cacheWriteTokens: 3, reasoningTokens: 5 },
  );
  assert.deepEqual(usageOf({ output_tokens: 5 }), { inputTokens: 0, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 });
});

test('id and model are left out where the host gives none', () => {
  const reply = good(responses.decodeChat('{"output":[]}'));
  assert.deepEqual([reply.id, reply.model, reply.stopReason], [undefined, undefined, 'end_turn']);
});

const FAILED: readonly (readonly [body: string, kind: FailureKind, isRetried: boolean])[] = [
  ['', 'server', true],
  ['[]', 'server', true],
  ['{"unexpected":["shape"]}', 'server', true],
  ['{"output":{}}', 'server', true],
  [bodyOf([], { status: 'cancelled' }), 'server', true],
  [bodyOf([], { status: 'failed' }), 'server', true],
  [bodyOf([], { status: 'failed', error: { code: 'server_error', message: 'x' } }), 'server', true],
  [bodyOf([], { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'x' } }), 'rate_limit', true],
  [bodyOf([], { status: 'failed', error: { code: 'insufficient_quota', message: 'x' } }), 'rate_limit', false],
  [bodyOf([], { status: 'failed', error: { code: 'invalid_prompt', message: 'x' } }), 'refusal', false],
  [bodyOf([], { status: 'failed', error: { code: 'bio_policy', message: 'x' } }), 'refusal', false],
  [bodyOf([], { status: 'failed', error: { code: 'image_content_policy_violation', message: 'x' } }), 'refusal', false],
  [bodyOf([], { status: 'failed', error: { code: 'failed_to_download_image', message: 'x' } }), 'bad_request', false],
  [bodyOf([], { status: 'failed', error: { code: 'invalid_image_url', message: 'x' } }), 'bad_request', false],
  ['{"error":{"message":"x","type":"invalid_request_error","code":null}}', 'bad_request', false],
];

for (const [body, kind, isRetried] of FAILED) {
  test(`the body ${body.slice(0, 160)} is a failure of kind ${kind}`, () => {
    const failure = failureOf(body);
    assert.deepEqual([failure.kind, failure.isRetried, failure.upstreamStatus], [kind, isRetried, 200]);
  });
}

test('no failure repeats what was generated', () => {
  assert.ok(!failureOf(bodyOf([functionCall('a', '{"secret words')])).message.includes('secret'));
});

test('a refusal to summarise reasoning says how to ask for none', () => {
  const error = { message: 'Your organization must be verified.', type: 'invalid_request_error', param: 'reasoning.summary', code: 'unsupported_value' };
  const failure = responses.decodeFailure(400, JSON.stringify({ error }));
  assert.equal(failure.kind, 'bad_request');
  assert.equal(
    failure.message,
    'openai refused the request as malformed (HTTP 400, code unsupported_value, parameter reasoning.summary): ' +
      'to think without telling, ask with provider_options {"reasoning":{"summary":null}}',
  );
});

test('models are listed as everywhere', () => {
  assert.equal(responses.encodeModels(undefined).path, '/models');
  assert.deepEqual(responses.decodeModels('{"data":[{"id":"gpt-6-sol"}]}'), {
    models: [
      { id: 'gpt-6-sol', displayName: undefined, contextWindow: undefined, inputTokensMax: undefined, outputTokensMax: undefined, input: undefined, deprecatedAt: undefined },
    ],
    nextCursor: undefined,
  });
});
