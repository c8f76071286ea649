import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Failure } from '../src/core/failure.ts';
import { createMetrics } from '../src/metrics.ts';
import type { ChatObservation, Metrics } from '../src/metrics.ts';
import { parsePage, valueOf } from './metrics-page.ts';

function newMetrics(): Metrics {
  return createMetrics({ version: '1.2.3', logLinesDropped: () => 7, upstreamSockets: () => 3, pageMs: 0 });
}

const CHAT: ChatObservation = {
  route: 'chat',
  provider: 'p',
  caller: 'team-a',
  requestedModel: 'm',
  servedModel: 'm-2026',
  failure: undefined,
  ended: undefined,
  durationMs: 1500,
  overheadMs: 2,
  firstDeltaMs: undefined,
  restMs: undefined,
  usage: { inputTokens: 100, outputTokens: 11, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
};
const STREAM: ChatObservation = { ...CHAT, route: 'chat_stream', firstDeltaMs: 250, restMs: 1000 };
const OUTAGE = new Failure('server', 'p is having trouble');

/** The labels of a GenAI series, of a model that was served under another name than it was asked for. */
const SERVED = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'p', gen_ai_response_model: 'm-2026' };
const SERIES = { ...SERVED, gen_ai_request_model: 'm' };

function seriesCount(metrics: Metrics): number {
  let count = 0;
  for (const family of parsePage(metrics.renderPage()).values()) count += family.samples.length;
  return count;
}

test('Metrics names and buckets the GenAI families as the conventions do', () => {
  const metrics = newMetrics();
  metrics.chat(STREAM);
  const page = parsePage(metrics.renderPage());
  const bounds = (name: string): (string | undefined)[] => {
    const family = page.get(name);
    const [first] = family?.samples ?? [];
    const labels = (labelled: ReadonlyMap<string, string> | undefined): string => JSON.stringify([...(labelled ?? [])].filter(([key]) => key !== 'le'));
    return (family?.samples ?? []).filter((each) => each.labels.has('le') && labels(each.labels) === labels(first?.labels)).map((each) => each.labels.get('le'));
  };
  assert.equal(
    bounds('gen_ai_client_operation_duration_seconds').join(' '),
    '0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 20.48 40.96 81.92 +Inf',
  );
  assert.equal(
    bounds('gen_ai_client_token_usage').join(' '),
    '1 4 16 64 256 1024 4096 16384 65536 262144 1048576 4194304 16777216 67108864 +Inf',
  );
  assert.equal(
    bounds('gen_ai_server_time_to_first_token_seconds').join(' '),
    '0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 +Inf',
  );
  assert.equal(
    bounds('gen_ai_server_time_per_output_token_seconds').join(' '),
    '0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5 +Inf',
  );
});

test('Metrics.chat observes duration, tokens and overhead of a whole chat, and nothing of a stream', () => {
  const metrics = newMetrics();
  metrics.chat(CHAT);
  const page = metrics.renderPage();
  assert.equal(valueOf(page, 'gen_ai_client_operation_duration_seconds_sum', { ...SERIES, error_type: '' }), 1.5);
  assert.equal(valueOf(page, 'gen_ai_client_token_usage_sum', { ...SERVED, gen_ai_token_type: 'input' }), 100);
  assert.equal(valueOf(page, 'gen_ai_client_token_usage_sum', { ...SERVED, gen_ai_token_type: 'output' }), 11);
  assert.equal(valueOf(page, 'gateway_overhead_seconds_sum', { route: 'chat' }), 0.002);
  assert.deepEqual(parsePage(page).get('gen_ai_server_time_to_first_token_seconds')?.samples, []);
  assert.deepEqual(parsePage(page).get('gen_ai_server_time_per_output_token_seconds')?.samples, []);
});

test('Metrics.chat observes the first token of a stream and the time of each after it, as the operation chat', () => {
  const metrics = newMetrics();
  metrics.chat(STREAM);
  const page = metrics.renderPage();
  assert.equal(valueOf(page, 'gen_ai_server_time_to_first_token_seconds_sum', SERVED), 0.25);
  assert.equal(valueOf(page, 'gen_ai_server_time_per_output_token_seconds_sum', SERVED), 0.1);
  assert.equal(valueOf(page, 'gen_ai_client_operation_duration_seconds_count', { ...SERIES, error_type: '' }), 1);
});

