/** The sandbox as a test double: replies that a test writes, what it may look at, and where SDKs are pointed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordCall } from '../../src/sandbox/calls.ts';
import type { Call } from '../../src/sandbox/calls.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Sandbox, ScriptedReply } from '../../src/sandbox/index.ts';
import { HEADERS, at, chat, events, observe, open, parsed, request } from './client.ts';
import type { Answer } from './client.ts';

type Wire = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini' | 'compat';
const WIRES: readonly Wire[] = ['anthropic', 'openai-chat', 'openai-responses', 'gemini', 'compat'];
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };

/** A request with a tool and reasoning asked for, in each format. */
function ask(sandbox: Sandbox, wire: Wire, model: string, isStream = false): Promise<Answer> {
  const stream = isStream ? { stream: true } : {};
  const messages = [{ role: 'user', content: 'Hello' }];
  switch (wire) {
    case 'anthropic':
      return request(`${sandbox.baseUrls.anthropic}/v1/messages`, { model, max_tokens: 2000, messages, thinking: { type: 'adaptive' }, tools: [{ name: 'weather', input_schema: SCHEMA }], ...stream }, HEADERS.anthropic);
    case 'openai-responses':
      return request(`${sandbox.baseUrls.openai}/responses`, { model, input: 'Hello', reasoning: { effort: 'low' }, tools: [{ type: 'function', name: 'weather', parameters: SCHEMA }], ...stream }, HEADERS.openai);
    case 'gemini':
      return request(`${sandbox.baseUrls.gemini}/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`, {
        contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], generationConfig: { thinkingConfig: { includeThoughts: true } }, tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: SCHEMA }] }],
      }, HEADERS.gemini);
    default: {
      const tools = [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }];
      const provider = wire === 'compat' ? 'compat' : 'openai';
      return request(`${sandbox.baseUrls[provider]}/chat/completions`, { model, messages, tools, ...stream }, HEADERS[provider]);
    }
  }
}

const WRITTEN: Readonly<Record<Wire, (reply: unknown) => unknown>> = {
  anthropic: (reply) => (at(reply, 'content') as Record<string, unknown>[]).map((block) => block['thinking'] ?? block['text'] ?? [block['name'], block['input']]),
  'openai-chat': (reply) => {
    const message = at(reply, 'choices', 0, 'message');
    return ['hm', at(message, 'content'), [at(message, 'tool_calls', 0, 'function', 'name'), JSON.parse(String(at(message, 'tool_calls', 0, 'function', 'arguments')))]];
  },
  'openai-responses': (reply) => (at(reply, 'output') as Record<string, unknown>[]).map((item) =>
    at(item, 'summary', 0, 'text') ?? at(item, 'content', 0, 'text') ?? [item['name'], JSON.parse(String(item['arguments']))]),
  gemini: (reply) => (at(reply, 'candidates', 0, 'content', 'parts') as Record<string, unknown>[]).map((part) =>
    part['text'] ?? [at(part, 'functionCall', 'name'), at(part, 'functionCall', 'args')]),
  compat: (reply) => {
    const message = at(reply, 'choices', 0, 'message');
    return [at(message, 'reasoning_content'), at(message, 'content'), [at(message, 'tool_calls', 0, 'function', 'name'), JSON.parse(String(at(message, 'tool_calls', 0, 'function', 'arguments')))]];
  },
};
const ENDINGS: Readonly<Record<Wire, RegExp>> = {
  anthropic: /"stop_reason":"tool_use"/, 'openai-chat': /"finish_reason":"tool_calls"/, 'openai-responses': /"type":"function_call"/, gemini: /"finishReason":"STOP"/, compat: /"finish_reason":"tool_calls"/,
};
const USAGES: Readonly<Record<Wire, string>> = { anthropic: 'usage', 'openai-chat': 'usage', 'openai-responses': 'usage', gemini: 'usageMetadata', compat: 'usage' };

