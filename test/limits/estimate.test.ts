import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../src/base/json/parse.ts';
import { JsonObject, RawJson } from '../../src/base/json/value.ts';
import { DIALECTS } from '../../src/callers/index.ts';
import type { ChatRequest, Part } from '../../src/core/chat.ts';
import { Failure } from '../../src/core/failure.ts';
import { charsOfDelta, charsOfReply, estimateBody, estimateChat, tokensOfChars } from '../../src/limits/estimate.ts';

const REQUEST: ChatRequest = {
  provider: undefined,
  model: 'm',
  system: undefined,
  turns: [],
  maxTokens: 100_000,
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

function ofParts(...parts: readonly Part[]): number {
  return estimateChat({ ...REQUEST, turns: [{ role: 'user', parts: parts as never }] });
}

function ofBody(body: unknown): number {
  const value = parseJson(JSON.stringify(body));
  if (!(value instanceof JsonObject)) throw new Error('no object');
  return estimateBody(value);
}

function x(chars: number): string {
  return 'x'.repeat(chars);
}

test('a request is a quarter of its characters, wherever they stand, and what it may be answered is not reserved', () => {
  assert.equal(estimateChat({ ...REQUEST, system: x(400) }), 100);
  assert.equal(estimateChat({ ...REQUEST, tools: [{ name: x(4), description: x(40), parameters: new RawJson(x(400)), strict: undefined }] }), 111);
  assert.equal(estimateChat({ ...REQUEST, output: { schema: new RawJson(x(400)), name: 'n', strict: true } }), 100);
  assert.equal(ofParts({ type: 'text', text: x(400), state: x(4000) }), 100);
  assert.equal(ofParts({ type: 'tool_call', id: x(99), name: x(4), arguments: new RawJson(x(36)), state: undefined }), 10);
  assert.equal(ofParts({ type: 'tool_result', toolCallId: x(99), content: x(40), isError: false }), 10);
  assert.equal(estimateChat(REQUEST), 1);
});

test('an image is a thousand tokens however large, also what a tool answers; a document is by its size, and not less', () => {
  const image = { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: x(1_000_000) } } as const;
  const pdf = (base64: string): Part => ({ type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64 }, name: undefined });
  assert.equal(ofParts(image), 1000);
  assert.equal(ofParts({ type: 'tool_result', toolCallId: '1', content: [image, { type: 'text', text: x(4), state: undefined }], isError: false }), 1001);
  assert.equal(ofParts(pdf(x(320_000))), 10_000);
  assert.equal(ofParts(pdf(x(4))), 1000);
  assert.equal(ofParts({ type: 'document', mediaType: 'application/pdf', source: { type: 'url', url: 'https://x.test/' }, name: undefined }), 1000);
  assert.equal(ofParts({ type: 'document', mediaType: 'text/plain', source: { type: 'inline', base64: Buffer.from(x(4000)).toString('base64') }, name: undefined }), 1001);
});

/** The same conversation in every format that is relayed. */
const BODIES: Readonly<Record<string, object>> = {
  'openai-chat': {
    model: 'm',
    messages: [
      { role: 'system', content: x(400) },
      { role: 'user', content: [{ type: 'text', text: x(400) }, { type: 'image_url', image_url: { url: `data:image/png;base64,${x(9000)}` } }] },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: JSON.stringify({ a: x(388) }) } }] },
      { role: 'tool', tool_call_id: 'c1', content: x(400) },
    ],
    tools: [{ type: 'function', function: { name: 'look', description: x(396), parameters: {} } }],
  },
  'openai-responses': {
    model: 'm',
    instructions: x(400),
    input: [
      { role: 'user', content: [{ type: 'input_text', text: x(400) }, { type: 'input_image', image_url: 'https://x.test/i.png' }] },
      { type: 'reasoning', id: 'r1', summary: [], encrypted_content: x(9000) },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: JSON.stringify({ a: x(388) }) },
      { type: 'function_call_output', call_id: 'c1', output: x(400) },
    ],
    tools: [{ type: 'function', name: 'look', description: x(396), parameters: {} }],
  },
  anthropic: {
    model: 'm',
    max_tokens: 100_000,
    system: [{ type: 'text', text: x(400), cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: x(400) }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: x(9000) } }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: { a: x(388) } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: x(400) }] }] },
    ],
    tools: [{ name: 'look', description: x(396), input_schema: {} }],
  },
};

for (const dialect of DIALECTS.filter(({ relay }) => relay !== undefined)) {
  test(`a body of ${dialect.name} is estimated as the chat that it says, relayed or translated`, () => {
    const body = BODIES[dialect.name] ?? {};
    const [route] = dialect.routes;
    const decoded = route && dialect.decodeRequest(Buffer.from(JSON.stringify(body)), route);
    if (decoded === undefined || decoded instanceof Failure) throw new Error(decoded?.message);
    const translation = decoded.translate('m');
    if (translation instanceof Failure) throw new Error(translation.message);
    // Five texts of a hundred tokens, an image, the tool's name twice.
    assert.equal(ofBody(body), 1501);
    assert.ok(Math.abs(estimateChat(translation.request) - 1501) <= 2, String(estimateChat(translation.request)));
  });
}

test('files in bodies that are relayed are by their size, sounds too, and a text is a text', () => {
  const ofPart = (part: object): number => ofBody({ messages: [{ role: 'user', content: [part] }] });
  assert.equal(ofPart({ type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${x(320_000 - 28)}` } }), 10_000);
  assert.equal(ofPart({ type: 'input_file', file_data: x(320_000) }), 10_000);
  assert.equal(ofPart({ type: 'input_file', file_url: 'https://x.test/a.pdf' }), 1000);
  assert.equal(ofPart({ type: 'input_audio', input_audio: { data: x(320_000), format: 'wav' } }), 10_000);
  assert.equal(ofPart({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: x(320_000) } }), 10_000);
  assert.equal(ofPart({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: x(8000) } }), 2000);
  assert.equal(ofPart({ type: 'document', source: { type: 'content', content: [{ type: 'text', text: x(4000) }] } }), 2000);
  assert.equal(ofPart({ type: 'image_url', image_url: { url: 'https://x.test/i.png' } }), 1000);
  assert.equal(ofPart({ type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: `data:image/png;base64,${x(9000)}` } }), 1000);
});

test('what is delivered counts by its characters: text, reasoning, calls', () => {
  const call = { type: 'tool_call', id: 'c1', name: 'look', arguments: new RawJson('{"a":1}'), state: undefined } as const;
  assert.equal(charsOfDelta({ type: 'text', text: 'abcd' }), 4);
  assert.equal(charsOfDelta({ type: 'thinking', text: 'abcd' }), 4);
  assert.equal(charsOfDelta({ type: 'tool_call', call }), 11);
  const reply = { id: undefined, model: undefined, parts: [{ type: 'text', text: 'abcd', state: 'xxxx' } as const, call], thinking: 'ab', stopReason: 'end_turn', usage: undefined } as const;
  assert.equal(charsOfDelta({ type: 'done', reply }), 0);
  assert.equal(charsOfReply(reply), 17);
  assert.deepEqual([tokensOfChars(0), tokensOfChars(1), tokensOfChars(4), tokensOfChars(5)], [0, 1, 1, 2]);
});