const unknowable: readonly (readonly [what: string, observation: ChatObservation])[] = [
  ['a stream without usage', { ...STREAM, usage: undefined }],
  ['a stream of one token', { ...STREAM, usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 } }],
  ['a stream with reasoning tokens', { ...STREAM, usage: { inputTokens: 1, outputTokens: 50, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 40 } }],
  ['a stream that was cut', { ...STREAM, failure: OUTAGE, servedModel: undefined }],
];

for (const [what, observation] of unknowable) {
  test(`Metrics.chat observes no time per token of ${what}`, () => {
    const metrics = newMetrics();
    metrics.chat(observation);
    assert.deepEqual(parsePage(metrics.renderPage()).get('gen_ai_server_time_per_output_token_seconds')?.samples, []);
  });
}

test('Metrics.chat counts tokens by caller and served model, with the parts that are reported', () => {
  const metrics = newMetrics();
  metrics.chat({ ...CHAT, usage: { inputTokens: 100, outputTokens: 11, cacheReadTokens: 60, cacheWriteTokens: 5, reasoningTokens: 4 } });
  metrics.chat({ ...CHAT, caller: 'team-b' });
  const tokens = (caller: string, type: string): number | undefined =>
    valueOf(metrics.renderPage(), 'gateway_tokens_total', { caller, provider: 'p', model: 'm-2026', type });
  assert.deepEqual(['input', 'output', 'cache_read', 'cache_write', 'reasoning'].map((type) => tokens('team-a', type)), [100, 11, 60, 5, 4]);
  assert.deepEqual(['input', 'output', 'cache_read', 'cache_write', 'reasoning'].map((type) => tokens('team-b', type)), [100, 11, undefined, undefined, undefined]);
});

test('Metrics.chat counts no more tokens than any model has, whatever a provider reports', () => {
  const metrics = newMetrics();
  const absurd = Number.MAX_SAFE_INTEGER;
  metrics.chat({ ...CHAT, usage: { inputTokens: absurd, outputTokens: absurd, cacheReadTokens: absurd, cacheWriteTokens: absurd, reasoningTokens: absurd } });
  const page = metrics.renderPage();
  for (const type of ['input', 'output', 'cache_read', 'cache_write', 'reasoning']) {
    assert.equal(valueOf(page, 'gateway_tokens_total', { caller: 'team-a', provider: 'p', model: 'm-2026', type }), 100_000_000);
  }
  for (const type of ['input', 'output']) {
    const labels = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'p', gen_ai_response_model: 'm-2026', gen_ai_token_type: type };
    assert.equal(valueOf(page, 'gen_ai_client_token_usage_sum', labels), 100_000_000);
  }
});

test('Metrics.chat takes the name that was asked for where a provider names no model', () => {
  const metrics = newMetrics();
  metrics.chat({ ...CHAT, servedModel: undefined });
  const page = metrics.renderPage();
  assert.equal(valueOf(page, 'gateway_tokens_total', { caller: 'team-a', provider: 'p', model: 'm', type: 'input' }), 100);
  assert.equal(valueOf(page, 'gen_ai_client_operation_duration_seconds_count', { ...SERIES, gen_ai_response_model: '', error_type: '' }), 1);
});

test('Metrics counts what ended an exchange early as that, not as the failure it led to', () => {
  const gone = new Failure('unknown', 'the caller hung up');
  const cases = [
    [undefined, 'server'],
    ['caller-gone', 'caller_gone'],
    ['caller-stalled', 'caller_stalled'],
    ['deadline', 'deadline'],
    ['shutdown', 'shutdown'],
  ] as const;
  for (const [ended, errorType] of cases) {
    const metrics = newMetrics();
    const failure = ended === undefined ? OUTAGE : gone;
    metrics.chatEnded('team-a', 'p', failure, ended);
    metrics.attempt('p', failure, ended);
    metrics.streamCut('p', failure, ended);
    metrics.chat({ ...CHAT, servedModel: undefined, usage: undefined, failure, ended });
    const page = metrics.renderPage();
    assert.equal(valueOf(page, 'gateway_chats_total', { caller: 'team-a', provider: 'p', error_type: errorType }), 1);
    assert.equal(valueOf(page, 'gateway_upstream_attempts_total', { provider: 'p', outcome: errorType }), 1);
    assert.equal(valueOf(page, 'gateway_streams_cut_total', { provider: 'p', kind: errorType }), 1);
    const series = { ...SERIES, gen_ai_request_model: 'other', gen_ai_response_model: '', error_type: errorType };
    assert.equal(valueOf(page, 'gen_ai_client_operation_duration_seconds_count', series), 1);
  }
});

