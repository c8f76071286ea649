/** The attempt loop over targets, keys and rounds, on a clock of its own. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import type { FailureKind } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import type { Candidate } from '../../src/gateway/ask.ts';
import type { Attempt } from '../../src/gateway/attempt.ts';
import { createRandom } from '../base/random.ts';
import { askPlain, askRoute, createLoneClock, createSubject, failure, fakeProvider, fakeRoute, fakeTarget, request, VirtualClock } from './virtual.ts';
import type { Subject } from './virtual.ts';

const A = fakeProvider('a');
const B = fakeProvider('b');
const C = fakeProvider('c');
const THREE_KEYS = fakeProvider('k', 3);
const PROVIDERS = new Map([A, B, C, THREE_KEYS].map((provider) => [provider.name, provider]));
const ROUTE = fakeRoute([fakeTarget('a/m'), fakeTarget('b/m')]);

const nameOf = ({ candidate }: Attempt<Candidate>): string => candidate.provider.name;

/** Sends it `count` times, one after another. */
async function repeat(count: number, one: () => { readonly outcome: Promise<unknown> }): Promise<void> {
  for (let index = 0; index < count; index += 1) await one().outcome;
}

function nothingIsHeld(subject: Subject): void {
  assert.equal(subject.routing.places.taken, 0);
  for (const target of subject.routing.targets.all) assert.notEqual(target.state, 'probed', target.provider);
}

/** What is wrong with any of so many random scripts; undefined where nothing is. */
async function faultOfScripts(count: number): Promise<string | undefined> {
  const random = createRandom(13);
  const clock = createLoneClock(() => random.below(1000) / 1000);
  const kinds: readonly FailureKind[] = ['auth', 'rate_limit', 'not_found', 'bad_request', 'unsupported', 'refusal', 'server', 'unknown'];
  const names = ['a/m', 'a/n', 'b/m', 'c/m', 'k/m', 'k/n'];
  const asks = Array.from({ length: 500 }, () => {
    const targets = names.filter(() => random.below(2) === 0).map((name) => fakeTarget(name, random.below(4) === 0 ? { concurrentMax: random.below(2) } : {}));
    const route = fakeRoute(targets.length === 0 ? [fakeTarget('a/m')] : targets, { isSpread: random.below(3) === 0 });
    return askRoute(route, PROVIDERS, { conversation: () => random.below(1e9), loopProvider: random.below(3) === 0 ? 'b' : undefined });
  });
  let subject = createSubject(clock);
  for (let script = 0; script < count; script += 1) {
    if (script % 100 === 0) subject = createSubject(clock, { retriesMax: random.below(6), concurrentMax: () => (script % 300 === 0 ? 1 : undefined) });
    const allowed = 1 + subject.attempts.parts.retryPolicy.retriesMax;
    const ask = random.pick(asks);
    const scope = new Scope();
    let calls = 0;
    let isOver = false;
    let isAskedAfter = false;
    const { outcome, record } = request(subject, ask, () => {
      isAskedAfter ||= isOver;
      calls += 1;
      clock.nowMs += random.below(100);
      const dice = random.below(20);
      if (dice === 0) scope.end('caller-gone');
      isOver = dice < 4;
      if (dice > 0 && dice < 4) return Promise.resolve('good');
      return Promise.resolve(failure(random.pick(kinds), {
        isQuota: random.below(20) === 0, isTooLong: random.below(20) === 0, isOwn: random.below(40) === 0,
        ...(random.below(3) === 0 ? { retryAfterMs: random.below(100_000) } : {}), ...(random.below(10) === 0 ? { retriesMax: 1 } : {}),
      }));
    }, { scope });
    const { result } = await outcome;
    if (isAskedAfter) return `script ${script}: asked after its end`;
    if (calls > allowed || record.attempts !== calls) return `script ${script}: ${calls} calls of ${allowed}`;
    if (!(result instanceof Failure) && !isOver) return `script ${script}: not the outcome of its last call`;
    if (subject.routing.places.taken !== 0) return `script ${script}: a place is not given back`;
  }
  nothingIsHeld(subject);
  return undefined;
}

// Before the first test, with which the runner begins to follow every promise: that would double what this costs.
const scriptFault = await faultOfScripts(100_000);

test('R1: whatever fails in whatever way, a request makes at most 1 + retries calls, and none after an answer', () => {
  assert.equal(scriptFault, undefined);
});

test('R4: in an outage of all targets each request soon makes one call', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  for (let index = 0; index < 1000; index += 1) {
    clock.after(index * 50, () => void request(subject, askRoute(ROUTE, PROVIDERS), ({ scope }) => clock.answer(scope, 50, failure('server'))));
  }
  await clock.run();
  const calls = [...subject.callsAt.values()].reduce((sum, count) => sum + count, 0);
  assert.ok(calls >= 1000 && calls <= 1050, `${calls} calls`);
});

