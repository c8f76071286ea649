/**
 * Tokens of Microsoft Entra ID: by a client secret, by a workload identity (a token of Kubernetes), by the managed identity of a
 * virtual machine or of App Service.
 *
 * Source: Microsoft identity platform, OAuth 2.0 client credentials; "How to use managed identities to acquire an access token";
 * azure-identity.
 */

import type { TokenPlan } from '../../core/credential-plan.ts';
import { Failure } from '../../core/failure.ts';
import { formQuestion } from './endpoint.ts';
import type { Fresh } from './renewed.ts';
import { bearerFrom, readToken } from './source.ts';
import type { Bearer, Surroundings } from './source.ts';

type PlanOf<S extends TokenPlan['source']> = Extract<TokenPlan, { readonly source: S }>;

export function askEntraBySecret(plan: PlanOf<'entra client secret'>, surroundings: Surroundings): Promise<Fresh<Bearer> | Failure> {
  return askEntra(plan, { client_secret: plan.clientSecret.reveal() }, surroundings);
}

export async function askEntraByWorkload(plan: PlanOf<'entra workload identity'>, surroundings: Surroundings): Promise<Fresh<Bearer> | Failure> {
  const assertion = readToken(surroundings, plan.tokenFile, 'the file of AZURE_FEDERATED_TOKEN_FILE');
  if (assertion instanceof Failure) return assertion;
  const proof = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer', client_assertion: assertion.reveal() };
  return askEntra(plan, proof, surroundings);
}

async function askEntra(
  { tokenUrl, clientId, scope }: PlanOf<'entra client secret' | 'entra workload identity'>,
  proof: Readonly<Record<string, string>>,
  { ask, clock }: Surroundings,
): Promise<Fresh<Bearer> | Failure> {
  const answer = await ask(formQuestion(tokenUrl, { grant_type: 'client_credentials', client_id: clientId, scope, ...proof }));
  return answer instanceof Failure ? answer : bearerFrom(tokenUrl, answer, clock);
}

export function askManagedIdentity(plan: PlanOf<'azure managed identity'>, surroundings: Surroundings): Promise<Fresh<Bearer> | Failure> {
  const url = new URL('/metadata/identity/oauth2/token', plan.origin);
  return askIdentity(url, '2018-02-01', { metadata: 'true' }, plan, surroundings);
}

export function askAppService(plan: PlanOf<'app service identity'>, surroundings: Surroundings): Promise<Fresh<Bearer> | Failure> {
  return askIdentity(new URL(plan.endpoint), '2019-08-01', { 'x-identity-header': plan.header.reveal() }, plan, surroundings);
}

async function askIdentity(
  url: URL,
  version: string,
  headers: Readonly<Record<string, string>>,
  { resource, clientId }: PlanOf<'azure managed identity' | 'app service identity'>,
  { ask, clock }: Surroundings,
): Promise<Fresh<Bearer> | Failure> {
  url.searchParams.set('api-version', version);
  url.searchParams.set('resource', resource);
  if (clientId !== undefined) url.searchParams.set('client_id', clientId);
  const answer = await ask({ method: 'GET', url, headers, isMetadata: true });
  return answer instanceof Failure ? answer : bearerFrom(url, answer, clock);
}
