/** Answers in the form that was asked for, on every protocol, and the schemas that each provider refuses. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { HEADERS, at, events, open, request } from './client.ts';
import type { Answer } from './client.ts';

type Wire = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini' | 'compat';
const WIRES: readonly Wire[] = ['anthropic', 'openai-chat', 'openai-responses', 'gemini', 'compat'];
const closed = (properties: object, required: readonly string[] = Object.keys(properties), more: object = {}): object =>
  ({ type: 'object', properties, required, additionalProperties: false, ...more });
const CITY = closed({ city: { type: 'string' }, days: { type: ['integer', 'null'] }, sky: { enum: ['clear', 'grey'] } });
const CITY_VALUE = { city: 'city 1', days: 1, sky: 'clear' };

const PATHS: Readonly<Record<Wire, (model: string, isStream: boolean) => string>> = {
  anthropic: () => '/anthropic/v1/messages',
  'openai-chat': () => '/openai/v1/chat/completions',
  'openai-responses': () => '/openai/v1/responses',
  gemini: (model, isStream) => `/gemini/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  compat: () => '/compat/v1/chat/completions',
};

function withSchema(wire: Wire, schema: unknown, isStrict = true): Record<string, unknown> {
  if (wire === 'anthropic') return { output_config: { format: { type: 'json_schema', schema } } };
  if (wire === 'gemini') return { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema } };
  const said = { name: 'answer', schema, strict: isStrict };
  return wire === 'openai-responses' ? { text: { format: { type: 'json_schema', ...said } } } : { response_format: { type: 'json_schema', json_schema: said } };
}

function ask(sandbox: Sandbox, wire: Wire, body: object, { model = 'fake-chat', isStream = false, text = 'Go' } = {}): Promise<Answer> {
  const content = wire === 'gemini' ? { contents: [{ role: 'user', parts: [{ text }] }] }
    : wire === 'openai-responses' ? { model, input: [{ role: 'user', content: text }] }
    : { model, messages: [{ role: 'user', content: text }], ...(wire === 'anthropic' ? { max_tokens: 1000 } : {}) };
  const headers = HEADERS[wire === 'openai-chat' || wire === 'openai-responses' ? 'openai' : wire];
  return request(sandbox.url + PATHS[wire](model, isStream), { ...content, ...(isStream && wire !== 'gemini' ? { stream: true } : {}), ...body }, headers);
}

/** The text of a whole answer. */
function textOf(wire: Wire, { text, status }: Answer): string {
  assert.equal(status, 200, text);
  const reply: unknown = JSON.parse(text);
  if (wire === 'anthropic') return String(at(reply, 'content', 0, 'text'));
  if (wire === 'gemini') return String(at(reply, 'candidates', 0, 'content', 'parts', 0, 'text'));
  if (wire === 'openai-responses') return String(at(reply, 'output', 0, 'content', 0, 'text'));
  return String(at(reply, 'choices', 0, 'message', 'content'));
}

function streamedText(wire: Wire, { text, status }: Answer): string {
  assert.equal(status, 200, text);
  return events(text).map((event) => {
    if (wire === 'anthropic') return at(event, 'delta', 'text') ?? '';
    if (wire === 'gemini') return at(event, 'candidates', 0, 'content', 'parts', 0, 'text') ?? '';
    if (wire === 'openai-responses') return at(event, 'delta') ?? '';
    return at(event, 'choices', 0, 'delta', 'content') ?? '';
  }).join('');
}

test('a type with a name of JavaScript\'s own is no failure of the sandbox', async (t) => {
  const sandbox = await open(t);
  for (const wire of WIRES) {
    const { status, text } = await ask(sandbox, wire, withSchema(wire, closed({ odd: { type: 'constructor' } })));
    assert.ok(status < 500, `${wire}: ${text}`);
  }
});