test('R4: in an outage a provider without a route is asked again within its budget only', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  for (let index = 0; index < 1000; index += 1) {
    clock.after(index * 50, () => void request(subject, askPlain(A), ({ scope }) => clock.answer(scope, 50, failure('server'))));
  }
  await clock.run();
  const calls = subject.callsAt.get('a/m') ?? 0;
  assert.ok(calls >= 1000 && calls <= 1100, `${calls} calls`);
});

test('R4: a retry that is paid for and never made, since its caller hangs up, takes nothing of what others have', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const requests = Array.from({ length: 40 }, () => request(subject, askPlain(A), ({ scope }) => clock.answer(scope, 10, failure('rate_limit', { retryAfterMs: 10_000 }))));
  await clock.run(10);
  assert.equal(subject.attempts.parts.budgets.of('a').tokens, 500 - 40 * 5);
  for (const { scope } of requests) scope.end('caller-gone');
  await Promise.all(requests.map(({ outcome }) => outcome));
  assert.deepEqual([subject.attempts.parts.budgets.of('a').tokens, subject.callsAt.get('a/m')], [500, 40]);
});

test('R4: nor does one that is paid for at a provider before another serves, and it is counted for none that was begun', async (t) => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const retry = t.mock.method(subject.attempts.parts.metrics, 'retry', () => undefined);
  const asked: string[] = [];
  const { outcome } = request(subject, askRoute(ROUTE, PROVIDERS), (attempt) => {
    asked.push(nameOf(attempt));
    return clock.answer(attempt.scope, 10, asked.length > 2 ? 'good' : failure('server', nameOf(attempt) === 'a' ? { retryAfterMs: 15 } : {}));
  });
  await clock.run();
  assert.equal((await outcome).result, 'good');
  assert.deepEqual(asked, ['a', 'b', 'a']);
  assert.equal(subject.attempts.parts.budgets.of('b').tokens, 500);
  assert.deepEqual(retry.mock.calls.map((call) => call.arguments), [['a', 'server']]);
});

test('a failure that is worth one retry has one, and one for good none', async () => {
  for (const [fields, calls, refusal] of [[{ retriesMax: 1 }, 2, 'exhausted'], [{ isRetried: false }, 1, undefined], [{}, 4, 'exhausted']] as const) {
    const subject = createSubject(createLoneClock(() => 0.5));
    const { outcome, record } = request(subject, askPlain(A), () => Promise.resolve(failure('server', fields)));
    await outcome;
    assert.deepEqual([record.attempts, record.retryRefusal], [calls, refusal]);
  }
});

test('R4: a retry that finds its target full is counted once it is made, however often it was waited for', async (t) => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const counted = t.mock.method(subject.attempts.parts.metrics, 'retry');
  const ask = askRoute(fakeRoute([fakeTarget('a/m', { concurrentMax: 1 })]), PROVIDERS);
  const first = request(subject, ask, ({ scope }) => clock.answer(scope, 10, failure('server')));
  await clock.run(10);
  const second = request(subject, ask, ({ scope }) => clock.answer(scope, 300_000, 'good'));
  await clock.run();
  assert.ok((await first.outcome).result instanceof Failure);
  assert.equal((await second.outcome).result, 'good');
  assert.deepEqual([subject.callsAt.get('a/m'), first.record.attempts, counted.mock.callCount()], [2, 1, 0]);
});

test('R5: of a thousand requests that come when the time is over, one asks the target before the probe is answered', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const ask = askRoute(ROUTE, PROVIDERS);
  let isUp = false;
  const behaviour = (attempt: Attempt<Candidate>): Promise<'good' | Failure> =>
    clock.answer(attempt.scope, 200, nameOf(attempt) === 'a' && !isUp ? failure('server') : 'good');
  for (let index = 0; index < 8; index += 1) void request(subject, ask, behaviour);
  await clock.run();
  assert.equal(subject.routing.targets.of(fakeTarget('a/m')).state, 'out');
  await clock.run(10_000);
  isUp = true;
  const before = subject.callsAt.get('a/m') ?? 0;
  const outcomes = Array.from({ length: 1000 }, () => request(subject, ask, behaviour).outcome);
  await clock.run(100);
  assert.equal((subject.callsAt.get('a/m') ?? 0) - before, 1);
  await clock.run();
  for (const { result } of await Promise.all(outcomes)) assert.equal(result, 'good');
  assert.deepEqual(subject.transitions.map((transition) => transition.to), ['out', 'in']);
});

test('R6: the probe gives its place back, in whatever way it ends', async () => {
  const random = createRandom(6);
  const clock = createLoneClock(() => 0.5);
  const subject = createSubject(clock);
  const target = subject.routing.targets.of(fakeTarget('a/m'));
  const ask = askRoute(fakeRoute([fakeTarget('a/m', { concurrentMax: 1 }), fakeTarget('b/m')]), PROVIDERS);
  for (let run = 0; run < 10_000; run += 1) {
    while (target.state === 'in') target.failed('in');
    clock.nowMs += 40_000;
    assert.equal(target.state, 'due');
    const scope = new Scope();
    const end = random.below(7);
    const { outcome } = request(subject, ask, (attempt) => {
      if (nameOf(attempt) === 'a') assert.equal(target.state, 'probed');
      if (end === 0) return Promise.resolve('good');
      if (end === 1) return Promise.resolve(failure('server'));
      if (end === 2) scope.end('caller-gone');
      if (end === 3) scope.end('deadline');
      if (end === 4) scope.end('shutdown');
      if (end === 5) throw new Error('a bug');
      return Promise.resolve(failure('refusal'));
    }, { scope });
    if (end === 5) await assert.rejects(outcome, /a bug/);
    else await outcome;
    nothingIsHeld(subject);
  }
});

