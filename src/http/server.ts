/** A server of the gateway's own: its connections, how long they may take, and malformed requests on them. */

import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https';
import type { IncomingMessage, Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Certificate } from '../config/certificate.ts';
import { Failure } from '../core/failure.ts';
import { answerBrokenRequest, brokenRequestFrom, isWaitingTooLong } from './broken-request.ts';
import type { ConnectionError } from './broken-request.ts';
import type { Handler } from './handler.ts';
import type { ServerParts } from './parts.ts';

/** How long a connection may take, and how often that is looked at. */
export type ConnectionLimits = {
  /** For the head of a request, and for a TLS handshake. */
  readonly headMs: number;
  /** For all of a request, its body included. */
  readonly requestMs: number;
  readonly checkIntervalMs: number;
};

const CONNECTION_LIMITS: ConnectionLimits = {
  headMs: 15_000,
  // 16 MiB at 1.1 Mbit/s.
  requestMs: 120_000,
  checkIntervalMs: 1000,
};

/** Of a request's head, and of its trailers. This bounds the number of headers too, at a few thousand. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Connections that cannot be had come by the thousand. */
const ACCEPT_LOG_INTERVAL_MS = 1000;

export type GatewayServer = {
  readonly server: Server;
  /** No new connections any more; those on which nothing is asked are closed. */
  stopListening(): void;
  /** Serves a connection that another process accepted, in place of listening. */
  take(socket: Socket): void;
  /** New connections get this certificate; nothing happens to the others. */
  swapCertificate(tls: Certificate): void;
};

/**
 * A server that is not listening yet; with a certificate it speaks HTTPS. `ticketKeys` are those of TLS, of all processes that
 * share an address: who resumes a session may come to another one.
 */
export function createServer(currentParts: () => ServerParts, handler: Handler, limits = CONNECTION_LIMITS, ticketKeys?: Buffer): GatewayServer {
  const { config } = currentParts();
  const settings = {
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: config.connectionIdleTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    maxHeaderSize: HEAD_BYTES_MAX,
    noDelay: true,
    // Answered here with a JSON body instead.
    requireHostHeader: false,
  };
  const { tls } = config;
  const server: Server =
    tls === undefined
      ? createHttpServer(settings)
      : createHttpsServer({ ...settings, handshakeTimeout: limits.headMs, ...pemOf(tls), ...ticketsOf(ticketKeys) });
  // By default the headers after the 2,000th are dropped, and nobody is told.
  server.maxHeadersCount = 0;
  server.on('request', (request, response) => handler.take(request, response, false));
  server.on('checkExpectation', (request, response) => handler.take(request, response, false));
  server.on('checkContinue', (request, response) => handler.take(request, response, true));
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    const connection = handler.connectionOf(socket);
    // node:http has taken its own listeners away; what is being served may still wait for them.
    socket.on('error', () => socket.destroy());
    socket.on('drain', () => connection.exchange?.response.emit('drain'));
    const failure = new Failure('bad_request', 'this is not a proxy: CONNECT is not accepted');
    answerBrokenRequest(failure, socket, connection, currentParts());
  });
  server.on('clientError', (error: ConnectionError, socket: Duplex) => {
    const failure = brokenRequestFrom(error);
    const connection = handler.connectionOf(socket);
    if (failure === undefined) socket.destroy();
    else if (!isWaitingTooLong(error, connection)) answerBrokenRequest(failure, socket, connection, currentParts());
  });
  let acceptLoggedAtMs = -Infinity;
  function logNotAccepted(reason: string): void {
    if (performance.now() - acceptLoggedAtMs < ACCEPT_LOG_INTERVAL_MS) return;
    acceptLoggedAtMs = performance.now();
    currentParts().log.error(`connections cannot be accepted (${reason})`);
  }
  // Node closes what it has no descriptor for without a word. This limit leaves some, and what it costs is seen.
  if (config.connectionsMax !== undefined) server.maxConnections = config.connectionsMax;
  server.on('drop', noteDropped);
  function noteDropped(): void {
    currentParts().metrics.droppedConnections.add(1);
    logNotAccepted('GATEWAY_MAX_CONNECTIONS');
  }
  let takenCount = 0;
  let hasTaken = false;
  function take(socket: Socket): void {
    // What Node does with a connection that a listening server of its own accepted.
    if (takenCount >= (config.connectionsMax ?? Infinity)) {
      socket.destroy();
      noteDropped();
      return;
    }
    takenCount += 1;
    socket.on('close', () => (takenCount -= 1));
    // From this event on Node checks how long requests take.
    if (!hasTaken) server.emit('listening');
    hasTaken = true;
    // As Node's own servers have it: true for HTTP, false for HTTPS.
    socket.allowHalfOpen = !(server instanceof HttpsServer);
    socket.setNoDelay(true);
    server.emit('connection', socket);
  }
  server.on('error', (error: ConnectionError) => {
    if (server.listening) logNotAccepted(error.code ?? error.name);
  });

  return {
    server,
    stopListening() {
      // Not the close of an HTTP server: it cuts off callers that are still taking an answer which was handed over.
      if (server instanceof TcpServer) TcpServer.prototype.close.call(server);
      handler.closeIdle();
    },
    take,
    swapCertificate(next) {
      if (server instanceof HttpsServer) server.setSecureContext({ ...pemOf(next), ...ticketsOf(ticketKeys) });
    },
  };
}

function ticketsOf(ticketKeys: Buffer | undefined): { ticketKeys?: Buffer } {
  return ticketKeys === undefined ? {} : { ticketKeys };
}

function pemOf({ cert, key }: Certificate): { cert: string; key: string } {
  return { cert, key: key.reveal() };
}
