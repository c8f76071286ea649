/**
 * Every metric, declared once.
 *
 * Names and bucket bounds of the `gen_ai_` families follow OpenTelemetry's semantic conventions for
 * generative AI, in Prometheus form. Label values come from closed sets (configuration, routes, failure
 * kinds) or, for models, from what a provider said it served, bounded below.
 */

import { createLoopLateness } from './base/loop-lateness.ts';
import type { GaugeMerge, GaugeSeries } from './base/metric-series.ts';
import { Registry } from './base/prometheus.ts';
import type { Counter, Snapshot } from './base/prometheus.ts';
import { TOKENS_MAX } from './core/chat.ts';
import type { Usage } from './core/chat.ts';
import type { Failure, FailureKind } from './core/failure.ts';
import { isLimitName } from './core/route.ts';
import type { LimitName } from './core/route.ts';
import type { ScopeEnd } from './core/scope.ts';

/** Most distinct model names that become labels; the next are `other`. */
const MODEL_LABELS_MAX = 200;
/** What models are named like; anything else is `other`. */
const MODEL_NAME = /^[\w.:@/+-]{1,128}$/;
/** The conventions' name of what both chat endpoints do. */
const CHAT = 'chat';
/** How long a page is used again, so that scraping costs a bounded part of the time, however many scrape. */
const PAGE_MS = 1000;

/**
 * Shares of the page, in bytes: for some fifteen models with histograms of their own, and after these one more for each
 * provider. A series of these histograms is 3 to 4 KB.
 */
const DURATION_BYTES = 150 * 1024;
const TOKEN_USAGE_BYTES = 124 * 1024;
const FIRST_TOKEN_BYTES = 60 * 1024;
const PER_TOKEN_BYTES = 52 * 1024;
const TOKENS_BYTES = 36 * 1024;
/** Every route with every status that it can have. */
const REQUESTS_BYTES = 20 * 1024;
/** Beyond some 200 series callers are `other`, then providers too, but how a chat ended is told: a success there is no failure. */
const CHATS_BYTES = 32 * 1024;
/** The same for some 20 providers, and for their retries some 15. */
const ATTEMPTS_BYTES = 16 * 1024;
const RETRIES_BYTES = 8 * 1024;
const OVERHEAD_BYTES = 12 * 1024;
const FALLBACKS_BYTES = 8 * 1024;
/** One engine, and its causes. */
const ENGINE_CAUSES_BYTES = 1024;
const ENGINE_ANSWERS_BYTES = 4 * 1024;
/** Of a family with a caller and one of its limits: some forty callers with all four. */
const LIMITS_BYTES = 16 * 1024;

const DURATION_BOUNDS_S = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN_BOUNDS_S = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const PER_TOKEN_BOUNDS_S = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKEN_BOUNDS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864];
/** The last is the time that an answer may take. */
const ENGINE_BOUNDS_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05];
const OVERHEAD_BOUNDS_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

const REQUEST_MODEL = 'gen_ai_request_model';
const RESPONSE_MODEL = 'gen_ai_response_model';
const CHAT_LABELS = ['gen_ai_operation_name', 'gen_ai_provider_name'];

/**
 * Why a chat failed: the failure's kind, or how the exchange ended before it could, or `limited` where its caller may not have
 * more, or `gateway` where the failure is the gateway's own doing. Empty = it did not fail.
 */
type ErrorType = FailureKind | 'caller_gone' | 'caller_stalled' | 'deadline' | 'shutdown' | 'outpaced' | 'limited' | 'gateway' | '';

const ENDED_AS: Readonly<Record<ScopeEnd, ErrorType>> = {
  'caller-gone': 'caller_gone',
  'caller-stalled': 'caller_stalled',
  deadline: 'deadline',
  shutdown: 'shutdown',
  outpaced: 'outpaced',
};

/** A caller that hung up or a limit of ours is not the provider's failure, whatever failure it led to. */
function errorTypeFrom(failure: Failure | undefined, ended: ScopeEnd | undefined): ErrorType {
  if (ended !== undefined) return ENDED_AS[ended];
  if (isLimitName(failure?.limit)) return 'limited';
  return failure?.isOwn === true ? 'gateway' : (failure?.kind ?? '');
}

