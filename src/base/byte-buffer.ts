/**
 * Bytes that come in pieces, as one growing buffer.
 *
 * A list of the pieces would cost some 370 bytes of memory for each, however small: what a sender cuts into single
 * bytes takes hundreds of times its size. Here it takes at most three times, while a full buffer is copied into its double.
 */

const NOTHING: Buffer = Buffer.alloc(0);

/** A length that the sender announced is believed up to here. */
const START_BYTES_MAX = 64 * 1024;

/** Holds at most `bytesMax`. */
// hot: per token
export class ByteBuffer {
  readonly #bytesMax: number;
  #bytes: Buffer = NOTHING;
  #length = 0;

  /** `expectedBytes` is how many will come, where somebody said so. */
  constructor(bytesMax: number, expectedBytes = 0) {
    this.#bytesMax = bytesMax;
    // Not the sender's to choose: a negative or broken number counts as none.
    if (expectedBytes > 0) this.#bytes = Buffer.allocUnsafe(Math.min(expectedBytes, bytesMax, START_BYTES_MAX));
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a copy of the piece from `from` up to `end`. False, adding nothing, when it has no room. */
  append(piece: Buffer, from = 0, end = piece.length): boolean {
    const length = this.#length + end - from;
    if (length > this.#bytesMax) return false;
    if (length > this.#bytes.length) this.#grow(length);
    piece.copy(this.#bytes, this.#length, from, end);
    this.#length = length;
    return true;
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafe(Math.min(Math.max(bytes, 2 * this.#bytes.length), this.#bytesMax));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  /** What was added: not a copy, so good until the next call of another method. */
  get bytes(): Buffer {
    return this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
  }

  /** Forgets what was added. Memory beyond `keptBytesMax` is given back. */
  clear(keptBytesMax = 0): void {
    this.#length = 0;
    if (this.#bytes.length > keptBytesMax) this.#bytes = NOTHING;
  }
}
