/** A provider that fails entirely, and comes back: the load on it stays near its callers' own. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import { GOOD_REPLY, answerJson, inParallel, samplesOf, startUpstream } from './upstream.ts';

/** Retries that the whole budget pays for: 500 tokens at 14 each, or at 5 after a rate limit. */
const OUTAGES = [
  { status: 503, kind: 'server', answered: 502, paidRetries: 35 },
  { status: 429, kind: 'rate_limit', answered: 429, paidRetries: 100 },
] as const;

for (const { status, kind, answered, paidRetries } of OUTAGES) {
  test(`an outage with ${status} costs at most 1.1 attempts a request once the retry budget is spent, and other providers nothing`, async (t) => {
    let isDown = true;
    const upstream = await startUpstream(t, (response) => {
      if (isDown) answerJson(response, status, '{"error":{"message":"down"}}');
      else answerJson(response, 200, GOOD_REPLY);
    });
    const gateway = await startGateway(t, { OPENAI_BASE_URL: upstream.origin });
    const request = { provider: 'openai', model: 'm', messages: [user('x')] };
    const failRequests = (count: number): Promise<void> =>
      inParallel(count, 50, async () => {
        const reply = await gateway.chat(request);
        assert.deepEqual([reply.status, reply.body.kind], [answered, kind]);
      });

    await failRequests(100);
    const warmUpCalls = upstream.calls();
    assert.ok(warmUpCalls >= 100 + paidRetries, `${warmUpCalls} calls for the first 100 requests`);
    await failRequests(900);
    const attemptsEach = (upstream.calls() - warmUpCalls) / 900;
    assert.ok(attemptsEach <= 1.1, `${attemptsEach} attempts a request`);
    const refusals = await samplesOf(gateway, 'gateway_upstream_retry_refusals_total');
    assert.ok(refusals.some((sample) => Number(/^\{provider="openai",reason="budget"\} (\d+)$/.exec(sample)?.[1]) > 800), refusals.join(' '));

    // Another provider still has its own budget: two failures before its success are retried.
    const other = await gateway.chat({ provider: 'anthropic', model: 'fake-flaky-2', messages: [user('x')] });
    assert.equal(other.status, 200);
    assert.equal(gateway.sandbox.calls.length, 3);

    // A first attempt is never held back, so the first request after the recovery succeeds.
    isDown = false;
    const before = upstream.calls();
    assert.equal((await gateway.chat(request)).status, 200);
    assert.equal(upstream.calls(), before + 1);
  });
}

test('a budget that was spent pays again once the provider is well', async (t) => {
  let isDown = true;
  const flaky = new Set<string>();
  const upstream = await startUpstream(t, (response, _request, body) => {
    if (isDown || !flaky.has(body)) answerJson(response, 503, '{}');
    else answerJson(response, 200, GOOD_REPLY);
    flaky.add(body);
  });
  const gateway = await startGateway(t, { OPENAI_BASE_URL: upstream.origin });
  const chat = (text: string) => gateway.chat({ provider: 'openai', model: 'm', messages: [user(text)] });
  await inParallel(100, 20, async () => void (await chat('down')));
  isDown = false;
  // Each success gives one token back, and a retry takes 14.
  for (let success = 0; success < 14; success += 1) assert.equal((await chat('down')).status, 200);
  assert.equal((await chat('fails once')).status, 200);
});
