/** A clock that only moves when it is told to. */

import type { Clock } from '../../../src/upstream/credentials/authorization.ts';

export type FakeClock = Clock & { pass(ms: number): void; isAheadByMs: number };

export const START_MS = Date.UTC(2026, 10, 21, 10, 30);

/** `isAheadByMs`: what this machine's date is wrong by. */
export function createFakeClock(): FakeClock {
  let passedMs = 0;
  const clock: FakeClock = {
    isAheadByMs: 0,
    now: () => 5000 + passedMs,
    wall: () => START_MS + passedMs + clock.isAheadByMs,
    pass(ms) {
      passedMs += ms;
    },
  };
  return clock;
}
