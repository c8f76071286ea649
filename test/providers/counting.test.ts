/** Counts of tokens: the call that each codec makes, and what it makes of the answer. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../src/base/json/parse.ts';
import { RawJson } from '../../src/base/json/value.ts';
import type { JsonObject } from '../../src/base/json/value.ts';
import type { Adapter, TokenCounting } from '../../src/core/adapter.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { Failure } from '../../src/core/failure.ts';
import { createAnthropicAdapter } from '../../src/providers/anthropic/adapter.ts';
import { createGeminiAdapter } from '../../src/providers/gemini/adapter.ts';
import { OPENAI_ROW } from '../../src/providers/openai/adapter.ts';
import { compatRow } from '../../src/providers/index.ts';
import { createResponsesAdapter } from '../../src/providers/openai-responses/adapter.ts';
import { VERTEX_ROW } from '../../src/providers/vertex/adapter.ts';
import { sentText } from '../sent-text.ts';

const REQUEST: ChatRequest = {
  provider: undefined,
  model: 'some-model',
  system: 'be brief',
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'hi', state: undefined }] }],
  maxTokens: 10,
  temperature: 0.5,
  topP: 0.9,
  stop: ['END'],
  tools: [{ name: 'f', description: undefined, parameters: undefined, strict: undefined }],
  toolChoice: { mode: 'required', parallel: undefined },
  thinking: undefined,
  output: undefined, cache: undefined, user: undefined, providerOptions: undefined,
};

function countingOf({ counting }: Adapter): TokenCounting {
  assert.ok(counting !== undefined);
  return counting;
}

const SCHEMA = { type: 'object', properties: {} };

/** The path, and the body as the provider reads it. */
function asked(adapter: Adapter, request: ChatRequest = REQUEST): readonly [string, unknown] {
  const call = countingOf(adapter).encode(request);
  if (call instanceof Failure) return [call.kind, call.message];
  assert.deepEqual([call.method, call.headers['content-type']], ['POST', 'application/json']);
  return [call.path, JSON.parse(sentText(call))];
}

test('Vertex counts for Gemini and Claude, each at a path and in a form of its own, and says of other models that it does not', () => {
  const adapter = VERTEX_ROW.createAdapter('vertex', { openAiApi: 'auto', project: { id: 'p', location: 'eu' } });
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
  const declared = [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: SCHEMA }] }];
  assert.deepEqual(asked(adapter, { ...REQUEST, model: 'gemini-3.5-flash' }), [
    '/v1beta1/projects/p/locations/eu/publishers/google/models/gemini-3.5-flash:countTokens',
    {
      contents,
      systemInstruction: { parts: [{ text: 'be brief' }] },
      tools: declared,
      generationConfig: { maxOutputTokens: 10, temperature: 0.5, topP: 0.9, stopSequences: ['END'] },
    },
  ]);
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
  assert.deepEqual(asked(adapter, { ...REQUEST, model: 'claude-opus-4-8', tools: [], toolChoice: undefined }), [
    '/v1/projects/p/locations/eu/publishers/anthropic/models/count-tokens:rawPredict',
    { model: 'claude-opus-4-8', anthropic_version: 'vertex-2023-10-16', system: 'be brief', messages },
  ]);
  for (const model of ['meta/llama-4', 'endpoints/1234']) {
    assert.deepEqual(asked(adapter, { ...REQUEST, model }), ['unsupported', 'vertex counts no tokens of this model']);
  }
  assert.equal(asked(adapter, { ...REQUEST, model: 'a/../b' })[0], 'bad_request');
  const { decode } = countingOf(adapter);
  assert.deepEqual([decode('{"totalTokens":7,"totalBillableCharacters":9}'), decode('{"input_tokens":8}')], [7, 8]);
  for (const [body, kind] of [['{}', 'server'], ['', 'server'], ['{"error":{"code":429}}', 'rate_limit']] as const) {
    const failure = decode(body);
    assert.equal(failure instanceof Failure && failure.kind, kind, body);
  }
  const [, changed] = asked(adapter, { ...REQUEST, model: 'gemini-3.5-flash', tools: [], toolChoice: undefined, providerOptions: parseJson('{"systemInstruction":null,"generationConfig":null,"labels":{}}') as JsonObject });
  assert.deepEqual(changed, { contents });
  assert.equal(VERTEX_ROW.createAdapter('vertex').counting, undefined);
});

test("Anthropic's count has the fields of a message that count", () => {
  const adapter = createAnthropicAdapter('acme');
  assert.deepEqual(asked(adapter), [
    '/messages/count_tokens',
    {
      model: 'some-model',
      system: 'be brief',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      tools: [{ name: 'f', input_schema: SCHEMA }],
      tool_choice: { type: 'any' },
    },
  ]);
  const [, thinking] = asked(adapter, { ...REQUEST, model: 'claude-opus-4-8', temperature: undefined, topP: undefined, thinking: { enabled: true, effort: 'high' } });
  assert.deepEqual([(thinking as Record<string, unknown>)['thinking'], (thinking as Record<string, unknown>)['output_config']], [{ type: 'adaptive', display: 'summarized' }, { effort: 'high' }]);
});

test("Anthropic's count has the schema, the hint and what provider_options change of what counts, and none of the rest", () => {
  const [, body] = asked(createAnthropicAdapter('acme'), {
    ...REQUEST,
    tools: [],
    toolChoice: undefined,
    output: { schema: new RawJson('{"type":"array"}'), name: 'output', strict: true },
    cache: { key: 'k', ttl: 'long' },
    user: 'u',
    providerOptions: parseJson('{"top_k":3,"system":null,"mcp_servers":[{"name":"m"}]}') as JsonObject,
  });
  assert.deepEqual(body, {
    model: 'some-model',
    cache_control: { type: 'ephemeral', ttl: '1h' },
    output_config: { format: { type: 'json_schema', schema: { type: 'array' } } },
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    mcp_servers: [{ name: 'm' }],
  });
});

