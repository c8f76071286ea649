/**
 * In which order the targets of a request are asked: pure.
 *
 * Knows nothing of how they do. Who is out or full is passed over when its turn comes; the order stays.
 */

import { claim, hashText } from '../base/rendezvous.ts';
import type { Provider } from '../core/adapter.ts';
import { targetName } from '../core/route.ts';
import type { Route, Target } from '../core/route.ts';

/** What is looked at of somebody who may serve. */
export type Planned = { readonly provider: Pick<Provider, 'name'>; readonly model: string; readonly target: Target | undefined };

export type Plan<C> = {
  readonly order: readonly C[];
  /** Whether an open tool loop moved its provider to the front. */
  readonly isSticky: boolean;
};

/**
 * The provider whose state an open tool loop carries comes first: it alone can use that. Then the order of the conversation
 * where the route is spread by weight, else the operator's.
 */
export function plan<C extends Planned>(
  candidates: readonly C[],
  route: Pick<Route, 'isSpread'> | undefined,
  conversation: () => number,
  loopProvider: string | undefined,
): Plan<C> {
  if (candidates.length < 2) return { order: candidates, isSticky: false };
  const order = route?.isSpread === true ? spread(candidates, conversation()) : candidates;
  if (loopProvider === undefined || order[0]?.provider.name === loopProvider) return { order, isSticky: false };
  const isLoops = ({ provider }: C): boolean => provider.name === loopProvider;
  const first = order.filter(isLoops);
  if (first.length === 0) return { order, isSticky: false };
  return { order: [...first, ...order.filter((candidate) => !isLoops(candidate))], isSticky: true };
}

/** Each target is first for its share of the conversations, and one conversation has one order. */
function spread<C extends Planned>(candidates: readonly C[], conversation: number): readonly C[] {
  const claims = new Map<C, number>();
  for (const candidate of candidates) {
    const name = hashText(targetName({ provider: candidate.provider.name, model: candidate.model }));
    claims.set(candidate, claim(conversation, name, candidate.target?.weight));
  }
  return [...candidates].sort((a, b) => (claims.get(b) ?? 0) - (claims.get(a) ?? 0));
}
