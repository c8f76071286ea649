/** What comes from a provider goes out as it is: at once, in one write a chunk, and in the end as the turn of a whole reply. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import type { Frame, ReplyBody } from '../running-gateway.ts';
import { chunkOf, CHUNKED_HEAD, LAST_CHUNK } from '../upstream/raw-server.ts';
import { Caller } from './caller.ts';
import { chunkFrame, GOOD_END, startRawGateway } from './wires.ts';

const ASK = { model: 'm', messages: [user('x')] };
const PROVIDERS = ['anthropic', 'openai', 'gemini', 'compat'];
const TOOLS = ['weather', 'clothes'].map((name) => ({
  name,
  parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] } }, required: ['city'] },
}));

test('each frame leaves before the provider sends the next', async (t) => {
  let provider: Socket | undefined;
  const { gateway, upstream } = await startRawGateway(t, { onRequest: (socket) => (provider = socket) }, { GATEWAY_HEARTBEAT_INTERVAL: '0' });
  const caller = new Caller(t, gateway.url).ask(ASK);
  await upstream.arrived(1);
  provider?.write(CHUNKED_HEAD);
  for (let sent = 1; sent <= 100; sent += 1) {
    provider?.write(chunkOf(chunkFrame({ content: `${sent} ` })));
    await caller.until(({ writes }) => writes.length === sent);
  }
  provider?.write(chunkOf(GOOD_END) + LAST_CHUNK);
  await caller.until(({ isWhole }) => isWhole);
  assert.equal(caller.writes.length, 101);
  assert.ok(caller.writes.every((write) => /^data: .*\n\n$/.test(write)));
});

test('the frames of one chunk leave in one write', async (t) => {
  const block = Array.from({ length: 50 }, (_, at) => chunkFrame({ content: `${at} ` })).join('');
  let provider: Socket | undefined;
  const { gateway, upstream } = await startRawGateway(t, { onRequest: (socket) => (provider = socket) }, { GATEWAY_HEARTBEAT_INTERVAL: '0' });
  const caller = new Caller(t, gateway.url).ask(ASK);
  await upstream.arrived(1);
  provider?.write(CHUNKED_HEAD + chunkOf(block));
  await caller.until(({ writes }) => writes.length > 0);
  assert.equal(caller.frames.length, 50);
  provider?.write(chunkOf(block + GOOD_END) + LAST_CHUNK);
  await caller.until(({ isWhole }) => isWhole);
  assert.equal(caller.frames.length, 101);
  assert.equal(caller.writes.length, 2);
});

/** What a stream says, in the shape of a whole reply. */
function wholeFrom(frames: readonly Frame[]): Partial<ReplyBody> {
  const { type, ...done } = frames.at(-1) ?? { type: '' };
  assert.equal(type, 'done');
  const joined = (wanted: string): string => frames.map((frame) => (frame.type === wanted ? (frame.text ?? '') : '')).join('');
  const calls = frames.flatMap((frame) => (frame.type === 'tool_call' && frame.tool_call !== undefined ? [frame.tool_call] : []));
  const thinking = joined('thinking_delta');
  return {
    ...done,
    text: joined('text_delta'),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(thinking === '' ? {} : { thinking }),
  };
}

const MODELS = [
  { model: 'fake-chat' },
  { model: 'fake-thinking' },
  { model: 'fake-empty' },
  { model: 'fake-refusal-partial' },
  { model: 'fake-no-usage' },
  { model: 'fake-tool-loop', tools: TOOLS },
  { model: 'fake-parallel', tools: TOOLS },
  { model: 'fake-json-numbers', tools: TOOLS },
  { model: 'fake-chat', max_tokens: 3 },
  // Ends in the middle of a call, which is then no call.
  { model: 'fake-json-numbers', tools: TOOLS, max_tokens: 4 },
];

/**
 * A reply without what may differ between two answers of the same words: ids that the gateway made, which are new each time,
 * and where Gemini puts the signature of a text, which in a stream is a part of its own.
 */
function comparable(provider: string, reply: Partial<ReplyBody>): unknown {
  const made = new Map<string, string>();
  const ids = (key: string, value: unknown): unknown => {
    if (key !== 'id' || typeof value !== 'string' || !value.startsWith('gwcall_')) return value;
    made.set(value, made.get(value) ?? `made ${made.size}`);
    return made.get(value);
  };
  const copy = JSON.parse(JSON.stringify(reply), ids) as Partial<ReplyBody>;
  if (provider !== 'gemini') return copy;
  const parts = copy.message?.content.map(({ provider_state: state, ...part }) => (part.type === 'text' ? part : { ...part, state }));
  return { ...copy, message: parts?.filter((part) => part.text !== '') };
}

for (const provider of PROVIDERS) {
  for (const asked of MODELS) {
    test(`${provider}: the stream of ${JSON.stringify(asked.model)}${'max_tokens' in asked ? `, cut at ${asked.max_tokens} tokens,` : ''} is its whole reply`, async (t) => {
      const gateway = await startGateway(t);
      const request = { provider, ...asked, messages: [user('Hello there')] };
      const { status, body } = await gateway.chat(request);
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(comparable(provider, wholeFrom(await gateway.stream(request))), comparable(provider, body));
    });
  }

  test(`${provider}: reasoning comes as thinking_delta, before the text and never in it`, async (t) => {
    const gateway = await startGateway(t);
    const frames = await gateway.stream({ provider, model: 'fake-thinking', messages: [user('x')], thinking: { enabled: true } });
    const types = frames.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
    // OpenAI discloses none in this API.
    assert.deepEqual(types, provider === 'openai' ? ['text_delta', 'done'] : ['thinking_delta', 'text_delta', 'done']);
    const text = frames.map((frame) => (frame.type === 'text_delta' ? (frame.text ?? '') : '')).join('');
    assert.doesNotMatch(text, /Somebody wrote/);
    assert.equal(frames.at(-1)?.message?.content.map((part) => part.text).join(''), text);
  });
}
