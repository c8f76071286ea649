/**
 * A log of one line an event, for machines (`json`) or for people (`text`).
 *
 * Whatever is logged, a line stays one line and does nothing to a terminal: control characters, line
 * separators and invisible formatting (ANSI escapes, U+2028, bidirectional overrides) are written as `\uXXXX`.
 */

import { byName } from './by-name.ts';
import { PLAIN, renderJson } from './json/render.ts';
import { bounded } from './redact.ts';

/** From the least to the most important. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Undefined fields are left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Whether events of this level are written, for fields that are dear to compute. */
  isEnabled(level: LogLevel): boolean;
}

export type LogSettings = {
  /** The least level that is written. */
  readonly level: LogLevel;
  readonly format: 'json' | 'text';
  /** Colours text lines, for a terminal. */
  readonly isColoured?: boolean;
  /** Receives each line, without a line break. */
  readonly write: (line: string) => void;
  /** Stand in every line, after its own fields. */
  readonly fields?: LogFields;
  /** The most bytes of a line: its long strings are cut shorter until it fits. Undefined = each string has 1024 characters at most, and the line any length. */
  readonly lineBytesMax?: number;
  readonly now?: () => Date;
};

/** Longer strings are cut, so that a line has a bounded length. */
export const STRING_CHARS_MAX = 1024;
/** What they are cut to, one length after the other, until the line fits. A character takes up to six bytes, and a line has up to some forty fields. */
const SHORTER_CHARS: readonly number[] = [256, 64, 8];

/** Whether lines of a level are written where `least` is the least that is. */
export function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

/** The names of routes fit in, so that what follows them stands in a column. */
const MESSAGE_WIDTH = 11;

const DIM = 2;
const COLOUR: Readonly<Record<LogLevel, number>> = { debug: 90, info: 36, warn: 33, error: 31 };

export function createLog(settings: LogSettings): Log {
  const now = settings.now ?? (() => new Date());
  const render = settings.format === 'json' ? renderJsonLine : settings.isColoured === true ? renderColoured : renderText;
  const renderTime = createTimeRenderer();
  const isEnabled = (level: LogLevel): boolean => isAtLeast(level, settings.level);
  const { fields: everywhere, lineBytesMax = Infinity } = settings;
  const write = (level: LogLevel, message: string, fields: LogFields): void => {
    if (!isEnabled(level)) return;
    const time = renderTime(now());
    const all = everywhere === undefined ? fields : { ...fields, ...everywhere };
    let line = render(time, level, message, all, STRING_CHARS_MAX);
    for (const chars of SHORTER_CHARS) {
      // A character is three bytes at most.
      if (line.length * 3 <= lineBytesMax || Buffer.byteLength(line) <= lineBytesMax) break;
      line = render(time, level, message, all, chars);
    }
    settings.write(line);
  };
  return {
    debug: (message, fields = {}) => write('debug', message, fields),
    info: (message, fields = {}) => write('info', message, fields),
    warn: (message, fields = {}) => write('warn', message, fields),
    error: (message, fields = {}) => write('error', message, fields),
    isEnabled,
  };
}

/** As toISOString writes it, once for all lines of a millisecond: a fifth of a line. */
function createTimeRenderer(): (time: Date) => string {
  let renderedMs = NaN;
  let rendered = '';
  return (time) => {
    const ms = time.getTime();
    if (ms !== renderedMs) {
      rendered = time.toISOString();
      renderedMs = ms;
    }
    return rendered;
  };
}

// hot: per request
function renderJsonLine(time: string, level: LogLevel, message: string, fields: LogFields, charsMax: number): string {
  let line = `{"time":"${time}","level":"${level}","message":${renderString(message, charsMax)}`;
  // With Object.keys each of the some thirty values is looked up by name, which took half of the line.
  for (const key in fields) {
    if (!Object.prototype.hasOwnProperty.call(fields, key)) continue;
    const value = fields[key];
    if (value !== undefined) line = line + renderKey(key) + renderValue(value, charsMax);
  }
  return line + '}';
}

/** A field's name as it stands in a line of JSON, the comma before it. */
const renderKey = byName((key) => `,${renderString(key, STRING_CHARS_MAX)}:`);

function renderValue(value: string | number | boolean, charsMax: number): string {
  if (typeof value === 'string') return renderString(value, charsMax);
  return typeof value === 'boolean' || Number.isFinite(value) ? String(value) : 'null';
}

/** `03:14:15.926 INFO  message       key=value`; the time is UTC. */
function renderText(time: string, level: LogLevel, message: string, fields: LogFields, charsMax: number): string {
  return renderTextLine(time.slice(11, 23), level.toUpperCase().padEnd(5), message, fields, charsMax, (key) => `${key}=`);
}

/** The same with the level in its colour, and what is beside the point dimmed. */
function renderColoured(time: string, level: LogLevel, message: string, fields: LogFields, charsMax: number): string {
  const word = paint(COLOUR[level], level.toUpperCase().padEnd(5));
  return renderTextLine(paint(DIM, time.slice(11, 23)), word, message, fields, charsMax, (key) => paint(DIM, `${key}=`));
}

function renderTextLine(time: string, level: string, message: string, fields: LogFields, charsMax: number, renderKey: (key: string) => string): string {
  let words = '';
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value !== undefined) words += ` ${renderKey(renderWord(key, STRING_CHARS_MAX))}${renderWord(String(value), charsMax)}`;
  }
  const text = withoutControls(bounded(message, charsMax));
  return `${time} ${level} ${words === '' ? text : text.padEnd(MESSAGE_WIDTH) + ' ' + words}`;
}

function paint(code: number, text: string): string {
  return `\u001b[${code}m${text}\u001b[0m`;
}

/** As it is where that reads unambiguously, else as a JSON string. */
function renderWord(text: string, charsMax: number): string {
  return /^[\w.:/@%+,;()[\]{}*#~-]+$/.test(text) && text.length <= charsMax ? text : renderString(text, charsMax);
}

function renderString(text: string, charsMax: number): string {
  const shown = bounded(text, charsMax);
  return PLAIN.test(shown) ? `"${shown}"` : withoutControls(renderJson(shown));
}

/** Controls, formatting characters, line and paragraph separators, unpaired surrogates. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** In a string of JSON the escape reads back. */
function withoutControls(text: string): string {
  return text.replace(INVISIBLE, unicodeEscape);
}

function unicodeEscape(char: string): string {
  let escaped = '';
  for (let at = 0; at < char.length; at += 1) {
    escaped += '\\u' + char.charCodeAt(at).toString(16).padStart(4, '0');
  }
  return escaped;
}
