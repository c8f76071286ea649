/** JSON written: keys in the order given, raw pieces untouched. */

import { byName } from '../by-name.ts';
import { isList, isMap, RawJson } from './value.ts';
import type { JsonOut, JsonOutObject } from './value.ts';

/** Writes JSON text: keys in the order given, raw pieces untouched. A number that is not finite is a bug and throws. */
// hot: per request
export function renderJson(value: JsonOut): string {
  if (typeof value === 'string') return renderString(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new RangeError('a number that JSON cannot carry');
    return String(value);
  }
  if (value === null || typeof value === 'boolean') return String(value);
  if (value instanceof RawJson) return value.text;
  if (isList(value)) return renderList(value);
  if (isMap(value)) return renderMap(value);
  return renderObject(value);
}

/** As much as is written at once, in characters: a few milliseconds, whatever it is (make bench ONLY=turns). */
const PACE_CHARS = 256 * 1024;

/** The same of what is large, as UTF-8, step by step; between two of them `othersTurn` is waited for. */
export async function renderLargeJson(value: JsonOut, othersTurn: () => Promise<void>, paceChars = PACE_CHARS): Promise<Buffer> {
  const steps: Buffer[] = [];
  let text = '';
  for (const piece of piecesOf(value)) {
    text += piece;
    if (text.length < paceChars) continue;
    steps.push(Buffer.from(text));
    text = '';
    await othersTurn();
  }
  steps.push(Buffer.from(text));
  return Buffer.concat(steps);
}

function* piecesOf(value: JsonOut): Generator<string> {
  if (typeof value === 'string' && value.length >= LONG_STRING_CHARS) {
    yield '"';
    for (const piece of textPieces(value)) yield escaped(piece);
    yield '"';
  } else if (typeof value !== 'object' || value === null || charsLeft(value, LONG_STRING_CHARS) > 0) {
    yield renderJson(value);
  } else if (value instanceof RawJson) {
    yield* textPieces(value.text);
  } else if (isList(value)) {
    let before = '[';
    for (const item of value) {
      yield before;
      yield* piecesOf(item);
      before = ',';
    }
    yield ']';
  } else {
    let before = '{';
    for (const [key, member] of isMap(value) ? value : Object.entries(value)) {
      if (member === undefined) continue;
      if (key.length < LONG_STRING_CHARS) {
        yield before + renderKey(key);
      } else {
        yield before;
        yield* piecesOf(key);
        yield ':';
      }
      yield* piecesOf(member);
      before = ',';
    }
    yield '}';
  }
}

/** What would be left of so many characters, roughly; nothing or less where a value is longer, which may not have been looked at to its end. */
function charsLeft(value: JsonOut, chars: number): number {
  if (typeof value === 'string') return chars - 1 - value.length;
  if (typeof value !== 'object' || value === null) return chars - 1;
  if (value instanceof RawJson) return chars - value.text.length;
  let left = chars - 1;
  if (isList(value)) {
    for (let i = 0; i < value.length && left > 0; i += 1) left = charsLeft(value[i] as JsonOut, left);
  } else {
    for (const [key, member] of isMap(value) ? value : Object.entries(value)) {
      if (left <= 0) break;
      if (member !== undefined) left = charsLeft(member, left - key.length);
    }
  }
  return left;
}

/** Of a longer string each piece of so many characters is looked at before it is escaped: 16 MB of which few have to be take 15 ms instead of 45 (make bench ONLY=turns). */
const LONG_STRING_CHARS = 16 * 1024;
const ESCAPED = /["\\\x00-\x1f]/;

/** To know that nothing has to be escaped is half of what `JSON.stringify` takes, which looks at each character. */
export const PLAIN = /^[ !#-[\]-~]*$/;

function renderString(text: string): string {
  if (text.length >= LONG_STRING_CHARS) return renderLongString(text);
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function renderLongString(text: string): string {
  let out = '"';
  for (const piece of textPieces(text)) out += escaped(piece);
  return out + '"';
}

function escaped(piece: string): string {
  return ESCAPED.test(piece) || !piece.isWellFormed() ? JSON.stringify(piece).slice(1, -1) : piece;
}

function* textPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + LONG_STRING_CHARS, text.length);
    // Not between the halves of a character.
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end -= 1;
    yield text.slice(at, end);
    at = end;
  }
}

function renderList(items: readonly JsonOut[]): string {
  let out = '[';
  for (let i = 0; i < items.length; i += 1) {
    if (i > 0) out += ',';
    out += renderJson(items[i] as JsonOut);
  }
  return out + ']';
}

/** Keys that need no escape, which nearly all are. */
const PLAIN_KEY = /^[\w $.-]*$/;

function renderKey(key: string): string {
  return PLAIN_KEY.test(key) ? `"${key}":` : `${JSON.stringify(key)}:`;
}

/** A member's name with the colon behind it, and the same with the comma before it. */
type Written = { readonly first: string; readonly next: string };

/**
 * A member's name, which is one of this source's: to look at each every time is a third of a small object's cost. What others
 * name stands in a Map.
 */
const renderName = byName((name): Written => {
  const first = renderKey(name);
  return { first, next: `,${first}` };
});

function renderMap(entries: ReadonlyMap<string, JsonOut>): string {
  let out = '{';
  for (const [key, value] of entries) {
    if (out.length > 1) out += ',';
    out += renderKey(key) + renderJson(value);
  }
  return out + '}';
}

function renderObject(object: JsonOutObject): string {
  let out = '{';
  // With Object.keys each value is looked up by its name: 200 instructions, where this takes 20.
  for (const name in object) {
    if (!Object.prototype.hasOwnProperty.call(object, name)) continue;
    const value = object[name];
    if (value === undefined) continue;
    const { first, next } = renderName(name);
    out = out + (out.length > 1 ? next : first) + renderJson(value);
  }
  return out + '}';
}
