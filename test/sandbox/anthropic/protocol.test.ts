import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import { HEADERS, KEY, at, chat, events, open, parsed, request } from '../client.ts';
import type { Answer } from '../client.ts';

const WEATHER = { name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] } } } };
const CLOTHES = { name: 'clothes', input_schema: { type: 'object', properties: {} } };
const USER = { role: 'user', content: 'Go' };
type Content = readonly Record<string, unknown>[];
type Message = { readonly role: string; readonly content: unknown };

function ask(sandbox: Sandbox, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  const whole = { model: 'fake-chat', max_tokens: 1000, messages: [USER], ...body };
  return request(`${sandbox.baseUrls.anthropic}/v1/messages`, whole, { ...HEADERS.anthropic, ...headers });
}

async function contentOf(sandbox: Sandbox, body: object): Promise<Content> {
  return at(parsed(await ask(sandbox, body)), 'content') as Content;
}

function resultsFor(content: Content, text = 'rain'): Message {
  const calls = content.filter((block) => block['type'] === 'tool_use');
  return { role: 'user', content: calls.map((call) => ({ type: 'tool_result', tool_use_id: call['id'], content: text })) };
}

const LOOP = { model: 'fake-tool-loop', tools: [WEATHER, CLOTHES] };

/** The messages after the first round of a tool loop. */
async function afterRound(sandbox: Sandbox): Promise<{ content: Content; results: Message }> {
  const content = await contentOf(sandbox, LOOP);
  return { content, results: resultsFor(content) };
}

test('a message says hello, quotes the user and counts images', async (t) => {
  const sandbox = await open(t);
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
  const reply = parsed(await ask(sandbox, { messages: [{ role: 'user', content: [{ type: 'text', text: 'Look at this' }, image] }] }));
  assert.equal(at(reply, 'content', 0, 'text'), 'Hello from fake-chat! You wrote: Look at this I see 1 image. This answer was made up on your own machine.');
  assert.equal(at(reply, 'stop_reason'), 'end_turn');
  assert.equal(at(reply, 'usage', 'input_tokens'), 3 + 85);
  assert.equal(at(reply, 'usage', 'output_tokens'), 21);
});

test('a stream has the events of a message in order, and the same text', async (t) => {
  const sandbox = await open(t);
  const whole = parsed(await chat(sandbox, 'anthropic', 'fake-chat'));
  const stream = await chat(sandbox, 'anthropic', 'fake-chat', true);
  const all = events(stream.text);
  const types = all.map((event) => event['type']).filter((type) => type !== 'content_block_delta');
  assert.deepEqual(types, ['message_start', 'ping', 'content_block_start', 'content_block_stop', 'message_delta', 'message_stop']);
  const text = all.map((event) => at(event, 'delta', 'text') ?? '').join('');
  assert.equal(text, at(whole, 'content', 0, 'text'));
  assert.equal(at(all.at(-2), 'usage', 'output_tokens'), at(whole, 'usage', 'output_tokens'));
  assert.match(stream.text, /^event: message_start\ndata: /);
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/);
});

test('a tool loop calls twice, then once, then answers, with reasoning before each step', async (t) => {
  const sandbox = await open(t);
  const messages: Message[] = [USER];
  const rounds: unknown[] = [];
  for (let round = 0; round < 3; round += 1) {
    const content = await contentOf(sandbox, { ...LOOP, messages });
    rounds.push(content.map((block) => block['name'] ?? block['type']));
    messages.push({ role: 'assistant', content }, resultsFor(content));
  }
  assert.deepEqual(rounds, [
    ['thinking', 'redacted_thinking', 'text', 'weather', 'weather'],
    ['thinking', 'clothes'],
    ['thinking', 'text'],
  ]);
  assert.match(String(at(messages.at(-2), 'content', 1, 'text')), /rain/);
  assert.equal(at(messages, 3, 'content', 0, 'thinking'), '');
});

