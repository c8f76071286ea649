/**
 * One socket to a provider, and the responses that come on it: one request at a time, each written in one piece.
 *
 * Who has a request on it reads what has come from its parser. Between requests it waits in its pool, and must stay silent.
 */

import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { ResponseParser } from '../base/http-response.ts';
import { RESPONSE_HEAD_BYTES_MAX } from './transport-failure.ts';

/** Whoever has a request on the connection. */
export interface ConnectionUser {
  /** Bytes came: the parser has more to tell. False = no more are to be read, until `resume`. */
  onBytes(): boolean;
  /** Nothing more will come. What the parser holds may still be read. Undefined = the other end closed the connection, as it may. */
  onClosed(error: Error | undefined): void;
}

/** Where a connection goes between two requests. */
export interface ConnectionHome {
  /** It is free. False = it is not wanted, and is closed. */
  keep(connection: WireConnection): boolean;
  /** It closed while it was free. */
  lose(connection: WireConnection): void;
}

/** Why a connection is of no use any more, with a code as the platform has them. */
export class ConnectionError extends Error {
  readonly code: string;

  constructor(code: string) {
    super('the connection is of no use any more');
    this.code = code;
  }
}

// hot: per request
export class WireConnection {
  readonly socket: Socket;
  readonly parser = new ResponseParser(RESPONSE_HEAD_BYTES_MAX);
  /** On the clock of `performance.now()`: from then on it may be closed by the other end. */
  idleUntilMs = 0;
  /** On the same clock. */
  readonly openedAtMs = performance.now();
  /** Whether it has carried a request before. */
  isReused = false;
  /** Whether anything came since the last request was written. */
  hasAnswered = false;
  /** Whether another request may follow, as far as this side wants it. */
  readonly #isKept: boolean;
  readonly #home: ConnectionHome;
  #user: ConnectionUser | undefined;
  #error: Error | undefined;
  #isHeld = false;
  #isClosed = false;

  constructor(socket: Socket, isKept: boolean, home: ConnectionHome) {
    this.socket = socket;
    this.#isKept = isKept;
    this.#home = home;
    socket.on('error', (error) => (this.#error = error));
    // TLS that broke is told first, and then an end like any other.
    socket.on('end', () => this.#close(this.#error));
    socket.on('close', () => this.#close(this.#error ?? new ConnectionError('ECONNRESET')));
  }

  /** Writes a whole request. `bodyBytes` is the length of the body in UTF-8; the head is Latin-1. */
  send(head: string, body: string | Buffer, bodyBytes: number, user: ConnectionUser): void {
    const { socket } = this;
    this.#user = user;
    this.hasAnswered = false;
    this.parser.restart();
    if (typeof body === 'string' && bodyBytes === body.length) {
      socket.write(head + body, 'latin1');
      return;
    }
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
  }

  /** In the middle of an exchange somebody else takes over. */
  passTo(user: ConnectionUser): void {
    this.#user = user;
  }

  /** The user that had enough takes more again. */
  resume(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.socket.resume();
  }

  /** The response is over. The connection is kept only where nothing of this exchange can be taken for a part of the next. */
  release(): void {
    const { socket, parser } = this;
    this.#user = undefined;
    const isClean = parser.restLength === 0 && socket.readableLength === 0 && socket.writableLength === 0;
    if (!this.#isKept || !parser.head.isKept || !isClean) {
      socket.destroy();
    } else if (this.#isHeld) {
      // Whatever came while nothing was read comes now, in the turn between these two, before there is a next request.
      this.resume();
      setImmediate(() => setImmediate(() => this.#goHome()));
    } else {
      this.#goHome();
    }
  }

  #goHome(): void {
    const { socket } = this;
    if (this.#isClosed || socket.destroyed || !this.#home.keep(this)) socket.destroy();
    else this.isReused = true;
  }

  /** Ends the exchange with the connection. */
  destroy(): void {
    this.#user = undefined;
    this.socket.destroy();
  }

  /** Bytes came. Their memory is free again when this returns. */
  // hot: per token
  read(bytes: Buffer): void {
    const user = this.#user;
    // Nobody asked: what comes now would be taken for the answer to the next request.
    if (user === undefined) return void this.socket.destroy();
    this.hasAnswered = true;
    this.parser.feed(bytes);
    const isContinued = user.onBytes();
    this.parser.keepInput();
    if (isContinued || this.#isHeld) return;
    this.#isHeld = true;
    this.socket.pause();
  }

  #close(error: Error | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    takeRest(this.socket, this.parser);
    const user = this.#user;
    this.#user = undefined;
    if (user === undefined) this.#home.lose(this);
    else user.onClosed(error);
    this.socket.destroy();
  }
}

/** What the stream had read and nobody was given. */
function takeRest(stream: Duplex, parser: ResponseParser): void {
  for (let rest = stream.read() as Buffer | null; rest !== null; rest = stream.read() as Buffer | null) parser.feed(rest);
}
