/** The handler on a server of the embedder's, below a path, beside other routes, behind other middleware. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { gzip } from 'node:zlib';
import { createGateway } from '../../src/index.ts';
import type { Gateway } from '../../src/index.ts';
import { GOOD_REPLY, startUpstream } from '../faults/upstream.ts';
import { sendRaw } from '../http/raw-caller.ts';
import { chunkFrame, GOOD_END, until } from '../streams/wires.ts';
import { answered, HELLO, library, TOKEN } from './library.ts';
import type { Library } from './library.ts';

const CALLERS = { callers: { me: TOKEN } };
const BODY = JSON.stringify(HELLO);

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** As Express mounts: below `/ai` without that, everything else elsewhere. */
function mounted({ handler }: Gateway): RequestListener {
  return (request, response) => {
    if (request.url?.startsWith('/ai/') !== true) {
      response.end('elsewhere');
      return;
    }
    request.url = request.url.slice('/ai'.length);
    handler(request, response);
  };
}

async function post(url: string, headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` }, body: string = BODY): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { method: 'POST', headers, body });
  return { status: response.status, text: await response.text() };
}

test('the handler serves below a path, beside other routes', async (t) => {
  const upstream = await startUpstream(t, (response, _request, body) => {
    if (!body.includes('"stream":true')) return void response.end(GOOD_REPLY);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(chunkFrame({ content: 'Good.' }) + GOOD_END);
  });
  const { gateway } = library(t, upstream.origin, CALLERS);
  const url = await serve(t, mounted(gateway));
  assert.match((await post(`${url}/ai/v1/chat`)).text, /"text":"Good\."/);
  assert.match((await post(`${url}/ai/v1/chat/stream`)).text, /"type":"done"/);
  assert.equal((await post(`${url}/ai/v1/nothing`)).status, 404);
  assert.equal((await post(`${url}/v1/chat`)).text, 'elsewhere');
  assert.equal((await fetch(`${url}/ai/healthz`)).status, 200);
});

test('the handler serves requests that a framework took over, with its own address in place of theirs', async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY, CALLERS);
  // As Fastify hands them out: `raw` objects inside its own, the address whole, the body left alone.
  const framework = (request: { readonly raw: IncomingMessage }, reply: { readonly raw: ServerResponse }): void => {
    request.raw.url = request.raw.url?.slice('/ai'.length) ?? '';
    gateway.handler(request.raw, reply.raw);
  };
  const url = await serve(t, (request, response) => setImmediate(framework, { raw: request }, { raw: response }));
  assert.equal((await post(`${url}/ai/v1/chat`)).status, 200);
});

test('without callers and without authenticate everybody is refused with 401, on a server of its own too', async (t) => {
  const { gateway, calls } = await answered(t, GOOD_REPLY);
  for (const url of [await serve(t, gateway.handler), await gateway.listen('127.0.0.1:0')]) {
    for (const headers of [{}, { authorization: 'Bearer ' }, { authorization: `Bearer ${TOKEN}` }, { 'x-api-key': TOKEN }]) {
      assert.equal((await post(`${url}/v1/chat`, { ...headers })).status, 401);
      assert.equal((await post(`${url}/v1/messages`, { ...headers })).status, 401);
    }
  }
  assert.equal(calls(), 0);
});

test('authenticate says who is calling, at once or later, where no token does', async (t) => {
  const known = ({ headers }: IncomingMessage): string | undefined => ['ada', 'bea'].find((label) => label === headers['x-user']);
  for (const authenticate of [known, async (request: IncomingMessage) => known(request)]) {
    const { gateway, lines } = await answered(t, GOOD_REPLY, { ...CALLERS, authenticate, routing: { callers: { bea: { requests_per_minute: 9 } } } });
    const url = await serve(t, gateway.handler);
    for (const user of ['ada', 'bea']) assert.equal((await post(`${url}/v1/chat`, { 'x-user': user })).status, 200);
    assert.equal((await post(`${url}/v1/chat`)).status, 200);
    assert.equal((await post(`${url}/v1/chat`, { 'x-user': 'eve' })).status, 401);
    await until(() => lines.length === 4);
    assert.deepEqual(lines.map(({ caller }) => caller), ['ada', 'bea', 'me', undefined]);
    // Metrics know those that the options name.
    for (const label of ['other', 'bea', 'me']) assert.match(gateway.metricsText(), new RegExp(`gateway_chats_total\\{caller="${label}",[^\\n]*\\} 1\\n`));
  }
});

test('an authenticate that throws, rejects or returns no label is a 500 that is logged, and nobody gets in', async (t) => {
  const broken = (): never => {
    throw new Error('canary');
  };
  // As some tools have stacks made, for the whole program.
  const structured = (): never => {
    throw Object.assign(new Error('canary'), { stack: [{ canary: true }] });
  };
  const answers: readonly unknown[] = [broken, async () => broken(), structured, () => '', () => 'a b', () => true, () => 5, () => ({}), () => null];
  for (const authenticate of answers) {
    const { gateway, lines, calls } = await answered(t, GOOD_REPLY, { authenticate: authenticate as () => string });
    const { status, text } = await post(`${await serve(t, gateway.handler)}/v1/chat`, {});
    assert.deepEqual([status, JSON.parse(text), calls()], [500, { kind: 'unknown', error: 'the caller could not be identified' }, 0]);
    await until(() => lines.length === 2);
    assert.equal(lines[0]?.['level'], 'error');
    assert.ok(!JSON.stringify(lines).includes('canary'));
  }
});

test('an authenticate that never answers has as long as a request may take, and a caller that hangs up is done with', async (t) => {
  const { gateway, lines } = await answered(t, GOOD_REPLY, { authenticate: () => new Promise<undefined>(() => undefined), requestTimeout: 200 });
  const url = await serve(t, gateway.handler);
  assert.match((await post(`${url}/v1/chat`, {})).text, /took longer than GATEWAY_REQUEST_TIMEOUT allows/);
  const patient = await answered(t, GOOD_REPLY, {
    authenticate: () => {
      caller.destroy();
      return new Promise<undefined>(() => undefined);
    },
  });
  const caller = connect(Number(new URL(await serve(t, patient.gateway.handler)).port), '127.0.0.1');
  caller.write(`POST /v1/chat HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`);
  await until(() => patient.lines.length > 0);
  assert.deepEqual([lines[0]?.['ended'], patient.lines[0]?.['ended']], ['deadline', 'caller-gone']);
});

test('a body that was read before, or given an encoding, is a 500 that says so, also in the log', async (t) => {
  const { gateway, calls, lines } = await answered(t, GOOD_REPLY, CALLERS);
  const before: readonly ((request: IncomingMessage) => Promise<unknown>)[] = [
    async (request) => once(request.resume(), 'end'),
    async (request) => once(request, 'data'),
    async (request) => request.setEncoding('utf8'),
  ];
  for (const middleware of before) {
    const url = await serve(t, (request, response) => void middleware(request).then(() => gateway.handler(request, response)));
    const { status, text } = await post(`${url}/v1/chat`);
    assert.equal(status, 500);
    assert.deepEqual(JSON.parse(text), {
      kind: 'unknown',
      error: "the request's body was read before the gateway's handler got it: mount the handler before whatever parses bodies",
    });
  }
  await until(() => lines.length === before.length);
  assert.ok(lines.every(({ level, error }) => level === 'warn' && /mount the handler before/.test(String(error))));
  assert.equal(calls(), 0);
});

test('a request that a host paused before it handed it over is read', async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY, CALLERS);
  const url = await serve(t, (request, response) => {
    request.pause();
    setImmediate(() => gateway.handler(request, response));
  });
  assert.equal((await post(`${url}/v1/chat`)).status, 200);
});

test('what reads no body is served whatever was read before', async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY, CALLERS);
  const url = await serve(t, (request, response) => request.resume().on('end', () => gateway.handler(request, response)));
  assert.equal((await fetch(`${url}/v1/providers`, { headers: { authorization: `Bearer ${TOKEN}` } })).status, 200);
});

test('a doubled header is refused also where a host put headers of its own beside those that came', async (t) => {
  const { gateway, calls } = await answered(t, GOOD_REPLY, CALLERS);
  const url = await serve(t, (request, response) => {
    request.headers['x-request-id'] = 'of-the-host';
    gateway.handler(request, response);
  });
  const headers = `Host: a\r\nAuthorization: Bearer ${TOKEN}\r\nAuthorization: Bearer other`;
  const [answer] = await sendRaw(t, url, `POST /v1/chat HTTP/1.1\r\n${headers}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`);
  assert.deepEqual([answer?.status, JSON.parse(answer?.body ?? '').error, calls()], [400, 'the header authorization comes twice', 0]);
});

test('a request that is answered already, of HTTP/2, or none at all ends nothing but itself', async (t) => {
  const { gateway, lines } = await answered(t, GOOD_REPLY, CALLERS);
  const answeredAlready = await serve(t, (request, response) => {
    response.end('already');
    gateway.handler(request, response);
  });
  assert.equal((await post(`${answeredAlready}/v1/chat`)).text, 'already');
  const begun = await serve(t, (request, response) => {
    response.write('begun');
    gateway.handler(request, response);
    response.end();
  });
  assert.equal((await post(`${begun}/v1/chat`)).text, 'begun');

  const http2 = createHttp2Server((request, response) => gateway.handler(request, response)).listen(0, '127.0.0.1');
  await once(http2, 'listening');
  const client = connectHttp2(`http://127.0.0.1:${(http2.address() as AddressInfo).port}`);
  const [headers] = (await once(client.request({ ':path': '/v1/providers' }), 'response')) as [{ readonly ':status'?: number }];
  assert.equal(headers[':status'], 505);
  client.destroy();
  http2.close();

  gateway.handler({ headers: {} }, { headersSent: false });
  assert.deepEqual(lines.map(({ level, message }) => `${String(level)}: ${String(message)}`), [
    'error: the handler was given a request that is answered already',
    'error: the handler was given a request that is answered already',
    'error: the handler was given a request that is not HTTP/1',
    'error: the handler was given a request that is not HTTP/1',
    'error: the handler was given something other than a request of node:http',
  ]);
});

