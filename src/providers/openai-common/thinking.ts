/**
 * How each host is told to think, or not to.
 *
 * Thinking is a wish: where a model has no exact equal, the nearest setting goes out. Rules by model
 * age in weeks, so the newest behaviour is the default and the tables name the exceptions, by prefix;
 * `provider_options` overrides all of it. Sources: OpenAI, Chat Completions, `reasoning_effort`, and
 * the reasoning pages of the hosts.
 */

import type { JsonOutObject } from '../../base/json/value.ts';
import type { Support, SupportTable } from '../../core/adapter.ts';
import type { ChatRequest, Effort, Thinking } from '../../core/chat.ts';

export type ThinkingStyle =
  /** `reasoning_effort`, by model family. */
  | 'openai'
  /** `reasoning_effort`: none, low, medium, high. */
  | 'effort'
  | 'xai'
  | 'groq'
  | 'mistral'
  | 'moonshot'
  /** `thinking.type` (DeepSeek, Z.ai). */
  | 'thinking type'
  /** `reasoning.effort`, `reasoning.enabled`. */
  | 'openrouter'
  | 'together'
  /** `chat_template_kwargs` (vLLM, llama.cpp, NIM). */
  | 'chat template';

/** The values of `reasoning_effort` for each wish; undefined = the field is left out. */
type EffortNames = Readonly<Record<Effort | 'off', string | undefined>>;

const LOW_TO_HIGH: EffortNames = { off: 'low', low: 'low', medium: 'medium', high: 'high', max: 'high' };
const NONE_TO_HIGH: EffortNames = { ...LOW_TO_HIGH, off: 'none' };
const LOW_TO_XHIGH: EffortNames = { ...LOW_TO_HIGH, max: 'xhigh' };
const NONE_TO_XHIGH: EffortNames = { ...LOW_TO_XHIGH, off: 'none' };
const LOW_HIGH_MAX: EffortNames = { off: 'low', low: 'low', medium: 'high', high: 'high', max: 'max' };
const MEDIUM_TO_XHIGH: EffortNames = { ...LOW_TO_XHIGH, off: 'medium', low: 'medium' };
const ONLY_HIGH: EffortNames = { off: 'high', low: 'high', medium: 'high', high: 'high', max: 'high' };
const NO_EFFORT: EffortNames = { off: undefined, low: undefined, medium: undefined, high: undefined, max: undefined };

/** OpenAI models from before reasoning; also every `-chat` one. */
const OPENAI_PLAIN = /^(?:ft:)?(?:gpt-3|gpt-4|chatgpt-|.*-chat)/;
/** OpenAI models that take tools on Chat Completions only with reasoning off, and think unless told. */
const OPENAI_TOOLS_WITHOUT_REASONING = /^(?:gpt-5\.6|gpt-6-(?:sol|luna)|gpt-6\.1-terra)/;

/** The first match counts. `max` exists in the Responses API only; `xhigh` is as far as Chat Completions goes. */
const OPENAI_EFFORTS: readonly (readonly [models: RegExp, names: EffortNames])[] = [
  [OPENAI_PLAIN, NO_EFFORT],
  [/^o\d/, LOW_TO_HIGH],
  [/^gpt-5-pro/, ONLY_HIGH],
  [/^gpt-5\.\d+-pro/, MEDIUM_TO_XHIGH],
  [/^gpt-5(?:\.1)?-codex/, LOW_TO_HIGH],
  [/^gpt-5\.\d+-codex/, LOW_TO_XHIGH],
  [/^gpt-5(?![.\d])/, { ...LOW_TO_HIGH, off: 'minimal' }],
  [/^gpt-5\.1(?!\d)/, NONE_TO_HIGH],
  [/^gpt-5\./, NONE_TO_XHIGH],
  [OPENAI_TOOLS_WITHOUT_REASONING, NONE_TO_XHIGH],
];

/** Models from before `max`, among those that know `xhigh`. */
const OPENAI_WITHOUT_MAX = /^gpt-5\.[2-5](?!\d)/;

/** xAI models that refuse the field whatever its value. */
const XAI_WITHOUT_EFFORT = /^grok-(?:2|3(?!-mini)|4(?![.\d])|4\.1(?!\d)|4\.20|code|build)/;

/** Whether an OpenAI model takes instructions in the role `developer`. */
export function isReasoningModel(model: string): boolean {
  return !OPENAI_PLAIN.test(model);
}

