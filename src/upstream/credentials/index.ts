/** From plans to authorizations: which source is asked, how its credential is used, and by which providers. */

import { unreachable } from '../../core/chat.ts';
import type { Secret } from '../../base/secret.ts';
import type { Provider } from '../../core/adapter.ts';
import type { CredentialPlan, TokenPlan } from '../../core/credential-plan.ts';
import type { Failure } from '../../core/failure.ts';
import { createHttpTransport } from '../http.ts';
import type { Transport } from '../transport.ts';
import type { Authorization, Clock } from './authorization.ts';
import { askAws } from './aws.ts';
import { BearerAuthorization } from './bearer.ts';
import { createEndpoints } from './endpoint.ts';
import { askAppService, askEntraBySecret, askEntraByWorkload, askManagedIdentity } from './entra.ts';
import { askByCredentialFile, askMetadataServer } from './google.ts';
import { isSamePlan } from './plan.ts';
import { Renewed } from './renewed.ts';
import type { Fresh } from './renewed.ts';
import { SignedAuthorization } from './signed.ts';
import type { Bearer, Surroundings } from './source.ts';

export type CredentialSettings = Surroundings & {
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Told of each credential that could not be had. */
  readonly onFailure: (failure: Failure) => void;
};

/** Of each provider that has credentials of this kind. */
export type Authorizations = {
  /** Undefined for a provider that has none. */
  of(provider: string): Authorization | undefined;
  /**
   * Takes over what the providers say. Those of one source share what it gives, so that it is asked once. Where a plan is the same,
   * what was had serves until it is renewed; else it is forgotten.
   */
  replace(providers: readonly Pick<Provider, 'name' | 'credentials'>[]): void;
  /** Of all of them: what must not turn up in text. */
  secrets(): readonly Secret[];
  /** Ends what is being asked. */
  close(): void;
};

export type AuthorizationSettings = {
  /** On the way to token endpoints on the internet. */
  readonly internet: Transport;
  readonly readFile: (path: string) => string;
  readonly clock: Clock;
  /** Told of each credential that could not be had, and of the providers that it is for. */
  readonly onFailure: (providers: readonly string[], failure: Failure) => void;
};

type Held = { readonly plan: CredentialPlan; readonly authorization: Authorization };

export function createAuthorizations({ internet, readFile, clock, onFailure }: AuthorizationSettings): Authorizations {
  // Without a proxy, whatever the other one has.
  const direct = createHttpTransport();
  const endpoints = createEndpoints(internet, direct);
  let byName: ReadonlyMap<string, Held> = new Map();
  const create = (credentials: CredentialPlan): Authorization => {
    const tell = (failure: Failure): void => {
      const those = [...byName].filter(([, { plan }]) => isSamePlan(plan.plan, credentials.plan));
      // None where a reload forgot it meanwhile.
      if (those.length > 0) onFailure(those.map(([name]) => name), failure);
    };
    return createAuthorization(credentials, { ask: endpoints.ask, readFile, clock, random: Math.random, onFailure: tell });
  };
  return {
    of: (provider) => byName.get(provider)?.authorization,
    replace(providers) {
      const next = new Map<string, Held>();
      for (const { name, credentials } of providers) {
        if (credentials === undefined) continue;
        const before = byName.get(name);
        const other = besideOf(next, credentials) ?? besideOf(byName, credentials);
        // Its files may hold something else by now.
        other?.authorization.renewSoon();
        const isSame = before !== undefined && isSamePlan(before.plan, credentials);
        next.set(name, isSame ? before : { plan: credentials, authorization: other?.authorization.beside(credentials) ?? create(credentials) });
      }
      byName = next;
    },
    // What several share is one secret.
    secrets: () => [...new Set([...byName.values()].flatMap(({ authorization }) => authorization.secrets()))],
    close() {
      endpoints.close();
      direct.close();
    },
  };
}

/** One of the same source. */
function besideOf(held: ReadonlyMap<string, Held>, credentials: CredentialPlan): Held | undefined {
  for (const each of held.values()) if (isSamePlan(each.plan.plan, credentials.plan)) return each;
  return undefined;
}

export function createAuthorization(credentials: CredentialPlan, settings: CredentialSettings): Authorization {
  const { clock, random, onFailure } = settings;
  if (credentials.type === 'signature') {
    const { plan, region, service } = credentials;
    return new SignedAuthorization(plan.source, new Renewed(() => askAws(plan, settings), clock, random, onFailure), { region, service }, clock);
  }
  const { plan } = credentials;
  return new BearerAuthorization(plan.source, new Renewed(() => askForToken(plan, settings), clock, random, onFailure));
}

function askForToken(plan: TokenPlan, surroundings: Surroundings): Promise<Fresh<Bearer> | Failure> {
  switch (plan.source) {
    case 'entra client secret':
      return askEntraBySecret(plan, surroundings);
    case 'entra workload identity':
      return askEntraByWorkload(plan, surroundings);
    case 'azure managed identity':
      return askManagedIdentity(plan, surroundings);
    case 'app service identity':
      return askAppService(plan, surroundings);
    case 'google credential file':
      return askByCredentialFile(plan, surroundings);
    case 'google metadata server':
      return askMetadataServer(plan, surroundings);
    default:
      return unreachable(plan);
  }
}
