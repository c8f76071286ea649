/**
 * What becomes of each field of another vendor's format when a request is translated, as data: the reader obeys the
 * table, and the page about the dialect is printed from it.
 *
 * Nothing is left out unsaid: what is not translated is named to the caller, what would change the answer is refused.
 */

import { renderPath } from '../base/fields.ts';
import type { Fields, Path } from '../base/fields.ts';
import type { JsonValue } from '../base/json/value.ts';
import { JsonArray, JsonNumber, JsonObject } from '../base/json/value.ts';
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
  /** By the pattern of items, the names of their fields: at most as many as a body has values. A path is rendered only where it is kept: 2 µs. */
  #named: Map<string, Set<string>> | undefined;
  #more = 0;

  add(path: Path | undefined): void {
    if (this.#paths.length < IGNORED_MAX) this.#paths.push(renderPath(path));
    else this.#more += 1;
  }

  /** Adds fields of a list's item, once for all of its items: `input[].id`. */
  addOnce(item: Fields, names: readonly string[]): void {
    if (names.length === 0) return;
    const pattern = patternOf(item.path);
    this.#named ??= new Map();
    const named = this.#named.get(pattern) ?? new Set();
    this.#named.set(pattern, named);
    for (const name of names) {
      if (named.has(name)) continue;
      named.add(name);
      if (this.#paths.length < IGNORED_MAX) this.#paths.push(patternOf(item.at(name)));
      else this.#more += 1;
    }
  }

  /** Adds the fields of a list's item that were not read, once for all items. */
  addUnreadOfItem(item: Fields): void {
    this.addOnce(item, item.unread().map(([name]) => name));
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

function patternOf(path: Path | undefined): string {
  return renderPath(path).replace(/\[\d+\]/g, '[]');
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
