import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import { HEADERS, at, events, open, parsed, request } from '../client.ts';
import type { Answer } from '../client.ts';

const tool = (name: string, parameters: object, strict?: boolean): object => ({ type: 'function', name, parameters, strict });
const WEATHER = tool('weather', { type: 'object', properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] } } }, false);
const CLOTHES = tool('clothes', { type: 'object', properties: {} }, false);
const USER = { role: 'user', content: 'Go' };
const SEALED = { include: ['reasoning.encrypted_content'], store: false };
const LOOP = { model: 'fake-tool-loop', tools: [WEATHER, CLOTHES], ...SEALED };
type Item = Readonly<Record<string, unknown>>;

function ask(sandbox: Sandbox, body: object): Promise<Answer> {
  return request(`${sandbox.baseUrls.openai}/responses`, { model: 'fake-chat', input: [USER], ...body }, HEADERS.openai);
}

async function outputOf(sandbox: Sandbox, body: object): Promise<readonly Item[]> {
  return at(parsed(await ask(sandbox, body)), 'output') as readonly Item[];
}

function outputsFor(items: readonly Item[], output = 'rain'): Item[] {
  return items.filter((item) => item['type'] === 'function_call').map((item) => ({ type: 'function_call_output', call_id: item['call_id'], output }));
}

test('a response says hello and reports usage', async (t) => {
  const reply = parsed(await ask(await open(t), { input: 'Hello' }));
  assert.deepEqual([at(reply, 'object'), at(reply, 'status'), at(reply, 'error')], ['response', 'completed', null]);
  assert.deepEqual(at(reply, 'output', 0, 'content'), [
    { type: 'output_text', annotations: [], logprobs: [], text: 'Hello from fake-chat! You wrote: Hello This answer was made up on your own machine.' },
  ]);
  assert.deepEqual([at(reply, 'usage', 'input_tokens'), at(reply, 'usage', 'output_tokens'), at(reply, 'usage', 'total_tokens')], [1, 15, 16]);
});

test('a stream begins with response.created and response.in_progress, holds the same text, and ends with the whole response', async (t) => {
  const sandbox = await open(t);
  const whole = parsed(await ask(sandbox, {}));
  const { text } = await ask(sandbox, { stream: true });
  const streamed = events(text);
  assert.deepEqual(text.match(/^event: .*$/gm), streamed.map(({ type }) => `event: ${String(type)}`));
  assert.deepEqual(streamed.map((event) => event['sequence_number']), streamed.map((_event, index) => index));
  assert.deepEqual(streamed.slice(0, 2).map(({ type }) => type), ['response.created', 'response.in_progress']);
  assert.equal(streamed.map((event) => event['delta'] ?? '').join(''), at(whole, 'output', 0, 'content', 0, 'text'));
  assert.deepEqual(at(streamed.at(-1), 'response'), whole);
});

type Event = Readonly<Record<string, unknown>>;

/** Where the pieces of an item go, by the names of their events: into which of its lists, if any, at which index, as what. */
const PIECES: Readonly<Record<string, readonly [list: string | undefined, index: string, text: string]>> = {
  output_text: ['content', 'content_index', 'text'],
  refusal: ['content', 'content_index', 'refusal'],
  reasoning_summary_text: ['summary', 'summary_index', 'text'],
  function_call_arguments: [undefined, '', 'arguments'],
  custom_tool_call_input: [undefined, '', 'input'],
};

/** The items of a stream, put together from their pieces, each compared with what the events at its end say. */
function assembled(streamed: readonly Event[]): readonly Item[] {
  const output: Record<string, unknown>[] = [];
  for (const event of streamed) {
    const [, name = '', step = ''] = /^response\.(\w+)\.(\w+)$/.exec(String(event['type'])) ?? [];
    const index = Number(event['output_index']);
    if (name === 'output_item' && step === 'added') output[index] = structuredClone(event['item']) as Record<string, unknown>;
    const item = output[index];
    if (item === undefined) continue;
    if (name === 'output_item') {
      if (step === 'added') continue;
      if (item['type'] !== 'reasoning') {
        assert.equal(item['status'], 'in_progress');
        item['status'] = 'completed';
      }
      assert.deepEqual(event['item'], item);
      continue;
    }
    assert.equal(event['item_id'], item['id']);
    if (name === 'content_part' || name === 'reasoning_summary_part') {
      const [list = '', at = ''] = PIECES[name === 'content_part' ? 'output_text' : 'reasoning_summary_text'] ?? [];
      const parts = item[list] as unknown[];
      if (step === 'added') parts[Number(event[at])] = structuredClone(event['part']);
      else assert.deepEqual(parts[Number(event[at])], event['part']);
      continue;
    }
    const [list, at, text] = PIECES[name] ?? assert.fail(String(event['type']));
    const owner = list === undefined ? item : (item[list] as Record<string, unknown>[])[Number(event[at])] ?? assert.fail();
    if (step === 'delta') owner[text] = String(owner[text]) + String(event['delta']);
    else assert.equal(event[text], owner[text]);
  }
  return output;
}

