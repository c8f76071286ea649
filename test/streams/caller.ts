/**
 * A caller made of a bare socket: it sees every write of the gateway as one HTTP chunk, stops reading when a test says so,
 * and hangs up in each of the ways there are.
 */

import net from 'node:net';
import { framesOf, TOKEN } from '../running-gateway.ts';
import type { Frame } from '../running-gateway.ts';

/** `end` half-closes, `destroy` closes, `reset` closes with a reset. */
export type HangUp = 'end' | 'destroy' | 'reset';
export const HANG_UPS: readonly HangUp[] = ['end', 'destroy', 'reset'];

/** The end of a chunk and the last chunk. */
const END = '\r\n0\r\n\r\n';

export class Caller {
  readonly socket: net.Socket;
  #chunks: Buffer[] = [];
  #tail = '';
  receivedBytes = 0;
  #isClosed = false;
  readonly #waiting: (() => void)[] = [];

  /** `t` is a test, or whatever else says when it is over. */
  constructor(t: { after(end: () => void): void }, url: string) {
    this.socket = net.connect(Number(new URL(url).port), '127.0.0.1');
    this.socket.on('data', (bytes: Buffer) => {
      this.#chunks.push(bytes);
      this.#tail = (this.#tail + bytes.toString('latin1', Math.max(0, bytes.length - END.length))).slice(-END.length);
      this.receivedBytes += bytes.length;
      this.#wake();
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
    t.after(() => this.socket.destroy());
  }

  /** Asks for a stream. `sentBytes` = how much of the body is sent; by default all of it. */
  ask(body: object, sentBytes = Infinity): this {
    const text = JSON.stringify(body);
    this.socket.write(
      `POST /v1/chat/stream HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n`
        + text.slice(0, sentBytes),
    );
    return this;
  }

  get #received(): Buffer {
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  /** The status; undefined before the head is in. */
  get status(): number | undefined {
    const status = /^HTTP\/1\.1 (\d{3}) [^]*?\r\n\r\n/.exec(this.#received.toString('latin1'))?.[1];
    return status === undefined ? undefined : Number(status);
  }

  /** The chunks so far: one for each write of the gateway. */
  get writes(): readonly string[] {
    const received = this.#received;
    const writes: string[] = [];
    let at = received.indexOf('\r\n\r\n') + 4;
    for (;;) {
      const lineEnd = received.indexOf('\r\n', at);
      if (at < 4 || lineEnd === -1) return writes;
      const length = parseInt(received.toString('latin1', at, lineEnd), 16);
      if (!(length > 0) || received.length < lineEnd + 4 + length) return writes;
      writes.push(received.toString('utf8', lineEnd + 2, lineEnd + 2 + length));
      at = lineEnd + 4 + length;
    }
  }

  get frames(): readonly Frame[] {
    return framesOf(this.writes.join(''));
  }

  get comments(): number {
    return this.writes.join('').split(': keep-alive\n\n').length - 1;
  }

  /** True once the gateway has sent the last, empty chunk. */
  get isWhole(): boolean {
    return this.#tail === END;
  }

  /** Resolves when the condition holds; throws when the connection closes before. */
  async until(condition: (caller: this) => boolean): Promise<void> {
    while (!condition(this)) {
      if (this.#isClosed) throw new Error(`closed after: ${this.#received.toString()}`);
      await new Promise<void>((wake) => this.#waiting.push(wake));
    }
  }

  /** Resolves when the connection is closed. */
  async closed(): Promise<void> {
    while (!this.#isClosed) await new Promise<void>((wake) => this.#waiting.push(wake));
  }

  hangUp(way: HangUp): void {
    if (way === 'end') this.socket.end();
    else if (way === 'destroy') this.socket.destroy();
    else this.socket.resetAndDestroy();
  }

  #wake(): void {
    this.#waiting.splice(0).forEach((wake) => wake());
  }
}
