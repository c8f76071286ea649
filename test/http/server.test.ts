import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { holdReplies, startGateway, TOKEN, user } from '../running-gateway.ts';
import type { ReplyBody, RunningGateway } from '../running-gateway.ts';

const HELLO = { model: 'fake-chat', messages: [user('Hello')] };

/** Sends raw bytes and resolves with everything that comes back until the server closes. */
function sendRaw(gateway: RunningGateway, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (received += chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
    socket.write(text);
  });
}

function bodyOf(raw: string): ReplyBody {
  return JSON.parse(raw.slice(raw.indexOf('\r\n\r\n') + 4)) as ReplyBody;
}

const AUTH = `Authorization: Bearer ${TOKEN}\r\n`;

test('a missing, wrong, shortened, lengthened or differently schemed token is 401 auth, and nothing is called', async (t) => {
  const gateway = await startGateway(t);
  const headers = ['', `Bearer wrong`, `Bearer ${TOKEN.slice(0, -1)}`, `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, TOKEN, 'Bearer', `Bearer ${TOKEN} ${TOKEN}`, `Bearer ${'x'.repeat(9000)}`];
  for (const authorization of headers) {
    for (const path of ['/v1/chat', '/v1/chat/stream']) {
      const response = await gateway.post(path, HELLO, { authorization });
      assert.equal(response.status, 401, authorization);
      assert.equal(response.headers.get('www-authenticate'), 'Bearer');
      assert.equal(((await response.json()) as ReplyBody).kind, 'auth');
    }
  }
  assert.equal((await gateway.get('/v1/models', { authorization: 'Bearer no' })).status, 401);
  assert.equal((await gateway.get('/v1/providers', { authorization: 'Bearer no' })).status, 401);
  assert.equal(gateway.sandbox.calls.length, 0);
});

test('a token that is not sent as one is told apart from a wrong one', async (t) => {
  const gateway = await startGateway(t);
  const sentence = async (authorization: string): Promise<unknown> => ((await (await gateway.post('/v1/chat', HELLO, { authorization })).json()) as ReplyBody).error;
  for (const missing of ['', 'Bearer', `Basic ${TOKEN}`, TOKEN]) {
    assert.equal(await sentence(missing), 'missing bearer token: send Authorization: Bearer <token>', missing);
  }
  for (const wrong of ['Bearer wrong', `Bearer "${TOKEN}"`, `Bearer ${'x'.repeat(9000)}`]) assert.equal(await sentence(wrong), 'wrong bearer token', wrong);
});

test('the scheme of the token is read in any case', async (t) => {
  const gateway = await startGateway(t);
  assert.equal((await gateway.post('/v1/chat', HELLO, { authorization: `bearer ${TOKEN}` })).status, 200);
});

test('a token is checked before the body is read: a body that never comes costs nothing', async (t) => {
  const gateway = await startGateway(t);
  const raw = await sendRaw(gateway, 'POST /v1/chat HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n{');
  assert.match(raw, /^HTTP\/1\.1 401 /);
  assert.match(raw, /\r\nConnection: close\r\n/);
  assert.equal(bodyOf(raw).kind, 'auth');
});

test('each of several tokens is accepted and its label, never the token, is logged', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_AUTH_TOKENS: 'alice:token-of-alice-0001,bob:token-of-bob-00002' });
  await (await gateway.post('/v1/chat', HELLO, { authorization: 'Bearer token-of-bob-00002' })).text();
  await (await gateway.get('/healthz')).text();
  const line = gateway.logLines.find((entry) => entry['route'] === 'chat');
  assert.equal(line?.['caller'], 'bob');
  assert.ok(!JSON.stringify(gateway.logLines).includes('token-of-bob'));
});

test('an unknown path is 404, a wrong method 405 with Allow, both with the error body', async (t) => {
  const gateway = await startGateway(t);
  for (const path of ['/', '/v1', '/v1/chat/', '//v1/chat', '/v1/chat%2fstream', '/V1/chat', '/v1/chat/../chat/x']) {
    const response = await gateway.get(path);
    assert.equal(response.status, 404, path);
    assert.equal(((await response.json()) as ReplyBody).kind, 'not_found');
  }
  const cases: [string, string, string][] = [
    ['GET', '/v1/chat', 'POST'],
    ['PUT', '/v1/chat/stream', 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['DELETE', '/healthz', 'GET, HEAD'],
    ['OPTIONS', '/metrics', 'GET, HEAD'],
  ];
  for (const [method, path, allow] of cases) {
    const response = await fetch(gateway.url + path, { method });
    assert.equal(response.status, 405, `${method} ${path}`);
    assert.equal(response.headers.get('allow'), allow);
    assert.equal(((await response.json()) as ReplyBody).kind, 'bad_request');
  }
});

test('a WebSocket where chats are asked for is a 426 that names HTTP, and elsewhere what it would be without', async (t) => {
  const gateway = await startGateway(t);
  const upgrade = 'Host: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
  for (const path of ['/v1/responses', '/v1/chat/stream']) {
    const raw = await sendRaw(gateway, `GET ${path} HTTP/1.1\r\n${upgrade}`);
    assert.match(raw, /^HTTP\/1\.1 426 Upgrade Required\r\n/);
    assert.match(raw, /\r\nUpgrade: HTTP\/1\.1\r\n/i);
    assert.match(raw, /\r\nConnection: close, Upgrade\r\n/i);
    assert.match(raw, /\r\nAllow: POST\r\n/i);
    assert.match(raw, /this path takes POST only, and no WebSocket/);
  }
  assert.match(await sendRaw(gateway, `PUT /v1/responses HTTP/1.1\r\n${upgrade.replace('keep-alive', 'close')}`), /^HTTP\/1\.1 405 /);
  assert.match(await sendRaw(gateway, `GET /healthz HTTP/1.1\r\n${upgrade.replace('keep-alive', 'close')}`), /^HTTP\/1\.1 200 /);
});

test('HEAD works where GET does, without a body', async (t) => {
  const gateway = await startGateway(t);
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    const response = await fetch(gateway.url + path, { method: 'HEAD' });
    assert.equal(response.status, 200, path);
    assert.ok(Number(response.headers.get('content-length')) > 0);
    assert.equal(await response.text(), '');
  }
});

test("every answer carries a request id: the caller's own where it is harmless, else a fresh one", async (t) => {
  const gateway = await startGateway(t);
  const given = await gateway.get('/healthz', { 'x-request-id': 'abc.DEF-1_2' });
  assert.equal(given.headers.get('x-request-id'), 'abc.DEF-1_2');
  for (const bad of ['has space', 'x'.repeat(129), 'ä']) {
    const response = await gateway.get('/nope', { 'x-request-id': bad });
    assert.match(response.headers.get('x-request-id') ?? '', /^[0-9a-f]{32}$/, bad);
  }
});

test('providers are listed by name with the default', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_DEFAULT_PROVIDER: 'openai' });
  const response = await gateway.get('/v1/providers');
  assert.deepEqual(await response.json(), { providers: ['anthropic', 'compat', 'gemini', 'openai'], default: 'openai' });
});

test('the default provider serves requests and model lists that name none', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_DEFAULT_PROVIDER: 'gemini' });
  assert.equal((await gateway.chat(HELLO)).body.provider, 'gemini');
  assert.equal(((await (await gateway.get('/v1/models')).json()) as ReplyBody).provider, 'gemini');
});

test('a provider that is not registered is 404 not_found, before anything is called', async (t) => {
  const gateway = await startGateway(t);
  const { status, body } = await gateway.chat({ ...HELLO, provider: 'nobody' });
  assert.equal(status, 404);
  assert.deepEqual(body, { kind: 'not_found', error: 'provider: "nobody" is not registered on this gateway; GET /v1/providers lists those that are' } as unknown as ReplyBody);
  assert.equal((await gateway.get('/v1/models?provider=nobody')).status, 404);
  assert.equal(gateway.sandbox.calls.length, 0);
});

test('a body that is no good is 400 with its place, before anything is called', async (t) => {
  const gateway = await startGateway(t);
  const cases: [string, RegExp][] = [
    ['{', /the body is not valid JSON/],
    ['[]', /must be a JSON object/],
    ['{"model":"m","messages":[]}', /^messages: /],
    ['{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x","colour":1}]}]}', /^messages\[0\]\.content\[0\]\.colour: unknown field$/],
    ['{"model":"m","messages":[{"role":"user","content":"hi"}]}', /^messages\[0\]\.content: .*use `text`/],
    ['{"model":"m","messages":[{"role":"user","text":"x"},{"role":"assistant","content":[{"type":"tool_call","id":"a","name":"f"}]}]}', /^messages\[1\]\.content\[0\]/],
  ];
  for (const [body, sentence] of cases) {
    for (const path of ['/v1/chat', '/v1/chat/stream']) {
      const response = await gateway.post(path, body);
      const answer = (await response.json()) as ReplyBody;
      assert.equal(response.status, 400, body);
      assert.equal(answer.kind, 'bad_request');
      assert.match(answer.error ?? '', sentence);
    }
  }
  assert.equal(gateway.sandbox.calls.length, 0);
});

test('a body over the limit is 413, by its length or when it passes the limit, without reading the rest', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_BODY_BYTES: '1000' });
  const declared = await sendRaw(gateway, `POST /v1/chat HTTP/1.1\r\nHost: x\r\n${AUTH}Content-Length: 1001\r\n\r\n`);
  assert.match(declared, /^HTTP\/1\.1 413 [^]*\r\nConnection: close\r\n/);
  assert.equal(bodyOf(declared).kind, 'bad_request');
  const chunked = await sendRaw(
    gateway,
    `POST /v1/chat HTTP/1.1\r\nHost: x\r\n${AUTH}Transfer-Encoding: chunked\r\n\r\n400\r\n${'x'.repeat(1024)}\r\n`,
  );
  assert.match(chunked, /^HTTP\/1\.1 413 /);
});

test('a compressed body or another charset is 415', async (t) => {
  const gateway = await startGateway(t);
  for (const headers of [{ 'content-encoding': 'gzip' }, { 'content-type': 'application/json; charset=utf-16' }]) {
    const response = await gateway.post('/v1/chat', HELLO, headers);
    assert.equal(response.status, 415, JSON.stringify(headers));
    assert.equal(((await response.json()) as ReplyBody).kind, 'bad_request');
  }
  for (const headers of [{ 'content-encoding': 'identity' }, { 'content-type': 'text/plain; charset="UTF-8"' }, { 'content-type': 'x' }]) {
    assert.equal((await gateway.post('/v1/chat', HELLO, headers)).status, 200, JSON.stringify(headers));
  }
});

test('Expect: 100-continue is answered only for a request that will be read', async (t) => {
  const gateway = await startGateway(t);
  const head = 'Host: x\r\nExpect: 100-continue\r\nConnection: close\r\n';
  const refused = await sendRaw(gateway, `POST /v1/chat HTTP/1.1\r\n${head}Content-Length: 10\r\n\r\n`);
  assert.match(refused, /^HTTP\/1\.1 401 /);
  const body = JSON.stringify(HELLO);
  const accepted = await sendRaw(gateway, `POST /v1/chat HTTP/1.1\r\n${head}${AUTH}Content-Length: ${body.length}\r\n\r\n${body}`);
  assert.match(accepted, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  const other = await sendRaw(gateway, `POST /v1/chat HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\n${AUTH}Content-Length: 0\r\n\r\n`);
  assert.match(other, /^HTTP\/1\.1 417 /);
});

test('what node:http would answer by default has the error body too', async (t) => {
  const gateway = await startGateway(t);
  const cases: [string, number][] = [
    ['NONSENSE\r\n\r\n', 400],
    ['GET /healthz HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n', 400],
    [`GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    ['GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['GET http://elsewhere/healthz HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 400],
    [`GET /v1/providers HTTP/1.1\r\nHost: x\r\n${AUTH}Authorization: Bearer other\r\n\r\n`, 400],
    ['CONNECT elsewhere:443 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['POST /v1/chat HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
  ];
  for (const [text, status] of cases) {
    const raw = await sendRaw(gateway, text);
    assert.match(raw, new RegExp(`^HTTP/1\\.1 ${status} `), text);
    assert.match(raw, /\r\nX-Request-Id: [0-9a-f]{32}\r\n/i, text);
    assert.equal(bodyOf(raw).kind, 'bad_request', text);
  }
  assert.equal(gateway.sandbox.calls.length, 0);
});

test('an upgrade is not taken up: the request is answered as it is', async (t) => {
  const gateway = await startGateway(t);
  const raw = await sendRaw(gateway, 'GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n');
  assert.match(raw, /^HTTP\/1\.1 200 /);
});

test('a listed origin is echoed and its preflight needs no token; another origin gets no header', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_ALLOWED_ORIGINS: 'https://app.example,app://obsidian.md' });
  const plugin = await gateway.post('/v1/chat', HELLO, { origin: 'app://obsidian.md' });
  assert.equal(plugin.headers.get('access-control-allow-origin'), 'app://obsidian.md');
  const preflight = await fetch(`${gateway.url}/v1/chat`, {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get('access-control-allow-origin'), 'https://app.example');
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /authorization/i);
  const allowed = await gateway.post('/v1/chat', HELLO, { origin: 'https://app.example' });
  assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://app.example');
  const other = await gateway.post('/v1/chat', HELLO, { origin: 'https://evil.example' });
  assert.equal(other.headers.get('access-control-allow-origin'), null);
});

