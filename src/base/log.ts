/**
 * A log of one line an event, for machines (`json`) or for people (`text`).
 *
 * Whatever is logged, a line stays one line and does nothing to a terminal: control characters, line
 * separators and invisible formatting (ANSI escapes, U+2028, bidirectional overrides) are written as `\uXXXX`.
 */

import { bounded } from './redact.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

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
  /** Colours the level of text lines. */
  readonly isColoured?: boolean;
  /** Receives each line, without a line break. */
  readonly write: (line: string) => void;
  readonly now?: () => Date;
};

/** Longer strings are cut, so that a line has a bounded length. */
const STRING_CHARS_MAX = 1024;

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

const COLOUR: Readonly<Record<LogLevel, number>> = { debug: 90, info: 36, warn: 33, error: 31 };

export function createLog(settings: LogSettings): Log {
  const now = settings.now ?? (() => new Date());
  const render = settings.format === 'json' ? renderJsonLine : settings.isColoured === true ? renderColoured : renderText;
  const isEnabled = (level: LogLevel): boolean => RANK[level] >= RANK[settings.level];
  const write = (level: LogLevel, message: string, fields: LogFields): void => {
    if (isEnabled(level)) settings.write(render(now().toISOString(), level, message, fields));
  };
  return {
    debug: (message, fields = {}) => write('debug', message, fields),
    info: (message, fields = {}) => write('info', message, fields),
    warn: (message, fields = {}) => write('warn', message, fields),
    error: (message, fields = {}) => write('error', message, fields),
    isEnabled,
  };
}

function renderJsonLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  let line = `{"time":"${time}","level":"${level}","message":${renderString(message)}`;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value === undefined) continue;
    line += `,${renderString(key)}:${typeof value === 'string' ? renderString(value) : JSON.stringify(value)}`;
  }
  // Once for the line: such a character can only stand inside a string, where its escape reads back.
  return withoutControls(line + '}');
}

/** `03:14:15.926 INFO  message  key=value`; the time is UTC. */
function renderText(time: string, level: LogLevel, message: string, fields: LogFields): string {
  return renderTextLine(time, level.toUpperCase().padEnd(5), message, fields);
}

function renderColoured(time: string, level: LogLevel, message: string, fields: LogFields): string {
  return renderTextLine(time, `\u001b[${COLOUR[level]}m${level.toUpperCase().padEnd(5)}\u001b[0m`, message, fields);
}

function renderTextLine(time: string, level: string, message: string, fields: LogFields): string {
  let line = `${time.slice(11, 23)} ${level} ${withoutControls(bounded(message, STRING_CHARS_MAX))}`;
  let separator = '  ';
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value === undefined) continue;
    line += `${separator}${renderWord(key)}=${renderWord(String(value))}`;
    separator = ' ';
  }
  return line;
}

/** As it is where that reads unambiguously, else as a JSON string. */
function renderWord(text: string): string {
  return /^[\w.:/@%+,;()[\]{}*#~-]+$/.test(text) && text.length <= STRING_CHARS_MAX ? text : withoutControls(renderString(text));
}

function renderString(text: string): string {
  return JSON.stringify(bounded(text, STRING_CHARS_MAX));
}

/** Controls, formatting characters, line and paragraph separators, unpaired surrogates. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

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
