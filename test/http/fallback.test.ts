/** What a caller sees when a route's first target cannot serve: the answer of the next, why, and what is said if nobody can. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import type { FailureKind } from '../../src/core/failure.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { answerJson, GOOD_REPLY, startUpstream } from '../faults/upstream.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { framesOf, holdReplies, PROVIDER_KEY, routeOf, sandboxEnvironment, startGateway, user } from '../running-gateway.ts';
import type { Message, ReplyBody, RunningGateway } from '../running-gateway.ts';

const TOOLS = [{ name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }];
const HELLO = [{ role: 'user', content: 'Hello' }];

function header(response: Response, name: string): string | null {
  return response.headers.get(`x-gateway-${name}`);
}

/** What a provider was sent last. */
function lastBody({ sandbox }: RunningGateway): string {
  return sandbox.calls.at(-1)?.body ?? '';
}

/** The log line of the last exchange of a chat. */
function lastLine(gateway: RunningGateway): Readonly<Record<string, unknown>> {
  return gateway.logLines.findLast((line) => line['total_ms'] !== undefined && line['attempts'] !== undefined) ?? {};
}

test('the answer of a fallback says who serves, for whom and why, and so does its log line', async (t) => {
  const gateway = await startGateway(t, {}, { routes: [routeOf('smart', 'anthropic/fake-status-503', 'compat/fake-reset', 'openai/fake-chat')] });
  for (const path of ['/v1/chat', '/v1/chat/stream']) {
    const response = await gateway.post(path, { model: 'smart', messages: [user('Hello')] });
    const body = path === '/v1/chat' ? ((await response.json()) as ReplyBody) : framesOf(await response.text()).at(-1);
    assert.deepEqual([response.status, body?.provider], [200, 'openai']);
    assert.deepEqual(['route', 'target', 'attempts', 'fallback'].map((name) => header(response, name)), ['smart', 'openai/fake-chat', '3', 'anthropic=server, compat=unknown']);
    const line = lastLine(gateway);
    assert.deepEqual(['model', 'model_route', 'provider', 'attempts', 'tried', 'kind'].map((name) => line[name]), [
      'smart', 'smart', 'openai', 3, 'anthropic/fake-status-503:server compat/fake-reset:unknown openai/fake-chat:success', undefined,
    ]);
  }
  // Eight failures in a row, and a target is not asked for a while.
  for (let more = 0; more < 6; more += 1) await gateway.chat({ model: 'smart', messages: [user('Hello')] });
  const response = await gateway.post('/v1/chat', { model: 'smart', messages: [user('Hello')] });
  await response.text();
  assert.deepEqual([header(response, 'fallback'), header(response, 'attempts')], ['anthropic=out, compat=out', null]);
});

test('between a relayed and a translated target the answer is in the caller\'s format, and says what the one that serves was not sent', async (t) => {
  const gateway = await startGateway(t, {}, {
    routes: [routeOf('down', 'anthropic/fake-status-500', 'openai/fake-chat'), routeOf('up', 'openai/fake-status-500', 'anthropic/fake-chat')],
  });
  const request = { max_tokens: 50, service_tier: 'auto', messages: HELLO };
  for (const stream of [false, true]) {
    const translated = await gateway.post('/v1/messages', { model: 'down', stream, ...request });
    assert.deepEqual([translated.status, header(translated, 'target'), header(translated, 'ignored')], [200, 'openai/fake-chat', 'service_tier']);
    assert.match(await translated.text(), stream ? /event: message_stop\n/ : /"type":"message"/);
    const relayed = await gateway.post('/v1/messages', { model: 'up', stream, ...request });
    assert.deepEqual([relayed.status, header(relayed, 'target'), header(relayed, 'ignored')], [200, 'anthropic/fake-chat', null]);
    assert.match(await relayed.text(), stream ? /event: message_stop\n/ : /"type":"message"/);
    assert.equal((gateway.sandbox.calls.at(-1)?.json as { service_tier?: string }).service_tier, 'auto');
  }
});

