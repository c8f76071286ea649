/** What the attempts of all requests have in common, and what one exchange brings to its own. */

import type { Chance } from '../base/health.ts';
import type { Failure } from '../core/failure.ts';
import type { Scope } from '../core/scope.ts';
import type { Metrics } from '../metrics.ts';
import type { RoutingState } from '../routing/state.ts';
import type { RetryBudgets, RetryPolicy } from '../upstream/retry.ts';
import type { CallRecord } from './call-record.ts';

/** The limits of an exchange as the attempts see it. */
export type CallContext = {
  readonly scope: Scope;
  /** When the whole exchange must be over, on the clock of `performance.now()`, and the setting that says so. */
  readonly deadline: { readonly atMs: number; readonly setting: string };
  readonly record: CallRecord;
  /** Sent with every call besides the adapter's own: the caller's trace, where the operator passes it on. */
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
  /** Whether writing what is sent takes turns of the event loop of its own; absent = no. */
  readonly isLarge?: boolean | undefined;
};

export type Clock = Chance & { readonly sleep: (scope: Scope, ms: number) => Promise<boolean> };

export const REAL_CLOCK: Clock = { now: () => performance.now(), random: () => Math.random(), sleep: (scope, ms) => scope.sleep(ms) };

/** Told of each attempt at its end, with its number in the exchange. */
export type AttemptLog = (record: CallRecord, attempt: number, attemptMs: number, failure: Failure | undefined, provider: string) => void;

/** What all requests share. */
export type AttemptParts = {
  readonly retryPolicy: RetryPolicy;
  readonly attemptTimeoutMs: number;
  readonly metrics: Metrics;
  readonly routing: RoutingState;
  readonly clock: Clock;
  readonly budgets: RetryBudgets;
  /** Calls in flight at a provider at most, by its name. */
  readonly concurrentMax: (provider: string) => number | undefined;
  readonly isDraining: () => boolean;
  readonly logAttempt: AttemptLog;
};
