/** Every fault of the sandbox, for three vendors, every route of the clouds, and both endpoints: the status and kind that a caller sees, and life afterwards. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULTS } from '../../src/sandbox/index.ts';
import { startGateway, TOKEN, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { CLOUD_ROUTES } from '../clouds/environments.ts';
import { PATHS, PROVIDERS, samplesOf } from './upstream.ts';

/** Status and kind; `200` = a good reply, `200 done` = a good stream, `200 server` = an error frame at the end of a stream. */
type Outcome = '200' | '200 done' | '200 server' | '502 server' | '502 unknown' | '502 auth' | '429 rate_limit' | '400 bad_request';

const CUT: readonly [whole: Outcome, stream: Outcome] = ['502 server', '200 server'];
const NO_ANSWER: readonly [Outcome, Outcome] = ['502 server', '502 server'];
const GOOD: readonly [Outcome, Outcome] = ['200', '200 done'];

/** Without retries. The model's number, where its name has one, is the third. */
const OUTCOMES: Readonly<Record<string, readonly [whole: Outcome, stream: Outcome, n?: number]>> = {
  'fake-status-NNN': ['400 bad_request', '400 bad_request', 418],
  'fake-status-429-after-N': ['429 rate_limit', '429 rate_limit', 7],
  'fake-quota': ['429 rate_limit', '429 rate_limit'],
  'fake-overloaded': NO_ANSWER,
  'fake-error-mid': CUT,
  'fake-echo-key': ['502 auth', '502 auth'],
  'fake-flaky-N': [...NO_ANSWER, 1],
  'fake-late-N': [...GOOD, 1],
  'fake-slow-N': [...GOOD, 1],
  'fake-truncate': CUT,
  'fake-truncate-at-N': [...NO_ANSWER, 30],
  'fake-close-mid': CUT,
  'fake-reset': ['502 unknown', '502 unknown'],
  'fake-reset-mid': CUT,
  'fake-reset-at-N': [...NO_ANSWER, 30],
  'fake-short-length': CUT,
  'fake-no-done': GOOD,
  'fake-bad-chunk': CUT,
  'fake-html': NO_ANSWER,
  'fake-empty-body': NO_ANSWER,
  'fake-204': NO_ANSWER,
  'fake-101': NO_ANSWER,
  'fake-redirect': NO_ANSWER,
  'fake-gzip': NO_ANSWER,
  'fake-malformed': CUT,
  'fake-wrong-shape': NO_ANSWER,
  'fake-early-hints': GOOD,
  'fake-crlf': GOOD,
  'fake-comments': GOOD,
  'fake-close-idle': GOOD,
  'fake-big-headers': NO_ANSWER,
  'fake-huge': NO_ANSWER,
  'fake-long-line': ['200', '200 done'],
};

/** With limits of a second. Those of the stream that began to answer are idle limits. */
const STALLS: typeof OUTCOMES = {
  'fake-drip': ['502 unknown', '502 unknown'],
  'fake-stall': ['502 unknown', '502 unknown'],
  'fake-stall-headers': ['502 unknown', '502 unknown'],
  'fake-stall-mid': ['502 unknown', '200 server'],
};

async function outcomeOf(gateway: RunningGateway, path: string, provider: string, model: string): Promise<string> {
  const response = await gateway.post(path, { provider, model, messages: [user(`${model} on ${path}`)] });
  const text = await response.text();
  const kind = /"kind":"(\w+)"/.exec(text)?.[1];
  assert.ok(kind === undefined || !text.includes('"type":"done"'), 'an error and done');
  return [response.status, kind ?? (text.includes('"type":"done"') ? 'done' : undefined)].filter((word) => word !== undefined).join(' ');
}

function modelOf(name: string, n: number | undefined): string {
  return name.replace(/N+$/, String(n));
}

test('the matrix has a row for every fault', () => {
  assert.deepEqual([...Object.keys(OUTCOMES), ...Object.keys(STALLS), 'fake-flood'].sort(), Object.keys(FAULTS).sort());
});

/** Limits on size are the readers' and no provider's: one vendor and the binary stream show them, at half a second each. */
const SIZES: readonly string[] = ['fake-huge', 'fake-long-line'];

