import { deepEqual, equal, ok } from 'node:assert/strict';
import test from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import { ANTHROPIC } from '../../../src/callers/anthropic/dialect.ts';
import { MESSAGES_FIELDS } from '../../../src/callers/anthropic/fields.ts';
import type { CacheHint } from '../../../src/core/chat.ts';
import { checkConversation } from '../../../src/core/conversation.ts';
import { Failure } from '../../../src/core/failure.ts';
import { BUDGET_TOKENS } from '../../../src/providers/anthropic/model-rules.ts';
import { told } from '../dialect-testing.ts';
import { chatOf, decode, HI, refusal, translate } from './messages.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };

function text(said: string, state?: string): unknown {
  return { type: 'text', text: said, state };
}

test('the smallest body leaves everything else to the provider', () => {
  const translation = decode({ model: 'm', messages: [HI] }).translate('other');
  ok(!(translation instanceof Failure));
  deepEqual({ request: translation.request, ignored: translation.ignored }, {
    request: {
      provider: undefined,
      model: 'other',
      system: undefined,
      turns: [{ role: 'user', parts: [text('Hi')] }],
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
    },
    ignored: [],
  });
});

test('a body that uses every mapped field is a chat that does', () => {
  const { request, ignored } = translate({
    system: 'Be brief.',
    messages: [HI],
    temperature: 0.5,
    top_p: 0.9,
    stop_sequences: ['END', 'STOP'],
    stream: true,
    tools: [{ name: 'weather', description: 'Weather', input_schema: SCHEMA }, { type: 'custom', name: 'clock', description: '' }],
    tool_choice: { type: 'tool', name: 'weather' },
    thinking: { type: 'adaptive' },
    output_config: { effort: 'low' },
  });
  deepEqual(request, {
    provider: undefined,
    model: 'm',
    system: 'Be brief.',
    turns: [{ role: 'user', parts: [text('Hi')] }],
    maxTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    stop: ['END', 'STOP'],
    tools: [
      { name: 'weather', description: 'Weather', parameters: new RawJson(JSON.stringify(SCHEMA)), strict: undefined },
      { name: 'clock', description: undefined, parameters: undefined, strict: undefined },
    ],
    toolChoice: { mode: 'tool', name: 'weather', parallel: undefined },
    thinking: { enabled: true, effort: 'low' },
    output: undefined,
    cache: undefined,
    user: undefined,
    providerOptions: undefined,
  });
  deepEqual(ignored, []);
});

for (const fields of [{ output_config: { format: { type: 'json_schema', schema: SCHEMA } } }, { output_format: { type: 'json_schema', schema: SCHEMA } }]) {
  test(`${Object.keys(fields).join()} with a format is an output of the chat`, () => {
    const { request, ignored } = translate({ messages: [HI], ...fields });
    deepEqual(request.output, { schema: new RawJson(JSON.stringify(SCHEMA)), name: 'output', strict: true });
    deepEqual(ignored, []);
  });
}

test('a tool may be strict', () => {
  const { request } = translate({ messages: [HI], tools: [{ name: 'f', strict: true }, { name: 'g', strict: false }, { name: 'h' }] });
  deepEqual(request.tools.map(({ strict }) => strict), [true, false, undefined]);
});

test('documents come in base64, as text or by address, also in results', () => {
  const blocks = [
    { type: 'document', title: 'A', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
    { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' }, citations: { enabled: false } },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüße' } },
  ];
  const documents = [
    { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' }, name: 'A' },
    { type: 'document', mediaType: 'application/pdf', source: { type: 'url', url: 'https://example.com/a.pdf' }, name: undefined },
    { type: 'document', mediaType: 'text/plain', source: { type: 'inline', base64: Buffer.from('Grüße').toString('base64') }, name: undefined },
  ];
  const said = translate({ messages: [{ role: 'user', content: blocks }] });
  deepEqual(said.request.turns[0]?.parts, documents);
  deepEqual(said.ignored, []);
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'seen' }, ...blocks] };
  const [part] = translate({ messages: [HI, CALLS, { role: 'user', content: [result] }] }).request.turns[2]?.parts ?? [];
  ok(part?.type === 'tool_result');
  deepEqual(part.content, [{ type: 'text', text: 'seen', state: undefined }, ...documents]);
});

test('what is wrong with a chat is told by the blocks of this format', () => {
  const messages = [
    { role: 'system', content: 'S' },
    HI,
    { role: 'assistant', content: 'A' },
    CALLS,
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '1' }, { type: 'text', text: 'On' }] },
    { role: 'system', content: 'S' },
  ];
  const said = (sentence: string): string => told(ANTHROPIC, { model: 'm', messages }, sentence);
  equal(said('messages[0].content[0]: no'), 'messages[1].content: no');
  equal(said('messages[1].content[1]: tool_call "c" is not answered before messages[3]'), 'messages[3].content[0]: tool_call "c" is not answered before messages[4]');
  equal(said('messages[2].content[0].tool_call_id: no'), 'messages[4].content[0]: no');
  equal(said('messages[3].content[0]: no'), 'messages[4].content[1]: no');
  equal(said('not answered before messages[4]'), 'not answered before messages[5]');
  equal(said('tool_choice.parallel: no'), 'tool_choice.disable_parallel_tool_use: no');
});

test('stream decides whether the answer is streamed, and its usage is always wanted', () => {
  deepEqual([true, false, null, undefined].map((stream) => decode({ model: 'm', messages: [HI], stream }).isStream), [true, false, false, false]);
  equal(decode({ model: 'm', messages: [HI] }).wantsUsage, true);
  equal(decode({ model: 'm', messages: [HI] }).provider, undefined);
  equal(decode({ model: 'a/m', messages: [HI] }).model, 'a/m');
});

