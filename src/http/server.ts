/**
 * The inbound server: one function is one exchange's life, from the request's head to its log line.
 *
 * Knows routes and failures; does not know providers' protocols or what a chat is.
 */

import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Log } from '../base/log.ts';
import type { Secret } from '../base/secret.ts';
import type { Config } from '../config.ts';
import type { Provider } from '../core/adapter.ts';
import { Failure } from '../core/failure.ts';
import type { ScopeEnd } from '../core/scope.ts';
import type { Gateway } from '../gateway.ts';
import type { Metrics } from '../metrics.ts';
import { ambiguousHeaders, authenticate } from './auth.ts';
import type { Admission } from './chat.ts';
import { renderFailureBody } from './chat-reply.ts';
import { Exchange } from './exchange.ts';
import { allowedMethods, ROUTES } from './routes.ts';
import type { Route } from './routes.ts';

/** Time to send a request's head, and all of it. */
const HEAD_MS_MAX = 15_000;
const REQUEST_MS_MAX = 120_000;
/** Longer than the idle time of usual load balancers (60 s), so that they close first. */
const KEEP_ALIVE_MS = 75_000;
const HEAD_BYTES_MAX = 16 * 1024;

/** The status a log line and a metric give to an exchange whose caller hung up first. */
const CALLER_GONE_STATUS = 499;

/** What handlers work with. */
export type ServerParts = {
  readonly config: Config;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly gateway: Gateway;
  readonly metrics: Metrics;
  readonly admission: Admission;
  readonly log: Log;
  readonly isDraining: () => boolean;
  /** The failure as a caller may see it: with the provider's prose where the operator allows it. */
  readonly presentable: (failure: Failure) => Failure;
  /** Masks every configured secret and cuts the text to a length for logs. */
  readonly redacted: (text: string) => string;
};

export type GatewayServer = {
  readonly server: Server;
  /** Exchanges whose answer is not finished. */
  inFlight(): number;
  /** Ends every exchange that is still in flight. */
  endAll(reason: ScopeEnd): void;
};

/** A server that is not listening yet; with a certificate it speaks HTTPS. */
export function createServer(parts: ServerParts, tls: { cert: string; key: string } | undefined): GatewayServer {
  const exchanges = new Set<Exchange>();

  const handle = async (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Promise<void> => {
    const exchange = new Exchange(request, response, expectsContinue);
    exchanges.add(exchange);
    const closed = closeOf(response);
    try {
      if (parts.isDraining()) response.setHeader('Connection', 'close');
      await answer(exchange, parts);
    } catch (thrown) {
      reportCrash(exchange, parts, thrown);
    } finally {
      if (response.headersSent || response.destroyed) await closed;
      else response.destroy();
      exchanges.delete(exchange);
      report(exchange, parts);
    }
  };

  const settings = {
    headersTimeout: HEAD_MS_MAX,
    requestTimeout: REQUEST_MS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 1000,
    maxHeaderSize: HEAD_BYTES_MAX,
    noDelay: true,
    // Answered here with a JSON body instead.
    requireHostHeader: false,
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => void handle(request, response, false);
  const server: Server =
    tls === undefined ? createHttpServer(settings, onRequest) : createHttpsServer({ ...settings, ...tls }, onRequest);
  server.on('checkContinue', (request, response) => void handle(request, response, true));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const exchange = new Exchange(request, response, false);
    exchange.sendFailure(new Failure('bad_request', 'an expectation other than 100-continue cannot be met', { status: 417 }));
    report(exchange, parts);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    endRaw(socket, 405, 'Method Not Allowed', new Failure('bad_request', 'this is not a proxy: CONNECT is not allowed'));
  });
  server.on('clientError', (error: Error & { code?: string }, socket: Duplex) => {
    answerClientError(error, socket, parts);
  });

  return {
    server,
    inFlight: () => exchanges.size,
    endAll(reason) {
      for (const exchange of exchanges) exchange.scope.end(reason);
    },
  };
}

