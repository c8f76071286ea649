/**
 * A text that fits the keywords of a JSON schema for strings: its length, its format, its pattern.
 *
 * A pattern is read by the part of regular expressions that providers take: literals, classes, groups, alternatives and
 * counts. One with more in it is left aside.
 * Source: JSON Schema 2020-12, validation for strings, defined formats; ECMA-262, patterns.
 */

import { numberField, stringField } from '../../base/loose.ts';
import type { Schema } from './subschemas.ts';

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z', date: '2026-01-01', time: '12:00:00Z', duration: 'P1D', email: 'someone@example.com',
  hostname: 'example.com', ipv4: '192.0.2.1', ipv6: '2001:db8::1', uuid: '00000000-0000-4000-8000-000000000000', uri: 'https://example.com/',
};
/** As much as a schema can ask for. */
const TEXT_CHARS_MAX = 1000;

/** The text; made of the name and a number where nothing else is asked for. */
export function sampleText(schema: Schema, name: string, variant: number): string {
  const pattern = stringField(schema, 'pattern');
  const fitting = pattern === undefined ? undefined : fittingText(pattern);
  const text = fitting ?? stringField(FORMATS, stringField(schema, 'format') ?? '') ?? `${name} ${variant + 1}`;
  const least = Math.min(numberField(schema, 'minLength') ?? 0, TEXT_CHARS_MAX);
  const padded = Array.from(fitting === undefined ? text.padEnd(least, '.') : text);
  return padded.slice(0, fitting === undefined ? Math.max(numberField(schema, 'maxLength') ?? padded.length, 0) : padded.length).join('');
}

const COUNT_MAX = 500;
const GROUPS_MAX = 50;

/** A text that the pattern matches as a whole; undefined when it has something that is not known here. */
export function fittingText(pattern: string): string | undefined {
  const reader = { pattern, at: 0, depth: 0 };
  const text = readAlternatives(reader);
  return text === undefined || reader.at < pattern.length || text.length > TEXT_CHARS_MAX ? undefined : text;
}

type Reader = { readonly pattern: string; at: number; depth: number };

/** The first of some alternatives; the others are read over. */
function readAlternatives(reader: Reader): string | undefined {
  const text = readSequence(reader);
  while (text !== undefined && reader.pattern[reader.at] === '|') {
    reader.at += 1;
    if (readSequence(reader) === undefined) return undefined;
  }
  return text;
}

function readSequence(reader: Reader): string | undefined {
  let text = '';
  while (reader.at < reader.pattern.length && !'|)'.includes(reader.pattern[reader.at] ?? '')) {
    const piece = readPiece(reader);
    const count = readCount(reader);
    if (piece === undefined || count === undefined) return undefined;
    text += piece.repeat(count);
    if (text.length > TEXT_CHARS_MAX) return undefined;
  }
  return text;
}

/** How often the piece before is to stand there: as seldom as allowed, but once where that is. */
function readCount(reader: Reader): number | undefined {
  const match = /^(?:([*+?])|\{(\d{1,4})(,?)(\d{0,4})\})\??/.exec(reader.pattern.slice(reader.at, reader.at + 16));
  if (match === null) return 1;
  reader.at += match[0].length;
  if (match[1] !== undefined) return 1;
  const least = Number(match[2]);
  const most = match[3] === '' ? least : Number(match[4] || COUNT_MAX);
  return least > COUNT_MAX || most < least ? undefined : Math.max(least, Math.min(1, most));
}

function readPiece(reader: Reader): string | undefined {
  const character = String.fromCodePoint(reader.pattern.codePointAt(reader.at) ?? 0);
  reader.at += character.length;
  switch (character) {
    case '^':
    case '$':
      return '';
    case '.':
      return 'x';
    case '\\':
      return readEscape(reader);
    case '[':
      return readClass(reader);
    case '(':
      return readGroup(reader);
    default:
      return '*+?{'.includes(character) ? undefined : character;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { d: '0', w: 'a', s: ' ', D: 'a', W: '-', S: 'a', n: '\n', t: '\t', r: '\r' };

function readEscape(reader: Reader): string | undefined {
  const letter = reader.pattern[reader.at] ?? '';
  reader.at += 1;
  return ESCAPES[letter] ?? (/[a-zA-Z0-9]/.test(letter) ? undefined : letter);
}

/** Its first character, or for one of what is not in it, the first of some that is not. */
function readClass(reader: Reader): string | undefined {
  const end = /^(?:\\.|[^\]\\])+\]/s.exec(reader.pattern.slice(reader.at, reader.at + 1000));
  if (end === null) return undefined;
  const inside = end[0].slice(0, -1);
  reader.at += end[0].length;
  if (inside.startsWith('^')) {
    const among = compiled(`[${inside}]`);
    return Array.from('a0A -_.x').find((candidate) => among?.test(candidate));
  }
  if (!inside.startsWith('\\')) return Array.from(inside)[0];
  return readEscape({ pattern: inside, at: 1, depth: 0 });
}

function compiled(source: string): RegExp | undefined {
  try {
    return new RegExp(source);
  } catch {
    return undefined;
  }
}

function readGroup(reader: Reader): string | undefined {
  if (reader.pattern[reader.at] === '?') {
    const naming = /^\?(?::|<[A-Za-z]\w*>)/.exec(reader.pattern.slice(reader.at, reader.at + 100));
    if (naming === null) return undefined;
    reader.at += naming[0].length;
  }
  reader.depth += 1;
  const text = reader.depth > GROUPS_MAX ? undefined : readAlternatives(reader);
  reader.depth -= 1;
  if (text === undefined || reader.pattern[reader.at] !== ')') return undefined;
  reader.at += 1;
  return text;
}
