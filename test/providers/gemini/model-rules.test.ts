/** What every known name of a model, in every spelling, is told, by the table of models. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effort } from '../../../src/core/chat.ts';
import { ruleFor } from '../../../src/providers/gemini/model-rules.ts';
import { corpusAbsent, recordedModels } from '../../corpus.ts';
import { assistant, call, payload, requestOf, result, user } from './fixtures.ts';

const EFFORTS: readonly (Effort | undefined)[] = [undefined, 'low', 'medium', 'high', 'max'];
const budget = (tokens: number) => ({ thinkingBudget: tokens, includeThoughts: true });
const level = (name: string) => ({ thinkingLevel: name, includeThoughts: true });
const ON = { includeThoughts: true };
const NOTHING = [undefined, undefined, undefined, undefined, undefined];
const LEVELS = [ON, level('LOW'), level('MEDIUM'), level('HIGH'), level('HIGH')];
const FLASH_2_5 = [budget(-1), budget(1024), budget(8192), budget(24_576), budget(24_576)];
const PRO_2_5 = [budget(-1), budget(1024), budget(8192), budget(24_576), budget(32_768)];

/** What thinking becomes, on by effort and off; whether calls without signatures get the dummy; whether it has a system instruction. */
type Family = {
  readonly names: readonly string[];
  readonly on: readonly unknown[];
  readonly off: unknown;
  readonly dummy: boolean;
  readonly system: boolean;
};

const FAMILIES: readonly Family[] = [
  {
    names: [
      'gemini-1.5-pro', 'gemini-1.5-flash', 'models/gemini-1.5-flash', 'gemini-1.5-flash-8b', 'gemini-2.0-flash', 'models/gemini-2.0-flash',
      'gemini-2.0-flash-exp', 'gemini-2.0-flash-001', 'gemini-2.5-flash-image', 'gemini-2.5-flash-image-preview', 'google/gemini-2.5-flash-image',
      'gemini-2.5-flash-preview-tts', 'gemini-2.5-pro-preview-tts',
    ],
    on: NOTHING, off: undefined, dummy: false, system: true,
  },
  {
    names: ['gemini-2.5-pro', 'models/gemini-2.5-pro', 'gemini-2.5-pro-preview-06-05', 'google/gemini-2.5-pro', 'gemini-2.5-computer-use-preview-10-2025', 'models/gemini-2.5-computer-use-preview-10-2025', 'publishers/google/models/gemini-2.5-pro'],
    on: PRO_2_5, off: { thinkingBudget: 128 }, dummy: false, system: true,
  },
  {
    names: ['gemini-2.5-flash', 'google/gemini-2.5-flash', 'Gemini-2.5-Flash', 'gemini-2.5-flash@default', 'gemini-2.5-flash-preview-09-2025', 'gemini-2.5-flash-lite', 'gemini-2.5-flash-lite-preview-06-17', 'gemini-robotics-er-1.5-preview'],
    on: FLASH_2_5, off: { thinkingBudget: 0 }, dummy: false, system: true,
  },
  {
    names: ['gemini-3-pro-preview', 'google/gemini-3-pro-preview'],
    on: [ON, level('LOW'), level('HIGH'), level('HIGH'), level('HIGH')], off: { thinkingLevel: 'LOW' }, dummy: true, system: true,
  },
  { names: ['gemini-3-pro-image-preview', 'google/gemini-3-pro-image'], on: [ON, ON, ON, ON, ON], off: undefined, dummy: true, system: true },
  {
    names: ['gemini-3-flash-preview', 'gemini-3.1-flash-lite', 'gemini-3.5-flash', 'gemini-3.5-flash-lite', 'gemini-3.6-flash', 'models/gemini-3.6-flash'],
    on: LEVELS, off: { thinkingLevel: 'MINIMAL' }, dummy: true, system: true,
  },
  {
    names: [
      'gemini-3.1-pro-preview', 'gemini-3.7-flash', 'gemini-3.8-flash', 'gemini-4-argon', 'gemini-4-carbon', 'gemini-4-neon', 'gemini-pro-latest',
      'gemini-flash-latest', 'gemini-flash-lite-latest', 'gemini-30-flash', 'something-nobody-knows', 'there-is-no-such-model',
      'this-model-does-not-exist-12345', 'tunedModels/our-gemini-2.5-flash',
    ],
    on: LEVELS, off: { thinkingLevel: 'LOW' }, dummy: true, system: true,
  },
  {
    names: ['gemini-4-hydrogen', 'models/gemini-4-hydrogen', 'gemini-4-hydrogen-preview'],
    on: [ON, level('LOW'), level('MEDIUM'), level('HIGH'), level('XHIGH')], off: { thinkingLevel: 'LOW' }, dummy: true, system: true,
  },
  { names: ['gemma-2-9b-it', 'gemma-3-27b-it', 'models/gemma-3-27b-it', 'gemma-3n-e4b-it'], on: NOTHING, off: undefined, dummy: false, system: false },
  { names: ['gemma-4-31b-it', 'models/gemma-4-31b-it'], on: LEVELS, off: { thinkingLevel: 'LOW' }, dummy: false, system: false },
];

for (const { names, on, off, dummy, system } of FAMILIES) {
  for (const model of names) {
    test(`${model} gets what that model takes`, () => {
      const sent = (enabled: boolean, effort: Effort | undefined): unknown =>
        (payload(requestOf({ model, thinking: { enabled, effort } }))['generationConfig'] as { thinkingConfig?: unknown } | undefined)?.thinkingConfig;
      assert.deepEqual(EFFORTS.map((effort) => sent(true, effort)), on);
      assert.deepEqual(sent(false, undefined), off);
      const { contents, systemInstruction } = payload(requestOf({ model, system: 'S', turns: [user('a'), assistant(call('1', 'f')), result('1', '')] }));
      assert.equal(contents[1]?.parts[0]?.['thoughtSignature'] !== undefined, dummy);
      assert.equal(systemInstruction !== undefined, system);
    });
  }
}

for (const [model, json, results, urls] of [
  ['gemini-1.5-pro', false, false, false],
  ['models/gemini-2.0-flash-001', false, false, false],
  ['gemini-2.5-flash-image-preview', false, false, true],
  ['google/gemini-2.5-pro', false, false, true],
  ['gemini-2.5-flash-lite', false, false, true],
  ['gemini-robotics-er-1.5-preview', false, false, true],
  ['gemini-3-pro-preview', true, true, true],
  ['gemini-3.6-flash', true, true, true],
  ['this-model-does-not-exist-12345', true, true, true],
  ['gemma-2-9b-it', true, false, true],
  ['gemma-3-27b-it', true, false, true],
  ['gemma-3n-e4b-it', true, false, true],
  ['gemma-4-31b-it', true, false, true],
] as const) {
  test(`${model} takes JSON beside tools, files in responses and files by URL as its generation does`, () => {
    const { mixesToolsWithJson, takesFilesInResponses, fetchesFiles } = ruleFor(model);
    assert.deepEqual([mixesToolsWithJson, takesFilesInResponses, fetchesFiles], [json, results, urls]);
  });
}

test('the rule of every recorded Gemini is known here', { skip: corpusAbsent }, () => {
  const known = new Set(FAMILIES.flatMap(({ names }) => names));
  assert.deepEqual(recordedModels().filter((model) => model.includes('gemini') && !known.has(model)), []);
});
