/**
 * What a request asks to be kept in a cache by Anthropic's marks (prompt caching), which agents also write into Chat Completions.
 *
 * A chat can only ask for all of the conversation. So does a mark on the request, and one on the last block of the last user
 * message, or of a message behind it, where agents set it each round. A mark elsewhere asks for less and is left out: to
 * write all of a prompt that is asked once costs more than to write nothing.
 */

import type { Fields } from '../base/fields.ts';
import { JsonObject } from '../base/json/value.ts';
import type { CacheHint } from '../core/chat.ts';

/** What the `cache_control` of a request, or of the block or message at its end, asks for. One that asks for nothing stays unread. */
export function cacheHint(marked: Fields | undefined): CacheHint | undefined {
  if (marked?.has('cache_control') !== true) return undefined;
  const mark = marked.unread().find(([name]) => name === 'cache_control')?.[1];
  if (!(mark instanceof JsonObject) || mark.entries.get('type') !== 'ephemeral') return undefined;
  marked.any('cache_control');
  return { key: undefined, ttl: mark.entries.get('ttl') === '1h' ? 'long' : undefined };
}
