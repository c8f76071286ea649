import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../src/core/failure.ts';
import { Renewed } from '../../../src/upstream/credentials/renewed.ts';
import type { Fresh } from '../../../src/upstream/credentials/renewed.ts';
import { createFakeClock } from './clock.ts';
import type { FakeClock } from './clock.ts';

type Credential = { readonly number: number };

const HOUR_MS = 3_600_000;
const DOWN = new Failure('unknown', 'down');

/** A source that answers when it is told to, with the next number. */
function setup(jitter = 0): {
  readonly clock: FakeClock;
  readonly renewed: Renewed<Credential>;
  readonly failures: readonly Failure[];
  asked(): number;
  /** Answers all that is being asked, and lets it be heard. */
  answer(fresh?: Partial<Fresh<Credential>> | Failure): Promise<void>;
} {
  const clock = createFakeClock();
  const failures: Failure[] = [];
  let asked = 0;
  let waiting: ((fresh: Fresh<Credential> | Failure) => void)[] = [];
  const fetch = (): Promise<Fresh<Credential> | Failure> => {
    asked += 1;
    return new Promise((resolve) => waiting.push(resolve));
  };
  return {
    clock,
    failures,
    renewed: new Renewed(fetch, clock, () => jitter, (failure) => failures.push(failure)),
    asked: () => asked,
    async answer(fresh = {}) {
      const resolves = waiting;
      waiting = [];
      for (const resolve of resolves) resolve(fresh instanceof Failure ? fresh : { value: { number: asked }, lifetimeMs: HOUR_MS, ...fresh });
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** One that has its first credential. */
async function filled(fresh: Partial<Fresh<Credential>> = {}, jitter = 0): Promise<ReturnType<typeof setup>> {
  const all = setup(jitter);
  void all.renewed.get();
  await all.answer(fresh);
  return all;
}

test('Renewed asks once for all who wait', async () => {
  const { renewed, asked, answer } = setup();
  const waiting = [renewed.get(), renewed.get(), renewed.get()];
  await answer();
  assert.deepEqual(await Promise.all(waiting), [{ number: 1 }, { number: 1 }, { number: 1 }]);
  assert.equal(asked(), 1);
  assert.deepEqual(renewed.get(), { number: 1 });
});

test('Renewed gives at once what it holds, and renews it beside that five minutes before its end', async () => {
  const { clock, renewed, asked, answer } = await filled();
  clock.pass(HOUR_MS - 5 * 60_000 - 1);
  assert.deepEqual(renewed.get(), { number: 1 });
  assert.equal(asked(), 1);
  clock.pass(1);
  assert.deepEqual(renewed.get(), { number: 1 });
  assert.deepEqual(renewed.get(), { number: 1 });
  assert.equal(asked(), 2);
  await answer();
  assert.deepEqual(renewed.get(), { number: 2 });
});

test('Renewed renews up to a quarter of that earlier, as chance has it', async () => {
  const { clock, renewed, asked } = await filled({}, 1);
  clock.pass(HOUR_MS - 6.25 * 60_000 - 1);
  void renewed.get();
  assert.equal(asked(), 1);
  clock.pass(1);
  void renewed.get();
  assert.equal(asked(), 2);
});

test('Renewed asks when its source would like to be asked', async () => {
  const { clock, renewed, asked } = await filled({ lifetimeMs: 24 * HOUR_MS, renewInMs: 12 * HOUR_MS });
  clock.pass(12 * HOUR_MS - 1);
  void renewed.get();
  assert.equal(asked(), 1);
  clock.pass(1);
  void renewed.get();
  assert.equal(asked(), 2);
});

test('Renewed renews what lives for minutes at half its life, and never sooner than after 30 s', async () => {
  for (const [lifetimeMs, renewedAtMs] of [[240_000, 120_000], [40_000, 30_000]] as const) {
    const { clock, renewed, asked } = await filled({ lifetimeMs });
    clock.pass(renewedAtMs - 1);
    void renewed.get();
    assert.equal(asked(), 1, `${lifetimeMs}`);
    clock.pass(1);
    void renewed.get();
    assert.equal(asked(), 2, `${lifetimeMs}`);
  }
});

test('Renewed believes in what has ended as it comes for 30 s, and asks again then', async () => {
  const { clock, renewed, asked, answer } = await filled({ lifetimeMs: 0 });
  clock.pass(29_999);
  assert.deepEqual(renewed.get(), { number: 1 });
  assert.equal(asked(), 1);
  clock.pass(1);
  const late = renewed.get();
  await answer({ lifetimeMs: 0 });
  assert.deepEqual(await late, { number: 2 });
});

test('Renewed asks beside, once it is told to renew soon, and the old one serves until another is there', async () => {
  const { renewed, asked, answer } = await filled();
  renewed.renewSoon();
  assert.equal(asked(), 1);
  assert.deepEqual(renewed.get(), { number: 1 });
  assert.equal(asked(), 2);
  await answer(DOWN);
  assert.deepEqual(renewed.get(), { number: 1 });
  assert.deepEqual(renewed.recent, [{ number: 1 }]);
});

test('Renewed asks as ever where it is told to renew soon and has nothing yet', async () => {
  const { renewed, answer } = setup();
  renewed.renewSoon();
  const first = renewed.get();
  await answer();
  assert.deepEqual(await first, { number: 1 });
});

test('Renewed counts a life from when it was asked for', async () => {
  const { clock, renewed, answer } = setup();
  void renewed.get();
  clock.pass(10_000);
  await answer({ lifetimeMs: 60_000 });
  assert.equal(renewed.expiresInMs, 50_000);
});

test('Renewed lets the old one serve until it really ends, where it cannot be renewed', async () => {
  const { clock, renewed, answer, failures } = await filled();
  clock.pass(HOUR_MS - 60_000);
  assert.deepEqual(renewed.get(), { number: 1 });
  await answer(DOWN);
  assert.deepEqual(failures, [DOWN]);
  clock.pass(59_999);
  assert.deepEqual(renewed.get(), { number: 1 });
  await answer(DOWN);
  clock.pass(10_000);
  const late = renewed.get();
  assert.ok(late instanceof Promise);
  await answer(DOWN);
  assert.ok((await late) instanceof Failure);
});

test('Renewed waits longer and longer after failures before it asks again, at most 30 s, and says how long', async () => {
  const { clock, renewed, asked, answer } = setup();
  const waits: (number | undefined)[] = [];
  for (let round = 1; round <= 7; round += 1) {
    const late = renewed.get();
    await answer(DOWN);
    const failure = await late;
    assert.ok(failure instanceof Failure);
    assert.equal(asked(), round);
    waits.push(failure.retryAfterMs);
    clock.pass((failure.retryAfterMs ?? 0) - 1);
    const early = renewed.get();
    assert.ok(early instanceof Failure);
    assert.equal(early.retryAfterMs, 1);
    assert.equal(asked(), round);
    clock.pass(1);
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  const last = renewed.get();
  await answer();
  assert.deepEqual(await last, { number: 8 });
});

test('Renewed drops what was refused once it is older than 30 s, for all who were refused with it', async () => {
  const { clock, renewed, asked, answer } = await filled();
  const refused = renewed.get() as Credential;
  clock.pass(29_999);
  assert.equal(renewed.drop(refused), false);
  clock.pass(1);
  assert.equal(renewed.drop(refused), true);
  assert.equal(renewed.drop(refused), true);
  const late = renewed.get(refused);
  assert.equal(asked(), 2);
  assert.equal(renewed.drop(refused), true);
  await answer();
  assert.deepEqual(await late, { number: 2 });
  assert.equal(renewed.drop(refused), true);
  assert.deepEqual(renewed.get(), { number: 2 });
});

test('Renewed lets what was refused serve on where no other can be had, and asks no sooner than after the failure\'s rest', async () => {
  const { clock, renewed, asked, answer } = await filled();
  const refused = renewed.get() as Credential;
  clock.pass(60_000);
  assert.equal(renewed.drop(refused), true);
  const late = renewed.get(refused);
  await answer(DOWN);
  assert.equal(await late, refused);
  assert.equal(renewed.get(), refused);
  assert.equal(renewed.get(refused), refused);
  assert.equal(renewed.drop(refused), false);
  assert.equal(asked(), 2);
  clock.pass(1000);
  assert.equal(renewed.drop(refused), true);
  const other = renewed.get(refused);
  await answer();
  assert.deepEqual(await other, { number: 3 });
  assert.equal(renewed.drop(refused), true);
  assert.deepEqual(renewed.recent, [{ number: 3 }, { number: 1 }]);
});

test('Renewed does not bring back what has ended since it was refused', async () => {
  const { clock, renewed, answer } = await filled();
  const refused = renewed.get() as Credential;
  clock.pass(HOUR_MS - 1);
  assert.equal(renewed.drop(refused), true);
  const late = renewed.get(refused);
  clock.pass(1);
  await answer(DOWN);
  assert.ok((await late) instanceof Failure);
});

test('Renewed lets what one provider refused serve others on, and asks for another once, for which that one waits', async () => {
  const { clock, renewed, asked, answer } = await filled();
  const refused = renewed.get() as Credential;
  clock.pass(60_000);
  assert.equal(renewed.drop(refused), true);
  assert.equal(renewed.get(), refused);
  const late = renewed.get(refused);
  assert.ok(late instanceof Promise);
  assert.equal(renewed.get(), refused);
  assert.deepEqual([asked(), renewed.recent], [2, [{ number: 1 }]]);
  await answer();
  assert.deepEqual([await late, renewed.get(), renewed.get(refused), renewed.recent], [{ number: 2 }, { number: 2 }, { number: 2 }, [{ number: 2 }, { number: 1 }]]);
});

test('Renewed keeps the only one that its source has, and for ever what does not expire', async () => {
  const { clock, renewed, asked } = await filled({ lifetimeMs: undefined, isOnly: true });
  clock.pass(1000 * HOUR_MS);
  const only = renewed.get() as Credential;
  assert.deepEqual(only, { number: 1 });
  assert.equal(renewed.drop(only), false);
  assert.equal(renewed.expiresInMs, undefined);
  assert.equal(asked(), 1);
});
