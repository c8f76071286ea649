/** What both of OpenAI's formats hold of a conversation in the same form. */

import type { Fields } from '../../base/fields.ts';
import type { JsonBudget } from '../../base/json/limits.ts';
import { parseJson } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonObject, RawJson } from '../../base/json/value.ts';
import type { ContentPart, TextPart, UserTurn } from '../../core/chat.ts';
import type { Ignored } from '../field-table.ts';

export function plainText(text: string): TextPart {
  return { type: 'text', text, state: undefined };
}

/** A text without a word, which apps send beside a picture that nobody said anything about. Providers refuse it. */
export function isSilent(part: ContentPart): boolean {
  return part.type === 'text' && part.text === '';
}

/** Between the parts of a system text, and between such texts. */
export const PARAGRAPH = '\n\n';
/** Between the texts of a tool's result: without, the end of one and the beginning of the next would be one word. */
export const LINE = '\n';

/** The texts that say something, as one. */
export function joinTexts(texts: readonly string[], separator: string): string {
  return texts.filter((text) => text !== '').join(separator);
}

/** Instructions that come in the middle of a conversation, where a chat has no other place for them. */
export function laterInstructions(text: string): UserTurn {
  return { role: 'user', parts: [plainText(`<system>\n${text}\n</system>`)] };
}

/**
 * The `arguments` of a call: the text of a JSON object; an empty text is a call without arguments. What a model wrote is no
 * JSON at times, and stands in the history with the result that told the model so: others are shown it in an object, under the
 * name by which Anthropic shows it to its models (tool use, fine-grained streaming), and it is named. All of a request's
 * calls share the budget: each of thousands of texts could hold as many values as a whole body may.
 */
export function readArguments(called: Fields, budget: JsonBudget, ignored: Ignored): RawJson {
  const text = called.string('arguments') || '{}';
  const value = parseJson(text, budget);
  if (budget.valuesLeft < 0) throw called.problem('arguments', `the calls hold more than ${budget.valuesMax} values`);
  if (value instanceof JsonObject) return value.raw;
  ignored.add(called.at('arguments'));
  return new RawJson(renderJson({ INVALID_JSON: text }));
}
