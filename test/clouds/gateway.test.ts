/** A gateway before the sandbox's clouds: what its callers, its operator and its logs see of credentials that are no key. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { Scope } from '../../src/core/scope.ts';
import { Failure } from '../../src/core/failure.ts';
import { examineProviders } from '../../src/operate/doctor.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { createEndpoints } from '../../src/upstream/credentials/endpoint.ts';
import { createHttpTransport } from '../../src/upstream/http.ts';
import type { Transport } from '../../src/upstream/transport.ts';
import { sandboxEnvironment, startGateway, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { providerAt } from '../upstream/attempts.ts';
import { answerJson, GOOD_REPLY, startUpstream } from '../faults/upstream.ts';
import { createFakeClock } from '../upstream/credentials/clock.ts';
import { AZURE, BEDROCK, CLAUDE_AWS, FOUNDRY, VERTEX } from './environments.ts';
import type { Environment } from './environments.ts';

/** Bedrock by the role of an instance. */
const BEDROCK_BY_ROLE: Environment = ({ url, clouds }) => ({
  GATEWAY_CLOUDS: 'bedrock',
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: `${url}/bedrock`,
  AWS_REGION: clouds.region,
  AWS_EC2_METADATA_SERVICE_ENDPOINT: url,
});

function asked({ sandbox }: RunningGateway, path: RegExp): number {
  return sandbox.calls.filter((call) => path.test(call.path)).length;
}

const CHAT = { provider: 'azure', model: 'fake-chat', messages: [user('Hi')] };

test('many requests at once ask for one token, and all are answered', async (t) => {
  const gateway = await startGateway(t, AZURE);
  const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.chat(CHAT)));
  assert.deepEqual(answers.map(({ status }) => status), Array.from({ length: 20 }, () => 200));
  assert.equal(asked(gateway, /oauth2/), 1);
});

for (const [name, environment, request, source] of [
  ['a token', AZURE, CHAT, /oauth2/],
  ['keys of an instance', CLAUDE_AWS, { ...CHAT, provider: 'claude-aws' }, /latest\/api\/token/],
] as const) {
  test(`${name}: through hours of chats none fails, each credential is asked for once, and one that is revoked costs an attempt`, async (t) => {
    const clock = createFakeClock();
    const gateway = await startGateway(t, environment, { clock });
    const statuses = new Set<number>();
    for (let minute = 0; minute < 180; minute += 5) {
      statuses.add((await gateway.chat(request)).status);
      clock.pass(5 * 60_000);
    }
    assert.deepEqual([...statuses], [200]);
    const given = asked(gateway, source);
    assert.ok(given >= 3 && given <= 5, `${given}`);
    const attemptsBefore = asked(gateway, /chat|messages/);
    gateway.sandbox.clouds.revoke();
    assert.equal((await gateway.chat(request)).status, 200);
    assert.equal(asked(gateway, /chat|messages/) - attemptsBefore, 2);
    assert.equal(gateway.logLines.filter(({ kind }) => kind === 'auth').length, 0);
  });
}

test('all who are on their way when a token is revoked are served with another, asked for once', async (t) => {
  const count = 60;
  const refused: ServerResponse[] = [];
  let last: string | undefined;
  let revoked: string | undefined;
  const upstream = await startUpstream(t, (response, { headers }) => {
    last = headers.authorization;
    if (last !== revoked) return answerJson(response, 200, GOOD_REPLY);
    if (refused.push(response) === count) for (const each of refused) answerJson(each, 401, '{"error":{"code":"401","message":"x"}}');
  });
  const clock = createFakeClock();
  const gateway = await startGateway(t, (sandbox) => ({ ...AZURE(sandbox), AZURE_OPENAI_BASE_URL: upstream.origin }), { clock });
  assert.equal((await gateway.chat(CHAT)).status, 200);
  revoked = last;
  clock.pass(60_000);
  const answers = await Promise.all(Array.from({ length: count }, () => gateway.chat(CHAT)));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.equal(asked(gateway, /oauth2/), 2);
});

