import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceFrom, traceHeaders } from '../../src/http/trace.ts';
import { startGateway, user } from '../running-gateway.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

test('traceFrom reads the trace id and the flags', () => {
  assert.deepEqual(traceFrom({ traceparent: TRACEPARENT }), { traceId: TRACE, flags: '01', state: undefined });
  assert.deepEqual(traceFrom({ traceparent: `00-${TRACE}-${SPAN}-00` })?.flags, '00');
});

test('traceFrom reads the part that it knows of a later version', () => {
  assert.equal(traceFrom({ traceparent: `cc-${TRACE}-${SPAN}-01` })?.traceId, TRACE);
  assert.equal(traceFrom({ traceparent: `cc-${TRACE}-${SPAN}-01-what-comes` })?.traceId, TRACE);
});

for (const [what, traceparent] of [
  ['nothing', undefined],
  ['an empty one', ''],
  ['the version that is none', `ff-${TRACE}-${SPAN}-01`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a parent id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['capitals', TRACEPARENT.toUpperCase()],
  ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
  ['a short parent id', `00-${TRACE}-${SPAN.slice(1)}-01`],
  ['no flags', `00-${TRACE}-${SPAN}`],
  ['more than version 00 has', `${TRACEPARENT}-more`],
  ['more without a hyphen', `cc-${TRACE}-${SPAN}-01more`],
  ['a space in front', ` ${TRACEPARENT}`],
  ['two of them', `${TRACEPARENT}, ${TRACEPARENT}`],
] as const) {
  test(`traceFrom ignores a traceparent with ${what}`, () => {
    assert.equal(traceFrom(traceparent === undefined ? {} : { traceparent }), undefined);
  });
}

test('traceFrom keeps a tracestate of up to 512 printable characters, and none without a traceparent', () => {
  assert.equal(traceFrom({ traceparent: TRACEPARENT, tracestate: 'a=1,b=2' })?.state, 'a=1,b=2');
  assert.equal(traceFrom({ traceparent: TRACEPARENT, tracestate: 'x'.repeat(512) })?.state, 'x'.repeat(512));
  for (const tracestate of ['x'.repeat(513), '', 'a=\u00e9', 'a=\t']) assert.equal(traceFrom({ traceparent: TRACEPARENT, tracestate })?.state, undefined);
  assert.equal(traceFrom({ tracestate: 'a=1' }), undefined);
});

test('traceHeaders keeps trace and flags, and gives each call a span of its own', () => {
  const trace = { traceId: TRACE, flags: '00', state: 'a=1' };
  const [first, second] = [traceHeaders(trace), traceHeaders(trace)];
  assert.equal(first?.['tracestate'], 'a=1');
  const span = /^00-0af7651916cd43dd8448eb211c80319c-([0-9a-f]{16})-00$/;
  const spans = [first, second].map((headers) => span.exec(headers?.['traceparent'] ?? '')?.[1]);
  assert.equal(new Set([...spans, undefined, SPAN]).size, 4);
  assert.deepEqual(Object.keys(traceHeaders({ ...trace, state: undefined }) ?? {}), ['traceparent']);
  assert.equal(traceHeaders(undefined), undefined);
});

const HEADERS = { traceparent: TRACEPARENT, tracestate: 'vendor=canary' };

test("a caller's trace is in the log line and, by default, in no call", async (t) => {
  const gateway = await startGateway(t);
  for (const path of ['/v1/chat', '/v1/chat/stream']) {
    await (await gateway.post(path, { model: 'fake-chat', messages: [user('x')] }, HEADERS)).text();
  }
  await (await gateway.get('/v1/models?provider=openai', HEADERS)).text();
  await (await gateway.get('/v1/providers')).text();
  const lines = gateway.logLines.filter((line) => typeof line['route'] === 'string');
  assert.deepEqual(lines.map((line) => line['trace_id']), [TRACE, TRACE, TRACE, undefined]);
  for (const { headers } of gateway.sandbox.calls) assert.deepEqual([headers['traceparent'], headers['tracestate']], [undefined, undefined]);
});

test('GATEWAY_PROPAGATE_TRACE sends it on with another span, with every provider and every call', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_PROPAGATE_TRACE: 'true' });
  for (const provider of ['anthropic', 'openai', 'gemini', 'compat']) {
    for (const path of ['/v1/chat', '/v1/chat/stream']) {
      await (await gateway.post(path, { provider, model: 'fake-chat', messages: [user('x')] }, HEADERS)).text();
    }
  }
  await (await gateway.get('/v1/models?provider=openai', HEADERS)).text();
  assert.ok(gateway.sandbox.calls.length >= 9);
  for (const { headers } of gateway.sandbox.calls) {
    assert.match(String(headers['traceparent']), new RegExp(`^00-${TRACE}-(?!${SPAN})[0-9a-f]{16}-01$`));
    assert.equal(headers['tracestate'], 'vendor=canary');
  }
});

test('GATEWAY_PROPAGATE_TRACE sends nothing on where the caller says nothing valid', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_PROPAGATE_TRACE: 'true' });
  const headers = { traceparent: 'garbage', tracestate: 'vendor=canary' };
  await (await gateway.post('/v1/chat', { model: 'fake-chat', messages: [user('x')] }, headers)).text();
  const [call] = gateway.sandbox.calls;
  assert.deepEqual([call?.headers['traceparent'], call?.headers['tracestate']], [undefined, undefined]);
});
