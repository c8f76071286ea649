/**
 * A valid configuration, and how it is made of settings, callers, providers and routes.
 *
 * Reads no file and no environment by itself, and knows no provider: all are handed in.
 */

import { renderDuration } from '../base/duration.ts';
import type { ProxyAddress } from '../base/proxy-address.ts';
import type { Secret } from '../base/secret.ts';
import type { Provider, ProviderRow } from '../core/adapter.ts';
import { CALLER_LABEL, DEFAULT_CALLER, isCallerLabel } from '../core/caller.ts';
import type { Routing } from '../core/route.ts';
import { certificateFrom } from './certificate.ts';
import type { Certificate } from './certificate.ts';
import { connectionsMaxFrom } from './descriptors.ts';
import { Environment } from './environment.ts';
import type { EffectiveValue } from './environment.ts';
import { createMask, quoted } from './masking.ts';
import { readProviders } from './providers.ts';
import type { Registered } from './providers.ts';
import { readRoutingFile } from './routing-file.ts';
import type { RoutingFile } from './routing-file.ts';
import { routingFrom } from './routing.ts';
import { BOOLEAN, SECRET } from './setting-types.ts';
import { readSettings } from './settings.ts';
import type { Settings } from './settings.ts';
import type { Source } from './source.ts';
import { unknownVariables } from './unknown-variables.ts';

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
  /** Undefined = plain HTTP. */
  readonly tls: Certificate | undefined;
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
  checkVerification(environment);
  const { problems, warnings } = environment;
  // A token in the place of a label, or a key in that of a name, is not shown either.
  const masked = createMask([...callers.map(({ token }) => token), ...environment.secrets]);
  return {
    config: problems.length === 0 ? config : undefined,
    // What providers have in common is wrong for each of them.
    problems: [...new Set(problems)].map(masked),
    warnings: warnings.map(masked),
    unknownVariables: unknownVariables(environment),
    effective: environment.effective.map((each) => ({ ...each, value: masked(each.value) })),
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
    tls: certificateFrom(source, tlsCertFile, tlsKeyFile),
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

/** Callers in the order they were given. Places are named by number: a label could be a token in the wrong place. */
function callersFrom(environment: Environment, token: Secret | undefined, entries: readonly string[], { isRequired }: { readonly isRequired: boolean }): Config['callers'] {
  const callers = token === undefined ? [] : [{ label: DEFAULT_CALLER, token, place: 'GATEWAY_AUTH_TOKEN' }];
  // Looked up by name: a file may have thousands.
  const placeOfLabel = new Map(callers.map(({ label, place }) => [label, place]));
  const placeOfToken = new Map(callers.map((caller) => [caller.token.reveal(), caller.place]));
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
    const [sameLabel, sameToken] = [placeOfLabel.get(label), placeOfToken.get(text)];
    if (sameLabel === undefined) placeOfLabel.set(label, place);
    else environment.problems.push(`${place}: has the same label as ${sameLabel}`);
    if (sameToken === undefined) placeOfToken.set(text, place);
    else environment.problems.push(`${place}: has the same token as ${sameToken}`);
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
function checkVerification(environment: Environment): void {
  if (environment.find('NODE_TLS_REJECT_UNAUTHORIZED', BOOLEAN)?.text !== '0') return;
  environment.problems.push(
    'NODE_TLS_REJECT_UNAUTHORIZED: 0 would hand keys to whoever answers; remove it, and name the authority of a private certificate in NODE_EXTRA_CA_CERTS',
  );
}