for (const wire of WIRES) {
  test(`${wire} answers with what fits the schema, whole and in pieces`, async (t) => {
    const sandbox = await open(t);
    const whole = textOf(wire, await ask(sandbox, wire, withSchema(wire, CITY)));
    assert.deepEqual(JSON.parse(whole), CITY_VALUE);
    assert.equal(streamedText(wire, await ask(sandbox, wire, withSchema(wire, CITY), { isStream: true })), whole);
  });

  test(`${wire} cuts the answer at the limit of tokens`, async (t) => {
    const sandbox = await open(t);
    const { generationConfig, ...asked } = withSchema(wire, CITY);
    const limit = wire === 'gemini' ? { generationConfig: { ...(generationConfig as object), maxOutputTokens: 2 } }
      : { [wire === 'openai-chat' ? 'max_completion_tokens' : wire === 'openai-responses' ? 'max_output_tokens' : 'max_tokens']: 2 };
    const cut = await ask(sandbox, wire, { ...asked, ...limit });
    assert.equal(textOf(wire, cut), '{"city":"city 1"');
    assert.match(cut.text, /"(max_tokens|length|MAX_TOKENS|max_output_tokens)"/);
  });
}

test('Anthropic writes required properties first', async (t) => {
  const schema = closed({ note: { type: 'string' }, city: { type: 'string' } }, ['city']);
  assert.equal(textOf('anthropic', await ask(await open(t), 'anthropic', withSchema('anthropic', schema))), '{"city":"city 1","note":"note 1"}');
});

test('a refusal is not in the form that was asked for', async (t) => {
  const sandbox = await open(t);
  const { text } = await ask(sandbox, 'openai-chat', withSchema('openai-chat', CITY), { model: 'fake-refusal-partial' });
  assert.deepEqual([at(JSON.parse(text), 'choices', 0, 'message', 'content'), at(JSON.parse(text), 'choices', 0, 'finish_reason')], [null, 'stop']);
});

test('a turn with calls comes before the answer in its form', async (t) => {
  const tools = [{ name: 'f', input_schema: closed({}), strict: true }];
  const answer = await ask(await open(t), 'anthropic', { ...withSchema('anthropic', CITY), tools }, { model: 'fake-parallel' });
  assert.equal(at(JSON.parse(answer.text), 'stop_reason'), 'tool_use');
});

for (const wire of ['openai-chat', 'openai-responses', 'compat'] as const) {
  const format = { type: 'json_object' };
  const body = wire === 'openai-responses' ? { text: { format } } : { response_format: format };
  test(`${wire} answers with any JSON where the messages say so`, async (t) => {
    const sandbox = await open(t);
    assert.match(textOf(wire, await ask(sandbox, wire, body, { text: 'As JSON' })), /^\{"answer":"Hello from/);
    const refused = await ask(sandbox, wire, body);
    assert.equal(refused.status, 400);
    assert.match(refused.text, /must contain the word 'json' in some form/);
  });
}

test('Gemini answers with any JSON, with a schema of its own kind, and with a bare enum', async (t) => {
  const sandbox = await open(t);
  const config = async (generationConfig: object): Promise<string> => textOf('gemini', await ask(sandbox, 'gemini', { generationConfig }));
  assert.match(await config({ responseMimeType: 'application/json' }), /^\{"answer":/);
  assert.equal(await config({ responseMimeType: 'application/json', responseSchema: { type: 'ARRAY', items: { type: 'NUMBER' } } }), '[0.5]');
  assert.equal(await config({ responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['left', 'right'] } }), 'left');
});

let deep: object = { type: 'string' };
for (let level = 0; level < 11; level += 1) deep = closed({ inner: deep });
const keys = (count: number, schema: object): object => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, schema]));
const LOOP = closed({ next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } });

