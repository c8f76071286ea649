/** The providers, with their keys and addresses, by the variables of each and by the routing file. */

import { isLoopback } from '../base/loopback.ts';
import { sha256 } from '../base/sha256.ts';
import type { Secret } from '../base/secret.ts';
import { STRUCTURED_OUTPUTS } from '../core/adapter.ts';
import type { AdapterSettings, Provider, ProviderKey, ProviderRow } from '../core/adapter.ts';
import { placeVariablesOf, readCloud } from './clouds.ts';
import type { Cloud } from './clouds.ts';
import type { Environment } from './environment.ts';
import { quoted } from './masking.ts';
import { readKeys } from './provider-keys.ts';
import type { RoutingFile } from './routing-file.ts';
import { BASE_URL, word } from './setting-types.ts';
import type { Source } from './source.ts';

/** The type of the variables in which an operator says what the answers of a host are held to. */
export const STRUCTURED_OUTPUT = word(...STRUCTURED_OUTPUTS);

/** The provider of the operator's own host, where it has no name of its own. */
export const COMPAT = 'compat';

/** What registers clouds besides keys: the operator's list, and the files that their variables name. */
export type Clouds = { readonly listed: readonly string[]; readonly readFile: (path: string) => string };

/** Where an operator mends what is wrong with a provider. */
export type ProviderOrigin = {
  /** The variables that hold its keys, or the place in the routing file where they would be named; empty where there is none. */
  readonly keyVariables: readonly string[];
  /** A variable, or the place in the routing file; undefined = it is where it usually is. */
  readonly baseUrlPlace: string | undefined;
};

export type Registered = {
  /** Sorted by name, names are unique. */
  readonly providers: readonly Provider[];
  /** Also of those that are configured wrongly. */
  readonly providerNames: readonly string[];
  readonly origins: ReadonlyMap<string, ProviderOrigin>;
};

/** The providers that the environment and the routing file register, by name. */
export function readProviders(
  environment: Environment,
  rows: readonly ProviderRow[],
  compatRow: (name: string) => ProviderRow,
  file: RoutingFile | undefined,
  settings: AdapterSettings,
  clouds: Clouds,
): Registered {
  const problemsBefore = environment.problems.length;
  const providers = new Map<string, Provider>();
  const origins = new Map<string, ProviderOrigin>();
  const names = new Set(file?.providers.keys());
  for (const row of [...rows, ...(file === undefined ? [] : rowsOfFile(file, rows, compatRow, clouds))]) {
    const before = environment.problems.length;
    const provider = readProvider(environment, row, file, settings, clouds, origins);
    if (provider !== undefined || environment.problems.length > before) {
      names.add(row.name);
    } else if (file?.providers.get(row.name)?.keys === undefined && file?.providers.has(row.name) === true) {
      const here = row.isKeyRequired ? 'name its keys here' : 'give its base_url here';
      file.complaints.problemAt(['providers', row.name], `is not configured; set ${neededOf(row)}, or ${here}`);
    }
    if (provider === undefined) continue;
    // Only the operator's own host has a name that can be chosen.
    if (providers.has(row.name)) environment.problems.push(`GATEWAY_COMPAT_NAME: ${row.name} is configured already; choose another name`);
    providers.set(row.name, provider);
  }
  if (providers.size === 0 && environment.problems.length === problemsBefore) {
    const examples = rows.slice(0, 3).map((row) => row.keyVariables[0]);
    const byCloud = rows.some(({ cloud }) => cloud !== undefined) ? '; roles and account files are used only for clouds that GATEWAY_CLOUDS lists' : '';
    environment.problems.push(`${examples.join(', ')}: no provider is configured; set one of these, or another that --help lists${byCloud}`);
  }
  return { providers: [...providers.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), providerNames: [...names], origins };
}

/** The variables of which one registers a provider. */
function neededOf({ isKeyRequired, keyVariables, baseUrlVariable }: ProviderRow): string {
  return isKeyRequired ? keyVariables.join(' or ') : baseUrlVariable;
}