test('R7: a target of which a tenth fails stays, one of which two fifths fail goes out', () => {
  const random = createRandom(7);
  const outcomes = (share: number, count: number): number => {
    const clock = createLoneClock(() => 0.5);
    const { routing, transitions } = createSubject(clock);
    const target = routing.targets.of(fakeTarget('a/m'));
    for (let index = 0; index < count && (share < 0.2 || transitions.length === 0); index += 1) {
      clock.nowMs += 50;
      const asked = target.ask();
      if (random.below(1000) < share * 1000) target.failed(asked);
      else target.succeeded(asked);
      target.done(asked);
    }
    return transitions.filter(({ to }) => to === 'out').length;
  };
  assert.ok(outcomes(0.1, 1_000_000) <= 1);
  let soon = 0;
  for (let trial = 0; trial < 200; trial += 1) soon += outcomes(0.4, 200);
  assert.ok(soon >= 180, `${soon} of 200 were out within 200 outcomes`);
});

test('R8: what callers do wrong says nothing of a target', async () => {
  const healthAfter = async (withNoise: boolean): Promise<readonly unknown[]> => {
    const random = createRandom(8);
    const noise = createRandom(88);
    const clock = createLoneClock(() => 0.5);
    const subject = createSubject(clock);
    const ask = askRoute(fakeRoute([fakeTarget('a/m')]), PROVIDERS);
    for (let index = 0; index < 2500; index += 1) {
      const isBad = random.below(10) < 3;
      await request(subject, ask, () => Promise.resolve(isBad ? failure('server', { isRetried: false }) : 'good')).outcome;
      if (!withNoise) continue;
      for (let extra = 0; extra < 4; extra += 1) {
        const scope = new Scope();
        await request(subject, ask, () => {
          const dice = noise.below(4);
          if (dice === 0) scope.end('caller-gone');
          return Promise.resolve(dice === 1 ? failure('bad_request') : dice === 2 ? failure('refusal', { status: 422 }) : dice === 3 ? failure('bad_request', { isTooLong: true }) : failure('unknown'));
        }, { scope }).outcome;
      }
    }
    return subject.transitions;
  };
  assert.deepEqual(await healthAfter(true), await healthAfter(false));
});

test('R9: nobody is refused because targets are out or keys are cooling', async () => {
  const clock = createLoneClock(() => 0.5);
  const subject = createSubject(clock, { retriesMax: 0 });
  const ask = askRoute(fakeRoute([fakeTarget('a/m'), fakeTarget('k/m')]), PROVIDERS);
  for (const target of ['a/m', 'k/m']) subject.routing.apply({ of: 'target', provider: target[0] ?? '', model: 'm', to: 'out', cause: 'failures', forMs: 60_000 });
  for (const key of THREE_KEYS.keys) subject.routing.keys.rejected('k', key);
  let calls = 0;
  await repeat(1000, () => request(subject, ask, () => {
    calls += 1;
    return Promise.resolve(failure('server'));
  }));
  assert.equal(calls, 1000);
});

test('R10: a cooldown never ends earlier than one before it', () => {
  const clock = createLoneClock(() => 0.5);
  const { routing: { keys } } = createSubject(clock);
  const [key] = THREE_KEYS.keys;
  assert.ok(key);
  keys.cool('k', key, 'm', 60_000);
  keys.cool('k', key, 'm', 1000);
  const owner = { name: 'k', keys: [key] };
  clock.nowMs += 59_999;
  assert.equal(keys.pick(owner, 'm', () => 1, []), undefined);
  clock.nowMs += 1;
  assert.equal(keys.pick(owner, 'm', () => 1, []), key);
});

test('R11: a key whose rate is limited is left alone for as long as the provider says, and everybody is served', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const random = createRandom(11);
  const startMs = clock.nowMs;
  const callsWithFirst: number[] = [];
  const outcomes: Promise<{ readonly result: unknown }>[] = [];
  for (let index = 0; index < 500; index += 1) {
    clock.after(index * 10, () => {
      const ask = askPlain(THREE_KEYS, 'm', random.below(2 ** 32));
      outcomes.push(request(subject, ask, ({ scope, key }) => {
        if (key?.number !== 1) return clock.answer(scope, 50, 'good');
        callsWithFirst.push(clock.nowMs - startMs);
        return clock.answer(scope, 50, failure('rate_limit', { retryAfterMs: 5000 }));
      }).outcome);
    });
  }
  await clock.run();
  for (const { result } of await Promise.all(outcomes)) assert.equal(result, 'good');
  const [first = 0] = callsWithFirst;
  const inFlight = callsWithFirst.filter((atMs) => atMs <= first + 50).length;
  assert.equal(callsWithFirst.length, inFlight);
});

