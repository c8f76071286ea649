/** The store on a real Redis or Valkey; skipped where none is installed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallerLimits } from '../../src/core/route.ts';
import type { Charge, Decision } from '../../src/limits/store.ts';
import { addressOf, createStore, REDIS_SERVER, startRealEngine } from './engines.ts';
import type { RealEngine, Surrounded } from './engines.ts';

const options = { skip: REDIS_SERVER === undefined && 'neither redis-server nor valkey-server is installed' };

const NONE: CallerLimits = { requestsPerMinute: undefined, tokensPerMinute: undefined, tokensPerDay: undefined, concurrent: undefined };

function charge(limits: Partial<CallerLimits>, lease: string, tokens = 0): Charge {
  return { caller: 'ann', limits: { ...NONE, ...limits }, tokens, lease };
}

/** A decision without what depends on the clock. */
function inShort({ refusedBy, standings }: Decision): unknown {
  return [refusedBy, ...Object.values(standings).map(({ remaining }) => remaining)];
}

/** From here on, what is settled and what is asked are carried out in this order: an engine that does not know a script yet is told it later. */
async function knowSettling(engine: RealEngine, { store }: Surrounded): Promise<void> {
  const stranger = { ...charge({ concurrent: 1 }, 'x'), caller: 'bob' };
  await store.take(stranger);
  store.settle(stranger, 0);
  while ((await engine.ask('ZCARD gw:{bob}:c'))[0] !== 0) await new Promise(setImmediate);
}

/** All that the engine keeps of the caller, to the last digit. */
async function state(engine: RealEngine): Promise<unknown> {
  return engine.ask('HMGET gw:{ann} r m d', 'ZRANGE gw:{ann}:c 0 -1 WITHSCORES');
}

test('four gateways whose clocks are hours apart admit together what one may, flooded', options, async (t) => {
  const engine = await startRealEngine(t);
  const skews = [0, 3_600_000, -3_600_000, 1e12];
  const surrounded = skews.map((skewMs) => createStore(t, engine.address, { now: () => performance.now() + skewMs }));
  await Promise.all(surrounded.map(({ up }) => up()));
  let admitted = 0;
  let refused = 0;
  const startedAtMs = performance.now();
  const flood = async ({ store, local }: (typeof surrounded)[number]): Promise<void> => {
    // What the process itself would decide must not matter.
    local.admits = 0;
    for (let round = 0; performance.now() - startedAtMs < 1000 || refused < 200; round += 1) {
      const decisions = await Promise.all(Array.from({ length: 25 }, (_, index) => store.take(charge({ requestsPerMinute: 6000 }, `${round}.${index}`))));
      for (const { refusedBy } of decisions) refusedBy === undefined ? (admitted += 1) : (refused += 1);
    }
  };
  await Promise.all(surrounded.map(flood));
  const expected = 6000 + (performance.now() - startedAtMs) / 10;
  assert.ok(Math.abs(admitted / expected - 1) <= 0.01, `${admitted} of ${expected}`);
});

test('what one limit refuses changes none of the others', options, async (t) => {
  const engine = await startRealEngine(t);
  const { store, up } = createStore(t, engine.address);
  await up();
  const limits = { requestsPerMinute: 10, tokensPerMinute: 1000, tokensPerDay: 2000, concurrent: 2 };
  assert.deepEqual(inShort(await store.take(charge(limits, 'a', 600))), [undefined, 9, 400, 1400]);
  const cases = [
    ['requests_per_minute', { requestsPerMinute: 1 }, 1],
    ['tokens_per_minute', {}, 600],
    ['tokens_per_day', { tokensPerMinute: 100_000, tokensPerDay: 700 }, 600],
    ['concurrent', { concurrent: 1 }, 600],
  ] as const;
  for (const [refusedBy, changed, tokens] of cases) {
    const before = await state(engine);
    assert.equal((await store.take(charge({ ...limits, ...changed }, 'b', tokens))).refusedBy, refusedBy);
    assert.deepEqual(await state(engine), before, refusedBy);
  }
});

test('who waits as long as was asked is admitted, and who comes earlier is not', options, async (t) => {
  const engine = await startRealEngine(t);
  const { store, up } = createStore(t, engine.address);
  await up();
  // The engine's clock goes on as well: having its bucket work off so much is waiting for so long, or a little longer.
  const wait = async (waitMs: number): Promise<void> => {
    const [times] = (await engine.ask('HMGET gw:{ann} r m d')) as readonly (readonly string[])[];
    await engine.ask(`HSET gw:{ann} r ${(Number(times?.[0]) - waitMs).toFixed(3)}`);
  };
  const limits = { requestsPerMinute: 1 };
  assert.equal((await store.take(charge(limits, 'first'))).refusedBy, undefined);
  for (let count = 0; count < 20; count += 1) {
    const refused = await store.take(charge(limits, 'early'));
    assert.ok(refused.refusedBy === 'requests_per_minute' && refused.waitMs > 0 && refused.waitMs <= 60_000, JSON.stringify(refused));
    await wait(refused.waitMs - 20_000);
    assert.equal((await store.take(charge(limits, 'too early'))).refusedBy, 'requests_per_minute');
    await wait(20_000);
    assert.equal((await store.take(charge(limits, String(count)))).refusedBy, undefined);
  }
});

