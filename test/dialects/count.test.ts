/** POST /v1/count_tokens and POST /v1/messages/count_tokens: the provider's own count or none. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, TOKEN } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';

const PATH = '/v1/messages/count_tokens';
const NO_RETRIES = { GATEWAY_MAX_RETRIES: '0' };
const TOOL = { name: 'weather', description: 'the weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } };
/** A tool loop in all its parts. */
const BODY = {
  system: 'be brief please',
  messages: [
    { role: 'user', content: 'what is the weather in Paris' },
    { role: 'assistant', content: [{ type: 'text', text: 'I look' }, { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Paris' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '14 degrees' }] },
  ],
  tools: [TOOL],
};
const HI = [{ role: 'user', content: 'one two three' }];

async function count(gateway: RunningGateway, body: object, headers: Record<string, string> = {}): Promise<readonly [number, unknown]> {
  const response = await gateway.post(PATH, body, headers);
  return [response.status, await response.json()];
}

test('providers that count say as many tokens as the same request then costs', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const provider of ['anthropic', 'openai', 'gemini']) {
    const body = { model: `${provider}/fake-chat`, ...BODY };
    const [status, answer] = await count(gateway, body);
    assert.equal(status, 200, `${provider}: ${JSON.stringify(answer)}`);
    const message = (await (await gateway.post('/v1/messages', { ...body, max_tokens: 100 })).json()) as { usage: Record<string, number> };
    const { input_tokens: input = 0, cache_read_input_tokens: cached = 0 } = message.usage;
    assert.deepEqual(answer, { input_tokens: input + cached }, provider);
  }
});

test("each provider is asked on its own path, with its own credential and without what shapes the answer alone", async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const shaped = { ...BODY, temperature: 0.5, top_p: 0.9, stop_sequences: ['END'], max_tokens: 100, thinking: { type: 'adaptive' } };
  for (const [model, path] of [
    ['openai/gpt-5.6', '/openai/v1/responses/input_tokens'],
    ['gemini/fake-chat', '/gemini/v1beta/models/fake-chat:countTokens'],
  ] as const) {
    const [status, answer] = await count(gateway, { model, ...shaped });
    assert.equal(status, 200, `${model}: ${JSON.stringify(answer)}`);
    assert.equal(gateway.sandbox.calls.at(-1)?.path, path);
    assert.ok(!JSON.stringify(gateway.sandbox.calls.at(-1)?.headers).includes(TOKEN));
  }
});