const OPENAI_REFUSES: readonly (readonly [what: string, schema: unknown, message: RegExp])[] = [
  ['an array at the root', { type: 'array', items: {} }, /got 'type: "array"'/],
  ['alternatives at the root', { anyOf: [closed({})] }, /got 'type: "None"'/],
  ['an open object', { type: 'object', properties: {} }, /In context=\(\), 'additionalProperties' is required to be supplied and to be false\./],
  ['an open object inside', closed({ a: { type: 'object', properties: {} } }), /In context=\('properties', 'a'\), 'additionalProperties'/],
  ['an optional property', closed({ a: { type: 'string' } }, []), /including every key in properties\. Missing 'a'\./],
  ['a required key that is none', closed({}, ['a']), /Extra required key 'a'/],
  ['an optional property of an item', closed({ a: { type: 'array', items: closed({ b: { type: 'null' } }, []) } }), /\('properties', 'a', 'items'\).*Missing 'b'/],
  ['an array of anything', closed({ a: { type: 'array' } }), /array schema missing items/],
  ['oneOf', closed({ a: { oneOf: [{ type: 'string' }] } }), /'oneOf' is not permitted/],
  ['allOf', closed({ a: { allOf: [{ type: 'string' }] } }), /'allOf' is not permitted/],
  ['uniqueItems', closed({ a: { type: 'array', items: { type: 'string' }, uniqueItems: true } }), /'uniqueItems' is not permitted/],
  ['a tuple', closed({ a: { type: 'array', items: {}, prefixItems: [] } }), /'prefixItems' is not permitted/],
  ['a property without a type', closed({ a: {} }), /schema must have a 'type' key/],
  ['a type that is none', closed({ a: { type: 'text' } }), /'text' is not a valid type/],
  ['a format that is not supported', closed({ a: { type: 'string', format: 'uri' } }), /'uri' is not a valid format/],
  ['a reference with company', closed({ a: { $ref: '#/$defs/x', description: 'x' } }, ['a'], { $defs: { x: { type: 'null' } } }), /\$ref cannot have keywords \{'description'\}/],
  ['a reference to nothing', closed({ a: { $ref: '#/$defs/x' } }), /reference to component '#\/\$defs\/x' which was not found/],
  ['a loop without an end', closed({ a: { $ref: '#' } }), /recursive reference/],
  ['too many levels', deep, /11 levels of nesting exceeds limit of 10/],
  ['too many properties', closed(keys(5001, { type: 'null' })), /5001 > 5000/],
  ['too many values', closed({ a: { enum: Array.from({ length: 1001 }, (_, index) => index) } }), /1001 > 1000/],
];

for (const wire of ['openai-chat', 'openai-responses'] as const) {
  for (const [what, schema, message] of OPENAI_REFUSES) {
    test(`${wire} refuses ${what} in a strict schema, with the name and the place of it`, async (t) => {
      const { status, text } = await ask(await open(t), wire, withSchema(wire, schema));
      const error = at(JSON.parse(text), 'error');
      assert.equal(status, 400, text);
      assert.match(String(at(error, 'message')), message);
      assert.match(String(at(error, 'message')), /^Invalid schema for response_format 'answer': /);
      assert.deepEqual([at(error, 'type'), at(error, 'param'), at(error, 'code')],
        wire === 'openai-chat' ? ['invalid_request_error', 'response_format', null] : ['invalid_request_error', 'text.format.schema', 'invalid_json_schema']);
    });
  }

  test(`${wire} takes a loop that can end, and any object where it is not strict`, async (t) => {
    const sandbox = await open(t);
    assert.match(textOf(wire, await ask(sandbox, wire, withSchema(wire, LOOP))), /"next":null/);
    const loose = { type: 'object', properties: { a: { oneOf: [{ type: 'string' }] } } };
    assert.equal(textOf(wire, await ask(sandbox, wire, withSchema(wire, loose, false))), '{"a":"a 1"}');
    assert.equal((await ask(sandbox, wire, withSchema(wire, { type: 'array' }, false))).status, 400);
  });

  test(`${wire} wants a name of letters, and no more than 64 of them`, async (t) => {
    const sandbox = await open(t);
    const named = (name: unknown): object => {
      const said = { name, schema: CITY };
      return wire === 'openai-chat' ? { response_format: { type: 'json_schema', json_schema: said } } : { text: { format: { type: 'json_schema', ...said } } };
    };
    for (const [name, message] of [[undefined, /Missing required parameter: '[a-z_.]+name'/], ['a b', /string does not match pattern/], ['a'.repeat(65), /string too long/]] as const) {
      const { status, text } = await ask(sandbox, wire, named(name));
      assert.deepEqual([status, message.test(text)], [400, true], text);
    }
  });

  test(`${wire} holds a strict tool to the same rules, and no other`, async (t) => {
    const sandbox = await open(t);
    const tools = (strict: boolean | undefined, parameters?: object): object => {
      const said = { name: 'f', parameters, strict };
      return { tools: [wire === 'openai-chat' ? { type: 'function', function: said } : { type: 'function', ...said }] };
    };
    const loose = { type: 'object', properties: { a: {} } };
    const refused = await ask(sandbox, wire, tools(true, loose));
    assert.match(refused.text, /Invalid schema for function 'f': In context=\(\), 'additionalProperties'/);
    const taken = [tools(true, CITY), tools(false, loose), tools(undefined, loose)].map((body) => ask(sandbox, wire, body));
    for (const answer of taken) assert.equal((await answer).status, 200);
  });
}

