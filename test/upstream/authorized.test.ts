/** Attempts with credentials that expire, over sockets, against clouds that check them; on a clock of the test's. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Secret } from '../../src/base/secret.ts';
import type { CredentialPlan } from '../../src/core/credential-plan.ts';
import { Failure } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import { createAuthorizedTransport } from '../../src/upstream/authorized.ts';
import type { Authorization, Grant } from '../../src/upstream/credentials/authorization.ts';
import type { AttemptLimits, OutboundCall, Transport, UpstreamResponse } from '../../src/upstream/transport.ts';
import { LIMITS, failureFrom, providerAt, responseFrom } from './attempts.ts';
import { awsPlans, signed, startWorld, tokenPlans } from './credentials/world.ts';
import type { World } from './credentials/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const CHAT: OutboundCall = {
  method: 'POST',
  path: '/chat/completions',
  headers: { 'content-type': 'application/json' },
  body: '{"model":"fake-chat","messages":[{"role":"user","content":"Grüße"}]}',
};
const MESSAGE: OutboundCall = {
  method: 'POST',
  path: '/v1/messages',
  headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'anthropic-workspace-id': 'wrkspc_01' },
  body: '{"model":"fake-chat","max_tokens":64,"messages":[{"role":"user","content":"Grüße"}]}',
};

/** Sends to one of the sandbox's clouds with these credentials; the status, and whether another attempt may do better. */
function sender(world: World, path: string, call: OutboundCall, authorization: Authorization) {
  const transport = createAuthorizedTransport(world.transport, () => authorization);
  const provider = providerAt(new URL(path, world.sandbox.url), { keys: [] });
  return async (): Promise<string> => {
    const response = responseFrom(await transport.send(provider, call, new Scope(), LIMITS));
    await response.readBody(1024 * 1024);
    return `${response.status}${response.isCredentialMended === true ? ' mended' : ''}`;
  };
}

function azure(world: World, plan: CredentialPlan): () => Promise<string> {
  return sender(world, '/azure/openai/v1', CHAT, world.authorize(plan));
}

function claudeOnAws(world: World, plan: CredentialPlan): () => Promise<string> {
  return sender(world, '/claude-aws', MESSAGE, world.authorize(plan));
}

function entraOf(world: World): CredentialPlan {
  const plan = tokenPlans(world).find(({ source }) => source === 'entra client secret');
  assert.ok(plan !== undefined);
  return { type: 'token', plan };
}

function instanceOf(world: World): CredentialPlan {
  const plan = awsPlans(world).find(({ source }) => source === 'instance metadata');
  assert.ok(plan !== undefined);
  return signed(plan, 'aws-external-anthropic');
}

/** How often a path was asked. */
function askedFor(world: World, path: RegExp): number {
  return world.sandbox.calls.filter((call) => path.test(call.path)).length;
}

const CLOUDS = [
  { name: 'a token of Entra', plan: entraOf, send: azure, source: /oauth2\/v2\.0\/token/ },
  { name: 'keys of an instance of AWS', plan: instanceOf, send: claudeOnAws, source: /latest\/api\/token/ },
] as const;

