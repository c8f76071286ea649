/** Replies that are beyond what the gateway's strict reader takes: whole, or a failure that says so, never a part. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replyToolCalls } from '../../../src/core/chat.ts';
import type { ChatReply } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { endOf } from '../../decode-stream.ts';
import { adapter, deltasOf } from './fixtures.ts';

function nested(depth: number, textLength = 0): string {
  return `{"x":"${'x'.repeat(textLength)}","a":${'{"a":'.repeat(depth - 1)}1${'}'.repeat(depth - 1)}}`;
}

function bodyOf(args: string): string {
  return `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"t","name":"look","args":${args}}}]},"finishReason":"STOP"}]}`;
}

function isOwnFailure(outcome: ChatReply | Failure, limit: RegExp): void {
  assert.ok(outcome instanceof Failure);
  assert.match(outcome.message, limit);
  assert.deepEqual([outcome.kind, outcome.isOwn, outcome.isRetried], ['server', true, false]);
}

for (const [way, decode] of [
  ['in a whole reply', (args: string) => adapter.decodeChat(bodyOf(args))],
  ['in a frame', (args: string) => endOf(deltasOf([bodyOf(args)]))],
  ['in an array of pieces', (args: string) => endOf(deltasOf([`[${bodyOf(args)}]`]))],
] as const) {
  test(`a call nested 120 deep ${way} is a failure that names the limit`, () => {
    isOwnFailure(decode(nested(120)), /nesting beyond 100 levels/);
    isOwnFailure(decode(nested(120, 100_000)), /nesting beyond 100 levels/);
  });

  test(`a call nested 90 deep ${way} arrives whole`, () => {
    const outcome = decode(nested(90));
    assert.ok(!(outcome instanceof Failure));
    assert.equal(replyToolCalls(outcome)[0]?.arguments.text, nested(90));
  });

  test(`a call with 40,000 objects ${way} arrives whole`, () => {
    const args = `{"list":[${'{"a":1},'.repeat(39_999)}{"a":1}]}`;
    const outcome = decode(args);
    assert.ok(!(outcome instanceof Failure));
    assert.equal(replyToolCalls(outcome)[0]?.arguments.text, args);
  });
}

function inPieces(...pieces: readonly { readonly jsonPath: string; readonly numberValue: number }[]): ChatReply | Failure {
  const functionCall = { name: 'look', partialArgs: pieces };
  return adapter.decodeChat(JSON.stringify({ candidates: [{ content: { parts: [{ functionCall }] }, finishReason: 'STOP' }] }));
}

test('a call in pieces of which one is nested beyond the limit is a failure that names it', () => {
  const deepest = inPieces({ jsonPath: `$${'.a'.repeat(100)}`, numberValue: 1 });
  assert.ok(!(deepest instanceof Failure));
  assert.equal(replyToolCalls(deepest)[0]?.arguments.text, `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`);
  isOwnFailure(inPieces({ jsonPath: `$${'.a'.repeat(101)}`, numberValue: 1 }), /nesting beyond 100 levels/);
});

test('a call in short pieces that make too many values is a failure that names the limit', () => {
  const pieces = Array.from({ length: 11_000 }, (_, index) => ({ jsonPath: `$.k${index}${'.a'.repeat(98)}`, numberValue: 1 }));
  isOwnFailure(inPieces(...pieces), /more than 1000000 values/);
  assert.ok(!(inPieces(...pieces.slice(0, 9000)) instanceof Failure));
});

test('an array nested beyond the limit is a failure that names it', () => {
  isOwnFailure(adapter.decodeChat(`[${'['.repeat(200)}${']'.repeat(200)}]`), /nesting beyond 100 levels/);
});

test('frames of which a slice is kept count as a whole, others by their text', () => {
  const mebi = 'x'.repeat(1024 * 1024);
  const frameOf = (part: object): string => JSON.stringify({ candidates: [{ content: { parts: [part, part] } }], mebi });
  for (const part of [{ functionCall: { name: 'look', args: {} } }, { executableCode: { code: '1' } }]) {
    isOwnFailure(endOf(deltasOf(Array.from({ length: 32 }, () => frameOf(part)))), /longer than 33554432 characters/);
  }
  const texts = Array.from({ length: 33 }, () => frameOf({ text: 'a' }));
  assert.ok(!(endOf(deltasOf([...texts, '{"candidates":[{"finishReason":"STOP"}]}'])) instanceof Failure));
});

test('more than 128 calls are no failure', () => {
  const part = '{"functionCall":{"name":"look","args":{}}}';
  const outcome = adapter.decodeChat(`{"candidates":[{"content":{"parts":[${`${part},`.repeat(199)}${part}]},"finishReason":"STOP"}]}`);
  assert.ok(!(outcome instanceof Failure));
  assert.equal(replyToolCalls(outcome).length, 200);
});

test('a blank frame and a [DONE] are passed over, wherever they come, and are no ending', () => {
  const text = (finish: string): string => `{"candidates":[{"content":{"parts":[{"text":"a"}]}${finish}}]}`;
  const outcome = endOf(deltasOf(['', '[DONE]', text(''), ' ', text(',"finishReason":"STOP"'), '', '[DONE]']));
  assert.ok(!(outcome instanceof Failure));
  assert.deepEqual(outcome.parts, [{ type: 'text', text: 'aa', state: undefined }]);
  assert.ok(endOf(deltasOf([text(''), '[DONE]'])) instanceof Failure);
});