test('a compatible host takes any schema', async (t) => {
  const schema = { type: 'array', items: { oneOf: [{ type: 'string', minLength: 9 }] } };
  assert.equal(textOf('compat', await ask(await open(t), 'compat', withSchema('compat', schema))), '["value 1.."]');
});

const ANTHROPIC_REFUSES: readonly (readonly [what: string, schema: unknown, message: RegExp])[] = [
  ['an open object', { type: 'object', properties: {} }, /^output_config\.format\.schema: For 'object' type, 'additionalProperties' must be explicitly set to false$/],
  ['an open map', { type: 'object', additionalProperties: true }, /'additionalProperties: true' is not supported/],
  ['the length of a text', closed({ a: { type: 'string', maxLength: 3 } }), /For 'string' type, property 'maxLength' is not supported/],
  ['the bounds of a number', closed({ a: { type: 'integer', minimum: 1, maximum: 3 } }), /For 'integer' type, properties minimum, maximum are not supported/],
  ['two items at least', { type: 'array', minItems: 2 }, /'minItems' values other than 0 or 1/],
  ['a list of different items', { type: 'array', uniqueItems: true }, /'uniqueItems'/],
  ['oneOf', { oneOf: [{ type: 'string' }] }, /'oneOf' is not supported/],
  ['a reference inside allOf', { allOf: [{ $ref: '#/$defs/x' }], $defs: { x: closed({}) } }, /'allOf' with '\$ref'/],
  ['a reference to elsewhere', { $ref: 'https://example.com/x' }, /cannot be resolved/],
  ['a loop', LOOP, /Recursive schemas are not supported/],
  ['an enum of objects', { enum: [{}] }, /Enum values/],
  ['a format that is not supported', { type: 'string', format: 'regex' }, /format 'regex'/],
  ['a pattern that looks around', { type: 'string', pattern: '(?=a)' }, /regular expressions/],
  ['a required key that is none', closed({}, ['a']), /required property 'a'/],
  ['25 optional properties', closed(keys(25, { type: 'string' }), []), /too many optional parameters \(25\)/],
  ['17 unions', closed(keys(17, { type: ['string', 'null'] })), /union types \(17\)/],
];

for (const [what, schema, message] of ANTHROPIC_REFUSES) {
  test(`Anthropic refuses ${what} in a schema`, async (t) => {
    const { status, text } = await ask(await open(t), 'anthropic', withSchema('anthropic', schema));
    assert.equal(status, 400, text);
    assert.match(String(at(JSON.parse(text), 'error', 'message')), message);
  });
}

