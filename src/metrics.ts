/**
 * Every metric, declared once.
 *
 * Names and bucket bounds of the `gen_ai_` families follow OpenTelemetry's semantic conventions for
 * generative AI, in Prometheus form. Label values come from closed sets (configuration, routes, failure
 * kinds) or, for models, from what a provider said it served, bounded below.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Registry } from './base/prometheus.ts';
import type { Usage } from './core/chat.ts';

/** Most distinct model names that become labels; the next are `other`. */
const MODEL_LABELS_MAX = 200;
const MODEL_LABEL_CHARS_MAX = 128;

const DURATION_BOUNDS_S = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN_BOUNDS_S = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const PER_TOKEN_BOUNDS_S = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKEN_BOUNDS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864];
const OVERHEAD_BOUNDS_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** One finished chat, streamed or not. */
export type ChatObservation = {
  readonly operation: 'chat' | 'stream';
  readonly provider: string;
  readonly caller: string;
  readonly requestedModel: string;
  /** As the provider named it; undefined when it served nothing. */
  readonly servedModel: string | undefined;
  /** A failure kind; empty = success. */
  readonly errorType: string;
  readonly totalMs: number;
  readonly upstreamMs: number;
  readonly firstDeltaMs: number | undefined;
  readonly usage: Usage | undefined;
};

export type Metrics = ReturnType<typeof createMetrics>;

export type MetricsSources = {
  readonly version: string;
  readonly logLinesDropped: () => number;
  readonly upstreamSockets: () => number;
};

export function createMetrics(sources: MetricsSources) {
  const registry = new Registry();
  const requests = registry.counter('gateway_http_requests_total', 'Requests answered, by route and status.', ['route', 'status']);
  const inFlight = registry.gauge('gateway_requests_in_flight', 'Chat requests being served.', []).labels();
  const openStreams = registry.gauge('gateway_open_streams', 'Event streams being sent.', []).labels();
  const refused = registry.counter('gateway_requests_refused_total', 'Requests refused for want of capacity.', ['reason']);
  const attempts = registry.counter('gateway_upstream_attempts_total', 'Attempts made on providers, by outcome.', ['provider', 'outcome']);
  const retries = registry.counter('gateway_upstream_retries_total', 'Retries begun, by the kind of failure before.', ['provider', 'kind']);
  const retryRefusals = registry.counter('gateway_upstream_retry_refusals_total', 'Retries not made, by reason.', ['provider', 'reason']);
  const staleSockets = registry.counter('gateway_upstream_stale_sockets_total', 'Requests sent again because an idle connection had been closed.', ['provider']);
  const limits = registry.counter('gateway_limits_total', 'Time limits that ended an attempt or a request.', ['limit']);
  const cutStreams = registry.counter('gateway_streams_cut_total', 'Streams that failed after their first event, by kind.', ['provider', 'kind']);
  const disconnects = registry.counter('gateway_caller_disconnects_total', 'Callers that hung up before their answer was complete.', ['route']);
  const receivedBytes = registry.counter('gateway_received_bytes_total', 'Bytes of request bodies read.', []).labels();
  const sentBytes = registry.counter('gateway_sent_bytes_total', 'Bytes of response bodies written.', []).labels();
  const tokens = registry.counter('gateway_tokens_total', 'Tokens as providers reported them.', ['caller', 'provider', 'model', 'type']);
  const chats = registry.counter('gateway_chats_total', 'Chats finished, by caller; error_type is empty for a success.', ['caller', 'provider', 'error_type']);
  const overhead = registry.histogram('gateway_overhead_seconds', 'Time of a chat not spent waiting for the provider.', ['operation'], OVERHEAD_BOUNDS_S);
  const duration = registry.histogram(
    'gen_ai_client_operation_duration_seconds',
    'Duration of a chat, attempts and waits included.',
    ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model', 'gen_ai_response_model', 'error_type'],
    DURATION_BOUNDS_S,
  );
  const tokenUsage = registry.histogram(
    'gen_ai_client_token_usage',
    'Tokens of a chat.',
    ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model', 'gen_ai_response_model', 'gen_ai_token_type'],
    TOKEN_BOUNDS,
  );
  const firstToken = registry.histogram(
    'gen_ai_server_time_to_first_token_seconds',
    'Time from the first attempt to the first piece of the answer.',
    ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model', 'gen_ai_response_model'],
    FIRST_TOKEN_BOUNDS_S,
  );
  const perToken = registry.histogram(
    'gen_ai_server_time_per_output_token_seconds',
    'Time per output token after the first piece.',
    ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model', 'gen_ai_response_model'],
    PER_TOKEN_BOUNDS_S,
  );
  const models = new Set<string>();
  declareProcessMetrics(registry, sources);

  /** A label for a model that a provider served. */
  function servedLabel(model: string | undefined): string {
    if (model === undefined) return '';
    if (models.has(model)) return model;
    if (models.size >= MODEL_LABELS_MAX || model.length > MODEL_LABEL_CHARS_MAX) return 'other';
    models.add(model);
    return model;
  }

  /** A label for a model that a caller named: its name only once it was served. */
  function requestedLabel(observation: ChatObservation): string {
    if (observation.servedModel !== undefined) return servedLabel(observation.requestedModel);
    return models.has(observation.requestedModel) ? observation.requestedModel : 'other';
  }

  return {
    renderPage: () => registry.render(),
    request: (route: string, status: number) => requests.labels(route, String(status)).add(),
    refused: (reason: string) => refused.labels(reason).add(),
    inFlight,
    openStreams,
    receivedBytes,
    sentBytes,
    attempt: (provider: string, outcome: string) => attempts.labels(provider, outcome).add(),
    retry: (provider: string, kind: string) => retries.labels(provider, kind).add(),
    retryRefused: (provider: string, reason: string) => retryRefusals.labels(provider, reason).add(),
    staleSocket: (provider: string) => staleSockets.labels(provider).add(),
    limit: (limit: string) => limits.labels(limit).add(),
    streamCut: (provider: string, kind: string) => cutStreams.labels(provider, kind).add(),
    disconnect: (route: string) => disconnects.labels(route).add(),

    /** Observes one finished chat. */
    chat(observation: ChatObservation): void {
      const { operation, provider, caller, errorType, usage } = observation;
      const response = servedLabel(observation.servedModel);
      const request = requestedLabel(observation);
      chats.labels(caller, provider, errorType).add();
      duration.labels(operation, provider, request, response, errorType).observe(observation.totalMs / 1000);
      overhead.labels(operation).observe(Math.max(0, observation.totalMs - observation.upstreamMs) / 1000);
      if (observation.firstDeltaMs !== undefined) {
        firstToken.labels(operation, provider, request, response).observe(observation.firstDeltaMs / 1000);
      }
      if (usage === undefined) return;
      tokenUsage.labels(operation, provider, request, response, 'input').observe(usage.inputTokens);
      tokenUsage.labels(operation, provider, request, response, 'output').observe(usage.outputTokens);
      tokens.labels(caller, provider, response, 'input').add(usage.inputTokens);
      tokens.labels(caller, provider, response, 'output').add(usage.outputTokens);
      if (observation.firstDeltaMs !== undefined && usage.outputTokens > 1) {
        const restMs = Math.max(0, observation.upstreamMs - observation.firstDeltaMs);
        perToken.labels(operation, provider, request, response).observe(restMs / 1000 / (usage.outputTokens - 1));
      }
    },
  };
}