test('a stream that was opened to keep its caller waiting goes on at the next target', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_HEARTBEAT_INTERVAL: '20ms' }, { routes: [routeOf('slow', 'anthropic/held', 'openai/fake-chat')] });
  let fail: () => void = () => undefined;
  const failed = new Promise<void>((resolve) => (fail = resolve));
  gateway.sandbox.reply('held', async () => {
    await failed;
    return { status: 503 };
  });
  const response = await gateway.post('/v1/chat/stream', { model: 'slow', messages: [user('Hello')] });
  assert.deepEqual([header(response, 'target'), header(response, 'fallback')], ['anthropic/held', null]);
  fail();
  const text = await response.text();
  assert.match(text, /^: keep-alive\n\n/);
  assert.equal(framesOf(text).at(-1)?.provider, 'openai');
  assert.equal(lastLine(gateway)['provider'], 'openai');
});

test('a stream that is opened to keep its caller waiting says whom it waits for, and in whose place', async (t) => {
  const full = { provider: 'anthropic', model: 'fake-chat', concurrentMax: 0 };
  const gateway = await startGateway(t, { GATEWAY_HEARTBEAT_INTERVAL: '20ms' }, { routes: [routeOf('busy', full, 'openai/held')] });
  const release = holdReplies(gateway.sandbox);
  const response = await gateway.post('/v1/chat/stream', { model: 'busy', messages: [user('Hello')] });
  assert.deepEqual([header(response, 'target'), header(response, 'fallback')], ['openai/held', 'anthropic=full']);
  release();
  assert.match(await response.text(), /^: keep-alive\n\n/);
});

test('a route whose targets are all full is a 429 that says when to come back, and is counted as such', async (t) => {
  const full = { provider: 'anthropic', model: 'fake-chat', concurrentMax: 0 };
  const gateway = await startGateway(t, {}, { routes: [routeOf('busy', full)] });
  for (const path of ['/v1/chat', '/v1/chat/stream', '/v1/count_tokens']) {
    const response = await gateway.post(path, { model: 'busy', messages: [user('Hello')] });
    assert.deepEqual([response.status, response.headers.get('retry-after')], [429, '1'], path);
    assert.match(await response.text(), /the targets of route busy have as many calls in flight as the configuration allows/);
  }
  assert.match(await gateway.app.metricsText(), /^gateway_requests_refused_total\{reason="target_concurrency"\} 3$/m);
  assert.equal(gateway.sandbox.calls.length, 0);
});

test('counts and callers of the same process fall back, too', async (t) => {
  const gateway = await startGateway(t, {}, { routes: [routeOf('smart', 'anthropic/fake-status-500', 'gemini/fake-chat')] });
  const counted = await gateway.post('/v1/count_tokens', { model: 'smart', messages: [user('Hello')] });
  assert.deepEqual([counted.status, header(counted, 'fallback'), ((await counted.json()) as { provider: string }).provider], [200, 'anthropic=server', 'gemini']);
  assert.equal((await gateway.app.chat({ model: 'smart', messages: [{ role: 'user', text: 'Hello' }] })).provider, 'gemini');
});

test('a target whose provider does not count for its model is not held for one that lacks it', async (t) => {
  const gateway = await startGateway(t, {}, { routes: [routeOf('smart', 'anthropic/fake-status-404', 'gemini/fake-chat')] });
  const counted = await gateway.post('/v1/count_tokens', { model: 'smart', messages: [user('Hello')] });
  assert.deepEqual([counted.status, header(counted, 'fallback')], [200, 'anthropic=not_found']);
  assert.match(await gateway.app.metricsText(), /^gateway_target_out\{provider="anthropic",model="fake-status-404"\} 0$/m);
});

