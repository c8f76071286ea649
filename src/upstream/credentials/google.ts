/**
 * Tokens of Google Cloud: by the file of the application default credentials (a service account, a workload identity, a user),
 * or of the metadata server.
 *
 * Source: Google, "Using OAuth 2.0 for server to server applications", "Workload Identity Federation", "About VM metadata";
 * google-auth-library.
 */

import { parseGoogleCredentials } from '../../base/google/credential-file.ts';
import type { GoogleCredentials } from '../../base/google/credential-file.ts';
import { signedJwt } from '../../base/google/jwt.ts';
import { parseLenient } from '../../base/json/lenient.ts';
import { textField } from '../../base/loose.ts';
import type { Secret } from '../../base/secret.ts';
import type { TokenPlan } from '../../core/credential-plan.ts';
import { unreachable } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { clockSkewMs } from './authorization.ts';
import { formQuestion, refusalFrom, senselessAnswer } from './endpoint.ts';
import type { Answer } from './endpoint.ts';
import type { Fresh } from './renewed.ts';
import { bearerFrom, lifetimeMs, readText, readToken, secretFrom } from './source.ts';
import type { Bearer, Surroundings } from './source.ts';

type PlanOf<S extends TokenPlan['source']> = Extract<TokenPlan, { readonly source: S }>;
type CredentialsOf<T extends GoogleCredentials['type']> = Extract<GoogleCredentials, { readonly type: T }>;
type Outcome = Fresh<Bearer> | Failure;

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
/** The longest that is allowed. */
const ASSERTION_SECONDS = 3600;
/** Beyond this the clock is the likely reason for a refused assertion. */
const SKEW_MS_MAX = 30_000;

export function askByCredentialFile({ path }: PlanOf<'google credential file'>, surroundings: Surroundings): Promise<Outcome> {
  const text = readText(surroundings, path, 'the credential file of Google');
  if (text instanceof Failure) return Promise.resolve(text);
  const credentials = parseGoogleCredentials(text);
  if (typeof credentials === 'string') return Promise.resolve(new Failure('auth', `the credential file of Google ${credentials}`));
  switch (credentials.type) {
    case 'service_account':
      return askByServiceAccount(credentials, surroundings);
    case 'authorized_user':
      return askByUser(credentials, surroundings);
    case 'external_account':
      return askByWorkload(credentials, surroundings);
    default:
      return unreachable(credentials);
  }
}

async function askByServiceAccount(account: CredentialsOf<'service_account'>, surroundings: Surroundings): Promise<Outcome> {
  const { clock } = surroundings;
  const answer = await askByAssertion(account, clock.wall(), surroundings);
  if (answer instanceof Failure) return answer;
  const skewMs = answer.status === 400 ? (clockSkewMs(answer.headers, clock) ?? 0) : 0;
  if (Math.abs(skewMs) <= SKEW_MS_MAX) return bearerFrom(account.tokenUrl, answer, clock);
  const again = await askByAssertion(account, clock.wall() + skewMs, surroundings);
  return again instanceof Failure ? again : bearerFrom(account.tokenUrl, again, clock);
}

function askByAssertion({ email, keyId, key, tokenUrl }: CredentialsOf<'service_account'>, wallMs: number, { ask }: Surroundings): Promise<Answer | Failure> {
  const iat = Math.floor(wallMs / 1000);
  const header = { typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const assertion = signedJwt(header, { iss: email, scope: SCOPE, aud: tokenUrl.href, iat, exp: iat + ASSERTION_SECONDS }, key);
  return ask(formQuestion(tokenUrl, { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }));
}

async function askByUser(user: CredentialsOf<'authorized_user'>, { ask, clock }: Surroundings): Promise<Outcome> {
  const { tokenUrl, clientId, clientSecret, refreshToken, quotaProject } = user;
  const answer = await ask(formQuestion(tokenUrl, {
    grant_type: 'refresh_token', client_id: clientId, client_secret: clientSecret.reveal(), refresh_token: refreshToken.reveal(),
  }));
  if (answer instanceof Failure) return answer;
  return bearerFrom(tokenUrl, answer, clock, quotaProject === undefined ? {} : { 'x-goog-user-project': quotaProject });
}

/** A token of elsewhere is exchanged for one of Google's, and that, where a service account is named, for one of that account. */
async function askByWorkload(workload: CredentialsOf<'external_account'>, surroundings: Surroundings): Promise<Outcome> {
  const { tokenUrl, audience, subjectTokenType, impersonationUrl } = workload;
  const subject = await readSubject(workload, surroundings);
  if (subject instanceof Failure) return subject;
  const answer = await surroundings.ask(formQuestion(tokenUrl, {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', audience, scope: SCOPE,
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token', subject_token: subject.reveal(), subject_token_type: subjectTokenType,
  }));
  const token = answer instanceof Failure ? answer : bearerFrom(tokenUrl, answer, surroundings.clock);
  return token instanceof Failure || impersonationUrl === undefined ? token : impersonate(impersonationUrl, token.value.token, surroundings);
}

async function readSubject({ subject }: CredentialsOf<'external_account'>, surroundings: Surroundings): Promise<Secret | Failure> {
  const what = 'the subject token of the credential file of Google';
  if (subject.from === 'file' && subject.jsonField === undefined) return readToken(surroundings, subject.path, what);
  const text = subject.from === 'file' ? readText(surroundings, subject.path, what) : await askForSubject(subject.url, subject.headers, surroundings);
  if (text instanceof Failure) return text;
  const token = subject.jsonField === undefined ? text.trim() : textField(parseLenient(text), subject.jsonField);
  return secretFrom(token) ?? new Failure('unknown', `${what} is not valid`);
}

async function askForSubject(url: URL, headers: Readonly<Record<string, string>>, { ask }: Surroundings): Promise<string | Failure> {
  const answer = await ask({ method: 'GET', url, headers });
  if (answer instanceof Failure) return answer;
  return answer.status === 200 ? answer.text : refusalFrom(url, answer);
}

async function impersonate(url: URL, token: Secret, { ask, clock }: Surroundings): Promise<Outcome> {
  const answer = await ask({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token.reveal()}` },
    body: JSON.stringify({ scope: [SCOPE], lifetime: `${ASSERTION_SECONDS}s` }),
  });
  if (answer instanceof Failure) return answer;
  if (answer.status !== 200) return refusalFrom(url, answer);
  const json = parseLenient(answer.text);
  const impersonated = secretFrom(textField(json, 'accessToken'));
  const lifetime = lifetimeMs(textField(json, 'expireTime'), answer, clock);
  if (impersonated === undefined || lifetime === undefined) return senselessAnswer(url);
  return { value: { token: impersonated, headers: {} }, lifetimeMs: lifetime };
}

/** The header says that whoever answers is the metadata server, and not a page that lies at its address. */
export async function askMetadataServer({ origin }: PlanOf<'google metadata server'>, { ask, clock }: Surroundings): Promise<Outcome> {
  const url = new URL('/computeMetadata/v1/instance/service-accounts/default/token', origin);
  const answer = await ask({ method: 'GET', url, headers: { 'metadata-flavor': 'Google' }, isMetadata: true });
  if (answer instanceof Failure) return answer;
  if (answer.status === 200 && answer.headers['metadata-flavor'] !== 'Google') return senselessAnswer(url);
  return bearerFrom(url, answer, clock);
}