for (const [what, body, types] of [
  ['a tool loop', LOOP, ['reasoning', 'reasoning', 'message', 'function_call', 'function_call']],
  ['custom tools', { ...LOOP, tools: [{ type: 'custom', name: 'weather' }] }, ['reasoning', 'reasoning', 'message', 'custom_tool_call', 'custom_tool_call']],
  ['a refusal', { model: 'fake-refusal-partial' }, ['message']],
] as const) {
  test(`a stream of ${what} is put together from its pieces to the items of the whole response, as SDKs do`, async (t) => {
    const sandbox = await open(t);
    const output = await outputOf(sandbox, body);
    assert.deepEqual(output.map(({ type }) => type), types);
    assert.deepEqual(assembled(events((await ask(sandbox, { ...body, stream: true })).text)), output);
  });
}

test('a streamed summary, text and call each tell their pieces whole before their item is done', async (t) => {
  const streamed = events((await ask(await open(t), { ...LOOP, stream: true })).text);
  const typesAt = (index: number): unknown[] => [...new Set(streamed.filter((event) => event['output_index'] === index).map(({ type }) => type))];
  const around = (...types: readonly string[]): string[] => ['output_item.added', ...types, 'output_item.done'].map((type) => `response.${type}`);
  const summary = ['reasoning_summary_part.added', 'reasoning_summary_text.delta', 'reasoning_summary_text.done', 'reasoning_summary_part.done'];
  assert.deepEqual(typesAt(0), around(...summary));
  assert.deepEqual(typesAt(2), around('content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done'));
  assert.deepEqual(typesAt(3), around('function_call_arguments.delta', 'function_call_arguments.done'));
  assert.equal(streamed.find(({ type }) => type === 'response.output_text.done')?.['text'], 'Let me look that up.');
});

test('a tool loop goes round when the output is sent back as it is', async (t) => {
  const sandbox = await open(t);
  const input: Item[] = [USER];
  const rounds: unknown[] = [];
  for (let round = 0; round < 3; round += 1) {
    const items = await outputOf(sandbox, { ...LOOP, input });
    rounds.push(items.map((item) => item['phase'] ?? item['type']));
    input.push(...items, ...outputsFor(items));
  }
  assert.deepEqual(rounds, [
    ['reasoning', 'reasoning', 'commentary', 'function_call', 'function_call'],
    ['reasoning', 'function_call'],
    ['reasoning', 'final_answer'],
  ]);
});

