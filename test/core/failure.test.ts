import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChatReply } from '../../src/core/chat.ts';
import { FAILURE_KINDS, Failure, kindFromStatus, malformedReply, truncatedStream, upstreamFailure } from '../../src/core/failure.ts';
import type { FailureKind } from '../../src/core/failure.ts';

const kinds: Readonly<Record<FailureKind, readonly [status: number, isRetried: boolean]>> = {
  auth: [502, false],
  rate_limit: [429, true],
  not_found: [404, false],
  bad_request: [400, false],
  unsupported: [400, false],
  refusal: [422, false],
  server: [502, true],
  unknown: [502, true],
};

for (const kind of Object.keys(kinds) as FailureKind[]) {
  const [status, isRetried] = kinds[kind];
  test(`Failure ${kind} answers ${status} and is ${isRetried ? '' : 'not '}retried`, () => {
    assert.deepEqual({ ...new Failure(kind, 'sentence') }, {
      kind, message: 'sentence', status, isRetried, retriesMax: undefined, retryAfterMs: undefined, upstreamStatus: 0, detail: undefined, limit: undefined, isOwn: false, quotes: [],
      code: undefined, isAtProxy: false, isTooLong: false, isQuota: false, isOverloaded: false, isReference: false, isUnmet: false, errorCode: undefined,
      reply: undefined,
    });
  });
}

test('FAILURE_KINDS has a meaning for each kind and no other kind', () => {
  assert.deepEqual(Object.keys(FAILURE_KINDS), Object.keys(kinds));
  for (const row of Object.values(FAILURE_KINDS)) assert.match(row.meaning, /^[A-Z].*\.$/);
});

test('Failure takes what its fields say over what its kind says', () => {
  const reply: ChatReply = { id: 'r', model: 'm', parts: [], thinking: 'hm', stopReason: 'refusal', usage: undefined };
  const fields = { reply, status: 401, isRetried: true, retriesMax: 2, retryAfterMs: 5, upstreamStatus: 403, detail: 'prose', limit: 'GATEWAY_X', quotes: ['code'], isOwn: true, code: 'ECODE', isAtProxy: true, isTooLong: true, isQuota: true, isOverloaded: true, isReference: true, isUnmet: true, errorCode: 'lost' };
  assert.deepEqual({ ...new Failure('auth', 'sentence', fields) }, { kind: 'auth', message: 'sentence', ...fields });
});

test('Failure is a value, not an error', () => {
  assert.equal(new Failure('auth', 'sentence') instanceof Error, false);
});

const byStatus: readonly (readonly [kind: FailureKind, statuses: readonly number[]])[] = [
  ['auth', [401, 402, 403, 407]],
  ['not_found', [404]],
  ['rate_limit', [429]],
  ['server', [100, 204, 301, 302, 307, 399, 408, 409, 500, 501, 502, 503, 504, 529, 599]],
  ['bad_request', [400, 405, 410, 413, 415, 422, 428, 431, 451, 499]],
];

for (const [kind, statuses] of byStatus) {
  test(`kindFromStatus is ${kind} for ${statuses.join(', ')}`, () => {
    for (const status of statuses) assert.equal(kindFromStatus(status), kind);
  });
}

test('upstreamFailure says what happened, with status, code and parameter', () => {
  const failure = upstreamFailure({ provider: 'groq', status: 400, kind: 'bad_request', code: 'context_length_exceeded', param: 'messages[0].x-y' });
  assert.equal(failure.message, 'groq refused the request as malformed (HTTP 400, code context_length_exceeded, parameter messages[0].x-y)');
  assert.equal(failure.upstreamStatus, 400);
});

const phrases: Readonly<Record<FailureKind, string>> = {
  auth: "p rejected the gateway's credential (HTTP 418)",
  rate_limit: 'p is limiting the rate of requests (HTTP 418)',
  not_found: 'p knows no such model (HTTP 418)',
  bad_request: 'p refused the request as malformed (HTTP 418)',
  unsupported: 'p cannot express part of the request (HTTP 418)',
  refusal: 'p declined the request (HTTP 418)',
  server: 'p failed on its side (HTTP 418)',
  unknown: 'p gave no usable answer (HTTP 418)',
};

for (const kind of Object.keys(phrases) as FailureKind[]) {
  test(`upstreamFailure has a sentence for ${kind}`, () => {
    assert.equal(upstreamFailure({ provider: 'p', status: 418, kind }).message, phrases[kind]);
  });
}

for (const word of ['', 'two words', 'sk-1\n', 'é', 'x'.repeat(65), '<b>', '"quoted"', 'a/b']) {
  test(`upstreamFailure does not repeat the code or parameter ${JSON.stringify(word.slice(0, 20))}`, () => {
    const failure = upstreamFailure({ provider: 'p', status: 500, kind: 'server', code: word, param: word });
    assert.equal(failure.message, 'p failed on its side (HTTP 500)');
  });
}

