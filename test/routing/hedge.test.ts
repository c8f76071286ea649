/** A second target beside a slow first, on a clock of its own. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import type { Candidate } from '../../src/gateway/ask.ts';
import type { Attempt } from '../../src/gateway/attempt.ts';
import { createRandom } from '../base/random.ts';
import { askRoute, createSubject, failure, fakeProvider, fakeRoute, fakeTarget, request, VirtualClock } from './virtual.ts';
import type { RequestOptions, Subject } from './virtual.ts';

const PROVIDERS = new Map(['a', 'b', 'c'].map((name) => [name, fakeProvider(name)]));
const HEDGED = fakeRoute([fakeTarget('a/m'), fakeTarget('b/m'), fakeTarget('c/m')], { hedgeAfterMs: 2000 });
const ask = askRoute(HEDGED, PROVIDERS);

/** What a stream does, at what times after its start. */
type Script = { readonly firstMs: number; readonly endMs?: number; readonly fails?: Failure };

type Leg = { readonly name: string; readonly scope: Scope; hasEvent: boolean; endedAtMs: number };

/** One streamed request, and what each of its attempts came to. */
function stream(clock: VirtualClock, subject: Subject, scripts: Readonly<Record<string, Script>>, options: RequestOptions = {}) {
  const startMs = clock.nowMs;
  const legs: Leg[] = [];
  let events = 0;
  const sent = request(subject, ask, (attempt: Attempt<Candidate>) => {
    const name = attempt.candidate.provider.name;
    const { firstMs, endMs = firstMs, fails } = scripts[name] ?? { firstMs: Infinity };
    const leg: Leg = { name, scope: attempt.scope, hasEvent: false, endedAtMs: Infinity };
    legs.push(leg);
    return new Promise<'good' | Failure>((resolve) => {
      const end = (result: 'good' | Failure): void => {
        leg.endedAtMs = Math.min(leg.endedAtMs, clock.nowMs - startMs);
        resolve(result);
      };
      attempt.scope.onEnd(() => end(new Failure('unknown', 'ended', { isRetried: false })));
      if (firstMs === Infinity) return;
      clock.after(firstMs, () => {
        if (attempt.scope.ended !== undefined) return;
        if (fails !== undefined && endMs === firstMs) return end(fails);
        if (attempt.entry?.claim() === false) return;
        leg.hasEvent = true;
        events += 1;
        clock.after(endMs - firstMs, () => end(fails ?? 'good'));
      });
    });
  }, { isStream: true, isTooLate: () => events > 0, ...options });
  return { ...sent, legs, events: () => events };
}

test('R25: the second target answers while the first is silent; one answer comes, and the first is ended at once', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const sent = stream(clock, subject, { a: { firstMs: 9000 }, b: { firstMs: 500, endMs: 3000 } });
  await clock.run();
  const { candidate, result } = await sent.outcome;
  assert.equal(result, 'good');
  assert.equal(candidate.provider.name, 'b');
  assert.equal(sent.events(), 1);
  assert.deepEqual(sent.legs.map(({ name, endedAtMs }) => [name, endedAtMs]), [['a', 2500], ['b', 5000]]);
  assert.deepEqual([sent.record.hedged, sent.record.provider, sent.record.attempts], ['won', 'b', 2]);
  assert.deepEqual(sent.record.tried.map(({ outcome }) => outcome), ['ended', 'success']);
  assert.deepEqual(sent.record.passedOver, [{ provider: 'a', model: 'm', why: 'overtaken' }]);
});

test('R25: of a first target that fails beside the second, its failure says why it was passed over', async () => {
  const clock = new VirtualClock();
  const sent = stream(clock, createSubject(clock), { a: { firstMs: 2200, fails: failure('server') }, b: { firstMs: 500 } });
  await clock.run();
  assert.equal((await sent.outcome).candidate.provider.name, 'b');
  assert.deepEqual(sent.record.passedOver, [{ provider: 'a', model: 'm', why: 'server' }]);
});

