/**
 * The inbound server: one function is one exchange's life, from the request's head to its log line.
 *
 * Knows routes and failures; does not know providers' protocols or what a chat is.
 */

import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Secret } from '../base/secret.ts';
import type { Config } from '../config/settings.ts';
import { Failure } from '../core/failure.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import { TIMER_MS_MAX } from '../core/scope.ts';
import type { ScopeEnd } from '../core/scope.ts';
import { authenticate } from './auth.ts';
import { answerBrokenRequest, brokenRequestFrom, isWaitingTooLong } from './broken-request.ts';
import type { ConnectionError } from './broken-request.ts';
import { Connection } from './connection.ts';
import { allowOrigin, answerPreflight, isPreflight } from './cors.ts';
import { Exchange } from './exchange.ts';
import { checkFraming } from './framing.ts';
import type { ServerParts } from './parts.ts';
import { report } from './report.ts';
import { allowedMethods, dialectOf, routeOf, routesOf, takesApiKey } from './routes.ts';
import type { Route } from './routes.ts';
import { limitStall } from './stall.ts';

/** How long a connection may take, and how often that is looked at. */
export type ConnectionLimits = {
  /** For the head of a request, and for a TLS handshake. */
  readonly headMs: number;
  /** For all of a request, its body included. */
  readonly requestMs: number;
  /** Between two requests. */
  readonly keepAliveMs: number;
  readonly checkIntervalMs: number;
};

const CONNECTION_LIMITS: ConnectionLimits = {
  headMs: 15_000,
  // 16 MiB at 1.1 Mbit/s.
  requestMs: 120_000,
  // Longer than the idle time of usual load balancers (60 s), so that they close first.
  keepAliveMs: 75_000,
  checkIntervalMs: 1000,
};

/** Of a request's head, and of its trailers. This bounds the number of headers too, at a few thousand. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Connections that cannot be had come by the thousand. */
const ACCEPT_LOG_INTERVAL_MS = 1000;

export type GatewayServer = {
  readonly server: Server;
  /** Exchanges whose answer is not finished. */
  inFlight(): number;
  /** Answers that have not begun will be the last of their connection. */
  endKeepAlive(): void;
  /** No new connections any more; those on which nothing is asked are closed. */
  stopListening(): void;
  /** Ends every exchange that is still in flight. */
  endAll(reason: ScopeEnd): void;
  /** New connections get this certificate; nothing happens to the others. */
  swapCertificate(tls: NonNullable<Config['tls']>): void;
};