/** The rows of providers that only the file names: as those that they are like, but for keys of their own, or a cloud's place of its own. */
function rowsOfFile(file: RoutingFile, rows: readonly ProviderRow[], compatRow: (name: string) => ProviderRow, { listed }: Clouds): readonly ProviderRow[] {
  return [...file.providers].flatMap(([name, entry]) => {
    const keys = ['providers', name];
    const complain = (field: string, complaint: string): [] => {
      file.complaints.problemAt([...keys, field], complaint);
      return [];
    };
    if (rows.some((row) => row.name === name)) {
      return entry.like === undefined ? [] : complain('like', `${name} is a known provider itself; choose another name`);
    }
    const known = [...rows.map((row) => row.name), COMPAT];
    if (entry.like === undefined) return complain('like', `required, because there is no provider ${name}${file.complaints.hint(name, known)}`);
    const isCompat = entry.like === COMPAT;
    const like = isCompat ? compatRow(name) : rows.find((row) => row.name === entry.like);
    if (like === undefined) return complain('like', `expected the name of a known provider, or ${COMPAT}, got ${quoted(entry.like)}${file.complaints.hint(entry.like, known)}`);
    const isListed = like.cloud !== undefined && listed.includes(like.cloud);
    if (like.isKeyRequired && entry.keys === undefined && !isListed) {
      return complain('keys', like.cloud === undefined ? 'required' : `required, unless GATEWAY_CLOUDS lists ${like.cloud}, by whose credentials it is then called`);
    }
    if (isListed && entry.keys === undefined && entry.baseUrl === undefined) {
      return complain('base_url', `required, because without keys of its own it would be the same as ${like.name}`);
    }
    if (isCompat && entry.baseUrl === undefined) return complain('base_url', 'required');
    const row: ProviderRow = { ...like, name, like: entry.like, keyVariables: [] };
    if (!isCompat) return [row];
    // What the variables say of the one compatible host that they register, they do not say of another.
    const { structuredOutputVariable: _, nameVariable: _name, ...other } = row;
    return [other];
  });
}

/**
 * Undefined when neither key nor base URL nor the list of clouds registers it, or when something about it is bad. Where key and
 * base URL stand is added to `origins`.
 */
function readProvider(
  environment: Environment,
  row: ProviderRow,
  file: RoutingFile | undefined,
  settings: AdapterSettings,
  { listed, readFile }: Clouds,
  origins: Map<string, ProviderOrigin>,
): Provider | undefined {
  const entry = file?.providers.get(row.name);
  const placeOf = (field: string): string => file?.complaints.placeOf('providers', row.name, field) ?? '';
  const given = readKeys(environment, row, entry?.keys && { place: placeOf('keys'), variables: entry.keys });
  const isVariableSet = environment.isSet(row.baseUrlVariable, BASE_URL);
  const isBaseUrlSet = entry?.baseUrl !== undefined || isVariableSet;
  const isListed = row.cloud !== undefined && listed.includes(row.cloud);
  if (given === undefined && !isListed && (row.isKeyRequired || !isBaseUrlSet)) {
    for (const variable of [row.baseUrlVariable, row.nameVariable, row.structuredOutputVariable]) {
      if (variable !== undefined && environment.isSet(variable, BASE_URL)) environment.warnings.push(`${variable}: has no effect without ${neededOf(row)}`);
    }
    return undefined;
  }
  if (entry?.workspace !== undefined && (row.cloud !== 'claude-aws' || entry.like === undefined)) {
    const complaint = row.name === 'claude-aws' ? 'allowed only for another region, which is a provider with like; set ANTHROPIC_AWS_WORKSPACE_ID' : 'has no effect, because it is not like claude-aws';
    file?.complaints.problemAt(['providers', row.name, 'workspace'], complaint);
  }
  if (given !== undefined && isListed && entry?.like === undefined) environment.warnings.push(`GATEWAY_CLOUDS: ${row.name} is called by the key in ${given.place}, not by other credentials`);
  if (row.cloud === undefined && !isBaseUrlSet && row.defaultBaseUrl === undefined) {
    const isOfFile = entry?.keys !== undefined;
    environment.problems.push(isOfFile ? `${placeOf('base_url')}: required` : `${row.baseUrlVariable}: required, because ${given?.place} is set`);
    return undefined;
  }
  // One that is like another keeps to the place where its model is, unless it has one of its own.
  for (const variable of entry?.baseUrl !== undefined && entry.like === undefined ? placeVariablesOf(row) : []) {
    if (environment.isSet(variable, BASE_URL)) environment.problems.push(`${variable}: is set together with ${placeOf('base_url')}; keep one`);
  }
  const place = entry?.baseUrl === undefined ? row.baseUrlVariable : placeOf('base_url');
  const keyVariables = given?.variables ?? (entry?.like === undefined ? [] : [placeOf('keys')]);
  origins.set(row.name, { keyVariables, baseUrlPlace: isBaseUrlSet ? place : undefined });
  if (row.cloud !== undefined) {
    const root = entry?.baseUrl && { root: entry.baseUrl, place };
    const rootPlace = entry?.keys === undefined ? undefined : placeOf('base_url');
    // What the variables lack or contradict is said of the cloud whose they are.
    const spoken = given === undefined ? { ...row, name: row.cloud } : row;
    const cloud = readCloud(row.cloud, { environment, row: spoken, hasKey: given !== undefined, root, rootPlace, workspace: entry?.workspace, readFile });
    if (cloud === undefined || (given !== undefined && given.keys === undefined)) return undefined;
    // Its place may have variables of other names.
    if (cloud.place !== row.baseUrlVariable) origins.set(row.name, { keyVariables, baseUrlPlace: cloud.place });
    return cloudFrom(environment, row, cloud, given?.keys ?? [], withStructuredOutput(environment, row, settings));
  }
  const root = entry?.baseUrl ?? (isVariableSet ? environment.read(row.baseUrlVariable, BASE_URL) : BASE_URL.parse(row.defaultBaseUrl ?? ''));
  if (root === undefined || (given !== undefined && given.keys === undefined)) return undefined;
  return providerFrom(environment, row, { keys: given?.keys ?? [], root, place }, withStructuredOutput(environment, row, settings));
}