test('R12: a conversation has one key, in two gateways, and the keys share them evenly', () => {
  const random = createRandom(12);
  const gateways = [createSubject(createLoneClock(() => 0.5)), createSubject(createLoneClock(() => 0.5))];
  const counts = new Map<number, number>();
  for (let conversation = 0; conversation < 10_000; conversation += 1) {
    const hash = random.below(2 ** 32);
    const numbers = new Set<number | undefined>();
    for (let turn = 0; turn < 10; turn += 1) numbers.add(gateways[turn % 2]?.routing.keys.pick(THREE_KEYS, 'm', () => hash, [])?.number);
    assert.equal(numbers.size, 1);
    const [number = 0] = numbers;
    counts.set(number ?? 0, (counts.get(number ?? 0) ?? 0) + 1);
  }
  for (const number of [1, 2, 3]) assert.ok(Math.abs((counts.get(number) ?? 0) - 3333) <= 200, `key ${number}: ${counts.get(number)}`);
});

test('R24: a target that hangs leaves time for the next', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock);
  const startMs = clock.nowMs;
  let answeredAtMs = 0;
  const { outcome } = request(subject, askRoute(ROUTE, PROVIDERS), (attempt) =>
    nameOf(attempt) === 'b'
      ? clock.answer(attempt.scope, 500, 'good')
      : clock.answer(attempt.scope, attempt.attemptMs, failure('unknown', { limit: 'GATEWAY_ATTEMPT_TIMEOUT' })), { deadlineMs: 2000 });
  void outcome.then(() => (answeredAtMs = clock.nowMs - startMs));
  await clock.run();
  assert.equal((await outcome).result, 'good');
  assert.equal(answeredAtMs, 1500);
});

test('the last call that is allowed has all of the time that is left, whoever could still be asked', async () => {
  const route = fakeRoute([fakeTarget('a/m'), fakeTarget('b/m'), fakeTarget('c/m')]);
  for (const [retriesMax, expected] of [[0, [2000]], [1, [1000, 2000]]] as const) {
    const subject = createSubject(createLoneClock(() => 0.5), { retriesMax });
    const limits: number[] = [];
    const { outcome } = request(subject, askRoute(route, PROVIDERS), ({ attemptMs }) => {
      limits.push(Math.min(attemptMs, 2000));
      return Promise.resolve(failure('server'));
    }, { deadlineMs: 2000 });
    await outcome;
    assert.deepEqual(limits, expected);
  }
});

/** Outcome of one request to the route whose targets answer as said, by provider. */
async function outcomeOf(answers: Readonly<Record<string, Failure | 'good'>>, subject = createSubject(createLoneClock(() => 0.5), { retriesMax: 1 }), route = ROUTE) {
  const { outcome, record } = request(subject, askRoute(route, PROVIDERS), (attempt) => Promise.resolve(answers[nameOf(attempt)] ?? 'good'));
  const { candidate, result } = await outcome;
  return { subject, record, served: candidate.provider.name, result };
}

const MOVING: readonly (readonly [what: string, failure: Failure])[] = [
  ['server', failure('server')],
  ['unknown', failure('unknown')],
  ['rate_limit', failure('rate_limit')],
  ['an exhausted quota', failure('rate_limit', { isRetried: false, isQuota: true })],
  ['auth', failure('auth')],
  ['not_found', failure('not_found')],
  ['a request that is too long', failure('bad_request', { isTooLong: true })],
  ['unsupported', failure('unsupported')],
  ['server that wants no retry', failure('server', { isRetried: false })],
];

for (const [what, first] of MOVING) {
  test(`the next target serves after ${what}, and the record says so`, async () => {
    const { served, result, record } = await outcomeOf({ a: first });
    assert.equal(result, 'good');
    assert.equal(served, 'b');
    assert.deepEqual(record.passedOver, [{ provider: 'a', model: 'm', why: first.kind }]);
    assert.deepEqual(record.tried, [{ provider: 'a', model: 'm', outcome: first.kind }, { provider: 'b', model: 'm', outcome: 'success' }]);
    assert.deepEqual([record.provider, record.askedModel, record.modelRoute, record.attempts], ['b', 'm', 'smart', 2]);
  });
}

for (const [what, first] of [
  ['bad_request', failure('bad_request')],
  ['a refusal', failure('refusal')],
  ['a rejected certificate', failure('unknown', { isRetried: false, code: 'CERT_HAS_EXPIRED' })],
  ['a limit of its own', failure('server', { isOwn: true })],
] as const) {
  test(`nobody else is asked after ${what}`, async () => {
    const { served, result, record } = await outcomeOf({ a: first });
    assert.equal(result, first);
    assert.equal(served, 'a');
    assert.equal(record.attempts, 1);
  });
}