test('a custom tool is called with plain text, and answered as what it is', async (t) => {
  const sandbox = await open(t);
  const tools = [{ type: 'custom', name: 'weather', description: 'tells it', format: { type: 'text' } }];
  const loop = { model: 'fake-tool-loop', tools, ...SEALED };
  const items = await outputOf(sandbox, loop);
  const call = items.find((item) => item['type'] === 'custom_tool_call');
  assert.deepEqual([call?.['name'], typeof call?.['input'], call?.['arguments']], ['weather', 'string', undefined]);
  assert.doesNotMatch(String(call?.['input']), /^\{/);
  const streamed = events((await ask(sandbox, { ...loop, stream: true })).text);
  const pieces = streamed.filter(({ type, item_id }) => type === 'response.custom_tool_call_input.delta' && item_id === call?.['id']);
  assert.equal(pieces.map(({ delta }) => delta).join(''), call?.['input']);
  const outputs = items.filter((item) => item['type'] === 'custom_tool_call').map((item) => ({ type: 'custom_tool_call_output', call_id: item['call_id'], output: 'rain' }));
  assert.equal((await ask(sandbox, { ...loop, input: [USER, ...items, ...outputs] })).status, 200);
  assert.equal((await ask(sandbox, { ...loop, input: [USER, ...items] })).status, 400);
});

test('reasoning goes back with content that is null, as coding agents send it', async (t) => {
  const sandbox = await open(t);
  const output = await outputOf(sandbox, LOOP);
  const history = output.map((item) => (item['type'] === 'reasoning' ? { ...item, content: null } : item));
  const next = await ask(sandbox, { ...LOOP, input: [USER, ...history, ...outputsFor(output)] });
  assert.equal(next.status, 200, next.text);
});

test('what a coding agent sends is taken, and only functions are called', async (t) => {
  const sandbox = await open(t);
  const tools = [{ type: 'web_search', external_web_access: true }, { type: 'namespace', name: 'agents', tools: [WEATHER] }, WEATHER];
  const body = { model: 'fake-parallel', tools, client_metadata: { turn_id: '1' }, input: [{ type: 'message', id: 'msg_1', ...USER }] };
  const output = await outputOf(sandbox, body);
  assert.deepEqual([...new Set(output.map((item) => item['name']))], ['weather']);
  const goal = { type: 'function_call_output', id: 'fco_1', name: 'goal_objective', namespace: 'agent', output: 'Go' };
  const next = await ask(sandbox, { ...body, input: [...body.input, ...output, ...outputsFor(output), goal] });
  assert.equal(next.status, 200, next.text);
});

test('thoughts are sealed when that is asked for, and told where there is a summary', async (t) => {
  const sandbox = await open(t);
  const thoughts = async (body: object): Promise<unknown[]> =>
    (await outputOf(sandbox, { ...LOOP, ...body })).filter((item) => item['type'] === 'reasoning').map((item) => [typeof item['encrypted_content'], at(item, 'summary', 0, 'text')]);
  assert.deepEqual(await thoughts({}), [['string', 'Two look-ups first.'], ['string', undefined]]);
  assert.deepEqual(await thoughts({ include: undefined }), [['object', 'Two look-ups first.'], ['object', undefined]]);
});

test('thoughts that are lost or altered are refused', async (t) => {
  const sandbox = await open(t);
  const items = await outputOf(sandbox, LOOP);
  const answerTo = (turn: readonly Item[]): Promise<Answer> => ask(sandbox, { ...LOOP, input: [USER, ...turn, ...outputsFor(turn)] });
  const lost = await answerTo(items.slice(1));
  assert.equal(lost.status, 400);
  assert.match(lost.text, /was provided without its required 'reasoning' item/);
  const altered = await answerTo(items.map((item) => (item['type'] === 'reasoning' ? { ...item, encrypted_content: 'x' } : item)));
  assert.equal(at(JSON.parse(altered.text), 'error', 'code'), 'invalid_encrypted_content');
  assert.equal((await answerTo(items.map(({ id: _id, status: _status, ...item }) => item))).status, 200);
});

test('the model thinks when asked to, and not when told not to', async (t) => {
  const sandbox = await open(t);
  const thinks = async (reasoning: object): Promise<boolean> => (await outputOf(sandbox, { reasoning })).some((item) => item['type'] === 'reasoning');
  assert.deepEqual([await thinks({ effort: 'max', summary: 'auto' }), await thinks({ effort: 'none' }), await thinks({})], [true, false, false]);
});

test('limits and tool_choice are honoured', async (t) => {
  const sandbox = await open(t);
  const cut = parsed(await ask(sandbox, { max_output_tokens: 1 }));
  assert.deepEqual([at(cut, 'status'), at(cut, 'incomplete_details', 'reason'), at(cut, 'output', 0, 'status')], ['incomplete', 'max_output_tokens', 'incomplete']);
  const streamed = events((await ask(sandbox, { max_output_tokens: 1, stream: true })).text);
  assert.equal(streamed.at(-1)?.['type'], 'response.incomplete');
  const named = await outputOf(sandbox, { tools: [WEATHER, CLOTHES], tool_choice: { type: 'function', name: 'clothes' } });
  assert.equal(named[0]?.['name'], 'clothes');
  assert.equal((await outputOf(sandbox, { tools: [WEATHER], tool_choice: 'required' }))[0]?.['type'], 'function_call');
  assert.equal((await outputOf(sandbox, { ...LOOP, tool_choice: 'none' })).at(-1)?.['type'], 'message');
});

test('refusals are spoken, or a filter ended them, or the prompt is refused', async (t) => {
  const sandbox = await open(t);
  const spoken = parsed(await ask(sandbox, { model: 'fake-refusal-partial' }));
  assert.deepEqual([at(spoken, 'status'), at(spoken, 'output', 0, 'content', 0, 'refusal')], ['completed', 'I would rather not go on with this.']);
  const streamed = events((await ask(sandbox, { model: 'fake-refusal-partial', stream: true })).text).filter(({ type }) => type === 'response.refusal.delta');
  assert.equal(streamed.map(({ delta }) => delta).join(''), 'I would rather not go on with this.');
  const filtered = parsed(await ask(sandbox, { model: 'fake-refusal' }));
  assert.deepEqual([at(filtered, 'incomplete_details', 'reason'), at(filtered, 'output')], ['content_filter', []]);
  const blocked = await ask(sandbox, { model: 'fake-blocked' });
  assert.deepEqual([blocked.status, at(JSON.parse(blocked.text), 'error', 'code')], [400, 'invalid_prompt']);
});

test('usage is left out where the model reports none', async (t) => {
  assert.equal(at(parsed(await ask(await open(t), { model: 'fake-no-usage' })), 'usage'), null);
});

test('an error inside a stream is an event of its own', async (t) => {
  const streamed = events((await ask(await open(t), { model: 'fake-overloaded', stream: true })).text);
  assert.deepEqual(streamed.map((event) => [event['type'], at(event, 'error', 'code')]), [['error', 'server_is_overloaded']]);
});

test('images and instructions are seen', async (t) => {
  const sandbox = await open(t);
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
  const reply = parsed(await ask(sandbox, {
    instructions: 'Be brief',
    input: [{ role: 'developer', content: 'And kind' }, { role: 'user', content: [{ type: 'input_text', text: 'Look' }, image] }],
  }));
  assert.match(String(at(reply, 'output', 0, 'content', 0, 'text')), /You wrote: Look I see 1 image\./);
  assert.equal(at(reply, 'usage', 'input_tokens'), 2 + 2 + 1 + 85);
});

const CALL = { type: 'function_call', call_id: 'call_a', name: 'weather', arguments: '{}' };
const OUTPUT = { type: 'function_call_output', call_id: 'call_a', output: 'x' };

const REFUSED: readonly (readonly [what: string, body: object, code: string | null, message: RegExp])[] = [
  ['stop sequences', { stop: ['x'] }, 'unknown_parameter', /^Unknown parameter: 'stop'\.$/],
  ['messages instead of input', { input: undefined, messages: [USER] }, 'missing_required_parameter', /'input'/],
  ['a text part of Chat Completions', { input: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] }, 'invalid_value', /'input_text'/],
  ['an item of an unknown type', { input: [{ type: 'tool_use' }] }, 'invalid_value', /'tool_use'/],
  ['a wrong effort', { reasoning: { effort: 'most' } }, 'invalid_value', /Supported values are: 'none'/],
  ['a thought with text in the clear', { input: [USER, { type: 'reasoning', summary: [], encrypted_content: 'x', content: [] }] }, 'invalid_type', /input\[1\]\.content/],
  ['a phase that is none', { input: [USER, { role: 'assistant', content: 'x', phase: 'end' }] }, 'invalid_value', /'commentary'/],
  ['a nested tool', { tools: [{ type: 'function', function: { name: 'x' } }] }, 'missing_required_parameter', /tools\[0\]\.name/],
  ['a loose schema of a strict tool', { tools: [tool('x', { type: 'object', properties: {} }, true)] }, 'invalid_function_parameters', /additionalProperties/],
  ['a schema of no object', { tools: [tool('x', { type: 'string' }, false)] }, 'invalid_function_parameters', /Invalid schema for function 'x'/],
  ['a choice of another tool', { tools: [WEATHER], tool_choice: { type: 'function', name: 'x' } }, null, /Tool choice 'x' not found/],
  ['a forced choice without tools', { tool_choice: 'required' }, null, /must be specified with 'tools'/],
  ['a long call id', { input: [USER, { ...CALL, call_id: 'x'.repeat(65) }] }, 'string_above_max_length', /maximum length 64, but got a string with length 65/],
  ['arguments that are no JSON object', { input: [USER, { ...CALL, arguments: '[]' }, OUTPUT] }, 'invalid_value', /text of a JSON object/],
  ['a call unanswered at the end', { input: [USER, CALL] }, null, /No tool output found for function call call_a\./],
  ['a call unanswered before the user', { input: [USER, CALL, USER, OUTPUT] }, null, /No tool output found for function call call_a\./],
  ['an output without a call', { input: [USER, OUTPUT] }, null, /No tool call found for function call output with call_id call_a\./],
];

for (const [what, body, code, message] of REFUSED) {
  test(`${what} is refused`, async (t) => {
    const answer = await ask(await open(t), body);
    const error = at(JSON.parse(answer.text), 'error');
    assert.equal(answer.status, 400, answer.text);
    assert.equal(at(error, 'code'), code);
    assert.match(String(at(error, 'message')), message);
  });
}

test('a body that is no JSON object, another method and another path are refused', async (t) => {
  const sandbox = await open(t);
  const url = `${sandbox.baseUrls.openai}/responses`;
  assert.match((await request(url, '[]', HEADERS.openai)).text, /could not parse the JSON body/);
  assert.equal((await fetch(url, { headers: HEADERS.openai })).status, 404);
  assert.equal((await request(`${url}/resp_1`, {}, HEADERS.openai)).status, 404);
  assert.equal((await fetch(`${url}/models`, { headers: HEADERS.openai })).status, 404);
});