/** The payload fields for the request's wish to think or not; none when it has no wish. */
export function encodeThinking(style: ThinkingStyle, request: ChatRequest): JsonOutObject {
  const { model, thinking } = request;
  const isReasoningRefused = style === 'openai' && request.tools.length > 0 && OPENAI_TOOLS_WITHOUT_REASONING.test(model);
  if (isReasoningRefused && thinking?.enabled !== true) return { reasoning_effort: 'none' };
  return thinking === undefined ? {} : STYLES[style].encode(model, thinking);
}

/**
 * `reasoning` of OpenAI's Responses API for the request's wish; undefined when it has none, or the model none to offer.
 * The text of the reasoning comes as a summary, and only when asked for.
 */
export function encodeReasoning({ model, thinking }: ChatRequest): JsonOutObject | undefined {
  if (thinking === undefined) return undefined;
  const names = openAiEfforts(model);
  const effort = effortName(names, thinking);
  if (effort === undefined) return undefined;
  if (!thinking.enabled) return { effort };
  const hasMax = names.max === 'xhigh' && !OPENAI_WITHOUT_MAX.test(model);
  return { effort: hasMax && thinking.effort === 'max' ? 'max' : effort, summary: 'auto' };
}

/** What the style makes of each wish, for the matrix. */
export function thinkingSupport(style: ThinkingStyle): ThinkingSupport {
  return STYLES[style].support;
}

type ThinkingSupport = Pick<SupportTable, Extract<keyof SupportTable, `thinking${string}`>>;

type StyleRow = {
  readonly encode: (model: string, thinking: Thinking) => JsonOutObject;
  readonly support: ThinkingSupport;
};

const STYLES: Readonly<Record<ThinkingStyle, StyleRow>> = {
  openai: {
    encode: (model, thinking) => encodeEffort(openAiEfforts(model), thinking),
    support: effortSupport(
      LOW_TO_XHIGH,
      '; older models: the nearest they take, nothing before reasoning models',
      '; `none` or `minimal` for models that take it; `none` with tools, even unasked, for models that demand it',
    ),
  },
  effort: {
    encode: (_model, thinking) => encodeEffort(NONE_TO_HIGH, thinking),
    support: effortSupport(NONE_TO_HIGH),
  },
  xai: {
    encode: (model, thinking) => encodeEffort(xaiEfforts(model), thinking),
    support: effortSupport(LOW_TO_XHIGH, '; nothing for models that refuse the field', '; `none` for grok-4.3'),
  },
  groq: {
    encode: encodeGroq,
    support: effortSupport(LOW_TO_HIGH, '; qwen models: `default`, with `reasoning_format: parsed`', '; `none` for qwen models'),
  },
  mistral: {
    encode: (_model, thinking) => ({ reasoning_effort: thinking.enabled ? 'high' : 'none' }),
    support: effortSupport({ off: 'none', low: 'high', medium: 'high', high: 'high', max: 'high' }),
  },
  moonshot: {
    encode: encodeMoonshot,
    support: effortSupport(
      LOW_HIGH_MAX,
      '; kimi-k2 models: `thinking.type: enabled`',
      '; kimi-k2 models: `thinking.type: disabled`, nothing for kimi-k2.7, which cannot stop',
    ),
  },
  'thinking type': {
    encode: (_model, { enabled, effort }) => ({
      thinking: { type: enabled ? 'enabled' : 'disabled' },
      reasoning_effort: enabled && effort !== undefined ? LOW_HIGH_MAX[effort] : undefined,
    }),
    support: {
      ...effortSupport(LOW_HIGH_MAX, ', with `thinking.type: enabled`'),
      'thinking on': { is: 'sent', as: '`thinking.type: enabled`' },
      'thinking off': { is: 'sent', as: '`thinking.type: disabled`' },
    },
  },
  openrouter: {
    encode: (_model, { enabled, effort }) => ({
      reasoning: enabled && effort === undefined ? { enabled } : { effort: NONE_TO_XHIGH[enabled ? (effort ?? 'medium') : 'off'] },
    }),
    support: {
      'thinking on': { is: 'sent', as: '`reasoning.enabled: true`' },
      'thinking off': { is: 'sent', as: '`reasoning.effort: none`' },
      'thinking.effort low': { is: 'sent', as: '`reasoning.effort: low`' },
      'thinking.effort medium': { is: 'sent', as: '`reasoning.effort: medium`' },
      'thinking.effort high': { is: 'sent', as: '`reasoning.effort: high`' },
      'thinking.effort max': { is: 'translated', as: '`reasoning.effort: xhigh`' },
    },
  },
  together: {
    encode: (model, thinking) =>
      model.startsWith('openai/') ? encodeEffort(LOW_TO_HIGH, thinking) : { reasoning: { enabled: thinking.enabled } },
    support: {
      'thinking on': { is: 'sent', as: '`reasoning.enabled: true`; gpt-oss models: `reasoning_effort: medium`' },
      'thinking off': { is: 'sent', as: '`reasoning.enabled: false`; gpt-oss models: `reasoning_effort: low`' },
      'thinking.effort low': { is: 'translated', as: '`reasoning.enabled: true`; gpt-oss models: `reasoning_effort: low`' },
      'thinking.effort medium': { is: 'translated', as: '`reasoning.enabled: true`; gpt-oss models: `reasoning_effort: medium`' },
      'thinking.effort high': { is: 'translated', as: '`reasoning.enabled: true`; gpt-oss models: `reasoning_effort: high`' },
      'thinking.effort max': { is: 'translated', as: '`reasoning.enabled: true`; gpt-oss models: `reasoning_effort: high`' },
    },
  },
  'chat template': {
    // Templates name the switch in two ways and ignore the name that they do not know.
    encode: (_model, { enabled, effort }) => ({
      chat_template_kwargs: { enable_thinking: enabled, thinking: enabled },
      reasoning_effort: enabled && effort !== undefined ? LOW_TO_HIGH[effort] : undefined,
    }),
    support: {
      ...effortSupport(LOW_TO_HIGH, ', with `chat_template_kwargs.enable_thinking: true`'),
      'thinking on': { is: 'sent', as: '`chat_template_kwargs.enable_thinking: true` and `chat_template_kwargs.thinking: true`' },
      'thinking off': { is: 'sent', as: '`chat_template_kwargs.enable_thinking: false` and `chat_template_kwargs.thinking: false`' },
    },
  },
};

