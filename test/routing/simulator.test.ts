/** What the simulation has to show of the gateway's own loop; `make simulate` prints it beside others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPage } from '../readme.ts';
import { simulateOurLoop } from './simulator.ts';
import type { Figures } from './simulator.ts';
import { randomTrace, TRACES } from './world.ts';
import type { Times, Trace } from './world.ts';

const TIMES: Times = { beginS: 5, endS: 65, lastS: 115 };
/** A hang is known to be one only when attempts have reached their limit, 10 s of traffic later. */
const HANG_TIMES: Times = { beginS: 5, endS: 125, lastS: 175 };
const RATE = 20;

const figuresOf = (trace: Trace, hedgeAfterMs?: number): Promise<Figures> =>
  simulateOurLoop({ trace, times: trace === TRACES.hang ? HANG_TIMES : TIMES, rate: RATE, seed: 5 }, hedgeAfterMs === undefined ? {} : { hedgeAfterMs });

type Bounds = { readonly calls?: number; readonly p99S?: number; readonly onA?: readonly [number, number] };

const HEALTHY_B: readonly (readonly [name: keyof typeof TRACES, Bounds, hedgeAfterMs?: number])[] = [
  ['outage', { calls: 1.05, onA: [0, 0.05] }],
  ['hang', { calls: 1.15, onA: [0, 0.15] }],
  ['hang', { calls: 1.15, p99S: 4 }, 2000],
  ['two fifths', { calls: 1.05, onA: [0, 0.12] }],
  ['tenth', { onA: [0.99, 1.01] }],
  ['flap', { calls: 1.05 }],
  ['limit', { calls: 1.05 }],
];

// All before the first test, with which the runner begins to follow every promise: that would cost half as much again.
const simulated: Figures[] = [];
for (const [name, , hedgeAfterMs] of HEALTHY_B) simulated.push(await figuresOf(TRACES[name], hedgeAfterMs));
const bothDown = await figuresOf(TRACES.both);
const random: Figures[] = [];
for (let seed = 1; seed <= 12; seed += 1) random.push(await simulateOurLoop({ trace: randomTrace(seed), times: { beginS: 1, endS: 91, lastS: 92 }, rate: 10, seed }));

for (const [index, [name, { calls = Infinity, p99S = Infinity, onA = [0, Infinity] }, hedgeAfterMs]] of HEALTHY_B.entries()) {
  test(`where ${TRACES[name].name}${hedgeAfterMs === undefined ? '' : ' and another is asked after 2 s'}, callers are served, at few calls, and the traffic returns`, () => {
    const figures = simulated[index] ?? assert.fail();
    assert.ok(figures.goodShare >= 0.999, JSON.stringify(figures));
    assert.ok(figures.callsPerRequest <= calls, JSON.stringify(figures));
    assert.ok(figures.callsOnAPerRequest >= onA[0] && figures.callsOnAPerRequest <= onA[1], JSON.stringify(figures));
    assert.ok(figures.p99S <= p99S, JSON.stringify(figures));
    assert.ok(figures.backS <= 45, JSON.stringify(figures));
    // Of 20 a second on average, more than 40 come in one second once in ten thousand.
    assert.ok(figures.peakOnA <= 2 * RATE, JSON.stringify(figures));
  });
}

test('where both are down, a request soon makes one call, and the traffic returns', () => {
  assert.equal(bothDown.goodShare, 0);
  assert.ok(bothDown.callsPerRequest <= 1.05, JSON.stringify(bothDown));
  assert.ok(bothDown.backS <= 45, JSON.stringify(bothDown));
});

test('where now one ails and then the other, one of them well at each time, callers are served at few calls', () => {
  // A request may meet both in their bad time, one after the other: a hang takes it from one to the next.
  for (const [index, figures] of random.entries()) {
    assert.ok(figures.goodShare >= 0.9, `seed ${index + 1}: ${JSON.stringify(figures)}`);
    assert.ok(figures.callsPerRequest <= 1.5, `seed ${index + 1}: ${JSON.stringify(figures)}`);
  }
  assert.ok(random.reduce((sum, { goodShare }) => sum + goodShare, 0) / random.length >= 0.98);
});

test('the page shows every trace', () => {
  const [, page = ''] = /<!-- simulated -->\n([^]*)<!-- \/simulated -->/.exec(readPage('src/routing/README.md')) ?? [];
  for (const { name } of Object.values(TRACES)) assert.match(page, new RegExp(`^\\| ${name.replace('+', '\\+')} \\| `, 'm'));
});
