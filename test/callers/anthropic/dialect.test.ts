import { deepEqual, equal } from 'node:assert/strict';
import test from 'node:test';
import { ANTHROPIC } from '../../../src/callers/anthropic/dialect.ts';
import { MESSAGES_FIELDS } from '../../../src/callers/anthropic/fields.ts';
import { Failure, FAILURE_KINDS } from '../../../src/core/failure.ts';
import type { FailureKind } from '../../../src/core/failure.ts';

test('the dialect answers one path, with its own credentials, failures and refusals', () => {
  const { name, vendor, takesApiKey, routes, breaksFailedStreams, repliesRefusals, fieldNames } = ANTHROPIC;
  deepEqual([name, vendor, takesApiKey, breaksFailedStreams, repliesRefusals], ['anthropic', 'anthropic', true, true, true]);
  deepEqual(routes, [{ name: 'messages', path: '/v1/messages', stream: 'asked' }]);
  deepEqual([...fieldNames], Object.keys(MESSAGES_FIELDS));
});

test('a failure has the body and the headers that the SDKs read', () => {
  deepEqual(ANTHROPIC.renderFailure(new Failure('not_found', 'no such model'), 'req-1'), {
    body: '{"type":"error","error":{"type":"not_found_error","message":"no such model"},"request_id":"req-1"}',
    headers: { 'x-should-retry': 'false' },
  });
});

function typeOf(failure: Failure): unknown {
  return (JSON.parse(ANTHROPIC.renderFailure(failure, 'r').body) as { error: { type: unknown } }).error.type;
}

const TYPES: Readonly<Record<FailureKind, string>> = {
  auth: 'api_error',
  rate_limit: 'rate_limit_error',
  not_found: 'not_found_error',
  bad_request: 'invalid_request_error',
  unsupported: 'invalid_request_error',
  refusal: 'invalid_request_error',
  server: 'api_error',
  unknown: 'api_error',
};

for (const kind of Object.keys(FAILURE_KINDS) as FailureKind[]) {
  test(`a failure of kind ${kind} is of type ${TYPES[kind]}`, () => equal(typeOf(new Failure(kind, 'x')), TYPES[kind]));
}

for (const [name, failure, type] of [
  ["a caller's token that is refused", new Failure('auth', 'x', { status: 401 }), 'authentication_error'],
  ['what a caller may not do', new Failure('auth', 'x', { status: 403 }), 'permission_error'],
  ['a body that is too long', new Failure('bad_request', 'x', { status: 413 }), 'request_too_large'],
  ['a gateway that shuts down', new Failure('unknown', 'x', { status: 503 }), 'overloaded_error'],
  ['a provider that is overloaded', new Failure('server', 'x', { upstreamStatus: 529 }), 'overloaded_error'],
  ['a provider that is unavailable', new Failure('server', 'x', { upstreamStatus: 503 }), 'overloaded_error'],
  ["a provider's 503 that is a limit of its own", new Failure('rate_limit', 'x', { upstreamStatus: 503 }), 'rate_limit_error'],
] as const) {
  test(`${name} is of type ${type}`, () => equal(typeOf(failure), type));
}

for (const [name, failure, isOfUse] of [
  ['the gateway is full', new Failure('rate_limit', 'x'), true],
  ['the gateway shuts down', new Failure('unknown', 'x', { status: 503 }), true],
  ['a provider is at its limit', new Failure('rate_limit', 'x', { upstreamStatus: 429 }), false],
  ['a provider failed', new Failure('server', 'x', { upstreamStatus: 500 }), false],
  ['a provider could not be reached', new Failure('unknown', 'x'), false],
] as const) {
  test(`SDKs ${isOfUse ? 'may' : 'must not'} try again where ${name}`, () => {
    equal(ANTHROPIC.renderFailure(failure, 'r').headers['x-should-retry'], isOfUse ? undefined : 'false');
  });
}
