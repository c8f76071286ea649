/**
 * What an embedder passes, read as strictly as the environment: settings under camel-case names, providers, callers.
 *
 * A row of the table of settings is an option at once, unless it is of a process alone. A problem names its path and, where
 * there is one, the nearest known name; never a value that could be a secret.
 */

import { LOG_LEVELS } from '../base/log.ts';
import { nearest } from '../base/nearest.ts';
import { Secret } from '../base/secret.ts';
import type { AdapterSettings, CloudName, Provider, ProviderRow, StructuredOutput } from '../core/adapter.ts';
import { CALLER_LABEL, isCallerLabel } from '../core/caller.ts';
import { CLOUD_VARIABLES, CLOUDS, readCloud } from './clouds.ts';
import { BASE_URL, Environment, KEYS_MAX, PROVIDER_NAME, quoted, SECRET } from './environment.ts';
import type { SettingType } from './environment.ts';
import { samePair } from './provider-keys.ts';
import { cloudFrom, COMPAT, providerFrom, STRUCTURED_OUTPUT } from './providers.ts';
import { readRoutingOption } from './routing-file.ts';
import type { RoutingFile } from './routing-file.ts';
import { configFrom, loadConfig, placeOf, readSettings, SETTINGS, warnIfShort } from './settings.ts';
import type { Config, Setting } from './settings.ts';
import type { Source } from './source.ts';

/** Settings of a process, and what an embedder says instead. */
export const OF_A_PROCESS = {
  GATEWAY_ADDR: 'the address is given to listen',
  GATEWAY_AUTH_TOKEN: 'see callers',
  GATEWAY_AUTH_TOKENS: 'see callers',
  GATEWAY_COMPAT_BASE_URL: 'see providers',
  GATEWAY_COMPAT_NAME: 'see providers',
  GATEWAY_COMPAT_API_KEY: 'see providers',
  GATEWAY_COMPAT_API_KEYS: 'see providers',
  GATEWAY_COMPAT_STRUCTURED_OUTPUT: 'see providers',
  GATEWAY_CLOUDS: 'see providers',
  GATEWAY_LOG_FORMAT: 'see log',
  GATEWAY_WORKERS: 'a program has one process; start it several times behind a load balancer',
  GATEWAY_ROUTING_FILE: 'see routing',
} as const;

/** What is no setting. The functions among these are nobody's business here. */
const OTHER_OPTIONS = ['providers', 'callers', 'routing', 'fetch', 'log', 'authenticate'];
const PROVIDER_OPTIONS = ['key', 'keys', 'baseUrl', 'like', 'structuredOutput', 'environment'];

type Options = Readonly<Record<string, unknown>>;

