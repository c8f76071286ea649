/**
 * JSON read strictly, without loss (RFC 8259).
 *
 * What callers send is parsed by `parseJson`. What providers send may hold ten times as many values: `parseReplied` is for
 * what travels on; where only plain fields are read there is `parseLenient` (lenient.ts).
 */

import { createJsonBudget, createReplyBudget } from './limits.ts';
import type { JsonBudget } from './limits.ts';
import { EXACT, PLAIN } from './make.ts';
import type { Value } from './make.ts';
import { Parser, ProblemThrown } from './parser.ts';
import { JsonProblem } from './value.ts';
import type { JsonValue } from './value.ts';

/** One JSON text of a caller's, and nothing looser, within the limits of limits.ts. */
export function parseJson(text: string, budget = createJsonBudget()): JsonValue | JsonProblem {
  try {
    return new Parser(text, budget, EXACT).step(Infinity, Infinity) as JsonValue;
  } catch (thrown) {
    if (thrown instanceof ProblemThrown) return thrown.problem;
    throw thrown;
  }
}

/** The same of a provider's, which may hold more values. */
export function parseReplied(text: string, budget = createReplyBudget()): JsonValue | JsonProblem {
  return parseJson(text, budget);
}

/** A large text of a provider's, parsed step by step: as `JSON.parse` gives it, the same without loss, and how many values that is. */
export type ParsedText = { readonly json: unknown; readonly exact: JsonValue; readonly values: number };

/** What `parseReplied` gives, of a text that may have been parsed before. Counts it all the same. */
export function repliedOf(text: string, parsed: ParsedText | undefined, budget: JsonBudget): JsonValue | JsonProblem {
  if (parsed === undefined) return parseReplied(text, budget);
  budget.valuesLeft -= parsed.values;
  return budget.valuesLeft < 0 ? new JsonProblem(`more than ${budget.valuesMax} values`, text.length, true) : parsed.exact;
}

/** As much of a text as is parsed at once: about so many characters, or values. */
export type JsonPace = { readonly chars: number; readonly values: number };

/** What takes a few milliseconds, with what the collector takes up to 20 (make bench ONLY=turns). */
const PACE: JsonPace = { chars: 1024 * 1024, values: 20_000 };

/** What `parseJson` gives of a large text, step by step; after each `othersTurn` is waited for. */
export function parseLargeJson(text: string, othersTurn: () => Promise<void>, pace = PACE): Promise<JsonValue | JsonProblem> {
  return parseInSteps(new Parser(text, createJsonBudget(), EXACT), othersTurn, pace);
}

/** Likewise what `parseReplied` gives. */
export function parseLargeReplied(text: string, othersTurn: () => Promise<void>, pace = PACE, budget = createReplyBudget()): Promise<JsonValue | JsonProblem> {
  return parseInSteps(new Parser(text, budget, EXACT), othersTurn, pace);
}

/** Likewise, of a provider's, what `JSON.parse` gives. */
export function parseLargePlain(text: string, othersTurn: () => Promise<void>, pace = PACE): Promise<unknown> {
  return parseInSteps<unknown>(new Parser(text, createReplyBudget(), PLAIN), othersTurn, pace);
}

async function parseInSteps<V>(parser: Parser<V>, othersTurn: () => Promise<void>, { chars, values }: JsonPace): Promise<Value<V> | JsonProblem> {
  try {
    for (;;) {
      const value = parser.step(chars, values);
      await othersTurn();
      if (value !== undefined) return value;
    }
  } catch (thrown) {
    if (thrown instanceof ProblemThrown) return thrown.problem;
    throw thrown;
  }
}
