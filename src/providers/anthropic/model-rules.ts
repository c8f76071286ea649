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
import { plainModelName } from '../../core/model-name.ts';

/** The API demands `max_tokens`; this is sent where the caller gave none. */
const MAX_TOKENS_DEFAULT = 4096;

type ThinkingRule = {
  /** `adaptive`: the model decides how long, led by an effort. `budget`: a number of tokens. `nothing`: it cannot. */
  readonly on: 'adaptive' | 'budget' | 'nothing';
  /** `low effort`: the model cannot be told not to think, so the least is asked for. `nothing`: it never thinks. */
  readonly off: 'disabled' | 'between_tools' | 'low effort' | 'nothing';
  /** False for models that take sampling parameters of the caller's own, but not while they think. */
  readonly mixesWithSampling: boolean;
};

const WITHOUT: ThinkingRule = { on: 'nothing', off: 'nothing', mixesWithSampling: true };
const BUDGETED: ThinkingRule = { on: 'budget', off: 'disabled', mixesWithSampling: false };
const FIRST_ADAPTIVE: ThinkingRule = { on: 'adaptive', off: 'disabled', mixesWithSampling: false };
/** From Opus 4.7 on, sampling parameters of the caller's own are refused with thinking or without. */
const ADAPTIVE: ThinkingRule = { on: 'adaptive', off: 'disabled', mixesWithSampling: true };
const BETWEEN_TOOLS: ThinkingRule = { ...ADAPTIVE, off: 'between_tools' };
/** Opus 5.5, Fable, Mythos, and every Claude not yet known: `disabled` may be a 400 there, an effort never is. */
const ALWAYS_ON: ThinkingRule = { ...ADAPTIVE, off: 'low effort' };
/**
 * Other vendors' models behind this format. Kimi, MiniMax and DeepSeek know `adaptive`, an effort and `disabled`; a
 * budget is ignored or refused by them.
 */
const NOT_CLAUDE: ThinkingRule = ADAPTIVE;

/** By family and version. */
const RULES: ReadonlyMap<string, ThinkingRule> = new Map([
  ['opus 3', WITHOUT],
  ['sonnet 3', WITHOUT],
  ['haiku 3', WITHOUT],
  ['sonnet 3.5', WITHOUT],
  ['haiku 3.5', WITHOUT],
  ['sonnet 3.7', BUDGETED],
  ['opus 4', BUDGETED],
  ['opus 4.1', BUDGETED],
  ['opus 4.5', BUDGETED],
  ['sonnet 4', BUDGETED],
  ['sonnet 4.5', BUDGETED],
  ['haiku 4.5', BUDGETED],
  ['opus 4.6', FIRST_ADAPTIVE],
  ['sonnet 4.6', FIRST_ADAPTIVE],
  ['opus 4.7', ADAPTIVE],
  ['opus 4.8', ADAPTIVE],
  ['opus 5', ADAPTIVE],
  ['sonnet 5', ADAPTIVE],
  ['haiku 5.5', ADAPTIVE],
  ['sonnet 5.5', BETWEEN_TOOLS],
]);

/** `claude-opus-4-6`, `claude-opus-4.6`; the older order `claude-3-7-sonnet`, which hosts write for newer ones too. */
const FAMILY_FIRST = /^claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?![\d.])/;
const VERSION_FIRST = /^claude-(\d{1,2})(?:[-.](\d{1,2}))?-([a-z]+)/;

function ruleFor(model: string): ThinkingRule {
  const name = plainModelName(model);
  if (!name.startsWith('claude-')) return NOT_CLAUDE;
  const [, family, major, minor] = FAMILY_FIRST.exec(name) ?? reordered(VERSION_FIRST.exec(name));
  return RULES.get(`${family} ${major}${minor === undefined || minor === '0' ? '' : `.${minor}`}`) ?? ALWAYS_ON;
}

function reordered(match: RegExpExecArray | null): readonly (string | undefined)[] {
  return match === null ? [] : [match[0], match[3], match[1], match[2]];
}

/** The part of a payload that depends on the model. */
type ModelFields = {
  readonly max_tokens: number;
  readonly thinking: JsonOutObject | undefined;
  readonly output_config: JsonOutObject | undefined;
};

/**
 * The model's fields for a request. `canBudget` is false where the conversation or a forced call rules a budget out.
 * Thinking alone is a wish: where the request would be refused for it beside another field, it is turned off.
 */
export function modelFields(request: ChatRequest, canBudget: () => boolean): ModelFields {
  const { thinking, maxTokens } = request;
  const fields = { max_tokens: maxTokens ?? MAX_TOKENS_DEFAULT, thinking: undefined, output_config: undefined };
  if (thinking === undefined) return fields;
  const rule = ruleFor(request.model);
  const givesWay = !rule.mixesWithSampling && hasOwnSampling(request);
  const form = thinking.enabled && !givesWay ? rule.on : rule.off;
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
    case 'nothing':
      return fields;
    default:
      return unreachable(form);
  }
}

/** True for values that the API refuses of a model that thinks. */
function hasOwnSampling({ temperature, topP }: ChatRequest): boolean {
  return (temperature !== undefined && temperature !== 1) || (topP !== undefined && topP < 0.95);
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