/** One finished chat that a provider was asked for, streamed or not. */
export type ChatObservation = {
  /** The route's name. */
  readonly route: string;
  readonly provider: string;
  readonly caller: string;
  readonly requestedModel: string;
  /** As the provider named it; undefined when it served nothing or named nothing. */
  readonly servedModel: string | undefined;
  readonly failure: Failure | undefined;
  /** How the exchange ended before its time, if it did. */
  readonly ended: ScopeEnd | undefined;
  /** From the request having been read to the answer having been handed over. */
  readonly durationMs: number;
  /** What of that was neither an attempt nor a wait between two. */
  readonly overheadMs: number;
  /** From the first attempt to the first piece of a stream. */
  readonly firstDeltaMs: number | undefined;
  /** From the first piece of a stream to its end. */
  readonly restMs: number | undefined;
  readonly usage: Usage | undefined;
};

export type Metrics = ReturnType<typeof createMetrics>;

export type MetricsSources = {
  readonly version: string;
  readonly logLinesDropped: () => number;
  readonly upstreamSockets: () => number;
  /** How much of each of its limits each caller uses; absent = nobody has any. */
  readonly limitsUsed?: () => readonly (readonly [caller: string, limit: LimitName, used: number])[];
  /** How long a page is used again; a second where absent. */
  readonly pageMs?: number | undefined;
};

