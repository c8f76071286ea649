import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import { test } from 'node:test';
import { parseGoogleCredentials } from '../../../src/base/google/credential-file.ts';
import type { GoogleCredentials } from '../../../src/base/google/credential-file.ts';
import { RSA_PEM } from './keys.ts';

const SERVICE_ACCOUNT = {
  type: 'service_account',
  project_id: 'p1',
  private_key_id: 'k1',
  private_key: RSA_PEM,
  client_email: 'gateway@p1.iam.gserviceaccount.com',
  token_uri: 'https://oauth2.googleapis.com/token',
};
const USER = { type: 'authorized_user', client_id: 'c1', client_secret: 'user secret', refresh_token: 'refresh token', quota_project_id: 'q1' };
const EXTERNAL = {
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: 'https://sts.googleapis.com/v1/token',
  credential_source: { file: '/var/run/token' },
};

function good(json: object): GoogleCredentials {
  const credentials = parseGoogleCredentials(JSON.stringify(json));
  if (typeof credentials === 'string') assert.fail(credentials);
  return credentials;
}

test('parseGoogleCredentials reads a service account', () => {
  const credentials = good(SERVICE_ACCOUNT);
  assert.equal(credentials.type, 'service_account');
  if (credentials.type !== 'service_account') return;
  assert.equal(credentials.email, 'gateway@p1.iam.gserviceaccount.com');
  assert.equal(credentials.keyId, 'k1');
  assert.equal(credentials.tokenUrl.href, 'https://oauth2.googleapis.com/token');
});

test('parseGoogleCredentials skips a byte order mark at the start of the file', () => {
  const credentials = parseGoogleCredentials(`\uFEFF${JSON.stringify(USER)}`);
  assert.equal(typeof credentials === 'string' ? credentials : credentials.type, 'authorized_user');
});

test('parseGoogleCredentials reads a user, whose token address may be missing', () => {
  const credentials = good(USER);
  assert.equal(credentials.type, 'authorized_user');
  if (credentials.type !== 'authorized_user') return;
  assert.equal(credentials.clientId, 'c1');
  assert.equal(credentials.clientSecret.reveal(), 'user secret');
  assert.equal(credentials.refreshToken.reveal(), 'refresh token');
  assert.equal(credentials.quotaProject, 'q1');
  assert.equal(credentials.tokenUrl.href, 'https://oauth2.googleapis.com/token');
});

test('parseGoogleCredentials reads a workload identity with its token in a file or behind a URL', () => {
  const fromFile = good(EXTERNAL);
  assert.deepEqual(fromFile.type === 'external_account' && fromFile.subject, { from: 'file', path: '/var/run/token', jsonField: undefined });
  const fromUrl = good({
    ...EXTERNAL,
    credential_source: { url: 'http://169.254.1.1/token', headers: { Metadata: 'true', n: 1 }, format: { type: 'json', subject_token_field_name: 'access_token' } },
    service_account_impersonation_url: 'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/x:generateAccessToken',
  });
  if (fromUrl.type !== 'external_account') assert.fail();
  assert.deepEqual(fromUrl.subject, { from: 'url', url: new URL('http://169.254.1.1/token'), headers: { metadata: 'true' }, jsonField: 'access_token' });
  assert.equal(fromUrl.impersonationUrl?.host, 'iamcredentials.googleapis.com');
});

test('parseGoogleCredentials says what is wrong without quoting the file', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const short = generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const cases: readonly (readonly [unknown, string])[] = [
    [{ ...SERVICE_ACCOUNT, private_key: short }, 'has a private_key that is no RSA key of at least 2048 bits in PEM'],
    ['nothing', 'is no JSON object of at most 256 KiB'],
    [{ type: 'gdch_service_account' }, 'has a type that is not supported; service_account, authorized_user and external_account are'],
    [{ ...SERVICE_ACCOUNT, client_email: undefined }, 'has no client_email with a private_key'],
    [{ ...SERVICE_ACCOUNT, private_key: 'secret' }, 'has a private_key that is no RSA key of at least 2048 bits in PEM'],
    [{ ...SERVICE_ACCOUNT, private_key: ec }, 'has a private_key that is no RSA key of at least 2048 bits in PEM'],
    [{ ...SERVICE_ACCOUNT, token_uri: 'http://oauth2.example.com/token' }, 'has a token_uri that is no URL by https'],
    [{ ...USER, token_uri: 'ftp://x' }, 'has a token_uri that is no URL by https'],
    [{ ...USER, refresh_token: '' }, 'has no client_id, client_secret and refresh_token'],
    [{ ...EXTERNAL, audience: undefined }, 'has no audience, subject_token_type and token_url'],
    [{ ...EXTERNAL, token_url: 'http://sts.example.com' }, 'has no audience, subject_token_type and token_url'],
    [{ ...EXTERNAL, credential_source: { environment_id: 'aws1' } }, 'has a credential_source of kind environment_id, which is not supported; file and url are'],
    [{ ...EXTERNAL, credential_source: { executable: {} } }, 'has a credential_source of kind executable, which is not supported; file and url are'],
    [{ ...EXTERNAL, credential_source: { file: 'f', format: { type: 'json' } } }, 'has a credential_source of JSON without its subject_token_field_name'],
    [{ ...EXTERNAL, credential_source: {} }, 'has no credential_source with a file or url'],
    [{ ...EXTERNAL, service_account_impersonation_url: 'http://x.example.com' }, 'has a service_account_impersonation_url that is no URL by https'],
  ];
  for (const [json, problem] of cases) assert.equal(parseGoogleCredentials(JSON.stringify(json)), problem);
  assert.equal(parseGoogleCredentials(' '.repeat(300 * 1024)), 'is no JSON object of at most 256 KiB');
});

test('what parseGoogleCredentials reads shows no secret when it is printed', () => {
  const text = inspect([good(SERVICE_ACCOUNT), good(USER)], { depth: 9 }) + JSON.stringify([good(SERVICE_ACCOUNT), good(USER)]);
  assert.doesNotMatch(text, /PRIVATE KEY|user secret|refresh token/);
});