function declareProcessMetrics(registry: Registry, sources: MetricsSources): void {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const delayGauge = registry.gauge('gateway_event_loop_delay_seconds', 'Delay of the event loop since the last scrape.', ['quantile']);
  const gauge = (name: string, help: string, read: () => number): void => void registry.gauge(name, help, [], read);
  registry.onScrape(() => {
    for (const [quantile, percentile] of [['0.5', 50], ['0.99', 99], ['1', 100]] as const) {
      const nanoseconds = delay.percentile(percentile);
      delayGauge.labels(quantile).set(Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0);
    }
    delay.reset();
  });
  const cpuSeconds = registry.counter('process_cpu_seconds_total', 'User and system time.', []).labels();
  let cpuSeen = 0;
  registry.onScrape(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    cpuSeconds.add(Math.max(0, seconds - cpuSeen));
    cpuSeen = seconds;
  });
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('nodejs_heap_used_bytes', 'Used heap.', () => process.memoryUsage().heapUsed);
  const startedAtSeconds = Math.round(Date.now() / 1000 - process.uptime());
  gauge('process_start_time_seconds', 'Start of the process, in seconds since 1970.', () => startedAtSeconds);
  gauge('gateway_upstream_sockets', 'Open connections to providers.', sources.upstreamSockets);
  const dropped = registry.counter('gateway_log_lines_dropped_total', 'Log lines dropped because nobody read them.', []).labels();
  let droppedSeen = 0;
  registry.onScrape(() => {
    dropped.add(sources.logLinesDropped() - droppedSeen);
    droppedSeen = sources.logLinesDropped();
  });
  registry.gauge('gateway_build_info', 'Version of the gateway and of Node.', ['version', 'node']).labels(sources.version, process.version).set(1);
}
