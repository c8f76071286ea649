/** A caller that reads slowly, or not at all: it holds up its own provider and nobody else. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { chunkOf, CHUNKED_HEAD, LAST_CHUNK } from '../upstream/raw-server.ts';
import { Caller } from './caller.ts';
import { chunkFrame, GOOD_END, startRawGateway, streamLines, until } from './wires.ts';

const MIB = 1024 * 1024;
const ASK = { model: 'm', messages: [user('x')] };
/** More than the kernel keeps of a loopback connection for a peer that reads nothing. */
const FLOOD_BYTES = 32 * MIB;

/** Sends good frames as fast as they are taken; `sentBytes` = how many were. */
class Flood {
  sentBytes = 0;
  readonly #block = chunkOf(chunkFrame({ content: 'word '.repeat(10) }).repeat(400));

  start(socket: Socket): void {
    socket.write(CHUNKED_HEAD);
    const push = (): void => {
      while (this.sentBytes < FLOOD_BYTES) {
        this.sentBytes += this.#block.length;
        if (!socket.write(this.#block)) return;
      }
      socket.write(chunkOf(GOOD_END) + LAST_CHUNK);
    };
    socket.on('drain', push);
    push();
  }
}

async function lineOf(gateway: RunningGateway): Promise<Readonly<Record<string, unknown>> | undefined> {
  await until(() => streamLines(gateway).length > 0);
  return streamLines(gateway)[0];
}

test('a caller that reads nothing stops its provider, is cut after the limit with its reason, and others go on', async (t) => {
  const flood = new Flood();
  const { gateway, upstream } = await startRawGateway(t, {
    onRequest: (socket, { body }) => {
      if (body.includes('"flood"')) flood.start(socket);
      else socket.write(CHUNKED_HEAD + chunkOf(chunkFrame({ content: 'well' }) + GOOD_END) + LAST_CHUNK);
    },
  }, { GATEWAY_WRITE_STALL_TIMEOUT: '400ms' });
  const stalled = new Caller(t, gateway.url).ask({ ...ASK, model: 'flood' });
  stalled.socket.pause();
  await upstream.arrived(1);
  assert.equal((await gateway.stream(ASK)).at(-1)?.type, 'done');
  await upstream.closed(1);
  assert.ok(flood.sentBytes < FLOOD_BYTES / 2, `${flood.sentBytes} bytes`);
  await until(() => streamLines(gateway).length === 2);
  const line = streamLines(gateway)[1];
  assert.equal(line?.['ended'], 'caller-stalled');
  assert.equal(line?.['limit'], 'GATEWAY_WRITE_STALL_TIMEOUT');
  const page = await (await gateway.get('/metrics')).text();
  assert.match(page, /gateway_limits_total\{limit="GATEWAY_WRITE_STALL_TIMEOUT"\} 1\n/);
  assert.match(page, /gateway_open_streams 0\n/);
});

test('a caller that stops reading in the last frame is cut after the limit too', { timeout: 120_000 }, async (t) => {
  // Kernels hold up to 36 MB of a connection for a reader that was fast before.
  const pieces = 15;
  const piece = '語'.repeat(1_000_000);
  let provider: Socket | undefined;
  const { gateway } = await startRawGateway(t, {
    onRequest: (socket) => {
      provider = socket;
      socket.write(CHUNKED_HEAD);
      for (let sent = 0; sent < pieces; sent += 1) socket.write(chunkOf(chunkFrame({ content: piece })));
    },
  }, { GATEWAY_WRITE_STALL_TIMEOUT: '3s' });
  const caller = new Caller(t, gateway.url).ask(ASK);
  await caller.until(({ receivedBytes }) => receivedBytes > pieces * Buffer.byteLength(piece));
  caller.socket.pause();
  provider?.write(chunkOf(GOOD_END) + LAST_CHUNK);
  const line = await lineOf(gateway);
  assert.equal(line?.['ended'], 'caller-stalled');
  assert.equal(line?.['limit'], 'GATEWAY_WRITE_STALL_TIMEOUT');
  assert.match(await (await gateway.get('/metrics')).text(), /gateway_limits_total\{limit="GATEWAY_WRITE_STALL_TIMEOUT"\} 1\n/);
});

test('a caller that reads late gets every byte, with comments only between frames', async (t) => {
  const flood = new Flood();
  const { gateway, upstream } = await startRawGateway(t, { onRequest: (socket) => flood.start(socket) }, { GATEWAY_HEARTBEAT_INTERVAL: '1ms' });
  const caller = new Caller(t, gateway.url).ask(ASK);
  caller.socket.pause();
  await upstream.arrived(1);
  // Nothing says that everybody on the way has stopped: the provider gets no further for a while.
  for (let before = -1; before !== flood.sentBytes; await new Promise((resolve) => setTimeout(resolve, 50))) before = flood.sentBytes;
  assert.ok(flood.sentBytes < FLOOD_BYTES / 2, `${flood.sentBytes} bytes`);
  caller.socket.resume();
  await caller.until(({ isWhole }) => isWhole);
  const { frames } = caller;
  const text = frames.map((frame) => (frame.type === 'text_delta' ? frame.text : '')).join('');
  assert.equal(frames.at(-1)?.type, 'done');
  assert.deepEqual(frames.at(-1)?.message?.content, [{ type: 'text', text }]);
});

test('a line of 10 MB is an answer like any other', async (t) => {
  const gateway = await startGateway(t);
  for (const provider of ['anthropic', 'openai', 'gemini']) {
    const frames = await gateway.stream({ provider, model: 'fake-long-line', messages: [user('x')] });
    assert.equal(frames.at(-1)?.type, 'done', provider);
  }
});

test('a line without end is refused at the limit that its failure names, and not asked for again', async (t) => {
  const gateway = await startGateway(t);
  for (const [index, provider] of ['anthropic', 'openai', 'gemini'].entries()) {
    const response = await gateway.post('/v1/chat/stream', { provider, model: 'fake-huge', messages: [user('x')] });
    assert.equal(response.status, 502);
    assert.match(await response.text(), /an event of its stream has more than 33554432 bytes, which is the gateway's limit/);
    assert.equal(gateway.sandbox.calls.length, index + 1);
    await until(() => gateway.sandbox.calls.at(-1)?.closedEarly === true);
  }
});
