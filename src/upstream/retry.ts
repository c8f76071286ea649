/**
 * When to try again: pure policy, and the budget that keeps retries from multiplying an outage.
 *
 * Sleeps for nobody and sends nothing.
 */

import type { Failure } from '../core/failure.ts';

export type RetryPolicy = {
  /** Retries after the first attempt. */
  readonly retriesMax: number;
  /** Upper bound of the first wait; it doubles with every retry. */
  readonly baseDelayMs: number;
  /** Upper bound of every wait that the provider did not ask for. */
  readonly maxDelayMs: number;
  /** The longest wait that a provider may ask for, before the jitter. */
  readonly retryAfterCapMs: number;
};

/** Why there is no further attempt. */
export type RetryRefusal =
  /** All retries are used. */
  | 'exhausted'
  /** The provider asks for a longer wait than is allowed. */
  | 'retry-after-too-long'
  /** The wait would last until the request's deadline or beyond. */
  | 'deadline';

/** A wait that was asked for is lengthened by up to this share of it: all who were told the same come back one by one. */
const ASKED_JITTER_SHARE = 0.25;
/** Of a short wait that share would spread nobody. */
const ASKED_JITTER_MS_MIN = 250;

/**
 * How long to wait before the next attempt, or why not to. Full jitter: uniform in [0, min(max, base · 2^retriesDone)];
 * a longer wait that the provider asked for (`askedMs`, else 0), and a jitter on top of it, wins. `random` gives a number in [0, 1).
 */
export function retryWaitMs(askedMs: number, retriesDone: number, policy: RetryPolicy, msUntilDeadline: number, random: () => number): number | RetryRefusal {
  if (retriesDone >= policy.retriesMax) return 'exhausted';
  if (askedMs > policy.retryAfterCapMs) return 'retry-after-too-long';
  const ownMs = random() * Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** retriesDone);
  const waitMs = askedMs > 0 ? Math.max(ownMs, askedMs + askedJitterMs(askedMs, random)) : ownMs;
  return waitMs < msUntilDeadline ? waitMs : 'deadline';
}

function askedJitterMs(askedMs: number, random: () => number): number {
  return random() * Math.max(ASKED_JITTER_MS_MIN, askedMs * ASKED_JITTER_SHARE);
}

const TOKENS_MAX = 500;
const RETRY_TOKENS = 14;
/** After `rate_limit` a retry is cheaper: the provider answers, and says when it wants to be asked again. */
const RATE_LIMIT_RETRY_TOKENS = 5;
const TOKENS_PER_MS = 10 / 1000;

/**
 * One provider's budget of retries: a bucket of 500 tokens, from which a retry takes 14, or 5 after `rate_limit`, or none with
 * another credential in place of one that was refused. A success gives 1 back, a success on a retry what that retry took, and so
 * does a retry that was not made after all; 10 tokens a second flow in. In an outage the bucket empties after some thirty retries
 * and the load on the provider falls to about the callers' own.
 */
export class RetryBudget {
  readonly #now: () => number;
  #tokens = TOKENS_MAX;
  #filledAtMs: number;

  /** `now` gives milliseconds of a clock that never jumps. */
  constructor(now: () => number) {
    this.#now = now;
    this.#filledAtMs = now();
  }

  /** What is left, from 0 to 500. */
  get tokens(): number {
    const nowMs = this.#now();
    this.#give((nowMs - this.#filledAtMs) * TOKENS_PER_MS);
    this.#filledAtMs = nowMs;
    return this.#tokens;
  }

  /** Pays for a retry after `failure`. False, taking nothing, when the budget does not hold that much. */
  take(failure: Failure): boolean {
    const cost = retryTokens(failure);
    if (this.tokens < cost) return false;
    this.#tokens -= cost;
    return true;
  }

  /** The retry after `failure`, which was paid for, was not made. */
  refund(failure: Failure): void {
    this.#give(retryTokens(failure));
  }

  /** A call succeeded; `paidFor` is the failure that it was paid for after, undefined where it was free. */
  succeeded(paidFor: Failure | undefined): void {
    this.#give(paidFor === undefined ? 1 : retryTokens(paidFor));
  }

  #give(tokens: number): void {
    this.#tokens = Math.min(TOKENS_MAX, this.#tokens + tokens);
  }
}

function retryTokens({ kind, isRetried }: Failure): number {
  // A credential that was refused, and of which there is another: no outage, and it strikes all who are on their way at once.
  if (kind === 'auth' && isRetried) return 0;
  return kind === 'rate_limit' ? RATE_LIMIT_RETRY_TOKENS : RETRY_TOKENS;
}

/** A budget for each provider, by its name; there are as many as were ever configured. */
export class RetryBudgets {
  readonly #now: () => number;
  readonly #budgets = new Map<string, RetryBudget>();

  constructor(now: () => number) {
    this.#now = now;
  }

  of(provider: string): RetryBudget {
    let budget = this.#budgets.get(provider);
    if (budget === undefined) {
      budget = new RetryBudget(this.#now);
      this.#budgets.set(provider, budget);
    }
    return budget;
  }
}
