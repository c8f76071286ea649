/** Names of tools that every provider takes: some formats have longer ones than OpenAI, Gemini and many hosts do. */

import type { Fields } from '../base/fields.ts';
import { sha256 } from '../base/sha256.ts';

export const NAME_CHARS_MAX = 64;

const DIGEST_CHARS = 8;

/** The name itself, or cut where it is too long: the same in every request. */
export function fittingName(name: string, identity: string): string {
  return name.length <= NAME_CHARS_MAX ? name : cutName(name, identity);
}

/** The name, cut to leave room for a digest of all of `identity`, which tells it apart from others that begin alike. */
export function cutName(name: string, identity: string): string {
  const digest = sha256(identity).slice(0, DIGEST_CHARS);
  return `${name.slice(0, NAME_CHARS_MAX - DIGEST_CHARS - 1)}_${digest}`;
}

/** A tool's name, which no tool before it has: most providers refuse two, and a call would be of either. It is added to `names`. */
export function ownName(name: string, tool: Fields, names: Set<string>): string {
  if (names.has(name)) throw tool.problem('name', 'another tool has this name');
  names.add(name);
  return name;
}
