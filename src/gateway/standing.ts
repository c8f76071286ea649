/** What the operator sees of how targets and keys stand: one line a change, never one a request, and gauges. */

import type { Log } from '../base/log.ts';
import { targetName } from '../core/route.ts';
import type { Metrics } from '../metrics.ts';
import type { RoutingState } from '../routing/state.ts';
import type { Transition, TransitionListener } from '../routing/transition.ts';

/** Tells each change of this process's own finding to metrics and log. */
export function reportTransitions(metrics: Metrics, log: Log): TransitionListener {
  return (transition) => {
    if (transition.of === 'key') reportKey(transition, metrics, log);
    else reportTarget(transition, metrics, log);
  };
}

function reportTarget(transition: Extract<Transition, { of: 'target' }>, metrics: Metrics, log: Log): void {
  const { provider, model } = transition;
  const target = targetName(transition);
  if (transition.to === 'in') {
    log.warn('a target is in again', { target });
    return;
  }
  const { cause, forMs } = transition;
  metrics.ejection(provider, model, cause);
  const fields = { target, cause, for_ms: Math.round(forMs) };
  if (cause === 'not_found') log.error('a target of a route has no such model', fields);
  else log.warn('a target is out', fields);
}

function reportKey({ provider, number, model, cause, forMs }: Extract<Transition, { of: 'key' }>, metrics: Metrics, log: Log): void {
  metrics.keyCooldown(provider, number, cause);
  const fields = { provider, key: number, model, cause, for_ms: Math.round(forMs) };
  if (cause === 'rate_limit') log.warn('a key is cooling', fields);
  else log.error(cause === 'rejected' ? 'a key was rejected' : 'a key has no quota left', fields);
}

/** Sets the gauges of targets and keys before each scrape. */
export function watchStanding(metrics: Metrics, { targets, keys }: RoutingState): void {
  metrics.onScrape(() => {
    for (const { provider, model, isOut } of targets.all) metrics.setTargetOut(provider, model, isOut);
    const cooling = new Map<string, { readonly provider: string; readonly number: number; isCooling: boolean }>();
    for (const { provider, number, isCooling } of keys.all()) {
      // A key that was rotated had the number of its successor.
      const known = cooling.get(`${provider}/${number}`);
      if (known === undefined) cooling.set(`${provider}/${number}`, { provider, number, isCooling });
      else known.isCooling ||= isCooling;
    }
    for (const { provider, number, isCooling } of cooling.values()) metrics.setKeyCooling(provider, number, isCooling);
  });
}