test('without listed origins no answer speaks of origins', async (t) => {
  const gateway = await startGateway(t);
  const response = await gateway.post('/v1/chat', HELLO, { origin: 'https://app.example' });
  assert.equal(response.headers.get('access-control-allow-origin'), null);
});

test('at the limit of concurrent requests the next is 429 with Retry-After, and a place is given back', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_CONCURRENT: '1' });
  const stalled = new AbortController();
  const first = fetch(`${gateway.url}/v1/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ model: 'fake-stall', messages: [user('x')] }),
    signal: stalled.signal,
  }).catch(() => undefined);
  await until(() => gateway.sandbox.calls.length === 1);
  const refused = await gateway.post('/v1/chat', HELLO);
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.equal(((await refused.json()) as ReplyBody).kind, 'rate_limit');
  stalled.abort();
  await first;
  await until(() => gateway.sandbox.openConnections() === 0);
  assert.equal((await gateway.post('/v1/chat', HELLO)).status, 200);
});

test('the metrics page needs its token only where one is set, and can be turned off', async (t) => {
  const open = await startGateway(t);
  assert.equal((await fetch(`${open.url}/metrics`)).status, 200);
  const guarded = await startGateway(t, { GATEWAY_METRICS_TOKEN: 'metrics-token-000001' });
  assert.equal((await fetch(`${guarded.url}/metrics`)).status, 401);
  assert.equal((await guarded.get('/metrics', { authorization: 'Bearer metrics-token-000001' })).status, 200);
  const off = await startGateway(t, { GATEWAY_METRICS: 'false' });
  for (const path of ['/metrics', '/metrics/']) {
    const response = await fetch(`${off.url}${path}`);
    assert.equal(response.status, 404);
    assert.match(await response.text(), /"no such path"/);
  }
});

test('the metrics page counts requests, durations and tokens', async (t) => {
  const gateway = await startGateway(t);
  await gateway.chat({ ...HELLO, provider: 'openai' });
  const page = await (await gateway.get('/metrics')).text();
  assert.match(page, /gateway_http_requests_total\{route="chat",status="200"\} 1\n/);
  assert.match(page, /gen_ai_client_operation_duration_seconds_count\{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="fake-chat",gen_ai_response_model="fake-chat",error_type=""\} 1\n/);
  assert.match(page, /gen_ai_client_token_usage_count\{[^}]*gen_ai_token_type="input"\} 1\n/);
});

test('one log line an exchange says what happened and quotes nothing of it', async (t) => {
  const gateway = await startGateway(t);
  await gateway.chat({ model: 'fake-chat', messages: [user('a secret prompt')] });
  await until(() => gateway.logLines.some((line) => line['route'] === 'chat'));
  const lines = gateway.logLines.filter((line) => line['route'] === 'chat');
  assert.equal(lines.length, 1);
  assert.equal(lines[0]?.['status'], 200);
  assert.equal(lines[0]?.['provider'], 'anthropic');
  assert.equal(lines[0]?.['attempts'], 1);
  assert.ok(!JSON.stringify(gateway.logLines).includes('secret prompt'));
});

test("raw is the provider's body byte for byte when the operator enables it", async (t) => {
  const gateway = await startGateway(t, { GATEWAY_INCLUDE_RAW: 'true' });
  const text = await (await gateway.post('/v1/chat', { provider: 'gemini', model: 'fake-json-numbers', messages: [user('x')], tools: [{ name: 'f' }] })).text();
  assert.ok(text.includes('"raw":'));
  assert.ok(text.slice(text.indexOf('"raw":')).includes('12345678901234567890'));
});

test("the provider's prose reaches a caller only when the operator allows it, masked, and never for a rejected key", async (t) => {
  const closed = await startGateway(t, { GATEWAY_MAX_RETRIES: '0' });
  const open = await startGateway(t, { GATEWAY_MAX_RETRIES: '0', GATEWAY_FORWARD_ERROR_MESSAGES: 'true' });
  const ask = async (gateway: RunningGateway, model: string): Promise<string> =>
    (await gateway.chat({ model, messages: [user('x')] })).body.error ?? '';
  const own = await ask(closed, 'fake-status-400');
  const withProse = await ask(open, 'fake-status-400');
  assert.ok(withProse.startsWith(own) && withProse.length > own.length, withProse);
  assert.equal(await ask(open, 'fake-echo-key'), await ask(closed, 'fake-echo-key'));
  assert.ok(!JSON.stringify([...open.logLines, ...closed.logLines]).includes('canary'));
});

test('draining: unready at once, in-flight requests finish, then the listener is closed', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_DRAIN_DELAY: '1s' });
  const release = holdReplies(gateway.sandbox);
  const slow = gateway.chat({ model: 'held', messages: [user('x')] });
  await until(() => gateway.sandbox.calls.length === 1);
  const drained = gateway.app.drain();
  const ready = await gateway.get('/readyz');
  assert.equal(ready.status, 503);
  assert.deepEqual(await ready.json(), { status: 'draining' });
  assert.equal(ready.headers.get('connection'), 'close');
  assert.equal((await gateway.get('/healthz')).status, 200);
  release();
  assert.equal((await slow).status, 200);
  assert.equal(await drained, true);
  await assert.rejects(fetch(`${gateway.url}/healthz`));
});

test('at the end of the grace a whole request gets 503 and an open stream an error frame', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_SHUTDOWN_GRACE: '50ms' });
  const whole = gateway.chat({ model: 'fake-stall', messages: [user('x')] });
  const streamed = gateway.stream({ model: 'fake-stall-mid', messages: [user('x')] });
  await until(() => gateway.sandbox.calls.length === 2);
  await until(async () => (await (await gateway.get('/metrics')).text()).includes('gateway_open_streams 1'));
  assert.equal(await gateway.app.drain(), false);
  assert.equal((await whole).status, 503);
  assert.equal((await streamed).at(-1)?.type, 'error');
});

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}
