/** Maps that are bounded: the oldest entry makes room. */

/** Sets an entry; where there are then more than `sizeMax`, the one that was added first is forgotten. */
export function keep<T>(map: Map<string, T>, key: string, value: T, sizeMax: number): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > sizeMax && oldest !== undefined) map.delete(oldest);
}
