/** What error sentences and tables show of values that the operator wrote: no key that was pasted into the wrong place, and no long text. */

import { bounded, createRedactor } from '../base/redact.ts';
import type { Secret } from '../base/secret.ts';

/** Shown of a value that does not parse. */
const QUOTED_CHARS_MAX = 60;

/** Masks what looks like a provider's key, in case one was pasted into the wrong place. */
export const maskKeys = createRedactor([]);

/** Enough of a secret to know it by. What is shorter may be a word of any sentence. */
const TELLING_CHARS = 16;

/** What a secret goes on with: up to a space, a quote that ends it or the end, and what the sentence has before these. */
const REST = '(?:\\\\[\\\\"]|[^\\s"])*?(?=[:;,)]*(?:[\\s"]|$))';

/** Masks these secrets where they stand in a sentence, whole or cut, in case one was written in the place of a name. */
export function createMask(secrets: readonly Secret[]): (text: string) => string {
  // Regions of a cloud have the same.
  const heads = new Set(secrets.map((secret) => secret.reveal()).filter((value) => value.length >= TELLING_CHARS).map((value) => value.slice(0, TELLING_CHARS)));
  if (heads.size === 0) return (text) => text;
  const pattern = new RegExp(`(?:${[...heads].map((head) => head.replace(/[^\w]/g, '\\\\?\\$&')).join('|')})${REST}`, 'g');
  return (text) => text.replace(pattern, '[key]');
}

/** A value for a sentence: in quotes, so that stray ones and spaces show, on one line, not endless. */
export function quoted(text: string): string {
  return JSON.stringify(bounded(maskKeys(text), QUOTED_CHARS_MAX));
}
