/** An exchange over HTTP: a request of node:http, and the only ways to answer it. */

import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { renderLargeJson } from '../base/json/render.ts';
import type { JsonOut } from '../base/json/value.ts';
import { randomId } from '../base/random-id.ts';
import { nextTurn } from '../base/turn.ts';
import type { Config } from '../config/config.ts';
import type { CallerDialect } from '../core/dialect.ts';
import type { Failure } from '../core/failure.ts';
import { checkBodyHeaders, checkUnread, readBody } from './body.ts';
import { callerAddress } from './caller-address.ts';
import { DISCARD_BYTES_MAX, discard } from './discard.ts';
import { Exchange, JSON_TYPE } from './exchange.ts';
import { limitStall } from './stall.ts';
import { traceFrom } from './trace.ts';

/** The kernel takes what is shorter at once. */
const LONG_CHARS = 64 * 1024;
/** Of what is refused: reading it costs less than another connection, and Java's client sees no answer of one that closes while it sends. */
const READ_ON_BYTES_MAX = 1024 * 1024;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

export class HttpExchange extends Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** True when the caller waits for `100 Continue` before sending its body. */
  readonly expectsContinue: boolean;
  /** The other end of the connection, which forgets it when it closes; undefined on a Unix socket. */
  readonly peer: string | undefined;
  readonly closed: Promise<void>;
  /** The whole answer was written: when the connection closes now, it is not the caller who hung up. */
  #isAnswered = false;
  #resolveClosed: () => void = ignore;

  constructor(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean, dialect: CallerDialect) {
    const givenId = request.headers['x-request-id'];
    const ownId = randomId();
    const requestId = typeof givenId === 'string' && REQUEST_ID.test(givenId) ? givenId : ownId;
    super(requestId, traceFrom(request.headers), request.url ?? '/', dialect, ownId);
    this.request = request;
    this.response = response;
    this.expectsContinue = expectsContinue;
    this.peer = request.socket.remoteAddress;
    response.setHeader('X-Request-Id', requestId);
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    response.on('close', () => this.close());
    // What they say, 'close' says too; without a listener a write that comes too late would end the process.
    request.on('error', ignore);
    response.on('error', ignore);
  }

  /** The answer, or the connection, is closed. Whatever comes of the rest, nobody gets it. */
  close(): void {
    if (!this.response.writableFinished && !this.#isAnswered) this.scope.end('caller-gone');
    this.#resolveClosed();
  }

  get method(): string | undefined {
    return this.request.method;
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'string' ? value : undefined;
  }

  addressFor({ logsAddress, trustedProxies }: Config): string | undefined {
    return logsAddress ? callerAddress(this.peer, this.request.headers, trustedProxies) : undefined;
  }

  readBody(bytesMax: number): Promise<Buffer | Failure | undefined> {
    const refusal = checkUnread(this.request) ?? checkBodyHeaders(this.request, bytesMax);
    if (refusal !== undefined) return Promise.resolve(refusal);
    if (this.expectsContinue) this.response.writeContinue();
    return readBody(this, bytesMax);
  }

  get hasBegun(): boolean {
    return this.response.headersSent;
  }

  endKeepAlive(): void {
    if (!this.response.headersSent) this.response.setHeader('Connection', 'close');
  }

  setHeader(name: string, value: string | undefined): void {
    if (value === undefined) this.response.removeHeader(name);
    else this.response.setHeader(name, value);
  }

  /** From now on answers are in this dialect. */
  speak(dialect: CallerDialect): void {
    this.dialect = dialect;
    if (dialect.requestIdHeader !== undefined) this.response.setHeader(dialect.requestIdHeader, this.requestId);
  }

  async sendLargeJson(status: number, body: JsonOut): Promise<void> {
    this.sendText(status, JSON_TYPE, await renderLargeJson(body, nextTurn));
  }

  sendText(status: number, contentType: string, body: string | Buffer): void {
    const { response } = this;
    if (response.headersSent || response.destroyed) return;
    const length = Buffer.byteLength(body);
    response.setHeader('Content-Type', contentType);
    response.setHeader('Content-Length', length);
    const isBodiless = this.request.method === 'HEAD';
    if (!isBodiless) this.sentBytes += length;
    this.#send(status, isBodiless ? '' : body);
  }

  /** Answers with a status and headers alone. */
  sendNoContent(): void {
    this.#send(204, '');
  }

  #send(status: number, body: string | Buffer): void {
    const { request, response } = this;
    response.statusCode = status;
    if (this.#leavesBodyUnread()) {
      this.#isAnswered = true;
      response.setHeader('Connection', 'close');
      endAfterDiscard(request, response, body);
    } else {
      sendWhole(response, body);
    }
    this.status = status;
  }

  /**
   * Whether so much of the body may still come that closing is cheaper than reading on. A short one is read and dropped
   * (by node:http), so that a refusal does not cost the connection, unless that is to be closed anyway. Whoever waits for a
   * 100 may never send it. Nothing more is read of one that is too large, however small the operator's limit is.
   */
  #leavesBodyUnread(): boolean {
    const { request, response } = this;
    const { headers } = request;
    if (request.complete) return false;
    if (headers['transfer-encoding'] !== undefined || response.statusCode === 413) return true;
    const length = Number(headers['content-length'] ?? 0);
    const isLast = this.expectsContinue || !response.shouldKeepAlive || response.hasHeader('Connection');
    return length > READ_ON_BYTES_MAX || (length > 0 && isLast);
  }

  sendFailure(failure: Failure): void {
    this.failure = failure;
    if (failure.status === 401) this.response.setHeader('WWW-Authenticate', 'Bearer');
    if (failure.status === 429 && failure.retryAfterMs !== undefined) {
      this.response.setHeader('Retry-After', String(Math.ceil(failure.retryAfterMs / 1000)));
    }
    const { body, headers } = this.dialect.renderFailure(failure, this.requestId);
    for (const name of Object.keys(headers)) this.response.setHeader(name, headers[name] ?? '');
    this.sendJson(failure.status, body);
  }

  openStream(): void {
    this.response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
    });
    this.status = 200;
  }

  // hot: per token
  write(frames: string): boolean {
    this.sentBytes += Buffer.byteLength(frames);
    return this.response.write(writable(frames));
  }

  get isBehind(): boolean {
    return this.response.writableNeedDrain;
  }

  get isOver(): boolean {
    return this.response.destroyed;
  }

  drained(stallMs: number): Promise<void> {
    const { response, scope } = this;
    return new Promise((resolve) => {
      const settle = (): void => {
        stopLimit();
        response.off('drain', settle);
        scope.onEnd(undefined);
        resolve();
      };
      const stopLimit = limitStall(this, stallMs);
      response.on('drain', settle);
      scope.onEnd(settle);
    });
  }

  endStream(isBroken: boolean): void {
    const { response } = this;
    if (!isBroken) {
      response.end();
      return;
    }
    response.write('', (error) => {
      this.#isAnswered = !(error instanceof Error);
      response.destroy();
    });
  }

  abandon(): void {
    this.response.destroy();
  }

  /**
   * A caller that stopped taking its answer is cut off, and so is one that takes as long over it as a request may take: a
   * byte now and then would hold the answer, and its place, without end.
   */
  taken({ writeStallTimeoutMs, requestTimeoutMs }: Config): Promise<void> {
    const { response, scope } = this;
    // What a host's middleware holds back, to compress it or to save a session first, has begun all the same.
    if (this.status === 0 && !response.headersSent) response.destroy();
    const isHeldBack = !response.writableEnded && !this.#isAnswered;
    if ((response.writableLength === 0 && !isHeldBack) || response.destroyed) return this.closed;
    const stop = limitStall(this, writeStallTimeoutMs);
    const deadline = setTimeout(() => {
      scope.end('deadline');
      response.destroy();
    }, requestTimeoutMs);
    return this.closed.then(() => {
      clearTimeout(deadline);
      stop();
    });
  }
}

