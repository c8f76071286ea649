/** Who may come in: a place for each chat that is being served, and nobody while the event loop or memory cannot keep up. */

import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Why a chat is refused, as metrics name it. */
export type Refusal = 'concurrency' | 'event_loop' | 'memory';

/** Chat requests being served, against GATEWAY_MAX_CONCURRENT. */
export class Admission {
  readonly #max: number;
  readonly #isOverloaded: () => boolean;
  readonly #lacksMemory: () => boolean;
  #count = 0;

  /** `lacksMemory` is asked last, about each chat that would come in. */
  constructor(max: number | undefined, isOverloaded: () => boolean, lacksMemory: () => boolean = () => false) {
    this.#max = max ?? Infinity;
    this.#isOverloaded = isOverloaded;
    this.#lacksMemory = lacksMemory;
  }

  get count(): number {
    return this.#count;
  }

  /** Takes a place, or says why there is none. Every taken place is given back with `leave`. */
  enter(): Refusal | undefined {
    if (this.#count >= this.#max) return 'concurrency';
    if (this.#isOverloaded()) return 'event_loop';
    if (this.#lacksMemory()) return 'memory';
    this.#count += 1;
    return undefined;
  }

  leave(): void {
    this.#count -= 1;
  }
}

/**
 * A turn of the event loop this long makes a chat, which needs about ten turns, wait for seconds in a queue that
 * nobody sees; callers are better served elsewhere.
 */
const LATE_MS = 500;
/** Below this it has recovered. Between the two nothing changes, so that it does not flap. */
const WELL_MS = 250;
/** A busy neighbour or one enormous request makes a look or two late, an overload makes every one late. */
const LATE_LOOKS = 3;
/** As long as one late turn: three of them are an overload after a second and a half. */
const LOOK_MS = 500;

/** Says from one look after the other whether the event loop is overloaded. */
export class LoopHealth {
  #lateInARow = 0;
  #isOverloaded = false;

  get isOverloaded(): boolean {
    return this.#isOverloaded;
  }

  /** Takes the 99th percentile of the event loop's delay since the last look. */
  observe(delayMs: number): void {
    this.#lateInARow = delayMs > LATE_MS ? this.#lateInARow + 1 : 0;
    if (this.#lateInARow >= LATE_LOOKS) this.#isOverloaded = true;
    else if (delayMs < WELL_MS) this.#isOverloaded = false;
  }
}

/** Measures the event loop of this process, twice a second and at no cost worth naming. Returns how to stop. */
export function watchEventLoop(health: LoopHealth): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const timer = setInterval(() => {
    health.observe(delay.percentile(99) / 1e6);
    delay.reset();
  }, LOOK_MS).unref();
  return () => {
    clearInterval(timer);
    delay.disable();
  };
}
