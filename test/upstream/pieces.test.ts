/** How a body's pieces reach their receiver: what came before a failure, and very many of them at once. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Scope } from '../../src/core/scope.ts';
import { collectBody } from '../../src/upstream/body.ts';
import { createFetchTransport } from '../../src/upstream/fetch.ts';
import type { ChunkReceiver, Transport, UpstreamResponse } from '../../src/upstream/transport.ts';
import { createGate, failureFrom, LIMITS, postCall, providerAt, responseFrom, SOCKET_TRANSPORTS } from './attempts.ts';
import { chunkOf, CHUNKED_HEAD, LAST_CHUNK, startRawServer } from './raw-server.ts';

async function openResponse(t: TestContext, act: (socket: Socket) => void, transport: Transport): Promise<UpstreamResponse> {
  t.after(() => transport.close());
  const server = await startRawServer(t, { onRequest: act });
  return responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
}

const BROKEN = 'this is no chunk\r\n';

for (const [name, createTransport] of SOCKET_TRANSPORTS) {
  test(`${name}: chunks that came together with what breaks the body are delivered before its failure`, async (t) => {
    const response = await openResponse(t, (socket) => socket.write(CHUNKED_HEAD + chunkOf('first ') + chunkOf('second') + BROKEN), createTransport());
    let text = '';
    const failure = failureFrom(await response.readChunks((chunk) => void (text += chunk.toString())));
    assert.equal(text, 'first second');
    assert.equal(failure.message, 'acme answered 200, but its body did not arrive whole (HPE_INVALID_CHUNK_SIZE)');
  });

  test(`${name}: they are delivered to a reader that begins after the connection is gone`, async (t) => {
    let gone: Promise<unknown> = Promise.resolve();
    const response = await openResponse(t, (socket) => {
      gone = new Promise((resolve) => socket.on('close', resolve));
      socket.end(CHUNKED_HEAD + chunkOf('first') + BROKEN);
    }, createTransport());
    await gone;
    let text = '';
    failureFrom(await response.readChunks((chunk) => void (text += chunk.toString())));
    assert.equal(text, 'first');
  });

  test(`${name}: chunks that come while the receiver is busy are delivered before the failure that comes with them`, async (t) => {
    const gate = createGate();
    let finish = (): void => undefined;
    const written = createGate();
    const response = await openResponse(t, (socket) => {
      finish = () => void socket.end(chunkOf('second') + BROKEN, written.open);
      socket.write(CHUNKED_HEAD + chunkOf('first '));
    }, createTransport());
    const texts: string[] = [];
    const read = response.readChunks((chunk) => {
      texts.push(chunk.toString());
      if (texts.length > 1) return undefined;
      finish();
      return gate.opened;
    });
    await written.opened;
    // A few turns more, in which the bytes arrive here.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    gate.open();
    failureFrom(await read);
    assert.deepEqual(texts, ['first ', 'second']);
  });

  test(`${name}: a receiver that is content with what came before a failure is told of none`, async (t) => {
    const response = await openResponse(t, (socket) => socket.write(CHUNKED_HEAD + chunkOf('all of it') + BROKEN), createTransport());
    assert.equal(await response.readChunks(() => 'enough'), undefined);
  });

  test(`${name}: a receiver that is content after a while keeps the connection, as one that is at once`, async (t) => {
    const server = await startRawServer(t, { onRequest: (socket) => void socket.write(CHUNKED_HEAD + chunkOf('all of it') + LAST_CHUNK) });
    const transport = createTransport();
    t.after(() => transport.close());
    const later: ChunkReceiver = () => Promise.resolve('enough');
    for (const content of [later, () => 'enough' as const, later]) {
      const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(await response.readChunks(content), undefined);
      // The end of the body is read behind it.
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    }
    assert.equal(server.connections(), 1);
  });
}

const PIECES = 200_000;
/** As many as one read of 64 KiB holds, each of six bytes on the wire. */
const PIECES_PER_READ = 11_000;

/** Of what several reads of the socket bring at once: four of 64 KiB, and the one in which the turn was over. */
const BYTES_PER_TURN = 5 * 64 * 1024;

