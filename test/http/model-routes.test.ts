/** A route as its callers see it: who serves, what each target is sent, what the headers, the lists and the log say. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TargetDefaults } from '../../src/core/route.ts';
import { routeOf, startGateway, user } from '../running-gateway.ts';
import { until } from '../sandbox/client.ts';

const NO_DEFAULTS: TargetDefaults = { maxTokens: undefined, temperature: undefined, topP: undefined, stop: undefined, thinking: undefined, providerOptions: undefined };
const SMART = routeOf('smart', 'anthropic/fake-chat', 'openai/fake-chat');

/** A hello in each format, and where it is said. */
const CALLS = [
  { path: '/v1/chat', body: { messages: [user('Hello')] } },
  { path: '/v1/chat/stream', body: { messages: [user('Hello')] } },
  { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'Hello' }] } },
  { path: '/v1/chat/completions', body: { stream: true, messages: [{ role: 'user', content: 'Hello' }] } },
  { path: '/v1/responses', body: { input: 'Hello' } },
  { path: '/v1/responses', body: { stream: true, input: 'Hello' } },
  { path: '/v1/messages', body: { max_tokens: 99, messages: [{ role: 'user', content: 'Hello' }] } },
  { path: '/v1/messages', body: { stream: true, max_tokens: 99, messages: [{ role: 'user', content: 'Hello' }] } },
] as const;

/** The gateway's headers of an answer that are about routes. */
function shown(response: Response): Record<string, string> {
  const names = ['route', 'target', 'attempts', 'fallback', 'ignored'];
  return Object.fromEntries(names.flatMap((name) => {
    const value = response.headers.get(`x-gateway-${name}`);
    return value === null ? [] : [[name, value]];
  }));
}

test('the first target of a route serves, in every format, and the answer says so', async (t) => {
  const gateway = await startGateway(t, {}, { routes: [SMART] });
  for (const { path, body } of CALLS) {
    const response = await gateway.post(path, { model: 'smart', ...body });
    assert.deepEqual([response.status, shown(response)], [200, { route: 'smart', target: 'anthropic/fake-chat' }], path);
    await response.text();
    const { protocol, json } = gateway.sandbox.calls.at(-1) ?? {};
    assert.equal(protocol, 'anthropic', path);
    assert.equal((json as { model?: string }).model, 'fake-chat', path);
  }
  const linesOfChats = (): typeof gateway.logLines => gateway.logLines.filter((line) => line['provider'] === 'anthropic' && line['status'] === 200);
  await until(() => linesOfChats().length === CALLS.length);
  const lines = linesOfChats();
  for (const line of lines) assert.deepEqual([line['model'], line['model_route'], line['served_model']], ['smart', 'smart', 'fake-chat']);
  assert.match(await (await gateway.get('/metrics')).text(), /gen_ai_request_model="smart"/);
});

test('without a route for its model an answer has no header of routes', async (t) => {
  const gateway = await startGateway(t, {}, { routes: [SMART] });
  for (const { path, body } of CALLS.slice(0, 2)) {
    const response = await gateway.post(path, { model: 'fake-chat', provider: 'openai', ...body });
    assert.deepEqual([response.status, shown(response)], [200, {}]);
    await response.text();
  }
  const named = await gateway.post('/v1/chat/completions', { model: 'smart', messages: [{ role: 'user', content: 'Hello' }] }, { 'x-gateway-provider': 'openai' });
  assert.deepEqual([named.status, shown(named)], [200, { target: 'openai/smart' }]);
});

