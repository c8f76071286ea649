/** What the primary is made of, without a process: who is given a connection, how long to wait, what still holds, whose limits. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { Log } from '../../src/base/log.ts';
import { nextTurn } from '../../src/base/turn.ts';
import type { Charge, Decision, LocalStore } from '../../src/limits/store.ts';
import type { Transition } from '../../src/routing/transition.ts';
import { Brake } from '../../src/workers/brake.ts';
import { Dispatch } from '../../src/workers/dispatch.ts';
import { HeldLimits } from '../../src/workers/held-limits.ts';
import type { ToPrimary } from '../../src/workers/messages.ts';
import { PrimaryStore } from '../../src/workers/primary-store.ts';
import { Reloads } from '../../src/workers/reloads.ts';
import { Transitions } from '../../src/workers/transitions.ts';

class Taker {
  readonly given: number[] = [];
  give(connection: number): void {
    this.given.push(connection);
  }
}

test('Dispatch gives connections in turn, one at a time to each', () => {
  const dispatch = new Dispatch<number>();
  const [a, b] = [new Taker(), new Taker()];
  dispatch.join(a);
  dispatch.join(b);
  for (const connection of [1, 2, 3, 4]) dispatch.offer(connection);
  assert.deepEqual([a.given, b.given, dispatch.waitingCount], [[1], [2], 2]);
  dispatch.freed(b);
  assert.deepEqual([a.given, b.given], [[1], [2, 3]]);
  dispatch.freed(a);
  assert.deepEqual([a.given, b.given, dispatch.waitingCount], [[1, 4], [2, 3], 0]);
});

test('Dispatch gives who has time what another has no time for', () => {
  const dispatch = new Dispatch<number>();
  const [busy, free] = [new Taker(), new Taker()];
  dispatch.join(busy);
  dispatch.join(free);
  for (let connection = 0; connection < 10; connection += 1) {
    dispatch.offer(connection);
    dispatch.freed(free);
  }
  assert.deepEqual([busy.given, free.given.length], [[0], 9]);
});

test('Dispatch keeps what comes before anybody is there, and what is left when all are gone', () => {
  const dispatch = new Dispatch<number>();
  const [first, second] = [new Taker(), new Taker()];
  dispatch.offer(1);
  dispatch.join(first);
  dispatch.offer(2);
  dispatch.leave(first);
  dispatch.freed(first);
  dispatch.offer(3);
  assert.deepEqual(first.given, [1]);
  dispatch.join(second);
  assert.deepEqual(second.given, [2]);
  dispatch.leave(second);
  dispatch.leave(second);
  assert.deepEqual(dispatch.close(), [3]);
  assert.equal(dispatch.waitingCount, 0);
});

test('Dispatch gives nothing to who has left while it was free', () => {
  const dispatch = new Dispatch<number>();
  const [gone, there] = [new Taker(), new Taker()];
  dispatch.join(gone);
  dispatch.join(there);
  dispatch.leave(gone);
  for (const connection of [1, 2]) dispatch.offer(connection);
  assert.deepEqual([gone.given, there.given, dispatch.waitingCount], [[], [1], 1]);
});

test('Dispatch gives nobody two for saying twice that it is free', () => {
  const dispatch = new Dispatch<number>();
  const taker = new Taker();
  dispatch.join(taker);
  dispatch.freed(taker);
  for (const connection of [1, 2]) dispatch.offer(connection);
  assert.deepEqual(taker.given, [1]);
});

test('Brake doubles the wait while workers end at once, up to five seconds, and forgets it after one that served', () => {
  const brake = new Brake();
  const delays = (served: readonly number[]): number[] => served.map((servedMs) => brake.delayAfter(servedMs));
  assert.deepEqual(delays([0, 999, 5, 5, 5, 5, 5, 5]), [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  assert.deepEqual(delays([1000, 3, 60_000]), [100, 200, 100]);
});

function out(model: string, forMs: number): Transition {
  return { of: 'target', provider: 'p', model, to: 'out', cause: 'failures', forMs };
}

function cooling(key: string, model: string | undefined, forMs: number): Transition {
  return { of: 'key', provider: 'p', key, number: 1, model, to: 'cooling', cause: 'rate_limit', forMs };
}

test('Transitions keeps what holds, with the time that is left', () => {
  let nowMs = 1000;
  const transitions = new Transitions(() => nowMs);
  transitions.note(out('a', 5000));
  transitions.note(cooling('k', 'a', 1000));
  transitions.note(cooling('k', undefined, 4000));
  transitions.note(out('c', 9000));
  transitions.note({ of: 'target', provider: 'p', model: 'c', to: 'in' });
  nowMs += 1500;
  assert.deepEqual(transitions.current(), [out('a', 3500), cooling('k', undefined, 2500)]);
});

test('Transitions tells the same model of two providers apart', () => {
  const transitions = new Transitions(() => 0);
  const both = [out('a', 5000), { ...out('a', 6000), provider: 'q' }];
  for (const transition of both) transitions.note(transition);
  assert.deepEqual(transitions.current(), both);
});

test('Transitions holds a bounded number of names, and makes room for new ones by forgetting what is over', () => {
  let nowMs = 0;
  const transitions = new Transitions(() => nowMs);
  for (let name = 0; name < 4096; name += 1) assert.ok(transitions.note(out(`${name}`, 1000)));
  assert.ok(!transitions.note(out('one more', 1000)));
  assert.ok(transitions.note(out('7', 2000)));
  nowMs = 1500;
  assert.ok(transitions.note(out('one more', 1000)));
  assert.deepEqual(transitions.current(), [out('7', 500), out('one more', 1000)]);
});

/** Lets so many in at a time, and keeps what it was told. */
class Places implements LocalStore {
  readonly told: string[] = [];
  readonly #held = new Set<string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  take({ lease }: Charge): Decision {
    const isFull = this.#held.size >= this.#max;
    if (!isFull) this.#held.add(lease);
    this.told.push(`${isFull ? 'refused' : 'took'} ${lease}`);
    return isFull ? { refusedBy: 'concurrent', waitMs: 1000, standings: {} } : { refusedBy: undefined, standings: {} };
  }

  settle({ lease }: Charge, tokensMore: number): void {
    assert.ok(this.#held.delete(lease), `${lease} is not held`);
    this.told.push(`settled ${lease} ${tokensMore}`);
  }

  close(): void {}
}

