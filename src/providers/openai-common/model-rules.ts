/**
 * What depends on the model, by family: a table a vendor.
 *
 * Rules by model age in weeks, so the newest behaviour is the default and the rows name the exceptions. Of a table the
 * first row counts whose pattern matches the plain name (`core/model-name.ts`); `provider_options` overrides all of it.
 * Sources: OpenAI, models, endpoints and `reasoning_effort`; Chat Completions, error for `reasoning_effort` with function
 * tools; prompt caching, cache lifetime and retention; xAI, reasoning.
 */

import { plainModelName } from '../../core/model-name.ts';
import {
  LOW_HIGH, LOW_TO_HIGH, LOW_TO_XHIGH, MEDIUM_TO_XHIGH, MINIMAL_TO_HIGH, NONE_TO_HIGH, NONE_TO_XHIGH, NO_EFFORT, ONLY_HIGH,
  ONLY_MEDIUM,
} from './efforts.ts';
import type { EffortNames } from './efforts.ts';

export type OpenAiRule = {
  /** Which API serves the model. `for tools`: Chat Completions takes them only without reasoning, or not at all. */
  readonly responses: 'never needed' | 'for tools' | 'always';
  /** `max` is no value of Chat Completions; `xhigh` is as far as it goes. */
  readonly efforts: EffortNames;
  /** Whether Responses takes the effort `max`. */
  readonly hasMax: boolean;
  /** Whether the model reasons: it takes instructions in the role `developer`, and seals its reasoning in Responses. */
  readonly isReasoning: boolean;
  /** Whether Chat Completions takes tools only with the effort `none`, which is not the model's default. */
  readonly isNoneForTools: boolean;
};

const PLAIN: OpenAiRule = {
  responses: 'never needed', efforts: NO_EFFORT, hasMax: false, isReasoning: false, isNoneForTools: false,
};
const REASONING: OpenAiRule = { ...PLAIN, efforts: LOW_TO_HIGH, isReasoning: true };
const RECENT: OpenAiRule = { ...REASONING, responses: 'for tools', efforts: LOW_TO_XHIGH, hasMax: true };

const OPENAI_RULES: readonly (readonly [models: RegExp, rule: OpenAiRule])[] = [
  // Azure writes gpt-3.5 without the dot.
  [/^(?:gpt-[34]|chatgpt-)|-chat(?:-|$)/, PLAIN],

  [/^o\d.*-deep-research/, { ...REASONING, responses: 'always', efforts: ONLY_MEDIUM }],
  [/^(?:codex-|computer-use-|o\d.*-pro(?:-|$))/, { ...REASONING, responses: 'always' }],
  [/^o\d/, REASONING],
  [/^gpt-oss/, REASONING],

  [/^gpt-5-pro/, { ...REASONING, responses: 'always', efforts: ONLY_HIGH }],
  [/^gpt-5(?:\.1)?-codex/, { ...REASONING, responses: 'always' }],
  [/^gpt-5(?![.\d])/, { ...REASONING, efforts: MINIMAL_TO_HIGH }],
  [/^gpt-5\.1(?!\d)/, { ...REASONING, efforts: NONE_TO_HIGH }],

  // Chat Completions alone has them.
  [/^gpt-\d.*-search-(?:api|preview)(?:-|$)/, { ...RECENT, responses: 'never needed', efforts: NONE_TO_XHIGH, hasMax: false }],
  [/^gpt-5\.[2-5]-pro/, { ...RECENT, responses: 'always', efforts: MEDIUM_TO_XHIGH, hasMax: false }],
  [/^gpt-5\.\d+-pro/, { ...RECENT, responses: 'always', efforts: MEDIUM_TO_XHIGH }],
  [/^gpt-5\.[2-5]-codex/, { ...RECENT, responses: 'always', hasMax: false }],
  [/^gpt-\d.*-(?:pro|codex|deep-research)(?:-|$)/, { ...RECENT, responses: 'always' }],
  [/^gpt-5\.[23](?!\d)/, { ...RECENT, responses: 'never needed', efforts: NONE_TO_XHIGH, hasMax: false }],
  [/^gpt-5\.[45](?!\d)/, { ...RECENT, efforts: NONE_TO_XHIGH, hasMax: false }],
  [/^gpt-(?:5\.6(?!\d)|6-(?:sol|luna)|6\.1-terra)/, { ...RECENT, efforts: NONE_TO_XHIGH, isNoneForTools: true }],
  [/^gpt-5\./, { ...RECENT, efforts: NONE_TO_XHIGH }],
  [/^gpt-\d/, RECENT],
];

/** Of names that are none of OpenAI's: whatever stands behind the base URL, it has Chat Completions. */
const OTHER: OpenAiRule = { ...RECENT, responses: 'never needed' };

/** The rule for a model of OpenAI, or of a host that serves OpenAI's. */
export function openAiRule(model: string): OpenAiRule {
  return firstMatch(OPENAI_RULES, model) ?? OTHER;
}

/** How a model is told to keep a cached beginning for long: `prompt_cache_options`, `prompt_cache_retention`, or not at all. */
export type CacheLife = 'options' | 'retention' | 'fixed';

const CACHE_LIVES: readonly (readonly [models: RegExp, life: CacheLife])[] = [
  [/^gpt-(?:4\.1|5(?:\.[1-5])?(?:-codex(?:-max|-mini)?)?)$/, 'retention'],
  // The others before gpt-5.6 refuse either field.
  [/^(?:gpt-(?:[34]|5(?![.\d])|5\.[1-5](?!\d)|oss)|chatgpt-|codex-|computer-use-|o\d)/, 'fixed'],
];

/** How a model of OpenAI's is told. A field that it does not know would be refused, and a hint with it. */
export function cacheLife(model: string): CacheLife {
  return firstMatch(CACHE_LIVES, model) ?? 'options';
}

const XAI_EFFORTS: readonly (readonly [models: RegExp, efforts: EffortNames])[] = [
  [/^grok-3-mini/, LOW_HIGH],
  // They refuse the field whatever its value.
  [/^grok-(?:[23]|4(?![.\d])|4\.1(?!\d)|4\.20|code|build)/, NO_EFFORT],
  [/^grok-4\.3/, NONE_TO_XHIGH],
];

/** The efforts that a model of xAI takes. */
export function xaiEfforts(model: string): EffortNames {
  return firstMatch(XAI_EFFORTS, model) ?? LOW_TO_XHIGH;
}

function firstMatch<Rule>(rules: readonly (readonly [models: RegExp, rule: Rule])[], model: string): Rule | undefined {
  const name = plainModelName(model);
  return rules.find(([models]) => models.test(name))?.[1];
}
