/** Routes and callers' limits as two settings say them, for the cases that need no file. */

import { hintOf, nearest } from '../base/nearest.ts';
import { CALLER_LABEL, isCallerLabel } from '../core/caller.ts';
import { ANY_CALLER, PLAIN_TARGET } from '../core/route.ts';
import type { CallerLimits, CallerRules, Route, Target } from '../core/route.ts';
import { quoted } from './masking.ts';
import { CONCURRENT_MAX, LIMIT_MAX, ROUTE_NAME, TARGET_MODEL, TARGETS_MAX } from './routing-rules.ts';
import type { Complaints } from './routing-rules.ts';
import { count, entriesOf } from './setting-types.ts';
import type { Source } from './source.ts';

const ROUTE = 'name=provider/model,provider/model';
export const ROUTES = entriesOf(`${ROUTE}, more of them separated by semicolons`);

const LIMITS = 'label:rpm=60,tpm=100000,tpd=5000000,concurrent=8';
export const CALLER_LIMITS = entriesOf(`${LIMITS}, more of them separated by semicolons`);

/** The short names that limits have here. */
const LIMIT_NAMES = { rpm: 'requestsPerMinute', tpm: 'tokensPerMinute', tpd: 'tokensPerDay', concurrent: 'concurrent' } as const satisfies Readonly<Record<string, keyof CallerLimits>>;
type ShortName = keyof typeof LIMIT_NAMES;
const SHORT_NAMES = Object.keys(LIMIT_NAMES) as ShortName[];

/** `place` is what the setting is called. Entries that make no sense are left out, and among the problems by number. */
export function parseRoutes(source: Source, place: string, entries: readonly string[]): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const [index, entry] of entries.entries()) {
    const at = `${place}, entry ${index + 1}`;
    const [, name = '', list = ''] = /^([^=\s]+)\s*=\s*(.+)$/s.exec(entry) ?? [];
    const targets = list.split(',').map((text) => parseTarget(text.trim()));
    if (ROUTE_NAME.parse(name) === undefined || !targets.every((target) => target !== undefined)) {
      source.problems.push(`${at}: expected ${ROUTE}, the first of them ${ROUTE_NAME.expects}, got ${quoted(entry)}`);
    } else if (routes.has(name)) {
      source.problems.push(`${at}: there is another route ${name}`);
    } else {
      if (targets.length > TARGETS_MAX) source.problems.push(`${at}: expected 1 to ${TARGETS_MAX} targets, got ${targets.length}`);
      routes.set(name, { name, targets, isSpread: false, hedgeAfterMs: undefined });
    }
  }
  return routes;
}

function parseTarget(text: string): Target | undefined {
  const [, provider = '', model = ''] = /^([^/]+)\/(.+)$/.exec(text) ?? [];
  return TARGET_MODEL.parse(model) === undefined ? undefined : { provider, model, ...PLAIN_TARGET };
}

/** The same of callers' limits. An entry is not repeated: a token could stand in it. */
export function parseCallerLimits(source: Source, place: string, entries: readonly string[]): ReadonlyMap<string, CallerRules> {
  const callers = new Map<string, CallerRules>();
  for (const [index, entry] of entries.entries()) {
    const at = `${place}, entry ${index + 1}`;
    const [, label = '', list = ''] = /^([^\s:]+)\s*:\s*(.+)$/s.exec(entry) ?? [];
    if (label !== ANY_CALLER && !isCallerLabel(label)) {
      source.problems.push(`${at}: expected ${LIMITS}, the first of them ${CALLER_LABEL}, or *`);
      continue;
    }
    if (callers.has(label)) source.problems.push(`${at}: there is another entry of ${label}`);
    callers.set(label, { limits: parseLimits(source, at, list), allow: undefined });
  }
  return callers;
}

function parseLimits(source: Source, at: string, list: string): CallerLimits {
  const found: Partial<Record<keyof CallerLimits, number>> = {};
  for (const text of list.split(',')) {
    const [, short = '', digits = ''] = /^\s*(\w+)\s*=\s*(\S+)\s*$/.exec(text) ?? [];
    const known = SHORT_NAMES.find((name) => name === short);
    const type = count(1, short === 'concurrent' ? CONCURRENT_MAX : LIMIT_MAX);
    const value = type.parse(digits);
    if (known === undefined) {
      source.problems.push(`${at}: expected some of ${SHORT_NAMES.join(', ')}, each with its number${hintOf(nearest(short, SHORT_NAMES))}`);
    } else if (value === undefined) {
      source.problems.push(`${at}: ${known}: expected ${type.expects}`);
    } else if (found[LIMIT_NAMES[known]] !== undefined) {
      source.problems.push(`${at}: ${known} comes twice`);
    } else {
      found[LIMIT_NAMES[known]] = value;
    }
  }
  const { requestsPerMinute, tokensPerMinute, tokensPerDay, concurrent } = found;
  return { requestsPerMinute, tokensPerMinute, tokensPerDay, concurrent };
}

/** Complaints about what these settings say, by their names here. */
export function complaintsOf(source: Source, routesName: string, limitsName: string): Complaints {
  const sentence = ([part, name, , target]: readonly (string | number)[], complaint: string): string => {
    const place = part === 'routes' ? routesName : limitsName;
    return `${place}: ${name}${typeof target === 'number' ? `, target ${target + 1}` : ''}: ${complaint}`;
  };
  return {
    problemAt: (keys, complaint) => void source.problems.push(sentence(keys, complaint)),
    warningAt: (keys, complaint) => void source.warnings.push(sentence(keys, complaint)),
    hint: (word, known) => hintOf(nearest(word, known)),
    isFull: false,
  };
}