for (const { name, plan, send, source } of CLOUDS) {
  test(`${name}: in a run of many lives no attempt is refused, and each life is asked for once`, async (t) => {
    const world = await startWorld(t);
    const sendOne = send(world, plan(world));
    // An attempt a minute, also beside others: longer than Node's sockets and the sandbox's list of calls can tell apart.
    for (let minute = 0; minute < 6 * 60; minute += 4) {
      assert.deepEqual(await Promise.all([sendOne(), sendOne()]), ['200', '200'], `minute ${minute}`);
      world.clock.pass(4 * MINUTE_MS);
    }
    const lives = (6 * HOUR_MS) / (55 * MINUTE_MS);
    assert.ok(askedFor(world, source) >= 1 && askedFor(world, source) <= lives + 1);
    assert.deepEqual(world.failures, []);
  });

  test(`${name}: an outage of its source shorter than its last five minutes fails nothing`, async (t) => {
    const world = await startWorld(t);
    const sendOne = send(world, plan(world));
    assert.equal(await sendOne(), '200');
    world.clock.pass(HOUR_MS - 5 * MINUTE_MS);
    world.sandbox.clouds.isDown = true;
    for (let round = 0; round < 4; round += 1) {
      assert.equal(await sendOne(), '200');
      world.clock.pass(MINUTE_MS);
    }
    assert.ok(world.failures.length > 0);
    world.sandbox.clouds.isDown = false;
    assert.equal(await sendOne(), '200');
    world.clock.pass(2 * MINUTE_MS);
    assert.equal(await sendOne(), '200');
  });

  test(`${name}: one that was revoked is dropped, and the next attempt has another`, async (t) => {
    const world = await startWorld(t);
    const sendOne = send(world, plan(world));
    assert.equal(await sendOne(), '200');
    world.clock.pass(MINUTE_MS);
    world.sandbox.clouds.revoke();
    const refused = await Promise.all([sendOne(), sendOne(), sendOne()]);
    assert.ok(refused.every((outcome) => /^(200|40[13] mended)$/.test(outcome)), refused.join());
    assert.equal(await sendOne(), '200');
  });
}

test('a token that was given just now and is refused is not asked for again', async (t) => {
  const world = await startWorld(t);
  const sendOne = azure(world, { type: 'token', plan: { source: 'google metadata server', origin: new URL(world.sandbox.url) } });
  assert.deepEqual([await sendOne(), await sendOne(), await sendOne()], ['401', '401', '401']);
  assert.equal(askedFor(world, /computeMetadata/), 1);
});

test('keys of the environment that are refused stay as they are', async (t) => {
  const world = await startWorld(t);
  const credentials = { accessKeyId: 'AKIAUNKNOWN', secretAccessKey: new Secret('x'), sessionToken: undefined };
  const sendOne = claudeOnAws(world, signed({ source: 'environment', credentials }, 'aws-external-anthropic'));
  assert.equal(await sendOne(), '403');
  world.clock.pass(HOUR_MS);
  assert.equal(await sendOne(), '403');
});

test('a machine whose clock is wrong signs by the cloud\'s from the second attempt on', async (t) => {
  const world = await startWorld(t);
  const [plan] = awsPlans(world);
  assert.ok(plan !== undefined);
  const authorization = world.authorize(signed(plan, 'aws-external-anthropic'));
  const sendOne = sender(world, '/claude-aws', MESSAGE, authorization);
  for (const isAheadByMs of [20 * MINUTE_MS, -3 * HOUR_MS]) {
    world.clock.isAheadByMs = isAheadByMs;
    assert.equal(await sendOne(), '403 mended');
    assert.equal(await sendOne(), '200');
    assert.ok(Math.abs(authorization.report().clockSkewMs + isAheadByMs) <= 1000);
  }
});

test('a date that no clock shows corrects none, and the next attempt is signed as before', async (t) => {
  const world = await startWorld(t);
  const [plan] = awsPlans(world);
  assert.ok(plan !== undefined);
  const authorization = world.authorize(signed(plan, 'aws-external-anthropic'));
  const outgoing = { method: 'GET', host: 'h', path: '/', headers: {}, body: undefined };
  for (const date of ['Fri, 12 Sep 275760 23:59:59 GMT', 'Thu, 01 Jan -2000 00:00:00 GMT', 'yesterday', '']) {
    const grant = await authorization.grant(outgoing);
    assert.ok(!(grant instanceof Failure));
    assert.equal(grant.refused({ status: 403, headers: { date } }), false, date);
    world.clock.pass(1000);
  }
  assert.equal(authorization.report().clockSkewMs, 0);
});

