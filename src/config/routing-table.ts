/** Routes, providers and callers as `--check` prints them: what the gateway understood, for people to read in a terminal. */

import { renderDuration } from '../base/duration.ts';
import { FIRST_EVENT_TIMEOUT_MS, rulesOf, targetName } from '../core/route.ts';
import type { Provider } from '../core/adapter.ts';
import type { CallerLimits, Route, Routing, Target } from '../core/route.ts';
import type { Config } from './config.ts';

/** Between columns. */
const GAP = '   ';

/** Empty where nothing of all this is configured. No key is shown, only how many there are. */
export function renderRouting(config: Pick<Config, 'routing' | 'providers' | 'callers' | 'attemptTimeoutMs'>): string {
  const { routing, providers, callers } = config;
  const { routes, concurrentMax } = routing;
  const hasCredentials = providers.some(({ credentials }) => credentials !== undefined);
  const hasSeveralKeys = providers.some(({ keys }) => keys.length > 1);
  const sections: (readonly [title: string, lines: readonly string[]])[] = [];
  if (routes.size > 0) sections.push(['Routes', [...routes.values()].flatMap((route) => routeLines(route, config))]);
  if (routes.size > 0 || concurrentMax.size > 0 || hasSeveralKeys || hasCredentials) {
    sections.push(['Providers', aligned(providers.map((provider) => {
      const { name, baseUrl, settings } = provider;
      const project = settings?.project;
      const bound = concurrentMax.get(name);
      const place = project === undefined ? baseUrl.href : `${baseUrl.href} in ${project.location} of ${project.id}`;
      return [name, accessText(provider), bound === undefined ? place : `${place}, at most ${bound} at once`];
    }))]);
  }
  if (routing.callers.size > 0) sections.push(['Callers', callerLines(routing, callers)]);
  return sections.map(([title, lines]) => `\n${title}\n${lines.map((line) => `  ${line}\n`).join('')}`).join('');
}

function routeLines(route: Route, { attemptTimeoutMs, providers }: Pick<Config, 'attemptTimeoutMs' | 'providers'>): readonly string[] {
  const { name, targets, isSpread, hedgeAfterMs } = route;
  const manner = targets.length === 1 ? '' : isSpread ? ': by weight, each conversation stays at one target' : ': in this order';
  const hedge = hedgeAfterMs === undefined ? '' : `; after ${renderDuration(hedgeAfterMs)} without a first event another is asked too`;
  const weights = targets.reduce((sum, { weight }) => sum + weight, 0);
  const heads = aligned(targets.map((target, index) => {
    // Of several that are spread each may be asked before another.
    const isLast = index === targets.length - 1 && (!isSpread || index === 0);
    const provider = providers.find(({ name: one }) => one === target.provider);
    return [isSpread ? `${target.weight} of ${weights}` : String(index + 1), targetName(target), accessText(provider), ...timesText(target, isLast, attemptTimeoutMs)];
  }));
  const lines = targets.flatMap((target, index) => [heads[index] ?? '', ...sentText(target).map((text) => `      ${text}`)]);
  return [`${name}${manner}${hedge}`, ...lines.map((line) => `  ${line}`)];
}

/** What becomes of a request for this target, and how many it takes. */
function sentText({ defaults, omit, concurrentMax }: Target): readonly string[] {
  const texts: string[] = [];
  if (defaults !== undefined) {
    const { maxTokens, temperature, topP, stop, thinking, providerOptions } = defaults;
    const values = { max_tokens: maxTokens, temperature, top_p: topP, stop, thinking };
    for (const [field, value] of Object.entries(values)) if (value !== undefined) texts.push(`${field} ${JSON.stringify(value)} if the request has none`);
    // As it was written, but on one line: in JSON a bare line end only ever stands between tokens.
    if (providerOptions !== undefined) texts.push(`provider_options ${providerOptions.raw.text.replaceAll(/\s*[\r\n]\s*/g, ' ')} if the request has none`);
  }
  if (omit.length > 0) texts.push(`never ${omit.join(', ')}`);
  if (concurrentMax !== undefined) texts.push(`at most ${concurrentMax} at once`);
  return texts;
}

function timesText({ firstEventTimeoutMs, attemptTimeoutMs }: Target, isLast: boolean, attemptTimeoutMaxMs: number): readonly [string, string] {
  const firstEventMs = Math.min(firstEventTimeoutMs ?? (isLast ? attemptTimeoutMaxMs : FIRST_EVENT_TIMEOUT_MS), attemptTimeoutMaxMs);
  const answerMs = Math.min(attemptTimeoutMs ?? attemptTimeoutMaxMs, attemptTimeoutMaxMs);
  const answer = attemptTimeoutMs === undefined && !isLast ? 'half of the time left' : renderDuration(answerMs);
  return [`first event in ${renderDuration(firstEventMs)}`, `answer in ${answer}`];
}

/** By what a provider is called. */
function accessText(provider: Provider | undefined): string {
  const { keys = [], credentials } = provider ?? {};
  if (credentials !== undefined) return `by ${credentials.plan.source}${credentials.type === 'signature' ? `, signed for ${credentials.region}` : ''}`;
  if (keys.length === 0) return 'no key';
  return keys.length === 1 ? '1 key' : `keys 1 to ${keys.length}`;
}

function callerLines(routing: Routing, callers: Config['callers']): readonly string[] {
  const labels = [...new Set([...callers.map(({ label }) => label), ...routing.callers.keys()])];
  const width = Math.max(...labels.map((label) => label.length));
  const unlimited = labels.filter((label) => rulesOf(routing, label)?.limits === undefined);
  return [
    ...labels.flatMap((label) => {
      const { limits, allow } = rulesOf(routing, label) ?? {};
      return [`${label.padEnd(width)}${GAP}may ask for ${allowText(allow)}`, ...limitLines(limits).map((line) => `${' '.repeat(width)}${GAP}${line}`)];
    }),
    ...(unlimited.length === 0 ? [] : [`Without limits: ${unlimited.join(', ')}.`]),
  ];
}

function limitLines(limits: CallerLimits | undefined): readonly string[] {
  if (limits === undefined) return ['no limits'];
  const { requestsPerMinute, tokensPerMinute, tokensPerDay, concurrent } = limits;
  const texts = [
    [requestsPerMinute, 'requests a minute'],
    [tokensPerMinute, 'tokens a minute'],
    [tokensPerDay, 'tokens a day'],
    [concurrent, 'requests at once'],
  ] as const;
  return texts.flatMap(([value, what]) => (value === undefined ? [] : [`at most ${value} ${what}`]));
}

function allowText(allow: readonly string[] | undefined): string {
  if (allow === undefined || allow.includes('*')) return 'everything';
  return allow.length === 0 ? 'nothing' : allow.join(', ');
}

/** Columns as wide as their widest cell; the last one is as it is. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows.reduce<number[]>((found, row) => row.map((cell, column) => Math.max(found[column] ?? 0, cell.length)), []);
  return rows.map((row) => row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join(GAP).trimEnd());
}
