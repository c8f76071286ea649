import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { ChatRequest, ContentPart, Thinking, Turn } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { OPENAI_ROW } from '../../../src/providers/openai/adapter.ts';
import { decodeChunks, endOf } from '../../decode-stream.ts';
import { WEATHER, assistant, bodyWith, call, fixture as chatFixture, good, options, payload, requestOf, text, user } from '../openai-chat/setup.ts';
import { bodyOf, fixture as responsesFixture, message, stateOf } from '../openai-responses/setup.ts';

const auto = OPENAI_ROW.createAdapter('openai');
const on: Thinking = { enabled: true, effort: undefined };
const off: Thinking = { enabled: false, effort: undefined };

const pathOf = (fields: Partial<ChatRequest>, adapter = auto): string => {
  const call = adapter.encodeChat(requestOf(fields), false);
  assert.ok(!(call instanceof Failure));
  return call.path;
};

const OLD = ['gpt-3.5-turbo', 'gpt-4o', 'gpt-4.1-mini', 'o3', 'o4-mini', 'gpt-5', 'gpt-5-mini-2025-08-07', 'gpt-5.1', 'gpt-5.3'];
const OTHERS = ['chatgpt-4o-latest', 'gpt-5-chat-latest', 'gpt-6-chat-latest', 'gpt-oss-120b', 'llama-4', 'deepseek-v4-pro', 'my-codex', 'fake-chat', 'gpt-5-search-api', 'gpt-5.5-search-api', 'gpt-6-search-preview-2026-01-01'];
const NEW = ['gpt-5.4', 'gpt-5.5-mini', 'gpt-5.6-sol', 'gpt-5.10', 'gpt-6-sol', 'gpt-6.2-astra', 'gpt-7', 'gpt-10-nova', 'ft:gpt-6-luna:me::x'];
const ONLY = ['o1-pro', 'o3-pro-2025-06-10', 'gpt-5-pro', 'gpt-5.4-pro', 'gpt-5-codex', 'gpt-5.1-codex-max', 'codex-mini-latest', 'o4-mini-deep-research', 'computer-use-preview'];

test('models up to gpt-5.3, and names that are none of OpenAI, stay on Chat Completions whatever is asked', () => {
  for (const model of [...OLD, ...OTHERS]) {
    for (const fields of [{}, { tools: [WEATHER] }, { thinking: on }, { tools: [WEATHER], thinking: on }]) {
      assert.equal(pathOf({ model, ...fields }), '/chat/completions', model);
    }
  }
});

test('newer models, known or not, are asked through Responses when they are to use tools', () => {
  for (const model of NEW) {
    assert.equal(pathOf({ model }), '/chat/completions', model);
    assert.equal(pathOf({ model, thinking: off }), '/chat/completions', model);
    assert.equal(pathOf({ model, thinking: on }), '/chat/completions', model);
    for (const thinking of [undefined, on, off]) assert.equal(pathOf({ model, tools: [WEATHER], thinking }), '/responses', model);
  }
});

test('what provider_options puts in the place of the model, the tools or the stop sequences decides', () => {
  const path = (json: string, fields: Partial<ChatRequest> = {}): string => pathOf({ model: 'gpt-6-sol', providerOptions: options(json), ...fields });
  assert.equal(path('{"model":"gpt-5-pro"}', { model: 'gpt-4o' }), '/responses');
  assert.equal(path('{"model":"gpt-4o"}', { tools: [WEATHER] }), '/chat/completions');
  assert.equal(path('{"tools":[{"type":"web_search"}]}'), '/responses');
  assert.equal(path('{"tools":[{"type":"function","function":{"name":"f"}}]}', { tools: [WEATHER] }), '/chat/completions');
  assert.equal(path('{"tools":[{"type":"custom","custom":{"name":"f"}}]}', { tools: [WEATHER] }), '/chat/completions');
  assert.equal(path('{"tools":[]}', { tools: [WEATHER] }), '/chat/completions');
  assert.equal(path('{"stop":["x"]}', { tools: [WEATHER] }), '/chat/completions');
  assert.equal(path('{"stop":null}', { tools: [WEATHER] }), '/responses');
});

