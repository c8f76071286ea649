/**
 * Which key of a provider a conversation is sent with, and which had better not be used for a while.
 *
 * A conversation has one key wherever it is asked for, so that its prompt cache is found again; a key that cools moves only
 * its own conversations. Kept by the keys' digests: a key that is rotated starts fresh, the others keep what is known of them.
 */

import { spread } from '../base/health.ts';
import type { Chance } from '../base/health.ts';
import { keep } from '../base/keep.ts';
import { claim, hashText } from '../base/rendezvous.ts';
import type { Provider, ProviderKey } from '../core/adapter.ts';
import type { Transition, TransitionListener } from './transition.ts';

/** How long a key is left alone that was rejected, or whose quota is used up. */
const REJECTED_MS = 300_000;
/** After 429 without a wait: doubles with each that follows without a success between. */
const COOL_MS = 1000;
const COOL_MS_MAX = 60_000;
/** Far more than keys there are; the oldest are forgotten first. */
const KEYS_MAX = 4096;
/** Models that a key cools for at a time. Callers choose models where no route does. */
const MODELS_MAX = 256;

type Rest = {
  /** When it is used again. */
  untilMs: number;
  /** When the provider wants to be asked again: later than that where it named a longer wait than is obeyed. */
  namedMs: number;
  /** Until then nobody waits for it, since it may well fail again: its quota is used up, or it is not allowed. */
  givenUpUntilMs: number;
  /** Rests without a success between. */
  times: number;
};

type KeyState = {
  readonly provider: string;
  readonly id: string;
  readonly number: number;
  /** For all models. */
  readonly rejected: Rest;
  readonly byModel: Map<string, Rest>;
  /** Of the key's digest. */
  readonly hash: number;
};

type KeyOwner = Pick<Provider, 'name' | 'keys'>;
type KeyName = Pick<ProviderKey, 'id' | 'number'>;

export class Keys {
  readonly #chance: Chance;
  readonly #onTransition: TransitionListener;
  /** The longest wait of a provider's that is obeyed, in milliseconds. */
  readonly #retryAfterCapMs: number;
  readonly #states = new Map<string, KeyState>();

  constructor(chance: Chance, retryAfterCapMs: number, onTransition: TransitionListener) {
    this.#chance = chance;
    this.#retryAfterCapMs = retryAfterCapMs;
    this.#onTransition = onTransition;
  }

