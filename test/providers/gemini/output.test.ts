/** Structured output, strict tools, single calls, and the hints that Gemini has no field for. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import type { Tool, ToolChoice } from '../../../src/core/chat.ts';
import { options, payload, payloadText, refused, requestOf } from './fixtures.ts';

const SCHEMA = '{"type":"object", "properties":{"2":{"const":1.0},"1":{"minimum":12345678901234567890}},"x":1e-7}';
const OUTPUT = { schema: new RawJson(SCHEMA), name: 'answer', strict: true };
const ANY_JSON = { ...OUTPUT, schema: undefined };
const tools = (...strict: (boolean | undefined)[]): Tool[] => strict.map((one, i) => ({ name: `t${i}`, description: undefined, parameters: undefined, strict: one }));

describe('output', () => {
  test('has its schema sent digit for digit, strict or not, and its name nowhere', () => {
    for (const strict of [true, false]) {
      const sent = payloadText(requestOf({ output: { ...OUTPUT, strict }, stop: ['END'] }));
      assert.ok(sent.includes(`"generationConfig":{"stopSequences":["END"],"responseMimeType":"application/json","responseJsonSchema":${SCHEMA}}`), sent);
      assert.ok(!sent.includes('answer'));
    }
  });

  test('without a schema is the media type alone', () => {
    assert.deepEqual(payload(requestOf({ output: ANY_JSON }))['generationConfig'], { responseMimeType: 'application/json' });
  });

  test('stands beside tools from Gemini 3 on, and is refused there before', () => {
    for (const model of ['gemini-3-flash-preview', 'gemini-9-flash']) {
      assert.ok('tools' in payload(requestOf({ model, output: ANY_JSON, tools: tools(undefined) })));
    }
    for (const model of ['gemini-2.5-pro', 'models/gemini-2.0-flash', 'gemini-1.5-pro', 'gemini-robotics-er-1.5-preview']) {
      const failure = refused(requestOf({ model, output: ANY_JSON, tools: tools(undefined) }));
      assert.deepEqual([failure.kind, failure.message], ['unsupported', 'output: Gemini before 3 cannot combine JSON output with tools']);
      assert.ok('generationConfig' in payload(requestOf({ model, output: ANY_JSON })));
      assert.ok('tools' in payload(requestOf({ model, tools: tools(undefined) })));
    }
  });

  test('gives way to what provider_options say', () => {
    const sent = payload(requestOf({ output: ANY_JSON, providerOptions: options('{"generationConfig":{"responseMimeType":"text/x.enum"}}') }));
    assert.deepEqual(sent['generationConfig'], { responseMimeType: 'text/x.enum' });
  });
});

describe('tools that are all strict', () => {
  for (const [choice, config] of [
    [undefined, { mode: 'VALIDATED' }],
    [{ mode: 'auto' }, { mode: 'VALIDATED' }],
    [{ mode: 'none' }, { mode: 'NONE' }],
    [{ mode: 'required' }, { mode: 'ANY' }],
    [{ mode: 'tool', name: 't0' }, { mode: 'ANY', allowedFunctionNames: ['t0'] }],
  ] as const) {
    test(`are called in mode ${config.mode} with tool_choice ${choice?.mode}`, () => {
      const toolChoice = choice && ({ ...choice, parallel: undefined } as ToolChoice);
      assert.deepEqual(payload(requestOf({ tools: tools(true, true), toolChoice }))['toolConfig'], { functionCallingConfig: config });
    });
  }

  test('cannot be mixed with others', () => {
    for (const [strict, at] of [[[true, undefined], 0], [[false, true], 1], [[undefined, true, true], 1]] as const) {
      const failure = refused(requestOf({ tools: tools(...strict) }));
      assert.deepEqual([failure.kind, failure.message], ['unsupported', `tools[${at}].strict: Gemini enforces parameters for all tools or for none; set it on all or none`]);
    }
  });
});

test('tools of which none is strict say nothing of a mode', () => {
  assert.ok(!('toolConfig' in payload(requestOf({ tools: tools(false, undefined) }))));
});

test('one call at a time is refused, several are what Gemini does', () => {
  const choosing = (parallel: boolean): Parameters<typeof requestOf>[0] => ({ tools: tools(undefined), toolChoice: { mode: 'auto', parallel } });
  const failure = refused(requestOf(choosing(false)));
  assert.deepEqual([failure.kind, failure.message], ['unsupported', 'tool_choice.parallel: Gemini cannot be limited to one call at a time']);
  assert.deepEqual(payload(requestOf(choosing(true)))['toolConfig'], { functionCallingConfig: { mode: 'AUTO' } });
  // Of no call there is at most one.
  const idle = payload(requestOf({ tools: tools(undefined), toolChoice: { mode: 'none', parallel: false } }));
  assert.deepEqual(idle['toolConfig'], { functionCallingConfig: { mode: 'NONE' } });
  assert.equal(payload(requestOf({ toolChoice: { mode: 'auto', parallel: false } }))['toolConfig'], undefined);
});

test('a cache hint and a user change nothing', () => {
  assert.equal(payloadText(requestOf({ cache: { key: 'k', ttl: 'long' }, user: 'u' })), payloadText(requestOf()));
});
