/** One request to the attempt loop: who may serve it, what each of them is sent, and what became of it. */

import type { Provider, UpstreamCall } from '../core/adapter.ts';
import type { DialectRelay } from '../core/dialect.ts';
import type { Failure } from '../core/failure.ts';
import type { Route, Target } from '../core/route.ts';

/** Somebody who may serve a request. */
export type Candidate = {
  readonly provider: Provider;
  /** As the provider knows it. */
  readonly model: string;
  /** What the operator says of it; undefined where no route was used. */
  readonly target: Target | undefined;
  /** Where it is sent the caller's own request, and the caller its own answer. */
  readonly relay: Pick<DialectRelay, 'bringsAnswer'> | undefined;
  /** What it is sent; encoded when first asked for, the same from then on. Failures: unsupported, bad_request. */
  readonly call: () => UpstreamCall | Failure;
};

export type Ask<C extends Candidate = Candidate> = {
  /** Undefined where the request names its provider, or leaves it to the default. */
  readonly route: Route | undefined;
  /** In the operator's order of preference. */
  readonly candidates: readonly [C, ...C[]];
  /** What the conversation begins with, as a number: each of its requests has the same. Costs some microseconds. */
  readonly conversation: () => number;
  /** The provider whose state an open tool loop carries; undefined where no loop is open, or none has a state. */
  readonly loopProvider: string | undefined;
};

/** What became of an ask: who served it, or was asked last, and what came of that. */
export type Outcome<C extends Candidate, T> = { readonly candidate: C; readonly result: T | Failure };

/** The ask of one provider, which is sent this call. */
export function askOne(provider: Provider, model: string, call: UpstreamCall): Ask {
  return { route: undefined, candidates: [{ provider, model, target: undefined, relay: undefined, call: () => call }], conversation: () => 0, loopProvider: undefined };
}