/** All metrics of one gateway. What is reported by name (route, provider, reason …) comes from a closed set. */
export function createMetrics(sources: MetricsSources) {
  const registry = new Registry();
  const requests = registry.counter('gateway_http_requests_total', 'Requests answered; a caller that hung up counts as 499.', ['route', 'status'], { bytesMax: REQUESTS_BYTES });
  const droppedConnections = registry.counter('gateway_connections_dropped_total', 'Connections of callers closed at once, because there were `GATEWAY_MAX_CONNECTIONS` already.', []).labels();
  const inFlight = registry.gauge('gateway_requests_in_flight', 'Chats, token counts and model lists being served, until the caller has taken the answer.', [], 'sum').labels();
  const openStreams = registry.gauge('gateway_open_streams', 'Event streams being sent.', [], 'sum').labels();
  const refused = registry.counter('gateway_requests_refused_total', 'Chats, token counts and model lists refused for lack of capacity: `concurrency` (`GATEWAY_MAX_CONCURRENT`), `event_loop` (too late), `memory` (nearly used up), `target_concurrency` (every possible target is at its `concurrent`).', ['reason']);
  const ignoredFields = registry.counter('gateway_request_fields_ignored_total', 'Request fields in other vendors\' formats that were left out; `field` is one of the format\'s table, or `other`.', ['dialect', 'field']);
  const disconnects = registry.counter('gateway_caller_disconnects_total', 'Callers that hung up before their answer was complete.', ['route']);
  const receivedBytes = registry.counter('gateway_received_bytes_total', 'Bytes of chat requests read.', []).labels();
  const sentBytes = registry.counter('gateway_sent_bytes_total', 'Bytes of response bodies written.', []).labels();
  const chats = registry.counter(
    'gateway_chats_total',
    'Chats that ended. `provider` is empty if none was asked, `error_type` if nothing failed; `limited` = the caller had used up one of its limits.',
    ['caller', 'provider', 'error_type'],
    { bytesMax: CHATS_BYTES, open: ['caller', 'provider'] },
  );
  const tokens = registry.counter(
    'gateway_tokens_total',
    'Tokens as providers reported them: `input`, `output`, and the parts of these that are `cache_read`, `cache_write` or `reasoning`; at most 100,000,000 counted of one chat.',
    ['caller', 'provider', 'model', 'type'],
    { bytesMax: TOKENS_BYTES, open: ['model', 'caller', 'provider'] },
  );
  const overhead = registry.histogram(
    'gateway_overhead_seconds',
    'Time that a chat took in the gateway itself, without reading the request, attempts (a whole stream is one) and the waits between them.',
    ['route'],
    OVERHEAD_BOUNDS_S,
    { bytesMax: OVERHEAD_BYTES },
  );
  const attempts = registry.counter(
    'gateway_upstream_attempts_total',
    'Calls made to providers: `success`, the kind of failure, `gateway` for a failure of the gateway itself, or how the request ended early.',
    ['provider', 'outcome'],
    { bytesMax: ATTEMPTS_BYTES, open: ['provider'] },
  );
  const retries = registry.counter('gateway_upstream_retries_total', 'Retries made, by the kind of the failure before.', ['provider', 'kind'], { bytesMax: RETRIES_BYTES, open: ['provider'] });
  const retryRefusals = registry.counter(
    'gateway_upstream_retry_refusals_total',
    'Retries not made, by reason: `exhausted` (all used), `budget`, `deadline`, `retry_after_too_long`, `out` (every other target is out).',
    ['provider', 'reason'],
    { bytesMax: RETRIES_BYTES, open: ['provider'] },
  );
  const cutStreams = registry.counter('gateway_streams_cut_total', 'Streams that failed after their first event, without those whose caller hung up.', ['provider', 'kind'], { bytesMax: RETRIES_BYTES, open: ['provider'] });
  const limits = registry.counter('gateway_limits_total', 'Time limits that ended an attempt or a request, by setting; those of routes are `first_event_timeout`, `attempt_timeout` and `half of the time left`, that of model lists is `a list of models`.', ['limit']);
  const engineUp = registry.gauge('gateway_limit_store_up', "1 while the engine of `GATEWAY_LIMITS_URL` is in use; 0 while it is not, and the process counts callers' limits alone. Of several workers, the lowest.", ['engine'], 'min');
  const engineFailures = registry.counter(
    'gateway_limit_store_errors_total',
    'Errors of that engine: `auth`, `connection`, `database` (it has none of that number), `full` (too many commands at once), `loading`, `moved`, `other`, `out_of_memory`, `protocol`, `read_only`, `timeout`.',
    ['cause'],
    { bytesMax: ENGINE_CAUSES_BYTES },
  );
  const engineAnswers = registry.histogram('gateway_limit_store_seconds', 'Time that the engine took to answer for a request.', ['engine'], ENGINE_BOUNDS_S, { bytesMax: ENGINE_ANSWERS_BYTES });
  const limitRefusals = registry.counter(
    'gateway_limit_refusals_total',
    'Requests refused because their caller had used up one of its limits, by limit.',
    ['caller', 'limit'],
    { bytesMax: LIMITS_BYTES },
  );
  declareLimitsUsed(registry, sources);
  const limitTokensEstimated = registry.counter(
    'gateway_limit_tokens_estimated_total',
    'Tokens charged to callers by estimate, since no provider reported them: the caller hung up, or was cut off.',
    ['caller'],
  );
  const staleSockets = registry.counter(
    'gateway_upstream_stale_sockets_total',
    'Requests sent again because the provider had closed the idle connection.',
    ['provider'],
  );
  const targetOut = registry.gauge('gateway_target_out', '1 while a target of a route is out: asked only as a probe, or if no other target is left.', ['provider', 'model'], 'max');
  const ejections = registry.counter('gateway_target_ejections_total', 'Times a target went out: after too many `failures`, a failed `probe`, or `not_found` (no such model).', ['provider', 'model', 'cause']);
  const probes = registry.counter('gateway_probes_total', 'Requests sent as a probe to a target that was out: `success`, `failure`, `neutral` (says nothing about the target).', ['provider', 'model', 'outcome']);
  const fallbacks = registry.counter(
    'gateway_fallbacks_total',
    'Calls to a target after or instead of another, by the kind of that one\'s failure, or `out`, `cooling`, `full`, `unsupported`.',
    ['route', 'from', 'to', 'kind'],
    { bytesMax: FALLBACKS_BYTES },
  );
  const keysCooling = registry.gauge('gateway_keys_cooling', '1 while a key, by its number, is not used, for one model or for all.', ['provider', 'key'], 'max');
  const keyCooldowns = registry.counter('gateway_key_cooldowns_total', 'Times a key began to cool: `rate_limit`, `quota` (used up), `rejected`.', ['provider', 'key', 'cause']);
  const hedges = registry.counter('gateway_hedges_total', 'Second targets asked beside a slow first (`hedge_after`): `won`, `lost`, `refused` (no budget, or no other target).', ['route', 'outcome']);
  const duration = registry.histogram(
    'gen_ai_client_operation_duration_seconds',
    'Duration of a chat, from having read the request to having handed over the answer, attempts and waits included.',
    [...CHAT_LABELS, REQUEST_MODEL, RESPONSE_MODEL, 'error_type'],
    DURATION_BOUNDS_S,
    { bytesMax: DURATION_BYTES, open: [REQUEST_MODEL, RESPONSE_MODEL] },
  );
  const tokenUsage = registry.histogram(
    'gen_ai_client_token_usage',
    'Tokens of a chat, counted up to 100,000,000.',
    [...CHAT_LABELS, RESPONSE_MODEL, 'gen_ai_token_type'],
    TOKEN_BOUNDS,
    { bytesMax: TOKEN_USAGE_BYTES, open: [RESPONSE_MODEL] },
  );
  const firstToken = registry.histogram(
    'gen_ai_server_time_to_first_token_seconds',
    'Time from the first attempt to the first event of a stream that succeeded.',
    [...CHAT_LABELS, RESPONSE_MODEL],
    FIRST_TOKEN_BOUNDS_S,
    { bytesMax: FIRST_TOKEN_BYTES, open: [RESPONSE_MODEL] },
  );
  const perToken = registry.histogram(
    'gen_ai_server_time_per_output_token_seconds',
    'Time per output token after the first event of a stream that succeeded; not measured with reasoning tokens, which may not be streamed.',
    [...CHAT_LABELS, RESPONSE_MODEL],
    PER_TOKEN_BOUNDS_S,
    { bytesMax: PER_TOKEN_BYTES, open: [RESPONSE_MODEL] },
  );
  const workers = registry.gauge('gateway_workers', 'Processes that serve (`GATEWAY_WORKERS`).', [], 'first').labels();
  workers.set(1);
  const workersSilent = registry.gauge('gateway_workers_silent', 'Workers that did not answer the last scrape within a second; the page has their last counts.', [], 'first').labels();
  const workerRestarts = registry.counter('gateway_worker_restarts_total', 'Workers started in place of one that ended.', []).labels();
  const stop = declareProcessMetrics(registry, sources);
  const models = createModelLabels();
  const { pageMs = PAGE_MS } = sources;
  let page = '';
  let pageMadeAtMs = -Infinity;

  return {
    /** The text of a scrape, up to a second old. */
    renderPage(): string {
      const nowMs = performance.now();
      if (nowMs - pageMadeAtMs >= pageMs) {
        page = registry.render();
        pageMadeAtMs = nowMs;
      }
      return page;
    },
    /** The same as data, for the page of several processes. */
    snapshot: (): Snapshot => registry.snapshot(),
    /** A page of the same metrics, for the snapshots of several processes. */
    createPage: (): Registry => registry.createPage(),
    /** Measures no more; what was measured stays. */
    stop,
    /** What there is, for the documentation. */
    declarations: registry.declarations,
    // hot: per request
    request: (route: string, status: number) => requests.labels(route, String(status)).add(),
    refused: (reason: string) => refused.labels(reason).add(),
    ignoredField: (dialect: string, field: string, count: number) => ignoredFields.labels(dialect, field).add(count),
    droppedConnections,
    inFlight,
    openStreams,
    workers,
    workersSilent,
    workerRestarts,
    receivedBytes,
    sentBytes,
    /** Counts one attempt; the scope's end counts only if the attempt failed. */
    attempt: (provider: string, failure: Failure | undefined, ended: ScopeEnd | undefined) =>
      attempts.labels(provider, failure === undefined ? 'success' : errorTypeFrom(failure, ended)).add(),
    retry: (provider: string, kind: string) => retries.labels(provider, kind).add(),
    retryRefused: (provider: string, reason: string) => retryRefusals.labels(provider, reason.replaceAll('-', '_')).add(),
    /** What an engine for limits does is observed by what this returns; `isUp` is asked at each scrape. */
    limitEngine(engine: string, isUp: () => boolean) {
      const up = engineUp.labels(engine);
      registry.onScrape(() => up.set(isUp() ? 1 : 0));
      const answers = engineAnswers.labels(engine);
      return {
        answered: (answerMs: number): void => answers.observe(answerMs / 1000),
        failed: (cause: string): void => engineFailures.labels(cause).add(),
      };
    },
    staleSocket: (provider: string) => staleSockets.labels(provider).add(),
    limit: (limit: string) => limits.labels(limit).add(),
    limitRefused: (caller: string, limit: LimitName) => limitRefusals.labels(caller, limit).add(),
    limitTokensEstimated: (caller: string, tokens: number) => limitTokensEstimated.labels(caller).add(tokens),
    streamCut: (provider: string, failure: Failure, ended: ScopeEnd | undefined) =>
      cutStreams.labels(provider, errorTypeFrom(failure, ended)).add(),
    /** Called before each scrape, for what is set rather than counted. */
    onScrape: (callback: () => void) => registry.onScrape(callback),
    setTargetOut: (provider: string, model: string, isOut: boolean) => targetOut.labels(provider, model).set(isOut ? 1 : 0),
    ejection: (provider: string, model: string, cause: string) => ejections.labels(provider, model, cause).add(),
    probe: (provider: string, model: string, outcome: 'success' | 'failure' | 'neutral') => probes.labels(provider, model, outcome).add(),
    fallback: (route: string, from: string, to: string, kind: string) => fallbacks.labels(route, from, to, kind).add(),
    setKeyCooling: (provider: string, key: number, isCooling: boolean) => keysCooling.labels(provider, String(key)).set(isCooling ? 1 : 0),
    keyCooldown: (provider: string, key: number, cause: string) => keyCooldowns.labels(provider, String(key), cause).add(),
    hedge: (route: string, outcome: 'won' | 'lost' | 'refused') => hedges.labels(route, outcome).add(),
    disconnect: (route: string) => disconnects.labels(route).add(),

    /** Counts one chat, whether or not a provider was asked (else its name is empty). */
    chatEnded: (caller: string, provider: string, failure: Failure | undefined, ended: ScopeEnd | undefined) =>
      chats.labels(caller, provider, errorTypeFrom(failure, ended)).add(),

    /** Observes one chat that a provider was asked for. */
    // hot: per request
    chat(observation: ChatObservation): void {
      const { provider, caller, usage } = observation;
      const errorType = errorTypeFrom(observation.failure, observation.ended);
      const isServed = errorType === '';
      const request = isServed ? models.served(observation.requestedModel) : models.known(observation.requestedModel);
      const response = observation.servedModel === undefined ? '' : models.served(observation.servedModel);
      duration.labels(CHAT, provider, request, response, errorType).observe(observation.durationMs / 1000);
      overhead.labels(observation.route).observe(Math.max(0, observation.overheadMs) / 1000);
      if (usage !== undefined) {
        tokenUsage.labels(CHAT, provider, response, 'input').observe(Math.min(usage.inputTokens, TOKENS_MAX));
        tokenUsage.labels(CHAT, provider, response, 'output').observe(Math.min(usage.outputTokens, TOKENS_MAX));
        const model = response === '' ? request : response;
        countTokens(tokens, caller, provider, model, usage);
      }
      if (observation.firstDeltaMs === undefined || !isServed) return;
      firstToken.labels(CHAT, provider, response).observe(observation.firstDeltaMs / 1000);
      if (observation.restMs === undefined || usage === undefined || usage.outputTokens < 2 || usage.reasoningTokens > 0) return;
      perToken.labels(CHAT, provider, response).observe(observation.restMs / 1000 / (usage.outputTokens - 1));
    },
  };
}

