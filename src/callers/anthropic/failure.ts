/** Failures in the form of the Messages API (Anthropic, errors): its SDKs choose their class by the status alone. */

import type { JsonOutObject } from '../../base/json/value.ts';
import type { Failure, FailureKind } from '../../core/failure.ts';

const TYPES: Readonly<Record<FailureKind, string>> = {
  auth: 'api_error',
  rate_limit: 'rate_limit_error',
  not_found: 'not_found_error',
  bad_request: 'invalid_request_error',
  unsupported: 'invalid_request_error',
  refusal: 'invalid_request_error',
  server: 'api_error',
  unknown: 'api_error',
};

/** For statuses of the gateway's own, which the kind alone does not tell apart. */
const TYPES_BY_STATUS: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [413, 'request_too_large'],
  [503, 'overloaded_error'],
]);

/** The statuses of providers that have more to do than they can. */
const OVERLOADED: ReadonlySet<number> = new Set([503, 529]);

/** The body of a failed answer, and the data of a stream's event that says that it failed. */
export function failureBody(failure: Failure, requestId: string): JsonOutObject & { readonly type: 'error' } {
  const { message, errorCode } = failure;
  const details = errorCode === undefined ? undefined : { error_code: errorCode };
  return { type: 'error', error: { type: typeOf(failure), message, details }, request_id: requestId };
}

function typeOf({ kind, status, upstreamStatus, isOverloaded }: Failure): string {
  if ((isOverloaded || OVERLOADED.has(upstreamStatus)) && TYPES[kind] === 'api_error') return 'overloaded_error';
  return TYPES_BY_STATUS.get(status) ?? TYPES[kind];
}