/** A server that is not listening yet; with a certificate it speaks HTTPS. */
export function createServer(currentParts: () => ServerParts, limits = CONNECTION_LIMITS): GatewayServer {
  const routes = routesOf(currentParts().dialects);
  /** Those that asked something. */
  const connections = new Map<Duplex, Connection>();
  const inFlight = new Set<Exchange>();
  /** Why everything was ended; for what comes after it, too. */
  let end: ScopeEnd | undefined;

  function connectionOf(socket: Duplex): Connection {
    let connection = connections.get(socket);
    if (connection === undefined) {
      connection = new Connection(socket);
      if (socket.closed) return connection;
      connections.set(socket, connection);
      socket.on('close', () => connections.delete(socket));
    }
    return connection;
  }

  // hot: per request
  function onRequest(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const connection = connectionOf(request.socket);
    connection.take(request, () => handle(connection, new Exchange(request, response, expectsContinue, currentParts().dialects[0])));
  }

  async function handle(connection: Connection, exchange: Exchange): Promise<void> {
    const parts = currentParts();
    const { response } = exchange;
    connection.exchange = exchange;
    inFlight.add(exchange);
    try {
      if (parts.isDraining()) response.setHeader('Connection', 'close');
      if (end !== undefined) exchange.scope.end(end);
      await answer(exchange, parts, routes);
    } catch (thrown) {
      reportCrash(exchange, parts, thrown);
    } finally {
      if (!response.headersSent) response.destroy();
      await delivered(exchange, parts);
      connection.exchange = undefined;
      inFlight.delete(exchange);
      report(exchange, parts);
    }
  }

  const settings = {
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    maxHeaderSize: HEAD_BYTES_MAX,
    noDelay: true,
    // Answered here with a JSON body instead.
    requireHostHeader: false,
  };
  const { config } = currentParts();
  const { tls } = config;
  const server: Server =
    tls === undefined
      ? createHttpServer(settings)
      : createHttpsServer({ ...settings, handshakeTimeout: limits.headMs, ...pemOf(tls) });
  // By default the headers after the 2,000th are dropped, and nobody is told.
  server.maxHeadersCount = 0;
  server.on('request', (request, response) => onRequest(request, response, false));
  server.on('checkExpectation', (request, response) => onRequest(request, response, false));
  server.on('checkContinue', (request, response) => onRequest(request, response, true));
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    const connection = connectionOf(socket);
    // node:http has taken its own listeners away; what is being served may still wait for them.
    socket.on('error', () => socket.destroy());
    socket.on('drain', () => connection.exchange?.response.emit('drain'));
    const failure = new Failure('bad_request', 'this is not a proxy: CONNECT is not accepted');
    answerBrokenRequest(failure, socket, connection, currentParts());
  });
  server.on('clientError', (error: ConnectionError, socket: Duplex) => {
    const failure = brokenRequestFrom(error);
    const connection = connectionOf(socket);
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
  server.on('drop', () => {
    currentParts().metrics.droppedConnections.add(1);
    logNotAccepted('GATEWAY_MAX_CONNECTIONS');
  });
  server.on('error', (error: ConnectionError) => {
    if (server.listening) logNotAccepted(error.code ?? error.name);
  });

  return {
    server,
    inFlight: () => inFlight.size,
    endKeepAlive() {
      for (const { response } of inFlight) if (!response.headersSent) response.setHeader('Connection', 'close');
    },
    stopListening() {
      // Not the close of an HTTP server: it cuts off callers that are still taking an answer which was handed over.
      TcpServer.prototype.close.call(server);
      for (const connection of connections.values()) connection.closeIfIdle();
    },
    endAll(reason) {
      end = reason;
      for (const { scope } of inFlight) scope.end(reason);
    },
    swapCertificate(next) {
      if (server instanceof HttpsServer) server.setSecureContext(pemOf(next));
    },
  };
}

function pemOf({ cert, key }: NonNullable<Config['tls']>): { cert: string; key: string } {
  return { cert, key: key.reveal() };
}

/** Path, method, token, handler: in this order, so that nothing of a body is read for a stranger. */
async function answer(exchange: Exchange, parts: ServerParts, routes: ReadonlyMap<string, Route>): Promise<void> {
  const refusal = checkFraming(exchange.request);
  if (refusal !== undefined) {
    exchange.response.setHeader('Connection', 'close');
    exchange.sendFailure(refusal);
    return;
  }
  const isCrossOrigin = allowOrigin(exchange, parts.config.allowedOrigins);
  const route = routeOf(routes, exchange.path);
  if (route === undefined || (route.name === 'metrics' && !parts.config.isMetricsEnabled)) {
    exchange.sendFailure(new Failure('not_found', 'no such path'));
    return;
  }
  exchange.route = route.name;
  const dialect = dialectOf(route, exchange, parts.dialects);
  if (dialect !== undefined) exchange.speak(dialect);
  const method = exchange.request.method === 'HEAD' ? 'GET' : exchange.request.method;
  if (method === 'OPTIONS' && isCrossOrigin) {
    answerPreflight(exchange, route);
    return;
  }
  if (isPreflight(exchange)) {
    exchange.sendFailure(new Failure('bad_request', 'this origin is not allowed (GATEWAY_ALLOWED_ORIGINS)', { status: 403 }));
    return;
  }
  if (method !== route.method) {
    exchange.response.setHeader('Allow', allowedMethods(route));
    exchange.sendFailure(new Failure('bad_request', `this path takes ${route.method} only`, { status: 405 }));
    return;
  }
  const caller = callerOf(exchange, route, parts);
  if (caller instanceof Failure) {
    exchange.sendFailure(caller);
    return;
  }
  exchange.caller = caller;
  await route.answer(exchange, parts);
}

function callerOf(exchange: Exchange, route: Route, { config, dialects }: ServerParts): string | Failure {
  const { headers } = exchange.request;
  if (route.token === 'caller') {
    const apiKey = takesApiKey(route, dialects) ? headers['x-api-key'] : undefined;
    return authenticate(headers.authorization, config.callers, typeof apiKey === 'string' ? apiKey : undefined);
  }
  if (route.token === 'metrics' && config.metricsToken !== undefined) {
    return authenticate(headers.authorization, [metricsCaller(config.metricsToken)]);
  }
  return '';
}

function metricsCaller(token: Secret): { label: string; token: Secret } {
  return { label: 'metrics', token };
}

/**
 * Waits until the caller has taken its answer, is gone, or was cut off because it stopped taking it, or took as long over it
 * as a request may take: a byte now and then would hold the answer, and its place, without end.
 */
async function delivered(exchange: Exchange, { config, metrics }: ServerParts): Promise<void> {
  const { response, scope } = exchange;
  if (response.writableLength > 0 && !response.destroyed) {
    const stop = limitStall(exchange, config.writeStallTimeoutMs);
    const deadline = setTimeout(() => {
      scope.end('deadline');
      response.destroy();
    }, Math.min(config.requestTimeoutMs, TIMER_MS_MAX));
    await exchange.closed;
    clearTimeout(deadline);
    stop();
  } else {
    await exchange.closed;
  }
  if (exchange.failure !== undefined || (scope.ended !== 'caller-stalled' && scope.ended !== 'deadline')) return;
  // Everything had been handed over: nobody else waited for this caller, so nobody else says so.
  const failure = scopeFailure(scope.ended, 'GATEWAY_REQUEST_TIMEOUT');
  exchange.failure = failure;
  if (failure.limit !== undefined) metrics.limit(failure.limit);
}

/** A bug: this caller gets a 500, or an `error` frame in a stream that has begun, and everybody else goes on. */
function reportCrash(exchange: Exchange, parts: ServerParts, thrown: unknown): void {
  parts.log.error('a handler crashed', { request_id: exchange.requestId, ...describeError(thrown) });
  const failure = new Failure('unknown', 'the gateway failed to handle this request', { status: 500 });
  exchange.failure = failure;
  const { response } = exchange;
  if (exchange.failStream !== undefined) exchange.failStream(failure);
  else if (!response.headersSent) exchange.sendFailure(failure);
  else response.destroy();
}

/** An error's name, code and stack frames, without its message: that may quote what it was working on. */
export function describeError(thrown: unknown): { error: string; at: string } {
  if (!(thrown instanceof Error)) return { error: typeof thrown, at: '' };
  const code = 'code' in thrown && typeof thrown.code === 'string' ? ` ${thrown.code}` : '';
  const frames = (thrown.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return { error: thrown.name + code, at: frames.slice(0, 6).map((line) => line.trim()).join(' ') };
}
