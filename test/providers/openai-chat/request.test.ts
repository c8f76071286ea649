import { test } from 'node:test';
import assert from 'node:assert/strict';
import { RawJson } from '../../../src/base/json/value.ts';
import type { Thinking, Turn } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { encodeState } from '../../../src/core/provider-state.ts';
import { sentText } from '../../sent-text.ts';
import { WEATHER, adapterOf, assistant, bodyText, call, messagesOf, options, payload, requestOf, result, text, user } from './setup.ts';

const openai = adapterOf('openai');
const groq = adapterOf('groq');

test('a plain request is model and messages, and nothing else', () => {
  assert.equal(bodyText(openai, requestOf()), '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}');
});

test('the call posts JSON to /chat/completions', () => {
  const encoded = openai.encodeChat(requestOf(), false);
  assert.ok(!(encoded instanceof Failure));
  assert.equal(encoded.method, 'POST');
  assert.equal(encoded.path, '/chat/completions');
  assert.deepEqual(encoded.headers, { 'content-type': 'application/json', accept: 'application/json' });
});

test('every field of a request goes out under its name', () => {
  const request = requestOf({
    system: 'be brief', maxTokens: 100, temperature: 0.5, topP: 0.9, stop: ['END', 'STOP'],
    tools: [{ name: 'weather', description: 'tells it', parameters: new RawJson('{"type":"object","properties":{},"x":1.0}'), strict: undefined }],
    toolChoice: { mode: 'required', parallel: undefined },
  });
  assert.equal(
    bodyText(openai, request),
    '{"model":"gpt-4o","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],' +
      '"max_completion_tokens":100,"temperature":0.5,"top_p":0.9,"stop":["END","STOP"],' +
      '"tools":[{"type":"function","function":{"name":"weather","description":"tells it","parameters":{"type":"object","properties":{},"x":1.0}}}],' +
      '"tool_choice":"required"}',
  );
});

test('sampling and stop are sent to reasoning models too', () => {
  const sent = payload(openai, requestOf({ model: 'o3', temperature: 0, topP: 0, stop: ['x'] }));
  assert.deepEqual([sent['temperature'], sent['top_p'], sent['stop']], [0, 0, ['x']]);
});

test('a stream asks for usage', () => {
  const encoded = openai.encodeChat(requestOf(), true);
  assert.ok(!(encoded instanceof Failure));
  assert.equal(encoded.headers['accept'], 'text/event-stream');
  assert.equal(sentText(encoded), '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}');
});

test('Mistral is sent no stream_options', () => {
  assert.equal(payload(adapterOf('mistral'), requestOf(), true)['stream_options'], undefined);
});

test('the system role is developer for reasoning models of OpenAI, system else', () => {
  const roles = (provider: string, model: string): unknown =>
    (messagesOf(adapterOf(provider), [user('hi')], { model, system: 's' })[0] as { role: string }).role;
  for (const model of ['o3', 'o4-mini', 'gpt-5', 'gpt-5.6-sol', 'gpt-6.2-astra', 'something-new']) assert.equal(roles('openai', model), 'developer', model);
  for (const model of ['gpt-3.5-turbo', 'gpt-4o', 'gpt-4.1', 'ft:gpt-4o-mini:x', 'chatgpt-4o-latest', 'gpt-5-chat-latest']) assert.equal(roles('openai', model), 'system', model);
  for (const provider of ['groq', 'azure', 'mistral', 'compat']) assert.equal(roles(provider, 'gpt-5'), 'system', provider);
});

test('a tool without parameters takes an empty object', () => {
  assert.deepEqual(payload(openai, requestOf({ tools: [WEATHER] }))['tools'], [
    { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } },
  ]);
});