test('one decoded request can be translated for several targets', () => {
  const decoded = decode({ model: 'm', messages: [HI], metadata: { user_id: 'u' }, tools: [{ name: 'f', cache_control: {} }] });
  const [first, second] = ['a', 'b'].map((model) => decoded.translate(model));
  ok(first !== undefined && 'request' in first && second !== undefined && 'request' in second);
  deepEqual(second.request, { ...first.request, model: 'b' });
  deepEqual(second.ignored, first.ignored);
});

test('null reads as absent in every field', () => {
  const nothing = Object.fromEntries(Object.keys(MESSAGES_FIELDS).map((name) => [name, null]));
  deepEqual(translate({ ...nothing, model: 'm', messages: [HI] }).request, { ...translate({ messages: [HI] }).request, maxTokens: undefined });
});

for (const [system, expected] of [
  ['Be brief.', 'Be brief.'],
  ['', undefined],
  [[], undefined],
  [[{ type: 'text', text: 'x-billing: 1' }, { type: 'text', text: 'You code.', cache_control: { type: 'ephemeral' } }], 'x-billing: 1\n\nYou code.'],
] as const) {
  test(`the system text of ${JSON.stringify(system)} is ${JSON.stringify(expected)}`, () => {
    equal(translate({ system, messages: [HI] }).request.system, expected);
  });
}

test('system messages before the first turn are system text, later ones are text of the user in their place', () => {
  const { request } = translate({
    system: 'A',
    messages: [
      { role: 'system', content: 'B' },
      { role: 'system', content: [{ type: 'text', text: 'C' }, { type: 'text', text: 'D' }] },
      HI,
      { role: 'system', content: 'E' },
      { role: 'assistant', content: 'Ho' },
      { role: 'system', content: [{ type: 'text', text: 'F' }] },
    ],
  });
  equal(request.system, 'A\n\nB\n\nC\n\nD');
  deepEqual(request.turns, [
    { role: 'user', parts: [text('Hi')] },
    { role: 'user', parts: [text('<system>\nE\n</system>')] },
    { role: 'assistant', parts: [text('Ho')] },
    { role: 'user', parts: [text('<system>\nF\n</system>')] },
  ]);
});

test('a system message without a word says nothing, wherever it stands', () => {
  const { request } = translate({ system: 'A', messages: [{ role: 'system', content: '' }, HI, { role: 'system', content: [{ type: 'text', text: '' }] }] });
  deepEqual([request.system, request.turns], ['A', [{ role: 'user', parts: [text('Hi')] }]]);
});

test('what else a file and its source say is left out and named', () => {
  const content = [
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png', width: 5 } },
    { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf', pages: 5 }, title: '' },
  ];
  const said = translate({ messages: [{ role: 'user', content }] });
  deepEqual(said.ignored, ['messages[0].content[0].source.width', 'messages[0].content[1].source.pages']);
  const [, document] = said.request.turns[0]?.parts ?? [];
  equal(document?.type === 'document' && document.name, undefined);
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'seen', x: 1 }, ...content.slice(0, 1)] };
  deepEqual(translate({ messages: [HI, CALLS, { role: 'user', content: [result] }] }).ignored, ['messages[2].content[0].content[0].x', 'messages[2].content[0].content[1].source.width']);
});

test('images come in base64 or by address', () => {
  const content = [
    { type: 'text', text: 'Look' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
  ];
  deepEqual(chatOf([{ role: 'user', content }]).turns, [
    {
      role: 'user',
      parts: [
        text('Look'),
        { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: PIXEL } },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      ],
    },
  ]);
});

const CALLS = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { n: 1 } }, { type: 'tool_use', id: 'toolu_2', name: 'g' }] };

test('calls and the results that begin a message are turns of their own, what follows is said by the user', () => {
  const turns = chatOf([
    HI,
    CALLS,
    {
      role: 'user',
      content: [
        { tool_use_id: 'toolu_1', type: 'tool_result', content: 'rain', is_error: false },
        { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: '42' }, { type: 'text', text: '17' }], is_error: true },
        { type: 'text', text: 'And now?' },
      ],
    },
  ]).turns;
  deepEqual(turns.slice(1), [
    {
      role: 'assistant',
      parts: [
        { type: 'tool_call', id: 'toolu_1', name: 'f', arguments: new RawJson('{"n":1}'), state: undefined },
        { type: 'tool_call', id: 'toolu_2', name: 'g', arguments: new RawJson('{}'), state: undefined },
      ],
    },
    {
      role: 'tool',
      parts: [
        { type: 'tool_result', toolCallId: 'toolu_1', content: 'rain', isError: false },
        { type: 'tool_result', toolCallId: 'toolu_2', content: '42\n17', isError: true },
      ],
    },
    { role: 'user', parts: [text('And now?')] },
  ]);
  equal(checkConversation(turns), undefined);
});

test('a result without content is empty, and results may come in several messages', () => {
  const turns = chatOf([
    HI,
    CALLS,
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: '' }] }] },
  ]).turns;
  deepEqual(turns.slice(2), [
    { role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'toolu_1', content: '', isError: false }] },
    { role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'toolu_2', content: '', isError: false }] },
  ]);
  equal(checkConversation(turns), undefined);
});

