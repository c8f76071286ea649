/**
 * Where tokens and keys are had: the token endpoints of Entra, Google and AWS STS; the metadata servers of the three clouds; the
 * endpoints of containers and of App Service. As strict as the real ones.
 *
 * Source: as for the gateway's own sources of credentials; error bodies as documented or recorded by others.
 */

import { verify } from 'node:crypto';
import { field, numberField, stringField } from '../../base/loose.ts';
import { parseLenient } from '../../base/json/lenient.ts';
import { jsonReply } from '../protocol.ts';
import type { Incoming, Reply } from '../protocol.ts';
import type { Ledger } from './ledger.ts';

type Endpoint = (incoming: Incoming, ledger: Ledger) => Reply;

/** By method and path. */
const ENDPOINTS: readonly (readonly [string, RegExp, Endpoint])[] = [
  ['POST', /^\/([^/]+)\/oauth2\/v2\.0\/token$/, entra],
  ['GET', /^\/metadata\/identity\/oauth2\/token$/, azureMetadata],
  ['GET', /^\/app-service\/token$/, appService],
  ['POST', /^\/google\/token$/, googleToken],
  ['POST', /^\/google\/sts$/, googleSts],
  ['POST', /^\/google\/impersonate$/, googleImpersonation],
  ['GET', /^\/computeMetadata\/v1\/instance\/service-accounts\/default\/token$/, googleMetadata],
  ['POST', /^\/sts\/?$/, awsSts],
  ['GET', /^\/container\/credentials$/, container],
  ['PUT', /^\/latest\/api\/token$/, instanceSession],
  ['GET', /^\/latest\/meta-data\/iam\/security-credentials\/$/, instanceRole],
  ['GET', /^\/latest\/meta-data\/iam\/security-credentials\/sandbox-role$/, instanceKeys],
];

/** The answer of the endpoint that the request is for; undefined where it is for none. */
export function askEndpoint(incoming: Incoming, ledger: Ledger): Reply | undefined {
  const row = ENDPOINTS.find(([method, path]) => method === incoming.method && path.test(incoming.path));
  if (row === undefined) return undefined;
  if (ledger.isDown) return text(503, 'Service Unavailable');
  const reply = row[2](incoming, ledger);
  // With the cloud's own time, by which lifetimes count.
  return { ...reply, headers: { date: new Date(ledger.now()).toUTCString(), ...reply.headers } };
}

function text(status: number, body: string, type = 'text/plain'): Reply {
  return { status, headers: { 'content-type': type }, pieces: [{ bytes: body, isText: false }] };
}

function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Reply {
  return jsonReply(status, JSON.stringify(body), headers);
}

function formOf({ body }: Incoming): URLSearchParams {
  return new URLSearchParams(body);
}

function oauthError(status: number, error: string, description: string, codes: readonly number[] = []): Reply {
  return json(status, { error, error_description: description, ...(codes.length === 0 ? {} : { error_codes: codes }) });
}

const AZURE_RESOURCES = ['https://ai.azure.com', 'https://cognitiveservices.azure.com'];

