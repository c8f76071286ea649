/** Chats, streams and lists of models without HTTP. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { NATIVE } from '../../src/callers/native/dialect.ts';
import { EmbeddedExchange } from '../../src/embedded/exchange.ts';
import { createGateway, GatewayError } from '../../src/index.ts';
import type { ChatEvent, ChatRequest, Gateway, Message } from '../../src/index.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { GOOD_REPLY, startUpstream } from '../faults/upstream.ts';
import { framesOf, startGateway, user } from '../running-gateway.ts';
import { chunkFrame, GOOD_END, until } from '../streams/wires.ts';
import { abortable, answered, HELLO, library, rejectionOf } from './library.ts';

const WEATHER = { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Lisbon'] } }, required: ['city'] } };

async function eventsOf(stream: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  const events: ChatEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function sandboxOf(t: TestContext): Promise<Sandbox> {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  return sandbox;
}

function providersOf({ baseUrls }: Sandbox): { readonly [name: string]: { readonly key: string; readonly baseUrl: string } } {
  const key = 'a-key';
  return { anthropic: { key, baseUrl: baseUrls.anthropic }, openai: { key, baseUrl: baseUrls.openai }, gemini: { key, baseUrl: baseUrls.gemini } };
}

/** A failure as a library throws it, or what else was thrown. */
function factsOf(thrown: unknown): unknown {
  if (!(thrown instanceof GatewayError)) return thrown;
  const { name, kind, status, message, retryAfterMs } = thrown;
  return { name, kind, status, message, retryAfterMs };
}

test('chat, stream and models give the objects that HTTP gives', async (t) => {
  const running = await startGateway(t, { GATEWAY_INCLUDE_RAW: 'true' });
  const gateway = createGateway({ providers: providersOf(running.sandbox), includeRaw: true });
  t.after(() => gateway.close());
  const tools = [WEATHER];
  for (const request of [
    { provider: 'anthropic', model: 'fake-thinking', messages: [user('x')] },
    { provider: 'gemini', model: 'fake-tool-loop', messages: [user('x')], tools },
  ] as readonly ChatRequest[]) {
    const withoutIds = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll(/"(id|responseId)":"[^"]*"/g, '"$1":""'));
    assert.deepEqual(withoutIds(await gateway.chat(request)), withoutIds((await running.chat(request)).body));
    const response = await running.post('/v1/chat/stream', request);
    assert.deepEqual(withoutIds(await eventsOf(gateway.stream(request))), withoutIds(framesOf(await response.text())));
  }
  const list: unknown = await (await running.get('/v1/models?provider=openai')).json();
  assert.deepEqual(await gateway.models('openai'), list);
  assert.deepEqual(gateway.providers, ['anthropic', 'gemini', 'openai']);
  assert.equal((await gateway.models()).provider, 'anthropic');
});