function countTokens(tokens: Counter, caller: string, provider: string, model: string, usage: Usage): void {
  const count = (type: string, amount: number): void => {
    if (amount > 0) tokens.labels(caller, provider, model, type).add(Math.min(amount, TOKENS_MAX));
  };
  count('input', usage.inputTokens);
  count('output', usage.outputTokens);
  count('cache_read', usage.cacheReadTokens);
  count('cache_write', usage.cacheWriteTokens);
  count('reasoning', usage.reasoningTokens);
}

/** The labels of models, which no caller can make up: a name becomes one only after a provider served it. */
function createModelLabels() {
  const labels = new Map<string, string>();
  return {
    /** The label of a model that was served just now. */
    served(model: string): string {
      const label = labels.get(model);
      if (label !== undefined) return label;
      if (labels.size >= MODEL_LABELS_MAX || !MODEL_NAME.test(model)) return 'other';
      const copy = flatCopy(model);
      labels.set(copy, copy);
      return copy;
    },
    /** The label of a model that was only asked for. */
    known: (model: string): string => labels.get(model) ?? 'other',
  };
}

/** The same ASCII text on its own: a piece of a longer string keeps all of that alive, here a body of up to 16 MiB. */
function flatCopy(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

function declareLimitsUsed(registry: Registry, { limitsUsed }: MetricsSources): void {
  const used = registry.gauge(
    'gateway_limit_used_ratio',
    'How much of a limit is used: 1 = all of it, more = a debt, to be paid before the next request. Callers beyond about forty are shown as one, `other`.',
    ['caller', 'limit'],
    'max',
    undefined,
    { bytesMax: LIMITS_BYTES },
  );
  /** Those that were ever set: a limit that is no more is not used. */
  const shown = new Set<GaugeSeries>();
  registry.onScrape(() => {
    const most = new Map([...shown].map((series) => [series, 0]));
    for (const [caller, limit, ratio] of limitsUsed?.() ?? []) {
      const series = used.labels(caller, limit);
      most.set(series, Math.max(ratio, most.get(series) ?? 0));
    }
    for (const [series, ratio] of most) {
      series.set(ratio);
      shown.add(series);
    }
  });
}

/** Returns how to stop what measures without being asked. */
function declareProcessMetrics(registry: Registry, sources: MetricsSources): () => void {
  const { lateness, stop } = createLoopLateness();
  const delays = registry.gauge('gateway_event_loop_delay_seconds', 'How late the event loop was, as percentiles of the last one to two minutes.', ['percentile'], 'max');
  const gauge = (name: string, help: string, merge: GaugeMerge, read: () => number): void => void registry.gauge(name, help, [], merge, read);
  registry.onScrape(() => {
    for (const [percentile, seconds] of lateness()) delays.labels(String(percentile)).set(seconds);
  });
  const cpuSeconds = registry.counter('process_cpu_seconds_total', 'User and system time.', []).labels();
  let cpuSeen = 0;
  registry.onScrape(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    cpuSeconds.add(Math.max(0, seconds - cpuSeen));
    cpuSeen = seconds;
  });
  gauge('process_resident_memory_bytes', 'Resident memory.', 'sum', () => process.memoryUsage.rss());
  gauge('nodejs_heap_used_bytes', 'Used heap.', 'sum', () => process.memoryUsage().heapUsed);
  const startedAtSeconds = Math.round(Date.now() / 1000 - process.uptime());
  gauge('process_start_time_seconds', 'Start of the process, in seconds since 1970.', 'first', () => startedAtSeconds);
  gauge('gateway_upstream_sockets', 'Open connections to providers.', 'sum', sources.upstreamSockets);
  const dropped = registry.counter('gateway_log_lines_dropped_total', 'Log lines lost because nobody read stdout, or it could not be written.', []).labels();
  let droppedSeen = 0;
  registry.onScrape(() => {
    dropped.add(sources.logLinesDropped() - droppedSeen);
    droppedSeen = sources.logLinesDropped();
  });
  registry.gauge('gateway_build_info', 'Version of the gateway and of Node.', ['version', 'node'], 'first').labels(sources.version, process.version).set(1);
  return stop;
}
