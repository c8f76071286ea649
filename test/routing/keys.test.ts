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

  test('rest a second at first, up to a minute, and a second again after a success', () => {
    const clock = { nowMs: 1000 };
    const { keys, told } = keysAt(clock);
    const rest = (): number => {
      keys.cool('acme', A, 'm', undefined);
      const last = told.at(-1);
      const forMs = last?.of === 'key' ? last.forMs : 0;
      clock.nowMs += forMs;
      return forMs;
    };
    assert.deepEqual(Array.from({ length: 8 }, rest), [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    keys.succeeded('acme', A, 'm');
    assert.equal(rest(), 1000);
    // What was asked before the key rested says nothing of it.
    keys.cool('acme', A, 'm', 5000);
    keys.succeeded('acme', A, 'm');
    assert.equal(keys.pick({ ...ACME, keys: [A] }, 'm', () => 0, []), undefined);
  });

  test('are asked once each, though they could be asked again, and none is waited for where none is needed', () => {
    const { keys } = keysAt({ nowMs: 0 });
    const first = keys.pick(ACME, 'm', () => 7, []);
    assert.ok(first);
    const others = KEYS.filter((key) => key !== first);
    assert.ok(others.some((key) => key === keys.pick(ACME, 'm', () => 7, [first])));
    assert.equal(keys.pick(ACME, 'm', () => 7, KEYS), undefined);
    assert.equal(keys.pick({ ...ACME, keys: [A] }, 'm', () => 7, [A]), undefined);
    assert.deepEqual([keys.waitMs({ ...ACME, keys: [] }, 'm'), keys.promisedWaitMs({ ...ACME, keys: [] }, 'm')], [0, 0]);
  });

  test('rest as another process says, for one model or for all, and are given up only where that did', () => {
    const { keys } = keysAt({ nowMs: 0 });
    const only = { ...ACME, keys: [A] };
    const heard = { of: 'key', provider: 'acme', key: 'a', number: 1, to: 'cooling', forMs: 9000 } as const;
    keys.apply({ ...heard, model: 'm', cause: 'rate_limit' });
    assert.deepEqual([keys.waitMs(only, 'm'), keys.promisedWaitMs(only, 'm'), keys.waitMs(only, 'n')], [9000, 9000, 0]);
    assert.deepEqual([...keys.all()].map(({ isCooling }) => isCooling), [true]);
    keys.apply({ ...heard, model: 'm', cause: 'quota' });
    assert.deepEqual([keys.waitMs(only, 'm'), keys.promisedWaitMs(only, 'm'), keys.waitMs(only, 'n')], [9000, Infinity, 0]);
    keys.apply({ ...heard, model: undefined, cause: 'rejected' });
    assert.deepEqual([keys.waitMs(only, 'n'), keys.promisedWaitMs(only, 'n')], [9000, Infinity]);
  });

  test('forget the oldest of more keys than are kept', () => {
    const { keys } = keysAt({ nowMs: 0 });
    for (let key = 0; key <= 4096; key += 1) keys.rejected('acme', { id: `k${key}`, number: 1 });
    const known = [...keys.all()].map(({ id }) => id);
    assert.deepEqual([known.length, known[0], known.at(-1)], [4096, 'k1', 'k4096']);
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
