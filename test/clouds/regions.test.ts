/** Further regions and resources of a cloud, called by its credentials: what their providers are sent, and how often these are asked for. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { blocksOf, readPage } from '../readme.ts';
import { answerJson, GOOD_REPLY, startUpstream } from '../faults/upstream.ts';
import { sandboxEnvironment, startGateway, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { createFakeClock } from '../upstream/credentials/clock.ts';
import { AZURE, CLAUDE_AWS, FOUNDRY, VERTEX } from './environments.ts';

const EXAMPLE = blocksOf(readPage('src/config/README.md')).find(({ text }) => text.includes('"bedrock-us"'))?.text ?? '';

const CLAUDE_REPLY = JSON.stringify({
  id: 'm1', type: 'message', role: 'assistant', model: 'claude-opus-4-8', content: [{ type: 'text', text: 'Hello.' }], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 },
});

function asked({ sandbox }: RunningGateway, path: RegExp): number {
  return sandbox.calls.filter((call) => path.test(call.path)).length;
}

/** What the world outside is sent; it answers by host, and is down where there is no answer. */
function world(answers: Readonly<Record<string, string>>): { readonly fetch: typeof fetch; readonly calls: { readonly url: URL; readonly authorization: string }[] } {
  const calls: { readonly url: URL; readonly authorization: string }[] = [];
  return {
    calls,
    fetch: (input, init) => {
      const url = new URL(String(input));
      calls.push({ url, authorization: new Headers(init?.headers).get('authorization') ?? '' });
      const answer = answers[url.hostname];
      return Promise.resolve(new Response(answer ?? '{"message":"down"}', { status: answer === undefined ? 503 : 200, headers: { 'content-type': 'application/json' } }));
    },
  };
}

test('the example of the page: when a region is down the next is asked, signed for where it is, by credentials that were asked for once', async (t) => {
  const { fetch, calls } = world({ 'us-east5-aiplatform.googleapis.com': CLAUDE_REPLY });
  const gateway = await startGateway(t, ({ url }) => ({
    GATEWAY_CLOUDS: 'bedrock,vertex', AWS_REGION: 'eu-central-1', AWS_EC2_METADATA_SERVICE_ENDPOINT: url,
    GOOGLE_CLOUD_PROJECT: 'my-project', GOOGLE_CLOUD_LOCATION: 'eu', GCE_METADATA_HOST: url,
  }), { routingFile: () => JSON.parse(EXAMPLE) as object, fetch });
  const answer = await gateway.post('/v1/chat', { model: 'opus', messages: [user('Hi')] });
  assert.deepEqual([answer.status, answer.headers.get('x-gateway-target'), answer.headers.get('x-gateway-fallback')], [200, 'vertex-us/claude-opus-4-8', 'bedrock=server, bedrock-us=server']);
  assert.deepEqual(calls.map(({ url: { hostname, pathname }, authorization }) => [hostname, pathname, /Credential=\w+\/\d+\/(.+?),/.exec(authorization)?.[1] ?? authorization.slice(0, 21)]), [
    ['bedrock-runtime.eu-central-1.amazonaws.com', '/anthropic/v1/messages', 'eu-central-1/bedrock/aws4_request'],
    ['bedrock-runtime.us-east-1.amazonaws.com', '/anthropic/v1/messages', 'us-east-1/bedrock/aws4_request'],
    ['us-east5-aiplatform.googleapis.com', '/v1/projects/my-project/locations/us-east5/publishers/anthropic/models/claude-opus-4-8:rawPredict', 'Bearer sandbox.google'],
  ]);
  assert.equal(new Set(calls.slice(0, 2).map(({ authorization }) => /Credential=(\w+)/.exec(authorization)?.[1])).size, 1);
  assert.deepEqual([asked(gateway, /latest\/api\/token/), asked(gateway, /computeMetadata/)], [1, 1]);
  const metrics = await (await gateway.get('/metrics')).text();
  assert.match(metrics, /gateway_upstream_attempts_total\{[^}]*provider="bedrock-us"/);
  assert.ok(gateway.logLines.some(({ tried }) => tried === 'bedrock/anthropic.claude-opus-4-8:server bedrock-us/anthropic.claude-opus-4-8:server vertex-us/claude-opus-4-8:success'));
});