/** What a row makes of a cloud. */
export function cloudFrom(source: Source, row: ProviderRow, cloud: Cloud, keys: readonly Secret[], settings: AdapterSettings): Provider {
  const { root, place, credentials, headers } = cloud;
  return { ...providerFrom(source, row, { keys, root, place }, { ...settings, ...cloud.settings }), credentials, headers };
}

/** What a row makes of keys and a base URL, which stands at `place`. */
export function providerFrom(
  source: Source,
  row: ProviderRow,
  { keys, root, place }: { readonly keys: readonly Secret[]; readonly root: URL; readonly place: string },
  settings: AdapterSettings,
): Provider {
  if (root.protocol === 'http:' && !isLoopback(root.hostname)) {
    source.warnings.push(`${place}: keys and prompts travel to ${root.host} unencrypted; use https`);
  }
  const baseUrl = withVersion(root, row.versionSegment);
  const adapter = row.createAdapter(row.name, settings);
  return { name: row.name, like: row.like, adapter, settings, baseUrl, keys: keys.map(providerKeyFrom), keyHeader: row.keyHeader, speaks: row.speaks ?? [] };
}

/** Hexadecimal digits of a key's id: enough to tell a few keys apart, too few to try keys on. */
const KEY_ID_DIGITS = 16;

/** A key as it is known beside its value; `index` counts the keys of its provider. */
function providerKeyFrom(secret: Secret, index: number): ProviderKey {
  return { secret, number: index + 1, id: sha256(secret.reveal()).slice(0, KEY_ID_DIGITS) };
}

/** The settings, and what the operator says of the provider's answers, if anything. */
function withStructuredOutput(environment: Environment, { structuredOutputVariable: variable }: ProviderRow, settings: AdapterSettings): AdapterSettings {
  if (variable === undefined || !environment.isSet(variable, STRUCTURED_OUTPUT)) return settings;
  return { ...settings, structuredOutput: environment.read(variable, STRUCTURED_OUTPUT) };
}

function withVersion(root: URL, versionSegment: string | undefined): URL {
  const last = root.pathname.slice(root.pathname.lastIndexOf('/') + 1);
  if (versionSegment === undefined || /^v\d+((alpha|beta)\d*)?$/.test(last)) return root;
  const versioned = new URL(root);
  versioned.pathname = `${root.pathname === '/' ? '' : root.pathname}/${versionSegment}`;
  return versioned;
}