function chargeOf(lease: string): Charge {
  return { caller: 'c', limits: { requestsPerMinute: undefined, tokensPerMinute: undefined, tokensPerDay: undefined, concurrent: 1 }, tokens: 10, lease };
}

test('HeldLimits settles what its owner took, once, and nothing else', () => {
  const store = new Places(1);
  const limits = new HeldLimits(store);
  const [a, b] = [{}, {}];
  assert.equal(limits.take(a, chargeOf('1')).refusedBy, undefined);
  assert.equal(limits.take(b, chargeOf('2')).refusedBy, 'concurrent');
  limits.settle(b, chargeOf('2'), 5);
  limits.settle(b, chargeOf('1'), 5);
  limits.settle(a, chargeOf('1'), -3);
  limits.settle(a, chargeOf('1'), -3);
  assert.deepEqual(store.told, ['took 1', 'refused 2', 'settled 1 -3']);
});

test('HeldLimits gives back what a worker held that is gone', () => {
  const store = new Places(3);
  const limits = new HeldLimits(store);
  const [a, b] = [{}, {}];
  limits.take(a, chargeOf('1'));
  limits.take(b, chargeOf('2'));
  limits.take(a, chargeOf('3'));
  limits.release(a);
  limits.release(a);
  limits.settle(a, chargeOf('1'), 1);
  assert.deepEqual(store.told, ['took 1', 'took 2', 'took 3', 'settled 1 0', 'settled 3 0']);
  assert.equal(limits.take(b, chargeOf('4')).refusedBy, undefined);
});

/** A worker's store, what it sent, and how the primary answers. */
function storeOf(own: LocalStore, answerMsMax: number) {
  const sent: ToPrimary[] = [];
  const warnings: string[] = [];
  let isThere = true;
  const send = (message: ToPrimary): boolean => {
    if (isThere) sent.push(message);
    return isThere;
  };
  const log = { warn: (message: string) => warnings.push(message) } as unknown as Log;
  const store = new PrimaryStore(send, own, log, answerMsMax);
  const answer = (id: number, decision: Decision): void => store.decided(id, decision);
  const summary = (): string[] => sent.map((message) => (message.type === 'settle' ? `settle ${message.charge.lease} ${message.tokensMore}` : message.type === 'take' ? `take ${message.charge.lease}` : message.type));
  const leave = (): void => void (isThere = false);
  return { store, answer, summary, warnings, leave };
}

