import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Thinking } from '../../../src/core/chat.ts';
import { openAiRule, xaiEfforts } from '../../../src/providers/openai-common/model-rules.ts';
import { encodeThinking } from '../../../src/providers/openai-common/thinking.ts';
import type { ThinkingStyle } from '../../../src/providers/openai-common/thinking.ts';
import { corpusAbsent, recordings } from '../../corpus.ts';
import { requestOf } from '../openai-chat/setup.ts';

/** Efforts for off, low, medium, high, max; then which API, and what else is true of the models. */
const OPENAI_FAMILIES: readonly (readonly [efforts: string, facts: string, models: readonly string[]])[] = [
  ['- - - - -', 'never needed', [
    'gpt-3.5-turbo', 'gpt-3.5-turbo-0125', 'gpt-3.5-turbo-0613', 'gpt-35-turbo', 'gpt-35-turbo-16k', 'gpt-4', 'gpt-4-0613', 'gpt-4-turbo', 'gpt-4o', 'gpt-4o-2024-08-06',
    'gpt-4o-2024-11-20', 'gpt-4o-mini', 'gpt-4o-mini-2024-07-18', 'gpt-4o-mini-search-preview-2025-03-11', 'gpt-4o-search-preview-2025-03-11', 'gpt-4.1',
    'gpt-4.1-2025-04-14', 'gpt-4.1-mini-2025-04-14', 'gpt-4.1-nano', 'gpt-4.1-nano-wrong', 'gpt-4.5-preview', 'chatgpt-4o-latest',
    'gpt-5-chat-latest', 'gpt-5.2-chat', 'gpt-5.3-chat-latest', 'gpt-6-chat-latest', 'deepseek-chat', 'fake-chat',
    'ft:gpt-4o:org:support-chat:id', 'ft:gpt-4o-mini-2024-07-18:acme:o3-pro:AbC', 'ft:gpt-4.1:acme:gpt-5-codex:id', 'openai/gpt-4o', 'GPT-4o',
  ]],
  ['low low medium high high', 'never needed, reasoning', [
    'o1', 'o1-mini', 'o3', 'o3-mini', 'o3-2025-04-16', 'o4-mini', 'o4-mini-2025-04-16', 'ft:o4-mini-2025-04-16:acme:support-chat:id',
    'gpt-oss-20b', 'gpt-oss-120b', 'openai/gpt-oss-20b', 'openai.gpt-oss-120b-1:0', 'gpt-oss:120b',
  ]],
  ['low low medium high high', 'always, reasoning', [
    'o1-pro', 'o3-pro-2025-06-10', 'codex-mini-latest', 'codex-mini', 'computer-use-preview', 'gpt-5-codex', 'gpt-5.1-codex', 'gpt-5.1-codex-max', 'gpt-5.1-codex-mini',
  ]],
  ['medium medium medium medium medium', 'always, reasoning', ['o3-deep-research', 'o4-mini-deep-research-2025-06-26']],
  ['high high high high high', 'always, reasoning', ['gpt-5-pro', 'gpt-5-pro-2025-10-06']],
  ['minimal low medium high high', 'never needed, reasoning', [
    'gpt-5', 'gpt-5-2025-08-07', 'gpt-5-mini', 'gpt-5-mini-2025-08-07', 'gpt-5-nano', 'gpt-5-nano-2025-08-07', 'gpt-5-search-api', 'openai/gpt-5',
    'ft:gpt-5-mini:acme:code-pro:id',
  ]],
  ['none low medium high high', 'never needed, reasoning', ['gpt-5.1', 'gpt-5.1-2025-11-13']],
  ['none low medium high xhigh', 'never needed, reasoning', ['gpt-5.2', 'gpt-5.2-2025-12-11', 'gpt-5.3']],
  ['none low medium high xhigh', 'for tools, reasoning', [
    'gpt-5.4', 'gpt-5.4-mini', 'gpt-5.4-2026-03-05', 'gpt-5.4-nano-2026-03-17', 'openai/gpt-5.4-nano-20260317', 'gpt-5.5', 'gpt-5.5-2026-04-23', 'gpt-5.5-mini',
    'ft:gpt-5.4-mini:acme:gpt-4:id',
  ]],
  ['none low medium high xhigh', 'for tools, reasoning, max, none for tools', [
    'gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna', 'openai.gpt-5.6-luna', 'openai/gpt-5.6-sol', 'gpt-6-sol', 'gpt-6-luna', 'ft:gpt-6-luna:me::x', 'gpt-6.1-terra',
  ]],
  ['none low medium high xhigh', 'for tools, reasoning, max', ['gpt-5.7', 'gpt-5.10', 'gpt-5.60']],
  ['low low medium high xhigh', 'for tools, reasoning, max', ['gpt-6', 'gpt-6-astra', 'gpt-6.1-sol', 'gpt-6.2-astra', 'gpt-7', 'gpt-10-nova']],
  ['low low medium high xhigh', 'always, reasoning', ['gpt-5.2-codex', 'gpt-5.3-codex', 'gpt-5.3-codex-spark']],
  ['low low medium high xhigh', 'always, reasoning, max', ['gpt-5.6-codex', 'gpt-6-pro', 'gpt-6-codex', 'gpt-6-deep-research', 'gpt-10-nova-pro']],
  ['medium medium medium high xhigh', 'always, reasoning', ['gpt-5.2-pro', 'gpt-5.4-pro-2026-03-05']],
  ['medium medium medium high xhigh', 'always, reasoning, max', ['gpt-5.6-pro', 'gpt-5.10-pro']],
  ['low low medium high xhigh', 'never needed, reasoning, max', [
    'llama-4', 'deepseek-v4-pro', 'my-codex', 'my-gpt-4o', 'something-new', 'grok-4-1-fast-non-reasoning', 'invalid-model', 'non-existent-model', 'this-model-does-not-exist-12345', '', 'ft:',
  ]],
];