test('upstreamFailure repeats a code of 64 characters', () => {
  const code = 'x'.repeat(64);
  assert.equal(upstreamFailure({ provider: 'p', status: 500, kind: 'server', code }).message, `p failed on its side (HTTP 500, code ${code})`);
});

test('upstreamFailure ends in the hint', () => {
  const failure = upstreamFailure({ provider: 'p', status: 404, kind: 'not_found', hint: 'see /v1/models' });
  assert.equal(failure.message, 'p knows no such model (HTTP 404): see /v1/models');
});

test("upstreamFailure keeps the provider's prose out of the sentence", () => {
  const failure = upstreamFailure({ provider: 'p', status: 500, kind: 'server', detail: 'your prompt was …' });
  assert.equal(failure.message, 'p failed on its side (HTTP 500)');
  assert.equal(failure.detail, 'your prompt was …');
});

const references: readonly (readonly [what: string, isReference: boolean, kind: FailureKind, status: number, detail: string, param?: string])[] = [
  ['an unknown model', false, 'not_found', 404, 'The model `file-model` does not exist or you do not have access to it.'],
  ['an unknown model by its parameter', false, 'not_found', 404, 'unknown', 'model'],
  ['a file', true, 'not_found', 404, 'No such File object: file-1'],
  ["a tool's model", true, 'not_found', 404, 'The model `x` does not exist.', 'tools[0].model'],
  ["a message's file", true, 'not_found', 404, 'model.pdf: no such thing', 'messages.0.content.1.source.file_id'],
  ['a key without a right', false, 'auth', 403, 'You have insufficient permissions for this operation. Missing scopes: api.responses.write'],
  ['a server that lost its files', false, 'server', 500, 'file not found'],
];

test('upstreamFailure tells what a request refers to from its model', () => {
  for (const [what, isReference, kind, status, detail, param] of references) {
    const failure = upstreamFailure({ provider: 'p', status, kind, detail, param });
    assert.equal(failure.isReference, isReference, what);
    assert.equal(failure.message.startsWith('p does not have what the request refers to (HTTP 404'), isReference, what);
  }
  assert.equal(upstreamFailure({ provider: 'p', status: 403, kind: 'not_found', detail: 'the model', isReference: true }).isReference, true);
});

test('upstreamFailure takes over the wait and the rule for retries', () => {
  const failure = upstreamFailure({ provider: 'p', status: 429, kind: 'rate_limit', retryAfterMs: 1500, isRetried: false });
  assert.equal(failure.retryAfterMs, 1500);
  assert.equal(failure.isRetried, false);
  assert.equal(upstreamFailure({ provider: 'p', status: 429, kind: 'rate_limit' }).isRetried, true);
});

test('malformedReply is a failure of the server that says what was wrong and quotes nothing', () => {
  const failure = malformedReply('p', 200, 'the body is not JSON');
  assert.deepEqual(
    [failure.kind, failure.message, failure.upstreamStatus, failure.detail],
    ['server', 'p answered 200, but the body is not JSON', 200, undefined],
  );
});

test('truncatedStream is a failure of the server', () => {
  const failure = truncatedStream('p');
  assert.deepEqual([failure.kind, failure.message], ['server', 'p ended the stream before the answer was complete']);
});

test('Failure.with keeps everything but what it is given', () => {
  const failure = new Failure('server', 'sentence', {
    status: 503, isRetried: false, retriesMax: 2, retryAfterMs: 5, upstreamStatus: 500, detail: 'prose', limit: 'GATEWAY_X', quotes: ['code'], isOwn: true,
  });
  assert.deepEqual({ ...failure.with({}) }, { ...failure });
  assert.deepEqual({ ...failure.with({ message: 'other', retryAfterMs: 7 }) }, { ...failure, message: 'other', retryAfterMs: 7 });
});

test("Failure of the gateway's own doing is not retried, whatever its kind", () => {
  assert.equal(new Failure('server', 'sentence', { isOwn: true }).isRetried, false);
});

test('what a provider does not have is the model, unless it speaks of something that the request names', () => {
  const isReference = (detail: string | undefined): boolean => upstreamFailure({ provider: 'openai', status: 404, kind: 'not_found', detail }).isReference;
  for (const detail of [
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", 'No such File object: file-1', 'File not found: file_1', "Previous response with id 'resp_1' not found.",
    "Prompt with id 'pmpt_1' not found.",
  ]) assert.equal(isReference(detail), true, detail);
  const gone = upstreamFailure({ provider: 'openai', status: 404, kind: 'not_found', detail: 'No such File object: file-1' });
  assert.equal(gone.message, 'openai does not have what the request refers to (HTTP 404)');
  for (const detail of [
    'The model `gpt-9` does not exist or you do not have access to it.', 'model: claude-9', 'models/gemini-9 is not found for API version v1beta', '404 page not found', undefined,
    'The API deployment for this resource does not exist.',
  ]) assert.equal(isReference(detail), false, String(detail));
  assert.equal(upstreamFailure({ provider: 'openai', status: 400, kind: 'bad_request', detail: 'no such file' }).isReference, false);
});
