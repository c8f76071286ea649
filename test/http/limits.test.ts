/** Callers' limits as callers see them: refusals in every format, headers, what is charged, and what a limit leaves alone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { createMemoryStore } from '../../src/limits/memory.ts';
import type { LimitStore } from '../../src/limits/store.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { valueOf } from '../metrics-page.ts';
import { holdReplies, sandboxEnvironment, startGateway, TOKEN, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';
import { RawCaller } from './raw-caller.ts';

const BATCH_TOKEN = 'a-token-of-the-batch-caller';
const AS_BATCH = { authorization: `Bearer ${BATCH_TOKEN}` };
const HELLO = { model: 'fake-chat', messages: [user('Hello')] };
/** Two thousand words, which are as many tokens to the sandbox: twice as many as its characters are taken for. */
const LONG = { model: 'fake-chat', messages: [user('x '.repeat(2000))] };

type Limited = RunningGateway & {
  /** Of the limits' clock, which stands still otherwise. */
  pass(ms: number): void;
};

/** With two callers: `default`, without limits, and `batch`, with these. */
async function startLimited(t: TestContext, limits: string, environment: Record<string, string> = {}, store?: (now: () => number) => LimitStore): Promise<Limited> {
  let nowMs = 1000;
  const limitClock = (): number => nowMs;
  const gateway = await startGateway(
    t,
    { GATEWAY_AUTH_TOKENS: `batch:${BATCH_TOKEN}`, GATEWAY_CALLER_LIMITS: `batch:${limits}`, ...environment },
    { limitClock, ...(store === undefined ? {} : { limitStore: store(limitClock) }) },
  );
  return { ...gateway, pass: (ms) => void (nowMs += ms) };
}

const RATE_HEADERS = [
  'ratelimit-policy', 'ratelimit',
  'x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens',
];

function rateHeaders(answer: Response): Record<string, string> {
  return Object.fromEntries(RATE_HEADERS.flatMap((name) => {
    const value = answer.headers.get(name);
    return value === null ? [] : [[name, value]];
  }));
}

async function lineOf(gateway: RunningGateway, count: number): Promise<Readonly<Record<string, unknown>>> {
  const lines = (): readonly Readonly<Record<string, unknown>>[] => gateway.logLines.filter((line) => 'status' in line);
  await until(() => lines().length >= count);
  return lines()[count - 1] ?? {};
}

test('a caller that has used its requests is told in how many seconds to come again, and is let in then', async (t) => {
  const gateway = await startLimited(t, 'rpm=5');
  for (let taken = 0; taken < 5; taken += 1) assert.equal((await gateway.post('/v1/chat', HELLO, AS_BATCH)).status, 200);
  const refused = await gateway.post('/v1/chat', HELLO, AS_BATCH);
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get('retry-after'), '12');
  assert.equal(refused.headers.get('x-should-retry'), null);
  assert.deepEqual(await refused.json(), { kind: 'rate_limit', error: 'the caller batch has used its requests_per_minute (5); try again in 12s' });
  assert.deepEqual(rateHeaders(refused), {
    'ratelimit-policy': '"rpm";q=5;w=60',
    ratelimit: '"rpm";r=0;t=60',
    'x-ratelimit-limit-requests': '5',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '1m0s',
  });
  gateway.pass(11_999);
  assert.equal((await gateway.post('/v1/chat', HELLO, AS_BATCH)).status, 429);
  gateway.pass(1);
  assert.equal((await gateway.post('/v1/chat', HELLO, AS_BATCH)).status, 200);
  assert.equal(gateway.sandbox.calls.length, 6);
});

test('another caller, and one without limits, notices nothing', async (t) => {
  const gateway = await startLimited(t, 'rpm=1,concurrent=1');
  await gateway.post('/v1/chat', HELLO, AS_BATCH);
  assert.equal((await gateway.post('/v1/chat', HELLO, AS_BATCH)).status, 429);
  for (let asked = 0; asked < 3; asked += 1) {
    const answer = await gateway.post('/v1/chat', HELLO);
    assert.equal(answer.status, 200);
    assert.deepEqual(rateHeaders(answer), {});
  }
});

