/** What an embedder passes, and what the environment comes to as options. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { loadConfig } from '../../src/config/config.ts';
import type { Config } from '../../src/config/config.ts';
import { loadEnvironmentOptions } from '../../src/config/environment-options.ts';
import { fixedDifferences, fixedOptions } from '../../src/config/fixed-options.ts';
import { OF_A_PROCESS, optionOf, optionRows } from '../../src/config/option-source.ts';
import { loadOptions } from '../../src/config/options.ts';
import type { LoadedOptions } from '../../src/config/options.ts';
import { secretsOf } from '../../src/config/secrets.ts';
import { changesBetween, changesLeft, problemFields, withReloaded } from '../../src/config/reload.ts';
import type { SettingOptions } from '../../src/config/setting-options.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import type { Setting, SettingRow } from '../../src/config/settings.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import type { CallerOptions, RouteOptions, RoutingOptions, TargetOptions } from '../../src/embedded/types.ts';
import { readPage } from '../readme.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { OPTION_TYPES, renderOptionTypes } from './option-types.ts';

const KEY = 'a-key-of-a-provider';
const TOKEN = 'a-token-of-a-caller';

function noFile(): never {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
}

function load(options: unknown, readFile: (path: string) => string = noFile): LoadedOptions {
  return loadOptions(options, PROVIDER_ROWS, compatRow, readFile);
}

function loadWith(options: object): LoadedOptions {
  return load({ providers: { openai: { key: KEY } }, ...options });
}

function configWith(options: object): Config {
  const { config, problems } = loadWith(options);
  assert.deepEqual(problems, []);
  if (config === undefined) throw new Error('neither a configuration nor a problem');
  return config;
}

/** A configuration to be compared: secrets as text, functions left out. */
function comparable(config: Config | undefined): unknown {
  if (config === undefined) return undefined;
  const { callers, providers, metricsToken, trustedProxies, listen, logFormat, proxy, tls, limitsEngine, ...rest } = config;
  return {
    ...rest,
    callers: callers.map(({ label, token }) => [label, token.reveal()]),
    providers: providers.map(({ name, baseUrl, keys: [key], adapter }) => [name, baseUrl.href, key?.secret.reveal(), adapter.dialect]),
    metricsToken: metricsToken?.reveal(),
    trustedProxies: trustedProxies.rules,
    proxies: [proxy.httpsProxy?.hostname, proxy.httpsProxy?.credentials?.reveal(), proxy.noProxy],
    tls: tls?.cert,
    engine: [limitsEngine?.hostname, limitsEngine?.password?.reveal()],
  };
}

type CamelCase<Word extends string> = Word extends `${infer Head}_${infer Rest}` ? `${Lowercase<Head>}${Capitalize<CamelCase<Rest>>}` : Lowercase<Word>;
type OptionOf<Variable extends string> = Variable extends `GATEWAY_${infer Rest}` ? CamelCase<Rest> : CamelCase<Variable>;
type Expected = OptionOf<Exclude<SettingRow['variable'], keyof typeof OF_A_PROCESS>>;

test('every setting but those of a process is an option, for TypeScript too (renew the types with: node --import tsx test/readme.ts)', () => {
  assert.equal(readPage(OPTION_TYPES), renderOptionTypes());
  const isSame: [Expected, keyof SettingOptions] extends [keyof SettingOptions, Expected] ? true : false = true;
  assert.ok(isSame);
  const known = [...optionRows().keys(), ...Object.keys(OF_A_PROCESS).map(optionOf)];
  assert.deepEqual(known.sort(), (SETTINGS as readonly Setting[]).map(({ variable }) => optionOf(variable)).sort());
});

test('options that say nothing have the defaults of the environment', () => {
  const { config } = loadConfig({ GATEWAY_AUTH_TOKEN: TOKEN, OPENAI_API_KEY: KEY }, PROVIDER_ROWS, compatRow, noFile);
  assert.deepEqual(comparable(configWith({ callers: { default: TOKEN } })), comparable(config));
});

test('durations are text or milliseconds, sizes text or bytes, lists text or arrays', () => {
  const config = configWith({
    requestTimeout: '1m30s',
    streamTimeout: 90_000,
    drainDelay: 0,
    heartbeatInterval: -1,
    maxBodyBytes: 65_536,
    maxRetries: 0,
    metrics: false,
    includeRaw: 'true',
    allowedOrigins: ['https://a.example', 'https://b.example'],
    noProxy: 'a.example, b.example',
    dialects: [],
    logLevel: 'debug',
    metricsToken: TOKEN,
  });
  assert.deepEqual(
    [config.requestTimeoutMs, config.streamTimeoutMs, config.drainDelayMs, config.heartbeatIntervalMs, config.bodyBytesMax, config.retriesMax],
    [90_000, 90_000, 0, 0, 65_536, 0],
  );
  assert.deepEqual([config.isMetricsEnabled, config.includesRaw, config.allowedOrigins, config.proxy.noProxy, config.dialects, config.logLevel], [
    false,
    true,
    ['https://a.example', 'https://b.example'],
    ['a.example', 'b.example'],
    [],
    'debug',
  ]);
  assert.equal(config.metricsToken?.reveal(), TOKEN);
});

