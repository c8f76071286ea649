import { deepEqual, equal, fail, ok } from 'node:assert/strict';
import test from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import { decodeChatRequest } from '../../../src/callers/native/request.ts';
import type { ChatRequest } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';

const hi = '[{"role":"user","text":"hi"}]';

/** A good body with these further fields, written as JSON. */
function body(fields = ''): string {
  return `{"model":"m","messages":${hi}${fields === '' ? '' : `,${fields}`}}`;
}

function messages(...list: string[]): string {
  return `{"model":"m","messages":[${list.join(',')}]}`;
}

function userPart(part: string): string {
  return messages(`{"role":"user","content":[${part}]}`);
}

function assistantPart(part: string): string {
  return messages(`{"role":"assistant","content":[${part}]}`);
}

function toolPart(part: string): string {
  return messages(`{"role":"tool","content":[${part}]}`);
}

function image(data: string): string {
  return userPart(`{"type":"image","media_type":"image/png","data":"${data}"}`);
}

function decode(text: string | Buffer): ChatRequest {
  const request = decodeChatRequest(Buffer.from(text));
  return request instanceof Failure ? fail(request.message) : request;
}

/** The parts of the first turn. */
function partsOf(text: string): unknown {
  return decode(text).turns[0]?.parts;
}

test('decodeChatRequest fills what the smallest body leaves open', () => {
  deepEqual(decode(body()), {
    provider: undefined,
    model: 'm',
    system: undefined,
    turns: [{ role: 'user', parts: [{ type: 'text', text: 'hi', state: undefined }] }],
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
  });
});

const everyOptional = [
  'provider',
  'system',
  'max_tokens',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'tool_choice',
  'thinking',
  'output',
  'cache',
  'user',
  'provider_options',
];

test('decodeChatRequest takes null for every optional field as absent', () => {
  deepEqual(decode(body(everyOptional.map((name) => `"${name}":null`).join(','))), decode(body()));
});

test('decodeChatRequest skips a byte order mark at the very start', () => {
  deepEqual(decode(`\uFEFF${body()}`), decode(body()));
});

test('decodeChatRequest reads text beyond ASCII as UTF-8', () => {
  equal(decode(body('"system":"Größe 日本 🙂 \\ud83d\\ude42"')).system, 'Größe 日本 🙂 🙂');
});

