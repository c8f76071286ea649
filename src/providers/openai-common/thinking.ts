/**
 * How each host is told to think, or not to.
 *
 * Thinking is a wish: where a model has no exact equal, the nearest setting goes out; `provider_options`
 * overrides all of it. Sources: OpenAI, Chat Completions, `reasoning_effort`, and the reasoning pages of
 * the hosts.
 */

import type { JsonOutObject } from '../../base/json/value.ts';
import type { Support, SupportTable } from '../../core/adapter.ts';
import type { ChatRequest, Effort, Thinking } from '../../core/chat.ts';
import { plainModelName } from '../../core/model-name.ts';
import { LOW_HIGH_MAX, LOW_TO_HIGH, LOW_TO_XHIGH, NONE_TO_HIGH, NONE_TO_XHIGH, effortName } from './efforts.ts';
import type { EffortNames } from './efforts.ts';
import { openAiRule, xaiEfforts } from './model-rules.ts';

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

/** The payload fields for the request's wish to think or not; none when it has no wish. */
export function encodeThinking(style: ThinkingStyle, request: ChatRequest): JsonOutObject {
  const { model, thinking } = request;
  const isReasoningRefused = style === 'openai' && request.tools.length > 0 && openAiRule(model).isNoneForTools;
  if (isReasoningRefused && thinking?.enabled !== true) return { reasoning_effort: 'none' };
  return thinking === undefined ? {} : STYLES[style].encode(plainModelName(model), thinking);
}

/**
 * `reasoning` of OpenAI's Responses API for the request's wish; undefined when it has none, or the model none to offer.
 * The text of the reasoning comes as a summary, and only when asked for.
 */
export function encodeReasoning({ model, thinking }: ChatRequest): JsonOutObject | undefined {
  if (thinking === undefined) return undefined;
  const { efforts, hasMax } = openAiRule(model);
  const effort = effortName(efforts, thinking);
  if (effort === undefined) return undefined;
  if (!thinking.enabled) return { effort };
  return { effort: hasMax && thinking.effort === 'max' ? 'max' : effort, summary: 'auto' };
}

/** What the style makes of each wish, for the matrix. */
export function thinkingSupport(style: ThinkingStyle): ThinkingSupport {
  return STYLES[style].support;
}

type ThinkingSupport = Pick<SupportTable, Extract<keyof SupportTable, `thinking${string}`>>;

type StyleRow = {
  /** By the model's plain name. */
  readonly encode: (model: string, thinking: Thinking) => JsonOutObject;
  readonly support: ThinkingSupport;
};

const STYLES: Readonly<Record<ThinkingStyle, StyleRow>> = {
  openai: {
    encode: (model, thinking) => encodeEffort(openAiRule(model).efforts, thinking),
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
    encode: (_model, thinking) => ({
      reasoning: thinking.enabled && thinking.effort === undefined ? { enabled: true } : { effort: effortName(NONE_TO_XHIGH, thinking) },
    }),
    support: {
      ...effortSupport(NONE_TO_XHIGH, '', '', 'reasoning.effort'),
      'thinking on': { is: 'sent', as: '`reasoning.enabled: true`' },
    },
  },
  together: {
    encode: (model, thinking) =>
      model.startsWith('gpt-oss') ? encodeEffort(LOW_TO_HIGH, thinking) : { reasoning: { enabled: thinking.enabled } },
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

function encodeEffort(names: EffortNames, thinking: Thinking): JsonOutObject {
  return { reasoning_effort: effortName(names, thinking) };
}

function encodeGroq(model: string, thinking: Thinking): JsonOutObject {
  if (!model.startsWith('qwen')) return encodeEffort(LOW_TO_HIGH, thinking);
  // Unasked, these models put their reasoning into the answer's text, in tags.
  return thinking.enabled ? { reasoning_effort: 'default', reasoning_format: 'parsed' } : { reasoning_effort: 'none' };
}

function encodeMoonshot(model: string, thinking: Thinking): JsonOutObject {
  if (!model.startsWith('kimi-k2')) return encodeEffort(LOW_HIGH_MAX, thinking);
  if (thinking.enabled) return { thinking: { type: 'enabled' } };
  // kimi-k2.7 always thinks and refuses to be told otherwise.
  return model.startsWith('kimi-k2.7') ? {} : { thinking: { type: 'disabled' } };
}

/** The rows of a style that sends an effort. Notes are on models that differ. */
function effortSupport(names: EffortNames, note = '', offNote = '', field = 'reasoning_effort'): ThinkingSupport {
  const row = (effort: Effort): Support => ({
    is: names[effort] === effort ? 'sent' : 'translated',
    as: `\`${field}: ${names[effort]}\`${note}`,
  });
  return {
    'thinking on': { is: 'translated', as: `\`${field}: ${names.medium}\`${note}` },
    'thinking off': { is: names.off === 'none' ? 'sent' : 'translated', as: `\`${field}: ${names.off}\`${offNote}` },
    'thinking.effort low': row('low'),
    'thinking.effort medium': row('medium'),
    'thinking.effort high': row('high'),
    'thinking.effort max': row('max'),
  };
}