function entra(incoming: Incoming, ledger: Ledger): Reply {
  const form = formOf(incoming);
  if (incoming.path.split('/')[1] !== ledger.tenantId) return oauthError(400, 'invalid_request', 'AADSTS90002: Tenant not found.', [90002]);
  if (form.get('grant_type') !== 'client_credentials') return oauthError(400, 'unsupported_grant_type', 'AADSTS70003: The app requested an unsupported grant type.', [70003]);
  if (form.get('client_id') !== ledger.clientId) return oauthError(400, 'unauthorized_client', 'AADSTS700016: Application was not found in the directory.', [700016]);
  if (!AZURE_RESOURCES.some((resource) => form.get('scope') === `${resource}/.default`)) {
    return oauthError(400, 'invalid_scope', 'AADSTS70011: The provided value for the input parameter scope is not valid.', [70011]);
  }
  const assertion = form.get('client_assertion');
  if (assertion !== null) {
    if (form.get('client_assertion_type') !== 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer') return oauthError(400, 'invalid_request', 'AADSTS50027: JWT token is invalid or malformed.', [50027]);
    if (assertion !== ledger.federatedToken) return oauthError(401, 'invalid_client', 'AADSTS700024: Client assertion is not within its valid time range.', [700024]);
  } else if (form.get('client_secret') !== ledger.clientSecret) {
    return oauthError(401, 'invalid_client', 'AADSTS7000215: Invalid client secret provided.', [7000215]);
  }
  return json(200, { token_type: 'Bearer', expires_in: ledger.lifetimeS, ext_expires_in: ledger.lifetimeS, access_token: ledger.giveToken('azure') });
}

function azureMetadata(incoming: Incoming, ledger: Ledger): Reply {
  if (stringField(incoming.headers, 'metadata') !== 'true' || stringField(incoming.headers, 'x-forwarded-for') !== undefined) {
    return json(400, { error: 'invalid_request', error_description: 'Required metadata header not specified' });
  }
  if (incoming.query.get('api-version') !== '2018-02-01') return json(400, { error: 'invalid_request', error_description: 'Required query variable api-version is missing' });
  return azureIdentity(incoming, ledger, { expires_in: String(ledger.lifetimeS) });
}

function appService(incoming: Incoming, ledger: Ledger): Reply {
  if (stringField(incoming.headers, 'x-identity-header') !== ledger.platformToken) return json(401, { statusCode: 401, message: 'Unauthorized' });
  if (incoming.query.get('api-version') !== '2019-08-01') return json(400, { statusCode: 400, message: 'BadRequest' });
  return azureIdentity(incoming, ledger, {});
}

/** Numbers are texts here. App Service says when a token ends, and not in how long. */
function azureIdentity({ query }: Incoming, ledger: Ledger, lifetime: { readonly expires_in?: string }): Reply {
  const resource = query.get('resource') ?? '';
  if (!AZURE_RESOURCES.includes(resource)) return json(400, { error: 'invalid_resource', error_description: 'AADSTS500011: The resource principal was not found.' });
  const clientId = query.get('client_id') ?? ledger.clientId;
  if (clientId !== ledger.clientId) return json(400, { error: 'invalid_request', error_description: 'Identity not found' });
  return json(200, {
    access_token: ledger.giveToken('azure'), client_id: clientId, ...lifetime,
    expires_on: String(Math.floor(ledger.now() / 1000) + ledger.lifetimeS), resource, token_type: 'Bearer',
  });
}

const GOOGLE_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

function googleToken(incoming: Incoming, ledger: Ledger): Reply {
  const form = formOf(incoming);
  switch (form.get('grant_type')) {
    case 'urn:ietf:params:oauth:grant-type:jwt-bearer': {
      const problem = assertionProblem(form.get('assertion') ?? '', incoming, ledger);
      return problem === undefined ? googleGrant(ledger) : oauthError(400, 'invalid_grant', problem);
    }
    case 'refresh_token': {
      if (form.get('client_id') !== ledger.clientId || form.get('client_secret') !== ledger.clientSecret) return oauthError(401, 'invalid_client', 'The OAuth client was not found.');
      if (form.get('refresh_token') !== ledger.federatedToken) return oauthError(400, 'invalid_grant', 'Token has been expired or revoked.');
      return googleGrant(ledger);
    }
    default:
      return oauthError(400, 'unsupported_grant_type', 'Invalid grant_type');
  }
}

function googleGrant(ledger: Ledger): Reply {
  return json(200, { access_token: ledger.giveToken('google'), expires_in: ledger.lifetimeS, token_type: 'Bearer' });
}

/** What Google says of an assertion that it does not take. */
function assertionProblem(assertion: string, incoming: Incoming, ledger: Ledger): string | undefined {
  const [head = '', body = '', signature = ''] = assertion.split('.');
  const [header, claims] = [head, body].map((part) => parseLenient(Buffer.from(part, 'base64url').toString()));
  if (field(header, 'alg') !== 'RS256' || field(header, 'typ') !== 'JWT') return 'Invalid JWT: Failed to parse.';
  const isSigned = verify('sha256', Buffer.from(`${head}.${body}`), ledger.serviceAccountKey, Buffer.from(signature, 'base64url'));
  if (!isSigned) return 'Invalid JWT Signature.';
  if (stringField(claims, 'iss') !== stringField(parseLenient(ledger.serviceAccount), 'client_email')) return 'Invalid issuer: Not a valid service account.';
  const audience = stringField(claims, 'aud') ?? '';
  if (!URL.canParse(audience) || new URL(audience).pathname !== incoming.path) return 'Invalid JWT: Audience mismatch.';
  if (stringField(claims, 'scope') !== GOOGLE_SCOPE) return 'Invalid OAuth scope or ID token audience provided.';
  const [iat = 0, exp = 0] = [numberField(claims, 'iat'), numberField(claims, 'exp')];
  const nowS = ledger.now() / 1000;
  const isShortLived = exp - iat <= 3600 && iat <= nowS + 60 && exp > nowS;
  return isShortLived ? undefined : 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.';
}

function googleSts(incoming: Incoming, ledger: Ledger): Reply {
  const form = formOf(incoming);
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:token-exchange') return oauthError(400, 'unsupported_grant_type', 'Unsupported grant type.');
  if (form.get('requested_token_type') !== 'urn:ietf:params:oauth:token-type:access_token') return oauthError(400, 'invalid_request', 'Invalid requested token type.');
  if (form.get('scope') !== GOOGLE_SCOPE || !form.get('audience')?.startsWith('//iam.googleapis.com/')) return oauthError(400, 'invalid_target', 'Invalid value for audience.');
  if (form.get('subject_token') !== ledger.federatedToken || form.get('subject_token_type') !== 'urn:ietf:params:oauth:token-type:jwt') {
    return oauthError(400, 'invalid_grant', 'ID Token issued at is stale to sign-in.');
  }
  const issued = 'urn:ietf:params:oauth:token-type:access_token';
  return json(200, { access_token: ledger.giveToken('google sts'), issued_token_type: issued, token_type: 'Bearer', expires_in: ledger.lifetimeS });
}

function googleImpersonation(incoming: Incoming, ledger: Ledger): Reply {
  const token = /^Bearer (.+)$/.exec(stringField(incoming.headers, 'authorization') ?? '')?.[1];
  if (!ledger.isToken(token, 'google sts')) return json(401, { error: { code: 401, message: 'Request had invalid authentication credentials.', status: 'UNAUTHENTICATED' } });
  const asked = parseLenient(incoming.body);
  const isWellAsked = JSON.stringify(field(asked, 'scope')) === JSON.stringify([GOOGLE_SCOPE]) && stringField(asked, 'lifetime') === '3600s';
  if (!isWellAsked) return json(400, { error: { code: 400, message: 'Request contains an invalid argument.', status: 'INVALID_ARGUMENT' } });
  return json(200, { accessToken: ledger.giveToken('google'), expireTime: new Date(ledger.now() + ledger.lifetimeS * 1000).toISOString() });
}

function googleMetadata(incoming: Incoming, ledger: Ledger): Reply {
  if (stringField(incoming.headers, 'metadata-flavor') !== 'Google' || stringField(incoming.headers, 'x-forwarded-for') !== undefined) return text(403, 'Missing Metadata-Flavor:Google header.');
  const body = { access_token: ledger.giveToken('google'), expires_in: ledger.lifetimeS, token_type: 'Bearer' };
  return json(200, body, { 'metadata-flavor': 'Google', server: 'Metadata Server for VM' });
}

function awsSts(incoming: Incoming, ledger: Ledger): Reply {
  const form = formOf(incoming);
  if (form.get('Action') !== 'AssumeRoleWithWebIdentity' || form.get('Version') !== '2011-06-15') return stsError('InvalidAction', 'Could not find operation.');
  if (form.get('RoleArn') !== ledger.roleArn || !/^[\w+=,.@-]{2,64}$/.test(form.get('RoleSessionName') ?? '')) return stsError('ValidationError', '1 validation error detected.');
  if (form.get('WebIdentityToken') !== ledger.federatedToken) return stsError('InvalidIdentityToken', 'The web identity token that was passed could not be validated.');
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = ledger.giveKeys();
  const credentials = `<SessionToken>${Token}</SessionToken><SecretAccessKey>${SecretAccessKey}</SecretAccessKey><Expiration>${Expiration}</Expiration><AccessKeyId>${AccessKeyId}</AccessKeyId>`;
  return text(200, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <AssumedRoleUser><Arn>${ledger.roleArn}</Arn><AssumedRoleId>AROASANDBOX:gateway</AssumedRoleId></AssumedRoleUser>
    <Credentials>${credentials}</Credentials>
  </AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>`, 'text/xml');
}

function stsError(code: string, message: string): Reply {
  return text(400, `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`, 'text/xml');
}

function container(incoming: Incoming, ledger: Ledger): Reply {
  if (stringField(incoming.headers, 'authorization') !== ledger.platformToken) return json(401, { code: 'AccessDeniedException', message: 'The authorization token is missing or wrong.' });
  return json(200, ledger.giveKeys());
}

function instanceSession(incoming: Incoming, ledger: Ledger): Reply {
  if (stringField(incoming.headers, 'x-forwarded-for') !== undefined) return text(403, '');
  const seconds = Number(stringField(incoming.headers, 'x-aws-ec2-metadata-token-ttl-seconds') ?? 0);
  return seconds >= 1 && seconds <= 21600 ? text(200, ledger.giveToken('aws session')) : text(400, '');
}

function instanceRole(incoming: Incoming, ledger: Ledger): Reply {
  return hasSession(incoming, ledger) ? text(200, 'sandbox-role\n') : text(401, '');
}

function instanceKeys(incoming: Incoming, ledger: Ledger): Reply {
  return hasSession(incoming, ledger) ? json(200, { Code: 'Success', Type: 'AWS-HMAC', ...ledger.giveKeys() }) : text(401, '');
}

function hasSession(incoming: Incoming, ledger: Ledger): boolean {
  return ledger.isToken(stringField(incoming.headers, 'x-aws-ec2-metadata-token'), 'aws session');
}
