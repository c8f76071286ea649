/** Callers' limits: what is taken together, what is known before a body is read, and what a reload leaves as it is. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallerLimits, LimitName } from '../../src/core/route.ts';
import { Limits } from '../../src/limits/limiter.ts';
import type { Taken } from '../../src/limits/limiter.ts';
import { createMemoryStore } from '../../src/limits/memory.ts';
import type { LimitStore } from '../../src/limits/store.ts';
import { createRandom } from '../base/random.ts';

const NONE: CallerLimits = { requestsPerMinute: undefined, tokensPerMinute: undefined, tokensPerDay: undefined, concurrent: undefined };
const ALL: CallerLimits = { requestsPerMinute: 10, tokensPerMinute: 1000, tokensPerDay: 5000, concurrent: 3 };

type Clock = { nowMs: number; readonly now: () => number };

function clock(): Clock {
  const made: Clock = { nowMs: 0, now: () => made.nowMs };
  return made;
}

function limitsAt({ now }: Clock, store: LimitStore = createMemoryStore(now)): Limits {
  return new Limits(store, now);
}

/** What was taken, of a store that answers at once. */
function take(limits: Limits, config: CallerLimits, tokens = 1, caller = 'batch'): Taken {
  const taken = limits.take(caller, config, tokens);
  if (taken instanceof Promise) throw new Error('a store of this process answers at once');
  return taken;
}

function refusalOf({ decision }: Taken): readonly [LimitName, number] | undefined {
  return decision.refusedBy && [decision.refusedBy, decision.waitMs];
}

/** What is left of every limit, places included. */
function left(store: LimitStore): unknown {
  const { standings } = store.take({ caller: 'batch', limits: { ...ALL, requestsPerMinute: 1e9, tokensPerMinute: 1e9, tokensPerDay: 1e9, concurrent: 0 }, tokens: 0, lease: '' }) as Taken['decision'];
  return standings;
}

test('Limits closes its store, once', () => {
  let closes = 0;
  const limits = limitsAt(clock(), { ...createMemoryStore(() => 0), close: () => void (closes += 1) });
  limits.close();
  limits.close();
  assert.equal(closes, 1);
});

const refusals: readonly (readonly [LimitName, CallerLimits, number])[] = [
  ['requests_per_minute', { ...ALL, requestsPerMinute: 1 }, 1],
  ['tokens_per_minute', ALL, 1000],
  ['tokens_per_day', { ...ALL, tokensPerMinute: 1_000_000 }, 5000],
  ['concurrent', { ...ALL, concurrent: 1 }, 1],
];

for (const [name, config, tokens] of refusals) {
  test(`a request that ${name} refuses takes nothing of any other limit`, () => {
    const time = clock();
    const store = createMemoryStore(time.now);
    const limits = limitsAt(time, store);
    const first = take(limits, config, 1);
    assert.equal(refusalOf(first), undefined);
    const before = left(store);
    for (let again = 0; again < 100; again += 1) assert.equal(refusalOf(take(limits, config, tokens))?.[0], name);
    assert.deepEqual(left(store), before);
    assert.deepEqual(limits.used(() => config).find(([, limit]) => limit === 'concurrent')?.[2], 1 / (config.concurrent ?? 0));
    limits.settle(first.charge, 0);
    assert.equal(refusalOf(take(limits, config, 1))?.[0], name === 'requests_per_minute' ? name : undefined);
  });
}

test('callers share nothing', () => {
  const limits = limitsAt(clock());
  const config = { ...NONE, requestsPerMinute: 1 };
  assert.equal(refusalOf(take(limits, config, 1, 'a')), undefined);
  assert.equal(refusalOf(take(limits, config, 1, 'b')), undefined);
  assert.deepEqual(refusalOf(take(limits, config, 1, 'a')), ['requests_per_minute', 60_000]);
});