test('a call is logged with its status and the bytes that its answer has over HTTP, also a large one', async (t) => {
  const { gateway, lines } = await answered(t, JSON.stringify({ choices: [{ message: { content: 'x'.repeat(2 * 1024 * 1024) }, finish_reason: 'stop' }] }));
  const reply = await gateway.chat(HELLO);
  const upstream = await startUpstream(t, (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(chunkFrame({ content: 'Good' }) + GOOD_END));
  const streaming = library(t, upstream.origin);
  const events = await eventsOf(streaming.gateway.stream(HELLO));
  const sent = [JSON.stringify(reply), events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')];
  assert.deepEqual([...lines, ...streaming.lines].filter(({ route }) => route !== undefined).map((line) => [line['status'], line['sent_bytes']]), sent.map((text) => [200, Buffer.byteLength(text)]));
});

test('a loop of tools goes on from the message of a reply', async (t) => {
  const sandbox = await sandboxOf(t);
  const gateway = createGateway({ providers: providersOf(sandbox) });
  t.after(() => gateway.close());
  const messages: Message[] = [{ role: 'user', text: 'x' }];
  const reasons: string[] = [];
  for (let rounds = 0; rounds < 5 && reasons.at(-1) !== 'end_turn'; rounds += 1) {
    const reply = await gateway.chat({ provider: 'anthropic', model: 'fake-tool-loop', messages, tools: [WEATHER] });
    reasons.push(reply.stop_reason);
    const content = (reply.tool_calls ?? []).map(({ id }) => ({ type: 'tool_result', tool_call_id: id, content: '21' }) as const);
    messages.push(reply.message, { role: 'tool', content });
  }
  assert.deepEqual(reasons, ['tool_use', 'tool_use', 'end_turn']);
});

test('a request is checked as one over HTTP is, before anybody is asked', async (t) => {
  const { gateway, calls, lines } = await answered(t, GOOD_REPLY, { maxBodyBytes: 1000 });
  const failure = (message: string, kind = 'bad_request', status = 400): unknown => ({ name: 'GatewayError', kind, status, message, retryAfterMs: undefined });
  const cases: readonly (readonly [request: unknown, failure: unknown])[] = [
    [{ ...HELLO, modle: 1 }, failure('modle: unknown field; did you mean model?')],
    [{ ...HELLO, messages: [{ role: 'user', content: [{ type: 'text', text: 'x', colour: 1 }] }] }, failure('messages[0].content[0].colour: unknown field')],
    [{ ...HELLO, temperature: NaN }, failure('temperature: expected a string, finite number, boolean, array, plain object or null, got NaN')],
    [{ ...HELLO, provider_options: { when: new Date() } }, failure('provider_options.when: expected a string, finite number, boolean, array, plain object or null, got an instance of a class')],
    [{ model: 'm1', messages: [] }, failure('messages: must not be empty')],
    [undefined, failure('expected a string, finite number, boolean, array, plain object or null, got undefined')],
    [[], failure('the body must be a JSON object')],
    [{ ...HELLO, provider: 'nobody' }, failure('provider: "nobody" is not registered on this gateway; GET /v1/providers lists those that are', 'not_found', 404)],
    [{ ...HELLO, system: 'x'.repeat(1001) }, failure('the body is larger than 1000 bytes (GATEWAY_MAX_BODY_BYTES)', 'bad_request', 413)],
    [{ ...HELLO, system: 'ä'.repeat(600) }, failure('the body is larger than 1000 bytes (GATEWAY_MAX_BODY_BYTES)', 'bad_request', 413)],
  ];
  for (const [request, expected] of cases) {
    assert.deepEqual(factsOf(await rejectionOf(gateway.chat(request as ChatRequest))), expected);
    assert.deepEqual(factsOf(await rejectionOf(eventsOf(gateway.stream(request as ChatRequest)))), expected);
  }
  assert.equal(calls(), 0);
  assert.equal(lines.filter(({ route }) => route === 'chat' || route === 'chat_stream').length, 2 * cases.length);
  await gateway.chat({ ...HELLO, system: undefined, tools: undefined });
});

test('a failure is retried, thrown with what HTTP would say of it, logged and counted', async (t) => {
  const upstream = await startUpstream(t, (response) => response.writeHead(429, { 'retry-after-ms': '5' }).end('{"error":{"message":"slower"}}'));
  const { gateway, lines } = library(t, upstream.origin, { maxRetries: 2, callers: { ops: 'a-token-of-the-operators' } });
  const thrown = await rejectionOf(gateway.chat(HELLO, { caller: 'ops' }));
  assert.ok(thrown instanceof GatewayError);
  assert.deepEqual([thrown.kind, thrown.status, thrown.retryAfterMs, upstream.calls()], ['rate_limit', 429, 5, 3]);
  const line = lines.find(({ route }) => route === 'chat');
  assert.deepEqual(
    [line?.['request_id'], line?.['kind'], line?.['status'], line?.['attempts'], line?.['caller'], line?.['method'], line?.['address']],
    [thrown.requestId, 'rate_limit', 429, 3, 'ops', undefined, undefined],
  );
  const page = gateway.metricsText();
  assert.match(page, /gateway_chats_total\{caller="ops",provider="compat",error_type="rate_limit"\} 1\n/);
  assert.match(page, /gateway_upstream_retries_total\{provider="compat",kind="rate_limit"\} 2\n/);
  assert.match(page, /gateway_requests_in_flight 0\n/);
});

test('a stream that is cut throws after the events that came', async (t) => {
  const upstream = await startUpstream(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(chunkFrame({ content: 'Good' }));
  });
  const { gateway } = library(t, upstream.origin);
  const events: ChatEvent[] = [];
  const thrown = await rejectionOf((async () => {
    for await (const event of gateway.stream(HELLO)) events.push(event);
  })());
  assert.deepEqual(events, [{ type: 'text_delta', text: 'Good' }]);
  assert.deepEqual(factsOf(thrown), { name: 'GatewayError', kind: 'server', status: 502, message: 'compat ended the stream before the answer was complete', retryAfterMs: undefined });
});

/** An upstream that answers with the head of a stream and one event, and then waits; what it sees of a hang-up is told. */
async function hanging(t: TestContext): Promise<{ readonly origin: string; readonly gone: Promise<unknown> }> {
  let tell: (gone: unknown) => void = () => undefined;
  const gone = new Promise((resolve) => (tell = resolve));
  const upstream = await startUpstream(t, (response: ServerResponse) => {
    response.on('close', tell);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunkFrame({ content: 'Good' }));
  });
  return { origin: upstream.origin, gone };
}

