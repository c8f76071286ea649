/** A prompt that is too long for the model: agents shorten the conversation by themselves where they are told so in the words that they look for. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentFor, startUpstream } from '../faults/upstream.ts';
import { startGateway } from '../running-gateway.ts';

const REFUSALS: Readonly<Record<string, object>> = {
  openai: { error: { message: "This model's maximum context length is 8192 tokens.", type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' } },
  anthropic: { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 208310 tokens > 200000 maximum' } },
  gemini: { error: { code: 400, message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).', status: 'INVALID_ARGUMENT' } },
};

/** In the native format the error is its sentence. */
type Body = { readonly error: string | { readonly message: string; readonly code?: string | null } };

async function errorOf(response: Response): Promise<{ readonly message: string; readonly code?: string | null }> {
  const { error } = (await response.json()) as Body;
  return typeof error === 'string' ? { message: error } : error;
}

test('a prompt that is too long says so in every format, for a whole answer and a stream, with the code that OpenAI has for it', async (t) => {
  for (const [provider, refusal] of Object.entries(REFUSALS)) {
    const upstream = await startUpstream(t, (response) => response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(refusal)));
    const gateway = await startGateway(t, environmentFor(upstream));
    const messages = [{ role: 'user', content: 'hi' }];
    for (const stream of [false, true]) {
      const bodies: Readonly<Record<string, object>> = {
        '/v1/chat/completions': { model: `${provider}/m`, messages, stream },
        '/v1/responses': { model: `${provider}/m`, input: 'hi', store: false, stream },
        '/v1/messages': { model: `${provider}/m`, max_tokens: 9, messages, stream },
        [stream ? '/v1/chat/stream' : '/v1/chat']: { provider, model: 'm', messages: [{ role: 'user', text: 'hi' }] },
      };
      for (const [path, body] of Object.entries(bodies)) {
        const response = await gateway.post(path, body);
        const error = await errorOf(response);
        const what = `${provider} ${path} ${JSON.stringify(error)}`;
        assert.equal(response.status, 400, what);
        assert.match(error.message, /: the prompt is too long$/, what);
        if (path === '/v1/chat/completions' || path === '/v1/responses') assert.equal(error.code, 'context_length_exceeded', what);
      }
    }
  }
});

test('a request that is more than a rate takes is not called too long', async (t) => {
  const refusal = { error: { message: 'Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 40000.', type: 'tokens', param: null, code: 'rate_limit_exceeded' } };
  const upstream = await startUpstream(t, (response) => response.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify(refusal)));
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0' });
  const response = await gateway.post('/v1/chat/completions', { model: 'openai/m', messages: [{ role: 'user', content: 'hi' }] });
  const error = await errorOf(response);
  assert.deepEqual([response.status, error.code], [429, 'rate_limit_exceeded']);
  assert.doesNotMatch(error.message, /too long/);
});
