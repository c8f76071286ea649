/**
 * The transport over bare sockets: HTTP/1.1 of our own, written in one piece and read with our own parser.
 *
 * What is left out is what costs in node:http: a stream, an event and an object for each step of each message. Knows providers
 * only by name, address and key.
 */

import { byName } from '../base/by-name.ts';
import { PIECES_PER_TURN, piecesIn } from '../base/pacer.ts';
import type { ProviderKey, UpstreamHeaders } from '../core/adapter.ts';
import type { Failure } from '../core/failure.ts';
import type { AttemptWaiter, AttemptWatch } from './attempt-watch.ts';
import { collectBody, REST_BYTES_MAX, REST_MS_MAX } from './body.ts';
import { outboundHeaders, outboundPath } from './outbound.ts';
import { PooledTransport } from './pooled.ts';
import type { TransportSettings } from './pooled.ts';
import { proxyHeaders } from './proxy.ts';
import { codeFrom, connectionFailure, cutFailure, encodingFailure } from './transport-failure.ts';
import { INTERIM_MAX, interimFailure, proxyFailure, unwritableFailure, upgradeFailure } from './transport-failure.ts';
import type { ChunkReceiver, Destination, OutboundCall, Transport, UpstreamResponse } from './transport.ts';
import { ConnectionError } from './wire-connection.ts';
import type { ConnectionUser, WireConnection } from './wire-connection.ts';
import { WirePool } from './wire-pool.ts';
import type { Opening } from './wire-pool.ts';

/** The transport with a pool of kept connections for each provider. */
export function createWireTransport(settings: TransportSettings = {}): Transport {
  return new PooledTransport(settings, WirePool, Attempt);
}

/** One call on its way until its response's head is in. */
// hot: per request
class Attempt implements AttemptWaiter, ConnectionUser, Opening {
  readonly #provider: Destination;
  readonly #key: ProviderKey | undefined;
  readonly #call: OutboundCall;
  readonly #pool: WirePool;
  readonly #watch: AttemptWatch;
  readonly #settings: TransportSettings;
  readonly #resolve: (result: UpstreamResponse | Failure) => void;
  /** The request's head without its last header. */
  #head = '';
  #bodyBytes = 0;
  #isKept = true;
  #opening: { destroy(): void } | undefined;
  #connection: WireConnection | undefined;
  #isSettled = false;
  #interimLeft = INTERIM_MAX;

  constructor(
    provider: Destination,
    key: ProviderKey | undefined,
    call: OutboundCall,
    pool: WirePool,
    watch: AttemptWatch,
    settings: TransportSettings,
    resolve: (result: UpstreamResponse | Failure) => void,
  ) {
    this.#provider = provider;
    this.#key = key;
    this.#call = call;
    this.#pool = pool;
    this.#watch = watch;
    this.#settings = settings;
    this.#resolve = resolve;
  }

  start(): void {
    this.#watch.waiter = this;
    this.#watch.startWait();
    this.#bodyBytes = Buffer.byteLength(this.#call.body ?? '');
    const head = this.#renderHead();
    if (head === undefined) return this.#fail(unwritableFailure(this.#provider.name));
    this.#head = head;
    const kept = this.#pool.take();
    if (kept === undefined) this.#open();
    else this.#sendOver(kept);
  }

