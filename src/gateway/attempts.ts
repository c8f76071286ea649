/**
 * The only place where attempts are made and counted: one loop over all targets, keys and rounds of a request.
 *
 * How targets and keys stand only changes the order in which they are asked; it refuses nobody. Moving on waits for nothing;
 * another round waits as a retry does. Not more than 1 + retriesMax calls are made, whatever the route.
 */

import type { Chance } from '../base/health.ts';
import type { Provider, ProviderKey } from '../core/adapter.ts';
import { Failure } from '../core/failure.ts';
import { targetName } from '../core/route.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import type { Scope } from '../core/scope.ts';
import type { Metrics } from '../metrics.ts';
import { MOVES, outcomeOf } from '../routing/moves.ts';
import { plan } from '../routing/plan.ts';
import type { RoutingState } from '../routing/state.ts';
import { RetryBudget, retryWaitMs } from '../upstream/retry.ts';
import type { RetryPolicy, RetryRefusal } from '../upstream/retry.ts';
import type { Ask, Candidate, Outcome } from './ask.ts';
import type { Attempt, AttemptLimit } from './attempt.ts';
import { attemptLimitOf, limitPassed } from './attempt.ts';
import type { CallRecord, PassedOver } from './call-record.ts';
import { Course } from './course.ts';
import type { Choice } from './course.ts';
import { Race } from './race.ts';
import { fullFailure, shownFailure } from './shown-failure.ts';

/** A timer may end this much early, by the other clock. */
const TIMER_SLACK_MS = 2;

/** The limits of an exchange as the attempts see it. */
export type CallContext = {
  readonly scope: Scope;
  /** When the whole exchange must be over, on the clock of `performance.now()`, and the setting that says so. */
  readonly deadline: { readonly atMs: number; readonly setting: string };
  readonly record: CallRecord;
  /** Sent with every call besides the adapter's own: the caller's trace, where the operator passes it on. */
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
};

export type Clock = Chance & { readonly sleep: (scope: Scope, ms: number) => Promise<boolean> };

export const REAL_CLOCK: Clock = { now: () => performance.now(), random: () => Math.random(), sleep: (scope, ms) => scope.sleep(ms) };

/** What all requests share. */
export type AttemptParts = {
  readonly retryPolicy: RetryPolicy;
  readonly attemptTimeoutMs: number;
  readonly metrics: Metrics;
  readonly routing: RoutingState;
  readonly clock: Clock;
  /** Calls in flight at a provider at most, by its name. */
  readonly concurrentMax: (provider: string) => number | undefined;
  readonly isDraining: () => boolean;
  readonly logAttempt: (record: CallRecord, attempt: number, attemptMs: number, failure: Failure | undefined) => void;
};

/** How a request is made. */
export type Manner<C extends Candidate, T> = {
  readonly isStream: boolean;
  readonly tryOnce: (attempt: Attempt<C>) => Promise<T | Failure>;
  /** Whether something of an answer has left, so that nobody else can be asked. */
  readonly isTooLate: () => boolean;
};

export class Attempts {
  readonly parts: AttemptParts;
  readonly #budgets = new Map<string, RetryBudget>();

  constructor(parts: AttemptParts) {
    this.parts = parts;
  }

  /** Asks until somebody serves, nobody else may, or tries, time or budget are used up. */
  run<C extends Candidate, T>(ask: Ask<C>, context: CallContext, manner: Manner<C, T>): Promise<Outcome<C, T>> {
    return new Asking(this, ask, context, manner).run();
  }

  budgetOf(provider: string): RetryBudget {
    let budget = this.#budgets.get(provider);
    if (budget === undefined) {
      budget = new RetryBudget(this.parts.clock.now);
      this.#budgets.set(provider, budget);
    }
    return budget;
  }
}

/** One request. */
// hot: per request
class Asking<C extends Candidate, T> {
  readonly #attempts: Attempts;
  readonly #parts: AttemptParts;
  readonly #ask: Ask<C>;
  readonly #context: CallContext;
  readonly #manner: Manner<C, T>;
  /** In the order in which they are asked. */
  readonly #courses: readonly Course<C>[];
  /** In the order in which they were asked last. */
  readonly #asked: Course<C>[] = [];
  #calls = 0;
  #round = 0;
  #isBudgetSpent = false;
  /** It cannot be sent as it is, to anybody. */
  #unsendable: Course<C> | undefined;