test("to leave the loop ends the provider's call, and is nobody's failure", async (t) => {
  const { origin, gone } = await hanging(t);
  const { gateway, lines } = library(t, origin);
  for await (const event of gateway.stream(HELLO)) {
    assert.equal(event.type, 'text_delta');
    break;
  }
  await gone;
  const line = lines.find(({ route }) => route === 'chat_stream');
  assert.deepEqual([line?.['status'], line?.['ended'], line?.['level']], [499, 'caller-gone', 'info']);
  assert.match(gateway.metricsText(), /gateway_open_streams 0\n/);
});

test('to leave the loop at the last event is no hang-up', async (t) => {
  const upstream = await startUpstream(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunkFrame({ content: 'Good' }));
    finish = () => response.write(GOOD_END);
  });
  let finish: () => void = () => undefined;
  const { gateway, lines } = library(t, upstream.origin);
  for await (const { type } of gateway.stream(HELLO)) {
    if (type === 'done') break;
    finish();
  }
  const line = lines.find(({ route }) => route === 'chat_stream');
  assert.deepEqual([line?.['status'], line?.['ended']], [200, undefined]);
});

test("a stream that is returned while its next event is awaited ends the provider's call at once", async (t) => {
  const { origin, gone } = await hanging(t);
  const { gateway } = library(t, origin);
  const stream = gateway.stream(HELLO);
  await stream.next();
  const awaited = rejectionOf(stream.next());
  assert.deepEqual(await stream.return(undefined), { done: true, value: undefined });
  await gone;
  assert.ok(await awaited instanceof GatewayError);
});

test("a stream that is thrown into while its next event is awaited ends the provider's call at once, as one of Node's that is destroyed does", async (t) => {
  const { origin, gone } = await hanging(t);
  const { gateway } = library(t, origin);
  const readable = Readable.from(gateway.stream(HELLO));
  const reason = new Error('the client is gone');
  readable.once('data', () => setImmediate(() => readable.destroy(reason)));
  assert.deepEqual(await once(readable, 'close').catch((thrown: unknown) => thrown), reason);
  await gone;
});