/** The same clouds again, each under a second name. */
const SECOND = ({ url }: Sandbox): object => ({
  model_prefixes: true,
  providers: {
    'azure-2': { like: 'azure', base_url: `${url}/azure/openai/v1` },
    'foundry-2': { like: 'foundry', base_url: `${url}/foundry/anthropic` },
    'claude-aws-2': { like: 'claude-aws', base_url: `${url}/claude-aws`, workspace: 'wrkspc_02' },
    'vertex-2': { like: 'vertex', base_url: `${url}/vertex/v1/projects/second-project/locations/us-east5` },
  },
});

const ALL = (sandbox: Sandbox): Record<string, string> => ({
  ...AZURE(sandbox), ...FOUNDRY(sandbox), ...CLAUDE_AWS(sandbox), ...VERTEX(sandbox), GATEWAY_CLOUDS: 'azure,foundry,claude-aws,vertex',
});

test('a second resource, workspace or project of each cloud is called by the credentials of the first, lists its models, and streams', async (t) => {
  const gateway = await startGateway(t, ALL, { routingFile: SECOND });
  for (const provider of ['azure', 'foundry', 'claude-aws', 'vertex']) {
    for (const name of [provider, `${provider}-2`]) {
      const { status, body } = await gateway.chat({ provider: name, model: 'fake-chat', messages: [user('Hi')] });
      assert.deepEqual([status, body.provider], [200, name], JSON.stringify(body));
    }
    const [one, other] = await Promise.all([provider, `${provider}-2`].map(async (name) => (await gateway.get(`/v1/models?provider=${name}`)).json() as Promise<{ models: readonly unknown[] }>));
    assert.ok(one !== undefined && one.models.length > 0);
    assert.deepEqual(other?.models, one.models);
    const frames = await gateway.stream({ model: `${provider}-2/fake-chat`, messages: [user('Hi')] });
    assert.deepEqual([frames.at(-1)?.type, frames.at(-1)?.provider], ['done', `${provider}-2`]);
  }
  assert.deepEqual([/oauth2/, /latest\/api\/token/, /computeMetadata/].map((path) => asked(gateway, path)), [1, 1, 1]);
  assert.deepEqual([...new Set(gateway.sandbox.calls.flatMap(({ headers }) => headers['anthropic-workspace-id'] ?? []))], ['wrkspc_01', 'wrkspc_02']);
  assert.deepEqual([...new Set(gateway.sandbox.calls.flatMap(({ path }) => /projects\/([\w-]+\/locations\/[\w-]+)/.exec(path)?.[1] ?? []))], [
    'sandbox-project/locations/europe-west4', 'second-project/locations/us-east5',
  ]);
});