test('clouds of one source share what it gives, and it is asked once for all of them', async (t) => {
  const both = (sandbox: Sandbox): Record<string, string> => ({ ...AZURE(sandbox), ...FOUNDRY(sandbox), ...BEDROCK_BY_ROLE(sandbox), ...CLAUDE_AWS(sandbox), GATEWAY_CLOUDS: 'azure,foundry,bedrock,claude-aws' });
  const gateway = await startGateway(t, both);
  const chats = ['azure', 'foundry', 'bedrock', 'claude-aws', 'azure', 'bedrock'].map((provider) => gateway.chat({ ...CHAT, provider }));
  assert.deepEqual((await Promise.all(chats)).map(({ status }) => status), [200, 200, 200, 200, 200, 200]);
  assert.deepEqual([asked(gateway, /oauth2/), asked(gateway, /latest\/api\/token/)], [1, 1]);
  const down = await startGateway(t, (sandbox) => ({ ...both(sandbox), GATEWAY_MAX_RETRIES: '0' }));
  down.sandbox.clouds.isDown = true;
  assert.equal((await down.chat({ ...CHAT, provider: 'foundry' })).body.kind, 'unknown');
  const told = down.logLines.filter(({ msg, message }) => (msg ?? message) === 'no credentials for a provider can be obtained');
  assert.deepEqual(told.map(({ provider }) => provider), ['azure, foundry']);
});

test('the gateway is ready whatever becomes of its clouds, and asks for no token before somebody asks it', async (t) => {
  const gateway = await startGateway(t, AZURE);
  gateway.sandbox.clouds.isDown = true;
  assert.equal((await gateway.get('/readyz')).status, 200);
  assert.equal(asked(gateway, /oauth2/), 0);
});

test('a reload keeps a token whose plan is the same, also while it cannot be renewed, and forgets it with another plan', async (t) => {
  const gateway = await startGateway(t, AZURE);
  const reloaded = (own: Record<string, string>): void => {
    const { config } = loadConfig({ ...sandboxEnvironment(gateway.sandbox), ...AZURE(gateway.sandbox), ...own }, PROVIDER_ROWS, compatRow, () => '');
    assert.ok(config !== undefined);
    gateway.app.reload(config);
  };
  assert.equal((await gateway.chat(CHAT)).status, 200);
  gateway.sandbox.clouds.isDown = true;
  reloaded({});
  assert.equal((await gateway.chat(CHAT)).status, 200);
  gateway.sandbox.clouds.isDown = false;
  reloaded({ AZURE_CLIENT_SECRET: 'another' });
  assert.equal((await gateway.chat(CHAT)).body.kind, 'auth');
});

