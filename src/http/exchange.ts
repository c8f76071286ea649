/**
 * One request and its answer, with everything that is known about it, whichever way they travel.
 *
 * Who serves it reads and answers through what stands here and knows no socket: the other end is a connection
 * (http-exchange.ts), or code in the same process.
 */

import type { JsonOut } from '../base/json/value.ts';
import type { Config } from '../config/config.ts';
import type { CallerDialect } from '../core/dialect.ts';
import type { Failure } from '../core/failure.ts';
import type { OmittableField } from '../core/route.ts';
import { Scope } from '../core/scope.ts';
import { createCallRecord } from '../gateway/call-record.ts';
import type { CallRecord } from '../gateway/call-record.ts';
import type { Charge } from '../limits/store.ts';
import type { Trace } from './trace.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

export abstract class Exchange {
  /** Among those in flight (base/roster.ts). */
  seat = 0;
  readonly requestId: string;
  /** No other exchange has it; a caller may give one request id to many. */
  readonly answerId: string;
  /** The trace that the caller says this request belongs to. */
  readonly trace: Trace | undefined;
  readonly startedAtMs = performance.now();
  /** In seconds since 1970, for answers that say when. */
  readonly arrivedAtS = Math.floor(Date.now() / 1000);
  readonly scope = new Scope();
  readonly record: CallRecord;
  /** The path without its query. */
  readonly path: string;
  readonly query: string;
  /** Of HTTP; undefined where it came another way. */
  abstract readonly method: string | undefined;
  /** Resolves when the answer is over, however it ended. */
  abstract readonly closed: Promise<void>;
  /** What its caller speaks; the gateway's own format until its path says otherwise. */
  dialect: CallerDialect;
  /** A route's name, a closed set for logs and metrics. */
  route = 'none';
  /** Whether it asks for a chat, in any dialect. */
  isChat = false;
  /** Its stream, once there is one, which says itself that it failed. */
  stream: { fail(failure: Failure): void } | undefined;
  /** The caller's label once its token was accepted. */
  caller = '';
  /** Fields of the request that the route's target is never sent (`omit`). */
  omitted: readonly OmittableField[] = [];
  /** What was taken from its caller's limits and is not settled yet, and the characters of its answer so far, where tokens are limited. */
  charged: { readonly charge: Charge; deliveredChars: number } | undefined;
  status = 0;
  failure: Failure | undefined;
  receivedBytes = 0;
  /** When the request had been read, body and all; until then, when its head had. */
  readAtMs = this.startedAtMs;
  /** When its answer had been taken, or was given up; until then, when its head had been read. */
  overAtMs = this.startedAtMs;
  sentBytes = 0;

  /** `target` is a path, which may have a query. */
  constructor(requestId: string, trace: Trace | undefined, target: string, dialect: CallerDialect, answerId = requestId) {
    this.requestId = requestId;
    this.answerId = answerId;
    this.trace = trace;
    this.dialect = dialect;
    const mark = target.indexOf('?');
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.query = mark === -1 ? '' : target.slice(mark + 1);
    this.record = createCallRecord(requestId);
  }

  /** A header of the request, by its name in lower case; undefined where there is none. */
  abstract header(name: string): string | undefined;

  /** The whole body; a Failure when it cannot be had or passes the limit; undefined when the exchange ended in mid-body. */
  abstract readBody(bytesMax: number): Promise<Buffer | Failure | undefined>;

  /** Where the caller is, as far as the operator wants that to be known; undefined where nobody can tell. */
  abstract addressFor(config: Config): string | undefined;

  /** Whether its answer has begun. */
  abstract readonly hasBegun: boolean;

  /** Makes the answer, unless it has begun, the last on its connection, where there is one. */
  abstract endKeepAlive(): void;

  /** A header of the answer, until that has begun; undefined takes it back. */
  abstract setHeader(name: string, value: string | undefined): void;

  /** Answers with a whole body. Does nothing once an answer has begun or the caller is gone. */
  abstract sendText(status: number, contentType: string, body: string): void;

  sendJson(status: number, body: string): void {
    this.sendText(status, JSON_TYPE, body);
  }

  /** The same of a body of any size, however many turns of the event loop writing it takes. */
  abstract sendLargeJson(status: number, body: JsonOut): void | Promise<void>;

  /** Answers with a failure's status and error body. */
  abstract sendFailure(failure: Failure): void;

  /** Begins an answer that is a stream of events. */
  abstract openStream(): void;

  /** Writes whole frames of a stream; false when the caller has to catch up, which `drained` waits for. */
  abstract write(frames: string): boolean;

  /** Whether the caller has yet to take what was written. */
  abstract readonly isBehind: boolean;

  /** Whether nobody takes anything any more. */
  abstract readonly isOver: boolean;

  /** Waits until the caller took what was written or the exchange ends, which it does when the caller takes nothing for so long. */
  abstract drained(stallMs: number): Promise<void>;

  /** Ends a stream: in order, or so that nobody takes it for a whole answer. */
  abstract endStream(isBroken: boolean): void;

  /** Cuts off an answer that has begun: after a bug there is no good end to it. */
  abstract abandon(): void;

  /** Waits until the caller has taken its answer or is gone. An answer that never began is given up. */
  abstract taken(config: Config): Promise<void>;
}
