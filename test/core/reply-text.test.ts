import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFiller, oversizedReply, unreadableReply } from '../../src/core/reply-text.ts';

test('isFiller is true of blank frames and of [DONE], and of nothing else', () => {
  for (const data of ['', ' ', '\n\t', '[DONE]', ' [DONE] ']) assert.equal(isFiller(data), true, data);
  for (const data of ['{}', '[]', 'DONE', '[done]', '"[DONE]"', '[DONE] {}']) assert.equal(isFiller(data), false, data);
});

test("unreadableReply names the limit that the text passed, as the gateway's own doing", () => {
  const failure = unreadableReply('p', '['.repeat(120), 'it is no object');
  assert.equal(failure.message, "p answered 200, but with nesting beyond 100 levels, which is the gateway's limit for a reply");
  assert.deepEqual([failure.kind, failure.isOwn, failure.isRetried, failure.upstreamStatus], ['server', true, false, 200]);
});

test("unreadableReply of other text is the provider's failure, to be retried", () => {
  for (const text of ['', '<html>', '{"a":', '7']) {
    const failure = unreadableReply('p', text, 'it is no object');
    assert.equal(failure.message, 'p answered 200, but it is no object');
    assert.deepEqual([failure.kind, failure.isOwn, failure.isRetried], ['server', false, true]);
  }
});

test('oversizedReply is never retried', () => {
  assert.equal(oversizedReply('p', 'too much').isRetried, false);
});
