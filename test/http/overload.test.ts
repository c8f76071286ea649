/** More than fits: places, the event loop, and bodies that cost as much as their size allows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLargeJson } from '../../src/base/json/parse.ts';
import { largeUtf8Text } from '../../src/base/utf8.ts';
import { decodeChatRequest } from '../../src/callers/native/request.ts';
import { decodeChatCompletions } from '../../src/callers/openai-chat/request.ts';
import { Failure } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import type { WholeReply } from '../../src/gateway/gateway.ts';
import { Admission, LoopHealth, watchEventLoop } from '../../src/http/admission.ts';
import { limitStall } from '../../src/http/stall.ts';
import type { Watched } from '../../src/http/stall.ts';
import { CALLER_FORMATS, COSTLY_BODIES } from '../costly-bodies.ts';
import { holdReplies, startGateway, TOKEN, user } from '../running-gateway.ts';
import type { ReplyBody, RunningGateway } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';
import { completing, startServer } from './bare-server.ts';
import { RawCaller } from './raw-caller.ts';

function post(path: string, model: string): string {
  const body = JSON.stringify({ model, messages: [user('x')] });
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

async function metric(gateway: RunningGateway, name: string): Promise<string | undefined> {
  const page = await (await gateway.get('/metrics')).text();
  return page.split('\n').find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
}

test('Admission gives out as many places as there are, and each again once it was given back', () => {
  const admission = new Admission(2, () => false);
  assert.deepEqual([admission.enter(), admission.enter(), admission.enter()], [undefined, undefined, 'concurrency']);
  admission.leave();
  assert.equal(admission.count, 1);
  assert.deepEqual([admission.enter(), admission.enter()], [undefined, 'concurrency']);
});

test('Admission gives out no place while the event loop is overloaded, without taking one', () => {
  let isOverloaded = true;
  const admission = new Admission(undefined, () => isOverloaded);
  assert.equal(admission.enter(), 'event_loop');
  assert.equal(admission.count, 0);
  isOverloaded = false;
  assert.equal(admission.enter(), undefined);
});

test('LoopHealth is overloaded after three late looks in a row, until a good one', () => {
  const histories: readonly (readonly [delays: readonly number[], isOverloaded: boolean])[] = [
    [[], false],
    [[0, 20, 30], false],
    [[501, 501], false],
    [[501, 501, 501], true],
    [[500, 500, 500, 500], false],
    [[5000, 5000, 20, 5000, 5000], false],
    [[600, 600, 400, 600], false],
    [[600, 600, 600, 400], true],
    [[600, 600, 600, 250], true],
    [[600, 600, 600, 249], false],
    [[600, 600, 600, 20, 600, 600], false],
    [[600, 600, 600, 20, 600, 600, 600], true],
    [[600, 600, 600, NaN], true],
  ];
  for (const [delays, isOverloaded] of histories) {
    const health = new LoopHealth();
    for (const delayMs of delays) health.observe(delayMs);
    assert.equal(health.isOverloaded, isOverloaded, delays.join());
  }
});

test('watchEventLoop feeds what it measures, until it is stopped', async () => {
  const health = new LoopHealth();
  const seen: number[] = [];
  await new Promise<void>((resolve) => {
    health.observe = (delayMs) => {
      seen.push(delayMs);
      resolve();
    };
    const stop = watchEventLoop(health);
    // The watch does not keep a process alive; something else has to.
    const alive = setInterval(() => {
      if (seen.length === 0) return;
      stop();
      clearInterval(alive);
    }, 10);
  });
  assert.ok((seen[0] ?? -1) >= 0);
});

test('while the event loop is overloaded chats get 429 with Retry-After and a reason of their own, and probes go on', async (t) => {
  const server = await startServer(t, { admission: new Admission(undefined, () => true) });
  for (const path of ['/v1/chat', '/v1/chat/stream']) {
    const [answer] = await new RawCaller(t, server.url).write(post(path, 'm')).answered();
    assert.equal(answer?.status, 429);
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.equal((JSON.parse(answer.body) as ReplyBody).kind, 'rate_limit');
  }
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
  assert.match(server.metricsPage(), /gateway_requests_refused_total\{reason="event_loop"\} 2\n/);
});

test('the excess is refused without its body being read, and what was admitted is served', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_CONCURRENT: '10' });
  const release = holdReplies(gateway.sandbox);
  const admitted = Array.from({ length: 10 }, () => new RawCaller(t, gateway.url).write(post('/v1/chat', 'held')));
  await until(() => gateway.sandbox.calls.length === 10);
  const head = `POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 10000000\r\n\r\n`;
  const refused = Array.from({ length: 40 }, () => new RawCaller(t, gateway.url).write(head));
  for (const caller of refused) assert.equal((await caller.answered())[0]?.status, 429);
  release();
  for (const caller of admitted) assert.equal((await caller.answered())[0]?.status, 200);
  assert.equal(await metric(gateway, 'gateway_requests_refused_total{reason="concurrency"}'), '40');
  assert.equal(gateway.sandbox.calls.length, 10);
});

test('a refused caller keeps its connection and is served on it once there is room', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_CONCURRENT: '1' });
  const release = holdReplies(gateway.sandbox);
  const first = new RawCaller(t, gateway.url).write(post('/v1/chat', 'held'));
  await until(() => gateway.sandbox.calls.length === 1);
  const second = new RawCaller(t, gateway.url).write(post('/v1/chat', 'fake-chat'));
  assert.equal((await second.answered())[0]?.status, 429);
  release();
  await first.answered();
  second.write(post('/v1/chat', 'fake-chat'));
  assert.equal((await second.answered(2))[1]?.status, 200);
});

const LARGE_REPLY: WholeReply = {
  reply: { id: 'a', model: 'm', parts: [{ type: 'text', text: 'x'.repeat(16 * 1024 * 1024), state: undefined }], stopReason: 'end_turn', usage: undefined, thinking: '' },
  raw: '{}',
};

test('a place is held until its answer was taken or its caller is gone', async (t) => {
  const server = await startServer(t, { gateway: { complete: completing(() => LARGE_REPLY) }, environment: { GATEWAY_MAX_CONCURRENT: '2' } });
  const takers = Array.from({ length: 2 }, () => new RawCaller(t, server.url).write(post('/v1/chat', 'm')));
  for (const taker of takers) taker.socket.pause();
  await until(() => server.admission.count === 2);
  const refused = Array.from({ length: 38 }, () => new RawCaller(t, server.url).write(post('/v1/chat', 'm')));
  for (const caller of refused) assert.equal((await caller.answered())[0]?.status, 429);
  assert.equal(server.admission.count, 2);
  takers[0]?.socket.destroy();
  await until(() => server.admission.count === 1);
  takers[1]?.socket.resume();
  await until(() => server.admission.count === 0);
  assert.match(server.metricsPage(), /\ngateway_requests_in_flight 0\n/);
});

test('a list of models takes a place', async (t) => {
  let answer: (models: readonly []) => void = () => undefined;
  const models = (): Promise<readonly []> => new Promise((resolve) => (answer = resolve));
  const server = await startServer(t, { gateway: { models }, environment: { GATEWAY_MAX_CONCURRENT: '1' } });
  const get = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
  const first = new RawCaller(t, server.url).write(get);
  await until(() => server.admission.count === 1);
  assert.equal((await new RawCaller(t, server.url).write(get).answered())[0]?.status, 429);
  answer([]);
  assert.equal((await first.answered())[0]?.status, 200);
  await until(() => server.admission.count === 0);
});

test('a caller that takes nothing of a whole reply is cut off', { timeout: 120_000 }, async (t) => {
  const server = await startServer(t, { gateway: { complete: completing(() => LARGE_REPLY) }, environment: { GATEWAY_WRITE_STALL_TIMEOUT: '200ms' } });
  const deaf = new RawCaller(t, server.url).write(post('/v1/chat', 'm'));
  deaf.socket.pause();
  await until(() => server.logLines.some((line) => line['ended'] === 'caller-stalled'));
  assert.deepEqual(server.logLines.map((line) => line['limit']), ['GATEWAY_WRITE_STALL_TIMEOUT']);
  assert.match(server.metricsPage(), /gateway_limits_total\{limit="GATEWAY_WRITE_STALL_TIMEOUT"\} 1\n/);
  assert.equal(server.admission.count, 0);
});

test('of an answer that is not taken no more is held than its bytes', async (t) => {
  const server = await startServer(t, { gateway: { complete: completing(() => LARGE_REPLY) } });
  const before = process.memoryUsage().arrayBuffers;
  const deaf = new RawCaller(t, server.url).write(post('/v1/chat', 'm'));
  deaf.socket.once('data', () => deaf.socket.pause());
  await until(() => deaf.received !== '');
  // The text is there twice: as `text` and in the message.
  const held = process.memoryUsage().arrayBuffers - before;
  assert.ok(held < 1.5 * 32 * 1024 * 1024, `${held} bytes are held`);
});

test('a long answer of characters that take two bytes each comes whole', async (t) => {
  const text = 'ä'.repeat(1024 * 1024);
  const reply = { ...LARGE_REPLY.reply, parts: [{ type: 'text', text, state: undefined }] } as const;
  const server = await startServer(t, { gateway: { complete: completing(() => ({ reply, raw: '{}' })) } });
  const [answer] = await new RawCaller(t, server.url).write(post('/v1/chat', 'm')).answered();
  const body = JSON.parse(Buffer.from(answer?.body ?? '', 'latin1').toString('utf8')) as ReplyBody;
  assert.equal(body.text, text);
});

test('a caller that takes its answer for longer than a request may take is cut off', { timeout: 120_000 }, async (t) => {
  const server = await startServer(t, { gateway: { complete: completing(() => LARGE_REPLY) }, environment: { GATEWAY_REQUEST_TIMEOUT: '300ms' } });
  const slow = new RawCaller(t, server.url).write(post('/v1/chat', 'm'));
  slow.socket.pause();
  await until(() => server.logLines.some((line) => line['ended'] === 'deadline'));
  assert.deepEqual(server.logLines.map((line) => line['limit']), ['GATEWAY_REQUEST_TIMEOUT']);
  assert.equal(server.admission.count, 0);
});

/** A caller's socket as `limitStall` sees it. */
function createSlowExchange(): { exchange: Watched; socket: { writableLength: number; _handle: { writeQueueSize: number } }; scope: Scope } {
  const socket = { writableLength: 8_000_000, _handle: { writeQueueSize: 8_000_000 } };
  const scope = new Scope();
  const exchange = { request: { socket }, response: { destroy: () => undefined }, scope } as unknown as Watched;
  return { exchange, socket, scope };
}

