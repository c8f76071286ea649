/** Answers of every shape but the right one, for three vendors and both endpoints: a typed failure each, and life afterwards. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startGateway, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { chunkOf, CHUNKED_HEAD, LAST_CHUNK, startRawServer } from '../upstream/raw-server.ts';
import { answerJson, environmentFor, PATHS, PROVIDERS, startUpstream } from './upstream.ts';

type Answer = { readonly what: string; readonly status: number; readonly kind: string };

/** Asks every vendor, or those named, on both endpoints; `text` tells the upstream which answer is wanted. */
async function askAll(gateway: RunningGateway, text: string, providers: readonly string[] = PROVIDERS): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const provider of providers) {
    for (const path of PATHS) {
      const response = await gateway.post(path, { provider, model: 'm', messages: [user(text)] });
      const { kind } = (await response.json()) as { kind: string };
      answers.push({ what: `${provider} ${path} ${text}`, status: response.status, kind });
    }
  }
  return answers;
}

function assertAll(answers: readonly Answer[], status: number, kind: string): void {
  assert.deepEqual(answers, answers.map(({ what }) => ({ what, status, kind })));
}

const STATUSES: readonly (readonly [upstream: readonly number[], status: number, kind: string])[] = [
  [[401, 402, 403, 407], 502, 'auth'],
  [[404], 404, 'not_found'],
  [[429], 429, 'rate_limit'],
  [[300, 301, 302, 303, 304, 307, 308, 399, 408, 409, 500, 501, 502, 503, 504, 520, 524, 529, 599, 600, 999], 502, 'server'],
  [[400, 405, 406, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 431, 451], 400, 'bad_request'],
];

