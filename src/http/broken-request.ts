/**
 * What is no request at all: bytes that are not HTTP, heads that are too long or too slow. node:http would answer
 * these without a body, or not at all.
 */

import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { randomId } from '../base/random-id.ts';
import { Failure } from '../core/failure.ts';
import { connectionAddress } from './caller-address.ts';
import type { Connection } from './connection.ts';
import { DISCARD_BYTES_MAX, discard } from './discard.ts';
import type { ServerParts } from './parts.ts';

export type ConnectionError = Error & { readonly code?: string };

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/** The codes that have a status of their own; what else the parser says is 400. */
const ANSWERS: ReadonlyMap<string, readonly [status: number, message: string]> = new Map([
  ['HPE_HEADER_OVERFLOW', [431, "the request's head, or its trailers, are too large"]],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'the chunk extensions of the body are too large']],
  [TIMEOUT, [408, 'the request was not sent in time']],
  ['HPE_INVALID_EOF_STATE', [400, 'the connection ended before the request was whole']],
]);

/** The failure for what node:http reports of a connection; undefined when the connection itself broke. */
export function brokenRequestFrom(error: ConnectionError): Failure | undefined {
  const { code = '' } = error;
  const [status, message] = ANSWERS.get(code) ?? [400, 'this is not valid HTTP'];
  return code.startsWith('HPE_') || ANSWERS.has(code) ? new Failure('bad_request', message, { status }) : undefined;
}

/** Whether time was up for a request that has to wait for its turn: node:http counts it from the request's first byte. */
export function isWaitingTooLong(error: ConnectionError, { exchange }: Connection): boolean {
  return error.code === TIMEOUT && exchange?.request.complete === true;
}

/**
 * Answers what breaks a connection, and closes it: in place of the answer to the request whose body broke, else on the bare
 * socket when its turn comes, or it would be taken for the answer to another request.
 */
export function answerBrokenRequest(failure: Failure, socket: Duplex, connection: Connection, parts: ServerParts): void {
  const { exchange } = connection;
  if (exchange === undefined || exchange.request.complete) {
    connection.break(() => refuse(failure, socket, parts));
  } else if (!exchange.response.headersSent) {
    exchange.response.setHeader('Connection', 'close');
    exchange.sendFailure(failure);
  }
}

/** Logged and counted as a request without a route. */
function refuse(failure: Failure, socket: Duplex, parts: ServerParts): void {
  const requestId = randomId();
  const { kind, status, message } = failure;
  parts.metrics.request('none', status);
  parts.log.info('request', { request_id: requestId, route: 'none', status, kind, error: message, address: connectionAddress(socket, parts.config) });
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
  // What is read here is no business of the parser any more. Closing at once with bytes unread would reset the connection,
  // and the answer with it.
  socket.removeAllListeners('data');
  discard(socket, DISCARD_BYTES_MAX, () => socket.destroy());
}
