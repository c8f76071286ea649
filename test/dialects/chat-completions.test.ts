/** POST /v1/chat/completions, relayed to the provider that speaks it and translated for the others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startGateway, TOKEN } from '../running-gateway.ts';
import { brokenText, PROVIDERS } from './dialect-clients.ts';

const PATH = '/v1/chat/completions';
const HI = [{ role: 'user', content: 'hi' }];
const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }];

type Message = {
  readonly role: string;
  readonly content: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[];
};

type Completion = {
  readonly id: string;
  readonly object: string;
  readonly model: string;
  readonly choices: readonly { readonly message: Message; readonly finish_reason: string }[];
  readonly usage?: { readonly total_tokens: number };
  readonly error?: { readonly message: string; readonly type: string; readonly code: string | null };
};

type Running = Awaited<ReturnType<typeof startGateway>>;

function ask(gateway: Running, body: object, headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` }): Promise<Response> {
  return fetch(gateway.url + PATH, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
}

async function complete(gateway: Running, body: object): Promise<Completion> {
  const response = await ask(gateway, body);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as Completion;
}

/** The frames of a stream that ended in order; rejects when the connection broke. */
async function frames(response: Response): Promise<readonly string[]> {
  return dataOf(await response.text());
}

function dataOf(text: string): readonly string[] {
  return text.split('\n\n').filter((frame) => frame.startsWith('data: ')).map((frame) => frame.slice('data: '.length));
}

/** The frames before the connection broke. */
async function framesOfBroken(response: Response): Promise<readonly string[]> {
  return dataOf(await brokenText(response));
}

async function eachProvider(t: TestContext, run: (gateway: Running, provider: string) => Promise<void>): Promise<void> {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0', GATEWAY_COMPAT_NAME: 'compat' });
  for (const provider of PROVIDERS) await run(gateway, provider);
}

test('a whole answer has every field that clients need, whoever serves it', async (t) => {
  await eachProvider(t, async (gateway, provider) => {
    const response = await ask(gateway, { model: `${provider}/fake-chat`, messages: HI });
    const reply = (await response.json()) as Completion;
    const { message, finish_reason: reason } = reply.choices[0] ?? assert.fail('no choice');
    assert.match(reply.id, /^chatcmpl-/);
    assert.deepEqual([reply.object, reply.model, message.role, reason], ['chat.completion', 'fake-chat', 'assistant', 'stop'], provider);
    assert.match(message.content ?? '', /^Hello from fake-chat! You wrote: hi/);
    assert.ok((reply.usage?.total_tokens ?? 0) > 0);
    assert.equal(response.headers.get('x-gateway-target'), `${provider}/fake-chat`);
  });
});

test('a stream says the same as the whole answer, ends with a finish reason, its usage where asked for, and [DONE]', async (t) => {
  await eachProvider(t, async (gateway, provider) => {
    const body = { model: `${provider}/fake-chat`, messages: HI };
    const whole = (await complete(gateway, body)).choices[0]?.message.content;
    const data = await frames(await ask(gateway, { ...body, stream: true, stream_options: { include_usage: true } }));
    assert.equal(data.at(-1), '[DONE]');
    const chunks = data.slice(0, -1).map((frame) => JSON.parse(frame) as { choices: { delta: { content?: string; role?: string }; finish_reason: string | null }[]; usage?: object | null });
    assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant');
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), whole, provider);
    assert.deepEqual(chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? []), ['stop']);
    assert.deepEqual(chunks.at(-1)?.choices, []);
    assert.ok(chunks.at(-1)?.usage);
  });
});

test('a tool loop of two rounds works with the message appended and nothing else, on every provider', async (t) => {
  await eachProvider(t, async (gateway, provider) => {
    const messages: object[] = [{ role: 'user', content: 'weather?' }];
    let rounds = 0;
    for (; rounds < 6; rounds += 1) {
      const { message, finish_reason: reason } = (await complete(gateway, { model: `${provider}/fake-tool-loop`, messages, tools: TOOLS })).choices[0] ?? assert.fail('no choice');
      if (reason !== 'tool_calls') break;
      messages.push(message);
      for (const call of message.tool_calls ?? []) messages.push({ role: 'tool', tool_call_id: call.id, content: '14 degrees' });
    }
    assert.ok(rounds >= 1, `${provider}: ${rounds} rounds`);
  });
});

