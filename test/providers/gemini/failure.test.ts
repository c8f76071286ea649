import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../src/core/failure.ts';
import type { FailureKind } from '../../../src/core/failure.ts';
import { adapter, failedReply, randomFrom, reply } from './fixtures.ts';

function errorBody(code: number, status: string, details: readonly unknown[] = [], message = 'prose'): string {
  return JSON.stringify({ error: { code, message, status, details } });
}

const rows: readonly (readonly [what: string, status: number, body: string, kind: FailureKind, isRetried: boolean, message: string])[] = [
  ['a bad key, which is answered 400', 400, errorBody(400, 'INVALID_ARGUMENT', [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]), 'auth', false, "gemini rejected the gateway's credential (HTTP 400, code INVALID_ARGUMENT)"],
  ['an expired key in an untyped detail', 400, errorBody(400, 'INVALID_ARGUMENT', [{ reason: 'API_KEY_EXPIRED' }]), 'auth', false, "gemini rejected the gateway's credential (HTTP 400, code INVALID_ARGUMENT)"],
  ['a region or billing precondition', 400, errorBody(400, 'FAILED_PRECONDITION'), 'auth', false, "gemini rejected the gateway's credential (HTTP 400, code FAILED_PRECONDITION)"],
  ['an invalid argument', 400, errorBody(400, 'INVALID_ARGUMENT'), 'bad_request', false, 'gemini refused the request as malformed (HTTP 400, code INVALID_ARGUMENT)'],
  ['an invalid argument that is named', 400, errorBody(400, 'INVALID_ARGUMENT', [{ fieldViolations: [{ field: 'contents[0].parts', description: 'x' }] }]), 'bad_request', false, 'gemini refused the request as malformed (HTTP 400, code INVALID_ARGUMENT, parameter contents[0].parts)'],
  ['an unauthenticated call', 401, errorBody(401, 'UNAUTHENTICATED'), 'auth', false, "gemini rejected the gateway's credential (HTTP 401, code UNAUTHENTICATED)"],
  ['a blocked key', 403, errorBody(403, 'PERMISSION_DENIED'), 'auth', false, "gemini rejected the gateway's credential (HTTP 403, code PERMISSION_DENIED)"],
  ["another's file", 403, errorBody(403, 'PERMISSION_DENIED', [], 'You do not have permission to access the File model-x or it may not exist.'), 'not_found', false, 'gemini does not have what the request refers to (HTTP 403, code PERMISSION_DENIED)'],
  ["another's cache", 403, errorBody(403, 'PERMISSION_DENIED', [], 'CachedContent not found (or permission denied)'), 'not_found', false, 'gemini does not have what the request refers to (HTTP 403, code PERMISSION_DENIED)'],
  ["another's cache on Vertex", 403, errorBody(403, 'PERMISSION_DENIED', [], "Permission 'aiplatform.cachedContents.get' denied on resource '//aiplatform.googleapis.com/projects/p/cachedContents/1' (or it may not exist)."), 'not_found', false, 'gemini does not have what the request refers to (HTTP 403, code PERMISSION_DENIED)'],
  ['an account that may not use caches', 403, errorBody(403, 'PERMISSION_DENIED', [], 'The caller does not have permission to use cached contents'), 'auth', false, "gemini rejected the gateway's credential (HTTP 403, code PERMISSION_DENIED)"],
  ['a model that the account may not have on Vertex', 403, errorBody(403, 'PERMISSION_DENIED', [], "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p/publishers/google/models/m' (or it may not exist)."), 'auth', false, "gemini rejected the gateway's credential (HTTP 403, code PERMISSION_DENIED)"],
  ['a file that is still being read', 400, errorBody(400, 'FAILED_PRECONDITION', [], 'The File abc is not in an ACTIVE state and usage is not allowed.'), 'not_found', false, 'gemini does not have what the request refers to (HTTP 400, code FAILED_PRECONDITION)'],
  ['depleted prepayment', 402, errorBody(402, 'RESOURCE_EXHAUSTED'), 'auth', false, "gemini rejected the gateway's credential (HTTP 402, code RESOURCE_EXHAUSTED)"],
  ['an unknown model', 404, errorBody(404, 'NOT_FOUND'), 'not_found', false, 'gemini knows no such model (HTTP 404, code NOT_FOUND)'],
  ['too large a request', 413, '<html>', 'bad_request', false, 'gemini refused the request as malformed (HTTP 413): the prompt is too long'],
  ['a rate limit', 429, errorBody(429, 'RESOURCE_EXHAUSTED'), 'rate_limit', true, 'gemini is limiting the rate of requests (HTTP 429, code RESOURCE_EXHAUSTED)'],
  ['a quota by the minute', 429, errorBody(429, 'RESOURCE_EXHAUSTED', [{ violations: [{ quotaId: 'GenerateRequestsPerMinutePerProject' }] }]), 'rate_limit', true, 'gemini is limiting the rate of requests (HTTP 429, code RESOURCE_EXHAUSTED)'],
  ['a quota by the day', 429, errorBody(429, 'RESOURCE_EXHAUSTED', [{ violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] }]), 'rate_limit', false, 'gemini is limiting the rate of requests (HTTP 429, code RESOURCE_EXHAUSTED)'],
  ['a cancelled call', 499, errorBody(499, 'CANCELLED'), 'unknown', false, 'gemini gave no usable answer (HTTP 499, code CANCELLED)'],
  ['an internal error', 500, errorBody(500, 'INTERNAL'), 'server', true, 'gemini failed on its side (HTTP 500, code INTERNAL)'],
  ['an overloaded model', 503, errorBody(503, 'UNAVAILABLE'), 'server', true, 'gemini failed on its side (HTTP 503, code UNAVAILABLE)'],
  ['an exceeded deadline', 504, errorBody(504, 'DEADLINE_EXCEEDED'), 'server', true, 'gemini failed on its side (HTTP 504, code DEADLINE_EXCEEDED)'],
  ['an error inside an array', 400, `[${errorBody(400, 'INVALID_ARGUMENT')}]`, 'bad_request', false, 'gemini refused the request as malformed (HTTP 400, code INVALID_ARGUMENT)'],
  ['an empty body', 502, '', 'server', true, 'gemini failed on its side (HTTP 502)'],
  ['a redirect', 302, '', 'server', true, 'gemini failed on its side (HTTP 302)'],
  ['an error that is a string', 400, '{"error":"prose"}', 'bad_request', false, 'gemini refused the request as malformed (HTTP 400)'],
  ['a code that is prose', 400, errorBody(400, 'see https://x.example'), 'bad_request', false, 'gemini refused the request as malformed (HTTP 400)'],
];
for (const [what, status, body, kind, isRetried, message] of rows) {
  test(`decodeFailure reads ${what} as ${kind}${isRetried ? ', to be retried' : ''}`, () => {
    const failure = adapter.decodeFailure(status, body);
    assert.deepEqual(
      { kind: failure.kind, isRetried: failure.isRetried, message: failure.message, upstreamStatus: failure.upstreamStatus },
      { kind, isRetried, message, upstreamStatus: status },
    );
  });
}

