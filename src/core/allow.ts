/**
 * Whether a caller may ask for what a name stands for.
 *
 * A route's name has no slash and `provider/model` always has one, so one list of texts tells both apart.
 */

/** What allows everything. */
export const ALLOW_ALL = '*';

/**
 * `name` is a route's, or `provider/model` with the model that is asked for in the end, however the request came to name it.
 * An entry is either of these; with a trailing `*` it is the beginning of names of its kind. Undefined = everything.
 */
// hot: per request
export function matchesAllow(allow: readonly string[] | undefined, name: string): boolean {
  if (allow === undefined) return true;
  for (const entry of allow) if (matches(entry, name)) return true;
  return false;
}

function matches(entry: string, name: string): boolean {
  if (entry === ALLOW_ALL) return true;
  if (!entry.endsWith('*')) return entry === name;
  // `open*` is routes and never a whole provider: whoever means `openai/*` writes that.
  return entry.includes('/') === name.includes('/') && name.startsWith(entry.slice(0, -1));
}