const ladder = (efforts: Readonly<Record<'off' | 'low' | 'medium' | 'high' | 'max', string | undefined>>): string =>
  [efforts.off, efforts.low, efforts.medium, efforts.high, efforts.max].map((name) => name ?? '-').join(' ');

test('every known model of OpenAI has the rule of its family, however its name is written', () => {
  for (const [efforts, facts, models] of OPENAI_FAMILIES) {
    for (const model of models) {
      const rule = openAiRule(model);
      const found = [rule.responses, rule.isReasoning ? 'reasoning' : '', rule.hasMax ? 'max' : '', rule.isNoneForTools ? 'none for tools' : ''];
      assert.deepEqual([ladder(rule.efforts), found.filter((fact) => fact !== '').join(', ')], [efforts, facts], model);
    }
  }
});

test('every known model of xAI has the efforts of its family', () => {
  const families: Readonly<Record<string, readonly string[]>> = {
    '- - - - -': [
      'grok-2', 'grok-3', 'grok-4', 'grok-4-0709', 'grok-4-fast-reasoning', 'grok-4.1-fast', 'grok-4-1-fast-non-reasoning', 'grok-4.20-reasoning',
      'grok-4.20-non-reasoning', 'grok-code-fast-1', 'grok-build', 'x-ai/grok-4.1-fast',
    ],
    'low low high high high': ['grok-3-mini', 'grok-3-mini-high', 'xai/grok-3-mini'],
    'none low medium high xhigh': ['grok-4.3', 'x-ai/grok-4.3'],
    'low low medium high xhigh': ['grok-4.7', 'grok-4.10', 'grok-5'],
  };
  for (const [efforts, models] of Object.entries(families)) for (const model of models) assert.equal(ladder(xaiEfforts(model)), efforts, model);
});

const high: Thinking = { enabled: true, effort: 'high' };
const off: Thinking = { enabled: false, effort: undefined };
const EFFORT = '{"reasoning_effort":"high"} {"reasoning_effort":"low"}';
const SWITCH = '{"reasoning":{"enabled":true}} {"reasoning":{"enabled":false}}';

/** By style: what goes out for a high effort and for none. */
const OTHER_FAMILIES: Readonly<Partial<Record<ThinkingStyle, Readonly<Record<string, readonly string[]>>>>> = {
  groq: {
    [EFFORT]: [
      'openai/gpt-oss-120b', 'openai/gpt-oss-20b', 'llama-3.3-70b-versatile', 'llama3-8b-8192', 'groq/compound', 'meta-llama/llama-4-maverick-17b-128e-instruct',
      'moonshotai/kimi-k2-instruct-0905',
    ],
    '{"reasoning_effort":"default","reasoning_format":"parsed"} {"reasoning_effort":"none"}': ['qwen/qwen3-32b', 'qwen3-32b', 'Qwen/Qwen3-32B'],
  },
  moonshot: {
    [EFFORT]: ['kimi-k3', 'moonshotai/kimi-k3', 'moonshot-v1-8k'],
    '{"thinking":{"type":"enabled"}} {"thinking":{"type":"disabled"}}': ['kimi-k2.5', 'kimi-k2.6', 'moonshotai/Kimi-K2.6', 'kimi-k2-thinking'],
    '{"thinking":{"type":"enabled"}} {}': ['kimi-k2.7', 'kimi-k2.7-code'],
  },
  together: {
    [EFFORT]: ['openai/gpt-oss-20b', 'OpenAI/gpt-oss-120B'],
    [SWITCH]: ['moonshotai/Kimi-K2.6', 'meta-llama/Llama-3.3-70B-Instruct-Turbo', 'mistralai/Mixtral-8x7B-Instruct-v0.1'],
  },
};

const wishes = (style: ThinkingStyle, model: string): string =>
  [high, off].map((thinking) => JSON.stringify(encodeThinking(style, requestOf({ model, thinking })))).join(' ');

test('every known model of hosts with families of their own is told to think as its family is', () => {
  for (const [style, families] of Object.entries(OTHER_FAMILIES)) {
    for (const [fields, models] of Object.entries(families)) {
      for (const model of models) assert.equal(wishes(style as ThinkingStyle, model), fields, `${style} ${model}`);
    }
  }
});

test('no recorded model of OpenAI, Azure, Groq or Together is without a row here', { skip: corpusAbsent }, () => {
  const openai = OPENAI_FAMILIES.flatMap(([, , models]) => models);
  const listed: Readonly<Record<string, readonly string[]>> = {
    openai,
    azure: openai,
    groq: Object.values(OTHER_FAMILIES.groq ?? {}).flat(),
    together: Object.values(OTHER_FAMILIES.together ?? {}).flat(),
  };
  for (const { provider, model, file } of (['complete', 'stream', 'error'] as const).flatMap((kind) => recordings('openai-chat', kind))) {
    if (model !== null) assert.ok(listed[provider]?.includes(model) ?? true, `${model} of ${file}`);
  }
});
