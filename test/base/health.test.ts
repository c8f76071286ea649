import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Health } from '../../src/base/health.ts';
import type { HealthRules } from '../../src/base/health.ts';

const RULES: HealthRules = { failurePoints: 2, successPoints: 1, outAt: 16, inAt: 8, outMs: 5000, outMsMax: 30_000, calmMs: 60_000 };

function subject(rules = RULES): { readonly health: Health; wait(ms: number): void } {
  let nowMs = 1_000_000;
  const health = new Health(rules, { now: () => nowMs, random: () => 0.5 });
  return { health, wait: (ms) => void (nowMs += ms) };
}

function ask(health: Health, isGood: boolean): boolean {
  const asked = health.ask();
  const hasChanged = isGood ? health.succeeded(asked) : health.failed(asked);
  health.done(asked);
  return hasChanged;
}

function fail(health: Health, times: number): boolean[] {
  return Array.from({ length: times }, () => ask(health, false));
}

test('Health goes out at the eighth failure in a row, and only there says so', () => {
  const { health } = subject();
  assert.deepEqual(fail(health, 8), [false, false, false, false, false, false, false, true]);
  assert.equal(health.state, 'out');
  assert.equal(health.leftMs, 5000);
});

test('Health never goes out while two of three succeed', () => {
  const { health } = subject();
  for (let round = 0; round < 1000; round += 1) {
    ask(health, false);
    ask(health, true);
    ask(health, true);
  }
  assert.equal(health.state, 'in');
  assert.deepEqual(fail(health, 8), [false, false, false, false, false, false, false, true]);
});

test('Health lets one probe through when its time is over, and the next only when that one is done', () => {
  const { health, wait } = subject();
  fail(health, 8);
  wait(4999);
  assert.equal(health.ask(), 'anyway');
  wait(1);
  assert.equal(health.state, 'due');
  const probe = health.ask();
  assert.equal(probe, 'probe');
  assert.equal(health.state, 'probed');
  assert.equal(health.ask(), 'anyway');
  health.done(probe);
  assert.equal(health.ask(), 'probe');
});

test('Health keeps its one probe, and its time, whatever becomes of who was asked anyway', () => {
  const { health, wait } = subject();
  fail(health, 8);
  const anyway = health.ask();
  wait(5000);
  assert.equal(health.failed(anyway), false);
  assert.equal(health.state, 'due');
  health.ask();
  health.done(anyway);
  assert.equal(health.state, 'probed');
});

test('Health of which several probes have begun goes out once when they all fail', () => {
  const { health, wait } = subject();
  fail(health, 8);
  wait(5000);
  const probes = [1, 2, 3].map(() => {
    const asked = health.ask();
    health.done(asked);
    return asked;
  });
  assert.deepEqual(probes.map((asked) => health.failed(asked)), [true, false, false]);
  assert.equal(health.leftMs, 10_000);
});

test('Health comes back on probation: four failures and it is out again', () => {
  const { health, wait } = subject();
  fail(health, 8);
  wait(5000);
  assert.equal(ask(health, true), true);
  assert.equal(health.state, 'in');
  assert.deepEqual(fail(health, 4), [false, false, false, true]);
});

test('Health doubles its time with each failed probe up to its bound, and begins anew after a calm', () => {
  const { health, wait } = subject();
  fail(health, 8);
  const times = [health.leftMs];
  for (let probe = 0; probe < 4; probe += 1) {
    wait(health.leftMs);
    assert.equal(ask(health, false), true);
    times.push(health.leftMs);
  }
  assert.deepEqual(times, [5000, 10_000, 20_000, 30_000, 30_000]);
  wait(60_001);
  ask(health, true);
  fail(health, 4);
  assert.equal(health.leftMs, 5000);
});

test('Health doubles its time also with the probes of others, and counts once what both saw', () => {
  const { health, wait } = subject();
  fail(health, 8);
  health.failedElsewhere(4000);
  assert.equal(health.leftMs, 5000);
  wait(5000);
  health.failedElsewhere(10_000);
  assert.equal(health.leftMs, 10_000);
  wait(10_000);
  assert.equal(ask(health, false), true);
  assert.equal(health.leftMs, 20_000);
  wait(60_001);
  health.failedElsewhere(0);
  assert.equal(ask(health, false), true);
  assert.equal(health.leftMs, 10_000);
});

test('Health takes no word from who was asked before it went out, and any success from who was asked after', () => {
  const { health, wait } = subject();
  const early = health.ask();
  fail(health, 8);
  assert.equal(health.succeeded(early), false);
  const { leftMs } = health;
  wait(1000);
  const anyway = health.ask();
  assert.equal(health.failed(anyway), false);
  assert.equal(health.leftMs, leftMs - 1000);
  assert.equal(health.succeeded(anyway), true);
  assert.equal(health.state, 'in');
});

test('Health never ends a time earlier than it said', () => {
  const { health } = subject();
  health.goOut(60_000);
  health.goOut(1000);
  assert.equal(health.leftMs, 60_000);
  assert.equal(health.state, 'out');
});

test('Health counts three failures in a row where a success forgives all', () => {
  const { health } = subject({ failurePoints: 1, successPoints: 3, outAt: 3, inAt: 0, outMs: 1000, outMsMax: 30_000, calmMs: 60_000 });
  fail(health, 2);
  ask(health, true);
  assert.deepEqual(fail(health, 3), [false, false, true]);
});

test('Health spreads its times by a fifth to either side', () => {
  for (const [random, leftMs] of [[0, 4000], [0.999999, 6000]] as const) {
    const health = new Health(RULES, { now: () => 0, random: () => random });
    fail(health, 8);
    assert.equal(Math.round(health.leftMs), leftMs);
  }
});
