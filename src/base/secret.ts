/**
 * A value that must not be shown: printing, inspecting or serialising it gives `[set]`.
 *
 * Only `reveal` returns it, so every use can be found by searching for that word.
 */

import { timingSafeEqual } from 'node:crypto';

export class Secret {
  readonly #value: string;
  readonly #padded: Buffer;

  constructor(value: string) {
    this.#value = value;
    this.#padded = padded(value);
  }

  /** The value itself, for the one header it belongs in. */
  reveal(): string {
    return this.#value;
  }

  /**
   * Whether `given` is the `padded` form of the same text. Takes the same time wherever the two differ; all that shows of their
   * lengths is how many blocks they fill.
   */
  equalsPadded(given: Buffer): boolean {
    return given.length === this.#padded.length && timingSafeEqual(this.#padded, given);
  }

  toString(): string {
    return '[set]';
  }

  toJSON(): string {
    return '[set]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[set]';
  }
}

/** Most tokens are shorter, so that their length does not show at all. */
const BLOCK_BYTES = 128;

/** The form in which secrets are compared: filled up to whole blocks with a byte that UTF-8 never has, which costs less than digests. */
export function padded(text: string): Buffer {
  const bytes = Buffer.allocUnsafe(Math.ceil((Buffer.byteLength(text) + 1) / BLOCK_BYTES) * BLOCK_BYTES).fill(0xff);
  bytes.write(text);
  return bytes;
}
