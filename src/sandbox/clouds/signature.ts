/**
 * Whether a request is signed as AWS wants it: by keys that are known and live, now, for this service and region, over what
 * came. Likewise short-term keys, which are signed requests themselves.
 *
 * Source: AWS, "Troubleshoot Signature Version 4 signing"; error types as Bedrock's.
 */

import { timingSafeEqual } from 'node:crypto';
import { amzDate, signatureHeaders } from '../../base/aws/signature.ts';
import type { SigningScope } from '../../base/aws/signature.ts';
import { stringField } from '../../base/loose.ts';
import { Secret } from '../../base/secret.ts';
import { Complaint } from '../protocol.ts';
import type { Incoming } from '../protocol.ts';
import type { KnownKeys, Ledger } from './ledger.ts';
import { shortTermKey, SHORT_TERM_PREFIX, SHORT_TERM_SECONDS_MAX } from './short-term-key.ts';

/** A request with its path as it went over the wire. */
export type Signed = Pick<Incoming, 'method' | 'headers' | 'body'> & { readonly url: string };

const SKEW_MS_MAX = 5 * 60 * 1000;
/** What a signature has to cover where it came. */
const COVERED = /^(host|content-type|x-amz-.*)$/;

/** What is wrong with the signature of a request; undefined where nothing is. */
export function signatureComplaint(request: Signed, scope: SigningScope, ledger: Ledger): Complaint | undefined {
  const authorization = stringField(request.headers, 'authorization') ?? '';
  const [, id = '', day = '', region, service, names = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([\w-]+)\/([\w-]+)\/aws4_request, SignedHeaders=([\w;-]+), Signature=[\da-f]{64}$/.exec(authorization) ?? [];
  if (id === '') return refusal('MissingAuthenticationTokenException', 'Missing Authentication Token');
  const date = stringField(request.headers, 'x-amz-date') ?? '';
  const atMs = timeOf(date);
  if (atMs === undefined || !date.startsWith(day)) return refusal('InvalidSignatureException', 'Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP');
  if (Math.abs(atMs - ledger.now()) > SKEW_MS_MAX) return refusal('InvalidSignatureException', `Signature ${atMs < ledger.now() ? 'expired' : 'not yet current'}`);
  if (region !== scope.region || service !== scope.service) return refusal('InvalidSignatureException', 'Credential should be scoped to a valid region and to the correct service.');
  const keys = ledger.keysOf(id);
  const session = stringField(request.headers, 'x-amz-security-token');
  const problem = keysProblem(keys, session, ledger);
  if (problem !== undefined || keys === undefined) return problem;
  const signed = names.split(';');
  const uncovered = Object.keys(request.headers).find((name) => COVERED.test(name) && !signed.includes(name));
  if (uncovered !== undefined) return refusal('InvalidSignatureException', `'${uncovered}' must be a 'SignedHeader' in the AWS Authorization.`);
  const own = ['x-amz-date', 'x-amz-security-token'];
  const headers = Object.fromEntries(signed.filter((name) => !own.includes(name)).map((name) => [name, stringField(request.headers, name) ?? '']));
  const expected = signatureHeaders({ method: request.method, path: request.url, headers, body: request.body }, credentialsOf(id, keys), scope, atMs);
  if (isSame(expected['authorization'] ?? '', authorization)) return undefined;
  return refusal('InvalidSignatureException', 'The request signature we calculated does not match the signature you provided.');
}

/** What is wrong with a short-term key; undefined where nothing is. */
export function shortTermComplaint(key: string, region: string, ledger: Ledger): Complaint | undefined {
  const url = Buffer.from(key.slice(SHORT_TERM_PREFIX.length), 'base64').toString();
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1));
  const [id = '', , keyRegion] = (query.get('X-Amz-Credential') ?? '').split('/');
  const [atMs, expiresS] = [timeOf(query.get('X-Amz-Date') ?? ''), Number(query.get('X-Amz-Expires'))];
  const keys = ledger.keysOf(id);
  const problem = keysProblem(keys, query.get('X-Amz-Security-Token') ?? undefined, ledger);
  if (problem !== undefined || keys === undefined) return problem;
  const isTimely = atMs !== undefined && expiresS >= 1 && expiresS <= SHORT_TERM_SECONDS_MAX && ledger.now() < atMs + expiresS * 1000;
  if (!isTimely || keyRegion !== region) return refusal('ExpiredTokenException', 'Bearer Token has expired');
  if (isSame(key, shortTermKey(credentialsOf(id, keys), region, atMs, expiresS))) return undefined;
  return refusal('InvalidSignatureException', 'The request signature we calculated does not match the signature you provided.');
}

function keysProblem(keys: KnownKeys | undefined, session: string | undefined, ledger: Ledger): Complaint | undefined {
  if (keys === undefined || keys.sessionToken !== session) return refusal('UnrecognizedClientException', 'The security token included in the request is invalid.');
  return ledger.now() < keys.expiresAtMs ? undefined : refusal('ExpiredTokenException', 'The security token included in the request is expired');
}

function credentialsOf(accessKeyId: string, { secretAccessKey, sessionToken }: KnownKeys): Parameters<typeof signatureHeaders>[1] {
  return { accessKeyId, secretAccessKey: new Secret(secretAccessKey), sessionToken: sessionToken === undefined ? undefined : new Secret(sessionToken) };
}

function refusal(type: string, message: string): Complaint {
  return new Complaint(403, message, { code: type });
}

/** Milliseconds since 1970 of a time as signatures have it. */
function timeOf(date: string): number | undefined {
  const atMs = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  return Number.isNaN(atMs) || amzDate(atMs) !== date ? undefined : atMs;
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