test("an abort rejects at once with the signal's reason and ends the provider's call, whatever it is that waits", async (t) => {
  const streaming = await hanging(t);
  const { gateway } = library(t, streaming.origin);
  const inStream = abortable();
  const stream = gateway.stream(HELLO, inStream);
  assert.equal((await stream.next()).done, false);
  const next = stream.next();
  inStream.abort();
  assert.equal(await rejectionOf(next), inStream.reason);
  await streaming.gone;

  const several = await startUpstream(t, (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunkFrame({ content: 'a' }) + chunkFrame({ content: 'b' })));
  const inEvents = abortable();
  const events = library(t, several.origin).gateway.stream(HELLO, inEvents);
  assert.equal((await events.next()).done, false);
  inEvents.abort();
  assert.equal(await rejectionOf(events.next()), inEvents.reason);

  const asked = abortable();
  const upstream = await startUpstream(t, () => asked.abort());
  const silent = library(t, upstream.origin);
  assert.equal(await rejectionOf(silent.gateway.chat(HELLO, asked)), asked.reason);
  assert.equal(silent.lines.find(({ route }) => route === 'chat')?.['ended'], 'caller-gone');

  const backing = abortable();
  const failing = await startUpstream(t, (response) => {
    response.writeHead(500).end();
    setImmediate(backing.abort);
  });
  assert.equal(await rejectionOf(library(t, failing.origin, { retryBaseDelay: '1h', retryMaxDelay: '1h' }).gateway.chat(HELLO, backing)), backing.reason);

  const before = abortable();
  before.abort();
  for (const call of [gateway.chat(HELLO, before), gateway.stream(HELLO, before).next(), gateway.models('compat', before)]) {
    assert.equal(await rejectionOf(call), before.reason);
  }
});

test('a signal that lives on keeps nothing of the calls that it was given to', async (t) => {
  const { gateway } = await answered(t, GOOD_REPLY);
  let listeners = 0;
  const signal = { aborted: false, reason: undefined, addEventListener: () => void (listeners += 1), removeEventListener: () => void (listeners -= 1) };
  await gateway.chat(HELLO, { signal });
  await rejectionOf(eventsOf(gateway.stream(HELLO, { signal })));
  assert.equal(listeners, 0);
});

test('what is no signal, such as its controller, is refused before anybody is asked', async (t) => {
  const { gateway, calls } = await answered(t, GOOD_REPLY);
  for (const signal of [new AbortController(), null, 1000] as unknown as readonly AbortSignal[]) {
    for (const call of [gateway.chat(HELLO, { signal }), gateway.stream(HELLO, { signal }).next(), gateway.models('compat', { signal })]) {
      assert.deepEqual(await rejectionOf(call), new TypeError('signal: expected an AbortSignal'));
    }
  }
  assert.equal(calls(), 0);
});

test('a stream that nobody iterates asks nobody', async (t) => {
  const { gateway, calls, lines } = await answered(t, GOOD_REPLY);
  await gateway.stream(HELLO).return(undefined);
  await gateway.drain();
  assert.deepEqual([calls(), lines.length], [0, 0]);
});

test('a consumer that takes nothing holds the provider back, and is cut off after writeStallTimeout', async (t) => {
  const frame = chunkFrame({ content: 'x'.repeat(64 * 1024) });
  let written = 0;
  const upstream = await startUpstream(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = (): void => {
      while (written < 1000 && !response.destroyed) {
        written += 1;
        if (!response.write(frame)) {
          response.once('drain', write);
          return;
        }
      }
    };
    write();
  });
  const { gateway, lines } = library(t, upstream.origin, { writeStallTimeout: 200 });
  const stream = gateway.stream(HELLO);
  await stream.next();
  await until(() => lines.some(({ ended }) => ended === 'caller-stalled'));
  assert.ok(written < 1000, `${written} of 1000 frames were taken`);
  const rest = await rejectionOf(eventsOf(stream));
  assert.deepEqual([(rest as GatewayError).kind, (rest as GatewayError).message], ['unknown', 'the caller stopped reading for longer than GATEWAY_WRITE_STALL_TIMEOUT allows']);
});

test('a consumer that takes what it was waited for in time is not cut off afterwards', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const exchange = new EmbeddedExchange(HELLO, '/v1/chat/stream', NATIVE);
  exchange.openStream();
  assert.equal(exchange.write('data: {"type":"text_delta","text":"a"}\n\n'), false);
  assert.equal(exchange.isBehind, true);
  const drained = exchange.drained(100);
  t.mock.timers.tick(90);
  assert.equal((await exchange.nextEvent())?.type, 'text_delta');
  await drained;
  assert.equal(exchange.isBehind, false);
  t.mock.timers.tick(1000);
  assert.equal(exchange.scope.ended, undefined);
});

