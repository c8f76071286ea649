/** What providers say of their prompt caches: written by one request, read by the next that begins alike. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PromptCache } from '../../src/sandbox/cache.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { HEADERS, at, events, open, parsed, request } from './client.ts';
import type { ProtocolName } from './client.ts';

const MARK = { cache_control: { type: 'ephemeral' } };
const LONG = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const text = (words: string, more: object = {}): object => ({ type: 'text', text: words, ...more });
const ONE = { role: 'user', content: 'one two three' };
const TWO = [ONE, { role: 'assistant', content: 'four' }, { role: 'user', content: 'five six' }];

type Figures = readonly [input: unknown, written: unknown, read: unknown];

async function message(sandbox: Sandbox, body: object): Promise<Figures> {
  const reply = parsed(await request(`${sandbox.baseUrls.anthropic}/v1/messages`, { model: 'm', max_tokens: 99, messages: [ONE], ...body }, HEADERS.anthropic));
  return [at(reply, 'usage', 'input_tokens'), at(reply, 'usage', 'cache_creation_input_tokens'), at(reply, 'usage', 'cache_read_input_tokens')];
}

async function chat(sandbox: Sandbox, body: object): Promise<Figures> {
  const reply = parsed(await request(`${sandbox.baseUrls.openai}/chat/completions`, { model: 'm', messages: [ONE], ...body }, HEADERS.openai));
  const details = at(reply, 'usage', 'prompt_tokens_details');
  return [at(reply, 'usage', 'prompt_tokens'), at(details, 'cache_write_tokens'), at(details, 'cached_tokens')];
}

async function response(sandbox: Sandbox, body: object): Promise<Figures> {
  const reply = parsed(await request(`${sandbox.baseUrls.openai}/responses`, { model: 'm', input: [ONE], ...body }, HEADERS.openai));
  const details = at(reply, 'usage', 'input_tokens_details');
  return [at(reply, 'usage', 'input_tokens'), at(details, 'cache_write_tokens'), at(details, 'cached_tokens')];
}

test('Anthropic caches nothing unless it is told to', async (t) => {
  const sandbox = await open(t);
  for (let round = 0; round < 2; round += 1) assert.deepEqual(await message(sandbox, { messages: TWO }), [6, 0, 0]);
});

test('Anthropic writes a conversation with one mark for all of it, and reads it a turn later', async (t) => {
  const sandbox = await open(t);
  assert.deepEqual(await message(sandbox, { ...MARK }), [0, 3, 0]);
  assert.deepEqual(await message(sandbox, { ...MARK }), [0, 0, 3]);
  assert.deepEqual(await message(sandbox, { ...MARK, messages: TWO }), [0, 3, 3]);
  assert.deepEqual(await message(sandbox, { ...MARK, model: 'another' }), [0, 3, 0]);
  assert.deepEqual(await message(sandbox, { ...MARK, system: 'seven' }), [0, 4, 0]);
});

test('Anthropic writes up to a mark and reads what stands before it, whatever follows', async (t) => {
  const sandbox = await open(t);
  const asked = (question: string): object => ({
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    system: [text('long system text', MARK)],
    messages: [{ role: 'user', content: [text('a long document', MARK), text(question)] }],
  });
  assert.deepEqual(await message(sandbox, asked('What?')), [1, 8, 0]);
  assert.deepEqual(await message(sandbox, asked('Why then?')), [2, 0, 8]);
  assert.deepEqual(await message(sandbox, { ...asked('What?'), messages: [ONE] }), [3, 0, 5]);
});

test('Anthropic tells apart what stays for five minutes and for an hour, and a stream says the same', async (t) => {
  const sandbox = await open(t);
  const body = { model: 'm', max_tokens: 99, messages: [ONE] };
  const url = `${sandbox.baseUrls.anthropic}/v1/messages`;
  const short = parsed(await request(url, { ...body, ...MARK }, HEADERS.anthropic));
  assert.deepEqual(at(short, 'usage', 'cache_creation'), { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 0 });
  const streamed = events((await request(url, { ...body, ...LONG, system: 'x', stream: true }, HEADERS.anthropic)).text);
  assert.deepEqual(at(streamed[0], 'message', 'usage', 'cache_creation'), { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 4 });
  assert.deepEqual(at(streamed.at(-2), 'usage', 'cache_creation_input_tokens'), 4);
});

test('a count of tokens writes nothing', async (t) => {
  const sandbox = await open(t);
  await request(`${sandbox.baseUrls.anthropic}/v1/messages/count_tokens`, { model: 'm', messages: [ONE], ...MARK }, HEADERS.anthropic);
  assert.deepEqual(await message(sandbox, { ...MARK }), [0, 3, 0]);
});

for (const [what, ask] of [['Chat Completions', chat], ['Responses', response]] as const) {
  const [messages, part] = ask === chat ? ['messages', 'text'] : ['input', 'input_text'];
  test(`${what} writes and reads under a key`, async (t) => {
    const sandbox = await open(t);
    const key = { prompt_cache_key: 'a' };
    assert.deepEqual(await ask(sandbox, key), [3, 3, 0]);
    assert.deepEqual(await ask(sandbox, key), [3, 0, 3]);
    assert.deepEqual(await ask(sandbox, { ...key, [messages]: TWO }), [6, 3, 3]);
    assert.deepEqual(await ask(sandbox, { prompt_cache_key: 'b' }), [3, 3, 0]);
  });

  test(`${what} reads up to a mark though what follows is another`, async (t) => {
    const sandbox = await open(t);
    const asked = (question: string): object => ({
      [messages]: [{ role: 'system', content: [{ type: part, text: 'long system text', prompt_cache_breakpoint: { mode: 'explicit' } }] }, { role: 'user', content: question }],
      prompt_cache_options: { mode: 'explicit', ttl: '30m' },
    });
    assert.deepEqual(await ask(sandbox, asked('What?')), [4, 3, 0]);
    assert.deepEqual(await ask(sandbox, asked('Why?')), [4, 0, 3]);
    assert.deepEqual(await ask(sandbox, { [messages]: [ONE], prompt_cache_options: { mode: 'explicit' } }), [3, 0, 0]);
  });

  test(`${what} counts what the last request brought without any of it`, async (t) => {
    assert.deepEqual(await ask(await open(t), { [messages]: TWO }), [6, 0, 3]);
  });
}

test('Gemini stores content, and counts it where it is named', async (t) => {
  const sandbox = await open(t);
  const contents = [{ role: 'user', parts: [{ text: 'one two three' }] }];
  const stored = parsed(await request(`${sandbox.baseUrls.gemini}/v1beta/cachedContents`, { model: 'models/m', contents, systemInstruction: { parts: [{ text: 'four' }] }, ttl: '600s' }, HEADERS.gemini));
  assert.equal(at(stored, 'usageMetadata', 'totalTokenCount'), 4);
  const used = parsed(await request(`${sandbox.baseUrls.gemini}/v1beta/models/m:generateContent`, { contents: [{ role: 'user', parts: [{ text: 'five' }] }], cachedContent: at(stored, 'name') }, HEADERS.gemini));
  assert.deepEqual([at(used, 'usageMetadata', 'promptTokenCount'), at(used, 'usageMetadata', 'cachedContentTokenCount')], [5, 4]);
});

const marked = (count: number): object => ({ messages: [{ role: 'user', content: Array.from({ length: count }, () => text('x', MARK)) }] });
const GEMINI = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] };
const NAME = `cachedContents/${'0'.repeat(16)}-7`;
const REFUSED: readonly (readonly [what: string, provider: ProtocolName, path: string, body: object, status: number, message: RegExp])[] = [
  ['five marks', 'anthropic', '/v1/messages', marked(5), 400, /A maximum of 4 blocks with cache_control may be provided\. Found 5\./],
  ['four marks and one for all', 'anthropic', '/v1/messages', { ...marked(4), ...MARK }, 400, /Found 5/],
  ['an hour after five minutes', 'anthropic', '/v1/messages', { system: [text('x', MARK)], messages: [{ role: 'user', content: [text('x', LONG)] }] }, 400, /messages\.0\.content\.0\.cache_control\.ttl: a ttl='1h'.*must not come after/],
  ['another time to live', 'anthropic', '/v1/messages', { cache_control: { type: 'ephemeral', ttl: '2h' } }, 400, /cache_control\.ttl/],
  ['a mark on reasoning', 'anthropic', '/v1/messages', { messages: [ONE, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 'x', ...MARK }] }, ONE] }, 400, /cache_control: Extra inputs/],
  ['a long key', 'openai', '/chat/completions', { prompt_cache_key: 'x'.repeat(65) }, 400, /Invalid 'prompt_cache_key': string too long\. Expected a string with maximum length 64/],
  ['the short retention', 'openai', '/chat/completions', { prompt_cache_retention: 'in_memory' }, 400, /'in_memory'/],
  ['half a day', 'openai', '/chat/completions', { prompt_cache_options: { ttl: '12h' } }, 400, /'12h'/],
  ['a long safety identifier', 'openai', '/responses', { safety_identifier: 'x'.repeat(129) }, 400, /maximum length 128/],
  ['too much metadata', 'openai', '/responses', { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, ''])) }, 400, /at most 16/],
  ['a long value of metadata', 'openai', '/chat/completions', { metadata: { a: 'x'.repeat(513) } }, 400, /metadata\.a/],
  ['cached content that is not there', 'gemini', '/v1beta/models/m:generateContent', { ...GEMINI, cachedContent: 'cachedContents/x' }, 403, /CachedContent not found/],
  ['cached content beside a system text', 'gemini', '/v1beta/models/m:generateContent', { ...GEMINI, cachedContent: NAME, systemInstruction: { parts: [{ text: 'x' }] } }, 400, /move those values to CachedContent/],
  ['cached content beside tools', 'gemini', '/v1beta/models/m:generateContent', { ...GEMINI, cachedContent: NAME, tools: [] }, 400, /move those values/],
  ['stored content without a model', 'gemini', '/v1beta/cachedContents', { contents: [] }, 400, /model is not specified/],
];

for (const [what, provider, path, body, status, text] of REFUSED) {
  test(`${provider} refuses ${what}`, async (t) => {
    const sandbox = await open(t);
    const whole = provider === 'gemini' ? body : path === '/responses' ? { model: 'm', input: 'x', ...body } : { model: 'm', messages: [ONE], ...(provider === 'anthropic' ? { max_tokens: 9 } : {}), ...body };
    const answer = await request(sandbox.baseUrls[provider] + path, whole, HEADERS[provider]);
    assert.equal(answer.status, status, answer.text);
    assert.match(String(at(JSON.parse(answer.text), 'error', 'message')), text);
  });
}

for (const [provider, path, body] of [
  ['openai', '/chat/completions', { prompt_cache_retention: '24h', prompt_cache_key: 'k', safety_identifier: 'u', user: 'u', metadata: { a: 'b' } }],
  ['openai', '/responses', { prompt_cache_retention: '24h', prompt_cache_key: 'k', safety_identifier: 'u', user: 'u', metadata: { a: 'b' }, prompt_cache_options: { ttl: '12h' } }],
  ['compat', '/chat/completions', { prompt_cache_key: 'k', user: 'u', user_id: 'u', provider: { require_parameters: true } }],
  ['anthropic', '/v1/messages', { metadata: { user_id: 'u' } }],
] as const) {
  test(`${provider}${path} takes who asks and what to cache under`, async (t) => {
    const sandbox = await open(t);
    const asked = path === '/responses' ? { input: 'x' } : { messages: [ONE] };
    const answer = await request(sandbox.baseUrls[provider] + path, { model: 'm', ...asked, ...(provider === 'anthropic' ? { max_tokens: 9 } : {}), ...body }, HEADERS[provider]);
    assert.equal(answer.status, 200, answer.text);
  });
}

test('a cache forgets the oldest of more than ten thousand prefixes', () => {
  const cache = new PromptCache();
  const plan = (key: string): { scope: string; reads: { key: string; tokens: number }[]; writes: { key: string; tokens: number }[] } =>
    ({ scope: '', reads: [{ key, tokens: 1 }], writes: [{ key, tokens: 1 }] });
  cache.serve(plan('first'));
  for (let index = 0; index < 10_000; index += 1) cache.serve(plan(String(index)));
  assert.deepEqual(cache.serve(plan('9999')), { readTokens: 1, writeTokens: 0 });
  assert.deepEqual(cache.serve(plan('first')), { readTokens: 0, writeTokens: 1 });
});
