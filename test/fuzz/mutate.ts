/** Damage for texts and JSON values: small, seeded, and of the kinds that break parsers. */

import type { Random } from '../base/random.ts';

const TOKENS = [
  '', ' ', '\0', '\n', '\r', '\r\n', '\n\n', '"', '\\', '\\u', '\\ud800', '{', '}', '[', ']', ',', ':', 'null', 'true', '-', '0', '00', '1e', '1e999', '-0',
  '\uFEFF', '\u2028', '😀', '\ud83d', 'data: ', 'data: [DONE]\n\n', 'event: error\n', ': x\n', '__proto__', '"error":', '{"error":{}}',
];

const SCALARS: readonly unknown[] = [
  null, true, false, 0, -0, -1, 1.5, 1e21, 2 ** 53, 4294967296, '', ' ', '\0', 'x', '__proto__', 'constructor', 'toString', '😀', '\ud800', '{}', '{"a":',
  '[1', 'null', '1', 'tool_use', 'end_turn', 'error', 'stop', 'STOP', 'text', 'x'.repeat(2000),
];

/** One to four edits: a piece taken out, doubled, cut off, put in or moved. */
export function mutateText(random: Random, text: string): string {
  let mutated = text;
  for (let edits = 1 + random.below(4); edits > 0; edits -= 1) {
    const at = random.below(mutated.length + 1);
    const end = Math.min(mutated.length, at + 1 + random.below(random.below(8) === 0 ? 200 : 8));
    const piece = mutated.slice(at, end);
    switch (random.below(6)) {
      case 0:
        mutated = mutated.slice(0, at) + mutated.slice(end);
        break;
      case 1:
        mutated = mutated.slice(0, end) + piece + mutated.slice(end);
        break;
      case 2:
        mutated = mutated.slice(0, at) + random.pick(TOKENS) + mutated.slice(end);
        break;
      case 3: {
        const elsewhere = random.below(mutated.length + 1);
        mutated = mutated.slice(0, elsewhere) + piece + mutated.slice(elsewhere);
        break;
      }
      case 4:
        if (random.below(4) === 0) mutated = mutated.slice(0, at);
        break;
      default:
        mutated = mutated.slice(0, at) + random.pick(TOKENS) + mutated.slice(at);
    }
  }
  return mutated;
}

/** A JSON value of a few levels. */
export function randomJson(random: Random, depth = 3): unknown {
  const kind = depth === 0 ? 0 : random.below(4);
  if (kind === 1) return Array.from({ length: random.below(4) }, () => randomJson(random, depth - 1));
  if (kind === 2) {
    return Object.fromEntries(Array.from({ length: random.below(4) }, () => [String(random.pick(SCALARS)), randomJson(random, depth - 1)]));
  }
  return random.pick(SCALARS);
}

/** A copy of a JSON value with one or two of its inner values replaced, removed, doubled or swapped. */
export function mutateJson(random: Random, value: unknown): unknown {
  const copy = structuredClone(value);
  for (let edits = 1 + random.below(2); edits > 0; edits -= 1) {
    const places = placesIn(copy);
    if (places.length === 0) return randomJson(random);
    const { container, key } = random.pick(places);
    const other = random.pick(places);
    switch (random.below(5)) {
      case 0:
        if (Array.isArray(container)) container.splice(Number(key), 1);
        else delete container[key];
        break;
      case 1:
        if (Array.isArray(container)) container.push(structuredClone(container[Number(key)]));
        else container[random.pick(['type', 'id', 'index', 'x', 'error', 'content'])] = structuredClone(container[key]);
        break;
      case 2:
        container[key] = structuredClone(other.container[other.key]);
        break;
      default:
        container[key] = randomJson(random, random.below(3));
    }
  }
  return copy;
}

type Container = Record<string, unknown>;

/** Every place of a value that can be changed. Arrays are taken for objects with numbers for keys. */
function placesIn(value: unknown): { readonly container: Container; readonly key: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const container = value as Container;
  return Object.keys(container).flatMap((key) => [{ container, key }, ...placesIn(container[key])]);
}