test('R25: the first target answers late, but first: the second is ended at once, and neither is held against them', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  for (let index = 0; index < 20; index += 1) {
    const sent = stream(clock, subject, { a: { firstMs: 2200, endMs: 4000 }, b: { firstMs: 900 } });
    await clock.run();
    assert.equal((await sent.outcome).candidate.provider.name, 'a');
    assert.equal(sent.events(), 1);
    assert.deepEqual(sent.legs.map(({ endedAtMs }) => endedAtMs), [4000, 2200]);
    assert.deepEqual([sent.record.hedged, sent.record.provider, sent.record.passedOver], ['lost', 'a', []]);
  }
  assert.deepEqual(subject.transitions, []);
});

test('R25: behind a first target that fails early the next is asked at once, and not only when it would have been slow', async () => {
  const clock = new VirtualClock();
  const sent = stream(clock, createSubject(clock), { a: { firstMs: 500, fails: failure('server') }, b: { firstMs: 400 } });
  await clock.run();
  assert.equal((await sent.outcome).candidate.provider.name, 'b');
  assert.deepEqual(sent.legs.map(({ name, endedAtMs }) => [name, endedAtMs]), [['a', 500], ['b', 900]]);
});

test('R25: who answers in time has nobody asked beside', async () => {
  const clock = new VirtualClock();
  const sent = stream(clock, createSubject(clock), { a: { firstMs: 1999, endMs: 60_000 } });
  await clock.run();
  assert.equal((await sent.outcome).result, 'good');
  assert.deepEqual([sent.legs.length, sent.record.hedged], [1, undefined]);
});

test('R25: where both fail the next is asked, with no third call beside', async () => {
  const clock = new VirtualClock();
  const sent = stream(clock, createSubject(clock), { a: { firstMs: 2500, fails: failure('server') }, b: { firstMs: 100, fails: failure('rate_limit') }, c: { firstMs: 5000 } });
  await clock.run();
  assert.equal((await sent.outcome).candidate.provider.name, 'c');
  assert.deepEqual(sent.legs.map(({ name }) => name), ['a', 'b', 'c']);
  assert.equal(sent.record.hedged, 'lost');
});

test('R25: a failure that nobody else mends ends both', async () => {
  const clock = new VirtualClock();
  const sent = stream(clock, createSubject(clock), { a: { firstMs: 2500, fails: failure('refusal') }, b: { firstMs: 9000 } });
  await clock.run();
  const { result } = await sent.outcome;
  assert.ok(result instanceof Failure);
  assert.equal(result.kind, 'refusal');
  assert.equal(sent.legs[1]?.endedAtMs, 2500);
  // Who refused, not who was asked last.
  assert.deepEqual([sent.record.provider, sent.record.hedged], ['a', 'lost']);
});

test('R25: what the second target refuses does not end the first, which is silent but may answer', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const sent = stream(clock, subject, { a: { firstMs: 5000 }, b: { firstMs: 100, fails: failure('bad_request') } });
  await clock.run();
  const { candidate, result } = await sent.outcome;
  assert.deepEqual([candidate.provider.name, result], ['a', 'good']);
  assert.deepEqual([sent.record.hedged, sent.record.provider, sent.record.attempts], ['lost', 'a', 2]);
});

test('R25: where the first fails after the second has refused, the first says why', async () => {
  const clock = new VirtualClock();
  const sent = stream(clock, createSubject(clock), { a: { firstMs: 5000, fails: failure('server') }, b: { firstMs: 100, fails: failure('bad_request') } });
  await clock.run();
  const { result } = await sent.outcome;
  assert.ok(result instanceof Failure);
  assert.deepEqual([result.kind, result.message, sent.legs.length], ['server', 'server happened; then bad_request happened', 2]);
});