test('a list of one is that one, and an empty one is none, as is an empty text where that is the default', () => {
  const lists = ({ allowedOrigins, trustedProxies, proxy: { noProxy }, dialects }: Config): unknown => [allowedOrigins, trustedProxies.rules, noProxy, dialects];
  const empty = { allowedOrigins: [], trustedProxies: [], noProxy: [] };
  assert.deepEqual(lists(configWith({ ...empty, dialects: [] })), [[], [], [], []]);
  assert.deepEqual(lists(configWith({ allowedOrigins: '', trustedProxies: '', noProxy: '', dialects: ['anthropic'] })), [[], [], [], ['anthropic']]);
  const providers = { openai: { key: KEY } };
  assert.deepEqual(fixedBetween({ providers }, { providers, ...empty }), []);
});

test('providers have the names they are given, and speak as what they are like', () => {
  const { providers, defaultProvider } = configWith({
    providers: {
      openai: { key: KEY },
      second: { like: 'openai', key: KEY, baseUrl: 'https://second.example/v1' },
      anthropic: { key: KEY, baseUrl: 'https://proxy.example' },
      mine: { like: 'compat', baseUrl: 'https://mine.example/v1/' },
      compat: { baseUrl: 'https://compat.example' },
      groq: undefined,
    },
    defaultProvider: 'mine',
  });
  assert.deepEqual(
    providers.map(({ name, baseUrl, keys: [key], speaks }) => [name, baseUrl.href, key?.secret.reveal(), speaks.length > 0]),
    [
      ['anthropic', 'https://proxy.example/v1', KEY, true],
      ['compat', 'https://compat.example/', undefined, false],
      ['mine', 'https://mine.example/v1', undefined, false],
      ['openai', 'https://api.openai.com/v1', KEY, true],
      ['second', 'https://second.example/v1', KEY, true],
    ],
  );
  assert.equal(defaultProvider, 'mine');
});