/** The most that the receiver is given in one turn of the event loop: chunks and bytes. */
async function mostInTurn(response: UpstreamResponse, bytesExpected: number): Promise<{ readonly chunks: number; readonly bytes: number }> {
  let bytes = 0;
  const most = { chunks: 0, bytes: 0 };
  const turn = { chunks: 0, bytes: 0 };
  const timer = { immediate: setImmediate(() => undefined) };
  const endTurn = (): void => {
    most.chunks = Math.max(most.chunks, turn.chunks);
    most.bytes = Math.max(most.bytes, turn.bytes);
    turn.chunks = 0;
    turn.bytes = 0;
    timer.immediate = setImmediate(endTurn);
  };
  endTurn();
  const failure = await response.readChunks((chunk) => {
    turn.chunks += 1;
    turn.bytes += chunk.length;
    bytes += chunk.length;
    return undefined;
  });
  clearImmediate(timer.immediate);
  assert.equal(failure, undefined);
  assert.equal(bytes, bytesExpected);
  return { chunks: Math.max(most.chunks, turn.chunks), bytes: Math.max(most.bytes, turn.bytes) };
}

for (const [name, create] of [...SOCKET_TRANSPORTS, ['fetch', createFetchTransport]] as const) {
  test(`${name}: a receiver that is content costs the connection where much more follows, and one that is so after a while too`, async (t) => {
    const more = 8 * 1024 * 1024;
    const server = await startRawServer(t, { onRequest: (socket) => void socket.write(CHUNKED_HEAD + chunkOf('all of it') + chunkOf('x'.repeat(more)) + LAST_CHUNK) });
    const transport = create();
    t.after(() => transport.close());
    for (const [calls, answer] of [[1, 'enough'], [2, Promise.resolve('enough' as const)]] as const) {
      const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(await response.readChunks(() => answer), undefined);
      await server.closed(calls);
    }
  });

  test(`${name}: a receiver that is content costs the connection where the end never comes`, async (t) => {
    const server = await startRawServer(t, { onRequest: (socket) => void socket.write(CHUNKED_HEAD + chunkOf('all of it')) });
    const transport = create();
    t.after(() => transport.close());
    const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
    assert.equal(await response.readChunks(() => 'enough'), undefined);
    await server.closed(1);
  });

  test(`${name}: a receiver that is content has the slot of its exchange to itself, whenever the end comes`, async (t) => {
    let end = (): void => undefined;
    const server = await startRawServer(t, {
      onRequest: (socket) => {
        end = () => void socket.end(LAST_CHUNK);
        socket.write(CHUNKED_HEAD + chunkOf('all of it'));
      },
    });
    const transport = create();
    t.after(() => transport.close());
    const scope = new Scope();
    const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
    assert.equal(await response.readChunks(() => 'enough'), undefined);
    let isTold = false;
    scope.onEnd(() => (isTold = true));
    end();
    await server.closed(1);
    scope.end('caller-gone');
    assert.equal(isTold, true);
  });

  test(`a body of ${PIECES} chunks over ${name} lets others have their turn after one read of the socket`, async (t) => {
    const wire = chunkOf('x').repeat(PIECES) + LAST_CHUNK;
    const response = await openResponse(t, (socket) => socket.write(CHUNKED_HEAD + wire), create());
    const { chunks } = await mostInTurn(response, PIECES);
    assert.ok(chunks <= PIECES_PER_READ, `${chunks} chunks in one turn`);
  });
}

for (const [name, create] of SOCKET_TRANSPORTS) {
  test(`a body of 16 MiB over ${name} lets others have their turn after a few reads of the socket`, async (t) => {
    const size = 16 * 1024 * 1024;
    const response = await openResponse(t, (socket) => socket.write(CHUNKED_HEAD + chunkOf('x'.repeat(size)) + LAST_CHUNK), create());
    const { bytes } = await mostInTurn(response, size);
    assert.ok(bytes <= BYTES_PER_TURN, `${bytes} bytes in one turn`);
  });
}

test('a body keeps its bytes, not its pieces', async () => {
  const block = Buffer.alloc(1_000_000, 'x');
  let grewBytes = 0;
  const response = {
    status: 200,
    headers: {},
    readChunks(onChunk: ChunkReceiver) {
      const before = process.memoryUsage().heapUsed;
      for (let at = 0; at < block.length; at += 1) onChunk(block.subarray(at, at + 1));
      grewBytes = process.memoryUsage().heapUsed - before;
      return Promise.resolve(undefined);
    },
  };
  assert.deepEqual(await collectBody(response, 'acme', block.length), block);
  assert.ok(grewBytes < 60_000_000, `${grewBytes} bytes of heap`);
});
