/** What the doctor finds: on the way to a provider, in its answers, and what it says to do about it. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { Failure } from '../../src/core/failure.ts';
import type { FailureFields, FailureKind } from '../../src/core/failure.ts';
import { examineProviders } from '../../src/operate/doctor.ts';
import type { Check, ChatWish, Report } from '../../src/operate/doctor.ts';
import type { World } from '../../src/operate/lookout.ts';
import { originOf, placeOf, remedyFor } from '../../src/operate/remedy.ts';
import type { FailedCheckName, Origin } from '../../src/operate/remedy.ts';
import { renderReport } from '../../src/operate/report.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { PROVIDER_KEY, sandboxEnvironment, TOKEN } from '../running-gateway.ts';
import { createGate } from '../upstream/attempts.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { startConnectProxy } from '../upstream/connect-proxy.ts';
import { closedBaseUrl, okResponse, startRawServer } from '../upstream/raw-server.ts';
import type { RawServer } from '../upstream/raw-server.ts';
import { startTlsFront } from '../upstream/tls-front.ts';

const CERTIFICATE = createCertificate('localhost', 'provider.test');
const MODELS = '{"data":[{"id":"m-1"},{"id":"m-2"},{"id":"m-3"}]}';
const CHAT = JSON.stringify({ id: 'c', object: 'chat.completion', model: 'm-1', choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } }] });
const ASK_MODELS = new Map<string, string>();
const OPENAI = { GATEWAY_AUTH_TOKEN: TOKEN, OPENAI_API_KEY: PROVIDER_KEY };

type Wishes = { readonly chat?: ChatWish; readonly world?: World; readonly files?: Readonly<Record<string, string>> };

/** The report on a configuration; it never shows the key. */
async function reportOn(environment: Readonly<Record<string, string>>, { chat, world = {}, files = {} }: Wishes = {}): Promise<Report> {
  const loaded = loadConfig(environment, PROVIDER_ROWS, compatRow, (path) => files[path] ?? '');
  if (loaded.config === undefined) throw new Error(loaded.problems.join('\n'));
  const report = await examineProviders(loaded.config, loaded, chat, world);
  assert.ok(!JSON.stringify(report).includes(PROVIDER_KEY));
  return report;
}

/** The checks of the only provider. */
async function checksOf(environment: Readonly<Record<string, string>>, wishes: Wishes = {}): Promise<readonly Check[]> {
  const { providers, ok } = await reportOn(environment, wishes);
  assert.equal(providers.length, 1);
  assert.equal(ok, providers[0]?.ok);
  return providers[0]?.checks ?? [];
}

/** Each check as a line, without its time. */
function linesOf(checks: readonly Check[]): readonly string[] {
  return checks.map(({ check, ok, detail }) => `${check} ${ok ? 'ok' : 'failed'}${detail === undefined ? '' : `: ${detail}`}`);
}

/** The one check that failed, which is the last but for the clock. */
async function failedOf(environment: Readonly<Record<string, string>>, wishes: Wishes = {}): Promise<{ check: string; detail: string; remedy: string }> {
  const checks = await checksOf(environment, wishes);
  const failed = checks.filter(({ ok }) => !ok);
  assert.equal(failed.length, 1, linesOf(checks).join('\n'));
  const { check = '', detail = '', remedy = '' } = failed[0] ?? {};
  return { check, detail, remedy };
}

async function sandboxFor(t: TestContext): Promise<Sandbox> {
  const sandbox = await startSandbox({ key: PROVIDER_KEY });
  t.after(() => sandbox.close());
  return sandbox;
}

/** A server that gives each request the response that `answer` has for its first line, with a Date header unless it has one. */
function startServer(t: TestContext, answer: (line: string, body: string) => string): Promise<RawServer> {
  return startRawServer(t, { onRequest: (socket, { head, body }) => void socket.write(answer(head.slice(0, head.indexOf('\r\n')), body)) });
}

function failure(status: number, body = '{}'): string {
  return okResponse(body).replace('200 OK', `${status} No`);
}

test('every provider that answers is good, by real calls: its models, and one token of the first that chats', async (t) => {
  const sandbox = await sandboxFor(t);
  const startedAtMs = performance.now();
  const report = await reportOn(sandboxEnvironment(sandbox), { chat: ASK_MODELS });
  const tookMs = Math.ceil(performance.now() - startedAtMs);
  assert.deepEqual(Object.keys(report), ['ok', 'providers']);
  assert.equal(report.ok, true);
  assert.deepEqual(report.providers.map(({ provider }) => provider), ['anthropic', 'compat', 'gemini', 'openai']);
  for (const { ok, checks } of report.providers) {
    assert.equal(ok, true);
    assert.deepEqual(linesOf(checks).filter((line) => !line.startsWith('clock')), [
      'name ok: 127.0.0.1 is an address',
      'proxy ok: none',
      'connect ok: 127.0.0.1',
      'tls ok: none: the base URL is http',
      'key ok: accepted; 3 models',
      'chat ok: fake-chat answered',
      'json ok: answers by a schema',
    ]);
    for (const check of checks) assert.ok(Object.keys(check).every((key) => ['check', 'ok', 'ms', 'detail'].includes(key)));
    const timed = checks.filter(({ ms }) => ms !== undefined);
    assert.deepEqual(timed.map(({ check }) => check), ['connect', 'key', 'chat', 'json']);
    for (const { ms = NaN } of timed) assert.ok(Number.isInteger(ms) && ms >= 0 && ms <= tookMs, `${ms} of ${tookMs} ms`);
  }
  const chats = sandbox.calls.filter(({ method }) => method === 'POST');
  assert.equal(chats.length, 8);
  for (const { body } of chats) assert.match(body, /"(?:max_tokens|max_completion_tokens|maxOutputTokens)":(?:1|16)\b/);
});