test("Metrics counts a failure of the gateway's own doing as `gateway`, unless the exchange ended first", () => {
  const own = new Failure('rate_limit', 'no descriptor left', { isOwn: true });
  for (const [ended, errorType] of [[undefined, 'gateway'], ['caller-gone', 'caller_gone']] as const) {
    const metrics = newMetrics();
    metrics.chatEnded('team-a', 'p', own, ended);
    metrics.attempt('p', own, ended);
    const page = metrics.renderPage();
    assert.equal(valueOf(page, 'gateway_chats_total', { caller: 'team-a', provider: 'p', error_type: errorType }), 1);
    assert.equal(valueOf(page, 'gateway_upstream_attempts_total', { provider: 'p', outcome: errorType }), 1);
  }
});

test('Metrics counts an attempt that succeeded as a success even when the caller is gone by then', () => {
  const metrics = newMetrics();
  metrics.attempt('p', undefined, 'caller-gone');
  assert.equal(valueOf(metrics.renderPage(), 'gateway_upstream_attempts_total', { provider: 'p', outcome: 'success' }), 1);
});

test('Metrics makes a label of a model only once a provider served it', () => {
  const metrics = newMetrics();
  const failed: ChatObservation = { ...CHAT, failure: OUTAGE, servedModel: undefined, usage: undefined };
  const failures = (model: string): number | undefined =>
    valueOf(metrics.renderPage(), 'gen_ai_client_operation_duration_seconds_count', {
      ...SERIES,
      gen_ai_request_model: model,
      gen_ai_response_model: '',
      error_type: 'server',
    });
  metrics.chat(failed);
  assert.deepEqual([failures('m'), failures('other')], [undefined, 1]);
  metrics.chat(CHAT);
  metrics.chat(failed);
  assert.deepEqual([failures('m'), failures('other')], [1, 1]);
});

test('Metrics adds no series for 100,000 models that nobody serves', () => {
  const metrics = newMetrics();
  const ask = (i: number): void =>
    metrics.chat({ ...CHAT, requestedModel: `nothing-${i}`, servedModel: undefined, usage: undefined, failure: OUTAGE });
  ask(0);
  const before = seriesCount(metrics);
  for (let i = 1; i <= 100_000; i += 1) ask(i);
  assert.equal(seriesCount(metrics), before);
});

test('Metrics names some models of the 100,000 that an obliging provider serves, and loses no token of the others', () => {
  const metrics = newMetrics();
  const serve = (i: number): void => metrics.chat({ ...STREAM, requestedModel: `model-${i}`, servedModel: `model-${i}` });
  for (let i = 0; i <= 200; i += 1) serve(i);
  const before = seriesCount(metrics);
  for (let i = 201; i < 100_000; i += 1) serve(i);
  const page = parsePage(metrics.renderPage());
  assert.equal(seriesCount(metrics), before);
  const named = (family: string, label: string): number => new Set(page.get(family)?.samples.map((sample) => sample.labels.get(label))).size;
  assert.ok(named('gateway_tokens_total', 'model') > 50);
  for (const label of ['gen_ai_request_model', 'gen_ai_response_model']) assert.ok(named('gen_ai_client_operation_duration_seconds', label) > 20);
  const outputs = (page.get('gateway_tokens_total')?.samples ?? []).filter(({ labels }) => labels.get('type') === 'output');
  assert.equal(outputs.reduce((sum, { value }) => sum + value, 0), 11 * 100_000);
});

