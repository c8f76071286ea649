/** What every format can ask beyond text and tools: answers by a schema, documents, single calls; of every provider. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { PROVIDERS } from './dialect-clients.ts';

const SCHEMA = { type: 'object', properties: { city: { type: 'string' }, rainy: { type: 'boolean' } }, required: ['city', 'rainy'], additionalProperties: false };
const PDF = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64');
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

type Format = {
  readonly path: string;
  /** A request that a user says, with these fields. */
  readonly saying: (parts: unknown) => object;
  readonly bySchema: object;
  readonly document: object;
  /** The text of a whole answer. */
  readonly textOf: (reply: never) => string;
  /** What a request for any JSON is called in a refusal. */
  readonly refusedAs: string;
};

const FORMATS: Readonly<Record<string, Format>> = {
  chat_completions: {
    path: '/v1/chat/completions',
    saying: (content) => ({ messages: [{ role: 'user', content }] }),
    bySchema: { response_format: { type: 'json_schema', json_schema: { name: 'weather', strict: true, schema: SCHEMA } } },
    document: { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
    textOf: (reply: { choices: { message: { content: string } }[] }) => reply.choices[0]?.message.content ?? '',
    refusedAs: 'response_format',
  },
  responses: {
    path: '/v1/responses',
    saying: (content) => ({ input: [{ role: 'user', content }], store: false }),
    bySchema: { text: { format: { type: 'json_schema', name: 'weather', strict: true, schema: SCHEMA } } },
    document: { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` },
    textOf: (reply: { output: { type: string; content?: { text: string }[] }[] }) => reply.output.find(({ type }) => type === 'message')?.content?.[0]?.text ?? '',
    refusedAs: 'text.format',
  },
  messages: {
    path: '/v1/messages',
    saying: (content) => ({ max_tokens: 500, messages: [{ role: 'user', content }] }),
    bySchema: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    document: { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: PDF } },
    textOf: (reply: { content: { type: string; text?: string }[] }) => reply.content.find(({ type }) => type === 'text')?.text ?? '',
    refusedAs: 'output_config.format',
  },
};

async function answerOf(gateway: RunningGateway, { path, textOf }: Format, body: object): Promise<string> {
  const response = await gateway.post(path, body);
  const text = await response.text();
  assert.equal(response.status, 200, `${JSON.stringify(body)}: ${text}`);
  return textOf(JSON.parse(text) as never);
}

for (const [name, format] of Object.entries(FORMATS)) {
  test(`${name}: an answer by a schema matches it, whoever serves it`, async (t) => {
    const gateway = await startGateway(t, {});
    for (const provider of PROVIDERS) {
      const text = await answerOf(gateway, format, { model: `${provider}/fake-chat`, ...format.saying('Is it raining in Oslo?'), ...format.bySchema });
      const answer = JSON.parse(text) as { city: unknown; rainy: unknown };
      assert.deepEqual([typeof answer.city, typeof answer.rainy], ['string', 'boolean'], `${provider}: ${text}`);
    }
  });

  test(`${name}: a document reaches every provider that reads documents`, async (t) => {
    const gateway = await startGateway(t, {});
    for (const provider of ['anthropic', 'openai', 'gemini']) {
      await answerOf(gateway, format, { model: `${provider}/fake-chat`, ...format.saying([format.document]) });
      assert.ok(gateway.sandbox.calls.at(-1)?.body?.includes(PDF), provider);
    }
  });
}

test('what a provider cannot do is refused in the words of the format that asked for it', async (t) => {
  const gateway = await startGateway(t, {});
  const { saying } = FORMATS['chat_completions'] ?? assert.fail();
  const response = await gateway.post('/v1/chat/completions', { model: 'anthropic/fake-chat', ...saying('Say JSON'), response_format: { type: 'json_object' } });
  const { error } = (await response.json()) as { error: { message: string; code: string } };
  assert.equal(response.status, 400);
  assert.match(error.message, /^response_format: Anthropic /);
  assert.equal(error.code, 'unsupported');
  const unanswered = await gateway.post('/v1/responses', {
    model: 'anthropic/fake-chat',
    input: [{ role: 'user', content: 'x' }, { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }, { role: 'user', content: 'y' }],
  });
  assert.match(await unanswered.text(), /input\[1\]: tool_call \\"c\\" is not answered before input\[2\]/);
});

test('a tool that a provider refuses is named where its caller put it, behind tools that are left out and in namespaces', async (t) => {
  const gateway = await startGateway(t);
  const [strict, free] = [{ name: 'f', strict: true }, { name: 'g' }];
  const [f, g] = [{ type: 'function', ...strict }, { type: 'function', ...free }];
  for (const [path, body, place] of [
    ['/v1/messages', { max_tokens: 500, tools: [{ type: 'web_search_20250305', name: 'web_search' }, free, strict] }, 'tools[2].strict'],
    ['/v1/responses', { tools: [{ type: 'web_search' }, f, g] }, 'tools[1].strict'],
    ['/v1/responses', { tools: [g, { type: 'namespace', name: 'n', tools: [{ type: 'custom', name: 'c' }, f] }] }, 'tools[1].tools[1].strict'],
    ['/v1/chat/completions', { tools: [{ type: 'function', function: free }, { type: 'function', function: strict }] }, 'tools[1].function.strict'],
  ] as const) {
    const said = path === '/v1/responses' ? { input: 'Hi', store: false } : { messages: [{ role: 'user', content: 'Hi' }] };
    const answer = await gateway.post(path, { model: 'gemini/fake-chat', ...said, ...body });
    assert.equal(answer.status, 400);
    assert.ok((await answer.text()).includes(`"${place}: Gemini enforces parameters for all tools or for none; set it on all or none"`), place);
  }
});

test('images in what a tool answered reach every provider that takes them there', async (t) => {
  const gateway = await startGateway(t, {});
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
  for (const provider of ['anthropic', 'openai', 'gemini', 'compat']) {
    const response = await gateway.post('/v1/messages', {
      model: `${provider}/fake-chat`,
      max_tokens: 500,
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'Look' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'seen' }, image] }] },
      ],
    });
    assert.equal(response.status, 200, `${provider}: ${await response.text()}`);
    assert.ok(gateway.sandbox.calls.at(-1)?.body?.includes(PIXEL), provider);
  }
});
