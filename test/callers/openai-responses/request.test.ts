import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import { OPENAI_RESPONSES } from '../../../src/callers/openai-responses/dialect.ts';
import type { ChatRequest } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { decodedBy, refusal, told, translated } from '../dialect-testing.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const HI: ChatRequest = {
  provider: undefined,
  model: 'm',
  system: undefined,
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi', state: undefined }] }],
  maxTokens: undefined,
  temperature: undefined,
  topP: undefined,
  stop: [],
  tools: [],
  toolChoice: undefined,
  thinking: undefined,
  output: undefined,
  cache: undefined,
  user: undefined,
  providerOptions: undefined,
};

function requestOf(fields: object): ChatRequest {
  return translated(OPENAI_RESPONSES, { model: 'm', input: 'Hi', ...fields }).request;
}

function ignoredOf(fields: object): readonly string[] {
  return translated(OPENAI_RESPONSES, { model: 'm', input: 'Hi', ...fields }).ignored;
}

function refusalOf(fields: object): string {
  return refusal(OPENAI_RESPONSES, { model: 'm', input: 'Hi', ...fields });
}

/** The turns of an input, without the properties that are undefined. */
function turnsOf(...input: readonly unknown[]): unknown[] {
  return JSON.parse(JSON.stringify(requestOf({ input }).turns)) as unknown[];
}

const user = (content: unknown): object => ({ role: 'user', content });
const USER_TURN = { role: 'user', parts: [{ type: 'text', text: 'Hi' }] };

test('a Responses request with a model and a text is a chat of one turn', () => {
  assert.deepEqual(translated(OPENAI_RESPONSES, { model: 'm', input: 'Hi' }), { request: HI, ignored: [] });
});

test('a Responses request says what it asks for before it is translated', () => {
  const decoded = decodedBy(OPENAI_RESPONSES, { model: 'm', stream: true });
  assert.ok(!(decoded instanceof Failure));
  const { provider, model, isStream, wantsUsage } = decoded;
  assert.deepEqual({ provider, model, isStream, wantsUsage }, { provider: undefined, model: 'm', isStream: true, wantsUsage: true });
});

test('a Responses request is translated for the model that it is given, any number of times', () => {
  const decoded = decodedBy(OPENAI_RESPONSES, { model: 'acme/m', input: 'Hi', store: false });
  assert.ok(!(decoded instanceof Failure));
  for (const model of ['m', 'n']) {
    const translation = decoded.translate(model);
    assert.ok(!(translation instanceof Failure));
    assert.deepEqual([translation.request, translation.ignored], [{ ...HI, model }, ['store']]);
  }
});

test('a Responses request whose stream is false or null is answered whole', () => {
  for (const stream of [false, null, undefined]) {
    const decoded = decodedBy(OPENAI_RESPONSES, { model: 'm', input: 'Hi', stream });
    assert.ok(!(decoded instanceof Failure) && !decoded.isStream);
  }
});

test('mapped fields of a Responses request become those of the chat', () => {
  const schema = { type: 'object', properties: { n: { const: 1 } } };
  assert.deepEqual(
    requestOf({
      instructions: 'Be brief.',
      max_output_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      tools: [{ type: 'function', name: 'weather', description: 'Weather', parameters: schema }, { type: 'function', name: 'now', description: '', parameters: null }],
      tool_choice: { type: 'function', name: 'weather' },
      reasoning: { effort: 'high' },
      text: { format: { type: 'text' } },
      include: ['reasoning.encrypted_content'],
    }),
    {
      ...HI,
      system: 'Be brief.',
      maxTokens: 50,
      temperature: 0.5,
      topP: 0.9,
      tools: [
        { name: 'weather', description: 'Weather', parameters: new RawJson(JSON.stringify(schema)), strict: undefined },
        { name: 'now', description: undefined, parameters: undefined, strict: undefined },
      ],
      toolChoice: { mode: 'tool', name: 'weather', parallel: undefined },
      thinking: { enabled: true, effort: 'high' },
    },
  );
});

for (const [format, output] of [
  [{ type: 'text' }, undefined],
  [{ type: 'json_object' }, { schema: undefined, name: 'output', strict: true }],
  [{ type: 'json_schema', name: 'a', schema: { x: 1 } }, { schema: new RawJson('{"x":1}'), name: 'a', strict: false }],
  [{ type: 'json_schema', name: 'a', schema: { x: 1 }, strict: true }, { schema: new RawJson('{"x":1}'), name: 'a', strict: true }],
] as const) {
  test(`text.format ${JSON.stringify(format)} is an output of the chat`, () => assert.deepEqual(requestOf({ text: { format } }).output, output));
}

test('whether tools are strict, and whether a turn may make several calls, is said', () => {
  const tools = [true, false, null].map((strict, n) => ({ type: 'function', name: `f${n}`, strict }));
  const { request } = translated(OPENAI_RESPONSES, { model: 'm', input: 'Hi', tools, parallel_tool_calls: false });
  assert.deepEqual(request.tools.map(({ strict }) => strict), [true, false, undefined]);
  assert.deepEqual(request.toolChoice, { mode: 'auto', parallel: false });
});

test('files are documents, and an output may hold images and files', () => {
  const pdf = { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' }, name: 'a.pdf' };
  const file = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' };
  const { turns } = requestOf({
    input: [
      user([file, { type: 'input_file', file_url: 'https://example.com/b.pdf' }]),
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'seen' }, { type: 'input_image', image_url: 'https://example.com/a.png' }, file] },
    ],
  });
  const [said, , results] = turns;
  assert.deepEqual(said?.parts, [pdf, { type: 'document', mediaType: 'application/pdf', source: { type: 'url', url: 'https://example.com/b.pdf' }, name: undefined }]);
  const [result] = results?.parts ?? [];
  assert.ok(result?.type === 'tool_result');
  assert.deepEqual(result.content, [
    { type: 'text', text: 'seen', state: undefined },
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    pdf,
  ]);
  const outputs = (...output: readonly object[]): unknown => {
    const [, results] = requestOf({ input: [{ type: 'function_call', call_id: 'c', name: 'f' }, { type: 'function_call_output', call_id: 'c', name: 'f', output }] }).turns;
    return results?.parts.map((part) => part.type === 'tool_result' && part.content);
  };
  assert.deepEqual(outputs({ ...file, filename: '' }), [[{ ...pdf, name: undefined }]]);
});

