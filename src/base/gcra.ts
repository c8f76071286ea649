/**
 * So much per period, without windows: the generic cell rate algorithm (ITU-T I.371, annex A).
 *
 * All that is kept of a bucket is one time, the theoretical arrival time (TAT): the moment at which everything that was taken
 * will have flowed back. What is taken moves it away by its share of the period, and it may be at most one period away. So in
 * any window W no more than limit · (1 + W / period) is admitted, a full bucket and what flows into it meanwhile, plus what
 * `moved` charges afterwards, and that debt is paid before anything else is.
 *
 * Times are milliseconds on one clock that never goes back. Since a TAT is a time, it survives a change of its limit.
 */

export type Rate = { readonly limit: number; readonly periodMs: number };

/** The TAT of a bucket from which nothing was taken yet. */
export const FULL = -Infinity;

/**
 * Doubles round, so that somebody who waits exactly as long as was asked could come a billionth of a millisecond early: this
 * much is given to everybody.
 */
const ROUNDING_MS = 0.0005;

/**
 * How long until so much can be taken; 0 = at once. More than the limit is admitted when the bucket is full, so that nobody
 * waits for ever, and leaves a debt.
 */
// hot: per request
export function waitMs(tatMs: number, { limit, periodMs }: Rate, amount: number, nowMs: number): number {
  const waitMs = Math.max(tatMs, nowMs) + (Math.min(amount, limit) * periodMs) / limit - nowMs - periodMs;
  return waitMs > ROUNDING_MS ? waitMs : 0;
}

/**
 * The TAT once so much was taken, or charged afterwards; negative = given back. A TAT in the past counts as now, so what is given
 * back never adds up to more than a full bucket.
 */
// hot: per request
export function moved(tatMs: number, { limit, periodMs }: Rate, amount: number, nowMs: number): number {
  return Math.max(tatMs, nowMs) + (amount * periodMs) / limit;
}

/** How much could be taken at once, in whole units; 0 also while there is a debt. */
export function remaining(tatMs: number, { limit, periodMs }: Rate, nowMs: number): number {
  const freeMs = nowMs + periodMs - Math.max(tatMs, nowMs) + ROUNDING_MS;
  return Math.min(limit, Math.max(0, Math.floor((freeMs * limit) / periodMs)));
}

/** How long until the bucket is full. */
export function untilFullMs(tatMs: number, nowMs: number): number {
  return Math.max(0, tatMs - nowMs);
}