test('who waits as long as was said is admitted, also where a place comes back within a millisecond', () => {
  const time = clock();
  const limits = limitsAt(time);
  const config = { ...NONE, requestsPerMinute: 7 };
  for (let request = 0; request < 7; request += 1) take(limits, config);
  assert.deepEqual(refusalOf(take(limits, config)), ['requests_per_minute', 8572]);
  time.nowMs = 8572;
  assert.equal(refusalOf(take(limits, config)), undefined);
});

test('of several limits the one with the longest wait is named, and of places nobody knows how long', () => {
  const limits = limitsAt(clock());
  const config = { ...NONE, requestsPerMinute: 1, tokensPerDay: 100 };
  take(limits, config, 100);
  assert.deepEqual(refusalOf(take(limits, config, 100)), ['tokens_per_day', 86_400_000]);
  assert.deepEqual(refusalOf(take(limits, { ...config, concurrent: 1 }, 100)), ['concurrent', 1000]);
});

test('a look refuses whom every request would be refused, with the wait of the one that may come, and takes nothing', () => {
  const time = clock();
  const limits = limitsAt(time);
  const config = { ...NONE, tokensPerMinute: 600 };
  assert.equal(limits.peek('batch', config, 0), undefined);
  const { charge } = take(limits, config, 600);
  const look = (tokensMax: number): unknown => {
    const refused = limits.peek('batch', config, tokensMax);
    return refused && [refused.refusedBy, refused.waitMs, refused.standings.tokens_per_minute?.remaining];
  };
  assert.deepEqual(look(0), ['tokens_per_minute', 100, 0]);
  assert.deepEqual(look(60), ['tokens_per_minute', 6000, 0]);
  assert.deepEqual(look(1e9), ['tokens_per_minute', 60_000, 0]);
  time.nowMs = 100;
  assert.equal(look(60), undefined);
  limits.settle(charge, 1200);
  assert.deepEqual(look(1), ['tokens_per_minute', 60_000, 0]);
  time.nowMs = 60_100;
  assert.equal(look(1), undefined);
});

test('a look knows what a store that others share said last', async () => {
  const time = clock();
  const shared: LimitStore = {
    take: () => Promise.resolve({ refusedBy: 'tokens_per_minute', waitMs: 5000, standings: { tokens_per_minute: { remaining: 0, resetMs: 65_000 } } }),
    settle: () => assert.fail('nothing was taken'),
    close() {},
  };
  const limits = limitsAt(time, shared);
  const config = { ...NONE, tokensPerMinute: 60_000 };
  assert.equal(limits.peek('batch', config, 0), undefined);
  assert.equal((await limits.take('batch', config, 1)).decision.refusedBy, 'tokens_per_minute');
  assert.equal(limits.peek('batch', config, 0)?.waitMs, 5001);
  time.nowMs = 5001;
  assert.equal(limits.peek('batch', config, 0), undefined);
});

test('a look believes what a store that others share said for a second, since what they give back nobody tells', async () => {
  const time = clock();
  const shared = createMemoryStore(time.now);
  const store: LimitStore = { ...shared, take: (charge) => Promise.resolve(shared.take(charge)) };
  const [here, there] = [limitsAt(time, store), limitsAt(time, store)];
  const config = { ...NONE, tokensPerDay: 1000, concurrent: 1 };
  const large = await there.take('batch', config, 20_000);
  assert.equal((await here.take('batch', config, 1)).decision.refusedBy, 'concurrent');
  there.settle(large.charge, 20_000);
  assert.equal((await here.take('batch', config, 1)).decision.refusedBy, 'tokens_per_day');
  time.nowMs += 1000;
  assert.equal(here.peek('batch', config, 1)?.refusedBy, 'tokens_per_day');
  time.nowMs += 1;
  assert.equal(here.peek('batch', config, 1), undefined);
  assert.equal((await here.take('batch', config, 1)).decision.refusedBy, 'tokens_per_day');
  assert.equal(here.peek('batch', config, 1)?.refusedBy, 'tokens_per_day');
});

