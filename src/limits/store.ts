/**
 * The seam between what callers may use and where that is kept: in this process, in the process above it, in an engine that
 * several machines share.
 */

import type { CallerLimits, LimitName } from '../core/route.ts';

/** What one request takes from its caller's limits: one request, a place, and what its tokens are estimated at. */
export type Charge = {
  /** The caller's label. */
  readonly caller: string;
  readonly limits: CallerLimits;
  /** Estimated. What turns out to be more or less is settled afterwards. */
  readonly tokens: number;
  /** Names the place that is taken until it is settled: unique among all processes. */
  readonly lease: string;
};

/** How much of one limit is left, and how long until it is whole again. */
export type Standing = { readonly remaining: number; readonly resetMs: number };

/** By limit, where the caller has it. `concurrent` has no standing: nobody can say when others end. */
export type Standings = Readonly<Partial<Record<Exclude<LimitName, 'concurrent'>, Standing>>>;

/** All of it was taken, or nothing. */
export type Decision =
  | { readonly refusedBy: undefined; readonly standings: Standings }
  | { readonly refusedBy: LimitName; readonly waitMs: number; readonly standings: Standings };

export interface LimitStore {
  /** Takes the charge, together or not at all. Never rejects; who cannot be reached in time is stood in for. */
  take(charge: Charge): Decision | Promise<Decision>;
  /**
   * Gives the place back and corrects the tokens by so many: positive = more were used than taken. Called once for each charge
   * that was taken.
   */
  settle(charge: Charge, tokensMore: number): void;
  close(): void;
}

/** One of this process, which asks nobody. */
export interface LocalStore extends LimitStore {
  take(charge: Charge): Decision;
}