/** Longer than any test. */
const LONG_MS = 600_000;
const LET_IN: Decision = { refusedBy: undefined, standings: {} };
const REFUSED: Decision = { refusedBy: 'requests_per_minute', waitMs: 500, standings: {} };

test('PrimaryStore has the primary decide, charges the worker\'s own buckets the same, and settles at both', async () => {
  const own = new Places(1);
  const { store, answer, summary } = storeOf(own, LONG_MS);
  const decision = store.take(chargeOf('1'));
  assert.deepEqual([summary(), own.told], [['take 1'], []]);
  answer(1, LET_IN);
  assert.equal(await decision, LET_IN);
  store.settle(chargeOf('1'), 7);
  assert.deepEqual(summary(), ['take 1', 'settle 1 7']);
  assert.deepEqual(own.told, ['took 1', 'settled 1 7']);
});

test("PrimaryStore charges nothing to the worker's own buckets that the primary refused, and tells the primary nothing", async () => {
  const own = new Places(1);
  const { store, answer, summary } = storeOf(own, LONG_MS);
  const decision = store.take(chargeOf('1'));
  answer(1, REFUSED);
  assert.equal(await decision, REFUSED);
  assert.deepEqual([summary(), own.told], [['take 1'], []]);
});

test("PrimaryStore lets in whom the primary lets in, though the worker's own buckets are full", async () => {
  const own = new Places(0);
  const { store, answer, summary } = storeOf(own, LONG_MS);
  const decision = store.take(chargeOf('1'));
  answer(1, LET_IN);
  assert.equal(await decision, LET_IN);
  store.settle(chargeOf('1'), 0);
  assert.deepEqual(summary(), ['take 1', 'settle 1 0']);
  assert.deepEqual(own.told, ['refused 1']);
});

test('PrimaryStore decides alone when the primary takes too long, asks nothing more until the answer, and then asks again', async () => {
  const own = new Places(1);
  const { store, answer, summary, warnings } = storeOf(own, 1);
  assert.equal((await store.take(chargeOf('1'))).refusedBy, undefined);
  assert.equal((await store.take(chargeOf('2'))).refusedBy, 'concurrent');
  assert.deepEqual(summary(), ['take 1']);
  answer(1, LET_IN);
  store.settle(chargeOf('1'), 4);
  assert.deepEqual(own.told, ['took 1', 'refused 2', 'settled 1 4']);
  assert.deepEqual(warnings, ['limits: the primary does not answer, this worker decides alone', 'limits: the primary answers again']);
  void store.take(chargeOf('3'));
  assert.deepEqual(summary(), ['take 1', 'settle 1 4', 'take 3']);
});

test('PrimaryStore keeps to itself what the primary refuses too late, and settles it here alone', async () => {
  const own = new Places(1);
  const { store, answer, summary } = storeOf(own, 1);
  assert.equal((await store.take(chargeOf('1'))).refusedBy, undefined);
  answer(1, REFUSED);
  store.settle(chargeOf('1'), 4);
  assert.deepEqual([summary(), own.told], [['take 1'], ['took 1', 'settled 1 4']]);
});

test('PrimaryStore gives back at the primary what nobody was let in for, when its answer comes too late', async () => {
  const { store, answer, summary } = storeOf(new Places(0), 1);
  assert.equal((await store.take(chargeOf('1'))).refusedBy, 'concurrent');
  answer(1, LET_IN);
  assert.deepEqual(summary(), ['take 1', 'settle 1 -10']);
});

test('PrimaryStore takes an answer that was there before the process came to look at its clock', async () => {
  const { store, answer, warnings } = storeOf(new Places(0), 1);
  const decision = store.take(chargeOf('1'));
  const { port1, port2 } = new MessageChannel();
  port1.on('message', () => answer(1, LET_IN));
  port2.postMessage('');
  // Held up for longer than an answer may take.
  const startedAtMs = performance.now();
  while (performance.now() - startedAtMs < 20);
  assert.equal(await decision, LET_IN);
  assert.deepEqual(warnings, []);
  port1.close();
});

