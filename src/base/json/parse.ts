/**
 * JSON read strictly, without loss (RFC 8259).
 *
 * What callers send is parsed by `parseJson`. What providers send may hold ten times as many values: `parseReplied` is for
 * what travels on; where only plain fields are read there is `parseLenient` (lenient.ts).
 */

import { backslashesBefore, endOfEscapes, parsedString, valueUpTo } from './escapes.ts';
import type { HalfRead } from './escapes.ts';
import { EXACT, PLAIN } from './make.ts';
import type { Make, Value } from './make.ts';
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, DOT, MINUS, OPEN_BRACE, OPEN_BRACKET, PLUS, QUOTE } from './syntax.ts';
import { ESCAPED_CHARS, isDigit, isSpace, SHORT_CHARS, SMALL_E, SPACE } from './syntax.ts';
import { JsonProblem } from './value.ts';
import type { JsonValue } from './value.ts';

/** Deepest nesting accepted. Recursion of what reads the values follows it, so it also bounds the stack. */
export const JSON_DEPTH_MAX = 100;

/** Most characters of a number: as an integer it has 13,000 bits. One of 16 MB means nothing to anybody. */
export const JSON_NUMBER_CHARS_MAX = 4096;

/**
 * Most values (counting every scalar, object, array and key) accepted in one text of a caller's. A conversation of
 * ten thousand turns has some fifty thousand. What is allowed takes up to 20 ms to parse, and as long
 * again to encode (make bench ONLY=turns); 16 MiB of `[[],[],…` would have six million and take seconds.
 */
export const JSON_VALUES_MAX = 100_000;

/**
 * Most values in one text of a provider's: a reply of 4,000 tokens with 20 alternatives each has 900,000. As many empty arrays
 * take 0.3 s to parse, as many objects with a key of their own 0.9 s; 32 MiB of them would take 10 s and a gigabyte.
 */
export const JSON_REPLIED_VALUES_MAX = 1_000_000;

/** How many more values may be read. Texts that share a budget may hold no more together. */
export type JsonBudget = { readonly valuesMax: number; valuesLeft: number };

export function createJsonBudget(valuesMax = JSON_VALUES_MAX): JsonBudget {
  return { valuesMax, valuesLeft: valuesMax };
}

/** Of every empty object, where 100,000 Maps of their own would take 40 ms, and of what is none. */
const NO_ENTRIES = new Map<string, never>();

/** Parses one JSON text (RFC 8259, nothing looser) within the depth and value limits above. */
export function parseJson(text: string, budget = createJsonBudget()): JsonValue | JsonProblem {
  try {
    return new Parser(text, budget, EXACT).step(Infinity, Infinity) as JsonValue;
  } catch (thrown) {
    if (thrown instanceof ProblemThrown) return thrown.problem;
    throw thrown;
  }
}

/** As much of a text as is parsed at once: about so many characters, or values. */
export type JsonPace = { readonly chars: number; readonly values: number };

/** What takes a few milliseconds, with what the collector takes up to 20 (make bench ONLY=turns). */
const PACE: JsonPace = { chars: 1024 * 1024, values: 20_000 };

/** The same for a large text, step by step; after each `othersTurn` is waited for. */
export function parseLargeJson(text: string, othersTurn: () => Promise<void>, pace = PACE): Promise<JsonValue | JsonProblem> {
  return parseInSteps(new Parser(text, createJsonBudget(), EXACT), othersTurn, pace);
}

/** The same for a large text of a provider's. */
export function parseLargeReplied(text: string, othersTurn: () => Promise<void>, pace = PACE, budget = createReplyBudget()): Promise<JsonValue | JsonProblem> {
  return parseInSteps(new Parser(text, budget, EXACT), othersTurn, pace);
}

/** The same, as `JSON.parse` gives it. */
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

/** How many values texts of a provider's may hold together that are parsed, or kept, together. */
export function createReplyBudget(): JsonBudget {
  return createJsonBudget(JSON_REPLIED_VALUES_MAX);
}

/** The same for text of a provider's, or what was parsed before. */
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

