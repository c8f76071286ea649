/**
 * A value that must not be shown: printing, inspecting or serialising it gives `[set]`.
 *
 * Only `reveal` returns it, so every use can be found by searching for that word.
 */

import * as crypto from 'node:crypto';

export class Secret {
  readonly #value: string;
  readonly #digest: Buffer;

  constructor(value: string) {
    this.#value = value;
    this.#digest = sha256(value);
  }

  /** The value itself, for the one header it belongs in. */
  reveal(): string {
    return this.#value;
  }

  /** Compares in a time that depends on neither value, nor on how much of them agrees. */
  equalsDigest(digest: Buffer): boolean {
    return crypto.timingSafeEqual(this.#digest, digest);
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

/** From Node 20.12 on: two thirds of what a Hash object costs. */
const hash: typeof crypto.hash | undefined = crypto.hash;

/** The digest by which secrets are compared: equal length whatever was given. */
export function sha256(content: string | Buffer): Buffer {
  return hash === undefined ? crypto.createHash('sha256').update(content).digest() : hash('sha256', content, 'buffer');
}
