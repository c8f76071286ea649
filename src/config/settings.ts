/**
 * Every setting, once: the table below is the parser, the default, the type, the start-up messages, `--help` and the
 * README. A new setting is a new row; what it fills is then a field of `Config`.
 *
 * Reads no file and no environment by itself, and knows no provider: all are handed in.
 */

import { createSecureContext } from 'node:tls';
import type { SecureContextOptions } from 'node:tls';
import { renderDuration } from '../base/duration.ts';
import { LOG_LEVELS } from '../base/log.ts';
import { nearest } from '../base/nearest.ts';
import type { ProxyAddress } from '../base/proxy-address.ts';
import { Secret } from '../base/secret.ts';
import type { Provider, ProviderRow } from '../core/adapter.ts';
import { CALLER_LABEL, DEFAULT_CALLER, isCallerLabel } from '../core/caller.ts';
import type { Routing } from '../core/route.ts';
import { CLOUDS } from './clouds.ts';
import { connectionsMaxFrom } from './descriptors.ts';
import { ADDRESS, BASE_URL, BOOLEAN, DELAY, DURATION, ENGINE_URL, Environment, HOSTS, INTERVAL, KEY_LIST, NETWORKS, ORIGINS, PATH, PORT } from './environment.ts';
import { PROVIDER_NAME, PROXY_URL, SECRET, SECRET_LIST, WORKERS, count, createMask, quoted, size, someOf, word } from './environment.ts';
import type { EffectiveValue, SettingType } from './environment.ts';
import { COMPAT, readProviders, STRUCTURED_OUTPUT } from './providers.ts';
import type { Registered } from './providers.ts';
import { readRoutingFile } from './routing-file.ts';
import type { RoutingFile } from './routing-file.ts';
import { CALLER_LIMITS, ROUTES } from './routing-variables.ts';
import { routingFrom } from './routing.ts';
import type { Source } from './source.ts';

export type Setting = {
  readonly variable: string;
  /** Another variable, honoured where this one is absent. */
  readonly alternative?: { readonly variable: string; readonly type: SettingType<unknown> };
  /** What it fills: a field of the same name in `Config`, or one that is put together from several. */
  readonly field: string;
  readonly type: SettingType<unknown>;
  /** As an operator would write it; undefined = none. */
  readonly default: string | undefined;
  /** What tables say instead of a default. */
  readonly absence?: string;
  readonly meaning: string;
};

