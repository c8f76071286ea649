/** Reading a request's body, never more of it than allowed. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ByteBuffer } from '../base/byte-buffer.ts';
import { Pacer } from '../base/pacer.ts';
import { Failure } from '../core/failure.ts';
import type { Scope } from '../core/scope.ts';

/** On a server of an embedder's something else may have been at the body first: what is left would be a part of it, or nothing. */
export function checkUnread({ readableDidRead, readableEnded, readableEncoding }: IncomingMessage): Failure | undefined {
  if (!readableDidRead && !readableEnded && readableEncoding === null) return undefined;
  const message = "the request's body was read before the gateway's handler got it: mount the handler before whatever parses bodies";
  return new Failure('unknown', message, { status: 500, isOwn: true });
}

/** What the body's own headers already rule out: 413 or 415, before a byte of it is read. */
export function checkBodyHeaders(request: IncomingMessage, bytesMax: number): Failure | undefined {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    return new Failure('bad_request', 'a Content-Encoding other than identity is not accepted', { status: 415 });
  }
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    return new Failure('bad_request', 'a charset other than UTF-8 is not accepted', { status: 415 });
  }
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return tooLarge(bytesMax);
  return undefined;
}

/** What is said of a body beyond the limit. */
export function tooLarge(bytesMax: number): Failure {
  return new Failure('bad_request', `the body is larger than ${bytesMax} bytes (GATEWAY_MAX_BODY_BYTES)`, { status: 413 });
}

type Reading = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly scope: Scope };

/** The whole body; a Failure once it passes the limit; undefined when the exchange ended in mid-body. */
// hot: per request
export function readBody({ request, response, scope }: Reading, bytesMax: number): Promise<Buffer | Failure | undefined> {
  return new Promise((resolve) => {
    const body = new ByteBuffer(bytesMax, Number(request.headers['content-length'] ?? 0));
    const pacer = new Pacer(request.socket);
    const onData = (chunk: Buffer): void => {
      pacer.count(chunk.length);
      if (body.append(chunk)) return;
      stop();
      request.pause();
      resolve(tooLarge(bytesMax));
    };
    const onEnd = (): void => {
      stop();
      resolve(body.bytes);
    };
    const onOver = (): void => {
      stop();
      resolve(undefined);
    };
    const stop = (): void => {
      request.off('data', onData).off('end', onEnd).off('close', onOver);
      response.off('close', onOver);
      scope.onEnd(undefined);
    };
    request.on('data', onData).on('end', onEnd).on('close', onOver);
    // By a host that had something to look up first; a listener alone does not undo that.
    if (request.isPaused()) request.resume();
    // A body that broke was answered already, and then nothing more is said of the request.
    response.on('close', onOver);
    scope.onEnd(onOver);
  });
}