  /** The conversation's best key that is usable and not among `tried`; undefined where there is none. */
  pick({ name, keys }: KeyOwner, model: string, conversation: () => number, tried: readonly ProviderKey[]): ProviderKey | undefined {
    const [only] = keys;
    if (keys.length === 1 && only !== undefined) return tried.includes(only) || this.#leftMs(name, only, model) > 0 ? undefined : only;
    let best: ProviderKey | undefined;
    let bestClaim = -1;
    for (const key of keys) {
      if (tried.includes(key) || this.#leftMs(name, key, model) > 0) continue;
      const keyClaim = claim(conversation(), this.#stateOf(name, key).hash);
      if (keyClaim <= bestClaim) continue;
      best = key;
      bestClaim = keyClaim;
    }
    return best;
  }

  /** The key that is used again first; undefined where the provider has none. */
  soonest({ name, keys }: KeyOwner, model: string): ProviderKey | undefined {
    let soonest: ProviderKey | undefined;
    for (const key of keys) {
      if (soonest === undefined || this.#leftMs(name, key, model) < this.#leftMs(name, soonest, model)) soonest = key;
    }
    return soonest;
  }

  /** Until one of the keys may be asked with, by what the provider says; 0 where one may, or none is needed. */
  waitMs({ name, keys }: KeyOwner, model: string): number {
    let soonestMs = keys.length === 0 ? 0 : Infinity;
    for (const key of keys) {
      const state = this.#states.get(nameOf(name, key));
      if (state === undefined) return 0;
      soonestMs = Math.min(soonestMs, endsAtMs(state, model));
    }
    return Math.max(0, soonestMs - this.#chance.now());
  }

  /** The same of the keys that may be expected to do then; Infinity where all were given up. */
  promisedWaitMs({ name, keys }: KeyOwner, model: string): number {
    const nowMs = this.#chance.now();
    let soonestMs = keys.length === 0 ? 0 : Infinity;
    for (const key of keys) {
      const state = this.#states.get(nameOf(name, key));
      if (state === undefined) return 0;
      const givenUpUntilMs = Math.max(state.rejected.givenUpUntilMs, state.byModel.get(model)?.givenUpUntilMs ?? 0);
      if (givenUpUntilMs <= nowMs) soonestMs = Math.min(soonestMs, endsAtMs(state, model));
    }
    return Math.max(0, soonestMs - nowMs);
  }

  succeeded(provider: string, key: KeyName, model: string): void {
    const state = this.#states.get(nameOf(provider, key));
    if (state === undefined) return;
    const rest = state.byModel.get(model);
    if (rest !== undefined && rest.untilMs <= this.#chance.now()) state.byModel.delete(model);
  }

  /** The provider limits this key's rate for this model, and asks for so long a wait, if it names one. */
  cool(provider: string, key: KeyName, model: string, retryAfterMs: number | undefined): void {
    const rest = this.#restOf(provider, key, model);
    const wasResting = rest.untilMs > this.#chance.now();
    // Calls that were in flight together are one event.
    if (!wasResting) rest.times += 1;
    const ownMs = (): number => spread(Math.min(COOL_MS_MAX, COOL_MS * 2 ** (rest.times - 1)), this.#chance);
    const forMs = retryAfterMs === undefined ? ownMs() : Math.min(retryAfterMs, this.#retryAfterCapMs);
    this.#rest(rest, forMs);
    rest.namedMs = Math.max(rest.namedMs, this.#chance.now() + (retryAfterMs ?? 0));
    if (!wasResting) this.#tell(provider, key, model, 'rate_limit', forMs);
  }

  /** The quota of this key for this model is used up. */
  exhausted(provider: string, key: KeyName, model: string): void {
    this.#giveUp(provider, key, model, 'quota');
  }

  /** This key may not be used for this model. */
  forbidden(provider: string, key: KeyName, model: string): void {
    this.#giveUp(provider, key, model, 'rejected');
  }

  /** The provider rejected this key. */
  rejected(provider: string, key: KeyName): void {
    this.#giveUp(provider, key, undefined, 'rejected');
  }

  /** Takes over what another process has seen. */
  apply({ provider, key, number, model, cause, forMs }: Extract<Transition, { of: 'key' }>): void {
    const rest = this.#restOf(provider, { id: key, number }, model);
    this.#rest(rest, forMs);
    if (cause !== 'rate_limit') rest.givenUpUntilMs = rest.untilMs;
  }

  /** Every key that was ever cooling, and whether it is for any model. */
  *all(): Iterable<{ readonly provider: string; readonly id: string; readonly number: number; readonly isCooling: boolean }> {
    const nowMs = this.#chance.now();
    for (const { provider, id, number, rejected, byModel } of this.#states.values()) {
      const isCooling = rejected.untilMs > nowMs || [...byModel.values()].some(({ untilMs }) => untilMs > nowMs);
      yield { provider, id, number, isCooling };
    }
  }

  #giveUp(provider: string, key: KeyName, model: string | undefined, cause: 'quota' | 'rejected'): void {
    const rest = this.#restOf(provider, key, model);
    // One that rests for its rate alone is worth a word.
    const wasGivenUp = rest.givenUpUntilMs > this.#chance.now();
    const forMs = spread(REJECTED_MS, this.#chance);
    this.#rest(rest, forMs);
    rest.givenUpUntilMs = rest.untilMs;
    if (!wasGivenUp) this.#tell(provider, key, model, cause, forMs);
  }

  /** Never ends a rest earlier than it was said to end. */
  #rest(rest: Rest, forMs: number): void {
    rest.untilMs = Math.max(rest.untilMs, this.#chance.now() + forMs);
  }

  #tell(provider: string, key: KeyName, model: string | undefined, cause: 'rate_limit' | 'quota' | 'rejected', forMs: number): void {
    this.#onTransition({ of: 'key', provider, key: key.id, number: key.number, model, to: 'cooling', cause, forMs });
  }

  #leftMs(provider: string, key: KeyName, model: string): number {
    const state = this.#states.get(nameOf(provider, key));
    if (state === undefined) return 0;
    return Math.max(0, Math.max(state.rejected.untilMs, state.byModel.get(model)?.untilMs ?? 0) - this.#chance.now());
  }

  /** Without a model: the rest for all of them. */
  #restOf(provider: string, key: KeyName, model: string | undefined): Rest {
    const { rejected, byModel } = this.#stateOf(provider, key);
    if (model === undefined) return rejected;
    let rest = byModel.get(model);
    if (rest === undefined) {
      rest = awake();
      keep(byModel, model, rest, MODELS_MAX);
    }
    return rest;
  }

  #stateOf(provider: string, key: KeyName): KeyState {
    const name = nameOf(provider, key);
    let state = this.#states.get(name);
    if (state === undefined) {
      state = { provider, id: key.id, number: key.number, rejected: awake(), byModel: new Map(), hash: hashText(key.id) };
      keep(this.#states, name, state, KEYS_MAX);
    }
    return state;
  }
}

function awake(): Rest {
  return { untilMs: 0, namedMs: 0, givenUpUntilMs: 0, times: 0 };
}

/** When a key may be asked with for this model, by what the provider says. */
function endsAtMs({ rejected, byModel }: KeyState, model: string): number {
  const rest = byModel.get(model);
  return Math.max(rejected.untilMs, rest?.untilMs ?? 0, rest?.namedMs ?? 0);
}

function nameOf(provider: string, { id }: KeyName): string {
  return `${provider}/${id}`;
}