test('keys are dropped where they are refused, also by a bad request, and kept where the request or the account is', async (t) => {
  const cases = [[401, ''], [403, 'ExpiredTokenException:http://x'], [400, 'ExpiredTokenException'], [403, 'AccessDeniedException'], [400, 'ValidationException'], [400, ''], [500, 'ExpiredTokenException']] as const;
  const dropped: boolean[] = [];
  for (const [status, type] of cases) {
    const world = await startWorld(t);
    const grant = await world.authorize(instanceOf(world)).grant({ method: 'GET', host: 'h', path: '/', headers: {}, body: undefined });
    assert.ok(!(grant instanceof Failure));
    world.clock.pass(MINUTE_MS);
    dropped.push(grant.refused({ status, headers: { 'x-amzn-errortype': type } }));
  }
  assert.deepEqual(dropped, [true, true, true, false, false, false, false]);
});

test('attempts that were signed by the wrong clock at the same time are all tried again, and no keys are dropped', async (t) => {
  const world = await startWorld(t);
  const plan = instanceOf(world);
  const sendOne = claudeOnAws(world, plan);
  assert.equal(await sendOne(), '200');
  world.clock.isAheadByMs = HOUR_MS;
  assert.deepEqual(await Promise.all([sendOne(), sendOne(), sendOne()]), ['403 mended', '403 mended', '403 mended']);
  assert.deepEqual(await Promise.all([sendOne(), sendOne()]), ['200', '200']);
  assert.equal(askedFor(world, /latest\/api\/token/), 1);
});

test('a signature covers what goes over the wire: path and query below a base URL, the headers that count, the body', async (t) => {
  const world = await startWorld(t);
  const [plan] = awsPlans(world);
  assert.ok(plan !== undefined);
  const authorization = world.authorize(signed(plan, 'aws-external-anthropic'));
  const list: OutboundCall = { method: 'GET', path: '/v1/models?limit=2&after_id=fake%2Fchat', headers: { 'anthropic-version': '2023-06-01', 'anthropic-workspace-id': 'wrkspc_01', traceparent: '00-1-2-03' }, body: undefined };
  assert.equal(await sender(world, '/claude-aws', list, authorization)(), '200');
  const [call] = world.sandbox.calls;
  assert.match(String(call?.headers['authorization']), /SignedHeaders=anthropic-version;anthropic-workspace-id;host;x-amz-date,/);
});

test('a signature for another service, another region, or over another path is refused for good', async (t) => {
  const world = await startWorld(t);
  const [plan] = awsPlans(world);
  assert.ok(plan !== undefined && plan.source === 'environment');
  assert.equal(await claudeOnAws(world, signed(plan, 'bedrock'))(), '403');
  assert.equal(await claudeOnAws(world, { type: 'signature', plan, region: 'eu-west-1', service: 'aws-external-anthropic' })(), '403');
  const authorization = world.authorize(signed(plan, 'aws-external-anthropic'));
  const elsewhere: Authorization = {
    grant: (outgoing) => authorization.grant({ ...outgoing, path: `${outgoing.path}?` + 'a=1' }),
    beside: () => authorization,
    report: () => authorization.report(),
    renewSoon: () => undefined,
    secrets: () => authorization.secrets(),
  };
  assert.equal(await sender(world, '/claude-aws', MESSAGE, elsewhere)(), '403');
});

/** An authorization whose grant comes when it is told to, over a transport that is never reached. */
function held(): { readonly transport: Transport; readonly sent: OutboundCall[]; readonly limits: AttemptLimits[]; give(grant: Grant | Failure): void } {
  let give = (_: Grant | Failure): void => undefined;
  const granted = new Promise<Grant | Failure>((resolve) => (give = resolve));
  const sent: OutboundCall[] = [];
  const limits: AttemptLimits[] = [];
  const answer: UpstreamResponse = {
    status: 200, headers: {}, readBody: () => Promise.resolve(Buffer.alloc(0)), readChunks: () => Promise.resolve(undefined), startIdleLimit: () => undefined, discard: () => undefined,
  };
  const inner: Transport = {
    send(_provider, call, _scope, given) {
      sent.push(call as OutboundCall);
      limits.push(given);
      return Promise.resolve(answer);
    },
    close: () => undefined,
    openSockets: () => 0,
  };
  const authorization: Authorization = {
    grant: () => granted,
    beside: () => authorization,
    report: () => ({ source: 'test', expiresInMs: undefined, clockSkewMs: 0 }),
    renewSoon: () => undefined,
    secrets: () => [],
  };
  return { transport: createAuthorizedTransport(inner, () => authorization), sent, limits, give };
}