test('what is settled is a debt that is paid first, or is given back, and never makes more than a full bucket', options, async (t) => {
  const engine = await startRealEngine(t);
  const surrounded = createStore(t, engine.address);
  const { store, up } = surrounded;
  await up();
  await knowSettling(engine, surrounded);
  // A token is a minute: nothing flows back while the test runs.
  const limits = { tokensPerDay: 1440 };
  const settled = async (lease: string, tokens: number, more: number): Promise<Decision> => {
    await store.take(charge(limits, lease, tokens));
    store.settle(charge(limits, lease, tokens), more);
    await new Promise(setImmediate);
    return store.take(charge(limits, `${lease} after`, 0));
  };
  assert.deepEqual(inShort(await settled('a', 100, -40)), [undefined, 1380]);
  assert.deepEqual(inShort(await settled('b', 100, -5000)), [undefined, 1440]);
  assert.deepEqual(inShort(await settled('c', 1000, 640)), ['tokens_per_day', 0]);
  const refused = await store.take(charge(limits, 'd', 0));
  assert.ok(refused.refusedBy !== undefined && Math.round(refused.waitMs / 60_000) === 200);
  // A request larger than the limit is admitted when the bucket is full.
  await engine.ask('DEL gw:{ann}');
  assert.deepEqual(inShort(await store.take(charge(limits, 'e', 9000))), [undefined, 0]);
  const [expiry] = await engine.ask('PTTL gw:{ann}');
  assert.ok(Number(expiry) > 5 * 86_400_000, 'a debt is kept until it is paid');
});

test('no debt is so long that the engine cannot say it', options, async (t) => {
  const engine = await startRealEngine(t);
  const surrounded = createStore(t, engine.address);
  const { store, up, failures } = surrounded;
  await up();
  await knowSettling(engine, surrounded);
  const limits = { tokensPerDay: 1 };
  await store.take(charge(limits, 'a', 1));
  store.settle(charge(limits, 'a', 1), 100_000_000);
  await new Promise(setImmediate);
  const refused = await store.take(charge(limits, 'b', 1));
  assert.ok(refused.refusedBy === 'tokens_per_day' && refused.waitMs > 890_000_000_000, JSON.stringify(refused));
  assert.deepEqual([store.isUp, failures.all], [true, []]);
  const [expiry] = await engine.ask('PTTL gw:{ann}');
  assert.ok(Number(expiry) > 890_000_000_000);
});

test('places are shared, come back with their requests, and by themselves from a gateway that died', options, async (t) => {
  const engine = await startRealEngine(t);
  const [here, there] = [createStore(t, engine.address), createStore(t, engine.address)];
  await Promise.all([here.up(), there.up()]);
  await knowSettling(engine, here);
  const limits = { concurrent: 2 };
  assert.equal((await here.store.take(charge(limits, 'a'))).refusedBy, undefined);
  assert.equal((await there.store.take(charge(limits, 'b'))).refusedBy, undefined);
  assert.deepEqual(await here.store.take(charge(limits, 'c')), { refusedBy: 'concurrent', waitMs: 1000, standings: {} });
  here.store.settle(charge(limits, 'a'), 0);
  await new Promise(setImmediate);
  assert.equal((await here.store.take(charge(limits, 'c'))).refusedBy, undefined);
  there.store.close();
  assert.equal((await here.store.take(charge(limits, 'd'))).refusedBy, 'concurrent');
  const [[seconds], until] = (await engine.ask('TIME', 'ZSCORE gw:{ann}:c b')) as readonly [readonly string[], string];
  const leftMs = Number(until) - Number(seconds) * 1000;
  assert.ok(leftMs > 0 && leftMs <= 61_000, String(leftMs));
  // As a minute later.
  await engine.ask(`ZADD gw:{ann}:c ${Number(until) - 60_000} b`);
  assert.equal((await here.store.take(charge(limits, 'd'))).refusedBy, undefined);
});

test('places are renewed, and registered anew after a flush', options, async (t) => {
  const engine = await startRealEngine(t);
  const { store, up } = createStore(t, engine.address, { timings: { renewMs: 5 } });
  await up();
  await store.take(charge({ concurrent: 1 }, 'a'));
  await engine.ask('FLUSHALL');
  while ((await engine.ask('ZCARD gw:{ann}:c'))[0] !== 1) await new Promise(setImmediate);
  assert.equal((await store.take(charge({ concurrent: 1 }, 'b'))).refusedBy, 'concurrent');
});