test('a target is sent its defaults, without what it is never sent, and translated where it would have been relayed to', async (t) => {
  const defaults = { ...NO_DEFAULTS, maxTokens: 77, thinking: { enabled: true, effort: 'high' } as const };
  const gateway = await startGateway(t, {}, {
    routes: [routeOf('plain', 'anthropic/fake-chat'), routeOf('set', { provider: 'anthropic', model: 'fake-chat', defaults, omit: ['temperature', 'top_p'] })],
  });
  const sent = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await gateway.post(path, body);
    assert.equal(response.status, 200, await response.text());
    return gateway.sandbox.calls.at(-1)?.json as Record<string, unknown>;
  };
  const messages = [{ role: 'user', content: 'Hello' }];
  const { max_tokens, thinking, temperature } = await sent('/v1/chat/completions', { model: 'set', temperature: 0.5, messages });
  assert.deepEqual([max_tokens, temperature, (thinking as { type?: string }).type], [77, undefined, 'adaptive']);
  assert.equal(gateway.logLines.at(-1)?.['omitted'], 'temperature');
  // Relayed, an unknown field travels; translated, it is named.
  const unknown = { max_tokens: 5, metadata: {}, service_tier: 'auto', messages };
  assert.equal((await sent('/v1/messages', { model: 'plain', ...unknown }))['service_tier'], 'auto');
  assert.equal(gateway.logLines.at(-1)?.['omitted'], undefined);
  const translated = await gateway.post('/v1/messages', { model: 'set', top_p: 0.5, ...unknown });
  assert.deepEqual([translated.status, shown(translated)], [200, { route: 'set', target: 'anthropic/fake-chat', ignored: 'metadata, service_tier' }]);
  const last = gateway.sandbox.calls.at(-1)?.json as Record<string, unknown>;
  assert.deepEqual([last['service_tier'], last['top_p'], last['max_tokens']], [undefined, undefined, 5]);
});

test('provider_options fit targets of one kind, or those that are not sent them', async (t) => {
  const gateway = await startGateway(t, {}, {
    routes: [
      SMART,
      routeOf('alike', 'anthropic/fake-chat', 'anthropic/fake-thinking'),
      routeOf('spared', 'anthropic/fake-chat', { provider: 'openai', model: 'fake-chat', omit: ['provider_options'] }),
    ],
  });
  const ask = (model: string) => gateway.chat({ model, messages: [user('Hello')], provider_options: { top_k: 3 } });
  const { status, body } = await ask('smart');
  // The design's sentence, word for word.
  assert.deepEqual([status, body.kind, body.error], [400, 'bad_request', "provider_options: the targets of route smart are of several kinds; put them in a target's defaults"]);
  for (const model of ['alike', 'spared']) assert.equal((await ask(model)).status, 200, model);
  assert.equal((gateway.sandbox.calls.at(-1)?.json as { top_k?: number }).top_k, 3);
});

test('a caller puts no other model in the place of a target, whose failures would be held against that', async (t) => {
  const gateway = await startGateway(t, {}, { routes: [routeOf('one', 'openai/fake-chat')] });
  for (const [name, value] of Object.entries({ model: 'fake-status-404', models: ['fake-status-404'] })) {
    const { status, body } = await gateway.chat({ model: 'one', messages: [user('Hello')], provider_options: { [name]: value } });
    assert.deepEqual([status, body.kind, body.error], [400, 'bad_request', `provider_options.${name}: not allowed, since route one decides it`]);
  }
  assert.equal(gateway.sandbox.calls.length, 0);
});

test('tokens are counted by the first target that counts, relayed or translated', async (t) => {
  const gateway = await startGateway(t, {}, {
    routes: [routeOf('mixed', 'compat/fake-chat', 'anthropic/fake-chat'), routeOf('mute', 'compat/fake-chat')],
  });
  const native = { messages: [user('One two three')] };
  const counted = await gateway.post('/v1/count_tokens', { model: 'mixed', ...native });
  assert.deepEqual([counted.status, shown(counted)], [200, { route: 'mixed', target: 'anthropic/fake-chat' }]);
  const { provider, model } = (await counted.json()) as { provider: string; model: string };
  assert.deepEqual([provider, model], ['anthropic', 'fake-chat']);
  assert.equal((await gateway.post('/v1/messages/count_tokens', { model: 'mixed', messages: [{ role: 'user', content: 'One two' }] })).status, 200);
  const mute = await gateway.post('/v1/count_tokens', { model: 'mute', ...native });
  assert.deepEqual([mute.status, ((await mute.json()) as { error: string }).error], [400, 'no target of route mute counts tokens']);
  assert.equal((await gateway.post('/v1/messages/count_tokens', { model: 'mute', messages: [{ role: 'user', content: 'One' }] })).status, 404);
});

