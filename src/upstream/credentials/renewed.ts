/**
 * A credential that expires, always at hand: renewed early, once for all who wait, beside the requests.
 *
 * While one is good nobody waits. Where a renewal fails, the old one serves until it really expires.
 */

import { Failure } from '../../core/failure.ts';
import type { Clock } from './authorization.ts';

/** What a source gave. */
export type Fresh<T> = {
  readonly value: T;
  /** How long it is good for from when it was asked for; undefined = for ever. */
  readonly lifetimeMs: number | undefined;
  /** When its source would like to be asked again, where it says so. */
  readonly renewInMs?: number | undefined;
  /** Whether its source has no other. */
  readonly isOnly?: boolean;
};

/** How long before its end a credential is renewed: time for some retries, and less than the five minutes for which sources give an old one again. */
const EARLY_MS = 5 * 60 * 1000;
/** Of what lives shorter, this share of its life. */
const EARLY_SHARE_MAX = 0.5;
/** It is renewed earlier by up to this share of that time: instances that started together do not ask together. */
const JITTER_SHARE = 0.25;
/** What is younger is not asked for again, however short-lived: a source may give the same one for as long as it likes. */
const AGE_MS_MIN = 30_000;
/** What is said to live shorter is said so by a clock that is off: it is believed for as long as nobody else is asked. */
const LIFE_MS_MIN = 1000;
/** After a failure. Doubles with each, up to the second. */
const BACKOFF_MS = 1000;
const BACKOFF_MS_MAX = 30_000;

type Held<T> = { readonly value: T; readonly isOnly: boolean; readonly gotAtMs: number; readonly renewAtMs: number; readonly expiresAtMs: number };

export class Renewed<T extends object> {
  readonly #source: () => Promise<Fresh<T> | Failure>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #onFailure: (failure: Failure) => void;
  #held: Held<T> | undefined;
  /** The one before, which attempts on their way may still carry. */
  #before: T | undefined;
  #pending: Promise<T | Failure> | undefined;
  /** The last outcome, where that was a failure, and until when nobody is asked again. */
  #failed: { readonly failure: Failure; readonly count: number; readonly untilMs: number } | undefined;

  /** `source` settles in a bounded time and never rejects. `onFailure` is told of each renewal that failed. */
  constructor(source: () => Promise<Fresh<T> | Failure>, clock: Clock, random: () => number, onFailure: (failure: Failure) => void) {
    this.#source = source;
    this.#clock = clock;
    this.#random = random;
    this.#onFailure = onFailure;
  }

  /** The credential, at once while there is a good one. `dropped`: for this one another is waited for, if that can be had. */
  get(dropped?: T): T | Failure | Promise<T | Failure> {
    const nowMs = this.#clock.now();
    const held = this.#held;
    if (held === undefined || nowMs >= held.expiresAtMs || held.value === dropped) return this.#renew(nowMs);
    if (nowMs >= held.renewAtMs) void this.#renew(nowMs);
    return held.value;
  }

  /**
   * A provider refused this one. True = there is, or will be, another. False where its source would be asked in vain: for one that was
   * given just now, for the only one (then it is the account that is refused), and while the source rests after a failure. Until there
   * is another, this one serves on for other providers, and where none comes for this one too: it may refuse one request only.
   */
  drop(value: T): boolean {
    const held = this.#held;
    if (held?.value !== value) return true;
    const nowMs = this.#clock.now();
    if (held.isOnly || nowMs - held.gotAtMs < AGE_MS_MIN || nowMs < (this.#failed?.untilMs ?? -Infinity)) return false;
    this.renewSoon();
    return true;
  }

  /** Has the next one who needs it ask for another beside, while the one at hand serves on. */
  renewSoon(): void {
    if (this.#held !== undefined) this.#held = { ...this.#held, renewAtMs: -Infinity };
  }

  /** What attempts may carry: the one at hand, and the one before. */
  get recent(): readonly T[] {
    return [this.#held?.value, this.#before].filter((value) => value !== undefined);
  }

  /** How long the one at hand is good for; undefined where none is, or for ever. */
  get expiresInMs(): number | undefined {
    const leftMs = (this.#held?.expiresAtMs ?? -Infinity) - this.#clock.now();
    return Number.isFinite(leftMs) && leftMs > 0 ? leftMs : undefined;
  }

  #renew(nowMs: number): T | Failure | Promise<T | Failure> {
    if (this.#pending !== undefined) return this.#pending;
    const failed = this.#failed;
    if (failed !== undefined && nowMs < failed.untilMs) return this.#goodAt(nowMs) ?? failed.failure.with({ retryAfterMs: failed.untilMs - nowMs });
    this.#pending = this.#ask();
    return this.#pending;
  }

  async #ask(): Promise<T | Failure> {
    const askedAtMs = this.#clock.now();
    const fresh = await this.#source();
    this.#pending = undefined;
    if (fresh instanceof Failure) return this.#fail(fresh);
    this.#failed = undefined;
    if (this.#held !== undefined) this.#before = this.#held.value;
    this.#held = { value: fresh.value, isOnly: fresh.isOnly ?? false, gotAtMs: askedAtMs, ...this.#timesOf(fresh, askedAtMs) };
    return fresh.value;
  }

  /** Counted from when it was asked for, so that it is never thought to live longer than it does. */
  #timesOf({ lifetimeMs = Infinity, renewInMs = Infinity }: Fresh<T>, askedAtMs: number): { readonly renewAtMs: number; readonly expiresAtMs: number } {
    const earlyMs = Math.min(EARLY_MS, lifetimeMs * EARLY_SHARE_MAX) * (1 + this.#random() * JITTER_SHARE);
    const ageMs = Math.max(AGE_MS_MIN, Math.min(lifetimeMs - earlyMs, renewInMs));
    return { renewAtMs: askedAtMs + ageMs, expiresAtMs: askedAtMs + (lifetimeMs < LIFE_MS_MIN ? AGE_MS_MIN : lifetimeMs) };
  }

  #fail(failure: Failure): T | Failure {
    const nowMs = this.#clock.now();
    const count = (this.#failed?.count ?? 0) + 1;
    const waitMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** (count - 1));
    this.#failed = { failure, count, untilMs: nowMs + waitMs };
    this.#onFailure(failure);
    // Who tries again does so when that can be of use.
    return this.#goodAt(nowMs) ?? failure.with({ retryAfterMs: waitMs });
  }

  #goodAt(nowMs: number): T | undefined {
    return this.#held !== undefined && nowMs < this.#held.expiresAtMs ? this.#held.value : undefined;
  }
}
