/**
 * One response on its socket, down to where it can be broken on purpose.
 *
 * Writing waits until the bytes have left the process, so a slow peer slows the sandbox. Nothing throws when the peer
 * hangs up: writes report it, waits end.
 */

import type { ServerResponse } from 'node:http';
import type { Reply } from './protocol.ts';

/** How long a reply that is about to fail waits for the peer to read what came before, which a reset would overtake. */
const SETTLE_MS = 10;

export class Wire {
  readonly response: ServerResponse;
  /** True once the sandbox has ended the exchange: by a whole reply, or by cutting it. */
  isDone = false;
  /** Whether texts are bytes as Latin-1. */
  isBinary = false;

  constructor(response: ServerResponse) {
    this.response = response;
    response.on('error', () => undefined);
  }

  /** True until either side has closed. */
  get isOpen(): boolean {
    return !this.isDone && !this.response.destroyed && this.response.socket?.destroyed === false;
  }

  /** Begins a reply; chunked unless the headers say how long it is. */
  head(status: number, headers: Readonly<Record<string, string>>): void {
    if (!this.isOpen) return;
    this.response.writeHead(status, headers);
    this.response.flushHeaders();
  }

  /** A text as the bytes that it goes out as. */
  encode(text: string): Buffer {
    return Buffer.from(text, this.isBinary ? 'latin1' : 'utf8');
  }

  /** Resolves when the bytes are flushed, or with false when the peer is gone. */
  write(bytes: string | Uint8Array): Promise<boolean> {
    if (!this.isOpen || bytes.length === 0) return Promise.resolve(this.isOpen);
    const encoded = typeof bytes === 'string' ? this.encode(bytes) : bytes;
    return this.#settled((done) => this.response.write(encoded, (error) => done(!error)));
  }

  /** Bytes past the HTTP encoding. */
  async writeRaw(bytes: string): Promise<void> {
    const { socket } = this.response;
    if (this.isOpen && socket !== null) await this.#settled((done) => socket.write(bytes, (error) => done(!error)));
  }

  /** Resolves after a time, or sooner when the peer is gone. */
  async pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    if (this.isOpen) await this.#settled((done) => (timer = setTimeout(done, ms, true)));
    clearTimeout(timer);
  }

  /** Resolves when the peer has had time to read what it was sent. */
  settle(): Promise<void> {
    return this.pause(SETTLE_MS);
  }

  /** Resolves when the peer hangs up. */
  async closed(): Promise<void> {
    if (this.isOpen) await this.#settled(() => undefined);
  }

  /** Ends the reply as HTTP wants it. */
  async end(): Promise<void> {
    if (!this.isOpen) return;
    const isFinished = await this.#settled((done) => this.response.end(() => done(true)));
    this.isDone ||= isFinished;
  }

  /** Closes the connection as if the reply were over. */
  hangUp(): void {
    this.isDone = true;
    this.response.socket?.end();
  }

  /** Resets the connection. */
  reset(): void {
    this.isDone = true;
    this.response.socket?.resetAndDestroy();
  }

  /** Runs until `done` is called, or with false until the connection is closed. */
  #settled(run: (done: (isGood: boolean) => void) => void): Promise<boolean> {
    return new Promise((resolve) => {
      const onClose = (): void => resolve(false);
      this.response.once('close', onClose);
      run((isGood) => {
        this.response.off('close', onClose);
        resolve(isGood);
      });
    });
  }
}

/** Sends a reply as it is meant, with a pause before each piece of text. */
export async function sendReply(wire: Wire, { status, headers, pieces, isBinary = false }: Reply, textDelayMs: number): Promise<void> {
  wire.isBinary = isBinary;
  const [only] = pieces;
  const isWhole = pieces.length === 1 && only !== undefined;
  wire.head(status, isWhole ? { ...headers, 'content-length': String(wire.encode(only.bytes).length) } : headers);
  for (const { bytes, isText } of pieces) {
    if (isText && textDelayMs > 0) await wire.pause(textDelayMs);
    if (!(await wire.write(bytes))) return;
  }
  await wire.end();
}
