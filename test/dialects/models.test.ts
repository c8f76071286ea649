/** GET /v1/models and GET /v1/models/{name}, as native callers and the SDKs of other vendors ask them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream } from '../faults/upstream.ts';
import { startGateway, TOKEN } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { PROVIDERS } from './dialect-clients.ts';

const MODELS = ['fake-chat', 'fake-tool-loop', 'fake-thinking'];
const VERSION = { 'anthropic-version': '2026-10-21' };
const ALONE = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', GEMINI_API_KEY: '' };

type Model = { readonly id: string; readonly object?: string; readonly created?: number; readonly owned_by?: string; readonly type?: string; readonly created_at?: string; readonly display_name?: string };
type List = {
  readonly provider?: string;
  readonly models?: readonly Model[];
  readonly object?: string;
  readonly data?: readonly Model[];
  readonly has_more?: boolean;
  readonly last_id?: string;
};

async function list(gateway: RunningGateway, headers: Record<string, string> = {}, query = ''): Promise<List> {
  const response = await gateway.get(`/v1/models${query}`, headers);
  assert.equal(response.status, 200);
  return (await response.json()) as List;
}

function ids(models: readonly Model[] | undefined): readonly string[] | undefined {
  return models?.map(({ id }) => id);
}

/** Every model of the sandbox under each provider's name, in order. */
const PREFIXED = [...PROVIDERS].sort().flatMap((provider) => MODELS.map((model) => `${provider}/${model}`));

test('one object is the native list of the default provider and the list of all in the form of OpenAI', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_DEFAULT_PROVIDER: 'gemini' });
  const { provider, models, object, data } = await list(gateway);
  assert.deepEqual([provider, ids(models), models?.[0]?.display_name], ['gemini', MODELS, 'Sandbox fake-chat']);
  assert.deepEqual([object, ids(data)], ['list', PREFIXED]);
  assert.deepEqual(data?.[0], { id: 'anthropic/fake-chat', object: 'model', created: 0, owned_by: 'anthropic' });
});

test('every name on the lists serves a chat of its dialect', async (t) => {
  const gateway = await startGateway(t);
  const messages = [{ role: 'user', content: 'hi' }];
  for (const { id } of (await list(gateway)).data ?? []) {
    const response = await gateway.post('/v1/chat/completions', { model: id, messages });
    assert.deepEqual([response.status, response.headers.get('x-gateway-target')], [200, id]);
  }
  for (const { id } of (await list(gateway, VERSION)).data ?? []) {
    const response = await gateway.post('/v1/messages', { model: id, max_tokens: 100, messages });
    assert.deepEqual([response.status, response.headers.get('x-gateway-target')], [200, id]);
  }
});

test('a single provider, or prefixes switched off, makes names without a prefix; then only those that are reached are listed', async (t) => {
  const single = await startGateway(t, ALONE);
  assert.deepEqual(ids((await list(single)).data), MODELS);
  const bare = await startGateway(t, { GATEWAY_MODEL_PREFIXES: 'false', GATEWAY_DEFAULT_PROVIDER: 'compat' });
  const { provider, data } = await list(bare);
  assert.deepEqual([provider, ids(data), data?.[0]?.owned_by], ['compat', MODELS, 'openai']);
});

test('with ?provider= the list is native and live', async (t) => {
  const gateway = await startGateway(t);
  for (const headers of [{}, VERSION]) {
    const answer = await list(gateway, headers, '?provider=anthropic');
    assert.deepEqual([Object.keys(answer), ids(answer.models)], [['provider', 'models'], MODELS]);
  }
  assert.equal(gateway.sandbox.calls.length, 4);
});

test('a model says what its provider says of it, under the word that the provider means, and nothing else', async (t) => {
  const gateway = await startGateway(t);
  const { models: claude } = await list(gateway, {}, '?provider=anthropic');
  assert.deepEqual(Object.keys(claude?.[0] ?? {}), ['id', 'display_name', 'max_input_tokens', 'max_output_tokens', 'input']);
  const { models: gemini } = await list(gateway, {}, '?provider=gemini');
  assert.deepEqual(Object.keys(gemini?.[0] ?? {}), ['id', 'display_name', 'max_input_tokens', 'max_output_tokens']);
  const { models: gpt } = await list(gateway, {}, '?provider=openai');
  assert.deepEqual(Object.keys(gpt?.[0] ?? {}), ['id']);
});

test("with anthropic-version it is leafed through as Anthropic's SDKs do, and takes x-api-key", async (t) => {
  const gateway = await startGateway(t);
  const found: string[] = [];
  for (let query = '?limit=5', pages = 0; pages < 9; pages += 1) {
    const response = await fetch(`${gateway.url}/v1/models${query}`, { headers: { ...VERSION, 'x-api-key': TOKEN } });
    const page = (await response.json()) as List;
    assert.deepEqual([response.status, Object.keys(page)], [200, ['data', 'has_more', 'first_id', 'last_id']]);
    found.push(...(ids(page.data) ?? []));
    if (page.has_more !== true) break;
    query = `?limit=5&after_id=${encodeURIComponent(page.last_id ?? '')}`;
  }
  assert.deepEqual(found, PREFIXED);
});

