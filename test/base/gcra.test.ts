import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FULL, moved, remaining, untilFullMs, waitMs } from '../../src/base/gcra.ts';
import type { Rate } from '../../src/base/gcra.ts';
import { createRandom } from './random.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const SIXTY: Rate = { limit: 60, periodMs: MINUTE };
/** What a day of whole tests may show, and what no caller notices. */
const TOLERANCE_MS = 1;

test('a bucket gives its limit at once, then one each share of its period', () => {
  let tat = FULL;
  for (let taken = 0; taken < 60; taken += 1) {
    assert.equal(waitMs(tat, SIXTY, 1, 0), 0);
    assert.equal(remaining(tat, SIXTY, 0), 60 - taken);
    tat = moved(tat, SIXTY, 1, 0);
  }
  assert.equal(waitMs(tat, SIXTY, 1, 0), 1000);
  assert.equal(waitMs(tat, SIXTY, 3, 0), 3000);
  assert.equal(waitMs(tat, SIXTY, 1, 999), 1);
  assert.equal(waitMs(tat, SIXTY, 1, 1000), 0);
  assert.deepEqual([remaining(tat, SIXTY, 0), remaining(tat, SIXTY, 999), remaining(tat, SIXTY, 1000)], [0, 0, 1]);
  assert.deepEqual([untilFullMs(tat, 0), untilFullMs(tat, 59_000), untilFullMs(tat, 70_000)], [60_000, 1000, 0]);
});

test('what is charged afterwards is a debt, paid before anything else is given', () => {
  const tat = moved(moved(FULL, SIXTY, 60, 0), SIXTY, 30, 500);
  assert.equal(remaining(tat, SIXTY, 500), 0);
  assert.equal(waitMs(tat, SIXTY, 1, 500), 30_500);
});

test('what is given back can be taken again, and never adds up to more than a full bucket', () => {
  const spent = moved(FULL, SIXTY, 60, 0);
  assert.equal(remaining(moved(spent, SIXTY, -20, 0), SIXTY, 0), 20);
  assert.equal(remaining(moved(spent, SIXTY, -60_000, 0), SIXTY, 0), 60);
  const muchLater = moved(moved(spent, SIXTY, -60_000, 0), SIXTY, 60, 10);
  assert.equal(waitMs(muchLater, SIXTY, 1, 10), 1000);
});

test('more than the limit is given to a full bucket alone, and leaves a debt', () => {
  assert.equal(waitMs(moved(FULL, SIXTY, 1, 0), SIXTY, 1000, 0), 1000);
  assert.equal(waitMs(FULL, SIXTY, 1000, 0), 0);
  const tat = moved(FULL, SIXTY, 1000, 0);
  assert.equal(remaining(tat, SIXTY, 0), 0);
  assert.equal(waitMs(tat, SIXTY, 1, 0), 941_000);
});

test('a bucket survives a change of its limit: what was taken flows back at the time it was going to', () => {
  const tat = moved(FULL, SIXTY, 60, 0);
  assert.equal(remaining(tat, { limit: 600, periodMs: MINUTE }, 30_000), 300);
  assert.equal(remaining(tat, { limit: 6, periodMs: MINUTE }, 30_000), 3);
});

/** From 0 to below 1. */
function share(random: Random): number {
  return random.below(2 ** 32) / 2 ** 32;
}

/** Times are whole microseconds here; a TAT is held times the limit, so that all is whole. */
type Exact = { tat: bigint };
const EXACT_FULL = -(10n ** 30n);

function exactWait({ tat }: Exact, limit: bigint, periodUs: bigint, amount: bigint, nowUs: bigint): bigint {
  const base = tat > nowUs * limit ? tat : nowUs * limit;
  const taken = amount < limit ? amount : limit;
  return base + taken * periodUs - (nowUs + periodUs) * limit;
}

function exactMove(exact: Exact, limit: bigint, periodUs: bigint, amount: bigint, nowUs: bigint): void {
  exact.tat = (exact.tat > nowUs * limit ? exact.tat : nowUs * limit) + amount * periodUs;
}

const SEQUENCES = 100;
const STEPS = 10_000;