test('what tools of the vendor did before is left out and named', () => {
  const types = ['web_search_call', 'file_search_call', 'code_interpreter_call', 'image_generation_call', 'mcp_list_tools', 'mcp_call', 'tool_search_call', 'tool_search_output'];
  const done = types.map((type) => ({ type, id: 'x', status: 'completed', call_id: 'c', output: 'y' }));
  const { request, ignored } = translated(OPENAI_RESPONSES, { model: 'm', input: [user('Hi'), ...done, { role: 'assistant', content: 'Found.' }, user('On')] });
  assert.deepEqual(request.turns.map(({ role, parts }) => `${role} ${parts.length}`), ['user 1', 'assistant 1', 'user 1']);
  assert.deepEqual(ignored, types.map((_type, index) => `input[${index + 1}]`));
});

test('what is said among the results of calls comes behind them all', () => {
  const call = (id: string): object => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
  const result = (id: string): object => ({ type: 'function_call_output', call_id: id, output: id });
  const notice = { type: 'message', role: 'developer', content: 'Resized.' };
  const told = { role: 'user', parts: [{ type: 'text', text: '<system>\nResized.\n</system>', state: undefined }] };
  const on = { role: 'user', parts: [{ type: 'text', text: 'On', state: undefined }] };
  for (const [first, second, third] of [[result('a'), notice, result('b')], [notice, result('a'), result('b')], [result('a'), result('b'), notice]]) {
    const { turns } = requestOf({ input: [user('Hi'), call('a'), call('b'), first, second, third, user('On'), call('c'), user('On'), notice, result('c')] });
    assert.deepEqual(turns.map(({ role, parts }) => `${role} ${parts.length}`), ['user 1', 'assistant 2', 'tool 2', 'user 1', 'user 1', 'assistant 1', 'tool 1', 'user 1', 'user 1']);
    assert.deepEqual([turns[3], turns[4], turns[7], turns[8]], [told, on, on, told]);
  }
  // A call without any result stays where it is, for its refusal.
  assert.deepEqual(requestOf({ input: [user('Hi'), call('a'), notice] }).turns.map(({ role }) => role), ['user', 'assistant', 'user']);
});

test('what is wrong with a chat is told by the items of this format', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
  const input = [user('Hi'), { type: 'message', role: 'assistant', content: 'A' }, call, { type: 'function_call_output', call_id: 'c', output: '1' }, user([{ type: 'input_text', text: 'On' }])];
  const said = (sentence: string): string => told(OPENAI_RESPONSES, { model: 'm', input }, sentence);
  assert.equal(said('messages[0].content[0]: no'), 'input[0].content: no');
  assert.equal(said('messages[1].content[0].provider_state: damaged'), 'input[1]: damaged');
  assert.equal(said('messages[1].content[1]: tool_call "c" is not answered before messages[3]'), 'input[2]: tool_call "c" is not answered before input[4]');
  assert.equal(said('messages[2].content[0]: answered'), 'input[3]: answered');
  const mixed = [user('Hi'), call, { role: 'developer', content: 'Be brief.' }];
  assert.equal(told(OPENAI_RESPONSES, { model: 'm', input: mixed }, 'not answered before messages[2]'), 'not answered before input[2]');
  assert.equal(said('messages[3].content[0]: no'), 'input[4].content[0]: no');
  assert.equal(said('output: no'), 'text.format: no');
  assert.equal(told(OPENAI_RESPONSES, { model: 'm', input: 'Hi' }, 'messages[0].content[0]: no'), 'input: no');
});

test('a tool of a Responses request keeps its schema as it is written', () => {
  const body = '{"model":"m","input":"Hi","tools":[{"type":"function","name":"t","parameters":{ "type":"object", "big":12345678901234567890 }}]}';
  assert.equal(translated(OPENAI_RESPONSES, body).request.tools[0]?.parameters?.text, '{ "type":"object", "big":12345678901234567890 }');
});

test('null stands for absent in every field of a Responses request', () => {
  const names = [...OPENAI_RESPONSES.fieldNames].filter((name) => name !== 'model' && name !== 'input');
  assert.deepEqual(translated(OPENAI_RESPONSES, { model: 'm', input: 'Hi', ...Object.fromEntries(names.map((name) => [name, null])) }), {
    request: HI,
    ignored: [],
  });
});

test('efforts of a Responses request become thinking', () => {
  const expected: Readonly<Record<string, unknown>> = {
    none: { enabled: false, effort: undefined },
    minimal: { enabled: true, effort: 'low' },
    low: { enabled: true, effort: 'low' },
    medium: { enabled: true, effort: 'medium' },
    high: { enabled: true, effort: 'high' },
    xhigh: { enabled: true, effort: 'max' },
    max: { enabled: true, effort: 'max' },
  };
  for (const [effort, thinking] of Object.entries(expected)) assert.deepEqual(requestOf({ reasoning: { effort } }).thinking, thinking, effort);
  assert.equal(requestOf({ reasoning: { summary: 'auto' } }).thinking, undefined);
  assert.match(refusalOf({ reasoning: { effort: 'huge' } }), /^bad_request: reasoning\.effort: must be one of/);
});