/** Every variable but those of the providers, which come with their rows. */
export const SETTINGS = [
  { variable: 'GATEWAY_ADDR', field: 'listen', type: ADDRESS, default: ':8080',
    alternative: { variable: 'PORT', type: PORT },
    meaning: 'Where to listen: `host:port`, `:port`, `[ipv6]:port` or `unix:/path`; where absent, a `PORT` set by a platform counts.' },
  { variable: 'GATEWAY_AUTH_TOKEN', field: 'authToken', type: SECRET, default: undefined, absence: 'required',
    meaning: 'The token of callers, labelled `default`. May be absent when `GATEWAY_AUTH_TOKENS` is set.' },
  { variable: 'GATEWAY_AUTH_TOKENS', field: 'authTokens', type: SECRET_LIST, default: undefined,
    meaning: 'More tokens: `label:token,label:token`, or one a line. Labels show in logs and metrics, tokens never.' },
  { variable: 'GATEWAY_DEFAULT_PROVIDER', field: 'defaultProvider', type: PROVIDER_NAME, default: undefined, absence: 'first by name',
    meaning: 'Serves the requests that name no provider; in the format of another maker only where it speaks that or the maker is not configured.' },
  { variable: 'GATEWAY_COMPAT_BASE_URL', field: 'providers', type: BASE_URL, default: undefined,
    meaning: 'Registers one more OpenAI-compatible host.' },
  { variable: 'GATEWAY_COMPAT_NAME', field: 'compatName', type: PROVIDER_NAME, default: COMPAT,
    meaning: 'The name of that host in requests.' },
  { variable: 'GATEWAY_COMPAT_API_KEY', field: 'providers', type: SECRET, default: undefined,
    meaning: 'The key of that host, where it needs one.' },
  { variable: 'GATEWAY_COMPAT_API_KEYS', field: 'providers', type: KEY_LIST, default: undefined,
    meaning: 'Several keys of one account at that host, instead.' },
  { variable: 'GATEWAY_COMPAT_STRUCTURED_OUTPUT', field: 'providers', type: STRUCTURED_OUTPUT, default: 'schema',
    meaning: 'What that host holds answers to when asked: a JSON schema (and calls to the parameters of strict tools), any JSON, nothing. What it does not is `unsupported`.' },
  { variable: 'GATEWAY_CLOUDS', field: 'clouds', type: someOf(...CLOUDS), default: 'none',
    meaning: 'Clouds that are called by other credentials than keys: roles, identities, files of accounts. Such variables lie about on many machines, so nothing is registered by them alone.' },
  { variable: 'GATEWAY_REQUEST_TIMEOUT', field: 'requestTimeoutMs', type: DURATION, default: '10m',
    meaning: 'A whole answer that is not streamed, or a model list, retries and waits included.' },
  { variable: 'GATEWAY_CONNECT_TIMEOUT', field: 'connectTimeoutMs', type: DURATION, default: '10s',
    meaning: 'Connecting to a provider: name lookup, TCP and TLS.' },
  { variable: 'GATEWAY_ATTEMPT_TIMEOUT', field: 'attemptTimeoutMs', type: DURATION, default: '10m',
    meaning: 'One attempt; of a stream, until its first event.' },
  { variable: 'GATEWAY_STREAM_IDLE_TIMEOUT', field: 'streamIdleTimeoutMs', type: DURATION, default: '5m',
    meaning: 'The longest silence of a provider inside a stream.' },
  { variable: 'GATEWAY_STREAM_TIMEOUT', field: 'streamTimeoutMs', type: DURATION, default: '1h',
    meaning: 'A whole stream.' },
  { variable: 'GATEWAY_MAX_RETRIES', field: 'retriesMax', type: count(0, 100), default: '3',
    meaning: 'Retries after the first attempt.' },
  { variable: 'GATEWAY_RETRY_BASE_DELAY', field: 'retryBaseDelayMs', type: DELAY, default: '500ms',
    meaning: 'The longest wait before the first retry; doubles with each retry.' },
  { variable: 'GATEWAY_RETRY_MAX_DELAY', field: 'retryMaxDelayMs', type: DELAY, default: '30s',
    meaning: 'The longest wait before any retry, unless the provider asks for more.' },
  { variable: 'GATEWAY_RETRY_AFTER_CAP', field: 'retryAfterCapMs', type: DELAY, default: '5m',
    meaning: 'The longest wait a provider may ask for; beyond it the failure is returned at once.' },
  { variable: 'GATEWAY_HEARTBEAT_INTERVAL', field: 'heartbeatIntervalMs', type: INTERVAL, default: '15s',
    meaning: 'A comment is sent after so long without an event in a stream; `0` or negative = off.' },
  { variable: 'GATEWAY_MAX_CONCURRENT', field: 'concurrentMax', type: count(1, 1_000_000), default: undefined, absence: 'unlimited',
    meaning: 'Chats, counts of tokens and model lists in flight, each until its answer was taken; beyond it callers get 429 with `Retry-After`.' },
  { variable: 'GATEWAY_MAX_CONNECTIONS', field: 'connectionsMax', type: count(1, 1_000_000), default: undefined,
    absence: 'from the descriptor limit',
    meaning: "Callers' connections; more are closed at once. By default half of the process's descriptors (`ulimit -n`, less 48 for itself), so that each chat has one for its provider; unlimited where that cannot be read." },
  // A body becomes one string, and strings end at 512 Mi characters.
  { variable: 'GATEWAY_MAX_BODY_BYTES', field: 'bodyBytesMax', type: size(256 * 1024 * 1024), default: '16MiB',
    meaning: 'The largest request body.' },
  { variable: 'GATEWAY_ALLOWED_ORIGINS', field: 'allowedOrigins', type: ORIGINS, default: '',
    meaning: 'Web origins whose pages may call (CORS), e.g. `https://app.example.com`; separated by commas.' },
  { variable: 'GATEWAY_METRICS', field: 'isMetricsEnabled', type: BOOLEAN, default: 'true',
    meaning: 'Whether `/metrics` is there.' },
  { variable: 'GATEWAY_METRICS_TOKEN', field: 'metricsToken', type: SECRET, default: undefined,
    meaning: 'The token that `/metrics` asks for; without it, it asks for none.' },
  { variable: 'GATEWAY_INCLUDE_RAW', field: 'includesRaw', type: BOOLEAN, default: 'false',
    meaning: "Adds the provider's untouched body to replies of `/v1/chat`, as `raw`." },
  { variable: 'GATEWAY_FORWARD_ERROR_MESSAGES', field: 'forwardsErrorMessages', type: BOOLEAN, default: 'false',
    meaning: "Adds the provider's own words to errors, cut and with keys masked. They can repeat parts of prompts." },
  { variable: 'GATEWAY_DRAIN_DELAY', field: 'drainDelayMs', type: DELAY, default: '2s',
    meaning: 'On SIGTERM or SIGINT: from unready until the listener closes.' },
  { variable: 'GATEWAY_SHUTDOWN_GRACE', field: 'shutdownGraceMs', type: DELAY, default: '30s',
    meaning: 'Then: how long work in flight may take. Streams that are left get an `error` event.' },
  { variable: 'GATEWAY_LOG_LEVEL', field: 'logLevel', type: word(...LOG_LEVELS), default: 'info',
    meaning: 'The least level that is logged.' },
  { variable: 'GATEWAY_LOG_FORMAT', field: 'logFormat', type: word('json', 'text'), default: 'json',
    meaning: '`text` is for people.' },
  { variable: 'GATEWAY_LOG_ADDRESS', field: 'logsAddress', type: BOOLEAN, default: 'true',
    meaning: "Adds the caller's address to its log line." },
  { variable: 'GATEWAY_TRUSTED_PROXIES', field: 'trustedProxies', type: NETWORKS, default: '',
    meaning: 'Addresses and networks of your proxies, separated by commas; only these may name the caller, by `Forwarded` or `X-Forwarded-For`.' },
  { variable: 'GATEWAY_TRANSPORT', field: 'transport', type: word('http', 'fetch', 'wire'), default: 'wire',
    meaning: '`wire` calls providers with an HTTP client of the gateway\'s own; `http` with node:http, for more CPU; `fetch` with the built-in fetch, which has time limits of its own.' },
  { variable: 'GATEWAY_WRITE_STALL_TIMEOUT', field: 'writeStallTimeoutMs', type: DURATION, default: '60s',
    meaning: 'A caller who takes nothing of its answer for so long is cut off.' },
  { variable: 'GATEWAY_TLS_CERT_FILE', field: 'tlsCertFile', type: PATH, default: undefined,
    meaning: 'A PEM certificate with its chain: the gateway then serves HTTPS.' },
  { variable: 'GATEWAY_TLS_KEY_FILE', field: 'tlsKeyFile', type: PATH, default: undefined,
    meaning: "The certificate's private key, PEM." },
  { variable: 'GATEWAY_PROPAGATE_TRACE', field: 'propagatesTrace', type: BOOLEAN, default: 'false',
    meaning: "Passes the caller's `traceparent` on to providers." },
  { variable: 'HTTPS_PROXY', field: 'httpsProxy', type: PROXY_URL, default: undefined,
    alternative: { variable: 'https_proxy', type: PROXY_URL },
    meaning: 'The proxy for calls to providers over https. Lower case counts too, here and below.' },
  { variable: 'HTTP_PROXY', field: 'httpProxy', type: PROXY_URL, default: undefined,
    alternative: { variable: 'http_proxy', type: PROXY_URL },
    meaning: 'The proxy for calls to providers over http.' },
  { variable: 'NO_PROXY', field: 'noProxy', type: HOSTS, default: '',
    alternative: { variable: 'no_proxy', type: HOSTS },
    meaning: 'Called without a proxy: hosts and their subdomains, also `host:port` and IP addresses, or `*`; separated by commas.' },
  { variable: 'GATEWAY_DIALECTS', field: 'dialects', type: someOf('openai-chat', 'openai-responses', 'anthropic'), default: 'openai-chat,openai-responses,anthropic',
    meaning: "The formats of other makers that are served beside the gateway's own; `none` = none. The paths of the others are unknown." },
  { variable: 'GATEWAY_MODEL_PREFIXES', field: 'takesModelPrefixes', type: BOOLEAN, default: undefined, absence: 'only in the formats of other makers',
    meaning: 'Whether `provider/model` as a model asks that provider, where there is one of that name.' },
  { variable: 'GATEWAY_ROUTES', field: 'routes', type: ROUTES, default: undefined,
    meaning: 'Names that stand for targets, in order of preference: `name=provider/model,provider/model;name=…`. The next is asked where one fails.' },
  { variable: 'GATEWAY_CALLER_LIMITS', field: 'callerLimits', type: CALLER_LIMITS, default: undefined,
    meaning: 'What callers may use, by label: requests and tokens a minute, tokens a day, requests in flight: `label:rpm=60,tpm=100000,tpd=5000000,concurrent=8;label:…`. `*` = those without limits of their own.' },
  { variable: 'GATEWAY_ROUTING_FILE', field: 'routingFile', type: PATH, default: undefined,
    meaning: 'A JSON file with routes, callers\' rules and more of providers, in place of `GATEWAY_ROUTES`, `GATEWAY_CALLER_LIMITS` and `GATEWAY_MODEL_PREFIXES`. SIGHUP reads it again.' },
  { variable: 'GATEWAY_RELAY_STORED', field: 'relaysStored', type: BOOLEAN, default: 'false',
    meaning: 'With several callers: whether requests may refer to what is stored at the provider, which another caller may have stored.' },
  { variable: 'GATEWAY_LIMITS_URL', field: 'limitsEngine', type: ENGINE_URL, default: undefined,
    meaning: "A Redis or Valkey (5 or newer) in which several gateways keep callers' limits together: `redis://[user:password@]host[:6379][/0]`, or `rediss://` for TLS. Without it, or while it is away, each process keeps its own." },
  { variable: 'GATEWAY_WORKERS', field: 'workers', type: WORKERS, default: '1',
    meaning: 'Processes that serve, on one address, with one `/metrics`; `auto` = as many as cores. `GATEWAY_MAX_CONCURRENT` and `GATEWAY_MAX_CONNECTIONS` are divided among them, rounded up.' },
  { variable: 'OPENAI_API', field: 'openAiApi', type: word('auto', 'chat', 'responses'), default: 'auto',
    meaning: 'Which API serves `openai`: Chat Completions, Responses, or by model and request.' },
] as const satisfies readonly Setting[];