const PROBLEMS: readonly (readonly [options: object, problems: readonly string[]])[] = [
  [{ requestTimout: 1 }, ['requestTimout: there is no such option; did you mean requestTimeout?']],
  [{ addr: ':80' }, ['addr: there is no such option; the address is given to listen']],
  [{ 'a b': 1 }, ['"a b": there is no such option']],
  [{ requestTimeout: 1.5 }, ['requestTimeout: expected a duration from 1ms to 596h, such as 15s or 1m30s, or milliseconds, got "1.5ms"']],
  [{ requestTimeout: true }, ['requestTimeout: expected a duration from 1ms to 596h, such as 15s or 1m30s, or milliseconds, got a boolean']],
  [{ maxRetries: 101 }, ['maxRetries: expected a whole number from 0 to 100, got "101"']],
  [{ metrics: 1 }, ['metrics: expected true or false (1 or 0), got a number']],
  [{ allowedOrigins: [1] }, ['allowedOrigins: expected origins such as https://app.example.com, separated by commas, got an array']],
  [{ metricsToken: 'a b' }, ['metricsToken: expected 1 to 4000 printable ASCII characters without a space']],
  [{ retryBaseDelay: '2s', retryMaxDelay: 1000 }, ['retryBaseDelay: expected no more than retryMaxDelay, which is 1s, got 2s']],
  [{ tlsCertFile: '/nowhere' }, ['tlsKeyFile: required, because tlsCertFile is set', 'tlsCertFile: the file cannot be read (ENOENT)']],
  [{ fetch: {} }, ['fetch: expected a function, got an object']],
  [{ authenticate: 'me' }, ['authenticate: expected a function, got a string']],
  [{ log: null }, ['log: expected an object with debug, info, warn, error, such as console, got null']],
  [{ log: { debug() {}, info() {}, warn() {} } }, ['log.error: expected a function, got undefined']],
  [{ callers: ['x'] }, ['callers: expected a token by each label, got an array']],
  [{ callers: { 'no label': TOKEN, a: 'another-token-of-a-caller', 'nor this': TOKEN } }, [1, 3].map((entry) => `callers, entry ${entry}: expected a label of up to 64 letters, digits, ".", "_" or "-"`)],
  [{ callers: { a: TOKEN, b: TOKEN } }, ['callers.b: has the same token as callers.a']],
  [{ callers: { a: 5 } }, ['callers.a: expected 1 to 4000 printable ASCII characters without a space, got a number']],
  [{ defaultProvider: 'gemini' }, ['defaultProvider: expected a configured provider (openai), got "gemini"']],
  [{ providers: undefined }, ['providers: required; e.g. { anthropic: { key } }']],
  [{ providers: {} }, ['providers: required; e.g. { anthropic: { key } }']],
  [{ providers: 'openai' }, ['providers: expected { key, baseUrl } by each name, got a string']],
  [{ providers: { openai: 'key' } }, ['providers.openai: expected { key, baseUrl }, got a string']],
  [{ providers: { opnai: { key: KEY } } }, ['providers.opnai: there is no such provider; did you mean openai?']],
  [{ providers: { zzz: { key: KEY } } }, ["providers.zzz: there is no such provider; another name needs like: 'openai', 'compat' or another that is known"]],
  [{ providers: { mine: { like: 'anthropc', key: KEY } } }, ['providers.mine.like: expected the name of a known provider, or compat; did you mean anthropic?']],
  [{ providers: { mine: { like: 5, key: KEY } } }, ['providers.mine.like: expected the name of a known provider, or compat']],
  [{ providers: { 'My Host': { like: 'compat' } } }, ['providers."My Host": expected a name of up to 64 small letters, digits, "-" or "_"']],
  [{ providers: { openai: {} } }, ['providers.openai.key: required']],
  [{ providers: { openai: { key: 'a b', kees: 1 } } }, ['providers.openai.kees: there is no such option; did you mean keys?', 'providers.openai.key: expected 1 to 4000 printable ASCII characters without a space']],
  [{ providers: { openai: { key: KEY, keys: [KEY] } } }, ['providers.openai.keys: is set together with providers.openai.key; keep one']],
  [{ providers: { openai: { keys: KEY } } }, ['providers.openai.keys: expected an array of 1 to 100 keys, got a string']],
  [{ providers: { openai: { keys: [] } } }, ['providers.openai.keys: expected an array of 1 to 100 keys']],
  [{ providers: { openai: { keys: [KEY, 'a b', KEY] } } }, ['providers.openai.keys[1]: expected 1 to 4000 printable ASCII characters without a space', 'providers.openai.keys: the entries 0 and 2 hold the same key']],
  [{ providers: { mine: { like: 'compat' } } }, ['providers.mine.baseUrl: required']],
  [{ providers: { openai: { key: KEY, baseUrl: 'https://user:password@host' } } }, ['providers.openai.baseUrl: expected an http or https URL without user name, password, query or fragment']],
  [{ providers: { openai: { key: KEY, baseUrl: 5 } } }, ['providers.openai.baseUrl: expected an http or https URL without user name, password, query or fragment, got a number']],
];

test('options that cannot work are named by path, with what is expected, and no secret is repeated', () => {
  for (const [options, problems] of PROBLEMS) {
    const loaded = loadWith(options);
    assert.deepEqual(loaded.problems, problems);
    assert.equal(loaded.config, undefined);
  }
  assert.deepEqual(load(null).problems, ['options: expected an object, got null']);
  assert.deepEqual(load('x').problems, ['options: expected an object, got a string']);
});

test('everything that is wrong is said at once', () => {
  const problems = loadWith(Object.fromEntries(PROBLEMS.slice(0, 5).flatMap(([options]) => Object.entries(options)))).problems;
  assert.equal(problems.length, 4);
});

test('what is odd is a warning by its path', () => {
  const { warnings } = loadWith({ callers: { a: 'short' }, providers: { openai: { key: KEY, baseUrl: 'http://far.example' } }, metrics: false, metricsToken: TOKEN });
  assert.deepEqual(warnings, [
    'callers.a: the token has fewer than 16 characters and can be guessed',
    'providers.openai.baseUrl: keys and prompts travel to far.example unencrypted; use https',
    'metricsToken: has no effect while metrics is false',
  ]);
});

