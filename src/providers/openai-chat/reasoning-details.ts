/**
 * `reasoning_details`: reasoning in OpenRouter's form, signed or encrypted, to go back unmodified.
 *
 * A stream sends an item in pieces, told apart by `type`, `index` and, where there is one, `id`. Source:
 * OpenRouter, reasoning tokens, preserving reasoning blocks.
 */

import { renderJson } from '../../base/json/render.ts';
import { RawJson } from '../../base/json/value.ts';
import { isObject } from '../../base/loose.ts';
import { REPLY_CHARS_MAX } from '../../core/chat.ts';
import type { MessageSource } from './raw.ts';

/** What grows from piece to piece; everything else is replaced by what comes later. */
const GROWING_FIELDS: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/** What an item, and a field of one, count for beside their text, so that a flood of empty ones is bounded too. */
const ITEM_CHARS = 1024;
const FIELD_CHARS = 256;

type Piece = Readonly<Record<string, unknown>>;
type Item = Map<string, string | RawJson>;

/** The items of one type and index. The first may still be without an id, which a later piece can bring. */
type Family = { readonly first: Item; readonly byId: Map<string, Item> };

export class ReasoningDetails {
  readonly #items: Item[] = [];
  /** By type and index. */
  #families: Map<string, Family> | undefined;
  #whole: RawJson | undefined;
  #keptChars = 0;

  /** Characters kept so far. */
  get keptChars(): number {
    return this.#keptChars;
  }

  /** The text of the JSON array; undefined when nothing came. */
  get raw(): RawJson | undefined {
    return this.#items.length > 0 ? new RawJson(renderJson(this.#items)) : this.#whole;
  }

  /** Takes a message's details as they are, or the pieces of them in a delta. */
  take(details: readonly unknown[], source: MessageSource): void {
    if (details.length === 0) return;
    if (source.isWhole) {
      if (details.every(isObject)) this.#whole = source.rawAt('reasoning_details');
      return;
    }
    for (const [at, piece] of details.entries()) {
      if (this.#keptChars > REPLY_CHARS_MAX) return;
      if (isObject(piece)) this.#extend(this.#itemFor(piece), piece, at, source);
    }
  }

  #itemFor({ type, index, id }: Piece): Item {
    const familyName = `${typeof index === 'number' ? index : ''} ${typeof type === 'string' ? type : ''}`;
    this.#families ??= new Map();
    const family = this.#families.get(familyName);
    if (family === undefined) {
      const first = this.#start();
      this.#families.set(familyName, { first, byId: new Map(typeof id === 'string' ? [[id, first]] : []) });
      return first;
    }
    if (typeof id !== 'string') return family.first;
    let item = family.byId.get(id);
    if (item === undefined) {
      item = family.byId.size === 0 ? family.first : this.#start();
      family.byId.set(id, item);
    }
    return item;
  }

  #start(): Item {
    const item: Item = new Map();
    this.#items.push(item);
    this.#keptChars += ITEM_CHARS;
    return item;
  }

  #extend(item: Item, piece: Piece, at: number, source: MessageSource): void {
    for (const [key, value] of Object.entries(piece)) {
      const before = item.get(key);
      if (value === null && before !== undefined) continue;
      const after = valueAfter(before, key, value) ?? source.rawAt('reasoning_details', at, key);
      if (after === undefined) continue;
      item.set(key, after);
      this.#keptChars += before === undefined ? key.length + FIELD_CHARS : -charsOf(before);
      this.#keptChars += charsOf(after);
    }
  }
}

/** A field with what a piece says of it; undefined for what has to be read strictly. */
function valueAfter(before: string | RawJson | undefined, key: string, value: unknown): string | RawJson | undefined {
  if (typeof value === 'string') return GROWING_FIELDS.has(key) && typeof before === 'string' ? before + value : value;
  // The index comes with every piece; reading it strictly would parse each frame twice.
  return key === 'index' && Number.isSafeInteger(value) ? new RawJson(String(value)) : undefined;
}

function charsOf(value: string | RawJson): number {
  return value instanceof RawJson ? value.text.length : value.length;
}