/** A row of the table. */
export type SettingRow = (typeof SETTINGS)[number];
type Row = Exclude<SettingRow, { readonly field: 'providers' }>;
type ValueOf<R extends Row> = R['type'] extends SettingType<infer T> ? (R['default'] extends string ? T : T | undefined) : never;

/** What the rows say, one by one. Those of field `providers` are read with their provider. */
export type Settings = { readonly [R in Row as R['field']]: ValueOf<R> };

/** Fields from which others are put together. */
type Ingredient =
  | 'authToken'
  | 'authTokens'
  | 'defaultProvider'
  | 'clouds'
  | 'compatName'
  | 'openAiApi'
  | 'routes'
  | 'callerLimits'
  | 'routingFile'
  | 'tlsCertFile'
  | 'tlsKeyFile'
  | 'httpsProxy'
  | 'httpProxy'
  | 'noProxy';

/** A valid configuration: the fields that the table names, and these. Of what workers divide, it has the part of one. */
export type Config = Omit<Settings, Ingredient> & {
  /** At least one, unless a program embeds the gateway; labels and tokens are unique. */
  readonly callers: readonly { readonly label: string; readonly token: Secret }[];
  /** At least one; sorted by name, names are unique. */
  readonly providers: readonly Provider[];
  /** The name of one of them. */
  readonly defaultProvider: string;
  /** Whether the operator chose it, rather than the alphabet. */
  readonly isDefaultChosen: boolean;
  /** In PEM, and a pair that OpenSSL takes; undefined = plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: Secret } | undefined;
  readonly proxy: {
    readonly httpsProxy: ProxyAddress | undefined;
    readonly httpProxy: ProxyAddress | undefined;
    /** Lower case. */
    readonly noProxy: readonly string[];
  };
  /** Whom a request may be served by, and what its caller may use. */
  readonly routing: Routing;
};