test('a tool loop stays with the provider whose state it carries, moves without it, and leaves it with the next message of a user', async (t) => {
  const gateway = await startGateway(t, { OPENAI_API: 'responses' }, { routes: [routeOf('agent', 'anthropic/fake-tool-loop', 'openai/fake-tool-loop')] });
  const { sandbox } = gateway;
  let isDown = false;
  sandbox.reply('fake-tool-loop', ({ protocol }) => (isDown && protocol === 'anthropic' ? { status: 503 } : undefined));
  const messages: Message[] = [user('What to wear?')];
  /** Asks, and answers whatever is called; who served. */
  const step = async (): Promise<string | undefined> => {
    const { status, body } = await gateway.chat({ model: 'agent', messages, tools: TOOLS, thinking: { enabled: true } });
    assert.equal(status, 200, JSON.stringify(body));
    messages.push(body.message);
    const results = (body.tool_calls ?? []).map(({ id }) => ({ type: 'tool_result', tool_call_id: id, content: 'rain' }));
    if (results.length > 0) messages.push({ role: 'tool', content: results });
    return body.provider;
  };
  assert.equal(await step(), 'anthropic');
  assert.match(JSON.stringify(messages), /"provider_state":"anthropic\.anthropic\./);
  isDown = true;
  assert.equal(await step(), 'openai');
  assert.doesNotMatch(lastBody(gateway), /signature|anthropic/);
  isDown = false;
  assert.equal(await step(), 'openai');
  assert.equal(lastLine(gateway)['sticky'], true);
  messages.push(user('And tomorrow?'));
  assert.equal(await step(), 'anthropic');
  assert.equal(lastLine(gateway)['sticky'], undefined);
  assert.doesNotMatch(lastBody(gateway), /encrypted_content/);
});

test('a tool loop that was relayed goes on translated where its provider is out, and then stays there', async (t) => {
  const gateway = await startGateway(t, { OPENAI_API: 'responses' }, { routes: [routeOf('agent', 'anthropic/fake-tool-loop', 'openai/fake-tool-loop')] });
  let isDown = false;
  gateway.sandbox.reply('fake-tool-loop', ({ protocol }) => (isDown && protocol === 'anthropic' ? { status: 503 } : undefined));
  const messages: object[] = [{ role: 'user', content: 'What to wear?' }];
  const tools = [{ name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }];
  const step = async (): Promise<string | null> => {
    const response = await gateway.post('/v1/messages', { model: 'agent', max_tokens: 5000, messages, tools, thinking: { type: 'enabled', budget_tokens: 2000 } });
    const { content = [] } = (await response.json()) as { content?: { type: string; id: string }[] };
    assert.equal(response.status, 200, JSON.stringify(content));
    const results = content.filter(({ type }) => type === 'tool_use').map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'rain' }));
    messages.push({ role: 'assistant', content }, { role: 'user', content: results.length > 0 ? results : 'Thank you.' });
    return header(response, 'target');
  };
  assert.equal(await step(), 'anthropic/fake-tool-loop');
  const [, sealed = ''] = /"signature":"([^"]+)"/.exec(JSON.stringify(messages)) ?? [];
  assert.ok(sealed !== '' && !sealed.startsWith('gateway:'));
  isDown = true;
  assert.equal(await step(), 'openai/fake-tool-loop');
  assert.ok(!lastBody(gateway).includes(sealed));
  isDown = false;
  assert.equal(await step(), 'openai/fake-tool-loop');
  assert.match(JSON.stringify(messages), /"signature":"gateway:/);
  assert.equal(await step(), 'anthropic/fake-tool-loop');
  assert.ok(lastBody(gateway).includes(sealed) && !lastBody(gateway).includes('gateway:'));
});

test('of two accounts of one vendor the first is relayed to and the second translated for, so that neither is sent what the other sealed', async (t) => {
  const routingFile = ({ baseUrls: { openai } }: Sandbox): object => ({
    providers: { second: { like: 'openai', base_url: openai, keys: ['SECOND_KEY'] } },
    routes: {
      agent: { targets: [{ provider: 'openai', model: 'fake-tool-loop' }, { provider: 'second', model: 'fake-tool-loop' }] },
      chat: { targets: [{ provider: 'openai', model: 'fake-status-503' }, { provider: 'second', model: 'fake-chat' }] },
    },
  });
  const gateway = await startGateway(t, { OPENAI_API: 'responses', SECOND_KEY: 'the-key-of-another-account' }, { routingFile });
  let isDown = false;
  gateway.sandbox.reply('fake-tool-loop', ({ headers: { authorization } }) => (isDown && authorization === `Bearer ${PROVIDER_KEY}` ? { status: 503 } : undefined));
  const input: object[] = [{ role: 'user', content: 'What to wear?' }];
  const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }];
  /** Asks, and answers whatever is called; who served, and what it was sent. */
  const step = async (): Promise<readonly [target: string | null, sent: string]> => {
    const response = await gateway.post('/v1/responses', { model: 'agent', store: false, include: ['reasoning.encrypted_content'], reasoning: { effort: 'high' }, input, tools });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    // Calls of the sandbox say in their ids that their reasoning has to come along, which no account knows of another's.
    const { output } = JSON.parse(text.replaceAll(/call_r\d/g, 'call_')) as { output: { type: string; call_id: string }[] };
    const results = output.filter(({ type }) => type === 'function_call').map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'rain' }));
    input.push(...output, ...(results.length > 0 ? results : [{ role: 'user', content: 'And tomorrow?' }]));
    return [header(response, 'target'), lastBody(gateway)];
  };
  const sealed = (): readonly string[] => [...JSON.stringify(input).matchAll(/"encrypted_content":"([^"]+)"/g)].map(([, text = '']) => text);
  assert.equal((await step())[0], 'openai/fake-tool-loop');
  const [first = ''] = sealed();
  assert.ok(first !== '' && !first.startsWith('gateway:'));
  isDown = true;
  const [moved, sent] = await step();
  assert.deepEqual([moved, sent.includes(first)], ['second/fake-tool-loop', false]);
  assert.ok(sealed().some((text) => text.startsWith('gateway:call=openai-responses.second.')), JSON.stringify(input));
  isDown = false;
  assert.equal((await step())[0], 'second/fake-tool-loop');
  const [back, again] = await step();
  assert.deepEqual([back, again.includes(first), again.includes('gateway:'), again.includes('openai-responses.second')], ['openai/fake-tool-loop', true, false, false]);
  // Where nothing is sealed both are relayed to, with what no table knows.
  const chat = await gateway.post('/v1/chat/completions', { model: 'chat', messages: HELLO, verbosity: 'low' });
  assert.deepEqual([chat.status, header(chat, 'target'), header(chat, 'ignored')], [200, 'second/fake-chat', null]);
  assert.match(lastBody(gateway), /"verbosity":"low"/);
});