test('every answer says how its caller stands, before its first byte, streams too', async (t) => {
  const gateway = await startLimited(t, 'rpm=600,tpm=400000,tpd=50000000');
  const text = 'x'.repeat(4000);
  const expected = {
    'ratelimit-policy': '"rpm";q=600;w=60, "tpm";q=400000;w=60, "tpd";q=50000000;w=86400',
    ratelimit: '"rpm";r=599;t=1, "tpm";r=399000;t=1, "tpd";r=49999000;t=2',
    'x-ratelimit-limit-requests': '600',
    'x-ratelimit-remaining-requests': '599',
    'x-ratelimit-reset-requests': '1s',
    'x-ratelimit-limit-tokens': '400000',
    'x-ratelimit-remaining-tokens': '399000',
    'x-ratelimit-reset-tokens': '1s',
  };
  for (const path of ['/v1/chat', '/v1/chat/stream']) {
    const answer = await gateway.post(path, { model: 'fake-chat', messages: [user(text)] }, AS_BATCH);
    assert.equal(answer.status, 200);
    assert.deepEqual(rateHeaders(answer), expected);
    await answer.text();
    gateway.pass(86_400_000);
  }
});

test('of two limits on tokens the one with less left is told in the older form', async (t) => {
  const gateway = await startLimited(t, 'tpm=10000,tpd=5000');
  const answer = await gateway.post('/v1/chat', { model: 'fake-chat', messages: [user('x'.repeat(4000))] }, AS_BATCH);
  assert.equal(answer.headers.get('x-ratelimit-limit-tokens'), '5000');
  assert.equal(answer.headers.get('x-ratelimit-remaining-tokens'), '4000');
  assert.equal(answer.headers.get('x-ratelimit-reset-tokens'), '4h48m0s');
  assert.equal(answer.headers.get('ratelimit'), '"tpm";r=9000;t=6, "tpd";r=4000;t=17280');
});

test("a day's tokens that are used up tell clients not to try again, and so does a wait that they would not keep", async (t) => {
  const day = await startLimited(t, 'tpd=1000');
  await (await day.post('/v1/chat', LONG, AS_BATCH)).text();
  for (const path of ['/v1/chat', '/v1/chat/completions', '/v1/responses', '/v1/messages']) {
    const refused = await day.post(path, {}, AS_BATCH);
    assert.equal(refused.status, 429, path);
    assert.equal(refused.headers.get('x-should-retry'), 'false', path);
    assert.ok(Number(refused.headers.get('retry-after')) > 0, path);
  }
  const minute = await startLimited(t, 'tpm=1000');
  await (await minute.post('/v1/chat', LONG, AS_BATCH)).text();
  const refused = await minute.post('/v1/chat', LONG, AS_BATCH);
  assert.equal(refused.headers.get('x-should-retry'), 'false');
  assert.match(((await refused.json()) as { error: string }).error, /^the caller batch has used its tokens_per_minute \(1000\); try again in 2m\d+s$/);
});

const DIALECT_PATHS = ['/v1/chat', '/v1/chat/stream', '/v1/count_tokens', '/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/messages/count_tokens'];

test('each format has the refusal in its own form, and clients may try again', async (t) => {
  const gateway = await startLimited(t, 'rpm=1');
  await gateway.post('/v1/chat', HELLO, AS_BATCH);
  const sentence = 'the caller batch has used its requests_per_minute (1); try again in 1m';
  const openai = { error: { message: sentence, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } };
  const bodies = new Map<string, unknown>();
  for (const path of DIALECT_PATHS) {
    const refused = await gateway.post(path, {}, AS_BATCH);
    assert.equal(refused.status, 429, path);
    assert.equal(refused.headers.get('retry-after'), '60', path);
    assert.equal(refused.headers.get('x-should-retry'), null, path);
    assert.equal(rateHeaders(refused)['ratelimit'], '"rpm";r=0;t=60', path);
    bodies.set(path, await refused.json());
  }
  assert.deepEqual(bodies.get('/v1/chat/stream'), { kind: 'rate_limit', error: sentence });
  assert.deepEqual(bodies.get('/v1/chat/completions'), openai);
  assert.deepEqual(bodies.get('/v1/responses'), openai);
  const { type, error } = bodies.get('/v1/messages') as { type: string; error: object };
  assert.deepEqual([type, error], ['error', { type: 'rate_limit_error', message: sentence }]);
});