test('a request with stop sequences stays where they exist', () => {
  for (const model of NEW) assert.equal(pathOf({ model, tools: [WEATHER], thinking: on, stop: ['END'] }), '/chat/completions', model);
});

const PDF_BY_URL: Turn = { role: 'user', parts: [{ type: 'document', mediaType: 'application/pdf', source: { type: 'url', url: 'https://x.test/a.pdf' }, name: undefined }] };
const PDF: ContentPart = { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' }, name: undefined };
const IMAGE: ContentPart = { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } };
const INLINE: Turn = { role: 'user', parts: [PDF, IMAGE] };
const answered = (...content: readonly ContentPart[]): Turn[] => [
  user('q'), assistant(call('c1')), { role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'c1', content, isError: false }] },
];

const DEMANDING: readonly Turn[][] = [[PDF_BY_URL], answered(IMAGE), answered({ type: 'text', text: 'a', state: undefined }, PDF)];
const UNDEMANDING: readonly Turn[][] = [[INLINE], answered({ type: 'text', text: 'a', state: undefined })];

test('PDFs by URL, and results of tools that are more than text, go where they can be said', () => {
  for (const model of ['gpt-4o', 'gpt-5.3', 'llama-4', ...NEW, ...ONLY]) {
    for (const turns of DEMANDING) assert.equal(pathOf({ model, turns }), '/responses', model);
  }
  for (const turns of UNDEMANDING) assert.equal(pathOf({ model: 'gpt-4o', turns }), '/chat/completions');
  assert.equal(pathOf({ turns: answered(IMAGE), stop: ['END'] }), '/chat/completions');
  const refused = auto.encodeChat(requestOf({ turns: [PDF_BY_URL], stop: ['END'] }), false);
  assert.ok(refused instanceof Failure);
  assert.deepEqual([refused.kind, refused.message], ['unsupported', 'messages[0].content[0].url: openai takes a PDF inline only; send base64']);
});

test('models that only Responses knows are asked there, and their stop sequences are refused', () => {
  for (const model of ONLY) {
    assert.equal(pathOf({ model }), '/responses', model);
    const refused = auto.encodeChat(requestOf({ model, stop: ['END'] }), false);
    assert.ok(refused instanceof Failure && refused.kind === 'unsupported' && refused.message.includes('stop'), model);
  }
});

test('OPENAI_API settles it for every model', () => {
  const chat = OPENAI_ROW.createAdapter('openai', { openAiApi: 'chat' });
  const responses = OPENAI_ROW.createAdapter('openai', { openAiApi: 'responses' });
  for (const model of [...OLD, ...OTHERS, ...NEW, ...ONLY]) {
    assert.equal(pathOf({ model, tools: [WEATHER] }, chat), '/chat/completions', model);
    assert.equal(pathOf({ model }, responses), '/responses', model);
  }
});

test('a whole answer is read by the API that gave it', () => {
  assert.deepEqual(good(auto.decodeChat(bodyOf([message('new')]))).parts, [{ type: 'text', text: 'new', state: undefined }]);
  assert.deepEqual(good(auto.decodeChat(bodyWith({ content: 'old' }))).parts, [{ type: 'text', text: 'old', state: undefined }]);
  for (const body of ['', '{}', '[]', '{"object":"response"}', '{"error":{"code":"server_error"}}']) {
    const failure = auto.decodeChat(body);
    assert.ok(failure instanceof Failure && failure.kind === 'server', body);
  }
});

