/** However an exchange ends, its caller gets its place back, once, and is charged what its kind of end costs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { NATIVE } from '../../src/callers/native/dialect.ts';
import { Failure, FAILURE_KINDS } from '../../src/core/failure.ts';
import type { FailureKind } from '../../src/core/failure.ts';
import type { CallerLimits } from '../../src/core/route.ts';
import type { ScopeEnd } from '../../src/core/scope.ts';
import { EmbeddedExchange } from '../../src/embedded/exchange.ts';
import type { CallContext, Gateway } from '../../src/gateway/gateway.ts';
import { answerChat } from '../../src/http/chat.ts';
import { answerCount } from '../../src/http/count.ts';
import { Exchanges } from '../../src/http/exchanges.ts';
import { answerModels } from '../../src/http/models.ts';
import { Limits } from '../../src/limits/limiter.ts';
import { createMemoryStore } from '../../src/limits/memory.ts';
import type { LimitStore } from '../../src/limits/store.ts';
import { createRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { valueOf } from '../metrics-page.ts';
import { startGateway, TOKEN, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';
import { createParts } from './bare-server.ts';
import { RawCaller } from './raw-caller.ts';

const RPM = 100_000;
const TPD = 100_000_000;
const LIMITS = { GATEWAY_CALLER_LIMITS: `default:rpm=${RPM},tpd=${TPD},concurrent=1`, GATEWAY_MAX_RETRIES: '0' };
/** A hundred tokens by estimate: a system text of 400 characters. */
const ESTIMATE = 100;

/** What an end costs: nothing at all, a request, its estimate and what was delivered, or what the provider reported. */
type Cost = 'nothing' | 'a request' | 'the estimate' | 'what was reported';

type End = {
  readonly name: string;
  readonly costs: Cost;
  readonly act: (gateway: RunningGateway, t: TestContext) => Promise<unknown>;
};

function native(model: string, more: object = {}): object {
  return { model, system: 'x'.repeat(400), messages: [user('')].map(() => ({ role: 'user', text: 'a' })), ...more };
}

/** The whole answer to a post; its status is asserted. */
function posted(path: string, body: unknown, status: number): End['act'] {
  return async (gateway) => {
    const answer = await gateway.post(path, body);
    await answer.text().catch(() => undefined);
    assert.equal(answer.status, status);
  };
}

/** Hangs up once so much of an answer has come, or once the provider was asked. */
function hungUp(path: string, body: object, isSeen: (received: string) => boolean = () => true): End['act'] {
  return async (gateway, t) => {
    const calls = gateway.sandbox.calls.length;
    const text = JSON.stringify(body);
    const caller = new RawCaller(t, gateway.url);
    caller.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    await until(() => gateway.sandbox.calls.length > calls && isSeen(caller.received));
    caller.socket.destroy();
  };
}

const messages = (model: string, more: object = {}): object => ({ model, max_tokens: 100, system: 'x'.repeat(400), messages: [{ role: 'user', content: 'a' }], ...more });
const completions = (model: string, more: object = {}): object => ({ model, messages: [{ role: 'system', content: 'x'.repeat(400) }, { role: 'user', content: 'a' }], ...more });