test('the options of an environment come to the configuration of that environment', () => {
  const { cert, key } = createCertificate();
  const files: Readonly<Record<string, string>> = { '/run/token': `${TOKEN}-2\n`, '/tls/cert': cert, '/tls/key': key };
  const readFile = (path: string): string => files[path] ?? noFile();
  const variables = {
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_AUTH_TOKEN: TOKEN,
    GATEWAY_AUTH_TOKENS: 'ops:another-token-of-callers',
    GATEWAY_METRICS_TOKEN_FILE: '/run/token',
    GATEWAY_COMPAT_BASE_URL: 'https://mine.example/v1',
    GATEWAY_COMPAT_NAME: 'mine',
    GATEWAY_COMPAT_API_KEY: KEY,
    GATEWAY_DEFAULT_PROVIDER: 'mine',
    OPENAI_API_KEY: KEY,
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: 'https://proxy.example',
    OLLAMA_BASE_URL: 'http://localhost:11434/v1',
    GATEWAY_REQUEST_TIMEOUT: '30s',
    GATEWAY_MAX_RETRIES: '0',
    GATEWAY_MAX_BODY_BYTES: '1MiB',
    GATEWAY_MAX_CONCURRENT: '7',
    GATEWAY_INCLUDE_RAW: '1',
    GATEWAY_DIALECTS: 'none',
    GATEWAY_TRUSTED_PROXIES: '10.0.0.0/8',
    GATEWAY_TLS_CERT_FILE: '/tls/cert',
    GATEWAY_TLS_KEY_FILE: '/tls/key',
    https_proxy: 'http://someone:password@proxy.example:3128',
    NO_PROXY: 'a.example',
    OPENAI_API: 'responses',
    GATEWAY_LIMITS_URL: 'redis://:password@redis',
    GATEWAY_LOG_FORMAT: 'text',
  };
  const { options, problems } = loadEnvironmentOptions(variables, PROVIDER_ROWS, compatRow, readFile);
  assert.deepEqual(problems, []);
  assert.deepEqual(comparable(load(options, readFile).config), comparable(loadConfig(variables, PROVIDER_ROWS, compatRow, readFile).config));
  assert.equal(options?.['maxRetries'], 0);
  assert.equal(options['includeRaw'], true);
  assert.equal(options['requestTimeout'], '30s');
  // Printed, also after they were spread into others, they hold no secret.
  const printed = inspect({ ...options, providers: { ...(options['providers'] as object) } }, { depth: 9 });
  assert.match(printed, /callers: \{ default: '\[set\]', ops: '\[set\]' \}/);
  for (const secret of [KEY, TOKEN, 'another-token-of-callers', 'password']) assert.ok(!printed.includes(secret), secret);
});

test('the options of an environment have what was in its files when these were validated, whatever they hold a moment later', () => {
  const seen: string[] = [];
  const readFile = (path: string): string => (path === '/proc/self/limits' ? noFile() : seen.push(path) === 1 ? TOKEN : '');
  const { options } = loadEnvironmentOptions({ OPENAI_API_KEY: KEY, GATEWAY_METRICS_TOKEN_FILE: '/run/token' }, PROVIDER_ROWS, compatRow, readFile);
  assert.equal(options?.['metricsToken'], TOKEN);
  assert.deepEqual(seen, ['/run/token']);
});

test('options of an instance of a class count wherever they stand', () => {
  class Base {
    get maxRetries(): number {
      return 7;
    }
  }
  class Mine extends Base {
    readonly providers = { openai: { key: KEY } };
  }
  assert.equal(load(new Mine()).config?.retriesMax, 7);
});

test('a gateway that speaks HTTP takes over no certificate, and one that speaks HTTPS keeps its own where there is none', () => {
  const { cert, key } = createCertificate();
  const tls = { providers: { openai: { key: KEY } }, tlsCertFile: '/cert', tlsKeyFile: '/key' };
  const secure = load(tls, (path) => (path === '/cert' ? cert : key)).config;
  const plain = configWith({});
  assert.ok(secure !== undefined);
  assert.equal(withReloaded(plain, secure).tls, undefined);
  assert.equal(withReloaded(secure, plain).tls, secure.tls);
  assert.deepEqual(changesBetween(plain, withReloaded(plain, secure)), []);
  assert.deepEqual(fixedDifferences(fixedOptions({}, plain), fixedOptions(tls, secure)), ['tlsCertFile']);
  assert.deepEqual(fixedDifferences(fixedOptions(tls, secure), fixedOptions({ ...tls, tlsCertFile: '/other' }, secure)), []);
});

test('a compatible host that has the name of a known provider, or of a cloud, is one as an option too', () => {
  for (const name of ['anthropic', 'openai', 'groq', 'bedrock']) {
    const variables = { GATEWAY_COMPAT_BASE_URL: 'http://localhost:1/v1', GATEWAY_COMPAT_NAME: name, GATEWAY_COMPAT_STRUCTURED_OUTPUT: 'none' };
    const { options } = loadEnvironmentOptions(variables, PROVIDER_ROWS, compatRow, noFile);
    const [provider] = load(options).config?.providers ?? [];
    assert.deepEqual([provider?.name, provider?.adapter.dialect, provider?.baseUrl.href, provider?.settings?.structuredOutput], [name, 'openai-chat', 'http://localhost:1/v1', 'none']);
  }
});

