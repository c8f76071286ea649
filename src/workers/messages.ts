/**
 * What the primary and its workers say to each other, and the check of it.
 *
 * Each trusts the other, which runs the same program: but that may have been replaced on disk since, so what makes no sense
 * is dropped rather than believed.
 */

import type { Snapshot } from '../base/prometheus.ts';
import type { CallerLimits, LimitName } from '../core/route.ts';
import { LIMIT_NAMES } from '../core/route.ts';
import type { Charge, Decision, Standing, Standings } from '../limits/store.ts';
import type { Transition } from '../routing/transition.ts';

/** The texts of the files that a configuration was read from, by path. */
export type Files = Readonly<Record<string, string>>;

/** What a reload changed, by name; never a value. */
export type Changes = { readonly swapped: readonly string[]; readonly needsRestart: readonly string[] };

/** From the primary. With `connection` comes a socket. */
export type ToWorker =
  | { readonly type: 'start'; readonly number: number; readonly files: Files; readonly ticketKeys: string }
  | { readonly type: 'connection' }
  /** No connection comes after this. */
  | { readonly type: 'closed' }
  | { readonly type: 'reload'; readonly id: number; readonly files: Files }
  | { readonly type: 'drain' }
  | { readonly type: 'stop' }
  | { readonly type: 'snapshot'; readonly id: number }
  | { readonly type: 'page'; readonly id: number; readonly text: string }
  | { readonly type: 'decision'; readonly id: number; readonly decision: Decision }
  | { readonly type: 'transition'; readonly transition: Transition };

/** From a worker. */
export type ToPrimary =
  /** It can be given connections. */
  | { readonly type: 'ready' }
  /** It has the connection that it was given. */
  | { readonly type: 'taken' }
  /** It ends, and is to be given no more connections. */
  | { readonly type: 'leaving' }
  /** The last message: whether everything finished by itself, and what it counted. */
  | { readonly type: 'left'; readonly isClean: boolean; readonly snapshot: Snapshot }
  | { readonly type: 'reloaded'; readonly id: number; readonly changes: Changes }
  | { readonly type: 'snapshot'; readonly id: number; readonly snapshot: Snapshot }
  | { readonly type: 'page'; readonly id: number }
  | { readonly type: 'take'; readonly id: number; readonly charge: Charge }
  | { readonly type: 'settle'; readonly charge: Charge; readonly tokensMore: number }
  | { readonly type: 'transition'; readonly transition: Transition };

/** Undefined where it is none. */
export function decodeToWorker(value: unknown): ToWorker | undefined {
  const { type, id, number, files, ticketKeys, text, ...others } = recordOf(value);
  switch (type) {
    case 'connection':
    case 'closed':
    case 'drain':
    case 'stop':
      return { type };
    case 'start':
      return isCount(number) && isTexts(files) && typeof ticketKeys === 'string' ? { type, number, files, ticketKeys } : undefined;
    case 'reload':
      return isCount(id) && isTexts(files) ? { type, id, files } : undefined;
    case 'snapshot':
      return isCount(id) ? { type, id } : undefined;
    case 'page':
      return isCount(id) && typeof text === 'string' ? { type, id, text } : undefined;
    case 'decision': {
      const decision = decodeDecision(others['decision']);
      return isCount(id) && decision !== undefined ? { type, id, decision } : undefined;
    }
    case 'transition':
      return decodeTransition(others['transition']);
    default:
      return undefined;
  }
}

/** Undefined where it is none. */
export function decodeToPrimary(value: unknown): ToPrimary | undefined {
  const { type, id, isClean, snapshot, tokensMore, ...others } = recordOf(value);
  switch (type) {
    case 'ready':
    case 'taken':
    case 'leaving':
      return { type };
    case 'left':
      return typeof isClean === 'boolean' && isSnapshot(snapshot) ? { type, isClean, snapshot } : undefined;
    case 'reloaded': {
      const { swapped, needsRestart } = recordOf(others['changes']);
      return isCount(id) && isStrings(swapped) && isStrings(needsRestart) ? { type, id, changes: { swapped, needsRestart } } : undefined;
    }
    case 'snapshot':
      return isCount(id) && isSnapshot(snapshot) ? { type, id, snapshot } : undefined;
    case 'page':
      return isCount(id) ? { type, id } : undefined;
    case 'take': {
      const charge = decodeCharge(others['charge']);
      return isCount(id) && charge !== undefined ? { type, id, charge } : undefined;
    }
    case 'settle': {
      const charge = decodeCharge(others['charge']);
      return charge !== undefined && isNumber(tokensMore) ? { type, charge, tokensMore } : undefined;
    }
    case 'transition':
      return decodeTransition(others['transition']);
    default:
      return undefined;
  }
}

