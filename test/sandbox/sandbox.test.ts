import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';
import { startSandbox } from '../../src/sandbox/index.ts';
import { HEADERS, KEY, PROTOCOL_NAMES, at, chat, chatBody, chatUrl, open, request, until } from './client.ts';

test('base URLs lie on the URL, which is the loopback', async (t) => {
  const { url, baseUrls } = await open(t);
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.deepEqual(baseUrls, { anthropic: `${url}/anthropic`, openai: `${url}/openai/v1`, gemini: `${url}/gemini`, compat: `${url}/compat/v1` });
});

test('a sandbox takes the host and port it is given, and rejects when the port is taken', async (t) => {
  const first = await open(t, { host: '::1' });
  const { port } = new URL(first.url);
  assert.match(first.url, /^http:\/\/\[::1\]:\d+$/);
  await assert.rejects(startSandbox({ host: '::1', port: Number(port) }), { code: 'EADDRINUSE' });
  await assert.rejects(startSandbox({ port: 'http' as unknown as number }), { code: 'ERR_SOCKET_BAD_PORT' });
});

test('a call is recorded as it came', async (t) => {
  const sandbox = await open(t);
  await request(`${sandbox.baseUrls.gemini}/v1beta/models/fake-chat:generateContent?x=1`, '{}', { 'X-Goog-Api-Key': KEY });
  const [call] = sandbox.calls;
  assert.deepEqual([call?.method, call?.path, call?.headers['x-goog-api-key'], call?.body, call?.closedEarly], ['POST', '/gemini/v1beta/models/fake-chat:generateContent?x=1', KEY, '{}', false]);
});

test('the last 200 calls are kept', async (t) => {
  const sandbox = await open(t);
  for (let index = 0; index < 205; index += 1) await fetch(`${sandbox.url}/call-${index}`);
  assert.equal(sandbox.calls.length, 200);
  assert.equal(sandbox.calls[0]?.path, '/call-5');
});

test('the same request gets the same answer', async (t) => {
  const sandbox = await open(t);
  for (const protocol of PROTOCOL_NAMES) {
    assert.equal((await chat(sandbox, protocol, 'fake-chat')).text, (await chat(sandbox, protocol, 'fake-chat')).text);
  }
});

test('the same conversation costs the same on every protocol', async (t) => {
  const sandbox = await open(t);
  const inputs: Record<string, (usage: unknown) => unknown> = {
    anthropic: (reply) => at(reply, 'usage', 'input_tokens'),
    openai: (reply) => at(reply, 'usage', 'prompt_tokens'),
    gemini: (reply) => at(reply, 'usageMetadata', 'promptTokenCount'),
    compat: (reply) => at(reply, 'usage', 'prompt_tokens'),
  };
  for (const protocol of PROTOCOL_NAMES) {
    const reply: unknown = JSON.parse((await chat(sandbox, protocol, 'fake-chat', false, 'one two three')).text);
    assert.equal(inputs[protocol]?.(reply), 3, protocol);
  }
});

const REJECTIONS = {
  anthropic: [401, 401],
  openai: [401, 401],
  gemini: [403, 400],
  compat: [200, 200],
} as const;

for (const protocol of PROTOCOL_NAMES) {
  test(`${protocol} answers a missing or wrong key as its provider does`, async (t) => {
    const sandbox = await open(t, { key: 'another-key' });
    const url = chatUrl(sandbox, protocol, 'fake-chat', false);
    const body = chatBody(protocol, 'fake-chat', false, 'x');
    const missing = await request(url, body, { 'anthropic-version': '2023-06-01' });
    const wrong = await request(url, body, HEADERS[protocol]);
    assert.deepEqual([missing.status, wrong.status], REJECTIONS[protocol]);
    if (protocol === 'gemini') assert.equal(at(JSON.parse(wrong.text), 'error', 'details', 0, 'reason'), 'API_KEY_INVALID');
    if (protocol === 'openai') assert.equal(at(JSON.parse(wrong.text), 'error', 'code'), 'invalid_api_key');
    if (protocol === 'anthropic') assert.equal(at(JSON.parse(wrong.text), 'error', 'type'), 'authentication_error');
  });
}

