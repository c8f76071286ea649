/** JSON read strictly (RFC 8259), in one step or in several: the machine behind parse.ts. */

import { backslashesBefore, endOfEscapes, parsedString, valueUpTo } from './escapes.ts';
import type { HalfRead } from './escapes.ts';
import { JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX } from './limits.ts';
import type { JsonBudget } from './limits.ts';
import type { Make, Value } from './make.ts';
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, DOT, MINUS, OPEN_BRACE, OPEN_BRACKET, PLUS, QUOTE } from './syntax.ts';
import { ESCAPED_CHARS, isDigit, isSpace, SHORT_CHARS, SMALL_E, SPACE } from './syntax.ts';
import { JsonProblem } from './value.ts';

/** Of every empty object, where 100,000 Maps of their own would take 40 ms, and of what is none. */
const NO_ENTRIES = new Map<string, never>();

/** What stands for itself in a string. */
const UNESCAPED = /[^"\\\x00-\x1f]*/y;
const CONTROL = /[\x00-\x1f]/g;

/** How a parser leaves a text that is not acceptable. */
export class ProblemThrown {
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
export class Parser<V> {
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
