/** Callers that take their answer late or slowly: they get all of it, and hold nothing without end. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { bytesLeft } from '../../src/http/stall.ts';
import { TOKEN, user } from '../running-gateway.ts';
import { chunkFrame, GOOD_END, startRawGateway, until } from '../streams/wires.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { RawCaller } from './raw-caller.ts';

/** More than the kernel takes for a caller that reads nothing. */
const LONG_TEXT = 'x'.repeat(16 * 1024 * 1024);

function ask(path: string, headers = ''): string {
  const body = JSON.stringify({ model: 'm', messages: [user('x')] });
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

async function isRefused(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
}

for (const path of ['/v1/chat', '/v1/chat/stream']) {
  test(`a drain waits for a caller that is still taking its answer (${path})`, { timeout: 120_000 }, async (t) => {
    const message = { id: 'c', model: 'm', choices: [{ index: 0, message: { content: LONG_TEXT }, finish_reason: 'stop' }] };
    const answer = path === '/v1/chat' ? JSON.stringify(message) : chunkFrame({ content: LONG_TEXT }) + GOOD_END;
    const type = path === '/v1/chat' ? 'application/json' : 'text/event-stream';
    const { gateway } = await startRawGateway(t, {
      onRequest: (socket) => void socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`),
    });
    const caller = new RawCaller(t, gateway.url);
    caller.socket.once('data', () => caller.socket.pause());
    caller.write(ask(path));
    await until(() => caller.received !== '');
    const drained = gateway.app.drain();
    // Each connection that comes puts off the end of listening.
    while (!(await isRefused(gateway.url))) await pause(10);
    caller.socket.resume();
    assert.equal(await drained, true);
    await caller.closed;
    assert.ok(caller.received.length > LONG_TEXT.length, `${caller.received.length} bytes came`);
    assert.deepEqual(gateway.logLines.map((line) => line['ended']).filter((ended) => ended !== undefined), []);
  });
}

test('a CONNECT behind a stream does not stop it where its caller reads slowly', { timeout: 120_000 }, async (t) => {
  const frame = chunkFrame({ content: 'x'.repeat(1024 * 1024) });
  const answer = frame.repeat(16) + GOOD_END;
  const { gateway } = await startRawGateway(
    t,
    { onRequest: (socket) => void socket.end(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`) },
    { GATEWAY_WRITE_STALL_TIMEOUT: '5s' },
  );
  const caller = new RawCaller(t, gateway.url);
  caller.socket.once('data', () => caller.socket.pause());
  caller.write(`${ask('/v1/chat/stream')}CONNECT elsewhere:443 HTTP/1.1\r\nHost: x\r\n\r\n`);
  await until(() => caller.received !== '');
  // It writes until the kernel takes no more, which nothing tells of.
  await new Promise((resolve) => setTimeout(resolve, 200));
  caller.socket.resume();
  await caller.closed;
  assert.ok(caller.received.length > answer.length, `${caller.received.length} bytes came`);
  assert.match(caller.received.slice(-1000), /HTTP\/1\.1 400 /);
});

test('bytesLeft falls while a caller takes one long write over TLS', { timeout: 120_000 }, async (t) => {
  const server = createServer(createCertificate(), (_request, response) => void response.end(LONG_TEXT));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const caller = connectTls({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', rejectUnauthorized: false });
  t.after(() => {
    caller.destroy();
    server.close();
    server.closeAllConnections();
  });
  caller.on('error', () => undefined);
  caller.pause().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [request] = (await once(server, 'request')) as [{ readonly socket: Socket }];
  // Until the kernel takes no more, which nothing tells of.
  for (let before = -1; before !== bytesLeft(request.socket); await new Promise((resolve) => setTimeout(resolve, 200))) before = bytesLeft(request.socket);
  const left = bytesLeft(request.socket);
  caller.resume();
  while (bytesLeft(request.socket) === left) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(request.socket.writableLength > 0, 'the whole write was over before');
});
