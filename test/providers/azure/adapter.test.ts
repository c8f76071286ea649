/** What a deployment's name stands for. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import { Failure } from '../../../src/core/failure.ts';
import { AZURE_ROW, FOUNDRY_ROW } from '../../../src/providers/azure/adapter.ts';
import { sentText } from '../../sent-text.ts';
import { encode, payload, requestOf } from '../../loops/codecs.ts';

const models = new Map([['prod', 'gpt-5.6-luna'], ['old', 'gpt-4o'], ['claude', 'claude-3-7-sonnet']]);
const azure = AZURE_ROW.createAdapter('azure', { openAiApi: 'auto', models });
const foundry = FOUNDRY_ROW.createAdapter('foundry', { openAiApi: 'auto', models });
const tools = [{ name: 'look', description: undefined, parameters: undefined, strict: undefined }];

test('a deployment is asked by the rules of the model that the operator names, under its own name', () => {
  const prod = encode(azure, requestOf({ model: 'prod', tools, thinking: { enabled: true, effort: 'high' } }));
  assert.equal(prod.path, '/responses');
  assert.equal((JSON.parse(sentText(prod)) as { model: string }).model, 'prod');
  const old = encode(azure, requestOf({ model: 'old', tools, thinking: { enabled: true, effort: 'high' } }));
  assert.equal(old.path, '/chat/completions');
  assert.equal((JSON.parse(sentText(old)) as { reasoning_effort?: string }).reasoning_effort, undefined);
});

test('a deployment of which nothing is said has Chat Completions, and the fields that all of Azure takes', () => {
  const call = encode(azure, requestOf({ model: 'mine', system: 'Be brief.', tools, user: 'u', maxTokens: 9, cache: { key: 'k', ttl: 'long' } }));
  assert.equal(call.path, '/chat/completions');
  const body = JSON.parse(sentText(call)) as Record<string, unknown>;
  assert.deepEqual([body['user'], body['safety_identifier'], body['max_completion_tokens'], body['prompt_cache_options']], ['u', undefined, 9, undefined]);
  assert.deepEqual((body['messages'] as readonly { role: string }[])[0]?.role, 'system');
});

test('Responses knows what a deployment stands for, too, and no field for how long a beginning is kept; no tokens are counted', () => {
  const named = AZURE_ROW.createAdapter('azure', { openAiApi: 'auto', models: new Map([['pro', 'gpt-5.6-pro']]) });
  const sent = payload(named, requestOf({ model: 'pro', thinking: { enabled: true, effort: 'low' }, user: 'u', cache: { key: 'k', ttl: 'long' } }));
  assert.deepEqual([sent['model'], sent['reasoning'], sent['user'], sent['prompt_cache_key'], sent['prompt_cache_options']], ['pro', { effort: 'medium', summary: 'auto' }, 'u', 'k', undefined]);
  assert.equal(named.counting, undefined);
});

/** The path of what is sent, or the field that is refused. */
function fateOf(structuredOutput: 'schema' | 'json_object' | 'none' | undefined, request: Parameters<typeof requestOf>[0]): string {
  const adapter = AZURE_ROW.createAdapter('azure', { openAiApi: 'auto', structuredOutput, models: new Map([['pro', 'gpt-5.6-pro']]) });
  const call = adapter.encodeChat(requestOf(request), false);
  return call instanceof Failure ? `${call.kind} ${call.message.split(':')[0]}` : call.path;
}

for (const [model, path] of [['mine', '/chat/completions'], ['pro', '/responses']] as const) {
  test(`what the operator says of structured output holds on ${path}`, () => {
    const json = { model, output: { schema: undefined, name: 'output', strict: true } };
    const shaped = { model, output: { schema: new RawJson('{"type":"object"}'), name: 'output', strict: true } };
    const strict = { model, tools: [{ name: 'look', description: undefined, parameters: undefined, strict: true }] };
    const fates = ([undefined, 'schema', 'json_object', 'none'] as const).map((said) => [json, shaped, strict].map((request) => fateOf(said, request)));
    assert.deepEqual(fates, [
      [path, path, path],
      [path, path, path],
      [path, 'unsupported output.schema', 'unsupported tools[0].strict'],
      ['unsupported output', 'unsupported output', 'unsupported tools[0].strict'],
    ]);
  });
}

test('a deployment on Foundry is Claude, the newest where nothing is said', () => {
  const thinking = { enabled: false, effort: undefined };
  assert.deepEqual(payload(foundry, requestOf({ model: 'mine', thinking }))['output_config'], { effort: 'low' });
  const named = payload(foundry, requestOf({ model: 'claude', thinking }));
  assert.deepEqual([named['model'], named['thinking']], ['claude', { type: 'disabled' }]);
});
