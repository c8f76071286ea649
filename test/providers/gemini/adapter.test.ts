import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REQUEST_FEATURES } from '../../../src/core/adapter.ts';
import { Failure } from '../../../src/core/failure.ts';
import { GEMINI_ROW, createGeminiAdapter } from '../../../src/providers/gemini/adapter.ts';
import { sentText } from '../../sent-text.ts';
import { adapter, randomFrom, refused, requestOf } from './fixtures.ts';

function pathOf(model: string, isStream = false): string {
  const call = adapter.encodeChat(requestOf({ model }), isStream);
  if (call instanceof Failure) throw new Error(call.message);
  return call.path;
}

test('the Gemini row names its variables, address and key header', () => {
  const { createAdapter, ...row } = GEMINI_ROW;
  assert.deepEqual(row, {
    name: 'gemini',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    isKeyRequired: true,
    baseUrlVariable: 'GEMINI_BASE_URL',
    defaultBaseUrl: 'https://generativelanguage.googleapis.com',
    versionSegment: 'v1beta',
    keyHeader: { name: 'x-goog-api-key', prefix: '' },
  });
  assert.equal(createAdapter('gemini').dialect, 'gemini');
});

test('a chat call is a POST of JSON without a key', () => {
  const call = adapter.encodeChat(requestOf(), false);
  assert.ok(!(call instanceof Failure));
  assert.equal(call.method, 'POST');
  assert.equal(call.path, '/models/gemini-3.8-flash:generateContent');
  assert.deepEqual(call.headers, { 'content-type': 'application/json' });
  assert.equal(sentText(call), '{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}');
});

test('a streamed call asks for SSE and sends the same bytes', () => {
  const whole = adapter.encodeChat(requestOf(), false);
  const streamed = adapter.encodeChat(requestOf(), true);
  assert.ok(!(whole instanceof Failure) && !(streamed instanceof Failure));
  assert.equal(streamed.path, '/models/gemini-3.8-flash:streamGenerateContent?alt=sse');
  assert.deepEqual(streamed.body, whole.body);
});

for (const [model, path] of [
  ['models/gemini-2.5-pro', '/models/gemini-2.5-pro:generateContent'],
  ['tunedModels/mine-1', '/tunedModels/mine-1:generateContent'],
  ['models', '/models/models:generateContent'],
  ['team/model', '/models/team/model:generateContent'],
  ['a b?c#d%2e:e', '/models/a%20b%3Fc%23d%252e%3Ae:generateContent'],
  ['модель', '/models/%D0%BC%D0%BE%D0%B4%D0%B5%D0%BB%D1%8C:generateContent'],
] as const) {
  test(`the model ${model} becomes the path ${path}`, () => {
    assert.equal(pathOf(model), path);
  });
}

for (const model of ['', '.', '..', 'models/', '/x', 'a//b', 'models/../secrets', 'a/./b', 'tunedModels/..', 'x\ud800']) {
  test(`the model ${JSON.stringify(model)} is refused before any call`, () => {
    const failure = refused(requestOf({ model }));
    assert.equal(failure.kind, 'bad_request');
    assert.equal(failure.message, 'model: not a model name that can be part of a URL');
  });
}

test('no model name leaves its place in the URL', () => {
  const random = randomFrom(1);
  const alphabet = ['.', '..', '/', '\\', '?', '#', '%', '%2e', '%2F', ':', '@', '&', '=', ' ', '\t', '\n', '\0', ';', 'a', 'models', 'é', '\ud800', '😀', 'http://x'];
  let accepted = 0;
  for (let i = 0; i < 10_000; i += 1) {
    const model = Array.from({ length: random(7) }, () => alphabet[random(alphabet.length)]).join('');
    for (const isStream of [false, true]) {
      const call = adapter.encodeChat(requestOf({ model }), isStream);
      if (call instanceof Failure) {
        assert.equal(call.kind, 'bad_request');
        assert.match(call.message, /^model: /);
        continue;
      }
      accepted += 1;
      const url = new URL(`https://host.example/v1beta${call.path}`);
      assert.equal(url.origin, 'https://host.example');
      assert.match(url.pathname, isStream ? /^\/v1beta\/models\/.+:streamGenerateContent$/ : /^\/v1beta\/models\/.+:generateContent$/);
      assert.equal(url.search, isStream ? '?alt=sse' : '');
      assert.equal(url.hash, '');
      assert.equal(url.username + url.password, '');
      assert.equal(url.pathname + url.search, `/v1beta${call.path}`);
    }
  }
  assert.ok(accepted > 5000, `${accepted} accepted`);
});

