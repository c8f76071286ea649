/** The sources of credentials against the sandbox's clouds, over sockets. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signatureHeaders } from '../../../src/base/aws/signature.ts';
import { Secret } from '../../../src/base/secret.ts';
import type { CredentialPlan } from '../../../src/core/credential-plan.ts';
import { Failure } from '../../../src/core/failure.ts';
import type { Ledger } from '../../../src/sandbox/clouds/ledger.ts';
import type { Grant, Outgoing } from '../../../src/upstream/credentials/authorization.ts';
import { createEndpoints } from '../../../src/upstream/credentials/endpoint.ts';
import { createAuthorizations } from '../../../src/upstream/credentials/index.ts';
import { createHttpTransport } from '../../../src/upstream/http.ts';
import type { Transport } from '../../../src/upstream/transport.ts';
import { startUpstream } from '../../faults/upstream.ts';
import { startRawServer } from '../raw-server.ts';
import { awsPlans, signed, startWorld, tokenPlans } from './world.ts';

const OUTGOING: Outgoing = { method: 'POST', host: 'example.com', path: '/x', headers: {}, body: '{}' };

function grantFrom(given: Grant | Failure): Grant {
  if (given instanceof Failure) assert.fail(given.message);
  return given;
}

test('every source of tokens gives one that its cloud takes, and says how long it lives', async (t) => {
  const world = await startWorld(t);
  const ledger = world.sandbox.clouds as Ledger;
  for (const plan of tokenPlans(world)) {
    const authorization = world.authorize({ type: 'token', plan });
    const { headers } = grantFrom(await authorization.grant(OUTGOING));
    const audience = plan.source.startsWith('google') ? 'google' : 'azure';
    assert.ok(ledger.isToken(/^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1], audience), plan.source);
    assert.deepEqual(authorization.report(), { source: plan.source, expiresInMs: 3_600_000, clockSkewMs: 0 });
  }
  assert.deepEqual(world.failures, []);
});

test('the project that a user is charged for goes out beside its token', async (t) => {
  const world = await startWorld(t);
  world.files.set('user', world.sandbox.clouds.authorizedUser);
  const { headers } = grantFrom(await world.authorize({ type: 'token', plan: { source: 'google credential file', path: 'user' } }).grant(OUTGOING));
  assert.equal(headers['x-goog-user-project'], 'sandbox-quota');
});

test('every source of AWS gives keys that its cloud knows, and a session where they expire', async (t) => {
  const world = await startWorld(t);
  const ledger = world.sandbox.clouds as Ledger;
  for (const plan of awsPlans(world)) {
    const authorization = world.authorize(signed(plan));
    const { headers } = grantFrom(await authorization.grant(OUTGOING));
    const id = /Credential=([^/]+)\//.exec(headers['authorization'] ?? '')?.[1] ?? '';
    const keys = ledger.keysOf(id);
    assert.ok(keys !== undefined, plan.source);
    assert.equal(headers['x-amz-security-token'], keys.sessionToken);
    const expected = signatureHeaders(
      { method: 'POST', path: '/x', headers: { host: 'example.com' }, body: '{}' },
      { accessKeyId: id, secretAccessKey: new Secret(keys.secretAccessKey), sessionToken: keys.sessionToken === undefined ? undefined : new Secret(keys.sessionToken) },
      { region: 'us-east-1', service: 'bedrock' },
      world.clock.wall(),
    );
    assert.deepEqual(headers, expected, plan.source);
    const { expiresInMs } = authorization.report();
    assert.equal(expiresInMs, keys.sessionToken === undefined ? undefined : 3_600_000, plan.source);
  }
});

test('a life that ends at a date counts by the clock of who said it', async (t) => {
  const world = await startWorld(t);
  world.clock.isAheadByMs = 20 * 60_000;
  for (const plan of awsPlans(world).filter(({ source }) => source === 'web identity' || source === 'container')) {
    const authorization = world.authorize(signed(plan));
    grantFrom(await authorization.grant(OUTGOING));
    assert.equal(authorization.report().expiresInMs, 3_600_000, plan.source);
  }
});

test('a service account is believed although the clock of this machine is wrong', async (t) => {
  const world = await startWorld(t);
  world.files.set('account', world.sandbox.clouds.serviceAccount);
  for (const isAheadByMs of [2 * 3_600_000, -2 * 3_600_000]) {
    world.clock.isAheadByMs = isAheadByMs;
    grantFrom(await world.authorize({ type: 'token', plan: { source: 'google credential file', path: 'account' } }).grant(OUTGOING));
  }
});

test('files are read again for each token', async (t) => {
  const world = await startWorld(t);
  const plan = awsPlans(world).find(({ source }) => source === 'web identity');
  assert.ok(plan !== undefined);
  const authorization = world.authorize(signed(plan));
  grantFrom(await authorization.grant(OUTGOING));
  world.files.set('token', 'rotated away');
  world.clock.pass(3_600_000);
  const failure = await authorization.grant(OUTGOING);
  assert.ok(failure instanceof Failure);
  world.files.set('token', world.sandbox.clouds.federatedToken);
  world.clock.pass(1000);
  grantFrom(await authorization.grant(OUTGOING));
});

test('what a container says it is goes out as it stands, scheme and all', async (t) => {
  const world = await startWorld(t);
  const said: unknown[] = [];
  const agent = await startUpstream(t, (response, { headers }) => {
    said.push(headers.authorization);
    response.end(JSON.stringify({ AccessKeyId: 'AKID', SecretAccessKey: 's', Token: 't', Expiration: '2099-01-01T00:00:00Z' }));
  });
  const url = new URL('/keys', agent.origin);
  world.files.set('container token', 'Basic abcd\n');
  grantFrom(await world.authorize(signed({ source: 'container', url, token: undefined, tokenFile: 'container token' })).grant(OUTGOING));
  grantFrom(await world.authorize(signed({ source: 'container', url, token: new Secret('Basic abcd'), tokenFile: undefined })).grant(OUTGOING));
  assert.deepEqual(said, ['Basic abcd', 'Basic abcd']);
  world.files.set('container token', 'Basic\r\nb: c');
  assert.ok(await world.authorize(signed({ source: 'container', url, token: undefined, tokenFile: 'container token' })).grant(OUTGOING) instanceof Failure);
});

test('whoever refuses is auth, in a sentence that quotes nothing of the answer', async (t) => {
  const world = await startWorld(t);
  const { sandbox: { url, clouds }, files } = world;
  const origin = new URL(url);
  files.set('wrong token', 'wrong-token-canary');
  files.set('workload', clouds.externalAccount('wrong token'));
  const host = origin.host;
  const refused = (facts: string): string => `the credential endpoint ${host} refused the gateway's identity (${facts})`;
  const entra = { tokenUrl: new URL(`/${clouds.tenantId}/oauth2/v2.0/token`, origin), clientId: clouds.clientId, scope: 'https://ai.azure.com/.default' };
  const cases: readonly (readonly [CredentialPlan, string])[] = [
    [{ type: 'token', plan: { source: 'entra client secret', ...entra, clientSecret: new Secret('wrong-secret-canary') } }, refused('HTTP 401, code invalid_client')],
    [{ type: 'token', plan: { source: 'entra client secret', ...entra, scope: 'other', clientSecret: new Secret(clouds.clientSecret) } }, refused('HTTP 400, code invalid_scope')],
    [{ type: 'token', plan: { source: 'entra workload identity', ...entra, tokenFile: 'wrong token' } }, refused('HTTP 401, code invalid_client')],
    [{ type: 'token', plan: { source: 'azure managed identity', origin, resource: 'https://ai.azure.com', clientId: 'another' } }, refused('HTTP 400, code invalid_request')],
    [{ type: 'token', plan: { source: 'app service identity', endpoint: new URL('/app-service/token', origin), header: new Secret('wrong'), resource: 'https://ai.azure.com', clientId: undefined } }, refused('HTTP 401')],
    [{ type: 'token', plan: { source: 'google credential file', path: 'workload' } }, refused('HTTP 400, code invalid_grant')],
    [signed({ source: 'web identity', stsUrl: new URL('/sts', origin), roleArn: clouds.roleArn, sessionName: 'gateway', tokenFile: 'wrong token' }), refused('HTTP 400, code InvalidIdentityToken')],
    [signed({ source: 'container', url: new URL('/container/credentials', origin), token: new Secret('wrong'), tokenFile: undefined }), refused('HTTP 401')],
    [signed({ source: 'shared files', credentialsPath: 'token', configPath: 'none', profile: 'p' }), 'the profile of AWS_PROFILE in the shared files of AWS is in neither file'],
    [{ type: 'token', plan: { source: 'google credential file', path: 'wrong token' } }, 'the credential file of Google is no JSON object of at most 256 KiB'],
  ];
  for (const [plan, message] of cases) {
    const failure = await world.authorize(plan).grant(OUTGOING);
    assert.ok(failure instanceof Failure);
    assert.equal(failure.message, message);
    assert.equal(failure.kind, 'auth', message);
    assert.equal(failure.isRetried, false);
    assert.equal(failure.detail, undefined);
  }
  assert.equal(world.failures.length, cases.length);
});

test('whoever cannot be reached, or has nothing to say, is unknown and may be asked again', async (t) => {
  const world = await startWorld(t);
  const { sandbox, files } = world;
  const plans: CredentialPlan[] = [
    ...tokenPlans(world).map((plan) => ({ type: 'token', plan }) as const),
    ...awsPlans(world).filter(({ source }) => source !== 'environment' && source !== 'shared files').map((plan) => signed(plan)),
  ];
  sandbox.clouds.isDown = true;
  const gone = new URL('http://127.0.0.1:9/');
  const others: readonly CredentialPlan[] = [
    { type: 'token', plan: { source: 'google metadata server', origin: gone } },
    signed({ source: 'instance metadata', origin: gone }),
    signed({ source: 'container', url: gone, token: undefined, tokenFile: 'absent' }),
    signed({ source: 'shared files', credentialsPath: 'absent', configPath: 'absent', profile: 'p' }),
    { type: 'token', plan: { source: 'google credential file', path: 'absent' } },
  ];
  files.delete('absent');
  for (const plan of [...plans, ...others]) {
    const failure = await world.authorize(plan).grant(OUTGOING);
    assert.ok(failure instanceof Failure, plan.plan.source);
    assert.equal(failure.kind, 'unknown', failure.message);
    assert.equal(failure.isRetried, true, failure.message);
    assert.match(failure.message, /\(HTTP 503\)|ECONNREFUSED|\(ENOENT\)/);
  }
});

test('a rate, and an issuer that is away, are no refusal although the status is one', async (t) => {
  const world = await startWorld(t);
  world.files.set('token', 'a-token');
  const say = { status: 400, code: '', body: (_code: string) => '' };
  const endpoint = await startUpstream(t, (response) => {
    response.writeHead(say.status);
    response.end(say.body(say.code));
  });
  const origin = new URL(endpoint.origin);
  const sts = signed({ source: 'web identity', stsUrl: origin, roleArn: 'arn:aws:iam::000000000000:role/r', sessionName: 'gateway', tokenFile: 'token' });
  const entra: CredentialPlan = { type: 'token', plan: { source: 'entra workload identity', tokenUrl: origin, clientId: 'c', scope: 's', tokenFile: 'token' } };
  for (const [plan, code, kind] of [
    [sts, 'Throttling', 'unknown'],
    [sts, 'IDPCommunicationError', 'unknown'],
    [sts, 'InvalidIdentityToken', 'auth'],
    [entra, 'temporarily_unavailable', 'unknown'],
    [entra, 'server_error', 'unknown'],
    [entra, 'invalid_grant', 'auth'],
  ] as const) {
    say.code = code;
    say.body = plan === sts ? (said) => `<ErrorResponse><Error><Type>Sender</Type><Code>${said}</Code></Error></ErrorResponse>` : (said) => JSON.stringify({ error: said });
    const failure = await world.authorize(plan).grant(OUTGOING);
    assert.ok(failure instanceof Failure);
    assert.deepEqual([failure.kind, failure.isRetried], [kind, kind === 'unknown'], code);
    assert.match(failure.message, new RegExp(`\\(HTTP 400, code ${code}\\)$`));
  }
  say.body = () => '';
  for (const [status, kind] of [[404, 'unknown'], [408, 'unknown'], [410, 'unknown'], [429, 'unknown'], [403, 'auth'], [500, 'unknown']] as const) {
    say.status = status;
    const failure = await world.authorize(sts).grant(OUTGOING);
    assert.ok(failure instanceof Failure);
    assert.equal(failure.kind, kind, String(status));
  }
});

test('a token endpoint has ten seconds, a metadata server one; a proxy stands before neither that, nor what is on this machine', async () => {
  const asked: string[] = [];
  const transportOf = (way: string): Transport => ({
    send: (_provider, _call, _scope, { connectMs, attemptMs }) => {
      asked.push(`${way} ${connectMs} ${attemptMs}`);
      return Promise.resolve(new Failure('unknown', 'none'));
    },
    close: () => undefined,
    openSockets: () => 0,
  });
  const { ask } = createEndpoints(transportOf('internet'), transportOf('direct'));
  for (const [url, isMetadata] of [
    ['https://login.example/token', false], ['http://169.254.169.254/token', false], ['http://10.0.0.1/token', true], ['http://127.0.0.1/token', false], ['http://127.0.0.1/token', true],
  ] as const) {
    await ask({ method: 'GET', url: new URL(url), headers: {}, isMetadata });
  }
  assert.deepEqual(asked, ['internet 10000 10000', 'direct 1000 1000', 'direct 1000 1000', 'direct 10000 10000', 'direct 1000 1000']);
});

test('what is being asked ends when the endpoints are closed', async (t) => {
  const silent = await startRawServer(t, {});
  const transport = createHttpTransport();
  t.after(() => transport.close());
  const endpoints = createEndpoints(transport, transport);
  const answer = endpoints.ask({ method: 'GET', url: silent.baseUrl, headers: {} });
  endpoints.close();
  assert.ok(await answer instanceof Failure);
  await silent.closed(silent.connections());
});

test('what is no token is none, a redirect leads nowhere, and no life is longer than it is said', async (t) => {
  const world = await startWorld(t);
  const elsewhere = await startUpstream(t, (response) => response.end('{"access_token":"elsewhere","expires_in":3600}'));
  const say = { answer: '', status: 200 };
  const endpoint = await startUpstream(t, (response) => {
    response.writeHead(say.status, { location: elsewhere.origin });
    response.end(say.answer);
  });
  const plan = { source: 'entra client secret', tokenUrl: new URL('/token', endpoint.origin), clientId: 'c', scope: 's', clientSecret: new Secret('canary') } as const;
  const outcomeOf = async (answer: string, status = 200): Promise<string> => {
    say.answer = answer;
    say.status = status;
    const authorization = world.authorize({ type: 'token', plan });
    const given = await authorization.grant(OUTGOING);
    return given instanceof Failure ? `${given.kind}: ${given.message.replace(/^the credential endpoint \S+ /, '')}` : `${String(authorization.report().expiresInMs)} ms`;
  };
  const none = 'unknown: answered 200, but not with a credential';
  for (const answer of ['', '<html>canary</html>', '[]', '{"access_token":"x"}', '{"access_token":null,"expires_in":9}', '{"access_token":"a\\r\\nb: c","expires_in":9}']) assert.equal(await outcomeOf(answer), none, answer);
  for (const said of ['-1', '"soon"', '1e400', 'null', '{}']) assert.equal(await outcomeOf(`{"access_token":"x","expires_in":${said}}`), none, said);
  assert.equal(await outcomeOf('{"access_token":"x","expires_in":"60"}'), '60000 ms');
  assert.equal(await outcomeOf(`{"access_token":"x","expires_on":"${Math.floor(world.clock.wall() / 1000) - 9}"}`), '30000 ms');
  for (const status of [301, 302, 307, 308]) assert.equal(await outcomeOf('', status), `unknown: gave no credential (HTTP ${status})`);
  assert.equal(elsewhere.calls(), 0);
});

test('keys of which one is empty, missing or no text that a header can carry are none', async (t) => {
  const world = await startWorld(t);
  world.files.set('token', 'a-token');
  let answer = '';
  const endpoint = await startUpstream(t, (response) => response.end(answer));
  const url = new URL(endpoint.origin);
  const sts = signed({ source: 'web identity', stsUrl: url, roleArn: 'arn:aws:iam::000000000000:role/r', sessionName: 'gateway', tokenFile: 'token' });
  const container = signed({ source: 'container', url, token: undefined, tokenFile: undefined });
  const good = { AccessKeyId: 'AKIA', SecretAccessKey: 'own', SessionToken: 'session', Expiration: '2036-11-22T00:00:00Z' };
  for (const [name, value] of [['', ''], ...Object.keys(good).flatMap((key) => [[key, ''], [key, 'a\nb']])] as const) {
    const fields: Readonly<Record<string, string>> = { ...good, [name]: value };
    const xml = Object.entries(fields).map(([key, text]) => `<${key}>${text}</${key}>`).join('');
    for (const [plan, text] of [[sts, `<Credentials>${xml.replace('<></>', '')}</Credentials>`], [container, JSON.stringify({ ...fields, Token: fields['SessionToken'] })]] as const) {
      answer = text;
      const given = await world.authorize(plan).grant(OUTGOING);
      assert.equal(given instanceof Failure, name !== '', `${plan.plan.source}: ${name} ${JSON.stringify(value)}`);
    }
  }
});

test('a reload that has the region of a provider changed has its files read again', async (t) => {
  const { transport, clock } = await startWorld(t);
  let key = 'AKIAFIRST';
  const readFile = (): string => `[default]\naws_access_key_id = ${key}\naws_secret_access_key = s\n`;
  const authorizations = createAuthorizations({ internet: transport, clock, readFile, onFailure: () => undefined });
  t.after(() => authorizations.close());
  const plan = { source: 'shared files', credentialsPath: 'credentials', configPath: 'config', profile: 'default' } as const;
  const replace = (region: string): void => authorizations.replace([{ name: 'bedrock', credentials: { type: 'signature', plan, region, service: 'bedrock' } }]);
  const keyUsed = async (): Promise<string | undefined> => {
    const { headers } = grantFrom(await (authorizations.of('bedrock')?.grant(OUTGOING) ?? assert.fail()));
    return /Credential=(\w+)/.exec(headers['authorization'] ?? '')?.[1];
  };
  replace('us-east-1');
  assert.equal(await keyUsed(), 'AKIAFIRST');
  key = 'AKIASECOND';
  replace('eu-central-1');
  // It is read beside the first request.
  await keyUsed();
  assert.equal(await keyUsed(), 'AKIASECOND');
});

test('nobody is told of a credential that cannot be had once a reload has nobody called by it', async (t) => {
  const { transport, clock } = await startWorld(t);
  const down = await startUpstream(t, (response) => response.writeHead(500).end());
  const told: (readonly string[])[] = [];
  const authorizations = createAuthorizations({ internet: transport, clock, readFile: () => '', onFailure: (names) => told.push(names) });
  t.after(() => authorizations.close());
  authorizations.replace([{ name: 'vertex', credentials: { type: 'token', plan: { source: 'google metadata server', origin: new URL(down.origin) } } }]);
  const late = authorizations.of('vertex')?.grant(OUTGOING);
  authorizations.replace([]);
  assert.ok((await late) instanceof Failure);
  assert.deepEqual(told, []);
});
