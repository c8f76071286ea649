/**
 * What operators ask of the metrics, as PromQL: the page on operating, the dashboard and the names in alerts come from here.
 *
 * `process_…` and `nodejs_…` are names that every program may have, so they are asked only of processes that are a gateway.
 */

export type Question = {
  readonly title: string;
  readonly expr: string;
  /** In Grafana's words. */
  readonly unit: string;
  /** The labels that tell its series apart, in Grafana's template. */
  readonly legend: string;
};

export type Chapter = {
  readonly title: string;
  readonly about: string;
  readonly questions: readonly Question[];
};

/** Where the rate of something is asked for, this is the time that it is taken over. */
export const RATE_WINDOW = '[5m]';

/** Narrows a metric that other programs have too to those of gateways. */
export const OF_GATEWAYS = 'and on (job, instance) gateway_build_info';

export const CHAPTERS: readonly Chapter[] = [
  {
    title: 'Errors',
    about: "Errors by kind: share of all chats, without callers that hung up; share of each provider's attempts, retried or not; cut streams.",
    questions: [
      {
        title: 'Failed chats by kind',
        expr: `sum by (error_type) (rate(gateway_chats_total{error_type!~"|caller_gone"}[5m]))
  / scalar(sum(rate(gateway_chats_total[5m])))`,
        unit: 'percentunit',
        legend: '{{error_type}}',
      },
      {
        title: 'Failed attempts by provider',
        expr: `sum by (provider, outcome) (rate(gateway_upstream_attempts_total{outcome!="success"}[5m]))
  / on (provider) group_left sum by (provider) (rate(gateway_upstream_attempts_total[5m]))`,
        unit: 'percentunit',
        legend: '{{provider}} {{outcome}}',
      },
      {
        title: 'Streams cut after their first event',
        expr: 'sum by (provider, kind) (rate(gateway_streams_cut_total[5m]))',
        unit: 'ops',
        legend: '{{provider}} {{kind}}',
      },
    ],
  },
  {
    title: 'Latency',
    about: "Latency, 95th percentile: whole chats, a stream's first event, each token after it, the gateway's own part.",
    questions: [
      {
        title: 'Whole chats, 95th percentile',
        expr: 'histogram_quantile(0.95, sum by (gen_ai_provider_name, le) (rate(gen_ai_client_operation_duration_seconds_bucket[5m])))',
        unit: 's',
        legend: '{{gen_ai_provider_name}}',
      },
      {
        title: 'First event of a stream, 95th percentile',
        expr: 'histogram_quantile(0.95, sum by (gen_ai_provider_name, le) (rate(gen_ai_server_time_to_first_token_seconds_bucket[5m])))',
        unit: 's',
        legend: '{{gen_ai_provider_name}}',
      },
      {
        title: 'A token after the first, 95th percentile',
        expr: 'histogram_quantile(0.95, sum by (gen_ai_provider_name, le) (rate(gen_ai_server_time_per_output_token_seconds_bucket[5m])))',
        unit: 's',
        legend: '{{gen_ai_provider_name}}',
      },
      {
        title: "The gateway's own part, 95th percentile",
        expr: 'histogram_quantile(0.95, sum by (route, le) (rate(gateway_overhead_seconds_bucket[5m])))',
        unit: 's',
        legend: '{{route}}',
      },
    ],
  },
  {
    title: 'Use',
    about: 'Tokens by model and caller, a day; chats by caller.',
    questions: [
      {
        title: 'Tokens a day by model and caller',
        expr: 'sum by (caller, model, type) (increase(gateway_tokens_total{type=~"input|output"}[1d]))',
        unit: 'short',
        legend: '{{caller}} {{model}} {{type}}',
      },
      { title: 'Chats by caller', expr: 'sum by (caller) (rate(gateway_chats_total[5m]))', unit: 'reqps', legend: '{{caller}}' },
    ],
  },
  {
    title: 'Retries and limits',
    about: 'Retries made and not made, requests refused for lack of capacity, time limits that ended an attempt or a request.',
    questions: [
      { title: 'Retries', expr: 'sum by (provider, kind) (rate(gateway_upstream_retries_total[5m]))', unit: 'ops', legend: '{{provider}} {{kind}}' },
      { title: 'Retries not made', expr: 'sum by (provider, reason) (rate(gateway_upstream_retry_refusals_total[5m]))', unit: 'ops', legend: '{{provider}} {{reason}}' },
      { title: 'Requests refused for lack of capacity', expr: 'sum by (reason) (rate(gateway_requests_refused_total[5m]))', unit: 'reqps', legend: '{{reason}}' },
      { title: 'Time limits that were reached', expr: 'sum by (limit) (rate(gateway_limits_total[5m]))', unit: 'ops', legend: '{{limit}}' },
    ],
  },
  {
    title: 'Routes',
    about: 'Routes: targets that are out and keys that cool (1 = yes), and calls to a target after or instead of another.',
    questions: [
      { title: 'Targets out', expr: 'max by (provider, model) (gateway_target_out)', unit: 'short', legend: '{{provider}}/{{model}}' },
      { title: 'Keys cooling', expr: 'max by (provider, key) (gateway_keys_cooling)', unit: 'short', legend: '{{provider}} {{key}}' },
      { title: 'Fallbacks', expr: 'sum by (route, from, to, kind) (rate(gateway_fallbacks_total[5m]))', unit: 'ops', legend: '{{route}}: {{from}} to {{to}}, {{kind}}' },
    ],
  },
  {
    title: 'Saturation',
    about: 'Saturation: chats at once, how late the event loop is, CPU (1 = a whole core for each worker), memory, lost log lines.',
    questions: [
      { title: 'Chats at once', expr: 'sum(gateway_requests_in_flight)', unit: 'short', legend: 'in flight' },
      { title: 'Event loop late, 99th percentile', expr: 'max(gateway_event_loop_delay_seconds{percentile="99"})', unit: 's', legend: 'the latest' },
      { title: 'CPU, of a core for each worker', expr: 'max(rate(process_cpu_seconds_total[5m]) / on (job, instance) gateway_workers)', unit: 'percentunit', legend: 'the busiest' },
      { title: 'Memory', expr: `max(process_resident_memory_bytes ${OF_GATEWAYS})`, unit: 'bytes', legend: 'the largest' },
      { title: 'Lost log lines', expr: 'sum(rate(gateway_log_lines_dropped_total[5m]))', unit: 'ops', legend: 'lost' },
    ],
  },
  {
    title: 'Workers',
    about: 'Workers that serve, that did not answer the last scrape in time, and that were started to replace one that ended.',
    questions: [
      { title: 'Workers', expr: 'sum(gateway_workers)', unit: 'short', legend: 'serving' },
      { title: 'Silent workers', expr: 'sum(gateway_workers_silent)', unit: 'short', legend: 'silent' },
      { title: 'Workers replaced', expr: 'sum(rate(gateway_worker_restarts_total[5m]))', unit: 'ops', legend: 'replaced' },
    ],
  },
];

/** The questions as a block of the page on operating: blank lines between them, a comment at the head of each chapter. */
export function renderQuestions(): string {
  return CHAPTERS.map(({ about, questions }) => `# ${about}\n${questions.map(({ expr }) => `${expr}\n`).join('\n')}`).join('\n');
}