test('a token or a key in the place of another value, or of a name, is masked', () => {
  const key = 'sk-proj-Canary0123456789';
  const secretAccessKey = 'secret/access+key/of/canary';
  const bedrock = { environment: { AWS_REGION: 'eu-west-1', AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_ACCESS_KEY_ID: 'id' } };
  const { problems } = load({ [key]: 1, providers: { [key]: {}, bedrock }, callers: { default: TOKEN }, maxRetries: TOKEN, logLevel: secretAccessKey });
  assert.deepEqual(problems, [
    '[key]: there is no such option',
    'maxRetries: expected a whole number from 0 to 100, got "[key]"',
    'logLevel: expected one of debug, info, warn, error, got "[key]"',
    'providers.[key]: expected a name of up to 64 small letters, digits, "-" or "_"',
  ]);
});

test('an environment that cannot work has no options, and every problem by its variable', () => {
  const { options, problems } = loadEnvironmentOptions({ GATEWAY_MAX_RETRIES: 'x' }, PROVIDER_ROWS, compatRow, noFile);
  assert.equal(options, undefined);
  assert.ok(problems.some((problem) => problem.startsWith('GATEWAY_MAX_RETRIES: ')) && problems.some((problem) => problem.startsWith('ANTHROPIC_API_KEY, ')));
});

test('an environment of what is no text is refused by variable', () => {
  const problemsOf = (variables: unknown): readonly string[] =>
    loadEnvironmentOptions(variables as Record<string, string>, PROVIDER_ROWS, compatRow, noFile).problems;
  const variables = { OPENAI_API_KEY: KEY, GATEWAY_MAX_RETRIES: 5, GATEWAY_METRICS: false, GATEWAY_ROUTES: undefined };
  assert.deepEqual(problemsOf(variables), ['GATEWAY_MAX_RETRIES: expected a text, got a number', 'GATEWAY_METRICS: expected a text, got a boolean']);
  assert.deepEqual(problemsOf(undefined), ['environment: expected an object of variables, got undefined']);
});

test('an environment without a token of callers has options, since a program may have no callers or tell them apart itself', () => {
  const variables = { OPENAI_API_KEY: KEY, GATEWAY_CALLER_LIMITS: 'anybody:rpm=5' };
  const { options, problems } = loadEnvironmentOptions(variables, PROVIDER_ROWS, compatRow, noFile);
  assert.deepEqual(problems, []);
  const { config } = load(options);
  assert.deepEqual([config?.callers, config?.routing.callers.get('anybody')?.limits?.requestsPerMinute], [[], 5]);
});

const ROUTING = {
  model_prefixes: true,
  providers: { openai: { concurrent: 5 } },
  routes: { smart: { targets: [{ provider: 'openai', model: 'a', omit: ['temperature'] }, { provider: 'openai', model: 'b' }] } },
  callers: { anybody: { requests_per_minute: 5, allow: ['smart'] } },
};

test('every field that TypeScript knows of routing is one', () => {
  type All<T> = { readonly [Name in keyof T]-?: NonNullable<T[Name]> };
  const target: All<TargetOptions> = {
    provider: 'openai',
    model: 'm',
    defaults: { max_tokens: 1, temperature: 1, top_p: 1, stop: ['x'], thinking: { enabled: true }, provider_options: { seed: 1 } },
    omit: ['cache', 'user'],
    weight: 1,
    concurrent: 1,
    first_event_timeout: '2s',
    attempt_timeout: '2s',
  };
  const route: All<RouteOptions> = { spread: true, hedge_after: '1s', targets: [target, { provider: 'openai', model: 'n' }] };
  const caller: All<CallerOptions> = { requests_per_minute: 1, tokens_per_minute: 1, tokens_per_day: 1, concurrent: 1, allow: [] };
  const routing: All<RoutingOptions> = { model_prefixes: false, providers: { openai: { concurrent: 1 } }, routes: { smart: route }, callers: { x: caller } };
  assert.equal(configWith({ routing }).routing.routes.get('smart')?.targets.length, 2);
});

test('routing is read as the routing file is; callers are whoever a program says they are', () => {
  const { routing, takesModelPrefixes } = configWith({ routing: ROUTING });
  assert.deepEqual([...routing.routes.values()].map(({ name, targets }) => [name, ...targets.map(({ model, omit }) => [model, ...omit])]), [['smart', ['a', 'temperature'], ['b']]]);
  assert.deepEqual([[...routing.concurrentMax], routing.callers.get('anybody')?.allow, takesModelPrefixes], [[['openai', 5]], ['smart'], true]);
  const { routing: simple } = configWith({ routes: 'smart=openai/a', callerLimits: 'anybody:rpm=5' });
  assert.deepEqual([[...simple.routes.keys()], simple.callers.get('anybody')?.limits?.requestsPerMinute], [['smart'], 5]);
});