export type LoadedConfig = {
  /** Undefined when there is a problem. */
  readonly config: Config | undefined;
  /** One line each, naming the variable and what is expected; no secret is ever shown. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** `GATEWAY_` variables that mean nothing here: platforms inject some, and people mistype others. */
  readonly unknownVariables: readonly string[];
  readonly effective: readonly EffectiveValue[];
  /** The content of the routing file, as far as it makes sense; undefined where there is none. */
  readonly routingFile: RoutingFile | undefined;
  /** Where the settings of the providers come from, by name. */
  readonly origins: Registered['origins'];
};

/** Shorter tokens can be guessed. */
const TOKEN_CHARS_MIN = 16;

/**
 * The configuration that the variables describe, or every problem with it at once. `rows` are the known providers,
 * `compatRow` gives one for the operator's own host, `readFile` returns a file's text or throws an error with a `code`.
 * A program that embeds the gateway need not have callers that send tokens: it may be the only one, or tell them apart itself.
 */
export function loadConfig(
  variables: Readonly<Record<string, string | undefined>>,
  rows: readonly ProviderRow[],
  compatRow: (name: string) => ProviderRow,
  readFile: (path: string) => string,
  { isEmbedded = false }: { readonly isEmbedded?: boolean } = {},
): LoadedConfig {
  const environment = new Environment(variables, readFile);
  const settings = readSettings(environment);
  const callers = callersFrom(environment, settings.authToken, settings.authTokens ?? [], { isRequired: !isEmbedded });
  const routingFile = settings.routingFile === undefined ? undefined : readRoutingFile(environment, 'GATEWAY_ROUTING_FILE', settings.routingFile);
  const known = [...rows, compatRow(settings.compatName)];
  const registered = readProviders(environment, known, compatRow, routingFile, { openAiApi: settings.openAiApi }, { listed: settings.clouds, readFile });
  const labels = isEmbedded ? undefined : callers.map(({ label }) => label);
  const routingFileName = settings.routingFile === undefined ? undefined : 'GATEWAY_ROUTING_FILE';
  const config = configFrom(environment, settings, { callers, labels, ...registered, routingFileName, routingFile }, readFile);
  checkVerification(environment, variables);
  const { problems, warnings } = environment;
  // A token in the place of a label, or a key in that of a name, is not shown either.
  const masked = createMask([...callers.map(({ token }) => token), ...config.providers.flatMap(({ keys }) => keys.map(({ secret }) => secret))]);
  return {
    config: problems.length === 0 ? config : undefined,
    // What providers have in common is wrong for each of them.
    problems: [...new Set(problems)].map(masked),
    warnings: warnings.map(masked),
    unknownVariables: unknownVariables(environment),
    effective: environment.effective,
    routingFile,
    origins: registered.origins,
  };
}

