/** What machines ask about the gateway itself: GET /healthz, /readyz and /metrics. */

import { METRICS_CONTENT_TYPE } from '../base/prometheus.ts';
import { Failure } from '../core/failure.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';

export async function answerHealth(exchange: Exchange): Promise<void> {
  exchange.sendJson(200, '{"status":"ok"}');
}

export async function answerReady(exchange: Exchange, parts: ServerParts): Promise<void> {
  if (parts.isDraining()) exchange.sendJson(503, '{"status":"draining"}');
  else exchange.sendJson(200, '{"status":"ready"}');
}

export async function answerMetrics(exchange: Exchange, parts: ServerParts): Promise<void> {
  const page = await parts.metricsPage();
  if (page === undefined) exchange.sendFailure(new Failure('unknown', 'the metrics of all workers did not arrive in time', { status: 503 }));
  else exchange.sendText(200, METRICS_CONTENT_TYPE, page);
}
