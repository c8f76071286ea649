/**
 * One environment variable at a time: found (itself or its `_FILE`), trimmed, parsed, and complained about.
 *
 * Knows neither settings nor the kinds of their values. Whatever is wrong is collected, so that an operator sees everything at
 * once; no sentence here contains a secret or a file's content.
 */

import { codeOf } from '../base/describe-error.ts';
import { Secret } from '../base/secret.ts';
import { maskKeys, quoted } from './masking.ts';
import type { SettingType } from './setting-types.ts';

/** What a variable is set to, for the operator to see. */
export type EffectiveValue = {
  readonly variable: string;
  /** As it was written; `[set]` for a secret, `none` where there is neither value nor default. */
  readonly value: string;
  readonly source: 'default' | 'environment' | 'file';
};

/** Reads variables, and collects what is wrong with them and what is in effect. */
export class Environment {
  /** Each one line that names the variable. Any of them means: do not start. */
  readonly problems: string[] = [];
  readonly warnings: string[] = [];
  readonly effective: EffectiveValue[] = [];
  /** Every one that was read, whatever came of what it is for. */
  readonly secrets: Secret[] = [];
  readonly #variables: Readonly<Record<string, string | undefined>>;
  readonly #readFile: (path: string) => string;

  /** `readFile` returns a file's text or throws an error with a `code`. */
  constructor(variables: Readonly<Record<string, string | undefined>>, readFile: (path: string) => string) {
    this.#variables = variables;
    this.#readFile = readFile;
  }

  /** Whether there is a value, good or bad. An empty one counts as absent. */
  isSet(variable: string, type: SettingType<unknown>): boolean {
    if (this.#text(variable) !== undefined) return true;
    return type.shown === 'never' && this.#text(`${variable}_FILE`) !== undefined;
  }

  nameOf(variable: string): string {
    return variable;
  }

  /** The value; undefined when absent, and when bad, which is then among the problems. */
  read<T>(variable: string, type: SettingType<T>): T | undefined {
    const found = this.find(variable, type);
    return found === undefined ? undefined : this.#parse(variable, found.text, type, found.source);
  }

  noteDefault(variable: string, value: string | undefined): void {
    this.effective.push({ variable, value: value || 'none', source: 'default' });
  }

  /** A variable's text, as it is or from its file; undefined when there is none, or it cannot be had, which is then a problem. */
  find(variable: string, type: SettingType<unknown>): { readonly text: string; readonly source: 'environment' | 'file' } | undefined {
    const text = this.#text(variable);
    const path = type.shown === 'never' ? this.#text(`${variable}_FILE`) : undefined;
    if (path === undefined) return text === undefined ? undefined : { text, source: 'environment' };
    if (text !== undefined) {
      this.problems.push(`${variable}, ${variable}_FILE: both are set, expected only one of them`);
      return undefined;
    }
    const content = this.readFile(`${variable}_FILE`, path);
    return content === undefined ? undefined : { text: content.trim(), source: 'file' };
  }

  /**
   * The text of a file that a variable names; undefined when it cannot be read, which is then among the problems.
   * The path is not repeated there: a secret put into the wrong variable would be shown.
   */
  readFile(variable: string, path: string): string | undefined {
    try {
      return this.#readFile(path);
    } catch (thrown) {
      this.problems.push(`${variable}: the file cannot be read (${codeOf(thrown)})`);
      return undefined;
    }
  }

  /** The names of the variables that have a value. */
  names(): string[] {
    return Object.keys(this.#variables).filter((name) => this.#text(name) !== undefined);
  }

  #text(variable: string): string | undefined {
    const text = this.#variables[variable]?.trim();
    return text === '' ? undefined : text;
  }

  #parse<T>(variable: string, text: string, type: SettingType<T>, source: 'environment' | 'file'): T | undefined {
    const value = text === '' ? undefined : type.parse(text);
    const place = source === 'file' ? `${variable}_FILE` : variable;
    if (value === undefined) {
      const given = type.shown === 'always' ? `, got ${quoted(text)}` : '';
      this.problems.push(`${place}: expected ${type.expects}${given}`);
      return undefined;
    }
    // As `docker run --env-file` keeps them. What is no secret is refused with them.
    if (type.shown === 'never' && /^(["']).*\1$/s.test(text)) this.warnings.push(`${place}: the quotes around it are part of it; remove them`);
    for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value]) if (item instanceof Secret) this.secrets.push(item);
    this.effective.push({ variable, value: type.shown === 'never' ? '[set]' : maskKeys(text), source });
    return value;
  }
}