  /** Undefined where a header or the path is nothing that HTTP can carry. */
  #renderHead(): string | undefined {
    const { baseUrl } = this.#provider;
    const { forwardProxy } = this.#pool;
    const { method } = this.#call;
    const path = outboundPath(this.#provider, this.#call);
    const target = forwardProxy === undefined ? path : baseUrl.origin + path;
    const first = forwardProxy === undefined ? `\r\nhost: ${baseUrl.host}` : renderFields(proxyHeaders(forwardProxy, baseUrl.host));
    const fields = renderFields(outboundHeaders(this.#provider, this.#call, this.#key));
    if (first === undefined || fields === undefined || !PATH.test(target)) return undefined;
    return `${method} ${target} HTTP/1.1${first}${fields}${method === 'GET' ? '' : `\r\ncontent-length: ${this.#bodyBytes}`}`;
  }

  #open(): void {
    this.#watch.startConnectLimit();
    this.#opening = this.#pool.open(this.#isKept, this);
  }

  onOpened(connection: WireConnection): void {
    this.#settings.onConnected?.(this.#provider.name, connection.socket);
    this.#sendOver(connection);
  }

  onRefused(error: unknown): void {
    this.#fail(this.#failureOf(error));
  }

  #sendOver(connection: WireConnection): void {
    this.#watch.startAttemptLimit();
    this.#connection = connection;
    const head = `${this.#head}\r\nconnection: ${this.#isKept ? 'keep-alive' : 'close'}\r\n\r\n`;
    connection.send(head, this.#call.body ?? '', this.#bodyBytes, this);
  }

  onBytes(): boolean {
    const connection = this.#connection as WireConnection;
    const { parser } = connection;
    for (;;) {
      const event = parser.next();
      if (event === 'more') return true;
      if (event !== 'head') {
        this.#fail(this.#failureOf(new ConnectionError(parser.fault ?? 'HPE_UNKNOWN')));
        return true;
      }
      const { status } = parser.head;
      if (status >= 200) break;
      this.#interimLeft -= 1;
      if (status === 101) this.#fail(upgradeFailure(this.#provider.name));
      else if (this.#interimLeft < 0) this.#fail(interimFailure(this.#provider.name));
      if (this.#isSettled) return true;
    }
    this.#isSettled = true;
    this.#watch.endWait();
    this.#resolve(new WireResponse(this.#provider.name, connection, this.#watch));
    return true;
  }

  onClosed(error: Error = new ConnectionError('ECONNRESET')): void {
    if (this.#isStale(error)) {
      this.#settings.onStaleRetry?.(this.#provider.name);
      // The next kept connection may be as stale.
      this.#isKept = false;
      this.#open();
    } else {
      this.#fail(this.#failureOf(error));
    }
  }

  /** True when the provider had closed a kept connection before the request reached it. Not after a single byte of an answer. */
  #isStale(error: Error): boolean {
    const { isReused, hasAnswered } = this.#connection as WireConnection;
    const code = codeFrom(error);
    return isReused && !hasAnswered && (code === 'ECONNRESET' || code === 'EPIPE');
  }

  /** The other end of the connection is the provider, or a proxy that takes requests in absolute form. */
  #failureOf(error: unknown): Failure {
    const { name } = this.#provider;
    return this.#pool.forwardProxy === undefined ? connectionFailure(name, error) : proxyFailure(name, error);
  }

  onStop(failure: Failure): void {
    this.#fail(failure);
  }

  #fail(failure: Failure): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#watch.release();
    this.#opening?.destroy();
    this.#connection?.destroy();
    this.#resolve(failure);
  }
}

/** What HTTP can carry: as node:http sees it. */
const PATH = /^[\x21-\x7e\x80-\xff]+$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** A header's line up to its value; undefined where the name is nothing that HTTP can carry. */
const lineOf = byName((name) => (NAME.test(name) ? `\r\n${name}: ` : undefined));

/** Lines, each behind its line break; undefined where one is nothing that HTTP can carry. */
function renderFields(headers: Readonly<Record<string, string>>): string | undefined {
  let text = '';
  // As in base/json/render.ts.
  for (const name in headers) {
    if (!Object.prototype.hasOwnProperty.call(headers, name)) continue;
    const line = lineOf(name);
    const value = headers[name] ?? '';
    if (line === undefined || !VALUE.test(value)) return undefined;
    text = text + line + value;
  }
  return text;
}

/** A response until its body has ended, in whatever way. */
class WireResponse implements UpstreamResponse, AttemptWaiter, ConnectionUser {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly #provider: string;
  readonly #connection: WireConnection;
  readonly #watch: AttemptWatch;
  #onChunk: ChunkReceiver | undefined;
  #resolve: ((failure: Failure | undefined) => void) | undefined;
  #reject: ((thrown: unknown) => void) | undefined;
  #isReceiverBusy = false;
  /** Others have their turn before the next piece. */
  #isResting = false;
  #piecesLeft = PIECES_PER_TURN;
  /** What may still come, unseen, once the receiver has enough; undefined before that. */
  #restBytesLeft: number | undefined;
  #restTimer: NodeJS.Timeout | undefined;
  /** The connection closed. What came before is still the receiver's. */
  #cut: Failure | undefined;
  /** The other end closed it, which ends a body that nothing else ends. A reset ends none. */
  #hasEnded = false;
  #isDone = false;
  /** Why it ended before its end; undefined when it ended well or was discarded. */
  #failure: Failure | undefined;

  constructor(provider: string, connection: WireConnection, watch: AttemptWatch) {
    this.status = connection.parser.head.status;
    this.headers = connection.parser.head.headers;
    this.#provider = provider;
    this.#connection = connection;
    this.#watch = watch;
    connection.passTo(this);
    watch.waiter = this;
  }