test('a model is found by the names that requests may have, encoded or not, in the form of who asks', async (t) => {
  const gateway = await startGateway(t);
  for (const path of ['gemini/fake-chat', 'gemini%2Ffake-chat', 'gemini%2ffake%2Dchat']) {
    const response = await gateway.get(`/v1/models/${path}`);
    const model = (await response.json()) as Model;
    assert.equal(response.status, 200, JSON.stringify(model));
    assert.deepEqual([model.id, model.object, model.created, model.owned_by, model.display_name], ['gemini/fake-chat', 'model', 0, 'gemini', 'Sandbox fake-chat']);
  }
  assert.equal(((await (await gateway.get('/v1/models/fake-chat')).json()) as Model).owned_by, 'openai');
  const theirs = (await (await gateway.get('/v1/models/fake-chat', VERSION)).json()) as Model;
  assert.deepEqual([theirs.type, theirs.id, theirs.display_name, theirs.created_at], ['model', 'fake-chat', 'Sandbox fake-chat', '1970-01-01T00:00:00Z']);
});

test('a name is decoded once', async (t) => {
  const upstream = await startUpstream(t, (response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"data":[{"id":"a/b c"},{"id":"50%25"}]}');
  });
  const gateway = await startGateway(t, { ...ALONE, GATEWAY_COMPAT_BASE_URL: upstream.origin });
  for (const [path, status] of [['a/b%20c', 200], ['50%2525', 200], ['50%25', 404], ['50%', 400], ['%ff', 400], ['a%2520b', 404]] as const) {
    assert.equal((await gateway.get(`/v1/models/${path}`)).status, status, path);
  }
});

test('a model that no list has is 404, and what is wrong is said in the form of who asks', async (t) => {
  const gateway = await startGateway(t);
  const native = await gateway.get('/v1/models/gemini/nothing');
  assert.deepEqual([native.status, await native.json()], [404, { kind: 'not_found', error: 'gemini lists no such model' }]);
  for (const [method, path, status, type] of [
    ['GET', '/v1/models/gemini/nothing', 404, 'not_found_error'],
    ['GET', '/v1/models?limit=x', 400, 'invalid_request_error'],
    ['POST', '/v1/models', 405, 'invalid_request_error'],
    ['DELETE', '/v1/models/x', 405, 'invalid_request_error'],
  ] as const) {
    const response = await fetch(gateway.url + path, { method, headers: { ...VERSION, 'x-api-key': TOKEN } });
    const body = (await response.json()) as { readonly error: { readonly type: string } };
    assert.deepEqual([response.status, body.error.type], [status, type], path);
  }
  const stranger = await fetch(`${gateway.url}/v1/models`, { headers: { ...VERSION, 'x-api-key': 'wrong' } });
  assert.deepEqual([stranger.status, ((await stranger.json()) as { error: { type: string } }).error.type], [401, 'authentication_error']);
  assert.equal((await gateway.get('/v1/models/')).status, 404);
});

test('without the dialects of other vendors the list is native, whatever is sent', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_DIALECTS: 'none' });
  assert.deepEqual(Object.keys(await list(gateway, VERSION)), ['provider', 'models']);
  assert.equal((await fetch(`${gateway.url}/v1/models`, { headers: { 'x-api-key': TOKEN } })).status, 401);
});

test('a provider that fails is missing and named; when all fail the failure is the answer', async (t) => {
  const broken = await startUpstream(t, (response) => {
    response.statusCode = 500;
    response.end();
  });
  const some = await startGateway(t, { GATEWAY_MAX_RETRIES: '1', ANTHROPIC_BASE_URL: broken.origin, GATEWAY_COMPAT_BASE_URL: broken.origin });
  const response = await some.get('/v1/models');
  const { provider, models, data } = (await response.json()) as List;
  assert.deepEqual([response.status, response.headers.get('x-gateway-ignored')], [200, 'anthropic, compat']);
  assert.deepEqual([provider, models, ids(data)], [undefined, undefined, PREFIXED.filter((id) => /^(gemini|openai)/.test(id))]);
  assert.equal(broken.calls(), 4);
  const warnings = some.logLines.filter(({ level, provider: name }) => level === 'warn' && name !== undefined);
  assert.deepEqual(warnings.map(({ provider: name, kind }) => [name, kind]).sort(), [['anthropic', 'server'], ['compat', 'server']]);
  const all = await startGateway(t, { ...ALONE, GATEWAY_MAX_RETRIES: '0', GATEWAY_COMPAT_BASE_URL: broken.origin });
  assert.equal((await all.get('/v1/models')).status, 502);
  assert.equal((await all.get('/v1/models/x')).status, 502);
});

test('a list is asked for once by all who ask at the same time, and kept', async (t) => {
  const gateway = await startGateway(t);
  const lists = await Promise.all(Array.from({ length: 8 }, () => list(gateway)));
  for (const { data } of lists) assert.deepEqual(ids(data), PREFIXED);
  const asked = gateway.sandbox.calls.length;
  // Two pages each of those that page, one of the others.
  assert.equal(asked, 6);
  await list(gateway, VERSION);
  await gateway.get('/v1/models/gemini/fake-chat');
  assert.equal(gateway.sandbox.calls.length, asked);
});

test('hanging up while a provider is slow closes its connection; the place is given back', async (t) => {
  const upstream = await startUpstream(t, () => {});
  const gateway = await startGateway(t, { ...ALONE, GATEWAY_COMPAT_BASE_URL: upstream.origin, GATEWAY_MAX_CONCURRENT: '1' });
  const aborter = new AbortController();
  const asking = fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${TOKEN}` }, signal: aborter.signal });
  while (upstream.calls() === 0) await new Promise(setImmediate);
  assert.equal((await gateway.get('/v1/models')).status, 429);
  aborter.abort();
  await assert.rejects(asking);
  while (!gateway.logLines.some(({ route, status }) => route === 'models' && status === 499)) await new Promise(setImmediate);
  while (!/^gateway_requests_in_flight 0$/m.test(await (await gateway.get('/metrics')).text()));
  assert.match(await (await gateway.get('/metrics')).text(), /gateway_upstream_attempts_total\{provider="compat",outcome="caller_gone"\} 1/);
});
