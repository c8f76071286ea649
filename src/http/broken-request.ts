/**
 * What is no request at all: bytes that are not HTTP, heads that are too long or too slow. node:http would answer
 * these without a body, or not at all.
 */

import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { Failure } from '../core/failure.ts';
import { DISCARD_MS_MAX } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';

export type ConnectionError = Error & { readonly code?: string };

/** The codes that have a status of their own; what else the parser says is 400. */
const ANSWERS: ReadonlyMap<string, readonly [status: number, message: string]> = new Map([
  ['HPE_HEADER_OVERFLOW', [431, "the request's head, or its trailers, are too large"]],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'the chunk extensions of the body are too large']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'the request was not sent in time']],
]);

/** The failure for what node:http reports of a connection; undefined when the connection itself broke. */
export function brokenRequestFrom(error: ConnectionError): Failure | undefined {
  const { code = '' } = error;
  const [status, message] = ANSWERS.get(code) ?? [400, 'this is not valid HTTP'];
  return code.startsWith('HPE_') || ANSWERS.has(code) ? new Failure('bad_request', message, { status }) : undefined;
}

/**
 * Answers on the bare socket, logs and counts it as a request without a route, and closes. `newest` is the last request
 * that was read on this connection and is not over: a failure inside its body is its own answer, one after it waits its
 * turn, or it would be taken for the answer to that one.
 */
export function answerBrokenRequest(failure: Failure, socket: Duplex, newest: Exchange | undefined, parts: ServerParts): void {
  if (newest === undefined) {
    refuse(failure, socket, parts);
  } else if (newest.request.complete) {
    void newest.closed.then(() => refuse(failure, socket, parts));
  } else if (!newest.response.headersSent) {
    newest.response.setHeader('Connection', 'close');
    newest.sendFailure(failure);
  }
}

function refuse(failure: Failure, socket: Duplex, parts: ServerParts): void {
  const requestId = randomUUID();
  const { kind, status, message } = failure;
  parts.metrics.request('none', status);
  parts.log.info('request', { request_id: requestId, route: 'none', status, kind, error: message });
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { body } = parts.dialects[0].renderFailure(failure, requestId);
  socket.on('error', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`,
  );
  // Closing at once with bytes unread would reset the connection, and the answer with it.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), DISCARD_MS_MAX);
  socket.on('close', () => clearTimeout(timer));
}
