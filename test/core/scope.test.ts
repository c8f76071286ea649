import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scope, TIMER_MS_MAX } from '../../src/core/scope.ts';

test('Scope lives until it is ended', () => {
  const scope = new Scope();
  assert.equal(scope.ended, undefined);
  scope.end('caller-gone');
  assert.equal(scope.ended, 'caller-gone');
});

test('Scope keeps the first reason', () => {
  const scope = new Scope();
  scope.end('deadline');
  scope.end('shutdown');
  assert.equal(scope.ended, 'deadline');
});

test('Scope tells the one who waits once, before end returns, with the reason set', () => {
  const scope = new Scope();
  const told: unknown[] = [];
  scope.onEnd(() => told.push(scope.ended));
  scope.end('caller-stalled');
  scope.end('deadline');
  assert.deepEqual(told, ['caller-stalled']);
});

test('Scope tells only the last who asked', () => {
  const scope = new Scope();
  const told: string[] = [];
  scope.onEnd(() => told.push('first'));
  scope.onEnd(() => told.push('second'));
  scope.end('deadline');
  assert.deepEqual(told, ['second']);
});

test('Scope tells nobody once the wait is over', () => {
  const scope = new Scope();
  scope.onEnd(() => assert.fail('told'));
  scope.onEnd(undefined);
  scope.end('deadline');
});

test('Scope tells at once when it has ended already', () => {
  const scope = new Scope();
  scope.end('shutdown');
  let told = 0;
  scope.onEnd(() => (told += 1));
  scope.onEnd(undefined);
  assert.equal(told, 1);
});

test('Scope lets the one it tells ask again', () => {
  const scope = new Scope();
  const told: string[] = [];
  scope.onEnd(() => {
    told.push('first');
    scope.onEnd(() => told.push('second'));
  });
  scope.end('deadline');
  assert.deepEqual(told, ['first', 'second']);
});

test('Scope.sleep resolves true after the time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const scope = new Scope();
  let slept: boolean | undefined;
  const sleep = scope.sleep(100).then((value) => (slept = value));
  t.mock.timers.tick(99);
  await Promise.resolve();
  assert.equal(slept, undefined);
  t.mock.timers.tick(1);
  await sleep;
  assert.equal(slept, true);
});

test('Scope.sleep frees the slot when it is over', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const scope = new Scope();
  const sleep = scope.sleep(100);
  t.mock.timers.tick(100);
  assert.equal(await sleep, true);
  scope.end('deadline');
  assert.equal(scope.ended, 'deadline');
});

test('Scope.sleep resolves false as soon as the scope ends, and leaves no timer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const cleared = t.mock.method(globalThis, 'clearTimeout');
  const scope = new Scope();
  const sleep = scope.sleep(100);
  scope.end('caller-gone');
  assert.equal(await sleep, false);
  assert.equal(cleared.mock.callCount(), 1);
});

test('Scope.sleep resolves false at once when the scope has ended', async () => {
  const scope = new Scope();
  scope.end('deadline');
  assert.equal(await scope.sleep(TIMER_MS_MAX), false);
});

test('Scope.sleep never asks for a longer timer than the platform has', (t) => {
  const timer = t.mock.method(globalThis, 'setTimeout');
  const scope = new Scope();
  void scope.sleep(2 ** 40);
  scope.end('deadline');
  assert.deepEqual(timer.mock.calls.map((call) => call.arguments[1]), [2 ** 31 - 1]);
});