test('nobody who is over has a body read: the answer comes while none of it was sent', async (t) => {
  const gateway = await startLimited(t, 'tpm=100');
  await (await gateway.post('/v1/chat', LONG, AS_BATCH)).text();
  for (const path of DIALECT_PATHS.filter((each) => !each.endsWith('count_tokens'))) {
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${BATCH_TOKEN}\r\nContent-Length: 10000000\r\n\r\n`;
    const [answer] = await new RawCaller(t, gateway.url).write(head).answered();
    assert.equal(answer?.status, 429, path);
  }
  assert.equal(gateway.sandbox.calls.length, 1);
});

test('who waits exactly as long as Retry-After says is let in, each time of two hundred', async (t) => {
  const gateway = await startLimited(t, 'rpm=7,tpm=900');
  let waits = 0;
  for (let round = 0; waits < 200 && round < 1000; round += 1) {
    const body = { model: 'fake-chat', messages: [user('x '.repeat(1 + ((round * 37) % 1500)))] };
    const answer = await gateway.post('/v1/chat', body, AS_BATCH);
    await answer.arrayBuffer();
    if (answer.status === 200) continue;
    waits += 1;
    gateway.pass(Number(answer.headers.get('retry-after')) * 1000);
    const again = await gateway.post('/v1/chat', body, AS_BATCH);
    assert.equal(again.status, 200, `wait ${waits}, ${await again.text()}`);
  }
  assert.equal(waits, 200);
});

test('counts of tokens are requests, without tokens; lists of models take a place alone', async (t) => {
  const gateway = await startLimited(t, 'rpm=2,tpm=10,concurrent=1');
  for (const remaining of ['1', '0']) {
    const counted = await gateway.post('/v1/count_tokens', { ...HELLO, provider: 'anthropic' }, AS_BATCH);
    assert.equal(counted.status, 200);
    assert.equal(counted.headers.get('x-ratelimit-remaining-requests'), remaining);
    assert.equal(counted.headers.get('x-ratelimit-remaining-tokens'), null);
  }
  assert.equal((await gateway.post('/v1/count_tokens', HELLO, AS_BATCH)).status, 429);
  for (const path of ['/v1/models', '/v1/models?provider=openai', '/v1/models/openai/gpt-5.6']) {
    const listed = await gateway.get(path, AS_BATCH);
    assert.notEqual(listed.status, 429, path);
    assert.deepEqual(rateHeaders(listed), {}, path);
  }
});

test('a caller with all its places taken is refused before its body, chats, counts and lists alike, until one ends', async (t) => {
  const gateway = await startLimited(t, 'concurrent=2');
  const release = holdReplies(gateway.sandbox);
  const held = [1, 2].map(() => gateway.post('/v1/chat', { ...HELLO, model: 'held' }, AS_BATCH));
  await until(() => gateway.sandbox.calls.length === 2);
  for (const path of ['/v1/chat', '/v1/count_tokens', '/v1/messages']) {
    const refused = await gateway.post(path, HELLO, AS_BATCH);
    assert.equal(refused.status, 429, path);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.match(await refused.text(), /the caller batch has as many requests in flight as it may, which is its concurrent \(2\); try again in 1s/);
  }
  const list = await gateway.get('/v1/models', AS_BATCH);
  assert.equal(list.status, 429);
  assert.equal((await gateway.post('/v1/chat', HELLO)).status, 200);
  release();
  for (const answer of await Promise.all(held)) {
    assert.equal(answer.status, 200);
    await answer.text();
  }
  assert.equal((await gateway.get('/v1/models', AS_BATCH)).status, 200);
  assert.equal((await gateway.post('/v1/chat', HELLO, AS_BATCH)).status, 200);
});

test('a caller that is over its limits is told so, and when to come again, also where the gateway is full', async (t) => {
  const gateway = await startLimited(t, 'rpm=1', { GATEWAY_MAX_CONCURRENT: '1' });
  const release = holdReplies(gateway.sandbox);
  const held = gateway.post('/v1/chat', { ...HELLO, model: 'held' }, AS_BATCH);
  await until(() => gateway.sandbox.calls.length === 1);
  for (const path of ['/v1/chat', '/v1/count_tokens']) {
    const refused = await gateway.post(path, HELLO, AS_BATCH);
    assert.equal(refused.headers.get('retry-after'), '60', path);
    assert.match(await refused.text(), /has used its requests_per_minute/);
    assert.match(await (await gateway.post(path, HELLO)).text(), /at its limit of concurrent requests/);
  }
  release();
  assert.equal((await held).status, 200);
});

test('what is refused for what it asks takes a request and no tokens', async (t) => {
  const gateway = await startLimited(t, 'rpm=100,tpm=1000');
  const remaining = async (body: unknown): Promise<readonly (string | null)[]> => {
    const answer = await gateway.post('/v1/chat', body, AS_BATCH);
    await answer.text();
    return [answer.headers.get('x-ratelimit-remaining-requests'), answer.headers.get('x-ratelimit-remaining-tokens')];
  };
  // Not understood, or for nobody: nothing was taken.
  assert.deepEqual(await remaining('{'), [null, null]);
  assert.deepEqual(await remaining({ ...HELLO, provider: 'nobody' }), [null, null]);
  // Understood, and not to be had.
  assert.deepEqual(await remaining({ ...HELLO, model: 'fake-status-400' }), ['99', '998']);
  assert.deepEqual(await remaining(HELLO), ['98', '998']);
});

test('the log names the limit and the wait, metrics count refusals by limit and say how much is used', async (t) => {
  const gateway = await startLimited(t, 'rpm=4,tpd=1000000,concurrent=10');
  for (let taken = 0; taken < 4; taken += 1) await (await gateway.post('/v1/chat', HELLO, AS_BATCH)).text();
  await (await gateway.post('/v1/chat', HELLO, AS_BATCH)).text();
  const line = await lineOf(gateway, 5);
  assert.deepEqual(
    [line['level'], line['status'], line['kind'], line['limit'], line['limit_wait_ms'], line['caller']],
    ['info', 429, 'rate_limit', 'requests_per_minute', 15_000, 'batch'],
  );
  const page = gateway.app.metricsText();
  assert.equal(valueOf(page, 'gateway_limit_refusals_total', { caller: 'batch', limit: 'requests_per_minute' }), 1);
  assert.equal(valueOf(page, 'gateway_limit_used_ratio', { caller: 'batch', limit: 'requests_per_minute' }), 1);
  assert.equal(valueOf(page, 'gateway_limit_used_ratio', { caller: 'batch', limit: 'concurrent' }), 0);
  assert.ok((valueOf(page, 'gateway_limit_used_ratio', { caller: 'batch', limit: 'tokens_per_day' }) ?? 0) > 0);
  // A limit on a caller is no limit on time, and no failure of the gateway or a provider.
  assert.equal(valueOf(page, 'gateway_limits_total', { limit: 'requests_per_minute' }), undefined);
  assert.equal(valueOf(page, 'gateway_chats_total', { caller: 'batch', provider: '', error_type: 'limited' }), 1);
  gateway.pass(60_000);
  assert.equal(valueOf(gateway.app.metricsText(), 'gateway_limit_used_ratio', { caller: 'batch', limit: 'requests_per_minute' }), 0);
});

test('pages of other origins may read how their caller stands', async (t) => {
  const gateway = await startLimited(t, 'rpm=4', { GATEWAY_ALLOWED_ORIGINS: 'https://app.test' });
  const answer = await gateway.post('/v1/chat', HELLO, { ...AS_BATCH, origin: 'https://app.test' });
  const exposed = (answer.headers.get('access-control-expose-headers') ?? '').toLowerCase().split(', ');
  assert.deepEqual(RATE_HEADERS.filter((name) => !exposed.includes(name)), []);
});

test('a stream that would not tell its usage is refused where tokens are limited, and nowhere else', async (t) => {
  const gateway = await startLimited(t, 'tpm=10000');
  const sent = async (stream_options: unknown, headers: Record<string, string> = AS_BATCH, path = '/v1/chat/stream'): Promise<readonly [number, string]> => {
    const answer = await gateway.post(path, { ...HELLO, provider: 'openai', provider_options: { stream_options } }, headers);
    return [answer.status, (await answer.text()).slice(0, 130)];
  };
  const refusal = '{"kind":"bad_request","error":"provider_options.stream_options: a caller with a limit on tokens must keep include_usage"}';
  for (const hidden of [{ include_usage: false }, { include_usage: null }, null, 1]) assert.deepEqual(await sent(hidden), [400, refusal]);
  assert.equal(gateway.sandbox.calls.length, 0);
  for (const fine of [{ include_usage: true }, {}]) assert.equal((await sent(fine))[0], 200);
  assert.equal((await sent(null, {}))[0], 200);
  assert.notEqual((await sent(null, AS_BATCH, '/v1/chat'))[1], refusal);
});

test('callers within the process are limited by the label that they are given', async (t) => {
  const gateway = await startLimited(t, 'rpm=1');
  const request = { model: 'fake-chat', messages: [{ role: 'user', text: 'Hello' }] } as const;
  await gateway.app.chat(request, { caller: 'batch' });
  await assert.rejects(gateway.app.chat(request, { caller: 'batch' }), {
    name: 'GatewayError', kind: 'rate_limit', status: 429, retryAfterMs: 60_000, message: 'the caller batch has used its requests_per_minute (1); try again in 1m',
  });
  await assert.rejects(async () => {
    for await (const event of gateway.app.stream(request, { caller: 'batch' })) assert.fail(event.type);
  }, { status: 429 });
  await gateway.app.chat(request);
});

test('labels that nobody configured share what is everybody\'s', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_CALLER_LIMITS: '*:rpm=2' });
  const request = { model: 'fake-chat', messages: [{ role: 'user', text: 'Hello' }] } as const;
  await gateway.app.chat(request, { caller: 'anna' });
  await gateway.app.chat(request, { caller: 'bert' });
  await assert.rejects(gateway.app.chat(request, { caller: 'carl' }), /the caller other has used its requests_per_minute \(2\)/);
  await gateway.app.chat(request);
});

test('a reload with other limits goes on from what was taken', async (t) => {
  const gateway = await startLimited(t, 'rpm=2');
  for (let asked = 0; asked < 2; asked += 1) await (await gateway.post('/v1/chat', HELLO, AS_BATCH)).text();
  const reloaded = (limits: string): void => {
    const { config } = loadConfig({ ...sandboxEnvironment(gateway.sandbox), GATEWAY_AUTH_TOKENS: `batch:${BATCH_TOKEN}`, GATEWAY_CALLER_LIMITS: limits }, PROVIDER_ROWS, compatRow, () => '');
    if (config === undefined) throw new Error('a good configuration');
    gateway.app.reload(config);
  };
  const used = (): number | undefined => valueOf(gateway.app.metricsText(), 'gateway_limit_used_ratio', { caller: 'batch', limit: 'requests_per_minute' });
  assert.equal(used(), 1);
  reloaded('batch:rpm=60');
  const refused = await gateway.post('/v1/chat', HELLO, AS_BATCH);
  assert.equal(refused.status, 429);
  assert.match(await refused.text(), /requests_per_minute \(60\); try again in 1s/);
  reloaded('default:rpm=60');
  assert.deepEqual(rateHeaders(await gateway.post('/v1/chat', HELLO, AS_BATCH)), {});
  assert.equal(used(), 0);
});

/** Answers a turn of the event loop later, as a store that others share does. */
function later(store: LimitStore): LimitStore {
  return {
    ...store,
    take: async (charge) => {
      await new Promise((resolve) => setImmediate(resolve));
      return store.take(charge);
    },
  };
}

test('a store that answers later is waited for, and closed with the gateway', async (t) => {
  let closed = 0;
  const gateway = await startLimited(t, 'rpm=2,concurrent=1', {}, (now) => ({ ...later(createMemoryStore(now)), close: () => void (closed += 1) }));
  const statuses: number[] = [];
  for (let asked = 0; asked < 3; asked += 1) {
    const answer = await gateway.post('/v1/chat', HELLO, AS_BATCH);
    statuses.push(answer.status);
    await answer.text();
  }
  assert.deepEqual(statuses, [200, 200, 429]);
  await gateway.app.stop();
  gateway.app.close();
  assert.equal(closed, 1);
});

test('without limits nothing of an answer tells of them', async (t) => {
  const gateway = await startGateway(t);
  const answer = await gateway.post('/v1/chat', HELLO, { authorization: `Bearer ${TOKEN}` });
  assert.deepEqual([...answer.headers.keys()].sort(), ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'x-request-id']);
  assert.equal(valueOf(gateway.app.metricsText(), 'gateway_limit_used_ratio', { caller: 'default', limit: 'concurrent' }), undefined);
});