test('a request whose caller is gone before its turn is nothing', async (t) => {
  const { gateway, lines } = await answered(t, GOOD_REPLY, CALLERS);
  let isOver = false;
  const url = await serve(t, (request, response) => {
    response.on('close', () => {
      gateway.handler(request, response);
      isOver = true;
    });
    request.destroy();
  });
  await assert.rejects(post(`${url}/v1/chat`));
  await until(() => isOver);
  await gateway.drain();
  assert.deepEqual(lines, []);
});

test('pipelined requests on a server of somebody else are answered in order, also when one breaks', async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY, CALLERS);
  const url = await serve(t, mounted(gateway));
  const request = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
  const caller = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  caller.setEncoding('utf8').on('data', (more: string) => (text += more));
  const paths = Array.from({ length: 40 }, (_, index) => (index % 3 === 0 ? '/other' : index % 3 === 1 ? '/ai/v1/chat' : '/ai/v1/nothing'));
  caller.write(paths.map(request).join(''));
  const statuses = (): readonly string[] => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);
  await until(() => statuses().length === paths.length);
  assert.deepEqual(statuses(), paths.map((path) => (path === '/ai/v1/nothing' ? '404' : '200')));
  caller.write(`${request('/ai/v1/chat')}NO HTTP\r\n\r\n`);
  await once(caller, 'close');
  assert.equal((await post(`${url}/ai/v1/chat`)).status, 200);
});

