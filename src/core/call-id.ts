/** Identifiers of tool calls: made where a provider gives none, mapped where the next one would refuse them. */

import { createHash, randomBytes } from 'node:crypto';

const MADE_PREFIX = 'gwcall_';

/** A fresh id, for a call whose provider gave none. Unique in any conversation; 96 random bits. */
export function makeCallId(): string {
  return MADE_PREFIX + randomBytes(12).toString('hex');
}

/** True for an id that `makeCallId` made, which the provider has never seen. */
export function isMadeCallId(id: string): boolean {
  return /^gwcall_[0-9a-f]{24}$/.test(id);
}

/**
 * The id in a form that matches `accepted`: itself where it does, else the first `length` characters of the hex
 * SHA-256 of it. Deterministic, so a call and its result, and every later request, agree.
 */
export function mappedCallId(id: string, accepted: RegExp, length: number): string {
  return accepted.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, length);
}