test('a flush refills the buckets once, and a flush of the scripts is not noticed', options, async (t) => {
  const engine = await startRealEngine(t);
  const { store, local, lines, failures, up } = createStore(t, engine.address);
  await up();
  const limits = { tokensPerDay: 1440 };
  const take = async (tokens: number): Promise<unknown> => inShort(await store.take(charge(limits, 'a', tokens)));
  assert.deepEqual([await take(1440), await take(1)], [[undefined, 0], ['tokens_per_day', 0]]);
  await engine.ask('SCRIPT FLUSH');
  assert.deepEqual(await take(1), ['tokens_per_day', 0]);
  await engine.ask('FLUSHALL');
  assert.deepEqual([await take(1440), await take(1)], [[undefined, 0], ['tokens_per_day', 0]]);
  assert.deepEqual([local.refused, lines.all, failures.all], [0, [], []]);
});

test('an engine that is stopped, killed, read-only or full is done without, and asked again afterwards', options, async (t) => {
  const engine = await startRealEngine(t);
  const { store, local, lines, up } = createStore(t, engine.address, { timings: { answerMs: 50, connectMs: 50, outMs: 5 } });
  await up();
  const isDecidedLocally = async (): Promise<boolean> => {
    const before = local.taken.length;
    await store.take(charge({ tokensPerDay: 1e9 }, String(local.taken.length + lines.all.length), 1));
    return local.taken.length > before && !store.isUp;
  };
  const faults: readonly (readonly [name: string, cause: RegExp, begin: () => Promise<unknown> | void, end: () => Promise<unknown> | void])[] = [
    ['stopped', /"timeout"/, () => engine.signal('SIGSTOP'), () => engine.signal('SIGCONT')],
    ['killed', /"connection"/, () => engine.stop(), () => engine.start()],
    ['read-only', /"read_only".*READONLY/, () => engine.ask(`REPLICAOF 127.0.0.1 ${engine.port}`), () => engine.ask('REPLICAOF NO ONE')],
    ['full', /"out_of_memory".*OOM/, () => engine.ask('CONFIG SET maxmemory 1'), () => engine.ask('CONFIG SET maxmemory 0')],
  ];
  for (const [name, cause, begin, end] of faults) {
    const { length } = lines.all;
    await begin();
    for (; lines.all.length === length; await new Promise(setImmediate)) await isDecidedLocally();
    assert.ok(await isDecidedLocally(), name);
    await end();
    // A slow machine may be late for an answer or two after it.
    await lines.until((all) => all.length > length && all.at(-1)?.startsWith('the engine of GATEWAY_LIMITS_URL answers again') === true);
    assert.match(lines.all[length] ?? '', cause, name);
  }
});

test('a full engine takes nothing from anybody, and places back', options, async (t) => {
  const engine = await startRealEngine(t);
  const { store, local, up } = createStore(t, engine.address);
  await up();
  const limits = { tokensPerDay: 1000, concurrent: 2 };
  await store.take(charge(limits, 'a', 10));
  const before = await state(engine);
  await engine.ask('CONFIG SET maxmemory 1');
  await store.take(charge(limits, 'b', 10));
  assert.deepEqual([await state(engine), local.taken], [before, ['a', 'b']]);
  store.settle(charge(limits, 'a', 10), 5);
  while ((await engine.ask('ZCARD gw:{ann}:c'))[0] !== 0) await new Promise(setImmediate);
});

test('a user may be allowed the scripts and their commands on keys that begin with gw:, and needs no more', options, async (t) => {
  const engine = await startRealEngine(t);
  const commands = '+evalsha +eval +select +time +hmget +hset +pexpire +zadd +zrem +zcount +zremrangebyscore';
  await engine.ask('CONFIG SET requirepass other-password', 'AUTH other-password', `ACL SETUSER gateway on >canary-password ~gw:* ${commands}`);
  const { store, up } = createStore(t, addressOf(`redis://gateway:canary-password@127.0.0.1:${engine.port}/2`));
  await up();
  assert.equal((await store.take(charge({ requestsPerMinute: 1, concurrent: 3 }, 'a'))).refusedBy, undefined);
  store.settle(charge({ requestsPerMinute: 1, concurrent: 3 }, 'a'), 5);
  const wrong = createStore(t, addressOf(`redis://gateway:wrong-password@127.0.0.1:${engine.port}`), { timings: { outMs: 60_000 } });
  await wrong.lines.until((all) => all.length === 1);
  assert.match(wrong.lines.all[0] ?? '', /"cause":"auth","error":"WRONGPASS"}$/);
  // Redis 7 answers a command of many words with an error of the protocol.
  const without = createStore(t, addressOf(`redis://127.0.0.1:${engine.port}`), { timings: { outMs: 60_000 } });
  await without.lines.until((all) => all.length === 1);
  assert.match(without.lines.all[0] ?? '', /"cause":"auth","error":"(?:NOAUTH|ERR)"}$/);
});
