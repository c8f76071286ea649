/** Many requests on one connection: served one at a time, answered in their order, each with its own answer. */

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { UpstreamCall } from '../../src/core/adapter.ts';
import type { WholeReply } from '../../src/gateway/gateway.ts';
import { Connection } from '../../src/http/connection.ts';
import { sentText } from '../sent-text.ts';
import { startGateway, TOKEN, user } from '../running-gateway.ts';
import type { ReplyBody } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';
import { completing, startServer } from './bare-server.ts';
import type { BareServer } from './bare-server.ts';
import { RawCaller, sendRaw } from './raw-caller.ts';

const AUTH = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const HEALTH = `GET /healthz HTTP/1.1\r\n${AUTH}\r\n`;

function chat(model: string, path = '/v1/chat', headers = ''): string {
  const body = JSON.stringify({ model, messages: [user('x')] });
  return `POST ${path} HTTP/1.1\r\n${AUTH}${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

function replyOf(model: string, text = 'x'): WholeReply {
  return { reply: { id: 'a', model, parts: [{ type: 'text', text, state: undefined }], stopReason: 'end_turn', usage: undefined, thinking: '' }, raw: '{}' };
}

function modelOf(call: UpstreamCall): string {
  return (JSON.parse(sentText(call)) as { model: string }).model;
}

/** A gateway whose chats are answered when a test says so. */
class HeldChats {
  /** The models asked for, in their order. */
  readonly asked: string[] = [];
  readonly #release: (() => void)[] = [];

  readonly complete = completing(async (call) => {
    const model = modelOf(call);
    this.asked.push(model);
    await new Promise<void>((resolve) => this.#release.push(resolve));
    return replyOf(model);
  });

  answer(): void {
    this.#release.shift()?.();
  }
}

async function startHeld(t: TestContext, limits?: Parameters<typeof startServer>[1]['limits']): Promise<{ server: BareServer; chats: HeldChats }> {
  const chats = new HeldChats();
  const server = await startServer(t, { gateway: { complete: chats.complete }, ...(limits === undefined ? {} : { limits }) });
  return { server, chats };
}

test('a hundred pipelined requests are answered in their order', async (t) => {
  const gateway = await startGateway(t);
  const asked = Array.from({ length: 100 }, (_, i) => (i % 3 === 0 ? `fake-late-${(i * 7) % 20}` : i % 3 === 1 ? 'fake-chat' : ''));
  const requests = asked.map((model) => (model === '' ? HEALTH : chat(model)));
  const answers = await new RawCaller(t, gateway.url).write(requests.join('')).answered(100);
  const got = answers.map(({ status, body }) => [status, (JSON.parse(body) as ReplyBody).model ?? '']);
  assert.deepEqual(got, asked.map((model) => [200, model]));
});

test('3,000 pipelined chats are one call at a time, and each answer is that of its request', { timeout: 120_000 }, async (t) => {
  let underWay = 0;
  let mostUnderWay = 0;
  const complete = completing(async (call) => {
    underWay += 1;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return replyOf(modelOf(call));
  });
  const server = await startServer(t, { gateway: { complete } });
  const models = Array.from({ length: 3000 }, (_, i) => `model-${i}`);
  const caller = new RawCaller(t, server.url).write(models.map((model) => chat(model)).join('') + `GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await caller.closed;
  const got = caller.answers.map(({ body }) => (JSON.parse(body) as ReplyBody).model);
  assert.deepEqual(got, [...models, undefined]);
  assert.equal(mostUnderWay, 1);
});

