/** Connections to providers that close, speak out of turn, or come in crowds. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import { okResponse, startRawServer } from '../upstream/raw-server.ts';
import { answerJson, environmentFor, GOOD_REPLY, inParallel, PATHS, startUpstream } from './upstream.ts';

const REQUEST = { provider: 'openai', model: 'm', messages: [user('x')] };

test('no caller sees that idle connections are closed at the moment of its request: 800 requests, no retry', async (t) => {
  const close: readonly ((socket: Socket) => void)[] = [(socket) => socket.end(), (socket) => socket.resetAndDestroy(), (socket) => socket.destroy()];
  let answers = 0;
  const server = await startRawServer(t, {
    onRequest: (socket, { numberOnConnection }) => {
      // Half of the connections close as a second request arrives on them, the others in the turns after an answer, in which one is sent.
      if (numberOnConnection > 1) {
        close[answers % 3]?.(socket);
        return;
      }
      answers += 1;
      socket.write(okResponse(GOOD_REPLY));
      // In order: a reset could overtake the answer.
      if (answers % 2 === 0) endAfterTurns(socket, answers % 7);
    },
  });
  const gateway = await startGateway(t, { OPENAI_BASE_URL: server.baseUrl.origin, GATEWAY_MAX_RETRIES: '0' });
  await inParallel(800, 4, async () => {
    const reply = await gateway.chat(REQUEST);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
  });
  assert.equal(answers, 800);
  assert.ok(server.requests.length > 850, `only ${server.requests.length - 800} requests met a connection that was closing`);
});

function endAfterTurns(socket: Socket, turns: number): void {
  if (turns === 0) socket.end();
  else setImmediate(() => endAfterTurns(socket, turns - 1));
}

test('an answer that nobody asked for on an idle connection reaches no caller: 300 requests', async (t) => {
  const server = await startRawServer(t, {
    onRequest: (socket, { body }) => {
      const mark = /mark-\d+/.exec(body)?.[0] ?? '';
      socket.write(okResponse(GOOD_REPLY.replace('Good.', mark)), () => {
        setImmediate(() => socket.write(okResponse(GOOD_REPLY.replace('Good.', 'poison'))));
      });
    },
  });
  const gateway = await startGateway(t, { OPENAI_BASE_URL: server.baseUrl.origin });
  await inParallel(300, 3, async (index) => {
    const reply = await gateway.chat({ ...REQUEST, messages: [user(`mark-${index}`)] });
    assert.deepEqual([reply.status, reply.body.text], [200, `mark-${index}`]);
  });
});

test('a crowd of requests leaves no more than the idle connections that are kept', async (t) => {
  const waiting: (() => void)[] = [];
  const CROWD = 400;
  const upstream = await startUpstream(t, (response) => {
    waiting.push(() => answerJson(response, 200, GOOD_REPLY));
    // All of them are open at once before the first is answered.
    if (waiting.length === CROWD) for (const answer of waiting) answer();
  });
  const gateway = await startGateway(t, environmentFor(upstream));
  await inParallel(CROWD, CROWD, async () => assert.equal((await gateway.chat(REQUEST)).status, 200));
  assert.equal(upstream.connections(), CROWD);
  await settled(gateway, 256);
});

test('connections of answers that are thrown away are closed, or read to their end and kept', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0' });
  const models = ['fake-status-500', 'fake-html', 'fake-204', 'fake-101', 'fake-redirect', 'fake-gzip', 'fake-huge', 'fake-truncate', 'fake-wrong-shape', 'fake-reset-mid'];
  for (const path of PATHS) {
    for (const model of models) await (await gateway.post(path, { ...REQUEST, model })).text();
  }
  await settled(gateway, 1);
  while (gateway.sandbox.openConnections() > 1) await new Promise(setImmediate);
});

/** Resolves once no more than `socketsMax` connections to providers are open. */
async function settled(gateway: Awaited<ReturnType<typeof startGateway>>, socketsMax: number): Promise<void> {
  for (let sockets = Infinity; sockets > socketsMax; ) {
    const page = await (await gateway.get('/metrics')).text();
    sockets = Number(/^gateway_upstream_sockets (\d+)$/m.exec(page)?.[1]);
  }
}