/** What a configuration is made of beside its settings. */
export type Parties = Omit<Registered, 'origins'> & {
  readonly callers: Config['callers'];
  /** Every caller there can be; undefined where a program names its callers as it likes. */
  readonly labels: readonly string[] | undefined;
  /** What the setting is called that has the routing file; undefined where it is not set. */
  readonly routingFileName: string | undefined;
  /** Undefined also where the file makes no sense. */
  readonly routingFile: RoutingFile | undefined;
};

/** What the settings come to, once they were read; what is wrong or odd only in combination is among the source's problems. */
export function configFrom(source: Source, settings: Settings, parties: Parties, readFile: (path: string) => string): Config {
  const {
    authToken, authTokens, clouds, defaultProvider, compatName, openAiApi, tlsCertFile, tlsKeyFile, httpsProxy, httpProxy, noProxy,
    routes, callerLimits, routingFile: _, ...fields
  } = settings;
  const { callers, providers, routingFile } = parties;
  const connectionsWanted = partOf(fields.connectionsMax, fields.workers);
  const connectionsAllowed = connectionsMaxFrom(readFile);
  const config: Config = {
    ...fields,
    takesModelPrefixes: routingFile?.takesModelPrefixes ?? fields.takesModelPrefixes,
    concurrentMax: partOf(fields.concurrentMax, fields.workers),
    // What the descriptors allow, each process has for itself.
    connectionsMax: connectionsWanted ?? connectionsAllowed,
    callers,
    providers,
    defaultProvider: defaultProviderFrom(source, defaultProvider, providers),
    isDefaultChosen: defaultProvider !== undefined,
    tls: tlsFrom(source, tlsCertFile, tlsKeyFile),
    proxy: { httpsProxy, httpProxy, noProxy },
    routing: routingFrom(source, { routes, callerLimits }, parties, {
      providers: [...parties.providerNames].sort(),
      labels: parties.labels,
      retriesMax: fields.retriesMax,
      retriesName: source.nameOf('GATEWAY_MAX_RETRIES'),
      attemptTimeoutMs: fields.attemptTimeoutMs,
      attemptTimeoutName: source.nameOf('GATEWAY_ATTEMPT_TIMEOUT'),
    }),
  };
  checkTogether(source, config);
  if (connectionsWanted !== undefined && connectionsAllowed !== undefined && connectionsWanted > connectionsAllowed) {
    // Node closes what it has no descriptor for without a word, and nothing counts it.
    const place = source.nameOf('GATEWAY_MAX_CONNECTIONS');
    source.warnings.push(`${place}: ${connectionsWanted} connections of a process take the descriptors of its calls to providers; raise ulimit -n, which is enough for ${connectionsAllowed}`);
  }
  return config;
}

