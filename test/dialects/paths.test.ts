/** Which paths of other vendors' formats there are, what they answer when they are asked wrongly, and what browsers may send. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DIALECTS } from '../../src/callers/index.ts';
import { startGateway } from '../running-gateway.ts';

const ORIGIN = 'https://app.example';

test('by default every dialect is served; GATEWAY_DIALECTS leaves the others unknown paths, and the native format always there', async (t) => {
  const all = await startGateway(t);
  const some = await startGateway(t, { GATEWAY_DIALECTS: 'openai-responses' });
  const none = await startGateway(t, { GATEWAY_DIALECTS: 'none' });
  for (const dialect of DIALECTS) {
    for (const { path } of dialect.routes) {
      assert.equal((await all.post(path, '')).status, 400, path);
      const isServed = dialect.name === 'native' || dialect.name === 'openai-responses';
      const response = await some.post(path, '');
      assert.equal(response.status, isServed ? 400 : 404, path);
      if (!isServed) assert.deepEqual(await response.json(), { kind: 'not_found', error: 'no such path' });
      assert.equal((await none.post(path, '')).status, dialect.name === 'native' ? 400 : 404, path);
    }
  }
});

test('no two answers share an id, though their requests do: callers name a whole loop by the id of what it is for', async (t) => {
  const gateway = await startGateway(t);
  const messages = [{ role: 'user', content: 'Hi' }];
  const seen: string[] = [];
  for (const [path, body] of [
    ['/v1/chat/completions', { messages }],
    ['/v1/messages', { max_tokens: 500, messages }],
    ['/v1/responses', { input: 'Hi' }],
  ] as const) {
    for (const stream of [false, true, false, true]) {
      const answer = await gateway.post(path, { model: 'gemini/fake-chat', stream, ...body }, { 'x-request-id': 'the-same' });
      assert.equal(answer.headers.get('x-request-id'), 'the-same');
      seen.push(...new Set([...(await answer.text()).matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id ?? '')));
    }
  }
  assert.deepEqual(seen, [...new Set(seen)]);
  assert.equal(seen.length, 16);
});

test('a wrong method, a body that is no JSON and one that is too large are answered in the form of the path', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_BODY_BYTES: '100' });
  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages']) {
    const isMessages = path === '/v1/messages';
    for (const [response, status, type] of [
      [await gateway.get(path), 405, 'invalid_request_error'],
      [await gateway.post(path, '{'), 400, 'invalid_request_error'],
      [await gateway.post(path, 'x'.repeat(101)), 413, isMessages ? 'request_too_large' : 'invalid_request_error'],
    ] as const) {
      const body = (await response.json()) as { readonly type?: string; readonly error: { readonly type: string } };
      assert.deepEqual([response.status, body.type, body.error.type], [status, isMessages ? 'error' : undefined, type], path);
      if (status === 405) assert.equal(response.headers.get('allow'), 'POST');
    }
  }
});

test('what fails before a dialect is known has the native body', async (t) => {
  const gateway = await startGateway(t);
  for (const path of ['/v1/messages/batches', '/v1/chat/completions/x', '/v2/messages', '/']) {
    const response = await gateway.post(path, '{}', { 'anthropic-version': '2023-06-01' });
    assert.deepEqual([response.status, await response.json()], [404, { kind: 'not_found', error: 'no such path' }], path);
  }
});

test('a path with a slip of a base URL in it is answered with the one that is meant', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_DIALECTS: 'openai-chat' });
  for (const [path, meant] of [
    ['/chat/completions', '/v1/chat/completions'],
    ['/v1/v1/chat/completions', '/v1/chat/completions'],
    ['/openai/v1/chat/completions', '/v1/chat/completions'],
    ['/v1//chat/completions/', '/v1/chat/completions'],
    ['/V1/Chat/Completions?x=1', '/v1/chat/completions'],
    ['/models', '/v1/models'],
    ['/v1/models/', '/v1/models'],
    ['/healthz/', '/healthz'],
  ] as const) {
    const response = await gateway.post(path, '{}');
    assert.deepEqual([response.status, await response.json()], [404, { kind: 'not_found', error: `no such path; did you mean ${meant}?` }], path);
  }
  for (const path of ['/messages', '/v1/embeddings', '/v1/chat/completions/x']) {
    assert.deepEqual(await (await gateway.post(path, '{}')).json(), { kind: 'not_found', error: 'no such path' }, path);
  }
});

test("a page of an allowed origin may send the headers of vendors' clients, and read those that they look at", async (t) => {
  const gateway = await startGateway(t, { GATEWAY_ALLOWED_ORIGINS: ORIGIN });
  const asked = ['x-api-key', 'anthropic-version', 'anthropic-beta', 'anthropic-dangerous-direct-browser-access', 'x-stainless-os', 'x-stainless-retry-count'];
  const preflight = await fetch(`${gateway.url}/v1/messages`, {
    method: 'OPTIONS',
    headers: { origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': asked.join(',') },
  });
  assert.equal(preflight.status, 204);
  const allowed = (preflight.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(', ');
  for (const name of ['authorization', 'content-type', ...asked]) assert.ok(allowed.includes(name), name);
  const response = await gateway.post('/v1/messages', {}, { origin: ORIGIN });
  const exposed = (response.headers.get('access-control-expose-headers') ?? '').toLowerCase().split(', ');
  for (const name of ['x-gateway-target', 'x-gateway-ignored', 'request-id', 'x-request-id', 'retry-after', 'x-should-retry']) assert.ok(exposed.includes(name), name);
});

test('a preflight repeats no more than 64 names, and none that is no name', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_ALLOWED_ORIGINS: ORIGIN });
  const ask = async (names: string): Promise<readonly string[]> => {
    const headers = { origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': names };
    const { headers: answered } = await fetch(`${gateway.url}/v1/messages`, { method: 'OPTIONS', headers });
    return (answered.get('access-control-allow-headers') ?? '').split(', ').slice(3);
  };
  assert.deepEqual(await ask(`x-a, *,,x b,<x>, ${'y'.repeat(65)},x-c`), ['x-a', 'x-c']);
  assert.equal((await ask(Array.from({ length: 200 }, (_, index) => `x-${index}`).join(','))).length, 64);
});