for (const wire of WIRES) {
  test(`${wire} answers with the reasoning, the text and the calls that were written for the model`, async (t) => {
    const sandbox = await open(t);
    sandbox.reply('gpt', { thinking: 'hm', text: 'Let me look.', tool_calls: [{ name: 'weather', arguments: { city: 'Oslo' } }] });
    const answer = await ask(sandbox, wire, 'gpt');
    const reply = parsed(answer);
    assert.deepEqual(WRITTEN[wire](reply), ['hm', 'Let me look.', ['weather', { city: 'Oslo' }]]);
    assert.match(answer.text, ENDINGS[wire]);
    assert.notEqual(at(reply, USAGES[wire]), undefined);
    const streamed = (await ask(sandbox, wire, 'gpt', true)).text;
    assert.match(streamed, ENDINGS[wire]);
    assert.match(streamed, /Let /);
  });

  test(`${wire} fails with the status and in the way that was written for the model`, async (t) => {
    const sandbox = await open(t);
    sandbox.reply('gpt', { status: 429 }, { fault: 'status-503' }, { fault: 'fake-html' }, 'good');
    const statuses: number[] = [];
    for (let round = 0; round < 4; round += 1) statuses.push((await ask(sandbox, wire, 'gpt')).status);
    assert.deepEqual(statuses, [429, 503, 200, 200]);
    assert.equal((await ask(sandbox, wire, 'gpt')).text.includes('good'), true);
  });
}

test('a text cut off at a fault is the one that was written', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('gpt', { text: 'one two three four', fault: 'reset-mid' });
  const { body, isComplete } = await observe(sandbox, 'gpt', { isStream: true });
  assert.deepEqual([/"content":"one "/.test(body.toString()), /four/.test(body.toString()), isComplete], [true, false, false]);
});

test('replies come one after the other, and the last goes on', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('gpt', 'first', 'second');
  const texts: unknown[] = [];
  for (let round = 0; round < 3; round += 1) texts.push(at(parsed(await chat(sandbox, 'openai', 'gpt')), 'choices', 0, 'message', 'content'));
  assert.deepEqual(texts, ['first', 'second', 'second']);
});

test('a new reply replaces the old ones, and none leaves the model to itself', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('gpt', 'first', 'second');
  sandbox.reply('gpt', 'third');
  assert.match((await chat(sandbox, 'openai', 'gpt')).text, /third/);
  sandbox.reply('gpt');
  assert.match((await chat(sandbox, 'openai', 'gpt')).text, /Hello from gpt/);
});

test('replies of * are for every model without its own', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('*', 'any');
  sandbox.reply('gpt', 'own');
  assert.match((await chat(sandbox, 'openai', 'gpt')).text, /own/);
  assert.match((await chat(sandbox, 'anthropic', 'fake-status-500')).text, /any/);
});

test('a function gets the request and returns the reply, now or later, or leaves it to the model', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('gpt', ({ json, protocol, isStream }) => `${protocol} ${String(isStream)} ${String(at(json, 'messages', 0, 'content'))}`);
  assert.match((await chat(sandbox, 'openai', 'gpt', false, 'Hi')).text, /openai-chat false Hi/);
  sandbox.reply('gpt', async () => Promise.resolve({ status: 418 }), () => undefined);
  assert.equal((await chat(sandbox, 'openai', 'gpt')).status, 418);
  assert.match((await chat(sandbox, 'openai', 'gpt')).text, /Hello from gpt/);
});

test('a function that throws, rejects or returns no reply fails the request with a sentence that says so', async (t) => {
  const sandbox = await open(t);
  const failing: readonly [() => ScriptedReply | Promise<ScriptedReply>, RegExp][] = [
    [() => { throw new Error('my mistake'); }, /The reply function for \\"gpt\\" threw: my mistake/],
    [() => Promise.reject(new Error('late')), /threw: late/],
    [() => ({ txt: 'x' }) as ScriptedReply, /returned what is no reply: txt: unknown field; did you mean text\?/],
  ];
  for (const [reply, message] of failing) {
    sandbox.reply('gpt', reply);
    const answer = await chat(sandbox, 'openai', 'gpt');
    assert.equal(answer.status, 500);
    assert.match(answer.text, message);
  }
});