test('limitStall lets a caller be that takes a little of one long write in each limit, and ends one that stops', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { exchange, socket, scope } = createSlowExchange();
  limitStall(exchange, 1000);
  for (let taken = 0; taken < 50; taken += 1) {
    t.mock.timers.tick(750);
    socket._handle.writeQueueSize -= 10_000;
    t.mock.timers.tick(250);
    assert.equal(scope.ended, undefined);
  }
  t.mock.timers.tick(999);
  assert.equal(scope.ended, undefined);
  t.mock.timers.tick(1);
  assert.equal(scope.ended, 'caller-stalled');
});

test('limitStall ends nothing once it was stopped', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { exchange, scope } = createSlowExchange();
  const stop = limitStall(exchange, 1000);
  t.mock.timers.tick(999);
  stop();
  t.mock.timers.tick(5000);
  assert.equal(scope.ended, undefined);
});

test('a caller that takes nothing but goes on sending is cut off too', { timeout: 120_000 }, async (t) => {
  const server = await startServer(t, { gateway: { complete: completing(() => LARGE_REPLY) }, environment: { GATEWAY_WRITE_STALL_TIMEOUT: '400ms' } });
  const caller = new RawCaller(t, server.url).write(post('/v1/chat', 'm'));
  caller.socket.pause();
  const drip = setInterval(() => caller.write('G'), 50);
  t.after(() => clearInterval(drip));
  await until(() => server.logLines.some((line) => line['ended'] === 'caller-stalled'));
});

