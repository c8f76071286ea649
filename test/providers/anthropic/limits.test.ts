/** Replies that are beyond what the gateway's strict reader takes: whole, or a failure that says so, never a part. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { replyToolCalls } from '../../../src/core/chat.ts';
import type { ChatReply } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { decodeChunks, endOf } from '../../decode-stream.ts';
import { adapter, body } from './fixtures.ts';

const START = '{"type":"message_start","message":{"id":"m","model":"x","content":[]}}';
const ENDING = ['{"type":"message_delta","delta":{"stop_reason":"tool_use"}}', '{"type":"message_stop"}'];

/** An object nested so deep, beside a text of that length. */
function nested(depth: number, textLength = 0): string {
  return `{"x":"${'x'.repeat(textLength)}","a":${'{"a":'.repeat(depth - 1)}1${'}'.repeat(depth - 1)}}`;
}

function callOf(input: string): string {
  return `{"type":"tool_use","id":"t","name":"look","input":${input}}`;
}

function streamed(...events: readonly string[]): ChatReply | Failure {
  return endOf(decodeChunks(adapter, [Buffer.from([...events, ...ENDING].map((event) => `data: ${event}\n\n`).join(''))]));
}

function start(block: string): string {
  return `{"type":"content_block_start","index":0,"content_block":${block}}`;
}

function piece(delta: string): string {
  return `{"type":"content_block_delta","index":0,"delta":${delta}}`;
}

/** Every way in which a call's input reaches the codec. */
const WAYS: readonly (readonly [way: string, decode: (input: string) => ChatReply | Failure])[] = [
  ['in a whole reply', (input) => adapter.decodeChat(body(callOf(input), '"stop_reason":"tool_use"'))],
  ['in pieces', (input) => streamed(START, start(callOf('{}')), ...(input.match(/[^]{1,9000}/g) ?? []).map((part) => piece(JSON.stringify({ type: 'input_json_delta', partial_json: part }))))],
  ['in the start of a block', (input) => streamed(START, start(callOf(input)))],
  ['in the start of a message', (input) => streamed(START.replace('[]', `[${callOf(input)}]`))],
];

function isOwnFailure(outcome: ChatReply | Failure, limit: RegExp): void {
  assert.ok(outcome instanceof Failure);
  assert.match(outcome.message, limit);
  assert.deepEqual([outcome.kind, outcome.isOwn, outcome.isRetried], ['server', true, false]);
}

describe('a call of the model', () => {
  for (const [way, decode] of WAYS) {
    test(`nested 120 deep ${way} is a failure that names the limit`, () => {
      isOwnFailure(decode(nested(120)), /nesting beyond 100 levels/);
      // Long text is looked over before the platform's parser sees it.
      isOwnFailure(decode(nested(120, 100_000)), /nesting beyond 100 levels/);
    });

    test(`with a number of 5,000 digits ${way} is a failure that names the limit`, () => {
      isOwnFailure(decode(`{"a":${'1'.repeat(5000)}}`), /a number of more than 4096 characters/);
      isOwnFailure(decode(`{"a":${'1'.repeat(5000)},"b":"${'b'.repeat(100_000)}"}`), /a number of more than 4096 characters/);
    });

    test(`nested 90 deep ${way} arrives whole`, () => {
      const outcome = decode(nested(90));
      assert.ok(!(outcome instanceof Failure));
      assert.equal(replyToolCalls(outcome)[0]?.arguments.text, nested(90));
    });

    test(`with 40,000 objects ${way} arrives whole`, () => {
      const input = `{"list":[${'{"a":1},'.repeat(39_999)}{"a":1}]}`;
      const outcome = decode(input);
      assert.ok(!(outcome instanceof Failure));
      assert.equal(replyToolCalls(outcome)[0]?.arguments.text, input);
    });
  }
});

test('a citation nested 120 deep is a failure that names the limit, whole and streamed', () => {
  const cited = `{"type":"text","text":"a","citations":[${nested(120)}]}`;
  isOwnFailure(adapter.decodeChat(body(cited)), /nesting beyond 100 levels/);
  isOwnFailure(
    streamed(START, start('{"type":"text","text":"a"}'), piece(`{"type":"citations_delta","citation":${nested(120)}}`)),
    /nesting beyond 100 levels/,
  );
});

test('citations with too many values together are a failure that names the limit', () => {
  const citation = piece(`{"type":"citations_delta","citation":{"a":[${'0,'.repeat(300_000)}0]}}`);
  isOwnFailure(streamed(START, start('{"type":"text","text":"a"}'), citation, citation, citation, citation), /more than 1000000 values/);
});

test('plain text beside what nobody reads arrives, however deep that is', () => {
  const outcome = adapter.decodeChat(body('{"type":"text","text":"a"}', `"stop_reason":"end_turn","extra":${nested(120)}`));
  assert.ok(!(outcome instanceof Failure));
});

test('a call beyond a limit is a failure for a relay too, which takes what is no object as a text', () => {
  const relayed = { ...adapter, createStreamDecoder: () => adapter.createStreamDecoder({ isRelayed: true }) };
  const endFor = (input: string): ChatReply | Failure => {
    const events = [START, start(callOf('{}')), piece(JSON.stringify({ type: 'input_json_delta', partial_json: input })), ...ENDING];
    return endOf(decodeChunks(relayed, events.map((event) => Buffer.from(`data: ${event}\n\n`))));
  };
  isOwnFailure(endFor(nested(120)), /nesting beyond 100 levels/);
  const outcome = endFor('{"a');
  assert.ok(!(outcome instanceof Failure));
  assert.equal(replyToolCalls(outcome)[0]?.arguments.text, '{"input":"{\\"a"}');
});
