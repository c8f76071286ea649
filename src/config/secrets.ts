/** The secrets of a configuration: what must not turn up in text, and what a running gateway takes over when it is read again. */

import type { ProxyAddress } from '../base/proxy-address.ts';
import type { Secret } from '../base/secret.ts';
import type { CredentialPlan } from '../core/credential-plan.ts';
import type { Config } from './settings.ts';

/** Every secret that could turn up in text, by what it is for. A private key never leaves the process. */
export function secretsOf(config: Config): Map<string, Secret> {
  const secrets = new Map(config.callers.map(({ label, token }) => [`token of ${label}`, token]));
  if (config.metricsToken !== undefined) secrets.set('metrics token', config.metricsToken);
  for (const { name, keys } of config.providers) {
    for (const { secret, number } of keys) secrets.set(keys.length === 1 ? `key of ${name}` : `key ${number} of ${name}`, secret);
  }
  for (const { name, credentials } of config.providers) {
    for (const [index, secret] of planSecrets(credentials?.plan).entries()) secrets.set(`credentials${index === 0 ? '' : ` ${index + 1}`} of ${name}`, secret);
  }
  const { httpsProxy, httpProxy } = config.proxy;
  if (httpsProxy?.credentials !== undefined) secrets.set('HTTPS_PROXY', httpsProxy.credentials);
  if (httpProxy?.credentials !== undefined) secrets.set('HTTP_PROXY', httpProxy.credentials);
  return secrets;
}

/** The secrets that a plan holds itself; what it leads to is not known here. */
function planSecrets(plan: CredentialPlan['plan'] | undefined): readonly Secret[] {
  switch (plan?.source) {
    case 'entra client secret':
      return [plan.clientSecret];
    case 'app service identity':
      return [plan.header];
    case 'environment':
      return [plan.credentials.secretAccessKey, ...(plan.credentials.sessionToken === undefined ? [] : [plan.credentials.sessionToken])];
    case 'container':
      return plan.token === undefined ? [] : [plan.token];
    default:
      return [];
  }
}

/** The configuration with another one's secrets and certificate, and nothing else of it. */
export function withSecretsOf(config: Config, next: Config): Config {
  const keysOf = new Map(next.providers.map(({ name, keys }) => [name, keys]));
  // What lost its keys is configured no more, which takes a restart; until then it goes on.
  const credentialsOf = new Map(next.providers.map(({ name, credentials }) => [name, credentials]));
  const providers = config.providers.map((provider) => ({
    ...provider,
    keys: nonEmpty(keysOf.get(provider.name)) ?? provider.keys,
    // One that has keys goes on with keys, and one that has none without.
    credentials: provider.credentials && (credentialsOf.get(provider.name) ?? provider.credentials),
  }));
  // A server that speaks one of HTTP and HTTPS goes on with it.
  const tls = config.tls && (next.tls ?? config.tls);
  return { ...config, callers: next.callers, metricsToken: next.metricsToken, tls, providers };
}

/** What differs between the secrets of two configurations, by what it is for. */
export function changedSecrets(before: Config, after: Config): string[] {
  const [old, current] = [secretsOf(before), secretsOf(after)];
  const names = [...new Set([...old.keys(), ...current.keys()])];
  const changed = names.filter((name) => old.get(name)?.reveal() !== current.get(name)?.reveal());
  return before.tls?.cert === after.tls?.cert ? changed : [...changed, 'certificate'];
}

/** Connections through the old proxy are kept for as long as the process lives. */
export function changedProxies(config: Config, next: Config): string[] {
  const changed: string[] = [];
  if (proxyText(config.proxy.httpsProxy) !== proxyText(next.proxy.httpsProxy)) changed.push('HTTPS_PROXY');
  if (proxyText(config.proxy.httpProxy) !== proxyText(next.proxy.httpProxy)) changed.push('HTTP_PROXY');
  return changed;
}

function proxyText(proxy: ProxyAddress | undefined): string {
  return proxy === undefined ? '' : `${proxy.protocol}//${proxy.credentials?.reveal() ?? ''}@${proxy.hostname}:${proxy.port}`;
}

function nonEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}