const WRONG: readonly (readonly [reply: unknown, message: RegExp])[] = [
  [5, /reply 1 for "gpt": expected a string, an object or a function/],
  [{ tool_call: [] }, /tool_call: unknown field; did you mean tool_calls\?/],
  [{ text: 5 }, /text: expected a string/],
  [{ tool_calls: {} }, /tool_calls: expected an array/],
  [{ tool_calls: [{ name: 'f' }, { name: '' }] }, /tool_calls\[1\]\.name: expected a string/],
  [{ tool_calls: [{ name: 'f', arguments: '{}' }] }, /tool_calls\[0\]\.arguments: expected an object/],
  [{ tool_calls: [{ name: 'f', args: {} }] }, /tool_calls\[0\]\.args: unknown field/],
  [{ tool_calls: [null] }, /tool_calls\[0\]: expected an object/],
  [{ status: 200 }, /status: expected a whole number from 400 to 599/],
  [{ status: 500, text: 'x' }, /status: goes with nothing else/],
  [{ fault: 'rest' }, /fault: "rest" is none; did you mean reset\?/],
  [{ fault: 'late-N' }, /fault: "late-N" is none/],
  [Promise.resolve('x'), /got a promise; a function may return one/],
];

for (const [reply, message] of WRONG) {
  test(`the reply ${JSON.stringify(reply)} is refused where it is written`, async (t) => {
    const sandbox = await open(t);
    assert.throws(() => sandbox.reply('gpt', reply as ScriptedReply), message);
  });
}

test('a reply without the name of a model is refused', async (t) => {
  const sandbox = await open(t);
  assert.throws(() => sandbox.reply({ text: 'x' } as unknown as string), /expected the name of a model, or "\*", before its replies/);
});

test('arguments that JSON cannot hold are refused where they are written, and fail the request where a function returns them', async (t) => {
  const sandbox = await open(t);
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  for (const given of [cyclic, { n: 1n }, { toJSON: () => undefined }]) {
    const reply = { tool_calls: [{ name: 'f', arguments: given }] };
    assert.throws(() => sandbox.reply('gpt', reply), /tool_calls\[0\]\.arguments: expected an object that JSON can hold/);
    sandbox.reply('gpt', () => reply);
    assert.equal((await chat(sandbox, 'openai', 'gpt')).status, 500);
  }
});

test('a function that throws what has no text fails its request alone', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('gpt', () => {
    throw Object.create(null);
  });
  const answer = await chat(sandbox, 'openai', 'gpt');
  assert.deepEqual([answer.status, /^The sandbox failed/.test(answer.text)], [500, true]);
  sandbox.reply('gpt', 'Good.');
  assert.equal((await chat(sandbox, 'openai', 'gpt')).status, 200);
});

test('there are replies for a thousand models at most', async (t) => {
  const sandbox = await open(t);
  for (let index = 0; index < 1000; index += 1) sandbox.reply(`gpt-${index}`, 'x');
  sandbox.reply('gpt-0', 'y');
  assert.throws(() => sandbox.reply('one more', 'x'), /reset\(\)/);
});

test('a request that the provider would refuse is refused, and takes no reply', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('gpt', 'first', 'second');
  assert.equal((await request(`${sandbox.baseUrls.openai}/chat/completions`, { model: 'gpt', messages: [], colour: 1 }, HEADERS.openai)).status, 400);
  assert.match((await chat(sandbox, 'openai', 'gpt')).text, /first/);
});

test('a count of tokens takes no reply', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('gpt', { status: 500 }, 'second');
  assert.equal((await request(`${sandbox.baseUrls.openai}/responses/input_tokens`, { model: 'gpt', input: 'x' }, HEADERS.openai)).status, 200);
  assert.equal((await chat(sandbox, 'openai', 'gpt')).status, 500);
});

test('a limit of tokens cuts what was written', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('gpt', 'one two three');
  const { text } = await request(`${sandbox.baseUrls.openai}/chat/completions`, { model: 'gpt', messages: [{ role: 'user', content: 'x' }], max_completion_tokens: 2 }, HEADERS.openai);
  assert.deepEqual([at(JSON.parse(text), 'choices', 0, 'message', 'content'), at(JSON.parse(text), 'choices', 0, 'finish_reason')], ['one two ', 'length']);
});

test('a call says what was asked of whom', async (t) => {
  const sandbox = await open(t);
  await chat(sandbox, 'gemini', 'gpt', true, 'Hi');
  await chat(sandbox, 'openai', 'gpt', false, 'Hi');
  await request(`${sandbox.baseUrls.openai}/responses`, 'no JSON', HEADERS.openai);
  await fetch(`${sandbox.url}/nowhere`);
  assert.deepEqual(sandbox.calls.map(({ protocol, model, isStream }) => [protocol, model, isStream]), [
    ['gemini', 'gpt', true], ['openai-chat', 'gpt', false], ['openai-responses', undefined, false], [undefined, undefined, false],
  ]);
  assert.deepEqual(sandbox.calls[1]?.json, { model: 'gpt', messages: [{ role: 'user', content: 'Hi' }] });
  assert.equal(sandbox.calls[2]?.json, undefined);
});

