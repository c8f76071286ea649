/**
 * How each Claude model wants to be told whether and how hard to think.
 *
 * The newest behaviour is the default; the table names the older exceptions. Rules age within weeks: what is wrong
 * here for a model can be set right by `provider_options`.
 * Source: Anthropic Messages API, extended thinking, adaptive thinking, effort.
 */

import type { JsonOutObject } from '../../base/json/value.ts';
import { unreachable } from '../../core/chat.ts';
import type { ChatRequest, Effort } from '../../core/chat.ts';

/** The API demands `max_tokens`; this is sent where the caller gave none. */
export const MAX_TOKENS_DEFAULT = 4096;

type ThinkingRule = {
  /** `adaptive`: the model decides how long, led by an effort. `budget`: a number of tokens. `never`: it cannot. */
  readonly on: 'adaptive' | 'budget' | 'never';
  /** `low effort`: the model cannot be told not to think, so the least is asked for. `nothing`: it never thinks. */
  readonly off: 'disabled' | 'between_tools' | 'low effort' | 'nothing';
};

const WITHOUT: ThinkingRule = { on: 'never', off: 'nothing' };
const BUDGETED: ThinkingRule = { on: 'budget', off: 'disabled' };
const ADAPTIVE: ThinkingRule = { on: 'adaptive', off: 'disabled' };
const BETWEEN_TOOLS: ThinkingRule = { on: 'adaptive', off: 'between_tools' };
/** Opus 5.5, Fable, Mythos, and every Claude not yet known: `disabled` may be a 400 there, an effort never is. */
const ALWAYS_ON: ThinkingRule = { on: 'adaptive', off: 'low effort' };

const RULES: ReadonlyMap<string, ThinkingRule> = new Map([
  ['claude-3', WITHOUT],
  ['claude-3-5', WITHOUT],
  ['claude-3-7', BUDGETED],
  ['claude-opus-4', BUDGETED],
  ['claude-opus-4-0', BUDGETED],
  ['claude-opus-4-1', BUDGETED],
  ['claude-opus-4-5', BUDGETED],
  ['claude-sonnet-4', BUDGETED],
  ['claude-sonnet-4-0', BUDGETED],
  ['claude-sonnet-4-5', BUDGETED],
  ['claude-haiku-4-5', BUDGETED],
  ['claude-opus-4-6', ADAPTIVE],
  ['claude-opus-4-7', ADAPTIVE],
  ['claude-opus-4-8', ADAPTIVE],
  ['claude-opus-5', ADAPTIVE],
  ['claude-sonnet-4-6', ADAPTIVE],
  ['claude-sonnet-5', ADAPTIVE],
  ['claude-haiku-5-5', ADAPTIVE],
  ['claude-sonnet-5-5', BETWEEN_TOOLS],
]);

/** A prefix ends at the end of the name, at a snapshot's date or a host's suffix, but not before a version number. */
const PREFIX_END = /^(?:$|[@:]|-(?!\d{1,2}(?!\d)))/;

function ruleFor(model: string): ThinkingRule {
  // Hosts write `anthropic/claude-opus-4.6` or `us.anthropic.claude-opus-4-6-v1:0`.
  const start = model.indexOf('claude-');
  // Other vendors' models behind this format take `disabled`, the oldest of the forms.
  if (start === -1) return ADAPTIVE;
  const name = model.slice(start).replaceAll('.', '-');
  for (const [prefix, rule] of RULES) {
    if (name.startsWith(prefix) && PREFIX_END.test(name.slice(prefix.length))) return rule;
  }
  return ALWAYS_ON;
}

/** The part of a payload that depends on the model. */
export type ModelFields = {
  readonly max_tokens: number;
  readonly thinking: JsonOutObject | undefined;
  readonly output_config: JsonOutObject | undefined;
};

/**
 * The model's fields for a request. `canBudget` is false where the conversation or another field rules a budget out;
 * the wish to think then gives way, since the request would be refused.
 */
export function modelFields(request: ChatRequest, canBudget: () => boolean): ModelFields {
  const { thinking, maxTokens } = request;
  const fields = { max_tokens: maxTokens ?? MAX_TOKENS_DEFAULT, thinking: undefined, output_config: undefined };
  if (thinking === undefined) return fields;
  const rule = ruleFor(request.model);
  const form = thinking.enabled ? rule.on : rule.off;
  switch (form) {
    case 'adaptive':
      return {
        ...fields,
        // Without `summarized`, models from Opus 4.7 on disclose nothing of what they think.
        thinking: { type: 'adaptive', display: 'summarized' },
        output_config: thinking.effort === undefined ? undefined : { effort: thinking.effort },
      };
    case 'budget':
      return { ...fields, ...(canBudget() ? budgetFields(thinking.effort, maxTokens) : DISABLED) };
    case 'disabled':
      return { ...fields, ...DISABLED };
    case 'between_tools':
      return { ...fields, thinking: { type: 'between_tools' } };
    case 'low effort':
      return { ...fields, output_config: { effort: 'low' } };
    case 'never':
    case 'nothing':
      return fields;
    default:
      return unreachable(form);
  }
}

const DISABLED = { thinking: { type: 'disabled' } };

/** The largest, with the default for the answer, fits the smallest maximum: 32 000 tokens, of Opus 4 and 4.1. */
export const BUDGET_TOKENS: Readonly<Record<Effort, number>> = { low: 2048, medium: 8192, high: 16_384, max: 24_576 };
/** The API's minimum. */
const BUDGET_TOKENS_MIN = 1024;
/** Left for the answer where the caller's `max_tokens` allows it. */
const ANSWER_TOKENS = 1024;

function budgetFields(effort: Effort | undefined, maxTokens: number | undefined): Partial<ModelFields> {
  const wanted = BUDGET_TOKENS[effort ?? 'medium'];
  if (maxTokens === undefined) {
    return { max_tokens: wanted + MAX_TOKENS_DEFAULT, thinking: { type: 'enabled', budget_tokens: wanted } };
  }
  // A budget has to be below max_tokens.
  if (maxTokens <= BUDGET_TOKENS_MIN) return DISABLED;
  const budget = Math.max(BUDGET_TOKENS_MIN, Math.min(wanted, maxTokens - ANSWER_TOKENS));
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}
