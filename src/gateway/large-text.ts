/** Large texts of providers: parsed step by step before a codec reads them, so that nobody else waits for it. */

import { parseLargeLenient } from '../base/json/lenient.ts';
import { createReplyBudget } from '../base/json/limits.ts';
import { parseLargeReplied } from '../base/json/parse.ts';
import type { ParsedText } from '../base/json/parse.ts';
import { JsonProblem } from '../base/json/value.ts';
import { nextTurn } from '../base/turn.ts';
import { Failure, problemReply } from '../core/failure.ts';

/** Failure: server, for what is no JSON or beyond a limit on it. `what` says what is wrong where the text is no JSON. */
export async function parseLargeText(provider: string, text: string, what: string, budget = createReplyBudget()): Promise<ParsedText | Failure> {
  await nextTurn();
  const exact = await parseLargeReplied(text, nextTurn, undefined, budget);
  if (exact instanceof JsonProblem) return problemReply(provider, exact, what);
  return { json: await parseLargeLenient(text, nextTurn), exact, values: budget.valuesMax - budget.valuesLeft };
}
