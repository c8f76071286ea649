/**
 * From this size on, in bytes or characters, each step with a body takes a turn of the event loop of its own, for the sake of
 * everybody else. Below it all steps together take a few milliseconds.
 */
export const LARGE = 512 * 1024;

/** Resolves in another turn of the event loop, once whatever else waits has had its own. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
