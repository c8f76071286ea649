/** Large events of streams, which are read in turns of their own: whole, in order, and told what is wrong with them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from '../../src/base/crc32.ts';
import type { ParsedText } from '../../src/base/json/parse.ts';
import { MessageEvents } from '../../src/callers/anthropic/stream.ts';
import { RESPONSES_RELAY } from '../../src/callers/openai-responses/relay.ts';
import { ResponseEvents } from '../../src/callers/openai-responses/stream.ts';
import type { Delta } from '../../src/core/delta.ts';
import { Failure } from '../../src/core/failure.ts';
import { parseLargeText } from '../../src/gateway/large-text.ts';
import { pipeStream } from '../../src/gateway/pipe-stream.ts';
import type { StreamSink } from '../../src/gateway/pipe-stream.ts';
import { createGeminiAdapter } from '../../src/providers/gemini/adapter.ts';
import type { ChunkReceiver, UpstreamResponse } from '../../src/upstream/transport.ts';
import { FACTS } from '../callers/anthropic/messages.ts';
import { answerJson, environmentFor, startUpstream } from '../faults/upstream.ts';
import { framesOf, startGateway, user } from '../running-gateway.ts';

/** Characters of one, two and four bytes, and some that are escaped. */
const WORDS = 'Line é語😀 "quoted" \\ \n'.repeat(30_000);
const TOOLS = [{ name: 'f' }];

/** By provider: events that say the words, then a call, then more, where the format can. */
const STREAMS: Readonly<Record<string, readonly object[]>> = {
  compat: [
    { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: WORDS } }] },
    { choices: [{ index: 0, delta: { content: ' more', tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: { n: 1, text: WORDS } } }] } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ],
  openai: [
    { type: 'response.output_text.delta', output_index: 0, delta: WORDS },
    { type: 'response.output_text.delta', output_index: 0, delta: ' more' },
    { type: 'response.output_item.done', output_index: 0, item: { type: 'message', content: [] } },
    {
      type: 'response.completed',
      response: { id: 'r', model: 'm', status: 'completed', output: [{ type: 'message', content: [] }, { type: 'function_call', call_id: 'a', name: 'f', arguments: JSON.stringify({ n: 1, text: WORDS }) }] },
    },
  ],
  anthropic: [
    { type: 'message_start', message: { id: 'm', model: 'm', content: [] } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: WORDS } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' more' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'a', name: 'f', input: { n: 1, text: WORDS } } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    { type: 'message_stop' },
  ],
  gemini: [
    { candidates: [{ content: { parts: [{ text: WORDS }] } }] },
    { candidates: [{ content: { parts: [{ text: ' more' }, { functionCall: { id: 'a', name: 'f', args: { n: 1, text: WORDS } } }] }, finishReason: 'STOP' }] },
  ],
};

function eventStream(events: readonly object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
}

for (const transport of ['http', 'wire', 'fetch']) {
  test(`large events arrive whole and in order over ${transport}`, async (t) => {
    const upstream = await startUpstream(t, (response, { url = '' }) => {
      const provider = url.includes('messages') ? 'anthropic' : url.includes('responses') ? 'openai' : url.includes('enerateContent') ? 'gemini' : 'compat';
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(eventStream(STREAMS[provider] ?? []));
    });
    const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_COMPAT_BASE_URL: upstream.origin, OPENAI_API: 'responses', GATEWAY_TRANSPORT: transport });
    for (const provider of Object.keys(STREAMS)) {
      const response = await gateway.post('/v1/chat/stream', { provider, model: 'm', messages: [user('x')], tools: TOOLS });
      const frames = framesOf(await response.text());
      assert.ok(frames.map(({ text = '' }) => text).join('') === `${WORDS} more`, provider);
      const { type, message } = frames.at(-1) ?? {};
      assert.equal(type, 'done', provider);
      const [text, call] = message?.content ?? [];
      assert.ok(text?.text === `${WORDS} more`, provider);
      assert.deepEqual([call?.id, call?.arguments], ['a', { n: 1, text: WORDS }], provider);
    }
    assert.equal(upstream.calls(), 4);
  });
}

