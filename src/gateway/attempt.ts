/** One attempt: whom, with what, and how long it may take. */

import type { ProviderKey, UpstreamCall } from '../core/adapter.ts';
import { Failure } from '../core/failure.ts';
import { FIRST_EVENT_TIMEOUT_MS } from '../core/route.ts';
import type { Target } from '../core/route.ts';
import type { Scope } from '../core/scope.ts';
import type { Candidate } from './ask.ts';
import type { Entry } from './gated-sink.ts';

export type Attempt<C extends Candidate> = {
  readonly candidate: C;
  readonly call: UpstreamCall;
  /** Undefined where the provider needs none. */
  readonly key: ProviderKey | undefined;
  readonly scope: Scope;
  /** Until its whole answer, or a stream's first event. */
  readonly attemptMs: number;
  /** Where another attempt may be made beside it; undefined where the answer is its own in any case. */
  readonly entry: Entry | undefined;
  /** To be called when the answer's first event has come, before anything of it is handed on; undefined where nobody wants to know. */
  readonly onFirstEvent: (() => void) | undefined;
};

/** How long an attempt may take; `name` says by what word of the operator's, undefined where it is the gateway's own setting. */
export type AttemptLimit = { readonly ms: number; readonly name: string | undefined };

/**
 * A target that is not the last may use half of the time that is left, unless it has a limit of its own: one that hangs must
 * leave time for the next. `leftMs` is undefined where it is the last.
 */
export function attemptLimitOf(target: Target | undefined, isStream: boolean, attemptTimeoutMs: number, leftMs: number | undefined): AttemptLimit {
  const own = isStream ? target?.firstEventTimeoutMs : target?.attemptTimeoutMs;
  const name = isStream ? 'first_event_timeout' : 'attempt_timeout';
  if (own !== undefined) return own < attemptTimeoutMs ? { ms: own, name } : { ms: attemptTimeoutMs, name: undefined };
  if (leftMs === undefined) return { ms: attemptTimeoutMs, name: undefined };
  const halfMs = Math.max(1, Math.floor(leftMs / 2));
  const ms = isStream ? Math.min(FIRST_EVENT_TIMEOUT_MS, halfMs) : halfMs;
  return ms < attemptTimeoutMs ? { ms, name: 'half of the time left' } : { ms: attemptTimeoutMs, name: undefined };
}

/** The result, and where a limit of the route's ended it, a failure that names that instead of the gateway's setting. */
export function limitPassed<T>(result: T | Failure, provider: string, { ms, name }: AttemptLimit): T | Failure {
  if (name === undefined || !(result instanceof Failure) || result.limit !== 'GATEWAY_ATTEMPT_TIMEOUT') return result;
  return result.with({ message: `no complete answer from ${provider} within ${ms} ms (${name})`, limit: name });
}
