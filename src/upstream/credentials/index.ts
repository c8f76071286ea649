/** From a plan to an authorization: which source is asked, and how its credential is used. */

import { unreachable } from '../../core/chat.ts';
import type { CredentialPlan, TokenPlan } from '../../core/credential-plan.ts';
import type { Failure } from '../../core/failure.ts';
import type { Authorization } from './authorization.ts';
import { askAws } from './aws.ts';
import { BearerAuthorization } from './bearer.ts';
import { askAppService, askEntraBySecret, askEntraByWorkload, askManagedIdentity } from './entra.ts';
import { askByCredentialFile, askMetadataServer } from './google.ts';
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
