/** Strings with escapes, read piece by piece: where one may be cut, and what the pieces say. */

import { BACKSLASH, ESCAPED_CHARS } from './syntax.ts';

/** A string that was read in part: from `start` up to `at`, not within an escape, and its value so far; undefined where that is no JSON. */
export type HalfRead = { readonly start: number; readonly at: number; readonly value: string | undefined };

/** The value of a string from `start` to `end`, of which a part may have been read before; undefined where that is no JSON. */
export function valueUpTo(text: string, start: number, end: number, half: HalfRead | undefined): string | undefined {
  const { at, value } = half ?? { at: start, value: '' };
  if (value === undefined) return undefined;
  const rest = parsedString(`"${text.slice(at, end)}"`);
  return rest === undefined ? undefined : value + rest;
}

export function parsedString(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return undefined;
  }
}

const UNICODE_ESCAPE_CHARS = 6;

/** Where a string that was read from `from` up to `at` may be cut: at `at`, or before an escape like \u0041 that goes on beyond it. Neither may be right behind an odd backslash. */
export function endOfEscapes(text: string, at: number, from: number): number {
  for (let escape = at - 2; escape > at - UNICODE_ESCAPE_CHARS; escape -= 1) {
    if (text.startsWith('\\u', escape) && backslashesBefore(text, escape, from) % 2 === 0) return escape;
  }
  return at;
}

/** How many backslashes stand right before `at`: from `from` on, and ESCAPED_CHARS at most. */
export function backslashesBefore(text: string, at: number, from: number): number {
  const first = Math.max(from, at - ESCAPED_CHARS);
  let before = at;
  while (before > first && text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
  return at - before;
}