test('a status alone, with a page of HTML, decides the kind; never is it the caller who gets 401', async (t) => {
  const upstream = await startUpstream(t, (response, _request, body) => {
    response.writeHead(Number(/status (\d+)/.exec(body)?.[1]), { 'content-type': 'text/html' });
    response.end('<html><body>Sorry.</body></html>');
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0' });
  for (const [upstreamStatuses, status, kind] of STATUSES) {
    for (const upstreamStatus of upstreamStatuses) assertAll(await askAll(gateway, `status ${upstreamStatus}`), status, kind);
  }
});

test('an error whose body is compressed has its status alone, and the log says why', async (t) => {
  const upstream = await startUpstream(t, (response) => {
    response.writeHead(400, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(gzipSync('{"error":{"code":"context_length_exceeded"}}'));
  });
  const gateway = await startGateway(t, environmentFor(upstream));
  assertAll(await askAll(gateway, 'compressed', ['openai']), 400, 'bad_request');
  assert.equal(gateway.logLines.at(-1)?.['detail'], 'openai answered 400, but its body is compressed, which was not asked for');
});

const BODIES: readonly string[] = [
  '', ' ', 'null', 'true', '0', '""', '[]', '{}', '[{}]', '{"error":null}', '{"choices":[]}', '{"candidates":[]}', '{"content":"x"}', '{"choices":{}}',
  '{"choices":[null]}', '{"candidates":[null]}', '{"content":[null]}', '{"choices":[{"message":null}]}', '{"type":"message"}', '{"content":[]}', '{"choices":[{"message":{}}]}', '{"candidates":[{}]}', 'nonsense', '{', '[', '{"a":1}{"a":1}',
  '\0', '\uFEFF', '['.repeat(100_000), '{"a":'.repeat(50_000), `"${'x'.repeat(100_000)}"`, `[${'0,'.repeat(300_000)}0]`, '<html></html>',
];

test('a whole body that is no answer is 502 server, whatever it is', async (t) => {
  const upstream = await startUpstream(t, (response, _request, body) => {
    answerJson(response, 200, BODIES[Number(/body (\d+)/.exec(body)?.[1])] ?? '');
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0' });
  for (const index of BODIES.keys()) assertAll(await askAll(gateway, `body ${index}`), 502, 'server');
});

test('a whole body where a stream was asked for is said to be one, however large it is', async (t) => {
  let asked = 0;
  const upstream = await startUpstream(t, (response, _request, body) => {
    asked += 1;
    const text = 'x'.repeat(Number(/of (\d+)/.exec(body)?.[1]));
    answerJson(response, 200, JSON.stringify({ choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }] }));
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '1', GATEWAY_RETRY_BASE_DELAY: '0ms' });
  for (const chars of [10, 100_000, 1_000_000]) {
    asked = 0;
    const response = await gateway.post('/v1/chat/stream', { provider: 'openai', model: 'm', messages: [user(`of ${chars}`)] });
    const error = 'openai answered 200, but it sent one whole body where a stream was asked for';
    assert.deepEqual([response.status, await response.json(), asked], [502, { kind: 'server', error }, 2], `${chars}`);
  }
});

test('an answer without a body is said to be empty, with the status that it had', async (t) => {
  const upstream = await startUpstream(t, (response, _request, body) => {
    response.writeHead(Number(/status (\d+)/.exec(body)?.[1]));
    response.end();
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0' });
  for (const status of [200, 204]) {
    const { body } = await gateway.chat({ provider: 'gemini', model: 'm', messages: [user(`status ${status}`)] });
    assert.deepEqual(body, { kind: 'server', error: `gemini answered ${status}, but its body is empty` });
  }
});

test('bytes that are no UTF-8 are 502 server in a whole body, and replaced in a stream', async (t) => {
  const upstream = await startUpstream(t, (response, _request, body) => {
    const isStream = body.includes('"stream":true');
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    const rest = '"},"finish_reason":"stop"}]}';
    const choice = isStream ? 'data: {"choices":[{"delta":{"content":"' : '{"choices":[{"message":{"role":"assistant","content":"';
    response.end(Buffer.concat([Buffer.from(choice), Buffer.from([0x61, 0xff, 0xc3]), Buffer.from(`${rest}${isStream ? '\n\ndata: [DONE]\n\n' : ''}`)]));
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0' });
  const request = { provider: 'openai', model: 'm', messages: [user('x')] };
  assert.deepEqual((await gateway.chat(request)).body.kind, 'server');
  assert.deepEqual((await gateway.stream(request)).map(({ text }) => text)[0], 'a\uFFFD\uFFFD');
});

/** Heads and framing as no HTTP library would send them. */
const WIRES: readonly string[] = [
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\nX-Bad : 1\r\nContent-Length: 2\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\nX-Bad: \0\r\nContent-Length: 2\r\n\r\n{}',
  `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100_000)}\r\nContent-Length: 2\r\n\r\n{}`,
  `HTTP/1.1 200 OK\r\n${'X-Many: 1\r\n'.repeat(20_000)}Content-Length: 2\r\n\r\n{}`,
  'HTTP/1.1 20 OK\r\n\r\n',
  'HTTP/2 200\r\n\r\n',
  'HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\n{}',
  'ICY 200 OK\r\n\r\n',
  'garbage\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00',
  `${CHUNKED_HEAD}zz\r\n{}\r\n`,
  `${CHUNKED_HEAD}ffffffffffffffffff\r\n{}`,
  `${CHUNKED_HEAD}2;${'x'.repeat(100_000)}\r\n{}\r\n${LAST_CHUNK}`,
  `${CHUNKED_HEAD}${chunkOf('{')}`,
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000),
  'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n'.repeat(1000),
  'HTTP/1.1 200',
  '',
];

test('what is no HTTP is a failure of the provider, and the next request to it succeeds', async (t) => {
  let isWell = false;
  const server = await startRawServer(t, {
    onRequest: (socket, { body }) => {
      if (isWell) socket.write('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n');
      else socket.end(WIRES[Number(/wire (\d+)/.exec(body)?.[1])] ?? '');
    },
  });
  const { origin } = server.baseUrl;
  const environment = { ANTHROPIC_BASE_URL: origin, OPENAI_BASE_URL: origin, GEMINI_BASE_URL: origin };
  const gateway = await startGateway(t, { ...environment, GATEWAY_MAX_RETRIES: '0' });
  for (const index of WIRES.keys()) {
    const answers = await askAll(gateway, `wire ${index}`);
    for (const { what, status, kind } of answers) {
      assert.equal(status, 502, what);
      assert.ok(kind === 'server' || kind === 'unknown', `${what}: ${kind}`);
    }
  }
  isWell = true;
  assertAll(await askAll(gateway, 'well'), 502, 'auth');
});

test('a redirect goes nowhere, whatever its status and wherever it points', async (t) => {
  const other = await startUpstream(t, (response) => response.end());
  const { host, port } = new URL(other.origin);
  const locations = [
    `${other.origin}/`, `//${host}/x`, `http://user:pass@${host}/`, `http://localhost:${port}/v1/chat/completions`, `HTTP://${host}`, `\\\\${host}\\x`, `/\\${host}`,
    '/v1/elsewhere', '?x', '', ' ', 'javascript:alert(1)', 'data:,x', 'file:///etc/passwd', `http://${host}/${'x'.repeat(4000)}`, 'http://[', undefined,
  ];
  const upstream = await startUpstream(t, (response, request, body) => {
    const [, status = '', at = ''] = /redirect (\d+) (\d+)/.exec(body) ?? [];
    const location = locations[Number(at)];
    response.writeHead(Number(status), { ...(location === undefined ? {} : { location }), refresh: `0; url=${other.origin}` });
    response.end();
    assert.notEqual(request.url, '/v1/elsewhere');
  });
  for (const [transport, statuses] of [['http', [300, 301, 302, 303, 305, 307, 308]], ['wire', [300, 301, 302, 303, 305, 307, 308]], ['fetch', [302, 307]]] as const) {
    const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0', GATEWAY_TRANSPORT: transport });
    for (const status of statuses) {
      // Every place for those that clients follow with a body, the first few for the others.
      const places = status === 302 || status === 307 ? locations.length : 3;
      for (let at = 0; at < places; at += 1) {
        // What a redirect points at is the transport's, and no vendor's.
        const providers = at === 0 ? PROVIDERS : PROVIDERS.slice(at % 3, (at % 3) + 1);
        assertAll(await askAll(gateway, `redirect ${status} ${at}`, providers), 502, 'server');
      }
    }
  }
  assert.equal(other.connections(), 0);
});

test('a body without an event where a stream was asked for is told from a stream that was cut', async (t) => {
  const bodies = [['text/html', '<html>\n<body>Welcome</body>\n</html>\n'], ['text/event-stream', ': welcome\n\n'], ['application/x-ndjson', '{"choices":[]}\n']] as const;
  let [type, sent]: readonly [string, string] = bodies[0];
  const upstream = await startUpstream(t, (response) => {
    response.writeHead(200, { 'content-type': type });
    response.end(sent);
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0' });
  for ([type, sent] of bodies) {
    for (const provider of PROVIDERS) {
      const response = await gateway.post('/v1/chat/stream', { provider, model: 'm', messages: [user('x')] });
      assert.equal(response.status, 502);
      assert.deepEqual(await response.json(), { kind: 'server', error: `${provider} answered 200, but its body holds no event of a stream` });
    }
  }
});

test('an error that stands in a stream without an event around it is told as what it is', async (t) => {
  const error = { code: 429, message: 'x', status: 'RESOURCE_EXHAUSTED', details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' }] };
  const bodies = [JSON.stringify({ error }), JSON.stringify({ error }, null, 2), JSON.stringify([{ error }], null, 2), `${JSON.stringify({ error }, null, 2)}\r\n\r\n`];
  const begun = 'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}\r\n\r\n';
  const stopped = 'data: {"candidates":[{"finishReason":"STOP"}]}\r\n\r\n';
  let sent = '';
  const upstream = await startUpstream(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(sent.slice(0, -7));
    setImmediate(() => response.end(sent.slice(-7)));
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0' });
  const body = { provider: 'gemini', model: 'm', messages: [user('hi')] };
  for (const json of bodies) {
    sent = json;
    const refused = await gateway.post('/v1/chat/stream', body);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '2'], json);
    for (const before of [begun, begun + stopped]) {
      sent = before + json;
      const frames = await gateway.stream(body);
      assert.deepEqual(frames.map(({ type, kind }) => [type, kind]), [['text_delta', undefined], ['error', 'rate_limit']], sent);
    }
  }
  for (const json of ['{"new":1}', '[]', '{"error":null}', '{"error"', '{']) {
    sent = `${begun}${stopped}${json}`;
    assert.equal((await gateway.stream(body)).at(-1)?.type, 'done', json);
  }
});
