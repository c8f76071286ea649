/** What a provider asks for with a 429, in every spelling: waited for within the cap and the deadline, else handed on at once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, TOKEN, user } from '../running-gateway.ts';
import { answerJson, environmentFor, PATHS, startUpstream, watchWarnings } from './upstream.ts';

type Row = {
  readonly what: string;
  readonly headers: Record<string, string | string[]>;
  /** 2 where the wait is honoured or the header ignored, 1 where the failure is returned at once. */
  readonly attempts: 1 | 2;
  /** The caller's Retry-After. */
  readonly hint: string | null;
};

const DAY_MS = 24 * 3600 * 1000;
const httpDate = (fromNowMs: number): string => new Date(Date.now() + fromNowMs).toUTCString();

/** With one retry, and a cap of a tenth of a second. */
const ROWS: readonly Row[] = [
  { what: 'a hundredth of a second', headers: { 'retry-after': '0.01' }, attempts: 2, hint: '1' },
  { what: 'milliseconds', headers: { 'retry-after-ms': '5' }, attempts: 2, hint: '1' },
  { what: 'milliseconds before seconds', headers: { 'retry-after-ms': '5', 'retry-after': '400' }, attempts: 2, hint: '1' },
  { what: 'the longest wait within the cap', headers: { 'retry-after-ms': '100' }, attempts: 2, hint: '1' },
  { what: 'nothing', headers: {}, attempts: 2, hint: null },
  { what: 'zero', headers: { 'retry-after': '0' }, attempts: 2, hint: null },
  { what: 'less than nothing', headers: { 'retry-after': '-1' }, attempts: 2, hint: null },
  { what: 'a word', headers: { 'retry-after': 'abc' }, attempts: 2, hint: null },
  { what: '10 KB', headers: { 'retry-after': '1'.repeat(10_000) }, attempts: 2, hint: null },
  { what: 'a date that is over', headers: { 'retry-after': httpDate(-DAY_MS) }, attempts: 2, hint: null },
  { what: 'milliseconds beyond the cap, rounded up', headers: { 'retry-after-ms': '5100' }, attempts: 1, hint: '6' },
  { what: 'seconds beyond the cap', headers: { 'retry-after': '2' }, attempts: 1, hint: '2' },
  { what: 'a fraction beyond the cap, rounded up', headers: { 'retry-after': '1.5' }, attempts: 1, hint: '2' },
  { what: 'eleven days', headers: { 'retry-after': '999999' }, attempts: 1, hint: '999999' },
  { what: 'one timer of Node and a second', headers: { 'retry-after': '2147485' }, attempts: 1, hint: '2147484' },
  { what: 'a number of 64 digits', headers: { 'retry-after': '9'.repeat(64) }, attempts: 1, hint: '2147484' },
  { what: 'a date thousands of years ahead', headers: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, attempts: 1, hint: '2147484' },
  { what: 'two headers, of which the first counts', headers: { 'retry-after': ['3', '7'] }, attempts: 1, hint: '3' },
];

for (const path of PATHS) {
  test(`${path} honours or hands on every wait that a provider asks for`, async (t) => {
    const warnings = watchWarnings(t);
    const upstream = await startUpstream(t, (response, _request, body) => {
      answerJson(response, 429, '{}', ROWS.find(({ what }) => body.includes(JSON.stringify(what)))?.headers);
    });
    const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '1', GATEWAY_RETRY_AFTER_CAP: '100ms' });
    for (const { what, attempts, hint } of ROWS) {
      const before = upstream.calls();
      const response = await gateway.post(path, { provider: 'openai', model: 'm', messages: [user(what)] });
      await response.body?.cancel();
      const outcome = { what, status: response.status, attempts: upstream.calls() - before, hint: response.headers.get('retry-after') };
      assert.deepEqual(outcome, { what, status: 429, attempts, hint });
    }
    assert.deepEqual(warnings, []);
  });
}

test('a wait beyond the deadline is handed on at once, even below the cap', async (t) => {
  const upstream = await startUpstream(t, (response) => answerJson(response, 429, '{}', { 'retry-after': '60' }));
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_REQUEST_TIMEOUT: '30s', GATEWAY_STREAM_TIMEOUT: '30s' });
  for (const path of PATHS) {
    const before = upstream.calls();
    const response = await gateway.post(path, { provider: 'openai', model: 'm', messages: [user('x')] });
    await response.body?.cancel();
    assert.deepEqual([response.status, response.headers.get('retry-after'), upstream.calls() - before], [429, '60', 1]);
  }
});

