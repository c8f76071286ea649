/** What JSON of others is bounded by, so that no text of theirs takes seconds, gigabytes or the stack. */

/** Deepest nesting accepted. Recursion of what reads the values follows it, so it also bounds the stack. */
export const JSON_DEPTH_MAX = 100;

/** Most characters of a number: as an integer it has 13,000 bits. One of 16 MB means nothing to anybody. */
export const JSON_NUMBER_CHARS_MAX = 4096;

/**
 * Most values (counting every scalar, object, array and key) accepted in one text of a caller's. A conversation of
 * ten thousand turns has some fifty thousand. What is allowed takes up to 20 ms to parse, and as long
 * again to encode (make bench ONLY=turns); 16 MiB of `[[],[],…` would have six million and take seconds.
 */
export const JSON_VALUES_MAX = 100_000;

/**
 * Most values in one text of a provider's: a reply of 4,000 tokens with 20 alternatives each has 900,000. As many empty arrays
 * take 0.3 s to parse, as many objects with a key of their own 0.9 s; 32 MiB of them would take 10 s and a gigabyte.
 */
export const JSON_REPLIED_VALUES_MAX = 1_000_000;

/** How many more values may be read. Texts that share a budget may hold no more together. */
export type JsonBudget = { readonly valuesMax: number; valuesLeft: number };

/** For one text of a caller's, unless more is said. */
export function createJsonBudget(valuesMax = JSON_VALUES_MAX): JsonBudget {
  return { valuesMax, valuesLeft: valuesMax };
}

/** For texts of a provider's that are parsed, or kept, together. */
export function createReplyBudget(): JsonBudget {
  return createJsonBudget(JSON_REPLIED_VALUES_MAX);
}
