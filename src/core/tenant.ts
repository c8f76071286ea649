/**
 * What a request says about whom it is for, as it may leave: providers tell users apart, and share cached beginnings
 * under a key, within the one account that all callers use. With the caller's label in the digest, nobody meets what
 * another caller's users left there. Whoever can guess an id can still compute its digest.
 */

import { createHash } from 'node:crypto';
import type { ChatRequest } from './chat.ts';

/** The request of the caller with this label, with `user` and the cache's key hashed. */
// hot: per request
export function tenantRequest(request: ChatRequest, label: string): ChatRequest {
  const { user, cache } = request;
  if (user === undefined && cache?.key === undefined) return request;
  return {
    ...request,
    user: user === undefined ? undefined : hashedName('user', label, user),
    cache: cache?.key === undefined ? cache : { ...cache, key: hashedName('cache', label, cache.key) },
  };
}

/**
 * The name under which a provider gets to know one caller's end user or cache: SHA-256, in hex, of a JSON text that no two
 * of them share.
 */
export function hashedName(kind: 'user' | 'cache', caller: string, name: string): string {
  return createHash('sha256').update(JSON.stringify([kind, caller, name])).digest('hex');
}