const ROUTING_PROBLEMS: readonly (readonly [options: object, problems: readonly string[]])[] = [
  [{ routing: 'smart' }, ['routing: expected an object, got a string']],
  [{ routing: { route: {} } }, ['routing.route: unknown field; did you mean routes?']],
  [{ routing: { routes: { smart: { targets: [{ provider: 'opnai', model: 'm' }] } } } }, ['routing.routes.smart.targets[0].provider: expected a configured provider (openai), got "opnai"; did you mean openai?']],
  [{ routing: { routes: { smart: { targets: [{ provider: 'openai', model: 'm', weight: NaN }] } } } }, ['routing.routes.smart.targets[0].weight: expected a string, finite number, boolean, array, plain object or null, got NaN']],
  [{ routing: { providers: { opnai: { concurrent: 1 }, openai: { keys: ['K'] } } } }, ['routing.providers.openai.keys: unknown field', 'routing.providers.opnai: is not among providers; did you mean openai?']],
  [{ routing: Array.from({ length: 100_001 }, () => 0) }, ['routing: more than 100000 values']],
  [{ routing: 'x'.repeat(2_000_000) }, ['routing: expected at most 1MiB as JSON']],
  [{ routing: {}, routes: 'a=openai/m', modelPrefixes: true }, ['routes: is set together with routing; keep one', 'modelPrefixes: is set together with routing; keep one']],
  [{ routes: 'a=opnai/m' }, ['routes: a, target 1: expected a configured provider (openai), got "opnai"; did you mean openai?']],
  [{ routingFile: '/etc/routing.json' }, ['routingFile: there is no such option; see routing']],
];

test('routing that cannot work is named by path', () => {
  for (const [options, problems] of ROUTING_PROBLEMS) assert.deepEqual(loadWith(options).problems, problems);
});

test('the options of an environment carry its routing file, its several keys and the providers that only the file names', () => {
  const file = {
    providers: { openai: { keys: ['OPENAI_API_KEY', 'SECOND_KEY'], concurrent: 9 }, mine: { like: 'compat', base_url: 'https://mine.example/v1' }, second: { like: 'openai', keys: ['THIRD_KEY'] } },
    routes: { smart: { targets: [{ provider: 'second', model: 'm', defaults: { provider_options: { seed: 5 } } }, { provider: 'gemini', model: 'm' }] } },
    callers: { '*': { tokens_per_day: 1000 } },
  };
  const variables = {
    GATEWAY_AUTH_TOKEN: TOKEN,
    OPENAI_API_KEY: KEY,
    SECOND_KEY: `${KEY}-2`,
    THIRD_KEY: `${KEY}-3`,
    GEMINI_API_KEYS: `${KEY}-4,${KEY}-5`,
    GATEWAY_COMPAT_BASE_URL: 'https://other.example',
    GATEWAY_COMPAT_STRUCTURED_OUTPUT: 'none',
    GATEWAY_ROUTING_FILE: '/routing.json',
  };
  const readFile = (path: string): string => (path === '/routing.json' ? JSON.stringify(file) : noFile());
  const { options, problems } = loadEnvironmentOptions(variables, PROVIDER_ROWS, compatRow, readFile);
  assert.deepEqual(problems, []);
  const [embedded, served] = [load(options).config, loadConfig(variables, PROVIDER_ROWS, compatRow, readFile).config];
  const { providers, routing } = served ?? {};
  assert.deepEqual(embedded?.routing, routing);
  const facts = (config: Config | undefined): unknown => config?.providers.map(({ name, keys, baseUrl, adapter }) => [name, keys, baseUrl.href, adapter.support.output.is]);
  assert.deepEqual(facts(embedded), facts(served));
  assert.deepEqual(providers?.map(({ name, keys }) => [name, keys.length]), [['compat', 0], ['gemini', 2], ['mine', 0], ['openai', 2], ['second', 1]]);
  assert.ok(!inspect(options, { depth: 9 }).includes(KEY));
});

test('a provider that was added is no difference that takes another gateway', () => {
  const before = { providers: { openai: { key: KEY } }, routing: ROUTING };
  const after = { providers: { openai: { keys: ['a', 'b'] }, groq: { key: KEY } }, routes: 'a=groq/m', callerLimits: 'x:rpm=1' };
  assert.deepEqual(fixedBetween(before, after), []);
  assert.deepEqual(fixedBetween(after, before), ['providers.groq']);
});

