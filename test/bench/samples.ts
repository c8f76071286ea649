/** What one streamed chat adds to the metrics and to the log. */

import type { LogFields } from '../../src/base/log.ts';
import type { Metrics } from '../../src/metrics.ts';

const USAGE = { inputTokens: 100, outputTokens: 50, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

export function aChat(metrics: Metrics, provider = 'anthropic', model = 'claude-haiku-5-5'): void {
  metrics.inFlight.add(1);
  metrics.receivedBytes.add(500);
  metrics.openStreams.add(1);
  metrics.attempt(provider, undefined, undefined);
  metrics.chat({
    route: 'chat_stream',
    provider,
    caller: 'default',
    requestedModel: model,
    servedModel: model,
    failure: undefined,
    ended: undefined,
    durationMs: 812,
    overheadMs: 0.4,
    firstDeltaMs: 210,
    restMs: 600,
    usage: USAGE,
  });
  metrics.openStreams.add(-1);
  metrics.inFlight.add(-1);
  metrics.sentBytes.add(900);
  metrics.request('chat_stream', 200);
  metrics.chatEnded('default', provider, undefined, undefined);
}

/** As http/report.ts makes them. */
export function logFields(): LogFields {
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
