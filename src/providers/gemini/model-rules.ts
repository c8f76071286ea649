/**
 * What differs from one Gemini model to another, by the beginning of its plain name.
 *
 * The newest behaviour is the default and the table names the older exceptions, so that a model nobody
 * here has heard of works. Knows nothing of payloads beyond `thinkingConfig`.
 * Source: Gemini API, thinking; thought signatures; image generation; structured output; function calling; file input
 * methods; Gemma on the Gemini API.
 */

import type { JsonOutObject } from '../../base/json/value.ts';
import { unreachable } from '../../core/chat.ts';
import type { Effort, Thinking } from '../../core/chat.ts';
import { plainModelName } from '../../core/model-name.ts';

type ThinkingControl =
  /** It cannot think. */
  | { readonly by: 'nothing' }
  /** It thinks as long as it likes. */
  | { readonly by: 'itself' }
  /** Tokens; `lowest` is what comes nearest to off. */
  | { readonly by: 'budget'; readonly lowest: number; readonly highest: number }
  | { readonly by: 'level'; readonly lowest: string; readonly levels: Readonly<Record<Effort, string>> };

const LEVELS = { low: 'LOW', medium: 'MEDIUM', high: 'HIGH', max: 'HIGH' } as const;
const NO_THINKING: ThinkingControl = { by: 'nothing' };
const UNLED_THINKING: ThinkingControl = { by: 'itself' };
/** Where `MINIMAL` and a budget are refused, as by the newest models. */
const LEVEL: ThinkingControl = { by: 'level', lowest: 'LOW', levels: LEVELS };
const LEVEL_FROM_MINIMAL: ThinkingControl = { by: 'level', lowest: 'MINIMAL', levels: LEVELS };
const BUDGET_FROM_0: ThinkingControl = { by: 'budget', lowest: 0, highest: 24_576 };
const BUDGET_FROM_128: ThinkingControl = { by: 'budget', lowest: 128, highest: 32_768 };

type ModelRule = {
  readonly thinking: ThinkingControl;
  /** Whether it refuses function calls of the current turn that lack a thought signature: Gemini 3 and later. */
  readonly demandsSignatures: boolean;
  /** Gemma has no `systemInstruction`. */
  readonly hasSystemInstruction: boolean;
  /** Whether it can be kept to JSON while it has tools: not before Gemini 3. */
  readonly mixesToolsWithJson: boolean;
  /** Whether a function's response may hold files: only text before Gemini 3. */
  readonly takesFilesInResponses: boolean;
  /** Whether it takes a file by its URL: not before Gemini 2.5. */
  readonly fetchesFiles: boolean;
};

const NEWEST: ModelRule = {
  thinking: LEVEL,
  demandsSignatures: true,
  hasSystemInstruction: true,
  mixesToolsWithJson: true,
  takesFilesInResponses: true,
  fetchesFiles: true,
};
const GEMINI_2_5: ModelRule = { ...NEWEST, thinking: NO_THINKING, demandsSignatures: false, mixesToolsWithJson: false, takesFilesInResponses: false };
const GEMINI_2: ModelRule = { ...GEMINI_2_5, fetchesFiles: false };
const GEMMA: ModelRule = { ...NEWEST, demandsSignatures: false, hasSystemInstruction: false, takesFilesInResponses: false };

/** The first row whose words begin the name counts. */
const RULES: readonly (readonly [words: string, rule: ModelRule])[] = [
  ['gemini-1.0', GEMINI_2],
  ['gemini-1.5', GEMINI_2],
  ['gemini-2.0', GEMINI_2],
  ['gemini-2.5-flash-image', GEMINI_2_5],
  ['gemini-2.5-flash-preview-tts', GEMINI_2_5],
  ['gemini-2.5-pro-preview-tts', GEMINI_2_5],
  ['gemini-2.5-flash', { ...GEMINI_2_5, thinking: BUDGET_FROM_0 }],
  ['gemini-robotics-er-1.5', { ...GEMINI_2_5, thinking: BUDGET_FROM_0 }],
  // Also `gemini-2.5-computer-use-preview`, which is a Pro.
  ['gemini-2.5', { ...GEMINI_2_5, thinking: BUDGET_FROM_128 }],
  ['gemini-3-pro-image', { ...NEWEST, thinking: UNLED_THINKING }],
  ['gemini-3-pro', { ...NEWEST, thinking: { ...LEVEL, levels: { ...LEVELS, medium: 'HIGH' } } }],
  ['gemini-3-flash', { ...NEWEST, thinking: LEVEL_FROM_MINIMAL }],
  ['gemini-3.1-flash', { ...NEWEST, thinking: LEVEL_FROM_MINIMAL }],
  ['gemini-3.5-flash', { ...NEWEST, thinking: LEVEL_FROM_MINIMAL }],
  ['gemini-3.6-flash', { ...NEWEST, thinking: LEVEL_FROM_MINIMAL }],
  ['gemini-4-hydrogen', { ...NEWEST, thinking: { ...LEVEL, levels: { ...LEVELS, max: 'XHIGH' } } }],
  ['gemma-2', { ...GEMMA, thinking: NO_THINKING }],
  ['gemma-3', { ...GEMMA, thinking: NO_THINKING }],
  ['gemma-3n', { ...GEMMA, thinking: NO_THINKING }],
  ['gemma', GEMMA],
];

/** The rule for a model, known or not. */
export function ruleFor(model: string): ModelRule {
  const name = `${plainModelName(model)}-`;
  return RULES.find(([words]) => name.startsWith(`${words}-`))?.[1] ?? NEWEST;
}

/** The budgets that Google's own OpenAI-compatible endpoint gives these efforts. */
const BUDGETS = { low: 1024, medium: 8192, high: 24_576, max: Number.POSITIVE_INFINITY } as const;

/** `-1`: the model decides how much. Without it some models would not think although asked to. */
const BUDGET_DYNAMIC = -1;

/** The `thinkingConfig` nearest to what is asked; undefined when the model has none and would refuse any. */
export function thinkingConfig(model: string, { enabled, effort }: Thinking): JsonOutObject | undefined {
  const control = ruleFor(model).thinking;
  switch (control.by) {
    case 'nothing':
      return undefined;
    case 'itself':
      return enabled ? { includeThoughts: true } : undefined;
    case 'budget': {
      if (!enabled) return { thinkingBudget: control.lowest };
      const budget = effort === undefined ? BUDGET_DYNAMIC : Math.min(BUDGETS[effort], control.highest);
      return { thinkingBudget: budget, includeThoughts: true };
    }
    case 'level':
      if (!enabled) return { thinkingLevel: control.lowest };
      return { thinkingLevel: effort === undefined ? undefined : control.levels[effort], includeThoughts: true };
    default:
      return unreachable(control);
  }
}
