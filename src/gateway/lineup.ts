/**
 * Who may serve one request, in order, and who of them may be asked at this moment.
 *
 * How targets and keys stand only changes whom it names: it refuses nobody. Makes no call and waits for nothing.
 */

import type { ProviderKey } from '../core/adapter.ts';
import { Failure } from '../core/failure.ts';
import { targetName } from '../core/route.ts';
import { plan } from '../routing/plan.ts';
import type { Ask, Candidate } from './ask.ts';
import type { AttemptParts } from './attempt-parts.ts';
import type { PassedOver } from './call-record.ts';
import { Course } from './course.ts';
import type { Choice } from './course.ts';

/** A timer may fire so much early by the clock of `performance.now()`. */
const TIMER_SLACK_MS = 2;

/** What a call beside another is paid for. */
export const HEDGED = new Failure('unknown', 'the first event is long in coming');

/** Who may be asked again first, and in how long. */
export type Soonest<C extends Candidate> = { readonly course: Course<C>; readonly waitMs: number };

// hot: per request
export class Lineup<C extends Candidate> {
  readonly #parts: AttemptParts;
  readonly #ask: Ask<C>;
  /** In the order in which they are asked. */
  readonly courses: readonly Course<C>[];
  /** Whether an open tool loop's provider went before the operator's order. */
  readonly isSticky: boolean;
  /** In the order in which they were asked last. */
  readonly asked: Course<C>[] = [];
  /** It cannot be sent as it is, to anybody. */
  unsendable: Course<C> | undefined;
  /** Somebody could have been asked, but for the budget of its provider. */
  isBudgetSpent = false;
  /** Rounds that are over. */
  round = 0;