test('a Responses request names what it left out, as long as the answer is the same without it', () => {
  const cases: readonly (readonly [object, readonly string[]])[] = [
    [{ store: false }, ['store']],
    [{ store: true }, ['store']],
    [{ metadata: { a: 'b' }, client_metadata: {}, user: 'u', safety_identifier: 'u' }, ['metadata', 'client_metadata', 'user', 'safety_identifier']],
    [{ prompt_cache_key: 'k', prompt_cache_options: {}, prompt_cache_retention: '24h' }, ['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention']],
    [{ service_tier: 'auto', truncation: 'auto', context_management: [] }, ['service_tier', 'truncation', 'context_management']],
    [{ stream_options: { include_obfuscation: false }, max_tool_calls: 3, background_options: { completion_window: '2h' } }, ['stream_options', 'max_tool_calls', 'background_options']],
    [{ parallel_tool_calls: true, background: false, top_logprobs: 0 }, ['background', 'top_logprobs']],
    [{ parallel_tool_calls: false }, ['parallel_tool_calls']],
    [{ reasoning: { effort: 'low', summary: 'auto' }, text: { verbosity: 'low' } }, ['reasoning.summary', 'text.verbosity']],
    [{ text: { format: { type: 'json_schema', name: 'n', schema: {}, description: 'd' } } }, ['text.format.description']],
    [{ include: ['reasoning.encrypted_content', 'web_search_call.action.sources'] }, ['include[1]']],
    [{ tools: [{ type: 'function', name: 'n' }], tool_choice: { type: 'function', name: 'n', x: 1 } }, ['tool_choice.x']],
    [{ some_day: 1 }, ['some_day']],
    [{ max_output_tokens: 0 }, ['max_output_tokens']],
  ];
  for (const [fields, ignored] of cases) assert.deepEqual(ignoredOf(fields), ignored);
});

test('a Responses request is refused for what would change the answer, by its path', () => {
  const cases: readonly (readonly [object, string])[] = [
    [{ previous_response_id: 'resp_1' }, 'previous_response_id: nothing is stored here: send the whole conversation in `input`'],
    [{ conversation: 'conv_1' }, 'conversation: nothing is stored here: send the whole conversation in `input`'],
    [{ prompt: { id: 'p' } }, 'prompt: nothing is stored here: send the prompt itself'],
    [{ background: true }, 'background: nothing is stored here: an answer cannot be fetched later'],
    [{ top_logprobs: 1 }, 'top_logprobs: the answer has no log probabilities'],
    [{ moderation: {} }, "moderation: only OpenAI moderates requests"],
    [{ include: ['message.output_text.logprobs'] }, 'include[0]: the answer has no log probabilities'],
    [{ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }, 'tool_choice.type: only a function or a custom tool can be chosen'],
    [{ tools: [{ type: 'teleport' }] }, 'tools[0].type: only tools of type function and custom are supported'],
    [{ input: [{ type: 'compaction', encrypted_content: 'x' }] }, 'input[0].type: items of this type are not supported'],
    [{ input: [{ type: 'local_shell_call', id: 'ls_1' }] }, 'input[0].type: items of this type are not supported'],
    [{ input: [user([{ type: 'input_audio' }])] }, 'input[0].content[0].type: only input_text, input_image and input_file are supported'],
    [{ input: [user([{ type: 'input_file', file_id: 'f' }])] }, 'input[0].content[0].file_id: no files are stored here: send the file itself'],
    [{ input: [user([{ type: 'input_image', file_id: 'f' }])] }, 'input[0].content[0].file_id: no files are stored here: send the image itself'],
    [{ input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: 'x' }] }] }, 'input[0].content[0].type: only text is supported here'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_audio' }] }] }, 'input[0].output[0].type: only text is supported here'],
  ];
  for (const [fields, sentence] of cases) assert.equal(refusalOf(fields), `unsupported: ${sentence}`);
});

test('a text without a word beside a picture is left out and named, from a user and from a tool', () => {
  const parts = [{ type: 'input_text', text: '' }, { type: 'input_image', image_url: 'https://example.org/a.png' }];
  const image = { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } };
  const input = [user(parts), { type: 'function_call', call_id: 'c', name: 'f', arguments: '' }, { type: 'function_call_output', call_id: 'c', output: parts }];
  const { turns } = requestOf({ input });
  assert.deepEqual(turns[0]?.parts, [image]);
  assert.deepEqual(turns[2]?.parts, [{ type: 'tool_result', toolCallId: 'c', content: [image], isError: false }]);
  assert.deepEqual(ignoredOf({ input }), ['input[0].content[0]', 'input[2].output[0]']);
});

test('a Responses request that makes no sense is a bad_request that names the place', () => {
  const cases: readonly (readonly [object, string])[] = [
    [{ model: 1 }, 'model: expected a string, got a number'],
    [{ input: undefined }, 'input: required'],
    [{ input: '' }, 'input: must not be empty'],
    [{ input: {} }, 'input: expected an array, got an object; or a string'],
    [{ input: [] }, 'input: must have at least one user message'],
    [{ instructions: 'x', input: [{ role: 'developer', content: '' }] }, 'input: must have at least one user message'],
    [{ input: ['x'] }, 'input[0]: expected an object, got a string'],
    [{ input: [{}] }, 'input[0].type: required'],
    [{ input: [{ role: 'robot', content: 'x' }] }, 'input[0].role: must be one of user, assistant, system, developer'],
    [{ input: [user('')] }, 'input[0].content: must not be empty'],
    [{ input: [user([])] }, 'input[0].content: must not be empty'],
    [{ input: [user([{ type: 'input_text', text: '' }])] }, 'input[0].content: must not be empty'],
    [{ input: [{ role: 'user' }] }, 'input[0].content: required'],
    [{ input: [user([{ type: 'input_text' }])] }, 'input[0].content[0].text: required'],
    [{ input: [user([{ type: 'input_image' }])] }, 'input[0].content[0].image_url: required'],
    [{ input: [user([{ type: 'input_image', image_url: { url: 'x' } }])] }, 'input[0].content[0].image_url: expected a string, got an object'],
    [
      { input: [user([{ type: 'input_image', image_url: 'file:///x' }])] },
      'input[0].content[0].image_url: must be an absolute http or https URL, or a data URL in base64',
    ],
    [{ input: [{ type: 'function_call', name: 'n', arguments: '{}' }] }, 'input[0].call_id: required'],
    [{ input: [{ type: 'function_call', call_id: 'c', arguments: '{}' }] }, 'input[0].name: required'],
    [{ input: [{ type: 'function_call_output', call_id: 'c' }] }, 'input[0].output: expected a string or an array of text parts'],
    [{ max_output_tokens: -1 }, 'max_output_tokens: must be an integer from 0 to 9007199254740991'],
    [{ temperature: 'hot' }, 'temperature: expected a number, got a string'],
    [{ tool_choice: 'any' }, 'tool_choice: must be one of auto, none, required'],
    [{ tools: [{ type: 'function', function: { name: 'nested' } }] }, 'tools[0].name: required'],
    [{ text: 'short' }, 'text: expected an object, got a string'],
    [{ text: { format: { type: 'json_schema', name: 'n'.repeat(65), schema: {} } } }, 'text.format.name: must be 1 to 64 letters, digits, _ or -'],
    [{ include: [1] }, 'include[0]: expected a string, got a number'],
  ];
  for (const [fields, sentence] of cases) assert.equal(refusalOf(fields), `bad_request: ${sentence}`);
});