const OUT_CAUSES = ['failures', 'probe', 'not_found'] as const;
const COOLING_CAUSES = ['rate_limit', 'quota', 'rejected'] as const;

function decodeTransition(value: unknown): { type: 'transition'; transition: Transition } | undefined {
  const { of, provider, model, to, cause, forMs, key, number } = recordOf(value);
  if (typeof provider !== 'string') return undefined;
  const transition = (known: Transition): { type: 'transition'; transition: Transition } => ({ type: 'transition', transition: known });
  if (of === 'target' && typeof model === 'string' && to === 'in') return transition({ of, provider, model, to });
  if (!isNumber(forMs) || forMs < 0) return undefined;
  const out = OUT_CAUSES.find((known) => known === cause);
  if (of === 'target' && typeof model === 'string' && to === 'out' && out !== undefined) return transition({ of, provider, model, to, cause: out, forMs });
  const cooling = COOLING_CAUSES.find((known) => known === cause);
  const isKey = of === 'key' && to === 'cooling' && typeof key === 'string' && isCount(number) && (model === undefined || typeof model === 'string');
  return isKey && cooling !== undefined ? transition({ of, provider, key, number, model, to, cause: cooling, forMs }) : undefined;
}

function isSnapshot(value: unknown): value is Snapshot {
  return Array.isArray(value) && value.every((family) => {
    const { name, series } = recordOf(family);
    return typeof name === 'string' && Array.isArray(series) && series.every((each) => {
      const { labels, values } = recordOf(each);
      return isStrings(labels) && Array.isArray(values) && values.every(isNumber);
    });
  });
}

function decodeCharge(value: unknown): Charge | undefined {
  const { caller, limits, tokens, lease } = recordOf(value);
  const isWhole = typeof caller === 'string' && typeof lease === 'string' && isNumber(tokens) && tokens >= 0 && typeof limits === 'object' && limits !== null;
  return isWhole ? { caller, limits: limitsFrom(limits), tokens, lease } : undefined;
}

/** What is absent, as JSON has it, is no limit. */
function limitsFrom(value: object): CallerLimits {
  const limits = recordOf(value);
  const limit = (name: keyof CallerLimits): number | undefined => {
    const max = limits[name];
    return isNumber(max) && max > 0 ? max : undefined;
  };
  return {
    requestsPerMinute: limit('requestsPerMinute'),
    tokensPerMinute: limit('tokensPerMinute'),
    tokensPerDay: limit('tokensPerDay'),
    concurrent: limit('concurrent'),
  };
}

function decodeDecision(value: unknown): Decision | undefined {
  const { refusedBy, waitMs, standings: given } = recordOf(value);
  const standings = decodeStandings(given);
  if (standings === undefined) return undefined;
  if (refusedBy === undefined) return { refusedBy, standings };
  const limit = LIMIT_NAMES.find((name) => name === refusedBy);
  return limit !== undefined && isNumber(waitMs) && waitMs >= 0 ? { refusedBy: limit, waitMs, standings } : undefined;
}

function decodeStandings(value: unknown): Standings | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const given = recordOf(value);
  const standings: Partial<Record<Exclude<LimitName, 'concurrent'>, Standing>> = {};
  for (const name of LIMIT_NAMES) {
    if (name === 'concurrent' || given[name] === undefined) continue;
    const { remaining, resetMs } = recordOf(given[name]);
    if (!isNumber(remaining) || !isNumber(resetMs)) return undefined;
    standings[name] = { remaining, resetMs };
  }
  return standings;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isTexts(value: unknown): value is Files {
  return typeof value === 'object' && value !== null && Object.values(value).every((text) => typeof text === 'string');
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
