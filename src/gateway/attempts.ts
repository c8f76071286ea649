/**
 * The only place where attempts are made and counted: one loop over all targets, keys and rounds of a request.
 *
 * How targets and keys stand only changes the order in which they are asked; it refuses nobody. Moving on waits for nothing;
 * another round waits as a retry does. Not more than 1 + retriesMax calls are made, whatever the route.
 */

import { Failure } from '../core/failure.ts';
import type { Target } from '../core/route.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import type { Scope } from '../core/scope.ts';
import { RetryBudgets, retryWaitMs } from '../upstream/retry.ts';
import type { RetryRefusal } from '../upstream/retry.ts';
import type { Ask, Candidate, Outcome } from './ask.ts';
import type { Attempt, AttemptLimit } from './attempt.ts';
import { attemptLimitOf, limitPassed } from './attempt.ts';
import type { AttemptParts, CallContext } from './attempt-parts.ts';
import type { Choice, Course } from './course.ts';
import { HEDGED, Lineup } from './lineup.ts';
import { mayMove, reportOutcome } from './outcome-report.ts';
import { Race } from './race.ts';
import { fullFailure, shownFailure } from './shown-failure.ts';

/** How a request is made. */
export type Manner<C extends Candidate, T> = {
  readonly isStream: boolean;
  readonly tryOnce: (attempt: Attempt<C>) => Promise<T | Failure>;
  /** Whether something of an answer has left, so that nobody else can be asked. */
  readonly isTooLate: () => boolean;
};

export class Attempts {
  readonly parts: AttemptParts;

  constructor(parts: Omit<AttemptParts, 'budgets'>) {
    this.parts = { ...parts, budgets: new RetryBudgets(parts.clock.now) };
  }

  /** Asks until somebody serves, nobody else may, or tries, time or budget are used up. */
  run<C extends Candidate, T>(ask: Ask<C>, context: CallContext, manner: Manner<C, T>): Promise<Outcome<C, T>> {
    return new Asking(this.parts, ask, context, manner).run();
  }
}

/** One request. */
// hot: per request
class Asking<C extends Candidate, T> {
  readonly #parts: AttemptParts;
  readonly #ask: Ask<C>;
  readonly #context: CallContext;
  readonly #manner: Manner<C, T>;
  readonly #lineup: Lineup<C>;
  #calls = 0;

  constructor(parts: AttemptParts, ask: Ask<C>, context: CallContext, manner: Manner<C, T>) {
    this.#parts = parts;
    this.#ask = ask;
    this.#context = context;
    this.#manner = manner;
    this.#lineup = new Lineup(parts, ask);
    context.record.modelRoute = ask.route?.name;
    context.record.isSticky = this.#lineup.isSticky;
  }

