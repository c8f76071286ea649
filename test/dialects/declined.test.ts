/** A provider that declines without a word of an answer: what it reported all the same is not lost, in any format, whole or streamed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentFor, startUpstream } from '../faults/upstream.ts';
import { startGateway } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';

/** Each thinks, declines, and reports 7 tokens in and 3 out of a model of another name. */
const DECLINED: Readonly<Record<string, { readonly whole: object; readonly events: readonly object[] }>> = {
  openai: {
    whole: {
      id: 'c1', object: 'chat.completion', model: 'served-1',
      choices: [{ index: 0, message: { role: 'assistant', content: '', reasoning_content: 'hm, no' }, finish_reason: 'content_filter' }],
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    },
    events: [
      { id: 'c1', object: 'chat.completion.chunk', model: 'served-1', choices: [{ index: 0, delta: { role: 'assistant', reasoning_content: 'hm, no' }, finish_reason: null }] },
      { id: 'c1', object: 'chat.completion.chunk', model: 'served-1', choices: [{ index: 0, delta: {}, finish_reason: 'content_filter' }] },
      { id: 'c1', object: 'chat.completion.chunk', model: 'served-1', choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } },
    ],
  },
  anthropic: {
    whole: {
      id: 'msg_1', type: 'message', role: 'assistant', model: 'served-1', content: [{ type: 'thinking', thinking: 'hm, no', signature: 'c2ln' }], stop_reason: 'refusal', stop_sequence: null,
      usage: { input_tokens: 7, output_tokens: 3 },
    },
    events: [
      { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'served-1', content: [], stop_reason: null, usage: { input_tokens: 7, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm, no' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'refusal' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ],
  },
  gemini: {
    whole: {
      candidates: [{ content: { role: 'model', parts: [{ text: 'hm, no', thought: true }] }, finishReason: 'SAFETY' }],
      modelVersion: 'served-1', responseId: 'r1', usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
    },
    events: [
      { candidates: [{ content: { role: 'model', parts: [{ text: 'hm, no', thought: true }] } }], modelVersion: 'served-1', responseId: 'r1' },
      {
        candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'SAFETY' }],
        modelVersion: 'served-1', responseId: 'r1', usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
      },
    ],
  },
};

const HI = [{ role: 'user', content: 'hi' }];

/** What is asked, how it is answered, and where the answer says what it cost. */
const ASKED: readonly {
  readonly path: string;
  readonly bodyOf: (provider: string) => object;
  readonly isStream: boolean;
  /** Undefined: an error, which has no place for it. */
  readonly cost: RegExp | undefined;
}[] = [
  { path: '/v1/chat', bodyOf: (provider) => ({ provider, model: 'm', messages: [{ role: 'user', text: 'hi' }] }), isStream: false, cost: undefined },
  { path: '/v1/chat/stream', bodyOf: (provider) => ({ provider, model: 'm', messages: [{ role: 'user', text: 'hi' }] }), isStream: true, cost: undefined },
  { path: '/v1/chat/completions', bodyOf: (provider) => ({ model: `${provider}/m`, messages: HI }), isStream: false, cost: /"usage":\{"prompt_tokens":7,"completion_tokens":3/ },
  {
    path: '/v1/chat/completions', bodyOf: (provider) => ({ model: `${provider}/m`, messages: HI, stream: true, stream_options: { include_usage: true } }), isStream: true,
    cost: /"usage":\{"prompt_tokens":7,"completion_tokens":3/,
  },
  { path: '/v1/responses', bodyOf: (provider) => ({ model: `${provider}/m`, input: 'hi', store: false }), isStream: false, cost: /"usage":\{"input_tokens":7,[^]*"output_tokens":3/ },
  { path: '/v1/responses', bodyOf: (provider) => ({ model: `${provider}/m`, input: 'hi', store: false, stream: true }), isStream: true, cost: /"usage":\{"input_tokens":7,[^]*"output_tokens":3/ },
  { path: '/v1/messages', bodyOf: (provider) => ({ model: `${provider}/m`, max_tokens: 9, messages: HI }), isStream: false, cost: /"usage":\{"input_tokens":7,[^]*"output_tokens":3/ },
  { path: '/v1/messages', bodyOf: (provider) => ({ model: `${provider}/m`, max_tokens: 9, messages: HI, stream: true }), isStream: true, cost: /"usage":\{[^}]*"output_tokens":3/ },
];

for (const [provider, { whole, events }] of Object.entries(DECLINED)) {
  test(`what ${provider} reported of an answer that it declined is in the answer, the log and the metrics`, async (t) => {
    let isStream = false;
    const upstream = await startUpstream(t, (response) => {
      if (!isStream) response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + (provider === 'openai' ? 'data: [DONE]\n\n' : ''));
    });
    const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0', GATEWAY_OPENAI_API: 'chat' });
    const lines = (): readonly Readonly<Record<string, unknown>>[] => gateway.logLines.filter((line) => 'status' in line);
    for (const { path, bodyOf, isStream: isStreamed, cost } of ASKED) {
      isStream = isStreamed;
      const seen = lines().length;
      const response = await gateway.post(path, bodyOf(provider));
      const text = await response.text();
      const what = `${path} ${isStreamed ? 'streamed' : 'whole'}: ${response.status} ${text}`;
      if (cost !== undefined) assert.match(text, cost, what);
      if (cost !== undefined || isStreamed) assert.match(text, /hm, no/, what);
      await until(() => lines().length > seen);
      const line = lines().at(-1);
      assert.deepEqual([line?.['kind'], line?.['input_tokens'], line?.['output_tokens'], line?.['served_model'] ?? line?.['model']], ['refusal', 7, 3, 'served-1'], what);
    }
    const page = await (await gateway.get('/metrics')).text();
    assert.match(page, new RegExp(`gateway_tokens_total\\{[^}]*provider="${provider}"[^}]*type="output"[^}]*\\} ${3 * ASKED.length}\\n`));
  });
}
