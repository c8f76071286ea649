/** All that is remembered of targets and keys between requests. By name, so it outlives every reload. */

import type { Chance } from '../base/health.ts';
import { Targets } from './health.ts';
import { Keys } from './keys.ts';
import { Places } from './places.ts';
import type { Transition, TransitionListener } from './transition.ts';

export class RoutingState {
  readonly targets: Targets;
  readonly keys: Keys;
  readonly places = new Places();

  /** `retryAfterCapMs`: the longest wait of a provider's that is obeyed. `onTransition` is told what this process finds out itself. */
  constructor(chance: Chance, retryAfterCapMs: number, onTransition: TransitionListener = () => undefined) {
    this.targets = new Targets(chance, onTransition);
    this.keys = new Keys(chance, retryAfterCapMs, onTransition);
  }

  /** Takes over what another process has found out, and tells nobody. */
  apply(transition: Transition): void {
    if (transition.of === 'key') this.keys.apply(transition);
    else this.targets.of(transition).apply(transition);
  }
}