test('a request for a provider of this format is relayed: its own fields and headers, its own answer', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const rest = '"messages":[{"role":"user","content":"one two three"}],"context_management":{"edits":[]}';
  const response = await fetch(`${gateway.url}${PATH}?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': TOKEN, 'anthropic-version': '2026-10-21', 'anthropic-beta': 'token-counting-2026-01-01' },
    body: `{"model":"anthropic/fake-chat",${rest}}`,
  });
  assert.deepEqual([response.status, await response.json()], [200, { input_tokens: 3 }]);
  assert.equal(response.headers.get('x-gateway-target'), 'anthropic/fake-chat');
  const call = gateway.sandbox.calls[0];
  assert.deepEqual([call?.path, call?.body], ['/anthropic/v1/messages/count_tokens', `{"model":"fake-chat",${rest}}`]);
  assert.deepEqual([call?.headers['anthropic-version'], call?.headers['anthropic-beta']], ['2026-10-21', 'token-counting-2026-01-01']);
});

test('what may not be relayed for an answer may not be for a count', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_AUTH_TOKENS: 'other:another-token-for-tests' });
  const [status, answer] = await count(gateway, { model: 'm', messages: HI, container: 'c1' });
  assert.deepEqual([status, (answer as { error: { type: string } }).error.type], [400, 'invalid_request_error']);
  assert.equal(gateway.sandbox.calls.length, 0);
});

test('a field that is left out is named, one that would change the answer is refused', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const response = await gateway.post(PATH, { model: 'gemini/fake-chat', messages: HI, metadata: { user_id: 'me' } });
  assert.deepEqual([response.status, response.headers.get('x-gateway-ignored')], [200, 'metadata']);
  assert.equal((await count(gateway, { model: 'gemini/fake-chat', messages: HI, top_k: 3 }))[0], 400);
});

test('a provider that does not count is 404 in this format, before anything is called', async (t) => {
  for (const [environment, model] of [[NO_RETRIES, 'compat/fake-chat'], [{ OPENAI_API: 'chat' }, 'openai/fake-chat']] as const) {
    const gateway = await startGateway(t, environment);
    const response = await gateway.post(PATH, { model, messages: HI });
    const { request_id: requestId, ...body } = (await response.json()) as { request_id: string };
    const [provider] = model.split('/');
    assert.deepEqual([response.status, body], [404, { type: 'error', error: { type: 'not_found_error', message: `${provider} counts no tokens` } }]);
    assert.deepEqual([response.headers.get('request-id'), response.headers.get('x-should-retry')], [requestId, 'false']);
    assert.equal(gateway.sandbox.calls.length, 0);
  }
});

const NATIVE_PATH = '/v1/count_tokens';
const NATIVE_HI = [{ role: 'user', text: 'one two three' }];

test('in the native format, too, providers that count say as many tokens as the same request then costs', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const body = {
    model: 'fake-chat',
    system: 'be brief please',
    messages: [
      { role: 'user', text: 'what is the weather in Paris' },
      { role: 'assistant', content: [{ type: 'text', text: 'I look' }, { type: 'tool_call', id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }] },
      { role: 'tool', content: [{ type: 'tool_result', tool_call_id: 'call_1', content: '14 degrees' }] },
    ],
    tools: [{ name: 'weather', description: 'the weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }],
    max_tokens: 100,
  };
  for (const [provider, path] of [
    ['anthropic', '/anthropic/v1/messages/count_tokens'],
    ['openai', '/openai/v1/responses/input_tokens'],
    ['gemini', '/gemini/v1beta/models/fake-chat:countTokens'],
  ] as const) {
    const response = await gateway.post(NATIVE_PATH, { provider, ...body });
    const counted = (await response.json()) as { input_tokens: number };
    assert.equal(response.status, 200, JSON.stringify(counted));
    assert.equal(gateway.sandbox.calls.at(-1)?.path, path);
    const chat = (await (await gateway.post('/v1/chat', { provider, ...body })).json()) as { usage: { input_tokens: number } };
    assert.deepEqual(counted, { provider, model: 'fake-chat', input_tokens: chat.usage.input_tokens });
  }
});

test('in the native format a provider that does not count is `unsupported`, before anything is called', async (t) => {
  for (const [environment, provider] of [[NO_RETRIES, 'compat'], [{ OPENAI_API: 'chat' }, 'openai']] as const) {
    const gateway = await startGateway(t, environment);
    const response = await gateway.post(NATIVE_PATH, { provider, model: 'fake-chat', messages: NATIVE_HI });
    assert.deepEqual([response.status, await response.json()], [400, { kind: 'unsupported', error: `${provider} counts no tokens` }]);
    assert.equal(gateway.sandbox.calls.length, 0);
  }
});

test('in the native format a request is checked as for a chat', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const [body, status, kind, error] of [
    [{ model: 'm', messages: NATIVE_HI, colour: 1 }, 400, 'bad_request', /^colour: unknown field/],
    [{ provider: 'nobody', model: 'm', messages: NATIVE_HI }, 404, 'not_found', /"nobody" is not registered/],
    [{ model: 'm', messages: [{ role: 'tool', content: [{ type: 'tool_result', tool_call_id: 'c' }] }] }, 400, 'bad_request', /^messages\[0\]\.content\[0\]/],
    [{ provider: 'anthropic', model: 'm', messages: NATIVE_HI, output: { type: 'json' } }, 400, 'unsupported', /^output\.schema: /],
  ] as const) {
    const response = await gateway.post(NATIVE_PATH, body);
    const answer = (await response.json()) as { kind: string; error: string };
    assert.deepEqual([response.status, answer.kind], [status, kind]);
    assert.match(answer.error, error);
  }
  const unauthorized = await fetch(gateway.url + NATIVE_PATH, { method: 'POST', body: '{' });
  assert.deepEqual([unauthorized.status, ((await unauthorized.json()) as { kind: string }).kind], [401, 'auth']);
  assert.deepEqual([(await gateway.get(NATIVE_PATH)).status, gateway.sandbox.calls.length], [405, 0]);
});

test('a count is tried again, and a failure is answered, as a chat is', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '2' });
  for (const provider of ['anthropic', 'openai', 'gemini']) {
    const before = gateway.sandbox.calls.length;
    const [status, answer] = await count(gateway, { model: `${provider}/fake-status-503`, messages: HI });
    assert.equal(status, 502, JSON.stringify(answer));
    assert.equal((answer as { type: string }).type, 'error');
    assert.equal(gateway.sandbox.calls.length - before, 3, provider);
    for (const model of ['fake-html', 'fake-wrong-shape', 'fake-malformed']) {
      assert.equal((await count(gateway, { model: `${provider}/${model}`, messages: HI }))[0], 502, `${provider} ${model}`);
    }
    assert.equal((await count(gateway, { model: `${provider}/fake-status-404`, messages: HI }))[0], 404);
  }
});

test('a count has a log line, attempts and a place, and is no chat in the metrics', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  await count(gateway, { model: 'anthropic/fake-chat', messages: HI });
  while (!gateway.logLines.some(({ route }) => route === 'count_tokens')) await new Promise(setImmediate);
  const line = gateway.logLines.find(({ route }) => route === 'count_tokens');
  assert.deepEqual([line?.['status'], line?.['provider'], line?.['model'], line?.['attempts'], line?.['caller']], [200, 'anthropic', 'anthropic/fake-chat', 1, 'default']);
  const page = await (await gateway.get('/metrics')).text();
  assert.match(page, /gateway_http_requests_total\{route="count_tokens",status="200"\} 1/);
  assert.match(page, /gateway_upstream_attempts_total\{provider="anthropic",outcome="success"\} 1/);
  for (const name of ['gateway_chats_total', 'gateway_tokens_total', 'gen_ai_client_token_usage_count', 'gen_ai_client_operation_duration_seconds_count']) {
    assert.doesNotMatch(page, new RegExp(`^${name}\\{`, 'm'));
  }
});

test('at the limit of concurrent requests a count is 429', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_CONCURRENT: '1' });
  const aborter = new AbortController();
  const hanging = fetch(gateway.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ model: 'anthropic/fake-stall', messages: HI }),
    signal: aborter.signal,
  });
  while (gateway.sandbox.calls.length === 0) await new Promise(setImmediate);
  const [status, answer] = await count(gateway, { model: 'anthropic/fake-chat', messages: HI });
  assert.deepEqual([status, (answer as { error: { type: string } }).error.type], [429, 'rate_limit_error']);
  aborter.abort();
  await assert.rejects(hanging);
  while (gateway.sandbox.calls[0]?.closedEarly !== true) await new Promise(setImmediate);
});
