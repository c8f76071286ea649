/** JSON of providers where only plain fields are read: `JSON.parse` behind a look at the limits. */

import { JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX, JSON_REPLIED_VALUES_MAX } from './limits.ts';
import { parseLargePlain } from './parse.ts';
import type { JsonPace } from './parse.ts';
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, DOT, MINUS, OPEN_BRACE, OPEN_BRACKET, PLUS, QUOTE, SMALL_E } from './syntax.ts';
import { ESCAPED_CHARS, isDigit, isSpace, SHORT_CHARS, SPACE } from './syntax.ts';
import { JsonProblem } from './value.ts';

/** Below this length even the worst nesting costs `JSON.parse` under 10 ms, so no look-ahead is needed. */
const LENIENT_UNCHECKED_LENGTH = 64 * 1024;

/**
 * Parses text from a provider with the platform's parser. Undefined when it is not JSON, or beyond the limits on depth,
 * values and numbers: `JSON.parse` would hold the event loop for seconds (16 MB of `[`, 32 MiB of `{},`).
 */
export function parseLenient(text: string): unknown {
  return text.length > LENIENT_UNCHECKED_LENGTH && limitPassed(text) !== undefined ? undefined : parsed(text);
}

/** The same step by step, for a large text; null where it is not JSON or beyond the limits. */
export async function parseLargeLenient(text: string, othersTurn: () => Promise<void>, pace?: JsonPace): Promise<unknown> {
  const value = await parseLargePlain(text, othersTurn, pace);
  return value instanceof JsonProblem ? null : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Which of the limits on a provider's JSON a text is beyond, as what is wrong with it; undefined when it is within, be it JSON
 * or not. Empty containers count twice, which is as near as a look without parsing gets.
 */
export function limitPassed(text: string): string | undefined {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at + 1);
      if (at >= text.length) return undefined;
    } else if (code === COMMA || code === COLON) {
      values += 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      values += 1;
      depth += 1;
      if (depth > JSON_DEPTH_MAX) return `its JSON has nesting beyond ${JSON_DEPTH_MAX} levels`;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth -= 1;
    } else if (code === MINUS || isDigit(code)) {
      const end = numberEnd(text, at + 1);
      if (end - at > JSON_NUMBER_CHARS_MAX) return `its JSON has a number of more than ${JSON_NUMBER_CHARS_MAX} characters`;
      at = end - 1;
    } else if (isSpace(code) && isSpace(text.charCodeAt(at + SHORT_CHARS))) {
      SPACE.lastIndex = at;
      SPACE.test(text);
      at = SPACE.lastIndex - 1;
    }
    if (values > JSON_REPLIED_VALUES_MAX) return `its JSON has more than ${JSON_REPLIED_VALUES_MAX} values`;
  }
  return undefined;
}

/** Where what may belong to a number ends. */
function numberEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (!isDigit(code) && code !== DOT && code !== PLUS && code !== MINUS && (code | 0x20) !== SMALL_E) return at;
    at += 1;
  }
}

/** What a string holds up to its end or an escape, whatever is wrong with it. */
const UNESCAPED = /[^"\\]*/y;

/** Where the quote stands that ends a string, or the end of the text, or beyond it. */
function stringEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    const nearEnd = at + ESCAPED_CHARS;
    while (at < nearEnd) {
      const code = text.charCodeAt(at);
      if (code === QUOTE || at >= text.length) return at;
      at += code === BACKSLASH ? 2 : 1;
    }
    // Behind an escape without its end; from there the expression would begin again at the text's beginning.
    if (at >= text.length) return at;
    UNESCAPED.lastIndex = at;
    UNESCAPED.test(text);
    at = UNESCAPED.lastIndex;
  }
}
