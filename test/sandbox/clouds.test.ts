/** The sandbox's clouds refuse what the real ones do. */

import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { signatureHeaders } from '../../src/base/aws/signature.ts';
import { Secret } from '../../src/base/secret.ts';
import { shortTermKey } from '../../src/sandbox/clouds/short-term-key.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 10, 30);
const BODY = '{"model":"fake-chat","max_tokens":16,"messages":[{"role":"user","content":"Hi"}]}';

async function start(t: TestContext): Promise<Sandbox> {
  const sandbox = await startSandbox({ now: () => NOW_MS, key: 'the-key' });
  t.after(() => sandbox.close());
  return sandbox;
}

async function statusOf(sandbox: Sandbox, method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<number> {
  const answer = await fetch(sandbox.url + path, { method, headers, body: body ?? null });
  await answer.text();
  return answer.status;
}

test('metadata servers want their header, and no proxy on the way', async (t) => {
  const sandbox = await start(t);
  const azure = '/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fai.azure.com';
  const google = '/computeMetadata/v1/instance/service-accounts/default/token';
  const forwarded = { 'x-forwarded-for': '10.0.0.1' };
  const session = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' };
  const cases: readonly (readonly [string, string, Record<string, string>, number])[] = [
    ['GET', azure, { metadata: 'true' }, 200],
    ['GET', azure, {}, 400],
    ['GET', azure, { metadata: 'true', ...forwarded }, 400],
    ['GET', azure.replace('2018', '2017'), { metadata: 'true' }, 400],
    ['GET', azure.replace('ai.azure', 'other'), { metadata: 'true' }, 400],
    ['GET', google, { 'metadata-flavor': 'Google' }, 200],
    ['GET', google, {}, 403],
    ['GET', google, { 'metadata-flavor': 'Google', ...forwarded }, 403],
    ['PUT', '/latest/api/token', session, 200],
    ['PUT', '/latest/api/token', {}, 400],
    ['PUT', '/latest/api/token', { ...session, ...forwarded }, 403],
    ['GET', '/latest/meta-data/iam/security-credentials/', {}, 401],
    ['GET', '/latest/meta-data/iam/security-credentials/sandbox-role', { 'x-aws-ec2-metadata-token': 'made up' }, 401],
    ['GET', '/container/credentials', { authorization: 'made up' }, 401],
    ['GET', '/app-service/token?api-version=2019-08-01&resource=https%3A%2F%2Fai.azure.com', { 'x-identity-header': 'made up' }, 401],
  ];
  for (const [method, path, headers, status] of cases) assert.equal(await statusOf(sandbox, method, path, headers), status, `${method} ${path} ${JSON.stringify(headers)}`);
});

/** The headers of a message that is signed well, but for what is given. */
function signedHeaders(sandbox: Sandbox, given: { readonly atMs?: number; readonly path?: string; readonly body?: string; readonly service?: string; readonly secret?: string } = {}): Record<string, string> {
  const { clouds } = sandbox;
  const own = { host: new URL(sandbox.url).host, 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'anthropic-workspace-id': 'wrkspc_01' };
  const credentials = { accessKeyId: clouds.accessKeyId, secretAccessKey: new Secret(given.secret ?? clouds.secretAccessKey), sessionToken: undefined };
  const request = { method: 'POST', path: given.path ?? '/claude-aws/v1/messages', headers: own, body: given.body ?? BODY };
  return { ...own, ...signatureHeaders(request, credentials, { region: clouds.region, service: given.service ?? 'aws-external-anthropic' }, given.atMs ?? NOW_MS) };
}

test('a signature has to be of now, over what came, by keys that are known', async (t) => {
  const sandbox = await start(t);
  const send = (headers: Record<string, string>): Promise<number> => statusOf(sandbox, 'POST', '/claude-aws/v1/messages', headers, BODY);
  assert.equal(await send(signedHeaders(sandbox)), 200);
  assert.equal(await send(signedHeaders(sandbox, { atMs: NOW_MS - 299_000 })), 200);
  for (const wrong of [{ atMs: NOW_MS - 301_000 }, { atMs: NOW_MS + 301_000 }, { path: '/claude-aws/v1/messages/' }, { body: '{}' }, { service: 'bedrock' }, { secret: 'x' }]) {
    assert.equal(await send(signedHeaders(sandbox, wrong)), 403, JSON.stringify(wrong));
  }
  const good = signedHeaders(sandbox);
  assert.equal(await send({ ...good, 'content-type': 'text/plain' }), 403);
  assert.equal(await send({ ...good, 'x-amz-security-token': 'uncovered' }), 403);
  assert.equal(await send({ ...good, authorization: '' }), 403);
});

test('a key of the sandbox, and a short-term key while it lives, enter where keys do', async (t) => {
  const sandbox = await start(t);
  const { clouds } = sandbox;
  const credentials = { accessKeyId: clouds.accessKeyId, secretAccessKey: new Secret(clouds.secretAccessKey), sessionToken: undefined };
  const send = (path: string, headers: Record<string, string>): Promise<number> =>
    statusOf(sandbox, 'POST', path, { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'anthropic-workspace-id': 'wrkspc_01', ...headers }, path.startsWith('/bedrock') ? BODY.replace('fake', 'anthropic.fake') : BODY);
  const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
  assert.equal(await send('/claude-aws/v1/messages', { 'x-api-key': 'the-key' }), 200);
  assert.equal(await send('/claude-aws/v1/messages', { 'x-api-key': 'other' }), 403);
  assert.equal(await send('/foundry/anthropic/v1/messages', { 'x-api-key': 'the-key' }), 200);
  assert.equal(await send('/foundry/anthropic/v1/messages', { 'x-api-key': 'other' }), 401);
  assert.equal(await send('/foundry/anthropic/v1/messages', { authorization: 'Bearer the-key' }), 401);
  assert.equal(await send('/bedrock/anthropic/v1/messages', bearer(shortTermKey(credentials, clouds.region, NOW_MS, 60))), 200);
  assert.equal(await send('/bedrock/anthropic/v1/messages', bearer(shortTermKey(credentials, clouds.region, NOW_MS - 60_000, 60))), 403);
  assert.equal(await send('/bedrock/anthropic/v1/messages', bearer(shortTermKey(credentials, 'eu-west-1', NOW_MS, 60))), 403);
  assert.equal(await send('/bedrock/anthropic/v1/messages', bearer(shortTermKey({ ...credentials, secretAccessKey: new Secret('x') }, clouds.region, NOW_MS, 60))), 403);
});

test('what no cloud can read is refused in its words: an encoding that is broken, an audience that is no URL', async (t) => {
  const sandbox = await start(t);
  const invoke = { authorization: 'Bearer the-key', 'content-type': 'application/json' };
  assert.equal(await statusOf(sandbox, 'POST', '/bedrock/model/%zz/invoke', invoke, '{"anthropic_version":"bedrock-2023-05-31"}'), 400);
  const { client_email: issuer, private_key: key } = JSON.parse(sandbox.clouds.serviceAccount) as Record<'client_email' | 'private_key', string>;
  const signed = [{ alg: 'RS256', typ: 'JWT' }, { iss: issuer, aud: 'nowhere' }].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const assertion = `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
  const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }).toString();
  assert.equal(await statusOf(sandbox, 'POST', '/google/token', { 'content-type': 'application/x-www-form-urlencoded' }, form), 400);
});
