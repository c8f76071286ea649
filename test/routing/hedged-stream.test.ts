/** Two streams beside each other, as a caller sees them: one of them, whole. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Delta } from '../../src/core/delta.ts';
import type { Failure } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import type { Candidate } from '../../src/gateway/ask.ts';
import { createCallRecord } from '../../src/gateway/call-record.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import type { StreamSink } from '../../src/gateway/pipe-stream.ts';
import { createMetrics } from '../../src/metrics.ts';
import { RoutingState } from '../../src/routing/state.ts';
import { endedFailure } from '../../src/upstream/transport-failure.ts';
import type { ChunkReceiver, Transport, UpstreamResponse } from '../../src/upstream/transport.ts';
import { askRoute, fakeProvider, fakeRoute, fakeTarget } from './virtual.ts';

const PROVIDERS = new Map(['a', 'b'].map((name) => [name, fakeProvider(name)]));
const ROUTE = fakeRoute([fakeTarget('a/m'), fakeTarget('b/m')], { hedgeAfterMs: 1 });
const SETTINGS = {
  connectTimeoutMs: 60_000, attemptTimeoutMs: 60_000, streamIdleTimeoutMs: 60_000,
  retryPolicy: { retriesMax: 3, baseDelayMs: 1, maxDelayMs: 1, retryAfterCapMs: 60_000 },
};

const frame = (who: string, delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: who, model: who, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** A response that begins with what is no event yet, then says the pieces, and with `staysOpen` is silent until its exchange is over. */
function response(who: string, scope: Scope, pieces: readonly string[], staysOpen: boolean): UpstreamResponse {
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    readBody: () => assert.fail('a stream is not read whole'),
    startIdleLimit: () => undefined,
    discard: () => undefined,
    async readChunks(onChunk: ChunkReceiver) {
      for (const piece of [frame(who, { role: 'assistant', content: '' }), ...pieces]) {
        await onChunk(Buffer.from(piece));
        if (scope.ended !== undefined) return endedFailure(scope.ended);
      }
      if (staysOpen) await new Promise<void>((resolve) => scope.onEnd(resolve));
      return scope.ended === undefined ? undefined : endedFailure(scope.ended);
    },
  };
}

/** What a caller's stream is given. */
function createSink(flush: StreamSink['flush'] = () => undefined) {
  const seen: string[] = [];
  const sink: StreamSink = {
    begin: ({ provider }: Candidate) => void seen.push(`begin ${provider.name}`),
    push: (delta: Delta) => void seen.push(delta.type === 'text' ? delta.text : delta.type),
    relay: (_event, data) => void seen.push(data.includes('"role"') ? 'relayed head' : 'relayed'),
    flush,
  };
  return { sink, seen };
}

function createSubject(send: Transport['send'], routing?: RoutingState) {
  const metrics = createMetrics({ version: '', logLinesDropped: () => 0, upstreamSockets: () => 0 });
  metrics.stop();
  return createGateway(SETTINGS, { send }, metrics, () => undefined, routing && { routing });
}

const PIECES = [frame('b', { content: 'one' }), frame('b', { content: ' two' }), frame('b', {}, 'stop'), 'data: [DONE]\n\n'];

function contextOf(scope: Scope) {
  return { scope, deadline: { atMs: performance.now() + 60_000, setting: 'GATEWAY_STREAM_TIMEOUT' }, record: createCallRecord('') };
}

test('a large event of a stream that may have another beside it is handed on piece by piece, as of any that is translated', async () => {
  const text = 'x'.repeat(1024 * 1024);
  const gateway = createSubject((_provider, _call, scope) => Promise.resolve(response('a', scope, [frame('a', { content: text }), frame('a', {}, 'stop'), 'data: [DONE]\n\n'], false)));
  const flushed: number[] = [];
  const { sink, seen } = createSink(() => void flushed.push(seen.length));
  const route = fakeRoute(ROUTE.targets, { hedgeAfterMs: 60_000 });
  assert.equal((await gateway.stream(askRoute(route, PROVIDERS), contextOf(new Scope()), { ...sink, relay: undefined })).result, undefined);
  assert.deepEqual([seen.map((each) => each.length), seen.slice(1, -1).join('') === text], [['begin a'.length, ...Array<number>(4).fill(256 * 1024), 'done'.length], true]);
  assert.deepEqual(flushed.slice(0, 4), [2, 3, 4, 5]);
});

