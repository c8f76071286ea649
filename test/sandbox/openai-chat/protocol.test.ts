import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import { HEADERS, at, chat, events, open, parsed, request } from '../client.ts';
import type { Answer } from '../client.ts';

const tool = (name: string, parameters: object): object => ({ type: 'function', function: { name, parameters } });
const WEATHER = tool('weather', { type: 'object', properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] } } });
const CLOTHES = tool('clothes', { type: 'object', properties: {} });
const USER = { role: 'user', content: 'Go' };
const LOOP = { model: 'fake-tool-loop', tools: [WEATHER, CLOTHES] };
type Message = Readonly<Record<string, unknown>>;
type Dialect = 'openai' | 'compat';

function ask(sandbox: Sandbox, body: object, dialect: Dialect = 'openai'): Promise<Answer> {
  return request(`${sandbox.baseUrls[dialect]}/chat/completions`, { model: 'fake-chat', messages: [USER], ...body }, HEADERS[dialect]);
}

async function messageOf(sandbox: Sandbox, body: object, dialect: Dialect = 'openai'): Promise<Message> {
  return at(parsed(await ask(sandbox, body, dialect)), 'choices', 0, 'message') as Message;
}

function callsOf(message: Message): readonly unknown[] {
  return (message['tool_calls'] ?? []) as readonly unknown[];
}

function resultsFor(message: Message, content = 'rain'): Message[] {
  return callsOf(message).map((call) => ({ role: 'tool', tool_call_id: at(call, 'id'), content }));
}

test('a completion says hello and reports usage', async (t) => {
  const reply = parsed(await chat(await open(t), 'openai', 'fake-chat'));
  assert.deepEqual(at(reply, 'choices', 0, 'message'), {
    role: 'assistant', content: 'Hello from fake-chat! You wrote: Hello This answer was made up on your own machine.', refusal: null,
  });
  assert.equal(at(reply, 'choices', 0, 'finish_reason'), 'stop');
  assert.deepEqual([at(reply, 'usage', 'prompt_tokens'), at(reply, 'usage', 'completion_tokens'), at(reply, 'usage', 'total_tokens')], [1, 15, 16]);
});

test('a stream has the same text, ends with [DONE], and has usage only when asked', async (t) => {
  const sandbox = await open(t);
  const plain = await ask(sandbox, { stream: true });
  const counted = await ask(sandbox, { stream: true, stream_options: { include_usage: true } });
  const text = events(plain.text).map((chunk) => at(chunk, 'choices', 0, 'delta', 'content') ?? '').join('');
  assert.equal(text, 'Hello from fake-chat! You wrote: Go This answer was made up on your own machine.');
  assert.ok(plain.text.endsWith('data: [DONE]\n\n'));
  assert.equal(at(events(plain.text).at(-1), 'choices', 0, 'finish_reason'), 'stop');
  assert.deepEqual([at(events(counted.text).at(-1), 'choices'), at(events(counted.text).at(-1), 'usage', 'total_tokens')], [[], 16]);
});

for (const dialect of ['openai', 'compat'] as const) {
  test(`a tool loop on ${dialect} calls twice, then once, then answers`, async (t) => {
    const sandbox = await open(t);
    const messages: Message[] = [USER];
    const rounds: unknown[] = [];
    for (let round = 0; round < 3; round += 1) {
      const message = await messageOf(sandbox, { ...LOOP, messages }, dialect);
      rounds.push(callsOf(message).map((call) => at(call, 'function', 'arguments')));
      assert.equal(typeof message['reasoning_content'], dialect === 'compat' ? 'string' : 'undefined');
      messages.push(message, ...resultsFor(message));
    }
    assert.deepEqual(rounds, [['{"city":"Oslo"}', '{"city":"Rome"}'], ['{}'], []]);
    assert.match(String(messages.at(-1)?.['content']), /rain; rain; rain/);
  });
}

test('streamed calls have an id and a name first and their arguments in pieces', async (t) => {
  const sandbox = await open(t);
  const fragments = events((await ask(sandbox, { ...LOOP, stream: true })).text).flatMap((chunk) => (at(chunk, 'choices', 0, 'delta', 'tool_calls') ?? []) as unknown[]);
  const named = fragments.filter((fragment) => at(fragment, 'id') !== undefined);
  assert.deepEqual(named.map((fragment) => [at(fragment, 'index'), at(fragment, 'function', 'name')]), [[0, 'weather'], [1, 'weather']]);
  const json = fragments.filter((fragment) => at(fragment, 'index') === 1).map((fragment) => at(fragment, 'function', 'arguments')).join('');
  assert.equal(json, '{"city":"Rome"}');
});

