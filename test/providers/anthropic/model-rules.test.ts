/** What every known name of a model, in every spelling, is told about thinking. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChatRequest } from '../../../src/core/chat.ts';
import { corpusAbsent, recordedModels } from '../../corpus.ts';
import { assistant, payload, text, user } from './fixtures.ts';

/** By what thinking on and thinking off become: the names, by family. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'nothing, nothing': [
    'claude-3-opus-20240229',
    'claude-3-haiku-20240307',
    'claude-3-5-sonnet-latest',
    'claude-3-5-sonnet-20240620',
    'claude-3-5-haiku-20241022',
    'anthropic.claude-3-5-sonnet-20241022-v2:0',
    'anthropic/claude-3.5-haiku',
    'claude-3-5-sonnet-v2@20241022',
  ],
  'enabled, disabled': [
    'claude-3-7-sonnet-20250219',
    'claude-3-7-sonnet@20250219',
    'us.anthropic.claude-3-7-sonnet-20250219-v1:0',
    'databricks-claude-3-7-sonnet',
    'anthropic/claude-3.7-sonnet:thinking',
    'claude-opus-4-20250514',
    'claude-opus-4-0',
    'claude-sonnet-4-20250514',
    'claude-sonnet-4@20250514',
    'claude-sonnet-4-0',
    'anthropic/claude-sonnet-4',
    'anthropic.claude-sonnet-4-20250514-v1:0',
    'claude-4-sonnet',
    'claude-4-sonnet-20250514',
    'claude-4-opus-thinking',
    'claude-sonnet-4-20250514-thinking',
    'claude-opus-4-1-20250805',
    'claude-4.1-opus',
    'claude-opus-4-5',
    'claude-sonnet-4-5',
    'claude-sonnet-4-5-20250929',
    'anthropic/claude-sonnet-4.5',
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'claude-haiku-4-5',
    'claude-haiku-4-5-20251001',
    'anthropic/claude-haiku-4.5',
    'anthropic/claude-4.5-haiku-20251001',
    'us.anthropic.claude-haiku-4-5-20251001-v1:0',
  ],
  'adaptive, disabled': [
    'claude-opus-4-6',
    'anthropic.claude-opus-4-6-v1',
    'claude-sonnet-4-6',
    'anthropic/claude-sonnet-4.6',
    'anthropic/claude-4.6-sonnet-20260217',
    'claude-opus-4-7',
    'claude-opus-4-8',
    'claude-sonnet-5',
    'claude-opus-5',
    'anthropic/claude-opus-5',
    'claude-opus-5-20260801',
    'claude-haiku-5-5',
    'deepseek-v4-pro',
    'kimi-k2.5',
    'MiniMax-M3',
    'glm-5.2',
    'a-name-with-claude-inside',
  ],
  'adaptive, between_tools': ['claude-sonnet-5-5', 'claude-sonnet-5-5-20260930', 'anthropic/claude-sonnet-5.5'],
  'adaptive, effort low': [
    'claude-opus-5-5',
    'claude-fable-5',
    'claude-fable-5-1',
    'claude-fable-5-2',
    'claude-mythos-5',
    'claude-mythos-5-1',
    'claude-mythos-5-2',
    'claude-mythos-preview',
    'claude-haiku-6',
    'claude-sonnet-5-6',
    'claude-sonnet-5-55',
    'claude-opus-4-9',
    'claude-opus-45',
    'claude-opus-7',
    'claude-sonnet-latest',
    'claude-does-not-exist',
  ],
};

function form(model: string, enabled: boolean, fields: Partial<ChatRequest> = {}): string {
  const { thinking, output_config, max_tokens } = payload({ model, thinking: { enabled, effort: undefined }, ...fields });
  // The API demands it in every form.
  assert.equal(typeof max_tokens, 'number');
  if (output_config !== undefined) return `effort ${(output_config as { effort: string }).effort}`;
  return (thinking as { type: string } | undefined)?.type ?? 'nothing';
}

for (const [forms, models] of Object.entries(NAMES)) {
  for (const model of models) {
    test(`${model}: thinking on and off are ${forms}`, () => {
      assert.equal(`${form(model, true)}, ${form(model, false)}`, forms);
      assert.equal(payload({ model })['model'], model);
    });
  }
}

test('the rule of every recorded Claude is known here', { skip: corpusAbsent }, () => {
  const known = new Set(Object.values(NAMES).flat());
  assert.deepEqual(recordedModels().filter((model) => model.includes('claude') && !known.has(model)), []);
});

describe('sampling parameters beside the wish to think', () => {
  const own: readonly Partial<ChatRequest>[] = [{ temperature: 0 }, { temperature: 0.7 }, { topP: 0.9 }, { temperature: 1, topP: 0.5 }];
  const harmless: readonly Partial<ChatRequest>[] = [{}, { temperature: 1 }, { topP: 0.95 }, { temperature: 1, topP: 1 }];

  for (const model of ['claude-3-7-sonnet-20250219', 'claude-sonnet-4-5', 'claude-opus-4-6', 'claude-sonnet-4-6']) {
    test(`${model} refuses both together: the parameter is sent, thinking gives way`, () => {
      const thinks = form(model, true);
      assert.notEqual(thinks, 'disabled');
      for (const fields of own) assert.equal(form(model, true, fields), 'disabled');
      for (const fields of harmless) assert.equal(form(model, true, fields), thinks);
      assert.equal(payload({ model, thinking: { enabled: true, effort: 'high' }, temperature: 0.7 })['temperature'], 0.7);
      assert.equal(payload({ model, thinking: { enabled: true, effort: 'high' }, topP: 0.5 })['top_p'], 0.5);
    });
  }

  for (const model of ['claude-opus-4-7', 'claude-opus-5-5', 'claude-sonnet-5-5', 'kimi-k2.5']) {
    test(`${model} refuses the parameter anyway, or takes both: both are sent`, () => {
      for (const fields of own) assert.equal(form(model, true, fields), 'adaptive');
      assert.equal(payload({ model, thinking: { enabled: true, effort: undefined }, temperature: 0.7 })['temperature'], 0.7);
    });
  }

  test('effort goes with thinking where that gives way', () => {
    const sent = payload({ model: 'claude-opus-4-6', turns: [user('a'), assistant(text('b')), user('c')], thinking: { enabled: true, effort: 'max' }, temperature: 0 });
    assert.deepEqual([sent['thinking'], sent['output_config'], sent['max_tokens']], [{ type: 'disabled' }, undefined, 4096]);
  });
});
