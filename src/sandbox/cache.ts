/**
 * The prompt caches of the providers: what a prefix was written, is read by the next request that begins with it.
 *
 * A prefix ends with a part of the request: a tool, a text, an image. There is no least length and no time after which it is
 * forgotten, so that a test with a short prompt gets the same figures every time.
 */

import { digest } from './protocol.ts';
import type { CachePlan, Prefix } from './protocol.ts';

/** More than any test needs; the oldest is forgotten. */
const PREFIXES_MAX = 10_000;

export class PromptCache {
  readonly #written = new Set<string>();

  /** Reads as much as there is of a request's prefixes, and writes the rest. */
  serve({ scope, reads, writes }: CachePlan): { readonly readTokens: number; readonly writeTokens: number } {
    const keyOf = ({ key }: Prefix): string => digest(`${scope} ${key}`);
    const most = (prefixes: readonly Prefix[]): number => prefixes.reduce((tokens, prefix) => Math.max(tokens, prefix.tokens), 0);
    const readTokens = most(reads.filter((prefix) => this.#written.has(keyOf(prefix))));
    for (const prefix of writes) this.#written.add(keyOf(prefix));
    for (const oldest of this.#written) {
      if (this.#written.size <= PREFIXES_MAX) break;
      this.#written.delete(oldest);
    }
    return { readTokens, writeTokens: Math.max(0, most(writes) - readTokens) };
  }

  clear(): void {
    this.#written.clear();
  }
}

/** A part of a request, in the order in which it is cached. */
export type Segment = {
  readonly value: unknown;
  readonly tokens: number;
  /** Whether a prefix is marked to end here. */
  readonly isMarked: boolean;
};

/** The prefixes that end with each of the parts. */
export function prefixesOf(segments: readonly Segment[]): (Prefix & { readonly isMarked: boolean })[] {
  let key = '';
  let tokens = 0;
  return segments.map(({ value, tokens: more, isMarked }) => {
    key = digest(key + JSON.stringify(value));
    tokens += more;
    return { key, tokens, isMarked };
  });
}
