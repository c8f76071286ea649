import { test } from 'node:test';
import assert from 'node:assert/strict';
import { RawJson } from '../../../src/base/json/value.ts';
import type { ChatRequest, OutputFormat } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { WEATHER, adapterOf, bodyText, options, payload, requestOf } from './setup.ts';

const SCHEMA = '{ "type":"object", "properties":{"2":{"type":"number","minimum":1.0},"1":{}}, "x-max":12345678901234567890 }';
const JSON_ALONE: OutputFormat = { schema: undefined, name: 'output', strict: true };
const STRICT: OutputFormat = { schema: new RawJson(SCHEMA), name: 'an-answer', strict: true };
const GPT_OSS = 'openai/gpt-oss-120b';

const refusal = (provider: string, fields: Partial<ChatRequest>): string => {
  const refused = adapterOf(provider).encodeChat(requestOf(fields), false);
  assert.ok(refused instanceof Failure, provider);
  assert.equal(refused.kind, 'unsupported');
  return refused.message;
};

test('a schema goes out digit for digit, under its name', () => {
  for (const provider of ['openai', 'azure', 'mistral', 'compat', 'vllm']) {
    const sent = bodyText(adapterOf(provider), requestOf({ output: STRICT }));
    assert.ok(sent.includes(`"response_format":{"type":"json_schema","json_schema":{"name":"an-answer","strict":true,"schema":${SCHEMA}}}`), sent);
  }
  const lax = bodyText(adapterOf('openai'), requestOf({ output: { ...STRICT, strict: false } }));
  assert.ok(lax.includes('"strict":false'), lax);
});

test('JSON without a schema is a json_object', () => {
  for (const provider of ['openai', 'deepseek', 'groq', 'moonshot', 'compat']) {
    assert.deepEqual(payload(adapterOf(provider), requestOf({ output: JSON_ALONE }))['response_format'], { type: 'json_object' }, provider);
  }
});

test('OpenRouter is asked for hosts that obey, which what the caller wants of hosts is added to', () => {
  const request = { output: STRICT, providerOptions: options('{"provider":{"order":["x"]}}') };
  assert.deepEqual(payload(adapterOf('openrouter'), requestOf(request))['provider'], { require_parameters: true, order: ['x'] });
  assert.deepEqual(payload(adapterOf('openrouter'), requestOf({ output: JSON_ALONE }))['provider'], { require_parameters: true });
  assert.equal(payload(adapterOf('openrouter'), requestOf())['provider'], undefined);
  assert.equal(payload(adapterOf('groq'), requestOf({ output: JSON_ALONE }))['provider'], undefined);
});

test('a host that would only be asked politely refuses by name', () => {
  for (const provider of ['perplexity', 'nvidia', 'huggingface', 'vercel', 'zai']) {
    for (const output of [JSON_ALONE, STRICT]) assert.equal(refusal(provider, { output }), `output: ${provider} is not known to enforce JSON output`);
  }
  for (const provider of ['deepseek', 'moonshot']) {
    assert.equal(refusal(provider, { output: STRICT }), `output.schema: ${provider} can enforce JSON output, but no schema`);
  }
});

test('Groq takes a schema for gpt-oss alone, strict and without tools', () => {
  assert.ok(bodyText(adapterOf('groq'), requestOf({ model: GPT_OSS, output: STRICT })).includes(SCHEMA));
  assert.equal(refusal('groq', { model: 'llama-3.3-70b-versatile', output: STRICT }), 'output.schema: groq does not enforce a schema for this model');
  assert.equal(refusal('groq', { model: GPT_OSS, output: { ...STRICT, strict: false } }), 'output.strict: groq enforces a schema only if it is strict');
  assert.equal(refusal('groq', { model: GPT_OSS, output: STRICT, tools: [WEATHER] }), 'output.schema: groq takes no tools beside a schema');
});

test('a strict tool says so where its calls are held to its parameters, and is refused elsewhere', () => {
  const tools = [WEATHER, { ...WEATHER, name: 'time', parameters: new RawJson('{"type":"object","properties":{}}'), strict: true }];
  const strictOf = (provider: string, model = 'm'): unknown[] =>
    (payload(adapterOf(provider), requestOf({ model, tools }))['tools'] as { function: { strict?: boolean } }[]).map((tool) => tool.function.strict);
  for (const provider of ['openai', 'azure', 'cerebras', 'mistral', 'together', 'xai', 'compat']) assert.deepEqual(strictOf(provider), [undefined, true], provider);
  assert.deepEqual(strictOf('groq', GPT_OSS), [undefined, true]);
  for (const provider of ['groq', 'deepseek', 'vllm', 'openrouter', 'ollama']) {
    assert.equal(refusal(provider, { tools }), `tools[1].strict: ${provider} does not enforce a tool's parameters for this model; leave strict out`);
  }
});

test('a tool that is not to be strict says so only where it could be', () => {
  const strictOf = (provider: string): unknown =>
    (payload(adapterOf(provider), requestOf({ tools: [{ ...WEATHER, strict: false }] }))['tools'] as { function: { strict?: boolean } }[])[0]?.function.strict;
  assert.deepEqual(['openai', 'mistral', 'ollama', 'deepseek'].map(strictOf), [false, false, undefined, undefined]);
});