/** One way to fail for each kind, by the model's name; `unsupported` is JSON that compat is asked for. */
const WAYS: Readonly<Record<FailureKind, (response: ServerResponse) => void>> = {
  auth: (response) => answerJson(response, 401, '{}'),
  rate_limit: (response) => answerJson(response, 429, '{}', { 'retry-after': '7' }),
  not_found: (response) => answerJson(response, 404, '{}'),
  bad_request: (response) => answerJson(response, 400, '{}'),
  unsupported: (response) => answerJson(response, 200, GOOD_REPLY),
  refusal: (response) => answerJson(response, 200, '{"id":"c1","model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"content_filter"}]}'),
  server: (response) => answerJson(response, 503, '{}', { 'retry-after': '3' }),
  unknown: (response) => response.socket?.resetAndDestroy(),
};
const KINDS = Object.keys(WAYS) as FailureKind[];
/** After these nobody else is asked. */
const FINAL: readonly FailureKind[] = ['bad_request', 'refusal'];

test('when all targets fail the first one asked says how, the others are named, and the soonest wait is told', async (t) => {
  const upstream = await startUpstream(t, (response, _, body) => {
    const { model } = JSON.parse(body) as { model: string };
    WAYS[KINDS.find((kind) => model.endsWith(`.${kind}`)) ?? 'server'](response);
  });
  const pairs = KINDS.flatMap((first) => KINDS.map((second) => ({ first, second, name: `${first}.${second}` })));
  // Names of their own and hosts without keys, so that how one target fares says nothing of another.
  const target = (route: string, at: number, kind: FailureKind): string => `${kind === 'unsupported' ? 'compat' : 'ollama'}/${route}.${at}.${kind}`;
  const gateway = await startGateway(t, {
    OLLAMA_BASE_URL: upstream.origin, GATEWAY_COMPAT_BASE_URL: upstream.origin, GATEWAY_COMPAT_STRUCTURED_OUTPUT: 'none', GATEWAY_MAX_RETRIES: '1', GATEWAY_RETRY_AFTER_CAP: '1ms',
  }, {
    routes: pairs.map(({ first, second, name }) => routeOf(name, target(name, 1, first), target(name, 2, second))),
  });
  const wrong: string[] = [];
  for (const { first, second, name } of pairs) {
    const response = await gateway.post('/v1/chat', { model: name, messages: [user('Go')], output: { type: 'json', schema: { type: 'object' } } });
    const { kind, error = '' } = (await response.json()) as ReplyBody;
    const moved = !FINAL.includes(first);
    const expectedKind = first === 'unsupported' ? second : first;
    const asked = [first, ...(moved ? [second] : [])].filter((each) => each !== 'unsupported');
    const waits = asked.flatMap((each) => (each === 'rate_limit' ? [7] : each === 'server' ? [3] : []));
    const expected = {
      kind: expectedKind,
      named: asked.length > 1 ? 2 : 1,
      wait: waits.length === 0 || ![429, 502].includes(response.status) ? null : String(Math.min(...waits)),
      again: asked.length === 0 ? null : 'false',
    };
    const seen = { kind, named: error.split('; then ').length, wait: response.headers.get('retry-after'), again: response.headers.get('x-should-retry') };
    if (JSON.stringify(seen) !== JSON.stringify(expected)) wrong.push(`${name}: ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}: ${error}`);
  }
  assert.deepEqual(wrong, []);
});

