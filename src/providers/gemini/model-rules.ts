/**
 * What differs from one Gemini model to another, by prefix of the model's name.
 *
 * The newest behaviour is the default and the tables name the older exceptions, so that a model nobody
 * here has heard of works. Knows nothing of payloads beyond `thinkingConfig`.
 * Source: Gemini API, thinking; thought signatures; Gemma on the Gemini API.
 */

import type { JsonOutObject } from '../../base/json/value.ts';
import type { Effort, Thinking } from '../../core/chat.ts';

type ThinkingControl =
  | { readonly by: 'nothing' }
  /** Tokens; `lowest` is what comes nearest to off. */
  | { readonly by: 'budget'; readonly lowest: number; readonly highest: number }
  | { readonly by: 'level'; readonly lowest: string; readonly levels: Readonly<Record<Effort, string>> };

const LEVELS = { low: 'low', medium: 'medium', high: 'high', max: 'high' } as const;
const NO_THINKING: ThinkingControl = { by: 'nothing' };
const FLASH_WITH_MINIMAL: ThinkingControl = { by: 'level', lowest: 'minimal', levels: LEVELS };

/** Where `minimal` and a budget are refused, as by the newest models. */
const NEWEST_THINKING: ThinkingControl = { by: 'level', lowest: 'low', levels: LEVELS };

const THINKING_EXCEPTIONS: readonly (readonly [prefix: string, control: ThinkingControl])[] = [
  ['gemini-1.', NO_THINKING],
  ['gemini-2.0', NO_THINKING],
  ['gemma-3', NO_THINKING],
  ['gemini-2.5-pro', { by: 'budget', lowest: 128, highest: 32_768 }],
  ['gemini-2.5-flash', { by: 'budget', lowest: 0, highest: 24_576 }],
  ['gemini-3-pro', { by: 'level', lowest: 'low', levels: { ...LEVELS, medium: 'high' } }],
  ['gemini-3-flash', FLASH_WITH_MINIMAL],
  ['gemini-3.1-flash', FLASH_WITH_MINIMAL],
  ['gemini-3.5-flash', FLASH_WITH_MINIMAL],
  ['gemini-3.6-flash', FLASH_WITH_MINIMAL],
  ['gemini-4-hydrogen', { by: 'level', lowest: 'low', levels: { ...LEVELS, max: 'xhigh' } }],
];

/** The budgets that Google's own OpenAI-compatible endpoint gives these efforts. */
const BUDGETS = { low: 1024, medium: 8192, high: 24_576, max: Number.POSITIVE_INFINITY } as const;

/** `-1`: the model decides how much. Without it some models would not think although asked to. */
const BUDGET_DYNAMIC = -1;

/** The `thinkingConfig` nearest to what is asked; undefined when the model has none and would refuse any. */
export function thinkingConfig(model: string, thinking: Thinking): JsonOutObject | undefined {
  const control = exceptionFor(model, THINKING_EXCEPTIONS) ?? NEWEST_THINKING;
  if (control.by === 'nothing') return undefined;
  if (control.by === 'budget') {
    if (!thinking.enabled) return { thinkingBudget: control.lowest };
    const { effort } = thinking;
    const budget = effort === undefined ? BUDGET_DYNAMIC : Math.min(BUDGETS[effort], control.highest);
    return { thinkingBudget: budget, includeThoughts: true };
  }
  if (!thinking.enabled) return { thinkingLevel: control.lowest };
  const level = thinking.effort === undefined ? undefined : control.levels[thinking.effort];
  return { thinkingLevel: level, includeThoughts: true };
}

/** False for Gemma, which has no `systemInstruction`. */
export function hasSystemInstruction(model: string): boolean {
  return !baseName(model).startsWith('gemma-');
}

/** True when the model refuses function calls of the current turn that lack a thought signature: Gemini 3 and later. */
export function demandsSignatures(model: string): boolean {
  const name = baseName(model);
  return !['gemini-1.', 'gemini-2.', 'gemma-'].some((prefix) => name.startsWith(prefix));
}

function exceptionFor<T>(model: string, exceptions: readonly (readonly [string, T])[]): T | undefined {
  const name = baseName(model);
  return exceptions.find(([prefix]) => name.startsWith(prefix))?.[1];
}

/** The name without its collection: `models/gemini-2.5-pro` is `gemini-2.5-pro`. */
function baseName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1);
}