test('with every time set to its longest, a wait that nears it with its jitter is waited for, and ends with its caller', async (t) => {
  const warnings = watchWarnings(t);
  const upstream = await startUpstream(t, (response) => answerJson(response, 429, '{}', { 'retry-after': '1700000' }));
  const longest = Object.fromEntries(
    ['REQUEST_TIMEOUT', 'ATTEMPT_TIMEOUT', 'CONNECT_TIMEOUT', 'STREAM_IDLE_TIMEOUT', 'STREAM_TIMEOUT', 'RETRY_MAX_DELAY', 'RETRY_AFTER_CAP',
      'HEARTBEAT_INTERVAL', 'WRITE_STALL_TIMEOUT'].map((name) => [`GATEWAY_${name}`, '596h']),
  );
  const gateway = await startGateway(t, { ...environmentFor(upstream), ...longest });
  const aborter = new AbortController();
  const asked = fetch(`${gateway.url}/v1/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ provider: 'openai', model: 'm', messages: [user('x')] }),
    signal: aborter.signal,
  });
  const logged = async (field: string, value: unknown): Promise<void> => {
    while (!gateway.logLines.some((line) => line[field] === value)) await new Promise(setImmediate);
  };
  await logged('message', 'attempt');
  aborter.abort();
  await assert.rejects(asked);
  await logged('status', 499);
  assert.equal(upstream.calls(), 1);
  assert.deepEqual(warnings, []);
});

type Stop = { readonly provider: string; readonly status: number; readonly body: unknown; readonly kind: string; readonly answered: number };

/** What no waiting lifts, in the providers' own words. */
const STOPS: readonly Stop[] = [
  { provider: 'openai', status: 429, body: { error: { type: 'insufficient_quota', code: 'insufficient_quota' } }, kind: 'rate_limit', answered: 429 },
  { provider: 'openai', status: 429, body: { error: { code: 'organization_spend_limit_exceeded' } }, kind: 'rate_limit', answered: 429 },
  { provider: 'openai', status: 402, body: { error: { message: 'Insufficient credits' } }, kind: 'auth', answered: 502 },
  { provider: 'anthropic', status: 429, body: anthropicError('rate_limit_error', { details: { error_code: 'enforced_spend_limit_reached' } }), kind: 'rate_limit', answered: 429 },
  { provider: 'anthropic', status: 400, body: anthropicError('invalid_request_error', { message: 'Your credit balance is too low to access the API.' }), kind: 'auth', answered: 502 },
  { provider: 'anthropic', status: 402, body: anthropicError('billing_error', {}), kind: 'auth', answered: 502 },
  { provider: 'gemini', status: 429, body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] }, { retryDelay: '0.01s' }] } }, kind: 'rate_limit', answered: 429 },
  { provider: 'gemini', status: 400, body: { error: { code: 400, status: 'FAILED_PRECONDITION' } }, kind: 'auth', answered: 502 },
];

function anthropicError(type: string, fields: object): object {
  return { type: 'error', error: { type, ...fields } };
}

for (const path of PATHS) {
  test(`${path} does not try again what a quota, a daily limit or a bill has stopped`, async (t) => {
    const upstream = await startUpstream(t, (response, _request, body) => {
      const stop = STOPS[Number(/stop (\d+)/.exec(body)?.[1])];
      answerJson(response, stop?.status ?? 500, JSON.stringify(stop?.body));
    });
    const gateway = await startGateway(t, environmentFor(upstream));
    for (const [index, { provider, kind, answered }] of STOPS.entries()) {
      const before = upstream.calls();
      const response = await gateway.post(path, { provider, model: 'm', messages: [user(`stop ${index}`)] });
      const body = (await response.json()) as { kind: string };
      assert.deepEqual([index, response.status, body.kind, upstream.calls() - before], [index, answered, kind, 1]);
    }
  });
}

/** Status and advice of the provider, and how many calls it gets with one retry allowed. */
const ADVICE: readonly (readonly [status: number, advice: string | string[], calls: number])[] = [
  [500, 'false', 1],
  [503, ' False ', 1],
  [529, 'false', 1],
  [429, 'false', 1],
  [429, 'true', 2],
  [500, 'no', 2],
  [500, ['false', 'true'], 2],
  [400, 'true', 1],
  [401, 'true', 1],
];

for (const path of PATHS) {
  test(`${path} obeys x-should-retry: false from every provider, and no other value`, async (t) => {
    const upstream = await startUpstream(t, (response, _request, body) => {
      const [status, advice] = ADVICE[Number(/advice (\d+)/.exec(body)?.[1])] ?? [418, 'missing'];
      answerJson(response, status, '{}', { 'x-should-retry': advice });
    });
    const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_COMPAT_BASE_URL: upstream.origin, GATEWAY_MAX_RETRIES: '1' });
    for (const provider of ['anthropic', 'openai', 'gemini', 'compat']) {
      for (const [index, [, , calls]] of ADVICE.entries()) {
        const before = upstream.calls();
        const response = await gateway.post(path, { provider, model: 'm', messages: [user(`advice ${index}`)] });
        await response.body?.cancel();
        assert.deepEqual([provider, index, upstream.calls() - before], [provider, index, calls]);
      }
    }
  });
}
