/** How many connections of callers the process has descriptors for. */

/** The process's own, and some to spare: log, event loop, listener, files, name lookups. */
const RESERVED = 48;

/**
 * Half of the descriptors that are not reserved, since a chat needs one for its caller and one for its provider. Undefined
 * where the limit cannot be read (there is no /proc), or there is none.
 */
export function connectionsMaxFrom(readFile: (path: string) => string): number | undefined {
  const limit = descriptorLimitFrom(readFile);
  return limit === undefined ? undefined : Math.max(1, Math.floor((limit - RESERVED) / 2));
}

/** Node raises the soft limit to the hard one as it starts, so that this is what it has. */
function descriptorLimitFrom(readFile: (path: string) => string): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+) /m.exec(readFile('/proc/self/limits')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
