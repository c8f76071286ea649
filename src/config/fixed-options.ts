/** What of an embedder's options a gateway that runs cannot take over. */

import type { Provider } from '../core/adapter.ts';
import type { Config } from './config.ts';
import { optionRows, textOf } from './option-source.ts';
import type { Options } from './option-source.ts';

/** Options that a reload takes over. */
const RELOADED: readonly string[] = ['metricsToken', 'tlsCertFile', 'tlsKeyFile', 'routes', 'callerLimits', 'modelPrefixes'];

/** What of good options a gateway that runs cannot take over, by path; as text, because their owner may change them. */
export type FixedOptions = ReadonlyMap<string, string | undefined>;

/** `config` is what the options came to. */
export function fixedOptions(options: Options, { providers }: Pick<Config, 'providers'>): FixedOptions {
  const settings = [...optionRows()].map(([name, { type }]) => [name, RELOADED.includes(name) ? undefined : textOf(options[name] ?? '', type)] as const);
  const places = providers.map((provider) => [`providers.${provider.name}`, placeOf(provider)] as const);
  // Whether there is a certificate decides what the server speaks.
  return new Map([...settings, ...places, ['tlsCertFile', options['tlsCertFile'] === undefined ? undefined : 'set']]);
}

/** The paths of what differs. A provider that was not there before is no difference: it is taken over. */
export function fixedDifferences(before: FixedOptions, after: FixedOptions): string[] {
  return [...before.keys()].filter((path) => before.get(path) !== after.get(path));
}

/** All of a provider but its keys and credentials, and what is a setting of its own. */
function placeOf({ baseUrl, like, headers, settings }: Provider): string {
  const { structuredOutput, models, project } = settings ?? {};
  return JSON.stringify([baseUrl.href, like, headers, structuredOutput, [...(models ?? [])], project]);
}