test('a million random takes and settlements are decided as whole numbers decide them, and no window admits more than its bound', () => {
  const random = createRandom(1);
  let [admitted, refused, settled] = [0, 0, 0];
  for (let sequence = 0; sequence < SEQUENCES; sequence += 1) {
    const limit = random.pick([1, 3, 7, 60, 600, 6_000, 400_000, 50_000_000]);
    const rate: Rate = { limit, periodMs: random.pick([MINUTE, DAY]) };
    const [exactLimit, periodUs] = [BigInt(limit), BigInt(rate.periodMs) * 1000n];
    const exact: Exact = { tat: EXACT_FULL };
    let tat = FULL;
    // Up to four months after a start.
    let nowUs = random.below(10_000_000) * 1_000_000;
    /** The most that any window which ends here admitted, less what flowed in meanwhile; of all windows, in one number. */
    let most = 0;
    const pace = random.pick([0.1, 1, 10]);
    for (let step = 0; step < STEPS; step += 1) {
      const waitsUs = Math.floor((share(random) * 2 * pace * rate.periodMs * 1000) / Math.min(limit, 100));
      nowUs += waitsUs;
      most = Math.max(0, most - (waitsUs * limit) / (rate.periodMs * 1000));
      const nowMs = nowUs / 1000;
      const amount = random.below(1 + random.pick([1, Math.ceil(limit / 20), limit, 3 * limit]));
      if (random.below(10) < 3) {
        const charged = random.below(2) === 0 ? amount : -amount;
        tat = moved(tat, rate, charged, nowMs);
        exactMove(exact, exactLimit, periodUs, BigInt(charged), BigInt(nowUs));
        most += charged;
        settled += 1;
      } else {
        const wait = waitMs(tat, rate, amount, nowMs);
        const exactly = Number(exactWait(exact, exactLimit, periodUs, BigInt(amount), BigInt(nowUs))) / limit / 1000;
        assert.ok(Math.abs(wait - Math.max(0, exactly)) <= TOLERANCE_MS, `sequence ${sequence}, step ${step}: ${wait} ms instead of ${exactly}`);
        if (wait > 0) {
          refused += 1;
        } else {
          const rounding = 1 + (TOLERANCE_MS * limit) / rate.periodMs;
          assert.ok(most + Math.min(amount, limit) <= limit + rounding, `sequence ${sequence}, step ${step}: ${most} and ${amount} of ${limit}`);
          tat = moved(tat, rate, amount, nowMs);
          exactMove(exact, exactLimit, periodUs, BigInt(amount), BigInt(nowUs));
          most += amount;
          admitted += 1;
        }
      }
    }
  }
  assert.equal(admitted + refused + settled, 1_000_000);
  assert.ok(Math.min(admitted, refused, settled) > 150_000, [admitted, refused, settled].join());
});

test('every window of a flood, however short or long, admits at most its share and a full bucket', () => {
  const rate: Rate = { limit: 7, periodMs: MINUTE };
  const random = createRandom(2);
  const admittedAtMs: number[] = [];
  let tat = FULL;
  for (let nowMs = 0; nowMs < 30 * MINUTE; nowMs += 1 + random.below(3000)) {
    if (waitMs(tat, rate, 1, nowMs) > 0) continue;
    tat = moved(tat, rate, 1, nowMs);
    admittedAtMs.push(nowMs);
  }
  for (const [first, fromMs] of admittedAtMs.entries()) {
    for (let last = first; last < admittedAtMs.length; last += 1) {
      const windowMs = (admittedAtMs[last] as number) - fromMs;
      assert.ok(last - first + 1 <= rate.limit * (1 + windowMs / rate.periodMs) + 1e-6);
    }
  }
  assert.ok(admittedAtMs.length >= 7 * 30);
});

test('who waits exactly as long as was asked is admitted, a thousand times of a thousand', () => {
  const random = createRandom(3);
  for (let round = 0; round < 1000; round += 1) {
    const rate: Rate = { limit: random.pick([1, 3, 7, 600, 399_999, 50_000_000]), periodMs: random.pick([MINUTE, DAY]) };
    let nowMs = share(random) * 10 ** random.below(11);
    let tat = FULL;
    let wait = 0;
    while (wait === 0) {
      const amount = 1 + random.below(rate.limit);
      wait = waitMs(tat, rate, amount, nowMs);
      if (wait === 0) tat = moved(tat, rate, amount, nowMs);
      else assert.equal(waitMs(tat, rate, amount, (nowMs += wait)), 0);
    }
  }
});
