/** The secrets of a configuration: what must not turn up in text. */

import type { Secret } from '../base/secret.ts';
import type { CredentialPlan } from '../core/credential-plan.ts';
import type { Config } from './config.ts';

/**
 * Every secret that could turn up in text, by what it is for; keys by their numbers where there are several, or the name is
 * among `numbered`. A private key never leaves the process.
 */
export function secretsOf(config: Config, numbered: readonly string[] = []): Map<string, Secret> {
  const secrets = new Map(config.callers.map(({ label, token }) => [`token of ${label}`, token]));
  if (config.metricsToken !== undefined) secrets.set('metrics token', config.metricsToken);
  for (const { name, keys } of config.providers) {
    const isNumbered = keys.length > 1 || numbered.includes(name);
    for (const { secret, number } of keys) secrets.set(isNumbered ? `key ${number} of ${name}` : `key of ${name}`, secret);
  }
  for (const { name, credentials } of config.providers) {
    for (const [index, secret] of planSecrets(credentials?.plan).entries()) secrets.set(`credentials${index === 0 ? '' : ` ${index + 1}`} of ${name}`, secret);
  }
  const { httpsProxy, httpProxy } = config.proxy;
  if (httpsProxy?.credentials !== undefined) secrets.set('HTTPS_PROXY', httpsProxy.credentials);
  if (httpProxy?.credentials !== undefined) secrets.set('HTTP_PROXY', httpProxy.credentials);
  const enginePassword = config.limitsEngine?.password;
  if (enginePassword !== undefined) secrets.set('GATEWAY_LIMITS_URL', enginePassword);
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
