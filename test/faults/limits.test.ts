/** Replies at the gateway's own limits: what is good passes, and what does not is asked for once and told why. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import type { ReplyBody } from '../running-gateway.ts';
import { answerJson, environmentFor, startUpstream } from './upstream.ts';

const TOKENS = 800;
const ALTERNATIVES = 20;

/** More values than a caller may send. */
const LOGPROBS = {
  content: Array.from({ length: TOKENS }, () => ({
    token: ' a',
    top_logprobs: Array.from({ length: ALTERNATIVES }, () => ({ token: ' a', logprob: -0.25, bytes: [32, 97] })),
  })),
};
const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"n":1.0}' } };

const GOOD: Readonly<Record<string, object>> = {
  openai: { id: 'c1', model: 'm1', choices: [{ message: { content: 'Good.', tool_calls: [CALL] }, logprobs: LOGPROBS, finish_reason: 'tool_calls' }] },
  anthropic: {
    id: 'c1', model: 'm1', logprobs: LOGPROBS, stop_reason: 'tool_use',
    content: [{ type: 'text', text: 'Good.' }, { type: 'tool_use', id: 'call_1', name: 'f', input: { n: 1 } }],
  },
  gemini: {
    candidates: [
      {
        content: { parts: [{ text: 'Good.' }, { functionCall: { id: 'call_1', name: 'f', args: { n: 1 } } }] },
        finishReason: 'STOP', logprobsResult: LOGPROBS,
      },
    ],
  },
};

for (const [provider, reply] of Object.entries(GOOD)) {
  test(`a reply of ${provider} with more values than a caller may send is a good one`, async (t) => {
    const upstream = await startUpstream(t, (response) => answerJson(response, 200, JSON.stringify(reply)));
    const gateway = await startGateway(t, { ...environmentFor(upstream), OPENAI_API: 'chat' });
    const { status, body } = await gateway.chat({ provider, model: 'm', messages: [user('x')], tools: [{ name: 'f' }] });
    assert.equal(status, 200, body.error ?? '');
    assert.equal(body.text, 'Good.');
    assert.deepEqual(body.tool_calls?.map(({ arguments: args }) => args), [{ n: 1 }]);
    assert.equal(upstream.calls(), 1);
  });
}

const DEEP = `${'['.repeat(200)}"${'x'.repeat(70_000)}"${']'.repeat(200)}`;

const TOO_MUCH: readonly (readonly [what: string, body: string, sentence: RegExp])[] = [
  ['nested too deeply', DEEP, /answered 200, but its JSON has nesting beyond 100 levels, which is the gateway's limit/],
  ['of empty arrays alone', `[${'[],'.repeat(8_000_000)}[]]`, /answered 200, but its JSON has more than 1000000 values, which is the gateway's limit/],
  ['of empty objects alone', `{"choices":[${'{},'.repeat(8_000_000)}{}]}`, /answered 200, but its JSON has more than 1000000 values, which is the gateway's limit/],
  ['larger than is read', `"${'x'.repeat(32 * 1024 * 1024)}"`, /answered 200, but its body has more than 33554432 bytes, which is the gateway's limit/],
];

for (const [what, body, sentence] of TOO_MUCH) {
  test(`a reply ${what} is asked for once, and its failure names the limit`, async (t) => {
    const upstream = await startUpstream(t, (response) => answerJson(response, 200, body));
    const gateway = await startGateway(t, environmentFor(upstream));
    for (const [index, provider] of ['anthropic', 'openai', 'gemini'].entries()) {
      const reply = await gateway.chat({ provider, model: 'm', messages: [user('x')] });
      assert.equal(reply.status, 502);
      assert.equal(reply.body.kind, 'server');
      assert.match(reply.body.error ?? '', sentence);
      assert.equal(upstream.calls(), index + 1);
    }
  });
}

const FLOODING_ARGUMENTS = `{"a":[${'0,'.repeat(400_000)}0]}`;

for (const [api, reply] of [
  ['chat', { choices: [{ message: { tool_calls: [1, 2, 3].map(() => ({ function: { name: 'f', arguments: FLOODING_ARGUMENTS } })) }, finish_reason: 'tool_calls' }] }],
  ['responses', { object: 'response', status: 'completed', output: [1, 2, 3].map(() => ({ type: 'function_call', name: 'f', arguments: FLOODING_ARGUMENTS })) }],
] as const) {
  test(`calls whose arguments have too many values together are asked for once, by OPENAI_API=${api}`, async (t) => {
    const upstream = await startUpstream(t, (response) => answerJson(response, 200, JSON.stringify(reply)));
    const gateway = await startGateway(t, { ...environmentFor(upstream), OPENAI_API: api });
    const { status, body } = await gateway.chat({ provider: 'openai', model: 'm', messages: [user('x')], tools: [{ name: 'f' }] });
    assert.equal(status, 502);
    assert.match(body.error ?? '', /answered 200, but its JSON has more than 1000000 values, which is the gateway's limit/);
    assert.equal(upstream.calls(), 1);
  });
}

test('a response head larger than is read is asked for once, and its failure names the limit', async (t) => {
  const upstream = await startUpstream(t, (response) => answerJson(response, 200, '{}', { 'x-long': 'x'.repeat(70_000) }));
  const gateway = await startGateway(t, environmentFor(upstream));
  const response = await gateway.post('/v1/chat', { provider: 'openai', model: 'm', messages: [user('x')] });
  assert.equal(response.status, 502);
  assert.match(((await response.json()) as ReplyBody).error ?? '', /headers or trailers have more than 65536 bytes, which is the gateway's limit/);
  assert.equal(upstream.calls(), 1);
});

test('a list of models beyond what anybody has is asked for once, and its failure names the limit', async (t) => {
  const listOf = (models: number, more = ''): string => `{"object":"list","data":[${Array.from({ length: models }, (_, index) => `{"id":"m${index}"${more}}`).join()}]}`;
  const cases = [
    [listOf(20_001), /its model list has more than 20000 models, which is the gateway's limit/],
    [listOf(30_000, ',"tags":[1,2,3,4,5]'), /its JSON has more than 300000 values, which is the gateway's limit/],
    [listOf(1, `,"name":"${'x'.repeat(4 * 1024 * 1024)}"`), /its body has more than 4194304 bytes, which is the gateway's limit/],
  ] as const;
  let body = listOf(20_000, ',"owned_by":"somebody"');
  const upstream = await startUpstream(t, (response) => answerJson(response, 200, body));
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_RETRY_BASE_DELAY: '1ms' });
  const good = (await (await gateway.get('/v1/models?provider=openai')).json()) as { models: unknown[] };
  assert.equal(good.models.length, 20_000);
  for (const [index, [sent, sentence]] of cases.entries()) {
    body = sent;
    const response = await gateway.get('/v1/models?provider=openai');
    assert.equal(response.status, 502);
    assert.match(((await response.json()) as ReplyBody).error ?? '', sentence);
    assert.equal(upstream.calls(), index + 2);
  }
});
