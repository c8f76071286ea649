/** How late the event loop of this process is, for metrics. */

import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How often the event loop is looked at, in milliseconds. */
const TICK_MS = 20;
/** How long delays are collected; as long again after that they are forgotten. Most scrape more often. */
const WINDOW_MS = 60_000;
const PERCENTILES = [50, 99, 100] as const;

/**
 * How late the event loop was, in seconds by percentile: the worse of this window and the one before. Windows end by the
 * clock, at the first look after their time: a second reader sees what the first saw, and one that seldom looks misses nothing.
 */
export function createLoopLateness(): { readonly lateness: () => ReadonlyMap<number, number>; readonly stop: () => void } {
  const delay = monitorEventLoopDelay({ resolution: TICK_MS });
  delay.enable();
  let before = new Map<number, number>();
  let startedAtMs = performance.now();
  const lateness = (): ReadonlyMap<number, number> => {
    // What Node measures is the time between two looks, so the tick itself is in it.
    const late = (percentile: number): number => Math.max(0, delay.percentile(percentile) / 1e6 - TICK_MS) / 1000;
    const current = new Map(PERCENTILES.map((percentile) => [percentile, late(percentile)]));
    const worse = new Map(PERCENTILES.map((percentile) => [percentile, Math.max(before.get(percentile) ?? 0, current.get(percentile) ?? 0)]));
    if (performance.now() - startedAtMs >= WINDOW_MS) {
      before = current;
      startedAtMs = performance.now();
      delay.reset();
    }
    return worse;
  };
  return { lateness, stop: () => void delay.disable() };
}
