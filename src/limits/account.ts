/** What one caller has taken of its limits: a time for each bucket, and how many of its requests are in flight. Reads no clock. */

import { FULL, moved, remaining, untilFullMs, waitMs } from '../base/gcra.ts';
import type { Rate } from '../base/gcra.ts';
import type { CallerLimits, LimitName } from '../core/route.ts';
import type { Standing, Standings } from './store.ts';

/** The limits that something flows back into; a place comes back when a request ends. */
export type BucketName = Exclude<LimitName, 'concurrent'>;

export type Bucket = {
  readonly name: BucketName;
  readonly field: keyof CallerLimits;
  /** As headers name it. */
  readonly short: string;
  readonly of: 'requests' | 'tokens';
  readonly periodMs: number;
};

const MINUTE_MS = 60_000;
/** A bucket like the others, which flows back all day: no midnight, no time zone, no wall clock. */
const DAY_MS = 86_400_000;

export const BUCKETS: readonly Bucket[] = [
  { name: 'requests_per_minute', field: 'requestsPerMinute', short: 'rpm', of: 'requests', periodMs: MINUTE_MS },
  { name: 'tokens_per_minute', field: 'tokensPerMinute', short: 'tpm', of: 'tokens', periodMs: MINUTE_MS },
  { name: 'tokens_per_day', field: 'tokensPerDay', short: 'tpd', of: 'tokens', periodMs: DAY_MS },
];

/** How soon a caller whose places are all taken may try again: nobody knows when others end. */
const PLACE_WAIT_MS = 1000;

/** What refuses, and how long until it would not, in whole milliseconds. */
export type Refusal = { readonly refusedBy: LimitName; readonly waitMs: number };

export class Account {
  /** In the order of BUCKETS. */
  readonly #tats = BUCKETS.map(() => FULL);
  #running = 0;

  /** What keeps one more request with so many tokens out; of several buckets the one that does so longest. Takes nothing. */
  // hot: per request
  refusalOf(limits: CallerLimits, tokens: number, nowMs: number): Refusal | undefined {
    if (limits.concurrent !== undefined && this.#running >= limits.concurrent) return { refusedBy: 'concurrent', waitMs: PLACE_WAIT_MS };
    let refusedBy: BucketName | undefined;
    let longestMs = 0;
    for (const [index, bucket] of BUCKETS.entries()) {
      const rate = rateOf(bucket, limits);
      if (rate === undefined) continue;
      const ms = waitMs(this.#tats[index] as number, rate, bucket.of === 'requests' ? 1 : tokens, nowMs);
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
    for (const [index, bucket] of BUCKETS.entries()) {
      const rate = rateOf(bucket, limits);
      if (rate !== undefined) this.#tats[index] = moved(this.#tats[index] as number, rate, bucket.of === 'requests' ? requests : tokens, nowMs);
    }
  }

  // hot: per request
  standings(limits: CallerLimits, nowMs: number): Standings {
    const standings: { [Name in BucketName]?: Standing } = {};
    for (const [index, bucket] of BUCKETS.entries()) {
      const rate = rateOf(bucket, limits);
      const tat = this.#tats[index] as number;
      if (rate !== undefined) standings[bucket.name] = { remaining: remaining(tat, rate, nowMs), resetMs: untilFullMs(tat, nowMs) };
    }
    return standings;
  }

  /** Takes over what somebody else keeps of this caller. */
  // hot: per request
  learn(standings: Standings, nowMs: number): void {
    for (const [index, { name }] of BUCKETS.entries()) {
      const standing = standings[name];
      if (standing !== undefined) this.#tats[index] = nowMs + standing.resetMs;
    }
  }

  /** How much of each limit is used: 1 = all of it, more = a debt. */
  used(limits: CallerLimits, nowMs: number): readonly (readonly [LimitName, number])[] {
    const buckets = BUCKETS.flatMap((bucket, index) => {
      const rate = rateOf(bucket, limits);
      return rate === undefined ? [] : [[bucket.name, untilFullMs(this.#tats[index] as number, nowMs) / rate.periodMs] as const];
    });
    return limits.concurrent === undefined ? buckets : [...buckets, ['concurrent', this.#running / limits.concurrent]];
  }
}

function rateOf({ field, periodMs }: Bucket, limits: CallerLimits): Rate | undefined {
  const limit = limits[field];
  return limit === undefined ? undefined : { limit, periodMs };
}
