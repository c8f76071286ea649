/** What an attempt's outcome says of everybody who had a part in it, and what may follow. */

import type { Provider, ProviderKey } from '../core/adapter.ts';
import type { Failure } from '../core/failure.ts';
import type { Scope } from '../core/scope.ts';
import { MOVES, outcomeOf } from '../routing/moves.ts';
import type { Move } from '../routing/moves.ts';
import type { RoutingState } from '../routing/state.ts';
import type { Candidate } from './ask.ts';
import type { AttemptParts } from './attempt-parts.ts';
import type { CallRecord } from './call-record.ts';
import type { Choice } from './course.ts';
import { HEDGED, managesKeys } from './lineup.ts';

/** Tells metrics, health, keys and budget what came of a call, and the course what may follow. */
export function reportOutcome(choice: Choice<Candidate>, failure: Failure | undefined, { ended }: Scope, record: CallRecord, parts: AttemptParts): void {
  const { course, key, askedAs, paidFor } = choice;
  const { provider, model, target } = course.candidate;
  const { metrics, clock, routing, budgets } = parts;
  const managed = managesKeys(course.candidate);
  const isOvertaken = ended === 'outpaced' && paidFor !== HEDGED && !choice.isHeard;
  const move = MOVES[failure === undefined ? 'success' : isOvertaken ? 'overtaken' : ended !== undefined ? 'ended' : outcomeOf(failure)];
  // A caller who hangs up says nothing about the provider.
  metrics.attempt(provider.name, failure, ended);
  if (managed) {
    const outcome = failure === undefined ? 'success' : ended !== undefined ? 'ended' : failure.kind;
    record.tried = [...record.tried, { provider: provider.name, model, outcome }];
  }
  if (askedAs === 'probe') metrics.probe(provider.name, model, move.health === 'success' ? 'success' : move.health === 'neutral' ? 'neutral' : 'failure');
  if (move.health === 'success') course.health?.succeeded(askedAs);
  else if (move.health === 'failure') course.health?.failed(askedAs);
  else if (move.health === 'gone' && target !== undefined) course.health?.gone();
  if (managed && key !== undefined) reportKey(routing, provider, key, model, move.key, failure?.retryAfterMs);
  if (failure === undefined) {
    budgets.of(provider.name).succeeded(paidFor);
    return;
  }
  if (ended !== undefined) return;
  course.failure = failure;
  if (failure.limit !== undefined) metrics.limit(failure.limit);
  const hasOtherKeys = move.nextKey && key !== undefined && provider.keys.length > 1;
  if (hasOtherKeys) course.keysTried.push(key);
  else course.isAsked = true;
  course.isSpent = !failure.isRetried && !hasOtherKeys;
  const { retryAfterMs = 0 } = failure;
  const isKeysWait = managed && key !== undefined && move.key === 'rate_limit';
  course.readyAtMs = retryAfterMs > 0 && !isKeysWait ? clock.now() + retryAfterMs : 0;
}

function reportKey({ keys }: RoutingState, provider: Provider, key: ProviderKey, model: string, is: Move['key'], retryAfterMs: number | undefined): void {
  if (is === 'good') keys.succeeded(provider.name, key, model);
  else if (is === 'rate_limit') keys.cool(provider.name, key, model, retryAfterMs);
  else if (is === 'quota') keys.exhausted(provider.name, key, model);
  else if (is === 'forbidden') keys.forbidden(provider.name, key, model);
  else if (is === 'rejected') keys.rejected(provider.name, key);
}

/** Whether anybody else may serve after this, or the same at another time. */
export function mayMove(failure: Failure): boolean {
  const { nextKey, nextTarget } = MOVES[outcomeOf(failure)];
  return nextKey || nextTarget || failure.isRetried;
}