test('Metrics keeps its page below 640 KiB and its providers apart, whatever is served under whatever name', () => {
  const metrics = newMetrics();
  const providers = Array.from({ length: 10 }, (_, i) => `provider-${i}`);
  const usage = { inputTokens: 1e15, outputTokens: 1e15 / 3, cacheReadTokens: 1e14 / 3, cacheWriteTokens: 1e14 / 3, reasoningTokens: 0 };
  for (const provider of providers) metrics.chat({ ...STREAM, provider, requestedModel: 'a', servedModel: 'a' });
  const failures = [undefined, OUTAGE, new Failure('rate_limit', 'p'), new Failure('unknown', 'p')];
  for (let model = 0; model < 200; model += 1) {
    for (let name = 0; name < 10; name += 1) {
      const long = `${'x'.repeat(120)}${model}`;
      const [provider = '', failure] = [providers[name], failures[name % failures.length]];
      const caller = `team-${(model * 10 + name) % 100}`;
      const chat = { ...STREAM, provider, caller, requestedModel: `${long}-${name}`, servedModel: long, durationMs: 1e6 / 3, firstDeltaMs: 1e3 / 7, restMs: 1e9 / 7, usage };
      metrics.chat(chat);
      metrics.chat({ ...chat, failure });
      metrics.chatEnded(caller, provider, failure, undefined);
      metrics.attempt(provider, failure, undefined);
      metrics.request('chat', 200 + name);
    }
  }
  const text = metrics.renderPage();
  assert.ok(Buffer.byteLength(text) <= 640 * 1024, `${Buffer.byteLength(text)} bytes`);
  const families = parsePage(text);
  for (const family of ['gen_ai_client_operation_duration_seconds', 'gen_ai_client_token_usage', 'gen_ai_server_time_to_first_token_seconds', 'gen_ai_server_time_per_output_token_seconds']) {
    const counts = families.get(family)?.samples.filter(({ name }) => name.endsWith('_count')) ?? [];
    assert.ok(counts.length > 15, family);
    const named = new Set(counts.map(({ labels }) => labels.get('gen_ai_provider_name')));
    for (const provider of providers) assert.ok(named.has(provider), `${family} of ${provider}`);
  }
});

test('Metrics says of every request and chat, attempt and retry how it ended, however many callers and providers there are', () => {
  const metrics = newMetrics();
  const failures = [undefined, OUTAGE, new Failure('rate_limit', 'p'), new Failure('unknown', 'p'), new Failure('auth', 'p'), new Failure('bad_request', 'p')];
  const reasons = ['exhausted', 'budget', 'deadline', 'retry-after-too-long', 'out'];
  const [callers, providers] = [60, 40];
  for (let provider = 0; provider < providers; provider += 1) {
    for (const failure of failures) {
      metrics.attempt(`provider-${provider}`, failure, undefined);
      for (let caller = 0; caller < callers; caller += 1) metrics.chatEnded(`team-${caller}`, `provider-${provider}`, failure, undefined);
      if (failure === undefined) continue;
      metrics.retry(`provider-${provider}`, failure.kind);
      metrics.streamCut(`provider-${provider}`, failure, undefined);
    }
    for (const reason of reasons) metrics.retryRefused(`provider-${provider}`, reason);
  }
  const usage = { inputTokens: 100, outputTokens: 11, cacheReadTokens: 5, cacheWriteTokens: 4, reasoningTokens: 3 };
  for (let caller = 0; caller < callers; caller += 1) {
    for (let model = 0; model < providers; model += 1) metrics.chat({ ...CHAT, caller: `team-${caller}`, provider: `provider-${model}`, servedModel: `model-${model}`, usage });
  }
  const routes = ['none', 'chat', 'chat_stream', 'chat_completions', 'responses', 'messages', 'chat_count_tokens', 'count_tokens', 'models', 'model', 'providers'];
  const statuses = [200, 204, 400, 401, 403, 404, 405, 408, 413, 415, 422, 426, 429, 431, 499, 500, 502, 503];
  for (const route of routes) for (const status of statuses) metrics.request(route, status);
  const page = parsePage(metrics.renderPage());
  /** The counts of a family by its last label. */
  const ended = (family: string, label: string): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { labels, value } of page.get(family)?.samples ?? []) counts[labels.get(label) ?? ''] = (counts[labels.get(label) ?? ''] ?? 0) + value;
    return counts;
  };
  const each = (names: readonly (string | number)[], count: number): Record<string, number> => Object.fromEntries(names.map((name) => [name, count]));
  const kinds = failures.flatMap((failure) => failure?.kind ?? []);
  assert.deepEqual(ended('gateway_chats_total', 'error_type'), each(['', ...kinds], callers * providers));
  const chats = callers * providers;
  assert.deepEqual(ended('gateway_tokens_total', 'type'), { input: 100 * chats, output: 11 * chats, cache_read: 5 * chats, cache_write: 4 * chats, reasoning: 3 * chats });
  assert.deepEqual(ended('gateway_upstream_attempts_total', 'outcome'), each(['success', ...kinds], providers));
  assert.deepEqual(ended('gateway_upstream_retries_total', 'kind'), each(kinds, providers));
  assert.deepEqual(ended('gateway_streams_cut_total', 'kind'), each(kinds, providers));
  assert.deepEqual(ended('gateway_upstream_retry_refusals_total', 'reason'), each(reasons.map((reason) => reason.replaceAll('-', '_')), providers));
  assert.deepEqual(ended('gateway_http_requests_total', 'status'), each(statuses, routes.length));
  assert.ok(new Set(page.get('gateway_chats_total')?.samples.map(({ labels }) => labels.get('caller'))).size > 5);
});