test('the arguments of all calls hold no more values together than a body may', () => {
  const args = `{"a":[${'0,'.repeat(60_000)}0]}`;
  const calls = ['a', 'b'].map((id) => ({ type: 'function_call', call_id: id, name: 'n', arguments: args }));
  assert.equal(refusalOf({ input: [user('Hi'), ...calls] }), 'bad_request: input[2].arguments: the calls hold more than 100000 values');
});

test('a reference to an item is refused with what to do instead, whether it says its type or not', () => {
  for (const reference of [{ type: 'item_reference', id: 'rs_1' }, { type: null, id: 'rs_1' }, { id: 'rs_1' }]) {
    assert.equal(
      refusalOf({ input: [user('Hi'), reference] }),
      'bad_request: input[1]: refers to an item that is not stored here: set `store: false`, so that items are sent themselves',
    );
  }
  assert.equal(refusalOf({ input: [user('Hi'), { id: 'fc_1', call_id: 'c' }] }), 'bad_request: input[1].type: required');
});

test('tools that only their vendor runs are left out and named while the model may choose', () => {
  const own = { type: 'function', name: 'weather' };
  const vendors = ['web_search', 'web_search_preview_2025_03_11', 'local_shell', 'mcp', 'computer_use_preview', 'image_generation', 'programmatic_tool_calling'];
  const tools = [own, ...vendors.map((type) => ({ type, name: 'x' }))];
  for (const mode of ['auto', 'required', 'none'] as const) {
    const { request, ignored } = translated(OPENAI_RESPONSES, { model: 'm', input: 'Hi', tools, tool_choice: mode });
    assert.deepEqual(request.tools, [{ name: 'weather', description: undefined, parameters: undefined, strict: undefined }]);
    assert.deepEqual(request.toolChoice, { mode, parallel: undefined });
    assert.deepEqual(ignored, vendors.map((_type, index) => `tools[${index + 1}]`));
  }
});

const MCP = {
  type: 'namespace',
  name: 'mcp__files',
  description: 'Files',
  tools: [{ type: 'function', name: 'read', description: 'Reads', strict: false, parameters: { type: 'object' } }, { type: 'local_shell', name: 'patch' }],
};

test('functions in namespaces are shown under one name, and what else is in a namespace is left out and named', () => {
  const { request, ignored } = translated(OPENAI_RESPONSES, { model: 'm', input: 'Hi', tools: [{ type: 'function', name: 'read' }, MCP, { ...MCP, name: 'empty', tools: [] }, { type: 'namespace', name: 'bare' }] });
  assert.deepEqual(request.tools, [
    { name: 'read', description: undefined, parameters: undefined, strict: undefined },
    { name: 'mcp__files__read', description: 'Reads', parameters: new RawJson('{"type":"object"}'), strict: false },
  ]);
  assert.deepEqual(ignored, ['tools[].description', 'tools[1].tools[1]', 'tools[2]', 'tools[3]']);
  assert.equal(refusalOf({ tools: [{ ...MCP, tools: [{ type: 'wand' }] }] }), 'unsupported: tools[0].tools[0].type: only tools of type function and custom are supported');
  assert.equal(refusalOf({ tools: [{ type: 'namespace' }] }), 'bad_request: tools[0].name: required');
});

test('a call or a choice of a function in a namespace names it as the model was shown it', () => {
  const call = { type: 'function_call', call_id: 'c', namespace: 'mcp__files', name: 'read', arguments: '{}' };
  const { request, ignored } = translated(OPENAI_RESPONSES, {
    model: 'm',
    tools: [{ ...MCP, description: '' }],
    tool_choice: { type: 'function', namespace: 'mcp__files', name: 'read' },
    input: [user('Hi'), call, { type: 'function_call_output', call_id: 'c', output: 'x' }],
  });
  assert.deepEqual(request.turns[1]?.parts.map((part) => part.type === 'tool_call' && part.name), ['mcp__files__read']);
  assert.deepEqual(request.toolChoice, { mode: 'tool', name: 'mcp__files__read', parallel: undefined });
  assert.deepEqual(ignored, ['tools[0].tools[1]']);
  const [, plain] = requestOf({ input: [user('Hi'), { ...call, namespace: '' }] }).turns;
  assert.deepEqual(plain?.parts.map((part) => part.type === 'tool_call' && part.name), ['read']);
});

const PATCH = { type: 'custom', name: 'patch', description: 'Edits', defer_loading: true };
const INPUT_SCHEMA = '{"type":"object","properties":{"input":{"type":"string","description":"The whole input of the tool"}},"required":["input"],"additionalProperties":false}';

test('a custom tool is shown as a function of one text, which has to match its grammar', () => {
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };
  const { request, ignored } = translated(OPENAI_RESPONSES, {
    model: 'm', input: 'Hi', tool_choice: { type: 'custom', name: 'patch' },
    tools: [PATCH, { type: 'custom', name: 'text', format: { type: 'text' } }, { type: 'namespace', name: 'n', tools: [{ ...PATCH, format }] }],
  });
  const grammar = INPUT_SCHEMA.replace('of the tool', 'of the tool, which has to match this lark grammar:\\nstart: \\"a\\"');
  assert.deepEqual(request.tools, [
    { name: 'patch', description: 'Edits', parameters: new RawJson(INPUT_SCHEMA), strict: undefined },
    { name: 'text', description: undefined, parameters: new RawJson(INPUT_SCHEMA), strict: undefined },
    { name: 'n__patch', description: 'Edits', parameters: new RawJson(grammar), strict: undefined },
  ]);
  assert.deepEqual(request.toolChoice, { mode: 'tool', name: 'patch', parallel: undefined });
  assert.deepEqual(ignored, ['tools[].defer_loading', 'tools[].tools[].defer_loading']);
  assert.equal(refusalOf({ tools: [PATCH, { type: 'function', name: 'patch' }] }), 'bad_request: tools[1].name: another tool has this name');
});