test('tool_choice goes out with tools, and without them only when forced', () => {
  const choice = (mode: 'auto' | 'none' | 'required', hasTools: boolean): unknown =>
    payload(openai, requestOf({ toolChoice: { mode, parallel: undefined }, tools: hasTools ? [WEATHER] : [] }))['tool_choice'];
  assert.deepEqual((['auto', 'none', 'required'] as const).map((mode) => choice(mode, true)), ['auto', 'none', 'required']);
  assert.deepEqual((['auto', 'none', 'required'] as const).map((mode) => choice(mode, false)), [undefined, undefined, 'required']);
  const named = payload(openai, requestOf({ toolChoice: { mode: 'tool', name: 'weather', parallel: undefined } }));
  assert.deepEqual(named['tool_choice'], { type: 'function', function: { name: 'weather' } });
});

test('llama.cpp, which ignores a named choice, is offered that tool alone', () => {
  const request = requestOf({ tools: [WEATHER, { ...WEATHER, name: 'time' }], toolChoice: { mode: 'tool', name: 'time', parallel: undefined } });
  const sent = payload(adapterOf('llamacpp'), request);
  assert.equal(sent['tool_choice'], 'required');
  assert.deepEqual((sent['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name), ['time']);
  const unknown = payload(adapterOf('llamacpp'), { ...request, toolChoice: { mode: 'tool', name: 'none', parallel: undefined } });
  assert.deepEqual([unknown['tool_choice'], (unknown['tools'] as unknown[]).length], [{ type: 'function', function: { name: 'none' } }, 2]);
});

test('images go out as image_url beside the text, inline ones as a data URL', () => {
  const turn: Turn = {
    role: 'user',
    parts: [
      { type: 'text', text: 'look', state: undefined },
      { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'AAAA' } },
      { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
    ],
  };
  assert.deepEqual(messagesOf(openai, [turn]), [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
      ],
    },
  ]);
});

test('a media type cannot break out of the data URL', () => {
  const turn: Turn = { role: 'user', parts: [{ type: 'image', source: { type: 'inline', mediaType: 'image/"},"x', base64: 'AAAA' } }] };
  assert.deepEqual(messagesOf(openai, [turn]), [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/"},"x;base64,AAAA' } }] },
  ]);
});

test('arguments go out as a string of exactly the text that came', () => {
  const raw = '{ "n": 12345678901234567890, "f": 1.0, "e": 1e-7, "2": 0, "1": 0 }';
  const [message] = messagesOf(openai, [assistant(call('c1', raw))]) as [{ content: null; tool_calls: unknown }];
  assert.equal(message.content, null);
  assert.deepEqual(message.tool_calls, [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: raw } }]);
});

test('texts of an assistant turn are joined, an empty turn is an empty text', () => {
  assert.deepEqual(messagesOf(openai, [assistant(text('a'), call('c1'), text('b')), result('c1', 'x'), assistant()]), [
    { role: 'assistant', content: 'ab', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'c1', content: 'x' },
    { role: 'assistant', content: '' },
  ]);
});

test('user turns in a row go out as one where the host or its chat template refuses them, as they came elsewhere', () => {
  const turns: Turn[] = [user('a'), user('b'), assistant(text('c')), user('d')];
  const sent = [{ role: 'user', content: 'a' }, { role: 'user', content: 'b' }, { role: 'assistant', content: 'c' }, { role: 'user', content: 'd' }];
  for (const provider of ['openai', 'azure', 'groq', 'mistral', 'openrouter', 'ollama']) assert.deepEqual(messagesOf(adapterOf(provider), turns), sent, provider);
  const merged = [{ role: 'user', content: 'a\n\nb' }, { role: 'assistant', content: 'c' }, { role: 'user', content: 'd' }];
  for (const provider of ['perplexity', 'deepseek', 'moonshot', 'vllm', 'llamacpp', 'nvidia', 'huggingface', 'compat']) {
    assert.deepEqual(messagesOf(adapterOf(provider), turns), merged, provider);
  }
});

