/** Pages of other origins: which may read the answer, and which headers they may send and read (Fetch standard, CORS protocol). */

import type { HttpExchange } from './http-exchange.ts';
import { allowedMethods } from './routes.ts';
import type { Route } from './routes.ts';

/** What clients look at besides a status and a body. */
const EXPOSED_HEADERS = [
  'X-Request-Id, Request-Id, Retry-After, X-Should-Retry, RateLimit-Policy, RateLimit',
  'X-Gateway-Route, X-Gateway-Target, X-Gateway-Attempts, X-Gateway-Fallback, X-Gateway-Ignored',
  'x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens',
].join(', ');

const ALLOWED_HEADERS = 'Authorization, Content-Type, X-Request-Id';
/** Most names that are repeated, and of how many characters: clients send some twenty of their own, of up to thirty. */
const NAMES_MAX = 64;
const NAME = /^[\w.-]{1,64}$/;

/**
 * The names for `Access-Control-Allow-Headers`: those of the gateway, and whatever else the page says it will send, since
 * vendors' clients send headers of their own that nobody here reads. The origin was allowed before.
 */
function allowedHeaders(requested: string | undefined): string {
  const names = (requested ?? '').split(',', NAMES_MAX).map((name) => name.trim());
  return [ALLOWED_HEADERS, ...names.filter((name) => NAME.test(name))].join(', ');
}

/** Lets a listed origin's pages read the answer (CORS); true for such an origin. */
export function allowOrigin(exchange: HttpExchange, allowedOrigins: readonly string[]): boolean {
  if (allowedOrigins.length === 0) return false;
  exchange.response.setHeader('Vary', 'Origin');
  const { origin } = exchange.request.headers;
  if (origin === undefined || !allowedOrigins.includes(origin)) return false;
  exchange.response.setHeader('Access-Control-Allow-Origin', origin);
  exchange.response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
  return true;
}

/** Whether a page of another origin asks what it may send (Fetch standard, CORS-preflight request). */
export function isPreflight({ request }: HttpExchange): boolean {
  const { origin, 'access-control-request-method': wanted } = request.headers;
  return request.method === 'OPTIONS' && origin !== undefined && wanted !== undefined;
}

/** Answers what a listed origin's page asks before it sends a request. */
export function answerPreflight(exchange: HttpExchange, route: Route): void {
  const { response } = exchange;
  response.setHeader('Access-Control-Allow-Methods', allowedMethods(route));
  response.setHeader('Access-Control-Allow-Headers', allowedHeaders(exchange.request.headers['access-control-request-headers']));
  response.setHeader('Access-Control-Max-Age', '600');
  exchange.sendNoContent();
}
