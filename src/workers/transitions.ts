/** What still holds of the transitions that workers told of, for those that begin later. */

import type { Transition } from '../routing/transition.ts';

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
    const name = nameOf(transition);
    if (!this.#current.has(name) && this.#current.size >= NAMES_MAX) this.#forgetEnded(nowMs);
    if (!this.#current.has(name) && this.#current.size >= NAMES_MAX) return false;
    if (transition.to === 'in') this.#current.delete(name);
    else this.#current.set(name, { transition, endsAtMs: nowMs + transition.forMs });
    return true;
  }

  /** With the times that are left. */
  current(): readonly Transition[] {
    const nowMs = this.#now();
    this.#forgetEnded(nowMs);
    return [...this.#current.values()].map(({ transition, endsAtMs }) => ({ ...transition, forMs: endsAtMs - nowMs }));
  }

  #forgetEnded(nowMs: number): void {
    for (const [name, { endsAtMs }] of this.#current) if (endsAtMs <= nowMs) this.#current.delete(name);
  }
}

/** Of what is said: the last about the same target or key, and for a key the same model, holds. */
function nameOf(transition: Transition): string {
  return JSON.stringify([transition.provider, transition.model, transition.of === 'key' ? transition.key : '']);
}