test('a cut stream carries an error frame, no success, and a broken connection', async (t) => {
  await eachProvider(t, async (gateway, provider) => {
    for (const model of ['fake-truncate', 'fake-reset-mid', 'fake-error-mid']) {
      const data = await framesOfBroken(await ask(gateway, { model: `${provider}/${model}`, messages: HI, stream: true }));
      const { error } = JSON.parse(data.at(-1) ?? '{}') as Completion;
      assert.equal(error?.type, 'api_error', `${provider} ${model}`);
      assert.ok(!data.includes('[DONE]') && !data.some((frame) => frame.includes('"finish_reason":"stop"')));
    }
  });
});

test('a failure before the stream is retried, and in the end has its status and the body of this format', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '1', GATEWAY_RETRY_BASE_DELAY: '1ms' });
  for (const provider of ['openai', 'anthropic']) {
    const response = await ask(gateway, { model: `${provider}/fake-overloaded`, messages: HI, stream: true });
    assert.deepEqual([response.status, response.headers.get('x-should-retry')], [502, 'false']);
    assert.equal(((await response.json()) as Completion).error?.type, 'api_error');
  }
  assert.equal(gateway.sandbox.calls.length, 4);
});

test('a provider that declines without a word is answered as a refusal of this format, streamed and whole', async (t) => {
  await eachProvider(t, async (gateway, provider) => {
    const { message, finish_reason: reason } = (await complete(gateway, { model: `${provider}/fake-refusal`, messages: HI })).choices[0] ?? assert.fail('no choice');
    assert.deepEqual([message.content, message.refusal, reason], [null, 'The request was declined.', 'stop'], provider);
    const data = await frames(await ask(gateway, { model: `${provider}/fake-refusal`, messages: HI, stream: true }));
    const reasons = data.flatMap((frame) => /"finish_reason":"(\w+)"/.exec(frame)?.[1] ?? []);
    // What is relayed is the vendor's own way to say it.
    assert.deepEqual(reasons, [provider === 'openai' ? 'content_filter' : 'stop'], provider);
    assert.equal(data.some((frame) => frame.includes('"refusal":"The request was declined."')), provider !== 'openai');
    assert.equal(data.filter((frame) => frame === '[DONE]').length, 1);
    assert.equal(data.at(-1), '[DONE]');
  });
});

test('beyond twenty places, what is left out is counted, each of a list of messages once', async (t) => {
  const gateway = await startGateway(t, {});
  const strange = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`x${index}`, 1]));
  const message = { role: 'user', content: 'hi', ...strange };
  const response = await ask(gateway, { model: 'anthropic/fake-chat', messages: [message, message, message], metadata: { a: 'b' } });
  const named = Array.from({ length: 20 }, (_, index) => `messages[].x${index}`);
  assert.equal(response.headers.get('x-gateway-ignored'), [...named, '+11'].join(', '));
  const page = await (await fetch(`${gateway.url}/metrics`)).text();
  assert.match(page, /gateway_request_fields_ignored_total\{dialect="openai-chat",field="messages"\} 20\n/);
  assert.match(page, /gateway_request_fields_ignored_total\{dialect="openai-chat",field="other"\} 11\n/);
});

test('of the name of a field that is left out, a header says letters, digits and a few signs as they are', async (t) => {
  const gateway = await startGateway(t, {});
  const response = await ask(gateway, { model: 'anthropic/fake-chat', messages: HI, 'a.b-c_d': 1, "/:@+!*'()~": 1, $é: 1, '100%': 1 });
  assert.equal(response.headers.get('x-gateway-ignored'), '[%22a.b-c_d%22], [%22%2F%3A%40%2B%21%2A%27%28%29%7E%22], [%22%24%C3%A9%22], [%22100%25%22]');
});

test('what is left out is named in a header and counted; what would change the answer is refused by its path', async (t) => {
  const gateway = await startGateway(t, {});
  const named = await ask(gateway, { model: 'anthropic/fake-chat', messages: [{ role: 'user', content: 'hi', name: 'me' }], metadata: { a: 'b' }, 'we ird': 1 });
  assert.equal(named.headers.get('x-gateway-ignored'), 'messages[].name, metadata, [%22we%20ird%22]');
  const page = await (await fetch(`${gateway.url}/metrics`)).text();
  assert.match(page, /gateway_request_fields_ignored_total\{dialect="openai-chat",field="metadata"\} 1\n/);
  assert.match(page, /gateway_request_fields_ignored_total\{dialect="openai-chat",field="other"\} 1\n/);
  const refused = await ask(gateway, { model: 'anthropic/fake-chat', messages: HI, n: 2 });
  assert.equal(refused.status, 400);
  assert.deepEqual(((await refused.json()) as Completion).error, { message: 'n: only one answer can be asked for', type: 'invalid_request_error', param: null, code: 'unsupported' });
});

