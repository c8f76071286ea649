/** Who is calling: the bearer token against every configured one. */

import type { IncomingMessage } from 'node:http';
import { sha256 } from '../base/secret.ts';
import type { Secret } from '../base/secret.ts';
import { Failure } from '../core/failure.ts';

export type Caller = { readonly label: string; readonly token: Secret };

/** Longest Authorization header worth hashing. */
const HEADER_CHARS_MAX = 4096;
const BEARER = /^bearer +([^\s]+)$/i;

/**
 * The label of the caller whose token was sent, or a Failure (401, kind `auth`). Digests are compared, all of them,
 * each in constant time, so neither length nor position of a difference shows.
 */
// hot: per request
export function authenticate(authorization: string | undefined, callers: readonly Caller[]): string | Failure {
  if (authorization === undefined) return unauthorized('missing bearer token: send Authorization: Bearer <token>');
  const match = authorization.length > HEADER_CHARS_MAX ? null : BEARER.exec(authorization);
  const digest = sha256(match?.[1] ?? '');
  let label: string | undefined;
  for (const caller of callers) if (caller.token.equalsDigest(digest)) label = caller.label;
  if (match === null || label === undefined) return unauthorized('wrong bearer token');
  return label;
}

function unauthorized(message: string): Failure {
  return new Failure('auth', message, { status: 401 });
}

/** A request whose framing or identity could be read in two ways, or undefined when it cannot. */
export function ambiguousHeaders(request: IncomingMessage): Failure | undefined {
  const seen = new Map<string, number>();
  const names = request.rawHeaders;
  for (let i = 0; i < names.length; i += 2) {
    const name = (names[i] as string).toLowerCase();
    if (name === 'host' || name === 'authorization' || name === 'content-type' || name === 'content-encoding') {
      const times = (seen.get(name) ?? 0) + 1;
      if (times > 1) return new Failure('bad_request', `the header ${name} comes twice`);
      seen.set(name, times);
    }
  }
  return undefined;
}
