import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import { RetryBudget, retryWaitMs } from '../../src/upstream/retry.ts';

const POLICY = { retriesMax: 3, baseDelayMs: 500, maxDelayMs: 1500, retryAfterCapMs: 60_000 };
const FAR_MS = 1e9;
const SERVER = new Failure('server', 'x');
const RATE_LIMIT = new Failure('rate_limit', 'x');
const half = (): number => 0.5;

describe('retryWaitMs', () => {
  test('draws from [0, base · 2^n] for the n-th retry', () => {
    assert.equal(retryWaitMs(0, 0, POLICY, FAR_MS, half), 250);
    assert.equal(retryWaitMs(0, 1, POLICY, FAR_MS, half), 500);
  });

  test('never draws beyond the longest delay', () => {
    assert.equal(retryWaitMs(0, 2, POLICY, FAR_MS, half), 750);
    assert.equal(retryWaitMs(0, 2, POLICY, FAR_MS, () => 0.999), 1498.5);
  });

  test('may wait not at all', () => {
    assert.equal(retryWaitMs(0, 0, POLICY, FAR_MS, () => 0), 0);
  });

  test('waits at least as long as the provider asked when that is longer', () => {
    assert.equal(retryWaitMs(2000, 0, POLICY, FAR_MS, () => 0), 2000);
  });

  test('adds up to a quarter of what the provider asked', () => {
    assert.equal(retryWaitMs(2000, 0, POLICY, FAR_MS, half), 2250);
    assert.equal(retryWaitMs(2000, 0, POLICY, FAR_MS, () => 0.998), 2499);
    assert.equal(retryWaitMs(40_000, 0, POLICY, FAR_MS, half), 45_000);
  });

  test('adds up to 250 ms where a quarter is less', () => {
    assert.equal(retryWaitMs(400, 0, POLICY, FAR_MS, half), 525);
    assert.equal(retryWaitMs(1, 0, POLICY, FAR_MS, () => 0), 1);
  });

  test('keeps its own wait when the provider asked for less', () => {
    const draws = [0.5, 0];
    assert.equal(retryWaitMs(249, 0, POLICY, FAR_MS, () => draws.shift() ?? NaN), 250);
  });

  test('takes the cap for what the provider asked, not for the jitter on top', () => {
    assert.equal(retryWaitMs(60_000, 0, POLICY, FAR_MS, half), 67_500);
  });

  test('takes the deadline for the whole wait', () => {
    assert.equal(retryWaitMs(2000, 0, POLICY, 2250, half), 'deadline');
    assert.equal(retryWaitMs(2000, 0, POLICY, 2251, half), 2250);
  });

  test('refuses when the provider asked for more than the cap', () => {
    assert.equal(retryWaitMs(60_001, 0, POLICY, FAR_MS, half), 'retry-after-too-long');
    assert.equal(retryWaitMs(Infinity, 0, POLICY, FAR_MS, half), 'retry-after-too-long');
  });

  test('refuses once all retries are done', () => {
    assert.equal(retryWaitMs(0, 3, POLICY, FAR_MS, half), 'exhausted');
    assert.equal(retryWaitMs(0, 0, { ...POLICY, retriesMax: 0 }, FAR_MS, half), 'exhausted');
  });

  test('refuses a wait that would reach the deadline', () => {
    assert.equal(retryWaitMs(0, 0, POLICY, 250, half), 'deadline');
    assert.equal(retryWaitMs(0, 0, POLICY, 251, half), 250);
    assert.equal(retryWaitMs(0, 0, POLICY, -1, () => 0), 'deadline');
  });
});

describe('RetryBudget', () => {
  const stopped = (): number => 0;

  test('begins full', () => {
    assert.equal(new RetryBudget(stopped).tokens, 500);
  });

  test('takes 14 tokens for a retry and 5 after rate_limit', () => {
    const budget = new RetryBudget(stopped);
    assert.equal(budget.take(SERVER), true);
    assert.equal(budget.tokens, 486);
    assert.equal(budget.take(RATE_LIMIT), true);
    assert.equal(budget.tokens, 481);
  });

  test('refuses, taking nothing, what it cannot pay', () => {
    const budget = new RetryBudget(stopped);
    let retries = 0;
    while (budget.take(SERVER)) retries += 1;
    assert.equal(retries, 35);
    assert.equal(budget.tokens, 10);
    assert.equal(budget.take(SERVER), false);
    assert.equal(budget.tokens, 10);
  });

  test('takes nothing for a retry with another credential than the one that was refused', () => {
    const budget = new RetryBudget(stopped);
    while (budget.take(SERVER));
    assert.equal(budget.take(new Failure('auth', 'x', { isRetried: true })), true);
    assert.equal(budget.tokens, 10);
    assert.equal(budget.take(new Failure('auth', 'x')), false);
  });

  test('still pays for a cheaper retry when it cannot pay for a dear one', () => {
    const budget = new RetryBudget(stopped);
    while (budget.take(SERVER));
    assert.equal(budget.take(RATE_LIMIT), true);
    assert.equal(budget.take(RATE_LIMIT), true);
    assert.equal(budget.take(RATE_LIMIT), false);
    assert.equal(budget.tokens, 0);
  });

  test('gets 1 token back for a success at the first attempt', () => {
    const budget = new RetryBudget(stopped);
    budget.take(SERVER);
    budget.succeeded(undefined);
    assert.equal(budget.tokens, 487);
  });

  test('gets back what the retry took when that retry succeeds', () => {
    const budget = new RetryBudget(stopped);
    budget.take(RATE_LIMIT);
    budget.take(SERVER);
    budget.succeeded(SERVER);
    assert.equal(budget.tokens, 495);
    budget.succeeded(RATE_LIMIT);
    assert.equal(budget.tokens, 500);
  });

  test('never holds more than 500 tokens', () => {
    let nowMs = 0;
    const budget = new RetryBudget(() => nowMs);
    budget.succeeded(undefined);
    assert.equal(budget.tokens, 500);
    nowMs = 60_000;
    assert.equal(budget.tokens, 500);
  });

  test('regains 10 tokens a second', () => {
    let nowMs = 5000;
    const budget = new RetryBudget(() => nowMs);
    while (budget.take(SERVER));
    nowMs += 300;
    assert.equal(budget.take(SERVER), false);
    nowMs += 100;
    assert.equal(budget.take(SERVER), true);
    assert.equal(budget.tokens, 0);
  });
});
