/** The providers of an embedder: a known one under its own name or another, by keys or, of a cloud, by variables. */

import { hintOf, nearest } from '../base/nearest.ts';
import type { Secret } from '../base/secret.ts';
import { CLOUD_NAMES } from '../core/adapter.ts';
import type { AdapterSettings, Provider, ProviderRow } from '../core/adapter.ts';
import { placeVariablesOf, readCloud } from './clouds.ts';
import { Environment } from './environment.ts';
import { described, entriesOf, isRecord, notTexts, refuseUnknown, shownName } from './option-source.ts';
import type { Options, OptionSource } from './option-source.ts';
import { readKeys, samePair } from './provider-keys.ts';
import { cloudFrom, COMPAT, providerFrom, STRUCTURED_OUTPUT } from './providers.ts';
import { BASE_URL, KEYS_MAX, PROVIDER_NAME, SECRET } from './setting-types.ts';
import type { Source } from './source.ts';

const PROVIDER_OPTIONS = ['key', 'keys', 'baseUrl', 'like', 'structuredOutput', 'environment'];

/** One of them. */
type Entry = {
  /** Where it stands, for sentences. */
  readonly path: string;
  /** How it is spoken to, under the name that it was given. */
  readonly row: ProviderRow;
  readonly given: Options;
  readonly settings: AdapterSettings;
};

/** Those that are good, sorted by name. The rest is as for `loadOptions`. */
export function providersFrom(
  source: OptionSource,
  value: unknown,
  rows: readonly ProviderRow[],
  compatRow: (name: string) => ProviderRow,
  settings: AdapterSettings,
  readFile: (path: string) => string,
): readonly Provider[] {
  const entries = entriesOf(source, 'providers', value, '{ key, baseUrl } by each name');
  if (entries.length === 0 && (value === undefined || isRecord(value))) {
    source.problems.push('providers: required; e.g. { anthropic: { key } }');
  }
  const providers = entries.flatMap(([name, given]) => {
    const path = `providers.${shownName(name)}`;
    if (PROVIDER_NAME.parse(name) === undefined) {
      source.problems.push(`${path}: expected a name of ${PROVIDER_NAME.expects}`);
      return [];
    }
    if (!isRecord(given)) {
      source.problems.push(`${path}: expected { key, baseUrl }, got ${described(given)}`);
      return [];
    }
    refuseUnknown(source, `${path}.`, given, PROVIDER_OPTIONS);
    const row = rowOf(source, path, name, given['like'], rows, compatRow);
    if (row === undefined) return [];
    const entry = { path, row, given, settings };
    return (given['environment'] === undefined ? providerOf(source, entry) : cloudOf(source, entry, readFile)) ?? [];
  });
  return providers.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The row that says how the provider is spoken to, under the name that it was given. */
function rowOf(source: Source, path: string, name: string, like: unknown, rows: readonly ProviderRow[], compatRow: (name: string) => ProviderRow): ProviderRow | undefined {
  const model = like ?? name;
  const row = model === COMPAT ? compatRow(name) : rows.find((candidate) => candidate.name === model);
  if (row !== undefined) return typeof like === 'string' && like !== name ? { ...row, name, like } : row;
  const known = [...rows.map((each) => each.name), COMPAT];
  const hint = hintOf(typeof model === 'string' ? nearest(model, known) : undefined);
  source.problems.push(
    like === undefined
      ? `${path}: there is no such provider${hint || "; another name needs like: 'openai', 'compat' or another that is known"}`
      : `${path}.like: expected the name of a known provider, or compat${hint}`,
  );
  return undefined;
}

function providerOf(source: OptionSource, entry: Entry): Provider | undefined {
  const { path, row, given } = entry;
  const problemsBefore = source.problems.length;
  const { baseUrl } = given;
  const keys = keysOf(source, entry);
  if (baseUrl === undefined && row.defaultBaseUrl === undefined) source.problems.push(`${path}.baseUrl: required`);
  const root = baseUrl === undefined ? BASE_URL.parse(row.defaultBaseUrl ?? '') : source.parse(`${path}.baseUrl`, baseUrl, BASE_URL);
  const settings = settingsOf(source, entry);
  if (root === undefined || source.problems.length > problemsBefore) return undefined;
  return providerFrom(source, row, { keys, root, place: `${path}.baseUrl` }, settings);
}

/** One key, or several of one account. */
function keysOf(source: OptionSource, { path, row, given: { key, keys } }: Entry): readonly Secret[] {
  if (key !== undefined && keys !== undefined) source.problems.push(`${path}.keys: is set together with ${path}.key; keep one`);
  if (keys === undefined) {
    if (key === undefined && row.isKeyRequired) source.problems.push(`${path}.key: required`);
    return key === undefined ? [] : [source.parse(`${path}.key`, key, SECRET)].flatMap((secret) => secret ?? []);
  }
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > KEYS_MAX) {
    source.problems.push(`${path}.keys: expected an array of 1 to ${KEYS_MAX} keys${Array.isArray(keys) ? '' : `, got ${described(keys)}`}`);
    return [];
  }
  const secrets = keys.map((item: unknown, index) => source.parse(`${path}.keys[${index}]`, item, SECRET));
  const same = samePair(secrets);
  if (same !== undefined) source.problems.push(`${path}.keys: the entries ${same[0]} and ${same[1]} hold the same key`);
  return secrets.flatMap((secret) => secret ?? []);
}

