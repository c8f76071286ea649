/**
 * What becomes of each field of another maker's format when a request is translated, as data: the reader obeys the
 * table, and the page about the dialect is printed from it.
 *
 * Nothing is left out unsaid: what is not translated is named to the caller, what would change the answer is refused.
 */

import { renderPath } from '../base/fields.ts';
import type { Fields, Path } from '../base/fields.ts';
import type { JsonValue } from '../base/json/value.ts';
import { JsonArray, JsonNumber, JsonObject } from '../base/json/value.ts';
import { unreachable } from '../core/chat.ts';
import { unsupported } from './body.ts';

export type FieldRule =
  /** Translated, as what. */
  | { readonly is: 'mapped'; readonly as: string }
  /** Left out and named, because the answer is the same without it. */
  | { readonly is: 'tolerated'; readonly as: string }
  /** Refused, because the answer would be another; left out and named where its value asks for nothing. */
  | { readonly is: 'refused'; readonly as: string; readonly unless?: (value: JsonValue) => boolean };

export type FieldTable = Readonly<Record<string, FieldRule>>;

/** Most paths that are kept of what one request left out; the rest is counted. */
const IGNORED_MAX = 20;

/** Collects where in a body something was left out. */
export class Ignored {
  readonly #paths: string[] = [];
  /** Of items: at most as many as a body has values. */
  readonly #patterns = new Set<string>();
  #more = 0;

  add(path: Path): void {
    if (this.#paths.length < IGNORED_MAX) this.#paths.push(renderPath(path));
    else this.#more += 1;
  }

  /** Adds a place inside the items of a list, once for all of them: `input[].id`. */
  addOnce(path: Path): void {
    const pattern = renderPath(path).replace(/\[\d+\]/g, '[]');
    if (this.#patterns.has(pattern)) return;
    this.#patterns.add(pattern);
    if (this.#paths.length < IGNORED_MAX) this.#paths.push(pattern);
    else this.#more += 1;
  }

  /** Adds the fields of a list's item that were not read, once for all items. */
  addUnreadOfItem(fields: Fields): void {
    for (const [name] of fields.unread()) this.addOnce(fields.at(name));
  }

  /** Adds the fields of an object that were not read. */
  addUnread(fields: Fields): void {
    for (const [name] of fields.unread()) this.add(fields.at(name));
  }

  /** The paths, and `+N` for those beyond the most that are kept. */
  get paths(): readonly string[] {
    return this.#more === 0 ? this.#paths : [...this.#paths, `+${this.#more}`];
  }
}

/** Applies the table to the fields that were not read: refuses by path, or leaves out and names. Null reads as absent. */
export function applyTable(table: FieldTable, fields: Fields, ignored: Ignored): void {
  for (const [name, value] of fields.unread()) {
    const rule = Object.hasOwn(table, name) ? table[name] : undefined;
    if (rule?.is === 'refused' && rule.unless?.(value) !== true) throw unsupported(fields.at(name), rule.as);
    ignored.add(fields.at(name));
  }
}

/** For rules: true for this very value. */
export function isValue(expected: string | number | boolean): (value: JsonValue) => boolean {
  return (value) => (value instanceof JsonNumber ? value.value : value) === expected;
}

/** For rules: true for a list or an object that holds nothing. */
export function isEmpty(value: JsonValue): boolean {
  return value instanceof JsonArray ? value.items.length === 0 : value instanceof JsonObject && value.entries.size === 0;
}

/** The table as markdown, for the page about its dialect. */
export function renderFieldTable(table: FieldTable): string {
  const rows = Object.entries(table).map(([name, rule]) => `| \`${name}\` | ${outcomeOf(rule)} |`);
  return ['| field | what becomes of it |', '|---|---|', ...rows, ''].join('\n');
}

function outcomeOf(rule: FieldRule): string {
  switch (rule.is) {
    case 'mapped':
      return rule.as;
    case 'tolerated':
      return `left out: ${rule.as}`;
    case 'refused':
      return `refused${rule.unless === undefined ? '' : ' unless it has its default value'}: ${rule.as}`;
    default:
      return unreachable(rule);
  }
}