test('gateways in one process share nothing', async (t) => {
  const one = await answered(t, GOOD_REPLY, { callers: { one: TOKEN } });
  const other = await answered(t, GOOD_REPLY.replace('Good.', 'Other.'), { callers: { other: `${TOKEN}-2` } });
  const urls = await Promise.all([one, other].map(({ gateway }) => serve(t, gateway.handler)));
  assert.deepEqual(await Promise.all(urls.map(async (url) => (await post(`${url}/v1/chat`)).status)), [200, 401]);
  assert.equal((await other.gateway.chat(HELLO)).text, 'Other.');
  await other.gateway.close();
  assert.equal((await one.gateway.chat(HELLO)).text, 'Good.');
  assert.deepEqual([one, other].map(({ lines }: Library) => lines.map(({ route }) => route)), [['chat', 'chat'], ['chat', 'chat']]);
});

test('while the gateway drains its answers end their connection; after that they are a 503, and the host goes on', async (t) => {
  let answer: () => void = () => undefined;
  const upstream = await startUpstream(t, (response) => (answer = () => response.end(GOOD_REPLY)));
  const { gateway } = library(t, upstream.origin, CALLERS);
  const url = await serve(t, mounted(gateway));
  const pending = fetch(`${url}/ai/v1/chat`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body: BODY });
  await until(() => upstream.calls() === 1);
  const drained = gateway.drain();
  assert.equal((await fetch(`${url}/ai/readyz`)).status, 503);
  answer();
  const response = await pending;
  assert.deepEqual([response.status, response.headers.get('connection')], [200, 'close']);
  await response.text();
  assert.equal(await drained, true);
  assert.equal((await post(`${url}/ai/v1/chat`)).status, 503);
  assert.equal((await post(`${url}/other`)).text, 'elsewhere');
});

test('nothing of the library stays on the process', async (t) => {
  const names = ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException', 'unhandledRejection', 'exit', 'beforeExit'];
  const listeners = (): readonly number[] => names.map((name) => process.listenerCount(name));
  const before = { listeners: listeners(), globals: Object.getOwnPropertyNames(globalThis).sort() };
  const { gateway } = await answered(t, GOOD_REPLY, CALLERS);
  await post(`${await gateway.listen('127.0.0.1:0')}/v1/chat`);
  await gateway.chat(HELLO);
  await gateway.close();
  assert.deepEqual({ listeners: listeners(), globals: Object.getOwnPropertyNames(globalThis).sort() }, before);
  assert.throws(() => createGateway({ providers: {} }), { name: 'ConfigError' });
});