/** What each of several gets, together no less than there is. */
function partOf(max: number | undefined, workers: number): number | undefined {
  return max === undefined ? undefined : Math.ceil(max / workers);
}

/** Every field of the table. In place of a bad value stands the default, so that the rest can be checked too. */
export function readSettings(source: Source): Settings {
  const values: Record<string, unknown> = {};
  for (const row of SETTINGS as readonly Setting[]) {
    if (row.field !== 'providers') values[row.field] = readSetting(source, row);
  }
  // The loop gives each field what its row's type parses, which is how `Settings` is derived.
  return values as Settings;
}

function readSetting(source: Source, row: Setting): unknown {
  const place = placeOf(source, row);
  if (place === undefined) source.noteDefault(row.variable, row.default);
  const value = place === undefined ? undefined : source.read(place.variable, place.type);
  return value ?? (row.default === undefined ? undefined : row.type.parse(row.default));
}

/** Where a setting is set: in its variable, or in the one that is honoured where this is absent. */
export function placeOf(source: Source, row: Setting): { readonly variable: string; readonly type: SettingType<unknown> } | undefined {
  return [row, row.alternative].find((place) => place !== undefined && source.isSet(place.variable, place.type));
}

/** Callers in the order they were given. Places are named by number: a label could be a token in the wrong place. */
function callersFrom(environment: Environment, token: Secret | undefined, entries: readonly string[], { isRequired }: { readonly isRequired: boolean }): Config['callers'] {
  const callers = token === undefined ? [] : [{ label: DEFAULT_CALLER, token, place: 'GATEWAY_AUTH_TOKEN' }];
  for (const [index, entry] of entries.entries()) {
    const place = `GATEWAY_AUTH_TOKENS, entry ${index + 1}`;
    const [, label = '', text = ''] = /^([^\s:]+)\s*:\s*(.+)$/.exec(entry) ?? [];
    const entryToken = SECRET.parse(text);
    if (!isCallerLabel(label) || entryToken === undefined) {
      environment.problems.push(
        `${place}: expected label:token, ${CALLER_LABEL} and a token of ${SECRET.expects}`,
      );
      continue;
    }
    const sameLabel = callers.find((caller) => caller.label === label);
    if (sameLabel !== undefined) environment.problems.push(`${place}: has the same label as ${sameLabel.place}`);
    const sameToken = callers.find((caller) => caller.token.reveal() === text);
    if (sameToken !== undefined) environment.problems.push(`${place}: has the same token as ${sameToken.place}`);
    callers.push({ label, token: entryToken, place });
  }
  for (const caller of callers) warnIfShort(environment, caller.place, caller.token);
  if (isRequired && callers.length === 0 && !environment.problems.some((problem) => problem.startsWith('GATEWAY_AUTH_TOKEN'))) {
    environment.problems.push('GATEWAY_AUTH_TOKEN: required; choose the token that callers must send, e.g. with: openssl rand -hex 32');
  }
  return callers.map(({ label, token: secret }) => ({ label, token: secret }));
}