  constructor(attempts: Attempts, ask: Ask<C>, context: CallContext, manner: Manner<C, T>) {
    this.#attempts = attempts;
    this.#parts = attempts.parts;
    this.#ask = ask;
    this.#context = context;
    this.#manner = manner;
    const { order, isSticky } = plan(ask.candidates, ask.route, ask.conversation, ask.loopProvider);
    context.record.modelRoute = ask.route?.name;
    context.record.isSticky = isSticky;
    this.#courses = order.map((candidate) => new Course(candidate, this.#healthOf(candidate)));
  }

  async run(): Promise<Outcome<C, T>> {
    const { scope } = this.#context;
    let choice = this.#next() ?? this.#anyway();
    if (choice === undefined) return this.#nobody();
    for (;;) {
      const { course, result }: Made<C, T> = this.#hedgeAfterMs === undefined ? await this.#attempt(choice, scope, undefined) : await this.#race(choice);
      const { candidate } = course;
      if (!(result instanceof Failure)) return { candidate, result };
      if (scope.ended !== undefined) return { candidate, result: this.#endedEarly() };
      if (this.#manner.isTooLate()) return { candidate, result };
      if (!this.#mayMove(result)) return { candidate, result: this.#shown(result) };
      choice = this.#calls > this.#parts.retryPolicy.retriesMax ? undefined : this.#next();
      if (choice === undefined && this.#unsendable === undefined) choice = await this.#nextRound(course, result);
      if (scope.ended !== undefined) {
        if (choice !== undefined) this.#giveBack(choice);
        return { candidate, result: this.#endedEarly() };
      }
      if (choice === undefined) return { candidate, result: this.#shown(result) };
    }
  }

  /** The first in order who may be asked at this moment, with all that it takes to ask. */
  #next(): Choice<C> | undefined {
    this.#isBudgetSpent = false;
    for (const course of this.#courses) {
      if (course.isSpent || course.isAsked || !this.#isReady(course)) continue;
      const obstacle = this.#obstacle(course);
      if (obstacle !== undefined) {
        course.passedOver = obstacle;
        continue;
      }
      const choice = this.#take(course, this.#keyOf(course));
      if (choice !== undefined || this.#unsendable !== undefined) return choice;
    }
    return undefined;
  }

  /** Nobody had better be asked: the one whose time ends first is, all the same. Undefined where all are full, or cannot be sent it. */
  #anyway(): Choice<C> | undefined {
    while (this.#unsendable === undefined) {
      let soonest: Course<C> | undefined;
      let soonestMs = Infinity;
      for (const course of this.#courses) {
        if (course.isSpent || this.#isFull(course)) continue;
        const leftMs = Math.max(course.health?.leftMs ?? 0, this.#keysLeftMs(course));
        if (leftMs >= soonestMs) continue;
        soonest = course;
        soonestMs = leftMs;
      }
      if (soonest === undefined) return undefined;
      const { provider, model } = soonest.candidate;
      const choice = this.#take(soonest, this.#keyOf(soonest) ?? this.#parts.routing.keys.soonest(provider, model));
      if (choice !== undefined) return choice;
    }
    return undefined;
  }

  /** Waits until somebody may be asked again. Undefined where nobody may, or not in time. */
  async #nextRound(last: Course<C>, failure: Failure): Promise<Choice<C> | undefined> {
    const { clock, retryPolicy, isDraining } = this.#parts;
    const { scope, record, deadline } = this.#context;
    if (this.#ask.route !== undefined && isDraining()) return undefined;
    if (this.#calls > retryPolicy.retriesMax) return this.#refuse(last, failure.isRetried ? 'exhausted' : 'not-retryable');
    if (this.#isBudgetSpent) return this.#refuse(last, 'budget');
    const nowMs = clock.now();
    let refusal: Refusal = 'not-retryable';
    let soonest: Course<C> | undefined;
    let soonestMs = Infinity;
    for (const course of this.#courses) {
      if (course.isSpent) continue;
      if (this.#isOut(course)) {
        refusal = 'out';
        continue;
      }
      if ((course.failure?.retriesMax ?? Infinity) <= this.#round) {
        refusal = 'exhausted';
        continue;
      }
      const waitMs = Math.max(this.#readyInMs(course, nowMs), this.#keysLeftMs(course));
      if (waitMs >= soonestMs) continue;
      soonest = course;
      soonestMs = waitMs;
    }
    if (soonest === undefined) return this.#refuse(last, refusal);
    const waitMs = retryWaitMs({ isRetried: true, retriesMax: undefined, retryAfterMs: soonestMs }, this.#round, retryPolicy, deadline.atMs - nowMs, clock.random);
    if (typeof waitMs === 'string') return this.#refuse(soonest, waitMs);
    if (!this.#pay(soonest)) return this.#refuse(soonest, 'budget');
    const waitsFromMs = clock.now();
    await clock.sleep(scope, waitMs);
    record.waitedMs += clock.now() - waitsFromMs;
    if (scope.ended !== undefined) return undefined;
    this.#round += 1;
    for (const course of this.#courses) course.startRound();
    soonest.readyAtMs = 0;
    const choice = this.#next();
    return choice !== undefined || this.#unsendable !== undefined ? choice : this.#refuse(soonest, 'out');
  }

  /** Why it had better not be asked, or cannot be; undefined where it may. */
  #obstacle(course: Course<C>): 'out' | 'cooling' | 'full' | undefined {
    if (this.#isOut(course)) return 'out';
    if (this.#managesKeys(course) && course.candidate.provider.keys.length > 0 && this.#keyOf(course) === undefined) return 'cooling';
    return this.#isFull(course) ? 'full' : undefined;
  }

  #isOut({ candidate, health }: Course<C>): boolean {
    // Elsewhere health is kept for those who do choose.
    if (candidate.target === undefined || health === undefined) return false;
    const { state } = health;
    return state === 'in' ? false : state !== 'due' || this.#parts.isDraining();
  }

  #isFull({ candidate: { provider, target } }: Course<C>): boolean {
    const { places } = this.#parts.routing;
    const { route } = this.#ask;
    if (places.isFull(provider.name, this.#parts.concurrentMax(provider.name))) return true;
    return target?.concurrentMax !== undefined && places.isFull(placeName(route?.name, target), target.concurrentMax);
  }

  #isReady({ readyAtMs }: Course<C>): boolean {
    return readyAtMs === 0 || this.#parts.clock.now() >= readyAtMs;
  }

  /** To the microsecond: a sum of large numbers is off by less, and a wait as long as the cap has to be told from a longer one. */
  #readyInMs({ readyAtMs }: Course<C>, nowMs: number): number {
    return readyAtMs === 0 ? 0 : Math.max(0, Math.round((readyAtMs - nowMs) * 1000) / 1000);
  }

  /** Whether it is remembered of keys how they do: where there is a choice, of keys or of targets. */
  #managesKeys({ candidate }: Course<C>): boolean {
    return candidate.provider.keys.length > 1 || candidate.target !== undefined;
  }

  /** Undefined where none is usable, or none is needed. */
  #keyOf(course: Course<C>): ProviderKey | undefined {
    const { provider, model } = course.candidate;
    if (!this.#managesKeys(course)) return provider.keys[0];
    return this.#parts.routing.keys.pick(provider, model, this.#conversation, course.keysTried);
  }

  #keysLeftMs(course: Course<C>): number {
    if (!this.#managesKeys(course)) return 0;
    const leftMs = this.#parts.routing.keys.waitMs(course.candidate.provider, course.candidate.model);
    return leftMs > 0 ? leftMs + TIMER_SLACK_MS : 0;
  }

  #conversationOnce: number | undefined;
  readonly #conversation = (): number => (this.#conversationOnce ??= this.#ask.conversation());

  /** Takes everything that asking takes. Undefined, and nothing is taken, where it cannot be sent the request or paid for. */
  #take(course: Course<C>, key: ProviderKey | undefined): Choice<C> | undefined {
    const { candidate, health } = course;
    const call = (course.call ??= candidate.call());
    if (call instanceof Failure) {
      course.isSpent = true;
      course.passedOver = call.kind;
      if (call.kind !== 'unsupported') this.#unsendable = course;
      return undefined;
    }
    if (!this.#pay(course)) {
      this.#isBudgetSpent = true;
      return undefined;
    }
    const { paidFor } = course;
    course.paidFor = undefined;
    const askedAs = candidate.target !== undefined && health !== undefined ? health.ask() : health?.isOut === true ? 'anyway' : 'in';
    return { course, call, key, askedAs, isProbing: askedAs === 'probe', paidFor, places: this.#takePlaces(candidate) };
  }

  /** A request's first call at a provider is free; each further one is paid from the provider's budget. */
  #pay(course: Course<C>): boolean {
    if (this.#calls === 0 || course.paidFor !== undefined) return true;
    const { name } = course.candidate.provider;
    const before = this.#asked.findLast(({ candidate }) => candidate.provider.name === name)?.failure;
    if (before === undefined) return true;
    if (!this.#attempts.budgetOf(name).take(before)) return false;
    course.paidFor = before;
    this.#parts.metrics.retry(name, before.kind);
    return true;
  }

  #takePlaces({ provider, target }: C): readonly string[] {
    const { places } = this.#parts.routing;
    const names: string[] = [];
    if (this.#parts.concurrentMax(provider.name) !== undefined) names.push(provider.name);
    if (target?.concurrentMax !== undefined) names.push(placeName(this.#ask.route?.name, target));
    for (const name of names) places.take(name);
    return names.length === 0 ? NO_PLACES : names;
  }

  #giveBack(choice: Choice<C>): void {
    this.#endProbing(choice);
    for (const name of choice.places) this.#parts.routing.places.give(name);
  }

  /** Lets another probe the target: a probe that answers may go on for as long as its caller takes to read. */
  #endProbing(choice: Choice<C>): void {
    if (!choice.isProbing) return;
    choice.isProbing = false;
    choice.course.health?.done(choice.askedAs);
  }

  /** How long a first event is waited for before somebody else is asked beside; undefined where nobody is. */
  get #hedgeAfterMs(): number | undefined {
    const { hedged } = this.#context.record;
    const mayHedge = this.#manner.isStream && hedged === undefined && this.#calls < this.#parts.retryPolicy.retriesMax;
    return mayHedge ? this.#ask.route?.hedgeAfterMs : undefined;
  }

  /** Makes one call and, where its first event is long in coming, one of another target beside it. Who has the first event serves. */
  async #race(first: Choice<C>): Promise<Made<C, T>> {
    const { clock } = this.#parts;
    const { record, scope } = this.#context;
    const race = new Race(scope);
    const { upstreamMs } = record;
    const startedAtMs = clock.now();
    try {
      const one = this.#attempt(first, race.enter(), race);
      one.then(() => race.patience.end('outpaced'), () => race.patience.end('outpaced'));
      const isSlow = await clock.sleep(race.patience, this.#ask.route?.hedgeAfterMs ?? 0);
      const second = isSlow ? this.#hedge(first.course) : undefined;
      if (second === undefined) {
        if (isSlow) this.#hedged('refused');
        return await one;
      }
      record.hedged = 'lost';
      const made = await Promise.all([one, this.#attempt(second, race.enter(), race)]);
      const winner = made.find(({ isWinner }) => isWinner) ?? made[1];
      this.#note(winner.choice);
      this.#hedged(record.hedged);
      return winner;
    } finally {
      // Of two beside each other.
      record.upstreamMs = upstreamMs + clock.now() - startedAtMs;
      race.close();
    }
  }

  #hedged(outcome: 'won' | 'lost' | 'refused'): void {
    this.#context.record.hedged = outcome;
    this.#parts.metrics.hedge(this.#ask.route?.name ?? '', outcome);
  }

  /** Another target, paid for as a retry; undefined where nobody may be asked. */
  #hedge(current: Course<C>): Choice<C> | undefined {
    if (this.#parts.isDraining()) return undefined;
    for (const course of this.#courses) {
      if (course === current || course.isSpent || course.isAsked || !this.#isReady(course) || this.#obstacle(course) !== undefined) continue;
      course.call ??= course.candidate.call();
      if (course.call instanceof Failure || !this.#attempts.budgetOf(course.candidate.provider.name).take(HEDGED)) continue;
      course.paidFor = HEDGED;
      return this.#take(course, this.#keyOf(course));
    }
    return undefined;
  }

  /** Makes one call, and says of everybody concerned what came of it. */
  async #attempt(choice: Choice<C>, scope: Scope, race: Race | undefined): Promise<Made<C, T>> {
    const { course, call, key } = choice;
    const { candidate } = course;
    const { clock, logAttempt } = this.#parts;
    const { record } = this.#context;
    const limit = this.#limitOf(course);
    const entry = race && { claim: () => this.#claims(choice, scope, race), hold: race.hold };
    const onFirstEvent = choice.isProbing ? () => this.#endProbing(choice) : undefined;
    this.#remember(course);
    this.#note(choice);
    this.#calls += 1;
    record.attempts += 1;
    const attempt = record.attempts;
    course.calls += 1;
    const startedAtMs = clock.now();
    try {
      const result = limitPassed(await this.#manner.tryOnce({ candidate, call, key, scope, attemptMs: limit.ms, entry, onFirstEvent }), candidate.provider.name, limit);
      const attemptMs = clock.now() - startedAtMs;
      record.upstreamMs += attemptMs;
      const failure = result instanceof Failure ? result : undefined;
      logAttempt(record, attempt, attemptMs, failure);
      this.#report(choice, failure, scope);
      // What ends the request ends it for both; but what the second cannot do the first may still.
      if (failure !== undefined && choice.paidFor !== HEDGED && scope.ended === undefined && !this.#mayMove(failure)) race?.claim(scope);
      return { choice, course, result, isWinner: race?.winner === scope };
    } finally {
      this.#giveBack(choice);
    }
  }

  /** The first event of an attempt beside which there is another. */
  #claims(choice: Choice<C>, scope: Scope, race: Race): boolean {
    if (!race.claim(scope)) return false;
    this.#note(choice);
    if (choice.paidFor === HEDGED) this.#context.record.hedged = 'won';
    return true;
  }

  /** Writes down who is asked, or serves. */
  #note({ course, key }: Choice<C>): void {
    const { record } = this.#context;
    const { provider, model } = course.candidate;
    record.provider = provider.name;
    record.askedModel = model;
    record.key = provider.keys.length > 1 ? key?.number : undefined;
    if (this.#courses.length > 1) record.passedOver = this.#passedOver(course);
  }

  /** Remembers that it is asked, and counts that it is so after another or in place of it. */
  #remember(course: Course<C>): void {
    if (this.#courses.length > 1) {
      const last = this.#asked.at(-1) ?? this.#courses[0];
      const why = last?.failure?.kind ?? last?.passedOver;
      if (last !== undefined && last !== course && why !== undefined) this.#parts.metrics.fallback(this.#ask.route?.name ?? '', nameOf(last), nameOf(course), why);
    }
    const index = this.#asked.indexOf(course);
    if (index !== -1) this.#asked.splice(index, 1);
    this.#asked.push(course);
  }

  #passedOver(chosen: Course<C>): readonly PassedOver[] {
    const passed: PassedOver[] = [];
    for (const course of this.#courses) {
      if (course === chosen) break;
      const why = course.failure?.kind ?? course.passedOver;
      if (why !== undefined) passed.push({ provider: course.candidate.provider.name, model: course.candidate.model, why });
    }
    return passed;
  }

  /** Tells metrics, health, keys and budget what came of a call, and the course what may follow. */
  #report(choice: Choice<C>, failure: Failure | undefined, { ended }: Scope): void {
    const { course, key, askedAs, paidFor } = choice;
    const { provider, model, target } = course.candidate;
    const { metrics, clock } = this.#parts;
    const { record } = this.#context;
    const managesKeys = this.#managesKeys(course);
    const isOvertaken = ended === 'outpaced' && paidFor !== HEDGED;
    const move = MOVES[failure === undefined ? 'success' : isOvertaken ? 'overtaken' : ended !== undefined ? 'ended' : outcomeOf(failure)];
    // A caller who hangs up says nothing about the provider.
    metrics.attempt(provider.name, failure, ended);
    if (managesKeys) {
      const outcome = failure === undefined ? 'success' : ended !== undefined ? 'ended' : failure.kind;
      record.tried = [...record.tried, { provider: provider.name, model, outcome }];
    }
    if (askedAs === 'probe') metrics.probe(provider.name, model, move.health === 'success' ? 'success' : move.health === 'neutral' ? 'neutral' : 'failure');
    if (move.health === 'success') course.health?.succeeded(askedAs);
    else if (move.health === 'failure') course.health?.failed(askedAs);
    else if (move.health === 'gone' && target !== undefined) course.health?.gone();
    if (managesKeys && key !== undefined) this.#reportKey(provider, key, model, move.key, failure?.retryAfterMs);
    if (failure === undefined) {
      this.#attempts.budgetOf(provider.name).succeeded(paidFor === undefined ? 1 : 2, paidFor);
      return;
    }
    course.failure = failure;
    if (ended !== undefined) return;
    if (failure.limit !== undefined) metrics.limit(failure.limit);
    const hasOtherKeys = move.nextKey && key !== undefined && provider.keys.length > 1;
    if (hasOtherKeys) course.keysTried.push(key);
    else course.isAsked = true;
    course.isSpent = !failure.isRetried && !hasOtherKeys;
    const { retryAfterMs = 0 } = failure;
    const isKeysWait = managesKeys && key !== undefined && move.key === 'rate_limit';
    course.readyAtMs = retryAfterMs > 0 && !isKeysWait ? clock.now() + retryAfterMs : 0;
  }

  #reportKey(provider: Provider, key: ProviderKey, model: string, is: (typeof MOVES)['success']['key'], retryAfterMs: number | undefined): void {
    const { keys } = this.#parts.routing;
    if (is === 'good') keys.succeeded(provider.name, key, model);
    else if (is === 'rate_limit') keys.cool(provider.name, key, model, retryAfterMs);
    else if (is === 'quota') keys.exhausted(provider.name, key, model);
    else if (is === 'forbidden') keys.forbidden(provider.name, key, model);
    else if (is === 'rejected') keys.rejected(provider.name, key);
  }

  /** Whether anybody else may serve after this, or the same at another time. */
  #mayMove(failure: Failure): boolean {
    const { nextKey, nextTarget } = MOVES[outcomeOf(failure)];
    return nextKey || nextTarget || failure.isRetried;
  }

  #limitOf(course: Course<C>): AttemptLimit {
    const { attemptTimeoutMs, clock } = this.#parts;
    const { isStream } = this.#manner;
    const { target } = course.candidate;
    const leftMs = this.#hasNext(course) ? this.#context.deadline.atMs - clock.now() : undefined;
    return attemptLimitOf(target, isStream, attemptTimeoutMs, leftMs);
  }

  /** Whether another target could be asked after this one. */
  #hasNext(current: Course<C>): boolean {
    if (this.#courses.length < 2 || this.#calls + 1 > this.#parts.retryPolicy.retriesMax) return false;
    return this.#courses.some((course) => course !== current && !course.isSpent && !course.isAsked && this.#obstacle(course) === undefined);
  }

  #healthOf(candidate: C): Course<C>['health'] {
    const { targets } = this.#parts.routing;
    const { target } = candidate;
    return target === undefined ? targets.find({ provider: candidate.provider.name, model: candidate.model }) : targets.of(target);
  }

  #refuse(course: Course<C>, reason: Refusal): undefined {
    if (reason === 'not-retryable') return;
    this.#context.record.retryRefusal = reason;
    this.#parts.metrics.retryRefused(course.candidate.provider.name, reason);
  }

  /** The outcome of a request for which nobody was asked. */
  #nobody(): Outcome<C, T> {
    const [first] = this.#ask.candidates;
    const unsendable = this.#unsendable ?? this.#courses.find(({ candidate }) => candidate === first);
    if (unsendable?.call instanceof Failure && (unsendable === this.#unsendable || !this.#courses.some((course) => !course.isSpent))) {
      return { candidate: unsendable.candidate, result: unsendable.call };
    }
    this.#parts.metrics.refused('target_concurrency');
    return { candidate: first, result: fullFailure(this.#ask.route, first.provider.name) };
  }

  /** The failure that a caller is told when everybody failed. */
  #shown(last: Failure): Failure {
    const { keys } = this.#parts.routing;
    const failed = this.#unsendable !== undefined && !this.#asked.includes(this.#unsendable) ? [...this.#asked, this.#unsendable] : this.#asked;
    const waits = this.#courses.flatMap((course) => (this.#managesKeys(course) ? [keys.waitMs(course.candidate.provider, course.candidate.model)] : []));
    const first = this.#courses.find((course) => this.#asked.includes(course));
    return shownFailure(last, first?.failure, failed.flatMap(({ failure, call }) => failure ?? (call instanceof Failure ? call : [])), waits);
  }

  #endedEarly(): Failure {
    const { scope, deadline } = this.#context;
    const failure = scopeFailure(scope.ended ?? 'caller-gone', deadline.setting);
    if (failure.limit !== undefined) this.#parts.metrics.limit(failure.limit);
    return failure;
  }
}

/** An attempt that was made. */
type Made<C extends Candidate, T> = { readonly choice: Choice<C>; readonly course: Course<C>; readonly result: T | Failure; readonly isWinner: boolean };

/** What a call beside another is paid for. */
const HEDGED = new Failure('unknown', 'the first event is long in coming');

type Refusal = RetryRefusal | 'budget' | 'out';

const NO_PLACES: readonly string[] = [];

/** Of a target through its route; a provider's own are under its name, which has no slash. */
function placeName(route: string | undefined, target: { readonly provider: string; readonly model: string }): string {
  return `${route ?? ''}/${targetName(target)}`;
}

function nameOf<C extends Candidate>({ candidate: { provider, model } }: Course<C>): string {
  return targetName({ provider: provider.name, model });
}
