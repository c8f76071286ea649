/** Who is calling: the bearer token against every configured one. */

import { sha256 } from '../base/secret.ts';
import type { Secret } from '../base/secret.ts';
import { Failure } from '../core/failure.ts';

export type Caller = { readonly label: string; readonly token: Secret };

/** Longest Authorization header worth hashing. */
const HEADER_CHARS_MAX = 4096;
const BEARER = /^bearer +([^\s]+)$/i;

/**
 * The label of the caller whose token was sent, or a Failure (401, kind `auth`). Digests are compared, all of them,
 * each in constant time, so neither length nor position of a difference shows. `apiKey` is the header `x-api-key` where it
 * is taken; a caller that sends both has to send the same in them.
 */
// hot: per request
export function authenticate(authorization: string | undefined, callers: readonly Caller[], apiKey?: string): string | Failure {
  if (apiKey !== undefined) return authenticateKey(authorization, apiKey, callers);
  if (authorization === undefined) return unauthorized('missing bearer token: send Authorization: Bearer <token>');
  const match = authorization.length > HEADER_CHARS_MAX ? null : BEARER.exec(authorization);
  const digest = sha256(match?.[1] ?? '');
  let label: string | undefined;
  for (const caller of callers) if (caller.token.equalsDigest(digest)) label = caller.label;
  if (match === null || label === undefined) return unauthorized('wrong bearer token');
  return label;
}

function authenticateKey(authorization: string | undefined, apiKey: string, callers: readonly Caller[]): string | Failure {
  if (authorization !== undefined && BEARER.exec(authorization.slice(0, HEADER_CHARS_MAX))?.[1] !== apiKey) {
    return unauthorized('Authorization and x-api-key hold different tokens; send one of them');
  }
  return authenticate(`Bearer ${apiKey}`, callers);
}

function unauthorized(message: string): Failure {
  return new Failure('auth', message, { status: 401 });
}