test('calls with large bodies push the older ones out, but never the last', () => {
  const calls: Call[] = [];
  const large = 'x'.repeat(30 * 1024 * 1024);
  for (let index = 0; index < 3; index += 1) recordCall(calls, { method: 'POST', url: `/call-${index}`, headers: {} }, large);
  assert.deepEqual(calls.map(({ path }) => path), ['/call-1', '/call-2']);
  recordCall(calls, { method: 'POST', url: '/last', headers: {} }, large.repeat(3));
  assert.deepEqual(calls.map(({ path }) => path), ['/last']);
});

test('a reset forgets replies, calls, caches and counts', async (t) => {
  const sandbox = await open(t);
  const cached = { model: 'm', messages: [{ role: 'user', content: 'one two' }], prompt_cache_key: 'k' };
  const written = async (): Promise<unknown> => at(parsed(await request(`${sandbox.baseUrls.openai}/chat/completions`, cached, HEADERS.openai)), 'usage', 'prompt_tokens_details', 'cache_write_tokens');
  sandbox.reply('gpt', 'written');
  assert.deepEqual([await written(), (await chat(sandbox, 'openai', 'fake-flaky-1')).status], [2, 503]);
  sandbox.reset();
  assert.equal(sandbox.calls.length, 0);
  assert.match((await chat(sandbox, 'openai', 'gpt')).text, /Hello from gpt/);
  assert.deepEqual([await written(), (await chat(sandbox, 'openai', 'fake-flaky-1')).status], [2, 503]);
});

test('the environment points each SDK at the sandbox, with the key that it takes', async (t) => {
  const { environment, url } = await open(t, { key: 'my-key' });
  assert.deepEqual(environment, {
    ANTHROPIC_BASE_URL: `${url}/anthropic`, ANTHROPIC_API_KEY: 'my-key', OPENAI_BASE_URL: `${url}/openai/v1`, OPENAI_API_KEY: 'my-key',
    GEMINI_BASE_URL: `${url}/gemini`, GOOGLE_GEMINI_BASE_URL: `${url}/gemini`, GEMINI_API_KEY: 'my-key', GOOGLE_GENERATIVE_AI_API_KEY: 'my-key',
  });
});

test('paths go with and without the version where clients differ in that', async (t) => {
  const sandbox = await open(t);
  const message = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
  for (const path of ['/v1/messages', '/messages']) assert.equal((await request(sandbox.baseUrls.anthropic + path, message, HEADERS.anthropic)).status, 200);
  const contents = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] };
  for (const version of ['/v1', '/v1beta']) assert.equal((await request(`${sandbox.baseUrls.gemini}${version}/models/m:generateContent`, contents, HEADERS.gemini)).status, 200);
});

test('a sandbox closes at the end of its block', async () => {
  const sandbox = await startSandbox();
  await sandbox[Symbol.asyncDispose]();
  await assert.rejects(fetch(sandbox.url));
});

test('conversations that a client wants held are lost by their second turn, as its client knows to mend', async (t) => {
  const sandbox = await open(t);
  const message = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
  const post = (thread: object, headers: Record<string, string>): Promise<Answer> => request(`${sandbox.baseUrls.anthropic}/v1/messages`, { ...message, thread }, { ...HEADERS.anthropic, ...headers });
  const beta = { 'anthropic-beta': 'message-threads-2026-08-12' };
  assert.equal((await post({ type: 'create' }, {})).status, 400);
  assert.equal((await post({ type: 'create' }, beta)).status, 200);
  const lost = await post({ type: 'continue', previous_message_id: 'msg_1' }, beta);
  assert.deepEqual([lost.status, at(JSON.parse(lost.text), 'error', 'details', 'error_code')], [404, 'thread_not_found']);
});

test('a stream that was written has the pieces of its text', async (t) => {
  const sandbox = await open(t);
  sandbox.reply('gpt', 'one two');
  const deltas = events((await chat(sandbox, 'openai', 'gpt', true)).text).map((event) => at(event, 'choices', 0, 'delta', 'content')).filter(Boolean);
  assert.deepEqual(deltas, ['one ', 'two']);
});