test('tools that a search of the client found are named in its result, and shown from the start', () => {
  const found = ['weather', 'clock'].map((name) => ({ type: 'tool_reference', tool_name: name }));
  const results = [found, [...found, { type: 'text', text: 'More' }], [found[0], { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }]];
  const asked = results.map((content, index) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${index}`, name: 'ToolSearch', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${index}`, content }] },
  ]);
  const { request, ignored } = translate({ messages: [HI, ...asked.flat()], tools: [{ name: 'ToolSearch' }, { name: 'weather', defer_loading: true }] });
  deepEqual(request.tools.map(({ name }) => name), ['ToolSearch', 'weather']);
  deepEqual(request.turns.flatMap(({ role, parts }) => (role === 'tool' ? parts.map(({ content }) => content) : [])), [
    'Tool found: weather\nTool found: clock',
    'Tool found: weather\nTool found: clock\nMore',
    [text('Tool found: weather'), { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: PIXEL } }],
  ]);
  deepEqual(ignored, ['tools[1].defer_loading']);
});

test('the numbers in arguments and schemas stay digit for digit', () => {
  const body =
    '{"model":"m","tools":[{"name":"f","input_schema":{"maximum":12345678901234567890}}],"messages":[{"role":"user","content":"Hi"},' +
    '{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{ "n":1.0,"big":12345678901234567890}}]}]}';
  const decoded = ANTHROPIC.decodeRequest(Buffer.from(body), { name: 'messages', path: '/v1/messages', stream: 'asked' });
  ok('translate' in decoded);
  const translation = decoded.translate('m');
  ok('request' in translation);
  deepEqual(translation.request.tools[0]?.parameters, new RawJson('{"maximum":12345678901234567890}'));
  const part = translation.request.turns[1]?.parts[0];
  deepEqual(part?.type === 'tool_call' && part.arguments, new RawJson('{ "n":1.0,"big":12345678901234567890}'));
});

test('messages of the assistant in a row are one turn, and an empty one is taken', () => {
  deepEqual(
    chatOf([HI, { role: 'assistant', content: 'A' }, { role: 'assistant', content: [{ type: 'text', text: 'B' }] }]).turns.slice(1),
    [{ role: 'assistant', parts: [text('A'), text('B')] }],
  );
  for (const content of ['', [], [{ type: 'text', text: '' }]]) {
    deepEqual(chatOf([HI, { role: 'assistant', content }]).turns.slice(1), [{ role: 'assistant', parts: [] }]);
  }
});

test('reasoning of other vendors is left out and named, empty and unsigned ones too', () => {
  const content = [
    { type: 'thinking', thinking: 'Hm.', signature: 'EqQBCkYIBRgCKkD' },
    { type: 'redacted_thinking', data: 'EqQBCkYIBRgCKkD' },
    { type: 'thinking', thinking: 'Hm.', signature: '' },
    { type: 'thinking', thinking: 'Hm.' },
    { type: 'text', text: 'Ho' },
  ];
  const { request, ignored } = translate({ messages: [HI, { role: 'assistant', content }] });
  deepEqual(request.turns[1]?.parts, [text('Ho')]);
  deepEqual(ignored, [0, 1, 2, 3].map((index) => `messages[1].content[${index}]`));
});

test('what tools of the vendor did before is left out and named', () => {
  const done = ['server_tool_use', 'web_search_tool_result', 'bash_code_execution_tool_result', 'mcp_tool_use', 'mcp_tool_result', 'container_upload', 'fallback'].map((type) => ({ type, id: 'x', content: [{ type: 'y' }] }));
  const { request, ignored } = translate({ messages: [HI, { role: 'assistant', content: [...done, { type: 'text', text: 'Found.' }] }, HI] });
  deepEqual(request.turns[1], { role: 'assistant', parts: [text('Found.')] });
  deepEqual(ignored, done.map((_block, index) => `messages[1].content[${index}]`));
});

for (const [name, content, parts] of [
  ['the part behind it', [redacted('own=a.b.e30'), said('A'), said('B')], [text('A', 'a.b.e30'), text('B')]],
  ['a call', [said('A'), redacted('call=a.b.e30'), CALLS.content[1]], [text('A'), called('a.b.e30')]],
  ['the next call, although a client moved it before a text', [redacted('call=a.b.e30'), said('A'), CALLS.content[1]], [text('A'), called('a.b.e30')]],
  ['each its own, although a client moved both', [redacted('own=a.b.e30'), redacted('call=a.b.e31'), said('A'), CALLS.content[1]], [text('A', 'a.b.e30'), called('a.b.e31')]],
  ['the turn when its text was not kept before a call', [redacted('own=a.b.e30'), CALLS.content[1]], [text('', 'a.b.e30'), called()]],
  ['a call, and that of a text that was not kept to the turn', [redacted('own=a.b.e30'), redacted('call=a.b.e31'), CALLS.content[1]], [text('', 'a.b.e30'), called('a.b.e31')]],
  ['the turn when no call follows', [said('A'), redacted('call=a.b.e30')], [text('A'), text('', 'a.b.e30')]],
  ['the turn when no part follows', [said('A'), redacted('own=a.b.e30')], [text('A'), text('', 'a.b.e30')]],
  ['the turn when its part was not kept', [redacted('own=a.b.e30'), redacted('own=a.b.e31'), said('A')], [text('', 'a.b.e30'), text('A', 'a.b.e31')]],
  ['a part behind an empty text', [redacted('own=a.b.e30'), said(''), said('A')], [text('A', 'a.b.e30')]],
  ['an empty text in its place', [said('A'), redacted('empty=a.b.e30,call=a.b.e31'), CALLS.content[1]], [text('A'), text('', 'a.b.e30'), called('a.b.e31')]],
  ['texts, in order', [said('A'), said('B'), redacted('text=a.b.e30,text=a.b.e31')], [text('A', 'a.b.e30'), text('B', 'a.b.e31')]],
  ['the texts that have none', [redacted('own=a.b.e30'), said('A'), said('B'), redacted('text=a.b.e31')], [text('A', 'a.b.e30'), text('B', 'a.b.e31')]],
  [
    'a text that was one with another',
    [said('AB'), redacted('text=a.b.e30,text=a.b.e31'), CALLS.content[1]],
    [text('AB', 'a.b.e30'), text('', 'a.b.e31'), called()],
  ],
  ['a text that the client did not keep', [redacted('text=a.b.e30'), CALLS.content[1]], [text('', 'a.b.e30'), called()]],
  ['nothing', [{ type: 'thinking', thinking: 'Hm.', signature: 'gateway:' }, said('A')], [text('A')]],
  ['a part, in a signature', [{ signature: 'gateway:own=a.b.', thinking: 'Hm.', type: 'thinking' }, said('A')], [text('A', 'a.b.')]],
] as const) {
  test(`a carried state goes to ${name}`, () => {
    const { request, ignored } = translate({ messages: [HI, { role: 'assistant', content }] });
    deepEqual(request.turns[1]?.parts, parts);
    deepEqual(ignored, []);
  });
}