const requestFields: [text: string, name: keyof ChatRequest, expected: unknown][] = [
  [body('"provider":"groq"'), 'provider', 'groq'],
  [`{"model":"../a b#/é🙂","messages":${hi}}`, 'model', '../a b#/é🙂'],
  [`{"model":"${'m'.repeat(256)}","messages":${hi}}`, 'model', 'm'.repeat(256)],
  [body('"system":"be kind"'), 'system', 'be kind'],
  [body('"system":""'), 'system', undefined],
  [body('"max_tokens":1'), 'maxTokens', 1],
  [body('"max_tokens":1e3'), 'maxTokens', 1000],
  [body('"max_tokens":9007199254740991'), 'maxTokens', 9007199254740991],
  [body('"max_tokens":0'), 'maxTokens', undefined],
  [body('"max_tokens":-0'), 'maxTokens', undefined],
  [body('"temperature":0'), 'temperature', 0],
  [body('"temperature":0.7'), 'temperature', 0.7],
  [body('"temperature":-3'), 'temperature', -3],
  [body('"top_p":0.95'), 'topP', 0.95],
  [body('"stop":[]'), 'stop', []],
  [body('"stop":["\\n","END"]'), 'stop', ['\n', 'END']],
  [body('"tools":[]'), 'tools', []],
  [
    body('"tools":[{"name":"a"},{"name":"b","description":"","parameters":{}}]'),
    'tools',
    [
      { name: 'a', description: undefined, parameters: undefined, strict: undefined },
      { name: 'b', description: '', parameters: new RawJson('{}'), strict: undefined },
    ],
  ],
  [
    body('"tools":[{"name":"a","description":null,"parameters":null,"strict":null}]'),
    'tools',
    [{ name: 'a', description: undefined, parameters: undefined, strict: undefined }],
  ],
  [
    body('"tools":[{"name":"a","strict":true},{"name":"b","strict":false}]'),
    'tools',
    [
      { name: 'a', description: undefined, parameters: undefined, strict: true },
      { name: 'b', description: undefined, parameters: undefined, strict: false },
    ],
  ],
  [
    body('"tools":[{"name":"a","parameters":{"type":"object", "x":1.0,"x":12345678901234567890,"__proto__":{"colour":null}}}]'),
    'tools',
    [
      {
        name: 'a',
        description: undefined,
        parameters: new RawJson('{"type":"object", "x":1.0,"x":12345678901234567890,"__proto__":{"colour":null}}'),
        strict: undefined,
      },
    ],
  ],
  [body('"tool_choice":{"mode":"auto"}'), 'toolChoice', { mode: 'auto', parallel: undefined }],
  [body('"tool_choice":{"mode":"none","name":null,"parallel":null}'), 'toolChoice', { mode: 'none', parallel: undefined }],
  [body('"tool_choice":{"mode":"required","name":"","parallel":true}'), 'toolChoice', { mode: 'required', parallel: true }],
  [body('"tool_choice":{"mode":"tool","name":"a","parallel":false}'), 'toolChoice', { mode: 'tool', name: 'a', parallel: false }],
  [body('"tool_choice":{"parallel":false}'), 'toolChoice', { mode: 'auto', parallel: false }],
  [body('"tool_choice":{"mode":null,"parallel":true}'), 'toolChoice', { mode: 'auto', parallel: true }],
  [body('"thinking":{"enabled":false}'), 'thinking', { enabled: false, effort: undefined }],
  [body('"thinking":{"enabled":true,"effort":null}'), 'thinking', { enabled: true, effort: undefined }],
  [body('"thinking":{"enabled":true,"effort":"low"}'), 'thinking', { enabled: true, effort: 'low' }],
  [body('"thinking":{"enabled":true,"effort":"medium"}'), 'thinking', { enabled: true, effort: 'medium' }],
  [body('"thinking":{"enabled":true,"effort":"high"}'), 'thinking', { enabled: true, effort: 'high' }],
  [body('"thinking":{"enabled":false,"effort":"max"}'), 'thinking', { enabled: false, effort: 'max' }],
  [body('"output":{"type":"json"}'), 'output', { schema: undefined, name: 'output', strict: true }],
  [body('"output":{"type":"json","schema":null,"name":null,"strict":null}'), 'output', { schema: undefined, name: 'output', strict: true }],
  [body('"output":{"type":"json","schema":{}}'), 'output', { schema: new RawJson('{}'), name: 'output', strict: true }],
  [
    body('"output":{"type":"json","schema":{"type":"array", "x":1.0,"x":12345678901234567890,"__proto__":{"Type":null}},"name":"an_Answer-2","strict":false}'),
    'output',
    { schema: new RawJson('{"type":"array", "x":1.0,"x":12345678901234567890,"__proto__":{"Type":null}}'), name: 'an_Answer-2', strict: false },
  ],
  [body(`"output":{"type":"json","schema":{},"name":"${'n'.repeat(64)}","strict":true}`), 'output', { schema: new RawJson('{}'), name: 'n'.repeat(64), strict: true }],
  [body('"cache":{}'), 'cache', { key: undefined, ttl: undefined }],
  [body('"cache":{"key":null,"ttl":null}'), 'cache', { key: undefined, ttl: undefined }],
  [body('"cache":{"key":"support bot 日本","ttl":"short"}'), 'cache', { key: 'support bot 日本', ttl: 'short' }],
  [body('"cache":{"key":"","ttl":"long"}'), 'cache', { key: undefined, ttl: 'long' }],
  [body('"user":"someone@example.com"'), 'user', 'someone@example.com'],
  [body('"user":""'), 'user', undefined],
];

for (const [text, name, expected] of requestFields) {
  test(`decodeChatRequest reads ${name} of ${text.slice(0, 150)}`, () => {
    deepEqual(decode(text)[name], expected);
  });
}

test('decodeChatRequest passes provider_options on with every key and the text of every number', () => {
  const options = '{"top_k":1.0,"__proto__":{"a":1},"constructor":null,"nested":{"stream":true},"twice":1,"twice":2}';
  equal(decode(body(`"provider_options":${options}`)).providerOptions?.raw.text, options);
  equal(Object.hasOwn(Object.prototype, 'a'), false);
});

const png = { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'QQ==' } };
const remote = (url: string): unknown => ({ type: 'image', source: { type: 'url', url } });
const otherFieldsNull =
  '"media_type":null,"data":null,"url":null,"id":null,"name":null,"arguments":null,"tool_call_id":null,"content":null,"is_error":null,"provider_state":null';

