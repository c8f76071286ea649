/** GET /v1/providers and GET /v1/models. */

import { renderJson } from '../base/json/render.ts';
import { Failure } from '../core/failure.ts';
import { unknownProvider } from './chat.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';
import { takePlace } from './place.ts';
import { traceHeaders } from './trace.ts';

export async function answerProviders(exchange: Exchange, parts: ServerParts): Promise<void> {
  const providers = [...parts.providers.keys()].sort();
  exchange.sendJson(200, renderJson({ providers, default: parts.config.defaultProvider }));
}

/** Takes a place as a chat does: a long list is up to 50 calls. */
export async function answerModels(exchange: Exchange, parts: ServerParts): Promise<void> {
  if (!takePlace(exchange, parts)) return;
  const name = new URLSearchParams(exchange.query).get('provider') ?? parts.config.defaultProvider;
  const provider = parts.providers.get(name);
  if (provider === undefined) {
    exchange.sendFailure(unknownProvider(name));
    return;
  }
  exchange.record.provider = name;
  const timeoutMs = parts.config.requestTimeoutMs;
  const deadline = setTimeout(() => exchange.scope.end('deadline'), timeoutMs);
  const models = await parts.gateway.models(provider, {
    scope: exchange.scope,
    deadline: { atMs: exchange.startedAtMs + timeoutMs, setting: 'GATEWAY_REQUEST_TIMEOUT' },
    record: exchange.record,
    extraHeaders: parts.config.propagatesTrace ? traceHeaders(exchange.trace) : undefined,
  }).finally(() => clearTimeout(deadline));
  if (models instanceof Failure) {
    exchange.sendFailure(parts.presentable(models));
    return;
  }
  exchange.sendJson(200, exchange.dialect.renderModels(name, models));
}