test('of several keys each is examined, and the one to mend is named', async (t) => {
  const server = await startRawServer(t, {
    onRequest: (socket, { head }) => void socket.write(/the-dead-key/.test(head) ? failure(401) : okResponse(head.startsWith('GET') ? MODELS : CHAT)),
  });
  const environment = { GATEWAY_AUTH_TOKEN: TOKEN, OPENAI_BASE_URL: server.baseUrl.href, FIRST_KEY: 'the-first-key', DEAD_KEY: 'the-dead-key', LAST_KEY: 'the-last-key' };
  const files = { '/routing.json': '{"providers": {"openai": {"keys": ["FIRST_KEY", "DEAD_KEY", "LAST_KEY"]}}}' };
  const checks = await checksOf({ ...environment, GATEWAY_ROUTING_FILE: '/routing.json' }, { files });
  assert.deepEqual(linesOf(checks).filter((line) => line.startsWith('key')), [
    'key ok: key 1: accepted; 3 models',
    "key failed: key 2: openai rejected the gateway's credential (HTTP 401)",
    'key ok: key 3: accepted; 3 models',
  ]);
  assert.match(checks.find(({ ok }) => !ok)?.remedy ?? '', /^DEAD_KEY: give a key/);
  const listed = await checksOf({ GATEWAY_AUTH_TOKEN: TOKEN, OPENAI_BASE_URL: server.baseUrl.href, OPENAI_API_KEYS: 'the-first-key,the-dead-key' }, { chat: ASK_MODELS });
  assert.deepEqual(linesOf(listed).filter((line) => /^(key|chat)/.test(line)), [
    'key ok: key 1: accepted; 3 models',
    'chat ok: key 1: m-1 answered',
    "key failed: key 2: openai rejected the gateway's credential (HTTP 401)",
    'chat failed: key 2: openai gave no list of models to choose from',
  ]);
  assert.match(listed.find(({ ok }) => !ok)?.remedy ?? '', /^OPENAI_API_KEYS: give a key/);
});

test('without a wish for a chat nothing is asked that could cost', async (t) => {
  const sandbox = await sandboxFor(t);
  await reportOn({ ...OPENAI, OPENAI_BASE_URL: sandbox.baseUrls.openai });
  assert.deepEqual(sandbox.calls.map(({ method }) => method), ['GET']);
});

describe('a name that', () => {
  const fails = (code: string): World => ({
    nameSource: { query: (_, onAnswer) => setImmediate(onAnswer, Object.assign(new Error(''), { code }), []), probe: (_, onAnswer) => setImmediate(onAnswer, true) },
  });

  test('nobody knows fails, and the remedy names the base URL where one is set, else the proxy', async () => {
    const set = await failedOf({ ...OPENAI, OPENAI_BASE_URL: 'https://nowhere.test/v1' }, { world: fails('ENOTFOUND') });
    assert.deepEqual(set, { check: 'name', detail: 'openai has a host name that does not exist (ENOTFOUND)', remedy: 'OPENAI_BASE_URL: check the name of the host.' });
    const usual = await failedOf(OPENAI, { world: fails('EAI_AGAIN') });
    assert.equal(usual.check, 'name');
    assert.match(usual.remedy, /^HTTPS_PROXY: set it .* resolve api\.openai\.com\.$/);
    const proxied = await failedOf({ ...OPENAI, https_proxy: 'http://nowhere.test:3128' }, { world: fails('ENOTFOUND') });
    assert.deepEqual(proxied, {
      check: 'name', detail: 'the proxy to openai has a host name that does not exist (ENOTFOUND)', remedy: 'https_proxy: check the name of the proxy.',
    });
  });

  test('a name server is silent about fails with the connect timeout', async () => {
    const world: World = { nameSource: { query: () => undefined, probe: () => undefined } };
    const failed = await failedOf({ ...OPENAI, GATEWAY_CONNECT_TIMEOUT: '20ms' }, { world });
    assert.deepEqual([failed.check, failed.detail], ['name', 'no connection to openai within 20 ms']);
  });

  test('is known is shown with its address', async (t) => {
    const { baseUrl } = await startServer(t, () => okResponse('{"data":[{"id":"m-1"}]}'));
    for (const [addresses, shown] of [[['127.0.0.1', '127.0.0.2'], '127.0.0.1 and 1 more'], [['127.0.0.1'], '127.0.0.1']] as const) {
      const answer = addresses.map((address) => ({ address, family: 4 }));
      const world: World = { nameSource: { query: (_, onAnswer) => setImmediate(onAnswer, null, answer), probe: () => undefined } };
      const startedAtMs = performance.now();
      const checks = await checksOf({ ...OPENAI, OPENAI_BASE_URL: `http://provider.test:${baseUrl.port}` }, { world });
      const { ms = NaN } = checks[0] ?? {};
      assert.ok(Number.isInteger(ms) && ms >= 0 && ms <= Math.ceil(performance.now() - startedAtMs), `${ms} ms`);
      assert.deepEqual([linesOf(checks)[0], linesOf(checks)[4]], [`name ok: provider.test is ${shown}`, 'key ok: accepted; 1 model']);
    }
  });
});

