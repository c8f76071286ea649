import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import { OPENAI_CHAT } from '../../../src/callers/openai-chat/dialect.ts';
import type { ChatRequest } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { createRandom } from '../../base/random.ts';
import { mutateJson, mutateText } from '../../fuzz/mutate.ts';
import { decodedBy, refusal, told, translated } from '../dialect-testing.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const PICTURE = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}`, detail: null } };

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

const USER = { role: 'user', content: 'Hi' };
const USER_TURN = { role: 'user', parts: [{ type: 'text', text: 'Hi' }] };

function requestOf(fields: object): ChatRequest {
  return translated(OPENAI_CHAT, { model: 'm', messages: [USER], ...fields }).request;
}

function ignoredOf(fields: object): readonly string[] {
  return translated(OPENAI_CHAT, { model: 'm', messages: [USER], ...fields }).ignored;
}

function refusalOf(fields: object): string {
  return refusal(OPENAI_CHAT, { model: 'm', messages: [USER], ...fields });
}

/** The turns of messages, without the properties that are undefined. */
function turnsOf(...messages: readonly unknown[]): unknown {
  return JSON.parse(JSON.stringify(requestOf({ messages }).turns));
}

test('a Chat Completions request with a model and a message is a chat of one turn', () => {
  assert.deepEqual(translated(OPENAI_CHAT, { model: 'm', messages: [USER] }), { request: HI, ignored: [] });
});

test('a Chat Completions request says what it asks for before it is translated', () => {
  const read = (body: object): unknown => {
    const decoded = decodedBy(OPENAI_CHAT, { model: 'm', ...body });
    assert.ok(!(decoded instanceof Failure));
    return [decoded.provider, decoded.model, decoded.isStream, decoded.wantsUsage];
  };
  assert.deepEqual(read({}), [undefined, 'm', false, false]);
  assert.deepEqual(read({ stream: false, stream_options: null }), [undefined, 'm', false, false]);
  assert.deepEqual(read({ stream: true, stream_options: {} }), [undefined, 'm', true, false]);
  assert.deepEqual(read({ stream: true, stream_options: { include_usage: true } }), [undefined, 'm', true, true]);
});

test('a Chat Completions request is translated for the model that it is given, any number of times', () => {
  const decoded = decodedBy(OPENAI_CHAT, { model: 'acme/m', messages: [USER], stream_options: { include_obfuscation: false }, max_completion_tokens: 5, max_tokens: 9 });
  assert.ok(!(decoded instanceof Failure));
  for (const model of ['m', 'n']) {
    const translation = decoded.translate(model);
    assert.ok(!(translation instanceof Failure));
    assert.deepEqual([translation.request, translation.ignored], [{ ...HI, model, maxTokens: 5 }, ['max_tokens', 'stream_options.include_obfuscation']]);
  }
});