test('calls of custom tools and their results are those of functions, in a namespace too', () => {
  const call = { type: 'custom_tool_call', id: 'ctc_1', status: 'completed', call_id: 'c1', name: 'patch', input: 'a "b"\n' };
  const { request, ignored } = translated(OPENAI_RESPONSES, {
    model: 'm', tools: [{ type: 'namespace', name: 'n', tools: [PATCH] }],
    input: [
      user('Hi'), { ...call, namespace: 'n' }, { ...call, call_id: 'c2', input: '' }, { type: 'custom_tool_call_output', call_id: 'c1', output: 'Done' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'None' }] },
    ],
  });
  const part = { type: 'tool_call', state: undefined } as const;
  assert.deepEqual(request.turns.slice(1), [
    { role: 'assistant', parts: [
      { ...part, id: 'c1', name: 'n__patch', arguments: new RawJson('{"input":"a \\"b\\"\\n"}') }, { ...part, id: 'c2', name: 'patch', arguments: new RawJson('{"input":""}') },
    ] },
    { role: 'tool', parts: [
      { type: 'tool_result', toolCallId: 'c1', content: 'Done', isError: false }, { type: 'tool_result', toolCallId: 'c2', content: 'None', isError: false },
    ] },
  ]);
  assert.deepEqual(ignored, ['input[].id', 'input[].status', 'tools[].tools[].defer_loading']);
});

test('tools that an item of the conversation declares are tools like others', () => {
  const added = { type: 'additional_tools', id: 'at_1', role: 'developer', tools: [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }, { type: 'function', name: 'wait' }] }, { type: 'web_search' }] };
  const { request, ignored } = translated(OPENAI_RESPONSES, {
    model: 'm', tools: [], tool_choice: 'auto',
    input: [added, { role: 'developer', content: 'Be brief.' }, user('Hi'), { type: 'custom_tool_call', call_id: 'c', namespace: 'functions', name: 'exec', input: 'x' }, { type: 'custom_tool_call_output', call_id: 'c', output: '' }],
  });
  assert.deepEqual(request.tools.map(({ name }) => name), ['functions__exec', 'functions__wait']);
  assert.deepEqual([request.system, request.toolChoice, request.turns.length], ['Be brief.', { mode: 'auto', parallel: undefined }, 3]);
  assert.deepEqual(request.turns[1]?.parts.map((part) => part.type === 'tool_call' && part.name), ['functions__exec']);
  assert.deepEqual(ignored, ['input[].id', 'input[0].tools[1]']);
  assert.equal(refusalOf({ input: [{ ...added, tools: [{ type: 'wand' }] }, user('Hi')] }), 'unsupported: input[0].tools[0].type: only tools of type function and custom are supported');
  assert.equal(refusalOf({ input: [added] }), 'bad_request: input: must have at least one user message');
  const again = translated(OPENAI_RESPONSES, { model: 'm', input: [added, user('Hi'), { ...added, tools: [...added.tools, { type: 'function', name: 'new' }] }] });
  assert.deepEqual(again.request.tools.map(({ name }) => name), ['functions__exec', 'functions__wait', 'new']);
  assert.deepEqual(again.ignored, ['input[].id', 'input[0].tools[1]', 'input[2].tools[0].tools[0]', 'input[2].tools[0].tools[1]', 'input[2].tools[1]']);
});

test('names of functions in namespaces are never longer than providers take, nor the same for two functions', () => {
  const namesOf = (namespace: string, ...names: string[]): readonly string[] =>
    requestOf({ tools: [{ type: 'namespace', name: namespace, tools: names.map((name) => ({ type: 'function', name })) }] }).tools.map(({ name }) => name);
  const longest = 'n'.repeat(60);
  assert.deepEqual(namesOf('ns', longest), [`ns__${longest}`]);
  const cut = namesOf('ns', `${longest}1`, `${longest}2`);
  assert.deepEqual(cut.map((name) => name.slice(0, 56)), Array(2).fill(`ns__${'n'.repeat(51)}_`));
  assert.deepEqual([cut.map(({ length }) => length), new Set(cut).size], [[64, 64], 2]);
  assert.deepEqual(namesOf('ns', `${longest}1`, `${longest}2`), cut);
});

test('functions in namespaces whose one name is that of another tool are told apart, in calls and choices too', () => {
  const plain = (name: string): object => ({ type: 'function', name });
  const tools = [
    { type: 'namespace', name: 'a__b', tools: [plain('c')] },
    { type: 'namespace', name: 'a', tools: [plain('b__c'), plain('d')] },
    plain('a__d'),
  ];
  const call = { type: 'function_call', call_id: 'c1', namespace: 'a', name: 'b__c', arguments: '{}' };
  const { tools: shown, turns, toolChoice } = requestOf({
    tools,
    tool_choice: { type: 'function', namespace: 'a', name: 'd' },
    input: [user('Hi'), call, { ...call, call_id: 'c2', namespace: 'gone', name: 'b__c' }],
  });
  const [first, later = '', ofPlain = '', plainOne] = shown.map(({ name }) => name);
  assert.deepEqual([first, plainOne], ['a__b__c', 'a__d']);
  assert.match(later, /^a__b__c_[0-9a-f]{8}$/);
  assert.match(ofPlain, /^a__d_[0-9a-f]{8}$/);
  assert.deepEqual(turns[1]?.parts.map((part) => part.type === 'tool_call' && part.name), [later, 'gone__b__c']);
  assert.deepEqual(toolChoice, { mode: 'tool', name: ofPlain, parallel: undefined });
});