test('Anthropic takes a bearer token as well, Gemini a key in the query', async (t) => {
  const sandbox = await open(t, { key: KEY });
  const version = { 'anthropic-version': '2023-06-01' };
  assert.equal((await request(chatUrl(sandbox, 'anthropic', '', false), chatBody('anthropic', 'fake-chat', false, 'x'), { ...version, authorization: `Bearer ${KEY}` })).status, 200);
  assert.equal((await request(`${chatUrl(sandbox, 'gemini', 'fake-chat', false)}?key=${KEY}`, chatBody('gemini', 'fake-chat', false, 'x'), {})).status, 200);
});

test('an unknown path is 404, in the words of the protocol where there is one, or says how base URLs end', async (t) => {
  const sandbox = await open(t);
  const response = await fetch(`${sandbox.url}/v1/chat/completions`, { method: 'POST' });
  assert.equal(response.status, 404);
  assert.match(await response.text(), /base URLs end in \/anthropic, \/openai\/v1, /);
  for (const protocol of PROTOCOL_NAMES) {
    const answer = await request(`${sandbox.baseUrls[protocol]}/nowhere`, {}, HEADERS[protocol]);
    assert.equal(answer.status, 404);
    assert.match(String(at(JSON.parse(answer.text), 'error', 'message')), /^Not found: POST/);
  }
});

test('what is no path of a URL is 404 as well', async (t) => {
  const sandbox = await open(t);
  for (const path of ['//', '//[', '*', 'http://[']) {
    const asked = http.request(sandbox.url, { path, method: 'POST' }).end();
    const [response] = (await once(asked, 'response')) as [http.IncomingMessage];
    assert.equal(response.resume().statusCode, 404);
  }
  assert.equal((await request(`${sandbox.url}//anthropic/v1/messages`, {}, HEADERS.anthropic)).status, 404);
});

test('a path that is no valid encoding is looked for as it is', async (t) => {
  const sandbox = await open(t);
  assert.equal((await request(`${sandbox.baseUrls.gemini}/v1beta/models/%zz:nothing`, {}, HEADERS.gemini)).status, 404);
});

test('a body over 32 MiB is 413', async (t) => {
  const sandbox = await open(t);
  const answer = await request(chatUrl(sandbox, 'anthropic', '', false), 'x'.repeat(32 * 1024 * 1024 + 1), HEADERS.anthropic);
  assert.deepEqual([answer.status, at(JSON.parse(answer.text), 'error', 'type')], [413, 'request_too_large']);
});

test('a request that is cut is not recorded', async (t) => {
  const sandbox = await open(t);
  const socket = net.connect(Number(new URL(sandbox.url).port), '127.0.0.1');
  socket.write('POST /openai/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{');
  await until(() => sandbox.openConnections() === 1);
  socket.destroy();
  await until(() => sandbox.openConnections() === 0);
  assert.equal(sandbox.calls.length, 0);
});

test('closing cuts the connections that are open', async () => {
  const sandbox = await startSandbox();
  const stalled = chat(sandbox, 'openai', 'fake-stall');
  const rejected = assert.rejects(stalled);
  await until(() => sandbox.calls.length === 1);
  await sandbox.close();
  await rejected;
  assert.equal(sandbox.openConnections(), 0);
});

test('a delay between pieces of text changes nothing else', async (t) => {
  const [plain, delayed] = [await open(t), await open(t, { tokenDelayMs: 1 })];
  assert.equal((await chat(delayed, 'openai', 'fake-chat', true)).text, (await chat(plain, 'openai', 'fake-chat', true)).text);
});
