/** A route's second target takes over until the first event of a stream, and never after it. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Adapter } from '../../src/core/adapter.ts';
import type { Route } from '../../src/core/route.ts';
import { Failure } from '../../src/core/failure.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { decodeChunks, endOf } from '../decode-stream.ts';
import { GOOD_REPLY, startUpstream } from '../faults/upstream.ts';
import { framesOf, routeOf, startGateway, user } from '../running-gateway.ts';
import type { ReplyBody, RunningGateway } from '../running-gateway.ts';
import { readFixture, splitFrames } from './wires.ts';

type Wire = { readonly provider: string; readonly openAiApi: 'chat' | 'responses'; readonly fixtures: readonly string[]; readonly error: string };

/** Each wire format: who is asked in it, its fixtures, and an error as it is told inside a 200. */
const WIRES: readonly Wire[] = [
  {
    provider: 'anthropic', openAiApi: 'chat',
    fixtures: ['anthropic/text', 'anthropic/tools', 'anthropic/server-tools', 'anthropic/cut-call', 'anthropic/refused'],
    error: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  },
  {
    provider: 'openai', openAiApi: 'chat',
    fixtures: ['openai-chat/text', 'openai-chat/tools', 'openai-chat/reasoning'],
    error: 'data: {"error":{"message":"overloaded","type":"server_error","code":"server_error"}}\n\n',
  },
  {
    provider: 'openai', openAiApi: 'responses',
    fixtures: ['openai-responses/text', 'openai-responses/tools', 'openai-responses/cut', 'openai-responses/refused'],
    error: 'event: error\ndata: {"type":"error","code":"server_error","message":"overloaded","sequence_number":0}\n\n',
  },
  {
    provider: 'gemini', openAiApi: 'chat',
    fixtures: ['gemini/text', 'gemini/tools', 'gemini/signed-ending'],
    error: 'data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}\n\n',
  },
];

const WHOLE = readFixture('openai-chat/text');

/** A gateway all of whose providers are one upstream: a model named `x-‹n›` answers as `answer` writes, any other well. */
async function startPair(t: TestContext, { openAiApi }: Wire, routes: readonly Route[], answer: (n: number, response: ServerResponse) => void): Promise<RunningGateway> {
  const upstream = await startUpstream(t, (response, request, body) => {
    const asked = `${request.url} ${body}`;
    const n = /x-(\d+)/.exec(asked)?.[1];
    if (n !== undefined) answer(Number(n), response);
    else if (body.includes('"stream":true')) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(WHOLE);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(GOOD_REPLY);
  });
  return startGateway(t, {
    ANTHROPIC_BASE_URL: upstream.origin, OPENAI_BASE_URL: `${upstream.origin}/v1`, GEMINI_BASE_URL: upstream.origin,
    GATEWAY_COMPAT_BASE_URL: `${upstream.origin}/v1`, OPENAI_API: openAiApi,
  }, { routes });
}

type Cut = { readonly kept: string; readonly at: 'before an answer' | 'in an answer' | 'behind a refusal' };

/** The fixture cut before its first event and behind each. */
function cutsOf({ provider, openAiApi }: Wire, fixture: string): readonly Cut[] {
  const frames = splitFrames(readFixture(fixture));
  const row = PROVIDER_ROWS.find(({ name }) => name === provider) ?? compatRow(provider);
  const adapter: Adapter = row.createAdapter(provider, { openAiApi });
  return ['', ...frames].map((_, count) => {
    const kept = frames.slice(0, count).join('');
    const deltas = decodeChunks(adapter, [Buffer.from(kept)]);
    const end = endOf(deltas);
    const hasBegun = deltas.some(({ type }) => type !== 'failed');
    return { kept, at: hasBegun ? 'in an answer' : end instanceof Failure && end.kind === 'refusal' ? 'behind a refusal' : 'before an answer' };
  });
}

for (const wire of WIRES) {
  const { provider, openAiApi, fixtures } = wire;

  test(`a stream of ${provider} by ${openAiApi} that is cut before its first event is the next target's, and behind it nobody's`, async (t) => {
    const cuts = fixtures.flatMap((fixture) => cutsOf(wire, fixture));
    // Each with a model of its own, so that the health of one says nothing of another.
    const routes = cuts.map((_, n) => routeOf(`r${n}`, `${provider}/x-${n}`, 'compat/good'));
    const gateway = await startPair(t, wire, routes, (n, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(cuts[n]?.kept || ':\n\n', () => response.destroy());
    });
    const counts = { 'before an answer': 0, 'in an answer': 0, 'behind a refusal': 0 };
    for (const [n, { at }] of cuts.entries()) {
      const response = await gateway.post('/v1/chat/stream', { model: `r${n}`, messages: [user('Go')] });
      const text = await response.text();
      const fallback = response.headers.get('x-gateway-fallback');
      counts[at] += 1;
      if (at === 'before an answer') {
        const end = framesOf(text).at(-1);
        assert.deepEqual([response.status, fallback, end?.type, end?.provider], [200, `${provider}=server`, 'done', 'compat'], `cut ${n}: ${text}`);
      } else {
        assert.deepEqual([response.status, fallback], [at === 'in an answer' ? 200 : 422, null], `cut ${n}: ${text}`);
        assert.ok(!text.includes('compat'), `cut ${n}: ${text}`);
      }
    }
    assert.ok(counts['before an answer'] >= fixtures.length && counts['in an answer'] >= fixtures.length, JSON.stringify(counts));
  });

  /** How it fails, and what the first target's failure is called then. */
  const failures: readonly (readonly [what: string, kind: string, answer: (response: ServerResponse) => void])[] = [
    ['an error inside a 200', 'server', (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(wire.error)],
    ['JSON in place of a stream', 'server', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"odd":1}')],
    ['an empty 200', 'server', (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end()],
    ['a reset connection', 'unknown', (response) => response.socket?.resetAndDestroy()],
    ['silence', 'unknown', () => undefined],
  ];
  test(`${failures.map(([what]) => what).join(', ')} of ${provider} by ${openAiApi}: the next target serves, streamed and whole`, async (t) => {
    const short = { firstEventTimeoutMs: 100, attemptTimeoutMs: 100 };
    // What fails by itself has all the time that a busy machine needs.
    const routes = failures.map(([what], n) => routeOf(`r${n}`, { provider, model: `x-${n}`, ...(what === 'silence' && short) }, 'compat/good'));
    const gateway = await startPair(t, wire, routes, (n, response) => failures[n]?.[2](response));
    for (const [n, [what, kind]] of failures.entries()) {
      const request = { model: `r${n}`, messages: [user('Go')] };
      const streamed = await gateway.post('/v1/chat/stream', request);
      const end = framesOf(await streamed.text()).at(-1);
      assert.deepEqual([streamed.headers.get('x-gateway-fallback'), end?.type, end?.provider], [`${provider}=${kind}`, 'done', 'compat'], what);
      const whole = await gateway.post('/v1/chat', request);
      const { provider: server } = (await whole.json()) as ReplyBody;
      assert.deepEqual([whole.headers.get('x-gateway-fallback'), whole.headers.get('x-gateway-attempts'), server], [`${provider}=${kind}`, '2', 'compat'], what);
    }
  });
}