test("a message goes back with what OpenAI's own clients add to it, which the compatible host does not know", async (t) => {
  const sandbox = await open(t);
  const message = { role: 'assistant', content: 'Hello', refusal: null, annotations: null, audio: null, function_call: null, parsed: null };
  assert.equal((await ask(sandbox, { messages: [USER, message, USER] })).status, 200);
  assert.equal((await ask(sandbox, { messages: [USER, message, USER] }, 'compat')).status, 400);
});

test('the compatible host streams its reasoning first, and usage with the last choice', async (t) => {
  const all = events((await ask(await open(t), { ...LOOP, stream: true }, 'compat')).text);
  const reasoning = all.map((chunk) => at(chunk, 'choices', 0, 'delta', 'reasoning_content') ?? '').join('');
  assert.equal(reasoning, 'Two look-ups first.');
  assert.equal(at(all.at(-1), 'choices', 0, 'finish_reason'), 'tool_calls');
  assert.equal(at(all.at(-1), 'usage', 'completion_tokens_details', 'reasoning_tokens'), 3 + 8);
});

test('the compatible host thinks when asked to, by either field, and not when told not to', async (t) => {
  const sandbox = await open(t);
  const thinks = async (body: object): Promise<boolean> => (await messageOf(sandbox, body, 'compat'))['reasoning_content'] !== undefined;
  assert.equal(await thinks({}), false);
  assert.equal(await thinks({ thinking: { type: 'enabled' } }), true);
  assert.equal(await thinks({ reasoning_effort: 'high' }), true);
  assert.equal(await thinks({ reasoning_effort: 'none' }), false);
  assert.equal(await thinks({ thinking: { type: 'disabled' } }), false);
});

test('numbers in arguments are written as doubles cannot be', async (t) => {
  const message = await messageOf(await open(t), { model: 'fake-json-numbers', tools: [WEATHER] });
  assert.equal(at(message, 'tool_calls', 0, 'function', 'arguments'), '{"big":12345678901234567890,"one":1.0,"tiny":1e-7,"2":"second","1":"first"}');
});

test('limits, stop sequences and tool_choice are honoured', async (t) => {
  const sandbox = await open(t);
  const choiceOf = async (body: object, dialect: Dialect = 'openai'): Promise<unknown> => at(parsed(await ask(sandbox, body, dialect)), 'choices', 0);
  assert.deepEqual([at(await choiceOf({ max_completion_tokens: 1 }), 'message', 'content'), at(await choiceOf({ max_completion_tokens: 1 }), 'finish_reason')], ['Hello ', 'length']);
  assert.equal(at(await choiceOf({ max_tokens: 1 }, 'compat'), 'finish_reason'), 'length');
  assert.equal(at(await choiceOf({ stop: 'fake' }), 'message', 'content'), 'Hello from ');
  assert.equal(at(await choiceOf({ stop: ['Hello'] }), 'message', 'content'), '');
  const named = { type: 'function', function: { name: 'clothes' } };
  assert.equal(at(await choiceOf({ tools: [WEATHER, CLOTHES], tool_choice: named }), 'message', 'tool_calls', 0, 'function', 'name'), 'clothes');
  assert.equal(at(await choiceOf({ tools: [WEATHER], tool_choice: 'required' }), 'finish_reason'), 'tool_calls');
  assert.equal(at(await choiceOf({ ...LOOP, tool_choice: 'none' }), 'finish_reason'), 'stop');
});

test('refusals are spoken in a field of their own, or a filter ended them, or the prompt is refused', async (t) => {
  const sandbox = await open(t);
  const choiceOf = async (model: string, dialect: Dialect = 'openai'): Promise<unknown> => at(parsed(await ask(sandbox, { model }, dialect)), 'choices', 0);
  const spoken = await choiceOf('fake-refusal-partial');
  assert.deepEqual([at(spoken, 'message', 'content'), at(spoken, 'message', 'refusal'), at(spoken, 'finish_reason')], [null, 'I would rather not go on with this.', 'stop']);
  assert.equal(at(await choiceOf('fake-refusal-partial', 'compat'), 'finish_reason'), 'content_filter');
  assert.equal(at(await choiceOf('fake-refusal'), 'message', 'content'), null);
  const blocked = await ask(sandbox, { model: 'fake-blocked' });
  assert.deepEqual([blocked.status, at(JSON.parse(blocked.text), 'error', 'code')], [400, 'content_policy_violation']);
  const streamed = events((await ask(sandbox, { model: 'fake-refusal-partial', stream: true })).text);
  assert.equal(streamed.map((chunk) => at(chunk, 'choices', 0, 'delta', 'refusal') ?? '').join(''), 'I would rather not go on with this.');
});

