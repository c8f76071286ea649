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

const PDF = { type: 'document', media_type: 'application/pdf', data: 'JVBERi0xLjQK', name: 'a.pdf' };
const PDF_BY_URL = { type: 'document', media_type: 'application/pdf', url: 'https://example.com/a.pdf', name: 'a.pdf' };
const IMAGE = { type: 'image', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const asked = (part: object): object => ({ role: 'user', content: [{ type: 'text', text: 'Read' }, part] });
const shown = (...content: object[]): object[] => [
  user('Go'),
  { role: 'assistant', content: [{ type: 'tool_call', id: 'call_1', name: 'look', arguments: {} }] },
  { role: 'tool', content: [{ type: 'tool_result', tool_call_id: 'call_1', content }] },
];
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };

test('a PDF by URL, and what a tool shows, go to the API that takes them, and are read there', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0' });
  for (const [messages, path, read] of [
    [[asked(PDF)], '/openai/v1/chat/completions', /I read 1 document\./],
    [[asked(PDF_BY_URL)], '/openai/v1/responses', /I read 1 document\./],
    [shown(IMAGE, PDF), '/openai/v1/responses', /I see 1 image\. I read 1 document\./],
  ] as const) {
    const { status, body } = await gateway.chat({ provider: 'openai', model: 'gpt-4.1', messages });
    assert.equal(status, 200, JSON.stringify(body));
    assert.match(body.text ?? '', read);
    assert.equal(gateway.sandbox.calls.at(-1)?.path, path);
  }
});

for (const api of ['chat', 'responses']) {
  test(`by ${api} alone, what a tool shows is seen, and an answer and the calls of a strict tool have their forms`, async (t) => {
    const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0', OPENAI_API: api });
    const ask = async (request: object) => {
      const { status, body } = await gateway.chat({ provider: 'openai', model: 'gpt-4.1', messages: [user('Where?')], ...request });
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    };
    assert.match((await ask({ messages: shown(IMAGE, PDF) })).text ?? '', /I see 1 image\. I read 1 document\./);
    assert.deepEqual(JSON.parse((await ask({ output: { type: 'json', schema: CITY } })).text ?? ''), { city: 'city 1' });
    const strict = [{ name: 'look', parameters: CITY, strict: true }, { name: 'now', strict: true }];
    assert.deepEqual((await ask({ model: 'fake-tool-loop', tools: strict, tool_choice: { mode: 'required', parallel: false } })).tool_calls?.[0]?.arguments, { city: 'city 1' });
  });
}

test("what the operator says of a host's answers decides what it is asked", async (t) => {
  const request = { provider: 'compat', model: 'fake-chat', messages: [user('Where? Answer in JSON.')] };
  for (const [word, ofJson, ofSchema] of [['schema', undefined, undefined], ['json_object', undefined, 'unsupported'], ['none', 'unsupported', 'unsupported']] as const) {
    const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0', GATEWAY_COMPAT_STRUCTURED_OUTPUT: word });
    const { body: json } = await gateway.chat({ ...request, output: { type: 'json' } });
    const { body: schema } = await gateway.chat({ ...request, output: { type: 'json', schema: CITY } });
    assert.deepEqual([json.kind, schema.kind], [ofJson, ofSchema], word);
    assert.equal(gateway.sandbox.calls.length, [json, schema].filter(({ kind }) => kind === undefined).length);
  }
});