test('how long connecting took is told from the lookup before it, also where the name was looked up again since', async (t) => {
  const now = performance.now.bind(performance);
  let passedMs = 0;
  t.mock.method(performance, 'now', () => now() + passedMs);
  const server = await startServer(t, (line) => {
    // Longer than the answer to a lookup is used.
    passedMs += 10_000;
    return okResponse(line.startsWith('GET') ? MODELS : CHAT).replace('\r\n', '\r\nconnection: close\r\n');
  });
  const lookups: string[] = [];
  const world: World = {
    nameSource: { query: (hostname, onAnswer) => void (lookups.push(hostname), setImmediate(onAnswer, null, [{ address: '127.0.0.1', family: 4 }])), probe: () => undefined },
  };
  const checks = await checksOf({ ...OPENAI, OPENAI_API: 'chat', OPENAI_BASE_URL: `http://provider.test:${server.baseUrl.port}` }, { chat: ASK_MODELS, world });
  const { ms = NaN } = checks.find(({ check }) => check === 'connect') ?? {};
  assert.ok(ms >= 0 && ms < 10_000, `${ms} ms`);
  assert.ok(lookups.length > 1);
});

test('a host that refuses connections fails, and the remedy names its base URL', async () => {
  const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: `${(await closedBaseUrl()).origin}/v1` });
  assert.deepEqual(failed, { check: 'connect', detail: 'openai refused the connection (ECONNREFUSED)', remedy: 'OPENAI_BASE_URL: check host and port.' });
});

describe('TLS', () => {
  test('is shown with who issued the certificate and the days it has left', async (t) => {
    const sandbox = await sandboxFor(t);
    const port = await startTlsFront(t, sandbox.baseUrls.openai, CERTIFICATE);
    const checks = await checksOf({ ...OPENAI, OPENAI_BASE_URL: `https://localhost:${port}/openai/v1` }, { world: { ca: CERTIFICATE.cert } });
    const daysLeft = Math.floor((Date.UTC(2049, 11, 31, 23, 59, 59) - Date.now()) / 86_400_000);
    assert.equal(linesOf(checks)[0], 'name ok: localhost is this machine');
    assert.equal(linesOf(checks)[3], `tls ok: issued by localhost, ${daysLeft} days left`);
  });

  test('of an unknown authority fails, and the remedy names NODE_EXTRA_CA_CERTS', async (t) => {
    const sandbox = await sandboxFor(t);
    const port = await startTlsFront(t, sandbox.baseUrls.openai, CERTIFICATE);
    const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: `https://localhost:${port}/openai/v1` });
    assert.deepEqual([failed.check, failed.detail], ['tls', 'the TLS certificate of openai was rejected (DEPTH_ZERO_SELF_SIGNED_CERT)']);
    assert.match(failed.remedy, /^NODE_EXTRA_CA_CERTS: /);
    assert.equal(sandbox.calls.length, 0);
  });

  test('for another host fails, and the remedy names the base URL', async (t) => {
    const sandbox = await sandboxFor(t);
    const elsewhere = createCertificate('elsewhere.test');
    const port = await startTlsFront(t, sandbox.baseUrls.openai, elsewhere);
    const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: `https://localhost:${port}/openai/v1` }, { world: { ca: elsewhere.cert } });
    assert.equal(failed.check, 'tls');
    assert.match(failed.remedy, /^OPENAI_BASE_URL: name a host that the certificate is for/);
  });

  test('with whom speaks none fails, and the remedy names the base URL', async (t) => {
    const sandbox = await sandboxFor(t);
    const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: sandbox.baseUrls.openai.replace('http:', 'https:') });
    assert.equal(failed.check, 'tls');
    assert.match(failed.remedy, /^OPENAI_BASE_URL: check the port/);
  });
});