test('mapped fields of a Chat Completions request become those of the chat', () => {
  const parameters = { type: 'object', properties: { n: { const: 1 } } };
  assert.deepEqual(
    requestOf({
      max_tokens: 50,
      temperature: 0,
      top_p: 0.9,
      stop: ['END', 'STOP'],
      tools: [{ type: 'function', function: { name: 'weather', description: 'Weather', parameters, strict: true } }, { type: 'function', function: { name: 'now', description: '' } }],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      reasoning_effort: 'high',
    }),
    {
      ...HI,
      maxTokens: 50,
      temperature: 0,
      topP: 0.9,
      stop: ['END', 'STOP'],
      tools: [
        { name: 'weather', description: 'Weather', parameters: new RawJson(JSON.stringify(parameters)), strict: true },
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
  [{ type: 'json_schema', json_schema: { name: 'a-1' } }, { schema: undefined, name: 'a-1', strict: true }],
  [{ type: 'json_schema', json_schema: { name: 'a', schema: { x: 1 } } }, { schema: new RawJson('{"x":1}'), name: 'a', strict: false }],
  [{ type: 'json_schema', json_schema: { name: 'a', schema: { x: 1 }, strict: true } }, { schema: new RawJson('{"x":1}'), name: 'a', strict: true }],
] as const) {
  test(`response_format ${JSON.stringify(format)} is an output of the chat`, () => assert.deepEqual(requestOf({ response_format: format }).output, output));
}

test('a schema of the answer stays digit for digit', () => {
  const { request } = translated(OPENAI_CHAT, `{"model":"m","messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"2":1.0,"1":1e-7}}}}`);
  assert.equal(request.output?.schema?.text, '{"2":1.0,"1":1e-7}');
});

test('parallel_tool_calls says whether a turn may make several calls, where there are tools', () => {
  const tools = [{ type: 'function', function: { name: 'f' } }];
  assert.equal(requestOf({ tools, parallel_tool_calls: true }).toolChoice, undefined);
  assert.deepEqual(requestOf({ tools, parallel_tool_calls: false }).toolChoice, { mode: 'auto', parallel: false });
  assert.deepEqual(requestOf({ tools, parallel_tool_calls: false, tool_choice: 'required' }).toolChoice, { mode: 'required', parallel: false });
  assert.equal(requestOf({ parallel_tool_calls: false }).toolChoice, undefined);
  assert.deepEqual(requestOf({ tools, parallel_tool_calls: false, tool_choice: 'none' }).toolChoice, { mode: 'none', parallel: undefined });
});

test('a file of a user is a document', () => {
  const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' };
  assert.deepEqual(turnsOf({ role: 'user', content: [{ type: 'text', text: 'Read' }, { type: 'file', file }] }), [
    { role: 'user', parts: [{ type: 'text', text: 'Read' }, { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' }, name: 'a.pdf' }] },
  ]);
});

test('what is wrong with a chat is told by the places of this format', () => {
  const call = { type: 'function', id: 'c', function: { name: 'f', arguments: '{}' } };
  const messages = [
    { role: 'system', content: 'S' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }, { type: 'text', text: 'Ho' }] },
    { role: 'assistant', content: 'A', tool_calls: [call, { ...call, id: 'd' }] },
    { role: 'tool', tool_call_id: 'c', content: '1' },
    { role: 'tool', tool_call_id: 'd', content: '2' },
    { role: 'user', content: 'On' },
    { role: 'developer', content: 'S' },
  ];
  const tools = ['f', 'g'].map((name) => ({ type: 'function', function: { name } }));
  const said = (sentence: string): string => told(OPENAI_CHAT, { model: 'm', messages, tools }, sentence);
  assert.equal(said('messages[0].content[1].url: no'), 'messages[1].content[1]: no');
  assert.equal(said('messages[1].content[0].provider_state: damaged'), 'messages[2]: damaged');
  assert.equal(said('messages[1].content[2]: tool_call "d" is not answered before messages[3]'), 'messages[2].tool_calls[1]: tool_call "d" is not answered before messages[5]');
  assert.equal(said('messages[2].content[1]: answered'), 'messages[4]: answered');
  assert.equal(said('messages[3].content[0]: no'), 'messages[5].content: no');
  assert.equal(said('not answered before messages[4]'), 'not answered before messages[6]');
  assert.equal(said('messages[9].content[0]: no'), 'messages[9].content[0]: no');
  assert.equal(said('messages[2].content[0].content[3].url: no'), 'messages[3]: no');
  assert.equal(said('output: no'), 'response_format: no');
  assert.equal(said('output.schema: no'), 'response_format: no');
  assert.equal(said('thinking.effort: no'), 'reasoning_effort: no');
  assert.equal(said('tools[1].strict: no'), 'tools[1].function.strict: no');
  assert.equal(said('tools[12].strict: no'), 'tools[12].strict: no');
  assert.equal(said('temperature: no'), 'temperature: no');
});

test('max_completion_tokens goes before max_tokens, which is named where it asks for something else', () => {
  assert.equal(requestOf({ max_completion_tokens: 5, max_tokens: 9 }).maxTokens, 5);
  assert.equal(requestOf({ max_completion_tokens: null, max_tokens: 9 }).maxTokens, 9);
  assert.deepEqual(ignoredOf({ max_completion_tokens: 5, max_tokens: 9 }), ['max_tokens']);
  assert.deepEqual(ignoredOf({ max_completion_tokens: 5, max_tokens: 5 }), []);
  assert.equal(requestOf({ max_completion_tokens: 0, max_tokens: 9 }).maxTokens, 9);
  assert.equal(requestOf({ max_tokens: 0 }).maxTokens, undefined);
  assert.deepEqual(ignoredOf({ max_completion_tokens: 0, max_tokens: 0 }), ['max_completion_tokens', 'max_tokens']);
});

test('stop is a text, a list or nothing', () => {
  assert.deepEqual(requestOf({ stop: 'END' }).stop, ['END']);
  assert.deepEqual(requestOf({ stop: null }).stop, []);
  assert.deepEqual(requestOf({ stop: [] }).stop, []);
});

test('modes of tool_choice are taken', () => {
  for (const mode of ['auto', 'none', 'required'] as const) assert.deepEqual(requestOf({ tool_choice: mode }).toolChoice, { mode, parallel: undefined });
});

test('efforts of a Chat Completions request become thinking', () => {
  const expected: Readonly<Record<string, unknown>> = {
    none: { enabled: false, effort: undefined },
    minimal: { enabled: true, effort: 'low' },
    low: { enabled: true, effort: 'low' },
    medium: { enabled: true, effort: 'medium' },
    high: { enabled: true, effort: 'high' },
    xhigh: { enabled: true, effort: 'max' },
    max: { enabled: true, effort: 'max' },
  };
  for (const [effort, thinking] of Object.entries(expected)) assert.deepEqual(requestOf({ reasoning_effort: effort }).thinking, thinking, effort);
});

test('null stands for absent in every field of a Chat Completions request', () => {
  const names = [...OPENAI_CHAT.fieldNames].filter((name) => name !== 'model' && name !== 'messages');
  assert.deepEqual(translated(OPENAI_CHAT, { model: 'm', messages: [USER], ...Object.fromEntries(names.map((name) => [name, null])) }), {
    request: HI,
    ignored: [],
  });
});

test('a Chat Completions request names what it left out, as long as the answer is the same without it', () => {
  const cases: readonly (readonly [object, readonly string[]])[] = [
    [{ store: false, metadata: {}, user: 'u', safety_identifier: 'u' }, ['store', 'metadata', 'user', 'safety_identifier']],
    [{ prompt_cache_key: 'k', prompt_cache_options: {}, prompt_cache_retention: '24h' }, ['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention']],
    [{ service_tier: 'auto', seed: 1, verbosity: 'low', prediction: {} }, ['service_tier', 'seed', 'verbosity', 'prediction']],
    [{ parallel_tool_calls: true, n: 1, logprobs: false, top_logprobs: 0 }, ['n', 'logprobs', 'top_logprobs']],
    [{ parallel_tool_calls: false }, ['parallel_tool_calls']],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'n', description: 'd', schema: {} } } }, ['response_format.json_schema.description']],
    [{ response_format: { type: 'json_object', x: 1 } }, ['response_format.x']],
    [{ logit_bias: {}, functions: [] }, ['logit_bias', 'functions']],
    [{ frequency_penalty: 0, presence_penalty: 0.0 }, ['frequency_penalty', 'presence_penalty']],
    [{ response_format: { type: 'text' }, modalities: ['text'] }, ['modalities']],
    [{ tool_choice: { type: 'function', function: { name: 'n', y: 1 }, x: 1 } }, ['tool_choice.function.y', 'tool_choice.x']],
    [{ some_day: 1 }, ['some_day']],
  ];
  for (const [fields, ignored] of cases) assert.deepEqual(ignoredOf(fields), ignored);
});