test('a token endpoint that refuses is auth, one that is down is tried again, and the log has neither secret nor answer', async (t) => {
  const refused = await startGateway(t, (sandbox) => ({ ...AZURE(sandbox), AZURE_CLIENT_SECRET: 'wrong-secret-canary' }));
  const { status, body } = await refused.chat(CHAT);
  assert.deepEqual([status, body.kind], [502, 'auth']);
  assert.match(body.error ?? '', /^the credential endpoint 127\.0\.0\.1:\d+ refused the gateway's identity \(HTTP 401, code invalid_client\)$/);
  assert.equal(asked(refused, /oauth2/), 1);
  const warned = refused.logLines.filter(({ msg, message }) => (msg ?? message) === 'no credentials for a provider can be obtained');
  assert.equal(warned.length, 1);
  assert.doesNotMatch(JSON.stringify(refused.logLines), /canary|AADSTS/);
  const down = await startGateway(t, (sandbox) => ({ ...AZURE(sandbox), GATEWAY_MAX_RETRIES: '0' }));
  down.sandbox.clouds.isDown = true;
  const failed = await down.chat(CHAT);
  assert.deepEqual([failed.status, failed.body.kind], [502, 'unknown']);
});

test('a token never shows in answers, logs, metrics or paths', async (t) => {
  const gateway = await startGateway(t, VERTEX);
  await gateway.chat({ provider: 'vertex', model: 'fake-echo-key', messages: [user('Hi')] });
  const shown = JSON.stringify(gateway.logLines) + (await (await gateway.get('/metrics')).text()) + gateway.sandbox.calls.map(({ path }) => path).join();
  assert.doesNotMatch(shown, /sandbox\.google\./);
});

for (const [name, environment, place] of [
  ['azure', AZURE, 'AZURE_OPENAI_BASE_URL'],
  ['claude-aws', CLAUDE_AWS, 'ANTHROPIC_AWS_BASE_URL'],
  ['vertex', VERTEX, 'GOOGLE_VERTEX_BASE_URL'],
] as const) {
  test(`${name}: a token that its provider repeats, this one or the one before, shows neither in answers nor in logs`, async (t) => {
    const said: string[] = [];
    const echo = await startUpstream(t, (response, { headers }) => {
      said.push(String(headers['x-amz-security-token'] ?? /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]));
      const message = `slow down, ${said.join(', ')} or ${Buffer.from(said.at(-1) ?? '').toString('base64')}`;
      answerJson(response, 429, JSON.stringify({ error: { message, code: said[0], type: said[0], status: said[0] } }));
    });
    const clock = createFakeClock();
    const settings = { [place]: echo.origin, GATEWAY_MAX_RETRIES: '0', GATEWAY_FORWARD_ERROR_MESSAGES: 'true' };
    const gateway = await startGateway(t, (sandbox) => ({ ...environment(sandbox), ...settings }), { clock });
    const shown: unknown[] = [];
    for (let round = 0; round < 2; round += 1) {
      shown.push((await gateway.chat({ provider: name, model: 'm', messages: [user('Hi')] })).body);
      clock.pass(3_600_000);
    }
    const text = JSON.stringify([shown, gateway.logLines]);
    assert.match(text, /slow down, \[key\], \[key\] or \[key\]/);
    assert.equal(new Set(said).size, 2);
    for (const token of said) assert.ok(token.length > 20 && !text.includes(token), name);
  });
}

test('callers of other formats are relayed to clouds that speak them', async (t) => {
  const gateway = await startGateway(t, (sandbox) => ({ ...AZURE(sandbox), ...FOUNDRY(sandbox), GATEWAY_CLOUDS: 'azure,foundry' }));
  const chat = await gateway.post('/v1/chat/completions', { model: 'azure/fake-chat', messages: [{ role: 'user', content: 'Hi' }], logprobs: false });
  assert.equal(chat.status, 200, await chat.text());
  const message = await gateway.post('/v1/messages', { model: 'foundry/fake-chat', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] });
  assert.equal(message.status, 200, await message.text());
  const bodies = gateway.sandbox.calls.filter(({ protocol }) => protocol !== undefined).map(({ json }) => json);
  assert.deepEqual(bodies, [
    { model: 'fake-chat', messages: [{ role: 'user', content: 'Hi' }], logprobs: false },
    { model: 'fake-chat', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] },
  ]);
});

test('Bedrock is called by a key as a bearer, and Vertex by one in its own header, without a project', async (t) => {
  const gateway = await startGateway(t, (sandbox: Sandbox) => ({
    AWS_BEARER_TOKEN_BEDROCK: 'bedrock-key', AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_BEDROCK_RUNTIME: `${sandbox.url}/bedrock`,
    GOOGLE_VERTEX_API_KEY: 'vertex-key', GOOGLE_VERTEX_BASE_URL: `${sandbox.url}/vertex`,
  }));
  assert.equal((await gateway.chat({ provider: 'bedrock', model: 'fake-chat', messages: [user('Hi')] })).status, 200);
  assert.equal((await gateway.chat({ provider: 'vertex', model: 'fake-chat', messages: [user('Hi')] })).status, 200);
  const [bedrock, vertex] = gateway.sandbox.calls;
  assert.deepEqual([bedrock?.path, bedrock?.headers['authorization']], ['/bedrock/openai/v1/chat/completions', 'Bearer bedrock-key']);
  assert.deepEqual([vertex?.path, vertex?.headers['x-goog-api-key']], ['/vertex/v1/publishers/google/models/fake-chat:generateContent', 'vertex-key']);
});

