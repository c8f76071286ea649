/** What an embedder sees of the app: a reload, and which secrets stay out of its log. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp } from '../src/app.ts';
import { createLog } from '../src/base/log.ts';
import { loadConfig } from '../src/config/config.ts';
import type { Config } from '../src/config/config.ts';
import { compatRow, PROVIDER_ROWS } from '../src/providers/index.ts';
import { holdReplies, sandboxEnvironment, startGateway, TOKEN, user } from './running-gateway.ts';
import type { RunningGateway } from './running-gateway.ts';
import { until } from './streams/wires.ts';

const OTHER_TOKEN = 'another-token-of-callers';
const HELLO = { provider: 'openai', model: 'fake-chat', messages: [user('Hello')] };

/** The configuration of the running gateway, read again with these variables. */
function configWith(gateway: RunningGateway, variables: Readonly<Record<string, string | undefined>>, file: unknown = {}): Config {
  const { config, problems } = loadConfig({ ...sandboxEnvironment(gateway.sandbox), ...variables }, PROVIDER_ROWS, compatRow, () => JSON.stringify(file));
  if (config === undefined) throw new Error(problems.join('\n'));
  return config;
}

async function statusWith(gateway: RunningGateway, token: string): Promise<number> {
  const response = await gateway.post('/v1/chat', HELLO, { authorization: `Bearer ${token}` });
  await response.text();
  return response.status;
}

test('reload swaps tokens and keys, and says which by name', async (t) => {
  const gateway = await startGateway(t);
  const next = configWith(gateway, { GATEWAY_AUTH_TOKENS: `ops:${OTHER_TOKEN}`, OPENAI_API_KEY: 'another-key', GATEWAY_METRICS_TOKEN: 'token-of-prometheus' });
  assert.deepEqual(gateway.app.reload(next), { swapped: ['key of openai', 'token of ops', 'metrics token'], needsRestart: [] });
  assert.equal(await statusWith(gateway, OTHER_TOKEN), 200);
  assert.equal(gateway.sandbox.calls.at(-1)?.headers.authorization, 'Bearer another-key');
  assert.equal((await gateway.get('/metrics')).status, 401);
  assert.deepEqual(gateway.app.reload(configWith(gateway, {})).swapped, ['token of ops', 'metrics token', 'key of openai']);
  assert.deepEqual([await statusWith(gateway, OTHER_TOKEN), await statusWith(gateway, TOKEN)], [401, 200]);
});

test('reload takes nothing else over, and names a proxy and an engine that differ', async (t) => {
  const gateway = await startGateway(t);
  const next = configWith(gateway, { GATEWAY_INCLUDE_RAW: 'true', ANTHROPIC_API_KEY: undefined, HTTP_PROXY: 'http://127.0.0.1:1', HTTPS_PROXY: 'http://127.0.0.1:1', GATEWAY_LIMITS_URL: 'redis://:a-password@redis' });
  assert.deepEqual(gateway.app.reload(next), { swapped: [], needsRestart: ['HTTPS_PROXY', 'HTTP_PROXY', 'GATEWAY_LIMITS_URL', 'provider anthropic', 'default provider'] });
  const { status, body } = await gateway.chat({ ...HELLO, provider: 'anthropic' });
  assert.deepEqual([status, body.raw], [200, undefined]);
});

test('reload swaps routes, rules, keys and new providers at once, and 200 streams in flight keep what they began with', async (t) => {
  const gateway = await startGateway(t);
  const release = holdReplies(gateway.sandbox);
  const streams = Array.from({ length: 200 }, () => gateway.stream({ ...HELLO, model: 'held' }));
  await until(() => gateway.sandbox.calls.length === 200);
  const file = {
    providers: { openai: { keys: ['NEW_KEY', 'NEW_KEY_2'] }, second: { like: 'openai', keys: ['NEW_KEY_3'] }, gemini: { concurrent: 7 } },
    routes: { smart: { targets: [{ provider: 'second', model: 'fake-chat' }, { provider: 'openai', model: 'fake-chat' }] } },
    callers: { default: { requests_per_minute: 600, allow: ['*'] } },
  };
  const variables = { GATEWAY_ROUTING_FILE: '/routing.json', NEW_KEY: 'new-key', NEW_KEY_2: 'new-key-2', NEW_KEY_3: 'new-key-3' };
  const { swapped, needsRestart } = gateway.app.reload(configWith(gateway, variables, file));
  assert.deepEqual(swapped, [
    'key 1 of openai', 'key 2 of openai', 'key of second', 'provider second', 'concurrency of gemini', 'route smart', 'limits of default', 'allow of default',
  ]);
  assert.deepEqual(needsRestart, []);
  const { status, body } = await gateway.chat({ ...HELLO, provider: 'second' });
  assert.deepEqual([status, body.provider, gateway.sandbox.calls.at(-1)?.headers.authorization], [200, 'second', 'Bearer new-key-3']);
  release();
  for (const frames of await Promise.all(streams)) assert.equal(frames.at(-1)?.type, 'done');
  assert.deepEqual(gateway.app.reload(configWith(gateway, variables, file)), { swapped: [], needsRestart: [] });
  assert.deepEqual(gateway.app.reload(configWith(gateway, {})).needsRestart, ['provider second']);
});