test('a stream is read by the API that gave it, also without names of events and after empty frames', () => {
  const old = chatFixture('text.sse');
  const recent = responsesFixture('text.sse');
  const nameless = Buffer.from(recent.toString().replaceAll(/^event: .*\n/gm, ''));
  for (const bytes of [old, recent, nameless]) {
    const end = good(endOf(decodeChunks(auto, [Buffer.from('data:\n\n'), bytes])));
    assert.deepEqual(end.parts, [{ type: 'text', text: 'Grüße, 👋 world', state: undefined }]);
  }
});

test('frames that tell of neither API bind a stream to none', () => {
  for (const fixture of [chatFixture('text.sse'), responsesFixture('text.sse')]) {
    for (const first of ['data: {"type":"keepalive"}', 'event: keepalive\ndata: {"type":"keepalive"}', 'event: ping\ndata: {}', 'data: [DONE]', 'data: {"id":"x"}']) {
      const end = good(endOf(decodeChunks(auto, [Buffer.from(`${first}\n\n`), fixture])));
      assert.deepEqual(end.parts, [{ type: 'text', text: 'Grüße, 👋 world', state: undefined }], first);
    }
  }
});

test('a whole answer of Responses that does not say what it is is read as one', () => {
  const body = bodyOf([message('new')]).replace(/"object":\s*"response",?/, '');
  assert.ok(!body.includes('"object"'));
  assert.deepEqual(good(auto.decodeChat(body)).parts, [{ type: 'text', text: 'new', state: undefined }]);
});

test('a stream that is none, or begins with an error, fails', () => {
  const kindOf = (bytes: string): string => {
    const end = endOf(decodeChunks(auto, [Buffer.from(bytes)]));
    assert.ok(end instanceof Failure);
    return end.kind;
  };
  assert.equal(kindOf(''), 'server');
  assert.equal(kindOf('data: {"unexpected":["shape"]}\n\n'), 'server');
  assert.equal(kindOf('event: error\ndata: {"type":"error","code":"rate_limit_exceeded","message":"x","param":null}\n\n'), 'rate_limit');
  assert.equal(kindOf('data: {"type":"error","code":"rate_limit_exceeded","message":"x","param":null}\n\n'), 'rate_limit');
  assert.equal(kindOf('event: error\ndata: {"code":"rate_limit_exceeded","message":"x"}\n\n'), 'rate_limit');
  assert.equal(kindOf('data: {"error":{"code":"rate_limit_exceeded"}}\n\n'), 'rate_limit');
  assert.equal(kindOf('data: {"type":"error","error":{"code":"rate_limit_exceeded"}}\n\n'), 'rate_limit');
});

test('a conversation can move between the APIs; what only one understands is left out on the other', () => {
  const state = stateOf('{"phase":"final_answer"}');
  const turns = [user('q'), assistant(text('a', state)), user('r')];
  assert.deepEqual((payload(auto, requestOf({ model: 'gpt-6-sol', turns }))['messages'] as unknown[])[1], { role: 'assistant', content: 'a' });
  assert.deepEqual((payload(auto, requestOf({ model: 'gpt-6-sol', turns, tools: [WEATHER] }))['input'] as unknown[])[1], {
    role: 'assistant', content: 'a', phase: 'final_answer',
  });
});

test('the matrix tells of both APIs where they differ, and refuses nothing', () => {
  const { support } = auto;
  assert.deepEqual(support.max_tokens, { is: 'sent', as: '`max_completion_tokens`; by Responses: `max_output_tokens`' });
  assert.deepEqual(support.temperature, { is: 'sent', as: '`temperature`' });
  assert.deepEqual(support.stop, { is: 'sent', as: '`stop`, by Chat Completions' });
  assert.deepEqual(support['user document (pdf url)'], { is: 'sent', as: '`input_file` with `file_url`, its name as text before it, by Responses' });
  assert.ok(Object.values(support).every(({ is }) => is === 'sent' || is === 'translated'));
  assert.equal(support['thinking off'].is, 'translated');
  assert.equal(OPENAI_ROW.createAdapter('openai', { openAiApi: 'responses' }).support.stop.is, 'refused');
});