test('what waits behind a request is bounded, and all of it is answered', { timeout: 120_000 }, async (t) => {
  const { server, chats } = await startHeld(t);
  let read = 0;
  server.server.server.on('request', () => (read += 1));
  const short = `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Padding: ${'x'.repeat(100)}\r\n\r\n`;
  const count = 20_000;
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  let answers = 0;
  socket.setEncoding('latin1').on('data', (text: string) => (answers += text.split('HTTP/1.1 200').length - 1));
  socket.write(chat('held') + short.repeat(count));
  await until(() => chats.asked.length === 1);
  // Nothing says that reading has stopped: it gets no further for a while.
  for (let before = -1; before !== read; await new Promise((resolve) => setTimeout(resolve, 100))) before = read;
  assert.ok(read <= 33 + 2 * Math.ceil((64 * 1024) / short.length), `${read} requests were read`);
  chats.answer();
  // A status line may be split between two pieces of text.
  await until(() => answers >= count * 0.99 && server.exchanges.count === 0 && read === count + 1);
});

test('a connection that pipelines thousands of the shortest requests behind a chat is closed', async (t) => {
  const { server, chats } = await startHeld(t);
  const flood = new RawCaller(t, server.url).write(chat('held') + 'GET / HTTP/1.1\r\n\r\n'.repeat(20_000));
  await flood.closed;
  chats.answer();
  await until(() => server.exchanges.count === 0);
  assert.deepEqual(server.logLines.map((line) => line['ended']), ['caller-gone']);
});

test('a broken request, or CONNECT, behind a chat is answered after it, and the connection closed', async (t) => {
  const behind = {
    garbage: 'NONSENSE\r\n\r\nMORE\r\n\r\n',
    'a CONNECT': `CONNECT elsewhere:443 HTTP/1.1\r\n${AUTH}\r\nbytes for elsewhere`,
    'a broken body': `POST /v1/chat HTTP/1.1\r\n${AUTH}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    'a large header': `GET /healthz HTTP/1.1\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
  };
  for (const [name, text] of Object.entries(behind)) {
    const { server, chats } = await startHeld(t);
    const caller = new RawCaller(t, server.url).write(chat('first') + chat('second') + text);
    for (const model of ['first', 'second']) {
      await until(() => chats.asked.at(-1) === model);
      assert.equal(caller.answers.some(({ status }) => status >= 400), false, name);
      chats.answer();
    }
    await caller.closed;
    assert.deepEqual(caller.answers.map(({ status }) => status), [200, 200, name === 'a large header' ? 431 : 400], name);
    assert.equal(server.exchanges.count, 0);
  }
});

test('a hang-up is noticed behind a broken request or CONNECT too, and behind half a request', async (t) => {
  const behind = [
    'NONSENSE\r\n\r\n',
    `CONNECT elsewhere:443 HTTP/1.1\r\n${AUTH}\r\n`,
    `CONNECT elsewhere:443 HTTP/1.1\r\n${AUTH}\r\n${'x'.repeat(200_000)}`,
    `POST /v1/chat HTTP/1.1\r\n${AUTH}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `GET /healthz HTTP/1.1\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
    'GET /heal',
  ];
  const gateway = await startGateway(t);
  for (const [i, text] of behind.entries()) {
    const caller = new RawCaller(t, gateway.url).write(chat('fake-stall') + text);
    await until(() => gateway.sandbox.calls.length === i + 1);
    caller.socket.end();
    await until(() => gateway.logLines.filter((line) => line['ended'] === 'caller-gone').length === i + 1);
    await caller.closed;
  }
  await until(() => gateway.sandbox.openConnections() === 0);
});

test('an upgrade behind a chat is answered as it is, after it', async (t) => {
  const { server, chats } = await startHeld(t);
  const caller = new RawCaller(t, server.url).write(`${chat('first')}GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n`);
  await until(() => chats.asked.length === 1);
  chats.answer();
  await caller.closed;
  assert.deepEqual(caller.answers.map(({ status }) => status), [200, 200]);
});