const parts: [text: string, expected: unknown][] = [
  [messages('{"role":"user","text":"hi","content":null}'), [{ type: 'text', text: 'hi', state: undefined }]],
  [messages('{"role":"assistant","text":"hi"}'), [{ type: 'text', text: 'hi', state: undefined }]],
  [messages('{"role":"assistant","text":null,"content":[]}'), []],
  [userPart('{"type":"text","text":" "}'), [{ type: 'text', text: ' ', state: undefined }]],
  [userPart(`{"type":"text","text":"a",${otherFieldsNull}}`), [{ type: 'text', text: 'a', state: undefined }]],
  [assistantPart('{"type":"text","text":"a"}'), [{ type: 'text', text: 'a', state: undefined }]],
  [assistantPart('{"type":"text","text":"a","provider_state":"s"}'), [{ type: 'text', text: 'a', state: 's' }]],
  [assistantPart('{"type":"text","text":"","provider_state":"s"}'), [{ type: 'text', text: '', state: 's' }]],
  [image('QQ=='), [png]],
  [userPart('{"type":"image","media_type":"image/png","data":"QQ==","url":null}'), [png]],
  [userPart('{"type":"image","url":"https://example.com/a.png?b=c#d"}'), [remote('https://example.com/a.png?b=c#d')]],
  [userPart('{"type":"image","url":"HTTP://[::1]:80/é","data":null}'), [remote('HTTP://[::1]:80/é')]],
  [
    assistantPart('{"type":"tool_call","id":"c","name":"f","arguments":{"n":1e-7, "n":1.0},"provider_state":"s"}'),
    [{ type: 'tool_call', id: 'c', name: 'f', arguments: new RawJson('{"n":1e-7, "n":1.0}'), state: 's' }],
  ],
  [
    assistantPart('{"type":"tool_call","id":"c","name":"f"}'),
    [{ type: 'tool_call', id: 'c', name: 'f', arguments: new RawJson('{}'), state: undefined }],
  ],
  [
    assistantPart('{"type":"tool_call","id":"c","name":"f","arguments":null,"provider_state":null,"text":null}'),
    [{ type: 'tool_call', id: 'c', name: 'f', arguments: new RawJson('{}'), state: undefined }],
  ],
  [
    toolPart('{"type":"tool_result","tool_call_id":"c"}'),
    [{ type: 'tool_result', toolCallId: 'c', content: '', isError: false }],
  ],
  [
    messages(
      '{"role":"tool","text":null,"content":[{"type":"tool_result","tool_call_id":"c","content":"ok","is_error":true},' +
        '{"type":"tool_result","tool_call_id":"d","content":null,"is_error":null}]}',
    ),
    [
      { type: 'tool_result', toolCallId: 'c', content: 'ok', isError: true },
      { type: 'tool_result', toolCallId: 'd', content: '', isError: false },
    ],
  ],
];

for (const [text, expected] of parts) {
  test(`decodeChatRequest reads the parts of ${text.slice(23)}`, () => {
    deepEqual(partsOf(text), expected);
  });
}