test('connections beyond GATEWAY_MAX_CONNECTIONS are closed at once, counted, and said once a second; the others are served', async (t) => {
  const server = await startServer(t, { environment: { GATEWAY_MAX_CONNECTIONS: '3' } });
  const callers = Array.from({ length: 3 }, () => new RawCaller(t, server.url).write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'));
  for (const caller of callers) await caller.answered();
  for (let i = 0; i < 4; i += 1) await new RawCaller(t, server.url).closed;
  assert.match(server.metricsPage(), /\ngateway_connections_dropped_total 4\n/);
  const said = server.logLines.filter((line) => line['level'] === 'error').map((line) => line['message']);
  assert.equal(said[0], 'connections cannot be accepted (GATEWAY_MAX_CONNECTIONS)');
  assert.ok(said.length < 4);
  const [, again] = await (callers[0] as RawCaller).write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n').answered(2);
  assert.equal(again?.status, 200);
});

test('after a storm of requests that end in every way, every place is free', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_CONCURRENT: '20', GATEWAY_MAX_RETRIES: '1' });
  const models = ['fake-chat', 'fake-stall', 'fake-stall-mid', 'fake-reset', 'fake-status-500', 'fake-truncate', 'fake-flood', 'fake-malformed'];
  const callers = Array.from({ length: 320 }, (_, i) => {
    const caller = new RawCaller(t, gateway.url);
    caller.socket.on('data', () => {
      // Some hang up as soon as they hear something.
      if (i % 5 === 0) caller.socket.destroy();
    });
    const text = post(i % 2 === 0 ? '/v1/chat' : '/v1/chat/stream', models[i % models.length] ?? '');
    return caller.write(i % 7 === 0 ? text.slice(0, -5) : text);
  });
  await until(() => gateway.logLines.filter((line) => line['status'] !== undefined).length >= 100);
  for (const caller of callers) caller.socket.destroy();
  await until(() => gateway.logLines.filter((line) => String(line['route']).startsWith('chat')).length === callers.length);
  assert.equal(await metric(gateway, 'gateway_requests_in_flight'), '0');
  assert.equal(await metric(gateway, 'gateway_open_streams'), '0');
  const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.post('/v1/chat', { model: 'fake-chat', messages: [user('x')] })));
  assert.deepEqual(answers.map((answer) => answer.status), Array.from({ length: 20 }, () => 200));
});