test('the support table takes a stand on every feature and refuses only images by URL and single calls', () => {
  assert.deepEqual(Object.keys(adapter.support).sort(), [...REQUEST_FEATURES].sort());
  assert.deepEqual(
    REQUEST_FEATURES.filter((feature) => adapter.support[feature].is === 'refused'),
    ['user image (url)', 'tool_choice.parallel false'],
  );
});

test('encodeModels asks for the largest page, then for the one after the cursor', () => {
  assert.deepEqual(adapter.encodeModels(undefined), { method: 'GET', path: '/models?pageSize=1000', headers: {}, body: undefined });
  assert.equal(adapter.encodeModels('a&b=c/').path, '/models?pageSize=1000&pageToken=a%26b%3Dc%2F');
  assert.equal(adapter.encodeModels('\ud800').path, '/models?pageSize=1000&pageToken=%EF%BF%BD');
});

test('decodeModels keeps the models that generate, and those that do not say', () => {
  const page = adapter.decodeModels(
    JSON.stringify({
      models: [
        {
          name: 'models/gemini-3.8-flash',
          displayName: 'Gemini 3.8 Flash',
          inputTokenLimit: 1_048_576,
          outputTokenLimit: 65_536,
          supportedGenerationMethods: ['generateContent', 'countTokens'],
        },
        { name: 'models/embedding-9', supportedGenerationMethods: ['embedContent'] },
        { name: 'tunedModels/mine' },
        { name: 'tunedModels/untold', supportedGenerationMethods: null },
        { displayName: 'nameless' },
        'noise',
      ],
      nextPageToken: 'next',
    }),
  );
  const unsaid = { displayName: undefined, contextWindow: undefined, inputTokensMax: undefined, outputTokensMax: undefined, input: undefined, deprecatedAt: undefined };
  assert.deepEqual(page, {
    models: [
      { ...unsaid, id: 'gemini-3.8-flash', displayName: 'Gemini 3.8 Flash', inputTokensMax: 1_048_576, outputTokensMax: 65_536 },
      { ...unsaid, id: 'tunedModels/mine' },
      { ...unsaid, id: 'tunedModels/untold' },
    ],
    nextCursor: 'next',
  });
});

test('decodeModels reads an empty object as the last, empty page', () => {
  assert.deepEqual(adapter.decodeModels('{}'), { models: [], nextCursor: undefined });
});

for (const [what, source] of [['HTML', '<html>'], ['an array', '[]'], ['nothing', '']] as const) {
  test(`decodeModels fails on ${what}`, () => {
    const failure = adapter.decodeModels(source);
    assert.ok(failure instanceof Failure);
    assert.equal(failure.kind, 'server');
    assert.equal(failure.message, 'gemini answered 200, but its list of models is not a JSON object');
  });
}

test('decodeModels reports an error inside a 200', () => {
  const failure = adapter.decodeModels('{"error":{"status":"RESOURCE_EXHAUSTED","message":"slow down"}}');
  assert.ok(failure instanceof Failure);
  assert.equal(failure.kind, 'rate_limit');
  assert.equal(failure.detail, 'slow down');
  assert.ok(adapter.decodeModels('{"error":"out of order"}') instanceof Failure);
});

test('failures name the provider as it is registered', () => {
  const failure = createGeminiAdapter('gemini-eu').decodeFailure(500, '');
  assert.equal(failure.message, 'gemini-eu failed on its side (HTTP 500)');
});