test('PrimaryStore takes an answer that comes right behind its time, and says once that there is none', async () => {
  const { store, answer, summary, warnings } = storeOf(new Places(0), 1);
  const first = store.take(chargeOf('1'));
  // In the same turn of the event loop as the limit, and behind it.
  setTimeout(() => answer(1, LET_IN), 1);
  assert.equal(await first, LET_IN);
  await nextTurn();
  assert.deepEqual(warnings, []);
  await Promise.all(['2', '3'].map((lease) => store.take(chargeOf(lease))));
  assert.deepEqual([summary(), warnings.length], [['take 1', 'take 2', 'take 3'], 1]);
});

test('PrimaryStore has 4096 questions open at once, decides alone beyond, and asks on once they are answered', async () => {
  const { store, answer, summary } = storeOf(new Places(0), LONG_MS);
  const asked = Array.from({ length: 4096 }, (_, index) => store.take(chargeOf(`${index}`)));
  assert.equal((await store.take(chargeOf('beyond'))).refusedBy, 'concurrent');
  assert.equal(summary().at(-1), 'take 4095');
  for (let id = 1; id <= 4096; id += 1) answer(id, REFUSED);
  await Promise.all(asked);
  const again = store.take(chargeOf('again'));
  assert.equal(summary().at(-1), 'take again');
  answer(4097, REFUSED);
  await again;
});

test('PrimaryStore waits for nobody once the primary is gone: not with what it has asked, nor with what comes', async () => {
  const own = new Places(1);
  const { store, summary, warnings, leave } = storeOf(own, LONG_MS);
  const decisions = ['1', '2'].map((lease) => store.take(chargeOf(lease)));
  leave();
  store.gone();
  assert.deepEqual((await Promise.all(decisions)).map(({ refusedBy }) => refusedBy), [undefined, 'concurrent']);
  assert.equal((await store.take(chargeOf('3'))).refusedBy, 'concurrent');
  store.settle(chargeOf('1'), 1);
  assert.deepEqual([summary(), own.told.at(-1), warnings], [['take 1', 'take 2'], 'settled 1 1', []]);
});

test('PrimaryStore decides alone what cannot be sent', async () => {
  const own = new Places(0);
  const { store, summary, leave } = storeOf(own, LONG_MS);
  leave();
  assert.equal((await store.take(chargeOf('1'))).refusedBy, 'concurrent');
  assert.deepEqual(summary(), []);
});

/** The ids of those that a worker follows which begins after these. */
function followed(begun: Readonly<Record<string, string>>, ...later: readonly Readonly<Record<string, string>>[]): readonly number[] {
  const reloads = new Reloads(new Map(Object.entries(begun)));
  for (const [id, places] of later.entries()) reloads.note({ id, files: {}, places: new Map(Object.entries(places)) });
  return reloads.followed.map(({ id }) => id);
}

test('Reloads keeps the last alone while every provider stays where it is', () => {
  assert.deepEqual(followed({ a: '1' }), []);
  assert.deepEqual(followed({ a: '1' }, { a: '1' }, { a: '1' }, { a: '1' }), [2]);
});

test('Reloads keeps the last that had a provider where it began, whatever names it elsewhere or not at all', () => {
  assert.deepEqual(followed({ a: '1' }, { a: '1' }, { a: '1' }, { a: '2' }, {}, {}), [1, 4]);
  assert.deepEqual(followed({ a: '1' }, { a: '2' }, { a: '2' }), [1]);
});

test('Reloads keeps the first that named a provider, and the last that had it there', () => {
  assert.deepEqual(followed({}, { b: '1' }, {}), [0, 1]);
  assert.deepEqual(followed({}, {}, { b: '1' }, { b: '1' }, { b: '1' }, { b: '2' }, {}), [1, 3, 5]);
});

test('Reloads keeps two for each provider and the last, however many there were', () => {
  const later = Array.from({ length: 300 }, (_, index) => ({ [`p${index % 3}`]: `${index % 5}` }));
  assert.ok(followed({}, ...later).length <= 7);
});