test('what takes another gateway is told by what options come to: a place, an API, what answers are held to, the variables of a cloud but for its credentials', () => {
  const mine = (more: object): object => ({ providers: { mine: { like: 'groq', key: KEY, baseUrl: 'https://mine.example/v1', ...more } } });
  assert.deepEqual(fixedBetween({ providers: { openai: { key: KEY } } }, { providers: { openai: { like: 'openai', key: 'b', baseUrl: 'https://api.openai.com/v1/' } } }), []);
  for (const more of [{ like: 'openrouter' }, { baseUrl: 'https://other.example/v1' }, { structuredOutput: 'none' }]) {
    assert.deepEqual(fixedBetween(mine({}), mine(more)), ['providers.mine']);
  }
  const aws = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'a-secret', ANTHROPIC_AWS_WORKSPACE_ID: 'w1' };
  const google = { GOOGLE_VERTEX_BASE_URL: 'https://vertex.example', GOOGLE_CLOUD_PROJECT: 'p1', GOOGLE_CLOUD_LOCATION: 'eu' };
  const cloud = (name: string, environment: object): object => ({ providers: { [name]: { environment } } });
  assert.deepEqual(fixedBetween(cloud('bedrock', aws), cloud('bedrock', { ...aws, AWS_ACCESS_KEY_ID: 'OTHER', AWS_SECRET_ACCESS_KEY: 'another' })), []);
  assert.deepEqual(fixedBetween(cloud('bedrock', aws), cloud('bedrock', { ...aws, AWS_REGION: 'us-east-1' })), ['providers.bedrock']);
  assert.deepEqual(fixedBetween(cloud('bedrock', aws), cloud('bedrock', { ...aws, BEDROCK_MODELS: 'prod=m' })), ['providers.bedrock']);
  assert.deepEqual(fixedBetween(cloud('claude-aws', aws), cloud('claude-aws', { ...aws, ANTHROPIC_AWS_WORKSPACE_ID: 'w2' })), ['providers.claude-aws']);
  assert.deepEqual(fixedBetween(cloud('vertex', google), cloud('vertex', { ...google, GOOGLE_CLOUD_PROJECT: 'p2' })), ['providers.vertex']);
});

/** The paths of what differs, and is not taken over. */
function fixedBetween(before: object, after: object): readonly string[] {
  return fixedDifferences(fixedOptions({ ...before }, configWith(before)), fixedOptions({ ...after }, configWith(after)));
}

/** What a reload of the options comes to, by name. */
function reloaded(before: object, after: object): { readonly swapped: readonly string[]; readonly left: readonly string[] } {
  const [config, next] = [configWith(before), configWith(after)];
  return { swapped: changesBetween(config, withReloaded(config, next)), left: changesLeft(config, next) };
}

test('a reload says by name what changed', () => {
  const openai = (...keys: readonly string[]): object => ({ openai: { keys } });
  assert.deepEqual(reloaded({ routing: ROUTING }, { routing: structuredClone(ROUTING) }), { swapped: [], left: [] });
  assert.deepEqual(reloaded({ providers: openai('a', 'b') }, { providers: openai('a', 'c') }).swapped, ['key 2 of openai']);
  assert.deepEqual(reloaded({ providers: openai('a') }, { providers: openai('a', 'b') }).swapped, ['key 2 of openai']);
  assert.deepEqual(reloaded({ providers: openai('a', 'b') }, { providers: openai('a') }).swapped, ['key 2 of openai']);
  const { smart } = ROUTING.routes;
  const changed = {
    ...ROUTING,
    model_prefixes: false,
    providers: {},
    routes: { fast: smart, smart: { targets: [...smart.targets].reverse() } },
    callers: { anybody: { requests_per_minute: 6 } },
  };
  assert.deepEqual(reloaded({ routing: ROUTING }, { routing: changed }).swapped, [
    'concurrency of openai', 'model prefixes', 'route smart', 'route fast', 'limits of anybody', 'allow of anybody',
  ]);
  const everybody = { '*': { requests_per_minute: 1 } };
  assert.deepEqual(reloaded({ routing: { callers: everybody } }, { routing: { callers: { ...everybody, ops: {} } } }).swapped, ['limits of ops']);
  const ops = { routing: { callers: { ops: { requests_per_minute: 1 } } } };
  assert.deepEqual([reloaded({}, ops).swapped, reloaded(ops, {}).swapped], [['limits of ops'], ['limits of ops']]);
  const options = (seed: number): object => ({ routing: { routes: { r: { targets: [{ provider: 'openai', model: 'm', defaults: { provider_options: { seed } } }] } } } });
  assert.deepEqual(reloaded(options(1), options(2)).swapped, ['route r']);
});