const ENDS: readonly End[] = [
  { name: 'a whole answer', costs: 'what was reported', act: posted('/v1/chat', native('fake-chat'), 200) },
  { name: 'a stream', costs: 'what was reported', act: posted('/v1/chat/stream', native('fake-chat'), 200) },
  { name: 'a whole answer that is relayed', costs: 'what was reported', act: posted('/v1/messages', messages('fake-chat'), 200) },
  { name: 'a stream that is relayed', costs: 'what was reported', act: posted('/v1/messages', messages('fake-chat', { stream: true }), 200) },
  { name: 'a translated answer', costs: 'what was reported', act: posted('/v1/messages', messages('openai/fake-chat'), 200) },
  { name: 'an answer without a report', costs: 'the estimate', act: posted('/v1/chat', native('fake-no-usage', { provider: 'compat' }), 200) },
  { name: 'a stream without a report', costs: 'the estimate', act: posted('/v1/chat/stream', native('fake-no-usage', { provider: 'compat' }), 200) },
  { name: 'a refusal', costs: 'what was reported', act: posted('/v1/chat', native('fake-refusal', { provider: 'gemini' }), 422) },
  { name: 'a refusal that is a reply', costs: 'what was reported', act: posted('/v1/chat/completions', completions('gemini/fake-refusal'), 200) },
  { name: 'a failure of the provider', costs: 'a request', act: posted('/v1/chat', native('fake-status-500'), 502) },
  { name: 'a failure before a stream', costs: 'a request', act: posted('/v1/chat/stream', native('fake-status-503'), 502) },
  { name: 'a limit of the provider', costs: 'a request', act: posted('/v1/chat', native('fake-status-429'), 429) },
  { name: 'a connection that is reset', costs: 'a request', act: posted('/v1/chat', native('fake-reset'), 502) },
  { name: 'an answer that is no answer', costs: 'a request', act: posted('/v1/chat', native('fake-html'), 502) },
  { name: 'a whole answer that is cut off', costs: 'a request', act: posted('/v1/chat', native('fake-close-mid'), 502) },
  { name: 'a stream that is cut off', costs: 'the estimate', act: posted('/v1/chat/stream', native('fake-close-mid'), 200) },
  { name: 'a stream that is relayed and cut off', costs: 'the estimate', act: posted('/v1/messages', messages('fake-reset-mid', { stream: true }), 200) },
  { name: 'an error in a stream', costs: 'the estimate', act: posted('/v1/chat/stream', native('fake-error-mid'), 200) },
  { name: 'a body that is no JSON', costs: 'nothing', act: posted('/v1/chat', '{', 400) },
  { name: 'a body of another shape', costs: 'nothing', act: posted('/v1/chat', { model: 'm', messages: [], colour: 1 }, 400) },
  { name: 'a provider that is not there', costs: 'nothing', act: posted('/v1/chat', native('m', { provider: 'nobody' }), 404) },
  { name: 'a conversation that is none', costs: 'a request', act: posted('/v1/chat', native('m', { messages: [{ role: 'tool', content: [{ type: 'tool_result', tool_call_id: '1', content: 'a' }] }] }), 400) },
  { name: 'a count of tokens', costs: 'a request', act: posted('/v1/count_tokens', native('fake-chat', { provider: 'anthropic' }), 200) },
  { name: 'a count that fails', costs: 'a request', act: posted('/v1/count_tokens', native('fake-status-500', { provider: 'anthropic' }), 502) },
  { name: 'a count that nobody makes', costs: 'nothing', act: posted('/v1/count_tokens', native('fake-chat', { provider: 'compat' }), 400) },
  { name: 'a list of models', costs: 'nothing', act: async (gateway) => assert.equal((await gateway.get('/v1/models')).status, 200) },
  { name: 'a model that is not listed', costs: 'nothing', act: async (gateway) => assert.equal((await gateway.get('/v1/models/openai/nothing')).status, 404) },
  {
    name: 'a caller that hangs up while it sends', costs: 'nothing', act: async (gateway, t) => {
      const before = gateway.logLines.length;
      const caller = new RawCaller(t, gateway.url);
      caller.write(`POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 10000\r\n\r\n{"model":`);
      await until(() => valueOf(gateway.app.metricsText(), 'gateway_requests_in_flight') === 1);
      caller.socket.destroy();
      await until(() => gateway.logLines.length > before);
    },
  },
  { name: 'a caller that hangs up while the provider thinks', costs: 'the estimate', act: hungUp('/v1/chat', native('fake-stall')) },
  { name: 'a caller that hangs up before a stream', costs: 'the estimate', act: hungUp('/v1/chat/stream', native('fake-stall')) },
  { name: 'a caller that hangs up in a stream', costs: 'the estimate', act: hungUp('/v1/chat/stream', native('fake-stall-mid'), (received) => received.includes('text_delta')) },
  { name: 'a caller that hangs up in a stream that is relayed', costs: 'the estimate', act: hungUp('/v1/messages', messages('fake-stall-mid', { stream: true }), (received) => received.includes('text_delta')) },
  { name: 'a caller that hangs up on a count', costs: 'a request', act: hungUp('/v1/count_tokens', native('fake-stall', { provider: 'anthropic' })) },
  {
    name: 'a call of the same process', costs: 'what was reported', act: (gateway) => gateway.app.chat({ model: 'fake-chat', system: 'x'.repeat(400), messages: [{ role: 'user', text: 'a' }] }),
  },
  {
    name: 'a stream of the same process that is left', costs: 'the estimate', act: async (gateway) => {
      for await (const event of gateway.app.stream({ model: 'fake-stall-mid', system: 'x'.repeat(400), messages: [{ role: 'user', text: 'a' }] })) {
        if (event.type === 'text_delta') break;
      }
    },
  },
  {
    name: 'a call of the same process that is aborted', costs: 'the estimate', act: async (gateway) => {
      const calls = gateway.sandbox.calls.length;
      const controller = new AbortController();
      const asked = gateway.app.chat({ model: 'fake-stall', system: 'x'.repeat(400), messages: [{ role: 'user', text: 'a' }] }, { signal: controller.signal });
      asked.catch(() => undefined);
      await until(() => gateway.sandbox.calls.length > calls);
      controller.abort();
      await assert.rejects(asked);
    },
  },
];