test('of two streams beside each other a caller sees the one with the first event, from its beginning, and nothing of the other', async () => {
  const scopes = new Map<string, Scope>();
  const gateway = createSubject((provider, _call, scope) => {
    scopes.set(provider.name, scope);
    return Promise.resolve(provider.name === 'a' ? response('a', scope, [], true) : response('b', scope, PIECES, false));
  });
  const { sink, seen } = createSink();
  const context = contextOf(new Scope());
  const { candidate, result } = await gateway.stream(askRoute(ROUTE, PROVIDERS), context, sink);
  assert.equal(result, undefined);
  assert.equal(candidate.provider.name, 'b');
  assert.deepEqual(seen, ['begin b', 'relayed head', 'one', 'relayed', ' two', 'relayed', 'relayed', 'done', 'relayed']);
  assert.equal(scopes.get('a')?.ended, 'outpaced');
  assert.deepEqual([context.record.hedged, context.record.servedModel, context.record.attempts], ['won', 'b', 2]);
});

test('a first target that writes is not held for one that hangs when another has its first event earlier', async () => {
  const ailing = async (heads: boolean): Promise<boolean> => {
    const routing = new RoutingState({ now: () => 0, random: () => 0.5 }, 60_000);
    const gateway = createSubject((provider, _call, scope) => {
      const silent = { ...response('a', scope, [], true), readChunks: () => new Promise<Failure>((resolve) => scope.onEnd(() => resolve(endedFailure('outpaced')))) };
      return Promise.resolve(provider.name === 'b' ? response('b', scope, PIECES, false) : heads ? response('a', scope, [], true) : silent);
    }, routing);
    for (let times = 0; times < 8; times += 1) await gateway.stream(askRoute(ROUTE, PROVIDERS), contextOf(new Scope()), createSink().sink);
    return routing.targets.of(fakeTarget('a/m')).isOut;
  };
  assert.equal(await ailing(true), false);
  assert.equal(await ailing(false), true);
});

test('a caller that hangs up ends its stream, though a slow moment of its had taken the slot of its exchange', async () => {
  const gateway = createSubject((provider, _call, scope) => Promise.resolve(response(provider.name, scope, provider.name === 'a' ? [] : PIECES.slice(0, 1), true)));
  const exchange = new Scope();
  const { sink, seen } = createSink(() => new Promise<void>((resolve) => {
    // As the inbound side waits: in the exchange's slot, which it gives back.
    exchange.onEnd(resolve);
    setImmediate(() => {
      exchange.onEnd(undefined);
      resolve();
      setImmediate(() => exchange.end('caller-gone'));
    });
  }));
  const { result } = await gateway.stream(askRoute(ROUTE, PROVIDERS), contextOf(exchange), sink);
  assert.equal(result?.message, 'the caller hung up');
  assert.deepEqual(seen, ['begin b', 'relayed head', 'one', 'relayed']);
});

test('a probe whose answer has begun keeps nobody else from probing, however long its caller takes to read it', async () => {
  let nowMs = 0;
  const routing = new RoutingState({ now: () => nowMs, random: () => 0.5 }, 60_000);
  const target = routing.targets.of(fakeTarget('a/m'));
  target.gone();
  nowMs = 60_000;
  const states: string[] = [];
  for (const route of [ROUTE, fakeRoute(ROUTE.targets)]) {
    const gateway = createSubject((provider, _call, scope) => {
      states.push(target.state);
      return Promise.resolve(response(provider.name, scope, PIECES.slice(0, 1), true));
    }, routing);
    const exchange = new Scope();
    const push = (): void => {
      states.push(target.state);
      exchange.end('caller-gone');
    };
    const { candidate } = await gateway.stream(askRoute(route, PROVIDERS), contextOf(exchange), { push, flush: () => undefined });
    assert.equal(candidate.provider.name, 'a');
    assert.equal(target.state, 'due');
  }
  assert.deepEqual(states, ['probed', 'due', 'probed', 'due']);
});