test('a streamed call brings its arguments in pieces, and reasoning its signature before the end of its block', async (t) => {
  const sandbox = await open(t);
  const whole = await contentOf(sandbox, LOOP);
  const all = events((await ask(sandbox, { ...LOOP, stream: true })).text);
  const json = all.filter((event) => event['index'] === 3).map((event) => at(event, 'delta', 'partial_json') ?? '').join('');
  assert.deepEqual(JSON.parse(json), { city: 'Oslo' });
  const signature = all.find((event) => at(event, 'delta', 'type') === 'signature_delta');
  assert.equal(at(signature, 'delta', 'signature'), whole[0]?.['signature']);
  const sealed = all.find((event) => at(event, 'content_block', 'type') === 'redacted_thinking');
  assert.equal(at(sealed, 'content_block', 'data'), whole[1]?.['data']);
});

test('reasoning comes when it is asked for', async (t) => {
  const sandbox = await open(t);
  const types = async (thinking: object): Promise<unknown[]> => (await contentOf(sandbox, { max_tokens: 2000, thinking })).map((block) => block['type']);
  assert.deepEqual(await types({ type: 'adaptive', display: 'summarized' }), ['thinking', 'text']);
  assert.deepEqual(await types({ type: 'enabled', budget_tokens: 1024 }), ['thinking', 'text']);
  assert.deepEqual(await types({ type: 'disabled' }), ['text']);
});

test('limits and stop sequences end the text and are named', async (t) => {
  const sandbox = await open(t);
  const short = parsed(await ask(sandbox, { max_tokens: 2 }));
  assert.deepEqual([at(short, 'content', 0, 'text'), at(short, 'stop_reason')], ['Hello from ', 'max_tokens']);
  const stopped = parsed(await ask(sandbox, { stop_sequences: ['You wrote', 'fake'] }));
  assert.deepEqual([at(stopped, 'content', 0, 'text'), at(stopped, 'stop_reason'), at(stopped, 'stop_sequence')], ['Hello from ', 'stop_sequence', 'fake']);
});

test('a limit inside a call leaves a call out of a message and half of its arguments in a stream', async (t) => {
  const sandbox = await open(t);
  const body = { model: 'fake-json-numbers', tools: [WEATHER], max_tokens: 1 };
  const whole = parsed(await ask(sandbox, body));
  assert.deepEqual([at(whole, 'content'), at(whole, 'stop_reason')], [[], 'max_tokens']);
  const json = events((await ask(sandbox, { ...body, stream: true })).text).map((event) => at(event, 'delta', 'partial_json') ?? '').join('');
  assert.ok(json.length > 0);
  assert.throws(() => JSON.parse(json));
});

test('tool_choice is honoured', async (t) => {
  const sandbox = await open(t);
  const names = async (model: string, choice: object): Promise<unknown[]> =>
    (await contentOf(sandbox, { model, tools: [WEATHER, CLOTHES], tool_choice: choice })).filter((block) => block['type'] === 'tool_use').map((block) => block['name']);
  assert.deepEqual(await names('fake-chat', { type: 'any' }), ['clothes']);
  assert.deepEqual(await names('fake-chat', { type: 'tool', name: 'weather' }), ['weather']);
  assert.deepEqual(await names('fake-tool-loop', { type: 'none' }), []);
  assert.deepEqual(await names('fake-tool-loop', { type: 'auto' }), ['weather', 'weather']);
});

test('refusals come with or without words', async (t) => {
  const sandbox = await open(t);
  for (const [model, length] of [['fake-refusal', 0], ['fake-refusal-partial', 1], ['fake-blocked', 0]] as const) {
    const reply = parsed(await ask(sandbox, { model }));
    assert.equal(at(reply, 'stop_reason'), 'refusal', model);
    assert.equal((at(reply, 'content') as Content).length, length, model);
  }
});

const TEXT = (text: string): object => ({ role: 'user', content: [{ type: 'text', text }] });
const CALL = { type: 'tool_use', id: 'toolu_a', name: 'weather', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 'toolu_a', content: 'x' };
const CALLED = { role: 'assistant', content: [CALL] };