function closeOf(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.once('close', () => resolve()));
}

/** Path, method, token, handler: in this order, so that nothing of a body is read for a stranger. */
async function answer(exchange: Exchange, parts: ServerParts): Promise<void> {
  const refusal = unreadable(exchange.request);
  if (refusal !== undefined) {
    exchange.response.setHeader('Connection', 'close');
    exchange.sendFailure(refusal);
    return;
  }
  const isCrossOrigin = allowOrigin(exchange, parts.config.allowedOrigins);
  const route = ROUTES.get(exchange.path);
  if (route === undefined || (route.name === 'metrics' && !parts.config.isMetricsEnabled)) {
    exchange.sendFailure(new Failure('not_found', 'no such path'));
    return;
  }
  exchange.route = route.name;
  const method = exchange.request.method === 'HEAD' ? 'GET' : exchange.request.method;
  if (method === 'OPTIONS' && isCrossOrigin) {
    answerPreflight(exchange, route);
    return;
  }
  if (method !== route.method) {
    exchange.response.setHeader('Allow', allowedMethods(route));
    exchange.sendFailure(new Failure('bad_request', `this path takes ${route.method} only`, { status: 405 }));
    return;
  }
  const caller = callerOf(exchange, route, parts.config);
  if (caller instanceof Failure) {
    exchange.sendFailure(caller);
    return;
  }
  exchange.caller = caller;
  await route.answer(exchange, parts);
}

/** A request that two readers could read differently. */
function unreadable(request: IncomingMessage): Failure | undefined {
  if (!request.url?.startsWith('/')) return new Failure('bad_request', 'the request target must be a path');
  if (request.httpVersion === '1.1' && request.headers.host === undefined) {
    return new Failure('bad_request', 'the header host is missing');
  }
  return ambiguousHeaders(request);
}

function callerOf(exchange: Exchange, route: Route, config: Config): string | Failure {
  const { authorization } = exchange.request.headers;
  if (route.token === 'caller') return authenticate(authorization, config.callers);
  if (route.token === 'metrics' && config.metricsToken !== undefined) {
    return authenticate(authorization, [metricsCaller(config.metricsToken)]);
  }
  return '';
}

function metricsCaller(token: Secret): { label: string; token: Secret } {
  return { label: 'metrics', token };
}

/** Lets a listed origin's pages read the answer (CORS); true for such an origin. */
function allowOrigin(exchange: Exchange, allowedOrigins: readonly string[]): boolean {
  if (allowedOrigins.length === 0) return false;
  exchange.response.setHeader('Vary', 'Origin');
  const { origin } = exchange.request.headers;
  if (origin === undefined || !allowedOrigins.includes(origin)) return false;
  exchange.response.setHeader('Access-Control-Allow-Origin', origin);
  exchange.response.setHeader('Access-Control-Expose-Headers', 'X-Request-Id, Retry-After');
  return true;
}

function answerPreflight(exchange: Exchange, route: Route): void {
  const { response } = exchange;
  response.setHeader('Access-Control-Allow-Methods', allowedMethods(route));
  response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, X-Request-Id');
  response.setHeader('Access-Control-Max-Age', '600');
  exchange.status = 204;
  response.statusCode = 204;
  response.end();
}

/** A bug: this caller gets a 500 (or a broken stream), everybody else goes on. */
function reportCrash(exchange: Exchange, parts: ServerParts, thrown: unknown): void {
  parts.log.error('a handler crashed', { request_id: exchange.requestId, ...describeError(thrown) });
  exchange.failure = new Failure('unknown', 'the gateway failed to handle this request', { status: 500 });
  if (exchange.response.headersSent) exchange.response.destroy();
  else exchange.sendFailure(exchange.failure);
}

