/**
 * What counting and logging add to a request, in CPU time: the counts of one streamed chat, and its log line in both formats.
 * `node --import tsx test/bench/observe.ts`
 */

import { openSync } from 'node:fs';
import { LineWriter } from '../../src/base/line-writer.ts';
import { createLog } from '../../src/base/log.ts';
import type { Log, LogFields } from '../../src/base/log.ts';
import { createMetrics } from '../../src/metrics.ts';

const CALLS = 50_000;
const ROUNDS = 8;

const metrics = createMetrics({ version: '0', logLinesDropped: () => 0, upstreamSockets: () => 0, pageMs: 0 });
const usage = { inputTokens: 100, outputTokens: 50, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

function count(): void {
  metrics.inFlight.add(1);
  metrics.receivedBytes.add(500);
  metrics.openStreams.add(1);
  metrics.attempt('anthropic', undefined, undefined);
  metrics.chat({
    route: 'chat_stream',
    provider: 'anthropic',
    caller: 'default',
    requestedModel: 'claude-haiku-5-5',
    servedModel: 'claude-haiku-5-5',
    failure: undefined,
    ended: undefined,
    durationMs: 812,
    overheadMs: 0.4,
    firstDeltaMs: 210,
    restMs: 600,
    usage,
  });
  metrics.openStreams.add(-1);
  metrics.inFlight.add(-1);
  metrics.sentBytes.add(900);
  metrics.request('chat_stream', 200);
  metrics.chatEnded('default', 'anthropic', undefined, undefined);
}

/** As http/report.ts makes them. */
function fields(): LogFields {
  return {
    status: 200,
    total_ms: 812.4,
    provider: 'anthropic',
    model: 'claude-haiku-5-5',
    served_model: 'claude-haiku-5-5',
    kind: undefined,
    error: undefined,
    detail: undefined,
    limit: undefined,
    ended: undefined,
    attempts: 1,
    retry_refused: undefined,
    upstream_ms: 811.2,
    wait_ms: undefined,
    first_event_ms: 210.3,
    input_tokens: 100,
    output_tokens: 50,
    received_bytes: 512,
    sent_bytes: 3511,
    caller: 'default',
    method: 'POST',
    route: 'chat_stream',
    request_id: '2f1a6f2e-6a4b-4d8e-9a53-0b8a2f0c7d11',
    trace_id: undefined,
  };
}

const writer = new LineWriter(openSync('/dev/null', 'w'));

function logOf(format: 'json' | 'text'): Log {
  return createLog({ level: 'info', format, write: (line) => writer.write(line) });
}

async function measure(name: string, call: () => void): Promise<void> {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let i = 0; i < CALLS; i += 1) {
      call();
      // Lets the writer write, as it does between requests.
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / CALLS);
  }
  process.stdout.write(`${name.padEnd(24)} ${best.toFixed(2)} µs\n`);
}

await measure('counts of a stream', count);
const json = logOf('json');
const text = logOf('text');
await measure('log line, json', () => json.info('chat_stream', fields()));
await measure('log line, text', () => text.info('chat_stream', fields()));
process.exit(0);