const refused: [text: string, sentence: string][] = [
  // The text as JSON.
  ['', 'the body is not valid JSON: unexpected end of the text at character 1'],
  ['{"model":"m"', 'the body is not valid JSON: unexpected end of the text at character 13'],
  ['{"model":m}', 'the body is not valid JSON: unexpected character at character 10'],
  [`${body()}x`, 'the body is not valid JSON: unexpected text after the value at character 55'],
  [`\uFEFF\uFEFF${body()}`, 'the body is not valid JSON: unexpected character at character 1'],
  [body('"temperature":01'), 'the body is not valid JSON: unexpected character at character 70'],
  [body('"temperature":NaN'), 'the body is not valid JSON: unexpected character at character 69'],
  [`${'['.repeat(101)}${']'.repeat(101)}`, 'the body is not valid JSON: nesting beyond 100 levels at character 101'],
  ['null', 'the body must be a JSON object'],
  ['[]', 'the body must be a JSON object'],
  ['"x"', 'the body must be a JSON object'],
  // Unknown and repeated fields.
  [body('"colour":1'), 'colour: unknown field'],
  [body('"colour":null'), 'colour: unknown field'],
  [body('"stream":true'), 'stream: unknown field'],
  [body('"__proto__":{}'), '__proto__: unknown field'],
  [body('"a b\\n":1'), '["a b\\n"]: unknown field'],
  [body('"model":"n"'), 'model: duplicate key'],
  [body('"mod\\u0065l":"n"'), 'model: duplicate key'],
  [messages('{"role":"user","text":"a","colour":1}'), 'messages[0].colour: unknown field'],
  [messages('{"role":"user","text":"a","text":"b"}'), 'messages[0].text: duplicate key'],
  [
    messages('{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"a","colour":1}]}'),
    'messages[0].content[1].colour: unknown field',
  ],
  [userPart('{"type":"text","text":"a","colour":null}'), 'messages[0].content[0].colour: unknown field'],
  [body('"tool_choice":{"mode":"auto","colour":1}'), 'tool_choice.colour: unknown field'],
  [body('"thinking":{"enabled":true,"budget":1}'), 'thinking.budget: unknown field'],
  [body('"tools":[{"name":"a","kind":true}]'), 'tools[0].kind: unknown field'],
  [body('"tool_choice":{"parallel":false,"colour":1}'), 'tool_choice.colour: unknown field'],
  [body('"output":{"type":"json","schema":{},"description":"d"}'), 'output.description: unknown field'],
  [body('"output":{"type":"json","type":"json"}'), 'output.type: duplicate key'],
  [body('"cache":{"ttl":"long","system":true}'), 'cache.system: unknown field'],
  // An unknown field anywhere comes before one that is missing anywhere.
  [`{"Model":"m","messages":${hi}}`, 'Model: unknown field; did you mean model?'],
  [`{"MODEL":"m","messages":${hi}}`, 'MODEL: unknown field; did you mean model?'],
  [body('"maxTokens":1'), 'maxTokens: unknown field; did you mean max_tokens?'],
  ['{"model":"m","Messages":[]}', 'Messages: unknown field; did you mean messages?'],
  ['{"messages":[{"role":"user","Text":"a"}]}', 'messages[0].Text: unknown field; did you mean text?'],
  ['{"model":"m","tools":[{"Name":"a"}]}', 'tools[0].Name: unknown field; did you mean name?'],
  [messages('{"role":"user"},{"role":"user","colour":1}'), 'messages[1].colour: unknown field'],
  ['{"messages":[{"role":"user","content":[{"type":"text","text":"a","id":"b"}]}]}', 'messages[0].content[0].id: unknown field'],
  ['{"messages":[{"content":[{"type":"text","id":"b"}]}]}', 'model: required'],
  ['{"messages":[{"content":[{"Type":"text","id":"b"}]}]}', 'messages[0].content[0].Type: unknown field; did you mean type?'],
  [`{"messages":${hi},"tool_choice":{"Mode":"auto"}}`, 'tool_choice.Mode: unknown field; did you mean mode?'],
  ['{"model":"m","messages":[{"role":"user","content":[{"type":"image","media_type":"image/png"}]}],"tools":[{"nam":"a"}]}', 'tools[0].nam: unknown field; did you mean name?'],
  ['{"model":"m","messages":[{"role":"user","content":[{"type":"document","media_type":"application/pdf"}]}],"tools":[{"nam":"a"}]}', 'tools[0].nam: unknown field; did you mean name?'],
  [`{"messages":${hi},"thinking":{"Enabled":true}}`, 'thinking.Enabled: unknown field; did you mean enabled?'],
  [`{"messages":${hi},"tools":[{"parameters":{"Name":1}}],"provider_options":{"Model":1}}`, 'model: required'],
  [`{"messages":${hi},"tools":[{"name":"a","Strict":true}]}`, 'tools[0].Strict: unknown field; did you mean strict?'],
  [`{"messages":${hi},"tool_choice":{"Parallel":true}}`, 'tool_choice.Parallel: unknown field; did you mean parallel?'],
  [`{"messages":${hi},"output":{"Schema":{}}}`, 'output.Schema: unknown field; did you mean schema?'],
  [`{"messages":${hi},"output":{"schema":{"Type":1}}}`, 'model: required'],
  [`{"messages":${hi},"cache":{"TTL":"long"}}`, 'cache.TTL: unknown field; did you mean ttl?'],
  [`{"messages":${hi},"User":"u"}`, 'User: unknown field; did you mean user?'],
  [`{"messages":[1,{"content":"x"},null],"tools":{"a":1},"thinking":[1]}`, 'tools.a: unknown field'],
  // The request's own fields.
  [`{"messages":${hi}}`, 'model: required'],
  [`{"model":null,"messages":${hi}}`, 'model: required'],
  [`{"model":"","messages":${hi}}`, 'model: must not be empty'],
  [`{"model":1,"messages":${hi}}`, 'model: expected a string, got a number'],
  [`{"model":"${'m'.repeat(257)}","messages":${hi}}`, 'model: must not be longer than 256 characters'],
  ...['\\r', '\\n', '\\u0000', '\\u007f', '\\u0085', '\\ud800'].map((character): [string, string] => [
    `{"model":"m${character}","messages":${hi}}`,
    'model: must not contain control characters or unpaired surrogates',
  ]),
  [body('"provider":""'), 'provider: must not be empty'],
  [body('"provider":1'), 'provider: expected a string, got a number'],
  [body('"system":["a"]'), 'system: expected a string, got an array'],
  ['{"model":"m"}', 'messages: required'],
  ['{"model":"m","messages":null}', 'messages: required'],
  ['{"model":"m","messages":[]}', 'messages: must not be empty'],
  ['{"model":"m","messages":{}}', 'messages: expected an array, got an object'],
  [body('"max_tokens":-1'), 'max_tokens: must be an integer from 0 to 9007199254740991'],
  [body('"max_tokens":1.00000000000000000001'), 'max_tokens: must be an integer from 0 to 9007199254740991'],
  [body('"max_tokens":1.5'), 'max_tokens: must be an integer from 0 to 9007199254740991'],
  [body('"max_tokens":9007199254740992'), 'max_tokens: must be an integer from 0 to 9007199254740991'],
  [body('"max_tokens":"1"'), 'max_tokens: expected an integer, got a string'],
  [body('"temperature":1e400'), 'temperature: too large a number'],
  [body('"temperature":"1"'), 'temperature: expected a number, got a string'],
  [body('"top_p":-1e400'), 'top_p: too large a number'],
  [body('"top_p":true'), 'top_p: expected a number, got a boolean'],
  [body('"stop":"END"'), 'stop: expected an array, got a string'],
  [body('"stop":["a",""]'), 'stop[1]: must not be empty'],
  [body('"stop":[null]'), 'stop[0]: expected a string, got null'],
  [body('"tools":{}'), 'tools: expected an array, got an object'],
  [body('"tools":["a"]'), 'tools[0]: expected an object, got a string'],
  [body('"tools":[{}]'), 'tools[0].name: required'],
  [body('"tools":[{"name":""}]'), 'tools[0].name: must not be empty'],
  [body('"tools":[{"name":"a"},{"name":"b"},{"name":"a"}]'), 'tools[2].name: another tool has this name'],
  [body('"tools":[{"name":"a","description":1}]'), 'tools[0].description: expected a string, got a number'],
  [body('"tools":[{"name":"a","parameters":"{}"}]'), 'tools[0].parameters: expected an object, got a string'],
  [body('"tools":[{"name":"a","parameters":{"type":"string"}}]'), 'tools[0].parameters.type: must be "object"'],
  [body('"tools":[{"name":"a","parameters":{"type":null}}]'), 'tools[0].parameters.type: must be "object"'],
  [body('"tools":[{"name":"a","strict":"true"}]'), 'tools[0].strict: expected a boolean, got a string'],
  [body('"tool_choice":{"parallel":1}'), 'tool_choice.parallel: expected a boolean, got a number'],
  [body('"tool_choice":{"parallel":null}'), 'tool_choice.mode: required (one of auto, none, required, tool)'],
  [body('"tool_choice":{"parallel":false,"name":"a"}'), 'tool_choice.name: allowed with mode tool only, not with auto'],
  [body('"tool_choice":"auto"'), 'tool_choice: expected an object, got a string'],
  [body('"tool_choice":{}'), 'tool_choice.mode: required (one of auto, none, required, tool)'],
  [body('"tool_choice":{"mode":"any"}'), 'tool_choice.mode: must be one of auto, none, required, tool'],
  [body('"tool_choice":{"mode":"tool"}'), 'tool_choice.name: required with mode tool'],
  [body('"tool_choice":{"mode":"tool","name":""}'), 'tool_choice.name: required with mode tool'],
  [body('"tool_choice":{"mode":"none","name":"a"}'), 'tool_choice.name: allowed with mode tool only, not with none'],
  [body('"tool_choice":{"mode":"tool","name":1}'), 'tool_choice.name: expected a string, got a number'],
  [body('"thinking":true'), 'thinking: expected an object, got a boolean'],
  [body('"thinking":{}'), 'thinking.enabled: required'],
  [body('"thinking":{"enabled":null,"effort":"low"}'), 'thinking.enabled: required'],
  [body('"thinking":{"enabled":"true"}'), 'thinking.enabled: expected a boolean, got a string'],
  [body('"thinking":{"enabled":true,"effort":"toString"}'), 'thinking.effort: must be one of low, medium, high, max'],
  [body('"output":"json"'), 'output: expected an object, got a string'],
  [body('"output":{}'), 'output.type: required (one of json)'],
  [body('"output":{"schema":{}}'), 'output.type: required (one of json)'],
  [body('"output":{"type":"json_schema","schema":{}}'), 'output.type: must be one of json'],
  [body('"output":{"type":"json","schema":"{}"}'), 'output.schema: expected an object, got a string'],
  [body('"output":{"type":"json","schema":[]}'), 'output.schema: expected an object, got an array'],
  [body('"output":{"type":"json","schema":true}'), 'output.schema: expected an object, got a boolean'],
  [body('"output":{"type":"json","schema":{},"name":1}'), 'output.name: expected a string, got a number'],
  ...['', 'an answer', 'a.b', 'ä', 'a\\n', 'n'.repeat(65)].map((name): [string, string] => [
    body(`"output":{"type":"json","schema":{},"name":"${name}"}`),
    'output.name: must be 1 to 64 letters, digits, _ or -',
  ]),
  [body('"output":{"type":"json","schema":{},"strict":"yes"}'), 'output.strict: expected a boolean, got a string'],
  [body('"output":{"type":"json","name":"a"}'), 'output.name: allowed with a schema only'],
  [body('"output":{"type":"json","strict":false}'), 'output.strict: allowed with a schema only'],
  [body('"cache":true'), 'cache: expected an object, got a boolean'],
  [body('"cache":{"key":1}'), 'cache.key: expected a string, got a number'],
  [body('"cache":{"ttl":"1h"}'), 'cache.ttl: must be one of short, long'],
  [body('"cache":{"ttl":3600}'), 'cache.ttl: expected a string, got a number'],
  [body('"user":1'), 'user: expected a string, got a number'],
  [body('"user":{"id":"u"}'), 'user: expected a string, got an object'],
  [body('"provider_options":[]'), 'provider_options: expected an object, got an array'],
  [body('"provider_options":{"stream":false}'), 'provider_options.stream: not allowed: the path /v1/chat or /v1/chat/stream decides it'],
  [body('"provider_options":{"stream":null}'), 'provider_options.stream: not allowed: the path /v1/chat or /v1/chat/stream decides it'],
  // Messages.
  [messages('null'), 'messages[0]: expected an object, got null'],
  [messages('{"text":"a"}'), 'messages[0].role: required (one of user, assistant, tool)'],
  [messages('{"role":"system","text":"a"}'), 'messages[0].role: must be one of user, assistant, tool'],
  [messages('{"role":"user"}'), 'messages[0]: set either text or content'],
  [messages('{"role":"user","text":null,"content":null}'), 'messages[0]: set either text or content'],
  [messages('{"role":"user","text":"a","content":[]}'), 'messages[0]: set either text or content, not both'],
  [messages('{"role":"assistant","text":"","content":[]}'), 'messages[0]: set either text or content, not both'],
  [messages('{"role":"user","text":""}'), 'messages[0].text: must not be empty'],
  [messages('{"role":"assistant","text":""}'), 'messages[0].text: must not be empty'],
  [messages('{"role":"user","text":["a"]}'), 'messages[0].text: expected a string, got an array'],
  [messages('{"role":"user","content":[]}'), 'messages[0].content: must not be empty'],
  [
    messages('{"role":"user","content":"a"}'),
    'messages[0].content: expected an array, got a string; use `text` for plain text',
  ],
  [
    messages('{"role":"assistant","content":"a","text":"a"}'),
    'messages[0].content: expected an array, got a string; use `text` for plain text',
  ],
  [
    messages('{"role":"tool","content":"a"}'),
    'messages[0].content: expected an array, got a string (a tool message takes tool_result parts, not `text`)',
  ],
  [messages('{"role":"tool","content":[]}'), 'messages[0].content: must not be empty'],
  [messages('{"role":"tool"}'), 'messages[0].content: required'],
  [
    messages('{"role":"tool","text":"a"}'),
    'messages[0].text: a tool message takes only tool_result parts, in content',
  ],
  // Parts by role.
  [userPart('"a"'), 'messages[0].content[0]: expected an object, got a string'],
  [userPart('{"text":"a"}'), 'messages[0].content[0].type: required'],
  [userPart('{"type":1}'), 'messages[0].content[0].type: expected a string, got a number'],
  ...['tool_call', 'tool_result', 'thinking', 'Text'].map((type): [string, string] => [
    userPart(`{"type":"${type}"}`),
    'messages[0].content[0].type: must be text, image or document in a message of role user',
  ]),
  ...['image', 'document', 'tool_result'].map((type): [string, string] => [
    assistantPart(`{"type":"${type}"}`),
    'messages[0].content[0].type: must be text or tool_call in a message of role assistant',
  ]),
  ...['text', 'image', 'document', 'tool_call'].map((type): [string, string] => [
    toolPart(`{"type":"${type}"}`),
    'messages[0].content[0].type: must be tool_result in a message of role tool',
  ]),
  // Text parts.
  [userPart('{"type":"text"}'), 'messages[0].content[0].text: required'],
  [userPart('{"type":"text","text":""}'), 'messages[0].content[0].text: must not be empty'],
  [userPart('{"type":"text","text":"a","id":"b"}'), 'messages[0].content[0].id: unknown field'],
  [userPart('{"type":"text","text":"a","provider_state":"s"}'), 'messages[0].content[0].provider_state: unknown field'],
  [assistantPart('{"type":"text","text":""}'), 'messages[0].content[0].text: must not be empty'],
  [assistantPart('{"type":"text","text":"","provider_state":null}'), 'messages[0].content[0].text: must not be empty'],
  [assistantPart('{"type":"text","provider_state":"s"}'), 'messages[0].content[0].text: required'],
  [
    assistantPart('{"type":"text","text":"a","provider_state":""}'),
    'messages[0].content[0].provider_state: must not be empty',
  ],
  [
    assistantPart('{"type":"text","text":"a","provider_state":{}}'),
    'messages[0].content[0].provider_state: expected a string, got an object',
  ],
  // Images.
  ...[
    '{"type":"image"}',
    '{"type":"image","data":"QQ=="}',
    '{"type":"image","media_type":"image/png"}',
    '{"type":"image","url":"https://a/b","data":"QQ=="}',
    '{"type":"image","url":"https://a/b","media_type":"image/png"}',
    '{"type":"image","url":"https://a/b","media_type":"image/png","data":"QQ=="}',
  ].map((part): [string, string] => [
    userPart(part),
    'messages[0].content[0]: an image needs either media_type and data, or url',
  ]),
  ...['', 'png', 'image/', 'image', 'text/plain', 'Image/png', 'image/png; q=1', 'image/p/g', 'image/png\\n', 'image/.a'].map(
    (type): [string, string] => [
      userPart(`{"type":"image","media_type":"${type}","data":"QQ=="}`),
      'messages[0].content[0].media_type: must have the form image/<subtype>',
    ],
  ),
  ...['', '/a', '//a/b', 'a.png', 'ftp://a/b', 'data:image/png;base64,QQ==', 'file:///a', 'http:a', 'https://', 'http://a b/', ' http://a', 'http://a/\\n'].map(
    (url): [string, string] => [
      userPart(`{"type":"image","url":"${url}"}`),
      'messages[0].content[0].url: must be an absolute http or https URL',
    ],
  ),
  [userPart('{"type":"image","url":"http://a","text":"b"}'), 'messages[0].content[0].text: unknown field'],
  [userPart('{"type":"image","url":1}'), 'messages[0].content[0].url: expected a string, got a number'],
  // Tool calls and results.
  [assistantPart('{"type":"tool_call","name":"f"}'), 'messages[0].content[0].id: required'],
  [assistantPart('{"type":"tool_call","id":"","name":"f"}'), 'messages[0].content[0].id: must not be empty'],
  [assistantPart('{"type":"tool_call","id":"c"}'), 'messages[0].content[0].name: required'],
  [assistantPart('{"type":"tool_call","id":"c","name":""}'), 'messages[0].content[0].name: must not be empty'],
  [
    assistantPart('{"type":"tool_call","id":"c","name":"f","arguments":"{}"}'),
    'messages[0].content[0].arguments: expected an object, got a string',
  ],
  [
    assistantPart('{"type":"tool_call","id":"c","name":"f","arguments":[]}'),
    'messages[0].content[0].arguments: expected an object, got an array',
  ],
  [
    assistantPart('{"type":"tool_call","id":"c","name":"f","provider_state":""}'),
    'messages[0].content[0].provider_state: must not be empty',
  ],
  [assistantPart('{"type":"tool_call","id":"c","name":"f","text":"a"}'), 'messages[0].content[0].text: unknown field'],
  [toolPart('{"type":"tool_result"}'), 'messages[0].content[0].tool_call_id: required'],
  [toolPart('{"type":"tool_result","tool_call_id":""}'), 'messages[0].content[0].tool_call_id: must not be empty'],
  [toolPart('{"type":"tool_result","tool_call_id":"c","content":1}'), 'messages[0].content[0].content: expected a string, got a number'],
  [
    toolPart('{"type":"tool_result","tool_call_id":"c","is_error":0}'),
    'messages[0].content[0].is_error: expected a boolean, got a number',
  ],
  [
    toolPart('{"type":"tool_result","tool_call_id":"c","provider_state":"s"}'),
    'messages[0].content[0].provider_state: unknown field',
  ],
];

