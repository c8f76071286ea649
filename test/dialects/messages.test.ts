/** POST /v1/messages, relayed to the provider that speaks it and translated for the others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, TOKEN } from '../running-gateway.ts';
import { brokenText, PROVIDERS } from './dialect-clients.ts';

const PATH = '/v1/messages';
const HI = [{ role: 'user', content: 'hi' }];
const TOOLS = [{ name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }];
const NO_RETRIES = { GATEWAY_MAX_RETRIES: '0' };

type Block = { readonly type: string; readonly text?: string; readonly id?: string };
type Message = { readonly type: string; readonly model: string; readonly content: readonly Block[]; readonly stop_reason: string; readonly usage: Readonly<Record<string, number>> };
type Event = { readonly type: string; readonly message?: Message; readonly delta?: { readonly text?: string; readonly stop_reason?: string }; readonly error?: { readonly type: string } };

/** Every event of a stream's text; each has the name that its data says. */
function eventsOf(text: string): readonly Event[] {
  const records = text.split('\n\n').filter((record) => record.startsWith('event: '));
  return records.map((record) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(record) ?? assert.fail(`not an event: ${record}`);
    const event = JSON.parse(data ?? '') as Event;
    assert.equal(event.type, name);
    return event;
  });
}

test('a whole answer echoes the model that was asked for, whoever serves it', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const provider of PROVIDERS) {
    const response = await gateway.post(PATH, { model: `${provider}/fake-chat`, max_tokens: 100, messages: HI });
    const message = (await response.json()) as Message;
    assert.equal(response.status, 200, JSON.stringify(message));
    assert.deepEqual([message.type, message.model, message.stop_reason], ['message', `${provider}/fake-chat`, 'end_turn']);
    assert.match(message.content[0]?.text ?? '', /^Hello from fake-chat! You wrote: hi/);
    assert.ok((message.usage['input_tokens'] ?? 0) > 0 && (message.usage['output_tokens'] ?? 0) > 0);
    assert.equal(response.headers.get('x-gateway-target'), `${provider}/fake-chat`);
  }
});

test('a stream begins with one message_start that echoes the model and ends with message_stop', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const provider of PROVIDERS) {
    const events = eventsOf(await (await gateway.post(PATH, { model: `${provider}/fake-chat`, max_tokens: 100, messages: HI, stream: true })).text());
    const types = events.map(({ type }) => type);
    assert.deepEqual([types[0], types.at(-1), types.filter((type) => type === 'message_start').length], ['message_start', 'message_stop', 1], provider);
    assert.equal(events[0]?.message?.model, `${provider}/fake-chat`);
    assert.match(events.map(({ delta }) => delta?.text ?? '').join(''), /^Hello from fake-chat! You wrote: hi/);
  }
});

test('a tool loop works with the content appended and nothing else, on every provider', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const provider of PROVIDERS) {
    const messages: object[] = [{ role: 'user', content: 'weather?' }];
    let rounds = 0;
    for (; rounds < 6; rounds += 1) {
      const response = await gateway.post(PATH, { model: `${provider}/fake-tool-loop`, max_tokens: 100, messages, tools: TOOLS });
      const message = (await response.json()) as Message;
      assert.equal(response.status, 200, `${provider}: ${JSON.stringify(message)}`);
      if (message.stop_reason !== 'tool_use') break;
      const calls = message.content.filter(({ type }) => type === 'tool_use');
      messages.push({ role: 'assistant', content: message.content });
      messages.push({ role: 'user', content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: '14 degrees' })) });
    }
    assert.ok(rounds >= 1, `${provider}: ${rounds} rounds`);
  }
});

test('a tool loop goes on where a client keeps the reasoning and the calls of a turn, and drops its text', async (t) => {
  const gateway = await startGateway(t, { ...NO_RETRIES, OPENAI_API: 'responses' });
  for (const provider of PROVIDERS) {
    gateway.sandbox.reply('m', { text: 'Let me look.', tool_calls: [{ name: 'weather', arguments: { city: 'Oslo' } }] }, 'It rains.');
    const body = { model: `${provider}/m`, max_tokens: 100, tools: TOOLS };
    const first = (await (await gateway.post(PATH, { ...body, messages: HI })).json()) as Message;
    const kept = first.content.filter(({ type }) => type !== 'text');
    const result = { type: 'tool_result', tool_use_id: kept.at(-1)?.id, content: '12 degrees' };
    const messages = [...HI, { role: 'assistant', content: kept }, { role: 'user', content: [result] }];
    const second = await gateway.post(PATH, { ...body, messages });
    assert.equal(second.status, 200, `${provider}: ${await second.text()}`);
  }
});