function openAiEfforts(model: string): EffortNames {
  return OPENAI_EFFORTS.find(([models]) => models.test(model))?.[1] ?? LOW_TO_XHIGH;
}

function xaiEfforts(model: string): EffortNames {
  if (XAI_WITHOUT_EFFORT.test(model)) return NO_EFFORT;
  if (model.startsWith('grok-3-mini')) return { off: 'low', low: 'low', medium: 'high', high: 'high', max: 'high' };
  return model.startsWith('grok-4.3') ? NONE_TO_XHIGH : LOW_TO_XHIGH;
}

function encodeEffort(names: EffortNames, thinking: Thinking): JsonOutObject {
  return { reasoning_effort: effortName(names, thinking) };
}

function effortName(names: EffortNames, thinking: Thinking): string | undefined {
  return names[thinking.enabled ? (thinking.effort ?? 'medium') : 'off'];
}

function encodeGroq(model: string, thinking: Thinking): JsonOutObject {
  if (!model.startsWith('qwen/')) return encodeEffort(LOW_TO_HIGH, thinking);
  // Unasked, these models put their reasoning into the answer's text, in tags.
  return thinking.enabled ? { reasoning_effort: 'default', reasoning_format: 'parsed' } : { reasoning_effort: 'none' };
}

function encodeMoonshot(model: string, thinking: Thinking): JsonOutObject {
  if (!model.startsWith('kimi-k2')) return encodeEffort(LOW_HIGH_MAX, thinking);
  if (thinking.enabled) return { thinking: { type: 'enabled' } };
  // kimi-k2.7 always thinks and refuses to be told otherwise.
  return model.startsWith('kimi-k2.7') ? {} : { thinking: { type: 'disabled' } };
}

/** The rows of a style that sends `reasoning_effort`. Notes are on models that differ. */
function effortSupport(names: EffortNames, note = '', offNote = ''): ThinkingSupport {
  const row = (effort: Effort): Support => ({
    is: names[effort] === effort ? 'sent' : 'translated',
    as: `\`reasoning_effort: ${names[effort]}\`${note}`,
  });
  return {
    'thinking on': { is: 'translated', as: `\`reasoning_effort: ${names.medium}\`${note}` },
    'thinking off': { is: names.off === 'none' ? 'sent' : 'translated', as: `\`reasoning_effort: ${names.off}\`${offNote}` },
    'thinking.effort low': row('low'),
    'thinking.effort medium': row('medium'),
    'thinking.effort high': row('high'),
    'thinking.effort max': row('max'),
  };
}