test('a Chat Completions request is refused for what would change the answer, by its path', () => {
  const cases: readonly (readonly [object, string])[] = [
    [{ n: 2 }, 'n: only one answer can be asked for'],
    [{ logprobs: true }, 'logprobs: the answer has no log probabilities'],
    [{ top_logprobs: 2 }, 'top_logprobs: the answer has no log probabilities'],
    [{ logit_bias: { 50256: -100 } }, 'logit_bias: tokens cannot be weighted'],
    [{ frequency_penalty: 0.1 }, 'frequency_penalty: no penalty can be set'],
    [{ presence_penalty: -1 }, 'presence_penalty: no penalty can be set'],
    [{ messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] }, 'messages[0].content[0].file.file_id: no files are stored here: send the file itself'],
    [
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'data:application/zip;base64,UEs=' } }] }] },
      'messages[0].content[0].file.file_data: only application/pdf and text/plain are supported',
    ],
    [{ modalities: ['text', 'audio'] }, 'modalities: the answer is text only'],
    [{ modalities: ['audio'] }, 'modalities: the answer is text only'],
    [{ audio: {} }, 'audio: the answer is text only'],
    [{ web_search_options: {} }, "web_search_options: only its vendor runs this tool"],
    [{ functions: [{ name: 'f' }] }, 'functions: use `tools`'],
    [{ function_call: 'auto' }, 'function_call: use `tool_choice`'],
    [{ moderation: {} }, "moderation: only OpenAI moderates requests"],
    [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools[0].type: only tools of type function are supported'],
    [{ tool_choice: { type: 'allowed_tools' } }, 'tool_choice.type: only a function can be chosen'],
    [{ messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 'messages[0].content[0].type: only text, image_url and file are supported'],
    [{ messages: [{ role: 'tool', tool_call_id: 'c', content: [{ type: 'input_audio' }] }] }, 'messages[0].content[0].type: only text is supported here'],
    [{ messages: [{ role: 'tool', tool_call_id: 'c', content: [PICTURE, { type: 'input_audio' }] }] }, 'messages[0].content[1].type: only text, image_url and file are supported'],
    [{ messages: [{ role: 'assistant', tool_calls: [{ type: 'custom', id: 'c' }] }] }, 'messages[0].tool_calls[0].type: only calls of type function are supported'],
    [{ messages: [{ role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } }] }, 'messages[0].function_call: use `tool_calls`'],
    [{ messages: [{ role: 'assistant', content: null, audio: { id: 'audio_1' } }] }, 'messages[0].audio: no answers are stored here: send what was said as `content`'],
  ];
  for (const [fields, sentence] of cases) assert.equal(refusalOf(fields), `unsupported: ${sentence}`);
});

