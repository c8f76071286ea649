/**
 * One connection of a caller: what it asks is served one at a time, in the order in which it came.
 *
 * node:http hands over every request of a pipeline as soon as it was read. What is behind the one being served waits here
 * for its turn, and so does what is no request at all and ends the connection.
 */

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { HttpExchange } from './http-exchange.ts';

/**
 * While fewer wait the connection is read on, so that a hang-up is noticed. With more it is not read until all of them had
 * their turn; what can wait is then bounded by this and by two reads of 64 KiB.
 */
const WAITING_MAX = 32;

/**
 * With more the connection is closed: as many take 1.5 MB, and there can be thousands of connections. A read, or the second
 * one before the pause takes effect, holds so many only where they are shorter than any chat.
 */
const PIPELINE_MAX = 1024;

type Turn = {
  /** Undefined for what is no request. */
  readonly request: IncomingMessage | undefined;
  /** Resolves when the next may be served. */
  readonly serve: () => Promise<void>;
};

export class Connection {
  /** The exchange whose turn it is. */
  exchange: HttpExchange | undefined;
  readonly #socket: Duplex;
  readonly #waiting: Turn[] = [];
  /** The request that was served last, where it was answered before all of it had come. */
  #halfRead: IncomingMessage | undefined;
  #isServing = false;
  #isBroken = false;
  #isHeld = false;
  readonly #pauseAgain = (): void => void this.#socket.pause();

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** Serves a request at once, or when everything before it is over. It is dropped when the connection ends first. */
  // hot: per request
  take(request: IncomingMessage, serve: () => Promise<void>): void {
    // The parser goes on after the end, to the end of what was read. An answer to something behind a request that was
    // dropped would be one out of order, by which node:http ends the process.
    if (this.#socket.writable) this.#add({ request, serve });
  }

  /**
   * Ends the connection with what `refuse` says, when everything before it is over. A request that waits and is only half
   * there is what broke, and never gets its turn. Only the first call counts: whatever follows is broken as well.
   */
  break(refuse: () => void): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    // The rest of a request that was answered without it: who was refused need not send it.
    if (!this.#isServing && this.#halfRead?.complete === false) {
      this.#socket.destroy();
      return;
    }
    if (this.#waiting.at(-1)?.request?.complete === false) this.#waiting.pop();
    if (this.#isServing) this.#watchHangUp();
    this.#add({ request: undefined, serve: async () => refuse() });
  }

  /** Behind what broke node:http hears no hang-up any more. What comes until then is read and dropped. */
  #watchHangUp(): void {
    const socket = this.#socket;
    if (socket.readableEnded) socket.destroy();
    else socket.on('end', () => socket.destroy()).resume();
  }

  /** Closes it unless something is being served. */
  closeIfIdle(): void {
    if (!this.#isServing) this.#socket.destroy();
  }

  #add(turn: Turn): void {
    if (!this.#isServing) return this.#serve(turn);
    this.#waiting.push(turn);
    if (this.#waiting.length > PIPELINE_MAX) this.#socket.destroy();
    else if (this.#waiting.length > WAITING_MAX) this.#hold();
  }

  #serve({ request, serve }: Turn): void {
    this.#isServing = true;
    void serve().then(() => {
      this.exchange = undefined;
      this.#halfRead = request?.complete === false ? request : undefined;
      const next = this.#next();
      if (next === undefined) this.#isServing = false;
      else this.#serve(next);
    });
  }

  #next(): Turn | undefined {
    // The last answer was the connection's last, or the caller is gone.
    if (!this.#socket.writable) this.#waiting.length = 0;
    const turn = this.#waiting.shift();
    if (this.#waiting.length === 0 && this.#isHeld) this.#release();
    return turn;
  }

  #hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#socket.pause();
    // At the end of each request node:http asks for the next one, which takes effect a tick later.
    this.#socket.on('resume', this.#pauseAgain);
  }

  #release(): void {
    this.#isHeld = false;
    this.#socket.off('resume', this.#pauseAgain);
    this.#socket.resume();
  }
}