describe('a proxy', () => {
  const SECRET = 'proxy-password-canary';

  test('that works is shown without its credentials, and looks the provider up itself', async (t) => {
    const sandbox = await sandboxFor(t);
    const port = await startTlsFront(t, sandbox.baseUrls.openai, CERTIFICATE);
    const proxy = await startConnectProxy(t);
    const environment = { ...OPENAI, OPENAI_BASE_URL: `https://provider.test:${port}/openai/v1`, HTTPS_PROXY: proxy.url.href.replace('//', `//user:${SECRET}@`) };
    const checks = await checksOf(environment, { world: { ca: CERTIFICATE.cert } });
    assert.deepEqual(linesOf(checks).slice(0, 2), ['name ok: 127.0.0.1 is an address', `proxy ok: 127.0.0.1 port ${proxy.url.port}`]);
    assert.equal(checks.every(({ ok }) => ok), true);
    assert.ok(!JSON.stringify(checks).includes(SECRET));
    assert.deepEqual(proxy.requests, [`CONNECT provider.test:${port}`]);
  });

  for (const [what, status, remedy] of [
    ['wants other credentials', 407, /^HTTPS_PROXY_FILE: give a user name and a password/],
    ['does not let the host through', 403, /^HTTPS_PROXY_FILE: make the proxy allow provider\.test/],
  ] as const) {
    test(`that ${what} fails behind what is good, is asked once, and the remedy names its variable`, async (t) => {
      const proxy = await startConnectProxy(t, { onConnect: (socket) => socket.end(`HTTP/1.1 ${status} No\r\n\r\n`) });
      const several = { GATEWAY_AUTH_TOKEN: TOKEN, OPENAI_API_KEYS: `${PROVIDER_KEY},${PROVIDER_KEY}-2` };
      const environment = { ...several, OPENAI_BASE_URL: 'https://provider.test/v1', HTTPS_PROXY_FILE: '/proxy' };
      const files = { '/proxy': proxy.url.href.replace('//', `//user:${SECRET}@`) };
      const checks = await checksOf(environment, { files, chat: new Map([['openai', 'm-1']]) });
      assert.deepEqual(checks.map(({ check, ok }) => [check, ok]), [['name', true], ['proxy', false]]);
      assert.match(checks[1]?.remedy ?? '', remedy);
      assert.ok(!JSON.stringify(checks).includes(SECRET));
      assert.equal(proxy.requests.length, 1);
    });
  }

  test('in absolute form that wants other credentials is not taken for the provider', async (t) => {
    const proxy = await startServer(t, () => failure(407));
    const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: 'http://provider.test/v1', HTTP_PROXY: proxy.baseUrl.origin });
    assert.equal(failed.check, 'proxy');
    assert.match(failed.remedy, /^HTTP_PROXY: give a user name and a password/);
  });

  test('that is not there, or never answers, fails', async (t) => {
    const closed = await failedOf({ ...OPENAI, HTTPS_PROXY: (await closedBaseUrl()).origin });
    assert.deepEqual([closed.check, closed.detail], ['proxy', 'the proxy to openai refused the connection (ECONNREFUSED)']);
    assert.match(closed.remedy, /^HTTPS_PROXY: check host, port/);
    const silent = await startRawServer(t, {});
    const stalled = await failedOf({ ...OPENAI, HTTPS_PROXY: silent.baseUrl.origin, GATEWAY_CONNECT_TIMEOUT: '20ms' });
    assert.equal(stalled.check, 'proxy');
    assert.match(stalled.remedy, /^HTTPS_PROXY: check host, port/);
  });

  test('that is behind TLS of an unknown authority fails, and the remedy names NODE_EXTRA_CA_CERTS', async (t) => {
    const proxy = await startConnectProxy(t, { certificate: CERTIFICATE });
    const failed = await failedOf({ ...OPENAI, HTTPS_PROXY: proxy.url.href });
    assert.equal(failed.check, 'proxy');
    assert.match(failed.remedy, /^NODE_EXTRA_CA_CERTS: /);
  });
});

