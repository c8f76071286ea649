/** How OpenAI's models are told how long a cached beginning is wanted (OpenAI, prompt caching). They cache by themselves. */

import type { JsonOutObject } from '../../base/json/value.ts';
import type { CacheHint } from '../../core/chat.ts';
import { cacheLife } from './model-rules.ts';

/** The payload fields for the wish to keep it for long; `longest` is the most that the API takes of newer models. */
export function encodeCacheLife(model: string, cache: CacheHint | undefined, longest: '30m' | '12h'): JsonOutObject {
  if (cache?.ttl !== 'long') return {};
  const life = cacheLife(model);
  return {
    prompt_cache_options: life === 'options' ? { ttl: longest } : undefined,
    prompt_cache_retention: life === 'retention' ? '24h' : undefined,
  };
}
