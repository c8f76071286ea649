import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REQUEST_FEATURES } from '../../../src/core/adapter.ts';
import { ANTHROPIC_ROW, createAnthropicAdapter } from '../../../src/providers/anthropic/adapter.ts';
import { adapter, failureOf } from './fixtures.ts';

test('the row configures Anthropic as its own SDK does', () => {
  const { createAdapter, ...row } = ANTHROPIC_ROW;
  assert.deepEqual(row, {
    name: 'anthropic',
    keyVariables: ['ANTHROPIC_API_KEY'],
    isKeyRequired: true,
    baseUrlVariable: 'ANTHROPIC_BASE_URL',
    defaultBaseUrl: 'https://api.anthropic.com',
    versionSegment: 'v1',
    keyHeader: { name: 'x-api-key', prefix: '' },
    speaks: ['anthropic'],
  });
  assert.equal(createAdapter('x').dialect, 'anthropic');
});

test('every feature of a request has its row in the support table, none refused', () => {
  assert.deepEqual(Object.keys(adapter.support).sort(), [...REQUEST_FEATURES].sort());
  assert.ok(Object.values(adapter.support).every(({ is, as }) => is !== 'refused' && as !== ''));
});

test('failures name the provider as it is registered', () => {
  assert.match(createAnthropicAdapter('relay').decodeFailure(500, '').message, /^relay failed/);
});

test('encodeModels asks for the largest page, and for what follows a cursor', () => {
  assert.deepEqual(adapter.encodeModels(undefined), {
    method: 'GET',
    path: '/models?limit=1000',
    headers: { 'anthropic-version': '2023-06-01' },
    body: undefined,
  });
  assert.equal(adapter.encodeModels('a&b/ü\ud800').path, '/models?limit=1000&after_id=a%26b%2F%C3%BC%EF%BF%BD');
});

test('decodeModels reads a page and the cursor of the next', () => {
  const page =
    '{"data":[{"type":"model","id":"claude-a","display_name":"A","max_input_tokens":200000,"max_tokens":64000},{"id":"b"},{"id":7},null],"has_more":true,"first_id":"claude-a","last_id":"b"}';
  assert.deepEqual(adapter.decodeModels(page), {
    models: [
      { id: 'claude-a', displayName: 'A', contextWindow: 200_000, outputTokensMax: 64_000 },
      { id: 'b', displayName: undefined, contextWindow: undefined, outputTokensMax: undefined },
    ],
    nextCursor: 'b',
  });
});

test('decodeModels ends where the provider says so, or names no last model', () => {
  for (const end of ['"has_more":false,"last_id":"b"', '"has_more":true', '"last_id":"b"']) {
    assert.deepEqual(adapter.decodeModels(`{"data":[],${end}}`), { models: [], nextCursor: undefined });
  }
});

test('decodeModels answers nonsense and errors with a failure', () => {
  for (const body of ['', '[]', '{}', '{"data":{}}']) {
    assert.equal(failureOf(adapter.decodeModels(body)).message, 'anthropic answered 200, but it sent no list of models');
  }
  assert.equal(failureOf(adapter.decodeModels('{"type":"error","error":{"type":"authentication_error"}}')).kind, 'auth');
});