test('merged user turns keep the order of texts and images, and stay behind the system message and tool results', () => {
  const image: Turn = { role: 'user', parts: [{ type: 'text', text: 'b', state: undefined }, { type: 'image', source: { type: 'url', url: 'https://x/y.png' } }] };
  assert.deepEqual(messagesOf(adapterOf('perplexity'), [user('a'), image, user('c')], { system: 's' }), [
    { role: 'system', content: 's' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' }, { type: 'text', text: 'b' }, { type: 'image_url', image_url: { url: 'https://x/y.png' } }, { type: 'text', text: 'c' },
      ],
    },
  ]);
  const roles = messagesOf(adapterOf('vllm'), [user('a'), assistant(call('c1')), result('c1', 'x'), user('b'), user('c')]) as { role: string; content: unknown }[];
  assert.deepEqual(roles.map(({ role, content }) => [role, content]), [['user', 'a'], ['assistant', null], ['tool', 'x'], ['user', 'b\n\nc']]);
});

test('a user behind results of tools speaks behind a word of the assistant where the host refuses it otherwise', () => {
  const past = [user('a'), assistant(call('c1')), result('c1', 'x')];
  const shape = (provider: string, turns: readonly Turn[]) => (messagesOf(adapterOf(provider), turns) as { role: string; content: unknown }[]).map(({ role, content }) => [role, content]);
  const sent = [['user', 'a'], ['assistant', null], ['tool', 'x']];
  assert.deepEqual(shape('mistral', past), sent);
  assert.deepEqual(shape('mistral', [...past, user('b'), user('c')]), [...sent, ['assistant', 'OK.'], ['user', 'b'], ['user', 'c']]);
  assert.deepEqual(shape('mistral', [...past, assistant(), user('b')]), [...sent, ['assistant', 'OK.'], ['user', 'b']]);
  assert.deepEqual(shape('mistral', [...past, assistant(text('y')), user('b')]), [...sent, ['assistant', 'y'], ['user', 'b']]);
  assert.deepEqual(shape('openai', [...past, user('b')]), [...sent, ['user', 'b']]);
});

test('an assistant turn without text and calls is left out where the host refuses it', () => {
  const turns = [user('a'), assistant(), user('b'), assistant(text('')), assistant(call('c1')), result('c1', 'x')];
  const shape = (provider: string) => (messagesOf(adapterOf(provider), turns) as { role: string; content: unknown }[]).map(({ role, content }) => [role, content]);
  assert.deepEqual(shape('mistral'), [['user', 'a'], ['user', 'b'], ['assistant', null], ['tool', 'x']]);
  assert.deepEqual(shape('moonshot'), [['user', 'a\n\nb'], ['assistant', null], ['tool', 'x']]);
  assert.deepEqual(shape('openai'), [['user', 'a'], ['assistant', ''], ['user', 'b'], ['assistant', ''], ['assistant', null], ['tool', 'x']]);
});

test('a damaged state on a turn that is left out is refused all the same', () => {
  const encoded = adapterOf('mistral').encodeChat(requestOf({ turns: [user('a'), assistant(text('', 'forged'))] }), false);
  assert.ok(encoded instanceof Failure && encoded.kind === 'bad_request' && encoded.message.startsWith('messages[1].content[0].provider_state'));
});

test('each tool result is a message, a failed one says so in words', () => {
  const turn: Turn = {
    role: 'tool',
    parts: [
      { type: 'tool_result', toolCallId: 'a', content: 'fine', isError: false },
      { type: 'tool_result', toolCallId: 'b', content: 'boom', isError: true },
      { type: 'tool_result', toolCallId: 'c', content: '', isError: true },
      { type: 'tool_result', toolCallId: 'd', content: '', isError: false },
    ],
  };
  assert.deepEqual(messagesOf(openai, [turn]), [
    { role: 'tool', tool_call_id: 'a', content: 'fine' },
    { role: 'tool', tool_call_id: 'b', content: 'Error: boom' },
    { role: 'tool', tool_call_id: 'c', content: 'Error' },
    { role: 'tool', tool_call_id: 'd', content: '' },
  ]);
});

