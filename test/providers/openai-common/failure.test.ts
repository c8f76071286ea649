import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Failure } from '../../../src/core/failure.ts';
import type { FailureKind } from '../../../src/core/failure.ts';
import { adapterOf } from '../openai-chat/setup.ts';

const openai = adapterOf('openai');
const failureOf = (status: number, body: unknown): Failure =>
  openai.decodeFailure(status, typeof body === 'string' ? body : JSON.stringify(body));
const error = (fields: object): object => ({ error: { message: 'prose', type: 'invalid_request_error', param: null, code: null, ...fields } });

const TABLE: readonly (readonly [status: number, body: unknown, kind: FailureKind, isRetried: boolean])[] = [
  [400, error({ code: 'context_length_exceeded', param: 'messages' }), 'bad_request', false],
  [400, error({ code: 'unsupported_parameter' }), 'bad_request', false],
  [400, error({ code: 'unsupported_value', message: "'x' does not support 'system' with this model." }), 'bad_request', false],
  [400, error({ code: 'unsupported_value', message: 'Function tools with reasoning_effort are not supported for gpt-5.6-sol' }), 'unsupported', false],
  [400, error({ message: 'Web search options not supported with this model.' }), 'unsupported', false],
  [400, error({ message: 'This model does not support image input.' }), 'unsupported', false],
  [400, error({ code: 'content_policy_violation' }), 'refusal', false],
  [400, error({ code: 'invalid_prompt' }), 'refusal', false],
  [400, error({ code: 'cyber_policy' }), 'refusal', false],
  [400, error({ misalignment: { category: 'x' } }), 'refusal', false],
  [400, error({ code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } }), 'refusal', false],
  [400, error({ code: 'x', innererror: { code: 'ResponsibleAIPolicyViolation' } }), 'refusal', false],
  [400, error({ code: 'tool_use_failed', failed_generation: '{' }), 'server', true],
  [400, error({ code: 'json_validate_failed', failed_generation: '{' }), 'server', true],
  [400, { code: 'invalid-argument', error: 'Incorrect API key provided: ab***' }, 'auth', false],
  [400, { code: 'invalid-argument', error: 'Bad stop' }, 'bad_request', false],
  // A field of the caller's own, repeated.
  [400, error({ message: 'Unrecognized request argument supplied: invalid api key' }), 'bad_request', false],
  [400, error({ code: 'data_inspection_failed', type: 'data_inspection_failed' }), 'refusal', false],
  [400, error({ code: 'Arrearage', type: 'Arrearage' }), 'auth', false],
  [401, error({ code: 'invalid_api_key' }), 'auth', false],
  [401, { detail: 'Invalid API Key' }, 'auth', false],
  [402, error({}), 'auth', false],
  [403, error({ code: 'unsupported_country_region_territory' }), 'auth', false],
  [403, error({ code: 'model_not_found' }), 'not_found', false],
  [403, { error: { code: 403, message: 'flagged', metadata: { reasons: ['violence'] } } }, 'refusal', false],
  [403, error({ message: 'inputs tokens + max_new_tokens must be <= 4097' }), 'bad_request', false],
  [404, error({ code: 'model_not_found' }), 'not_found', false],
  [404, { error: { code: 'DeploymentNotFound', message: 'x' } }, 'not_found', false],
  [404, { error: { code: 404, message: 'No endpoints found for vendor/model.' } }, 'not_found', false],
  [404, { error: { code: 404, message: 'No endpoints found that support tool use. Try disabling "f".' } }, 'unsupported', false],
  [404, { error: { code: 404, message: 'No endpoints found that can handle the requested parameters.' } }, 'unsupported', false],
  [408, '', 'server', true],
  [409, '', 'server', true],
  [413, error({ code: 'rate_limit_exceeded', type: 'tokens' }), 'bad_request', false],
  [422, { detail: [{ loc: ['body'], msg: 'field required' }, 1] }, 'bad_request', false],
  [424, error({}), 'bad_request', false],
  [429, error({ code: 'rate_limit_exceeded', type: 'requests' }), 'rate_limit', true],
  [429, error({ code: 'rate_limit_exceeded', type: 'tokens', message: 'Request too large for gpt-4o on tokens per min (TPM)' }), 'rate_limit', false],
  [429, error({ type: 'insufficient_quota', code: 'insufficient_quota' }), 'rate_limit', false],
  [429, error({ type: 'insufficient_quota' }), 'rate_limit', false],
  [429, error({ code: 'project_spend_limit_exceeded' }), 'rate_limit', false],
  [429, error({ code: 'billing_not_active', type: 'billing_not_active' }), 'rate_limit', false],
  [429, { error: { message: 'Your account is suspended', type: 'exceeded_current_quota_error' } }, 'rate_limit', false],
  [500, { type: 'error', error: { type: 'insufficient_balance_error', message: 'insufficient balance (1008)' } }, 'rate_limit', false],
  [429, { error: { code: '1113', message: 'Insufficient balance or no resource package.' } }, 'rate_limit', false],
  [429, { error: { code: '1308', message: 'Usage limit reached for 5 hour.' } }, 'rate_limit', false],
  [429, { error: { code: '1302', message: 'High concurrency usage of this API' } }, 'rate_limit', true],
  [400, { error: { code: '1113', message: 'x' } }, 'bad_request', false],
  [498, error({ code: 'capacity_exceeded' }), 'rate_limit', true],
  [500, error({ type: 'server_error' }), 'server', true],
  [503, error({ code: 'slow_down' }), 'server', true],
  [502, '<html>Bad gateway</html>', 'server', true],
  [302, '', 'server', true],
  [400, [{ error: { code: 400, message: 'x' } }], 'bad_request', false],
  [400, { object: 'error', message: 'x', type: 'BadRequestError', param: null, code: 400 }, 'bad_request', false],
  [400, 'null', 'bad_request', false],
];

