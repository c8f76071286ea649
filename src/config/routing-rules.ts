/**
 * What holds of routes and callers' rules wherever they are written, and only together with the rest of the configuration.
 *
 * Sentences name the place as it is written there, which is handed in; none contains a secret.
 */

import { renderDuration } from '../base/duration.ts';
import { ALLOW_ALL } from '../core/allow.ts';
import { ANY_CALLER, FIRST_EVENT_TIMEOUT_MS, targetName } from '../core/route.ts';
import type { Route, Routing } from '../core/route.ts';
import { quoted } from './masking.ts';
import type { SettingType } from './setting-types.ts';

export const TARGETS_MAX = 8;

/** No slash, so that it is never taken for `provider/model`. */
export const ROUTE_NAME: SettingType<string> = {
  name: 'name',
  expects: 'a name of up to 64 letters, digits, ".", "_" or "-" that begins with a letter or digit',
  parse: (text) => (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text) ? text : undefined),
  shown: 'always',
};

/** A target is named in headers and log lines. */
export const TARGET_MODEL: SettingType<string> = {
  name: 'model',
  expects: 'a model of 1 to 256 printable ASCII characters without a space',
  parse: (text) => (/^[\x21-\x7e]{1,256}$/.test(text) ? text : undefined),
  shown: 'always',
};

/** More would say nothing: a second's places, and what a year's tokens come to. */
export const CONCURRENT_MAX = 1_000_000;
export const LIMIT_MAX = 1_000_000_000_000;

/** What routes and rules are held against. */
export type Surroundings = {
  /** Sorted. Also those that are configured wrongly, which is said elsewhere. */
  readonly providers: readonly string[];
  /** Every caller there is; undefined where a program names its callers as it likes. */
  readonly labels: readonly string[] | undefined;
  readonly retriesMax: number;
  readonly attemptTimeoutMs: number;
  /** What the settings of these two are called. */
  readonly retriesName: string;
  readonly attemptTimeoutName: string;
};

/** The keys that lead to a place: `['routes', 'smart', 'targets', 0]`. */
export type Keys = readonly (string | number)[];

/** Where complaints go. */
export interface Complaints {
  problemAt(keys: Keys, complaint: string): void;
  warningAt(keys: Keys, complaint: string): void;
  /** `; did you mean x?`, or nothing. */
  hint(word: string, known: readonly string[]): string;
  /** Whether further problems are left out. */
  readonly isFull: boolean;
}

/** Notes everything that is wrong with routes and callers' rules. What was wrong by itself is empty here, and passed over. */
export function checkRouting({ routes, callers }: Pick<Routing, 'routes' | 'callers'>, around: Surroundings, complaints: Complaints): void {
  for (const route of routes.values()) {
    if (complaints.isFull) return;
    checkTargets(route, around, complaints);
    checkTimes(route, around, complaints);
  }
  const names = [...routes.keys()];
  for (const [label, { allow }] of callers) {
    if (around.labels !== undefined && label !== ANY_CALLER && !around.labels.includes(label)) {
      const known = around.labels;
      complaints.problemAt(['callers', label], `no caller has this label (${known.join(', ')})${complaints.hint(label, known)}`);
    }
    for (const [index, entry] of (allow ?? []).entries()) {
      if (complaints.isFull) return;
      checkAllow(['callers', label, 'allow', index], entry, names, around, complaints);
    }
  }
}

function checkTargets({ name, targets }: Route, { providers, retriesMax, retriesName }: Surroundings, complaints: Complaints): void {
  const places = new Map<string, number>();
  for (const [index, target] of targets.entries()) {
    const keys = ['routes', name, 'targets', index];
    if (target.provider === '') continue;
    if (!providers.includes(target.provider)) complaints.problemAt([...keys, 'provider'], notConfigured(target.provider, providers, complaints));
    if (target.model === '') continue;
    const first = places.get(targetName(target));
    if (first === undefined) places.set(targetName(target), index);
    else complaints.problemAt(keys, `is the same as the target ${first + 1}`);
  }
  if (targets.length > retriesMax + 1) {
    const attempts = retriesMax === 0 ? '1 attempt' : `${retriesMax + 1} attempts`;
    complaints.warningAt(['routes', name, 'targets'], `${targets.length} targets, but ${retriesName} allows ${attempts}; raise it or drop some`);
  }
}

function notConfigured(name: string, providers: readonly string[], complaints: Complaints): string {
  return `expected a configured provider (${providers.join(', ')}), got ${quoted(name)}${complaints.hint(name, providers)}`;
}

function checkTimes({ name, targets, isSpread, hedgeAfterMs }: Route, { attemptTimeoutMs, attemptTimeoutName }: Surroundings, complaints: Complaints): void {
  for (const [index, { firstEventTimeoutMs, attemptTimeoutMs: ownMs }] of targets.entries()) {
    for (const [field, ms] of [['first_event_timeout', firstEventTimeoutMs], ['attempt_timeout', ownMs]] as const) {
      if (ms === undefined || ms <= attemptTimeoutMs) continue;
      const limit = `${attemptTimeoutName}, which is ${renderDuration(attemptTimeoutMs)}`;
      complaints.warningAt(['routes', name, 'targets', index, field], `${renderDuration(ms)} is more than ${limit}`);
    }
  }
  if (hedgeAfterMs === undefined) return;
  const keys = ['routes', name, 'hedge_after'];
  if (targets.length === 1) {
    complaints.problemAt(keys, 'has no effect, because there is one target');
    return;
  }
  // Of a route that is spread each may be the first.
  const limits = (isSpread ? targets : targets.slice(0, 1)).map(({ firstEventTimeoutMs }) => firstEventTimeoutMs ?? FIRST_EVENT_TIMEOUT_MS);
  const limitMs = Math.min(...limits, attemptTimeoutMs);
  if (hedgeAfterMs < limitMs) return;
  const whose = isSpread ? "every target's first_event_timeout, of which the least" : "the first target's first_event_timeout, which";
  complaints.problemAt(keys, `expected less than ${whose} is ${renderDuration(limitMs)}, got ${renderDuration(hedgeAfterMs)}`);
}

function checkAllow(keys: Keys, entry: string, routes: readonly string[], { providers }: Surroundings, complaints: Complaints): void {
  if (entry === ALLOW_ALL) return;
  const slash = entry.indexOf('/');
  const isBeginning = entry.endsWith('*');
  const begins = isBeginning ? entry.slice(0, -1) : entry;
  if (begins.includes('*')) {
    complaints.problemAt(keys, `${quoted(entry)}: a * may only be the last character`);
  } else if (slash > 0 && slash < entry.length - 1) {
    const provider = entry.slice(0, slash);
    if (!providers.includes(provider)) complaints.problemAt(keys, notConfigured(provider, providers, complaints));
  } else {
    if (routes.some((name) => (isBeginning ? name.startsWith(begins) : name === entry))) return;
    complaints.problemAt(keys, `${quoted(entry)} is neither a route nor provider/model${complaints.hint(begins, routes)}`);
  }
}
