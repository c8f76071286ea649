/** Whose a stream is, on a cloud that serves several formats. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Adapter } from '../../src/core/adapter.ts';
import { Failure } from '../../src/core/failure.ts';
import { BEDROCK_ROW } from '../../src/providers/bedrock/adapter.ts';
import { VERTEX_ROW } from '../../src/providers/vertex/adapter.ts';
import { decodeChunks, endOf } from '../decode-stream.ts';

const CLOUDS = [
  BEDROCK_ROW.createAdapter('bedrock'),
  VERTEX_ROW.createAdapter('vertex', { openAiApi: 'auto', project: { id: 'p1', location: 'europe-west4' } }),
];

const MESSAGES = [
  '{"type":"message_start","message":{"id":"m","model":"said","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}',
  '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}',
  '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}',
  '{"type":"message_stop"}',
];
const CHAT = ['{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}],"model":"said"}', '[DONE]'];
const GENERATED = ['{"responseId":"r","modelVersion":"said"}', '{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}'];

function ending(adapter: Adapter, text: string): string {
  const end = endOf(decodeChunks(adapter, [Buffer.from(text)]));
  return end instanceof Failure ? end.message : `${end.model}: ${end.stopReason}`;
}

function nameless(datas: readonly string[]): string {
  return datas.map((data) => `data: ${data}\n\n`).join('');
}

test('events that are no format\'s own are passed over until one says whose the stream is', () => {
  const silent = ['event: ping\ndata: {"type":"ping"}\n\n', 'event: keepalive\ndata: {"type":"keepalive"}\n\n', 'data: {}\n\n', 'data: {"new":1}\n\n', 'data:\n\n'];
  for (const adapter of CLOUDS) {
    for (const answer of [MESSAGES, CHAT, ...(adapter === CLOUDS[1] ? [GENERATED] : [])]) {
      assert.equal(ending(adapter, nameless(answer)), 'said: end_turn');
      for (const first of silent) assert.equal(ending(adapter, first + nameless(answer)), 'said: end_turn', first + nameless(answer));
    }
  }
});

test('an event of Messages says so by its name where its data does not', () => {
  const named = MESSAGES.map((data) => data.replace(/^\{"type":"(\w+)",?/, (_, type) => `event: ${type}\ndata: {`)).join('\n\n');
  for (const adapter of CLOUDS) assert.equal(ending(adapter, `${named}\n\n`), 'said: end_turn');
});

test('what is no event, an error, and a stream of nothing that is known are failures', () => {
  for (const adapter of CLOUDS) {
    for (const first of ['data: words\n\n', 'event: error\ndata: {"error":{"message":"x"}}\n\n', 'data: {"error":{"message":"x","code":500}}\n\n', 'data: {"type":"error","error":{"type":"api_error"}}\n\n']) {
      for (const answer of [MESSAGES, CHAT]) assert.match(ending(adapter, first + nameless(answer)), /answered 200, but|failed on its side/, first);
    }
    assert.match(ending(adapter, 'data: {"new":1}\n\ndata: [DONE]\n\n'), /ended the stream before the answer was complete/);
  }
});