test('a look knows for as long as it takes how many requests are in flight here, wherever the limits are kept', async () => {
  const time = clock();
  const shared = createMemoryStore(time.now);
  const limits = limitsAt(time, { ...shared, take: (charge) => Promise.resolve(shared.take(charge)) });
  await limits.take('batch', { ...NONE, concurrent: 1 }, 1);
  time.nowMs += 60_000;
  assert.equal(limits.peek('batch', { ...NONE, concurrent: 1 }, 1)?.refusedBy, 'concurrent');
});

test('a settlement tells the store of the difference, and no provider can report a caller out for years', () => {
  const time = clock();
  const settled: number[] = [];
  const memory = createMemoryStore(time.now);
  const limits = limitsAt(time, { ...memory, settle: (_, tokensMore) => void settled.push(tokensMore) });
  const config = { ...NONE, tokensPerMinute: 1000 };
  for (const used of [100, 40, 0, -5, 1e300, Infinity]) limits.settle(take(limits, { ...config, tokensPerMinute: 1e12 }, 100).charge, used);
  assert.deepEqual(settled, [0, -60, -100, -100, 99_999_900, 99_999_900]);
});

test('leases are unique', () => {
  const limits = limitsAt(clock());
  const other = limitsAt(clock());
  const leases = new Set([limits, other].flatMap((each) => [1, 2, 3].map(() => take(each, NONE).charge.lease)));
  assert.equal(leases.size, 6);
});

test('other limits for the same caller go on from what was taken', () => {
  const time = clock();
  const limits = limitsAt(time);
  const running = take(limits, { ...NONE, requestsPerMinute: 60, concurrent: 2 });
  for (let more = 1; more < 60; more += 1) limits.settle(take(limits, { ...NONE, requestsPerMinute: 60 }).charge, 0);
  assert.deepEqual(refusalOf(take(limits, { ...NONE, requestsPerMinute: 120 })), ['requests_per_minute', 500]);
  assert.deepEqual(refusalOf(take(limits, { ...NONE, concurrent: 1 })), ['concurrent', 1000]);
  limits.settle(running.charge, 0);
  assert.equal(refusalOf(take(limits, { ...NONE, concurrent: 1 })), undefined);
});

test('how much is used is told by limit, a debt as more than all', () => {
  const time = clock();
  const limits = limitsAt(time);
  const { charge } = take(limits, ALL, 500);
  const used = (config: CallerLimits | undefined): unknown => limits.used((caller) => (caller === 'batch' ? config : undefined)).map(([, limit, ratio]) => [limit, Number(ratio.toFixed(3))]);
  assert.deepEqual(used(ALL), [['requests_per_minute', 0.1], ['tokens_per_minute', 0.5], ['tokens_per_day', 0.1], ['concurrent', 0.333]]);
  limits.settle(charge, 3000);
  assert.deepEqual(used(ALL), [['requests_per_minute', 0.1], ['tokens_per_minute', 3], ['tokens_per_day', 0.6], ['concurrent', 0]]);
  assert.deepEqual(used(NONE), []);
  assert.deepEqual(used(undefined), []);
});

test('whatever comes in whatever order, every place is given back and all tokens that nobody used', () => {
  const random = createRandom(16);
  const time = clock();
  const memory = createMemoryStore(time.now);
  const limits = limitsAt(time, memory);
  const running: Taken[] = [];
  let used = 0;
  for (let step = 0; step < 20_000; step += 1) {
    if (random.below(2) === 0) {
      const taken = take(limits, { ...NONE, tokensPerDay: 1e9, concurrent: 20 }, random.below(1000));
      if (taken.decision.refusedBy === undefined) running.push(taken);
    } else {
      const [taken] = running.splice(random.below(running.length), 1);
      const tokens = random.below(2000);
      if (taken !== undefined) limits.settle(taken.charge, tokens);
      if (taken !== undefined) used += tokens;
    }
    assert.ok(running.length <= 20);
  }
  for (const { charge } of running) limits.settle(charge, 0);
  const { decision } = take(limits, { ...NONE, tokensPerDay: 1e9, concurrent: 1 }, 0);
  assert.equal(decision.refusedBy, undefined);
  assert.ok(Math.abs(1e9 - used - (decision.standings.tokens_per_day?.remaining ?? 0)) <= 1);
});
