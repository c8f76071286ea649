/** What both of OpenAI's formats hold of a conversation in the same form. */

import { Fields } from '../../base/fields.ts';
import type { JsonBudget } from '../../base/json/limits.ts';
import { parseJson } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import { unsupported } from '../body.ts';
import type { Ignored } from '../field-table.ts';

/** The texts that say something, as one. */
export function joinTexts(texts: readonly string[], separator: string): string {
  return texts.filter((text) => text !== '').join(separator);
}

/** A field that comes as a text or as a list of texts, which `separator` joins. `members`: by type, where in an item its text stands. */
export function readText(owner: Fields, name: string, separator: string, members: ReadonlyMap<string, string>, ignored: Ignored): string {
  const value = owner.any(name);
  if (typeof value === 'string') return value;
  if (!(value instanceof JsonArray)) throw owner.problem(name, 'expected a string or an array of text parts');
  const texts = value.items.map((item, index) => {
    const part = Fields.from(item, { parent: owner.at(name), key: index });
    const member = members.get(part.requiredString('type'));
    if (member === undefined) throw unsupported(part.at('type'), 'only text is supported here');
    const text = part.requiredString(member);
    ignored.addUnreadOfItem(part);
    return text;
  });
  return joinTexts(texts, separator);
}

/**
 * The `arguments` of a call: the text of a JSON object; an empty text is a call without arguments. What a model wrote is not always
 * JSON, and stands in the history with the result that told the model so. It is sent on as a text in an object, under the name that
 * Anthropic has for it (tool use, fine-grained streaming), and named as left out; the text of such a text, which agents make of an
 * earlier answer's, is the object. All of a request's calls share the budget: each of thousands of texts could hold as many values as a
 * whole body may.
 */
export function readArguments(called: Fields, budget: JsonBudget, ignored: Ignored): RawJson {
  const text = called.string('arguments') || '{}';
  const written = parseJson(text, budget);
  const value = typeof written === 'string' ? parseJson(written, budget) : written;
  if (budget.valuesLeft < 0) throw called.problem('arguments', `the calls hold more than ${budget.valuesMax} values`);
  if (value instanceof JsonObject) return value.raw;
  ignored.add(called.at('arguments'));
  return new RawJson(renderJson({ INVALID_JSON: text }));
}
