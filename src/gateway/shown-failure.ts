/** What a caller is told when nobody could serve it. */

import { Failure } from '../core/failure.ts';
import type { Route } from '../core/route.ts';

/** When a place at a target may be free again: calls end all the time. */
const FULL_RETRY_AFTER_MS = 1000;

/**
 * Kind, status and sentence of the first target that was asked, the others behind it: what a fallback says must not hide why
 * it was needed. `failures` are the last of each in the order of asking, `waitsMs` how long each target's keys still rest.
 */
export function shownFailure(last: Failure, first: Failure | undefined, failures: readonly Failure[], waitsMs: readonly number[]): Failure {
  const shown = first ?? last;
  const others = failures.filter((failure) => failure !== shown);
  const waits = [...failures.map(({ retryAfterMs = 0 }) => retryAfterMs), ...waitsMs].filter((ms) => ms > 0);
  const retryAfterMs = waits.length === 0 ? undefined : Math.min(...waits);
  if (others.length === 0 && (retryAfterMs ?? 0) === (shown.retryAfterMs ?? 0)) return shown;
  return shown.with({
    message: [shown, ...others].map(({ message }) => message).join('; then '),
    quotes: [...new Set([shown, ...others].flatMap(({ quotes }) => quotes))],
    retryAfterMs,
  });
}

/** All who could serve have as many calls in flight as the operator lets them. */
export function fullFailure(route: Route | undefined, provider: string): Failure {
  const who = route === undefined ? `${provider} has` : `the targets of route ${route.name} have`;
  return new Failure('rate_limit', `${who} as many calls in flight as the configuration allows`, { isOwn: true, retryAfterMs: FULL_RETRY_AFTER_MS });
}