test('two functions of one name and namespace are refused, since a call would be of either', () => {
  const plain = { type: 'function', name: 'f' };
  const refused = 'another tool has this name';
  assert.equal(refusalOf({ tools: [plain, { type: 'web_search' }, plain] }), `bad_request: tools[2].name: ${refused}`);
  const namespaced = { type: 'namespace', name: 'n', tools: [plain, plain] };
  assert.equal(refusalOf({ tools: [namespaced] }), `bad_request: tools[0].tools[1].name: ${refused}`);
  assert.equal(requestOf({ tools: [plain, { ...namespaced, tools: [plain] }] }).tools.length, 2);
});

test('a tool that only its vendor runs is refused when the model must call it', () => {
  const tools = [{ type: 'web_search' }];
  assert.equal(refusalOf({ tools, tool_choice: { type: 'web_search' } }), 'unsupported: tool_choice.type: only a function or a custom tool can be chosen');
  assert.equal(
    refusalOf({ tools, tool_choice: 'required' }),
    'unsupported: tool_choice: none of the tools can be called, since only their vendor runs them',
  );
});

test('a choice among no tools is left out, and a forced one is the provider\'s to refuse', () => {
  for (const tool_choice of ['auto', 'none']) {
    assert.equal(requestOf({ tool_choice }).toolChoice, undefined);
    assert.deepEqual(ignoredOf({ tool_choice, tools: [{ type: 'web_search' }] }), ['tools[0]', 'tool_choice']);
  }
  assert.deepEqual(requestOf({ tool_choice: 'required' }).toolChoice, { mode: 'required', parallel: undefined });
});

test('messages come with or without a type, with a string or parts', () => {
  for (const type of ['message', undefined]) {
    for (const content of ['Hi', [{ type: 'input_text', text: 'Hi' }]]) assert.deepEqual(turnsOf({ type, role: 'user', content }), [USER_TURN]);
  }
});

test('images of a Responses request are data URLs or addresses', () => {
  const parts = [
    { type: 'input_text', text: 'Look' },
    { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'auto' },
    { type: 'input_image', image_url: 'https://example.org/a.png', file_id: null },
  ];
  assert.deepEqual(turnsOf(user(parts)), [
    {
      role: 'user',
      parts: [
        { type: 'text', text: 'Look' },
        { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: PIXEL } },
        { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
      ],
    },
  ]);
  assert.deepEqual(ignoredOf({ input: [user(parts)] }), ['input[].content[].detail']);
});

test('an output that no call asked for is told as an instruction in its place', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'create_goal', arguments: '{}' };
  const output = { type: 'function_call_output', id: 'fco_1', call_id: 'c', output: 'set' };
  const goal = { type: 'function_call_output', id: 'fco_2', name: 'goal_objective', namespace: 'agent', output: 'Be brief.' };
  const told = { role: 'user', parts: [{ type: 'text', text: '<system>\ngoal_objective: Be brief.\n</system>' }] };
  const turns = turnsOf(user('Hi'), call, output, goal);
  assert.deepEqual(turns, [...(turnsOf(user('Hi'), call, output) as object[]), told]);
  assert.match(refusalOf({ input: [user('Hi'), { ...output, call_id: undefined }] }), /input\[1\]\.call_id: required$/);
});

test('instructions and leading system and developer messages are the system text, later ones stay in their place', () => {
  const input = [
    { role: 'system', content: 'One.' },
    { role: 'developer', content: [{ type: 'input_text', text: 'Two.' }, { type: 'input_text', text: 'Still two.' }] },
    { role: 'system', content: '' },
    user('Hi'),
    { role: 'assistant', content: 'Hello.' },
    { role: 'developer', content: 'Three.' },
  ];
  const { system, turns } = requestOf({ instructions: 'Zero.', input });
  assert.equal(system, 'Zero.\n\nOne.\n\nTwo.\n\nStill two.');
  assert.deepEqual(turns.slice(1), [
    { role: 'assistant', parts: [{ type: 'text', text: 'Hello.', state: undefined }] },
    { role: 'user', parts: [{ type: 'text', text: '<system>\nThree.\n</system>', state: undefined }] },
  ]);
});

test('system and developer messages alone are what the user says, and instructions beside them the system text', () => {
  const input = [{ role: 'system', content: 'One.' }, { role: 'developer', content: 'Two.' }];
  const turns = [{ role: 'user', parts: [{ type: 'text', text: 'One.\n\nTwo.', state: undefined }] }];
  assert.deepEqual([requestOf({ input }).system, requestOf({ input }).turns], [undefined, turns]);
  assert.deepEqual([requestOf({ instructions: 'Zero.', input }).system, requestOf({ instructions: 'Zero.', input }).turns], ['Zero.', turns]);
});

test('what an assistant said and called in a row is one turn, and so are results in a row', () => {
  const call = (id: string): object => ({ type: 'function_call', call_id: id, name: 'weather', arguments: '{"city":"Oslo"}' });
  const called = (id: string): object => ({ type: 'tool_call', id, name: 'weather', arguments: { text: '{"city":"Oslo"}' } });
  const output = (id: string): object => ({ type: 'function_call_output', call_id: id, output: 'rain' });
  const result = (id: string): object => ({ type: 'tool_result', toolCallId: id, content: 'rain', isError: false });
  const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me ' }, { type: 'refusal', refusal: 'not.' }] };
  assert.deepEqual(turnsOf(user('Hi'), said, call('a'), call('b'), output('b'), output('a'), call('c'), output('c'), { role: 'assistant', content: 'Rain.' }), [
    USER_TURN,
    { role: 'assistant', parts: [{ type: 'text', text: 'Let me not.' }, called('a'), called('b')] },
    { role: 'tool', parts: [result('b'), result('a')] },
    { role: 'assistant', parts: [called('c')] },
    { role: 'tool', parts: [result('c')] },
    { role: 'assistant', parts: [{ type: 'text', text: 'Rain.' }] },
  ]);
});

