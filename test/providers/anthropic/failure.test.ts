import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { adapter } from './fixtures.ts';

function error(type: string, message = 'words', details = ''): string {
  return `{"type":"error","error":{"type":"${type}","message":${JSON.stringify(message)}${details}},"request_id":"req_1"}`;
}
const code = (errorCode: string) => `,"details":{"error_code":"${errorCode}"}`;

describe('decodeFailure', () => {
  const kinds: [string, number, string, string, boolean][] = [
    ['a malformed request', 400, error('invalid_request_error'), 'bad_request', false],
    ['a prompt that is too long', 400, error('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'), 'bad_request', false],
    ['an account without credit', 400, error('invalid_request_error', 'Your credit balance is too low to access the API.'), 'auth', false],
    ['a spending limit of the customer', 400, error('invalid_request_error', 'You have reached your specified API usage limits.'), 'auth', false],
    ['a spending limit of a workspace', 400, error('invalid_request_error', 'You have reached your specified workspace API usage limits.'), 'auth', false],
    ["a field of the caller's own that says so", 400, error('invalid_request_error', 'your credit balance: credit balance is too low: Extra inputs are not permitted'), 'bad_request', false],
    ["another that says so", 400, error('invalid_request_error', 'x.You have reached your specified API usage limits: Extra inputs are not permitted'), 'bad_request', false],
    ['a shape of answers that its host does not know', 400, error('invalid_request_error', 'output_config.format: Extra inputs are not permitted'), 'unsupported', false],
    ['an effort that its host does not know', 400, error('invalid_request_error', 'thinking.display: Extra inputs are not permitted'), 'unsupported', false],
    ['strict tools that its host does not know', 400, error('invalid_request_error', 'tools.0.custom.strict: Extra inputs are not permitted'), 'unsupported', false],
    ["a field of the caller's own that it does not know", 400, error('invalid_request_error', 'output_configs.format: Extra inputs are not permitted'), 'bad_request', false],
    ['an organisation on hold', 400, error('invalid_request_error', 'x', code('organization_on_hold')), 'auth', false],
    ['a bad key', 401, error('authentication_error'), 'auth', false],
    ['an unpaid bill', 402, error('billing_error'), 'auth', false],
    ['a missing permission', 403, error('permission_error'), 'auth', false],
    ['an unknown model', 404, error('not_found_error'), 'not_found', false],
    ['a conflict', 409, error('conflict_error'), 'server', true],
    ['too large a request', 413, error('request_too_large'), 'bad_request', false],
    ['a rate limit', 429, error('rate_limit_error'), 'rate_limit', true],
    ['a ramp limit', 429, error('rate_limit_error', 'x', code('ramp_limit_exceeded')), 'rate_limit', true],
    ['an enforced spending limit', 429, error('rate_limit_error', 'x', code('enforced_spend_limit_reached')), 'rate_limit', false],
    ['a spending limit by contract', 429, error('rate_limit_error', 'x', code('contract_spend_limit_reached')), 'rate_limit', false],
    ['an internal error', 500, error('api_error'), 'server', true],
    ['an overload', 529, error('overloaded_error'), 'server', true],
    ['an overload by another status', 503, error('overloaded_error'), 'server', true],
    ['a timeout', 504, error('timeout_error'), 'server', true],
    ['a bad key from a host that says no more', 401, error('invalid_request_error'), 'auth', false],
    ['a rate limit from a host that says no more', 429, error('invalid_request_error'), 'rate_limit', true],
    ['a type more precise than its status', 500, error('rate_limit_error'), 'rate_limit', true],
    ['a string for an error', 404, '{"error":"no such model"}', 'not_found', false],
    ['a flat body', 422, '{"message":"no"}', 'bad_request', false],
    ['a page of HTML', 502, '<html>Bad gateway</html>', 'server', true],
    ['an empty body', 403, '', 'auth', false],
    ['a redirect', 302, '', 'server', true],
    ['a list', 400, '[{"error":{}}]', 'bad_request', false],
    ['nonsense inside', 400, '{"error":{"type":7,"message":[],"details":"x"}}', 'bad_request', false],
  ];
  for (const [what, status, body, kind, isRetried] of kinds) {
    test(`reads ${what} (${status}) as ${kind}`, () => {
      const failure = adapter.decodeFailure(status, body);
      assert.equal(failure.kind, kind);
      assert.equal(failure.isRetried, isRetried);
      assert.equal(failure.upstreamStatus, status);
    });
  }

  test('tells the code by which its SDK knows a failure, where it is one', () => {
    assert.equal(adapter.decodeFailure(404, error('not_found_error', 'x', code('thread_not_found'))).errorCode, 'thread_not_found');
    assert.equal(adapter.decodeFailure(400, error('invalid_request_error', 'x', code('prose with a key'))).errorCode, undefined);
    assert.equal(adapter.decodeFailure(400, error('invalid_request_error')).errorCode, undefined);
  });

  test("says it in the gateway's own words, with code and parameter, the provider's for the operator only", () => {
    const failure = adapter.decodeFailure(400, error('invalid_request_error', 'messages.0.content.1.text: Field required'));
    assert.equal(
      failure.message,
      'anthropic refused the request as malformed (HTTP 400, code invalid_request_error, parameter messages.0.content.1.text)',
    );
    assert.equal(failure.detail, 'messages.0.content.1.text: Field required');
  });

  test('takes no prose for a parameter', () => {
    for (const message of ['Error: x', 'prompt has this: 9', 'your secret: x', ': x']) {
      const failure = adapter.decodeFailure(400, error('invalid_request_error', message));
      assert.equal(failure.message, 'anthropic refused the request as malformed (HTTP 400, code invalid_request_error)');
    }
  });

  test('prefers the error code to the type', () => {
    const failure = adapter.decodeFailure(429, error('rate_limit_error', 'x', code('ramp_limit_exceeded')));
    assert.equal(failure.message, 'anthropic is limiting the rate of requests (HTTP 429, code ramp_limit_exceeded)');
  });

  test('keeps the body as the detail where no message was found', () => {
    assert.equal(adapter.decodeFailure(502, '<html>').detail, '<html>');
  });

  test('tells a path that a server does not have from a model that it does not have', () => {
    for (const body of ['{"error":{"code":"404","message":"Resource not found"}}', '<html>404</html>', '404 page not found\n', '{"detail":"Not Found"}', '']) {
      assert.equal(adapter.decodeFailure(404, body).message, 'anthropic knows no such model (HTTP 404): or its base URL is wrong', body);
    }
    for (const said of ['{"complaint":"gone"}', '{"error":{"message":"gone"}}']) assert.doesNotMatch(adapter.decodeFailure(404, said).message, /base URL/, said);
    for (const said of ['model: claude-9', 'Not Found']) assert.doesNotMatch(adapter.decodeFailure(404, error('not_found_error', said)).message, /base URL/);
  });

  test('knows a request that is too long by its status, its type or its words, and nothing else as one', () => {
    assert.equal(adapter.decodeFailure(413, '<html>').isTooLong, true);
    assert.equal(adapter.decodeFailure(400, error('request_too_large')).isTooLong, true);
    assert.equal(adapter.decodeFailure(400, error('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum')).isTooLong, true);
    assert.equal(adapter.decodeFailure(500, error('api_error', 'prompt is too long: 9 tokens > 8 maximum')).isTooLong, false);
  });

  test('says what to do about reasoning of another conversation', () => {
    for (const message of ['messages.1.content.0: Invalid `signature` in `thinking` block', 'The block is bound to a different conversation.']) {
      const failure = adapter.decodeFailure(400, error('invalid_request_error', message));
      assert.equal(failure.kind, 'bad_request');
      assert.match(failure.message, /: a provider_state belongs to another conversation or account$/);
    }
  });
});