const REFUSED: readonly (readonly [what: string, body: object, message: RegExp])[] = [
  ['an unknown field', { colour: 1 }, /^colour: Extra inputs are not permitted$/],
  ['an unknown field of a message', { messages: [{ ...USER, name: 'x' }] }, /^messages\.0\.name: Extra inputs are not permitted$/],
  ['an unknown field of a block', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', id: 1 }] }] }, /^messages\.0\.content\.0\.text\.id: Extra inputs/],
  ['no max_tokens', { max_tokens: undefined }, /^max_tokens: Field required$/],
  ['a wrong type', { temperature: 'hot' }, /^temperature: Input should be a valid number$/],
  ['an unknown kind of block', { messages: [{ role: 'user', content: [{ type: 'video' }] }] }, /^messages\.0\.content\.0: Input tag 'video' found using 'type'/],
  ['an unknown role', { messages: [{ role: 'system', content: 'x' }] }, /^messages\.0\.role: Input should be 'user', 'assistant'$/],
  ['an image that is no base64', { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'a b' } }] }] }, /base64\.data: Input should be base64$/],
  ['no messages', { messages: [] }, /^messages: at least one message is required$/],
  ['an assistant who begins', { messages: [{ role: 'assistant', content: 'x' }, USER] }, /first message must use the "user" role/],
  ['two turns in a row', { messages: [USER, USER] }, /roles must alternate/],
  ['a prefill', { messages: [USER, { role: 'assistant', content: 'x' }] }, /does not support assistant message prefill/],
  ['an empty message', { messages: [{ role: 'user', content: [] }] }, /must have non-empty content/],
  ['an empty text', { messages: [TEXT('')] }, /text content blocks must be non-empty/],
  ['a blank text', { messages: [TEXT(' \n')] }, /must contain non-whitespace text/],
  ['an unanswered call', { messages: [USER, CALLED, TEXT('x')] }, /^messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_a\./],
  ['a result that is not first', { messages: [USER, CALLED, { role: 'user', content: [{ type: 'text', text: 'x' }, RESULT] }] }, /ids were found without/],
  ['a result without a call', { messages: [{ role: 'user', content: [RESULT] }] }, /unexpected `tool_use_id` found in `tool_result` blocks: toolu_a/],
  ['two results for a call', { messages: [USER, CALLED, { role: 'user', content: [RESULT, RESULT] }] }, /each tool_use must have a single result/],
  ['a call id that came before', { messages: [USER, CALLED, { role: 'user', content: [RESULT] }, CALLED, { role: 'user', content: [RESULT] }] }, /ids must be unique/],
  ['a call id of other characters', { messages: [USER, { role: 'assistant', content: [{ ...CALL, id: 'a b' }] }] }, /tool_use\.id: Input should be a valid string matching/],
  ['arguments that are no object', { messages: [USER, { role: 'assistant', content: [{ ...CALL, input: '{}' }] }] }, /tool_use\.input: Input should be a valid object/],
  ['a schema without its type', { tools: [{ name: 'x', input_schema: {} }] }, /^tools\.0\.input_schema\.type: Field required$/],
  ['two tools of a name', { tools: [WEATHER, WEATHER] }, /Tool names must be unique/],
  ['a choice without tools', { tool_choice: { type: 'auto' } }, /may only be specified while providing `tools`/],
  ['a choice of another tool', { tools: [WEATHER], tool_choice: { type: 'tool', name: 'x' } }, /Tool 'x' not found/],
  ['a budget too small', { thinking: { type: 'enabled', budget_tokens: 10 } }, /greater than or equal to 1024/],
  ['a budget over the limit', { thinking: { type: 'enabled', budget_tokens: 1024 } }, /`max_tokens` must be greater than/],
  ['a forced call with a budget', { max_tokens: 2000, tools: [WEATHER], tool_choice: { type: 'any' }, thinking: { type: 'enabled', budget_tokens: 1024 } }, /tool_choice forces tool use/],
  ['reasoning without its signature', { messages: [USER, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }] }, USER] }, /^messages\.1\.content\.0\.thinking\.signature: Field required$/],
  ['a call without reasoning after a budget', { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 }, messages: [USER, CALLED, { role: 'user', content: [RESULT] }] }, /Expected `thinking` or `redacted_thinking`, but found `tool_use`/],
];

