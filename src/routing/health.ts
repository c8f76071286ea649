/**
 * How each target does, by `provider/model`: which are out, since when and for how long.
 *
 * Kept by name, so that it outlives a reload; bounded, since names come and go with reloads.
 */

import { Health } from '../base/health.ts';
import type { AskedAs, Chance, HealthRules } from '../base/health.ts';
import { keep } from '../base/keep.ts';
import { targetName } from '../core/route.ts';
import type { Target } from '../core/route.ts';
import type { Transition, TransitionListener } from './transition.ts';

/** 5 s, because a provider's blips last seconds; no more than 30, because a probe costs one request one failure's time. */
const TARGET_RULES: HealthRules = { failurePoints: 2, successPoints: 1, outAt: 16, inAt: 8, outMs: 5000, outMsMax: 30_000, calmMs: 60_000 };
/** How long a target is left alone that has no such model. */
const GONE_MS = 60_000;
/** Far more than a configuration has; the oldest names are forgotten first. */
const TARGETS_MAX = 4096;

type Name = Pick<Target, 'provider' | 'model'>;

/** One target's health. Whoever asks a target says `ask`, then what came of it, then `done`, on every path. */
export class TargetHealth extends Health {
  readonly provider: string;
  readonly model: string;
  readonly #onTransition: TransitionListener;

  constructor({ provider, model }: Name, chance: Chance, onTransition: TransitionListener) {
    super(TARGET_RULES, chance);
    this.provider = provider;
    this.model = model;
    this.#onTransition = onTransition;
  }

  override succeeded(asked: AskedAs): boolean {
    const isBack = super.succeeded(asked);
    if (isBack) this.#onTransition({ of: 'target', provider: this.provider, model: this.model, to: 'in' });
    return isBack;
  }

  override failed(asked: AskedAs): boolean {
    const wentOut = super.failed(asked);
    if (wentOut) this.#wentOut(asked === 'probe' ? 'probe' : 'failures');
    return wentOut;
  }

  /** The provider has no such model. */
  gone(): void {
    const wasGone = this.state === 'out';
    this.goOutAbout(GONE_MS);
    if (!wasGone) this.#wentOut('not_found');
  }

  /** Takes over what another process has seen. */
  apply(transition: Extract<Transition, { of: 'target' }>): void {
    if (transition.to === 'out' && transition.cause === 'not_found') this.goOut(transition.forMs);
    else if (transition.to === 'out') this.failedElsewhere(transition.forMs);
    else if (this.isOut) this.comeIn();
  }

  #wentOut(cause: 'failures' | 'probe' | 'not_found'): void {
    this.#onTransition({ of: 'target', provider: this.provider, model: this.model, to: 'out', cause, forMs: this.leftMs });
  }
}

/** The health of every target that was ever a route's. */
export class Targets {
  readonly #chance: Chance;
  readonly #onTransition: TransitionListener;
  readonly #byName = new Map<string, TargetHealth>();

  constructor(chance: Chance, onTransition: TransitionListener) {
    this.#chance = chance;
    this.#onTransition = onTransition;
  }

  /** Each that is known, whatever its state. */
  get all(): Iterable<TargetHealth> {
    return this.#byName.values();
  }

  /** The target's; begins in where it is new. */
  of(target: Name): TargetHealth {
    const name = targetName(target);
    let health = this.#byName.get(name);
    if (health === undefined) {
      health = new TargetHealth(target, this.#chance, this.#onTransition);
      keep(this.#byName, name, health, TARGETS_MAX);
    }
    return health;
  }

  /** Undefined where no route has this target. */
  // hot: per request
  find(target: Name): TargetHealth | undefined {
    return this.#byName.size === 0 ? undefined : this.#byName.get(targetName(target));
  }
}