test('routes are listed before models, in each form, and a model that one of them hides has no name', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MODEL_PREFIXES: 'false' }, { routes: [SMART, routeOf('fake-chat', 'anthropic/fake-thinking')] });
  const list = (await (await gateway.get('/v1/models')).json()) as { data: { id: string; owned_by: string }[]; models: { id: string }[] };
  assert.deepEqual(list.data.slice(0, 2), ['fake-chat', 'smart'].map((id) => ({ id, object: 'model', created: 0, owned_by: 'gateway' })));
  assert.equal(list.data.filter(({ id }) => id === 'fake-chat').length, 1);
  assert.ok(!list.models.some(({ id }) => id === 'smart'));
  const page = (await (await gateway.get('/v1/models?limit=1', { 'anthropic-version': '2023-06-01' })).json()) as { data: object[] };
  assert.deepEqual(page.data, [{ type: 'model', id: 'fake-chat', display_name: 'fake-chat', created_at: '1970-01-01T00:00:00Z', lifecycle: 'active' }]);
  const one = await gateway.get('/v1/models/smart');
  assert.deepEqual([one.status, await one.json()], [200, { id: 'smart', object: 'model', created: 0, owned_by: 'gateway' }]);
  const { routes } = (await (await gateway.get('/v1/providers')).json()) as { routes: string[] };
  assert.deepEqual(routes, ['fake-chat', 'smart']);
});

test('routes are listed also while no provider lists its models', async (t) => {
  const gateway = await startGateway(t, {}, { routes: [SMART] });
  await gateway.sandbox.close();
  const response = await gateway.get('/v1/models');
  const { data } = (await response.json()) as { data: { id: string }[] };
  assert.deepEqual([response.status, data.map(({ id }) => id)], [200, ['smart']]);
});