export function warnIfShort(source: Source, place: string, token: Secret): void {
  if (token.reveal().length < TOKEN_CHARS_MIN) {
    source.warnings.push(`${place}: the token has fewer than ${TOKEN_CHARS_MIN} characters and can be guessed`);
  }
}

function defaultProviderFrom(source: Source, wanted: string | undefined, providers: readonly Provider[]): string {
  const names = providers.map((provider) => provider.name);
  const [first] = names;
  // Without any provider there is a problem already, and no name to choose from.
  if (first === undefined || wanted === undefined) return first ?? '';
  if (!names.includes(wanted)) {
    source.problems.push(`${source.nameOf('GATEWAY_DEFAULT_PROVIDER')}: expected a configured provider (${names.join(', ')}), got ${quoted(wanted)}`);
  }
  return wanted;
}

function tlsFrom(source: Source, certFile: string | undefined, keyFile: string | undefined): Config['tls'] {
  const { problems } = source;
  if (certFile === undefined && keyFile === undefined) return undefined;
  const [certName, keyName] = [source.nameOf('GATEWAY_TLS_CERT_FILE'), source.nameOf('GATEWAY_TLS_KEY_FILE')];
  if (keyFile === undefined) problems.push(`${keyName}: required, because ${certName} is set`);
  if (certFile === undefined) problems.push(`${certName}: required, because ${keyName} is set`);
  const cert = readPem(source, certName, certFile, 'a certificate', (pem) => ({ cert: pem }));
  const key = readPem(source, keyName, keyFile, 'a private key without a passphrase', (pem) => ({ key: pem }));
  if (cert === undefined || key === undefined) return undefined;
  if (!isSecureContext({ cert, key })) problems.push(`${keyName}: is not the key of the certificate in ${certName}`);
  return { cert, key: new Secret(key) };
}

/** The file's text; undefined when OpenSSL does not take it, which is then among the problems. */
function readPem(
  source: Source,
  name: string,
  path: string | undefined,
  expects: string,
  contextOf: (pem: string) => SecureContextOptions,
): string | undefined {
  const pem = path === undefined ? undefined : source.readFile(name, path);
  if (pem === undefined) return undefined;
  // An empty text would count as absent.
  if (pem !== '' && isSecureContext(contextOf(pem))) return pem;
  source.problems.push(`${name}: expected ${expects} in PEM`);
  return undefined;
}

function isSecureContext(options: SecureContextOptions): boolean {
  try {
    createSecureContext(options);
    return true;
  } catch {
    return false;
  }
}

