import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Adapter, Provider } from '../../src/core/adapter.ts';
import type { ModelInfo } from '../../src/core/chat.ts';
import { Failure } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import { createCallRecord } from '../../src/gateway/call-record.ts';
import type { CallContext } from '../../src/gateway/gateway.ts';
import { ModelLists } from '../../src/http/model-lists.ts';
import type { ModelsAsker, ModelsOutcome } from '../../src/http/model-lists.ts';

function providerOf(name: string): Provider {
  return { name, adapter: {} as Adapter, baseUrl: new URL('http://127.0.0.1'), keys: [], keyHeader: { name: 'x', prefix: '' }, speaks: [] };
}

const A = providerOf('a');
const B = providerOf('b');
const DOWN = new Failure('server', 'down');

function model(id: string, displayName?: string): ModelInfo {
  return { id, displayName, contextWindow: undefined, outputTokensMax: undefined, inputTokensMax: undefined, input: undefined, deprecatedAt: undefined };
}

type Call = { readonly provider: string; readonly context: CallContext; answer(outcome: ModelsOutcome): void };

/** Lists with a clock and providers that answer when the test says so. */
function startLists(requestTimeoutMs = 600_000): { lists: ModelLists; calls: Call[]; failures: string[]; clock: { ms: number } } {
  const calls: Call[] = [];
  const failures: string[] = [];
  const clock = { ms: 0 };
  const lists = new ModelLists({
    ask: ({ name }, context) => new Promise((answer) => calls.push({ provider: name, context, answer })),
    onFailure: ({ name }, failure, requestId) => void failures.push(`${name} ${failure.message} ${requestId}`),
    requestTimeoutMs,
    now: () => clock.ms,
  });
  return { lists, calls, failures, clock };
}

function asker(requestId = 'r'): ModelsAsker {
  return { scope: new Scope(), record: createCallRecord(requestId), extraHeaders: undefined };
}

/** What came of it, each provider's ids or the failure's sentence. */
async function said(outcomes: Promise<readonly ModelsOutcome[] | undefined>): Promise<unknown> {
  return (await outcomes)?.map((outcome) => (outcome instanceof Failure ? outcome.message : outcome.map(({ id }) => id).join()));
}

test('ModelLists asks every provider at once and gives the lists in the order of the providers', async () => {
  const { lists, calls } = startLists();
  const outcomes = said(lists.of([A, B], asker()));
  assert.deepEqual(calls.map(({ provider }) => provider), ['a', 'b']);
  calls[1]?.answer([model('b1')]);
  calls[0]?.answer([model('a1'), model('a2')]);
  assert.deepEqual(await outcomes, ['a1,a2', 'b1']);
});

test('a list is kept for ten minutes', async () => {
  const { lists, calls, clock } = startLists();
  const first = said(lists.of([A], asker()));
  calls[0]?.answer([model('old')]);
  await first;
  clock.ms = 599_999;
  assert.deepEqual(await said(lists.of([A], asker())), ['old']);
  clock.ms = 600_000;
  const next = said(lists.of([A], asker()));
  calls[1]?.answer([model('new')]);
  assert.deepEqual(await next, ['new']);
  assert.equal(calls.length, 2);
});

test('those who ask meanwhile wait for the fetch in flight', async () => {
  const { lists, calls } = startLists();
  const both = [said(lists.of([A], asker())), said(lists.of([A, B], asker()))];
  assert.deepEqual(calls.map(({ provider }) => provider), ['a', 'b']);
  for (const { answer } of calls) answer([model('m')]);
  assert.deepEqual(await Promise.all(both), [['m'], ['m', 'm']]);
});

test('the old list is served while a provider fails, and the operator is told each time', async () => {
  const { lists, calls, failures, clock } = startLists();
  const first = said(lists.of([A], asker()));
  calls[0]?.answer([model('old')]);
  await first;
  clock.ms = 600_000;
  const next = said(lists.of([A], asker('r2')));
  calls[1]?.answer(DOWN);
  assert.deepEqual(await next, ['old']);
  assert.deepEqual(failures, ['a down r2']);
});