test('ids that the host would refuse are mapped, alike on call and result', () => {
  const idsOf = (provider: string, id: string): readonly unknown[] => {
    const [first, second] = messagesOf(adapterOf(provider), [assistant(call(id)), result(id, 'x')]) as [{ tool_calls: { id: string }[] }, { tool_call_id: string }];
    assert.equal(first.tool_calls[0]?.id, second.tool_call_id);
    return [second.tool_call_id];
  };
  const long = 'x'.repeat(41);
  assert.deepEqual(idsOf('openai', 'call_1'), ['call_1']);
  assert.match(String(idsOf('openai', long)), /^[0-9a-f]{40}$/);
  assert.deepEqual(idsOf('mistral', 'abcDEF123'), ['abcDEF123']);
  assert.match(String(idsOf('mistral', 'call_1')), /^[0-9a-f]{9}$/);
  assert.deepEqual(idsOf('openrouter', long), [long]);
});

test('a schema goes out as it is written, after the members that some models demand', () => {
  const sent = (schema: string): string => {
    const tools = [{ name: 'weather', description: undefined, parameters: new RawJson(schema), strict: undefined }];
    return /"parameters":(.*)\}\}\]\}$/.exec(bodyText(openai, requestOf({ tools })))?.[1] ?? '';
  };
  const whole = '{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"oneOf":[{"required":["a"]}],"additionalProperties":false,"$defs":{"b":{"const":1.0}}}';
  assert.equal(sent(whole), whole);
  assert.equal(sent('{"type":"object"}'), '{"properties":{},"type":"object"}');
  assert.equal(sent('{"properties":{"2":{},"1":{}}}'), '{"type":"object","properties":{"2":{},"1":{}}}');
});

test('an id that a host uses in several turns stays as it is where the form is free, and is told apart where it is not', () => {
  const turns = [assistant(call('call_0')), result('call_0', 'x'), assistant(call('call_0')), result('call_0', 'y')];
  const idsOf = (provider: string): string[] =>
    (messagesOf(adapterOf(provider), turns) as { tool_calls?: { id: string }[]; tool_call_id?: string }[])
      .map((message) => message.tool_call_id ?? message.tool_calls?.[0]?.id ?? '');
  assert.deepEqual(idsOf('groq'), ['call_0', 'call_0', 'call_0', 'call_0']);
  const [first, firstResult, second, secondResult] = idsOf('openai');
  assert.deepEqual([first, firstResult], ['call_0', 'call_0']);
  assert.equal(second, secondResult);
  assert.notEqual(second, 'call_0');
});

test('max_tokens has the name that the host knows', () => {
  const sent = (provider: string): string[] => Object.keys(payload(adapterOf(provider), requestOf({ maxTokens: 5 }))).filter((key) => key.startsWith('max_'));
  assert.deepEqual(sent('groq'), ['max_completion_tokens']);
  assert.deepEqual(sent('deepseek'), ['max_tokens']);
});

test('provider_options wins, merges deeply and keeps digits', () => {
  const request = requestOf({
    temperature: 1, maxTokens: 5,
    providerOptions: options('{"temperature":0.10,"seed":12345678901234567890,"max_completion_tokens":null,"stream_options":{"x":1}}'),
  });
  assert.equal(
    bodyText(openai, request, true),
    '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"temperature":0.10,"stream":true,' +
      '"stream_options":{"include_usage":true,"x":1},"seed":12345678901234567890}',
  );
});

const on = (effort?: Thinking['effort']): Thinking => ({ enabled: true, effort });
const off: Thinking = { enabled: false, effort: undefined };

/** The fields that a wish to think adds. */
const thinkingFields = (provider: string, model: string, thinking: Thinking): unknown => {
  const { model: _model, messages: _messages, ...fields } = payload(adapterOf(provider), requestOf({ model, thinking }));
  return fields;
};

