/**
 * Alert rules for Prometheus. Each says what a person has to do about it; what mends itself is not among them.
 *
 * Format: prometheus.io/docs/prometheus/latest/configuration/alerting_rules.
 */

type Alert = {
  readonly name: string;
  readonly expr: string;
  /** How long it has to hold. */
  readonly holds: string;
  /** `page`: callers are failing. `ticket`: they will, or something is lost. */
  readonly severity: 'page' | 'ticket';
  readonly summary: string;
  /** What to do. */
  readonly action: string;
};

export const ALERTS: readonly Alert[] = [
  {
    name: 'GatewayAbsent',
    expr: 'absent(gateway_build_info)',
    holds: '5m',
    severity: 'page',
    summary: 'No gateway is being scraped.',
    action: 'Check that a gateway runs, and that GATEWAY_METRICS is on and the scraper sends GATEWAY_METRICS_TOKEN.',
  },
  {
    name: 'GatewayChatsFailing',
    // What callers did wrong or wanted is not among these kinds.
    expr: `sum(rate(gateway_chats_total{error_type=~"auth|rate_limit|server|unknown|deadline|gateway"}[5m]))
  / sum(rate(gateway_chats_total[5m])) > 0.05`,
    holds: '10m',
    severity: 'page',
    summary: 'More than 5 % of all chats fail, and not because of what callers ask.',
    action: 'The panel of failed chats says of which kind. Then run gateway --doctor --chat.',
  },
  {
    name: 'GatewayKeyRejected',
    expr: 'sum by (provider) (rate(gateway_upstream_attempts_total{outcome="auth"}[5m])) > 0',
    holds: '5m',
    severity: 'page',
    summary: "{{ $labels.provider }} rejects the gateway's key.",
    action: 'gateway --doctor names the variable to change. A key in a file is read again on SIGHUP; one in the environment takes a restart.',
  },
  {
    name: 'GatewayProviderFailing',
    expr: `sum by (provider) (rate(gateway_upstream_attempts_total{outcome=~"server|unknown"}[5m]))
  / sum by (provider) (rate(gateway_upstream_attempts_total[5m])) > 0.25`,
    holds: '10m',
    severity: 'ticket',
    summary: 'More than a quarter of the attempts at {{ $labels.provider }} fail.',
    action: 'gateway --doctor says whether the fault is at the provider or on the way to it.',
  },
  {
    name: 'GatewayTargetOut',
    expr: 'max by (provider, model) (gateway_target_out) > 0',
    holds: '15m',
    severity: 'ticket',
    summary: '{{ $labels.provider }}/{{ $labels.model }} is out: other targets of its routes serve instead.',
    action: 'The log has the cause. For not_found correct the name of the model in the route; else do as for a failing provider.',
  },
  {
    name: 'GatewayKeyCooling',
    expr: 'max by (provider, key) (gateway_keys_cooling) > 0',
    holds: '15m',
    severity: 'ticket',
    summary: 'Key {{ $labels.key }} of {{ $labels.provider }} is hardly used: its rate is limited, its quota is used up, or it is rejected.',
    action: 'gateway_key_cooldowns_total and the log say which. Replace a rejected key; callers notice nothing while other keys serve.',
  },
  {
    name: 'GatewayRetryBudgetSpent',
    expr: 'sum by (provider) (rate(gateway_upstream_retry_refusals_total{reason="budget"}[5m])) > 0',
    holds: '5m',
    severity: 'ticket',
    summary: 'So many calls to {{ $labels.provider }} fail that its retry budget is used up.',
    action: 'Do as for a failing provider. Until then its failures reach callers without a retry.',
  },
  {
    name: 'GatewayStreamsCut',
    expr: 'sum by (provider) (rate(gateway_streams_cut_total{kind="server"}[15m])) > 0.05',
    holds: '15m',
    severity: 'ticket',
    summary: 'Streams of {{ $labels.provider }} break off after they have begun.',
    action: 'Look for a proxy with a time limit on the way; the log has the kind and the limit of each failure.',
  },
  {
    name: 'GatewaySlowFirstEvent',
    expr: 'histogram_quantile(0.95, sum by (gen_ai_provider_name, le) (rate(gen_ai_server_time_to_first_token_seconds_bucket[15m]))) > 7.5',
    holds: '15m',
    severity: 'ticket',
    summary: 'One stream of {{ $labels.gen_ai_provider_name }} in twenty takes more than 7.5 s to begin.',
    action: 'Compare with the overhead of the gateway. If that has not grown, the cause is the provider or the model.',
  },
  {
    name: 'GatewayRefusesRequests',
    expr: 'sum by (reason) (rate(gateway_requests_refused_total[5m])) > 0',
    holds: '5m',
    severity: 'page',
    summary: 'Requests are refused for lack of capacity: {{ $labels.reason }}.',
    action: 'Run more gateways, or give each more: GATEWAY_MAX_CONCURRENT, the concurrent of providers and targets, memory, CPU.',
  },
  {
    name: 'GatewayConnectionsDropped',
    expr: 'sum(rate(gateway_connections_dropped_total[5m])) > 0',
    holds: '5m',
    severity: 'page',
    summary: "Callers' connections are closed at once: there are too many.",
    action: 'Raise the descriptor limit (ulimit -n) or GATEWAY_MAX_CONNECTIONS, or run more gateways.',
  },
  {
    name: 'GatewayLate',
    expr: 'max by (job, instance) (gateway_event_loop_delay_seconds{percentile="99"}) > 0.25',
    holds: '10m',
    severity: 'ticket',
    summary: 'The event loop of {{ $labels.instance }} is late by more than 250 ms.',
    action: 'It has too little CPU or too much to do: raise its CPU limit, or run more gateways.',
  },
  {
    name: 'GatewayBusy',
    expr: 'rate(process_cpu_seconds_total[5m]) / on (job, instance) gateway_workers > 0.85',
    holds: '15m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} uses nearly all of a core for each of its workers, and can use no more.',
    action: 'Raise GATEWAY_WORKERS if there are more cores, or run more gateways behind the load balancer.',
  },
  {
    name: 'GatewayWorkersEnding',
    expr: 'sum by (job, instance) (rate(gateway_worker_restarts_total[10m])) > 0',
    holds: '10m',
    severity: 'ticket',
    summary: 'Workers of {{ $labels.instance }} keep ending, and their streams with them.',
    action: 'The log says how each ended. A SIGKILL that nobody sent usually comes from the kernel, for lack of memory.',
  },
  {
    name: 'GatewayWorkerSilent',
    expr: 'gateway_workers_silent > 0',
    holds: '2m',
    severity: 'page',
    summary: 'A worker of {{ $labels.instance }} has not answered for two minutes, and its callers wait.',
    action: 'Restart the gateway, or kill -9 the worker process that uses a whole core: another replaces it.',
  },
  {
    name: 'GatewayLimitsApart',
    expr: 'gateway_limit_store_up < 1',
    holds: '5m',
    severity: 'ticket',
    summary: "A gateway counts its callers' limits alone: {{ $labels.engine }} does not answer it.",
    action: 'Its log has the cause. Until that is mended, each replica admits as much as all of them together should.',
  },
  {
    name: 'GatewayLogLinesLost',
    expr: 'sum by (job, instance) (rate(gateway_log_lines_dropped_total[5m])) > 0',
    holds: '10m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} loses log lines.',
    action: 'What reads its stdout has stopped or is too slow, or the disk that it is written to is full.',
  },
];

/** As YAML, a file of rules. */
export function renderAlerts(): string {
  return `groups:\n  - name: chat-completion-gateway\n    rules:\n${ALERTS.map(renderAlert).join('')}`;
}

/** Strings are written as JSON has them, which YAML reads. */
function renderAlert({ name, expr, holds, severity, summary, action }: Alert): string {
  return [
    `      - alert: ${name}`,
    '        expr: |-',
    ...expr.split('\n').map((line) => `          ${line}`),
    `        for: ${holds}`,
    `        labels: {severity: ${severity}}`,
    '        annotations:',
    `          summary: ${JSON.stringify(summary)}`,
    `          description: ${JSON.stringify(action)}`,
    '',
  ].join('\n');
}