test('a call without arguments and an output in parts, each a line of its own, are taken', () => {
  const input = [
    user('Hi'),
    { type: 'function_call', call_id: 'a', name: 'now', arguments: '' },
    { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'noon' }, { type: 'input_text', text: 'midnight' }] },
  ];
  assert.deepEqual(turnsOf(...input), [
    USER_TURN,
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'a', name: 'now', arguments: { text: '{}' } }] },
    { role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'a', content: 'noon\nmidnight', isError: false }] },
  ]);
});

test('an empty turn of an assistant stays one', () => {
  assert.deepEqual(turnsOf(user('Hi'), { role: 'assistant', content: '' }, user('Hi')), [USER_TURN, { role: 'assistant', parts: [] }, USER_TURN]);
});

test('reasoning of another vendor is left out and named, and makes no turn', () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], content: [{ type: 'reasoning_text', text: 'Hm.' }], encrypted_content: 'gAAAAAB' };
  const input = [user('Hi'), reasoning, { type: 'reasoning', summary: [] }, user('Hi')];
  assert.deepEqual(turnsOf(...input), [USER_TURN, USER_TURN]);
  assert.deepEqual(ignoredOf({ input }), ['input[1]', 'input[].id', 'input[2]']);
});

test('arguments that are no JSON object are shown as a text in one, and named', () => {
  const input = [user('Hi'), { type: 'function_call', call_id: 'c', name: 'n', arguments: '[1.0' }, { type: 'function_call_output', call_id: 'c', output: 'no JSON' }];
  const shown = { type: 'tool_call', id: 'c', name: 'n', arguments: { text: '{"INVALID_JSON":"[1.0"}' } };
  assert.deepEqual((turnsOf(...input) as unknown[])[1], { role: 'assistant', parts: [shown] });
  assert.deepEqual(ignoredOf({ input }), ['input[1].arguments']);
});

const sealed = (states: string): object => ({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: `gateway:${states}` });
const spoken = (...parts: readonly object[]): unknown => [USER_TURN, { role: 'assistant', parts }];
const text = (value: string, state?: string): object => (state === undefined ? { type: 'text', text: value } : { type: 'text', text: value, state });

test('a state is given to the item behind its reasoning', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' };
  assert.deepEqual(
    turnsOf(user('Hi'), sealed('own=a.b.AA'), { role: 'assistant', content: 'A' }, sealed('call=a.b.BB'), call),
    spoken(text('A', 'a.b.AA'), { type: 'tool_call', id: 'c', name: 'n', arguments: { text: '{}' }, state: 'a.b.BB' }),
  );
});

test("a call's state waits for it where a client moved the reasoning to the front of its turn, or dropped a text, and is the turn's where the call was dropped", () => {
  const call = { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' };
  const called = { type: 'tool_call', id: 'c', name: 'n', arguments: { text: '{}' }, state: 'a.b.BB' };
  const said = { role: 'assistant', content: 'A' };
  assert.deepEqual(turnsOf(user('Hi'), sealed('call=a.b.BB'), said, call), spoken(text('A'), called));
  assert.deepEqual(turnsOf(user('Hi'), sealed('own=a.b.AA'), sealed('call=a.b.BB'), said, call), spoken(text('A', 'a.b.AA'), called));
  assert.deepEqual(turnsOf(user('Hi'), sealed('own=a.b.AA'), sealed('call=a.b.BB'), call), spoken(text('', 'a.b.AA'), called));
  assert.deepEqual(turnsOf(user('Hi'), sealed('own=a.b.BB'), call), spoken(text('', 'a.b.BB'), { type: 'tool_call', id: 'c', name: 'n', arguments: { text: '{}' } }));
  assert.deepEqual(turnsOf(user('Hi'), said, sealed('call=a.b.BB')), spoken(text('A'), text('', 'a.b.BB')));
});

test('a state with nothing behind its reasoning belongs to a text that said nothing', () => {
  assert.deepEqual(turnsOf(user('Hi'), sealed('own=a.b.AA')), spoken(text('', 'a.b.AA')));
  assert.deepEqual(
    turnsOf(user('Hi'), sealed('own=a.b.AA'), sealed('own=a.b.BB'), { role: 'assistant', content: 'B' }),
    spoken(text('', 'a.b.AA'), text('B', 'a.b.BB')),
  );
  assert.deepEqual(turnsOf(user('Hi'), sealed('own=a.b.AA,own=a.b.BB'), { role: 'assistant', content: 'B' }), spoken(text('', 'a.b.AA'), text('B', 'a.b.BB')));
  assert.deepEqual(turnsOf(user('Hi'), sealed('own=a.b.AA'), { role: 'assistant', content: '' }), spoken(text('', 'a.b.AA')));
});

test('reasoning that carries nothing is no turn where nothing follows it, as an answer that broke off leaves it', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'c', output: 'x' };
  assert.deepEqual(turnsOf(user('Hi'), sealed('')), turnsOf(user('Hi')));
  assert.deepEqual(turnsOf(user('Hi'), call, output, sealed('')), turnsOf(user('Hi'), call, output));
  assert.deepEqual(turnsOf(user('Hi'), sealed(''), sealed(''), call, output), turnsOf(user('Hi'), call, output));
  assert.deepEqual(turnsOf(user('Hi'), { role: 'assistant', content: '' }), spoken());
});

test('states of texts are given to the last texts before their reasoning', () => {
  const says = (content: string): object => ({ role: 'assistant', content });
  assert.deepEqual(turnsOf(user('Hi'), says('A'), says('B'), sealed('text=a.b.AA,text=a.b.BB')), spoken(text('A', 'a.b.AA'), text('B', 'a.b.BB')));
  assert.deepEqual(turnsOf(user('Hi'), says('A'), says('B'), sealed('text=a.b.BB')), spoken(text('A'), text('B', 'a.b.BB')));
  assert.deepEqual(turnsOf(user('Hi'), says('A'), sealed('text=a.b.AA,text=a.b.BB')), spoken(text('A', 'a.b.AA'), text('', 'a.b.BB')));
  // Neither a call's, nor those of the turn before.
  const call = { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' };
  const called = { type: 'tool_call', id: 'c', name: 'n', arguments: { text: '{}' } };
  assert.deepEqual(turnsOf(user('Hi'), says('A'), call, sealed('text=a.b.AA')), spoken(text('A', 'a.b.AA'), called));
  assert.deepEqual(turnsOf(user('Hi'), says('A'), user('Hi'), call, sealed('text=a.b.AA')).slice(2), spoken(called, text('', 'a.b.AA')));
});

test('one reasoning item may carry states of texts and of the item behind it, in any order', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' };
  for (const states of ['call=a.b.AA,text=a.b.BB', 'text=a.b.BB,call=a.b.AA']) {
    assert.deepEqual(
      turnsOf(user('Hi'), { role: 'assistant', content: 'A' }, sealed(states), call),
      spoken(text('A', 'a.b.BB'), { type: 'tool_call', id: 'c', name: 'n', arguments: { text: '{}' }, state: 'a.b.AA' }),
    );
  }
});