  constructor(parts: AttemptParts, ask: Ask<C>) {
    this.#parts = parts;
    this.#ask = ask;
    const { order, isSticky } = plan(ask.candidates, ask.route, ask.conversation, ask.loopProvider);
    this.isSticky = isSticky;
    this.courses = order.map((candidate) => new Course(candidate, this.#healthOf(candidate)));
  }

  /** The first in order who may be asked at this moment, with all that it takes to ask. */
  next(): Choice<C> | undefined {
    this.isBudgetSpent = false;
    for (const course of this.courses) {
      if (course.isSpent || course.isAsked || !this.#isReady(course)) continue;
      const obstacle = this.#obstacle(course);
      if (obstacle !== undefined) {
        course.passedOver = obstacle;
        continue;
      }
      const choice = this.#take(course, this.#keyOf(course));
      if (choice !== undefined || this.unsendable !== undefined) return choice;
    }
    return undefined;
  }

  /** Nobody had better be asked: somebody is, all the same. Undefined where all are full, or cannot be sent it. */
  anyway(): Choice<C> | undefined {
    while (this.unsendable === undefined) {
      const course = this.#lastResort();
      if (course === undefined) return undefined;
      const { provider, model } = course.candidate;
      const choice = this.#take(course, this.#keyOf(course) ?? this.#parts.routing.keys.soonest(provider, model));
      if (choice !== undefined) return choice;
    }
    return undefined;
  }

  /**
   * The one whose time ends first. If it is out, the one of those that are out which was asked longest ago: so each is asked in
   * turn, and the first that is well again serves everybody at once, instead of when its time is over.
   */
  #lastResort(): Course<C> | undefined {
    let soonest: Course<C> | undefined;
    let soonestMs = Infinity;
    let longestAgo: Course<C> | undefined;
    for (const course of this.courses) {
      if (course.isSpent || this.#isFull(course)) continue;
      const keysLeftMs = this.#keysLeftMs(course);
      const leftMs = Math.max(course.health?.leftMs ?? 0, keysLeftMs);
      if (leftMs < soonestMs) {
        soonest = course;
        soonestMs = leftMs;
      }
      if (keysLeftMs === 0 && this.#isOut(course) && askedAtMs(course) < askedAtMs(longestAgo)) longestAgo = course;
    }
    return soonest !== undefined && this.#isOut(soonest) ? (longestAgo ?? soonest) : soonest;
  }

  /** Somebody who was not asked in this request because it is out: when those who are in have failed. */
  untried(): Choice<C> | undefined {
    for (const course of this.courses) {
      if (course.calls > 0 || course.isSpent || course.passedOver !== 'out' || course.health?.state === 'probed' || this.#isFull(course)) continue;
      const key = this.#keyOf(course);
      if (key === undefined && course.candidate.provider.keys.length > 0) continue;
      const choice = this.#take(course, key);
      if (choice !== undefined || this.unsendable !== undefined) return choice;
    }
    return undefined;
  }

  /** Who may be asked first in another round; or why nobody may: all failed for good, were tried as often as it is worth, or are out. */
  soonest(): Soonest<C> | 'not-retryable' | 'exhausted' | 'out' {
    const nowMs = this.#parts.clock.now();
    let reason: 'not-retryable' | 'exhausted' | 'out' = 'not-retryable';
    let soonest: Soonest<C> | undefined;
    for (const course of this.courses) {
      if (course.isSpent) continue;
      if (this.#isOut(course)) {
        reason = 'out';
        continue;
      }
      if ((course.failure?.retriesMax ?? Infinity) <= this.round) {
        reason = 'exhausted';
        continue;
      }
      const waitMs = Math.max(readyInMs(course, nowMs), this.#promisedMs(course));
      if (waitMs === Infinity) continue;
      if (soonest === undefined || waitMs < soonest.waitMs) soonest = { course, waitMs };
    }
    return soonest ?? reason;
  }

  /** Begins another round with `course`, which was waited for. */
  startRound(course: Course<C>): void {
    this.round += 1;
    for (const each of this.courses) each.startRound();
    course.readyAtMs = 0;
  }

  /** Another target, paid for as a retry; undefined where nobody may be asked. */
  hedge(): Choice<C> | undefined {
    if (this.#parts.isDraining()) return undefined;
    for (const course of this.courses) {
      if (!this.#isNext(course) || !this.#isReady(course)) continue;
      course.call ??= course.candidate.call();
      if (course.call instanceof Failure || !this.#parts.budgets.of(course.candidate.provider.name).take(HEDGED)) continue;
      course.paidFor = HEDGED;
      return this.#take(course, this.#keyOf(course));
    }
    return undefined;
  }

  /** Whether another target could be asked after those that are. */
  get hasNext(): boolean {
    return this.courses.some((course) => this.#isNext(course));
  }

  #isNext(course: Course<C>): boolean {
    return !course.isInFlight && !course.isSpent && !course.isAsked && this.#obstacle(course) === undefined;
  }

  /** How long the keys of those rest that failed, or were not asked, for their rate. */
  waitsMs(): readonly number[] {
    const { keys } = this.#parts.routing;
    return this.courses.flatMap(({ candidate: { provider, model }, failure, passedOver }) => {
      if (failure !== undefined) return failure.kind === 'rate_limit' ? [keys.waitMs(provider, model)] : [];
      const waitMs = passedOver === 'cooling' ? keys.promisedWaitMs(provider, model) : Infinity;
      return waitMs === Infinity ? [] : [waitMs];
    });
  }

  /** Remembers that it is asked, and counts that it is so after another or in place of it. */
  remember(course: Course<C>): void {
    course.isInFlight = true;
    if (this.courses.length > 1) {
      const last = this.asked.at(-1) ?? this.courses[0];
      const why = last?.failure?.kind ?? last?.passedOver;
      if (last !== undefined && last !== course && why !== undefined) this.#parts.metrics.fallback(this.#ask.route?.name ?? '', nameOf(last), nameOf(course), why);
    }
    const index = this.asked.indexOf(course);
    if (index !== -1) this.asked.splice(index, 1);
    this.asked.push(course);
  }

  /** It answered first: whoever was asked and has not failed was slower. */
  noteOvertaken(winner: Course<C>): void {
    for (const course of this.asked) if (course !== winner && course.failure === undefined) course.passedOver = 'overtaken';
  }

  /** Those that would have served before it, and did not. */
  passedOver(chosen: Course<C>): readonly PassedOver[] {
    const passed: PassedOver[] = [];
    for (const course of this.courses) {
      if (course === chosen) break;
      const why = course.failure?.kind ?? course.passedOver;
      if (why !== undefined) passed.push({ provider: course.candidate.provider.name, model: course.candidate.model, why });
    }
    return passed;
  }

  #healthOf(candidate: C): Course<C>['health'] {
    const { targets } = this.#parts.routing;
    const { target } = candidate;
    return target === undefined ? targets.find({ provider: candidate.provider.name, model: candidate.model }) : targets.of(target);
  }

  /** Why it had better not be asked, or cannot be; undefined where it may. */
  #obstacle(course: Course<C>): 'out' | 'cooling' | 'full' | undefined {
    if (this.#isOut(course)) return 'out';
    if (managesKeys(course.candidate) && course.candidate.provider.keys.length > 0 && this.#keyOf(course) === undefined) return 'cooling';
    return this.#isFull(course) ? 'full' : undefined;
  }

  #isOut({ candidate, health }: Course<C>): boolean {
    // Without a route there is no other target to choose; its outcomes count for the routes that have it.
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

  /** Undefined where none is usable, or none is needed. */
  #keyOf(course: Course<C>): ProviderKey | undefined {
    const { provider, model } = course.candidate;
    if (!managesKeys(course.candidate)) return provider.keys[0];
    return this.#parts.routing.keys.pick(provider, model, this.#conversation, course.keysTried);
  }

  #keysLeftMs({ candidate }: Course<C>): number {
    if (!managesKeys(candidate)) return 0;
    return withSlack(this.#parts.routing.keys.waitMs(candidate.provider, candidate.model));
  }

  /** The same, but of keys that are worth waiting for. */
  #promisedMs({ candidate }: Course<C>): number {
    if (!managesKeys(candidate)) return 0;
    return withSlack(this.#parts.routing.keys.promisedWaitMs(candidate.provider, candidate.model));
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
      if (call.kind !== 'unsupported') this.unsendable = course;
      return undefined;
    }
    if (!this.pay(course)) {
      this.isBudgetSpent = true;
      return undefined;
    }
    const { paidFor } = course;
    course.paidFor = undefined;
    if (paidFor !== undefined && paidFor !== HEDGED) this.#parts.metrics.retry(candidate.provider.name, paidFor.kind);
    const askedAs = candidate.target !== undefined && health !== undefined ? health.ask() : health?.isOut === true ? 'anyway' : 'in';
    return { course, call, key, askedAs, isProbing: askedAs === 'probe', isHeard: false, paidFor, places: this.#takePlaces(candidate) };
  }

  /** A request's first call at a provider is free; each further one is paid from the provider's budget. */
  pay(course: Course<C>): boolean {
    if (this.asked.length === 0 || course.paidFor !== undefined) return true;
    const { name } = course.candidate.provider;
    const before = this.asked.findLast(({ candidate }) => candidate.provider.name === name)?.failure;
    if (before === undefined) return true;
    if (!this.#parts.budgets.of(name).take(before)) return false;
    course.paidFor = before;
    return true;
  }

  /** What was paid for its next call, if that was not made. */
  refund(course: Course<C>): void {
    const { candidate, paidFor } = course;
    if (paidFor !== undefined) this.#parts.budgets.of(candidate.provider.name).refund(paidFor);
    course.paidFor = undefined;
  }

  #takePlaces({ provider, target }: C): readonly string[] {
    const { places } = this.#parts.routing;
    const names: string[] = [];
    if (this.#parts.concurrentMax(provider.name) !== undefined) names.push(provider.name);
    if (target?.concurrentMax !== undefined) names.push(placeName(this.#ask.route?.name, target));
    for (const name of names) places.take(name);
    return names.length === 0 ? NO_PLACES : names;
  }

  /** To be called once for each choice, on every path, after what its outcome says was told. */
  giveBack(choice: Choice<C>): void {
    choice.course.isInFlight = false;
    this.endProbing(choice);
    for (const name of choice.places) this.#parts.routing.places.give(name);
  }

  /** Lets another probe the target: a probe that answers may go on for as long as its caller takes to read. */
  endProbing(choice: Choice<C>): void {
    if (!choice.isProbing) return;
    choice.isProbing = false;
    choice.course.health?.done(choice.askedAs);
  }
}

/** Whether it is remembered of keys how they do: where there is a choice, of keys or of targets. */
export function managesKeys({ provider, target }: Candidate): boolean {
  return provider.keys.length > 1 || target !== undefined;
}

function withSlack(leftMs: number): number {
  return leftMs > 0 ? leftMs + TIMER_SLACK_MS : 0;
}

function askedAtMs(course: Course<Candidate> | undefined): number {
  return course?.health?.askedAtMs ?? Infinity;
}

/** To the microsecond: a sum of large numbers is off by less, and a wait as long as the cap has to be told from a longer one. */
function readyInMs({ readyAtMs }: Course<Candidate>, nowMs: number): number {
  return readyAtMs === 0 ? 0 : Math.max(0, Math.round((readyAtMs - nowMs) * 1000) / 1000);
}

const NO_PLACES: readonly string[] = [];

/** Of a target through its route; a provider's own are under its name, which has no slash. */
function placeName(route: string | undefined, target: { readonly provider: string; readonly model: string }): string {
  return `${route ?? ''}/${targetName(target)}`;
}

function nameOf({ candidate: { provider, model } }: Course<Candidate>): string {
  return targetName({ provider: provider.name, model });
}