/** Of the limits' clock, which stands still: what was taken stays taken. */
function usedBy(gateway: RunningGateway): { readonly requests: number; readonly tokens: number; readonly places: number; readonly estimated: number } {
  const page = gateway.app.metricsText();
  const used = (limit: string): number => valueOf(page, 'gateway_limit_used_ratio', { caller: 'default', limit }) ?? 0;
  return {
    requests: Math.round(used('requests_per_minute') * RPM),
    tokens: Math.round(used('tokens_per_day') * TPD),
    places: used('concurrent'),
    estimated: valueOf(page, 'gateway_limit_tokens_estimated_total', { caller: 'default' }) ?? 0,
  };
}

async function assertEnds(gateway: RunningGateway, t: TestContext, ends: readonly End[]): Promise<void> {
  for (const { name, costs, act } of ends) {
    const before = usedBy(gateway);
    assert.equal(before.places, 0, `before ${name}`);
    const lines = gateway.logLines.filter((line) => 'status' in line).length;
    await act(gateway, t);
    await until(() => gateway.logLines.filter((line) => 'status' in line).length > lines);
    const after = usedBy(gateway);
    assert.equal(after.places, 0, name);
    const tokens = after.tokens - before.tokens;
    const estimated = after.estimated - before.estimated;
    assert.equal(after.requests - before.requests, costs === 'nothing' ? 0 : 1, name);
    if (costs === 'nothing' || costs === 'a request') assert.deepEqual([tokens, estimated], [0, 0], name);
    else if (costs === 'the estimate') assert.ok(tokens >= ESTIMATE && tokens < 2 * ESTIMATE && estimated === tokens, `${name}: ${tokens}, ${estimated}`);
    // The sandbox takes the long word for one token, so that what it reports is less than any estimate.
    else assert.ok(tokens > 0 && tokens < ESTIMATE && estimated === 0, `${name}: ${tokens}, ${estimated}`);
  }
}

test('every way in which an exchange can end gives its place back and costs what it should', { timeout: 120_000 }, async (t) => {
  assert.ok(ENDS.length >= 20);
  await assertEnds(await startGateway(t, LIMITS, { limitClock: () => 1000 }), t, ENDS);
});

test('so do the ends by a limit on time', { timeout: 120_000 }, async (t) => {
  const ends = (model: string, path: string, status: number, costs: Cost): readonly End[] => [{ name: `${model} ${path}`, costs, act: posted(path, native(model), status) }];
  const surroundings = { limitClock: () => 1000 };
  const whole = await startGateway(t, { ...LIMITS, GATEWAY_REQUEST_TIMEOUT: '400ms' }, surroundings);
  await assertEnds(whole, t, ends('fake-stall', '/v1/chat', 502, 'a request'));
  const attempt = await startGateway(t, { ...LIMITS, GATEWAY_ATTEMPT_TIMEOUT: '50ms' }, surroundings);
  await assertEnds(attempt, t, ends('fake-stall', '/v1/chat/stream', 502, 'a request'));
  const idle = await startGateway(t, { ...LIMITS, GATEWAY_STREAM_IDLE_TIMEOUT: '300ms' }, surroundings);
  await assertEnds(idle, t, ends('fake-stall-mid', '/v1/chat/stream', 200, 'the estimate'));
});