test('reload leaves a provider of the file that is like another what it was, and names it', async (t) => {
  const gateway = await startGateway(t);
  const providers = (like: string): object => ({ providers: { second: { like, base_url: `${gateway.sandbox.url}/openai/v1`, keys: ['SECOND_KEY'] } } });
  const variables = { GATEWAY_ROUTING_FILE: '/routing.json', SECOND_KEY: 'second-key' };
  assert.deepEqual(gateway.app.reload(configWith(gateway, variables, providers('groq'))), { swapped: ['key of second', 'provider second'], needsRestart: [] });
  assert.deepEqual(gateway.app.reload(configWith(gateway, { ...variables, SECOND_KEY: 'another-key' }, providers('together'))), { swapped: [], needsRestart: ['like of second'] });
  assert.deepEqual(gateway.app.reload(configWith(gateway, variables, providers('groq'))), { swapped: [], needsRestart: [] });
});

test('the credentials of a proxy are masked in whatever a provider says', async (t) => {
  const authorization = Buffer.from('someone:canary-password').toString('base64');
  const words = JSON.stringify({ error: { message: `you are someone:canary-password, or Basic ${authorization}` } });
  const { config } = loadConfig(
    { GATEWAY_ADDR: '127.0.0.1:0', GATEWAY_DRAIN_DELAY: '0', GATEWAY_AUTH_TOKEN: TOKEN, OPENAI_API_KEY: 'a-key', HTTP_PROXY: 'http://someone:canary-password@proxy.test' },
    PROVIDER_ROWS,
    compatRow,
    () => '',
  );
  if (config === undefined) throw new Error('no configuration');
  let lines = '';
  const log = createLog({ level: 'debug', format: 'json', write: (line) => void (lines += line) });
  const app = createApp(config, { log, version: 'test', readFile: () => '', logLinesDropped: () => 0, fetch: async () => new Response(words, { status: 400 }) });
  t.after(() => app.close());
  const response = await fetch(`${await app.listen()}/v1/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, connection: 'close' },
    body: JSON.stringify(HELLO),
  });
  assert.equal(response.status, 400);
  await response.text();
  await app.drain();
  assert.match(lines, /you are \[key\], or Basic \[key\]/);
  assert.ok(!lines.includes('canary') && !lines.includes(authorization));
});

test("a shortage of descriptors is the gateway's own limit: asked once, 429 with Retry-After, not counted against the provider", async (t) => {
  const { config } = loadConfig(
    { GATEWAY_ADDR: '127.0.0.1:0', GATEWAY_DRAIN_DELAY: '0', GATEWAY_AUTH_TOKEN: TOKEN, OPENAI_API_KEY: 'a-key' },
    PROVIDER_ROWS,
    compatRow,
    () => '',
  );
  if (config === undefined) throw new Error('no configuration');
  let calls = 0;
  const shortOfDescriptors = (): Promise<Response> => {
    calls += 1;
    return Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'EMFILE' }) }));
  };
  const log = createLog({ level: 'error', format: 'json', write: () => undefined });
  const app = createApp(config, { log, version: 'test', readFile: () => '', logLinesDropped: () => 0, fetch: shortOfDescriptors });
  const url = await app.listen();
  t.after(() => app.close());
  for (const path of ['/v1/chat', '/v1/chat/stream']) {
    const response = await fetch(url + path, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body: JSON.stringify(HELLO) });
    const { kind, error } = (await response.json()) as { kind: string; error: string };
    assert.deepEqual([response.status, kind, response.headers.get('retry-after')], [429, 'rate_limit', '1']);
    assert.equal(error, 'the gateway has no file descriptor left for a connection to openai (EMFILE)');
  }
  assert.equal(calls, 2);
  const page = await (await fetch(`${url}/metrics`)).text();
  assert.match(page, /^gateway_upstream_attempts_total\{provider="openai",outcome="gateway"\} 2$/m);
  assert.doesNotMatch(page, /^gateway_upstream_retry_refusals_total\{/m);
});