test('a request goes on by the route it began with when that is changed, the next takes the new one, and who is out stays out', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_ROUTES: 'smart=anthropic/held,openai/fake-chat;ailing=compat/fake-status-503,openai/fake-chat' });
  const hello = { model: 'smart', messages: [user('Hello')] };
  let fail: () => void = () => undefined;
  const failed = new Promise<void>((resolve) => (fail = resolve));
  let waiting = 0;
  const asked = new Promise<void>((resolve) => {
    gateway.sandbox.reply('held', async () => {
      waiting += 1;
      if (waiting === 20) resolve();
      await failed;
      return { status: 503 };
    });
  });
  const streams = Promise.all(Array.from({ length: 20 }, () => gateway.stream(hello)));
  await asked;
  for (let failures = 0; failures < 8; failures += 1) await gateway.chat({ ...hello, model: 'ailing' });
  const environment = { ...sandboxEnvironment(gateway.sandbox), GATEWAY_ROUTES: 'smart=compat/fake-status-503,gemini/fake-chat' };
  const { config } = loadConfig(environment, PROVIDER_ROWS, compatRow, () => '');
  assert.ok(config !== undefined);
  assert.deepEqual(gateway.app.reload(config).swapped, ['route smart', 'route ailing']);
  const response = await gateway.post('/v1/chat', hello);
  assert.deepEqual([header(response, 'target'), header(response, 'fallback')], ['gemini/fake-chat', 'compat=out']);
  fail();
  for (const frames of await streams) assert.deepEqual([frames.at(-1)?.type, frames.at(-1)?.provider], ['done', 'openai']);
  assert.equal((await gateway.chat({ ...hello, model: 'ailing' })).body.provider, 'anthropic');
});

test('what a reload took away is neither out nor cooling', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_ROUTES: 'smart=anthropic/fake-status-401,compat/fake-status-404,openai/fake-chat' });
  await gateway.chat({ model: 'smart', messages: [user('Hello')] });
  const gauges = async (): Promise<readonly string[]> =>
    (await gateway.app.metricsText()).split('\n').filter((line) => /^gateway_(?:target_out|keys_cooling)\{.* 1$/.test(line));
  assert.deepEqual(await gauges(), ['gateway_target_out{provider="compat",model="fake-status-404"} 1', 'gateway_keys_cooling{provider="anthropic",key="1"} 1']);
  const environment = { ...sandboxEnvironment(gateway.sandbox), ANTHROPIC_API_KEY: 'another-key', GATEWAY_ROUTES: 'smart=anthropic/fake-chat,openai/fake-chat' };
  const { config } = loadConfig(environment, PROVIDER_ROWS, compatRow, () => '');
  assert.ok(config !== undefined);
  gateway.app.reload(config);
  assert.deepEqual(await gauges(), []);
});

test('with several keys and no route an answer says only how many calls it took, and none where one was enough', async (t) => {
  const gateway = await startGateway(t, { OPENAI_API_KEY: '', OPENAI_API_KEYS: 'one-key,another-key' });
  let limited: string | undefined;
  gateway.sandbox.reply('limited', ({ headers: { authorization } }) => ((limited ??= String(authorization)) === authorization ? { status: 429 } : undefined));
  const request = { provider: 'openai', model: 'limited', messages: [user('Hello')] };
  const shown = async (): Promise<(string | null)[]> => {
    const response = await gateway.post('/v1/chat', request);
    await response.text();
    return [String(response.status), ...['route', 'target', 'attempts', 'fallback'].map((name) => header(response, name))];
  };
  assert.deepEqual(await shown(), ['200', null, null, '2', null]);
  assert.deepEqual([lastLine(gateway)['tried'], typeof lastLine(gateway)['key']], ['openai/limited:rate_limit openai/limited:success', 'number']);
  assert.deepEqual(await shown(), ['200', null, null, null, null]);
});