test('OpenAI models get the effort that they know', () => {
  const efforts = (model: string): unknown[] =>
    [on(), on('low'), on('medium'), on('high'), on('max'), off].map((wish) => (thinkingFields('openai', model, wish) as { reasoning_effort?: string }).reasoning_effort);
  assert.deepEqual(efforts('gpt-4o'), [undefined, undefined, undefined, undefined, undefined, undefined]);
  assert.deepEqual(efforts('o4-mini'), ['medium', 'low', 'medium', 'high', 'high', 'low']);
  assert.deepEqual(efforts('gpt-5-mini'), ['medium', 'low', 'medium', 'high', 'high', 'minimal']);
  for (const model of ['gpt-3.5-turbo', 'gpt-4.1', 'ft:gpt-4o-mini:x', 'chatgpt-4o-latest', 'gpt-5-chat-latest', 'gpt-5.2-chat']) {
    assert.deepEqual(efforts(model), [undefined, undefined, undefined, undefined, undefined, undefined], model);
  }
  for (const model of ['o1', 'o3', 'o3-mini']) assert.deepEqual(efforts(model), ['medium', 'low', 'medium', 'high', 'high', 'low'], model);
  for (const model of ['gpt-5', 'gpt-5-nano', 'gpt-5-2025-08-07']) {
    assert.deepEqual(efforts(model), ['medium', 'low', 'medium', 'high', 'high', 'minimal'], model);
  }
  for (const model of ['gpt-5.1', 'gpt-5.1-2025-11-13']) assert.deepEqual(efforts(model), ['medium', 'low', 'medium', 'high', 'high', 'none'], model);
  for (const model of ['gpt-5.2', 'gpt-5.3', 'gpt-5.4', 'gpt-5.4-mini', 'gpt-5.5', 'gpt-5.6-sol', 'gpt-6-sol', 'gpt-6-luna', 'gpt-6.1-terra']) {
    assert.deepEqual(efforts(model), ['medium', 'low', 'medium', 'high', 'xhigh', 'none'], model);
  }
  for (const model of ['gpt-6-astra', 'gpt-6.1-sol', 'gpt-6.2-astra', 'gpt-7', 'something-new']) {
    assert.deepEqual(efforts(model), ['medium', 'low', 'medium', 'high', 'xhigh', 'low'], model);
  }
});

test('OpenAI models that take tools only without reasoning are told none, unless the caller wants thinking', () => {
  const effort = (model: string, thinking: Thinking | undefined): unknown =>
    payload(openai, requestOf({ model, tools: [WEATHER], thinking }))['reasoning_effort'];
  for (const model of ['gpt-5.6-sol', 'gpt-6-sol', 'gpt-6-luna', 'gpt-6.1-terra']) {
    assert.equal(effort(model, undefined), 'none', model);
    assert.equal(effort(model, off), 'none', model);
    assert.equal(effort(model, on('high')), 'high', model);
  }
  assert.equal(effort('gpt-5.4', undefined), undefined);
  assert.equal(effort('gpt-6-astra', undefined), undefined);
  assert.equal(payload(groq, requestOf({ model: 'gpt-5.6-sol', tools: [WEATHER] }))['reasoning_effort'], undefined);
});

