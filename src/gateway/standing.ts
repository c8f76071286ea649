/** What the operator sees of how targets and keys stand: one line a change, never one a request, and gauges. */

import type { Log } from '../base/log.ts';
import { targetName } from '../core/route.ts';
import type { Target } from '../core/route.ts';
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
  if (cause === 'not_found') log.error('the provider of a target does not have its model', fields);
  else log.warn('a target is out', fields);
}

function reportKey({ provider, number, model, cause, forMs }: Extract<Transition, { of: 'key' }>, metrics: Metrics, log: Log): void {
  metrics.keyCooldown(provider, number, cause);
  const fields = { provider, key: number, model, cause, for_ms: Math.round(forMs) };
  if (cause === 'rate_limit') log.warn('a key is cooling', fields);
  else log.error(cause === 'rejected' ? 'a key was rejected' : 'a key has no quota left', fields);
}

/** What a configuration has, of all that is remembered. */
export type Configured = {
  readonly hasTarget: (target: Pick<Target, 'provider' | 'model'>) => boolean;
  /** Whether the provider has a key with this `ProviderKey.id`. */
  readonly hasKey: (provider: string, id: string) => boolean;
};

/** Sets the gauges of targets and keys before each scrape. What a reload took away is neither out nor cooling. */
export function watchStanding(metrics: Metrics, { targets, keys }: RoutingState, configured: () => Configured): void {
  metrics.onScrape(() => {
    const { hasTarget, hasKey } = configured();
    for (const target of targets.all) metrics.setTargetOut(target.provider, target.model, target.isOut && hasTarget(target));
    const cooling = new Map<string, { readonly provider: string; readonly number: number; isCooling: boolean }>();
    for (const { provider, id, number, ...key } of keys.all()) {
      const isCooling = key.isCooling && hasKey(provider, id);
      // A key that was rotated had the number of its successor.
      const known = cooling.get(`${provider}/${number}`);
      if (known === undefined) cooling.set(`${provider}/${number}`, { provider, number, isCooling });
      else known.isCooling ||= isCooling;
    }
    for (const { provider, number, isCooling } of cooling.values()) metrics.setKeyCooling(provider, number, isCooling);
  });
}
