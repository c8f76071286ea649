/**
 * JSON read strictly, without loss (RFC 8259), or leniently, by the platform.
 *
 * What callers send is parsed by `parseJson`. What providers send may hold ten times as many values: `parseReplied` is for
 * what travels on, and where only plain fields are read `parseLenient`, which is `JSON.parse` behind a look at the limits.
 */

import { JsonArray, JsonNumber, JsonObject, JsonProblem } from './value.ts';
import type { JsonValue } from './value.ts';

/** Deepest nesting accepted. Recursion follows it, so it also bounds the stack. */
export const JSON_DEPTH_MAX = 100;

/**
 * Most values (counting every scalar, object, array and key) accepted in one text of a caller's. A conversation of
 * ten thousand turns has some fifty thousand. What is allowed takes up to 60 ms to parse, and as long
 * again to encode; 16 MiB of `[[],[],…` would have six million and take seconds.
 */
export const JSON_VALUES_MAX = 100_000;

/**
 * Most values in one text of a provider's: a reply of 4,000 tokens with 20 alternatives each has 900,000. As many empty arrays
 * take 0.3 s to parse, as many objects with a key of their own 0.9 s; 32 MiB of them would take 10 s and a gigabyte.
 */
export const JSON_REPLIED_VALUES_MAX = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;

/** How many more values may be read. Texts that share a budget may hold no more together. */
export type JsonBudget = { readonly valuesMax: number; valuesLeft: number };

export function createJsonBudget(valuesMax = JSON_VALUES_MAX): JsonBudget {
  return { valuesMax, valuesLeft: valuesMax };
}

/** Of every empty object: 100,000 Maps of their own take 40 ms. */
const NO_ENTRIES: ReadonlyMap<string, JsonValue> = new Map();

/** Parses one JSON text (RFC 8259, nothing looser) within the depth and value limits above. */
export function parseJson(text: string, budget = createJsonBudget()): JsonValue | JsonProblem {
  try {
    return new Parser(text, budget).parse();
  } catch (thrown) {
    if (thrown instanceof ProblemThrown) return thrown.problem;
    throw thrown;
  }
}

/** How many values texts of a provider's may hold together that are parsed, or kept, together. */
export function createReplyBudget(): JsonBudget {
  return createJsonBudget(JSON_REPLIED_VALUES_MAX);
}

/** The same for text of a provider's, or what was parsed before. */
export function parseReplied(text: string, budget = createReplyBudget()): JsonValue | JsonProblem {
  return parseJson(text, budget);
}

/**
 * How much of a string is read character by character, which is fastest for most; then the platform looks for its end. Of 16 MB it
 * takes 20 ms instead of 60.
 */
const NEAR_CHARS = 256;

class ProblemThrown {
  readonly problem: JsonProblem;
  constructor(problem: JsonProblem) {
    this.problem = problem;
  }
}

// hot: per request
class Parser {
  readonly #text: string;
  readonly #budget: JsonBudget;
  #at = 0;

  constructor(text: string, budget: JsonBudget) {
    this.#text = text;
    this.#budget = budget;
  }

  parse(): JsonValue {
    this.#skipSpace();
    const value = this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#problem('unexpected text after the value');
    return value;
  }

  #value(depth: number): JsonValue {
    if (--this.#budget.valuesLeft < 0) throw this.#tooMany();
    const code = this.#text.charCodeAt(this.#at);
    if (code === QUOTE) return this.#string();
    if (code === OPEN_BRACE) return this.#object(depth + 1);
    if (code === OPEN_BRACKET) return this.#array(depth + 1);
    if (code === MINUS || isDigit(code)) return this.#number();
    if (this.#text.startsWith('true', this.#at)) return this.#word(4, true);
    if (this.#text.startsWith('false', this.#at)) return this.#word(5, false);
    if (this.#text.startsWith('null', this.#at)) return this.#word(4, null);
    throw this.#unexpected();
  }

  #word<T>(length: number, value: T): T {
    this.#at += length;
    return value;
  }

  #object(depth: number): JsonObject {
    if (depth > JSON_DEPTH_MAX) throw this.#problem(`nesting beyond ${JSON_DEPTH_MAX} levels`);
    const start = this.#at++;
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) === CLOSE_BRACE) {
      this.#at += 1;
      return new JsonObject(NO_ENTRIES, undefined, this.#text, start, this.#at);
    }
    const entries = new Map<string, JsonValue>();
    let duplicateKey: string | undefined;
    for (;;) {
      if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#unexpected();
      if (--this.#budget.valuesLeft < 0) throw this.#tooMany();
      const key = this.#string();
      this.#skipSpace();
      if (this.#text.charCodeAt(this.#at) !== COLON) throw this.#unexpected();
      this.#at += 1;
      this.#skipSpace();
      if (duplicateKey === undefined && entries.has(key)) duplicateKey = key;
      entries.set(key, this.#value(depth));
      this.#skipSpace();
      const code = this.#text.charCodeAt(this.#at);
      if (code !== COMMA && code !== CLOSE_BRACE) throw this.#unexpected();
      this.#at += 1;
      if (code === CLOSE_BRACE) return new JsonObject(entries, duplicateKey, this.#text, start, this.#at);
      this.#skipSpace();
    }
  }

  #array(depth: number): JsonArray {
    if (depth > JSON_DEPTH_MAX) throw this.#problem(`nesting beyond ${JSON_DEPTH_MAX} levels`);
    const start = this.#at++;
    const items: JsonValue[] = [];
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) === CLOSE_BRACKET) {
      this.#at += 1;
      return new JsonArray(items, this.#text, start, this.#at);
    }
    for (;;) {
      items.push(this.#value(depth));
      this.#skipSpace();
      const code = this.#text.charCodeAt(this.#at);
      if (code !== COMMA && code !== CLOSE_BRACKET) throw this.#unexpected();
      this.#at += 1;
      if (code === CLOSE_BRACKET) return new JsonArray(items, this.#text, start, this.#at);
      this.#skipSpace();
    }
  }

  #string(): string {
    const text = this.#text;
    const start = ++this.#at;
    let at = start;
    let isPlain = true;
    for (;;) {
      const nearEnd = at + NEAR_CHARS;
      while (at < nearEnd) {
        const code = text.charCodeAt(at);
        if (code === QUOTE) return this.#stringUntil(at, start, isPlain);
        if (code === BACKSLASH) {
          isPlain = false;
          at += 2;
        } else if (code >= 0x20) {
          at += 1;
        } else {
          throw this.#badString(start);
        }
      }
      // What is skipped here is looked at by JSON.parse.
      isPlain = false;
      const quote = text.indexOf('"', at);
      if (quote === -1) throw this.#badString(start);
      at = isEscaped(text, quote, at) ? quote + 1 : quote;
    }
  }

  #stringUntil(end: number, start: number, isPlain: boolean): string {
    this.#at = end + 1;
    if (isPlain) return this.#text.slice(start, end);
    try {
      return JSON.parse(this.#text.slice(start - 1, end + 1)) as string;
    } catch {
      throw this.#badString(start);
    }
  }

  /** What is wrong with the string that begins there. */
  #badString(start: number): ProblemThrown {
    const text = this.#text;
    let at = start;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = start;
        return this.#problem('an invalid escape inside a string');
      }
      if (code === BACKSLASH) at += 2;
      else if (code >= 0x20) at += 1;
      else break;
    }
    // Below 0x20, or NaN at the end of the text, which a last backslash steps over.
    this.#at = Math.min(at, text.length);
    return this.#problem(at >= text.length ? 'unexpected end of the text' : 'a control character inside a string');
  }