const HOST_THINKING: readonly (readonly [provider: string, model: string, wish: Thinking, fields: unknown])[] = [
  ['cerebras', 'm', on(), { reasoning_effort: 'medium' }],
  ['cerebras', 'm', on('max'), { reasoning_effort: 'high' }],
  ['ollama', 'm', off, { reasoning_effort: 'none' }],
  ['deepseek', 'm', on(), { thinking: { type: 'enabled' } }],
  ['deepseek', 'm', on('medium'), { thinking: { type: 'enabled' }, reasoning_effort: 'high' }],
  ['deepseek', 'm', on('max'), { thinking: { type: 'enabled' }, reasoning_effort: 'max' }],
  ['deepseek', 'm', off, { thinking: { type: 'disabled' } }],
  ['zai', 'm', off, { thinking: { type: 'disabled' } }],
  ['openrouter', 'm', on(), { reasoning: { enabled: true } }],
  ['openrouter', 'm', on('max'), { reasoning: { effort: 'xhigh' } }],
  ['openrouter', 'm', off, { reasoning: { effort: 'none' } }],
  ['groq', 'openai/gpt-oss-120b', on('high'), { reasoning_effort: 'high' }],
  ['groq', 'openai/gpt-oss-120b', off, { reasoning_effort: 'low' }],
  ['groq', 'qwen/qwen3-32b', on('low'), { reasoning_effort: 'default', reasoning_format: 'parsed' }],
  ['groq', 'qwen/qwen3-32b', off, { reasoning_effort: 'none' }],
  ['mistral', 'm', on('low'), { reasoning_effort: 'high' }],
  ['mistral', 'm', off, { reasoning_effort: 'none' }],
  ['moonshot', 'kimi-k3', on('medium'), { reasoning_effort: 'high' }],
  ['moonshot', 'kimi-k3', off, { reasoning_effort: 'low' }],
  ['moonshot', 'kimi-k2.6', on('low'), { thinking: { type: 'enabled' } }],
  ['moonshot', 'kimi-k2.6', off, { thinking: { type: 'disabled' } }],
  ['moonshot', 'kimi-k2.7-code', off, {}],
  ['together', 'moonshotai/Kimi-K2.6', on('high'), { reasoning: { enabled: true } }],
  ['together', 'moonshotai/Kimi-K2.6', off, { reasoning: { enabled: false } }],
  ['together', 'openai/gpt-oss-20b', on('high'), { reasoning_effort: 'high' }],
  ['vllm', 'm', on('max'), { chat_template_kwargs: { enable_thinking: true, thinking: true }, reasoning_effort: 'high' }],
  ['vllm', 'm', off, { chat_template_kwargs: { enable_thinking: false, thinking: false } }],
  ['xai', 'grok-4.7', on('max'), { reasoning_effort: 'xhigh' }],
  ['xai', 'grok-4.7', off, { reasoning_effort: 'low' }],
  ['xai', 'grok-4.3', off, { reasoning_effort: 'none' }],
  ['xai', 'grok-3-mini', on('medium'), { reasoning_effort: 'high' }],
  ['xai', 'grok-4.20-reasoning', on('high'), {}],
];

test('each host is told to think in its own way', () => {
  for (const [provider, model, wish, fields] of HOST_THINKING) {
    assert.deepEqual(thinkingFields(provider, model, wish), fields, `${provider} ${model} ${JSON.stringify(wish)}`);
  }
});

const DETAILS = new RawJson('[{"type":"reasoning.text","text":"t","signature":"s","index":0,"n":1.0}]');

test('a state goes back as the fields that its host wants', () => {
  const state = encodeState('openai-chat', 'compat', { reasoning_content: 'why', reasoning_details: DETAILS, thought_signature: 'sig' });
  const request = requestOf({ turns: [user('hi'), assistant(call('c1', '{}', state), call('c2')), result('c1', 'x')] });
  assert.ok(
    bodyText(adapterOf('compat'), request).includes(
      '{"role":"assistant","content":null,"reasoning_content":"why",' +
        '"reasoning_details":[{"type":"reasoning.text","text":"t","signature":"s","index":0,"n":1.0}],' +
        '"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}},' +
        '{"id":"c2","type":"function","function":{"name":"weather","arguments":"{}"}}]}',
    ),
  );
});

test('the state of another provider or dialect is ignored', () => {
  const plain = messagesOf(openai, [assistant(text('a'))]);
  for (const state of [
    encodeState('openai-chat', 'deepseek', { reasoning_content: 'why' }),
    encodeState('anthropic', 'openai', { anything: 1 }),
  ]) {
    assert.deepEqual(messagesOf(openai, [assistant(text('a', state))]), plain);
  }
});