test('what a target cannot express is passed over for nothing, and is the failure only where nobody can', async () => {
  const subject = createSubject(createLoneClock(() => 0.5), { retriesMax: 0 });
  const unsupported = failure('unsupported');
  const ask = askRoute(ROUTE, PROVIDERS);
  const [a, b] = ask.candidates;
  assert.ok(b);
  const first = { ...a, call: () => unsupported };
  const served = request(subject, { ...ask, candidates: [first, b] }, () => Promise.resolve('good'));
  assert.equal((await served.outcome).candidate.provider.name, 'b');
  assert.deepEqual(served.record.passedOver, [{ provider: 'a', model: 'm', why: 'unsupported' }]);
  const refused = request(subject, { ...ask, candidates: [first, { ...b, call: () => failure('unsupported') }] }, () => Promise.resolve('good'));
  assert.equal((await refused.outcome).result, unsupported);
  assert.equal(refused.record.attempts, 0);
});

test('R23: of two that fail, kind and status are those of the first, both are named, and the smallest wait is told', async () => {
  const kinds: readonly FailureKind[] = ['auth', 'rate_limit', 'not_found', 'bad_request', 'unsupported', 'refusal', 'server', 'unknown'];
  for (const first of kinds) {
    for (const second of kinds) {
      const a = new Failure(first, `a: ${first}`, { retryAfterMs: 90_000, quotes: ['one'] });
      const b = new Failure(second, `b: ${second}`, { retryAfterMs: 70_000, quotes: ['two'] });
      const { result } = await outcomeOf({ a, b });
      assert.ok(result instanceof Failure);
      assert.equal(result.kind, first);
      assert.equal(result.status, a.status);
      const isFinal = first === 'bad_request' || first === 'refusal';
      assert.equal(result.message, isFinal ? `a: ${first}` : `a: ${first}; then b: ${second}`);
      assert.deepEqual(result.quotes, isFinal ? ['one'] : ['one', 'two']);
      assert.equal(result.retryAfterMs, isFinal ? 90_000 : second === 'rate_limit' || first === 'rate_limit' ? Math.min(70_000, 90_000) : 70_000);
    }
  }
});

test('a target that is out is passed over, and named where the answer comes from another', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  subject.routing.apply({ of: 'target', provider: 'a', model: 'm', to: 'out', cause: 'failures', forMs: 5000 });
  const { record, served } = await outcomeOf({}, subject);
  assert.equal(served, 'b');
  assert.deepEqual(record.passedOver, [{ provider: 'a', model: 'm', why: 'out' }]);
});

test('a request that makes no sense to a target ends there, and its caller is told of who failed before and of that', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  const ask = askRoute(fakeRoute([fakeTarget('a/m'), fakeTarget('b/m'), fakeTarget('c/m')]), PROVIDERS);
  const [a, b, c] = ask.candidates;
  assert.ok(a && b && c);
  const senseless = { ...b, call: () => new Failure('bad_request', 'b cannot be sent this') };
  const { outcome } = request(subject, { ...ask, candidates: [a, senseless, c] }, () => Promise.resolve(failure('server')));
  const { result } = await outcome;
  assert.ok(result instanceof Failure);
  assert.deepEqual([result.kind, result.message], ['server', 'server happened; then b cannot be sent this']);
  assert.deepEqual([...subject.callsAt], [['a/m', 1]]);
});

test('one that is out is asked all the same behind one that does not have the model, where nobody else is left', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  subject.routing.apply({ of: 'target', provider: 'b', model: 'm', to: 'out', cause: 'failures', forMs: 60_000 });
  const { record, served } = await outcomeOf({ a: failure('not_found') }, subject);
  assert.deepEqual([served, record.attempts], ['b', 2]);
});

test('a model that a target does not have puts it out for about a minute, said once', async () => {
  const clock = createLoneClock(() => 0.5);
  const subject = createSubject(clock);
  await outcomeOf({ a: failure('not_found') }, subject);
  await outcomeOf({ a: failure('not_found') }, subject);
  assert.equal(subject.callsAt.get('a/m'), 1);
  assert.deepEqual(subject.transitions, [{ of: 'target', provider: 'a', model: 'm', to: 'out', cause: 'not_found', forMs: 60_000 }]);
  clock.nowMs += 60_000;
  const { served } = await outcomeOf({}, subject);
  assert.equal(served, 'a');
});

test('a stored item or file that a target does not have is its caller\'s doing: the next is asked, and the target stays in', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  const { result } = await outcomeOf({ a: failure('not_found', { isReference: true }) }, subject);
  assert.equal(result, 'good');
  assert.deepEqual(subject.transitions, []);
});

test('a model that does not manage what is asked of it leaves its target in: the next is asked', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  for (let asked = 0; asked < 20; asked += 1) {
    const { result } = await outcomeOf({ a: failure('server', { isUnmet: true }) }, subject);
    assert.equal(result, 'good');
  }
  assert.equal(subject.callsAt.get('a/m'), 20);
  assert.deepEqual(subject.transitions, []);
});