for (const [delay, ms] of [
  ['45.837906927s', 45_838],
  ['3s', 3000],
  ['0.0001s', undefined],
  ['0s', undefined],
  ['-1s', undefined],
  ['5m', undefined],
  ['99999999999999999999s', undefined],
] as const) {
  test(`decodeFailure reads the retry delay ${delay} as ${ms} ms`, () => {
    const details = [{ '@type': 'x' }, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: delay }];
    assert.equal(adapter.decodeFailure(429, errorBody(429, 'RESOURCE_EXHAUSTED', details)).retryAfterMs, ms);
  });
}

test("decodeFailure keeps the provider's prose for the operator only", () => {
  const failure = adapter.decodeFailure(400, errorBody(400, 'INVALID_ARGUMENT', [], 'your prompt was: secret'));
  assert.equal(failure.detail, 'your prompt was: secret');
  assert.doesNotMatch(failure.message, /secret/);
});

test('decodeFailure tells a path that a server does not have from a model that it does not have', () => {
  for (const body of ['<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>', '404 page not found\n', '{"detail":"Not Found"}', '']) {
    assert.equal(adapter.decodeFailure(404, body).message, 'gemini knows no such model (HTTP 404): or its base URL is wrong', body);
  }
  assert.match(adapter.decodeFailure(405, '{"detail":"Method Not Allowed"}').message, /HTTP 405\): or its base URL is wrong$/);
  for (const body of [errorBody(404, 'NOT_FOUND', [], ''), errorBody(404, 'NOT_FOUND', [], 'Not Found'), '{"error":{"message":"gone"}}', '{"complaint":"gone"}']) {
    assert.doesNotMatch(adapter.decodeFailure(404, body).message, /base URL/, body);
  }
});