test('a reload adds a region, which shares what was had, and keeps one that moved or went where it is', async (t) => {
  const gateway = await startGateway(t, ALL, { routingFile: () => ({}) });
  const reload = (file: object): { readonly swapped: readonly string[]; readonly needsRestart: readonly string[] } => {
    const variables = { ...sandboxEnvironment(gateway.sandbox), ...ALL(gateway.sandbox), GATEWAY_ROUTING_FILE: '/f' };
    const { config, problems } = loadConfig(variables, PROVIDER_ROWS, compatRow, (path) => {
      if (path === '/f') return JSON.stringify(file);
      throw new Error('no other files in this test');
    });
    assert.ok(config !== undefined, problems.join());
    return gateway.app.reload(config);
  };
  const ask = async (provider: string): Promise<number> => (await gateway.chat({ provider, model: 'fake-chat', messages: [user('Hi')] })).status;
  const { url } = gateway.sandbox;
  const pathOf = (): string | undefined => gateway.sandbox.calls.at(-1)?.path.replace(/\/publishers.*/, '');
  assert.deepEqual([await ask('azure'), await ask('vertex')], [200, 200]);
  gateway.sandbox.clouds.isDown = true;
  const second = (location: string): object => ({ providers: {
    'azure-2': { like: 'azure', base_url: `${url}/azure/openai/v1` },
    'vertex-2': { like: 'vertex', base_url: `${url}/vertex/v1/projects/p2/locations/${location}` },
    'claude-2': { like: 'claude-aws', base_url: `${url}/claude-aws`, workspace: `of-${location}` },
  } });
  assert.deepEqual(reload(second('us-east5')), { swapped: ['credentials of azure-2', 'provider azure-2', 'provider claude-2', 'provider vertex-2'], needsRestart: [] });
  assert.deepEqual([await ask('azure-2'), await ask('vertex-2'), pathOf()], [200, 200, '/vertex/v1beta1/projects/p2/locations/us-east5']);
  assert.deepEqual(reload(second('eu')), { swapped: [], needsRestart: ['workspace of claude-2', 'project of vertex-2'] });
  assert.deepEqual([await ask('vertex-2'), pathOf()], [200, '/vertex/v1beta1/projects/p2/locations/us-east5']);
  assert.deepEqual(reload({}), { swapped: [], needsRestart: ['provider azure-2', 'provider claude-2', 'provider vertex-2'] });
  assert.equal(await ask('azure-2'), 200);
});

for (const { cloud, variables, place, given, reply } of [
  {
    cloud: 'azure', place: 'AZURE_OPENAI_BASE_URL', reply: GOOD_REPLY,
    variables: (source: string) => ({ AZURE_AUTHORITY_HOST: source, AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c', AZURE_CLIENT_SECRET: 's' }),
    given: '{"access_token":"the-first-token","expires_in":3600}',
  },
  {
    cloud: 'claude-aws', place: 'ANTHROPIC_AWS_BASE_URL', reply: CLAUDE_REPLY,
    variables: (source: string) => ({
      AWS_REGION: 'eu-central-1', ANTHROPIC_AWS_WORKSPACE_ID: 'w1', AWS_ENDPOINT_URL_STS: source, AWS_WEB_IDENTITY_TOKEN_FILE: '/token', AWS_ROLE_ARN: 'arn:aws:iam::1:role/r',
    }),
    given: '<Credentials><AccessKeyId>AKIA1</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>',
  },
]) {
  test(`${cloud}: while a region that refuses what others take waits for another credential, nobody else does`, async (t) => {
    const held: ServerResponse[] = [];
    let isGivenUp = false;
    const source = await startUpstream(t, (response) => {
      if (source.calls() === 1) return answerJson(response, 200, given);
      response.on('close', () => (isGivenUp = true));
      held.push(response);
    });
    const good = await startUpstream(t, (response) => answerJson(response, 200, reply));
    const clock = createFakeClock();
    // A date that is no reason to correct this machine's.
    const bad = await startUpstream(t, (response) => answerJson(response, 401, '{"error":{"message":"no"}}', { date: new Date(clock.wall()).toUTCString() }));
    const gateway = await startGateway(t, () => ({ GATEWAY_CLOUDS: cloud, ...variables(source.origin), [place]: good.origin }), {
      clock, readFile: () => 'token', routingFile: () => ({ providers: { second: { like: cloud, base_url: bad.origin } } }),
    });
    const ask = async (provider: string): Promise<number> => (await gateway.chat({ provider, model: 'm', messages: [user('Hi')] })).status;
    assert.equal(await ask(cloud), 200);
    clock.pass(60_000);
    const waiting = ask('second');
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([await ask(cloud), isGivenUp], [200, false]);
    for (const response of held) answerJson(response, 503, '{}');
    assert.deepEqual([await waiting, bad.calls(), source.calls()], [502, 2, 2]);
  });
}
