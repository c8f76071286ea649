/** The attempt loop on a clock that only moves when everybody waits, with providers that are functions. */

import { Secret } from '../../src/base/secret.ts';
import type { Provider, ProviderKey } from '../../src/core/adapter.ts';
import { Failure } from '../../src/core/failure.ts';
import type { FailureFields, FailureKind } from '../../src/core/failure.ts';
import { PLAIN_TARGET } from '../../src/core/route.ts';
import type { Route, Target } from '../../src/core/route.ts';
import { Scope } from '../../src/core/scope.ts';
import type { Ask, Candidate } from '../../src/gateway/ask.ts';
import type { Attempt } from '../../src/gateway/attempt.ts';
import { Attempts } from '../../src/gateway/attempts.ts';
import type { AttemptParts, CallContext, Clock } from '../../src/gateway/attempt-parts.ts';
import type { Manner } from '../../src/gateway/attempts.ts';
import { createCallRecord } from '../../src/gateway/call-record.ts';
import { createMetrics } from '../../src/metrics.ts';
import { compatRow } from '../../src/providers/index.ts';
import { RoutingState } from '../../src/routing/state.ts';
import type { Transition } from '../../src/routing/transition.ts';
import { createRandom } from '../base/random.ts';

/** What the loops of a test share; it is not what is tested. */
const METRICS = createMetrics({ version: '', logLinesDropped: () => 0, upstreamSockets: () => 0 });
METRICS.stop();

type Event = { readonly atMs: number; readonly order: number; readonly happen: () => void };

/** Milliseconds that pass as soon as nobody has anything left to do. */
export class VirtualClock implements Clock {
  nowMs = 1000;
  readonly #events: Event[] = [];
  #order = 0;
  readonly random: () => number;

  constructor(seed = 1) {
    const random = createRandom(seed);
    this.random = () => random.below(2 ** 30) / 2 ** 30;
  }

  readonly now = (): number => this.nowMs;

  readonly sleep = (scope: Scope, ms: number): Promise<boolean> =>
    new Promise((resolve) => {
      this.after(ms, () => {
        scope.onEnd(undefined);
        resolve(scope.ended === undefined);
      });
      scope.onEnd(() => resolve(false));
    });

