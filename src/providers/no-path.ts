/** What servers say of a path that they do not have: of themselves, and of no model. Most often a base URL is wrong then. */

/** A page, nothing, or these words (Go, Azure; FastAPI, also as its body). */
const NO_PATH = /^\s*(?:<|$|(?:\{"detail":\s*")?(?:404 page |resource )?(?:not found|method not allowed)(?:"\})?\s*$)/i;

export const BASE_URL_HINT = 'or its base URL is wrong';

/** `words`: the message of a failure that has no code or type, or the body where there is none. */
export function isNoPath(status: number, words: string): boolean {
  return (status === 404 || status === 405) && NO_PATH.test(words);
}
