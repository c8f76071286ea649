/** One candidate in the course of one request: what was tried of it, and whether it may be asked at this moment. */

import type { AskedAs } from '../base/health.ts';
import type { ProviderKey, UpstreamCall } from '../core/adapter.ts';
import type { Failure } from '../core/failure.ts';
import type { TargetHealth } from '../routing/health.ts';
import type { Candidate } from './ask.ts';
import type { PassedOver } from './call-record.ts';

// hot: per request
export class Course<C extends Candidate> {
  readonly candidate: C;
  /** Undefined where nobody's health depends on it. */
  readonly health: TargetHealth | undefined;
  calls = 0;
  /** What it failed with last. */
  failure: Failure | undefined;
  /** What it is sent, or why it cannot be sent that; undefined before it is first asked for. */
  call: UpstreamCall | Failure | undefined;
  /** Not to be asked again in this request. */
  isSpent = false;
  /** Asked in this round with all keys there are for it. */
  isAsked = false;
  /** A call of it has yet to end. */
  isInFlight = false;
  /** With these keys, in this round. */
  keysTried: ProviderKey[] = [];
  /** When the provider wants to be asked again, where no key's rest says it. */
  readyAtMs = 0;
  /** The failure after which its next call was paid for. */
  paidFor: Failure | undefined;
  /** Why it was not asked when its turn came last, or did not serve though it has not failed. */
  passedOver: PassedOver['why'] | undefined;

  constructor(candidate: C, health: TargetHealth | undefined) {
    this.candidate = candidate;
    this.health = health;
  }

  startRound(): void {
    this.isAsked = false;
    this.keysTried = [];
  }
}

/** Who is asked next, and everything that was taken for it. */
export type Choice<C extends Candidate> = {
  readonly course: Course<C>;
  readonly call: UpstreamCall;
  readonly key: ProviderKey | undefined;
  readonly askedAs: AskedAs;
  /** Whether it keeps others from probing its target. */
  isProbing: boolean;
  /** Whether its provider has written anything, if no event of an answer: a call may be long in the writing. */
  isHeard: boolean;
  /** The places it holds, by name. */
  readonly places: readonly string[];
  /** The failure that it was paid for after; undefined where it was free. */
  readonly paidFor: Failure | undefined;
};