for (const [text, sentence] of refused) {
  test(`decodeChatRequest refuses ${JSON.stringify(text.slice(0, 150))}: ${sentence}`, () => {
    const failure = decodeChatRequest(Buffer.from(text));
    if (!(failure instanceof Failure)) return fail('was accepted');
    deepEqual([failure.kind, failure.status, failure.message], ['bad_request', 400, sentence]);
  });
}

test('decodeChatRequest refuses bytes that are not UTF-8, also UTF-16', () => {
  const latin1 = Buffer.from(body('"system":"Größe"'), 'latin1');
  const utf16 = Buffer.from(`\uFEFF${body()}`, 'utf16le');
  const surrogate = Buffer.concat([Buffer.from('"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"')]);
  for (const bytes of [latin1, utf16, surrogate, Buffer.from([0xef, 0xbb])]) {
    const failure = decodeChatRequest(bytes);
    equal(failure instanceof Failure && failure.message, 'the body is not valid JSON: it is not UTF-8');
  }
});

for (const type of ['image/png', 'image/svg+xml', 'image/vnd.ms-photo', 'image/x-a_b!#$&^', 'image/PNG', `image/${'a'.repeat(127)}`]) {
  test(`decodeChatRequest accepts the media type ${type}`, () => {
    const part = `{"type":"image","media_type":"${type}","data":"QQ=="}`;
    deepEqual(partsOf(userPart(part)), [{ type: 'image', source: { type: 'inline', mediaType: type, base64: 'QQ==' } }]);
  });
}

