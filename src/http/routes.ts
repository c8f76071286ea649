/** Every path the gateway answers. A new endpoint is a row here and a handler. */

import { answerChat, answerChatStream } from './chat.ts';
import type { Exchange } from './exchange.ts';
import { answerModels, answerProviders } from './models.ts';
import { answerHealth, answerMetrics, answerReady } from './ops.ts';
import type { ServerParts } from './parts.ts';

export type Route = {
  /** For logs and metrics. */
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** Whose token it asks for. */
  readonly token: 'caller' | 'metrics' | 'none';
  readonly answer: (exchange: Exchange, parts: ServerParts) => Promise<void>;
};

export const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/v1/chat', { name: 'chat', method: 'POST', token: 'caller', answer: answerChat }],
  ['/v1/chat/stream', { name: 'chat_stream', method: 'POST', token: 'caller', answer: answerChatStream }],
  ['/v1/providers', { name: 'providers', method: 'GET', token: 'caller', answer: answerProviders }],
  ['/v1/models', { name: 'models', method: 'GET', token: 'caller', answer: answerModels }],
  ['/healthz', { name: 'healthz', method: 'GET', token: 'none', answer: answerHealth }],
  ['/readyz', { name: 'readyz', method: 'GET', token: 'none', answer: answerReady }],
  ['/metrics', { name: 'metrics', method: 'GET', token: 'metrics', answer: answerMetrics }],
]);

/** The methods a route takes, for `Allow`. */
export function allowedMethods(route: Route): string {
  return route.method === 'GET' ? 'GET, HEAD' : 'POST';
}
