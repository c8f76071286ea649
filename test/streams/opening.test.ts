/** The status waits for the first event with content, and a comment keeps the connection alive meanwhile. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import type { ReplyBody } from '../running-gateway.ts';
import { chunkOf, CHUNKED_HEAD, LAST_CHUNK } from '../upstream/raw-server.ts';
import { Caller } from './caller.ts';
import { chunkFrame, GOOD_END, startRawGateway, until } from './wires.ts';

const ASK = { model: 'm', messages: [user('x')] };
const SOON = { GATEWAY_HEARTBEAT_INTERVAL: '10ms' };
const LATER = { GATEWAY_HEARTBEAT_INTERVAL: '1h' };
const OVERLOADED = 'data: {"error":{"message":"busy","type":"server_error","code":"overloaded"}}\n\n';
const TOO_MANY = 'HTTP/1.1 429 Too Many Requests\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n';

test('what a provider reports inside a 200 before any content is the status of the answer', async (t) => {
  const gateway = await startGateway(t, { ...LATER, GATEWAY_MAX_RETRIES: '0' });
  const cases: readonly (readonly [provider: string, model: string, status: number, kind: string])[] = [
    ['anthropic', 'fake-overloaded', 502, 'server'],
    ['openai', 'fake-overloaded', 502, 'server'],
    ['gemini', 'fake-overloaded', 502, 'server'],
    ['anthropic', 'fake-refusal', 422, 'refusal'],
    ['openai', 'fake-refusal', 422, 'refusal'],
    ['gemini', 'fake-refusal', 422, 'refusal'],
    ['gemini', 'fake-blocked', 422, 'refusal'],
  ];
  for (const [provider, model, status, kind] of cases) {
    const response = await gateway.post('/v1/chat/stream', { provider, model, messages: [user('x')] });
    const body = (await response.json()) as ReplyBody;
    assert.deepEqual([response.status, body.kind], [status, kind], `${provider} ${model}`);
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  }
});

test('events without content open nothing: a role, a ping, an empty piece', async (t) => {
  let provider: Socket | undefined;
  const { gateway, upstream } = await startRawGateway(t, {
    onRequest: (socket) => {
      provider = socket;
      socket.write(CHUNKED_HEAD + chunkOf(': hello\n\n') + chunkOf(chunkFrame({ role: 'assistant', content: '' })));
    },
  }, { ...LATER, GATEWAY_MAX_RETRIES: '0' });
  const caller = new Caller(t, gateway.url).ask(ASK);
  await upstream.arrived(1);
  provider?.write(chunkOf(OVERLOADED) + LAST_CHUNK);
  await caller.until(({ status }) => status !== undefined);
  assert.equal(caller.status, 502);
});

test('after one interval without content the answer is 200, and a failure then is an error frame', async (t) => {
  let provider: Socket | undefined;
  const { gateway, upstream } = await startRawGateway(t, { onRequest: (socket) => (provider = socket) }, { ...SOON, GATEWAY_MAX_RETRIES: '0' });
  const caller = new Caller(t, gateway.url).ask(ASK);
  await upstream.arrived(1);
  await caller.until(({ comments }) => comments > 0);
  assert.equal(caller.status, 200);
  provider?.write(CHUNKED_HEAD + chunkOf(OVERLOADED) + LAST_CHUNK);
  await caller.until(({ isWhole }) => isWhole);
  assert.deepEqual(caller.frames.map(({ type, kind }) => [type, kind]), [['error', 'server']]);
});

test('comments go on while an attempt fails and another is made, which the caller need not know', async (t) => {
  const providers: Socket[] = [];
  const { gateway, upstream } = await startRawGateway(t, { onRequest: (socket) => providers.push(socket) }, SOON);
  const caller = new Caller(t, gateway.url).ask(ASK);
  await upstream.arrived(1);
  await caller.until(({ comments }) => comments > 1);
  providers[0]?.write('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n');
  await upstream.arrived(2);
  const before = caller.comments;
  await caller.until(({ comments }) => comments > before + 1);
  providers[1]?.write(CHUNKED_HEAD + chunkOf(chunkFrame({ content: 'Hi.' }) + GOOD_END) + LAST_CHUNK);
  await caller.until(({ isWhole }) => isWhole);
  assert.deepEqual(caller.frames.map(({ type }) => type), ['text_delta', 'done']);
});

test('comments go on while the gateway waits before another attempt', async (t) => {
  const { gateway, upstream } = await startRawGateway(t, { onRequest: (socket) => socket.write(TOO_MANY) }, SOON);
  const caller = new Caller(t, gateway.url).ask(ASK);
  await upstream.arrived(1);
  await until(() => gateway.logLines.some((line) => line['message'] === 'attempt'));
  await caller.until(({ comments }) => comments > 3);
  assert.equal(upstream.requests.length, 1);
});

test('comments stand between frames, never inside one, also where a provider sends a byte at a time', async (t) => {
  const sse = Buffer.from(`${chunkFrame({ content: 'one' })}${chunkFrame({ content: 'two' })}${GOOD_END}`);
  let provider: Socket | undefined;
  const { gateway, upstream } = await startRawGateway(t, { onRequest: (socket) => (provider = socket) }, { GATEWAY_HEARTBEAT_INTERVAL: '1ms' });
  const caller = new Caller(t, gateway.url).ask(ASK);
  await upstream.arrived(1);
  provider?.write(CHUNKED_HEAD);
  for (let at = 0; at < sse.length; at += 1) {
    provider?.write(chunkOf(sse.toString('latin1', at, at + 1)));
    const before = caller.comments;
    if (at % 8 === 0) await caller.until(({ comments }) => comments > before);
    if (caller.isWhole) break;
  }
  provider?.write(LAST_CHUNK);
  await caller.until(({ isWhole }) => isWhole);
  assert.deepEqual(caller.frames.map(({ type, text }) => [type, text]), [['text_delta', 'one'], ['text_delta', 'two'], ['done', undefined]]);
  for (const write of caller.writes) assert.match(write, /^(: keep-alive\n\n|(data: .*\n\n)+)$/);
});

test('with the interval off there is no comment and no timer for one', async (t) => {
  const open = async (environment: Record<string, string>): Promise<number> => {
    const { gateway } = await startRawGateway(t, {
      onRequest: (socket) => socket.write(CHUNKED_HEAD + chunkOf(chunkFrame({ content: 'x' }))),
    }, environment);
    const before = timers();
    const callers = Array.from({ length: 20 }, () => new Caller(t, gateway.url).ask(ASK));
    for (const caller of callers) await caller.until(({ writes }) => writes.length > 0);
    return timers() - before;
  };
  const without = await open({ GATEWAY_HEARTBEAT_INTERVAL: '0' });
  const withOne = await open(LATER);
  assert.equal(withOne - without, 20);
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