test("OpenAI's count has the fields of a response that count, stop sequences or not", () => {
  for (const adapter of [createResponsesAdapter('acme'), OPENAI_ROW.createAdapter('acme')]) {
    const [path, body] = asked(adapter);
    assert.equal(path, '/responses/input_tokens');
    assert.deepEqual(Object.keys(body as object), ['model', 'instructions', 'input', 'tools', 'tool_choice']);
    const [, thinking] = asked(adapter, { ...REQUEST, model: 'gpt-5.6', thinking: { enabled: true, effort: 'low' } });
    assert.deepEqual(Object.keys(thinking as object), ['model', 'instructions', 'input', 'tools', 'tool_choice', 'reasoning']);
  }
});

test("OpenAI's count has the schema and what provider_options change of what counts, and none of the rest", () => {
  const [, body] = asked(createResponsesAdapter('acme'), {
    ...REQUEST,
    system: undefined,
    toolChoice: { mode: 'auto', parallel: false },
    output: { schema: new RawJson('{"type":"array"}'), name: 'output', strict: true },
    cache: { key: 'k', ttl: 'long' },
    user: 'u',
    providerOptions: parseJson('{"store":true,"tools":[{"type":"web_search"}]}') as JsonObject,
  });
  assert.deepEqual(body, {
    model: 'some-model',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
    tools: [{ type: 'web_search' }],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    text: { format: { type: 'json_schema', name: 'output', strict: true, schema: { type: 'array' } } },
  });
});

test("Gemini's count holds the whole request, which names its model by its path", () => {
  const [path, body] = asked(createGeminiAdapter('acme'));
  assert.equal(path, '/models/some-model:countTokens');
  assert.deepEqual(body, {
    generateContentRequest: {
      model: 'models/some-model',
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      systemInstruction: { parts: [{ text: 'be brief' }] },
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: SCHEMA }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      generationConfig: { maxOutputTokens: 10, temperature: 0.5, topP: 0.9, stopSequences: ['END'] },
    },
  });
  for (const [model, expected, named] of [
    ['tunedModels/mine', '/tunedModels/mine:countTokens', 'tunedModels/mine'],
    ['models/a b', '/models/a%20b:countTokens', 'models/a b'],
    ['models', '/models/models:countTokens', 'models/models'],
  ] as const) {
    const [tunedPath, tuned] = asked(createGeminiAdapter('acme'), { ...REQUEST, model });
    assert.deepEqual([tunedPath, (tuned as { generateContentRequest: { model: string } }).generateContentRequest.model], [expected, named]);
  }
});

test("Gemini's count has the schema, and what provider_options change", () => {
  const [, body] = asked(createGeminiAdapter('acme'), {
    ...REQUEST,
    system: undefined,
    tools: [],
    toolChoice: undefined,
    output: { schema: new RawJson('{"type":"array"}'), name: 'output', strict: true },
    providerOptions: parseJson('{"tools":[{"googleSearch":{}}],"generationConfig":{"topP":null}}') as JsonObject,
  });
  assert.deepEqual(body, {
    generateContentRequest: {
      model: 'models/some-model',
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { maxOutputTokens: 10, temperature: 0.5, stopSequences: ['END'], responseMimeType: 'application/json', responseJsonSchema: { type: 'array' } },
      tools: [{ googleSearch: {} }],
    },
  });
});

test('what a provider cannot be sent cannot be counted there', () => {
  const image = { ...REQUEST, turns: [{ role: 'user' as const, parts: [{ type: 'image' as const, source: { type: 'url' as const, url: 'https://x.example/a.png' } }] }] };
  assert.equal(asked(createGeminiAdapter('acme'), image)[0], 'unsupported');
  assert.equal(asked(createGeminiAdapter('acme'), { ...REQUEST, model: '..' })[0], 'bad_request');
});

test('hosts of Chat Completions count nothing, nor does OpenAI where the operator wants no other API', () => {
  assert.equal(compatRow('acme').createAdapter('acme').counting, undefined);
  assert.equal(OPENAI_ROW.createAdapter('acme', { openAiApi: 'chat' }).counting, undefined);
  assert.ok(OPENAI_ROW.createAdapter('acme', { openAiApi: 'responses' }).counting !== undefined);
});

for (const [name, adapter, good] of [
  ['Anthropic', createAnthropicAdapter('acme'), '{"input_tokens":14,"context_management":{"original_input_tokens":20}}'],
  ['OpenAI', createResponsesAdapter('acme'), '{"object":"response.input_tokens","input_tokens":14}'],
  ['Gemini', createGeminiAdapter('acme'), '{"totalTokens":14,"promptTokensDetails":[{"modality":"TEXT","tokenCount":14}]}'],
] as const) {
  test(`the count of ${name} is read, and anything else is a failure of the provider`, () => {
    const { decode } = countingOf(adapter);
    assert.equal(decode(good), 14);
    assert.equal(decode(good.replace('14', '0')), 0);
    for (const bad of ['', '[]', '{}', 'null', '14', good.replace('14', '-1'), good.replace('14', '"14"'), good.replace('14', '1.5')]) {
      const failure = decode(bad);
      assert.ok(failure instanceof Failure, bad);
      assert.deepEqual([failure.kind, failure.message], ['server', 'acme answered 200, but it sent no token count'], bad);
    }
    const inside = decode('{"error":{"type":"rate_limit_error","code":429,"status":"RESOURCE_EXHAUSTED","message":"x"}}');
    assert.ok(inside instanceof Failure);
    assert.equal(inside.kind, 'rate_limit');
  });
}