  async run(): Promise<Outcome<C, T>> {
    const lineup = this.#lineup;
    const { scope } = this.#context;
    let choice = lineup.next() ?? lineup.anyway();
    if (choice === undefined) return this.#nobody();
    for (;;) {
      const { choice: made, result }: Made<C, T> = this.#hedgeAfterMs === undefined ? await this.#attempt(choice, scope, undefined) : await this.#race(choice);
      const { candidate } = made.course;
      // A large answer is read in turns, in which the exchange may end.
      if (!(result instanceof Failure)) return { candidate, result: scope.ended === undefined || this.#manner.isTooLate() ? result : this.#endedEarly() };
      if (scope.ended !== undefined) return { candidate, result: this.#endedEarly() };
      if (this.#manner.isTooLate()) return { candidate, result };
      if (!mayMove(result)) return { candidate, result: this.#shown(result) };
      choice = this.#calls > this.#parts.retryPolicy.retriesMax ? undefined : lineup.next();
      if (choice === undefined && lineup.unsendable === undefined) choice = await this.#nextRound(made, result);
      if (scope.ended !== undefined) return { candidate, result: this.#endedEarly() };
      if (choice === undefined) return { candidate, result: this.#shown(result) };
    }
  }

  /** Waits until somebody may be asked again. Undefined where nobody may, or not in time. */
  async #nextRound({ course: last, askedAs }: Choice<C>, failure: Failure): Promise<Choice<C> | undefined> {
    const { clock, retryPolicy, isDraining } = this.#parts;
    const { scope, record, deadline } = this.#context;
    const lineup = this.#lineup;
    if (this.#calls > retryPolicy.retriesMax) return this.#refuse(last, failure.isRetried ? 'exhausted' : 'not-retryable');
    // Each turn is a round, of which there are as many as retries.
    for (;;) {
      if (this.#ask.route !== undefined && isDraining()) return undefined;
      if (lineup.isBudgetSpent) return this.#refuse(last, 'budget');
      const soonest = lineup.soonest();
      // Whoever is out may be well again, with nobody to find out. Where all are out one call is enough: the next request asks another.
      if (askedAs !== 'anyway' && (soonest === 'out' || lineup.round > 0)) {
        const untried = lineup.untried();
        if (untried !== undefined || lineup.unsendable !== undefined) return untried;
      }
      if (typeof soonest === 'string') return this.#refuse(last, soonest);
      const { course } = soonest;
      const waitMs = retryWaitMs(soonest.waitMs, lineup.round, retryPolicy, deadline.atMs - clock.now(), clock.random);
      if (typeof waitMs === 'string') return this.#refuse(course, waitMs);
      if (!lineup.pay(course)) return this.#refuse(course, 'budget');
      const waitsFromMs = clock.now();
      await clock.sleep(scope, waitMs);
      record.waitedMs += clock.now() - waitsFromMs;
      lineup.startRound(course);
      const choice = scope.ended === undefined ? lineup.next() : undefined;
      // Where nobody waits any more, or somebody else comes first.
      lineup.refund(course);
      if (choice !== undefined || lineup.unsendable !== undefined || scope.ended !== undefined) return choice;
    }
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
      const second = isSlow ? this.#lineup.hedge() : undefined;
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

  /** Makes one call, and says of everybody concerned what came of it. */
  async #attempt(choice: Choice<C>, scope: Scope, race: Race | undefined): Promise<Made<C, T>> {
    const { course, call, key } = choice;
    const { candidate } = course;
    const { clock, logAttempt } = this.#parts;
    const { record } = this.#context;
    const entry = race && { claim: () => this.#claims(choice, scope, race), hold: race.hold, heard: () => void (choice.isHeard = true) };
    const onFirstEvent = choice.isProbing ? () => this.#lineup.endProbing(choice) : undefined;
    this.#lineup.remember(course);
    const limit = this.#limitOf(candidate.target);
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
      logAttempt(record, attempt, attemptMs, failure, candidate.provider.name);
      reportOutcome(choice, failure, scope, record, this.#parts);
      // What ends the request ends it for both; but what the second cannot do the first may still.
      if (failure !== undefined && choice.paidFor !== HEDGED && scope.ended === undefined && !mayMove(failure)) race?.claim(scope);
      return { choice, result, isWinner: race?.winner === scope };
    } finally {
      this.#lineup.giveBack(choice);
    }
  }

  /** The first event of an attempt beside which there is another. */
  #claims(choice: Choice<C>, scope: Scope, race: Race): boolean {
    if (!race.claim(scope)) return false;
    if (choice.paidFor === HEDGED) {
      this.#context.record.hedged = 'won';
      this.#lineup.noteOvertaken(choice.course);
    }
    this.#note(choice);
    return true;
  }

  /** Writes down who is asked, or serves. */
  #note({ course, key }: Choice<C>): void {
    const { record } = this.#context;
    const { provider, model } = course.candidate;
    record.provider = provider.name;
    record.askedModel = model;
    record.key = provider.keys.length > 1 ? key?.number : undefined;
    if (this.#lineup.courses.length > 1) record.passedOver = this.#lineup.passedOver(course);
  }

  #limitOf(target: Target | undefined): AttemptLimit {
    const { attemptTimeoutMs, retryPolicy, clock } = this.#parts;
    const hasNext = this.#calls < retryPolicy.retriesMax && this.#lineup.hasNext;
    const leftMs = hasNext ? this.#context.deadline.atMs - clock.now() : undefined;
    return attemptLimitOf(target, this.#manner.isStream, attemptTimeoutMs, leftMs);
  }

  #refuse(course: Course<C>, reason: Refusal): undefined {
    if (reason === 'not-retryable') return;
    this.#context.record.retryRefusal = reason;
    this.#parts.metrics.retryRefused(course.candidate.provider.name, reason);
  }

  /** The outcome of a request for which nobody was asked. */
  #nobody(): Outcome<C, T> {
    const [first] = this.#ask.candidates;
    const { courses, unsendable } = this.#lineup;
    if (unsendable?.call instanceof Failure) return { candidate: unsendable.candidate, result: unsendable.call };
    const firstCall = courses.find(({ candidate }) => candidate === first)?.call;
    if (firstCall instanceof Failure && courses.every(({ isSpent }) => isSpent)) return { candidate: first, result: firstCall };
    this.#parts.metrics.refused('target_concurrency');
    return { candidate: first, result: fullFailure(this.#ask.route, first.provider.name) };
  }

  /** The failure that a caller is told when everybody failed. */
  #shown(last: Failure): Failure {
    const { courses, asked, unsendable } = this.#lineup;
    const first = courses.find((course) => asked.includes(course));
    const failed = asked.flatMap(({ failure }) => failure ?? []);
    if (unsendable?.call instanceof Failure) failed.push(unsendable.call);
    return shownFailure(last, first?.failure, failed, this.#lineup.waitsMs());
  }

  #endedEarly(): Failure {
    const { scope, deadline } = this.#context;
    const failure = scopeFailure(scope.ended ?? 'caller-gone', deadline.setting);
    if (failure.limit !== undefined) this.#parts.metrics.limit(failure.limit);
    return failure;
  }
}

/** An attempt that was made. */
type Made<C extends Candidate, T> = { readonly choice: Choice<C>; readonly result: T | Failure; readonly isWinner: boolean };

type Refusal = RetryRefusal | 'not-retryable' | 'budget' | 'out';
