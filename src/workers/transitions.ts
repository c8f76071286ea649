/** What still holds of the transitions that workers told of, for those that begin later. */

import type { Transition } from '../core/transition.ts';

/** Targets and keys come from the configuration; far more are a mistake. */
const NAMES_MAX = 4096;

export class Transitions {
  readonly #current = new Map<string, { readonly transition: Transition; readonly endsAtMs: number }>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** False where there is no room for it. */
  note(transition: Transition): boolean {
    const nowMs = this.#now();
    const { name } = transition;
    if (!this.#current.has(name) && this.#current.size >= NAMES_MAX) this.#forgetEnded(nowMs);
    if (!this.#current.has(name) && this.#current.size >= NAMES_MAX) return false;
    if (transition.type === 'in') this.#current.delete(name);
    else this.#current.set(name, { transition, endsAtMs: nowMs + transition.untilMs });
    return true;
  }

  /** With the times that are left. */
  current(): readonly Transition[] {
    const nowMs = this.#now();
    this.#forgetEnded(nowMs);
    return [...this.#current.values()].map(({ transition, endsAtMs }) => ({ ...transition, untilMs: endsAtMs - nowMs }));
  }

  #forgetEnded(nowMs: number): void {
    for (const [name, { endsAtMs }] of this.#current) if (endsAtMs <= nowMs) this.#current.delete(name);
  }
}