test('decodeChatRequest refuses an image subtype of 128 characters', () => {
  const part = `{"type":"image","media_type":"image/${'a'.repeat(128)}","data":"QQ=="}`;
  ok(decodeChatRequest(Buffer.from(userPart(part))) instanceof Failure);
});

const notBase64 = 'messages[0].content[0].data: must be canonical base64 (RFC 4648 section 4, padded)';

function dataComplaint(data: string): string | undefined {
  const request = decodeChatRequest(Buffer.from(image(data)));
  return request instanceof Failure ? request.message : undefined;
}

for (const data of ['AAAA', 'QQ==', 'QUI=', 'QUJD', '+/+/', 'QUJDQQ==', '////']) {
  test(`decodeChatRequest accepts ${data} as image data`, () => {
    equal(dataComplaint(data), undefined);
  });
}

const badData: [what: string, data: string][] = [
  ['nothing', ''],
  ['absent padding', 'QQ'],
  ['half the padding', 'QQ='],
  ['padding alone', '===='],
  ['too much padding', 'QUI=='],
  ['three signs of padding', 'Q==='],
  ['padding in the middle', 'QQ==QUJD'],
  ['trailing bits that are not zero before one sign of padding', 'QUJ='],
  ['trailing bits that are not zero before two', 'QR=='],
  ['a single character of a group', 'QUJDQ'],
  ['the URL alphabet', '-_-_'],
  ['a space', 'QU JD'],
  ['a line end', 'QUJD\\n'],
  ['a character beyond Latin-1 whose low byte is in the alphabet', '\u0141UJD'],
  ['a data URL', 'data:image/png;base64,QQ=='],
];

