/**
 * The one text that a tool of OpenAI's `custom` type takes, as the arguments that a chat calls tools with: an object with that text.
 */

import { parseJson } from '../base/json/parse.ts';
import { renderJson } from '../base/json/render.ts';
import { JsonObject, RawJson } from '../base/json/value.ts';

/** A text, as the arguments that a chat has for it: the input of a custom tool, or what the model wrote that is no JSON object. */
export function textArguments(text: string): RawJson {
  return new RawJson(renderJson({ input: text }));
}

/** The text that a custom tool was called with. */
export function argumentsText(args: RawJson): string {
  const parsed = parseJson(args.text);
  const input = parsed instanceof JsonObject ? parsed.entries.get('input') : undefined;
  return typeof input === 'string' ? input : args.text;
}
