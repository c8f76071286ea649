/** What the operator sees of one exchange: one log line and its counts, at its end. */

import type { LogFields, LogLevel } from '../base/log.ts';
import { bounded } from '../base/redact.ts';
import type { Tried } from '../gateway/call-record.ts';
import { isLimitName } from '../core/route.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';

/** The status a log line and a metric give to an exchange whose caller hung up first. */
const CALLER_GONE_STATUS = 499;
/** Of a model's name, which the caller chooses. */
const MODEL_CHARS_MAX = 128;

/** Asked for every few seconds by machines; their lines would drown the others. */
const OPS_ROUTES: ReadonlySet<string> = new Set(['healthz', 'readyz', 'metrics']);

/** Counts an exchange that is over and logs it. */
// hot: per request
export function report(exchange: Exchange, parts: ServerParts): void {
  const { metrics, log } = parts;
  const { ended } = exchange.scope;
  const status = ended === 'caller-gone' ? CALLER_GONE_STATUS : exchange.status;
  metrics.request(exchange.route, status);
  metrics.sentBytes.add(exchange.sentBytes);
  if (ended === 'caller-gone') metrics.disconnect(exchange.route);
  if (exchange.isChat && exchange.caller !== '') {
    metrics.chatEnded(parts.callerLabel(exchange.caller), exchange.record.provider ?? '', exchange.failure, ended);
  }
  const level = levelOf(exchange);
  if (log.isEnabled(level)) log[level](exchange.route === 'none' ? 'request' : exchange.route, fieldsOf(exchange, parts, status));
}

/** A warning is what the operator may have to act on: a failure of the gateway or of a provider, also one inside a 200. */
function levelOf({ route, failure, scope }: Exchange): LogLevel {
  if (OPS_ROUTES.has(route)) return 'debug';
  if (scope.ended === 'caller-gone' || scope.ended === 'caller-stalled') return 'info';
  return failure !== undefined && failure.status >= 500 ? 'warn' : 'info';
}

/** What people look for first comes first; ids and sizes are at the end. */
function fieldsOf(exchange: Exchange, parts: ServerParts, status: number): LogFields {
  const { record, failure } = exchange;
  // What nobody served may be a token, where two variables were mixed up.
  const named = failure === undefined ? shortened : (model: string): string => shortened(parts.redacted(model));
  const { usage } = record;
  return {
    status,
    total_ms: rounded(exchange.overAtMs - exchange.startedAtMs),
    provider: record.provider,
    model: record.requestedModel && named(record.requestedModel),
    model_route: record.modelRoute,
    served_model: record.servedModel && shortened(record.servedModel),
    kind: exchange.scope.ended === 'caller-gone' ? undefined : failure?.kind,
    error: failure === undefined ? undefined : parts.sentence(failure),
    detail: failure?.detail === undefined ? undefined : parts.redacted(failure.detail),
    limit: failure?.limit,
    limit_wait_ms: isLimitName(failure?.limit) ? failure?.retryAfterMs : undefined,
    ended: exchange.scope.ended,
    attempts: record.attempts || undefined,
    tried: record.tried.length === 0 ? undefined : record.tried.map((tried) => triedText(tried, named)).join(' '),
    key: record.key,
    sticky: record.isSticky || undefined,
    hedged: record.hedged,
    omitted: exchange.omitted.length === 0 ? undefined : exchange.omitted.join(' '),
    retry_refused: record.retryRefusal,
    upstream_ms: record.attempts > 0 ? rounded(record.upstreamMs) : undefined,
    wait_ms: record.waitedMs > 0 ? rounded(record.waitedMs) : undefined,
    first_event_ms: record.firstDeltaMs === undefined ? undefined : rounded(record.firstDeltaMs),
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
    cache_read_tokens: usage?.cacheReadTokens || undefined,
    cache_write_tokens: usage?.cacheWriteTokens || undefined,
    reasoning_tokens: usage?.reasoningTokens || undefined,
    received_bytes: exchange.receivedBytes,
    sent_bytes: exchange.sentBytes,
    caller: exchange.caller || undefined,
    address: exchange.addressFor(parts.config),
    method: exchange.method,
    route: exchange.route,
    request_id: exchange.requestId,
    trace_id: exchange.trace?.traceId,
  };
}

/** Of a target that is not a route's, the model's name is the caller's. */
function triedText({ provider, model, outcome }: Tried, named: (model: string) => string): string {
  return `${provider}/${named(model)}:${outcome}`;
}

function shortened(model: string): string {
  return bounded(model, MODEL_CHARS_MAX);
}

/** A tenth of a millisecond is enough. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
