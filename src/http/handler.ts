/**
 * A request of node:http, on whichever server it came: path, method, token, route.
 *
 * Knows routes and failures; does not know providers' protocols or what a chat is.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { describeError } from '../base/describe-error.ts';
import { hintOf } from '../base/nearest.ts';
import type { Secret } from '../base/secret.ts';
import { Failure } from '../core/failure.ts';
import { askHost, authenticate } from './auth.ts';
import { Connection } from './connection.ts';
import { allowOrigin, answerPreflight, isPreflight } from './cors.ts';
import type { Exchanges } from './exchanges.ts';
import { checkFraming } from './framing.ts';
import type { Origin } from './framing.ts';
import { HttpExchange } from './http-exchange.ts';
import type { ServerParts } from './parts.ts';
import { allowedMethods, dialectOf, nearestPath, routeOf, routesOf, takesApiKey } from './routes.ts';
import type { Route } from './routes.ts';

export type Handler = {
  /** Serves a request when its turn has come. `expectsContinue`: its body is sent once it was asked for. */
  take(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void;
  connectionOf(socket: Duplex): Connection;
  /** Closes the connections on which nothing is asked. */
  closeIdle(): void;
};

export function createHandler(currentParts: () => ServerParts, exchanges: Exchanges, origin: Origin = { isMounted: false }): Handler {
  const routes = routesOf(currentParts());
  /** Open connections on which something was asked. */
  const connections = new Map<Duplex, Connection>();

  function connectionOf(socket: Duplex): Connection {
    let connection = connections.get(socket);
    if (connection === undefined) {
      connection = new Connection(socket);
      if (socket.closed) return connection;
      connections.set(socket, connection);
      const opened = connection;
      socket.on('close', () => {
        connections.delete(socket);
        // An answer that waits behind one of a host's own has no socket yet, and hears nothing of its end.
        opened.exchange?.close();
      });
    }
    return connection;
  }

  const work = (exchange: HttpExchange, parts: ServerParts): Promise<void> | undefined => answer(exchange, parts, routes, origin);

  /** Resolves when its answer was taken, and never rejects. */
  // hot: per request
  function handle(connection: Connection, request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Promise<void> {
    const parts = currentParts();
    const giveUp = (thrown: unknown): void => {
      // Thrown on, it would end the process, which may have more to do than to be a gateway.
      parts.log.error('a request could not be served', describeError(thrown));
      response.destroy();
    };
    try {
      connection.exchange = new HttpExchange(request, response, expectsContinue, parts.dialects[0]);
      return exchanges.serve(connection.exchange, parts, work).catch(giveUp);
    } catch (thrown) {
      giveUp(thrown);
      return Promise.resolve();
    }
  }

  return {
    // hot: per request
    take(request, response, expectsContinue) {
      const connection = connectionOf(request.socket);
      connection.take(request, () => handle(connection, request, response, expectsContinue));
    },
    connectionOf,
    closeIdle() {
      for (const connection of connections.values()) connection.closeIfIdle();
    },
  };
}

/** Path, method, token, handler: in this order, so that nothing of a body is read for a stranger. */
function answer(exchange: HttpExchange, parts: ServerParts, routes: ReadonlyMap<string, Route>, origin: Origin): Promise<void> | undefined {
  if (parts.isDraining()) exchange.endKeepAlive();
  const refusal = checkFraming(exchange.request, origin);
  if (refusal !== undefined) {
    exchange.response.setHeader('Connection', 'close');
    exchange.sendFailure(refusal);
    return undefined;
  }
  const isCrossOrigin = allowOrigin(exchange, parts.config.allowedOrigins);
  const route = routeOf(routes, exchange.path);
  if (route === undefined) {
    exchange.sendFailure(new Failure('not_found', `no such path${hintOf(nearestPath(routes, exchange.path))}`));
    return undefined;
  }
  exchange.route = route.name;
  const dialect = dialectOf(route, exchange, parts.dialects);
  if (dialect !== undefined) exchange.speak(dialect);
  const method = exchange.request.method === 'HEAD' ? 'GET' : exchange.request.method;
  if (method === 'OPTIONS' && isCrossOrigin) {
    answerPreflight(exchange, route);
    return undefined;
  }
  if (isPreflight(exchange)) {
    exchange.sendFailure(new Failure('bad_request', 'this origin is not allowed (GATEWAY_ALLOWED_ORIGINS)', { status: 403 }));
    return undefined;
  }
  if (method !== route.method) {
    exchange.response.setHeader('Allow', allowedMethods(route));
    exchange.sendFailure(asksForWebSocket(exchange) ? noWebSocket(exchange) : new Failure('bad_request', `this path takes ${route.method} only`, { status: 405 }));
    return undefined;
  }
  const known = callerOf(exchange, route, parts);
  const asksHost = known instanceof Failure && route.token === 'caller' && parts.authenticate !== undefined;
  if (asksHost) return askHost(exchange, parts).then((caller) => answerTo(caller, exchange, parts, route));
  return answerTo(known, exchange, parts, route);
}

function answerTo(caller: string | Failure, exchange: HttpExchange, parts: ServerParts, route: Route): Promise<void> | undefined {
  if (caller instanceof Failure) {
    exchange.sendFailure(caller);
    return undefined;
  }
  exchange.caller = caller;
  return route.answer(exchange, parts);
}

function asksForWebSocket({ request }: HttpExchange): boolean {
  return request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket';
}

/** Agents try a WebSocket first (Codex, where its own provider's base URL is changed): at a 426, and no other status, they ask by HTTP at once. */
function noWebSocket({ response }: HttpExchange): Failure {
  response.setHeader('Upgrade', 'HTTP/1.1');
  response.setHeader('Connection', 'close, Upgrade');
  return new Failure('bad_request', 'this path takes POST only, and no WebSocket', { status: 426 });
}

function callerOf(exchange: HttpExchange, route: Route, { config, dialects }: ServerParts): string | Failure {
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