test('users and cache keys leave as digests, which no two callers share', async (t) => {
  const sandbox = await sandboxOf(t);
  const gateway = createGateway({ providers: providersOf(sandbox) });
  t.after(() => gateway.close());
  const request: ChatRequest = { ...HELLO, provider: 'openai', user: 'somebody', cache: { key: 'somewhere' } };
  for (const caller of ['a', 'b']) await gateway.chat(request, { caller });
  const told = sandbox.calls.map(({ json }) => json as { readonly safety_identifier: string; readonly prompt_cache_key: string });
  const digests = told.flatMap((each) => [each.safety_identifier, each.prompt_cache_key]);
  assert.ok(digests.every((digest) => /^[0-9a-f]{64}$/.test(digest)));
  assert.equal(new Set(digests).size, 4);
});

test('time limits, places and labels are those of HTTP', async (t) => {
  const upstream = await startUpstream(t, () => undefined);
  const { gateway, lines } = library(t, upstream.origin, { requestTimeout: 300, streamTimeout: 300, maxConcurrent: 1 });
  const waiting = gateway.chat(HELLO, { caller: 'somebody' });
  const full = await rejectionOf(gateway.chat(HELLO));
  assert.deepEqual(factsOf(full), { name: 'GatewayError', kind: 'rate_limit', status: 429, message: 'the gateway is at its limit of concurrent requests', retryAfterMs: 1000 });
  assert.equal((await rejectionOf(waiting) as GatewayError).message, 'the request took longer than GATEWAY_REQUEST_TIMEOUT allows');
  assert.equal((await rejectionOf(eventsOf(gateway.stream(HELLO))) as GatewayError).message, 'the request took longer than GATEWAY_STREAM_TIMEOUT allows');
  const page = gateway.metricsText();
  assert.match(page, /gateway_chats_total\{caller="other",provider="compat",error_type="deadline"\} 1\n/);
  assert.match(page, /gateway_chats_total\{caller="default",provider="",error_type="rate_limit"\} 1\n/);
  assert.deepEqual(lines.filter(({ route }) => route === 'chat').map(({ caller }) => caller), ['default', 'somebody']);
  assert.ok(await rejectionOf(gateway.chat(HELLO, { caller: 'a b' })) instanceof TypeError);
});

test('a log that throws, or whose promise rejects, harms nothing, and what it lost is counted', async (t) => {
  const broken = (): never => {
    throw new Error('the disk is full');
  };
  // A promise of another library than the platform's.
  const late = (): PromiseLike<never> => ({ then: (_resolved, rejected) => Promise.reject(broken).then(undefined, rejected) });
  const { gateway } = await answered(t, GOOD_REPLY, { log: { debug: late, info: broken, warn: broken, error: late }, callers: { a: 'short' }, logLevel: 'debug' });
  assert.equal((await gateway.chat(HELLO)).text, 'Good.');
  await new Promise((resolve) => setImmediate(resolve));
  assert.match(gateway.metricsText(), /gateway_log_lines_dropped_total [3-9]\n/);
});

test('without a log nothing is written anywhere', async (t) => {
  const outputs = [t.mock.method(process.stderr, 'write'), ...(['log', 'info', 'warn', 'error'] as const).map((name) => t.mock.method(console, name))];
  const before = outputs.map(({ mock }) => mock.callCount());
  const { gateway } = await answered(t, GOOD_REPLY, { log: undefined, callers: { a: 'short' } });
  await gateway.chat(HELLO);
  assert.deepEqual(outputs.map(({ mock }) => mock.callCount()), before);
});

test('a fetch of the embedder is what providers are called with', async (t) => {
  const seen: string[] = [];
  const { gateway } = library(t, 'https://far.example/v1', {
    fetch: async (url) => {
      seen.push(url);
      return new Response(GOOD_REPLY, { headers: { 'content-type': 'application/json' } });
    },
  });
  assert.equal((await gateway.chat(HELLO)).text, 'Good.');
  assert.deepEqual(seen, ['https://far.example/v1/chat/completions']);
});

