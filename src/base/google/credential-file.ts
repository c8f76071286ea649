/**
 * The JSON file of Google's application default credentials, in the kinds that need nothing but HTTP.
 *
 * Source: Google Cloud, "How Application Default Credentials works", AIP-4112, AIP-4117; google-auth-library.
 */

import { createPrivateKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { field, isObject, textField } from '../loose.ts';
import { isLoopback } from '../loopback.ts';
import { parseLenient } from '../json/lenient.ts';
import { Secret } from '../secret.ts';

/** Real ones are not a tenth as long. */
const FILE_CHARS_MAX = 256 * 1024;
const KEY_BITS_MIN = 2048;
const TOKEN_URL = 'https://oauth2.googleapis.com/token';

/** Where the token that is exchanged comes from: a file, or a URL with the headers that it wants. */
export type SubjectSource =
  | { readonly from: 'file'; readonly path: string; readonly jsonField: string | undefined }
  | { readonly from: 'url'; readonly url: URL; readonly headers: Readonly<Record<string, string>>; readonly jsonField: string | undefined };

export type GoogleCredentials =
  | { readonly type: 'service_account'; readonly email: string; readonly keyId: string | undefined; readonly key: KeyObject; readonly tokenUrl: URL }
  | {
      readonly type: 'authorized_user';
      readonly clientId: string;
      readonly clientSecret: Secret;
      readonly refreshToken: Secret;
      /** The project that is charged, where the file says so. */
      readonly quotaProject: string | undefined;
      readonly tokenUrl: URL;
    }
  | {
      readonly type: 'external_account';
      readonly audience: string;
      readonly subjectTokenType: string;
      readonly subject: SubjectSource;
      readonly tokenUrl: URL;
      /** The service account that is acted as, where there is one. */
      readonly impersonationUrl: URL | undefined;
    };

/** What the file holds, or why it cannot be used, as the end of a sentence that begins with the file. Never quotes it. */
export function parseGoogleCredentials(text: string): GoogleCredentials | string {
  // Some editors and shells write a byte order mark before what they save.
  const json = text.length > FILE_CHARS_MAX ? undefined : parseLenient(text.replace(/^\uFEFF/, ''));
  if (!isObject(json)) return 'is no JSON object of at most 256 KiB';
  switch (json['type']) {
    case 'service_account':
      return serviceAccount(json);
    case 'authorized_user':
      return authorizedUser(json);
    case 'external_account':
      return externalAccount(json);
    default:
      return 'has a type that is not supported; service_account, authorized_user and external_account are';
  }
}

function serviceAccount(json: unknown): GoogleCredentials | string {
  const [email, pem] = [textField(json, 'client_email'), textField(json, 'private_key')];
  const tokenUrl = tokenUrlOf(json);
  if (email === undefined || pem === undefined) return 'has no client_email with a private_key';
  if (tokenUrl === undefined) return BAD_TOKEN_URL;
  const key = privateKeyFrom(pem);
  if (key === undefined) return `has a private_key that is no RSA key of at least ${KEY_BITS_MIN} bits in PEM`;
  return { type: 'service_account', email, keyId: textField(json, 'private_key_id'), key, tokenUrl };
}

function privateKeyFrom(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
    // A key that is too short for the digest would throw where it signs.
    return key.asymmetricKeyType === 'rsa' && modulusLength >= KEY_BITS_MIN ? key : undefined;
  } catch {
    return undefined;
  }
}

function authorizedUser(json: unknown): GoogleCredentials | string {
  const [clientId, clientSecret, refreshToken] = [textField(json, 'client_id'), textField(json, 'client_secret'), textField(json, 'refresh_token')];
  if (clientId === undefined || clientSecret === undefined || refreshToken === undefined) return 'has no client_id, client_secret and refresh_token';
  const tokenUrl = tokenUrlOf(json);
  if (tokenUrl === undefined) return BAD_TOKEN_URL;
  return {
    type: 'authorized_user',
    clientId,
    clientSecret: new Secret(clientSecret),
    refreshToken: new Secret(refreshToken),
    quotaProject: textField(json, 'quota_project_id'),
    tokenUrl,
  };
}

const BAD_TOKEN_URL = 'has a token_uri that is no URL by https';

function tokenUrlOf(json: unknown): URL | undefined {
  return textField(json, 'token_uri') === undefined ? new URL(TOKEN_URL) : urlField(json, 'token_uri');
}

function externalAccount(json: unknown): GoogleCredentials | string {
  const [audience, subjectTokenType, tokenUrl] = [textField(json, 'audience'), textField(json, 'subject_token_type'), urlField(json, 'token_url')];
  if (audience === undefined || subjectTokenType === undefined || tokenUrl === undefined) return 'has no audience, subject_token_type and token_url';
  const subject = subjectFrom(field(json, 'credential_source'));
  if (typeof subject === 'string') return subject;
  const impersonationUrl = urlField(json, 'service_account_impersonation_url');
  if (impersonationUrl === undefined && textField(json, 'service_account_impersonation_url') !== undefined) {
    return 'has a service_account_impersonation_url that is no URL by https';
  }
  return { type: 'external_account', audience, subjectTokenType, subject, tokenUrl, impersonationUrl };
}

function subjectFrom(source: unknown): SubjectSource | string {
  const unsupported = ['executable', 'certificate', 'environment_id'].find((key) => field(source, key) !== undefined);
  if (unsupported !== undefined) return `has a credential_source of kind ${unsupported}, which is not supported; file and url are`;
  const format = field(source, 'format');
  const jsonField = textField(format, 'type') === 'json' ? textField(format, 'subject_token_field_name') : undefined;
  if (textField(format, 'type') === 'json' && jsonField === undefined) return 'has a credential_source of JSON without its subject_token_field_name';
  const path = textField(source, 'file');
  if (path !== undefined) return { from: 'file', path, jsonField };
  const url = anyUrlField(source, 'url');
  return url === undefined ? 'has no credential_source with a file or url' : { from: 'url', url, headers: headersFrom(field(source, 'headers')), jsonField };
}

function headersFrom(given: unknown): Readonly<Record<string, string>> {
  const entries = isObject(given) ? Object.entries(given) : [];
  return Object.fromEntries(entries.flatMap(([name, value]) => (typeof value === 'string' ? [[name.toLowerCase(), value] as const] : [])));
}

/** Secrets go there, so https, unless it is this machine. */
function urlField(json: unknown, key: string): URL | undefined {
  const url = anyUrlField(json, key);
  return url?.protocol === 'https:' || (url !== undefined && isLoopback(url.hostname)) ? url : undefined;
}

function anyUrlField(json: unknown, key: string): URL | undefined {
  const text = textField(json, key) ?? '';
  return /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}
