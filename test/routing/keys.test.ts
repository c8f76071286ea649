/** Keys of a provider: which rest, for how long, and what is told of it. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from '../../src/base/secret.ts';
import { Keys } from '../../src/routing/keys.ts';
import type { Transition } from '../../src/routing/transition.ts';

const KEYS = ['a', 'b', 'c'].map((id, index) => ({ id, number: index + 1, secret: new Secret(`sk-${id}`) }));
const [A, B, C] = KEYS as [(typeof KEYS)[number], (typeof KEYS)[number], (typeof KEYS)[number]];
const ACME = { name: 'acme', keys: KEYS };

/** Times are spread by nothing, and waits that a provider asks for are obeyed up to a minute. */
function keysAt(clock: { nowMs: number }): { readonly keys: Keys; readonly told: Transition[] } {
  const told: Transition[] = [];
  return { keys: new Keys({ now: () => clock.nowMs, random: () => 0.5 }, 60_000, (transition) => told.push(transition)), told };
}

describe('Keys', () => {
  test('tell once of a quota that is used up, also where the key rests for its rate already', () => {
    const clock = { nowMs: 1000 };
    const { keys, told } = keysAt(clock);
    keys.cool('acme', A, 'm', 20_000);
    keys.exhausted('acme', A, 'm');
    keys.exhausted('acme', A, 'm');
    assert.deepEqual(told.map((transition) => transition.of === 'key' && [transition.cause, transition.forMs]), [['rate_limit', 20_000], ['quota', 300_000]]);
    const only = { ...ACME, keys: [A] };
    assert.deepEqual([keys.waitMs(only, 'm'), keys.promisedWaitMs(only, 'm'), keys.promisedWaitMs(ACME, 'm')], [300_000, Infinity, 0]);
    clock.nowMs += 300_000;
    assert.deepEqual([keys.waitMs(only, 'm'), keys.promisedWaitMs(only, 'm')], [0, 0]);
  });

  test('take what several calls in flight met for one event, and rest twice as long for the next', () => {
    const clock = { nowMs: 1000 };
    const { keys, told } = keysAt(clock);
    for (let call = 0; call < 3; call += 1) keys.cool('acme', A, 'm', undefined);
    const [first] = told;
    assert.ok(first?.of === 'key');
    const restMs = first.forMs;
    clock.nowMs += restMs - 1;
    assert.equal(keys.pick({ ...ACME, keys: [A] }, 'm', () => 0, []), undefined);
    clock.nowMs += 1;
    assert.equal(keys.pick({ ...ACME, keys: [A] }, 'm', () => 0, []), A);
    keys.cool('acme', A, 'm', undefined);
    const of = { of: 'key', provider: 'acme', key: 'a', number: 1, model: 'm', to: 'cooling', cause: 'rate_limit' };
    assert.deepEqual(told, [{ ...of, forMs: restMs }, { ...of, forMs: 2 * restMs }]);
  });

  test('say which of them is used again first, wherever it stands', () => {
    for (const [soonest, waitsMs] of [[A, [5, 9, 7]], [B, [9, 5, 7]], [C, [9, 7, 5]]] as const) {
      const { keys } = keysAt({ nowMs: 0 });
      for (const [index, key] of KEYS.entries()) keys.cool('acme', key, 'm', waitsMs[index]);
      assert.equal(keys.soonest(ACME, 'm'), soonest);
      assert.equal(keys.waitMs(ACME, 'm'), 5);
    }
  });

  test('forget the oldest of more models than are kept', () => {
    const { keys } = keysAt({ nowMs: 0 });
    for (let model = 0; model <= 256; model += 1) keys.cool('acme', A, `m${model}`, 50_000);
    const picked = ['m0', 'm1', 'm256'].map((model) => keys.pick({ ...ACME, keys: [A] }, model, () => 0, []));
    assert.deepEqual(picked, [A, undefined, undefined]);
  });
});