export type LoadedOptions = {
  /** Undefined when there is a problem. */
  readonly config: Config | undefined;
  /** One line each, naming the path and what is expected. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
};

/** The option of a variable: `requestTimeout` of `GATEWAY_REQUEST_TIMEOUT`. */
export function optionOf(variable: string): string {
  return variable.replace(/^GATEWAY_/, '').toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The rows of the table that are options, by the name of the option. */
export function optionRows(): ReadonlyMap<string, Setting> {
  const rows = (SETTINGS as readonly Setting[]).filter(({ variable }) => !Object.hasOwn(OF_A_PROCESS, variable));
  return new Map(rows.map((row) => [optionOf(row.variable), row]));
}

/** The configuration that the options describe, or every problem with them at once. The rest is as for `loadConfig`. */
export function loadOptions(
  options: unknown,
  rows: readonly ProviderRow[],
  compatRow: (name: string) => ProviderRow,
  readFile: (path: string) => string,
): LoadedOptions {
  if (!isRecord(options)) return { config: undefined, problems: [`options: expected an object, got ${described(options)}`], warnings: [] };
  const source = new OptionSource(options, readFile);
  checkNames(source, options);
  checkFunctions(source, options);
  const settings = readSettings(source);
  const callers = callersFrom(source, options['callers']);
  const providers = providersFrom(source, options['providers'], rows, compatRow, { openAiApi: settings.openAiApi }, readFile);
  const { routing } = options;
  const routingFile = routing === undefined ? undefined : readRoutingOption(source, 'routing', routing);
  const providerNames = isRecord(options['providers']) ? Object.keys(options['providers']) : [];
  for (const name of routingFile?.providers.keys() ?? []) {
    if (!providerNames.includes(name)) routingFile?.complaints.problemAt(['providers', name], `is not among providers${routingFile.complaints.hint(name, providerNames)}`);
  }
  const routingFileName = routing === undefined ? undefined : 'routing';
  // Who calls is for `authenticate` to say, and for each call.
  const config = configFrom(source, settings, { callers, labels: undefined, providers, providerNames, routingFileName, routingFile }, readFile);
  return { config: source.problems.length === 0 ? config : undefined, problems: source.problems, warnings: source.warnings };
}

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

class OptionSource implements Source {
  readonly problems: string[] = [];
  readonly warnings: string[] = [];
  readonly #options: Options;
  readonly #readFile: (path: string) => string;

  constructor(options: Options, readFile: (path: string) => string) {
    this.#options = options;
    this.#readFile = readFile;
  }

  nameOf(variable: string): string {
    return optionOf(variable);
  }

  isSet(variable: string): boolean {
    return !Object.hasOwn(OF_A_PROCESS, variable) && (this.#valueOf(variable) ?? '') !== '';
  }

  read<T>(variable: string, type: SettingType<T>): T | undefined {
    return this.parse(this.nameOf(variable), this.#valueOf(variable), type);
  }

  /** A value that stands at `path`. */
  parse<T>(path: string, value: unknown, type: SettingType<T>): T | undefined {
    const text = textOf(value, type)?.trim();
    const parsed = text === undefined || text === '' ? undefined : type.parse(text);
    if (parsed !== undefined) return parsed;
    const given = text === undefined ? `, got ${described(value)}` : type.shown === 'always' ? `, got ${quoted(text)}` : '';
    this.problems.push(`${path}: expected ${type.expects}${type.takes === 'milliseconds' ? ', or milliseconds' : ''}${given}`);
    return undefined;
  }

  noteDefault(): void {}

  readFile(name: string, path: string): string | undefined {
    try {
      return this.#readFile(path);
    } catch {
      this.problems.push(`${name}: the file cannot be read`);
      return undefined;
    }
  }

  #valueOf(variable: string): unknown {
    // Those of a prototype count: an instance of a class is an object with options as well.
    return this.#options[this.nameOf(variable)];
  }
}

/** The value as it would be written in the environment; undefined where it is none that could be. */
function textOf(value: unknown, { takes, choices }: SettingType<unknown>): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return takes === 'boolean' ? String(value) : undefined;
  if (typeof value === 'number') {
    if (takes === 'number') return String(value);
    return takes === 'milliseconds' ? (value === 0 ? '0' : `${value}ms`) : undefined;
  }
  if (takes !== 'list' || !Array.isArray(value) || !value.every((item) => typeof item === 'string')) return undefined;
  // None of a few words has a word of its own, because an empty text is no text.
  return value.length === 0 && choices !== undefined ? 'none' : value.join(',');
}

function checkNames(source: Source, options: Options): void {
  const known = [...optionRows().keys(), ...OTHER_OPTIONS];
  const elsewhere = new Map(Object.entries(OF_A_PROCESS).map(([variable, advice]) => [optionOf(variable), advice]));
  refuseUnknown(source, '', options, known, (name) => elsewhere.get(name));
}

function refuseUnknown(source: Source, before: string, object: Options, known: readonly string[], advice: (name: string) => string | undefined = () => undefined): void {
  for (const name of Object.keys(object)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    const hint = advice(name) ?? (meant === undefined ? undefined : `did you mean ${meant}?`);
    source.problems.push(`${before}${shownName(name)}: there is no such option${hint === undefined ? '' : `; ${hint}`}`);
  }
}

function checkFunctions(source: Source, options: Options): void {
  for (const name of ['fetch', 'authenticate']) {
    const value = options[name];
    if (value !== undefined && typeof value !== 'function') source.problems.push(`${name}: expected a function, got ${described(value)}`);
  }
  const { log } = options;
  if (log === undefined) return;
  if (typeof log !== 'object' || log === null) {
    source.problems.push(`log: expected an object with ${LOG_LEVELS.join(', ')}, such as console, got ${described(log)}`);
    return;
  }
  for (const level of LOG_LEVELS) {
    const value: unknown = level in log ? log[level as keyof typeof log] : undefined;
    if (typeof value !== 'function') source.problems.push(`log.${level}: expected a function, got ${described(value)}`);
  }
}

/** A name that somebody made up, as a path shows it. */
function shownName(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) ? name : quoted(name);
}

/** Labels are shown, tokens never. */
function callersFrom(source: OptionSource, value: unknown): Config['callers'] {
  const callers: Config['callers'][number][] = [];
  for (const [label, token] of entriesOf(source, 'callers', value, 'a token by each label')) {
    // A label that is none could be a token in the wrong place.
    const path = isCallerLabel(label) ? `callers.${label}` : `callers, entry ${callers.length + 1}`;
    if (!isCallerLabel(label)) {
      source.problems.push(`${path}: expected ${CALLER_LABEL}`);
      continue;
    }
    const secret = source.parse(path, token, SECRET);
    if (secret === undefined) continue;
    const same = callers.find((caller) => caller.token.reveal() === secret.reveal());
    if (same !== undefined) source.problems.push(`${path}: has the same token as callers.${same.label}`);
    warnIfShort(source, path, secret);
    callers.push({ label, token: secret });
  }
  return callers;
}

function providersFrom(
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
    const read = given['environment'] === undefined ? providerOf : cloudOf;
    const provider = row === undefined ? undefined : read(source, path, row, given, settings, readFile);
    return provider === undefined ? [] : [provider];
  });
  return providers.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The row that says how the provider is spoken to, under the name that it was given. */