test('the second round waits as a retry does, and begins with the first', async () => {
  const clock = createLoneClock(() => 0.5);
  const subject = createSubject(clock, { retriesMax: 3 });
  const startMs = clock.nowMs;
  const answers = [failure('server'), failure('server'), 'good'] as const;
  let calls = 0;
  const order: string[] = [];
  const { outcome, record } = request(subject, askRoute(ROUTE, PROVIDERS), (attempt) => {
    order.push(nameOf(attempt));
    return Promise.resolve(answers[calls++] ?? 'good');
  });
  assert.equal((await outcome).result, 'good');
  assert.deepEqual(order, ['a', 'b', 'a']);
  assert.equal(clock.nowMs - startMs, 250);
  assert.equal(record.waitedMs, 250);
  assert.deepEqual(record.passedOver, []);
});

test('where every key cools one is asked, and then waited for if that fits', async () => {
  const clock = createLoneClock(() => 0);
  const subject = createSubject(clock);
  const ask = askRoute(fakeRoute([fakeTarget('k/m')]), PROVIDERS);
  for (const key of THREE_KEYS.keys) subject.routing.keys.cool('k', key, 'm', 10_000 - key.number * 1000);
  const startMs = clock.nowMs;
  const numbers: (number | undefined)[] = [];
  const { outcome } = request(subject, ask, ({ key }) => {
    numbers.push(key?.number);
    return Promise.resolve(clock.nowMs - startMs < 7000 ? failure('rate_limit', { retryAfterMs: 7000 }) : 'good');
  });
  assert.equal((await outcome).result, 'good');
  assert.deepEqual(numbers, [3, 3]);
  assert.ok(clock.nowMs - startMs >= 7000 && clock.nowMs - startMs < 7100);
});

test('a wait beyond the cap is not waited for, and told', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  const { outcome, record } = request(subject, askPlain(THREE_KEYS), () => Promise.resolve(failure('rate_limit', { retryAfterMs: 3_600_000 })));
  const { result } = await outcome;
  assert.ok(result instanceof Failure);
  assert.equal(result.retryAfterMs, 3_600_000);
  assert.equal(record.attempts, 3);
  assert.equal(record.retryRefusal, 'retry-after-too-long');
});

test('a rejected key is left alone for five minutes for every model, said once, and the others serve', async () => {
  const clock = createLoneClock(() => 0.5);
  const subject = createSubject(clock);
  const isRejected = ({ key }: Attempt<Candidate>): boolean => key?.number === 2;
  let callsWithSecond = 0;
  for (let conversation = 0; conversation < 300; conversation += 1) {
    const { outcome } = request(subject, askPlain(THREE_KEYS, `m${conversation % 3}`, conversation * 7919), (attempt) => {
      callsWithSecond += isRejected(attempt) ? 1 : 0;
      return Promise.resolve(isRejected(attempt) ? failure('auth') : 'good');
    });
    assert.equal((await outcome).result, 'good');
  }
  assert.equal(callsWithSecond, 1);
  assert.deepEqual(subject.transitions, [{ of: 'key', provider: 'k', key: 'k-key-2', number: 2, model: undefined, to: 'cooling', cause: 'rejected', forMs: 300_000 }]);
  assert.deepEqual([...subject.routing.keys.all()].filter(({ isCooling }) => isCooling), [{ provider: 'k', id: 'k-key-2', number: 2, isCooling: true }]);
});

for (const upstreamStatus of [402, 403]) {
  test(`a key that may not do what one request asks is left alone for that model only: ${upstreamStatus}`, async () => {
    const subject = createSubject(createLoneClock(() => 0.5));
    const isForbidden = (model: string): Promise<unknown> =>
      request(subject, askPlain(THREE_KEYS, model), () => Promise.resolve(failure('auth', { upstreamStatus }))).outcome;
    await isForbidden('others');
    assert.equal(subject.routing.keys.waitMs(THREE_KEYS, 'others'), 300_000);
    assert.equal(subject.routing.keys.waitMs(THREE_KEYS, 'm'), 0);
  });
}

const KEY_OF_A = PROVIDERS.get('a')?.keys[0] ?? assert.fail();
const TOLD = { of: 'key', provider: 'a', key: KEY_OF_A.id, number: 1, to: 'cooling', forMs: 300_000 } as const;

