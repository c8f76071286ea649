/**
 * One inbound request and its response, with everything that is known about it.
 *
 * Owns the only ways to answer: a JSON body, a failure, or a stream's head and frames.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import type { CallerDialect } from '../core/dialect.ts';
import type { Failure } from '../core/failure.ts';
import { Scope } from '../core/scope.ts';
import { createCallRecord } from '../gateway/call-record.ts';
import type { CallRecord } from '../gateway/call-record.ts';
import { DISCARD_BYTES_MAX, discard } from './discard.ts';
import { traceFrom } from './trace.ts';
import type { Trace } from './trace.ts';

/** Less is taken by the kernel at once. */
const LONG_CHARS = 64 * 1024;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The trace that the caller says this request belongs to. */
  readonly trace: Trace | undefined;
  readonly startedAtMs = performance.now();
  /** In seconds since 1970, for answers that say when. */
  readonly arrivedAtS = Math.floor(Date.now() / 1000);
  readonly scope = new Scope();
  /** The path without its query. */
  readonly path: string;
  readonly query: string;
  /** True when the caller waits for `100 Continue` before sending its body. */
  readonly expectsContinue: boolean;
  /** The other end of the connection, which forgets it when it closes; undefined on a Unix socket. */
  readonly peer: string | undefined;
  /** Resolves when the response is over, however it ended. */
  readonly closed: Promise<void>;
  /** What its caller speaks; the gateway's own format until its path says otherwise. */
  dialect: CallerDialect;
  /** A route's name, a closed set for logs and metrics. */
  route = 'none';
  /** Whether it asks for a chat, in any dialect. */
  isChat = false;
  /** How its stream says that it failed, once there is a stream. */
  failStream: ((failure: Failure) => void) | undefined;
  /** The caller's label once its token was accepted. */
  caller = '';
  status = 0;
  failure: Failure | undefined;
  receivedBytes = 0;
  /** When the request had been read, body and all; until then, when its head had. */
  readAtMs = this.startedAtMs;
  sentBytes = 0;
  readonly record: CallRecord;
  /** All that will be was written: when the connection closes, it is not the caller who hung up. */
  #isAnswered = false;
  #resolveClosed: () => void = ignore;

  constructor(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean, dialect: CallerDialect) {
    this.request = request;
    this.response = response;
    this.expectsContinue = expectsContinue;
    this.dialect = dialect;
    this.peer = request.socket.remoteAddress;
    const target = request.url ?? '/';
    const mark = target.indexOf('?');
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.query = mark === -1 ? '' : target.slice(mark + 1);
    const givenId = request.headers['x-request-id'];
    this.requestId = typeof givenId === 'string' && REQUEST_ID.test(givenId) ? givenId : randomUUID();
    this.trace = traceFrom(request.headers);
    this.record = createCallRecord(this.requestId);
    response.setHeader('X-Request-Id', this.requestId);
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    response.on('close', () => {
      if (!response.writableFinished && !this.#isAnswered) this.scope.end('caller-gone');
      this.#resolveClosed();
    });
    // What they say, 'close' says too; without a listener a write that comes too late would end the process.
    request.on('error', ignore);
    response.on('error', ignore);
  }

  /** From now on answers are in this dialect. */
  speak(dialect: CallerDialect): void {
    this.dialect = dialect;
    if (dialect.requestIdHeader !== undefined) this.response.setHeader(dialect.requestIdHeader, this.requestId);
  }

  /** Milliseconds since the request's head was read, or since its turn came. */
  get elapsedMs(): number {
    return performance.now() - this.startedAtMs;
  }

  /** Answers with a whole body. Does nothing once an answer has begun or the caller is gone. */
  sendText(status: number, contentType: string, body: string): void {
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

  #send(status: number, body: string): void {
    const { request, response } = this;
    this.status = status;
    response.statusCode = status;
    if (this.#leavesBodyUnread()) {
      this.#isAnswered = true;
      response.setHeader('Connection', 'close');
      endAfterDiscard(request, response, body);
    } else {
      response.end(writable(body));
    }
  }

  /**
   * Whether so much of the body may still come that closing is cheaper than reading on. A short one is read and dropped
   * (by node:http), so that a refusal does not cost the connection. Whoever waits for a 100 may never send it. Nothing more
   * is read of one that is too large, however small the operator's limit is.
   */
  #leavesBodyUnread(): boolean {
    const { complete, headers } = this.request;
    if (complete) return false;
    if (headers['transfer-encoding'] !== undefined || this.status === 413) return true;
    const length = Number(headers['content-length'] ?? 0);
    return length > DISCARD_BYTES_MAX || (length > 0 && this.expectsContinue);
  }

  /** Closes the connection, once all that was written is sent, in a way that no client takes for the end of a whole answer. */
  breakOff(): void {
    this.response.write('', (error) => {
      this.#isAnswered = !(error instanceof Error);
      this.response.destroy();
    });
  }

  sendJson(status: number, body: string): void {
    this.sendText(status, 'application/json; charset=utf-8', body);
  }

  /** Answers with a failure's status and error body. */
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
}

function ignore(): void {}

/**
 * As it is best written. A short string leaves in one write with the head, where a Buffer would cost a second. While a caller
 * has not taken a long one, Node keeps the string and room for three times its length; of a Buffer it keeps the Buffer.
 */
export function writable(text: string): string | Buffer {
  return text.length > LONG_CHARS ? Buffer.from(text) : text;
}

/**
 * Sends the whole answer at once but closes only after the caller stopped sending, or a little later: closing a
 * socket with unread bytes makes the kernel reset it, and the caller may never see the answer.
 */
function endAfterDiscard(request: IncomingMessage, response: ServerResponse, body: string): void {
  if (body === '') response.flushHeaders();
  else response.write(body);
  discard(request, () => {
    request.pause();
    response.end();
  });
}