test('so does a stop in the middle of a stream, and a store that breaks', { timeout: 60_000 }, async (t) => {
  const surroundings = { limitClock: () => 1000 };
  const stopped = await startGateway(t, LIMITS, surroundings);
  const answer = stopped.post('/v1/chat/stream', native('fake-stall-mid'));
  await until(() => stopped.sandbox.calls.length === 1 && valueOf(stopped.app.metricsText(), 'gateway_open_streams') === 1);
  await stopped.app.stop();
  await (await answer).text().catch(() => undefined);
  const { places, tokens } = usedBy(stopped);
  assert.equal(places, 0);
  assert.ok(tokens >= ESTIMATE, String(tokens));

  const breaks: LimitStore = {
    take: () => {
      throw new Error('a bug');
    },
    settle: () => assert.fail('nothing was taken'),
    close() {},
  };
  const broken = await startGateway(t, LIMITS, { ...surroundings, limitStore: breaks });
  assert.equal((await broken.post('/v1/chat', native('fake-chat'))).status, 500);
  assert.equal(usedBy(broken).places, 0);
});

test('a caller that hangs up while the store is asked gets back what is taken for it after that', async (t) => {
  const memory = createMemoryStore(() => 1000);
  let decide: (() => void) | undefined;
  const store: LimitStore = {
    ...memory,
    take: (charge) => new Promise((resolve) => (decide = () => resolve(memory.take(charge)))),
  };
  const gateway = await startGateway(t, LIMITS, { limitClock: () => 1000, limitStore: store });
  const caller = new RawCaller(t, gateway.url);
  const text = JSON.stringify(native('fake-chat'));
  caller.write(`POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
  await until(() => decide !== undefined);
  caller.socket.destroy();
  await until(() => valueOf(gateway.app.metricsText(), 'gateway_requests_in_flight') === 0);
  decide?.();
  await until(() => gateway.logLines.some((line) => 'status' in line));
  const { requests, tokens, places } = usedBy(gateway);
  assert.deepEqual([requests, tokens, places], [1, 0, 0]);
  assert.equal(gateway.sandbox.calls.length, 0);
});

const BOUND: CallerLimits = { requestsPerMinute: 1e6, tokensPerMinute: undefined, tokensPerDay: 1e9, concurrent: 30 };
const USAGE = { inputTokens: 7, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
const KINDS = Object.keys(FAILURE_KINDS) as FailureKind[];
const SCOPE_ENDS: readonly ScopeEnd[] = ['caller-gone', 'caller-stalled', 'deadline', 'shutdown'];

/** What a provider does, at random: answers, with a report or without, fails, throws, says something and falls silent. */
function randomGateway(random: Random): Pick<Gateway, 'complete' | 'stream' | 'count' | 'models'> {
  const outcome = async (context: CallContext, say: () => void | Promise<void>): Promise<Failure | undefined> => {
    const what = random.below(10);
    if (what === 0) return new Failure('unsupported', 'not here');
    context.record.attempts += 1;
    if (random.below(2) === 0) await Promise.resolve();
    if (what === 1) throw new Error('a bug');
    if (what < 4) return new Failure(random.pick(KINDS), 'failed');
    await say();
    if (what < 7 || context.scope.ended !== undefined) {
      if (what === 4) return new Failure('server', 'cut');
      if (what === 5) {
        setImmediate(() => context.scope.end(random.pick(SCOPE_ENDS)));
        await context.scope.sleep(60_000);
        return new Failure('unknown', 'the caller hung up');
      }
    }
    if (what > 7) context.record.usage = USAGE;
    return undefined;
  };
  const reply = (context: CallContext) => ({ id: 'i', model: 'm', parts: [{ type: 'text', text: 'Hello', state: undefined } as const], thinking: '', stopReason: 'end_turn', usage: context.record.usage } as const);
  return {
    complete: async ({ candidates: [candidate] }, context) => ({ candidate, result: (await outcome(context, () => undefined)) ?? { reply: reply(context), raw: '{}' } }),
    async stream({ candidates: [candidate] }, context, sink) {
      const failure = await outcome(context, () => {
        for (let pieces = random.below(4); pieces > 0; pieces -= 1) sink.push({ type: 'text', text: 'Hello' });
        return sink.flush();
      });
      if (failure === undefined) {
        sink.push({ type: 'done', reply: reply(context) });
        await sink.flush();
      }
      return { candidate, result: failure };
    },
    count: async ({ candidates: [candidate] }, context) => ({ candidate, result: (await outcome(context, () => undefined)) ?? { inputTokens: 7, raw: '{}' } }),
    models: async (_, context) => (await outcome(context, () => undefined)) ?? [],
  };
}

const EXCHANGES = Number(process.env['EXCHANGES'] ?? 5_000);
const AT_ONCE = 50;

test(`of ${EXCHANGES} random exchanges none leaks a place or a token`, { timeout: 300_000 }, async () => {
  const random = createRandom(16);
  const memory = createMemoryStore(() => 1000);
  const charged = new Map<string, number>();
  let settled = 0;
  const store: LimitStore = {
    take(charge) {
      const decision = memory.take(charge);
      if (!('then' in decision) && decision.refusedBy === undefined) charged.set(charge.lease, charge.tokens);
      return random.below(2) === 0 ? decision : Promise.resolve(decision);
    },
    settle(charge, tokensMore) {
      assert.ok(charged.delete(charge.lease), 'settled once, and only what was taken');
      settled += charge.tokens + tokensMore;
      memory.settle(charge, tokensMore);
    },
    close() {},
  };
  const limits = new Limits(store, () => 1000);
  const { parts } = createParts({
    gateway: randomGateway(random),
    callerLimits: limits,
    routing: { routes: new Map(), callers: new Map([['default', { limits: BOUND, allow: undefined }]]), concurrentMax: new Map() },
    environment: { GATEWAY_LOG_LEVEL: 'error', GATEWAY_HEARTBEAT_INTERVAL: '0' },
  });
  const exchanges = new Exchanges();
  const { counting, routes } = NATIVE;
  const [whole, stream] = routes;
  if (counting === undefined || whole === undefined || stream === undefined) throw new Error('the native format has all of them');
  const statuses = new Set<number>();
  const serveOne = async (): Promise<void> => {
    const body = random.below(10) === 0 ? { model: 'm' } : { model: 'm', messages: [{ role: 'user', text: 'x'.repeat(random.below(400) + 1) }] };
    const what = random.below(10);
    const exchange = new EmbeddedExchange(body, what === 0 ? '/v1/models?provider=compat' : '/v1/chat', NATIVE);
    exchange.caller = 'default';
    const leavesAfter = random.below(20);
    const leave = async (): Promise<void> => {
      for (let turns = 0; turns < leavesAfter; turns += 1) await Promise.resolve();
      exchange.leave();
    };
    if (random.below(4) === 0) void leave();
    const take = async (): Promise<void> => {
      while ((await exchange.nextEvent()) !== undefined);
    };
    if (what > 4) void take();
    await exchanges.serve(exchange, parts, (each) => {
      if (what === 0) return answerModels(each, parts);
      if (what === 1) return answerCount(each, parts, counting);
      return answerChat(each, parts, what > 4 ? stream : whole);
    });
    statuses.add(exchange.status);
  };
  for (let served = 0; served < EXCHANGES; served += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, serveOne));
  exchanges.report();
  assert.equal(exchanges.count, 0);
  assert.equal(parts.admission.count, 0);
  assert.equal(charged.size, 0);
  assert.deepEqual(limits.used(() => ({ ...BOUND, requestsPerMinute: undefined, tokensPerDay: undefined })), [['default', 'concurrent', 0]]);
  const { standings } = memory.take({ caller: 'default', limits: { ...BOUND, concurrent: 0 }, tokens: 0, lease: '' }) as { standings: { tokens_per_day?: { remaining: number } } };
  assert.equal(standings.tokens_per_day?.remaining, BOUND.tokensPerDay === undefined ? 0 : BOUND.tokensPerDay - settled);
  for (const status of [200, 400, 422, 429, 500, 502]) assert.ok(statuses.has(status), `${status} of ${[...statuses].join()}`);
});