/** What stands for itself in a string. */
const UNESCAPED = /[^"\\\x00-\x1f]*/y;
const CONTROL = /[\x00-\x1f]/g;

class ProblemThrown {
  readonly problem: JsonProblem;
  constructor(problem: JsonProblem) {
    this.problem = problem;
  }
}

/** An object or array whose end has not come yet. */
type Open<V> = {
  readonly parent: Open<V> | undefined;
  /** Under which it stands in its parent. */
  readonly key: string;
  readonly depth: number;
  readonly start: number;
  /** Of an array; undefined for an object. */
  readonly items: Value<V>[] | undefined;
  readonly entries: Map<string, Value<V>>;
  duplicateKey: string | undefined;
};

/** Parses a text step by step. What is open is a list rather than a recursion, so that a step can end behind any value. */
// hot: per request
class Parser<V> {
  readonly #text: string;
  readonly #budget: JsonBudget;
  readonly #make: Make<V>;
  #at = 0;
  #open: Open<V> | undefined;
  #key: string | undefined = '';
  /** Where the step is to end. */
  #charsUntil = 0;
  /** The string in which a step ended. */
  #halfRead: HalfRead | undefined;

  constructor(text: string, budget: JsonBudget, make: Make<V>) {
    this.#text = text;
    this.#budget = budget;
    this.#make = make;
  }

  /** Parses on for about so many characters or values: undefined, or once the text is at its end the value that it is. */
  step(charsMax: number, valuesMax: number): Value<V> | undefined {
    const text = this.#text;
    const budget = this.#budget;
    const make = this.#make;
    const valuesUntil = budget.valuesLeft - valuesMax;
    const charsUntil = Math.max(this.#at, this.#halfRead?.at ?? 0) + charsMax;
    this.#charsUntil = charsUntil;
    let open = this.#open;
    /** Whose value comes next; undefined where the key itself does. Of an array it is empty. */
    let key = this.#key;
    this.#next();
    while (this.#at <= charsUntil && budget.valuesLeft >= valuesUntil) {
      if (key === undefined) {
        key = this.#keyAndColon();
        if (key === undefined) break;
      }
      const first = text.charCodeAt(this.#at);
      let value: Value<V> | undefined;
      if (--budget.valuesLeft < 0) throw this.#tooMany();
      if (first === QUOTE) {
        value = this.#string();
        if (value === undefined) {
          budget.valuesLeft += 1;
          break;
        }
      } else if (first === OPEN_BRACE || first === OPEN_BRACKET) {
        const start = this.#at;
        const depth = open === undefined ? 1 : open.depth + 1;
        if (depth > JSON_DEPTH_MAX) throw this.#limit(`nesting beyond ${JSON_DEPTH_MAX} levels`);
        this.#at = start + 1;
        const next = this.#next();
        if (next !== (first === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET)) {
          open = opened(first, open, key, depth, start);
          key = first === OPEN_BRACE ? undefined : '';
          continue;
        }
        this.#at += 1;
        value = first === OPEN_BRACE ? make.object(NO_ENTRIES, undefined, text, start, this.#at) : make.array([], text, start, this.#at);
      } else {
        value = this.#plain(first);
      }
      // The value may be the last of what is open, and that again.
      for (;;) {
        const next = this.#next();
        if (open === undefined) {
          if (this.#at < text.length) throw this.#problem('unexpected text after the value');
          return value;
        }
        const { items } = open;
        if (items === undefined) addMember(open, key, value);
        else items.push(value);
        if (next === COMMA) {
          this.#at += 1;
          this.#next();
          if (items === undefined) key = undefined;
          break;
        }
        if (next !== (items === undefined ? CLOSE_BRACE : CLOSE_BRACKET)) throw this.#unexpected();
        this.#at += 1;
        value = items === undefined ? make.object(open.entries, open.duplicateKey, text, open.start, this.#at) : make.array(items, text, open.start, this.#at);
        key = open.key;
        open = open.parent;
      }
    }
    this.#open = open;
    this.#key = key;
    return undefined;
  }

  /** The next character that is no white space; NaN at the end. */
  #next(): number {
    const code = this.#text.charCodeAt(this.#at);
    return code > 0x20 ? code : this.#behindSpace();
  }

  /** A key and the colon behind it; undefined where the step ends within. */
  #keyAndColon(): string | undefined {
    if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#unexpected();
    if (this.#budget.valuesLeft <= 0) throw this.#tooMany();
    const key = this.#string();
    if (key === undefined) return undefined;
    this.#budget.valuesLeft -= 1;
    if (this.#next() !== COLON) throw this.#unexpected();
    this.#at += 1;
    this.#next();
    return key;
  }

  /** A number, `true`, `false` or `null`. */
  #plain(first: number): Value<V> {
    if (first === MINUS || isDigit(first)) return this.#number();
    if (this.#text.startsWith('true', this.#at)) return this.#word(4, true);
    if (this.#text.startsWith('false', this.#at)) return this.#word(5, false);
    if (this.#text.startsWith('null', this.#at)) return this.#word(4, null);
    throw this.#unexpected();
  }

  #word<T>(length: number, value: T): T {
    this.#at += length;
    return value;
  }

  /** Undefined where the step ends within: the next begins with the same string. */
  #string(): string | undefined {
    const text = this.#text;
    const start = this.#at + 1;
    // Its plain beginning is not looked at again in each step.
    if (this.#halfRead?.start === start) return this.#escapedString(start, start);
    const nearEnd = start + SHORT_CHARS;
    let at = start;
    for (; at < nearEnd; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return text.slice(start, at);
      }
      if (code === BACKSLASH || !(code >= 0x20)) return this.#escapedString(start, at);
    }
    UNESCAPED.lastIndex = at;
    UNESCAPED.test(text);
    at = UNESCAPED.lastIndex;
    if (text.charCodeAt(at) !== QUOTE) return this.#escapedString(start, at);
    this.#at = at + 1;
    return text.slice(start, at);
  }

  /** One that is plain up to `plainEnd` and no further. */
  #escapedString(start: number, plainEnd: number): string | undefined {
    const text = this.#text;
    const half = this.#halfRead?.start === start ? this.#halfRead : undefined;
    let at = half?.at ?? plainEnd;
    let quote = -1;
    for (;;) {
      const near = at;
      const nearEnd = at + ESCAPED_CHARS;
      while (at < nearEnd) {
        const code = text.charCodeAt(at);
        if (code === QUOTE) {
          const value = half === undefined ? parsedString(text.slice(start - 1, at + 1)) : valueUpTo(text, start, at, half);
          if (value === undefined) throw this.#badString(start, plainEnd, at);
          this.#at = at + 1;
          return value;
        }
        if (code === BACKSLASH) at += 2;
        else if (code >= 0x20) at += 1;
        else throw this.#badString(start, plainEnd, at + 1);
      }
      if (at > this.#charsUntil) {
        const end = endOfEscapes(text, at, near);
        this.#halfRead = { start, at: end, value: valueUpTo(text, start, end, half) };
        return undefined;
      }
      if (quote < at) quote = text.indexOf('"', at);
      if (quote === -1) throw this.#badString(start, plainEnd, text.length);
      const next = Math.min(quote, this.#charsUntil);
      const backslashes = backslashesBefore(text, next, at);
      if (backslashes < ESCAPED_CHARS) at = next + (backslashes % 2);
    }
  }

  /** What is wrong with the string that begins there, is plain up to `plainEnd`, and ends without being JSON, or with the text. */
  #badString(start: number, plainEnd: number, end: number): ProblemThrown {
    CONTROL.lastIndex = plainEnd;
    const control = CONTROL.exec(this.#text)?.index ?? Infinity;
    if (control < end) {
      this.#at = control;
      return this.#problem('a control character inside a string');
    }
    const isEnd = end >= this.#text.length;
    this.#at = isEnd ? this.#text.length : start;
    return this.#problem(isEnd ? 'unexpected end of the text' : 'an invalid escape inside a string');
  }

  #number(): V {
    const text = this.#text;
    const start = this.#at;
    let at = start;
    if (text.charCodeAt(at) === MINUS) at += 1;
    if (text.charCodeAt(at) === 0x30) at += 1;
    else at = this.#digits(at);
    if (text.charCodeAt(at) === DOT) at = this.#digits(at + 1);
    const code = text.charCodeAt(at);
    if ((code | 0x20) === SMALL_E) {
      at += 1;
      const sign = text.charCodeAt(at);
      if (sign === PLUS || sign === MINUS) at += 1;
      at = this.#digits(at);
    }
    this.#at = at;
    if (at - start > JSON_NUMBER_CHARS_MAX) throw this.#longNumber();
    return this.#make.number(text.slice(start, at));
  }

  #digits(from: number): number {
    const text = this.#text;
    const end = from + JSON_NUMBER_CHARS_MAX + 1;
    let at = from;
    while (at < end && isDigit(text.charCodeAt(at))) at += 1;
    this.#at = at;
    if (at === from) throw this.#unexpected();
    if (at === end) throw this.#longNumber();
    return at;
  }

  #behindSpace(): number {
    const text = this.#text;
    const nearEnd = this.#at + SHORT_CHARS;
    let at = this.#at;
    let code = text.charCodeAt(at);
    while (isSpace(code) && at < nearEnd) {
      at += 1;
      code = text.charCodeAt(at);
    }
    if (isSpace(code)) {
      SPACE.lastIndex = at;
      SPACE.test(text);
      at = SPACE.lastIndex;
      code = text.charCodeAt(at);
    }
    this.#at = at;
    return code;
  }

  #unexpected(): ProblemThrown {
    return this.#problem(this.#at >= this.#text.length ? 'unexpected end of the text' : 'unexpected character');
  }

  #longNumber(): ProblemThrown {
    return this.#limit(`a number of more than ${JSON_NUMBER_CHARS_MAX} characters`);
  }

  #tooMany(): ProblemThrown {
    // Less than nothing is what tells that it was not enough, also where a key is one too many.
    this.#budget.valuesLeft = -1;
    return this.#limit(`more than ${this.#budget.valuesMax} values`);
  }

  #limit(reason: string): ProblemThrown {
    return new ProblemThrown(new JsonProblem(reason, this.#at, true));
  }

  #problem(reason: string): ProblemThrown {
    return new ProblemThrown(new JsonProblem(reason, this.#at));
  }
}

function opened<V>(opening: number, parent: Open<V> | undefined, key: string, depth: number, start: number): Open<V> {
  if (opening === OPEN_BRACKET) return { parent, key, depth, start, items: [], entries: NO_ENTRIES, duplicateKey: undefined };
  return { parent, key, depth, start, items: undefined, entries: new Map(), duplicateKey: undefined };
}

/** Of a key that came twice the last value counts. */
function addMember<V>(open: Open<V>, key: string, value: Value<V>): void {
  const { entries } = open;
  const size = entries.size;
  entries.set(key, value);
  if (entries.size === size) open.duplicateKey ??= key;
}