test('Metrics shows two readers the same of the event loop: one that reads takes nothing from the next', async () => {
  const metrics = newMetrics();
  const lateness = (): number => valueOf(metrics.renderPage(), 'gateway_event_loop_delay_seconds', { percentile: '100' }) ?? 0;
  while (lateness() < 0.04) {
    const untilMs = performance.now() + 80;
    while (performance.now() < untilMs);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  const first = lateness();
  for (let reader = 0; reader < 10; reader += 1) assert.ok(lateness() >= first);
});

test('Metrics tells of an engine for limits where there is one: whether it is up, how long it takes, what went wrong', () => {
  const metrics = newMetrics();
  assert.equal(valueOf(metrics.renderPage(), 'gateway_limit_store_up', { engine: 'redis:6379' }), undefined);
  let isUp = true;
  const { answered, failed } = metrics.limitEngine('redis:6379', () => isUp);
  answered(0.2);
  failed('timeout');
  const page = metrics.renderPage();
  assert.deepEqual([
    valueOf(page, 'gateway_limit_store_up', { engine: 'redis:6379' }),
    valueOf(page, 'gateway_limit_store_errors_total', { cause: 'timeout' }),
    valueOf(page, 'gateway_limit_store_seconds_bucket', { engine: 'redis:6379', le: '0.0001' }),
    valueOf(page, 'gateway_limit_store_seconds_bucket', { engine: 'redis:6379', le: '0.00025' }),
  ], [1, 1, 0, 1]);
  isUp = false;
  assert.equal(valueOf(metrics.renderPage(), 'gateway_limit_store_up', { engine: 'redis:6379' }), 0);
});

test('Metrics makes its page once for all who ask within a while', () => {
  const metrics = createMetrics({ version: '1', logLinesDropped: () => 0, upstreamSockets: () => 0, pageMs: 1e9 });
  const page = metrics.renderPage();
  metrics.request('chat', 200);
  assert.equal(metrics.renderPage(), page);
  const fresh = createMetrics({ version: '1', logLinesDropped: () => 0, upstreamSockets: () => 0, pageMs: 0 });
  fresh.renderPage();
  fresh.request('chat', 200);
  assert.match(fresh.renderPage(), /gateway_http_requests_total\{route="chat",status="200"\} 1/);
});

test('Metrics makes no label of text that is no name of a model', () => {
  const metrics = newMetrics();
  for (const model of ['', 'two words', 'm\n', 'm"', '\\', 'möwe', 'x'.repeat(129)]) {
    metrics.chat({ ...CHAT, requestedModel: model, servedModel: model });
  }
  const durations = parsePage(metrics.renderPage()).get('gen_ai_client_operation_duration_seconds')?.samples ?? [];
  assert.deepEqual(new Set(durations.map((sample) => sample.labels.get('gen_ai_request_model'))), new Set(['other']));
  for (const model of ['models/gemini-3-pro', 'ft:gpt-5:org::id', 'meta-llama/Llama-4@v1', 'a_b.c+d', 'x'.repeat(128)]) {
    metrics.chat({ ...CHAT, requestedModel: model, servedModel: model });
    assert.ok(metrics.renderPage().includes(`gen_ai_request_model="${model}"`), model);
  }
});

test('Metrics keeps no request alive whose model it keeps the name of', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const metrics = newMetrics();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 128; i += 1) {
    // Copied to make it one flat string: only then is what `slice` gives a window on it.
    const body = Buffer.from(`${'x'.repeat(1 << 19)}a-model-of-usual-length-${100 + i}`).toString('utf8');
    const model = body.slice(1 << 19);
    metrics.chat({ ...STREAM, requestedModel: model, servedModel: model });
  }
  collect();
  assert.ok(process.memoryUsage().heapUsed - before < 16 << 20);
});

