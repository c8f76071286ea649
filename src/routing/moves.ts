/** What a request does after each outcome of an attempt, and what the outcome says of who was asked: a table. */

import type { Failure, FailureKind } from '../core/failure.ts';

export type Move = {
  /** Another key of the same target may serve. */
  readonly nextKey: boolean;
  /** Another target may serve. */
  readonly nextTarget: boolean;
  /** What it says of the target. `gone`: it has no such model, and will not have it in a minute either. */
  readonly health: 'success' | 'failure' | 'gone' | 'neutral';
  /** What it says of the key: it cools for this model, is used up or not allowed for this model, or is rejected for all. */
  readonly key: 'good' | 'rate_limit' | 'quota' | 'forbidden' | 'rejected' | undefined;
};

/** The outcomes that differ in what follows. */
export type OutcomeName = 'success' | 'server' | 'unmet' | 'unknown' | 'rate_limit' | 'quota' | 'auth' | 'forbidden' | 'not_found' | 'reference' | 'too_long' | 'unsupported' | 'final' | 'overtaken' | 'ended';

const NEUTRAL = { health: 'neutral', key: undefined } as const;

export const MOVES: Readonly<Record<OutcomeName, Move>> = {
  success: { nextKey: false, nextTarget: false, health: 'success', key: 'good' },
  /** 5xx, an error inside a 200, what makes no sense, a stream cut before its first event. Other keys meet the same. */
  server: { nextKey: false, nextTarget: true, health: 'failure', key: undefined },
  /** The model did not manage what this request asks of it: others may ask for less. */
  unmet: { nextKey: false, nextTarget: true, ...NEUTRAL },
  /** Refused, reset, no such host, a time limit. */
  unknown: { nextKey: false, nextTarget: true, health: 'failure', key: undefined },
  rate_limit: { nextKey: true, nextTarget: true, health: 'neutral', key: 'rate_limit' },
  quota: { nextKey: true, nextTarget: true, health: 'neutral', key: 'quota' },
  auth: { nextKey: true, nextTarget: true, health: 'neutral', key: 'rejected' },
  /**
   * 403, or 402: the key is good, and may not do this, or is not paid for it. A caller can bring that about, by a model or file that is
   * not the account's, or by more output than is left of its balance.
   */
  forbidden: { nextKey: true, nextTarget: true, health: 'neutral', key: 'forbidden' },
  not_found: { nextKey: false, nextTarget: true, health: 'gone', key: undefined },
  /** A stored item, file or prompt that the request names: its caller's doing, and another may do without. */
  reference: { nextKey: false, nextTarget: true, ...NEUTRAL },
  /** The request is more than this model takes, or than the account's whole rate. */
  too_long: { nextKey: false, nextTarget: true, ...NEUTRAL },
  unsupported: { nextKey: false, nextTarget: true, ...NEUTRAL },
  /** What is wrong with the request, or with the gateway itself, stays wrong; a refusal is not shopped around. */
  final: { nextKey: false, nextTarget: false, ...NEUTRAL },
  /** It was silent for so long that another was asked beside it, and that one answered earlier. A target that hangs has to go out. */
  overtaken: { nextKey: false, nextTarget: false, health: 'failure', key: undefined },
  /** The caller hung up, the time is over, the gateway shuts down, or the target that was asked first has answered after all. */
  ended: { nextKey: false, nextTarget: false, ...NEUTRAL },
};

const NAME_BY_KIND: Readonly<Record<FailureKind, OutcomeName>> = {
  server: 'server',
  unknown: 'unknown',
  rate_limit: 'rate_limit',
  auth: 'auth',
  not_found: 'not_found',
  unsupported: 'unsupported',
  bad_request: 'final',
  refusal: 'final',
};

/** The outcome that a failure is, of an exchange that goes on. */
export function outcomeOf(failure: Failure): OutcomeName {
  if (failure.isTooLong) return 'too_long';
  if (failure.isQuota) return 'quota';
  if (failure.isReference) return 'reference';
  if (failure.isUnmet) return 'unmet';
  if (failure.isOwn) return 'final';
  // The way to the provider failed, which no key of the provider's mends.
  if (failure.isAtProxy) return 'unknown';
  // A certificate that is not accepted, a request that HTTP cannot carry.
  if (failure.kind === 'unknown' && !failure.isRetried) return 'final';
  if (failure.kind === 'auth' && (failure.upstreamStatus === 403 || failure.upstreamStatus === 402)) return 'forbidden';
  return NAME_BY_KIND[failure.kind];
}