/** An error's name, code and stack frames, without its message: that may quote what it was working on. */
export function describeError(thrown: unknown): { error: string; at: string } {
  if (!(thrown instanceof Error)) return { error: typeof thrown, at: '' };
  const code = 'code' in thrown && typeof thrown.code === 'string' ? ` ${thrown.code}` : '';
  const frames = (thrown.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return { error: thrown.name + code, at: frames.slice(0, 6).map((line) => line.trim()).join(' ') };
}

/** One log line and the counts of one exchange, at its end. */
function report(exchange: Exchange, parts: ServerParts): void {
  const { record, failure } = exchange;
  const isCallerGone = exchange.scope.ended === 'caller-gone';
  const status = isCallerGone ? CALLER_GONE_STATUS : exchange.status;
  parts.metrics.request(exchange.route, status);
  parts.metrics.sentBytes.add(exchange.sentBytes);
  if (isCallerGone) parts.metrics.disconnect(exchange.route);
  if (exchange.route === 'healthz' || exchange.route === 'readyz' || exchange.route === 'metrics') {
    if (!parts.log.isEnabled('debug')) return;
  }
  const level = status >= 500 && !isCallerGone ? 'warn' : 'info';
  parts.log[level](exchange.route === 'none' ? 'request' : exchange.route, {
    request_id: exchange.requestId,
    caller: exchange.caller || undefined,
    method: exchange.request.method,
    route: exchange.route,
    status,
    kind: failure?.kind,
    error: failure === undefined ? undefined : parts.redacted(failure.message),
    detail: failure?.detail === undefined ? undefined : parts.redacted(failure.detail),
    limit: failure?.limit,
    ended: exchange.scope.ended,
    provider: record.provider,
    model: record.requestedModel,
    served_model: record.servedModel,
    attempts: record.attempts || undefined,
    total_ms: rounded(exchange.elapsedMs),
    upstream_ms: record.attempts > 0 ? rounded(record.upstreamMs) : undefined,
    first_event_ms: record.firstDeltaMs === undefined ? undefined : rounded(record.firstDeltaMs),
    input_tokens: record.usage?.inputTokens,
    output_tokens: record.usage?.outputTokens,
    received_bytes: exchange.receivedBytes,
    sent_bytes: exchange.sentBytes,
  });
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

const CLIENT_ERRORS: ReadonlyMap<string, readonly [number, string, string]> = new Map([
  ['HPE_HEADER_OVERFLOW', [431, 'Request Header Fields Too Large', `the request's head is larger than ${HEAD_BYTES_MAX} bytes`]],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'Payload Too Large', 'the chunk extensions of the body are too large']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'Request Timeout', 'the request was not sent in time']],
]);

/** What node:http would answer without a body, or not at all. */
function answerClientError(error: Error & { code?: string }, socket: Duplex, parts: ServerParts): void {
  // An answer that has begun on this connection cannot be followed by another.
  if (socket.destroyed || !socket.writable || error.code === 'ECONNRESET' || hasAnswerBegun(socket)) {
    socket.destroy();
    return;
  }
  const [status, reason, message] = CLIENT_ERRORS.get(error.code ?? '') ?? [400, 'Bad Request', 'this is not valid HTTP'];
  parts.metrics.request('none', status);
  endRaw(socket, status, reason, new Failure('bad_request', message));
}

/** True while a response to an earlier request of this connection is on its way. */
function hasAnswerBegun(socket: Duplex): boolean {
  const current: unknown = '_httpMessage' in socket ? socket._httpMessage : undefined;
  return typeof current === 'object' && current !== null && 'headersSent' in current && current.headersSent === true;
}

function endRaw(socket: Duplex, status: number, reason: string, failure: Failure): void {
  const body = renderFailureBody(failure);
  const head =
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${randomUUID()}\r\nConnection: close\r\n\r\n`;
  socket.on('error', () => socket.destroy());
  socket.end(head + body, () => socket.destroy());
}