for (const [what, data] of badData) {
  test(`decodeChatRequest refuses ${what} as image data`, () => {
    equal(dataComplaint(data), notBase64);
  });
}

test('decodeChatRequest checks all of a long image, and accepts padding only at its very end', () => {
  const long = 'QUJD'.repeat(100_000);
  equal(dataComplaint(long), undefined);
  equal(dataComplaint(`${long}QQ==`), undefined);
  for (const at of [0, 65_535, 65_536, 131_071, 399_999]) {
    equal(dataComplaint(`${long.slice(0, at)}*${long.slice(at + 1)}`), notBase64);
  }
  equal(dataComplaint(`${long.slice(0, 65_532)}QQ==${long.slice(65_536)}`), notBase64);
});

/** A body that uses every field, with a canary in every string that is free. */
const CANARY = 'canary-0123456789-ab';
const everything = JSON.stringify({
  provider: CANARY,
  model: CANARY,
  system: CANARY,
  messages: [
    { role: 'user', text: CANARY },
    {
      role: 'user',
      content: [
        { type: 'text', text: CANARY },
        { type: 'image', media_type: 'image/png', data: 'QQ==' },
        { type: 'image', url: `https://example.com/${CANARY}` },
        { type: 'document', media_type: 'application/pdf', url: `https://example.com/${CANARY}`, name: CANARY },
        { type: 'document', media_type: 'text/plain', data: 'QQ==' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: CANARY, provider_state: CANARY },
        { type: 'tool_call', id: CANARY, name: CANARY, arguments: { a: CANARY, b: [1.5, null, true] }, provider_state: CANARY },
      ],
    },
    { role: 'tool', content: [{ type: 'tool_result', tool_call_id: CANARY, content: CANARY, is_error: false }] },
    { role: 'tool', content: [{ type: 'tool_result', tool_call_id: CANARY, content: [{ type: 'text', text: CANARY }, { type: 'image', media_type: 'image/png', data: 'QQ==' }] }] },
  ],
  max_tokens: 100,
  temperature: 0.5,
  top_p: 1,
  stop: [CANARY],
  tools: [{ name: CANARY, description: CANARY, parameters: { type: 'object', properties: {} }, strict: true }],
  tool_choice: { mode: 'tool', name: CANARY, parallel: false },
  thinking: { enabled: true, effort: 'high' },
  output: { type: 'json', schema: { title: CANARY }, name: CANARY, strict: true },
  cache: { key: CANARY, ttl: 'long' },
  user: CANARY,
  provider_options: { a: CANARY },
});