test('a state that looks like the gateway\'s own and is none is a bad_request', () => {
  for (const states of ['own=', 'own=a.b', 'other=a.b.AA', 'own=a.b.AA,', 'own=a.b.AA text=a.b.BB', 'own=A.b.AA', 'own=a.b.A=']) {
    assert.equal(
      refusalOf({ input: [user('Hi'), sealed(states)] }),
      'bad_request: input[1].encrypted_content: damaged, or not made by this gateway',
      states,
    );
  }
});

test('unknown fields of items, parts and tools are left out and named once for all of them', () => {
  const input = [
    { ...user([{ type: 'input_text', text: 'Hi', x: 1 }]), id: 'msg_1', status: 'completed' },
    { type: 'message', id: 'msg_2', status: 'completed', phase: 'commentary', role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [], logprobs: [] }] },
    { type: 'function_call', id: 'fc_1', status: 'completed', call_id: 'c', name: 'n', arguments: '{}', x: 'ns' },
    { type: 'function_call_output', id: 'fco_1', call_id: 'c', output: 'x' },
  ];
  const tools = [1, 2, 3].map((n) => ({ type: 'function', name: `t${n}`, strict: false }));
  assert.deepEqual(ignoredOf({ input, tools }), [
    'input[].content[].x',
    'input[].id',
    'input[].status',
    'input[].content[].annotations',
    'input[].content[].logprobs',
    'input[].phase',
    'input[].x',
  ]);
});

test('what was left out is named up to twenty times and then counted', () => {
  const fields = Object.fromEntries(Array.from({ length: 23 }, (_, n) => [`x${n}`, n]));
  const ignored = ignoredOf(fields);
  assert.equal(ignored.length, 21);
  assert.equal(ignored[20], '+3');
});

test('the request of Codex in its second round is a chat, and what was left out of it fits its header', () => {
  const { request, ignored } = translated(OPENAI_RESPONSES, {
    model: 'fake',
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    reasoning: { summary: 'auto' },
    prompt_cache_key: 'k',
    client_metadata: { a: 'b' },
    tools: [
      ...Array.from({ length: 7 }, (_, n) => ({ type: 'function', name: `t${n}`, description: 'T', strict: false, parameters: { type: 'object', properties: {} } })),
      { type: 'namespace', name: 'mcp', description: '', tools: [{ type: 'function', name: 'inner' }] },
      { type: 'web_search', external_web_access: true },
    ],
    input: [
      { type: 'message', id: 'msg_a', role: 'developer', content: [{ type: 'input_text', text: 'You are Codex.' }] },
      { type: 'message', id: 'msg_b', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'reasoning', id: 'rs_a1_0', summary: [], content: null, encrypted_content: 'gateway:call=a.b.AA' },
      { type: 'function_call', status: 'completed', id: 'fc_a1_1', name: 't0', arguments: '{"a":1}', call_id: 'call_1' },
      { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'fake-42' },
    ],
  });
  assert.equal(request.system, 'You are Codex.');
  assert.deepEqual(request.turns.map(({ role }) => role), ['user', 'assistant', 'tool']);
  assert.equal(request.turns[1]?.parts[0]?.type === 'tool_call' ? request.turns[1].parts[0].state : '', 'a.b.AA');
  assert.deepEqual([request.tools.length, request.tools[7]?.name], [8, 'mcp__inner']);
  assert.deepEqual(ignored, [
    'input[].id',
    'input[].status',
    'tools[8]',
    'reasoning.summary',
    'store',
    'prompt_cache_key',
    'client_metadata',
  ]);
});

test('the request of pydantic-ai, without types, ids and includes, is a chat', () => {
  const { request, ignored } = translated(OPENAI_RESPONSES, {
    model: 'fake',
    stream: false,
    reasoning: {},
    tool_choice: 'auto',
    tools: [{ type: 'function', name: 'weather', description: '', parameters: { type: 'object' }, strict: false }],
    input: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: '<think>\nHm.\n</think>' },
      { role: 'assistant', content: 'Let me see.' },
      { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'rain' },
    ],
  });
  assert.deepEqual(request.turns.map(({ role, parts }) => [role, parts.length]), [['user', 1], ['assistant', 3], ['tool', 1]]);
  assert.deepEqual(ignored, []);
});

test('every state finds its text in a long row', () => {
  const count = 3000;
  const input = [
    user('Hi'),
    ...Array.from({ length: count }, () => ({ role: 'assistant', content: 'A' })),
    ...Array.from({ length: count }, () => sealed('text=a.b.AA')),
    ...Array.from({ length: count }, (_, n) => ({ type: 'function_call_output', call_id: `c${n}`, output: 'x' })),
  ];
  const { turns } = requestOf({ input });
  assert.deepEqual(turns.map(({ parts }) => parts.length), [1, count, count]);
  assert.ok(turns[1]?.parts.every((part) => part.type === 'text' && part.state === 'a.b.AA'));
});

test('a state that no text is left for is told of by the item of reasoning that brought it', () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gateway:own=gemini.acme.e30,text=gemini.acme.e3-00' };
  const call = { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' };
  const result = { type: 'function_call_output', call_id: 'c', output: 'x' };
  const input = [user('Look'), reasoning, call, result];
  assert.equal(told(OPENAI_RESPONSES, { model: 'm', input }, 'messages[1].content[0].provider_state: damaged'), 'input[1]: damaged');
});
