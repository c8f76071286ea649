/**
 * What callers may use, wherever that is kept.
 *
 * Before a request's body is read nobody is asked: what the store said last, and what was settled since, says whether its
 * caller is over. For a store of this process that is exact. For one that others share it is as old as the caller's last
 * request here, and can be wrong by what others settled since: so it is believed for a second. The store itself decides about every
 * request that gets so far.
 */

import { randomUUID } from 'node:crypto';
import { TOKENS_MAX } from '../core/chat.ts';
import type { CallerLimits, LimitName } from '../core/route.ts';
import { accountOf } from './account.ts';
import type { Account } from './account.ts';
import type { Charge, Decision, LimitStore } from './store.ts';

export type Refused = Extract<Decision, { readonly waitMs: number }>;

/** A decision, and what it is about: to be settled where nothing refused it. */
export type Taken = { readonly charge: Charge; readonly decision: Decision };

/** What is given back elsewhere nobody tells: a caller in debt would be kept out for hours by one who has long paid it. */
const BELIEVED_MS = 1000;

export class Limits {
  readonly #store: LimitStore;
  readonly #now: () => number;
  /** By label; as many as configurations name. */
  readonly #known = new Map<string, Account>();
  /** When a store that others share last said so; undefined where it was one of this process. */
  readonly #heardAtMs = new Map<string, number>();
  /** Of leases, which are unique among all processes. */
  readonly #process = randomUUID();
  #leases = 0;
  #isClosed = false;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(store: LimitStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * Why a request of this caller would be refused however little it asks; undefined = it would not, as far as is known here.
   * Takes nothing. The wait is as long as one of `tokensMax` has to wait, which nobody has read yet.
   */
  // hot: per request
  peek(caller: string, limits: CallerLimits, tokensMax: number): Refused | undefined {
    const account = this.#known.get(caller);
    if (account === undefined) return undefined;
    const nowMs = this.#now();
    const least = account.refusalOf(limits, 1, nowMs);
    if (least === undefined) return undefined;
    // How many of its requests are in flight here, nobody knows better.
    if (least.refusedBy !== 'concurrent' && nowMs - (this.#heardAtMs.get(caller) ?? nowMs) > BELIEVED_MS) return undefined;
    const refusal = account.refusalOf(limits, Math.max(1, tokensMax), nowMs);
    return refusal && { ...refusal, standings: account.standings(limits, nowMs) };
  }

  /** Takes one request with so many tokens, in whole numbers, and a place: together or not at all. */
  // hot: per request
  take(caller: string, limits: CallerLimits, tokens: number): Taken | Promise<Taken> {
    this.#leases += 1;
    const charge: Charge = { caller, limits, tokens, lease: `${this.#process}-${this.#leases}` };
    const decision = this.#store.take(charge);
    return decision instanceof Promise ? decision.then((decided) => this.#heard(charge, decided)) : this.#noted(charge, decision);
  }

  #heard(charge: Charge, decision: Decision): Taken {
    this.#heardAtMs.set(charge.caller, this.#now());
    return this.#noted(charge, decision);
  }

  #noted(charge: Charge, decision: Decision): Taken {
    const nowMs = this.#now();
    const account = accountOf(this.#known, charge.caller);
    if (decision.refusedBy === undefined) account.enter(charge.limits, decision.standings, nowMs);
    else account.learn(charge.limits, decision.standings, nowMs);
    return { charge, decision };
  }

  /** Gives the place back, and corrects the tokens to what was used. Once for each charge that was taken. */
  // hot: per request
  settle(charge: Charge, tokensUsed: number): void {
    // More would keep the caller out for longer than anybody meant.
    const tokensMore = Math.min(Math.max(0, tokensUsed), TOKENS_MAX) - charge.tokens;
    accountOf(this.#known, charge.caller).settle(charge.limits, tokensMore, this.#now());
    this.#store.settle(charge, tokensMore);
  }

  /** How much of each of its limits a caller uses, as far as is known here: 1 = all of it, more = a debt. */
  used(limitsOf: (caller: string) => CallerLimits | undefined): readonly (readonly [caller: string, limit: LimitName, used: number])[] {
    const nowMs = this.#now();
    return [...this.#known].flatMap(([caller, account]) => {
      const limits = limitsOf(caller);
      return limits === undefined ? [] : account.used(limits, nowMs).map(([limit, used]) => [caller, limit, used] as const);
    });
  }

  /** Once is enough. */
  close(): void {
    if (!this.#isClosed) this.#store.close();
    this.#isClosed = true;
  }
}