test("a relayed request is the caller's own text but for the model's prefix and the names of users and caches", async (t) => {
  const gateway = await startGateway(t, {});
  const rest = '"messages":[{"role":"user","content":"hi"}],"temperature":1.0,"user":';
  const response = await gateway.post(PATH, `{"model":"openai/fake-chat",${rest}"me"}`);
  assert.equal(response.status, 200, await response.text());
  assert.match(gateway.sandbox.calls[0]?.body ?? '', /^\{"model":"fake-chat",/);
  assert.ok(gateway.sandbox.calls[0]?.body?.startsWith(`{"model":"fake-chat",${rest}`));
  assert.match(gateway.sandbox.calls[0]?.body ?? '', /"user":"[0-9a-f]{64}"\}$/);
});

test('the tokens of a relayed stream are counted whether its caller asked for them or not, who is told only where it did', async (t) => {
  const gateway = await startGateway(t, {});
  const ask = async (options: object): Promise<string> => (await gateway.post(PATH, { model: 'openai/fake-chat', messages: HI, stream: true, ...options })).text();
  const plain = await ask({});
  assert.match(gateway.sandbox.calls[0]?.body ?? '', /"stream":true,"stream_options":\{"include_usage":true\}\}$/);
  assert.doesNotMatch(plain, /"choices":\[\]/);
  assert.match(plain, /"finish_reason":"stop"[^]*\[DONE\]\n\n$/);
  await ask({ stream_options: { include_obfuscation: false } });
  assert.match(gateway.sandbox.calls[1]?.body ?? '', /"stream_options":\{"include_obfuscation":false,"include_usage":true\}/);
  const asked = await ask({ stream_options: { include_usage: true } });
  assert.match(asked, /"choices":\[\],[^]*"usage":\{/);
  const records = gateway.logLines.filter(({ route }) => route === 'chat_completions');
  assert.equal(records.length, 3);
  const [first] = records;
  assert.ok(Number(first?.['output_tokens']) > 0);
  for (const record of records) assert.deepEqual([record['input_tokens'], record['output_tokens']], [first?.['input_tokens'], first?.['output_tokens']]);
});

test('a token may come as x-api-key, and two different ones are refused', async (t) => {
  const gateway = await startGateway(t, {});
  const body = { model: 'openai/fake-chat', messages: HI };
  assert.equal((await ask(gateway, body, { 'x-api-key': TOKEN })).status, 200);
  assert.equal((await ask(gateway, body, { 'x-api-key': TOKEN, authorization: `Bearer ${TOKEN}` })).status, 200);
  for (const headers of [{ 'x-api-key': 'wrong' }, { 'x-api-key': TOKEN, authorization: 'Bearer other' }, { 'x-api-key': 'other', authorization: `Bearer ${TOKEN}` }]) {
    const response = await ask(gateway, body, headers as Record<string, string>);
    assert.equal(response.status, 401);
    assert.equal(((await response.json()) as Completion).error?.code, 'invalid_api_key');
  }
  const native = await fetch(`${gateway.url}/v1/chat`, { method: 'POST', headers: { 'x-api-key': TOKEN }, body: '{}' });
  assert.equal(native.status, 401);
});

test('an empty key beside a token is none', async (t) => {
  const gateway = await startGateway(t, {});
  const body = { model: 'openai/fake-chat', messages: HI };
  assert.equal((await ask(gateway, body, { 'x-api-key': '', authorization: `Bearer ${TOKEN}` })).status, 200);
  for (const authorization of ['', 'Bearer ']) assert.equal((await ask(gateway, body, { 'x-api-key': TOKEN, authorization })).status, 200, authorization);
  assert.equal((await ask(gateway, body, { 'x-api-key': '' })).status, 401);
  assert.equal((await ask(gateway, body, { 'x-api-key': '', authorization: 'Bearer' })).status, 401);
});
