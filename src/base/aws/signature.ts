/**
 * AWS Signature Version 4, in headers and in a query. Pure: the time is handed in.
 *
 * Source: AWS, "Create a signed AWS API request"; equal to AWS's own test suite (but for paths that are not normalised, which
 * only S3 has) and to botocore.
 */

import { createHmac } from 'node:crypto';
import type { Secret } from '../secret.ts';
import { sha256 } from '../sha256.ts';

export type AwsCredentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Of credentials that expire. */
  readonly sessionToken: Secret | undefined;
};

/** Whom a signature is for: region and service, e.g. `us-east-1` and `bedrock`. */
export type SigningScope = { readonly region: string; readonly service: string };

/** A request as it goes over the wire. */
export type SignableRequest = {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Those that the signature covers, by lower-case name; `host` has to be among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
};

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** The headers that a signed request has besides those that were signed. */
export function signatureHeaders(request: SignableRequest, credentials: AwsCredentials, scope: SigningScope, atMs: number): Record<string, string> {
  const date = amzDate(atMs);
  const added: Record<string, string> = { 'x-amz-date': date };
  if (credentials.sessionToken !== undefined) added['x-amz-security-token'] = credentials.sessionToken.reveal();
  const headers = { ...request.headers, ...added };
  const canonical = canonicalRequest({ ...request, headers }, sha256(request.body));
  const signature = signatureOf(canonical, credentials, scope, date);
  const place = `${credentials.accessKeyId}/${credentialScope(scope, date)}`;
  return { ...added, authorization: `${ALGORITHM} Credential=${place}, SignedHeaders=${signedNames(headers)}, Signature=${signature}` };
}

/** For the sandbox. The query of a URL that is good for `expiresS` seconds without a header: `request` without the parameters of the signature. */
export function presignedQuery(request: SignableRequest, credentials: AwsCredentials, scope: SigningScope, atMs: number, expiresS: number): string {
  const date = amzDate(atMs);
  const [path = '', query = ''] = cut(request.path, '?');
  const parameters = [
    ...(query === '' ? [] : [query]),
    `X-Amz-Algorithm=${ALGORITHM}`,
    `X-Amz-Credential=${encode(`${credentials.accessKeyId}/${credentialScope(scope, date)}`)}`,
    `X-Amz-Date=${date}`,
    `X-Amz-Expires=${expiresS}`,
    ...(credentials.sessionToken === undefined ? [] : [`X-Amz-Security-Token=${encode(credentials.sessionToken.reveal())}`]),
    `X-Amz-SignedHeaders=${encode(signedNames(request.headers))}`,
  ];
  const canonical = canonicalRequest({ ...request, path: `${path}?${parameters.join('&')}` }, sha256(request.body));
  return canonicalQuery([...parameters, `X-Amz-Signature=${signatureOf(canonical, credentials, scope, date)}`].join('&'));
}

/** The text that a signature covers, the body by its digest. */
export function canonicalRequest({ method, path, headers }: SignableRequest, bodyDigest: string): string {
  const [pathname = '', query = ''] = cut(path, '?');
  const lines = Object.keys(headers).sort().map((name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}\n`);
  return [method, canonicalPath(pathname), canonicalQuery(query), lines.join(''), signedNames(headers), bodyDigest].join('\n');
}

function signedNames(headers: SignableRequest['headers']): string {
  return Object.keys(headers).sort().join(';');
}

function signatureOf(canonical: string, { secretAccessKey }: AwsCredentials, scope: SigningScope, date: string): string {
  const key = signingKey(secretAccessKey, scope, date.slice(0, 8));
  return hmac(key, [ALGORITHM, date, credentialScope(scope, date), sha256(canonical)].join('\n')).toString('hex');
}

function credentialScope({ region, service }: SigningScope, date: string): string {
  return `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
}

/** The signing key of a secret for a day, a region and a service; to derive it is half of what a signature costs. The last is kept for each scope. */
const SIGNING_KEYS = new WeakMap<SigningScope, { readonly secret: Secret; readonly day: string; readonly key: Buffer }>();

function signingKey(secret: Secret, scope: SigningScope, day: string): Buffer {
  const kept = SIGNING_KEYS.get(scope);
  if (kept?.secret === secret && kept.day === day) return kept.key;
  const key = hmac(hmac(hmac(hmac(`AWS4${secret.reveal()}`, day), scope.region), scope.service), 'aws4_request');
  SIGNING_KEYS.set(scope, { secret, day, key });
  return key;
}

/**
 * The path without dot segments and doubled slashes. What is encoded already is encoded once more, `%3A` to `%253A`, as every
 * service but S3 expects it.
 */
function canonicalPath(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(encode(segment));
  }
  const isFolder = segments.length > 0 && /\/\.{0,2}$/.test(path);
  return `/${segments.join('/')}${isFolder ? '/' : ''}`;
}

/** Parameters sorted, and encoded as AWS wants them whatever they were encoded like. */
function canonicalQuery(query: string): string {
  if (query === '') return '';
  const pairs = query.split('&').map((pair) => {
    const [name = '', value = ''] = cut(pair, '=').map((part) => encode(decoded(part)));
    return { name, value };
  });
  pairs.sort((a, b) => order(a.name, b.name) || order(a.value, b.value));
  return pairs.map(({ name, value }) => `${name}=${value}`).join('&');
}

/** By code units, names before values: as text, `a=1` would come behind `a-b=1`. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Everything but letters, digits and `-_.~`, of which `encodeURIComponent` leaves more. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function cut(text: string, at: string): readonly string[] {
  const index = text.indexOf(at);
  return index === -1 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}

/** E.g. `20261121T103000Z`. */
export function amzDate(atMs: number): string {
  return new Date(atMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
