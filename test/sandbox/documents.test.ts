/** Documents, and what tools answer besides text: taken where each provider takes them, refused where it does not. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEADERS, at, open, request } from './client.ts';
import type { ProtocolName } from './client.ts';

/** `%PDF-1.4` and a line end. */
const PDF = 'JVBERi0xLjQK';
const PNG = 'iVBORw0KGgo=';
const PATHS = { messages: '/v1/messages', chat: '/chat/completions', responses: '/responses', gemini: '/v1beta/models/fake-chat:generateContent' } as const;

const inMessage = (...content: readonly object[]): object => ({ model: 'fake-chat', max_tokens: 99, messages: [{ role: 'user', content }] });
const inChat = (...content: readonly object[]): object => ({ model: 'fake-chat', messages: [{ role: 'user', content }] });
const inInput = (...content: readonly object[]): object => ({ model: 'fake-chat', input: [{ role: 'user', content }] });
const inContents = (...parts: readonly object[]): object => ({ contents: [{ role: 'user', parts }] });
const source = (body: object, more: object = {}): object => inMessage({ type: 'document', source: body, ...more });
const base64Source = { type: 'base64', media_type: 'application/pdf', data: PDF };
const file = (body: object): object => inChat({ type: 'file', file: body });
const inputFile = (body: object): object => inInput({ type: 'input_file', ...body });
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
const answered = (...content: readonly object[]): object => ({
  model: 'fake-parallel', max_tokens: 99, tools: [{ name: 'f', input_schema: { type: 'object' } }],
  messages: [{ role: 'user', content: 'Go' }, { role: 'assistant', content: [CALL] }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content }] }],
});
const outputOf = (output: readonly object[]): object => ({
  model: 'fake-parallel', tools: [{ type: 'function', name: 'f' }],
  input: [{ role: 'user', content: 'Go' }, { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }, { type: 'function_call_output', call_id: 'call_1', output }],
});
const responseOf = (parts: readonly object[], beside: readonly object[] = []): object => ({
  contents: [
    { role: 'user', parts: [{ text: 'Go' }] },
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'skip_thought_signature_validator' }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'chart' }, parts } }, ...beside] },
  ],
});
const toolMessage = (content: unknown, ...after: readonly object[]): object => ({
  model: 'fake-tool-loop', tools: [{ type: 'function', function: { name: 'f' } }],
  messages: [
    { role: 'user', content: 'Go' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'call_1', content }, ...after,
  ],
});

const READ = /I read 1 document\./;
const BOTH = /I see 1 image\. I read 1 document\./;
type Case = readonly [what: string, provider: ProtocolName, path: string, body: object, status: number, text: RegExp];

