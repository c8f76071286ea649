/** What of an embedder's options a gateway that runs cannot take over. */

import { isRecord, optionRows, textOf } from './option-source.ts';
import type { Options } from './option-source.ts';

const PROVIDER_PATH = 'providers.';

/** Options that a reload takes over. */
const RELOADED: readonly string[] = ['metricsToken', 'tlsCertFile', 'tlsKeyFile', 'routes', 'callerLimits', 'modelPrefixes'];

/** What of good options a gateway that runs cannot take over, by path; as text, because their owner may change them. */
export type FixedOptions = ReadonlyMap<string, string | undefined>;

export function fixedOptions(options: Options): FixedOptions {
  const settings = [...optionRows()].map(([name, { type }]) => [name, RELOADED.includes(name) ? undefined : textOf(options[name], type)] as const);
  const providers = entriesOfRecord(options['providers']).map(([name, given]) => [`${PROVIDER_PATH}${name}`, placeOfProvider(given)] as const);
  // Whether there is a certificate decides what the server speaks.
  return new Map([...settings, ...providers, ['tlsCertFile', options['tlsCertFile'] === undefined ? undefined : 'set']]);
}

/** The paths of what differs. A provider that was not there before is no difference: it is taken over. */
export function fixedDifferences(before: FixedOptions, after: FixedOptions): string[] {
  const paths = [...before.keys(), ...[...after.keys()].filter((path) => !path.startsWith(PROVIDER_PATH))];
  return [...new Set(paths)].filter((path) => before.get(path) !== after.get(path));
}

/** All of a provider's options but its keys. */
function placeOfProvider(given: unknown): string | undefined {
  return isRecord(given) ? JSON.stringify([given['baseUrl'], given['like'], given['structuredOutput']]) : undefined;
}

function entriesOfRecord(value: unknown): [string, unknown][] {
  return isRecord(value) ? Object.entries(value) : [];
}