describe('a caller that may not ask for everything', () => {
  const callers = { default: { limits: undefined, allow: ['smart', 'openai/fake-c*'] } };
  const routes = [SMART, routeOf('bulk', 'openai/fake-chat')];
  const NOT_FOUND = 'is not available to this caller';

  test('reaches what its list names, however it names it, and of the rest nothing', async (t) => {
    const gateway = await startGateway(t, { GATEWAY_DEFAULT_PROVIDER: 'openai' }, { routes, callers });
    const outcome = async (path: string, body: object, headers: Record<string, string> = {}): Promise<number | string> => {
      const response = await gateway.post(path, body, headers);
      const text = await response.text();
      return response.status === 404 && text.includes(NOT_FOUND) ? 'refused' : response.status;
    };
    const messages = [user('Hello')];
    const content = [{ role: 'user', content: 'Hello' }];
    const rows: readonly (readonly [path: string, body: object, expected: number | string, headers?: Record<string, string>])[] = [
      ['/v1/chat', { model: 'smart', messages }, 200],
      ['/v1/chat', { model: 'bulk', messages }, 'refused'],
      ['/v1/chat', { model: 'fake-chat', messages }, 200],
      ['/v1/chat', { model: 'fake-thinking', messages }, 'refused'],
      ['/v1/chat', { provider: 'anthropic', model: 'fake-chat', messages }, 'refused'],
      ['/v1/chat', { model: 'fake-chat', messages }, 'refused', { 'x-gateway-provider': 'anthropic' }],
      ['/v1/chat', { model: 'fake-chat', messages, provider_options: { model: 'fake-thinking' } }, 400],
      ['/v1/chat', { model: 'fake-chat', messages, provider_options: { models: ['fake-chat'] } }, 400],
      ['/v1/chat/completions', { model: 'openai/fake-chat', messages: content, models: ['fake-thinking'] }, 400],
      ['/v1/chat/stream', { model: 'bulk', messages }, 'refused'],
      ['/v1/chat/completions', { model: 'openai/fake-chat', messages: content }, 200],
      ['/v1/chat/completions', { model: 'anthropic/fake-chat', messages: content }, 'refused'],
      ['/v1/chat/completions', { model: 'bulk', messages: content }, 'refused'],
      ['/v1/responses', { model: 'fake-thinking', input: 'Hello' }, 'refused'],
      ['/v1/messages', { model: 'fake-chat', max_tokens: 5, messages: content }, 'refused'],
      ['/v1/messages', { model: 'smart', max_tokens: 5, messages: content }, 200],
      ['/v1/count_tokens', { provider: 'anthropic', model: 'fake-chat', messages }, 'refused'],
      ['/v1/messages/count_tokens', { model: 'fake-chat', messages: content }, 'refused'],
    ];
    for (const [path, body, expected, headers] of rows) assert.equal(await outcome(path, body, headers), expected, `${path} ${JSON.stringify(body)}`);
    const refused = await gateway.chat({ model: 'bulk', messages });
    assert.deepEqual([refused.status, refused.body.kind, refused.body.error], [404, 'not_found', `model: "bulk" ${NOT_FOUND}`]);
    assert.equal(gateway.sandbox.calls.filter(({ model }) => model === 'fake-thinking').length, 0);
  });

  test('is shown what it may ask for, and no more', async (t) => {
    const gateway = await startGateway(t, {}, { routes, callers });
    const ids = async (path: string, headers?: Record<string, string>): Promise<string[]> => {
      const { data, models } = (await (await gateway.get(path, headers)).json()) as Record<'data' | 'models', { id: string }[] | undefined>;
      return [...(data ?? models ?? [])].map(({ id }) => id);
    };
    assert.deepEqual(await ids('/v1/models'), ['smart', 'openai/fake-chat']);
    assert.deepEqual(await ids('/v1/models', { 'anthropic-version': '2023-06-01' }), ['smart', 'openai/fake-chat']);
    assert.deepEqual(await ids('/v1/models?provider=openai'), ['fake-chat']);
    assert.deepEqual(await ids('/v1/models?provider=anthropic'), []);
    for (const [name, status] of [['smart', 200], ['openai/fake-chat', 200], ['bulk', 404], ['anthropic/fake-chat', 404], ['fake-thinking', 404]] as const) {
      assert.equal((await gateway.get(`/v1/models/${name}`)).status, status, name);
    }
    const { routes: listed } = (await (await gateway.get('/v1/providers')).json()) as { routes?: string[] };
    assert.deepEqual(listed, ['smart']);
  });

  test('is held to its list from within the process, too, by its label', async (t) => {
    const gateway = await startGateway(t, {}, { routes, callers: { ...callers, batch: { limits: undefined, allow: ['bulk'] } } });
    const hello = (model: string) => ({ model, messages: [{ role: 'user' as const, text: 'Hello' }] });
    assert.equal((await gateway.app.chat(hello('bulk'), { caller: 'batch' })).provider, 'openai');
    await assert.rejects(gateway.app.chat(hello('smart'), { caller: 'batch' }), { kind: 'not_found', message: `model: "smart" ${NOT_FOUND}` });
    await assert.rejects(gateway.app.chat(hello('bulk')), { kind: 'not_found' });
    assert.equal((await gateway.app.chat(hello('bulk'), { caller: 'desk' })).provider, 'openai');
    assert.deepEqual((await gateway.app.models('anthropic', { caller: 'batch' })).models, []);
  });
});