describe('a key', () => {
  for (const [provider, keyVariable, urlVariable] of [
    ['anthropic', 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL'],
    ['openai', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'],
    ['gemini', 'GOOGLE_API_KEY', 'GEMINI_BASE_URL'],
  ] as const) {
    test(`that ${provider} rejects fails, and the remedy names its variable or its file's`, async (t) => {
      const sandbox = await sandboxFor(t);
      const wrong = 'wrong-key-canary-0123456789';
      const common = { GATEWAY_AUTH_TOKEN: TOKEN, [urlVariable]: sandbox.baseUrls[provider] };
      for (const [name, environment] of [[keyVariable, { [keyVariable]: wrong }], [`${keyVariable}_FILE`, { [`${keyVariable}_FILE`]: '/key' }]] as const) {
        const failed = await failedOf({ ...common, ...environment }, { files: { '/key': wrong } });
        assert.equal(failed.check, 'key');
        assert.match(failed.detail, new RegExp(`^${provider} rejected the gateway's credential \\(HTTP 40\\d`));
        assert.equal(failed.remedy, `${name}: give a key that ${provider} accepts, of an account that may do this.`);
        assert.ok(!JSON.stringify(failed).includes(wrong));
      }
    });
  }

  test('of several, or that the routing file names, is named by its variable', async (t) => {
    const sandbox = await sandboxFor(t);
    const wrong = 'wrong-key-canary-0123456789';
    const common = { GATEWAY_AUTH_TOKEN: TOKEN, OPENAI_BASE_URL: sandbox.baseUrls.openai };
    const of = (names: string): string => `${names}: give a key that openai accepts, of an account that may do this.`;
    const remedies = (checks: readonly Check[]): readonly unknown[] => checks.filter(({ ok }) => !ok).map(({ remedy }) => remedy);
    assert.deepEqual(remedies(await checksOf({ ...common, OPENAI_API_KEYS: `${wrong},${wrong}-2` })), [of('OPENAI_API_KEYS'), of('OPENAI_API_KEYS')]);
    const named = { ...common, GATEWAY_ROUTING_FILE: '/routing.json', FIRST: wrong, SECOND_FILE: '/key' };
    const files = { '/routing.json': '{"providers":{"openai":{"keys":["FIRST","SECOND"]}}}', '/key': `${wrong}-2` };
    assert.deepEqual(remedies(await checksOf(named, { files })), [of('FIRST'), of('SECOND_FILE')]);
    const like = '{"providers":{"eu":{"like":"openai","base_url":"http://127.0.0.1:1/v1","keys":["FIRST"]}}}';
    const { remedy } = await failedOf({ GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_ROUTING_FILE: '/routing.json', FIRST: wrong }, { files: { '/routing.json': like } });
    assert.equal(remedy, 'GATEWAY_ROUTING_FILE: providers.eu.base_url: check host and port.');
    // Without a place of its own it has that of the other, which has a variable even where that is not set.
    const second = loadConfig({ GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_ROUTING_FILE: '/routing.json', FIRST: wrong }, PROVIDER_ROWS, compatRow, () => like.replace('"base_url":"http://127.0.0.1:1/v1",', ''));
    const [provider] = second.config?.providers ?? [];
    assert.equal(provider && originOf(provider, second, false).baseUrlVariable, 'OPENAI_BASE_URL');
  });

  test('that is missing where one is asked for fails', async (t) => {
    const { baseUrl } = await startServer(t, () => failure(401));
    const failed = await failedOf({ GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_COMPAT_BASE_URL: baseUrl.origin });
    assert.equal(failed.remedy, 'GATEWAY_COMPAT_API_KEY: give a key; compat asks for one.');
    const files = { '/routing.json': JSON.stringify({ providers: { mine: { like: 'compat', base_url: baseUrl.origin } } }) };
    const { remedy } = await failedOf({ GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_ROUTING_FILE: '/routing.json' }, { files });
    assert.equal(remedy, 'GATEWAY_ROUTING_FILE: providers.mine.keys: give a key; mine asks for one.');
  });

  test('is not asked for where another credential may not do this: the remedy names whom that belongs to', async (t) => {
    const { baseUrl } = await startServer(t, () => failure(403, '{"message":"x"}'));
    const bedrock = { GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_CLOUDS: 'bedrock', AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret-canary' };
    const failed = await failedOf({ ...bedrock, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: baseUrl.origin });
    assert.equal(failed.check, 'key');
    assert.equal(failed.remedy, 'GATEWAY_CLOUDS: check the identity that bedrock is called by, and what it may do; or give a key in AWS_BEARER_TOKEN_BEDROCK.');
  });

  test('is not tried where a cloud has no list of models, which is no fault, until a chat is asked for', async (t) => {
    const { baseUrl } = await startServer(t, () => failure(404, '{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}'));
    const bedrock = { GATEWAY_AUTH_TOKEN: TOKEN, AWS_BEARER_TOKEN_BEDROCK: PROVIDER_KEY, AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_BEDROCK_RUNTIME: baseUrl.origin };
    const foundry = { GATEWAY_AUTH_TOKEN: TOKEN, ANTHROPIC_FOUNDRY_API_KEY: PROVIDER_KEY, ANTHROPIC_FOUNDRY_BASE_URL: baseUrl.origin };
    for (const [name, environment] of [['bedrock', bedrock], ['foundry', foundry]] as const) {
      const lines = linesOf(await checksOf(environment));
      assert.ok(lines.includes(`key ok: ${name} has no list of models, so that it was not tried; --chat=${name}/MODEL tries it`), lines.join('\n'));
    }
    const tried = linesOf(await checksOf(bedrock, { chat: new Map([['bedrock', 'anthropic.claude-opus-4-8']]) }));
    assert.ok(tried.includes('key ok: bedrock has no list of models'), tried.join('\n'));
    assert.match(tried.at(-1) ?? '', /^chat failed: /);
  });

  test('that finds nothing where a cloud is said to be has a remedy that names the variable which says so', async (t) => {
    const { baseUrl } = await startServer(t, () => failure(404));
    const failed = await failedOf({ GATEWAY_AUTH_TOKEN: TOKEN, AZURE_OPENAI_API_KEY: PROVIDER_KEY, AZURE_OPENAI_ENDPOINT: baseUrl.origin });
    assert.match(failed.remedy, /^AZURE_OPENAI_ENDPOINT: check its path\. /);
  });

  test('that the provider repeats, in its code and as a model, is masked', async (t) => {
    const { baseUrl } = await startServer(t, () => failure(401, JSON.stringify({ error: { code: PROVIDER_KEY, message: PROVIDER_KEY } })));
    const { detail } = await failedOf({ ...OPENAI, OPENAI_BASE_URL: baseUrl.origin });
    assert.match(detail, /code \[key\]/);
    const naming = await startServer(t, (line) => okResponse(line.startsWith('GET') ? JSON.stringify({ data: [{ id: PROVIDER_KEY }] }) : CHAT));
    const checks = await checksOf({ ...OPENAI, OPENAI_BASE_URL: naming.baseUrl.origin }, { chat: ASK_MODELS });
    assert.ok(linesOf(checks).includes('chat ok: [key] answered'));
  });

  for (const [what, response, remedy] of [
    ['no list at this path', failure(404), /^OPENAI_BASE_URL: check its path\. .*--chat=openai\/MODEL/],
    ['a page', okResponse('<html>'), /^OPENAI_BASE_URL: check that it is the address of the API/],
    ['trouble', failure(503), /^OPENAI_BASE_URL: .* the fault is at openai itself/],
    ['too many requests', failure(429), /^OPENAI_API_KEY: raise the limits/],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', /^OPENAI_BASE_URL: check that it is the address/],
  ] as const) {
    test(`cannot be judged where there is ${what}, which is asked for once`, async (t) => {
      const server = await startServer(t, () => response);
      const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: server.baseUrl.origin });
      assert.equal(failed.check, 'key');
      assert.match(failed.remedy, remedy);
      assert.equal(server.requests.length, 1);
    });
  }

  test('cannot be judged where nobody answers in time', async (t) => {
    const server = await startRawServer(t, { onRequest: () => undefined });
    const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: server.baseUrl.origin, GATEWAY_ATTEMPT_TIMEOUT: '1s' });
    assert.deepEqual([failed.check, failed.detail], ['key', 'no complete answer from openai within 1000 ms']);
  });
});