/** A cloud, by variables as the vendors' own SDKs read them. */
function cloudOf(source: OptionSource, entry: Entry, readFile: (path: string) => string): Provider | undefined {
  const { path, row, given } = entry;
  const variables = given['environment'];
  const problemsBefore = source.problems.length;
  if (row.cloud === undefined) source.problems.push(`${path}.environment: only of ${CLOUD_NAMES.join(', ')}`);
  if (!isRecord(variables)) source.problems.push(`${path}.environment: expected an object of variables, got ${described(variables)}`);
  if (row.cloud === undefined || !isRecord(variables)) return undefined;
  const mistyped = notTexts(variables);
  for (const problem of mistyped) source.problems.push(`${path}.environment.${problem}`);
  if (mistyped.length > 0) return undefined;
  const environment = new Environment(variables as Readonly<Record<string, string | undefined>>, readFile);
  const isKeyGiven = given['key'] !== undefined || given['keys'] !== undefined;
  const found = isKeyGiven ? undefined : readKeys(environment, row, undefined);
  const keys = isKeyGiven ? keysOf(source, entry) : (found?.keys ?? []);
  const hasKey = isKeyGiven || found !== undefined;
  const place = `${path}.baseUrl`;
  const root = given['baseUrl'] === undefined ? undefined : source.parse(place, given['baseUrl'], BASE_URL);
  // One that is like another may have that one's variables.
  for (const variable of root !== undefined && given['like'] === undefined ? placeVariablesOf(row) : []) {
    if (environment.isSet(variable, BASE_URL)) source.problems.push(`${place}: is set together with ${path}.environment.${variable}; keep one`);
  }
  const cloud = readCloud(row.cloud, { environment, row, hasKey, root: root && { root, place }, rootPlace: undefined, readFile });
  const settings = settingsOf(source, entry);
  for (const problem of environment.problems) source.problems.push(problem.startsWith(place) ? problem : `${path}.environment.${problem}`);
  source.secrets.push(...environment.secrets);
  for (const warning of environment.warnings) source.warnings.push(`${path}.environment.${warning}`);
  if (cloud === undefined || source.problems.length > problemsBefore) return undefined;
  return cloudFrom(source, row, { ...cloud, place: root === undefined ? `${path}.environment.${cloud.place}` : place }, keys, settings);
}

/** With what the embedder says of the answers of a host, of which it is the operator that knows. */
function settingsOf(source: OptionSource, { path, row, given: { structuredOutput }, settings }: Entry): AdapterSettings {
  if (structuredOutput === undefined) return settings;
  if (row.structuredOutputVariable !== undefined) {
    return { ...settings, structuredOutput: source.parse(`${path}.structuredOutput`, structuredOutput, STRUCTURED_OUTPUT) };
  }
  source.problems.push(`${path}.structuredOutput: only of hosts that speak Chat Completions`);
  return settings;
}
