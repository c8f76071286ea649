/** A sandbox, a machine whose clock is the test's, and what sources of credentials ask there. */

import type { TestContext } from 'node:test';
import { Secret } from '../../../src/base/secret.ts';
import type { AwsPlan, CredentialPlan, TokenPlan } from '../../../src/core/credential-plan.ts';
import type { Failure } from '../../../src/core/failure.ts';
import { startSandbox } from '../../../src/sandbox/index.ts';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import type { Authorization } from '../../../src/upstream/credentials/authorization.ts';
import { createEndpoints } from '../../../src/upstream/credentials/endpoint.ts';
import { createAuthorization } from '../../../src/upstream/credentials/index.ts';
import { createHttpTransport } from '../../../src/upstream/http.ts';
import type { Transport } from '../../../src/upstream/transport.ts';
import { createFakeClock } from './clock.ts';
import type { FakeClock } from './clock.ts';

export type World = {
  readonly sandbox: Sandbox;
  readonly clock: FakeClock;
  readonly transport: Transport;
  /** By path. */
  readonly files: Map<string, string>;
  /** Of credentials that could not be had. */
  readonly failures: readonly Failure[];
  authorize(plan: CredentialPlan): Authorization;
};

export async function startWorld(t: TestContext): Promise<World> {
  const clock = createFakeClock();
  // The cloud's clock is right, whatever this machine's says.
  const sandbox = await startSandbox({ now: () => clock.wall() - clock.isAheadByMs });
  const transport = createHttpTransport();
  const endpoints = createEndpoints(transport, transport);
  const files = new Map<string, string>([['token', `${sandbox.clouds.federatedToken}\n`]]);
  const failures: Failure[] = [];
  const readFile = (path: string): string => {
    const text = files.get(path);
    if (text !== undefined) return text;
    const error: NodeJS.ErrnoException = new Error(`no ${path}`);
    error.code = 'ENOENT';
    throw error;
  };
  t.after(async () => {
    endpoints.close();
    transport.close();
    await sandbox.close();
  });
  return {
    sandbox, clock, transport, files, failures,
    authorize: (plan) => createAuthorization(plan, { ask: endpoints.ask, readFile, clock, random: () => 0, onFailure: (failure) => failures.push(failure) }),
  };
}

/** Every source of tokens that works, by the sandbox. */
export function tokenPlans({ sandbox: { url, clouds }, files }: World): readonly TokenPlan[] {
  files.set('service account', clouds.serviceAccount);
  files.set('user', clouds.authorizedUser);
  files.set('workload', clouds.externalAccount('token'));
  const origin = new URL(url);
  const entra = { tokenUrl: new URL(`/${clouds.tenantId}/oauth2/v2.0/token`, origin), clientId: clouds.clientId, scope: 'https://ai.azure.com/.default' };
  const resource = 'https://ai.azure.com';
  return [
    { source: 'entra client secret', ...entra, clientSecret: new Secret(clouds.clientSecret) },
    { source: 'entra workload identity', ...entra, tokenFile: 'token' },
    { source: 'azure managed identity', origin, resource, clientId: undefined },
    { source: 'azure managed identity', origin, resource, clientId: clouds.clientId },
    { source: 'app service identity', endpoint: new URL('/app-service/token', origin), header: new Secret(clouds.platformToken), resource, clientId: undefined },
    { source: 'google credential file', path: 'service account' },
    { source: 'google credential file', path: 'user' },
    { source: 'google credential file', path: 'workload' },
    { source: 'google metadata server', origin },
  ];
}

/** Every source of keys that works, by the sandbox. */
export function awsPlans({ sandbox: { url, clouds }, files }: World): readonly AwsPlan[] {
  files.set('credentials', `[sandbox]\naws_access_key_id = ${clouds.accessKeyId}\naws_secret_access_key = ${clouds.secretAccessKey}\n`);
  files.set('container token', clouds.platformToken);
  const origin = new URL(url);
  const containerUrl = new URL('/container/credentials', origin);
  return [
    { source: 'environment', credentials: { accessKeyId: clouds.accessKeyId, secretAccessKey: new Secret(clouds.secretAccessKey), sessionToken: undefined } },
    { source: 'web identity', stsUrl: new URL('/sts', origin), roleArn: clouds.roleArn, sessionName: 'gateway', tokenFile: 'token' },
    { source: 'shared files', credentialsPath: 'credentials', configPath: 'none', profile: 'sandbox' },
    { source: 'container', url: containerUrl, token: new Secret(clouds.platformToken), tokenFile: undefined },
    { source: 'container', url: containerUrl, token: undefined, tokenFile: 'container token' },
    { source: 'instance metadata', origin },
  ];
}

export function signed(plan: AwsPlan, service = 'bedrock'): CredentialPlan {
  return { type: 'signature', plan, region: 'us-east-1', service };
}