describe('a chat', () => {
  test('asks the next model of the list where one does not chat, and for 16 tokens where 1 is too few', async (t) => {
    const asked: string[] = [];
    const { baseUrl } = await startServer(t, (line, body) => {
      if (line.startsWith('GET')) return okResponse(MODELS);
      const { model, max_completion_tokens: tokens } = JSON.parse(body) as { model: string; max_completion_tokens: number };
      asked.push(`${model} ${tokens}`);
      if (model === 'm-1') return failure(404);
      return tokens === 1 ? failure(400) : okResponse(CHAT);
    });
    const checks = await checksOf({ ...OPENAI, OPENAI_BASE_URL: baseUrl.origin }, { chat: ASK_MODELS });
    assert.ok(linesOf(checks).includes('chat ok: m-2 answered'));
    // The last is asked to answer by a schema.
    assert.deepEqual(asked, ['m-1 1', 'm-2 1', 'm-2 16', 'm-2 16']);
  });

  test('that answers but by no schema says so, and is no fault', async (t) => {
    const { baseUrl } = await startServer(t, (line, body) => (line.startsWith('GET') ? okResponse(MODELS) : body.includes('json_schema') ? failure(400) : okResponse(CHAT)));
    const refused = await reportOn({ ...OPENAI, OPENAI_BASE_URL: baseUrl.origin }, { chat: ASK_MODELS });
    assert.equal(refused.ok, true);
    assert.ok(linesOf(refused.providers[0]?.checks ?? []).includes('json ok: not by a schema: openai refused the request as malformed (HTTP 400)'));
    const none = await reportOn({ GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_COMPAT_BASE_URL: baseUrl.origin, GATEWAY_COMPAT_STRUCTURED_OUTPUT: 'none' }, { chat: ASK_MODELS });
    assert.match(linesOf(none.providers[0]?.checks ?? []).join('\n'), /json ok: not by a schema: output/);
  });

  test('that five models refuse fails, and the remedy asks for a name', async (t) => {
    const list = JSON.stringify({ data: Array.from({ length: 9 }, (_, n) => ({ id: `m-${n}` })) });
    const server = await startServer(t, (line) => (line.startsWith('GET') ? okResponse(list) : failure(404)));
    const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: server.baseUrl.origin }, { chat: ASK_MODELS });
    assert.equal(failed.check, 'chat');
    assert.match(failed.remedy, /^--chat=openai\/MODEL: name a model/);
    assert.equal(server.requests.length, 1 + 5);
  });

  test('that fails for another reason than its model is not tried with the next one', async (t) => {
    for (const [status, detail] of [[403, "openai rejected the gateway's credential (HTTP 403)"], [429, 'openai is limiting the rate of requests (HTTP 429)']] as const) {
      const server = await startServer(t, (line) => (line.startsWith('GET') ? okResponse(MODELS) : failure(status)));
      const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: server.baseUrl.origin }, { chat: ASK_MODELS });
      assert.deepEqual([failed.check, failed.detail, server.requests.length], ['chat', detail, 2]);
    }
  });

  test('that the model declines without a word is answered', async (t) => {
    const declined = CHAT.replace('"stop"', '"content_filter"').replace('"Hi"', 'null');
    const { baseUrl } = await startServer(t, (line) => okResponse(line.startsWith('GET') ? MODELS : declined));
    const checks = await checksOf({ ...OPENAI, OPENAI_BASE_URL: baseUrl.origin }, { chat: ASK_MODELS });
    assert.deepEqual(linesOf(checks).slice(-2), ['chat ok: m-1 answered', 'json ok: answers by a schema']);
  });

  test('with a named model that is answered proves the key, whatever the list says', async (t) => {
    const server = await startServer(t, (line) => (line.startsWith('GET') ? failure(403) : okResponse(CHAT)));
    const checks = await checksOf({ ...OPENAI, OPENAI_BASE_URL: server.baseUrl.origin }, { chat: new Map([['openai', 'm-9']]) });
    assert.deepEqual(linesOf(checks).slice(4), [
      "key ok: accepted for the chat, although openai rejected the gateway's credential (HTTP 403)",
      'chat ok: m-9 answered',
      'json ok: answers by a schema',
    ]);
    assert.match(server.requests[1]?.body ?? '', /"m-9"/);
  });

  test('without a list and without a name fails beside the list', async (t) => {
    const { baseUrl } = await startServer(t, () => failure(404));
    const checks = await checksOf({ ...OPENAI, OPENAI_BASE_URL: baseUrl.origin }, { chat: ASK_MODELS });
    assert.deepEqual(checks.filter(({ ok }) => !ok).map(({ check }) => check), ['key', 'chat']);
  });

  test('is not tried where the way to the provider is broken', async () => {
    const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: (await closedBaseUrl()).origin }, { chat: ASK_MODELS });
    assert.equal(failed.check, 'connect');
  });
});