function said(words: string): unknown {
  return { type: 'text', text: words };
}

function redacted(entries: string): unknown {
  return { type: 'redacted_thinking', data: `gateway:${entries}` };
}

function called(state?: string): unknown {
  return { type: 'tool_call', id: 'toolu_2', name: 'g', arguments: new RawJson('{}'), state };
}

test('a carried state in a message of its own goes to the part in the next one', () => {
  const turns = chatOf([HI, { role: 'assistant', content: [redacted('call=a.b.e30')] }, { role: 'assistant', content: [CALLS.content[1]] }]).turns;
  deepEqual(turns.slice(1), [{ role: 'assistant', parts: [called('a.b.e30')] }]);
});

for (const entries of ['own', 'own=', 'own=a', 'own=a.b', 'own=A.b.e30', 'owner=a.b.e30', 'own=a.b.e30,', ',', 'own=a.b.e30 ', 'text=a.b.e=='] as const) {
  test(`a carried state that is ${JSON.stringify(entries)} is damaged`, () => {
    const complaint = 'damaged, or not made by this gateway';
    equal(refusal({ messages: [HI, { role: 'assistant', content: [redacted(entries)] }] }), `bad_request: messages[1].content[0].data: ${complaint}`);
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: `gateway:${entries}` };
    equal(refusal({ messages: [HI, { role: 'assistant', content: [thinking] }] }), `bad_request: messages[1].content[0].signature: ${complaint}`);
  });
}

test('the states of a request are bounded like the parts that as many values of JSON could be', () => {
  const many = redacted(Array.from({ length: 15_000 }, () => 'own=a.b.').join());
  equal(refusal({ messages: [HI, { role: 'assistant', content: [many, many] }] }), 'bad_request: messages[1].content[1].data: damaged, or not made by this gateway');
});

for (const [tools, choice, expected] of [
  [['f'], { type: 'auto' }, { mode: 'auto' }],
  [['f'], { type: 'auto', disable_parallel_tool_use: true }, { mode: 'auto', parallel: false }],
  [['f'], { type: 'none' }, { mode: 'none' }],
  [['f'], { type: 'any', disable_parallel_tool_use: false }, { mode: 'required' }],
  [['f'], { type: 'any', disable_parallel_tool_use: true }, { mode: 'required', parallel: false }],
  [['f'], { type: 'tool', name: 'f', disable_parallel_tool_use: true }, { mode: 'tool', name: 'f', parallel: false }],
  [['f'], { type: 'tool', name: 'f' }, { mode: 'tool', name: 'f' }],
  [['f', 'web_search_20250305'], { type: 'any' }, { mode: 'required' }],
  [[], { type: 'any', disable_parallel_tool_use: true }, { mode: 'required', parallel: false }],
  [['web_search_20250305'], { type: 'auto' }, { mode: 'auto' }],
  [['web_search_20250305'], undefined, undefined],
] as const) {
  test(`of the tools ${tools.join()} the choice ${JSON.stringify(choice)} is ${JSON.stringify(expected)}`, () => {
    equal(JSON.stringify(translate({ messages: [HI], tools: tools.map(tool), tool_choice: choice }).request.toolChoice), JSON.stringify(expected));
  });
}

function tool(name: string): unknown {
  return name === 'f' ? { name } : { type: name, name: name.replace(/_\d+$/, '') };
}

test("the vendor's own tools are left out and named where the model may do without", () => {
  const own = ['web_search_20250305', 'bash_20250124', 'tool_search_tool_regex_20251119', 'tool_search_tool_bm25_20251119', 'tool_search_tool_bm25', 'tool_search_tool_regex'];
  const { request, ignored } = translate({ messages: [HI], tools: [...own.map(tool), tool('f')] });
  deepEqual(request.tools.map(({ name }) => name), ['f']);
  deepEqual(ignored, own.map((_, index) => `tools[${index}]`));
});