for (const [what, body, message] of REFUSED) {
  test(`${what} is refused`, async (t) => {
    const answer = await ask(await open(t), body);
    const error = JSON.parse(answer.text) as unknown;
    assert.equal(answer.status, 400, answer.text);
    assert.equal(at(error, 'error', 'type'), 'invalid_request_error');
    assert.match(String(at(error, 'error', 'message')), message);
    assert.match(answer.headers.get('request-id') ?? '', /^req_01/);
  });
}

test('JSON that is none, and a request without a version, are refused', async (t) => {
  const sandbox = await open(t);
  const url = `${sandbox.baseUrls.anthropic}/v1/messages`;
  assert.match((await request(url, '{', HEADERS.anthropic)).text, /not valid JSON/);
  assert.match((await request(url, '{}', { 'x-api-key': KEY })).text, /anthropic-version: header is required/);
});

test('the newer version takes no sampling parameters', async (t) => {
  const sandbox = await open(t);
  const answer = await ask(sandbox, { temperature: 1 }, { 'anthropic-version': '2026-10-21' });
  assert.deepEqual([answer.status, at(JSON.parse(answer.text), 'error', 'message')], [400, 'temperature: Extra inputs are not permitted']);
});

test('the older name of the output format is taken under its beta alone, as LiteLLM and CrewAI send it', async (t) => {
  const sandbox = await open(t);
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
  const body = { output_format: { type: 'json_schema', schema }, output_config: { effort: 'low' } };
  const reply = parsed(await ask(sandbox, body, { 'anthropic-beta': 'structured-outputs-2025-11-13' }));
  assert.equal(at(reply, 'content', 0, 'text'), '{"city":"city 1"}');
  assert.match((await ask(sandbox, body)).text, /output_format: Extra inputs are not permitted/);
});

type Change = (content: Content) => object[];
const CHANGED: readonly (readonly [what: string, change: Change, message: RegExp])[] = [
  ['an altered text', ([thought, ...rest]) => [{ ...thought, thinking: 'Two look-ups first!' }, ...rest], /Invalid `signature` in `thinking` block/],
  ['an altered signature', ([thought, ...rest]) => [{ ...thought, signature: 'AAAA' }, ...rest], /Invalid `signature` in `thinking` block/],
  ['altered sealed data', ([thought, sealed, ...rest]) => [thought as object, { ...sealed, data: 'AAAA' }, ...rest], /Invalid `data` in `redacted_thinking` block/],
  ['reasoning left out', (content) => content.slice(2), /Expected `thinking` or `redacted_thinking`, but found `text`/],
  ['sealed reasoning left out', ([thought, , ...rest]) => [thought as object, ...rest], /blocks in the latest assistant message cannot be modified/],
  ['reasoning in another place', ([thought, sealed, words, ...rest]) => [thought, words, ...rest, sealed] as object[], /blocks in the latest assistant message cannot be modified/],
  ['reasoning in another order', ([thought, sealed, ...rest]) => [sealed as object, thought as object, ...rest], /bound to a different conversation/],
];

for (const [what, change, message] of CHANGED) {
  test(`in a tool loop ${what} is refused`, async (t) => {
    const sandbox = await open(t);
    const { content, results } = await afterRound(sandbox);
    const answer = await ask(sandbox, { ...LOOP, messages: [USER, { role: 'assistant', content: change(content) }, results] });
    assert.equal(answer.status, 400);
    assert.match(String(at(JSON.parse(answer.text), 'error', 'message')), message);
  });
}

