/**
 * Lets others have their turn while a socket brings its bytes in very many pieces.
 *
 * The event loop reads up to 2 MiB from a socket in one turn. In chunks of one byte that is 350,000 events, and
 * a second in which nobody else is served.
 */

import type { Socket } from 'node:net';

/** As many pieces as take about a millisecond. A usual body has fewer, and a usual stream pays a setImmediate for so many. */
export const PIECES_PER_TURN = 256;

/**
 * The pieces that one of so many bytes counts as: a large one may hold very many lines of a stream. 2 MiB of events take up to
 * 0.3 s, and a turn then a sixth of 2 MiB at most.
 */
export function piecesIn(bytes: number): number {
  return 1 + (bytes >>> 10);
}

/** What is needed of a socket. */
export type Pausable = Pick<Socket, 'pause' | 'resume' | 'on' | 'off'>;

// hot: per token
export class Pacer {
  readonly #socket: Pausable;
  #piecesLeft = PIECES_PER_TURN;
  #isResting = false;

  /** The socket rests rather than the message on it: what was read already still comes, and need not be stored piece by piece. */
  constructor(socket: Pausable) {
    this.#socket = socket;
  }

  /** Counts a piece of so many bytes. Once there were enough the socket rests until others had their turn. */
  count(bytes: number): void {
    this.#piecesLeft -= piecesIn(bytes);
    if (this.#piecesLeft > 0 || this.#isResting) return;
    this.#isResting = true;
    const socket = this.#socket;
    const rest = (): void => void socket.pause();
    rest();
    // A message that has nothing stored makes its socket go on.
    socket.on('resume', rest);
    setImmediate(() => {
      socket.off('resume', rest);
      this.#piecesLeft = PIECES_PER_TURN;
      this.#isResting = false;
      socket.resume();
    });
  }
}
