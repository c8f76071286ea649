/** OpenAI's two APIs behind one provider, over real sockets. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';

const TOOL = { name: 'now' };

test('left to itself, the gateway asks each model by the API that serves the request', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0' });
  const pathOf = async (request: object): Promise<string | undefined> => {
    const { status, body } = await gateway.chat({ provider: 'openai', messages: [user('Hi')], ...request });
    assert.equal(status, 200, JSON.stringify(body));
    return gateway.sandbox.calls.at(-1)?.path;
  };
  assert.equal(await pathOf({ model: 'gpt-4.1', tools: [TOOL] }), '/openai/v1/chat/completions');
  assert.equal(await pathOf({ model: 'gpt-6-sol' }), '/openai/v1/chat/completions');
  assert.equal(await pathOf({ model: 'gpt-6-sol', tools: [TOOL] }), '/openai/v1/responses');
  assert.equal(await pathOf({ model: 'gpt-6-sol', tools: [TOOL], stop: ['END'] }), '/openai/v1/chat/completions');
});

test('reasoning is told by Responses, whole and streamed', async (t) => {
  const gateway = await startGateway(t, { OPENAI_API: 'responses' });
  const request = { provider: 'openai', model: 'gpt-6-sol', messages: [user('Hi')], thinking: { enabled: true, effort: 'max' } };
  const { body } = await gateway.chat(request);
  const frames = await gateway.stream(request);
  assert.match(body.thinking ?? '', /short and friendly/);
  assert.equal(frames.map((frame) => (frame.type === 'thinking_delta' ? frame.text : '')).join(''), body.thinking);
  assert.deepEqual(frames.at(-1)?.message, body.message);
});

test('stop sequences are refused where there are none, before any call', async (t) => {
  const gateway = await startGateway(t, { OPENAI_API: 'responses' });
  const { status, body } = await gateway.chat({ provider: 'openai', model: 'gpt-4.1', messages: [user('Hi')], stop: ['END'] });
  assert.deepEqual([status, body.kind], [400, 'unsupported']);
  assert.match(body.error ?? '', /stop/);
  assert.equal(gateway.sandbox.calls.length, 0);
});