test('Metrics spells label values in one way', () => {
  const metrics = newMetrics();
  metrics.retryRefused('p', 'retry-after-too-long');
  assert.equal(valueOf(metrics.renderPage(), 'gateway_upstream_retry_refusals_total', { provider: 'p', reason: 'retry_after_too_long' }), 1);
});

test('Metrics tells of the process', () => {
  const page = newMetrics().renderPage();
  assert.equal(valueOf(page, 'gateway_build_info', { version: '1.2.3', node: process.version }), 1);
  assert.equal(valueOf(page, 'gateway_log_lines_dropped_total'), 7);
  assert.equal(valueOf(page, 'gateway_upstream_sockets'), 3);
  const startedAt = valueOf(page, 'process_start_time_seconds') ?? 0;
  assert.ok(startedAt > 1.7e9 && startedAt <= Date.now() / 1000 + 1);
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_heap_used_bytes']) assert.ok((valueOf(page, name) ?? 0) > 0, name);
  for (const percentile of ['50', '99', '100']) assert.ok((valueOf(page, 'gateway_event_loop_delay_seconds', { percentile }) ?? -1) >= 0);
});

test('Metrics counts a dropped log line once, however often the page is read', () => {
  const metrics = newMetrics();
  metrics.renderPage();
  assert.equal(valueOf(metrics.renderPage(), 'gateway_log_lines_dropped_total'), 7);
});

test('Metrics declares what is on its page', () => {
  const metrics = newMetrics();
  assert.deepEqual(metrics.declarations.map(({ name, type }) => `${name} ${type}`), [...parsePage(metrics.renderPage()).values()].map(({ name, type }) => `${name} ${type}`));
});

// Runs where Prometheus is installed: its own linter has nothing to say.
if (spawnSync('promtool', ['--version']).status === 0) {
  test('Metrics renders a page that promtool takes without a warning', () => {
    const metrics = newMetrics();
    metrics.chat(STREAM);
    metrics.chatEnded('team-a', 'p', undefined, undefined);
    metrics.request('chat', 200);
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: metrics.renderPage(), encoding: 'utf8' });
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
  });
}

const broken: readonly (readonly [what: string, page: string, message: RegExp])[] = [
  ['a last line without an end', '# HELP a A.\n# TYPE a gauge\na 1', /does not end/],
  ['an empty line', '# HELP a A.\n# TYPE a gauge\n\na 1\n', /line 3: no sample/],
  ['a family that comes twice', '# HELP a A.\n# TYPE a gauge\na 1\n# HELP a A.\n', /described before/],
  ['a family without a type', '# HELP a A.\na 1\n', /another family/],
  ['a sample of another family', '# HELP a A.\n# TYPE a gauge\nb 1\n', /another family/],
  ['a series that comes twice', '# HELP a A.\n# TYPE a gauge\na{x="1"} 1\na{x="1"} 2\n', /comes twice/],
  ['a label that comes twice', '# HELP a A.\n# TYPE a gauge\na{x="1",x="2"} 1\n', /no sample/],
  ['a bare quote in a label', '# HELP a A.\n# TYPE a gauge\na{x="""} 1\n', /no sample/],
  ['a value that is none', '# HELP a A.\n# TYPE a gauge\na Infinity\n', /no sample/],
  ['a negative counter', '# HELP a A.\n# TYPE a counter\na -1\n', /shrank/],
  ['buckets without +Inf', '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n', /\+Inf/],
  ['buckets that fall', '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n', /cumulative/],
  ['a count that is not the last bucket', '# HELP a A.\n# TYPE a histogram\na_bucket{le="+Inf"} 1\na_sum 1\na_count 2\n', /cumulative/],
  ['a histogram without a sum', '# HELP a A.\n# TYPE a histogram\na_bucket{le="+Inf"} 1\na_count 1\n', /no sum/],
];

for (const [what, page, message] of broken) {
  test(`parsePage refuses ${what}`, () => assert.throws(() => parsePage(page), { message }));
}
