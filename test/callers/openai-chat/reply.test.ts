import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderJson } from '../../../src/base/json/render.ts';
import { RawJson } from '../../../src/base/json/value.ts';
import { OPENAI_CHAT } from '../../../src/callers/openai-chat/dialect.ts';
import { encodeCompletion } from '../../../src/callers/openai-chat/reply.ts';
import type { ChatReply, ToolCallPart } from '../../../src/core/chat.ts';
import { FAILURE_KINDS, Failure, upstreamFailure } from '../../../src/core/failure.ts';
import type { FailureKind } from '../../../src/core/failure.ts';
import { BARE_REPLY, FACTS } from '../dialect-testing.ts';

const CALL: ToolCallPart = { type: 'tool_call', id: 'call_1', name: 'weather', arguments: new RawJson('{"days":1.0,\n"id":12345678901234567890}'), state: undefined };

type Choice = { readonly message: Readonly<Record<string, unknown>>; readonly finish_reason: string };

function choiceOf(reply: Partial<ChatReply>): Choice {
  const { choices } = JSON.parse(renderJson(encodeCompletion({ ...BARE_REPLY, ...reply }, FACTS))) as { choices: readonly [Choice] };
  return choices[0];
}

test('a full reply has every field of the Chat Completions form', () => {
  const reply: ChatReply = {
    id: 'chatcmpl-upstream',
    model: 'served',
    parts: [
      { type: 'text', text: 'Hel"', state: 'a.acme.AA' },
      { type: 'text', text: 'lo', state: undefined },
      { ...CALL, state: 'a.acme.BB' },
      { ...CALL, id: 'call_2', arguments: new RawJson('{}') },
    ],
    thinking: 'Hm.',
    stopReason: 'tool_use',
    usage: { inputTokens: 10, outputTokens: 20, cacheReadTokens: 3, cacheWriteTokens: 4, reasoningTokens: 5 },
  };
  assert.equal(
    renderJson(encodeCompletion(reply, FACTS)),
    '{"id":"chatcmpl-upstream","object":"chat.completion","created":1795257683,"model":"served","choices":[{"index":0,"message":' +
      '{"role":"assistant","content":"Hel\\"lo","refusal":null,"reasoning_content":"Hm.","tool_calls":[' +
      '{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\\"days\\":1.0,\\n\\"id\\":12345678901234567890}"},' +
      '"extra_content":{"google":{"thought_signature":"gateway:own=a.acme.BB,text=a.acme.AA"}}},' +
      '{"id":"call_2","type":"function","function":{"name":"weather","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],' +
      '"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}}',
  );
});

test('a reply that says nothing has an empty text, and no usage that nobody reported', () => {
  assert.equal(
    renderJson(encodeCompletion(BARE_REPLY, FACTS)),
    '{"id":"chatcmpl-a1","object":"chat.completion","created":1795257683,"model":"asked-model","choices":[{"index":0,' +
      '"message":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":"stop"}]}',
  );
});

test('an id of another format is not shown', () => {
  assert.match(renderJson(encodeCompletion({ ...BARE_REPLY, id: 'msg_1' }, FACTS)), /^\{"id":"chatcmpl-a1",/);
});

test('calls without a text have null as content', () => {
  assert.equal(choiceOf({ parts: [CALL] }).message['content'], null);
});

test('each stop reason has its finish_reason', () => {
  const parts = [{ type: 'text', text: 'A', state: undefined }] as const;
  const expected: Readonly<Record<ChatReply['stopReason'], string>> = {
    end_turn: 'stop',
    max_tokens: 'length',
    tool_use: 'tool_calls',
    stop_sequence: 'stop',
    refusal: 'content_filter',
    unknown: 'stop',
  };
  for (const [stopReason, finish] of Object.entries(expected)) {
    assert.equal(choiceOf({ parts, stopReason: stopReason as ChatReply['stopReason'] }).finish_reason, finish);
  }
});

test('a refusal without a word is an answer with a refusal, also beside a state', () => {
  for (const parts of [[], [{ type: 'text', text: '', state: 'a.acme.AA' }] as const]) {
    const { message, finish_reason } = choiceOf({ stopReason: 'refusal', parts });
    assert.deepEqual([message['content'], message['refusal'], finish_reason], [null, 'The request was declined.', 'stop']);
  }
});

test('states of texts ride on the message where there is no call', () => {
  const parts = [{ type: 'text', text: 'A', state: 'a.acme.AA' }, { type: 'text', text: '', state: 'a.acme.BB' }] as const;
  assert.deepEqual(choiceOf({ parts }).message['extra_content'], { google: { thought_signature: 'gateway:text=a.acme.AA,empty=a.acme.BB' } });
});

test('each kind of failure has its type and code', () => {
  const expected: Readonly<Record<FailureKind, readonly [string, string | null]>> = {
    auth: ['api_error', 'provider_auth'],
    rate_limit: ['rate_limit_error', 'rate_limit_exceeded'],
    not_found: ['invalid_request_error', 'model_not_found'],
    bad_request: ['invalid_request_error', null],
    unsupported: ['invalid_request_error', 'unsupported'],
    refusal: ['invalid_request_error', 'refusal'],
    server: ['api_error', 'provider_error'],
    unknown: ['api_error', 'provider_unreachable'],
  };
  for (const kind of Object.keys(FAILURE_KINDS) as FailureKind[]) {
    const { body } = OPENAI_CHAT.renderFailure(new Failure(kind, 'No.'), 'r1');
    assert.deepEqual(JSON.parse(body), { error: { message: 'No.', type: expected[kind][0], param: null, code: expected[kind][1] } });
  }
  assert.match(OPENAI_CHAT.renderFailure(new Failure('auth', 'No.', { status: 401 }), 'r1').body, /"type":"authentication_error","param":null,"code":"invalid_api_key"/);
});

test('only what the gateway refuses for want of room is worth another try of an SDK', () => {
  const headersOf = (failure: Failure): unknown => OPENAI_CHAT.renderFailure(failure, 'r1').headers;
  assert.deepEqual(headersOf(new Failure('rate_limit', 'Full.')), {});
  assert.deepEqual(headersOf(new Failure('server', 'Draining.', { status: 503 })), {});
  for (const failure of [upstreamFailure({ provider: 'acme', status: 429, kind: 'rate_limit' }), new Failure('server', 'No.'), new Failure('unknown', 'No.')]) {
    assert.deepEqual(headersOf(failure), { 'x-should-retry': 'false' });
  }
});