  readBody(bytesMax: number): Promise<Buffer | Failure> {
    return collectBody(this, this.#provider, bytesMax);
  }

  readChunks(onChunk: ChunkReceiver): Promise<Failure | undefined> {
    const refusal = encodingFailure(this.#provider, this.status, this.headers);
    if (refusal !== undefined) this.#finish(refusal);
    if (!this.#isDone) this.#watch.startWait();
    if (this.#isDone) return Promise.resolve(this.#failure);
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#onChunk = onChunk;
      this.#goOn();
    });
  }

  startIdleLimit(): void {
    this.#watch.startIdleLimit();
  }

  discard(): void {
    this.#finish(undefined);
  }

  onStop(failure: Failure): void {
    this.#finish(failure);
  }

  // hot: per token
  onBytes(): boolean {
    this.#deliverAll();
    return this.#isReading;
  }

  /** Whether the next piece can be handed over at once. */
  get #isReading(): boolean {
    return this.#onChunk !== undefined && !this.#isReceiverBusy && !this.#isResting;
  }

  /** Hands over what waits, and reads on. */
  #goOn(): void {
    this.#deliverAll();
    if (!this.#isDone && this.#isReading) this.#connection.resume();
  }

  // hot: per token
  #deliverAll(): void {
    const { parser } = this.#connection;
    while (!this.#isDone && this.#isReading) {
      const event = parser.next();
      if (event === 'body') this.#deliver(parser.body);
      else if (event === 'end') this.#end();
      else if (event === 'fault') this.#finish(cutFailure(this.#provider, this.status, new ConnectionError(parser.fault ?? 'HPE_UNKNOWN')));
      else break;
    }
    if (this.#isDone || !this.#isReading) return;
    if (this.#cut !== undefined) {
      if (this.#hasEnded && parser.finish()) this.#end();
      else this.#finish(this.#cut);
    } else if (this.#restBytesLeft !== undefined) {
      this.#restTimer ??= setTimeout(() => this.discard(), REST_MS_MAX);
    }
  }

  // hot: per token
  #deliver(chunk: Buffer): void {
    this.#piecesLeft -= piecesIn(chunk.length);
    if (this.#piecesLeft <= 0) this.#rest();
    if (this.#restBytesLeft !== undefined) {
      this.#restBytesLeft -= chunk.length;
      if (this.#restBytesLeft < 0) this.discard();
      return;
    }
    this.#watch.progress();
    try {
      const answer = this.#onChunk?.(chunk);
      if (answer === false) this.discard();
      else if (answer === 'enough') this.#startRest();
      else if (answer !== undefined) void this.#holdWhile(answer);
    } catch (thrown) {
      this.#abandon(thrown);
    }
  }

  #rest(): void {
    this.#isResting = true;
    setImmediate(() => {
      this.#isResting = false;
      this.#piecesLeft = PIECES_PER_TURN;
      this.#goOn();
    });
  }

  /** The receiver is content. Lets the body come to its end for a moment, so that the connection can be kept. */
  #startRest(): void {
    this.#restBytesLeft = REST_BYTES_MAX;
    this.#watch.release();
    this.#resolve?.(undefined);
  }

  /** Reads nothing until the receiver is ready; the kernel's buffer and then the provider fill up meanwhile. */
  async #holdWhile(answer: Promise<void | false | 'enough'>): Promise<void> {
    this.#isReceiverBusy = true;
    this.#watch.startBusy();
    let isEnough = false;
    try {
      const said = await answer;
      isEnough = said === 'enough';
      if (said === false) this.discard();
    } catch (thrown) {
      this.#abandon(thrown);
    }
    this.#isReceiverBusy = false;
    this.#watch.endBusy();
    if (isEnough) this.#startRest();
    if (this.#isDone) this.#resolve?.(this.#failure);
    else this.#goOn();
  }

  /** A stream that had begun is a stream that was cut, not one that never was: what had come is delivered first. */
  onClosed(error: Error | undefined): void {
    this.#hasEnded = error === undefined;
    this.#cut = cutFailure(this.#provider, this.status, error ?? new ConnectionError('ECONNRESET'));
    this.#deliverAll();
  }

  /** The body came to its end. */
  #end(): void {
    const { parser } = this.#connection;
    // More than was announced is no other response: then the announcement may be what was wrong.
    if (parser.restLength > 0 && !parser.isFollowed()) return this.#finish(cutFailure(this.#provider, this.status, new ConnectionError('HPE_INVALID_CONSTANT')));
    this.#isDone = true;
    clearTimeout(this.#restTimer);
    this.#watch.release();
    this.#connection.release();
    this.#resolve?.(undefined);
  }

  /** The receiver threw, which is a bug of its own. */
  #abandon(thrown: unknown): void {
    this.#reject?.(thrown);
    this.discard();
  }

  /** Ends the response before its end. The first reason stays. */
  #finish(failure: Failure | undefined): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#failure = failure;
    clearTimeout(this.#restTimer);
    this.#watch.release();
    this.#connection.destroy();
    if (!this.#isReceiverBusy) this.#resolve?.(failure);
  }
}