test("a model of OpenAI's on Bedrock is asked by Responses where it is given tools, signed like everything else", async (t) => {
  const gateway = await startGateway(t, (sandbox) => ({ ...BEDROCK(sandbox), BEDROCK_MODELS: 'fake-tool-loop=gpt-5.6-luna' }));
  const tools = [{ name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } }];
  const { status, body } = await gateway.chat({ provider: 'bedrock', model: 'fake-tool-loop', messages: [user('Hi')], tools });
  assert.deepEqual([status, body.stop_reason], [200, 'tool_use'], JSON.stringify(body));
  assert.deepEqual(gateway.sandbox.calls.map(({ path }) => path), ['/bedrock/openai/v1/responses']);
});

test('a cloud without a list of models says so, and others are listed without a warning of it', async (t) => {
  const upstream = await startUpstream(t, (response) => answerJson(response, 404, '{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}'));
  const gateway = await startGateway(t, (sandbox) => ({ ...BEDROCK(sandbox), AWS_ENDPOINT_URL_BEDROCK_RUNTIME: upstream.origin, GATEWAY_MAX_RETRIES: '0' }));
  const alone = await gateway.get('/v1/models?provider=bedrock');
  assert.deepEqual([alone.status, await alone.json()], [400, { kind: 'unsupported', error: 'bedrock has no list of models' }]);
  const all = await gateway.get('/v1/models');
  assert.deepEqual([all.status, all.headers.get('x-gateway-ignored')], [200, 'bedrock']);
  assert.deepEqual(gateway.logLines.filter(({ level }) => level === 'warn'), []);
});

test('a model of another publisher on Vertex is asked by Chat Completions', async (t) => {
  const gateway = await startGateway(t, VERTEX);
  const { status, body } = await gateway.chat({ provider: 'vertex', model: 'xai/fake-chat', messages: [user('Hi')] });
  assert.equal(status, 200, JSON.stringify(body));
});

test('the doctor says what the credentials are, how long they are good for, and what is wrong with them', async (t) => {
  const gateway = await startGateway(t, AZURE);
  const examine = async (environment: Record<string, string>) => {
    const loaded = loadConfig({ GATEWAY_AUTH_TOKEN: 'a-token-of-callers', ...environment }, PROVIDER_ROWS, compatRow, () => {
      throw new Error('no files in this test');
    });
    assert.ok(loaded.config !== undefined, loaded.problems.join());
    const report = await examineProviders(loaded.config, loaded, undefined);
    return report.providers[0];
  };
  const good = await examine(AZURE(gateway.sandbox));
  assert.equal(good?.ok, true, JSON.stringify(good));
  assert.equal(good?.source, 'entra client secret');
  assert.ok((good?.expires_in ?? 0) > 3500 && (good?.expires_in ?? 0) <= 3600);
  assert.ok(Math.abs(good?.clock_skew ?? 99) <= 2);
  assert.match(good?.checks[0]?.detail ?? '', /^entra client secret, good for \d+ s$/);
  const signed = await examine(BEDROCK(gateway.sandbox));
  assert.deepEqual([signed?.ok, signed?.source, signed?.expires_in], [true, 'environment', undefined]);
  const bad = await examine({ ...AZURE(gateway.sandbox), AZURE_CLIENT_SECRET: 'wrong' });
  assert.equal(bad?.ok, false);
  assert.deepEqual(bad?.checks.map(({ check, ok }) => [check, ok]), [['source', false]]);
  assert.match(bad?.checks[0]?.remedy ?? '', /^GATEWAY_CLOUDS: /);
});