test('a reload says that another engine for limits takes a restart, whatever of its address differs', () => {
  const limitsUrl = 'redis://user:password@redis.example:6379/1';
  assert.deepEqual(reloaded({ limitsUrl }, { limitsUrl }).left, []);
  for (const [from, to] of [['redis:', 'rediss:'], ['user', 'other'], ['password', 'another'], ['redis.example', 'valkey.example'], ['6379', '6380'], ['/1', '/2']] as const) {
    assert.deepEqual(reloaded({ limitsUrl }, { limitsUrl: limitsUrl.replace(from, to) }).left, ['GATEWAY_LIMITS_URL'], to);
  }
  assert.deepEqual([reloaded({}, { limitsUrl }).left, reloaded({ limitsUrl }, {}).left], [['GATEWAY_LIMITS_URL'], ['GATEWAY_LIMITS_URL']]);
});

test('a reload takes over providers that were added, and says which changes of the others take a restart', () => {
  const before = { providers: { openai: { key: KEY }, gemini: { key: KEY }, second: { like: 'openai', key: KEY } }, defaultProvider: 'openai' };
  const after = { providers: { openai: { key: 'key-of-another-place', baseUrl: 'https://other.example' }, anthropic: { key: KEY }, second: { like: 'compat', baseUrl: 'https://api.openai.com/v1' } } };
  assert.deepEqual(reloaded(before, after), {
    swapped: ['key of anthropic', 'provider anthropic'],
    left: ['provider gemini', 'base URL of openai', 'like of second', 'default provider'],
  });
  const { providers, defaultProvider } = withReloaded(configWith(before), configWith(after));
  assert.deepEqual(providers.map(({ name, baseUrl, keys }) => [name, baseUrl.host, ...keys.map(({ secret }) => secret.reveal())]), [
    ['anthropic', 'api.anthropic.com', KEY],
    ['gemini', 'generativelanguage.googleapis.com', KEY],
    // Not the key of another place.
    ['openai', 'api.openai.com', KEY],
    ['second', 'api.openai.com', KEY],
  ]);
  assert.equal(defaultProvider, 'openai');
});

test('a reload says that a provider which stays where it is has another API, and goes on with the one before', () => {
  const host = (like: string, key = KEY): object => ({ providers: { mine: { like, key, baseUrl: 'https://mine.example/v1' } } });
  assert.deepEqual(reloaded(host('groq'), host('openrouter', 'another-key')), { swapped: [], left: ['like of mine'] });
  assert.deepEqual(reloaded(host('groq'), host('groq', 'another-key')), { swapped: ['key of mine'], left: [] });
});

test('every secret that a provider could repeat is known by what it is for', () => {
  const config = configWith({
    callers: { ops: 'token-of-operations' },
    metricsToken: 'token-of-metrics',
    providers: { openai: { keys: ['a', 'b'] }, gemini: { key: 'c' }, bedrock: { environment: { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'd', AWS_SESSION_TOKEN: 'e' } } },
    httpsProxy: 'http://user:f@proxy.example',
    httpProxy: 'http://user:g@proxy.example',
    limitsUrl: 'redis://:h@redis.example',
  });
  assert.deepEqual([...secretsOf(config)].map(([name, secret]) => [name, secret.reveal()]), [
    ['token of ops', 'token-of-operations'],
    ['metrics token', 'token-of-metrics'],
    ['key of gemini', 'c'],
    ['key 1 of openai', 'a'],
    ['key 2 of openai', 'b'],
    ['credentials of bedrock', 'd'],
    ['credentials 2 of bedrock', 'e'],
    ['HTTPS_PROXY', 'user:f'],
    ['HTTP_PROXY', 'user:g'],
    ['GATEWAY_LIMITS_URL', 'h'],
  ]);
});

test('a key that was taken away is not sent on', () => {
  const host = (more: object): object => ({ providers: { mine: { like: 'compat', baseUrl: 'https://mine.example/v1', ...more } } });
  assert.deepEqual(reloaded(host({ key: KEY }), host({})), { swapped: ['key of mine'], left: [] });
  assert.deepEqual(withReloaded(configWith(host({ key: KEY })), configWith(host({}))).providers[0]?.keys, []);
});

test('every problem has its place in one log line, however many there are', () => {
  assert.deepEqual(problemFields(['a: x', 'b: y']), { problems: 'a: x; b: y' });
  const long = Array.from({ length: 5 }, (_, index) => `${index}: ${'x'.repeat(500)}`);
  assert.deepEqual(problemFields(long), { problems: long.slice(0, 2).join('; '), problems_2: long.slice(2, 4).join('; '), problems_3: long[4] });
});