for (const [what, giveUp] of [
  ['rejected', ({ routing }) => routing.keys.rejected('a', KEY_OF_A)],
  ['used up', ({ routing }) => routing.keys.exhausted('a', KEY_OF_A, 'm')],
  ['not allowed', ({ routing }) => routing.keys.forbidden('a', KEY_OF_A, 'm')],
  ['rejected in another process', ({ routing }) => routing.apply({ ...TOLD, model: undefined, cause: 'rejected' })],
  ['used up in another process', ({ routing }) => routing.apply({ ...TOLD, model: 'm', cause: 'quota' })],
] satisfies readonly (readonly [string, (subject: Subject) => void])[]) {
  test(`nobody waits for a key to be tried again that is ${what}`, async () => {
    const clock = createLoneClock(() => 0.5);
    const subject = createSubject(clock);
    giveUp(subject);
    clock.nowMs += 270_000;
    subject.routing.apply({ of: 'target', provider: 'b', model: 'm', to: 'out', cause: 'failures', forMs: 10_000 });
    const { record, result } = await outcomeOf({ b: failure('server') }, subject);
    assert.ok(result instanceof Failure);
    assert.deepEqual([result.kind, result.retryAfterMs, record.waitedMs], ['server', undefined, 0]);
    assert.deepEqual(record.tried.map(({ provider }) => provider), ['b']);
  });
}

test('who rests for its rate is waited for where nobody else is left, as long as its provider says', async () => {
  const clock = createLoneClock(() => 0.5);
  const subject = createSubject(clock);
  subject.routing.keys.cool('a', KEY_OF_A, 'm', 20_000);
  subject.routing.apply({ of: 'target', provider: 'b', model: 'm', to: 'out', cause: 'failures', forMs: 10_000 });
  const { record, served } = await outcomeOf({ b: failure('server') }, subject);
  assert.equal(served, 'a');
  assert.ok(record.waitedMs >= 20_000);
});

test('a target at its places is passed over; where all are, the caller is told to come back', async () => {
  const clock = new VirtualClock();
  const subject = createSubject(clock, { concurrentMax: (provider) => (provider === 'b' ? 1 : undefined) });
  const ask = askRoute(fakeRoute([fakeTarget('a/m', { concurrentMax: 2 }), fakeTarget('b/m')]), PROVIDERS);
  const served: string[] = [];
  const sent = Array.from({ length: 4 }, () => request(subject, ask, (attempt) => {
    served.push(nameOf(attempt));
    return clock.answer(attempt.scope, 1000, 'good');
  }));
  await clock.run();
  assert.deepEqual(served, ['a', 'a', 'b']);
  const { result } = await (sent[3] ?? assert.fail()).outcome;
  assert.ok(result instanceof Failure);
  assert.deepEqual([result.kind, result.status, result.retryAfterMs], ['rate_limit', 429, 1000]);
  assert.equal(result.message, 'the targets of route smart have as many calls in flight as the configuration allows');
  nothingIsHeld(subject);
});

test('an open tool loop stays with its provider, and the next request does not', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  const inLoop = request(subject, askRoute(ROUTE, PROVIDERS, { loopProvider: 'b' }), () => Promise.resolve('good'));
  assert.equal((await inLoop.outcome).candidate.provider.name, 'b');
  assert.equal(inLoop.record.isSticky, true);
  const after = request(subject, askRoute(ROUTE, PROVIDERS), () => Promise.resolve('good'));
  assert.equal((await after.outcome).candidate.provider.name, 'a');
  assert.equal(after.record.isSticky, false);
});

test('conversations are spread by weight, each stays with its target, and moves only while that is out', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  const random = createRandom(44);
  const route = fakeRoute([fakeTarget('a/m', { weight: 3 }), fakeTarget('b/m', { weight: 1 }), fakeTarget('c/m', { weight: 1 })], { isSpread: true });
  const servedBy = async (conversation: number): Promise<string> => {
    const { outcome } = request(subject, askRoute(route, PROVIDERS, { conversation: () => conversation }), () => Promise.resolve('good'));
    return (await outcome).candidate.provider.name;
  };
  const conversations = Array.from({ length: 5000 }, () => random.below(2 ** 32));
  const before = await Promise.all(conversations.map(servedBy));
  const share = (name: string): number => before.filter((served) => served === name).length / before.length;
  assert.ok(Math.abs(share('a') - 0.6) < 0.02, `${share('a')}`);
  assert.ok(Math.abs(share('b') - 0.2) < 0.02, `${share('b')}`);
  subject.routing.apply({ of: 'target', provider: 'b', model: 'm', to: 'out', cause: 'failures', forMs: 5000 });
  const during = await Promise.all(conversations.map(servedBy));
  for (const [index, served] of before.entries()) if (served !== 'b') assert.equal(during[index], served);
  subject.routing.apply({ of: 'target', provider: 'b', model: 'm', to: 'in' });
  assert.deepEqual(await Promise.all(conversations.map(servedBy)), before);
});

test('nothing is asked for another time once the gateway drains, and no probe is sent', async () => {
  const clock = createLoneClock(() => 0.5);
  const subject = createSubject(clock);
  subject.isDraining = true;
  const failed = request(subject, askRoute(ROUTE, PROVIDERS), () => Promise.resolve(failure('server')));
  await failed.outcome;
  assert.equal(failed.record.attempts, 2);
  subject.routing.apply({ of: 'target', provider: 'a', model: 'm', to: 'out', cause: 'failures', forMs: 0 });
  const { served } = await outcomeOf({}, subject);
  assert.equal(served, 'b');
});