for (const [thinking, outputConfig, expected, ignored] of [
  [undefined, undefined, undefined, []],
  [{ type: 'adaptive' }, undefined, { enabled: true, effort: undefined }, []],
  [{ type: 'adaptive', display: 'summarized' }, { effort: 'high' }, { enabled: true, effort: 'high' }, ['thinking.display']],
  [undefined, { effort: 'xhigh' }, { enabled: true, effort: 'max' }, []],
  [{ type: 'enabled', budget_tokens: 2000 }, { effort: 'max' }, { enabled: true, effort: 'max' }, []],
  [{ type: 'enabled' }, { effort: 'medium' }, { enabled: true, effort: 'medium' }, []],
  [{ type: 'enabled' }, {}, { enabled: true, effort: undefined }, []],
  [{ type: 'enabled', budget_tokens: 1024 }, undefined, { enabled: true, effort: 'low' }, []],
  [{ type: 'enabled', budget_tokens: 5120 }, undefined, { enabled: true, effort: 'low' }, []],
  [{ type: 'enabled', budget_tokens: 5121 }, undefined, { enabled: true, effort: 'medium' }, []],
  [{ type: 'enabled', budget_tokens: 12_288 }, undefined, { enabled: true, effort: 'medium' }, []],
  [{ type: 'enabled', budget_tokens: 12_289 }, undefined, { enabled: true, effort: 'high' }, []],
  [{ type: 'enabled', budget_tokens: 20_480 }, undefined, { enabled: true, effort: 'high' }, []],
  [{ type: 'enabled', budget_tokens: 31_999 }, undefined, { enabled: true, effort: 'max' }, []],
  [{ type: 'disabled' }, undefined, { enabled: false, effort: undefined }, []],
  [{ type: 'between_tools' }, undefined, { enabled: false, effort: undefined }, []],
  [{ type: 'disabled' }, { effort: 'low' }, { enabled: false, effort: undefined }, ['output_config.effort']],
] as const) {
  test(`thinking ${JSON.stringify(thinking)} beside ${JSON.stringify(outputConfig)} is ${JSON.stringify(expected)}`, () => {
    const translation = translate({ messages: [HI], thinking, output_config: outputConfig });
    deepEqual(translation.request.thinking, expected);
    deepEqual(translation.ignored, ignored);
  });
}

test('a budget that the gateway itself sends for an effort is that effort again', () => {
  for (const [effort, budgetTokens] of Object.entries(BUDGET_TOKENS)) {
    equal(translate({ messages: [HI], thinking: { type: 'enabled', budget_tokens: budgetTokens } }).request.thinking?.effort, effort);
  }
});

const SAMPLES: Readonly<Record<string, unknown>> = {
  mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'x' }],
  inference_geo: 'us',
  compaction: { type: 'summarize' },
  container: 'container_1',
  top_k: 40,
};

for (const [name, rule] of Object.entries(MESSAGES_FIELDS)) {
  if (rule.is === 'mapped') continue;
  test(`the field ${name} is ${rule.is}`, () => {
    if (rule.is === 'refused') equal(refusal({ [name]: SAMPLES[name] }), `unsupported: ${name}: ${rule.as}`);
    else deepEqual(translate({ messages: [HI], [name]: { a: 1 } }).ignored, [name]);
  });
}

test('a refused field that asks for nothing is left out and named, as is one that nobody knows', () => {
  deepEqual(translate({ messages: [HI], mcp_servers: [], inference_geo: 'global', colour: 'red', 'a\nb': 1 }).ignored, [
    'mcp_servers',
    'inference_geo',
    'colour',
    '["a\\nb"]',
  ]);
});

test('that at most one call may be made is left out and named where none can be', () => {
  const one = { disable_parallel_tool_use: true };
  for (const [tools, choice] of [[[], { type: 'auto', ...one }], [[tool('f')], { type: 'none', ...one }]] as const) {
    const { request, ignored } = translate({ messages: [HI], tools, tool_choice: choice });
    deepEqual(request.toolChoice, { mode: choice.type, parallel: undefined });
    deepEqual(ignored, ['tool_choice.disable_parallel_tool_use']);
  }
});

test('an answer of no tokens is refused, since a chat would have it without a limit', () => {
  equal(refusal({ messages: [HI], max_tokens: 0 }), 'unsupported: max_tokens: an answer of 0 tokens cannot be asked for');
});

test('unknown fields of messages, blocks, tools and choices are left out and named, beyond twenty counted', () => {
  const { ignored } = translate({
    system: [{ type: 'text', text: 'S', cache_control: {} }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: {}, citations: [] }], id: 'x' },
      { role: 'assistant', content: [{ type: 'text', text: 'A', citations: null }, { ...CALLS.content[0], caller: {} }], stop_reason: 'tool_use' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: '1', x: 1 }], cache_control: {} }] },
    ],
    tools: [{ name: 'f', strict: true, defer_loading: false }],
    tool_choice: { type: 'auto', x: 1 },
    output_config: { task_budget: {}, format: { type: 'json_schema', schema: {}, x: 1 } },
  });
  deepEqual(ignored, [
    'system[0].cache_control',
    'messages[0].content[0].cache_control',
    'messages[0].content[0].citations',
    'messages[0].id',
    'messages[1].content[1].caller',
    'messages[1].stop_reason',
    'messages[2].content[0].content[0].x',
    'messages[2].content[0].cache_control',
    'tools[0].defer_loading',
    'tool_choice.x',
    'output_config.format.x',
    'output_config.task_budget',
  ]);
  const blocks = Array.from({ length: 25 }, () => ({ type: 'text', text: 'x', cache_control: {} }));
  const many = translate({ messages: [{ role: 'user', content: blocks }] }).ignored;
  deepEqual([many.length, many[19], many[20]], [21, 'messages[0].content[19].cache_control', '+5']);
});

const user = (block: unknown): unknown => ({ messages: [{ role: 'user', content: [block] }] });
const assistant = (block: unknown): unknown => ({ messages: [HI, { role: 'assistant', content: [block] }] });
const ONLY_USER = 'only text, image, document and, from a user, tool_result are supported';
const ONLY_ASSISTANT = 'only text, tool_use and reasoning are supported in a message of the assistant';

