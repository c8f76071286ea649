/** Targets: what is told when one goes out or comes back, what another process says of one, and how many are kept. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TargetHealth, Targets } from '../../src/routing/health.ts';
import type { Transition } from '../../src/routing/transition.ts';

const TARGET = { provider: 'p', model: 'm' };
const OUT = { of: 'target', ...TARGET, to: 'out' } as const;

/** Times are spread by nothing. */
function subject(): { readonly target: TargetHealth; readonly told: Transition[]; wait(ms: number): void } {
  let nowMs = 1_000_000;
  const told: Transition[] = [];
  const target = new TargetHealth(TARGET, { now: () => nowMs, random: () => 0.5 }, (transition) => told.push(transition));
  return { target, told, wait: (ms) => void (nowMs += ms) };
}

function fail(target: TargetHealth, times = 1): void {
  for (let time = 0; time < times; time += 1) {
    const asked = target.ask();
    target.failed(asked);
    target.done(asked);
  }
}

test('a target says that it went out, by failures or by its probe, and that it is back', () => {
  const { target, told, wait } = subject();
  fail(target, 8);
  wait(5000);
  fail(target);
  wait(10_000);
  target.succeeded(target.ask());
  assert.deepEqual(told, [{ ...OUT, cause: 'failures', forMs: 5000 }, { ...OUT, cause: 'probe', forMs: 10_000 }, { of: 'target', ...TARGET, to: 'in' }]);
});

test('a target without its model is out for a minute, and says so once', () => {
  const { target, told, wait } = subject();
  target.gone();
  wait(1000);
  target.gone();
  assert.deepEqual(told, [{ ...OUT, cause: 'not_found', forMs: 60_000 }]);
  assert.equal(target.leftMs, 60_000);
});

test('a target is out as another process says, tells nobody, and is out for longer after failures alone', () => {
  for (const [cause, nextMs] of [['not_found', 5000], ['failures', 10_000], ['probe', 10_000]] as const) {
    const { target, told, wait } = subject();
    target.apply({ ...OUT, cause, forMs: 30_000 });
    assert.deepEqual([target.leftMs, told], [30_000, []]);
    wait(30_000);
    fail(target);
    assert.equal(target.leftMs, nextMs, cause);
  }
});

test('a target that is in stays as it is where another process says that it is in', () => {
  const { target } = subject();
  fail(target, 7);
  target.apply({ of: 'target', ...TARGET, to: 'in' });
  fail(target);
  assert.ok(target.isOut);
  target.apply({ of: 'target', ...TARGET, to: 'in' });
  assert.equal(target.state, 'in');
});

test('Targets forget the oldest of more than are kept', () => {
  const targets = new Targets({ now: () => 0, random: () => 0.5 }, () => undefined);
  for (let model = 0; model <= 4096; model += 1) targets.of({ provider: 'p', model: `m${model}` });
  assert.deepEqual([[...targets.all].length, targets.find({ provider: 'p', model: 'm0' }), targets.find({ provider: 'p', model: 'm1' })?.model], [4096, undefined, 'm1']);
});
