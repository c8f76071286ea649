/** What a running gateway takes over of a configuration that was read again, and what differs, by name; never a value. */

import { JsonObject } from '../base/json/value.ts';
import { STRING_CHARS_MAX } from '../base/log.ts';
import type { ProxyAddress } from '../base/proxy-address.ts';
import type { CallerRules, Route } from '../core/route.ts';
import { secretsOf } from './secrets.ts';
import type { Config } from './settings.ts';

/** The configuration with another one's secrets, certificate, routes, callers' rules and new providers, and nothing else of it. */
export function withReloaded(config: Config, next: Config): Config {
  const keysOf = new Map(next.providers.map(({ name, keys }) => [name, keys]));
  // Where a provider is, and whether there is one, is part of what took its connections; until a restart it goes on.
  const kept = config.providers.map((provider) => ({ ...provider, keys: nonEmpty(keysOf.get(provider.name)) ?? provider.keys }));
  const added = next.providers.filter(({ name }) => !kept.some((provider) => provider.name === name));
  return {
    ...config,
    callers: next.callers,
    metricsToken: next.metricsToken,
    // A server that speaks one of HTTP and HTTPS goes on with it.
    tls: config.tls && (next.tls ?? config.tls),
    providers: [...kept, ...added].sort((a, b) => (a.name < b.name ? -1 : 1)),
    takesModelPrefixes: next.takesModelPrefixes,
    routing: next.routing,
  };
}

/** What differs between two configurations, of what is taken over. */
export function changesBetween(before: Config, after: Config): string[] {
  return [
    ...changedSecrets(before, after),
    ...(before.tls?.cert === after.tls?.cert ? [] : ['certificate']),
    ...after.providers.filter(({ name }) => !before.providers.some((provider) => provider.name === name)).map(({ name }) => `provider ${name}`),
    ...changedEntries(before.routing.concurrentMax, after.routing.concurrentMax).map((name) => `concurrency of ${name}`),
    ...(before.takesModelPrefixes === after.takesModelPrefixes ? [] : ['model prefixes']),
    ...changedEntries<Route>(before.routing.routes, after.routing.routes).map((name) => `route ${name}`),
    ...changedEntries(...both(before, after, ({ limits }) => limits)).map((label) => `limits of ${label}`),
    ...changedEntries(...both(before, after, ({ allow }) => allow)).map((label) => `allow of ${label}`),
  ];
}

function changedSecrets(before: Config, after: Config): string[] {
  // A second key does not rename the first one.
  const numbered = [...before.providers, ...after.providers].filter(({ keys }) => keys.length > 1).map(({ name }) => name);
  const [old, current] = [secretsOf(before, numbered), secretsOf(after, numbered)];
  const names = [...new Set([...old.keys(), ...current.keys()])];
  return names.filter((name) => old.get(name)?.reveal() !== current.get(name)?.reveal());
}

/** One side of the callers' rules of both, by label. */
function both(before: Config, after: Config, sideOf: (rules: CallerRules) => unknown): [ReadonlyMap<string, unknown>, ReadonlyMap<string, unknown>] {
  const side = ({ routing }: Config): ReadonlyMap<string, unknown> => new Map([...routing.callers].map(([label, rules]) => [label, sideOf(rules)]));
  return [side(before), side(after)];
}

/** The keys under which two maps have different values. */
function changedEntries<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((key) => textOf(before.get(key)) !== textOf(after.get(key)));
}

/** Objects of the operator's own JSON as they were written, which they compare by. */
function textOf(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, inner: unknown) => (inner instanceof JsonObject ? inner.raw.text : inner));
}

/** What differs and takes a restart. */
export function changesLeft(config: Config, next: Config): string[] {
  const nextOf = new Map(next.providers.map((provider) => [provider.name, provider]));
  return [
    // Connections through the old proxy are kept for as long as the process lives.
    ...(proxyText(config.proxy.httpsProxy) === proxyText(next.proxy.httpsProxy) ? [] : ['HTTPS_PROXY']),
    ...(proxyText(config.proxy.httpProxy) === proxyText(next.proxy.httpProxy) ? [] : ['HTTP_PROXY']),
    ...config.providers.flatMap(({ name, baseUrl, adapter }) => {
      const provider = nextOf.get(name);
      if (provider === undefined) return [`provider ${name}`];
      if (provider.baseUrl.href !== baseUrl.href) return [`base URL of ${name}`];
      return provider.adapter.dialect === adapter.dialect ? [] : [`API of ${name}`];
    }),
    ...(config.defaultProvider === next.defaultProvider ? [] : ['default provider']),
  ];
}

/** Every problem as fields of one log line, which cuts what is longer: `problems`, `problems_2` … */
export function problemFields(problems: readonly string[]): Readonly<Record<string, string>> {
  const texts: string[] = [];
  for (const problem of problems) {
    const last = texts.at(-1);
    const text = last === undefined ? problem : `${last}; ${problem}`;
    if (last === undefined || text.length > STRING_CHARS_MAX) texts.push(problem);
    else texts[texts.length - 1] = text;
  }
  return Object.fromEntries(texts.map((text, index) => [index === 0 ? 'problems' : `problems_${index + 1}`, text]));
}

function proxyText(proxy: ProxyAddress | undefined): string {
  return proxy === undefined ? '' : `${proxy.protocol}//${proxy.credentials?.reveal() ?? ''}@${proxy.hostname}:${proxy.port}`;
}

function nonEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}