for (const [body, expected] of [
  [{ model: undefined }, 'bad_request: model: required'],
  [{ thread: { type: 'continue' } }, 'not_found: thread: no threads are stored here: send the whole conversation'],
  [{ thread: { previous_message_id: 'msg_1' } }, 'not_found: thread: no threads are stored here: send the whole conversation'],
  [{ stream: 'yes' }, 'bad_request: stream: expected a boolean, got a string'],
  [{ messages: undefined }, 'bad_request: messages: required'],
  [{ messages: [] }, 'bad_request: messages: must have at least one user message'],
  [{ messages: [{ role: 'system', content: 'x' }] }, 'bad_request: messages: must have at least one user message'],
  [{ messages: {} }, 'bad_request: messages: expected an array, got an object'],
  [{ messages: ['Hi'] }, 'bad_request: messages[0]: expected an object, got a string'],
  [{ messages: [{ role: 'developer', content: 'x' }] }, 'bad_request: messages[0].role: must be one of user, assistant, system'],
  [{ messages: [{ role: 'user' }] }, 'bad_request: messages[0].content: expected a string or an array of blocks'],
  [{ messages: [{ role: 'user', content: '' }] }, 'bad_request: messages[0].content: must not be empty'],
  [{ messages: [{ role: 'user', content: [] }] }, 'bad_request: messages[0].content: must not be empty'],
  [{ system: 5 }, 'bad_request: system: expected a string or an array of blocks'],
  [{ system: [{ type: 'image' }] }, 'unsupported: system[0].type: only text is supported here'],
  [{ max_tokens: -1 }, 'bad_request: max_tokens: must be an integer from 0 to 9007199254740991'],
  [{ temperature: 'hot' }, 'bad_request: temperature: expected a number, got a string'],
  [{ stop_sequences: [''] }, 'bad_request: stop_sequences[0]: must not be empty'],
  [{ tools: [{}] }, 'bad_request: tools[0].name: required'],
  [{ tools: [{ type: 'function', function: {} }] }, "unsupported: tools[0].type: only custom tools and Anthropic's own are supported"],
  [{ tools: [{ type: 'mcp_toolset' }] }, "unsupported: tools[0].type: only custom tools and Anthropic's own are supported"],
  [{ tool_choice: 'auto' }, 'bad_request: tool_choice: expected an object, got a string'],
  [{ tool_choice: { type: 'required' } }, 'bad_request: tool_choice.type: must be one of auto, any, tool, none'],
  [{ tool_choice: { type: 'tool' } }, 'bad_request: tool_choice.name: required'],
  [
    { tools: [tool('f'), tool('web_search_20250305')], tool_choice: { type: 'tool', name: 'web_search' } },
    "unsupported: tool_choice.name: only its vendor runs this tool",
  ],
  [{ tools: [tool('web_search_20250305')], tool_choice: { type: 'any' } }, "unsupported: tool_choice.type: only their vendor runs these tools"],
  [{ thinking: { type: 'on' } }, 'bad_request: thinking.type: must be one of adaptive, enabled, disabled, between_tools'],
  [{ output_config: { effort: 'huge' } }, 'bad_request: output_config.effort: must be one of low, medium, high, xhigh, max'],
  [{ output_config: { format: { type: 'json_schema' } } }, 'bad_request: output_config.format.schema: required'],
  [{ output_config: { format: { type: 'grammar' } } }, 'unsupported: output_config.format.type: only json_schema is supported'],
  [user({ type: 'text', text: '' }), 'bad_request: messages[0].content[0].text: must not be empty'],
  [user({ text: 'x' }), 'bad_request: messages[0].content[0].type: required'],
  [user({ type: 'document' }), 'bad_request: messages[0].content[0].source: required'],
  [
    user({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0' } }),
    'bad_request: messages[0].content[0].source.data: must be canonical base64 (RFC 4648 section 4, padded)',
  ],
  [user({ type: 'document', source: { type: 'url', url: 'file:///x' } }), 'bad_request: messages[0].content[0].source.url: must be an absolute http or https URL'],
  [user({ type: 'document', source: {} }), 'bad_request: messages[0].content[0].source.type: required'],
  [user({ type: 'document', source: { type: 'file', file_id: 'f' } }), 'unsupported: messages[0].content[0].source.type: only base64, url and text are supported'],
  [user({ type: 'document', source: { type: 'text', data: 'x' }, citations: { enabled: true } }), 'unsupported: messages[0].content[0].citations: citations of documents are not supported'],
  [user({ type: 'document', source: { type: 'text', data: 'x' }, context: 'c' }), 'unsupported: messages[0].content[0].context: not supported; put it in a text block beside the document'],
  [
    user({ type: 'document', source: { type: 'base64', media_type: 'application/zip', data: 'UEs=' } }),
    'unsupported: messages[0].content[0].source.data: only application/pdf and text/plain are supported',
  ],
  [user({ type: 'tool_use', id: 'x' }), `unsupported: messages[0].content[0].type: ${ONLY_USER}`],
  [user({ type: 'image' }), 'bad_request: messages[0].content[0].source: required'],
  [user({ type: 'image', source: { type: 'file', file_id: 'f' } }), 'unsupported: messages[0].content[0].source.type: only base64 and url are supported'],
  [
    user({ type: 'image', source: { type: 'base64', media_type: 'text/plain', data: PIXEL } }),
    'bad_request: messages[0].content[0].source: the media type must have the form image/<subtype>',
  ],
  [
    user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0' } }),
    'bad_request: messages[0].content[0].source: must be canonical base64 (RFC 4648 section 4, padded)',
  ],
  [
    user({ type: 'image', source: { type: 'url', url: 'file:///x' } }),
    'bad_request: messages[0].content[0].source.url: must be an absolute http or https URL, or a data URL in base64',
  ],
  [user({ type: 'tool_reference', tool_name: 'f' }), `unsupported: messages[0].content[0].type: ${ONLY_USER}`],
  [{ messages: [HI, { role: 'system' }] }, 'bad_request: messages[1].content: expected a string or an array of blocks'],
  [user({ type: 'tool_result', content: 'x' }), 'bad_request: messages[0].content[0].tool_use_id: required'],
  [
    user({ type: 'tool_result', tool_use_id: 'x', content: [{ type: 'search_result', source: {} }] }),
    `unsupported: messages[0].content[0].content[0].type: ${ONLY_USER}`,
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, { type: 'tool_result', tool_use_id: 'x' }] }] },
    'bad_request: messages[0].content[1].type: tool_result blocks must come first in a message',
  ],
  [assistant({ type: 'compaction', content: 'x' }), `unsupported: messages[1].content[0].type: ${ONLY_ASSISTANT}`],
  [assistant({ type: 'tool_result', tool_use_id: 'x' }), `unsupported: messages[1].content[0].type: ${ONLY_ASSISTANT}`],
  [assistant({ type: 'tool_use', name: 'f' }), 'bad_request: messages[1].content[0].id: required'],
  [assistant({ type: 'tool_use', id: 'x', name: 'f', input: '{}' }), 'bad_request: messages[1].content[0].input: expected an object, got a string'],
  [assistant({ type: 'thinking', signature: 5 }), 'bad_request: messages[1].content[0].signature: expected a string, got a number'],
] as readonly (readonly [Readonly<Record<string, unknown>>, string])[]) {
  test(`refused: ${expected}`, () => equal(refusal(body), expected));
}