  after(ms: number, happen: () => void): void {
    const event = { atMs: this.nowMs + ms, order: (this.#order += 1), happen };
    const heap = this.#events;
    let index = heap.push(event) - 1;
    for (; index > 0; ) {
      const parent = (index - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[index] = heap[parent] as Event;
      index = parent;
    }
    heap[index] = event;
  }

  /** A promise of that value after that time, or when the exchange ends. */
  answer<T>(scope: Scope, ms: number, value: T): Promise<T | Failure> {
    return new Promise((resolve) => {
      const ended = (): void => resolve(new Failure('unknown', 'ended', { isRetried: false }));
      this.after(ms, () => {
        scope.onEnd(undefined);
        resolve(value);
      });
      scope.onEnd(ended);
    });
  }

  /** Lets time pass until nothing is left to happen, or for so long. */
  async run(forMs = Infinity): Promise<void> {
    const untilMs = this.nowMs + forMs;
    await settled();
    for (;;) {
      const [event] = this.#events;
      if (event === undefined || event.atMs > untilMs) break;
      this.#shift();
      this.nowMs = event.atMs;
      event.happen();
      await settled();
    }
    if (untilMs < Infinity) this.nowMs = untilMs;
  }

  #shift(): void {
    const heap = this.#events;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const child = right < heap.length && isBefore(heap[right] as Event, heap[left] as Event) ? right : left;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[index] = heap[child] as Event;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Every promise that could go on has. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Time passes at once for whoever sleeps: for a request that is alone. */
export function createLoneClock(random: () => number): Clock & { nowMs: number } {
  const clock = {
    nowMs: 1000,
    now: () => clock.nowMs,
    random,
    sleep: (_scope: Scope, ms: number) => {
      clock.nowMs += ms;
      return Promise.resolve(true);
    },
  };
  return clock;
}

export function fakeProvider(name: string, keys = 1): Provider {
  const row = compatRow(name);
  return {
    name,
    adapter: row.createAdapter(name),
    baseUrl: new URL('http://127.0.0.1'),
    keys: Array.from({ length: keys }, (_, index): ProviderKey => ({ secret: new Secret(`${name}-${index}`), number: index + 1, id: `${name}-key-${index + 1}` })),
    keyHeader: row.keyHeader,
    speaks: [],
  };
}

/** `a/m` → a target of provider a. */
export function fakeTarget(name: string, fields: Partial<Target> = {}): Target {
  const [provider = '', model = ''] = name.split('/');
  return { provider, model, ...PLAIN_TARGET, ...fields };
}

export function fakeRoute(targets: readonly Target[], fields: Partial<Route> = {}): Route {
  return { name: 'smart', targets, isSpread: false, hedgeAfterMs: undefined, ...fields };
}

const CALL = { method: 'POST', path: '/', headers: {}, body: '' } as const;

export function askRoute(route: Route, providers: ReadonlyMap<string, Provider>, fields: Partial<Ask> = {}): Ask {
  const [first, ...others] = route.targets.map((target): Candidate => {
    const provider = providers.get(target.provider);
    if (provider === undefined) throw new Error(`no provider ${target.provider}`);
    return { provider, model: target.model, target, relay: undefined, call: () => CALL };
  });
  if (first === undefined) throw new Error('a route has targets');
  return { route, candidates: [first, ...others], conversation: () => 0, loopProvider: undefined, ...fields };
}

export function askPlain(provider: Provider, model = 'm', conversation = 0): Ask {
  return { route: undefined, candidates: [{ provider, model, target: undefined, relay: undefined, call: () => CALL }], conversation: () => conversation, loopProvider: undefined };
}

/** A provider's answer to an attempt; `good` stands for whatever it serves. */
export type Behaviour = (attempt: Attempt<Candidate>) => Promise<'good' | Failure>;

export type Subject = {
  readonly attempts: Attempts;
  readonly routing: RoutingState;
  readonly transitions: readonly Transition[];
  /** Attempts at each target, `provider/model`. */
  readonly callsAt: ReadonlyMap<string, number>;
  isDraining: boolean;
};

export type SubjectOptions = Partial<Pick<AttemptParts, 'concurrentMax'>> & { readonly retriesMax?: number; readonly attemptTimeoutMs?: number };

export function createSubject(clock: Clock, { retriesMax = 3, attemptTimeoutMs = 600_000, concurrentMax = () => undefined }: SubjectOptions = {}): Subject {
  const transitions: Transition[] = [];
  const routing = new RoutingState(clock, 60_000, (transition) => transitions.push(transition));
  const callsAt = new Map<string, number>();
  const subject: Subject = {
    routing,
    transitions,
    callsAt,
    isDraining: false,
    attempts: new Attempts({
      retryPolicy: { retriesMax, baseDelayMs: 500, maxDelayMs: 8000, retryAfterCapMs: 60_000 },
      attemptTimeoutMs,
      metrics: METRICS,
      routing,
      clock,
      concurrentMax,
      isDraining: () => subject.isDraining,
      logAttempt: () => undefined,
    }),
  };
  return subject;
}

export type RequestOptions = { readonly deadlineMs?: number; readonly scope?: Scope; readonly isTooLate?: () => boolean; readonly isStream?: boolean };

/** One request, with everything about it that a test may ask. */
export function request(subject: Subject, ask: Ask, behaviour: Behaviour, options: RequestOptions = {}) {
  const { deadlineMs = 600_000, scope = new Scope(), isTooLate = () => false, isStream = false } = options;
  const record = createCallRecord('');
  const context: CallContext = { scope, deadline: { atMs: subject.attempts.parts.clock.now() + deadlineMs, setting: 'GATEWAY_REQUEST_TIMEOUT' }, record };
  const manner: Manner<Candidate, 'good'> = {
    isStream,
    isTooLate,
    tryOnce: (attempt) => {
      const name = `${attempt.candidate.provider.name}/${attempt.candidate.model}`;
      (subject.callsAt as Map<string, number>).set(name, (subject.callsAt.get(name) ?? 0) + 1);
      return behaviour(attempt);
    },
  };
  return { record, scope, outcome: subject.attempts.run(ask, context, manner) };
}

export function failure(kind: FailureKind, fields: FailureFields = {}): Failure {
  return new Failure(kind, `${kind} happened`, fields);
}
