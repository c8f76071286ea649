/** The log line of an exchange. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerJson, startUpstream } from '../faults/upstream.ts';
import { readPage } from '../readme.ts';
import { PROVIDER_KEY, routeOf, startGateway, TOKEN, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { RawCaller } from './raw-caller.ts';

const HELLO = { provider: 'openai', model: 'fake-chat', messages: [user('a secret prompt')] };

type Line = Readonly<Record<string, unknown>>;

/** The line of the first exchange of a route, once it is there. */
async function lineOf(gateway: RunningGateway, route: string): Promise<Line> {
  for (;;) {
    const line = gateway.logLines.find((each) => each['route'] === route && each['total_ms'] !== undefined);
    if (line !== undefined) return line;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('the line of a whole chat says who asked whom for what, how it went, how long it took and what it cost', async (t) => {
  const gateway = await startGateway(t);
  const askedAtMs = performance.now();
  const response = await gateway.post('/v1/chat', HELLO, { 'x-request-id': 'my-id' });
  const body = (await response.json()) as { usage: { input_tokens: number; output_tokens: number } };
  const { time, total_ms, upstream_ms, ...rest } = await lineOf(gateway, 'chat');
  assert.deepEqual(rest, {
    level: 'info',
    message: 'chat',
    status: 200,
    provider: 'openai',
    model: 'fake-chat',
    served_model: 'fake-chat',
    attempts: 1,
    input_tokens: body.usage.input_tokens,
    output_tokens: body.usage.output_tokens,
    received_bytes: JSON.stringify(HELLO).length,
    sent_bytes: Number(response.headers.get('content-length')),
    caller: 'default',
    address: '127.0.0.1',
    method: 'POST',
    route: 'chat',
    request_id: 'my-id',
  });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Number(total_ms) >= Number(upstream_ms) && Number(upstream_ms) >= 0);
  assert.ok(Number(total_ms) <= performance.now() - askedAtMs + 1, `${total_ms}`);
});

test('the line of a stream says when its first event came', async (t) => {
  const gateway = await startGateway(t);
  await gateway.stream(HELLO);
  const line = await lineOf(gateway, 'chat_stream');
  assert.ok(Number(line['first_event_ms']) <= Number(line['total_ms']));
  assert.equal(line['status'], 200);
});

test('the line of a retried chat says how often it was tried and how long it waited', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_RETRY_BASE_DELAY: '20ms', GATEWAY_RETRY_MAX_DELAY: '40ms' });
  await gateway.chat({ ...HELLO, model: 'fake-flaky-3' });
  const line = await lineOf(gateway, 'chat');
  assert.equal(line['attempts'], 4);
  assert.ok(Number(line['wait_ms']) > 0);
  assert.equal(line['level'], 'info');
});

test("the line of a failure is a warning with its kind, the gateway's sentence and the provider's words", async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0' });
  const { body } = await gateway.chat({ ...HELLO, model: 'fake-status-500' });
  const line = await lineOf(gateway, 'chat');
  assert.deepEqual([line['level'], line['status'], line['kind'], line['error']], ['warn', 502, 'server', body.error]);
  assert.ok(String(line['detail']).length > 0);
  assert.equal(line['retry_refused'], 'exhausted');
});

test("a caller's own mistake is no warning", async (t) => {
  const gateway = await startGateway(t);
  await gateway.chat({ model: 'm' });
  const line = await lineOf(gateway, 'chat');
  assert.deepEqual([line['level'], line['status'], line['kind'], line['provider']], ['info', 400, 'bad_request', undefined]);
});

test('a stream that was cut is a warning though its status is 200', async (t) => {
  const gateway = await startGateway(t);
  await gateway.stream({ ...HELLO, model: 'fake-close-mid' });
  const line = await lineOf(gateway, 'chat_stream');
  assert.deepEqual([line['level'], line['status'], line['kind']], ['warn', 200, 'server']);
});

