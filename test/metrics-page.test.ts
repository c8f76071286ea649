/** The page that a real gateway gives after real exchanges: what an operator can tell from it. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { parsePage, valueOf } from './metrics-page.ts';
import { RawCaller } from './http/raw-caller.ts';
import { holdReplies, startGateway, TOKEN, user } from './running-gateway.ts';
import type { RunningGateway } from './running-gateway.ts';

const HELLO = { model: 'fake-chat', messages: [user('Hello')] };
/** Fails with a wait that is longer than any test. */
const ASKS_FOR_AN_HOUR = 'fake-status-429-after-3600';

async function pageOf(gateway: RunningGateway): Promise<string> {
  return (await gateway.get('/metrics')).text();
}

/** The page once every exchange so far is over: counts are made at an exchange's end, which a caller can be ahead of. */
async function settledPage(gateway: RunningGateway, exchanges: number): Promise<string> {
  const done = (): number => gateway.logLines.filter((line) => line['total_ms'] !== undefined && line['level'] !== 'debug').length;
  while (done() < exchanges) await new Promise((resolve) => setImmediate(resolve));
  return pageOf(gateway);
}

function seriesCount(page: string): number {
  let count = 0;
  for (const family of parsePage(page).values()) count += family.samples.length;
  return count;
}

/** Begins a chat and hangs up once `isTime`. */
async function hangUp(gateway: RunningGateway, path: string, model: string, isTime: (received: Uint8Array) => boolean): Promise<void> {
  const caller = new AbortController();
  const asked = fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ model, messages: [user('x')] }),
    signal: caller.signal,
  });
  const calls = gateway.sandbox.calls.length;
  asked.catch(() => undefined);
  while (gateway.sandbox.calls.length === calls) await new Promise((resolve) => setImmediate(resolve));
  if (!isTime(new Uint8Array())) for await (const chunk of (await asked).body ?? []) if (isTime(chunk as Uint8Array)) break;
  caller.abort();
}

test('the page after exchanges of every kind is strictly well-formed, and promtool has nothing to say', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '1' });
  for (const provider of ['anthropic', 'openai', 'gemini', 'compat']) {
    await gateway.chat({ ...HELLO, provider });
    await gateway.stream({ ...HELLO, provider });
    await gateway.stream({ ...HELLO, provider, model: 'fake-close-mid' });
    await gateway.chat({ ...HELLO, provider, model: 'fake-status-500' });
  }
  const page = await settledPage(gateway, 16);
  const families = parsePage(page);
  assert.ok((families.get('gen_ai_server_time_to_first_token_seconds')?.samples.length ?? 0) > 0);
  if (spawnSync('promtool', ['--version']).status === 0) {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: page, encoding: 'utf8' });
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
  }
});

test('a chat is counted by route and status, by caller and provider, by attempt, in tokens and in bytes', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_AUTH_TOKENS: 'team-a:token-of-team-a-001' });
  const response = await gateway.post('/v1/chat', { ...HELLO, provider: 'openai' }, { authorization: 'Bearer token-of-team-a-001' });
  const body = (await response.json()) as { usage: { input_tokens: number; output_tokens: number } };
  const page = await settledPage(gateway, 1);
  const tokens = (type: string): number | undefined => valueOf(page, 'gateway_tokens_total', { caller: 'team-a', provider: 'openai', model: 'fake-chat', type });
  assert.equal(valueOf(page, 'gateway_http_requests_total', { route: 'chat', status: '200' }), 1);
  assert.equal(valueOf(page, 'gateway_chats_total', { caller: 'team-a', provider: 'openai', error_type: '' }), 1);
  assert.equal(valueOf(page, 'gateway_upstream_attempts_total', { provider: 'openai', outcome: 'success' }), 1);
  assert.equal(valueOf(page, 'gateway_overhead_seconds_count', { route: 'chat' }), 1);
  assert.deepEqual([tokens('input'), tokens('output')], [body.usage.input_tokens, body.usage.output_tokens]);
  assert.equal(valueOf(page, 'gateway_received_bytes_total'), JSON.stringify({ ...HELLO, provider: 'openai' }).length);
  assert.equal(valueOf(page, 'gateway_sent_bytes_total'), Number(response.headers.get('content-length')));
  assert.equal(valueOf(page, 'gateway_requests_in_flight'), 0);
});

