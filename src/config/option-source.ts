/** The settings of an embedder, as a source of values under camel-case names; and how whatever it passes is looked at and spoken of. */

import { codeOf } from '../base/describe-error.ts';
import { hintOf, nearest } from '../base/nearest.ts';
import { Secret } from '../base/secret.ts';
import { maskKeys, quoted } from './masking.ts';
import type { SettingType } from './setting-types.ts';
import { SETTINGS } from './settings.ts';
import type { Setting } from './settings.ts';
import type { Source } from './source.ts';

/** What an embedder passes, before anything is known of it. */
export type Options = Readonly<Record<string, unknown>>;

/** Settings of a process, and what an embedder says instead. */
export const OF_A_PROCESS = {
  GATEWAY_ADDR: 'the address is given to listen',
  GATEWAY_AUTH_TOKEN: 'see callers',
  GATEWAY_AUTH_TOKENS: 'see callers',
  GATEWAY_COMPAT_BASE_URL: 'see providers',
  GATEWAY_COMPAT_NAME: 'see providers',
  GATEWAY_COMPAT_API_KEY: 'see providers',
  GATEWAY_COMPAT_API_KEYS: 'see providers',
  GATEWAY_COMPAT_STRUCTURED_OUTPUT: 'see providers',
  GATEWAY_CLOUDS: 'see providers',
  GATEWAY_LOG_FORMAT: 'see log',
  GATEWAY_WORKERS: 'a program has one process; start it several times behind a load balancer',
  GATEWAY_ROUTING_FILE: 'see routing',
} as const;

/** The option of a variable: `requestTimeout` of `GATEWAY_REQUEST_TIMEOUT`. */
export function optionOf(variable: string): string {
  return variable.replace(/^GATEWAY_/, '').toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The rows of the table that are options, by the name of the option. */
export function optionRows(): ReadonlyMap<string, Setting> {
  const rows = (SETTINGS as readonly Setting[]).filter(({ variable }) => !Object.hasOwn(OF_A_PROCESS, variable));
  return new Map(rows.map((row) => [optionOf(row.variable), row]));
}

/** What an embedder passes, as a source of settings. */
export class OptionSource implements Source {
  readonly problems: string[] = [];
  readonly warnings: string[] = [];
  /** Every one that was read, whatever came of what it is for. */
  readonly secrets: Secret[] = [];
  readonly #options: Options;
  readonly #readFile: (path: string) => string;

  constructor(options: Options, readFile: (path: string) => string) {
    this.#options = options;
    this.#readFile = readFile;
  }

  nameOf(variable: string): string {
    return optionOf(variable);
  }

  isSet(variable: string, type: SettingType<unknown>): boolean {
    return !Object.hasOwn(OF_A_PROCESS, variable) && textOf(this.#valueOf(variable) ?? '', type) !== '';
  }

  read<T>(variable: string, type: SettingType<T>): T | undefined {
    return this.parse(this.nameOf(variable), this.#valueOf(variable), type);
  }

  /** A value that stands at `path`. */
  parse<T>(path: string, value: unknown, type: SettingType<T>): T | undefined {
    const text = textOf(value, type)?.trim();
    const parsed = text === undefined || text === '' ? undefined : type.parse(text);
    if (parsed instanceof Secret) this.secrets.push(parsed);
    if (parsed !== undefined) return parsed;
    const given = text === undefined ? `, got ${described(value)}` : type.shown === 'always' ? `, got ${quoted(text)}` : '';
    this.problems.push(`${path}: expected ${type.expects}${type.takes === 'milliseconds' ? ', or milliseconds' : ''}${given}`);
    return undefined;
  }

  noteDefault(): void {}

  readFile(name: string, path: string): string | undefined {
    try {
      return this.#readFile(path);
    } catch (thrown) {
      this.problems.push(`${name}: the file cannot be read (${codeOf(thrown)})`);
      return undefined;
    }
  }

  #valueOf(variable: string): unknown {
    // Those of a prototype count: an instance of a class is an object with options as well.
    return this.#options[this.nameOf(variable)];
  }
}

/** The value as it would be written in the environment; undefined where it is none that could be. */
export function textOf(value: unknown, { takes, choices }: SettingType<unknown>): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return takes === 'boolean' ? String(value) : undefined;
  if (typeof value === 'number') {
    if (takes === 'number') return String(value);
    return takes === 'milliseconds' ? `${value}ms` : undefined;
  }
  if (takes !== 'list' || !Array.isArray(value) || !value.every((item) => typeof item === 'string')) return undefined;
  // None of a few words has a word of its own, because an empty text is no text.
  return value.length === 0 && choices !== undefined ? 'none' : value.join(',');
}

/** A problem for each member of an object that is none of its options. `advice`: better than the nearest name, where there is any. */
export function refuseUnknown(source: Source, before: string, object: Options, known: readonly string[], advice: (name: string) => string | undefined = () => undefined): void {
  for (const name of Object.keys(object)) {
    if (known.includes(name)) continue;
    const advised = advice(name);
    const hint = advised === undefined ? hintOf(nearest(name, known)) : `; ${advised}`;
    source.problems.push(`${before}${shownName(name)}: there is no such option${hint}`);
  }
}

/** A name that somebody made up, as a path shows it. */
export function shownName(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) ? maskKeys(name) : quoted(name);
}

/** The members of an object that have a value; none where it is absent or something else, which is then a problem. */
export function entriesOf(source: Source, path: string, value: unknown, expected: string): readonly (readonly [string, unknown])[] {
  if (value === undefined) return [];
  if (isRecord(value)) return Object.entries(value).filter(([, entry]) => entry !== undefined);
  source.problems.push(`${path}: expected ${expected}, got ${described(value)}`);
  return [];
}

/** What is no text in an environment that a program hands in. */
export function notTexts(variables: Options): readonly string[] {
  const mistyped = Object.entries(variables).filter(([, value]) => value !== undefined && typeof value !== 'string');
  return mistyped.map(([name, value]) => `${shownName(name)}: expected a text, got ${described(value)}`);
}

/** Whether something may have options as members. */
export function isRecord(value: unknown): value is Options {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Secret);
}

/** What a value is, in the words of a problem; never the value. */
export function described(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
