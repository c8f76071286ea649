import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scope } from '../../src/core/scope.ts';
import { AttemptWatch } from '../../src/upstream/attempt-watch.ts';

test('a connection that stands only after the limit of its attempt is given up at once, by a timer that no version of Node warns of', (t) => {
  const asked: (number | undefined)[] = [];
  t.mock.method(globalThis, 'setTimeout', (_callback: () => void, ms?: number) => void asked.push(ms));
  const watch = new AttemptWatch('acme', new Scope(), { connectMs: 1, attemptMs: 0, idleMs: undefined });
  for (const beganAtMs = performance.now(); performance.now() === beganAtMs; );
  watch.startConnectLimit();
  watch.startAttemptLimit();
  assert.deepEqual(asked, [0, 0]);
});

test('what was waited before the connection counts towards the attempt', (t) => {
  const asked: number[] = [];
  t.mock.method(globalThis, 'setTimeout', (_callback: () => void, ms = NaN) => void asked.push(ms));
  const watch = new AttemptWatch('acme', new Scope(), { connectMs: 9000, attemptMs: 60_000, idleMs: undefined, startedAtMs: performance.now() - 55_000 });
  watch.startConnectLimit();
  watch.startAttemptLimit();
  assert.equal(asked.length, 2);
  assert.ok(asked.every((ms) => ms > 0 && ms <= 5000), `waits ${asked.join(' and ')}`);
});