/** A listener with a route of the host's own, `/slow`, which is answered by hand. */
function besideSlow(gateway: Gateway): { readonly listener: RequestListener; readonly slow: Promise<ServerResponse> } {
  let tell: (response: ServerResponse) => void = () => undefined;
  const slow = new Promise<ServerResponse>((resolve) => (tell = resolve));
  return { slow, listener: (request, response) => (request.url === '/slow' ? tell(response) : gateway.handler(request, response)) };
}

test("drain leaves alone what the host serves on a connection that asked the gateway before", async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY, CALLERS);
  const { listener, slow } = besideSlow(gateway);
  const url = await serve(t, listener);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = async (path: string): Promise<string> => {
    const [response] = (await once(get(url + path, { agent }), 'response')) as [IncomingMessage];
    return (await response.setEncoding('utf8').toArray()).join('');
  };
  await ask('/healthz');
  const asked = ask('/slow');
  const response = await slow;
  await gateway.drain();
  response.end('slow');
  assert.equal(await asked, 'slow');
});

test('a chat whose connection ends while it waits behind an answer of the host ends too, and gives its place back', async (t) => {
  const { gateway, lines, calls } = await answered(t, GOOD_REPLY, CALLERS);
  const { listener, slow } = besideSlow(gateway);
  const url = await serve(t, listener);
  const caller = connect(Number(new URL(url).port), '127.0.0.1');
  const head = `POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${BODY.length}\r\n\r\n`;
  caller.write(`GET /slow HTTP/1.1\r\nHost: x\r\n\r\n${head}${BODY}`);
  await slow;
  await until(() => calls() === 1);
  caller.destroy();
  await until(() => lines.length === 1);
  assert.deepEqual([lines[0]?.['route'], lines[0]?.['ended']], ['chat', 'caller-gone']);
  assert.match(gateway.metricsText(), /gateway_requests_in_flight 0\n/);
});

test('an answer that middleware holds back before it begins is not cut off', async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY, CALLERS);
  const url = await serve(t, (request, response) => {
    const end = response.end.bind(response);
    // As what compresses or saves a session does it.
    response.end = ((body: string) => {
      gzip(body, (_error, bytes) => {
        response.setHeader('content-encoding', 'gzip');
        response.setHeader('content-length', bytes.length);
        end(bytes);
      });
      return response;
    }) as ServerResponse['end'];
    gateway.handler(request, response);
  });
  assert.match((await post(`${url}/v1/chat`)).text, /"text":"Good\."/);
  assert.equal((await post(`${url}/v1/nothing`)).status, 404);
});

test("a whole answer ends a response whose write is a host's own, and does not write to it", async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY, CALLERS);
  const written: unknown[] = [];
  const url = await serve(t, (request, response) => {
    response.write = (chunk: unknown) => written.push(chunk) > 0;
    gateway.handler(request, response);
  });
  assert.match((await post(`${url}/v1/chat`)).text, /"text":"Good\."/);
  assert.equal((await post(`${url}/v1/nothing`)).status, 404);
  assert.deepEqual(written, []);
});

test('a response whose every write throws ends its own connection, and its place is given back', async (t) => {
  const upstream = await startUpstream(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(chunkFrame({ content: 'Good.' }) + GOOD_END);
  });
  const { gateway, lines } = library(t, upstream.origin, CALLERS);
  const url = await serve(t, (request, response) => {
    response.write = () => {
      throw new Error('no');
    };
    gateway.handler(request, response);
  });
  await assert.rejects(post(`${url}/v1/chat/stream`));
  await until(() => lines.length === 2);
  assert.deepEqual(lines.map(({ message }) => message), ['a handler crashed', 'chat_stream']);
  assert.match(gateway.metricsText(), /gateway_requests_in_flight 0\n/);
});

test('a gateway that was closed listens nowhere', async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY);
  await gateway.close();
  await assert.rejects(gateway.listen(0), { message: 'the gateway is closed' });
});

test('listen takes an address or a port, and says what it expects instead of anything else', async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY, CALLERS);
  assert.match(await gateway.listen(0), /^http:\/\/localhost:\d+$/);
  await assert.rejects(gateway.listen('nowhere'), { name: 'ConfigError', problems: ['address: expected host:port, :port, [ipv6]:port or unix:/path of at most 107 bytes'] });
});
