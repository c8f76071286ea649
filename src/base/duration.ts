/** Durations as people write them in settings: `250ms`, `15s`, `1m30s`. */

/** Longest duration accepted: the longest timer that the platform can set. */
export const DURATION_MS_MAX = 2 ** 31 - 1;

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

const DURATION = /^(-?)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;

/**
 * Milliseconds of `2h`, `1m30s`, `250ms`, `-1s` or `0`: whole numbers, each unit at most once, largest first.
 * Undefined for anything else and beyond DURATION_MS_MAX on either side of zero.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  const match = DURATION.exec(text);
  if (match === null) return undefined;
  const [, sign, hours, minutes, seconds, milliseconds] = match;
  if ((hours ?? minutes ?? seconds ?? milliseconds) === undefined) return undefined;
  const ms =
    Number(hours ?? 0) * HOUR_MS +
    Number(minutes ?? 0) * MINUTE_MS +
    Number(seconds ?? 0) * SECOND_MS +
    Number(milliseconds ?? 0);
  if (ms > DURATION_MS_MAX) return undefined;
  return sign === '-' && ms > 0 ? -ms : ms;
}

/** The shortest text that `parseDuration` reads as this many whole milliseconds. */
export function renderDuration(ms: number): string {
  if (ms === 0) return '0';
  let left = Math.abs(ms);
  let text = ms < 0 ? '-' : '';
  for (const [unit, unitMs] of [['h', HOUR_MS], ['m', MINUTE_MS], ['s', SECOND_MS], ['ms', 1]] as const) {
    const count = Math.floor(left / unitMs);
    if (count > 0) text += `${count}${unit}`;
    left -= count * unitMs;
  }
  return text;
}