test('the time of two attempts beside each other is not counted twice', async () => {
  const clock = new VirtualClock();
  const sent = stream(clock, createSubject(clock), { a: { firstMs: Infinity }, b: { firstMs: 500, endMs: 3000 } });
  await clock.run();
  await sent.outcome;
  assert.equal(sent.record.upstreamMs, 5000);
});

test('R25: a caller that hangs up ends both, at whatever time, also before', async () => {
  for (const afterMs of [-1, 100, 2100, 2600, 4000]) {
    const clock = new VirtualClock();
    const subject = createSubject(clock);
    const scope = new Scope();
    if (afterMs < 0) scope.end('caller-gone');
    const sent = stream(clock, subject, { a: { firstMs: Infinity }, b: { firstMs: 500, endMs: 9000 } }, { scope });
    clock.after(afterMs, () => scope.end('caller-gone'));
    await clock.run();
    assert.ok((await sent.outcome).result instanceof Failure);
    for (const { name, endedAtMs } of sent.legs) assert.ok(endedAtMs <= Math.max(0, afterMs), `${name} at ${endedAtMs}`);
    assert.equal(subject.routing.places.taken, 0);
  }
});

test('R25: the second of two targets has all the time of an attempt: the first, which is still asked, is nobody to leave time for', async () => {
  const clock = new VirtualClock();
  const limits: [string, number][] = [];
  const route = fakeRoute([fakeTarget('a/m'), fakeTarget('b/m')], { hedgeAfterMs: 2000 });
  const { outcome } = request(createSubject(clock), askRoute(route, PROVIDERS), ({ candidate, scope, attemptMs }) => {
    limits.push([candidate.provider.name, attemptMs]);
    return clock.answer(scope, attemptMs, failure('unknown'));
  }, { isStream: true, deadlineMs: 40_000 });
  await clock.run(30_000);
  assert.deepEqual(limits, [['a', 20_000], ['b', 600_000]]);
  await clock.run();
  await outcome;
});

test('R25: a bug in one ends the other', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const scopes: Scope[] = [];
  const { outcome } = request(subject, ask, ({ scope, candidate }) => {
    scopes.push(scope);
    if (candidate.provider.name === 'a') return clock.answer(scope, 3000, 'good').then(() => assert.fail('a bug'));
    return clock.answer(scope, 60_000, 'good');
  }, { isStream: true });
  const rejected = assert.rejects(outcome, /a bug/);
  await clock.run();
  await rejected;
  assert.deepEqual(scopes.map(({ ended }) => ended), ['outpaced', 'outpaced']);
});

test('a whole answer has nobody asked beside, and none is asked while the gateway drains', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const whole = stream(clock, subject, { a: { firstMs: 9000 } }, { isStream: false });
  await clock.run();
  assert.equal((await whole.outcome).result, 'good');
  assert.equal(whole.legs.length, 1);
  subject.isDraining = true;
  const draining = stream(clock, subject, { a: { firstMs: 9000 } });
  await clock.run();
  assert.equal((await draining.outcome).result, 'good');
  assert.deepEqual([draining.legs.length, draining.record.hedged], [1, 'refused']);
});

test('R26: second calls that help are free, those that do not are bounded by the budget of whom they burden', async () => {
  const callsBeside = async (firstOfA: () => number, firstOfB: () => number): Promise<number> => {
    const clock = new VirtualClock(26);
    const subject = createSubject(clock);
    for (let index = 0; index < 1200; index += 1) {
      clock.after(index * 100, () => void stream(clock, subject, { a: { firstMs: firstOfA() }, b: { firstMs: firstOfB() } }));
    }
    await clock.run();
    return subject.callsAt.get('b/m') ?? 0;
  };
  const random = createRandom(26);
  const lost = await callsBeside(() => 2500 + random.below(500), () => 5000);
  // Over 120 s: what is in the bucket, and what flows into it, at 14 a call.
  assert.ok(lost <= (500 + 10 * 120) / 14, `${lost} lost`);
  const won = await callsBeside(() => Infinity, () => 300);
  assert.equal(won, 1200);
});
