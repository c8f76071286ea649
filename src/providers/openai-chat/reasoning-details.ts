/**
 * `reasoning_details`: reasoning in OpenRouter's form, signed or encrypted, to go back unmodified.
 *
 * A stream sends an item in pieces, told apart by `type`, `index` and, where there is one, `id`. Source:
 * OpenRouter, reasoning tokens, preserving reasoning blocks.
 */

import { renderJson } from '../../base/json/render.ts';
import { RawJson } from '../../base/json/value.ts';
import { isObject } from '../../base/loose.ts';
import { rawAt } from './raw.ts';
import type { Place } from './raw.ts';

/** What grows from piece to piece; everything else is replaced by what comes later. */
const GROWING_FIELDS: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/** Most items in one answer. Each piece is compared with them all; good answers have a handful. */
export const DETAILS_MAX = 1024;

type Item = Map<string, string | RawJson>;

export class ReasoningDetails {
  readonly #items: Item[] = [];
  #whole: RawJson | undefined;
  #keptChars = 0;

  get count(): number {
    return this.#items.length;
  }

  /** Characters kept so far. */
  get keptChars(): number {
    return this.#keptChars;
  }

  /** The text of the JSON array; undefined when nothing came. */
  get raw(): RawJson | undefined {
    return this.#items.length > 0 ? new RawJson(renderJson(this.#items)) : this.#whole;
  }

  /** Takes a message's details as they are, or the pieces of them in a delta. */
  take(details: readonly unknown[], place: Place): void {
    if (details.length === 0) return;
    if (place.isWhole) {
      if (details.every(isObject)) this.#whole = rawAt(place, 'reasoning_details');
      return;
    }
    for (const [at, piece] of details.entries()) {
      if (isObject(piece)) this.#extend(piece, (key) => rawAt(place, 'reasoning_details', at, key));
    }
  }

  #extend(piece: Readonly<Record<string, unknown>>, rawValue: (key: string) => RawJson | undefined): void {
    let item = this.#items.find((candidate) => isContinuedBy(candidate, piece));
    if (item === undefined) this.#items.push((item = new Map()));
    for (const [key, value] of Object.entries(piece)) {
      const before = item.get(key);
      if (typeof value === 'string') {
        this.#keptChars += value.length;
        item.set(key, GROWING_FIELDS.has(key) && typeof before === 'string' ? before + value : value);
      } else if (value !== null || before === undefined) {
        // The index comes with every piece; reading it strictly would parse each frame twice.
        const raw = key === 'index' && Number.isSafeInteger(value) ? new RawJson(String(value)) : rawValue(key);
        this.#keptChars += raw?.text.length ?? 0;
        if (raw !== undefined) item.set(key, raw);
      }
    }
  }
}

function isContinuedBy(item: Item, piece: Readonly<Record<string, unknown>>): boolean {
  const { type, index, id } = piece;
  const itemId = item.get('id');
  const itemIndex = item.get('index');
  const isOther = typeof id === 'string' && typeof itemId === 'string' && id !== itemId;
  const isSameIndex = (itemIndex instanceof RawJson ? itemIndex.text : '') === (typeof index === 'number' ? String(index) : '');
  return item.get('type') === type && isSameIndex && !isOther;
}