test('a forged or damaged state is a bad_request that names its part', () => {
  const compatState = (content: Parameters<typeof encodeState>[2]): string => encodeState('openai-chat', 'compat', content);
  const forged: readonly (readonly [provider: string, part: ReturnType<typeof text>])[] = [
    ['compat', text('a', 'garbage')],
    ['compat', text('a', 'openai-chat.compat.!!!')],
    ['compat', text('a', compatState({ role: 'system' }))],
    ['compat', text('a', compatState({ reasoning_content: 1 }))],
    ['compat', text('a', compatState({ reasoning_details: 'x' }))],
    ['compat', text('a', compatState({ reasoning_details: ['x'] }))],
    ['compat', text('a', compatState({ thought_signature: 'x' }))],
    ['compat', call('c', '{}', compatState({ thought_signature: 1 }))],
    ['deepseek', text('a', encodeState('openai-chat', 'deepseek', { reasoning_details: DETAILS }))],
    ['openai', text('a', encodeState('openai-chat', 'openai', { reasoning_content: 'x' }))],
    ['openrouter', call('c', '{}', encodeState('openai-chat', 'openrouter', { thought_signature: 'x' }))],
  ];
  for (const [provider, part] of forged) {
    const failure = adapterOf(provider).encodeChat(requestOf({ turns: [user('hi'), assistant(text('ok'), part)] }), false);
    assert.ok(failure instanceof Failure, JSON.stringify(part));
    assert.equal(failure.kind, 'bad_request');
    assert.equal(failure.message, 'messages[1].content[1].provider_state: damaged, or not made by this gateway');
  }
});

test('hosts that demand reasoning on turns with calls get the least that they take where it was lost', () => {
  for (const [provider, least] of [['deepseek', ''], ['moonshot', ' ']] as const) {
    const [withCall, without] = messagesOf(adapterOf(provider), [assistant(call('c1')), assistant(text('a'))]) as Record<string, unknown>[];
    assert.equal(withCall?.['reasoning_content'], least, provider);
    assert.equal(without?.['reasoning_content'], undefined, provider);
  }
  const [message] = messagesOf(adapterOf('zai'), [assistant(call('c1'))]) as Record<string, unknown>[];
  assert.equal(message?.['reasoning_content'], undefined);
});

/** Conversations of every shape that up to six turns can have, from a small generator. */
const generatedTurns = (seed: number): Turn[] => {
  let random = seed;
  const next = (limit: number): number => {
    random = (random * 1103515245 + 12345) % 2147483648;
    return random % limit;
  };
  const turns: Turn[] = [];
  for (let at = 0; at < 6; at += 1) {
    const id = `call-${seed}-${at}-${'x'.repeat(next(50))}`;
    turns.push(user(`question ${next(100)}`));
    if (next(2) === 0) turns.push(assistant(text('hm'), call(id, `{"n":${next(9)}.0}`)), result(id, 'r', next(2) === 0));
    else turns.push(assistant(text(`answer ${next(100)}`)));
  }
  return turns;
};

test('the encoding is deterministic, and that of a prefix is a prefix', () => {
  for (const provider of ['openai', 'mistral', 'deepseek', 'openrouter', 'compat']) {
    const adapter = adapterOf(provider);
    for (let seed = 1; seed <= 40; seed += 1) {
      const turns = generatedTurns(seed);
      const whole = bodyText(adapter, requestOf({ turns, system: 's', tools: [WEATHER] }));
      assert.equal(bodyText(adapter, requestOf({ turns, system: 's', tools: [WEATHER] })), whole);
      for (let kept = 1; kept < turns.length; kept += 1) {
        const part = bodyText(adapter, requestOf({ turns: turns.slice(0, kept), system: 's', tools: [WEATHER] }));
        const messages = part.slice(0, part.indexOf('],"tools":'));
        assert.ok(whole.startsWith(messages), `${provider} ${seed} ${kept}`);
      }
    }
  }
});
