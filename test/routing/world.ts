/** Providers as functions of time, and who is asked for what: what the policies of the simulation are compared on. */

import { Failure } from '../../src/core/failure.ts';
import { createRandom } from '../base/random.ts';
import type { VirtualClock } from './virtual.ts';

export type Name = 'a' | 'b';
export const NAMES: readonly Name[] = ['a', 'b'];

/** What a call comes to, and after how long; Infinity = it hangs. */
export type Answer = { readonly afterMs: number; readonly result: 'good' | Failure };

/** What a target does at a moment, in seconds since the trace's start; `good` is what it says when it is well. */
type Fault = (name: Name, atS: number, good: Answer, world: World) => Answer;

export type Trace = { readonly name: string; readonly fault: Fault };

/** When a trace's fault begins and ends, and when its last request comes. */
export type Times = { readonly beginS: number; readonly endS: number; readonly lastS: number };

const UNAVAILABLE: Answer = { afterMs: 50, result: new Failure('server', 'HTTP 503', { upstreamStatus: 503 }) };
const HANGING: Answer = { afterMs: Infinity, result: 'good' };
const LIMITED: Answer = { afterMs: 50, result: new Failure('rate_limit', 'HTTP 429', { upstreamStatus: 429, retryAfterMs: 5000 }) };

export const TRACES = {
  outage: { name: 'A answers 503', fault: (name, _atS, good) => (name === 'a' ? UNAVAILABLE : good) },
  hang: { name: 'A hangs', fault: (name, _atS, good) => (name === 'a' ? HANGING : good) },
  'two fifths': { name: 'A fails 40 %', fault: (name, _atS, good, { random }) => (name === 'a' && random() < 0.4 ? UNAVAILABLE : good) },
  tenth: { name: 'A fails 10 %', fault: (name, _atS, good, { random }) => (name === 'a' && random() < 0.1 ? UNAVAILABLE : good) },
  flap: { name: 'A fails every other 10 s', fault: (name, atS, good) => (name === 'a' && Math.floor(atS / 10) % 2 === 0 ? UNAVAILABLE : good) },
  both: { name: 'A and B answer 503', fault: () => UNAVAILABLE },
  limit: { name: 'A answers 429 above 10/s', fault: (name, atS, good, world) => (name === 'a' && !world.isWithinRate(atS) ? LIMITED : good) },
} satisfies Readonly<Record<string, Trace>>;

/** For each while of 3 to 20 s one of the two ails, in one of these ways, or neither. */
export function randomTrace(seed: number): Trace {
  const random = createRandom(seed);
  const ills = ['none', UNAVAILABLE, HANGING, 'two fifths', LIMITED] as const;
  const whiles: { readonly untilS: number; readonly name: Name; readonly ill: (typeof ills)[number] }[] = [];
  for (let untilS = 0; untilS < 1000; ) {
    untilS += 3 + random.below(18);
    whiles.push({ untilS, name: random.pick(NAMES), ill: random.pick(ills) });
  }
  const fault: Fault = (name, atS, good, world) => {
    const current = whiles.find(({ untilS }) => atS < untilS);
    if (current === undefined || current.name !== name || current.ill === 'none') return good;
    if (current.ill === 'two fifths') return world.random() < 0.4 ? UNAVAILABLE : good;
    return current.ill;
  };
  return { name: `random trace ${seed}`, fault };
}

/** One target's calls and answers in one run. */
export class World {
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly #trace: Trace;
  readonly #times: Times;
  #second = 0;
  #inSecond = 0;

  constructor(clock: VirtualClock, trace: Trace, times: Times, seed: number) {
    const random = createRandom(seed);
    this.clock = clock;
    this.random = () => random.below(2 ** 30) / 2 ** 30;
    this.#trace = trace;
    this.#times = times;
  }

  /** Seconds since the start. */
  get nowS(): number {
    return this.clock.nowMs / 1000;
  }

  isFaulty(atS: number): boolean {
    return atS >= this.#times.beginS && atS < this.#times.endS;
  }

  answer(name: Name): Answer {
    const atS = this.nowS;
    // Half take longer than 0.5 s, one in a hundred longer than 1.8.
    const normal = Math.sqrt(-2 * Math.log(1 - this.random())) * Math.cos(2 * Math.PI * this.random());
    const good: Answer = { afterMs: Math.min(3000, Math.max(250, 500 * Math.exp(0.55 * normal))), result: 'good' };
    return this.isFaulty(atS) ? this.#trace.fault(name, atS - this.#times.beginS, good, this) : good;
  }

  isWithinRate(atS: number): boolean {
    if (Math.floor(atS) !== this.#second) {
      this.#second = Math.floor(atS);
      this.#inSecond = 0;
    }
    this.#inSecond += 1;
    return this.#inSecond <= 10;
  }
}