test('a stream that breaks after its first event is held against the target, and nobody else is asked', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  for (let index = 0; index < 8; index += 1) {
    const { outcome, record } = request(subject, askRoute(ROUTE, PROVIDERS), () => Promise.resolve(failure('server')), { isStream: true, isTooLate: () => true });
    assert.equal(((await outcome).result as Failure).message, 'server happened');
    assert.equal(record.attempts, 1);
  }
  assert.deepEqual(subject.transitions.map(({ to }) => to), ['out']);
});

test("a limit of the route's is named as the operator named it", async () => {
  const subject = createSubject(createLoneClock(() => 0.5), { retriesMax: 0 });
  const passed = new Failure('unknown', 'x', { limit: 'GATEWAY_ATTEMPT_TIMEOUT' });
  const route = fakeRoute([fakeTarget('a/m', { firstEventTimeoutMs: 3000 })]);
  const { outcome } = request(subject, askRoute(route, PROVIDERS), () => Promise.resolve(passed), { isStream: true });
  const { result } = await outcome;
  assert.ok(result instanceof Failure);
  assert.equal(result.message, 'no complete answer from a within 3000 ms (first_event_timeout)');
  assert.equal(result.limit, 'first_event_timeout');
});

test('of several processes each doubles the time of a target that all of them find out', async () => {
  const clock = createLoneClock(() => 0.5);
  const processes = Array.from({ length: 4 }, () => createSubject(clock));
  const times: number[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const prober = processes[turn] ?? assert.fail();
    for (let index = 0; index < (turn === 0 ? 8 : 1); index += 1) await outcomeOf({ a: failure('server') }, prober);
    const told = prober.transitions.at(-1);
    assert.ok(told?.to === 'out');
    times.push(told.forMs);
    for (const other of processes) if (other !== prober) other.routing.apply(told);
    clock.nowMs += told.forMs;
  }
  assert.deepEqual(times, [5000, 10_000, 20_000, 30_000]);
});

test('what one process finds out of targets and keys another takes over, and tells nobody', async () => {
  const clock = createLoneClock(() => 0.5);
  const one = createSubject(clock);
  const other = createSubject(clock);
  const takeOver = (): void => one.transitions.forEach((transition) => other.routing.apply(transition));
  const key = THREE_KEYS.keys[1] ?? assert.fail();
  for (let index = 0; index < 8; index += 1) await outcomeOf({ a: failure('server') }, one);
  one.routing.keys.rejected('k', key);
  one.routing.keys.cool('k', key, 'm', 400_000);
  takeOver();
  assert.equal((await outcomeOf({}, other)).served, 'b');
  assert.deepEqual([...other.routing.keys.all()], [{ provider: 'k', id: 'k-key-2', number: 2, isCooling: true }]);
  clock.nowMs += 10_000;
  await outcomeOf({}, one);
  takeOver();
  assert.equal((await outcomeOf({}, other)).served, 'a');
  assert.deepEqual(one.transitions.map(({ to }) => to), ['out', 'cooling', 'cooling', 'in']);
  assert.deepEqual(other.transitions, []);
});

test('a target that is out is asked where those that are in have failed twice, and is in again if it serves', async () => {
  const subject = createSubject(createLoneClock(() => 0.5), { retriesMax: 3 });
  subject.routing.apply({ of: 'target', provider: 'b', model: 'm', to: 'out', cause: 'failures', forMs: 30_000 });
  const { served, result, record } = await outcomeOf({ a: failure('server') }, subject);
  assert.deepEqual([served, result], ['b', 'good']);
  assert.deepEqual(record.tried.map(({ provider }) => provider), ['a', 'a', 'b']);
  assert.equal(subject.routing.targets.of(fakeTarget('b/m')).state, 'in');
});

test('where all are out, requests ask one after another, and the first that is well serves everybody from then on', async () => {
  const subject = createSubject(createLoneClock(() => 0.5));
  for (const [provider, forMs] of [['a', 30_000], ['b', 5000]] as const) {
    subject.routing.apply({ of: 'target', provider, model: 'm', to: 'out', cause: 'failures', forMs });
  }
  const served: string[] = [];
  for (let index = 0; index < 4; index += 1) served.push((await outcomeOf({ b: failure('server') }, subject)).served);
  assert.equal(served.filter((name) => name === 'b').length <= 1, true);
  assert.deepEqual(served.slice(1), ['a', 'a', 'a']);
});

test('an answer whose exchange ended while it was read is none, and nobody else is asked', async () => {
  const clock = createLoneClock(() => 0.5);
  for (const end of ['deadline', 'shutdown', 'caller-gone'] as const) {
    const subject = createSubject(clock);
    const scope = new Scope();
    const { outcome, record } = request(subject, askRoute(ROUTE, PROVIDERS), () => {
      scope.end(end);
      return Promise.resolve('good');
    }, { scope });
    const { result } = await outcome;
    assert.ok(result instanceof Failure, end);
    assert.equal(record.attempts, 1);
    nothingIsHeld(subject);
  }
});