test('a cut stream carries an error event, no message_stop, and a broken connection', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const provider of PROVIDERS) {
    for (const model of ['fake-truncate', 'fake-reset-mid', 'fake-error-mid']) {
      const events = eventsOf(await brokenText(await gateway.post(PATH, { model: `${provider}/${model}`, max_tokens: 100, messages: HI, stream: true })));
      assert.equal(events.at(-1)?.type, 'error', `${provider} ${model}`);
      assert.ok(!events.some(({ type }) => type === 'message_stop'));
    }
  }
});

test('a stream that is refused without a word begins once and ends once, relayed or translated', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const provider of PROVIDERS) {
    const response = await gateway.post(PATH, { model: `${provider}/fake-refusal`, max_tokens: 100, messages: HI, stream: true });
    const types = eventsOf(await response.text()).map(({ type }) => type);
    assert.deepEqual(types.filter((type) => type.startsWith('message_')), ['message_start', 'message_delta', 'message_stop'], provider);
  }
});

test('a failure has its status, the body of this format and the request id in its header', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const response = await fetch(gateway.url + PATH, { method: 'POST', headers: { 'x-api-key': 'wrong' }, body: '{}' });
  const body = (await response.json()) as { type: string; error: { type: string }; request_id: string };
  assert.deepEqual([response.status, body.type, body.error.type], [401, 'error', 'authentication_error']);
  assert.equal(response.headers.get('request-id'), body.request_id);
});

test("a relayed request keeps the vendor's own fields, blocks and headers, and names end users apart", async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const rest = '"max_tokens":100,"system":[{"type":"text","text":"be","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"hi"}]';
  const response = await fetch(`${gateway.url}${PATH}?beta=true`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'anthropic-version': '2023-06-01', 'anthropic-beta': 'some-beta-2026-01-01' },
    body: `{"model":"anthropic/fake-chat",${rest},"metadata":{"user_id":"me"}}`,
  });
  assert.equal(response.status, 200, await response.text());
  const [call] = gateway.sandbox.calls;
  assert.ok(call?.body?.startsWith(`{"model":"fake-chat",${rest},"metadata":{"user_id":"`));
  assert.match(call?.body ?? '', /"user_id":"[0-9a-f]{64}"\}\}$/);
  assert.equal(call?.headers['anthropic-beta'], 'some-beta-2026-01-01');
});

test('what another caller may have stored is refused where there are several, and let through where the operator says so', async (t) => {
  const body = { model: 'anthropic/fake-chat', max_tokens: 10, messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }] }] };
  const several = { ...NO_RETRIES, GATEWAY_AUTH_TOKENS: 'other:another-token-of-callers' };
  const response = await (await startGateway(t, several)).post(PATH, body);
  assert.equal(response.status, 400);
  assert.match(await response.text(), /messages\[0\]\.content\[0\]\.source\.file_id: refers to something stored/);
  const open = await startGateway(t, { ...several, GATEWAY_RELAY_STORED: 'true' });
  await open.post(PATH, body);
  assert.equal(open.sandbox.calls.length, 1);
});

test('a request that continues a thread is answered 404 as its SDK expects, wherever the thread is not its own; one that begins a thread is served', async (t) => {
  const several = await startGateway(t, { ...NO_RETRIES, GATEWAY_AUTH_TOKENS: 'other:another-token-of-callers' });
  const alone = await startGateway(t, NO_RETRIES);
  const bodyOf = (provider: string, thread: object): object => ({ model: `${provider}/fake-chat`, max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], thread });
  const lost = { type: 'continue', previous_message_id: 'msg_1' };
  for (const [gateway, provider, thread] of [[several, 'anthropic', lost], [several, 'openai', { type: 'continue' }], [alone, 'gemini', { previous_message_id: 'msg_1' }]] as const) {
    const calls = gateway.sandbox.calls.length;
    const response = await gateway.post(PATH, bodyOf(provider, thread));
    assert.equal(response.status, 404);
    const { error } = (await response.json()) as { error: { type: string; details: { error_code: string } } };
    assert.deepEqual([error.type, error.details.error_code], ['not_found_error', 'thread_not_found']);
    assert.equal(gateway.sandbox.calls.length, calls);
  }
  const translated = await several.post(PATH, bodyOf('openai', { type: 'create' }));
  assert.equal(translated.status, 200);
  assert.equal(translated.headers.get('x-gateway-ignored'), 'thread');
  const relayed = await several.post(PATH, bodyOf('anthropic', { type: 'create' }), { 'anthropic-beta': 'message-threads-2026-08-12' });
  assert.equal(relayed.status, 200, await relayed.text());
  assert.match(several.sandbox.calls.at(-1)?.body ?? '', /"thread":\{"type":"create"\}/);
});