/** As Claude Code 2.1 sends its second round: the order of keys is its own. */
test('what Claude Code sends in a tool loop is taken whole but for hints that have no equal, which are named', () => {
  const ephemeral = { type: 'ephemeral' };
  const decoded = decode({
    model: 'acme/fake',
    messages: [
      { role: 'user', content: [{ type: 'text', text: '<system-reminder>\nToday\n</system-reminder>' }, { type: 'text', text: 'Say hello', cache_control: ephemeral }] },
      { role: 'system', content: 'Available agent types …' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'gateway:call=gemini.gemini.e30' },
          { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls' } },
        ],
      },
      { role: 'user', content: [{ tool_use_id: 'toolu_1', type: 'tool_result', content: 'fake-42', is_error: false, cache_control: ephemeral }] },
    ],
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.197' },
      { type: 'text', text: 'You are an agent.', cache_control: ephemeral },
    ],
    tools: [{ name: 'Bash', description: 'Runs', input_schema: SCHEMA }],
    metadata: { user_id: '{"device_id":"x"}' },
    max_tokens: 32000,
    thinking: { type: 'adaptive' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    output_config: { effort: 'high' },
    stream: true,
  });
  equal(decoded.isStream, true);
  const translation = decoded.translate('fake');
  ok('request' in translation);
  deepEqual(translation.request, {
    provider: undefined,
    model: 'fake',
    system: 'x-anthropic-billing-header: cc_version=2.1.197\n\nYou are an agent.',
    turns: [
      { role: 'user', parts: [text('<system-reminder>\nToday\n</system-reminder>'), text('Say hello')] },
      { role: 'user', parts: [text('<system>\nAvailable agent types …\n</system>')] },
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'toolu_1', name: 'Bash', arguments: new RawJson('{"command":"ls"}'), state: 'gemini.gemini.e30' }],
      },
      { role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'toolu_1', content: 'fake-42', isError: false }] },
    ],
    maxTokens: 32000,
    temperature: undefined,
    topP: undefined,
    stop: [],
    tools: [{ name: 'Bash', description: 'Runs', parameters: new RawJson(JSON.stringify(SCHEMA)), strict: undefined }],
    toolChoice: undefined,
    thinking: { enabled: true, effort: 'high' },
    output: undefined,
    cache: { key: undefined, ttl: undefined },
    user: undefined,
    providerOptions: undefined,
  });
  deepEqual(translation.ignored, [
    'system[1].cache_control',
    'messages[0].content[1].cache_control',
    'metadata',
    'context_management',
  ]);
  equal(checkConversation(translation.request.turns), undefined);
});

const marked = (text: string, mark: unknown): object => ({ role: 'user', content: [{ type: 'text', text: 'A' }, { type: 'text', text, cache_control: mark }] });

const CACHED: readonly (readonly [what: string, body: Readonly<Record<string, unknown>>, cache: CacheHint | undefined, ignored: readonly string[]])[] = [
  ['on the request', { messages: [HI], cache_control: { type: 'ephemeral' } }, { key: undefined, ttl: undefined }, []],
  ['at its end', { messages: [marked('B', { type: 'ephemeral', ttl: '1h' })] }, { key: undefined, ttl: 'long' }, []],
  ['at its end, before what the system says', { messages: [marked('B', { type: 'ephemeral', ttl: '5m' }), { role: 'system', content: 'S' }] }, { key: undefined, ttl: undefined }, []],
  ['behind its end, on what the system says', { messages: [HI, { role: 'system', content: [{ type: 'text', text: 'S', cache_control: { type: 'ephemeral' } }] }] }, { key: undefined, ttl: undefined }, []],
  ['on what the system said earlier', { messages: [HI, { role: 'system', content: [{ type: 'text', text: 'S', cache_control: { type: 'ephemeral' } }] }, HI] }, undefined, ['messages[1].content[0].cache_control']],
  ['in an earlier message', { messages: [marked('B', { type: 'ephemeral' }), { role: 'assistant', content: 'C' }, HI] }, undefined, ['messages[0].content[1].cache_control']],
  ['of no kind that is known', { messages: [marked('B', { type: 'eternal' })], cache_control: {} }, undefined, ['messages[0].content[1].cache_control', 'cache_control']],
];