const CALL = { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{}' } };
const CALLED = { role: 'assistant', content: null, tool_calls: [CALL] };
const called = (change: object): object => ({ messages: [USER, { ...CALLED, tool_calls: [{ ...CALL, ...change }] }] });
const RESULT = { role: 'tool', tool_call_id: 'call_a', content: 'x' };

const REFUSED: readonly (readonly [what: string, body: object, code: string | null, message: RegExp])[] = [
  ['an unknown field', { colour: 1 }, 'unknown_parameter', /^Unknown parameter: 'colour'\.$/],
  ['an unknown field of a message', { messages: [{ ...USER, id: 1 }] }, 'unknown_parameter', /'messages\[0\]\.id'/],
  ['reasoning that this host never sent', { messages: [USER, { role: 'assistant', content: 'x', reasoning_content: 'x' }] }, 'unknown_parameter', /'messages\[1\]\.reasoning_content'/],
  ['a missing field', { messages: [{ role: 'user' }] }, 'missing_required_parameter', /'messages\[0\]\.content'/],
  ['a wrong type', { temperature: 'hot' }, 'invalid_type', /expected a number, but got string/],
  ['a wrong value', { reasoning_effort: 'most' }, 'invalid_value', /Supported values are: 'none'/],
  ['a wrong tool_choice', { tools: [WEATHER], tool_choice: 'any' }, 'invalid_value', /'any'/],
  ['the old name of the limit', { max_tokens: 5 }, 'unsupported_parameter', /Use 'max_completion_tokens' instead/],
  ['no choice at all', { n: 0 }, 'integer_below_min_value', /Expected a value >= 1/],
  ['too many choices', { n: 129 }, 'integer_above_max_value', /Expected a value <= 128/],
  ['five stop sequences', { stop: ['1', '2', '3', '4', '5'] }, 'array_above_max_length', /array too long/],
  ['an image by another scheme', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///x' } }] }] }, 'invalid_value', /image_url\.url/],
  ['no messages', { messages: [] }, 'empty_array', /Invalid 'messages': empty array/],
  ['an empty list of tools', { tools: [] }, 'empty_array', /Invalid 'tools': empty array/],
  ['an empty list of calls', { messages: [USER, { role: 'assistant', content: 'x', tool_calls: [] }] }, 'empty_array', /messages\[1\]\.tool_calls/],
  ['a choice without tools', { tool_choice: 'auto' }, null, /only allowed when 'tools' are specified/],
  ['a choice of another tool', { tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'x' } } }, null, /Tool choice 'x' not found/],
  ['stream options without a stream', { stream_options: { include_usage: true } }, null, /only allowed when 'stream' is enabled/],
  ['a schema of no object', { tools: [tool('x', { type: 'string' })] }, 'invalid_function_parameters', /Invalid schema for function 'x'/],
  ['an assistant without content', { messages: [USER, { role: 'assistant', content: null }] }, null, /expected a string, got null/],
  ['a long call id', called({ id: 'x'.repeat(41) }), 'string_above_max_length', /maximum length 40, but got a string with length 41/],
  ['arguments that are no JSON object', called({ function: { name: 'x', arguments: '[]' } }), 'invalid_value', /text of a JSON object/],
  ['arguments that are no text', called({ function: { name: 'x', arguments: {} } }), 'invalid_type', /function\.arguments/],
  ['a call unanswered at the end', { messages: [USER, CALLED] }, null, /did not have response messages: call_a/],
  ['a call unanswered before the user', { messages: [USER, CALLED, USER] }, null, /did not have response messages: call_a/],
  ['a result without a call', { messages: [USER, RESULT] }, null, /must be a response to a preceeding message/],
  ['a second result of a call', { messages: [USER, CALLED, RESULT, RESULT] }, null, /must be a response to a preceeding message/],
];

