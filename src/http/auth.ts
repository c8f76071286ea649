/** Who is calling: the bearer token against every configured one, or what an embedder says. */

import { describeError } from '../base/describe-error.ts';
import { padded } from '../base/secret.ts';
import type { Secret } from '../base/secret.ts';
import { isCallerLabel } from '../core/caller.ts';
import { Failure } from '../core/failure.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { ServerParts } from './parts.ts';

export type Caller = { readonly label: string; readonly token: Secret };

/** Longest Authorization header worth comparing. */
const HEADER_CHARS_MAX = 4096;
const BEARER = /^bearer +([^\s]+)$/i;
/** The scheme with any token. A token without the scheme, which people forget, is told to be missing and not to be wrong. */
const HAS_TOKEN = /^bearer +\S/i;
const MISSING = 'missing bearer token: send Authorization: Bearer <token>';
/** What a client sends of a key that it was not given. */
const NO_TOKEN = /^(?:bearer)?$/i;

/**
 * The label of the caller whose token was sent, or a Failure (401, kind `auth`). All tokens are compared, each in constant
 * time, so that the position of a difference does not show. `apiKey` is the header `x-api-key` where it is taken; a caller
 * that sends both has to send the same in them.
 */
// hot: per request
export function authenticate(authorization: string | undefined, callers: readonly Caller[], apiKey?: string): string | Failure {
  if (apiKey !== undefined && apiKey !== '') return authenticateKey(authorization, apiKey, callers);
  if (authorization === undefined) return unauthorized(MISSING);
  const match = authorization.length > HEADER_CHARS_MAX ? null : BEARER.exec(authorization);
  const given = padded(match?.[1] ?? '');
  let label: string | undefined;
  for (const caller of callers) if (caller.token.equalsPadded(given)) label = caller.label;
  if (match !== null && label !== undefined) return label;
  return unauthorized(HAS_TOKEN.test(authorization) ? 'wrong bearer token' : MISSING);
}

function authenticateKey(authorization: string | undefined, apiKey: string, callers: readonly Caller[]): string | Failure {
  if (authorization !== undefined && !NO_TOKEN.test(authorization) && BEARER.exec(authorization.slice(0, HEADER_CHARS_MAX))?.[1] !== apiKey) {
    return unauthorized('Authorization and x-api-key hold different tokens; send one of them');
  }
  return authenticate(`Bearer ${apiKey}`, callers);
}

function unauthorized(message: string): Failure {
  return new Failure('auth', message, { status: 401 });
}

/**
 * The label that an embedder gives to a request; where it gives none, a Failure (401, kind `auth`). However it fails is the
 * embedder's mistake, which is a 500; it has as long as a request may take.
 */
export async function askHost(exchange: HttpExchange, { authenticate: ask, log, config }: ServerParts): Promise<string | Failure> {
  const { scope, request, requestId } = exchange;
  const timer = setTimeout(() => scope.end('deadline'), config.requestTimeoutMs);
  try {
    const label = await new Promise((resolve, reject) => {
      scope.onEnd(() => resolve(undefined));
      Promise.resolve(ask?.(request)).then(resolve, reject);
    });
    if (scope.ended !== undefined) return scopeFailure(scope.ended, 'GATEWAY_REQUEST_TIMEOUT');
    if (label === undefined) return unauthorized('who is calling is not known');
    if (typeof label === 'string' && isCallerLabel(label)) return label;
    log.error('authenticate returned no label', { request_id: requestId, returned: typeof label });
  } catch (thrown) {
    log.error('authenticate failed', { request_id: requestId, ...describeError(thrown) });
  } finally {
    clearTimeout(timer);
    scope.onEnd(undefined);
  }
  return new Failure('unknown', 'the caller could not be identified', { status: 500, isOwn: true });
}