test('a caller that hung up is 499 and no failure of any kind', async (t) => {
  const gateway = await startGateway(t);
  const caller = new AbortController();
  const asked = fetch(`${gateway.url}/v1/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ ...HELLO, model: 'fake-stall' }),
    signal: caller.signal,
  });
  asked.catch(() => undefined);
  while (gateway.sandbox.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  caller.abort();
  const line = await lineOf(gateway, 'chat');
  assert.deepEqual([line['level'], line['status'], line['kind'], line['ended']], ['info', 499, undefined, 'caller-gone']);
});

test('the limit that ended a request is named', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_REQUEST_TIMEOUT: '30ms' });
  await gateway.chat({ ...HELLO, model: 'fake-stall' });
  const line = await lineOf(gateway, 'chat');
  assert.deepEqual([line['limit'], line['ended']], ['GATEWAY_REQUEST_TIMEOUT', 'deadline']);
});

test('probes and scrapes are logged at debug only', async (t) => {
  const paths = ['/healthz', '/readyz', '/metrics'];
  const quiet = await startGateway(t, { GATEWAY_LOG_LEVEL: 'info' });
  for (const path of [...paths, '/v1/providers']) await (await quiet.get(path)).text();
  await lineOf(quiet, 'providers');
  assert.deepEqual(quiet.logLines.map((line) => line['message']), ['providers']);
  const loud = await startGateway(t);
  for (const path of paths) await (await loud.get(path)).text();
  for (const path of paths) assert.equal((await lineOf(loud, path.slice(1)))['level'], 'debug');
});

test('debug adds a line an attempt, with the id of the request and nothing of its content', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '1' });
  await (await gateway.post('/v1/chat', { ...HELLO, model: 'fake-flaky-1' }, { 'x-request-id': 'my-id' })).text();
  await lineOf(gateway, 'chat');
  const attempts = gateway.logLines.filter((line) => line['message'] === 'attempt');
  assert.deepEqual(
    attempts.map((line) => [line['level'], line['request_id'], line['provider'], line['attempt'], line['outcome']]),
    [['debug', 'my-id', 'openai', 1, 'server'], ['debug', 'my-id', 'openai', 2, 'success']],
  );
  assert.ok(!JSON.stringify(gateway.logLines).includes('secret prompt'));
});

test('no line holds a path, a query, a header, a token or a key', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0' });
  await (await gateway.get('/secret-path?secret=query', { 'x-secret': 'secret-header' })).text();
  await (await gateway.get('/v1/models?provider=secret-name')).text();
  await (await gateway.post('/v1/chat?secret=query', HELLO, { authorization: 'Bearer secret-guess' })).text();
  await gateway.chat({ ...HELLO, model: 'fake-echo-key' });
  await lineOf(gateway, 'chat');
  const lines = JSON.stringify(gateway.logLines);
  for (const secret of ['secret-path', 'secret=', 'secret-header', 'secret-guess', 'secret prompt', TOKEN, PROVIDER_KEY]) {
    assert.ok(!lines.includes(secret), secret);
  }
});

test("a short key garbles no sentence of the gateway's own, and is masked in the provider's", async (t) => {
  const host = await startUpstream(t, (response) => answerJson(response, 400, '{"error":{"message":"is Ollama running?","code":"no_ollama"}}'));
  const gateway = await startGateway(t, { GATEWAY_COMPAT_NAME: 'ollama', GATEWAY_COMPAT_API_KEY: 'ollama', GATEWAY_COMPAT_BASE_URL: host.origin });
  const { body } = await gateway.chat({ ...HELLO, provider: 'ollama' });
  const line = await lineOf(gateway, 'chat');
  assert.equal(body.error, 'ollama refused the request as malformed (HTTP 400, code no_[key])');
  assert.deepEqual([line['error'], line['detail'], line['provider']], [body.error, 'is [key] running?', 'ollama']);
});

test('a key that a provider gives as its code reaches neither the caller nor the log', async (t) => {
  const host = await startUpstream(t, (response) => answerJson(response, 400, JSON.stringify({ error: { message: 'x', code: PROVIDER_KEY, param: PROVIDER_KEY } })));
  const gateway = await startGateway(t, { GATEWAY_COMPAT_API_KEY: PROVIDER_KEY, GATEWAY_COMPAT_BASE_URL: host.origin });
  const { body } = await gateway.chat({ ...HELLO, provider: 'compat' });
  const line = await lineOf(gateway, 'chat');
  assert.equal(body.error, 'compat refused the request as malformed (HTTP 400, code [key], parameter [key])');
  assert.equal(line['error'], body.error);
  assert.ok(!JSON.stringify(gateway.logLines).includes(PROVIDER_KEY));
});

test('a token that a caller writes into its body does not reach the log', async (t) => {
  const gateway = await startGateway(t);
  for (const body of [{ ...HELLO, provider: TOKEN }, { ...HELLO, [TOKEN]: 1 }, { messages: [{ role: 'user', [`${TOKEN} x`]: 1 }] }]) await gateway.chat(body);
  while (gateway.logLines.filter((line) => line['route'] === 'chat').length < 3) await new Promise((resolve) => setImmediate(resolve));
  const errors = gateway.logLines.filter((line) => line['route'] === 'chat').map((line) => line['error']);
  assert.deepEqual(errors, ['provider: "[key]" is not registered on this gateway; GET /v1/providers lists those that are', '[key]: unknown field', 'messages[0]["[key] x"]: unknown field']);
});

test('nor does one that it sends for a model, which nobody serves', async (t) => {
  const host = await startUpstream(t, (response) => answerJson(response, 404, '{"error":{"message":"no such model"}}'));
  const gateway = await startGateway(t, { GATEWAY_COMPAT_BASE_URL: host.origin, GATEWAY_COMPAT_API_KEYS: 'one-key,another-key' });
  await gateway.chat({ ...HELLO, provider: 'compat', model: TOKEN });
  const line = await lineOf(gateway, 'chat');
  assert.deepEqual([line['status'], line['model'], line['tried']], [404, '[key]', 'compat/[key]:not_found']);
  assert.ok(!JSON.stringify(gateway.logLines).includes(TOKEN));
});

test('nor does one that it writes where no field is unknown: a key that comes twice, a place, an id', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_AUTH_TOKENS: `other:${TOKEN}-of-another` });
  const [messages, said] = ['"messages":[{"role":"user","content":"x"}]', '"messages":[{"role":"user","text":"x"}'];
  const bodies = [
    ['/v1/chat/completions', `{"model":"compat/m",${messages},"${TOKEN}":1,"${TOKEN}":2}`, '[key]: duplicate key'],
    ['/v1/messages', `{"model":"anthropic/m","max_tokens":5,${messages},"x":{"${TOKEN}":1,"${TOKEN}":2}}`, 'x.[key]: duplicate key'],
    ['/v1/chat', `{"model":"m",${said}],"provider_options":{"${TOKEN}":{"file_id":"f"}}}`, 'provider_options.[key]: refers to something stored at the provider, perhaps by another caller (not allowed without GATEWAY_RELAY_STORED)'],
    ['/v1/chat', `{"model":"m",${said},{"role":"tool","content":[{"type":"tool_result","tool_call_id":"${TOKEN}"}]}]}`, 'messages[1].content[0]: the assistant message before it has no tool_call with the id "[key]"'],
  ] as const;
  for (const [path, body] of bodies) assert.equal((await gateway.post(path, body)).status, 400, body);
  const lines = (): readonly Line[] => gateway.logLines.filter((line) => line['status'] === 400);
  while (lines().length < bodies.length) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(lines().map((line) => line['error']), bodies.map(([, , error]) => error));
});

test('nor does one that it writes into a name that chooses models, where it may not ask for every model', async (t) => {
  const gateway = await startGateway(t, {}, { callers: { default: { limits: undefined, allow: ['openai/fake-chat'] } } });
  const chat = { model: 'openai/fake-chat', messages: [{ role: 'user', content: 'x' }] };
  const refused = 'not allowed to a caller with an allow list, which names its model in model alone';
  const long = 'm'.repeat(100);
  const rows: readonly (readonly [path: string, body: object, error: string])[] = [
    ['/v1/chat', { ...HELLO, provider_options: { [`${TOKEN}_model`]: 1 } }, `provider_options.[key]: ${refused}`],
    ['/v1/chat/completions', { ...chat, [`${TOKEN}_model`]: 1 }, `[key]: ${refused}`],
    ['/v1/chat/completions', { ...chat, [`${long}_model`]: 1 }, `["${long.slice(0, 64)}…"]: ${refused}`],
    ['/v1/chat/completions', { ...chat, [TOKEN]: { model: 'other' } }, '[key]: "other" is not available to this caller'],
  ];
  for (const [path, body] of rows) await (await gateway.post(path, body)).text();
  const lines = (): readonly Line[] => gateway.logLines.filter((line) => line['error'] !== undefined);
  while (lines().length < rows.length) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(lines().map((line) => line['error']), rows.map(([, , error]) => error));
});

test('the line of a wrong token says where it came from, and of a trusted proxy only what it says itself', async (t) => {
  const wrong = { authorization: 'Bearer wrong', 'x-forwarded-for': '198.51.100.7, 203.0.113.9' };
  const addresses: unknown[] = [];
  for (const environment of [{}, { GATEWAY_TRUSTED_PROXIES: '127.0.0.0/8' }, { GATEWAY_TRUSTED_PROXIES: '10.0.0.1' }, { GATEWAY_LOG_ADDRESS: 'false' }]) {
    const gateway = await startGateway(t, environment);
    assert.equal((await gateway.post('/v1/chat', HELLO, wrong)).status, 401);
    addresses.push((await lineOf(gateway, 'chat'))['address']);
  }
  assert.deepEqual(addresses, ['127.0.0.1', '203.0.113.9', '127.0.0.1', undefined]);
});

test('the line of what is no request says where it came from', async (t) => {
  for (const [environment, address] of [[{}, '127.0.0.1'], [{ GATEWAY_LOG_ADDRESS: 'false' }, undefined]] as const) {
    const gateway = await startGateway(t, environment);
    await new RawCaller(t, gateway.url).write('nonsense\r\n\r\n').closed;
    assert.equal(gateway.logLines.find((line) => line['route'] === 'none')?.['address'], address);
  }
});

test('a line is short whatever the caller chose', async (t) => {
  const gateway = await startGateway(t);
  const id = 'i'.repeat(128);
  await (await gateway.post('/v1/chat', { ...HELLO, model: 'm'.repeat(200) }, { 'x-request-id': id })).text();
  const line = await lineOf(gateway, 'chat');
  assert.equal(line['model'], `${'m'.repeat(127)}…`);
  assert.ok(JSON.stringify(line).length < 1000);
});

test('the page on operating explains every field that a line can have', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '1' });
  const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
  await (await gateway.post('/v1/chat', { ...HELLO, model: 'fake-status-503' }, trace)).text();
  await gateway.stream({ ...HELLO, model: 'fake-thinking' });
  const limited = await startGateway(t, { GATEWAY_REQUEST_TIMEOUT: '30ms' });
  await limited.chat({ ...HELLO, model: 'fake-stall' });
  const refusing = await startGateway(t, { GATEWAY_CALLER_LIMITS: 'default:rpm=1' });
  await refusing.stream(HELLO);
  await refusing.chat(HELLO);
  const routed = await startGateway(t, { OPENAI_API_KEY: '', OPENAI_API_KEYS: 'one-key,another-key' }, {
    routes: [routeOf('smart', 'anthropic/fake-chat', { provider: 'openai', model: 'fake-chat', omit: ['temperature'] })],
  });
  const call = { type: 'tool_call', id: 'c1', name: 'look', provider_state: 'gemini.openai.e30' };
  const loop = [user('Go'), { role: 'assistant', content: [call] }, { role: 'tool', content: [{ type: 'tool_result', tool_call_id: 'c1', content: 'ok' }] }];
  await routed.chat({ model: 'smart', temperature: 1, tools: [{ name: 'look' }], messages: loop });
  const lines = [await lineOf(gateway, 'chat'), await lineOf(gateway, 'chat_stream'), await lineOf(limited, 'chat'), await lineOf(routed, 'chat'), await lineOf(refusing, 'chat')];
  const { model_route, tried, key, sticky, omitted } = lines[3] ?? {};
  assert.deepEqual([model_route, tried, typeof key, sticky, omitted], ['smart', 'openai/fake-chat:success', 'number', true, 'temperature']);
  const page = readPage('src/README.md');
  const section = page.slice(page.indexOf('## Logs\n'));
  const table = section.slice(0, section.indexOf('\n#', 4));
  const explained = new Set([...table.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, field]) => field)));
  const written = new Set(lines.flatMap((line) => Object.keys(line)));
  assert.deepEqual([...written].filter((field) => !explained.has(field)), []);
  // Of providers that report more than the sandbox does, and of routes that ask two at once.
  for (const field of ['cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens', 'hedged']) written.add(field);
  assert.deepEqual([...explained].filter((field) => !written.has(field ?? '')), []);
});