function rowOf(
  source: Source,
  path: string,
  name: string,
  like: unknown,
  rows: readonly ProviderRow[],
  compatRow: (name: string) => ProviderRow,
): ProviderRow | undefined {
  const model = like ?? name;
  if (model === COMPAT) return { ...compatRow(name), like: COMPAT };
  const row = rows.find((candidate) => candidate.name === model);
  if (row !== undefined) return { ...row, name, like: row.name };
  const known = [...rows.map((each) => each.name), COMPAT];
  const meant = typeof model === 'string' ? nearest(model, known) : undefined;
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  source.problems.push(
    like === undefined
      ? `${path}: there is no such provider${hint || "; another name needs like: 'openai', 'compat' or another that is known"}`
      : `${path}.like: expected the name of a known provider, or compat${hint}`,
  );
  return undefined;
}

function providerOf(source: OptionSource, path: string, row: ProviderRow, given: Options, settings: AdapterSettings): Provider | undefined {
  const problemsBefore = source.problems.length;
  const { baseUrl } = given;
  const keys = keysOf(source, path, given, row);
  if (baseUrl === undefined && row.defaultBaseUrl === undefined) source.problems.push(`${path}.baseUrl: required`);
  const root = baseUrl === undefined ? BASE_URL.parse(row.defaultBaseUrl ?? '') : source.parse(`${path}.baseUrl`, baseUrl, BASE_URL);
  const held = structuredOutputOf(source, path, row, given['structuredOutput']);
  if (root === undefined || source.problems.length > problemsBefore) return undefined;
  const own = held === undefined ? settings : { ...settings, structuredOutput: held };
  return providerFrom(source, row, { keys, root, place: `${path}.baseUrl` }, own);
}

/** One key, or several of one account. */
function keysOf(source: OptionSource, path: string, { key, keys }: Options, row: ProviderRow): readonly Secret[] {
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

/** A cloud, by variables as the makers' own SDKs read them. */
function cloudOf(source: OptionSource, path: string, row: ProviderRow, given: Options, settings: AdapterSettings, readFile: (path: string) => string): Provider | undefined {
  const variables = given['environment'];
  const problemsBefore = source.problems.length;
  if (row.cloud === undefined) source.problems.push(`${path}.environment: only of ${CLOUDS.join(', ')}`);
  if (given['baseUrl'] !== undefined) source.problems.push(`${path}.baseUrl: is said by ${path}.environment`);
  if (!isRecord(variables)) source.problems.push(`${path}.environment: expected an object of variables, got ${described(variables)}`);
  if (row.cloud === undefined || !isRecord(variables)) return undefined;
  const texts = Object.entries(variables).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const environment = new Environment(Object.fromEntries(texts), readFile);
  const keyVariable = row.keyVariables.find((variable) => environment.isSet(variable, SECRET));
  const isKeyGiven = given['key'] !== undefined || given['keys'] !== undefined;
  const key = isKeyGiven || keyVariable === undefined ? undefined : environment.read(keyVariable, SECRET);
  const keys = isKeyGiven ? keysOf(source, path, given, row) : key === undefined ? [] : [key];
  const hasKey = isKeyGiven || keyVariable !== undefined;
  const cloud = readCloud(row.cloud, { environment, row, hasKey, root: undefined, rootPlace: undefined, readFile });
  const held = structuredOutputOf(source, path, row, given['structuredOutput']);
  for (const problem of environment.problems) source.problems.push(`${path}.environment.${problem}`);
  for (const warning of environment.warnings) source.warnings.push(`${path}.environment.${warning}`);
  if (cloud === undefined || source.problems.length > problemsBefore) return undefined;
  const own = held === undefined ? settings : { ...settings, structuredOutput: held };
  return cloudFrom(source, row, { ...cloud, place: `${path}.environment.${cloud.place}` }, keys, own);
}

/** What the embedder says of the answers of a host, of which it is the operator that knows. */
function structuredOutputOf(source: OptionSource, path: string, row: ProviderRow, value: unknown): StructuredOutput | undefined {
  if (value === undefined) return undefined;
  if (row.structuredOutputVariable !== undefined) return source.parse(`${path}.structuredOutput`, value, STRUCTURED_OUTPUT);
  source.problems.push(`${path}.structuredOutput: only of hosts that speak Chat Completions`);
  return undefined;
}

function entriesOf(source: Source, path: string, value: unknown, expected: string): readonly (readonly [string, unknown])[] {
  if (value === undefined) return [];
  if (isRecord(value)) return Object.entries(value).filter(([, entry]) => entry !== undefined);
  source.problems.push(`${path}: expected ${expected}, got ${described(value)}`);
  return [];
}

function isRecord(value: unknown): value is Options {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Secret);
}