/** A server that takes requests and is silent. */
async function startSilent(t: TestContext): Promise<{ readonly url: URL; readonly asked: () => number }> {
  let count = 0;
  const server = createServer(() => (count += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), asked: () => count };
}

test('a metadata server is asked directly although there is a proxy, and one that is silent is given up on', async (t) => {
  const [proxy, silent] = [await startSilent(t), await startSilent(t)];
  const throughProxy = createHttpTransport({ proxyFor: () => ({ protocol: 'http:', hostname: '127.0.0.1', port: Number(proxy.url.port), credentials: undefined }) });
  const direct = createHttpTransport();
  const endpoints = createEndpoints(throughProxy, direct);
  t.after(() => {
    throughProxy.close();
    direct.close();
  });
  const answer = await endpoints.ask({ method: 'GET', url: new URL('/token', silent.url), headers: {}, isMetadata: true });
  assert.ok(answer instanceof Failure);
  assert.equal(answer.message, `the credential endpoint ${silent.url.host} did not answer within 1000 ms`);
  assert.deepEqual([proxy.asked(), silent.asked()], [0, 1]);
  // What is on the internet goes through the proxy; this one is ended with the gateway.
  const waiting = endpoints.ask({ method: 'GET', url: new URL('http://sts.example.com/'), headers: {} });
  while (proxy.asked() === 0) await new Promise((resolve) => setImmediate(resolve));
  endpoints.close();
  const ended = await waiting;
  assert.ok(ended instanceof Failure);
  assert.equal(ended.message, 'the gateway is shutting down');
});

test('a token endpoint on this machine is asked directly, and has as long as one on the internet', async () => {
  const asked: string[] = [];
  const refusing = (way: string): Transport => ({
    send(provider, _call, _scope, { attemptMs }) {
      asked.push(`${provider.baseUrl.hostname} ${way} ${attemptMs}`);
      return Promise.resolve(new Failure('unknown', 'nobody'));
    },
    close: () => undefined,
    openSockets: () => 0,
  });
  const endpoints = createEndpoints(refusing('by proxy'), refusing('directly'));
  for (const [url, isMetadata] of [['http://127.0.0.1:1/', false], ['http://127.0.0.1:1/', true], ['http://169.254.169.254/', false], ['https://sts.example.com/', false]] as const) {
    await endpoints.ask({ method: 'GET', url: new URL(url), headers: {}, isMetadata });
  }
  assert.deepEqual(asked, ['127.0.0.1 directly 10000', '127.0.0.1 directly 1000', '169.254.169.254 directly 1000', 'sts.example.com by proxy 10000']);
});

test('an answer of an endpoint that is too large is none', async (t) => {
  const server = createServer((_request, response) => response.end('x'.repeat(100 * 1024)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const transport = createHttpTransport();
  t.after(() => {
    transport.close();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/token`);
  const answer = await createEndpoints(transport, transport).ask({ method: 'GET', url, headers: {} });
  assert.ok(answer instanceof Failure && answer.kind === 'unknown');
});

test('what a provider is told with every call goes out with every call', async (t) => {
  const silent = createServer((request, response) => response.end(String(request.headers['anthropic-workspace-id'])));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const transport = createHttpTransport();
  t.after(() => {
    transport.close();
    silent.close();
  });
  const provider = providerAt(new URL(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`), { headers: { 'anthropic-workspace-id': 'w1' } });
  const response = await transport.send(provider, { method: 'GET', path: '/', headers: {}, body: undefined }, new Scope(), { connectMs: 9000, attemptMs: 9000, idleMs: undefined });
  assert.ok(!(response instanceof Failure));
  assert.equal(String(await response.readBody(99)), 'w1');
});