const PROVIDER = providerAt(new URL('http://127.0.0.1:9'), { keys: [] });

test('the wait for a credential ends with the exchange', async () => {
  const { transport, sent } = held();
  const scope = new Scope();
  const result = transport.send(PROVIDER, CHAT, scope, LIMITS);
  scope.end('caller-gone');
  assert.equal(failureFrom(await result).message, 'the caller hung up');
  assert.deepEqual(sent, []);
});

test('the wait for a credential counts towards the attempt, and ends with it', async () => {
  const waiting = held();
  const failure = failureFrom(await waiting.transport.send(PROVIDER, CHAT, new Scope(), { ...LIMITS, attemptMs: 5 }));
  assert.equal(failure.limit, 'GATEWAY_ATTEMPT_TIMEOUT');
  const { transport, give, limits, sent } = held();
  const result = transport.send(PROVIDER, CHAT, new Scope(), LIMITS);
  const waitsAtMs = performance.now();
  give({ headers: { authorization: 'Bearer late' }, refused: () => false });
  responseFrom(await result);
  assert.ok((limits[0]?.startedAtMs ?? Infinity) <= waitsAtMs);
  assert.deepEqual(sent[0]?.headers, { 'content-type': 'application/json', authorization: 'Bearer late' });
});

test('a credential that comes after its attempt was over leaves the exchange to whoever waits then', async () => {
  const { transport, give } = held();
  const scope = new Scope();
  failureFrom(await transport.send(PROVIDER, CHAT, scope, { ...LIMITS, attemptMs: 5 }));
  let isTold = false;
  scope.onEnd(() => (isTold = true));
  give({ headers: {}, refused: () => false });
  await new Promise(setImmediate);
  scope.end('caller-gone');
  assert.equal(isTold, true);
});

test('a credential that comes in time leaves no limit behind that would end the wait of somebody else', async () => {
  const { transport, give } = held();
  const scope = new Scope();
  const result = transport.send(PROVIDER, CHAT, scope, { ...LIMITS, attemptMs: 20 });
  give({ headers: {}, refused: () => false });
  responseFrom(await result);
  let isTold = false;
  scope.onEnd(() => (isTold = true));
  await setTimeout(50);
  scope.end('caller-gone');
  assert.equal(isTold, true);
});

test('the sentence on an attempt that took too long names the limit as it is set, however long the credential took', async (t) => {
  const world = await startWorld(t);
  const transport = createAuthorizedTransport(world.transport, () => world.authorize(entraOf(world)));
  const provider = providerAt(new URL('/azure/openai/v1', world.sandbox.url), { keys: [] });
  const call = { ...CHAT, body: String(CHAT.body).replace('fake-chat', 'fake-stall') };
  const failure = failureFrom(await transport.send(provider, call, new Scope(), { ...LIMITS, attemptMs: 100 }));
  assert.equal(failure.message, 'no complete answer from acme within 100 ms (GATEWAY_ATTEMPT_TIMEOUT)');
});

test('a credential that cannot be had is the attempt\'s failure', async () => {
  const { transport, give, sent } = held();
  give(new Failure('auth', 'no'));
  assert.equal(failureFrom(await transport.send(PROVIDER, CHAT, new Scope(), LIMITS)).kind, 'auth');
  assert.deepEqual(sent, []);
});

test('a provider without credentials of that kind is sent its key as ever', async () => {
  const keys: unknown[] = [];
  const inner: Transport = {
    send(_provider, call, _scope, _limits, key) {
      keys.push(key, call);
      return Promise.resolve(new Failure('unknown', 'seen'));
    },
    close: () => undefined,
    openSockets: () => 0,
  };
  const provider = providerAt(new URL('http://127.0.0.1:9'));
  await createAuthorizedTransport(inner, () => undefined).send(provider, CHAT, new Scope(), LIMITS, provider.keys[0]);
  assert.equal(keys[0], provider.keys[0]);
  assert.equal(keys[1], CHAT);
});