test('a stream has the same operation name and a time to its first token', async (t) => {
  const gateway = await startGateway(t);
  await gateway.stream({ ...HELLO, provider: 'openai' });
  const page = await settledPage(gateway, 1);
  const series = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'openai', gen_ai_response_model: 'fake-chat' };
  assert.equal(valueOf(page, 'gen_ai_client_operation_duration_seconds_count', { ...series, gen_ai_request_model: 'fake-chat', error_type: '' }), 1);
  assert.equal(valueOf(page, 'gen_ai_server_time_to_first_token_seconds_count', series), 1);
  assert.equal(valueOf(page, 'gen_ai_server_time_per_output_token_seconds_count', series), 1);
  assert.equal(valueOf(page, 'gateway_overhead_seconds_count', { route: 'chat_stream' }), 1);
  assert.equal(valueOf(page, 'gateway_open_streams'), 0);
});

test('retries are counted with what they were for, and the chat that they saved is no error', async (t) => {
  const gateway = await startGateway(t);
  assert.equal((await gateway.chat({ provider: 'openai', model: 'fake-flaky-2', messages: [user('save me')] })).status, 200);
  const page = await settledPage(gateway, 1);
  assert.equal(valueOf(page, 'gateway_upstream_attempts_total', { provider: 'openai', outcome: 'server' }), 2);
  assert.equal(valueOf(page, 'gateway_upstream_attempts_total', { provider: 'openai', outcome: 'success' }), 1);
  assert.equal(valueOf(page, 'gateway_upstream_retries_total', { provider: 'openai', kind: 'server' }), 2);
  assert.equal(valueOf(page, 'gateway_chats_total', { caller: 'default', provider: 'openai', error_type: '' }), 1);
});

test('a retry that is not made is counted with its reason, and the log line says it too', async (t) => {
  const cases: [reason: string, logged: string, environment: Record<string, string>, model: string][] = [
    ['exhausted', 'exhausted', { GATEWAY_MAX_RETRIES: '2' }, 'fake-status-500'],
    ['retry_after_too_long', 'retry-after-too-long', {}, ASKS_FOR_AN_HOUR],
    ['deadline', 'deadline', { GATEWAY_RETRY_AFTER_CAP: '2h' }, ASKS_FOR_AN_HOUR],
    ['budget', 'budget', { GATEWAY_MAX_RETRIES: '100', GATEWAY_RETRY_BASE_DELAY: '0', GATEWAY_RETRY_MAX_DELAY: '0' }, 'fake-status-503'],
  ];
  for (const [reason, logged, environment, model] of cases) {
    const gateway = await startGateway(t, environment);
    await gateway.chat({ provider: 'openai', model, messages: [user('x')] });
    const page = await settledPage(gateway, 1);
    assert.equal(valueOf(page, 'gateway_upstream_retry_refusals_total', { provider: 'openai', reason }), 1);
    assert.equal(gateway.logLines.find((line) => line['route'] === 'chat')?.['retry_refused'], logged);
  }
});

for (const path of ['/v1/chat', '/v1/chat/stream']) {
  test(`a caller that hangs up on ${path} counts as that and as nobody's failure`, async (t) => {
    const gateway = await startGateway(t);
    const route = path === '/v1/chat' ? 'chat' : 'chat_stream';
    await hangUp(gateway, path, 'fake-stall', () => true);
    const page = await settledPage(gateway, 1);
    assert.equal(valueOf(page, 'gateway_caller_disconnects_total', { route }), 1);
    assert.equal(valueOf(page, 'gateway_http_requests_total', { route, status: '499' }), 1);
    assert.equal(valueOf(page, 'gateway_chats_total', { caller: 'default', provider: 'anthropic', error_type: 'caller_gone' }), 1);
    assert.equal(valueOf(page, 'gateway_upstream_attempts_total', { provider: 'anthropic', outcome: 'caller_gone' }), 1);
    assert.ok(page.includes('error_type="caller_gone"') && !page.includes('"unknown"'));
  });
}

test('a caller that hangs up within a stream is no cut stream', async (t) => {
  const gateway = await startGateway(t);
  await hangUp(gateway, '/v1/chat/stream', 'fake-stall-mid', (received) => received.length > 0);
  const page = await settledPage(gateway, 1);
  assert.equal(valueOf(page, 'gateway_caller_disconnects_total', { route: 'chat_stream' }), 1);
  assert.deepEqual(parsePage(page).get('gateway_streams_cut_total')?.samples, []);
  assert.ok(!page.includes('"unknown"'));
});