test('a failure has the kind and the retry of its code, else of its status', () => {
  for (const [status, body, kind, isRetried] of TABLE) {
    const failure = failureOf(status, body);
    assert.equal(failure.kind, kind, JSON.stringify([status, body]));
    assert.equal(failure.isRetried, isRetried, JSON.stringify([status, body]));
    assert.equal(failure.upstreamStatus, status);
  }
});

test('a host with more work than it has room for is known by its code, and a request that is too long by its status, code or type', () => {
  for (const code of ['server_is_overloaded', 'service_unavailable', 503, '529']) assert.equal(failureOf(500, error({ code })).isOverloaded, true, String(code));
  assert.equal(failureOf(503, error({ code: 'slow_down' })).isOverloaded, false);
  for (const [status, fields] of [[413, {}], [400, { code: 'context_length_exceeded' }], [400, { code: 'too_many_prompt_tokens' }], [400, { code: 400, type: 'exceed_context_size_error' }]] as const) {
    assert.equal(failureOf(status, error(fields)).isTooLong, true, JSON.stringify(fields));
  }
  assert.equal(failureOf(500, error({ message: 'This model has a context length of 8 tokens.' })).isTooLong, false);
});

test('what no waiting brings back is told by its code from a rate, whatever status it comes with', () => {
  for (const code of [
    'insufficient_quota', 'credit_balance_exhausted', 'organization_spend_limit_exceeded', 'project_spend_limit_exceeded', 'organization_usage_limit_exceeded',
    'billing_hard_limit_reached', 'billing_not_active', 'exceeded_current_quota_error', 'insufficient_balance_error',
  ]) {
    for (const failure of [failureOf(429, error({ code })), failureOf(400, error({ type: code }))]) assert.deepEqual([failure.kind, failure.isRetried, failure.isQuota], ['rate_limit', false, true], code);
  }
  for (const code of ['1113', '1308', '1309', '1310']) assert.deepEqual([failureOf(429, error({ code })).isQuota, failureOf(400, error({ code })).isQuota], [true, false], code);
});

test('an answer that the model did not manage is known from a provider that fails', () => {
  for (const code of ['tool_use_failed', 'json_validate_failed']) assert.equal(failureOf(400, error({ code })).isUnmet, true, code);
  for (const code of ['slow_down', 'model_not_found']) assert.equal(failureOf(500, error({ code })).isUnmet, false, code);
});

test('a path that a server does not have is told from a model that it does not have', () => {
  for (const body of ['404 page not found\n', { detail: 'Not Found' }, '<html>404</html>', '']) {
    const failure = failureOf(404, body);
    assert.deepEqual([failure.kind, failure.message], ['not_found', 'openai knows no such model (HTTP 404): or its base URL is wrong, e.g. without /v1']);
  }
  const inside = openai.decodeChat('{"error":"Unexpected endpoint or method. (POST /chat/completions)"}');
  assert.ok(inside instanceof Failure);
  assert.deepEqual([inside.kind, inside.message], ['not_found', 'openai knows no such model (HTTP 200): or its base URL is wrong, e.g. without /v1']);
  assert.match(failureOf(404, { error: { code: '404', message: 'Resource not found' } }).message, /code 404\): or its base URL is wrong/);
  assert.doesNotMatch(failureOf(404, { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } }).message, /base URL/);
  assert.match(failureOf(405, { detail: 'Method Not Allowed' }).message, /HTTP 405\): or its base URL is wrong/);
  for (const body of [error({ code: 'model_not_found', message: '' }), { error: { message: 'model "x" not found, try pulling it first' } }]) {
    assert.doesNotMatch(failureOf(404, body).message, /base URL/);
  }
});

