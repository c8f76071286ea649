/** Sizes in bytes as people write them in settings: `65536`, `512KiB`, `16MiB`. */

const UNIT_BYTES: ReadonlyMap<string, number> = new Map([
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
]);

/** Bytes of `65536`, `512KiB`, `16MiB` or `1GiB`. Undefined for anything else and beyond 2^53-1. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+)(KiB|MiB|GiB|)$/.exec(text);
  if (match === null) return undefined;
  const bytes = Number(match[1]) * (UNIT_BYTES.get(match[2] ?? '') ?? 1);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The size in the largest unit that gives a whole number; `parseSize` reads it back. */
export function renderSize(bytes: number): string {
  for (const [unit, unitBytes] of UNIT_BYTES) {
    if (bytes >= unitBytes && bytes % unitBytes === 0) return `${bytes / unitBytes}${unit}`;
  }
  return String(bytes);
}