  #number(): JsonNumber {
    const text = this.#text;
    const start = this.#at;
    let at = start;
    if (text.charCodeAt(at) === MINUS) at += 1;
    if (text.charCodeAt(at) === 0x30) at += 1;
    else at = this.#digits(at);
    if (text.charCodeAt(at) === DOT) at = this.#digits(at + 1);
    const code = text.charCodeAt(at);
    if (code === 0x65 || code === 0x45) {
      at += 1;
      const sign = text.charCodeAt(at);
      if (sign === PLUS || sign === MINUS) at += 1;
      at = this.#digits(at);
    }
    this.#at = at;
    return new JsonNumber(text.slice(start, at));
  }

  #digits(from: number): number {
    let at = from;
    while (isDigit(this.#text.charCodeAt(at))) at += 1;
    this.#at = at;
    if (at === from) throw this.#unexpected();
    return at;
  }

  #skipSpace(): void {
    // A local, because a field costs 6 ns a character: 85 ms for 14 MB of nothing.
    let at = this.#at;
    let code = this.#text.charCodeAt(at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      at += 1;
      code = this.#text.charCodeAt(at);
    }
    this.#at = at;
  }

  #unexpected(): ProblemThrown {
    return this.#problem(this.#at >= this.#text.length ? 'unexpected end of the text' : 'unexpected character');
  }

  #tooMany(): ProblemThrown {
    return this.#problem(`more than ${this.#budget.valuesMax} values`);
  }

  #problem(reason: string): ProblemThrown {
    return new ProblemThrown(new JsonProblem(reason, this.#at));
  }
}

/** Whether the character there comes after an odd number of backslashes, of which none stands before `from`. */
function isEscaped(text: string, at: number, from: number): boolean {
  let before = at;
  while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 1;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Below this length even the worst nesting costs `JSON.parse` under 10 ms, so no look-ahead is needed. */
const LENIENT_UNCHECKED_LENGTH = 64 * 1024;

/**
 * Parses text from a provider with the platform's parser. Undefined when it is not JSON, or beyond the limits on depth and
 * values: `JSON.parse` would hold the event loop for seconds (16 MB of `[`, 32 MiB of `{},`).
 */
export function parseLenient(text: string): unknown {
  if (text.length > LENIENT_UNCHECKED_LENGTH && limitPassed(text) !== undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Which of the limits on a provider's JSON a text is beyond, as what is wrong with it; undefined when it is within, be it JSON
 * or not. Empty containers count twice, which is as near as a look without parsing gets. `budget` is what it was parsed with.
 */
export function limitPassed(text: string, budget?: JsonBudget): string | undefined {
  if (budget !== undefined && budget.valuesLeft < 0) return `its JSON has more than ${budget.valuesMax} values`;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at += 1;
      for (let inner = text.charCodeAt(at); inner !== QUOTE; inner = text.charCodeAt(at)) {
        if (at >= text.length) return undefined;
        at += inner === BACKSLASH ? 2 : 1;
      }
    } else if (code === COMMA || code === COLON) {
      values += 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      values += 1;
      depth += 1;
      if (depth > JSON_DEPTH_MAX) return `its JSON is nested beyond ${JSON_DEPTH_MAX} levels`;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth -= 1;
    }
    if (values > JSON_REPLIED_VALUES_MAX) return `its JSON has more than ${JSON_REPLIED_VALUES_MAX} values`;
  }
  return undefined;
}
