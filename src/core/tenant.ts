/**
 * What a request says about whom it is for, as it may leave: providers tell users apart, and share cached beginnings
 * under a key, within the one account that all callers use. With the caller's label in the digest, nobody meets what
 * another caller's users left there. Whoever can guess an id can still compute its digest.
 */

import { sha256 } from '../base/sha256.ts';
import type { ChatRequest } from './chat.ts';
import { Failure } from './failure.ts';

/** Far more than any provider takes. The digest of 16 MiB would take 100 ms at once. */
const NAME_CHARS_MAX = 64 * 1024;

/** The request of the caller with this label, with `user` and the cache's key hashed. Failure: bad_request. */
// hot: per request
export function tenantRequest(request: ChatRequest, label: string): ChatRequest | Failure {
  const { user, cache } = request;
  if (user === undefined && cache?.key === undefined) return request;
  const hashedUser = user === undefined ? undefined : hashedName('user', label, user, 'user');
  if (hashedUser instanceof Failure) return hashedUser;
  const key = cache?.key === undefined ? undefined : hashedName('cache', label, cache.key, 'cache.key');
  if (key instanceof Failure) return key;
  return { ...request, user: hashedUser, cache: cache && { ...cache, key } };
}

/**
 * The name under which a provider gets to know one caller's end user or cache: SHA-256, in hex, of a JSON text that no two
 * of them share. Failure: bad_request, which names the place of one that is too long.
 */
export function hashedName(kind: 'user' | 'cache', caller: string, name: string, place: string): string | Failure {
  if (name.length > NAME_CHARS_MAX) return new Failure('bad_request', `${place}: must not be longer than ${NAME_CHARS_MAX} characters`);
  return sha256(JSON.stringify([kind, caller, name]));
}
