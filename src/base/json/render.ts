/** JSON written: keys in the order given, raw pieces untouched. */

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

/** Of a longer string each piece of so many characters is looked at before it is escaped: 16 MB of which few have to be take 15 ms instead of 45 (make bench ONLY=turns). */
const LONG_STRING_CHARS = 16 * 1024;
const ESCAPED = /["\\\x00-\x1f]/;

/** To know that nothing has to be escaped is half of what `JSON.stringify` takes, which looks at each character. */
const PLAIN = /^[ !#-[\]-~]*$/;

function renderString(text: string): string {
  if (text.length >= LONG_STRING_CHARS) return renderLongString(text);
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function renderLongString(text: string): string {
  let out = '"';
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + LONG_STRING_CHARS, text.length);
    // Not between the halves of a character.
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end -= 1;
    const piece = text.slice(at, end);
    out += ESCAPED.test(piece) || !piece.isWellFormed() ? JSON.stringify(piece).slice(1, -1) : piece;
    at = end;
  }
  return out + '"';
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

/** Names that this source gives to members, as they are written: a native reply takes 2.0 µs instead of 2.9 (make bench-parts). */
const NAMES = new Map<string, string>();
/** Far more than there are. What others name stands in a Map, and whatever else came would not fill this. */
const NAMES_MAX = 1000;

function renderName(name: string): string {
  let text = NAMES.get(name);
  if (text === undefined) {
    text = renderKey(name);
    if (NAMES.size < NAMES_MAX) NAMES.set(name, text);
  }
  return text;
}

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
  for (const name in object) {
    const value = object[name];
    if (value === undefined) continue;
    if (out.length > 1) out += ',';
    out += renderName(name) + renderJson(value);
  }
  return out + '}';
}