function described(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The options that the environment comes to, or every problem with it at once, by variable. */
export function loadEnvironmentOptions(
  variables: Readonly<Record<string, string | undefined>>,
  rows: readonly ProviderRow[],
  compatRow: (name: string) => ProviderRow,
  readFile: (path: string) => string,
): { readonly options: Options | undefined; readonly problems: readonly string[] } {
  const { config, problems, routingFile } = loadConfig(variables, rows, compatRow, readFile, { isEmbedded: true });
  if (config === undefined) return { options: undefined, problems };
  const environment = new Environment(variables, readFile);
  const options: Record<string, unknown> = {};
  for (const [name, row] of optionRows()) {
    const place = placeOf(environment, row);
    const found = place === undefined ? undefined : environment.find(place.variable, place.type);
    if (place === undefined || found === undefined) continue;
    const isPlain = place.type.takes === 'boolean' || (place.type.takes === 'number' && place.type.name === 'count');
    options[name] = isPlain ? place.type.parse(found.text) : found.text;
  }
  options['callers'] = veiled(Object.fromEntries(config.callers.map(({ label, token }) => [label, token.reveal()])), () => true);
  options['providers'] = Object.fromEntries(config.providers.map(({ name, keys, baseUrl }) => {
    const like = routingFile?.providers.get(name)?.like;
    const row = rows.find((candidate) => candidate.name === (like ?? name));
    // Of the compatible hosts only the one that has a variable for it says what it holds answers to.
    const variable = like === COMPAT ? undefined : (row ?? compatRow(name)).structuredOutputVariable;
    const held = variable === undefined ? undefined : environment.find(variable, STRUCTURED_OUTPUT)?.text;
    const cloud = row?.cloud === undefined ? undefined : environmentOf(variables, row.cloud);
    const secrets = keys.map(({ secret }) => secret.reveal());
    const given = {
      ...(secrets.length > 1 ? { keys: secrets } : { key: secrets[0] }),
      baseUrl: cloud === undefined ? baseUrl.href : undefined,
      like: like ?? (row === undefined ? COMPAT : undefined),
      structuredOutput: held,
      environment: cloud,
    };
    return [name, veiled(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)))];
  }));
  if (routingFile !== undefined) options['routing'] = routingOptionOf(routingFile);
  return { options: veiled(options), problems: environment.problems };
}

/** What of an environment concerns a cloud. */
function environmentOf(variables: Readonly<Record<string, string | undefined>>, cloud: CloudName): Options {
  return Object.fromEntries(Object.entries(variables).filter(([name, value]) => value !== undefined && CLOUD_VARIABLES[cloud].test(name)));
}

/** The file's content as an option: what it says of who the providers are stands among the providers. */
function routingOptionOf({ text, providers }: RoutingFile): Options {
  const bounded = [...providers].flatMap(([name, { concurrentMax }]) => (concurrentMax === undefined ? [] : [[name, { concurrent: concurrentMax }] as const]));
  return { ...(JSON.parse(text) as Options), providers: Object.fromEntries(bounded) };
}

const SECRET_OPTIONS = ['environment', 'key', 'keys', 'metricsToken', 'httpsProxy', 'httpProxy', 'limitsUrl'];

/** The options, whose secrets do not show where Node prints them, nor where they were spread into others. */
function veiled(options: Options, isSecret = (name: string): boolean => SECRET_OPTIONS.includes(name)): Options {
  return {
    ...options,
    [Symbol.for('nodejs.util.inspect.custom')](this: Options): Options {
      return Object.fromEntries(Object.entries(this).map(([name, value]) => [name, isSecret(name) ? '[set]' : value]));
    },
  };
}