test('a clock that is an hour off fails, and says which way', async (t) => {
  for (const [offMs, direction] of [[3_600_000, 'behind'], [-3_600_000, 'ahead']] as const) {
    const { baseUrl } = await startServer(t, () => okResponse(MODELS, `date: ${new Date(Date.now() + offMs).toUTCString()}\r\n`));
    const failed = await failedOf({ ...OPENAI, OPENAI_BASE_URL: baseUrl.origin });
    assert.equal(failed.check, 'clock');
    assert.match(failed.detail, new RegExp(`^this machine is (35[89]|36\\d)\\d s ${direction}$`));
    assert.equal(failed.remedy, 'Set the clock of this machine, best by NTP.');
    const signed = { GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_CLOUDS: 'bedrock', AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret-canary' };
    const { providers } = await reportOn({ ...signed, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: baseUrl.origin });
    const { clock_skew: skew = NaN } = providers[0] ?? {};
    assert.ok(Number.isInteger(skew) && Math.abs(skew - offMs / 1000) < 60, `${skew}`);
  }
});

test('a provider that names no date is good without a word on the clock', async (t) => {
  const { baseUrl } = await startServer(t, () => okResponse(MODELS));
  const checks = await checksOf({ ...OPENAI, OPENAI_BASE_URL: baseUrl.origin });
  assert.deepEqual(checks.map(({ check, ok }) => [check, ok]), ['name', 'proxy', 'connect', 'tls', 'key'].map((check) => [check, true]));
});

test('with GATEWAY_TRANSPORT=fetch the same calls go by fetch, and what it hides is said so', async (t) => {
  const sandbox = await sandboxFor(t);
  const environment = { ...OPENAI, OPENAI_BASE_URL: sandbox.baseUrls.openai.replace('127.0.0.1', 'localhost'), GATEWAY_TRANSPORT: 'fetch', HTTP_PROXY: 'http://nowhere.test' };
  const checks = await checksOf(environment);
  assert.deepEqual(linesOf(checks).slice(0, 5), [
    'name ok: localhost is looked up by fetch', 'proxy ok: fetch uses none', 'connect ok', 'tls ok: none: the base URL is http', 'key ok: accepted; 3 models',
  ]);
  const failed = await failedOf({ ...environment, OPENAI_BASE_URL: (await closedBaseUrl()).origin });
  assert.equal(failed.check, 'connect');
});

test('providers are examined eight at a time', async (t) => {
  const gate = createGate();
  const server = await startRawServer(t, {
    onRequest: (socket) => void gate.opened.then(() => socket.write(okResponse(MODELS))),
  });
  const names = ['OPENAI', 'GROQ', 'MISTRAL', 'DEEPSEEK', 'XAI', 'OPENROUTER', 'TOGETHER', 'FIREWORKS', 'CEREBRAS', 'NVIDIA'];
  const environment = Object.fromEntries(names.flatMap((name) => [[`${name}_API_KEY`, PROVIDER_KEY], [`${name}_BASE_URL`, server.baseUrl.origin]]));
  const report = reportOn({ GATEWAY_AUTH_TOKEN: TOKEN, ...environment });
  await server.arrived(8);
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  assert.equal(server.requests.length, 8);
  gate.open();
  assert.equal((await report).ok, true);
  assert.equal(server.requests.length, names.length);
});

test('renderReport fits 80 columns and breaks no word', () => {
  const words = Array.from({ length: 60 }, (_, n) => 'x'.repeat(1 + (n * 7) % 23));
  const sentence = words.join(' ');
  const report: Report = {
    ok: false,
    providers: [
      { provider: 'p'.repeat(64), ok: false, checks: [{ check: 'connect', ok: false, ms: 29_999, detail: sentence, remedy: sentence }] },
      { provider: 'q', ok: true, checks: [{ check: 'key', ok: true }] },
    ],
  };
  const text = renderReport(report);
  const lines = text.split('\n');
  assert.ok(lines.every((line) => line.length <= 80 && line === line.trimEnd()));
  assert.deepEqual(text.split(/\s+/).filter((word) => /^x+$/.test(word)), [...words, ...words]);
  assert.equal(lines.at(-2), '1 of 2 providers cannot serve as configured.');
  assert.match(text, /^ {2}key {6}ok$/m);
});

const ORIGIN: Origin = { provider: 'acme', host: 'api.acme.example', hasKey: true, hasCredentials: false, keyVariable: 'ACME_API_KEY', baseUrlVariable: 'ACME_BASE_URL', proxyVariable: 'HTTPS_PROXY', isBaseUrlSet: false, hasProxy: false };

const REMEDIES: readonly (readonly [place: FailedCheckName, kind: FailureKind, fields: FailureFields, origin: Partial<Origin>, begins: string])[] = [
  ['source', 'auth', {}, { hasCredentials: true }, 'GATEWAY_CLOUDS: check the identity that acme is called by'],
  ['source', 'unknown', {}, { hasCredentials: true }, 'GATEWAY_CLOUDS: check that the source of credentials of acme can be reached'],
  ['connect', 'unknown', { code: 'ECONNREFUSED' }, {}, 'HTTPS_PROXY: set it if only a proxy leads out of this network.'],
  ['connect', 'unknown', { code: 'ECONNREFUSED' }, { isBaseUrlSet: true }, 'ACME_BASE_URL: check host and port.'],
  ['tls', 'unknown', { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }, {}, 'ACME_BASE_URL: name a host that asks for no client certificate'],
  ['tls', 'unknown', { code: 'EPROTO' }, {}, 'ACME_BASE_URL: check the port, and https against http'],
  ['tls', 'unknown', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, {}, 'ACME_BASE_URL: name a host that the certificate is for, which api.acme.example is not.'],
  ['tls', 'unknown', { code: 'HOSTNAME_MISMATCH' }, {}, 'ACME_BASE_URL: name a host that the certificate is for, which api.acme.example is not.'],
  ['tls', 'unknown', { code: 'CERT_HAS_EXPIRED' }, {}, 'The certificate has to be renewed'],
  ['tls', 'unknown', { code: 'CERT_NOT_YET_VALID' }, {}, 'The certificate has to be renewed'],
  ['tls', 'unknown', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }, {}, 'NODE_EXTRA_CA_CERTS: name a PEM file'],
  ['key', 'rate_limit', {}, {}, 'ACME_API_KEY: raise the limits of its account'],
  ['key', 'rate_limit', {}, { hasCredentials: true }, 'GATEWAY_CLOUDS: raise the limits of its account'],
];

test('each way to fail has its own remedy', () => {
  for (const [place, kind, fields, origin, begins] of REMEDIES) {
    const remedy = remedyFor(place, new Failure(kind, 'it failed', fields), { ...ORIGIN, ...origin });
    assert.ok(remedy.startsWith(begins), `${place} ${JSON.stringify(fields)}: ${remedy}`);
  }
});

test('an answer of 407 is of the proxy where there is one, and any other of the provider', () => {
  const place = (upstreamStatus: number, hasProxy: boolean): FailedCheckName => placeOf(new Failure('auth', 'it failed', { upstreamStatus }), { isConnected: true, isAnswered: true, hasProxy });
  assert.deepEqual([place(407, true), place(407, false), place(401, true)], ['proxy', 'key', 'key']);
});