for (const [what, body, code, message] of REFUSED) {
  test(`${what} is refused by OpenAI`, async (t) => {
    const answer = await ask(await open(t), body);
    const error = at(JSON.parse(answer.text), 'error');
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual([at(error, 'type'), at(error, 'code')], ['invalid_request_error', code]);
    assert.match(String(at(error, 'message')), message);
  });
}

test("a result may name its tool, as LangChain's agents do, and a call its place in the stream, as eino's do", async (t) => {
  const sandbox = await open(t);
  for (const provider of ['openai', 'compat'] as const) {
    assert.equal((await ask(sandbox, { messages: [USER, { ...CALLED, tool_calls: [{ ...CALL, index: 0 }] }, { ...RESULT, name: 'weather' }] }, provider)).status, 200);
  }
});

test('the compatible host knows neither the new name of the limit nor the developer role', async (t) => {
  const sandbox = await open(t);
  assert.match((await ask(sandbox, { max_completion_tokens: 1 }, 'compat')).text, /Unknown parameter: 'max_completion_tokens'/);
  assert.match((await ask(sandbox, { messages: [{ role: 'developer', content: 'x' }, USER] }, 'compat')).text, /Invalid value: 'developer'/);
});

test('the compatible host wants reasoning back on turns with calls, as it was or empty', async (t) => {
  const sandbox = await open(t);
  const { reasoning_content: reasoning, ...message } = await messageOf(sandbox, LOOP, 'compat');
  const answerTo = (turn: Message): Promise<Answer> => ask(sandbox, { ...LOOP, messages: [USER, turn, ...resultsFor(turn)] }, 'compat');
  const lost = await answerTo(message);
  assert.equal(lost.status, 400);
  assert.equal(at(JSON.parse(lost.text), 'error', 'message'), 'The `reasoning_content` in the thinking mode must be passed back to the API.');
  assert.equal((await answerTo({ ...message, reasoning_content: '' })).status, 200);
  assert.equal((await answerTo({ ...message, reasoning_content: String(reasoning) })).status, 200);
  assert.equal((await answerTo({ ...message, reasoning_content: 'Altered.' })).status, 400);
});

test('an end user that is null, and results that name their tool, are taken, as LlamaIndex and CrewAI send them', async (t) => {
  const sandbox = await open(t);
  for (const dialect of ['openai', 'compat'] as const) {
    const message = await messageOf(sandbox, { ...LOOP, user: null }, dialect);
    const results = resultsFor(message).map((result) => ({ ...result, name: 'weather' }));
    const next = await ask(sandbox, { ...LOOP, user: null, messages: [USER, message, ...results] }, dialect);
    assert.equal(next.status, 200, next.text);
  }
});

test('tools that are null are none, as Guidance sends them', async (t) => {
  const answer = await ask(await open(t), { tools: null });
  assert.equal(answer.status, 200, answer.text);
});

test('a body that is no JSON object is refused', async (t) => {
  const sandbox = await open(t);
  const answer = await request(`${sandbox.baseUrls.openai}/chat/completions`, '[]', HEADERS.openai);
  assert.match(answer.text, /could not parse the JSON body/);
});

test('models come in one list', async (t) => {
  const sandbox = await open(t);
  const list: unknown = await (await fetch(`${sandbox.baseUrls.openai}/models`, { headers: HEADERS.openai })).json();
  assert.deepEqual((at(list, 'data') as unknown[]).map((model) => at(model, 'id')), ['fake-chat', 'fake-tool-loop', 'fake-thinking']);
});

test('as many choices come as were asked for, whole and streamed', async (t) => {
  const sandbox = await open(t);
  const whole = parsed(await ask(sandbox, { n: 2 }));
  const choices = at(whole, 'choices') as unknown[];
  assert.deepEqual(choices.map((choice) => at(choice, 'index')), [0, 1]);
  const streamed = events((await ask(sandbox, { n: 2, stream: true, stream_options: { include_usage: true } })).text);
  const textOf = (index: number): string => streamed.filter((event) => at(event, 'choices', 0, 'index') === index).map((event) => at(event, 'choices', 0, 'delta', 'content') ?? '').join('');
  assert.deepEqual([textOf(0), textOf(1)], choices.map((choice) => at(choice, 'message', 'content')));
  assert.deepEqual(at(streamed.at(-1), 'usage'), at(whole, 'usage'));
  assert.equal(at(whole, 'usage', 'completion_tokens'), 2 * Number(at(parsed(await ask(sandbox, {})), 'usage', 'completion_tokens')));
});