/** In a cloud a stream may be binary: what comes as text in the middle of it damages it. */
const HELD = [
  ...PROVIDERS.map((provider) => ({ title: provider, provider, environment: () => ({}), named: (name: string) => name, others: {}, omitted: provider === 'openai' ? [] : SIZES })),
  ...CLOUD_ROUTES.map((route) => (route.isBinary ? { ...route, others: { 'fake-long-line': ['200', '502 server'] }, omitted: [] as readonly string[] } as const : { ...route, others: {}, omitted: SIZES })),
];

for (const { title, provider, environment, named, others, omitted } of HELD) {
  test(`${title}: every fault has its status and kind, and a healthy request succeeds after it`, async (t) => {
    const gateway = await startGateway(t, (sandbox) => ({ ...environment(sandbox), GATEWAY_MAX_RETRIES: '0' }));
    const outcomes: typeof OUTCOMES = { ...OUTCOMES, ...others };
    for (const [name, [whole, stream, n]] of Object.entries(outcomes)) {
      if (omitted.includes(name)) continue;
      for (const [path, expected] of [[PATHS[0], whole], [PATHS[1], stream]] as const) {
        assert.equal(await outcomeOf(gateway, path, provider, named(modelOf(name, n))), expected, `${name} on ${path}`);
        assert.equal(await outcomeOf(gateway, PATHS[0], provider, named('fake-chat')), '200', `after ${name} on ${path}`);
      }
    }
  });
}

for (const provider of PROVIDERS) {

  test(`${provider}: a flood is cut as a whole reply, and ends with its caller as a stream`, async (t) => {
    const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0' });
    assert.equal(await outcomeOf(gateway, PATHS[0], provider, 'fake-flood'), '502 server');
    const aborter = new AbortController();
    const response = await fetch(gateway.url + PATHS[1], {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ provider, model: 'fake-flood', messages: [user('x')] }),
      signal: aborter.signal,
    });
    await response.body?.getReader().read();
    aborter.abort();
    while (gateway.sandbox.calls.at(-1)?.closedEarly !== true) await new Promise(setImmediate);
    assert.equal(await outcomeOf(gateway, PATHS[0], provider, 'fake-chat'), '200');
    // Neither a caller who hangs up nor a limit of the gateway's own is held against the provider.
    assert.deepEqual(await samplesOf(gateway, 'gateway_upstream_attempts_total'), [
      `{provider="${provider}",outcome="caller_gone"} 1`,
      `{provider="${provider}",outcome="gateway"} 1`,
      `{provider="${provider}",outcome="success"} 1`,
    ]);
    assert.deepEqual(await samplesOf(gateway, 'gateway_streams_cut_total'), []);
  });
}

test('a provider that stalls is given up on at the limit, which the log names, and a healthy request succeeds after it', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0', GATEWAY_ATTEMPT_TIMEOUT: '1s', GATEWAY_STREAM_IDLE_TIMEOUT: '1s' });
  const asked = PROVIDERS.flatMap((provider) =>
    Object.entries(STALLS).flatMap(([name, [whole, stream]]) =>
      [whole, stream].map(async (expected, index) => {
        const path = PATHS[index] ?? '';
        assert.equal(await outcomeOf(gateway, path, provider, name), expected, `${name} on ${path} of ${provider}`);
      }),
    ),
  );
  await Promise.all(asked);
  for (const provider of PROVIDERS) assert.equal(await outcomeOf(gateway, PATHS[0], provider, 'fake-chat'), '200');
  const limits = gateway.logLines.map((line) => line['limit']).filter((limit) => limit !== undefined);
  assert.equal(limits.filter((limit) => limit === 'GATEWAY_ATTEMPT_TIMEOUT').length, 7 * PROVIDERS.length);
  assert.equal(limits.filter((limit) => limit === 'GATEWAY_STREAM_IDLE_TIMEOUT').length, PROVIDERS.length);
  assert.deepEqual(await samplesOf(gateway, 'gateway_limits_total'), [
    '{limit="GATEWAY_ATTEMPT_TIMEOUT"} 21',
    '{limit="GATEWAY_STREAM_IDLE_TIMEOUT"} 3',
  ]);
});