test('the arguments of all calls hold no more values together than a body may', () => {
  const args = `{"a":[${'0,'.repeat(60_000)}0]}`;
  const calls = ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'n', arguments: args } }));
  const refusal = refusalOf({ messages: [USER, { role: 'assistant', tool_calls: calls }] });
  assert.equal(refusal, 'bad_request: messages[1].tool_calls[1].function.arguments: the calls hold more than 100000 values');
});

test('a text without a word beside a picture is left out and named', () => {
  const picture = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } };
  const messages = [{ role: 'user', content: [{ type: 'text', text: '' }, picture] }];
  assert.deepEqual(requestOf({ messages }).turns[0]?.parts, [{ type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } }]);
  assert.deepEqual(ignoredOf({ messages }), ['messages[0].content[0]']);
});

test('a data URL is read as RFC 2397 has it: in any case, its parameters left aside, and a JPEG by its right name', () => {
  const said = (part: object): unknown => requestOf({ messages: [{ role: 'user', content: [part] }] }).turns[0]?.parts[0];
  for (const [head, mediaType] of [
    ['data:IMAGE/PNG;base64,', 'image/png'],
    ['DATA:image/png;BASE64,', 'image/png'],
    ['data:image/png;charset=utf-8;base64,', 'image/png'],
    [`data:image/jpeg;name=${'x'.repeat(200)}.jpg;charset=utf-8;base64,`, 'image/jpeg'],
    ['data:image/jpg;base64,', 'image/jpeg'],
  ] as const) {
    assert.deepEqual(said({ type: 'image_url', image_url: { url: `${head}QQ==` } }), { type: 'image', source: { type: 'inline', mediaType, base64: 'QQ==' } }, head);
  }
  const file = said({ type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;charset=utf-8;base64,QQ==' } });
  assert.deepEqual(file, { type: 'document', mediaType: 'text/plain', source: { type: 'inline', base64: 'QQ==' }, name: 'a.txt' });
});

test('system text alone is what the user says', () => {
  const { system, turns } = requestOf({ messages: [{ role: 'system', content: 'Give it a title.' }, { role: 'developer', content: [{ type: 'text', text: 'Be short.' }] }] });
  assert.equal(system, undefined);
  assert.deepEqual(turns, [{ role: 'user', parts: [{ type: 'text', text: 'Give it a title.\n\nBe short.', state: undefined }] }]);
});

test('a Chat Completions request that makes no sense is a bad_request that names the place', () => {
  const call = (called: unknown): object => ({ messages: [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: called }] }] });
  const cases: readonly (readonly [object, string])[] = [
    [{ model: '' }, 'model: must not be empty'],
    [{ stream: 'yes' }, 'stream: expected a boolean, got a string'],
    [{ stream_options: { include_usage: 1 } }, 'stream_options.include_usage: expected a boolean, got a number'],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'two words', schema: {} } } }, 'response_format.json_schema.name: must be 1 to 64 letters, digits, _ or -'],
    [{ messages: undefined }, 'messages: required'],
    [{ messages: undefined, input: 'Hi' }, 'messages: required; a body with `input` is for /v1/responses'],
    [{ messages: [] }, 'messages: must have at least one user message'],
    [{ messages: [{ role: 'system', content: '' }] }, 'messages: must have at least one user message'],
    [{ messages: [{ content: 'x' }] }, 'messages[0].role: required (one of system, developer, user, assistant, tool)'],
    [{ messages: [{ role: 'user', content: '' }] }, 'messages[0].content: must not be empty'],
    [{ messages: [{ role: 'user', content: [] }] }, 'messages[0].content: must not be empty'],
    [{ messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }, 'messages[0].content: must not be empty'],
    [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages[0].content[0].text: required'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content: expected a string or an array of parts'],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'https://example.org/a.png' }] }] }, 'messages[0].content[0].image_url: expected an object, got a string'],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, 'messages[0].content[0].image_url: required'],
    [{ messages: [{ role: 'user', content: [{ type: 'file' }] }] }, 'messages[0].content[0].file: required'],
    [{ messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'JVBERi0=' } }] }] }, 'messages[0].content[0].file.file_data: must be a data URL in base64'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema: required'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id: required'],
    [call(undefined), 'messages[0].tool_calls[0].function: required'],
    [call({ arguments: '{}' }), 'messages[0].tool_calls[0].function.name: required'],
    [{ max_tokens: 1.5 }, 'max_tokens: must be an integer from 0 to 9007199254740991'],
    [{ stop: [''] }, 'stop[0]: must not be empty'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].function: required'],
    [{ tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name: required'],
    [{ tool_choice: { type: 'function' } }, 'tool_choice.function: required'],
    [{ tool_choice: 'any' }, 'tool_choice: must be one of auto, none, required'],
    [{ reasoning_effort: 'huge' }, 'reasoning_effort: must be one of none, minimal, low, medium, high, xhigh, max'],
  ];
  for (const [fields, sentence] of cases) assert.equal(refusalOf(fields), `bad_request: ${sentence}`);
});

