/** Faults that are neither the sandbox's nor one layer's own: refused and reset connections, clocks, labels, stalled readers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { completing, startServer } from '../http/bare-server.ts';
import { RawCaller, sendRaw } from '../http/raw-caller.ts';
import { startGateway, TOKEN, user } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';
import { closedBaseUrl, okResponse, startRawServer } from '../upstream/raw-server.ts';
import { answerJson, environmentFor, GOOD_REPLY, PATHS, PROVIDERS, samplesOf, startUpstream } from './upstream.ts';

const AUTH = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const ASK = { model: 'm', messages: [user('x')] };

function post(headers: string, body: string): string {
  return `POST /v1/chat HTTP/1.1\r\n${AUTH}${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

test('a provider that refuses connections is 502 unknown after every retry, and others are served', async (t) => {
  const gateway = await startGateway(t, { OPENAI_BASE_URL: (await closedBaseUrl()).href });
  for (const path of PATHS) {
    const response = await gateway.post(path, { ...ASK, provider: 'openai' });
    assert.equal(response.status, 502);
    assert.equal(((await response.json()) as { kind: string }).kind, 'unknown');
  }
  assert.equal(gateway.logLines.filter((line) => line['message'] === 'attempt').length, 2 * 4);
  assert.equal((await gateway.chat({ provider: 'anthropic', model: 'fake-chat', messages: [user('x')] })).status, 200);
});

test('a connection that is reset before the answer costs one attempt: 100 requests, 100 answers', async (t) => {
  let calls = 0;
  const upstream = await startRawServer(t, {
    onRequest: (socket) => {
      calls += 1;
      if (calls % 2 === 1) socket.resetAndDestroy();
      else socket.end(okResponse(GOOD_REPLY, 'connection: close\r\n'));
    },
  });
  const gateway = await startGateway(t, { OPENAI_BASE_URL: upstream.baseUrl.origin });
  for (let i = 0; i < 100; i += 1) assert.equal((await gateway.chat({ ...ASK, provider: 'openai' })).status, 200);
  assert.equal(calls, 200);
});

test('what a provider refuses for good is asked once', async (t) => {
  const upstream = await startUpstream(t, (response, _request, body) => answerJson(response, Number(/status (\d+)/.exec(body)?.[1]), '{}'));
  const gateway = await startGateway(t, environmentFor(upstream));
  let asked = 0;
  for (const status of [400, 401, 402, 403, 404, 413, 422]) {
    for (const provider of PROVIDERS) {
      for (const path of PATHS) {
        await (await gateway.post(path, { provider, model: 'm', messages: [user(`status ${status}`)] })).text();
        asked += 1;
        assert.equal(upstream.calls(), asked, `${status} of ${provider} on ${path}`);
      }
    }
  }
});

test('a wall clock that jumps by years ends nothing, waits for nothing and refills nothing', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1) });
  const gateway = await startGateway(t, { OPENAI_BASE_URL: (await closedBaseUrl()).href, GATEWAY_MAX_RETRIES: '2' });
  for (const year of [2027, 1990]) {
    const called = gateway.sandbox.calls.length;
    const replies = PATHS.map((path) => gateway.post(path, { provider: 'anthropic', model: 'fake-late-50', messages: [user('x')] }));
    await until(() => gateway.sandbox.calls.length === called + PATHS.length);
    t.mock.timers.setTime(Date.UTC(year, 0, 1));
    const texts = await Promise.all(replies.map(async (reply) => (await reply).text()));
    assert.match(texts[0] ?? '', /"stop_reason":"end_turn"/);
    assert.match(texts[1] ?? '', /"type":"done"/);
  }
  // The budget of 500 tokens pays for 35 retries, and of the clock's years nothing flows back.
  for (let i = 0; i < 30; i += 1) {
    t.mock.timers.setTime(Date.UTC(2030 + i, 0, 1));
    assert.equal((await gateway.chat({ ...ASK, provider: 'openai' })).status, 502);
  }
  assert.ok((await samplesOf(gateway, 'gateway_upstream_retry_refusals_total')).some((sample) => sample.includes('reason="budget"')));
  for (const line of gateway.logLines) assert.ok(Number(line['total_ms'] ?? 0) >= 0 && Number(line['total_ms'] ?? 0) < 60_000);
});

test('keys named like prototypes reach the provider as data and touch no prototype', async (t) => {
  const gateway = await startGateway(t);
  const options = '{"__proto__":{"polluted":1},"metadata":{"constructor":{"prototype":{"polluted":1}}}}';
  for (const provider of PROVIDERS) {
    const response = await gateway.post('/v1/chat', `{"provider":"${provider}","model":"fake-chat","messages":[{"role":"user","text":"x"}],"provider_options":${options}}`);
    await response.text();
    assert.ok(gateway.sandbox.calls.at(-1)?.body.includes('"__proto__":{"polluted":1}'), provider);
  }
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});

test('nothing that callers choose adds a series to the metrics page after the first of its sort', async (t) => {
  const gateway = await startGateway(t);
  const askAll = async (i: number): Promise<void> => {
    const texts = [
      gateway.get(`/path-${i}?q=${i}`),
      gateway.get('/v1/providers', { authorization: `Bearer token-${i}` }),
      gateway.get('/healthz', { 'user-agent': `agent-${i}`, 'x-request-id': `id-${i}`, origin: `https://o${i}.example`, [`x-name-${i}`]: 'x' }),
      gateway.get(`/v1/models?provider=name-${i}`),
      gateway.chat({ provider: `name-${i}`, model: 'm', messages: [user('x')] }),
      gateway.chat({ provider: 'openai', model: 'fake-status-404', messages: [user(`${i}`)], provider_options: { [`k${i}`]: i } }),
    ].map(async (reply) => {
      const answer = await reply;
      if (answer instanceof Response) await answer.text();
    });
    await Promise.all(texts);
  };
  const series = async (): Promise<readonly string[]> =>
    (await (await gateway.get('/metrics')).text()).split('\n').map((line) => line.slice(0, line.lastIndexOf(' '))).sort();
  await askAll(0);
  await series();
  const before = await series();
  for (let i = 1; i <= 50; i += 1) await askAll(i);
  assert.deepEqual(await series(), before);
});

test('another spelling of a path is another path, and HEAD is no POST', async (t) => {
  const gateway = await startGateway(t);
  const targets = ['/v1/%63hat', '/v1/./chat', '/v1/%2e/chat', '/x/../v1/chat', '/v1/chat;a=b', '/v1/chat%00', '/v1/chat%3Fa', '/v1\\chat', '///v1/chat'];
  for (const target of targets) {
    const [answer] = await sendRaw(t, gateway.url, `POST ${target} HTTP/1.1\r\n${AUTH}Connection: close\r\nContent-Length: 0\r\n\r\n`);
    assert.equal(answer?.status, 404, target);
  }
  const head = new RawCaller(t, gateway.url).write(`HEAD /v1/chat HTTP/1.1\r\n${AUTH}Connection: close\r\n\r\n`);
  await head.closed;
  assert.match(head.received, /^HTTP\/1\.1 405 [^]*\r\n\r\n$/);
  assert.match(head.received, /\r\nAllow: POST\r\n/);
});

test('no 100 Continue for a body that is too large or finds no room', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_BODY_BYTES: '1000', GATEWAY_MAX_CONCURRENT: '1' });
  const expecting = (bytes: number): string => `POST /v1/chat HTTP/1.1\r\n${AUTH}Expect: 100-continue\r\nContent-Length: ${bytes}\r\n\r\n`;
  assert.deepEqual((await sendRaw(t, gateway.url, expecting(1001))).map(({ status }) => status), [413]);
  new RawCaller(t, gateway.url).write(post('', JSON.stringify({ model: 'fake-stall', messages: [user('x')] })));
  await until(() => gateway.sandbox.calls.length === 1);
  assert.deepEqual((await sendRaw(t, gateway.url, expecting(10))).map(({ status }) => status), [429]);
});

/** More than both ends of a connection take in without a reader. */
const LONG_TEXT = 'x'.repeat(32 * 1024 * 1024);
const LONG_REPLY = { id: 'a', model: 'm', parts: [{ type: 'text', text: LONG_TEXT, state: undefined }], stopReason: 'end_turn', usage: undefined, thinking: '' } as const;

