/** What one caller has taken of its limits: a time for each bucket, and how many of its requests are in flight. Reads no clock. */

import { FULL, moved, remaining, untilFullMs, waitMs } from '../base/gcra.ts';
import type { Rate } from '../base/gcra.ts';
import type { CallerLimits, LimitName } from '../core/route.ts';
import type { Standing, Standings } from './store.ts';

/** The limits that something flows back into; a place comes back when a request ends. */
export type BucketName = Exclude<LimitName, 'concurrent'>;

/** A limit that a caller has. */
export type Bucket = Rate & {
  readonly name: BucketName;
  /** As headers name it. */
  readonly short: string;
  readonly of: 'requests' | 'tokens';
  /** Where an account keeps its time. */
  readonly index: number;
};

const MINUTE_MS = 60_000;
/** A bucket like the others, which flows back all day: no midnight, no time zone, no wall clock. */
const DAY_MS = 86_400_000;

/** All that there are, in the order that an engine keeps them in, too. */
export const BUCKET_KINDS = [
  { name: 'requests_per_minute', field: 'requestsPerMinute', short: 'rpm', of: 'requests', periodMs: MINUTE_MS },
  { name: 'tokens_per_minute', field: 'tokensPerMinute', short: 'tpm', of: 'tokens', periodMs: MINUTE_MS },
  { name: 'tokens_per_day', field: 'tokensPerDay', short: 'tpd', of: 'tokens', periodMs: DAY_MS },
] as const;

/** Made once for each configuration: every request asks for them several times. */
const made = new WeakMap<CallerLimits, readonly Bucket[]>();

/** The buckets of a caller with these limits. */
// hot: per request
export function bucketsOf(limits: CallerLimits): readonly Bucket[] {
  let buckets = made.get(limits);
  if (buckets === undefined) {
    buckets = BUCKET_KINDS.flatMap(({ field, ...kind }, index) => {
      const limit = limits[field];
      return limit === undefined ? [] : [{ ...kind, limit, index }];
    });
    made.set(limits, buckets);
  }
  return buckets;
}

/** How soon a caller whose places are all taken may try again: nobody knows when others end. */
const PLACE_WAIT_MS = 1000;

/** What refuses, and how long until it would not, in whole milliseconds. */
export type Refusal = { readonly refusedBy: LimitName; readonly waitMs: number };

export class Account {
  /** By a bucket's index. */
  readonly #tats = BUCKET_KINDS.map(() => FULL);
  #running = 0;

  /** What keeps one more request with so many tokens out; of several buckets the one that does so longest. Takes nothing. */
  // hot: per request
  refusalOf(limits: CallerLimits, tokens: number, nowMs: number): Refusal | undefined {
    if (limits.concurrent !== undefined && this.#running >= limits.concurrent) return { refusedBy: 'concurrent', waitMs: PLACE_WAIT_MS };
    let refusedBy: BucketName | undefined;
    let longestMs = 0;
    for (const bucket of bucketsOf(limits)) {
      const ms = waitMs(this.#tatOf(bucket), bucket, bucket.of === 'requests' ? 1 : tokens, nowMs);
      if (ms <= longestMs) continue;
      longestMs = ms;
      refusedBy = bucket.name;
    }
    return refusedBy && { refusedBy, waitMs: Math.ceil(longestMs) };
  }

  /** Takes a place, a request and so many tokens, whether or not they are there. */
  // hot: per request
  take(limits: CallerLimits, tokens: number, nowMs: number): void {
    this.#running += 1;
    this.#move(limits, 1, tokens, nowMs);
  }

  /** Gives the place back and charges so many tokens more; negative = gives them back. */
  // hot: per request
  settle(limits: CallerLimits, tokensMore: number, nowMs: number): void {
    this.#running -= 1;
    if (tokensMore !== 0) this.#move(limits, 0, tokensMore, nowMs);
  }

  #move(limits: CallerLimits, requests: number, tokens: number, nowMs: number): void {
    for (const bucket of bucketsOf(limits)) {
      this.#tats[bucket.index] = moved(this.#tatOf(bucket), bucket, bucket.of === 'requests' ? requests : tokens, nowMs);
    }
  }

  // hot: per request
  standings(limits: CallerLimits, nowMs: number): Standings {
    const standings: { [Name in BucketName]?: Standing } = {};
    for (const bucket of bucketsOf(limits)) {
      const tat = this.#tatOf(bucket);
      standings[bucket.name] = { remaining: remaining(tat, bucket, nowMs), resetMs: untilFullMs(tat, nowMs) };
    }
    return standings;
  }

  /** Takes a place, and over what a store that took the rest says of it. */
  // hot: per request
  enter(limits: CallerLimits, standings: Standings, nowMs: number): void {
    this.#running += 1;
    this.learn(limits, standings, nowMs);
  }

  /** Takes over what a store says of this caller. */
  // hot: per request
  learn(limits: CallerLimits, standings: Standings, nowMs: number): void {
    for (const { name, index } of bucketsOf(limits)) {
      const standing = standings[name];
      if (standing !== undefined) this.#tats[index] = nowMs + standing.resetMs;
    }
  }

  /** How much of each limit is used: 1 = all of it, more = a debt. */
  used(limits: CallerLimits, nowMs: number): readonly (readonly [LimitName, number])[] {
    const buckets = bucketsOf(limits).map((bucket) => [bucket.name, untilFullMs(this.#tatOf(bucket), nowMs) / bucket.periodMs] as const);
    return limits.concurrent === undefined ? buckets : [...buckets, ['concurrent', this.#running / limits.concurrent]];
  }

  #tatOf({ index }: Bucket): number {
    return this.#tats[index] as number;
  }
}

/** The caller's among these; a fresh one where it has none yet. */
export function accountOf(accounts: Map<string, Account>, caller: string): Account {
  let account = accounts.get(caller);
  if (account === undefined) {
    account = new Account();
    accounts.set(caller, account);
  }
  return account;
}
