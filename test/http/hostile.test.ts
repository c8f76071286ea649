/** Callers of any shape: what is not HTTP, what could be read in two ways, what comes too slowly or never. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import type { Gateway } from '../../src/gateway/gateway.ts';
import type { StreamSink } from '../../src/gateway/pipe-stream.ts';
import { startGateway, TOKEN, user } from '../running-gateway.ts';
import type { ReplyBody } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';
import { startServer } from './bare-server.ts';
import { RawCaller, sendRaw } from './raw-caller.ts';
import type { RawAnswer } from './raw-caller.ts';

const AUTH = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const POST = `POST /v1/chat HTTP/1.1\r\n${AUTH}`;

function bodyFor(model: string): string {
  return JSON.stringify({ model, messages: [user('x')] });
}

const BODY = bodyFor('fake-chat');
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

function post(path: string, body: string, headers = ''): string {
  return `POST ${path} HTTP/1.1\r\n${AUTH}${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

function kindOf(answer: RawAnswer | undefined): string | undefined {
  return (JSON.parse(answer?.body ?? '{}') as ReplyBody).kind;
}

/** Every one would reach a provider if it were read the other way. */
const MALFORMED: Readonly<Record<string, readonly [status: number, text: string]>> = {
  'Content-Length before Transfer-Encoding': [400, `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`],
  'Transfer-Encoding before Content-Length': [400, `${POST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${CHUNKED}`],
  'an unknown coding': [400, `${POST}Transfer-Encoding: xchunked\r\n\r\n${CHUNKED}`],
  'a quoted coding': [400, `${POST}Transfer-Encoding: "chunked"\r\n\r\n${CHUNKED}`],
  'chunked not last': [400, `${POST}Transfer-Encoding: chunked, identity\r\n\r\n${CHUNKED}`],
  'identity before chunked': [400, `${POST}Transfer-Encoding: identity, chunked\r\n\r\n${CHUNKED}`],
  'gzip before chunked': [400, `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNKED}`],
  'chunked twice': [400, `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`],
  'two codings in two headers': [400, `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${CHUNKED}`],
  'a space before the colon': [400, `${POST}Transfer-Encoding : chunked\r\n\r\n${CHUNKED}`],
  'a vertical tab before the coding': [400, `${POST}Transfer-Encoding:\x0bchunked\r\n\r\n${CHUNKED}`],
  'a folded coding': [400, `${POST}Transfer-Encoding:\r\n chunked\r\n\r\n${CHUNKED}`],
  'chunked in HTTP/1.0': [400, `${POST.replace('1.1', '1.0')}Transfer-Encoding: chunked\r\n\r\n${CHUNKED}`],
  'a folded header': [400, `${POST}X: a\r\n b\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'a folded token': [400, `POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer\r\n ${TOKEN}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'line feeds alone': [400, `${POST}Content-Length: ${BODY.length}\r\n\r\n`.replaceAll('\r\n', '\n') + BODY],
  'one line feed alone': [400, `${POST}X: a\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'a carriage return alone': [400, `${POST}X: a\rContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'a NUL in a header': [400, `${POST}X: a\0b\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'a space in a header name': [400, `${POST}Bad Header: 1\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'two lengths': [400, `${POST}Content-Length: 3\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'the same length twice': [400, `${POST}Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'a list of lengths': [400, `${POST}Content-Length: ${BODY.length}, ${BODY.length}\r\n\r\n${BODY}`],
  'a signed length': [400, `${POST}Content-Length: +${BODY.length}\r\n\r\n${BODY}`],
  'a negative length': [400, `${POST}Content-Length: -1\r\n\r\n${BODY}`],
  'a hexadecimal length': [400, `${POST}Content-Length: 0x10\r\n\r\n${BODY}`],
  'an empty length': [400, `${POST}Content-Length: \r\n\r\n${BODY}`],
  'a length beyond 64 bits': [400, `${POST}Content-Length: 99999999999999999999999\r\n\r\n${BODY}`],
  'a chunk size that is none': [400, `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n${BODY}\r\n0\r\n\r\n`],
  'a chunk size beyond 64 bits': [400, `${POST}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`],
  'chunks with line feeds alone': [400, `${POST}Transfer-Encoding: chunked\r\n\r\n${CHUNKED.replaceAll('\r\n', '\n')}`],
  'a chunk longer than it says': [400, `${POST}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}0\r\n\r\n`],
  'a line feed in a chunk extension': [400, `${POST}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)};a\nb\r\n${BODY}\r\n0\r\n\r\n`],
  'large chunk extensions': [413, `${POST}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)};${'a'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`],
  'large trailers': [431, `${POST}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\nX: ${'z'.repeat(20_000)}\r\n\r\n`],
  'a large header': [431, `${POST}X: ${'y'.repeat(20_000)}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'a large target': [431, `POST /v1/chat?${'y'.repeat(20_000)} HTTP/1.1\r\n${AUTH}Content-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'two hosts': [400, post('/v1/chat', BODY, 'Host: y\r\n')],
  'two tokens': [400, post('/v1/chat', BODY, 'Authorization: Bearer other\r\n')],
  'two content types': [400, post('/v1/chat', BODY, 'Content-Type: a/b\r\nContent-Type: a/c\r\n')],
  'two content encodings': [400, post('/v1/chat', BODY, 'Content-Encoding: identity\r\nContent-Encoding: gzip\r\n')],
  'a second token after thousands of headers': [400, post('/v1/chat', BODY, `${'a:\r\n'.repeat(3000)}Authorization: Bearer other\r\n`)],
  'no host': [400, `POST /v1/chat HTTP/1.1\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
  'an absolute target': [400, post('http://elsewhere/v1/chat', BODY)],
  'a target that is no path': [400, post('v1/chat', BODY)],
  'OPTIONS *': [400, `OPTIONS * HTTP/1.1\r\n${AUTH}\r\n`],
  'CONNECT': [400, `CONNECT elsewhere:443 HTTP/1.1\r\n${AUTH}\r\n`],
  'another expectation': [417, post('/v1/chat', BODY, 'Expect: magic\r\n')],
  'an unknown method': [400, post('/v1/chat', BODY).replace('POST', 'FROB')],
  'HTTP/2 without an upgrade': [400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  'HTTP/2.0 in the request line': [505, post('/v1/chat', BODY).replace('HTTP/1.1', 'HTTP/2.0')],
  'HTTP/0.9': [505, 'GET /healthz\r\n\r\n'],
  'a TLS handshake': [400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  'zeros': [400, '\0'.repeat(100)],
};

test('what is malformed gets the error body with a request id on a closed connection, is logged once, and calls nobody', async (t) => {
  const gateway = await startGateway(t);
  const cases = await Promise.all(
    Object.entries(MALFORMED).map(async ([name, [status, text]]) => ({ name, status, answers: await sendRaw(t, gateway.url, text) })),
  );
  await until(() => gateway.logLines.length >= cases.length);
  assert.equal(gateway.logLines.length, cases.length);
  for (const { name, status, answers } of cases) {
    assert.deepEqual(answers.map((answer) => answer.status), [status], name);
    const [answer] = answers;
    assert.equal(kindOf(answer), 'bad_request', name);
    assert.equal(answer?.headers.get('content-type'), 'application/json; charset=utf-8', name);
    assert.equal(answer?.headers.get('connection'), 'close', name);
    const lines = gateway.logLines.filter((line) => line['request_id'] === answer?.headers.get('x-request-id'));
    assert.deepEqual(lines.map((line) => line['status']), [status], name);
  }
  assert.equal(gateway.sandbox.calls.length, 0);
  const page = await (await gateway.get('/metrics')).text();
  const counted = [...page.matchAll(/gateway_http_requests_total\{route="(?:none|chat)",status="\d+"\} (\d+)/g)];
  assert.equal(counted.reduce((total, [, count]) => total + Number(count), 0), Object.keys(MALFORMED).length);
});

test('what is unusual but has one meaning is served', async (t) => {
  const gateway = await startGateway(t);
  const last = 'Connection: close\r\n';
  const unusual: Readonly<Record<string, string>> = {
    'chunks with extensions': `${POST}${last}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)};a=b\r\n${BODY}\r\n0\r\n\r\n`,
    'a byte a chunk': `${POST}${last}Transfer-Encoding: CHUNKED\r\n\r\n${[...BODY].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`,
    'trailers, which count for nothing': `${POST}${last}Transfer-Encoding: chunked\r\n\r\n${CHUNKED.slice(0, -2)}Authorization: Bearer other\r\nX-Request-Id: b\r\n\r\n`,
    'line ends before the request': `\r\n\r\n${post('/v1/chat', BODY, last)}`,
    'HTTP/1.0 without a host': `POST /v1/chat HTTP/1.0\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    'an upgrade, not taken up': post('/v1/chat', BODY, 'Connection: Upgrade, close\r\nUpgrade: websocket\r\n'),
    'headers named like prototypes': post('/v1/chat', BODY, `${last}__proto__: a\r\nconstructor: b\r\nhasOwnProperty: c\r\n`),
    'a token after thousands of headers': `POST /v1/chat HTTP/1.1\r\nHost: x\r\n${last}${'a:\r\n'.repeat(3000)}Authorization: Bearer ${TOKEN}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  };
  for (const [name, text] of Object.entries(unusual)) {
    assert.deepEqual((await sendRaw(t, gateway.url, text)).map((answer) => answer.status), [200], name);
  }
  assert.equal(gateway.sandbox.calls.length, Object.keys(unusual).length);
});

test('a trailer cannot stand in for a header', async (t) => {
  const gateway = await startGateway(t);
  const [answer] = await sendRaw(t, gateway.url, `POST /v1/chat HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n${CHUNKED.slice(0, -2)}Authorization: Bearer ${TOKEN}\r\n\r\n`);
  assert.equal(answer?.status, 401);
});

test('a method that no route has is 405 with Allow', async (t) => {
  const gateway = await startGateway(t);
  for (const method of ['PROPFIND', 'TRACE', 'PATCH', 'OPTIONS']) {
    const [answer] = await sendRaw(t, gateway.url, `${method} /v1/chat HTTP/1.1\r\n${AUTH}Connection: close\r\n\r\n`);
    assert.equal(answer?.status, 405, method);
    assert.equal(answer?.headers.get('allow'), 'POST');
  }
});

/** A tenth and a twentieth of what the real ones are, and more. */
const SHORT = { headMs: 150, requestMs: 300, checkIntervalMs: 50 };

test('two hundred slow heads and bodies are cut with 408, and nobody else waits for them', async (t) => {
  const server = await startServer(t, { limits: SHORT });
  const slow = Array.from({ length: 200 }, (_, i) => {
    const caller = new RawCaller(t, server.url).write(i % 2 === 0 ? 'GET /healthz HTTP/1.1\r\nX: ' : `${POST}Content-Length: 1000\r\n\r\n{`);
    // A byte now and then does not help.
    const drip = setInterval(() => caller.write('x'), 40);
    void caller.closed.then(() => clearInterval(drip));
    return caller;
  });
  await until(() => server.admission.count > 0);
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
  await Promise.all(slow.map((caller) => caller.closed));
  for (const { answers } of slow) {
    assert.deepEqual(answers.map((answer) => [answer.status, kindOf(answer), answer.headers.get('connection')]), [[408, 'bad_request', 'close']]);
  }
  await until(() => server.logLines.filter((line) => line['status'] === 408).length === 200);
  assert.equal(server.admission.count, 0);
});

test('a connection that never says anything is closed', async (t) => {
  const server = await startServer(t, { limits: SHORT });
  await new RawCaller(t, server.url).closed;
});

test('an idle connection is closed after a while, without a word', async (t) => {
  const limits = { headMs: 60_000, requestMs: 60_000, checkIntervalMs: 50 };
  const server = await startServer(t, { limits, environment: { GATEWAY_CONNECTION_IDLE_TIMEOUT: '100ms' } });
  const caller = new RawCaller(t, server.url).write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await caller.closed;
  assert.deepEqual(caller.answers.map((answer) => answer.status), [200]);
});

test('a request cut off by the end of its connection gives its place back', async (t) => {
  const server = await startServer(t, {});
  for (const half of [`${POST}Content-Length: 1000\r\n\r\n{`, `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{`]) {
    for (const way of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const caller = new RawCaller(t, server.url).write(half);
      await until(() => server.admission.count === 1);
      caller.socket[way]();
      await until(() => server.admission.count === 0 && server.exchanges.count === 0);
    }
  }
});

test('who is refused and sends no more of its body has one answer, one log line and one count', async (t) => {
  const server = await startServer(t, {});
  for (const way of ['end', 'destroy'] as const) {
    const caller = new RawCaller(t, server.url).write('POST /v1/chat HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{');
    await caller.answered();
    await until(() => server.exchanges.count === 0);
    caller.socket[way]();
    await caller.closed;
    assert.deepEqual(caller.answers.map(({ status }) => status), [401]);
  }
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
  assert.deepEqual(server.logLines.map((line) => line['status']).filter((status) => status !== 200), [401, 401]);
});

test('a request that ends before it is whole is told so, and its log line says so', async (t) => {
  const server = await startServer(t, {});
  const sentence = 'the connection ended before the request was whole';
  for (const half of [`${POST}Content-Length: 1000\r\n\r\n{`, `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{`, POST]) {
    const caller = new RawCaller(t, server.url).write(half);
    caller.socket.end();
    const [answer] = await caller.answered();
    assert.deepEqual([answer?.status, JSON.parse(answer?.body ?? '')], [400, { kind: 'bad_request', error: sentence }]);
  }
  await until(() => server.logLines.filter((line) => line['error'] === sentence).length === 3);
});

test('a body that takes longer than the whole request may is told so', async (t) => {
  const server = await startServer(t, { environment: { GATEWAY_REQUEST_TIMEOUT: '50ms', GATEWAY_ATTEMPT_TIMEOUT: '50ms' } });
  const [answer] = await new RawCaller(t, server.url).write(`${POST}Content-Length: 100000\r\n\r\n{`).answered();
  assert.equal(answer?.status, 502);
  assert.match(answer.body, /GATEWAY_REQUEST_TIMEOUT/);
  await until(() => server.admission.count === 0);
});

test('a handler that crashes answers 500 unknown, says nothing of why, and the next request is served', async (t) => {
  const server = await startServer(t, { gateway: { complete: () => Promise.reject(new TypeError('a secret detail')) } });
  const caller = new RawCaller(t, server.url).write(post('/v1/chat', BODY) + `GET /healthz HTTP/1.1\r\n${AUTH}\r\n`);
  const [crashed, next] = await caller.answered(2);
  assert.equal(crashed?.status, 500);
  assert.deepEqual(JSON.parse(crashed.body), { kind: 'unknown', error: 'the gateway failed to handle this request' });
  assert.equal(next?.status, 200);
  const errors = server.logLines.filter((line) => line['level'] === 'error');
  assert.deepEqual(errors.map((line) => [line['message'], line['error']]), [['a handler crashed', 'TypeError']]);
  assert.ok(!JSON.stringify(server.logLines).includes('a secret detail'));
  assert.equal(server.admission.count, 0);
});

test('a handler that crashes in an open stream ends it with an error frame', async (t) => {
  const stream = async (_ask: unknown, _context: unknown, sink: { push: StreamSink['push']; flush: StreamSink['flush'] }): Promise<never> => {
    sink.push({ type: 'text', text: 'Hel' });
    await sink.flush();
    throw new TypeError('a secret detail');
  };
  const server = await startServer(t, { gateway: { stream } });
  const response = await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body: BODY });
  assert.equal(
    await response.text(),
    'data: {"type":"text_delta","text":"Hel"}\n\ndata: {"type":"error","kind":"unknown","error":"the gateway failed to handle this request"}\n\n',
  );
  assert.match(server.metricsPage(), /\ngateway_open_streams 0\n/);
});

test('a write after the end of a response ends no process', async (t) => {
  const stream: Gateway['stream'] = async ({ candidates: [candidate] }, _context, sink) => {
    sink.push({ type: 'done', reply: { id: 'a', model: 'm', parts: [], stopReason: 'end_turn', usage: undefined, thinking: '' } });
    await sink.flush();
    sink.push({ type: 'text', text: 'too late' });
    await sink.flush();
    return { candidate, result: undefined };
  };
  const server = await startServer(t, { gateway: { stream } });
  const response = await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body: BODY });
  assert.doesNotMatch(await response.text(), /too late/);
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
});

test('a connection that cannot be accepted is said once a second, and ends no process', async (t) => {
  const server = await startServer(t, {});
  for (let i = 0; i < 3; i += 1) server.server.server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
  assert.deepEqual(server.logLines.map((line) => [line['level'], line['message']]), [['error', 'connections cannot be accepted (EMFILE)']]);
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
});

test('checks come in their order: path, method, token, capacity, size, JSON, provider, meaning', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_MAX_BODY_BYTES: '1000', GATEWAY_MAX_CONCURRENT: '1' });
  const unanswered = [user('x'), { role: 'assistant', content: [{ type: 'tool_call', id: 'a', name: 'f' }] }];
  const meaningless = { model: 'm', messages: unanswered };
  const bodies = {
    large: 'x'.repeat(1001),
    broken: '{',
    shapeless: JSON.stringify({ ...meaningless, provider: 'nobody', colour: 1 }),
    foreign: JSON.stringify({ ...meaningless, provider: 'nobody' }),
    meaningless: JSON.stringify(meaningless),
  };
  const ask = async (method: string, path: string, authorization: string, body?: string): Promise<number> => {
    const response = await fetch(gateway.url + path, { method, headers: { authorization }, ...(body === undefined ? {} : { body }) });
    await response.text();
    return response.status;
  };
  const good = `Bearer ${TOKEN}`;
  assert.equal(await ask('GET', '/nowhere', ''), 404);
  assert.equal(await ask('GET', '/v1/chat', ''), 405);
  for (const body of Object.values(bodies)) assert.equal(await ask('POST', '/v1/chat', 'Bearer no', body), 401);
  const stalled = new RawCaller(t, gateway.url).write(post('/v1/chat', bodyFor('fake-stall')));
  await until(() => gateway.sandbox.calls.length === 1);
  assert.equal(await ask('POST', '/v1/chat', 'Bearer no', bodies.large), 401);
  for (const body of Object.values(bodies)) assert.equal(await ask('POST', '/v1/chat', good, body), 429);
  stalled.socket.destroy();
  await until(() => gateway.sandbox.openConnections() === 0);
  assert.equal(await ask('POST', '/v1/chat', good, bodies.large), 413);
  assert.equal(await ask('POST', '/v1/chat', good, bodies.broken), 400);
  assert.equal(await ask('POST', '/v1/chat', good, bodies.shapeless), 400);
  assert.equal(await ask('POST', '/v1/chat', good, bodies.foreign), 404);
  assert.equal(await ask('POST', '/v1/chat', good, bodies.meaningless), 400);
  assert.equal(gateway.sandbox.calls.length, 1);
});

test('a stranger with a huge body is refused after its head, and may not go on sending', async (t) => {
  const gateway = await startGateway(t);
  const caller = new RawCaller(t, gateway.url).write('POST /v1/chat HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n');
  const [answer] = await caller.answered();
  assert.equal(answer?.status, 401);
  assert.equal(answer.headers.get('connection'), 'close');
  caller.write('x'.repeat(1_000_000));
  await caller.closed;
  assert.equal(gateway.logLines.at(-1)?.['status'], 401);
});

/** Each is answered before its body, of which there is no end. */
const ENDLESS: Readonly<Record<string, readonly [status: number, head: string]>> = {
  'a preflight': [204, 'OPTIONS /v1/chat HTTP/1.1\r\nHost: x\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n'],
  'a preflight of another origin': [403, 'OPTIONS /v1/chat HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n'],
  'an unknown path': [404, 'POST /nowhere HTTP/1.1\r\nHost: x\r\n'],
  'a wrong method': [405, 'PUT /v1/chat HTTP/1.1\r\nHost: x\r\n'],
  'no token': [401, 'POST /v1/chat HTTP/1.1\r\nHost: x\r\n'],
  'a GET': [200, 'GET /healthz HTTP/1.1\r\nHost: x\r\n'],
  'a HEAD': [200, 'HEAD /healthz HTTP/1.1\r\nHost: x\r\n'],
  'a GET with a token': [200, `GET /v1/providers HTTP/1.1\r\n${AUTH}`],
  'a compressed body': [415, `${POST}Content-Encoding: gzip\r\n`],
  'a charset': [415, `${POST}Content-Type: a/b; charset=utf-16\r\n`],
  'too large a body': [413, POST],
  'an expectation': [417, 'POST /v1/chat HTTP/1.1\r\nHost: x\r\nExpect: magic\r\n'],
  'two hosts': [400, 'POST /v1/chat HTTP/1.1\r\nHost: x\r\nHost: y\r\n'],
  'no host': [400, 'POST /v1/chat HTTP/1.1\r\n'],
  'a CONNECT': [400, 'CONNECT elsewhere:443 HTTP/1.1\r\nHost: x\r\n'],
  'garbage': [400, 'NONSENSE\r\n'],
  'a large header': [431, `GET /healthz HTTP/1.1\r\nX: ${'y'.repeat(20_000)}\r\n`],
};

test('whatever is answered before its body reads little more of it, and closes', { timeout: 120_000 }, async (t) => {
  const server = await startServer(t, { environment: { GATEWAY_ALLOWED_ORIGINS: 'https://app.example', GATEWAY_MAX_BODY_BYTES: '100' } });
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
  for (const [name, [status, head]] of Object.entries(ENDLESS)) {
    for (const framing of ['Transfer-Encoding: chunked\r\n', 'Content-Length: 1000000000\r\n']) {
      const accepted = once(server.server.server, 'connection') as Promise<[Socket]>;
      const caller = new RawCaller(t, server.url).write(`${head}${framing}\r\n80\r\n${'x'.repeat(0x80)}\r\n`);
      const [socket] = await accepted;
      const send = (): void => {
        while (!caller.socket.destroyed && caller.socket.write(chunk));
      };
      caller.socket.on('drain', send);
      await until(() => caller.received.includes('\r\n\r\n'));
      send();
      await caller.closed;
      assert.match(caller.received, new RegExp(`^HTTP/1\\.1 ${status} `), name);
      assert.ok(socket.bytesRead < 512 * 1024, `${name}: ${socket.bytesRead} bytes were read`);
      await until(() => server.exchanges.count === 0);
    }
  }
});

test('a refusal of a short body costs neither the body nor the connection', async (t) => {
  const gateway = await startGateway(t);
  const unknown = post('/v1/chat', BODY).replace(TOKEN, 'no');
  const caller = new RawCaller(t, gateway.url).write(unknown + post('/nowhere', BODY) + post('/v1/chat', BODY));
  const answers = await caller.answered(3);
  assert.deepEqual(answers.map((answer) => answer.status), [401, 404, 200]);
});

test('who sends a megabyte and is refused meanwhile sees the answer, and keeps the connection', async (t) => {
  const gateway = await startGateway(t);
  const head = 'POST /v1/chat HTTP/1.1\r\nHost: x\r\nContent-Length: ';
  const caller = new RawCaller(t, gateway.url).write(`${head}1048576\r\n\r\n`);
  const [answer] = await caller.answered();
  assert.deepEqual([answer?.status, answer?.headers.get('connection')], [401, 'keep-alive']);
  caller.write('x'.repeat(1_048_576) + post('/v1/chat', BODY));
  assert.equal((await caller.answered(2))[1]?.status, 200);
  assert.equal((await new RawCaller(t, gateway.url).write(`${head}1048577\r\n\r\n`).answered())[0]?.headers.get('connection'), 'close');
});

for (const [why, isDraining, header] of [['who wants the connection closed', false, 'Connection: close\r\n'], ['whoever comes during a drain', true, '']] as const) {
  test(`a refusal to ${why} resets it no sooner than its body was read`, async (t) => {
    const server = await startServer(t, { isDraining });
    const accepted = once(server.server.server, 'connection') as Promise<[Socket]>;
    const body = 'x'.repeat(256 * 1024);
    const caller = new RawCaller(t, server.url).write(`POST /v1/chat HTTP/1.1\r\nHost: x\r\n${header}Content-Length: ${body.length}\r\n\r\n${body}`);
    const [socket] = await accepted;
    await caller.closed;
    assert.deepEqual([caller.answers[0]?.status, caller.answers[0]?.headers.get('connection')], [401, 'close']);
    assert.ok(socket.bytesRead > body.length, `${socket.bytesRead} bytes were read`);
  });
}

test('whoever waits for 100 Continue and is refused loses the connection, whose next bytes could be body or request', async (t) => {
  const gateway = await startGateway(t);
  const [answer] = await sendRaw(t, gateway.url, `POST /v1/chat HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`);
  assert.equal(answer?.status, 401);
  assert.equal(answer.headers.get('connection'), 'close');
});

test('nothing that a caller sends makes a second log line, or one that does not parse', async (t) => {
  const gateway = await startGateway(t);
  const bad = ['a b', 'x'.repeat(129), '{"a":1}', '\\u000a', 'a\x1b[31m', 'a\x7f', 'é', '', 'a,b', '../..'];
  for (const id of bad) {
    const logged = gateway.logLines.length;
    await sendRaw(t, gateway.url, `GET /${id}%0a HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\nUser-Agent: ${id}\r\nConnection: close\r\n\r\n`);
    await until(() => gateway.logLines.length > logged);
    const lines = gateway.logLines.slice(logged);
    assert.equal(lines.length, 1, id);
    assert.match(String(lines[0]?.['request_id']), /^[0-9a-f]{32}$/, id);
  }
  const [answer] = await sendRaw(t, gateway.url, 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: one\r\nX-Request-Id: two\r\nConnection: close\r\n\r\n');
  assert.match(answer?.headers.get('x-request-id') ?? '', /^[0-9a-f]{32}$/);
});

test('a preflight is answered for listed origins only, and every answer varies by origin', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_ALLOWED_ORIGINS: 'https://app.example' });
  const preflight = async (origin: string): Promise<RawAnswer | undefined> =>
    (await sendRaw(t, gateway.url, `OPTIONS /v1/chat HTTP/1.1\r\nHost: x\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: POST\r\nConnection: close\r\n\r\n`))[0];
  const listed = await preflight('https://app.example');
  assert.equal(listed?.status, 204);
  assert.equal(listed.headers.get('access-control-allow-origin'), 'https://app.example');
  assert.equal(listed.headers.get('access-control-allow-methods'), 'POST');
  assert.equal(listed.headers.get('vary'), 'Origin');
  for (const origin of ['https://app.example.evil', 'http://app.example', 'null', 'https://APP.example']) {
    const other = await preflight(origin);
    assert.equal(other?.status, 403, origin);
    assert.match(other.body, /this origin is not allowed \(GATEWAY_ALLOWED_ORIGINS\)/);
    assert.equal(other.headers.get('access-control-allow-origin'), undefined);
    assert.equal(other.headers.get('vary'), 'Origin');
  }
});