function ignore(): void {}

/**
 * The body in the form that costs least. A short string leaves in one write with the head, where a Buffer would cost a second.
 * While a caller has not taken a long one, Node keeps the string and room for three times its length; of a Buffer the Buffer.
 */
export function writable(text: string | Buffer): string | Buffer {
  return typeof text === 'string' && text.length > LONG_CHARS ? Buffer.from(text) : text;
}

/**
 * Head and body of a short text leave as one string, where `end(body)` would have node:http write a list: 2 % of a chat.
 * A host's middleware that holds back answers waits for their end, and may add headers then; one with a write of its own
 * gets short answers as it gets long ones.
 */
function sendWhole(response: ServerResponse, body: string | Buffer): void {
  const { socket } = response;
  const isPatched = response.end !== ServerResponse.prototype.end || response.write !== ServerResponse.prototype.write;
  if (isPatched || socket === null || typeof body !== 'string' || body === '' || body.length > LONG_CHARS) {
    response.end(writable(body));
    return;
  }
  socket.cork();
  response.write(body);
  socket.uncork();
  response.end();
}

/**
 * Sends the whole answer at once but closes only after the caller stopped sending, or a little later: closing a
 * socket with unread bytes makes the kernel reset it, and the caller may never see the answer.
 */
function endAfterDiscard(request: IncomingMessage, response: ServerResponse, body: string | Buffer): void {
  if (body.length === 0) response.flushHeaders();
  else response.write(body);
  discard(request, Number(request.headers['content-length']) <= READ_ON_BYTES_MAX ? READ_ON_BYTES_MAX : DISCARD_BYTES_MAX, () => {
    request.pause();
    response.end();
  });
}
