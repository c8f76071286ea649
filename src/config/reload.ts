/** What a running gateway applies of a configuration that was read again, and what differs, by name; never a value. */

import { engineAddressText } from '../base/engine-address.ts';
import { JsonObject } from '../base/json/value.ts';
import { STRING_CHARS_MAX } from '../base/log.ts';
import type { ProxyAddress } from '../base/proxy-address.ts';
import type { Provider } from '../core/adapter.ts';
import { rulesOf } from '../core/route.ts';
import type { CallerRules, Route, Routing } from '../core/route.ts';
import type { Config } from './config.ts';
import { secretsOf } from './secrets.ts';

/** The configuration with another one's secrets, certificate, routes, callers' rules and new providers, and nothing else of it. */
export function withReloaded(config: Config, next: Config): Config {
  const nextOf = new Map(next.providers.map((provider) => [provider.name, provider]));
  // Its connections are kept for as long as the process lives, so that until a restart each goes on where it is. There the key of
  // another place is nobody's to see.
  const kept = config.providers.map((provider) => {
    const after = nextOf.get(provider.name);
    if (after === undefined || moved(provider, after) !== undefined) return provider;
    return { ...provider, keys: after.keys, credentials: after.credentials };
  });
  const added = addedProviders(config, next);
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
    ...addedProviders(before, after).map(({ name }) => `provider ${name}`),
    ...changedEntries(before.routing.concurrentMax, after.routing.concurrentMax).map((name) => `concurrency of ${name}`),
    ...(before.takesModelPrefixes === after.takesModelPrefixes ? [] : ['model prefixes']),
    ...changedEntries<Route>(before.routing.routes, after.routing.routes).map((name) => `route ${name}`),
    ...changedRules(before, after, ({ limits }) => limits).map((label) => `limits of ${label}`),
    ...changedRules(before, after, ({ allow }) => allow).map((label) => `allow of ${label}`),
  ];
}

/** By their names: a file may have thousands. */
function addedProviders(before: Config, after: Config): readonly Provider[] {
  const names = new Set(before.providers.map(({ name }) => name));
  return after.providers.filter(({ name }) => !names.has(name));
}

function changedSecrets(before: Config, after: Config): string[] {
  // A second key does not rename the first one.
  const numbered = [...before.providers, ...after.providers].filter(({ keys }) => keys.length > 1).map(({ name }) => name);
  const [old, current] = [secretsOf(before, numbered), secretsOf(after, numbered)];
  const names = [...new Set([...old.keys(), ...current.keys()])];
  return names.filter((name) => old.get(name)?.reveal() !== current.get(name)?.reveal());
}

/** The labels for which one side of the rules differs; who loses an entry of its own has those of everybody. */
function changedRules({ routing: before }: Config, { routing: after }: Config, sideOf: (rules: CallerRules) => unknown): string[] {
  const side = (routing: Routing, label: string): string | undefined => {
    const rules = rulesOf(routing, label);
    return rules && textOf(sideOf(rules));
  };
  return [...new Set([...before.callers.keys(), ...after.callers.keys()])].filter((label) => side(before, label) !== side(after, label));
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
    ...(proxyText(config.proxy.httpsProxy) === proxyText(next.proxy.httpsProxy) ? [] : ['HTTPS_PROXY']),
    ...(proxyText(config.proxy.httpProxy) === proxyText(next.proxy.httpProxy) ? [] : ['HTTP_PROXY']),
    ...(engineAddressText(config.limitsEngine) === engineAddressText(next.limitsEngine) ? [] : ['GATEWAY_LIMITS_URL']),
    ...config.providers.flatMap((provider) => {
      const after = nextOf.get(provider.name);
      if (after === undefined) return [`provider ${provider.name}`];
      const what = moved(provider, after);
      return what === undefined ? [] : [`${what} of ${provider.name}`];
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

/** What it takes a restart to change of a provider, by what it is called. */
const FACTS: Readonly<Record<string, (provider: Provider) => string | undefined>> = {
  'base URL': ({ baseUrl }) => baseUrl.href,
  // Its key belongs in another header perhaps.
  like: ({ like }) => like,
  project: ({ settings }) => textOf(settings?.project),
  workspace: ({ headers }) => textOf(headers),
};

/** What puts a provider somewhere else, or has it spoken to otherwise; undefined where nothing does. */
function moved(before: Provider, after: Provider): string | undefined {
  return Object.entries(FACTS).find(([, factOf]) => factOf(before) !== factOf(after))?.[0];
}

/** Where each provider is, by its name: a text that differs where it takes a restart to go there. */
export function placesOf({ providers }: Config): ReadonlyMap<string, string> {
  return new Map(providers.map((provider) => [provider.name, JSON.stringify(Object.values(FACTS).map((factOf) => factOf(provider) ?? ''))]));
}