test('drain waits for what is in flight; after it calls are refused with 503', async (t) => {
  let answer: () => void = () => undefined;
  const upstream = await startUpstream(t, (response) => (answer = () => response.end(GOOD_REPLY)));
  const { gateway } = library(t, upstream.origin);
  const reply = gateway.chat(HELLO);
  await until(() => upstream.calls() === 1);
  const drained = gateway.drain();
  answer();
  assert.equal((await reply).text, 'Good.');
  assert.equal(await drained, true);
  const thrown = await rejectionOf(gateway.chat(HELLO)) as GatewayError;
  assert.deepEqual([thrown.status, thrown.message], [503, 'the gateway is shutting down']);
});

test('close, also at the end of an `await using` block, ends what is in flight', async (t) => {
  const { origin } = await hanging(t);
  let stream: AsyncGenerator<ChatEvent, void, undefined>;
  {
    const { gateway } = library(t, origin);
    stream = gateway.stream(HELLO);
    await stream.next();
    await gateway[Symbol.asyncDispose]();
  }
  assert.equal((await rejectionOf(eventsOf(stream)) as GatewayError).status, 503);
});

test('reload swaps keys for the calls that come after it, and names what it cannot take over', async (t) => {
  const keys: (string | undefined)[] = [];
  const upstream = await startUpstream(t, (response, request) => {
    keys.push(request.headers.authorization);
    response.end(GOOD_REPLY);
  });
  const options = (key: string): Parameters<Gateway['reload']>[0] => ({ providers: { mine: { like: 'compat', key, baseUrl: upstream.origin } } });
  const gateway = createGateway(options('first'));
  t.after(() => gateway.close());
  await gateway.chat(HELLO);
  assert.deepEqual(gateway.reload({ ...options('second'), maxRetries: 5 }), { swapped: ['key of mine'], needsRestart: ['maxRetries'] });
  await gateway.chat(HELLO);
  assert.deepEqual(keys, ['Bearer first', 'Bearer second']);
  assert.throws(() => gateway.reload({ providers: {} }), { name: 'ConfigError', problems: ['providers: required; e.g. { anthropic: { key } }'] });
});

test('reload warns of what is odd, as the start does', async (t) => {
  const { gateway, lines } = library(t, 'http://127.0.0.1:1');
  assert.deepEqual(lines, []);
  gateway.reload({ providers: { compat: { baseUrl: 'http://127.0.0.1:1' }, groq: { key: 'a-key-of-groq', baseUrl: 'http://far.example' } }, callers: { a: 'short' } });
  assert.deepEqual(lines, [
    { level: 'warn', message: 'callers.a: the token has fewer than 16 characters and can be guessed' },
    { level: 'warn', message: 'providers.groq.baseUrl: keys and prompts travel to far.example unencrypted; use https' },
  ]);
});

test('reload sees what changed in the very object that it was given before', async () => {
  const options = { providers: { compat: { baseUrl: 'http://127.0.0.1:1' } }, maxRetries: 1 };
  const gateway = createGateway(options);
  options.maxRetries = 2;
  options.providers.compat.baseUrl = 'http://127.0.0.1:2';
  assert.deepEqual(gateway.reload(options), { swapped: [], needsRestart: ['maxRetries', 'providers.compat'] });
  await gateway.close();
});

test('a good stream of an upstream is the same events whatever its chunks are', async (t) => {
  const sse = `${chunkFrame({ content: 'Go' })}${chunkFrame({ content: 'od\u2028.' })}${GOOD_END}`;
  const upstream = await startUpstream(t, async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of sse.match(/[^]{1,40}/g) ?? []) if (!response.write(piece)) await once(response, 'drain');
    response.end();
  });
  const { gateway } = library(t, upstream.origin);
  const events = await eventsOf(gateway.stream(HELLO));
  assert.deepEqual(events.map((event) => (event.type === 'text_delta' ? event.text : event.type)), ['Go', 'od\u2028.', 'done']);
});