test('a stream that the provider cuts counts as cut, with its kind, though its status is 200', async (t) => {
  const gateway = await startGateway(t);
  await gateway.stream({ provider: 'openai', model: 'fake-truncate', messages: [user('x')] });
  const page = await settledPage(gateway, 1);
  assert.equal(valueOf(page, 'gateway_streams_cut_total', { provider: 'openai', kind: 'server' }), 1);
  assert.equal(valueOf(page, 'gateway_http_requests_total', { route: 'chat_stream', status: '200' }), 1);
  assert.equal(valueOf(page, 'gateway_chats_total', { caller: 'default', provider: 'openai', error_type: 'server' }), 1);
});

test('a time limit is counted by its setting: of an attempt, and of the whole request', async (t) => {
  const ask = { provider: 'openai', model: 'fake-stall', messages: [user('x')] };
  const attempt = await startGateway(t, { GATEWAY_ATTEMPT_TIMEOUT: '20ms', GATEWAY_MAX_RETRIES: '1' });
  await attempt.chat(ask);
  assert.equal(valueOf(await settledPage(attempt, 1), 'gateway_limits_total', { limit: 'GATEWAY_ATTEMPT_TIMEOUT' }), 2);
  const whole = await startGateway(t, { GATEWAY_REQUEST_TIMEOUT: '400ms' });
  await whole.chat(ask);
  const page = await settledPage(whole, 1);
  assert.equal(valueOf(page, 'gateway_limits_total', { limit: 'GATEWAY_REQUEST_TIMEOUT' }), 1);
  assert.equal(valueOf(page, 'gateway_chats_total', { caller: 'default', provider: 'openai', error_type: 'deadline' }), 1);
});

test("a chat that finds no room is counted as refused, and under its caller's name", async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_CONCURRENT: '1' });
  const release = holdReplies(gateway.sandbox);
  const stalled = gateway.chat({ model: 'held', messages: [user('x')] });
  while (gateway.sandbox.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(valueOf(await pageOf(gateway), 'gateway_requests_in_flight'), 1);
  assert.equal((await gateway.chat(HELLO)).status, 429);
  release();
  await stalled;
  const page = await settledPage(gateway, 2);
  assert.equal(valueOf(page, 'gateway_requests_refused_total', { reason: 'concurrency' }), 1);
  assert.equal(valueOf(page, 'gateway_chats_total', { caller: 'default', provider: '', error_type: 'rate_limit' }), 1);
});

test('whatever callers choose adds no series: models, providers, paths, methods, tokens, request ids', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0' });
  const methods = ['PUT', 'DELETE', 'PATCH', 'PROPFIND', 'MKCOL', 'REPORT', 'M-SEARCH', 'SUBSCRIBE', 'NONSENSE'];
  const choose = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i += 1) {
      const id = { 'x-request-id': `id-${i}` };
      const bad = new RawCaller(t, gateway.url).write(`${methods[i % methods.length]} /v1/chat/${i} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      await Promise.all([
        gateway.post('/v1/chat', { provider: 'openai', model: `made-up-${i}`, messages: [user('x')] }, id).then((answer) => answer.text()),
        gateway.post('/v1/chat', { provider: `nobody-${i}`, model: 'm', messages: [user('x')] }, id).then((answer) => answer.text()),
        gateway.post('/v1/chat', HELLO, { ...id, authorization: `Bearer guess-${i}` }).then((answer) => answer.text()),
        gateway.get(`/v1/models?provider=${i}`).then((answer) => answer.text()),
        gateway.get(`/path-${i}?query=${i}`).then((answer) => answer.text()),
        bad.closed,
      ]);
    }
  };
  await choose(0, 201);
  await pageOf(gateway);
  const before = await pageOf(gateway);
  await choose(201, 500);
  const after = await pageOf(gateway);
  assert.equal(seriesCount(after), seriesCount(before));
  assert.ok(Math.abs(after.length - before.length) < 1024, `${before.length} → ${after.length} bytes`);
  const named = new Set(after.match(/made-up-\d+/g)).size;
  assert.ok(named > 50 && named <= 200, `${named} models`);
  assert.deepEqual(after.match(/nobody-|guess-|path-|id-\d|NONSENSE|PROPFIND/g), null);
});