for (const [what, body, cache, ignored] of CACHED) {
  test(`a mark for the cache ${what} asks for the whole conversation, or is named`, () => {
    const translated = translate(body);
    deepEqual([translated.request.cache, translated.ignored], [cache, ignored]);
  });
}

test('two tools of one name are refused, since a call would be of either', () => {
  const tool = (name: string): object => ({ name, input_schema: { type: 'object' } });
  equal(refusal({ messages: [HI], tools: [tool('f'), tool('g'), tool('f')] }), 'bad_request: tools[2].name: another tool has this name');
});

test('names of tools that are too long elsewhere are cut everywhere in the same way, told apart and named', () => {
  const [one, two, fits] = [`mcp__files__${'n'.repeat(70)}1`, `mcp__files__${'n'.repeat(70)}2`, 'f'.repeat(64)];
  const { request, ignored } = translate({
    messages: [
      HI,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: {} }, { type: 'tool_use', id: 'toolu_2', name: one, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'tool_reference', tool_name: two }] }, { type: 'tool_result', tool_use_id: 'toolu_2', content: 'x' }] },
    ],
    tools: [one, two, fits].map((name) => ({ name })),
    tool_choice: { type: 'tool', name: two },
  });
  const names = request.tools.map(({ name }) => name);
  deepEqual(names.map((name) => name.length), [64, 64, 64]);
  deepEqual([new Set(names).size, names[0]?.slice(0, 56), names[2]], [3, `${one.slice(0, 55)}_`, fits]);
  deepEqual(request.toolChoice, { mode: 'tool', name: names[1], parallel: undefined });
  deepEqual(request.turns[1]?.parts.map((part) => part.type === 'tool_call' && part.name), ['ToolSearch', names[0]]);
  deepEqual(request.turns[2]?.parts[0]?.type === 'tool_result' && request.turns[2].parts[0].content, `Tool found: ${names[1]}`);
  deepEqual(ignored, ['tools[].name']);
});

test('a message of the system that only changes the effort says nothing, and is named', () => {
  for (const message of [{ role: 'system', output_config: { effort: 'low' } }, { role: 'system', content: [], output_config: { effort: 'low' } }]) {
    const { request, ignored } = translate({ messages: [HI, message] });
    deepEqual([request.turns.length, ignored], [1, ['messages[1].output_config']]);
  }
});

test('what the SDKs and the AI SDK send by default is taken', () => {
  const system = [{ type: 'text', text: 'Be brief.' }];
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];
  const { request, ignored } = translate({ max_tokens: 6096, system, messages, tools: [{ name: 'f', input_schema: SCHEMA }], tool_choice: { type: 'auto' }, stream: true });
  deepEqual([request.maxTokens, request.system, request.toolChoice, ignored], [6096, 'Be brief.', { mode: 'auto', parallel: undefined }, []]);
});

test('a message of the API that is appended whole says what it says, the rest is named', () => {
  const reply = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'Ho' }], stop_reason: 'end_turn', stop_sequence: null, usage: {} };
  const { request, ignored } = translate({ messages: [HI, reply, HI] });
  deepEqual(request.turns[1], { role: 'assistant', parts: [text('Ho')] });
  deepEqual(ignored, ['id', 'type', 'model', 'stop_reason', 'usage'].map((name) => `messages[1].${name}`));
});

test('a state that no text is left for is told of by the message in which a block of reasoning brought it', () => {
  const thinking = (states: string): object => ({ type: 'thinking', thinking: '', signature: `gateway:${states}` });
  const call = { type: 'tool_use', id: 'c', name: 'n', input: {} };
  for (const content of [
    [thinking('text=gemini.acme.e3-00'), call],
    [call, thinking('own=gemini.acme.e3-00')],
    [thinking('empty=gemini.acme.e3-00'), call],
    [call, thinking('call=gemini.acme.e3-00')],
  ]) {
    const messages = [{ role: 'user', content: 'Look' }, { role: 'assistant', content }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }] }];
    const at = content[0] === call ? 1 : 0;
    equal(told(ANTHROPIC, { model: 'm', messages }, `messages[1].content[${at}].provider_state: damaged`), `messages[1].content[${at}]: damaged`);
  }
});

test('states that no text is left for are each told of by the block of reasoning that brought them', () => {
  const thinking = (owner: string): object => ({ type: 'thinking', thinking: '', signature: `gateway:${owner}=gemini.acme.e3-00` });
  const call = { type: 'tool_use', id: 'c', name: 'n', input: {} };
  for (const { content, blocks } of [
    { content: [thinking('text'), call, thinking('empty')], blocks: [1, 2, 0] },
    { content: [thinking('own'), thinking('text'), thinking('empty'), call], blocks: [0, 2, 1, 3] },
  ]) {
    const messages = [{ role: 'user', content: 'Look' }, { role: 'assistant', content }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }] }];
    for (const [part, block] of blocks.entries()) {
      equal(told(ANTHROPIC, { model: 'm', messages }, `messages[1].content[${part}]: damaged`), `messages[1].content[${block}]: damaged`);
    }
  }
});
