/** Every path the gateway answers. A new endpoint is a row here and a handler; chats are the rows of the dialects. */

import type { CallerDialect } from '../core/dialect.ts';
import { answerChat } from './chat.ts';
import { answerCount } from './count.ts';
import type { Exchange } from './exchange.ts';
import { answerModel, answerModels, answerProviders, MODEL_PATH, sharersOf } from './models.ts';
import { answerHealth, answerMetrics, answerReady } from './ops.ts';
import type { ServerParts } from './parts.ts';

export type Route = {
  /** For logs and metrics. */
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** Whose token it asks for. */
  readonly token: 'caller' | 'metrics' | 'none';
  /** What its callers speak; undefined = whatever answers what belongs to no dialect. */
  readonly dialect?: CallerDialect;
  /** Whether dialects share it, told apart by headers. */
  readonly isShared?: true;
  readonly answer: (exchange: Exchange, parts: ServerParts) => Promise<void>;
};

const METRICS_PATH = '/metrics';

const ROUTES: readonly (readonly [path: string, Route])[] = [
  ['/v1/providers', { name: 'providers', method: 'GET', token: 'caller', answer: answerProviders }],
  ['/v1/models', { name: 'models', method: 'GET', token: 'caller', isShared: true, answer: answerModels }],
  ['/healthz', { name: 'healthz', method: 'GET', token: 'none', answer: answerHealth }],
  ['/readyz', { name: 'readyz', method: 'GET', token: 'none', answer: answerReady }],
  [METRICS_PATH, { name: 'metrics', method: 'GET', token: 'metrics', answer: answerMetrics }],
];

/** A path for every model: names may hold slashes. */
const MODEL_ROUTE: Route = { name: 'model', method: 'GET', token: 'caller', isShared: true, answer: answerModel };

/** The route of a path; undefined = there is none. */
// hot: per request
export function routeOf(routes: ReadonlyMap<string, Route>, path: string): Route | undefined {
  return routes.get(path) ?? (path.startsWith(MODEL_PATH) && path.length > MODEL_PATH.length ? MODEL_ROUTE : undefined);
}

/** The path that is meant by one that does not exist, where a base URL says too much, too little or other letters; undefined = none. */
export function nearestPath(routes: ReadonlyMap<string, Route>, path: string): string | undefined {
  const asked = path.toLowerCase().replace(/\/+/g, '/').replace(/\/$/, '');
  return [...routes.keys()].find((known) => known !== path && (asked.endsWith(known) || `/v1${asked}` === known));
}

/** What the callers of a route speak, as far as its path and their headers say. */
// hot: per request
export function dialectOf(route: Route, exchange: Exchange, dialects: ServerParts['dialects']): CallerDialect | undefined {
  return route.isShared === true ? sharersOf(exchange, dialects)[0] : route.dialect;
}

/** Whether a caller's token may also come as `x-api-key`. */
export function takesApiKey(route: Route, dialects: ServerParts['dialects']): boolean {
  return route.isShared === true ? dialects.some((dialect) => dialect.takesApiKey) : route.dialect?.takesApiKey === true;
}

/** The routes by their paths. */
export function routesOf({ dialects, config }: Pick<ServerParts, 'dialects' | 'config'>): ReadonlyMap<string, Route> {
  const routes = new Map(ROUTES);
  if (!config.isMetricsEnabled) routes.delete(METRICS_PATH);
  for (const dialect of dialects) {
    for (const row of dialect.routes) {
      const answer: Route['answer'] = (exchange, parts) => answerChat(exchange, parts, row);
      routes.set(row.path, { name: row.name, method: 'POST', token: 'caller', dialect, answer });
    }
    const { counting } = dialect;
    if (counting === undefined) continue;
    const answer: Route['answer'] = (exchange, parts) => answerCount(exchange, parts, counting);
    routes.set(counting.route.path, { name: counting.route.name, method: 'POST', token: 'caller', dialect, answer });
  }
  return routes;
}

/** The methods a route takes, for `Allow`. */
export function allowedMethods(route: Route): string {
  return route.method === 'GET' ? 'GET, HEAD' : 'POST';
}