test('leading system and developer messages are the system text, later ones stay in their place', () => {
  const messages = [
    { role: 'system', content: 'One.' },
    { role: 'developer', content: [{ type: 'text', text: 'Two.' }, { type: 'text', text: '' }, { type: 'text', text: 'Still two.' }] },
    USER,
    { role: 'system', content: 'Three.' },
    { role: 'system', content: '' },
  ];
  const { system, turns } = requestOf({ messages });
  assert.equal(system, 'One.\n\nTwo.\n\nStill two.');
  assert.deepEqual(turns.slice(1), [{ role: 'user', parts: [{ type: 'text', text: '<system>\nThree.\n</system>', state: undefined }] }]);
});

test('an empty system text is none', () => {
  assert.equal(requestOf({ messages: [{ role: 'system', content: '' }, USER] }).system, undefined);
});

test('texts and images of a user are parts of one turn', () => {
  const content = [
    { type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}`, detail: 'low' } },
    { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
    { type: 'file', file: { file_data: `data:application/pdf;base64,${PIXEL}`, pages: 1 } },
  ];
  const messages = [{ role: 'user', content }];
  assert.deepEqual(turnsOf(...messages), [
    {
      role: 'user',
      parts: [
        { type: 'text', text: 'Look' },
        { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: PIXEL } },
        { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
        { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: PIXEL } },
      ],
    },
  ]);
  assert.deepEqual(ignoredOf({ messages }), ['messages[].content[].cache_control', 'messages[].content[].image_url.detail', 'messages[].content[].file.pages']);
});

test('a mark for a cache at the end of a conversation, or on the request, asks for all of it; others are left out and named', () => {
  const marked = { cache_control: { type: 'ephemeral' } };
  const part = { type: 'text', text: 'Hi', ...marked };
  const spoken = { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'n', arguments: '{}' } }] };
  const result = { role: 'tool', tool_call_id: 'c', content: 'x' };
  const asked: readonly object[] = [
    { ...marked, messages: [USER] },
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'Look' }, part] }] },
    { messages: [{ role: 'user', content: [part] }, spoken, result] },
    { messages: [USER, spoken, { ...result, ...marked }] },
    { messages: [{ ...USER, ...marked }, { role: 'system', content: 'S' }] },
  ];
  for (const fields of asked) {
    assert.deepEqual(requestOf(fields).cache, { key: undefined, ttl: undefined }, JSON.stringify(fields));
    assert.deepEqual(ignoredOf(fields), []);
  }
  assert.deepEqual(requestOf({ messages: [{ ...USER, cache_control: { type: 'ephemeral', ttl: '1h' } }] }).cache, { key: undefined, ttl: 'long' });
  const left: readonly (readonly [messages: readonly object[], ignored: string])[] = [
    [[{ role: 'system', content: [part] }, USER], 'messages[].content[].cache_control'],
    [[{ role: 'user', content: [part, { type: 'text', text: 'On' }] }], 'messages[].content[].cache_control'],
    [[{ ...USER, ...marked }, { role: 'assistant', content: 'A' }, USER], 'messages[].cache_control'],
    [[{ ...USER, cache_control: { type: 'other' } }], 'messages[].cache_control'],
  ];
  for (const [messages, ignored] of left) assert.deepEqual([requestOf({ messages }).cache, ignoredOf({ messages })], [undefined, [ignored]]);
});

const CALL = { id: 'c', type: 'function', function: { name: 'n', arguments: '{"n": 1.0}' } };
const CALLED = { type: 'tool_call', id: 'c', name: 'n', arguments: { text: '{"n": 1.0}' } };

test('arguments that are no JSON object are shown as a text in one, and named', () => {
  for (const text of ['{"city": "Os', '[]', '"x"', 'null', '['.repeat(200)]) {
    const messages = [USER, { role: 'assistant', tool_calls: [{ ...CALL, function: { name: 'n', arguments: text } }] }, { role: 'tool', tool_call_id: 'c', content: 'no JSON' }];
    const shown = { ...CALLED, arguments: { text: JSON.stringify({ INVALID_JSON: text }) } };
    assert.deepEqual((turnsOf(...messages) as unknown[])[1], { role: 'assistant', parts: [shown] });
    assert.deepEqual(ignoredOf({ messages }), ['messages[1].tool_calls[0].function.arguments']);
  }
});

test('arguments whose text was made a text once more are the object that was meant', () => {
  const messages = [USER, { role: 'assistant', tool_calls: [{ ...CALL, function: { name: 'n', arguments: JSON.stringify('{"n": 1.0}') } }] }, { role: 'tool', tool_call_id: 'c', content: 'x' }];
  assert.deepEqual((turnsOf(...messages) as unknown[])[1], { role: 'assistant', parts: [CALLED] });
  assert.deepEqual(ignoredOf({ messages }), []);
});

test('texts of a tool\'s result are lines of their own, those of an assistant one text', () => {
  const texts = (...said: string[]): object[] => said.map((text) => ({ type: 'text', text }));
  const messages = [
    USER,
    { role: 'assistant', content: texts('Let me ', 'see.'), tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'c', content: texts('noon', 'midnight') },
  ];
  assert.deepEqual(turnsOf(...messages), [
    USER_TURN,
    { role: 'assistant', parts: [{ type: 'text', text: 'Let me see.' }, CALLED] },
    { role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'c', content: 'noon\nmidnight', isError: false }] },
  ]);
});

test('an assistant\'s calls stand behind its text, and results in a row are one turn', () => {
  const messages = [
    USER,
    { role: 'assistant', content: 'A', tool_calls: [CALL, { ...CALL, id: 'd', type: undefined, function: { name: 'n', arguments: '' } }] },
    { role: 'tool', tool_call_id: 'd', content: [{ type: 'text', text: 'x' }] },
    { role: 'tool', tool_call_id: 'c', content: '' },
    USER,
  ];
  assert.deepEqual(turnsOf(...messages), [
    USER_TURN,
    { role: 'assistant', parts: [{ type: 'text', text: 'A' }, CALLED, { ...CALLED, id: 'd', arguments: { text: '{}' } }] },
    {
      role: 'tool',
      parts: [
        { type: 'tool_result', toolCallId: 'd', content: 'x', isError: false },
        { type: 'tool_result', toolCallId: 'c', content: '', isError: false },
      ],
    },
    USER_TURN,
  ]);
});

test('pictures and files in the result of a tool stand where they are shown, and texts without a word do not', () => {
  const file = { type: 'file', file: { filename: '', file_data: 'data:application/pdf;base64,JVBERi0=' } };
  const [seen, image] = [{ type: 'text', text: 'seen' }, { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: PIXEL } }];
  const document = { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' } };
  for (const [content, shown] of [[[seen, PICTURE, { type: 'text', text: '' }, file], [seen, image, document]], [[PICTURE], [image]], [[file], [document]]]) {
    const [, , result] = turnsOf(USER, { role: 'assistant', tool_calls: [CALL] }, { role: 'tool', tool_call_id: 'c', content }) as unknown[];
    assert.deepEqual(result, { role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'c', content: shown, isError: false }] });
  }
});

test('an assistant\'s message comes back from every client in its own way', () => {
  const texts: readonly object[] = [
    { content: 'A', refusal: null, annotations: [] },
    { content: 'A', audio: null, function_call: null, parsed: null, annotations: null, tool_calls: null },
    { content: [{ type: 'text', text: 'A' }] },
    { content: null, refusal: 'A' },
    { content: [{ type: 'refusal', refusal: 'A' }] },
    { content: [{ type: 'text', text: '' }], refusal: 'A' },
    { content: '', refusal: 'A' },
  ];
  for (const message of texts) assert.deepEqual(turnsOf(USER, { role: 'assistant', ...message }), [USER_TURN, { role: 'assistant', parts: [{ type: 'text', text: 'A' }] }]);
  for (const message of [{ content: null }, { content: '' }, {}]) {
    assert.deepEqual(turnsOf(USER, { role: 'assistant', ...message, tool_calls: [CALL] }), [USER_TURN, { role: 'assistant', parts: [CALLED] }]);
    assert.deepEqual(turnsOf(USER, { role: 'assistant', ...message }), [USER_TURN, { role: 'assistant', parts: [] }]);
  }
});

test('unknown fields of messages, calls and tools are left out and named once for all of them', () => {
  const tool = { type: 'function', function: { name: 'n', strict: true, w: 1 }, x: 1 };
  const said = { role: 'assistant', content: 'A', parsed: {}, reasoning_content: 'Hm.', tool_calls: [{ ...CALL, index: 0, y: 1, function: { ...CALL.function, z: 1 } }] };
  assert.deepEqual(ignoredOf({ messages: [{ ...USER, name: 'Ann' }, said, said], tools: [tool, { ...tool, function: { name: 'o', strict: true } }] }), [
    'messages[].name',
    'messages[].tool_calls[].function.z',
    'messages[].tool_calls[].y',
    'messages[].parsed',
    'messages[].reasoning_content',
    'tools[].function.w',
    'tools[].x',
  ]);
});

const signed = (signature: string): object => ({ extra_content: { google: { thought_signature: signature } } });

test('states are given to their calls and texts', () => {
  const messages = [USER, { role: 'assistant', content: 'A', tool_calls: [{ ...CALL, ...signed('gateway:own=a.b.AA,text=a.b.BB,text=a.b.CC') }] }];
  assert.deepEqual(turnsOf(...messages), [
    USER_TURN,
    { role: 'assistant', parts: [{ type: 'text', text: 'A', state: 'a.b.BB' }, { type: 'text', text: '', state: 'a.b.CC' }, { ...CALLED, state: 'a.b.AA' }] },
  ]);
  assert.deepEqual(ignoredOf({ messages }), []);
  assert.deepEqual(turnsOf(USER, { role: 'assistant', content: 'A', ...signed('gateway:text=a.b.BB') }), [
    USER_TURN,
    { role: 'assistant', parts: [{ type: 'text', text: 'A', state: 'a.b.BB' }] },
  ]);
});

test('two tools of one name are refused, since a call would be of either', () => {
  const tool = (name: string): object => ({ type: 'function', function: { name } });
  assert.equal(refusalOf({ tools: [tool('f'), tool('g'), tool('f')] }), 'bad_request: tools[2].function.name: another tool has this name');
});

test('the state of a text that said nothing stays with it, and goes to no other', () => {
  const silent = { type: 'text', text: '', state: 'a.b.BB' };
  const rows: readonly (readonly [object, readonly object[]])[] = [
    [{ content: 'A', ...signed('gateway:empty=a.b.BB') }, [{ type: 'text', text: 'A' }, silent]],
    [{ content: 'A', ...signed('gateway:empty=a.b.BB,text=a.b.CC') }, [silent, { type: 'text', text: 'A', state: 'a.b.CC' }]],
    [{ content: null, ...signed('gateway:empty=a.b.BB') }, [silent]],
    [{ tool_calls: [{ ...CALL, ...signed('gateway:own=a.b.AA,empty=a.b.BB') }] }, [silent, { ...CALLED, state: 'a.b.AA' }]],
  ];
  for (const [message, parts] of rows) assert.deepEqual(turnsOf(USER, { role: 'assistant', ...message }), [USER_TURN, { role: 'assistant', parts }]);
});

test('a signature of another vendor is left out and named, a damaged one of the gateway is a bad_request', () => {
  const messages = (signature: string): readonly object[] => [USER, { role: 'assistant', tool_calls: [{ ...CALL, ...signed(signature) }] }];
  assert.deepEqual(turnsOf(...messages('CsMBAQ==')), [USER_TURN, { role: 'assistant', parts: [CALLED] }]);
  assert.deepEqual(ignoredOf({ messages: messages('CsMBAQ==') }), ['messages[].tool_calls[].extra_content']);
  assert.equal(refusalOf({ messages: messages('gateway:own=') }), 'bad_request: messages[1].tool_calls[0].extra_content: damaged, or not made by this gateway');
});

test('a damaged Chat Completions request is a chat or a failure of the caller, and nothing throws', () => {
  const full = {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }, { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }] },
      { role: 'assistant', content: [{ type: 'text', text: 'A' }, { type: 'refusal', refusal: 'B' }], refusal: null, tool_calls: [{ ...CALL, ...signed('gateway:own=a.b.AA,text=a.b.BB') }] },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ],
    max_completion_tokens: 5,
    stop: ['END'],
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: { name: 'n', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'n' } },
    reasoning_effort: 'low',
    response_format: { type: 'text' },
    n: 1,
  };
  const outcomes = { taken: 0, refused: 0 };
  for (let seed = 0; seed < 2000; seed += 1) {
    const random = createRandom(seed);
    const text = JSON.stringify(mutateJson(random, full));
    const decoded = decodedBy(OPENAI_CHAT, random.below(4) === 0 ? mutateText(random, text) : text);
    const outcome = decoded instanceof Failure ? decoded : decoded.translate(decoded.model);
    if (outcome instanceof Failure) {
      outcomes.refused += 1;
      assert.equal(outcome.status, 400, `seed ${seed}`);
      assert.ok(outcome.message.length < 1000, `seed ${seed}`);
    } else {
      outcomes.taken += 1;
      assert.ok(outcome.request.turns.length > 0, `seed ${seed}`);
      assert.ok(outcome.ignored.length <= 21, `seed ${seed}`);
    }
  }
  assert.ok(outcomes.taken > 200 && outcomes.refused > 200, JSON.stringify(outcomes));
});