/** What is wrong or odd only in combination. */
function checkTogether(source: Source, config: Config): void {
  const { problems, warnings } = source;
  const name = (variable: string): string => source.nameOf(variable);
  if (config.retryBaseDelayMs > config.retryMaxDelayMs) {
    const [base, max] = [renderDuration(config.retryBaseDelayMs), renderDuration(config.retryMaxDelayMs)];
    problems.push(`${name('GATEWAY_RETRY_BASE_DELAY')}: expected no more than ${name('GATEWAY_RETRY_MAX_DELAY')}, which is ${max}, got ${base}`);
  }
  if (config.metricsToken !== undefined) {
    warnIfShort(source, name('GATEWAY_METRICS_TOKEN'), config.metricsToken);
    if (!config.isMetricsEnabled) warnings.push(`${name('GATEWAY_METRICS_TOKEN')}: has no effect while ${name('GATEWAY_METRICS')} is false`);
  }
  if (!config.logsAddress && config.trustedProxies.rules.length > 0) {
    warnings.push(`${name('GATEWAY_TRUSTED_PROXIES')}: has no effect while ${name('GATEWAY_LOG_ADDRESS')} is false`);
  }
  if (config.limitsEngine !== undefined && ![...config.routing.callers.values()].some(({ limits }) => limits !== undefined)) {
    warnings.push(`${name('GATEWAY_LIMITS_URL')}: has no effect, because no caller has a limit`);
  }
  for (const rule of config.proxy.noProxy) {
    if (rule.includes('/')) warnings.push(`${name('NO_PROXY')}: ${quoted(rule)} exempts nothing: networks are not understood, list hosts`);
  }
  if (config.transport === 'fetch') {
    warnings.push(`${name('GATEWAY_TRANSPORT')}: fetch gives up after 10s of connecting and 300s of silence, even where longer timeouts are set`);
    if (config.proxy.httpsProxy !== undefined || config.proxy.httpProxy !== undefined) {
      warnings.push(`${name('GATEWAY_TRANSPORT')}: fetch does not use ${name('HTTPS_PROXY')} and ${name('HTTP_PROXY')}`);
    }
  }
}

/** Node's own variable, which it obeys wherever nothing else is said; `fetch` has no way of saying it. */
function checkVerification(environment: Environment, variables: Readonly<Record<string, string | undefined>>): void {
  if (variables['NODE_TLS_REJECT_UNAUTHORIZED']?.trim() !== '0') return;
  environment.problems.push(
    'NODE_TLS_REJECT_UNAUTHORIZED: 0 would hand keys to whoever answers; remove it, and name the authority of a private certificate in NODE_EXTRA_CA_CERTS',
  );
}

const PREFIX = 'GATEWAY_';
/** Other words for a setting than its own. */
const OTHER_WORDS: Readonly<Record<string, string>> = { ADDRESS: 'GATEWAY_ADDR', HOST: 'GATEWAY_ADDR', PORT: 'GATEWAY_ADDR' };

/** The setting that a name was probably meant to be: one that the word is a part of, or else the nearest, without what all begin with. */
function meantBy(name: string, known: readonly string[]): string | undefined {
  const word = name.slice(PREFIX.length);
  if (Object.hasOwn(OTHER_WORDS, word)) return OTHER_WORDS[word];
  const whole = known.find((variable) => `_${variable}_`.includes(`_${word}_`));
  if (whole !== undefined) return whole;
  const words = known.map((variable) => (variable.startsWith(PREFIX) ? variable.slice(PREFIX.length) : variable));
  const near = nearest(word, words);
  return near === undefined ? undefined : known[words.indexOf(near)];
}

function unknownVariables(environment: Environment): string[] {
  const known = (SETTINGS as readonly Setting[]).flatMap(({ variable, type }) =>
    type.shown === 'never' ? [variable, `${variable}_FILE`] : [variable],
  );
  // The routing file names variables of keys as it likes.
  const read = environment.effective.flatMap(({ variable, value }) => (value === '[set]' ? [variable, `${variable}_FILE`] : []));
  const unknown = environment.names().filter((name) => name.startsWith(PREFIX) && !known.includes(name) && !read.includes(name));
  return unknown.map((name) => {
    const meant = meantBy(name, known);
    return `${/^\w+$/.test(name) ? name : quoted(name)}: there is no such setting${meant === undefined ? '' : `; did you mean ${meant}?`}`;
  });
}