test('the code by which its SDK knows what to do about a failure goes on, of a thread that the provider lost, say', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const thread = { type: 'continue', previous_message_id: 'msg_1' };
  for (const isStream of [false, true]) {
    const body = { model: 'anthropic/fake-chat', max_tokens: 10, messages: HI, thread, stream: isStream };
    const response = await gateway.post(PATH, body, { 'anthropic-beta': 'message-threads-2026-08-12' });
    const { error } = (await response.json()) as { error: { type: string; message: string; details: unknown } };
    assert.deepEqual([response.status, error.type, error.details], [404, 'not_found_error', { error_code: 'thread_not_found' }]);
    assert.match(error.message, /^anthropic does not have what the request refers to \(HTTP 404, code thread_not_found/);
  }
});

test('a provider that is overloaded is told as such, by its status or by a word inside a 200', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const provider of PROVIDERS) {
    for (const isStream of [false, true]) {
      const response = await gateway.post(PATH, { model: `${provider}/fake-overloaded`, max_tokens: 9, messages: HI, stream: isStream });
      const { error } = (await response.json()) as Event;
      assert.deepEqual([response.status, error?.type], [502, 'overloaded_error'], `${provider} ${isStream}`);
    }
  }
});

test('a message that holds nothing but what the gateway carried for another provider is not relayed', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const carried = { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'gateway:empty=gemini.gemini.e30' }] };
  const response = await gateway.post(PATH, { model: 'anthropic/fake-chat', max_tokens: 9, messages: [...HI, carried] });
  assert.equal(response.status, 200, await response.text());
  assert.equal(response.headers.get('x-gateway-ignored'), 'messages[1].content[0]');
  assert.match(gateway.sandbox.calls[0]?.body ?? '', /"messages":\[\{"role":"user","content":"hi"\}\]/);
});

test('a text without a word, as models write before a call and Anthropic does not take back, is not relayed', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} };
  const answered = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'rain' }] };
  const said = { role: 'assistant', content: [{ type: 'text', text: '\n\n' }, call] };
  const response = await gateway.post(PATH, { model: 'anthropic/fake-chat', max_tokens: 9, messages: [...HI, said, answered] });
  assert.equal(response.status, 200, await response.text());
  assert.equal(response.headers.get('x-gateway-ignored'), 'messages[1].content[0]');
  const { messages } = JSON.parse(gateway.sandbox.calls[0]?.body ?? '') as { messages: unknown };
  assert.deepEqual(messages, [...HI, { role: 'assistant', content: [call] }, answered]);
});

test('a name of an end user or a cache that is too long for a digest is refused, in every format that passes it on', async (t) => {
  const gateway = await startGateway(t);
  const long = 'x'.repeat(65_537);
  const requests: readonly (readonly [path: string, body: object])[] = [
    ['/v1/messages', { model: 'anthropic/fake-chat', max_tokens: 10, messages: HI, metadata: { user_id: long } }],
    ['/v1/chat/completions', { model: 'openai/fake-chat', messages: HI, user: long }],
    ['/v1/responses', { model: 'openai/fake-chat', input: 'hi', store: false, prompt_cache_key: long }],
    ['/v1/chat', { model: 'fake-chat', messages: [{ role: 'user', text: 'hi' }], user: long }],
  ];
  for (const [path, body] of requests) {
    const response = await gateway.post(path, body);
    assert.equal(response.status, 400, path);
    assert.match(await response.text(), /(metadata\.user_id|user|prompt_cache_key): must not be longer than 65536 characters/);
  }
  assert.equal(gateway.sandbox.calls.length, 0);
});