test('instructions between the messages are taken under betas of their own', async (t) => {
  const sandbox = await open(t);
  const messages = [{ role: 'user', content: 'Hello' }, { role: 'system', content: 'Be brief.' }];
  const refused = await ask(sandbox, { messages });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /messages\.1\.role: /);
  for (const beta of ['mid-conversation-system-2026-04-07', 'mid-conversation-tool-changes-2026-07-01']) {
    const taken = await ask(sandbox, { messages }, { 'anthropic-beta': `effort-2025-11-24,${beta}` });
    assert.match(at(parsed(taken), 'content', 0, 'text') as string, /You wrote: Hello /);
  }
});

test('reasoning after a changed prefix is refused: system, tools, or an earlier message', async (t) => {
  const sandbox = await open(t);
  const { content, results } = await afterRound(sandbox);
  const rest = [{ role: 'assistant', content }, results];
  for (const change of [{ system: 'x' }, { tools: [CLOTHES, WEATHER] }, { messages: [{ role: 'user', content: 'Go!' }, ...rest] }]) {
    const answer = await ask(sandbox, { ...LOOP, messages: [USER, ...rest], ...change });
    assert.match(answer.text, /bound to a different conversation/, JSON.stringify(change));
  }
});

test('reasoning is taken back where only the form of what stands before it has changed', async (t) => {
  const sandbox = await open(t);
  const { content, results } = await afterRound(sandbox);
  const first = { role: 'user', content: [{ type: 'text', text: USER.content, cache_control: { type: 'ephemeral' } }] };
  const answer = await ask(sandbox, { ...LOOP, messages: [first, { role: 'assistant', content }, results] });
  assert.equal(answer.status, 200, answer.text);
});

test('an error without a word is refused', async (t) => {
  const sandbox = await open(t);
  const { content, results } = await afterRound(sandbox);
  const answers = at(results, 'content') as object[];
  for (const words of [undefined, '']) {
    const failed = { role: 'user', content: answers.map((answer) => ({ ...answer, content: words, is_error: true })) };
    const answer = await ask(sandbox, { ...LOOP, messages: [USER, { role: 'assistant', content }, failed] });
    assert.match(answer.text, /content cannot be empty if `is_error` is true/);
  }
});

test('a budget wants a loop that began with reasoning, and no more', async (t) => {
  const sandbox = await open(t);
  const { content, results } = await afterRound(sandbox);
  const call = (id: string): object[] => [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'weather', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
  ];
  const budget = { ...LOOP, max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } };
  const refused = await ask(sandbox, { ...budget, messages: [USER, ...call('a'), ...call('b')] });
  assert.match(refused.text, /Expected `thinking` or `redacted_thinking`, but found `tool_use`/);
  assert.equal((await ask(sandbox, { ...budget, messages: [USER, { role: 'assistant', content }, results, ...call('a')] })).status, 200);
});

test('reasoning may be left out when it is turned off', async (t) => {
  const sandbox = await open(t);
  const { content, results } = await afterRound(sandbox);
  const messages = [USER, { role: 'assistant', content: content.slice(2) }, results];
  assert.equal((await ask(sandbox, { ...LOOP, thinking: { type: 'disabled' }, messages })).status, 200);
});

test('models come in two pages', async (t) => {
  const sandbox = await open(t);
  const page = async (query: string): Promise<unknown> => (await fetch(`${sandbox.baseUrls.anthropic}/v1/models${query}`, { headers: HEADERS.anthropic })).json();
  const first = await page('?limit=1000');
  const second = await page(`?after_id=${String(at(first, 'last_id'))}`);
  assert.deepEqual([at(first, 'has_more'), at(second, 'has_more')], [true, false]);
  assert.deepEqual([...(at(first, 'data') as Content), ...(at(second, 'data') as Content)].map((model) => model['id']), ['fake-chat', 'fake-tool-loop', 'fake-thinking']);
});