test('a provider that failed and has no list is asked again after ten seconds, not before', async () => {
  const { lists, calls, clock } = startLists();
  const first = said(lists.of([A], asker()));
  calls[0]?.answer(DOWN);
  assert.deepEqual(await first, ['down']);
  clock.ms = 9_999;
  assert.deepEqual(await said(lists.of([A], asker())), ['down']);
  clock.ms = 10_000;
  const next = said(lists.of([A], asker()));
  calls[1]?.answer([model('m')]);
  assert.deepEqual(await next, ['m']);
});

test('a fetch goes on when one of those who wait hangs up, and ends with the last', async () => {
  const { lists, calls } = startLists();
  const [first, second] = [asker(), asker()];
  const outcomes = [said(lists.of([A], first)), said(lists.of([A], second))];
  first.scope.end('caller-gone');
  assert.equal(await outcomes[0], undefined);
  assert.equal(calls[0]?.context.scope.ended, undefined);
  second.scope.end('shutdown');
  assert.equal(await outcomes[1], undefined);
  assert.equal(calls[0]?.context.scope.ended, 'caller-gone');
});

test('an abandoned fetch is no failure of the provider, and whoever asks next begins another', async () => {
  const { lists, calls, failures } = startLists();
  const gone = asker();
  const outcome = said(lists.of([A], gone));
  gone.scope.end('caller-gone');
  await outcome;
  const next = said(lists.of([A], asker()));
  assert.equal(calls.length, 2);
  calls[0]?.answer(new Failure('unknown', 'the caller hung up'));
  calls[1]?.answer([model('m')]);
  assert.deepEqual(await next, ['m']);
  assert.deepEqual(failures, []);
});

test('the attempts of a fetch count for the exchange that began it', async () => {
  const { lists, calls } = startLists();
  const [first, second] = [asker('first'), asker('second')];
  const outcomes = [lists.of([A, B], first), lists.of([A], second)];
  for (const [index, { context, answer }] of calls.entries()) {
    assert.equal(context.record.requestId, 'first');
    context.record.attempts = 2;
    context.record.upstreamMs = 10 * (index + 1);
    answer([]);
  }
  await Promise.all(outcomes);
  assert.deepEqual([first.record.attempts, first.record.upstreamMs, second.record.attempts], [4, 20, 0]);
});

test('no provider may take longer than 15 seconds, or than a request may where that is less', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [requestTimeoutMs, ms, setting] of [[600_000, 15_000, 'a list of models'], [5000, 5000, 'GATEWAY_REQUEST_TIMEOUT']] as const) {
    const { lists, calls } = startLists(requestTimeoutMs);
    void lists.of([A], asker());
    t.mock.timers.tick(ms - 1);
    assert.equal(calls[0]?.context.scope.ended, undefined);
    t.mock.timers.tick(1);
    assert.equal(calls[0]?.context.scope.ended, 'deadline');
    assert.equal(calls[0]?.context.deadline.setting, setting);
    calls[0]?.answer(DOWN);
  }
});

test('no more than 5,000 models are kept, none with a name that is too long to be asked for, and texts are cut', async () => {
  const { lists, calls } = startLists();
  const outcomes = lists.of([A, B], asker());
  calls[0]?.answer(Array.from({ length: 5001 }, (_, index) => model(`m${index}`)));
  const long = 'z'.repeat(257);
  const shortened = `${'z'.repeat(255)}…`;
  calls[1]?.answer([model('x'.repeat(257)), { ...model('y'.repeat(256), long), input: Array.from({ length: 17 }, () => long), deprecatedAt: long }]);
  const [tooMany, cut] = (await outcomes) ?? [];
  assert.ok(tooMany instanceof Failure);
  assert.equal(tooMany.message, "a answered 200, but its model list has more than 5000 models, which is the gateway's limit");
  assert.deepEqual(cut, [{ ...model('y'.repeat(256), shortened), input: Array.from({ length: 16 }, () => shortened), deprecatedAt: shortened }]);
});
