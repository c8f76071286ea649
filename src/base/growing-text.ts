/**
 * A text that comes in small pieces, as an answer's tokens do.
 *
 * With `text += piece` V8 keeps each piece, and a node of 32 bytes for it, until somebody reads the text, which is at the answer's
 * end: many times what the characters take.
 */

/** Joined at once. */
const PIECES_MAX = 64;

// hot: per token
export class GrowingText {
  #joined: string;
  readonly #pieces: string[] = [];
  #length: number;

  constructor(text = '') {
    this.#joined = text;
    this.#length = text.length;
  }

  get length(): number {
    return this.#length;
  }

  add(piece: string): void {
    this.#length += piece.length;
    if (this.#pieces.push(piece) === PIECES_MAX) this.#join();
  }

  /** All that was added. */
  get text(): string {
    this.#join();
    return this.#joined;
  }

  #join(): void {
    this.#joined += this.#pieces.join('');
    this.#pieces.length = 0;
  }
}