test('what is behind an answer that ends the connection is dropped', async (t) => {
  const { server, chats } = await startHeld(t);
  const last = `GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  assert.deepEqual((await sendRaw(t, server.url, last + chat('never'))).map(({ status }) => status), [404]);
  await until(() => server.logLines.length === 1);
  assert.deepEqual([chats.asked, server.exchanges.count], [[], 0]);
});

test('Connection serves nothing any more once it has dropped something', async () => {
  const socket = { writable: true };
  const connection = new Connection(socket as unknown as Duplex);
  const request = {} as IncomingMessage;
  const served: string[] = [];
  let finish = (): void => undefined;
  connection.take(request, () => {
    served.push('first');
    return new Promise((resolve) => (finish = resolve));
  });
  const serve = (name: string) => async (): Promise<void> => void served.push(name);
  connection.take(request, serve('second'));
  socket.writable = false;
  finish();
  await new Promise((resolve) => setImmediate(resolve));
  connection.take(request, serve('third'));
  assert.deepEqual(served, ['first']);
});

test('a hang-up ends the request that is served and drops those behind it', async (t) => {
  const gateway = await startGateway(t);
  const caller = new RawCaller(t, gateway.url);
  caller.write(chat('fake-stall') + chat('fake-stall-mid', '/v1/chat/stream') + HEALTH + chat('fake-chat'));
  await until(() => gateway.sandbox.calls.length === 1);
  caller.socket.destroy();
  await until(() => gateway.logLines.some((line) => line['ended'] === 'caller-gone'));
  await until(() => gateway.sandbox.openConnections() === 0);
  assert.match(await (await gateway.get('/metrics')).text(), /\ngateway_requests_in_flight 0\n/);
  assert.equal(await gateway.app.drain(), true);
  assert.equal(gateway.sandbox.calls.length, 1);
});

test('the time that a request waits for its turn does not count as the time it took to send', async (t) => {
  const { server, chats } = await startHeld(t, { headMs: 400, requestMs: 400, checkIntervalMs: 20 });
  const timedOut = new Promise((resolve) => server.server.server.once('clientError', resolve));
  const caller = new RawCaller(t, server.url).write(chat('first') + HEALTH.slice(0, 20));
  await until(() => chats.asked.length === 1);
  await timedOut;
  chats.answer();
  await caller.answered(1);
  caller.write(HEALTH.slice(20));
  assert.deepEqual((await caller.answered(2)).map(({ status }) => status), [200, 200]);
});

test('requests that wait for 100 Continue get it when their turn comes', async (t) => {
  const { server, chats } = await startHeld(t);
  const second = chat('second', '/v1/chat', 'Expect: 100-continue\r\n');
  const caller = new RawCaller(t, server.url).write(chat('first') + second);
  await until(() => chats.asked.length === 1);
  assert.equal(caller.received, '');
  chats.answer();
  await until(() => chats.asked.length === 2);
  chats.answer();
  assert.deepEqual((await caller.answered(3)).map(({ status }) => status), [200, 100, 200]);
});

test('an HTTP/1.0 connection is kept where its caller asks for that, and closed where it does not', async (t) => {
  const server = await startServer(t, {});
  const kept = 'GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n';
  const answers = await sendRaw(t, server.url, `${kept}${kept}GET /healthz HTTP/1.0\r\n\r\n${HEALTH}`);
  assert.deepEqual(answers.map(({ status, headers }) => [status, headers.get('connection')]), [[200, 'keep-alive'], [200, 'keep-alive'], [200, 'close']]);
});

test('a request in the middle of a pipeline that asks for the end of the connection is the last that is answered', async (t) => {
  const { server, chats } = await startHeld(t);
  const caller = new RawCaller(t, server.url).write(chat('first') + chat('last', '/v1/chat', 'Connection: close\r\n') + chat('never'));
  for (const model of ['first', 'last']) {
    await until(() => chats.asked.at(-1) === model);
    chats.answer();
  }
  await caller.closed;
  assert.deepEqual(caller.answers.map(({ body }) => (JSON.parse(body) as ReplyBody).model), ['first', 'last']);
  assert.deepEqual([chats.asked, server.exchanges.count], [['first', 'last'], 0]);
});