/** What is said of each that is refused. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'nested arrays': /nesting beyond 100 levels/,
  'nested arrays, closed': /nesting beyond 100 levels/,
  'nested objects': /nesting beyond 100 levels/,
  'empty arrays': /more than 100000 values/,
  'empty objects': /more than 100000 values/,
  'empty strings': /more than 100000 values/,
  'numbers': /more than 100000 values/,
  'tiny keys': /more than 100000 values/,
  'one key again and again': /more than 100000 values/,
  'integer-like keys': /more than 100000 values/,
  'one number': /a number of more than 4096 characters/,
  'a last bad escape': /an invalid escape/,
  'a last backslash': /unexpected end of the text/,
  'invalid UTF-8 at the end': /not UTF-8/,
};

test('a body that would cost much more than its size is refused, any other is served, whether it is parsed at once or step by step', async () => {
  for (const [name, bodyOf] of Object.entries(COSTLY_BODIES)) {
    const [atOnce, stepwise] = [CALLER_FORMATS.native, CALLER_FORMATS.chat].map((format) => bodyOf(format, { provider: 'compat', model: 'm' }, 1024 * 1024));
    const text = await largeUtf8Text(stepwise ?? assert.fail(), async () => {});
    const parsed = text === undefined ? stepwise : await parseLargeJson(text, async () => {});
    for (const request of [decodeChatRequest(atOnce ?? assert.fail()), decodeChatCompletions(parsed ?? assert.fail())]) {
      const sentence = REFUSED[name];
      if (sentence === undefined) assert.ok(!(request instanceof Failure), `${name}: ${request instanceof Failure ? request.message : ''}`);
      else assert.match(request instanceof Failure ? request.message : 'served', sentence, name);
    }
  }
});
