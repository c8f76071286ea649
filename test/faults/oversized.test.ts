/** Answers beyond what the gateway itself reads: one attempt, a failure that names the limit, and never a part of the answer. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import { answerJson, environmentFor, PATHS, startUpstream } from './upstream.ts';

const DEEP = `{"a":${'{"a":'.repeat(119)}1${'}'.repeat(119)}}`;

const BODIES: Readonly<Record<string, string>> = {
  anthropic: `{"id":"m","type":"message","model":"x","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t","name":"look","input":${DEEP}}]}`,
  gemini: `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":${DEEP}}}]},"finishReason":"STOP"}]}`,
};

const STREAMS: Readonly<Record<string, readonly string[]>> = {
  anthropic: [
    '{"type":"message_start","message":{"id":"m","model":"x","content":[]}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}',
    JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: DEEP } }),
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"tool_use"}}',
    '{"type":"message_stop"}',
  ],
  gemini: [BODIES['gemini'] ?? ''],
};

for (const provider of ['anthropic', 'gemini']) {
  for (const path of PATHS) {
    test(`a call nested 120 deep from ${provider} on ${path} is asked for once, and the failure names the limit`, async (t) => {
      let attempts = 0;
      const upstream = await startUpstream(t, (response) => {
        attempts += 1;
        if (!path.endsWith('/stream')) return answerJson(response, 200, BODIES[provider] ?? '');
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end((STREAMS[provider] ?? []).map((event) => `data: ${event}\n\n`).join(''));
      });
      const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '3', GATEWAY_RETRY_BASE_DELAY: '1ms' });
      const response = await gateway.post(path, { provider, model: 'm', messages: [user('Go')] });
      const { kind, error } = (await response.json()) as { kind: string; error: string };
      assert.deepEqual([response.status, kind, attempts], [502, 'server', 1]);
      assert.match(error, /nesting beyond 100 levels, which is the gateway's limit/);
    });
  }
}