test('the requests of one conversation are sent with one key, in every format, and conversations share the keys', async (t) => {
  const gateway = await startGateway(t, { OPENAI_API_KEY: '', OPENAI_API_KEYS: 'one-key,another-key', GATEWAY_DEFAULT_PROVIDER: 'openai' });
  const more = [{ role: 'assistant', content: 'Hi.' }, { role: 'user', content: 'More' }];
  const turns: Readonly<Record<string, (text: string, later: boolean) => object>> = {
    '/v1/chat': (text, later) => ({ model: 'fake-chat', messages: [user(text), ...(later ? [{ role: 'assistant', text: 'Hi.' }, user('More')] : [])] }),
    '/v1/chat/completions': (text, later) => ({ model: 'fake-chat', messages: [{ role: 'user', content: text }, ...(later ? more : [])] }),
    '/v1/responses': (text, later) => ({ model: 'fake-chat', input: later ? [{ role: 'user', content: text }, ...more] : text }),
    '/v1/messages': (text, later) => ({ model: 'openai/fake-chat', max_tokens: 50, messages: [{ role: 'user', content: text }, ...(later ? more : [])] }),
  };
  for (const [path, bodyOf] of Object.entries(turns)) {
    const used = new Set<unknown>();
    for (let conversation = 0; conversation < 12; conversation += 1) {
      const keys = [];
      for (const isLater of [false, true]) {
        const response = await gateway.post(path, bodyOf(`Hello, this is number ${conversation}.`, isLater));
        assert.equal(response.status, 200, await response.text());
        keys.push(gateway.sandbox.calls.at(-1)?.headers.authorization);
      }
      assert.equal(keys[0], keys[1], path);
      used.add(keys[0]);
    }
    assert.equal(used.size, 2, path);
  }
});

test('a failure of a route is told to pages of other origins with all its headers', async (t) => {
  const origin = 'https://app.example';
  const gateway = await startGateway(t, { GATEWAY_ALLOWED_ORIGINS: origin }, { routes: [routeOf('smart', 'anthropic/fake-status-500', 'openai/fake-chat')] });
  const response = await gateway.post('/v1/chat', { model: 'smart', messages: [user('Hello')] }, { origin });
  await response.text();
  const exposed = (response.headers.get('access-control-expose-headers') ?? '').toLowerCase().split(', ');
  for (const [name] of response.headers) if (name.startsWith('x-')) assert.ok(exposed.includes(name), name);
  assert.ok(header(response, 'fallback') !== null);
});

test('of two targets beside each other a caller is sent the first that begins, whole, in its own format; the other is hung up on', async (t) => {
  for (const model of ['fake-stall', 'fake-stall-headers']) {
    for (const second of ['openai/fake-chat', 'anthropic/fake-chat']) {
      const gateway = await startGateway(t, {}, { routes: [{ ...routeOf('fast', `anthropic/${model}`, second), hedgeAfterMs: 10 }] });
      for (const { path, end, ...request } of [
        { path: '/v1/chat/stream', end: /"type":"done"/, messages: [user('Hello')] },
        { path: '/v1/messages', end: /event: message_stop\n/, stream: true, max_tokens: 50, messages: HELLO },
        { path: '/v1/chat/completions', end: /data: \[DONE\]\n/, stream: true, messages: HELLO },
      ]) {
        const response = await gateway.post(path, { model: 'fast', ...request });
        const text = await response.text();
        assert.deepEqual([response.status, header(response, 'target'), header(response, 'attempts')], [200, second, '2']);
        assert.match(text, end);
        assert.doesNotMatch(text, /"type":"error"|fake-stall/);
        assert.equal(text.match(/event: message_start\n/g)?.length ?? 1, 1);
        const line = lastLine(gateway);
        assert.deepEqual([line['hedged'], line['provider'], line['tried']], ['won', second.split('/')[0], `anthropic/${model}:ended ${second}:success`]);
      }
      assert.match(await (await gateway.get('/metrics')).text(), /\ngateway_hedges_total\{route="fast",outcome="won"\} 3\n/);
      while (!gateway.sandbox.calls.every((call) => call.model !== model || call.closedEarly)) await new Promise((resolve) => setImmediate(resolve));
    }
  }
});