test('the body of the fuzz tests is accepted as it is', () => {
  equal(decode(everything).turns.length, 5);
});

/** Numbers from 0 to `below` - 1 that are the same in every run (mulberry32). */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** True when it was refused. A refusal must be a bad_request that keeps the canary to itself. */
function isRefusedSafely(bytes: Buffer): boolean {
  const request = decodeChatRequest(bytes);
  if (!(request instanceof Failure)) return false;
  equal(request.status, 400);
  equal(request.kind, 'bad_request');
  equal(request.message.includes(CANARY), false, request.message);
  return true;
}

test('decodeChatRequest returns a value or a safe failure for 2000 bodies with damaged bytes', () => {
  const random = createRandom(1);
  const good = Buffer.from(everything);
  let refusals = 0;
  for (let round = 0; round < 2000; round += 1) {
    const bytes = Buffer.from(good);
    for (let edits = 1 + random(3); edits > 0; edits -= 1) bytes[random(bytes.length)] = random(256);
    const end = random(4) === 0 ? random(bytes.length) : bytes.length;
    if (isRefusedSafely(bytes.subarray(0, end))) refusals += 1;
  }
  ok(refusals > 1000 && refusals < 2000, `${refusals} refusals`);
});

test('decodeChatRequest returns a value or a safe failure for 2000 bodies with values of other types', () => {
  const random = createRandom(2);
  const substitutes = [null, true, 0, -1.5, 1e300, '', CANARY, [], [CANARY], {}, { key: CANARY }, { type: CANARY }];
  let refusals = 0;
  for (let round = 0; round < 2000; round += 1) {
    const mutated: unknown = JSON.parse(everything);
    replaceSomewhere(mutated as Record<string, unknown>, substitutes[random(substitutes.length)], random);
    if (isRefusedSafely(Buffer.from(JSON.stringify(mutated)))) refusals += 1;
  }
  ok(refusals > 1000 && refusals < 2000, `${refusals} refusals`);
});

/** Walks down at random and replaces, removes or adds one member. */
function replaceSomewhere(node: Record<string, unknown>, substitute: unknown, random: (below: number) => number): void {
  const keys = Object.keys(node);
  const key = keys[random(keys.length)] ?? 'added';
  const child = node[key];
  if (typeof child === 'object' && child !== null && random(3) > 0) {
    replaceSomewhere(child as Record<string, unknown>, substitute, random);
  } else if (random(4) === 0) {
    delete node[key];
  } else {
    node[random(6) === 0 ? 'added' : key] = substitute;
  }
}
