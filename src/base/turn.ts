/** Resolves in another turn of the event loop, once whatever else waits has had its own. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