test('the sentence names status, code and parameter, the prose is detail', () => {
  const failure = failureOf(400, error({ code: 'context_length_exceeded', param: 'messages' }));
  assert.equal(failure.message, 'openai refused the request as malformed (HTTP 400, code context_length_exceeded, parameter messages): the prompt is too long');
  assert.equal(failure.detail, 'prose');
});

test('a numeric code is shown, a type stands in for a missing code, prose as a code is not shown', () => {
  assert.match(failureOf(429, { error: { code: 429, message: 'x' } }).message, /\(HTTP 429, code 429\)$/);
  assert.match(failureOf(500, error({ type: 'server_error' })).message, /\(HTTP 500, code server_error\)$/);
  assert.match(failureOf(500, { code: 'The service is busy', error: 'x' }).message, /\(HTTP 500\)$/);
});

test('a body whose words stand where nobody else writes them is the detail, and says nothing of the kind', () => {
  for (const body of [{ errors: [{ message: 'X is not supported' }] }, { detail: { reason: 'X' } }, { error: {}, message: 'X' }, { error: { message: ['X'] } }, { msg: 'X' }]) {
    const failure = failureOf(400, body);
    assert.deepEqual([failure.kind, failure.detail], ['bad_request', JSON.stringify(body)]);
  }
});

test('every shape of a message becomes the detail', () => {
  assert.equal(failureOf(400, { error: 'a string' }).detail, 'a string');
  assert.equal(failureOf(401, { detail: 'a detail' }).detail, 'a detail');
  assert.equal(failureOf(422, { detail: [{ msg: 'one' }, { msg: 'two' }] }).detail, 'one; two');
  assert.equal(failureOf(400, { message: 'flat' }).detail, 'flat');
  assert.equal(failureOf(502, '<html>').detail, '<html>');
});

test('a body that is not JSON gives a bounded detail', () => {
  assert.equal(failureOf(502, 'x'.repeat(100_000)).detail?.length, 2000);
});

test('tools refused beside reasoning are unsupported, with advice', () => {
  const message = 'Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to \'none\'.';
  const failure = failureOf(400, error({ message, param: 'reasoning_effort' }));
  assert.equal(failure.kind, 'unsupported');
  assert.equal(
    failure.message,
    'openai cannot express part of the request (HTTP 400, code invalid_request_error, parameter reasoning_effort): on this endpoint the model takes tools only with thinking off',
  );
});

test('an answer that does not match its schema is tried for once more', () => {
  assert.equal(failureOf(400, error({ code: 'json_validate_failed' })).retriesMax, 1);
  assert.equal(failureOf(400, error({ code: 'tool_use_failed' })).retriesMax, undefined);
});

test('a schema that is refused is named by its parameter', () => {
  const failure = failureOf(400, error({ code: 'invalid_json_schema', param: 'text.format.schema' }));
  assert.equal(failure.message, 'openai refused the request as malformed (HTTP 400, code invalid_json_schema, parameter text.format.schema)');
});

test("what MiniMax's base_resp says inside a 200 is a failure of its kind, and what it says of a good answer is none", () => {
  const said = (number: number, prose = 'prose') => ({ id: 'x', choices: null, base_resp: { status_code: number, status_msg: prose } });
  const cases = [
    [1004, 'auth', false], [2049, 'auth', false], [1002, 'rate_limit', true], [1039, 'rate_limit', true], [1041, 'rate_limit', true], [2045, 'rate_limit', true], [1008, 'rate_limit', false], [2056, 'rate_limit', false],
    [1026, 'refusal', false], [1027, 'refusal', false], [2013, 'bad_request', false], [1042, 'bad_request', false], [1000, 'server', true], [1, 'server', true],
  ] as const;
  for (const [number, kind, isRetried] of cases) {
    const whole = openai.decodeChat(JSON.stringify(said(number)));
    const ends: unknown[] = [];
    openai.createStreamDecoder().frame('', JSON.stringify(said(number)), (delta) => void (delta.type === 'failed' && ends.push(delta.failure)));
    for (const failure of [whole, ...ends]) {
      assert.ok(failure instanceof Failure);
      assert.deepEqual([failure.kind, failure.isRetried, failure.detail], [kind, isRetried, 'prose'], String(number));
      assert.match(failure.message, new RegExp(`code ${number}\\b`));
    }
    assert.equal(ends.length, 1);
  }
  const good = { ...said(0, ''), choices: [{ message: { content: 'Good.' }, finish_reason: 'stop' }] };
  assert.ok(!(openai.decodeChat(JSON.stringify(good)) instanceof Failure));
});
