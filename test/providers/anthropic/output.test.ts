/** Structured output, strict tools, single calls, caching and users in the payload of the Messages API. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import type { Tool, ToolChoice } from '../../../src/core/chat.ts';
import { adapter, failureOf, options, payload, payloadText, request } from './fixtures.ts';

const SCHEMA = '{"type":"object", "properties":{"2":{"const":1.0},"1":{"minimum":12345678901234567890}},"x":1e-7}';
const OUTPUT = { schema: new RawJson(SCHEMA), name: 'answer', strict: true };
const tool = (strict: boolean | undefined): Tool => ({ name: 'look', description: undefined, parameters: undefined, strict });

describe('output', () => {
  test('has its schema sent digit for digit, strict or not, and its name nowhere', () => {
    for (const strict of [true, false]) {
      const sent = payloadText({ output: { ...OUTPUT, strict } });
      assert.ok(sent.includes(`"output_config":{"format":{"type":"json_schema","schema":${SCHEMA}}}`), sent);
      assert.ok(!sent.includes('answer'));
    }
  });

  test('stands beside an effort', () => {
    const thinking = { enabled: true, effort: 'high' } as const;
    const { output_config: both } = payload({ output: { ...OUTPUT, schema: new RawJson('{}') }, thinking });
    assert.deepEqual(both, { effort: 'high', format: { type: 'json_schema', schema: {} } });
    const { output_config: effort } = payload({ thinking });
    assert.deepEqual(effort, { effort: 'high' });
  });

  test('stands beside tools and what provider_options add', () => {
    const sent = payload({ output: { ...OUTPUT, schema: new RawJson('{}') }, tools: [tool(undefined)], providerOptions: options('{"output_config":{"effort":"low"}}') });
    assert.deepEqual(sent['output_config'], { format: { type: 'json_schema', schema: {} }, effort: 'low' });
    assert.equal((sent['tools'] as unknown[]).length, 1);
  });

  test('without a schema is refused', () => {
    const failure = failureOf(adapter.encodeChat(request({ output: { ...OUTPUT, schema: undefined } }), true));
    assert.deepEqual([failure.kind, failure.message], ['unsupported', 'output.schema: Anthropic has no JSON mode; give a schema']);
  });
});

test('a tool is strict or not as its caller says, and says nothing where the caller does not', () => {
  const sent = payload({ tools: [tool(true), tool(false), tool(undefined)] })['tools'] as { strict?: boolean }[];
  assert.deepEqual(sent.map((one) => one.strict), [true, false, undefined]);
});

for (const [choice, sent] of [
  [{ mode: 'auto' }, { type: 'auto', disable_parallel_tool_use: true }],
  [{ mode: 'required' }, { type: 'any', disable_parallel_tool_use: true }],
  [{ mode: 'tool', name: 'look' }, { type: 'tool', name: 'look', disable_parallel_tool_use: true }],
  [{ mode: 'none' }, { type: 'none' }],
] as const) {
  test(`one call at a time is said with mode ${choice.mode}, and nothing where several may come`, () => {
    const sentFor = (parallel: boolean | undefined): unknown => payload({ tools: [tool(undefined)], toolChoice: { ...choice, parallel } as ToolChoice })['tool_choice'];
    assert.deepEqual(sentFor(false), sent);
    const { disable_parallel_tool_use: _, ...plain } = { disable_parallel_tool_use: true, ...sent };
    assert.deepEqual([sentFor(true), sentFor(undefined)], [plain, plain]);
  });
}

test('a cache hint marks the conversation as a whole, for an hour where it is to be long', () => {
  assert.deepEqual(payload({ cache: { key: 'k', ttl: undefined } })['cache_control'], { type: 'ephemeral' });
  assert.deepEqual(payload({ cache: { key: undefined, ttl: 'short' } })['cache_control'], { type: 'ephemeral' });
  assert.deepEqual(payload({ cache: { key: 'k', ttl: 'long' } })['cache_control'], { type: 'ephemeral', ttl: '1h' });
  assert.ok(!('cache_control' in payload({})));
});

test('a user is named in the metadata', () => {
  assert.deepEqual(payload({ user: 'a-digest' })['metadata'], { user_id: 'a-digest' });
  assert.ok(!('metadata' in payload({})));
});