test('a strict tool without arguments closes its object', () => {
  const sent = bodyText(adapterOf('openai'), requestOf({ tools: [{ ...WEATHER, strict: true }] }));
  assert.ok(sent.includes('"parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true'), sent);
});

test('one call at a time is asked for beside tools, and refused where it cannot be', () => {
  const sent = (provider: string, parallel: boolean, hasTools = true): unknown =>
    payload(adapterOf(provider), requestOf({ tools: hasTools ? [WEATHER] : [], toolChoice: { mode: 'auto', parallel } }))['parallel_tool_calls'];
  for (const provider of ['openai', 'azure', 'groq', 'mistral', 'xai', 'together', 'vllm', 'llamacpp', 'openrouter', 'cerebras', 'compat']) {
    assert.deepEqual([sent(provider, false), sent(provider, true), sent(provider, false, false)], [false, true, undefined], provider);
  }
  for (const provider of ['deepseek', 'ollama', 'perplexity', 'zai']) {
    assert.equal(sent(provider, true), undefined, provider);
    assert.equal(refusal(provider, { tools: [WEATHER], toolChoice: { mode: 'auto', parallel: false } }), `tool_choice.parallel: ${provider} cannot be limited to one call at a time`);
    // Of no call there is at most one.
    const idle = payload(adapterOf(provider), requestOf({ tools: [WEATHER], toolChoice: { mode: 'none', parallel: false } }));
    assert.deepEqual([idle['tool_choice'], idle['parallel_tool_calls'], sent(provider, false, false)], ['none', undefined, undefined], provider);
  }
  const named = payload(adapterOf('llamacpp'), requestOf({ tools: [WEATHER], toolChoice: { mode: 'tool', name: 'weather', parallel: false } }));
  assert.deepEqual([named['tool_choice'], named['parallel_tool_calls']], ['required', false]);
});

const HINTS = { user: 'digest-of-a-user', cache: { key: 'digest-of-a-key', ttl: undefined } };

test('hints go out in the field that a host has for them, and nowhere else', () => {
  const sent = (provider: string): string => bodyText(adapterOf(provider), requestOf({ model: 'm', ...HINTS })).replace(/^.*\}\]/, '');
  assert.equal(sent('openai'), ',"prompt_cache_key":"digest-of-a-key","safety_identifier":"digest-of-a-user"}');
  assert.equal(sent('cerebras'), ',"prompt_cache_key":"digest-of-a-key","user":"digest-of-a-user"}');
  assert.equal(sent('deepseek'), ',"user_id":"digest-of-a-user"}');
  assert.equal(sent('mistral'), ',"prompt_cache_key":"digest-of-a-key"}');
  for (const provider of ['compat', 'vllm', 'ollama', 'perplexity', 'moonshot']) assert.equal(sent(provider), '}', provider);
});

test('xAI is told which beginning to keep in a header', () => {
  const headersOf = (fields: Partial<ChatRequest>): unknown => {
    const encoded = adapterOf('xai').encodeChat(requestOf(fields), false);
    assert.ok(!(encoded instanceof Failure));
    return encoded.headers;
  };
  const plain = { 'content-type': 'application/json', accept: 'application/json' };
  assert.deepEqual(headersOf(HINTS), { ...plain, 'x-grok-conv-id': 'digest-of-a-key' });
  for (const fields of [{ cache: { key: undefined, ttl: 'long' } }, {}] as const) assert.deepEqual(headersOf(fields), plain);
  assert.equal(payload(adapterOf('xai'), requestOf(HINTS))['prompt_cache_key'], undefined);
});

test('the wish to keep a beginning for long is told to the models of OpenAI that take it, in their own field', () => {
  const fieldsOf = (model: string, provider = 'openai'): unknown[] => {
    const sent = payload(adapterOf(provider), requestOf({ model, cache: { key: undefined, ttl: 'long' } }));
    return [sent['prompt_cache_options'], sent['prompt_cache_retention']];
  };
  for (const model of ['gpt-5.6-sol', 'gpt-6-astra', 'gpt-7']) assert.deepEqual(fieldsOf(model), [{ ttl: '30m' }, undefined], model);
  for (const model of ['gpt-4.1', 'gpt-4.1-2025-04-14', 'gpt-5', 'gpt-5.1-codex-max', 'gpt-5.4', 'gpt-5.5-2026-04-23']) assert.deepEqual(fieldsOf(model), [undefined, '24h'], model);
  for (const model of ['gpt-4o', 'gpt-4.1-mini', 'gpt-5-mini', 'gpt-5.4-nano', 'o3', 'gpt-5-chat-latest']) assert.deepEqual(fieldsOf(model), [undefined, undefined], model);
  assert.deepEqual(fieldsOf('gpt-7', 'azure'), [undefined, undefined]);
  const short = payload(adapterOf('openai'), requestOf({ model: 'gpt-7', cache: { key: undefined, ttl: 'short' } }));
  assert.deepEqual(Object.keys(short), ['model', 'messages']);
});