test('a caller that does not read its whole reply is cut off after the limit, which the log names', async (t) => {
  const server = await startServer(t, {
    environment: { GATEWAY_WRITE_STALL_TIMEOUT: '200ms' },
    gateway: { complete: completing(() => ({ reply: LONG_REPLY, raw: '' })) },
  });
  const caller = new RawCaller(t, server.url).write(post('', JSON.stringify(ASK)));
  caller.socket.pause();
  await until(() => server.logLines.length > 0);
  assert.equal(server.logLines[0]?.['ended'], 'caller-stalled');
  assert.equal(server.logLines[0]?.['limit'], 'GATEWAY_WRITE_STALL_TIMEOUT');
  assert.match(server.metricsPage(), /gateway_limits_total\{limit="GATEWAY_WRITE_STALL_TIMEOUT"\} 1\n/);
  assert.equal(server.exchanges.count, 0);
});

test('the limit on a stalled reader ends with its answer: the next request of the connection may take longer', async (t) => {
  let calls = 0;
  const server = await startServer(t, {
    environment: { GATEWAY_WRITE_STALL_TIMEOUT: '500ms' },
    gateway: {
      complete: completing(async () => {
        calls += 1;
        if (calls === 1) return { reply: LONG_REPLY, raw: '' };
        await delay(900);
        return { reply: { ...LONG_REPLY, parts: [] }, raw: '' };
      }),
    },
  });
  const response = new RawCaller(t, server.url).write(post('', JSON.stringify(ASK)) + post('Connection: close\r\n', JSON.stringify(ASK)));
  await response.closed;
  assert.deepEqual(response.answers.map(({ status }) => status), [200, 200]);
});