const CASES: readonly Case[] = [
  ['a PDF', 'anthropic', PATHS.messages, source(base64Source, { title: 'a.pdf', context: 'x', citations: { enabled: true }, cache_control: { type: 'ephemeral' } }), 200, READ],
  ['a PDF by its address', 'anthropic', PATHS.messages, source({ type: 'url', url: 'https://example.com/a.pdf' }), 200, READ],
  ['a text', 'anthropic', PATHS.messages, source({ type: 'text', media_type: 'text/plain', data: 'one two' }), 200, /I read 1 document\..*"input_tokens":2,/],
  ['a document of blocks', 'anthropic', PATHS.messages, source({ type: 'content', content: [{ type: 'text', text: 'one two three' }] }), 200, /"input_tokens":3,/],
  ['a stored file', 'anthropic', PATHS.messages, source({ type: 'file', file_id: 'file_1' }), 200, READ],
  ['what is no PDF', 'anthropic', PATHS.messages, source({ ...base64Source, data: 'AAAA' }), 400, /messages\.0\.content\.0\.document\.source\.base64\.data: The PDF specified was not valid/],
  ['a document of another type', 'anthropic', PATHS.messages, source({ ...base64Source, media_type: 'text/html' }), 400, /media_type/],
  ['a document that the assistant says', 'anthropic', PATHS.messages, { ...inMessage(), messages: [{ role: 'user', content: 'x' }, { role: 'assistant', content: [{ type: 'document', source: base64Source }] }, { role: 'user', content: 'x' }] }, 400, /does not match any of the expected tags/],
  ['citations beside a schema', 'anthropic', PATHS.messages, { ...source(base64Source, { citations: { enabled: true } }), output_config: { format: { type: 'json_schema', schema: { type: 'string' } } } }, 400, /citations/],
  ['a result of an image and a PDF', 'anthropic', PATHS.messages, answered({ type: 'text', text: 'chart' }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }, { type: 'document', source: base64Source }), 200, BOTH],

  ['a PDF', 'openai', PATHS.chat, file({ filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` }), 200, READ],
  ['a stored file', 'openai', PATHS.chat, file({ file_id: 'file-1' }), 200, READ],
  ['a PDF without a name', 'openai', PATHS.chat, file({ file_data: `data:application/pdf;base64,${PDF}` }), 400, /messages\[0\]\.content\[0\]\.file\.filename/],
  ['a file of nothing', 'openai', PATHS.chat, file({}), 400, /Missing required parameter: 'messages\[0\]\.content\[0\]\.file\.file_id'/],
  ['a file by two ways', 'openai', PATHS.chat, file({ filename: 'a', file_id: 'file-1', file_data: 'x' }), 400, /mutually_exclusive_parameters/],
  ['a file by its address', 'openai', PATHS.chat, file({ file_url: 'https://example.com/a.pdf' }), 400, /Unknown parameter/],
  ['a plain text as a file', 'openai', PATHS.chat, file({ filename: 'a.txt', file_data: 'data:text/plain;base64,AAAA' }), 400, /unsupported MIME type 'text\/plain'/],
  ['base64 without a data URL', 'openai', PATHS.chat, file({ filename: 'a.pdf', file_data: PDF }), 400, /without the 'data:' prefix/],
  ['what is no base64', 'openai', PATHS.chat, file({ filename: 'a.pdf', file_data: 'data:application/pdf;base64,?' }), 400, /invalid base64-encoded value/],
  ['an image in a tool message', 'openai', PATHS.chat, toolMessage([{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }]), 400, /'image_url'/],
  ['a PDF', 'compat', PATHS.chat, file({ filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` }), 200, READ],
  ['a document by its address', 'compat', PATHS.chat, inChat({ type: 'document_url', document_url: 'https://example.com/a.pdf' }), 200, READ],
  ['a document by its address', 'openai', PATHS.chat, inChat({ type: 'document_url', document_url: 'https://example.com/a.pdf' }), 400, /document_url/],

  ['a PDF', 'openai', PATHS.responses, inputFile({ filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}`, detail: 'high' }), 200, READ],
  ['a PDF by its address', 'openai', PATHS.responses, inputFile({ file_url: 'https://example.com/a.pdf' }), 200, READ],
  ['a file of nothing', 'openai', PATHS.responses, inputFile({}), 400, /input\[0\]\.content\[0\]\.file_id/],
  ['an image of nothing', 'openai', PATHS.responses, inInput({ type: 'input_image' }), 400, /input\[0\]\.content\[0\]\.image_url/],
  ['a result of an image and a PDF', 'openai', PATHS.responses, outputOf([{ type: 'input_text', text: 'chart' }, { type: 'input_image', image_url: `data:image/png;base64,${PNG}` }, { type: 'input_file', file_url: 'https://example.com/a.pdf' }]), 200, /The tools say: chart\..*I see 1 image\. I read 1 document\./],

  ['a PDF', 'gemini', PATHS.gemini, inContents({ inlineData: { mimeType: 'application/pdf', data: PDF } }), 200, READ],
  ['a PDF by its address', 'gemini', PATHS.gemini, inContents({ fileData: { fileUri: 'https://example.com/a.pdf', mimeType: 'application/pdf' } }), 200, READ],
  ['a text, of which the words count', 'gemini', PATHS.gemini, inContents({ inlineData: { mimeType: 'text/plain', data: Buffer.from('a b c').toString('base64') } }), 200, /"promptTokenCount":3,/],
  ['a type that nobody reads', 'gemini', PATHS.gemini, inContents({ inlineData: { mimeType: 'application/zip', data: PDF } }), 400, /inline_data\.mime_type/],
  ['a result of an image and a PDF', 'gemini', PATHS.gemini, responseOf([{ inlineData: { mimeType: 'image/png', data: PNG } }, { inlineData: { mimeType: 'application/pdf', data: PDF } }]), 200, BOTH],
  ['a result of a sound', 'gemini', PATHS.gemini, responseOf([{ inlineData: { mimeType: 'audio/wav', data: PDF } }]), 400, /function_response\.parts\[0\]/],
  ['an image beside a result', 'gemini', PATHS.gemini, responseOf([], [{ inlineData: { mimeType: 'image/png', data: PNG } }]), 200, /wrote: Go I see 1 image/],
];

for (const [what, provider, path, body, status, text] of CASES) {
  test(`${provider}${path === PATHS.responses ? ' (Responses)' : ''} answers ${status} to ${what}`, async (t) => {
    const sandbox = await open(t);
    const answer = await request(sandbox.baseUrls[provider] + path, body, HEADERS[provider]);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, text);
  });
}

test('images that follow the results where there is no other place for them do not begin a tool loop anew', async (t) => {
  const sandbox = await open(t);
  const image = { role: 'user', content: [{ type: 'text', text: 'chart' }, { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] };
  const { text } = await request(sandbox.baseUrls.openai + PATHS.chat, toolMessage('chart (image follows)', image), HEADERS.openai);
  assert.equal((at(JSON.parse(text), 'choices', 0, 'message', 'tool_calls') as unknown[]).length, 1);
});
