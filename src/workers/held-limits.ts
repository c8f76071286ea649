/** The limits of all workers, held by their primary: it takes for each, and gives back what one held when it is gone. */

import type { Charge, Decision, LocalStore } from '../limits/store.ts';

export class HeldLimits<Owner extends object> {
  readonly #store: LocalStore;
  /** What was taken and not settled, by lease. As many as there are requests in flight. */
  readonly #held = new Map<Owner, Map<string, Charge>>();

  constructor(store: LocalStore) {
    this.#store = store;
  }

  take(owner: Owner, charge: Charge): Decision {
    const decision = this.#store.take(charge);
    if (decision.refusedBy !== undefined) return decision;
    const held = this.#held.get(owner) ?? new Map<string, Charge>();
    this.#held.set(owner, held.set(charge.lease, charge));
    return decision;
  }

  /** Nothing where it was not taken: the worker decided alone, and does not know what was decided here. */
  settle(owner: Owner, charge: Charge, tokensMore: number): void {
    if (this.#held.get(owner)?.delete(charge.lease) === true) this.#store.settle(charge, tokensMore);
  }

  /** The owner is gone. What its requests used by then nobody knows, so they are charged as estimated. */
  release(owner: Owner): void {
    for (const charge of this.#held.get(owner)?.values() ?? []) this.#store.settle(charge, 0);
    this.#held.delete(owner);
  }
}
