/**
 * Ends one attempt in time: when a limit passes, or when its exchange is over.
 *
 * The limits follow one another (connect, attempt, idle), so one timer is enough, and moving on costs less than a second one.
 * The platform's own timeouts are not used: `http.Agent` lets the previous reply's `Keep-Alive: timeout=1`
 * cut the next request on the same socket after a second (nodejs/node#53458), and `fetch` has limits nobody can set.
 */

import type { Failure } from '../core/failure.ts';
import { TIMER_MS_MAX } from '../core/scope.ts';
import type { Scope } from '../core/scope.ts';
import { endedFailure, limitFailure } from './transport-failure.ts';
import type { LimitName } from './transport-failure.ts';
import type { AttemptLimits } from './transport.ts';

/** Whoever waits for something of an attempt: first the request, then its response. */
export interface AttemptWaiter {
  /** The attempt has to stop. */
  onStop(failure: Failure): void;
}

// hot: per request
export class AttemptWatch {
  readonly #provider: string;
  readonly #scope: Scope;
  readonly #limits: AttemptLimits;
  readonly #startedAtMs: number;
  /** Whom to tell. Set by whoever waits, itself: V8 takes a function that is written right behind `watch.… =` for one that lives long. */
  waiter: AttemptWaiter | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isIdleLimited = false;
  #isReceiverBusy = false;
  #isWaiting = false;
  #isReleased = false;

  constructor(provider: string, scope: Scope, limits: AttemptLimits) {
    this.#provider = provider;
    this.#scope = scope;
    this.#limits = limits;
    this.#startedAtMs = limits.startedAtMs ?? performance.now();
  }

  /** Takes the scope's slot; the waiter is told at once if the exchange is over already. */
  startWait(): void {
    this.#isWaiting = true;
    this.#scope.onEnd(this.#onScopeEnd);
  }

  /** Gives the scope's slot back. */
  endWait(): void {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#scope.onEnd(undefined);
  }

  readonly #onScopeEnd = (): void => {
    if (this.#scope.ended !== undefined) this.waiter?.onStop(endedFailure(this.#scope.ended));
  };

  /** A connection is being made: the connect limit applies, unless the attempt's is nearer. */
  startConnectLimit(): void {
    const leftMs = this.#attemptLeftMs();
    if (this.#limits.connectMs < leftMs) this.#arm(this.#limits.connectMs, 'GATEWAY_CONNECT_TIMEOUT', this.#limits.connectMs);
    else this.startAttemptLimit();
  }

  /** The connection stands: the attempt's limit applies, counted from the attempt's start. */
  startAttemptLimit(): void {
    this.#arm(this.#attemptLeftMs(), 'GATEWAY_ATTEMPT_TIMEOUT', this.#limits.attemptMs);
  }

  /** The stream has begun: only its silence is limited. */
  startIdleLimit(): void {
    if (this.#isIdleLimited || this.#isReleased) return;
    this.#isIdleLimited = true;
    if (this.#limits.idleMs === undefined) this.#disarm();
    else this.#arm(this.#limits.idleMs, 'GATEWAY_STREAM_IDLE_TIMEOUT', this.#limits.idleMs);
  }

  /** Bytes came. */
  // hot: per token
  progress(): void {
    if (this.#isIdleLimited) this.#timer?.refresh();
  }

  /** The receiver of a chunk is busy: the provider's silence does not count, and the scope's slot is the receiver's. */
  startBusy(): void {
    this.#isReceiverBusy = true;
    this.#isWaiting = false;
  }

  /** The receiver is ready again; the slot is taken back. The waiter is told at once if the exchange ended meanwhile. */
  endBusy(): void {
    this.#isReceiverBusy = false;
    if (this.#isReleased) return;
    this.progress();
    this.startWait();
  }

  /** The attempt is over: no timer, no slot. */
  release(): void {
    this.#isReleased = true;
    this.#disarm();
    this.endWait();
  }

  /** Not below 0, of which newer versions of Node warn on the error stream. */
  #attemptLeftMs(): number {
    return Math.max(0, this.#limits.attemptMs - (performance.now() - this.#startedAtMs));
  }

  #arm(ms: number, limit: LimitName, limitMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#expire(limit, limitMs), Math.min(ms, TIMER_MS_MAX));
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #expire(limit: LimitName, limitMs: number): void {
    if (this.#isIdleLimited && this.#isReceiverBusy) this.#timer?.refresh();
    else this.waiter?.onStop(limitFailure(this.#provider, limit, limitMs));
  }
}