test('a large event that is no JSON, or beyond a limit, is a failure that says so', async (t) => {
  const cases = [
    [`{"a":"${'x'.repeat(600_000)}`, 'an event of its stream is not JSON', 2],
    [`${'['.repeat(101)}${' '.repeat(600_000)}`, "its JSON has nesting beyond 100 levels, which is the gateway's limit", 1],
    [`{"a":[${'0,'.repeat(1_000_000)}0]}`, "its JSON has more than 1000000 values, which is the gateway's limit", 1],
    [`{"a":[${' '.repeat(600_000)}${'1'.repeat(5000)}]}`, "its JSON has a number of more than 4096 characters, which is the gateway's limit", 1],
  ] as const;
  let data = '';
  const upstream = await startUpstream(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${data}\n\n`);
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '1', GATEWAY_RETRY_BASE_DELAY: '1ms' });
  for (const [sent, sentence, calls] of cases) {
    data = sent;
    const before = upstream.calls();
    const response = await gateway.post('/v1/chat/stream', { provider: 'gemini', model: 'm', messages: [user('x')] });
    const { kind, error } = (await response.json()) as { kind: string; error: string };
    assert.deepEqual([response.status, kind, error], [502, 'server', `gemini answered 200, but ${sentence}`]);
    assert.equal(upstream.calls() - before, calls, sentence);
  }
});

/** How many turns of the event loop pass while a task is running. */
async function turnsIn(task: Promise<unknown>): Promise<number> {
  const state = { turns: 0, isOver: false };
  const count = (): void => {
    state.turns += 1;
    if (!state.isOver) setImmediate(count);
  };
  count();
  await task;
  state.isOver = true;
  return state.turns;
}

test('others have their turn while a large text is parsed, be it JSON or not', async () => {
  for (const text of [`[${'{"a":0},'.repeat(100_000)}0]`, `"${'\\n'.repeat(6_000_000)}"`, `[${'1 ,'.repeat(250_000)}x`]) {
    assert.ok((await turnsIn(parseLargeText('acme', text, 'it is no JSON'))) > 8, text.slice(0, 20));
  }
});

const PROVIDER = {
  name: 'acme', adapter: createGeminiAdapter('acme'), baseUrl: new URL('http://acme.example'), keys: [], keyHeader: { name: 'key', prefix: '' }, speaks: [],
};

function said(text: string, finishReason?: string): object {
  return { candidates: [{ content: { parts: [{ text }] }, finishReason }] };
}

/** Pipes a response of one chunk; `answers` are the receiver's. Where there is somebody to relay to, events are relayed too. */
async function pipeChunk(
  chunk: Buffer,
  headers: UpstreamResponse['headers'] = {},
  relay?: StreamSink['relay'],
): Promise<{ end: undefined | Failure; turns: string[]; answers: unknown[] }> {
  let inTurn = '';
  const turns: string[] = [];
  const answers: unknown[] = [];
  const push = (delta: Delta): void => void (inTurn += delta.type === 'text' ? delta.text : '');
  const flush = (): void => {
    turns.push(inTurn);
    inTurn = '';
  };
  const response: UpstreamResponse = {
    status: 200,
    headers,
    readChunks: async (onChunk: ChunkReceiver) => void answers.push(await onChunk(chunk)),
    readBody: async () => chunk,
    startIdleLimit: () => undefined,
    discard: () => undefined,
  };
  const end = await pipeStream({ provider: PROVIDER, relay: undefined }, response, push, { flush, relay });
  return { end, turns, answers };
}

test('a large text of an event goes out in pieces, between which others have their turn', async () => {
  const words = '😀'.repeat(1_000_000);
  const { end, turns, answers } = await pipeChunk(Buffer.from(eventStream([said(words), said('!', 'STOP')])));
  assert.equal(end, undefined);
  assert.deepEqual(answers, [undefined]);
  assert.ok(turns.join('') === `${words}!`);
  assert.ok(turns.length > 7);
  for (const turn of turns) assert.ok(turn.length <= 300_000 && turn.isWellFormed());
});

test('a large event that says nothing in any format is passed over, as a short one is', async () => {
  const blank = ' '.repeat(200_000);
  const { end, turns } = await pipeChunk(Buffer.from(`${eventStream([said('a')])}data: ${blank}\n\ndata: [DONE]${blank}\n\n${eventStream([said('b', 'STOP')])}`));
  assert.deepEqual([end, turns.join('')], [undefined, 'ab']);
});

async function parsedFrom(event: object): Promise<ParsedText> {
  const parsed = await parseLargeText('acme', JSON.stringify(event), 'it is no JSON');
  assert.ok(!(parsed instanceof Failure));
  return parsed;
}

test('a large event is relayed as it was parsed, which is not done again', async () => {
  const relayed: unknown[] = [];
  const events = [said('x'.repeat(200_000), 'STOP'), said('!', 'STOP')];
  await pipeChunk(Buffer.from(eventStream(events)), {}, (_event, _data, parsed) => void relayed.push(parsed?.json));
  assert.deepEqual(relayed, [events[0], undefined]);

  const messages = new MessageEvents(FACTS);
  const start = await parsedFrom({ type: 'message_start', message: { id: 'm', model: 'other' } });
  assert.equal(messages.relay('', 'no JSON', start), 'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"x/fake"}}\n\n');

  const responses = new ResponseEvents(FACTS);
  assert.equal(responses.relay('', 'no JSON', await parsedFrom({ type: 'response.created', response: { id: 'r' } })), 'data: no JSON\n\n');
  assert.match(responses.render({ type: 'failed', failure: new Failure('server', 'cut') }), /^event: response\.failed\ndata: .*"id":"r"/);
  assert.equal(RESPONSES_RELAY.bringsAnswer('', 'no JSON', await parsedFrom({ type: 'response.function_call_arguments.delta' })), true);
});

/** A message of AWS's event stream, without headers. */
function awsMessage(payload: string): Buffer {
  const message = Buffer.alloc(16 + payload.length);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  message.write(payload, 12);
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
  return message;
}

test('nothing more is waited for where a large event is followed by damage', async () => {
  const chunk = Buffer.concat([awsMessage(JSON.stringify(said('x'.repeat(200_000)))), Buffer.from('<html>It works!</html>')]);
  const { end, answers } = await pipeChunk(chunk, { 'content-type': 'application/vnd.amazon.eventstream' });
  assert.deepEqual(answers, [false]);
  assert.equal(end?.message, 'acme answered 200, but its stream is damaged');
});

test('more calls than any model makes are a failure that names the limit, whole and in a stream', async (t) => {
  const many = <T>(make: (index: number) => T): T[] => Array.from({ length: 4097 }, (_, index) => make(index));
  const chatCalls = many((index) => ({ index, id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }));
  const items = many((index) => ({ type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '{}' }));
  const blocks = many((index) => ({ type: 'tool_use', id: `c${index}`, name: 'f', input: {} }));
  const parts = many((index) => ({ functionCall: { id: `c${index}`, name: 'f', args: {} } }));
  const whole: Readonly<Record<string, object>> = {
    compat: { choices: [{ message: { tool_calls: chatCalls }, finish_reason: 'tool_calls' }] },
    openai: { object: 'response', status: 'completed', output: items },
    anthropic: { content: blocks, stop_reason: 'tool_use' },
    gemini: { candidates: [{ content: { parts }, finishReason: 'STOP' }] },
  };
  const streamed: Readonly<Record<string, object>> = {
    compat: { choices: [{ index: 0, delta: { tool_calls: chatCalls } }] },
    openai: { type: 'response.completed', response: whole['openai'] },
    anthropic: { type: 'message_start', message: { content: [...blocks, { type: 'text', text: 'x' }] } },
    gemini: whole['gemini'] ?? {},
  };
  let provider = '';
  const upstream = await startUpstream(t, (response, { url = '' }, body) => {
    const isStream = url.includes('stream') || /"stream":true/.test(body);
    if (!isStream) return answerJson(response, 200, JSON.stringify(whole[provider]));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(eventStream([streamed[provider] ?? {}]));
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_COMPAT_BASE_URL: upstream.origin, OPENAI_API: 'responses' });
  for (provider of Object.keys(whole)) {
    for (const path of ['/v1/chat', '/v1/chat/stream']) {
      const response = await gateway.post(path, { provider, model: 'm', messages: [user('x')], tools: TOOLS });
      assert.match(await response.text(), /answered 200, but the reply has more than 4096 tool calls, which is the gateway's limit/, `${provider} ${path}`);
    }
  }
  assert.equal(upstream.calls(), 8);
});