test('decodeFailure keeps a body that is not JSON as the detail', () => {
  assert.equal(adapter.decodeFailure(502, '<h1>Bad Gateway</h1>').detail, '<h1>Bad Gateway</h1>');
});

for (const [what, error, kind, isRetried] of [
  ['code', { code: 503, message: 'busy' }, 'server', true],
  ['code alone', { code: 429 }, 'rate_limit', true],
  ['the lowest code', { code: 400 }, 'bad_request', false],
  ['status alone', { status: 'PERMISSION_DENIED' }, 'auth', false],
  ['a status over a gRPC number', { code: 8, status: 'RESOURCE_EXHAUSTED' }, 'rate_limit', true],
  ['an unknown status', { status: 'SOMETHING_NEW' }, 'server', true],
  ['a cancelled status', { status: 'CANCELLED' }, 'unknown', false],
  ['an invalid argument', { status: 'INVALID_ARGUMENT' }, 'bad_request', false],
  ['an argument out of range', { status: 'OUT_OF_RANGE' }, 'bad_request', false],
  ['a precondition', { status: 'FAILED_PRECONDITION' }, 'auth', false],
  ['a key that is missing', { status: 'UNAUTHENTICATED' }, 'auth', false],
  ['what is not found', { status: 'NOT_FOUND' }, 'not_found', false],
  ['nothing', {}, 'server', true],
  ['a string', 'prose', 'server', true],
] as const) {
  test(`an error inside a 200 is classified by ${what}: ${kind}`, () => {
    const failure = failedReply(JSON.stringify({ error }));
    assert.equal(failure.kind, kind);
    assert.equal(failure.isRetried, isRetried);
    assert.equal(failure.upstreamStatus, 200);
  });
}

test('a model that is overloaded is known for one, by its status or inside a 200', () => {
  assert.equal(adapter.decodeFailure(503, '').isOverloaded, true);
  assert.equal(failedReply('{"error":{"status":"UNAVAILABLE"}}').isOverloaded, true);
  assert.equal(failedReply('{"error":{"status":"INTERNAL"}}').isOverloaded, false);
});

test('only a request that is refused as malformed is too long', () => {
  const words = 'The input token count (9) exceeds the maximum number of tokens allowed (8).';
  assert.equal(adapter.decodeFailure(400, errorBody(400, 'INVALID_ARGUMENT', [], words)).isTooLong, true);
  assert.equal(adapter.decodeFailure(500, errorBody(500, 'INTERNAL', [], words)).isTooLong, false);
});

test('an error that is a text keeps its words for the operator, and an empty one is none', () => {
  assert.equal(failedReply('{"error":"out of order"}').detail, 'out of order');
  assert.equal(adapter.decodeFailure(500, '{"error":"out of order"}').detail, 'out of order');
  assert.equal(adapter.decodeFailure(500, '{"error":""}').detail, '{"error":""}');
  assert.equal(reply('{"error":"","candidates":[{"finishReason":"STOP","content":{"parts":[{"text":"Hi"}]}}]}').stopReason, 'end_turn');
});

test('decodeFailure never throws', () => {
  const random = randomFrom(2);
  const source = errorBody(429, 'RESOURCE_EXHAUSTED', [{ retryDelay: '1.5s' }, { violations: [{ quotaId: 'PerDay' }] }, { fieldViolations: [{ field: 'a' }] }]);
  for (let i = 0; i < 4000; i += 1) {
    const chars = [...source];
    for (let edit = 0; edit < 1 + random(4); edit += 1) chars.splice(random(chars.length), random(6), String.fromCharCode(random(128)));
    const failure = adapter.decodeFailure(300 + random(300), chars.join(''));
    assert.ok(failure instanceof Failure);
    assert.match(failure.message, /^gemini [\x20-\x7e]+$/);
  }
});
