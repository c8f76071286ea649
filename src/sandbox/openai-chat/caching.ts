/**
 * What a request to OpenAI says of its prompt cache, and of who asks; for both of its protocols.
 *
 * Without any of it, what the last request of a conversation brought counts as cached, as on a quiet day.
 * Source: OpenAI, prompt caching (keys, options, breakpoints, retention); safety identifiers; metadata.
 */

import { field, isObject, stringField } from '../../base/loose.ts';
import { prefixesOf } from '../cache.ts';
import type { Segment } from '../cache.ts';
import type { CachePlan, Complaint } from '../protocol.ts';
import { first, mapOf, nullable, object, oneOf, string } from '../shape.ts';
import { invalid } from './complaint.ts';

/** A mark on a part of a message. */
export const BREAKPOINT = { prompt_cache_breakpoint: nullable(object({ mode: oneOf('explicit') })) };
export const CACHE_FIELDS = {
  prompt_cache_key: nullable(string),
  // The shorter one is refused by the newest models.
  prompt_cache_retention: nullable(oneOf('24h')),
};
const MODE = { mode: oneOf('implicit', 'explicit') };
export const CHAT_CACHE_OPTIONS = nullable(object({}, { ...MODE, ttl: oneOf('30m') }));
export const RESPONSES_CACHE_OPTIONS = nullable(object({}, { ...MODE, ttl: oneOf('30m', '12h') }));
export const CALLER_FIELDS = { user: nullable(string), safety_identifier: nullable(string), metadata: nullable(mapOf(string)) };

const LENGTHS_MAX: Readonly<Record<string, number>> = { prompt_cache_key: 64, safety_identifier: 128 };
const METADATA_MAX = { keys: 16, keyChars: 64, valueChars: 512 };

/** Texts that are longer than the provider keeps. */
export function checkLengths(body: unknown): Complaint | undefined {
  const metadata = field(body, 'metadata');
  const pairs = isObject(metadata) ? Object.keys(metadata).map((key) => ({ key, value: String(metadata[key]) })) : [];
  if (pairs.length > METADATA_MAX.keys) {
    return invalid(`Invalid 'metadata': too many properties. Expected an object with at most ${METADATA_MAX.keys} properties, but got an object with ${pairs.length} properties instead.`, 'metadata', 'object_above_max_properties');
  }
  return first(Object.keys(LENGTHS_MAX), (name) => tooLong(name, stringField(body, name), LENGTHS_MAX[name] ?? Infinity))
    ?? first(pairs, ({ key, value }) => tooLong('metadata', key, METADATA_MAX.keyChars) ?? tooLong(`metadata.${key}`, value, METADATA_MAX.valueChars));
}

/** What is wrong with a text of more characters than there may be. */
export function tooLong(place: string, text: string | undefined, charsMax: number): Complaint | undefined {
  if (text === undefined || text.length <= charsMax) return undefined;
  return invalid(`Invalid '${place}': string too long. Expected a string with maximum length ${charsMax}, but got a string with length ${text.length} instead.`, place, 'string_above_max_length');
}

/** Marked segments and, unless only marks are to count, the end of the request. Undefined where nothing is said. */
export function cachePlan(body: unknown, segments: readonly Segment[]): CachePlan | undefined {
  const key = stringField(body, 'prompt_cache_key');
  const options = field(body, 'prompt_cache_options') ?? undefined;
  const prefixes = prefixesOf(segments);
  const marked = prefixes.filter(({ isMarked }) => isMarked);
  if (key === undefined && options === undefined && marked.length === 0) return undefined;
  const isImplicit = stringField(options, 'mode') !== 'explicit';
  return {
    scope: JSON.stringify(['openai', stringField(body, 'model'), key ?? null]),
    reads: isImplicit || marked.length > 0 ? prefixes : [],
    writes: [...marked, ...(isImplicit ? prefixes.slice(-1) : [])],
  };
}

/** Whether a message has a mark on one of its parts. */
export function isMarked(parts: readonly unknown[]): boolean {
  return parts.some((part) => isObject(field(part, 'prompt_cache_breakpoint')));
}
