import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REQUEST_FEATURES } from '../../../src/core/adapter.ts';
import { Failure } from '../../../src/core/failure.ts';
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

test('every feature of a request has its row in the support table, and only JSON without a schema is refused', () => {
  assert.deepEqual(Object.keys(adapter.support).sort(), [...REQUEST_FEATURES].sort());
  assert.deepEqual(REQUEST_FEATURES.filter((feature) => adapter.support[feature].is === 'refused'), ['output']);
  assert.ok(Object.values(adapter.support).every(({ as }) => as !== ''));
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
    '{"data":[{"type":"model","id":"claude-a","display_name":"A","max_input_tokens":200000,"max_tokens":64000,"capabilities":{"image_input":{"supported":true},"pdf_input":{"supported":true}},"deprecated_at":"2027-01-31T00:00:00Z"},{"id":"b","deprecated_at":null},{"id":7},null],"has_more":true,"first_id":"claude-a","last_id":"b"}';
  const unsaid = { displayName: undefined, contextWindow: undefined, inputTokensMax: undefined, outputTokensMax: undefined, input: undefined, deprecatedAt: undefined };
  assert.deepEqual(adapter.decodeModels(page), {
    models: [
      { ...unsaid, id: 'claude-a', displayName: 'A', inputTokensMax: 200_000, outputTokensMax: 64_000, input: ['text', 'image', 'pdf'], deprecatedAt: '2027-01-31T00:00:00Z' },
      { ...unsaid, id: 'b' },
    ],
    nextCursor: 'b',
  });
});

for (const [capabilities, input] of [
  ['{"image_input":{"supported":true},"pdf_input":{"supported":false}}', ['text', 'image']],
  ['{"image_input":{"supported":false},"pdf_input":{"supported":false}}', ['text']],
  ['{"pdf_input":{"supported":true}}', ['text', 'pdf']],
  ['{"image_input":{"supported":"yes"},"pdf_input":true}', undefined],
  ['{}', undefined],
  ['null', undefined],
] as const) {
  test(`decodeModels takes from the capabilities ${capabilities} what is said of input`, () => {
    const page = adapter.decodeModels(`{"data":[{"id":"a","capabilities":${capabilities}}]}`);
    assert.ok(!(page instanceof Failure));
    assert.deepEqual(page.models[0]?.input, input);
  });
}

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
