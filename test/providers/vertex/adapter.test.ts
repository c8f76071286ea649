/** Which of its formats Vertex is asked in, below which path. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { VERTEX_ROW } from '../../../src/providers/vertex/adapter.ts';
import { sentText } from '../../sent-text.ts';
import { encode, payload, requestOf } from '../../loops/codecs.ts';

const adapter = VERTEX_ROW.createAdapter('vertex', { openAiApi: 'auto', project: { id: 'p1', location: 'europe-west4' } });
const express = VERTEX_ROW.createAdapter('vertex');
const PLACE = '/projects/p1/locations/europe-west4';

test('a model is asked in the format of its vendor, below the path of project and location', () => {
  const pathOf = (model: string): string => encode(adapter, requestOf({ model })).path;
  assert.equal(pathOf('gemini-3-pro'), `/v1beta1${PLACE}/publishers/google/models/gemini-3-pro:generateContent`);
  assert.equal(pathOf('claude-opus-4-8'), `/v1${PLACE}/publishers/anthropic/models/claude-opus-4-8:rawPredict`);
  assert.equal(pathOf('claude-sonnet-4@20250514'), `/v1${PLACE}/publishers/anthropic/models/claude-sonnet-4@20250514:rawPredict`);
  assert.equal(pathOf('claude-x/../y;z'), `/v1${PLACE}/publishers/anthropic/models/claude-x%2F..%2Fy%3Bz:rawPredict`);
  assert.equal(pathOf('endpoints/1234567890'), `/v1beta1${PLACE}/endpoints/1234567890:generateContent`);
  assert.equal(pathOf('endpoints/x:y'), `/v1beta1${PLACE}/endpoints/x%3Ay:generateContent`);
  for (const model of ['xai/grok-4', 'deepseek-ai/deepseek-v3.2', 'some.vendor/x']) assert.equal(pathOf(model), `/v1${PLACE}/endpoints/openapi/chat/completions`);
  for (const model of ['models/gemini-3-pro', 'tunedModels/x']) assert.equal(pathOf(model), `/v1beta1${PLACE}/publishers/google/${model}:generateContent`);
  for (const model of ['claude-\ud800', 'gemini-\ud800']) assert.ok(adapter.encodeChat(requestOf({ model }), false) instanceof Failure);
  assert.equal(encode(express, requestOf({ model: 'gemini-3-pro' })).path, '/v1/publishers/google/models/gemini-3-pro:generateContent');
});

test('Claude is asked with the version in the body, without model and without a header of the vendor\'s', () => {
  const call = adapter.encodeChat(requestOf({ model: 'claude-opus-4-8', cache: { key: undefined, ttl: undefined } }), true);
  assert.ok('path' in call);
  assert.match(call.path, /:streamRawPredict$/);
  assert.deepEqual(call.headers, { 'content-type': 'application/json' });
  const body = JSON.parse(sentText(call)) as Record<string, unknown>;
  assert.deepEqual([body['anthropic_version'], body['model'], body['stream'], body['cache_control']], ['vertex-2023-10-16', undefined, true, undefined]);
  assert.equal(payload(adapter, requestOf({ model: 'claude-opus-4-8' }))['stream'], undefined);
});

test('Claude fetches nothing here, and a cached conversation is marked at its last block', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } } as const;
  const refused = adapter.encodeChat(requestOf({ model: 'claude-opus-4-8', turns: [{ role: 'user', parts: [image] }] }), false);
  assert.ok(refused instanceof Failure);
  assert.equal(refused.message, 'messages[0].content[0].url: vertex fetches no URLs; send base64');
  const sent = payload(adapter, requestOf({ model: 'claude-opus-4-8', cache: { key: undefined, ttl: undefined } }));
  assert.deepEqual(sent['messages'], [{ role: 'user', content: [{ type: 'text', text: 'Go', cache_control: { type: 'ephemeral' } }] }]);
});

test('a failure is Google\'s or Claude\'s, also inside an array', () => {
  for (const [status, body, kind, code] of [
    [403, '{"error":{"code":403,"message":"x","status":"PERMISSION_DENIED"}}', 'auth', 'PERMISSION_DENIED'],
    [429, '[{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED"}}]', 'rate_limit', 'RESOURCE_EXHAUSTED'],
    [400, '{"type":"error","error":{"type":"invalid_request_error","message":"x"}}', 'bad_request', 'invalid_request_error'],
  ] as const) {
    const failure = adapter.decodeFailure(status, body);
    assert.equal(failure.kind, kind);
    assert.ok(failure.message.endsWith(` (HTTP ${status}, code ${code})`), failure.message);
  }
});

test('a stream says by its first event whose it is, padded with spaces or not', () => {
  const endOf = (...frames: readonly (readonly [string, string])[]): Delta | undefined => {
    const deltas: Delta[] = [];
    const decoder = adapter.createStreamDecoder();
    for (const [event, data] of frames) decoder.frame(event, data, (delta) => deltas.push(delta));
    decoder.end((delta) => deltas.push(delta));
    return deltas.at(-1);
  };
  const claude = endOf(
    ['message_start', '{"type":"message_start","message":{"id":"msg_vrtx_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}      '],
    ['content_block_start', '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}  '],
    ['content_block_delta', '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}   '],
    ['content_block_stop', '{"type":"content_block_stop","index":0}'],
    ['message_delta', '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}          '],
    ['message_stop', '{"type":"message_stop"}  '],
  );
  assert.equal(claude?.type === 'done' && claude.reply.model, 'claude-opus-4-8');
  const gemini = endOf(['', '{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"modelVersion":"gemini-3-pro"}']);
  assert.equal(gemini?.type === 'done' && gemini.reply.model, 'gemini-3-pro');
  const other = endOf(['', '{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}],"model":"grok-4"}'], ['', '[DONE]']);
  assert.equal(other?.type === 'done' && other.reply.model, 'grok-4');
});

test('its models are listed under their plain names, by project or by key', () => {
  const page = adapter.decodeModels('{"publisherModels":[{"name":"publishers/google/models/gemini-3-pro"},{"versionId":"1"},{"name":"plain"}],"nextPageToken":"t"}');
  assert.ok('models' in page);
  assert.deepEqual([page.models.map(({ id }) => id), page.nextCursor], [['gemini-3-pro', 'plain'], 't']);
  for (const { encodeModels } of [adapter, express]) assert.equal(encodeModels('t').path, '/v1beta1/publishers/google/models?pageSize=100&pageToken=t');
  assert.ok(adapter.decodeModels('[]') instanceof Failure);
});

test('an error inside the list of its models is read by its own code', () => {
  const failure = adapter.decodeModels('{"error":{"code":403,"status":"PERMISSION_DENIED","message":"no"}}');
  assert.ok(failure instanceof Failure);
  assert.deepEqual([failure.kind, failure.detail], ['auth', 'no']);
});
