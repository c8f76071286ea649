/** POST /v1/responses, relayed to the provider that speaks it and translated for the others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import { brokenText, PROVIDERS } from './dialect-clients.ts';

const PATH = '/v1/responses';
const TOOLS = [{ type: 'function', name: 'weather', strict: false, parameters: { type: 'object', properties: { city: { type: 'string' } } } }];
const SETTINGS = { GATEWAY_MAX_RETRIES: '0', OPENAI_API: 'responses' };

type Item = { readonly type: string; readonly call_id?: string; readonly content?: readonly { readonly text?: string }[] };
type Reply = { readonly id: string; readonly status: string; readonly model: string; readonly output: readonly Item[]; readonly usage: { readonly total_tokens: number } };
type Event = { readonly type: string; readonly delta?: string; readonly response?: Reply; readonly error?: object; readonly code?: string; readonly sequence_number?: number };

function eventsOf(text: string): readonly Event[] {
  const records = text.split('\n\n').filter((record) => record.startsWith('event: '));
  return records.map((record) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(record) ?? assert.fail(`not an event: ${record}`);
    const event = JSON.parse(data ?? '') as Event;
    assert.equal(event.type, name);
    return event;
  });
}

test('a whole answer has its text, its model and its usage, whoever serves it', async (t) => {
  const gateway = await startGateway(t, SETTINGS);
  for (const provider of PROVIDERS) {
    const response = await gateway.post(PATH, { model: `${provider}/fake-chat`, input: 'hi', store: false });
    const reply = (await response.json()) as Reply;
    assert.equal(response.status, 200, JSON.stringify(reply));
    assert.deepEqual([reply.status, reply.model], ['completed', 'fake-chat'], provider);
    const message = reply.output.find(({ type }) => type === 'message');
    assert.match(message?.content?.[0]?.text ?? '', /^Hello from fake-chat! You wrote: hi/);
    assert.ok(reply.usage.total_tokens > 0);
    assert.equal(response.headers.get('x-gateway-target'), `${provider}/fake-chat`);
  }
});

test('a stream keeps one id from created to completed, and its text is that of the whole answer', async (t) => {
  const gateway = await startGateway(t, SETTINGS);
  for (const provider of PROVIDERS) {
    const events = eventsOf(await (await gateway.post(PATH, { model: `${provider}/fake-chat`, input: 'hi', stream: true })).text());
    assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['response.created', 'response.completed'], provider);
    assert.equal(events[0]?.response?.id, events.at(-1)?.response?.id);
    const text = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta ?? '').join('');
    assert.match(text, /^Hello from fake-chat! You wrote: hi/);
  }
});

test('a tool loop works with the output appended and nothing else, on every provider', async (t) => {
  const gateway = await startGateway(t, SETTINGS);
  for (const provider of PROVIDERS) {
    const input: object[] = [{ role: 'user', content: 'weather?' }];
    let rounds = 0;
    for (; rounds < 6; rounds += 1) {
      const response = await gateway.post(PATH, { model: `${provider}/fake-tool-loop`, input, tools: TOOLS, store: false, include: ['reasoning.encrypted_content'] });
      const reply = (await response.json()) as Reply;
      assert.equal(response.status, 200, `${provider}: ${JSON.stringify(reply)}`);
      const calls = reply.output.filter(({ type }) => type === 'function_call');
      if (calls.length === 0) break;
      input.push(...reply.output, ...calls.map((call) => ({ type: 'function_call_output', call_id: call.call_id, output: '14 degrees' })));
    }
    assert.ok(rounds >= 1, `${provider}: ${rounds} rounds`);
  }
});

test('a tool loop goes on where a client moves the reasoning of a turn to its front, as AG2 does', async (t) => {
  const gateway = await startGateway(t, SETTINGS);
  for (const provider of PROVIDERS) {
    gateway.sandbox.reply('model', { text: 'Let me look.', tool_calls: [{ name: 'weather', arguments: { city: 'Oslo' } }] }, 'It rains.');
    const body = { model: `${provider}/model`, tools: TOOLS, store: false, include: ['reasoning.encrypted_content'] };
    const hi = { role: 'user', content: 'hi' };
    const { output } = (await (await gateway.post(PATH, { ...body, input: [hi] })).json()) as Reply;
    const moved = [...output.filter(({ type }) => type === 'reasoning'), ...output.filter(({ type }) => type !== 'reasoning')];
    const result = { type: 'function_call_output', call_id: output.at(-1)?.call_id, output: '12 degrees' };
    const second = await gateway.post(PATH, { ...body, input: [hi, ...moved, result] });
    assert.equal(second.status, 200, `${provider}: ${await second.text()}`);
  }
});

test('a loop of custom tools that an item of the conversation declares goes on at whichever provider', async (t) => {
  const gateway = await startGateway(t, SETTINGS);
  const tools = [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec', format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' } }] }];
  for (const provider of PROVIDERS) {
    const own = provider === 'openai' ? 'exec' : 'functions__exec';
    gateway.sandbox.reply('model', { text: 'I run it.', tool_calls: [{ name: own, arguments: { input: 'text("a")' } }] }, 'Done.');
    const input: object[] = [{ type: 'additional_tools', role: 'developer', tools }, { role: 'user', content: 'Run it' }];
    const body = { model: `${provider}/model`, input, store: false, include: ['reasoning.encrypted_content'], reasoning: { effort: 'low', context: 'all_turns' } };
    const answer = (await (await gateway.post(PATH, body)).json()) as Reply;
    assert.equal(answer.status, 'completed', `${provider}: ${JSON.stringify(answer)}`);
    const { output } = answer;
    const call = output.at(-1);
    if (provider !== 'openai') assert.deepEqual({ ...call, id: '', call_id: '' }, { id: '', type: 'custom_tool_call', call_id: '', namespace: 'functions', name: 'exec', status: 'completed', input: 'text("a")' }, provider);
    // A provider that the conversation moves to takes it, too.
    for (const [index, next] of [provider, ...PROVIDERS].entries()) {
      gateway.sandbox.reply('model', 'Done.');
      const result = { type: call?.type === 'custom_tool_call' ? 'custom_tool_call_output' : 'function_call_output', call_id: call?.call_id, output: 'a' };
      const response = await gateway.post(PATH, { ...body, model: `${next}/model`, input: [...input, ...output, result] });
      assert.equal(response.status, 200, `${provider} ${next} ${index}: ${await response.clone().text()}`);
    }
  }
});

test('a cut stream ends with response.failed and an error event, and a broken connection', async (t) => {
  const gateway = await startGateway(t, SETTINGS);
  for (const provider of PROVIDERS) {
    for (const model of ['fake-truncate', 'fake-reset-mid', 'fake-error-mid']) {
      const events = eventsOf(await brokenText(await gateway.post(PATH, { model: `${provider}/${model}`, input: 'hi', stream: true })));
      assert.deepEqual(events.slice(-2).map(({ type }) => type), ['response.failed', 'error'], `${provider} ${model}`);
      assert.ok(events.at(-1)?.error !== undefined && events.at(-1)?.code !== undefined);
      assert.ok(!events.some(({ type }) => type === 'response.completed'));
    }
  }
});

test('a stream that fails or is refused begins once and speaks of one response from its first event to its last, relayed or translated', async (t) => {
  const gateway = await startGateway(t, SETTINGS);
  for (const provider of PROVIDERS) {
    for (const model of ['fake-truncate', 'fake-error-mid', 'fake-refusal']) {
      const response = await gateway.post(PATH, { model: `${provider}/${model}`, input: 'hi', stream: true });
      const events = eventsOf(model === 'fake-refusal' ? await response.text() : await brokenText(response));
      assert.equal(events.filter(({ type }) => type === 'response.created').length, 1, `${provider} ${model}`);
      const ids = new Set(events.flatMap((event) => (event.response === undefined ? [] : [event.response.id])));
      assert.equal(ids.size, 1, `${provider} ${model}: ${[...ids].join(' ')}`);
      assert.deepEqual(events.map((event) => event.sequence_number), events.map((_event, index) => index), `${provider} ${model}`);
    }
  }
});

test('an answer in the background, and what another caller may have stored, are refused', async (t) => {
  const gateway = await startGateway(t, { ...SETTINGS, GATEWAY_AUTH_TOKENS: 'other:another-token-of-callers' });
  const refused = [{ background: true }, { previous_response_id: 'resp_1' }, { conversation: { id: 'conv_1' } }, { input: [{ type: 'item_reference', id: 'rs_1' }] }];
  for (const fields of refused) {
    const response = await gateway.post(PATH, { model: 'openai/fake-chat', input: 'hi', ...fields });
    assert.equal(response.status, 400, JSON.stringify(fields));
  }
  assert.equal(gateway.sandbox.calls.length, 0);
});

test('what another caller may have stored is not to be had by a patch of the payload either', async (t) => {
  const several = { ...SETTINGS, GATEWAY_AUTH_TOKENS: 'other:another-token-of-callers' };
  const gateway = await startGateway(t, several);
  const patches: readonly (readonly [patch: object, place: string])[] = [
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ prompt_cache_options: { comparison_response_id: 'resp_1' } }, 'prompt_cache_options.comparison_response_id'],
    [{ thread: { type: 'continue', previous_message_id: 'msg_1' } }, 'thread.previous_message_id'],
    [{ tools: [{ type: 'mcp', tunnel_id: 'tunnel_1' }] }, 'tools[0].tunnel_id'],
    [{ conversation: { id: 'conv_1' } }, 'conversation.id'],
    [{ cachedContent: 'cachedContents/1' }, 'cachedContent'],
    [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools[0].vector_store_ids'],
    [{ container: { skills: [{ type: 'custom', skill_id: 'skill_1' }] } }, 'container.skills[0].skill_id'],
    [{ input: [{ role: 'user', content: 'hi' }, { id: 'msg_1' }] }, 'input[1]'],
    [{ tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/1'] } }] }, 'tools[0].fileSearch.fileSearchStoreNames'],
    [{ tools: [{ retrieval: { vertexRagStore: { ragResources: [{ ragCorpus: 'corpus' }] } } }] }, 'tools[0].retrieval.vertexRagStore.ragResources[0].ragCorpus'],
    [{ tools: [{ retrieval: { vertexAiSearch: { engine: 'projects/p/engines/e' } } }] }, 'tools[0].retrieval.vertexAiSearch.engine'],
    ...Object.entries({ apiKeyConfig: 'apiKeySecret', httpBasicAuthConfig: 'credential_secret', oidcConfig: 'serviceAccount' }).map(
      ([config, name]) => [{ tools: [{ retrieval: { externalApi: { authConfig: { [config]: { [name]: 'projects/p/secrets/s/versions/1' } } } } }] }, `tools[0].retrieval.externalApi.authConfig.${config}.${name}`] as const,
    ),
    [{ tools: [{ retrieval: { external_api: { api_auth: { api_key_config: { api_key_secret_version: 'projects/p/secrets/s/versions/1' } } } } }] }, 'tools[0].retrieval.external_api.api_auth.api_key_config.api_key_secret_version'],
    ...['gs://bucket/file', 'files/1', 'https://generativelanguage.googleapis.com/v1beta/files/1'].map(
      (fileUri) => [{ contents: [{ parts: [{ fileData: { fileUri } }] }] }, 'contents[0].parts[0].fileData.fileUri'] as const,
    ),
  ];
  const body = { provider: 'openai', model: 'fake-chat', messages: [user('hi')] };
  for (const path of ['/v1/chat', '/v1/chat/stream', '/v1/count_tokens']) {
    for (const [patch, place] of patches) {
      const response = await gateway.post(path, { ...body, provider_options: patch });
      const { kind, error } = (await response.json()) as { kind: string; error: string };
      assert.deepEqual([response.status, kind], [400, 'unsupported'], `${path} ${place}`);
      assert.ok(error.startsWith(`provider_options.${place}: refers to something stored at the provider`), error);
    }
  }
  assert.equal(gateway.sandbox.calls.length, 0);
  const harmless = {
    metadata: { file_id: 'x' }, container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] }, previous_response_id: null,
    plugins: [{ engine: 'exa' }], fileData: { fileUri: 'https://www.youtube.com/watch?v=1' },
  };
  const open = [
    await gateway.post('/v1/chat', { ...body, provider_options: harmless }),
    await (await startGateway(t, SETTINGS)).post('/v1/chat', { ...body, provider_options: { previous_response_id: 'resp_1' } }),
    await (await startGateway(t, { ...several, GATEWAY_RELAY_STORED: 'true' })).post('/v1/chat', { ...body, provider_options: { previous_response_id: 'resp_1' } }),
  ];
  for (const response of open) assert.doesNotMatch(await response.text(), /GATEWAY_RELAY_STORED/);
});

test('a relayed request is answered by the API of its own format, whatever OPENAI_API says', async (t) => {
  for (const api of ['chat', 'responses', 'auto']) {
    const gateway = await startGateway(t, { ...SETTINGS, OPENAI_API: api });
    for (const isStream of [false, true]) {
      const body = { model: 'openai/fake-chat', stream: isStream };
      const chat = await gateway.post('/v1/chat/completions', { ...body, messages: [{ role: 'user', content: 'hi' }] });
      const response = await gateway.post(PATH, { ...body, input: 'hi' });
      assert.deepEqual([chat.status, response.status], [200, 200], `${api} ${isStream}`);
      await chat.text();
      await response.text();
    }
  }
});