test('Anthropic holds strict tools to the same rules, and twenty of them at most', async (t) => {
  const sandbox = await open(t);
  const tool = (strict: boolean, index = 0): object => ({ name: `f${index}`, input_schema: { type: 'object', properties: { a: { type: 'string', minLength: 1 } } }, strict });
  assert.match((await ask(sandbox, 'anthropic', { tools: [tool(true)] })).text, /tools\.0\.custom\.input_schema: For 'object' type/);
  assert.equal((await ask(sandbox, 'anthropic', { tools: [tool(false)] })).status, 200);
  const many = Array.from({ length: 21 }, (_, index) => ({ name: `f${index}`, input_schema: closed({}), strict: true }));
  assert.match((await ask(sandbox, 'anthropic', { tools: many })).text, /Too many strict tools: 21/);
});

test('Anthropic keeps the effort beside the form, and has no form without a schema', async (t) => {
  const sandbox = await open(t);
  assert.equal((await ask(sandbox, 'anthropic', { output_config: { effort: 'low', format: { type: 'json_schema', schema: CITY } } })).status, 200);
  assert.equal((await ask(sandbox, 'anthropic', { output_config: { format: { type: 'json_object' } } })).status, 400);
});

for (const [what, generationConfig, message] of [
  ['a schema without its type', { responseJsonSchema: CITY }, /response_json_schema: only allowed with response_mime_type/],
  ['two schemas', { responseMimeType: 'application/json', responseJsonSchema: CITY, responseSchema: { type: 'STRING' } }, /Only one of/],
  ['an unknown type', { responseMimeType: 'application/pdf' }, /allowed mimetypes/],
  ['an enum without one', { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING' } }, /an enum is required/],
  ['a reference with company', { responseMimeType: 'application/json', responseJsonSchema: { $ref: '#/$defs/x', title: 'x', $defs: { x: {} } } }, /may have no other fields/],
  ['a loop in what is required', { responseMimeType: 'application/json', responseJsonSchema: closed({ a: { $ref: '#' } }) }, /only allowed within non-required/],
  ['a JSON schema in the place of its own', { responseMimeType: 'application/json', responseSchema: CITY }, /generation_config\.response_schema/],
] as const) {
  test(`Gemini refuses ${what}`, async (t) => {
    const { status, text } = await ask(await open(t), 'gemini', { generationConfig });
    assert.deepEqual([status, at(JSON.parse(text), 'error', 'status')], [400, 'INVALID_ARGUMENT']);
    assert.match(text, message);
  });
}

test('Gemini takes a loop in what may be left out, tools beside a schema, and no forced call', async (t) => {
  const sandbox = await open(t);
  const generationConfig = { responseMimeType: 'application/json', responseJsonSchema: closed({ a: { $ref: '#' } }, []) };
  const tools = [{ functionDeclarations: [{ name: 'f' }] }];
  assert.equal((await ask(sandbox, 'gemini', { generationConfig, tools })).status, 200);
  const forced = await ask(sandbox, 'gemini', { generationConfig, tools, toolConfig: { functionCallingConfig: { mode: 'ANY' } } });
  assert.match(forced.text, /Forced function calling \(ANY mode\)/);
});

for (const wire of ['anthropic', 'openai-chat', 'openai-responses', 'compat'] as const) {
  test(`${wire} calls once where that is all it may`, async (t) => {
    const sandbox = await open(t);
    const schema = { type: 'object', properties: {} };
    const tool = wire === 'anthropic' ? { name: 'f', input_schema: schema } : wire === 'openai-responses' ? { type: 'function', name: 'f', parameters: schema } : { type: 'function', function: { name: 'f' } };
    const once = wire === 'anthropic' ? { tool_choice: { type: 'auto', disable_parallel_tool_use: true } } : { parallel_tool_calls: false };
    const callCount = async (more: object): Promise<number> =>
      (await ask(sandbox, wire, { tools: [tool], ...more }, { model: 'fake-parallel' })).text.match(/"type":"(tool_use|function|function_call)"/g)?.length ?? 0;
    assert.deepEqual([await callCount({}), await callCount(once)], [3, 1]);
  });
}
