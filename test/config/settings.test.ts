import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { availableParallelism } from 'node:os';
import test from 'node:test';
import { inspect } from 'node:util';
import { Secret } from '../../src/base/secret.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Config, LoadedConfig } from '../../src/config/config.ts';
import { renderHelp } from '../../src/config/settings-page.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import type { Setting } from '../../src/config/settings.ts';
import type { Adapter, ProviderRow } from '../../src/core/adapter.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { renderSettingsTable } from './settings-table.ts';

type Variables = Readonly<Record<string, string | undefined>>;

const TOKEN = 'a-token-of-callers';
const KEY = 'provider-key';
const rows = SETTINGS as readonly Setting[];

function row(name: string, fields: Partial<ProviderRow> = {}): ProviderRow {
  return {
    name,
    keyVariables: [`${name.toUpperCase()}_API_KEY`],
    isKeyRequired: true,
    baseUrlVariable: `${name.toUpperCase()}_BASE_URL`,
    defaultBaseUrl: `https://api.${name}.example/v1`,
    versionSegment: undefined,
    keyHeader: { name: 'authorization', prefix: 'Bearer ' },
    createAdapter: (registeredName) => ({ dialect: `dialect of ${registeredName}` }) as Adapter,
    ...fields,
  };
}

const PROVIDERS: readonly ProviderRow[] = [
  row('zeta'),
  row('alpha', { keyVariables: ['ALPHA_API_KEY', 'OTHER_API_KEY'], defaultBaseUrl: 'https://alpha.example', versionSegment: 'v1beta' }),
  row('own', { isKeyRequired: false, defaultBaseUrl: 'http://localhost:11434/v1' }),
  row('placeless', { defaultBaseUrl: undefined }),
];

function compatRow(name: string): ProviderRow {
  return row(name, {
    keyVariables: ['GATEWAY_COMPAT_API_KEY'],
    isKeyRequired: false,
    baseUrlVariable: 'GATEWAY_COMPAT_BASE_URL',
    structuredOutputVariable: 'GATEWAY_COMPAT_STRUCTURED_OUTPUT',
    nameVariable: 'GATEWAY_COMPAT_NAME',
    defaultBaseUrl: undefined,
  });
}

/** Loads exactly these variables; `files` are all there are. */
function load(variables: Variables, files: Readonly<Record<string, string>> = {}): LoadedConfig {
  return loadConfig(variables, PROVIDERS, compatRow, (path) => {
    const content = files[path];
    if (content === undefined) throw Object.assign(new Error(`no such file ${path}`), { code: 'ENOENT' });
    return content;
  });
}

/** Loads a complete environment, these variables added. */
function loadWith(variables: Variables, files: Readonly<Record<string, string>> = {}): LoadedConfig {
  return load({ GATEWAY_AUTH_TOKEN: TOKEN, ZETA_API_KEY: KEY, ...variables }, files);
}

function configWith(variables: Variables, files: Readonly<Record<string, string>> = {}): Config {
  const { config, problems } = loadWith(variables, files);
  deepEqual(problems, []);
  if (config === undefined) throw new Error('neither a configuration nor a problem');
  return config;
}

function problemsWith(variables: Variables, files: Readonly<Record<string, string>> = {}): readonly string[] {
  const { config, problems } = loadWith(variables, files);
  equal(config === undefined, problems.length > 0);
  return problems;
}

test('loadConfig gives the defaults of the table when only a token and a key are set', () => {
  const { callers, providers, trustedProxies, ...config } = configWith({});
  deepEqual(config, {
    listen: { type: 'tcp', host: undefined, port: 8080 },
    defaultProvider: 'zeta',
    requestTimeoutMs: 600_000,
    connectTimeoutMs: 10_000,
    attemptTimeoutMs: 600_000,
    streamIdleTimeoutMs: 300_000,
    streamTimeoutMs: 3_600_000,
    retriesMax: 3,
    retryBaseDelayMs: 500,
    retryMaxDelayMs: 30_000,
    retryAfterCapMs: 300_000,
    heartbeatIntervalMs: 15_000,
    concurrentMax: undefined,
    connectionsMax: undefined,
    bodyBytesMax: 16_777_216,
    allowedOrigins: [],
    isMetricsEnabled: true,
    metricsToken: undefined,
    includesRaw: false,
    forwardsErrorMessages: false,
    drainDelayMs: 2000,
    shutdownGraceMs: 30_000,
    logLevel: 'info',
    logFormat: 'json',
    logsAddress: true,
    isDefaultChosen: false,
    relaysStored: false,
    workers: 1,
    dialects: ['openai-chat', 'openai-responses', 'anthropic'],
    takesModelPrefixes: undefined,
    transport: 'wire',
    writeStallTimeoutMs: 60_000,
    connectionIdleTimeoutMs: 75_000,
    tls: undefined,
    propagatesTrace: false,
    proxy: { httpsProxy: undefined, httpProxy: undefined, noProxy: [] },
    limitsEngine: undefined,
    routing: { routes: new Map(), callers: new Map(), concurrentMax: new Map() },
  });
  deepEqual(callers.map(({ label, token }) => [label, token.reveal()]), [['default', TOKEN]]);
  deepEqual(providers.map(({ name }) => name), ['zeta']);
  deepEqual(trustedProxies.rules, []);
});

test('GATEWAY_TRUSTED_PROXIES is addresses and networks, and without effect where no address is logged', () => {
  const { trustedProxies } = configWith({ GATEWAY_TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::1' });
  deepEqual([trustedProxies.check('10.1.2.3'), trustedProxies.check('11.0.0.1')], [true, false]);
  // An address alone is no network.
  deepEqual(['2001:db8::1', '2001:db8::2'].map((address) => trustedProxies.check(address, 'ipv6')), [true, false]);
  ok(configWith({ GATEWAY_TRUSTED_PROXIES: '2001:DB8::1/128' }).trustedProxies.check('2001:db8::1', 'ipv6'));
  for (const network of ['10.0.0.0/33', 'x10.0.0.0/8', '10.0.0.0/8x', '10.0.0.0/', '/8', 'fe80::1%eth0', '::1/129']) {
    deepEqual(problemsWith({ GATEWAY_TRUSTED_PROXIES: network }), [
      `GATEWAY_TRUSTED_PROXIES: expected IP addresses and networks such as 10.0.0.0/8, separated by commas, got "${network}"`,
    ]);
  }
  deepEqual(loadWith({ GATEWAY_TRUSTED_PROXIES: '::1', GATEWAY_LOG_ADDRESS: 'false' }).warnings, [
    'GATEWAY_TRUSTED_PROXIES: has no effect while GATEWAY_LOG_ADDRESS is false',
  ]);
});

test('a good and complete configuration comes without warnings', () => {
  const { warnings, unknownVariables } = loadWith({});
  deepEqual([warnings, unknownVariables], [[], []]);
});

test('SETTINGS has a default that its own type accepts in every row that has one', () => {
  for (const { variable, type, default: text } of rows) {
    if (text !== undefined) notEqual(type.parse(text), undefined, variable);
  }
});

test('SETTINGS names every variable once, and fills every field once', () => {
  const variables = rows.flatMap((setting) => [setting.variable, setting.alternative?.variable ?? []].flat());
  equal(new Set(variables).size, variables.length);
  const fields = rows.map(({ field }) => field).filter((field) => field !== 'providers');
  equal(new Set(fields).size, fields.length);
});

const DURATION = 'expected a duration from 1ms to 596h, such as 15s or 1m30s';
const DELAY = 'expected a duration from 0 to 596h, such as 500ms or 30s';
const INTERVAL = 'expected a duration up to 596h, such as 15s, or 0 for off';
const RETRIES = 'expected a whole number from 0 to 100';
const CONCURRENT = 'expected a whole number from 1 to 1000000';
const SIZE = 'expected a size from 1 to 256MiB, such as 65536 or 512KiB';
const BOOLEAN = 'expected true or false (1 or 0)';
const NAME = 'expected up to 64 small letters, digits, "-" or "_"';
const ADDRESS = 'expected host:port, :port, [ipv6]:port or unix:/path of at most 107 bytes';
const ORIGINS = 'expected origins such as https://app.example.com, separated by commas';

type Cases = {
  readonly field: keyof Config;
  readonly good: readonly (readonly [string, unknown])[];
  readonly bad: readonly string[];
  readonly expected: string;
};

const duration = (field: keyof Config): Cases => ({
  field,
  good: [['1ms', 1], ['45s', 45_000], ['1m30s', 90_000], [' 2h ', 7_200_000], ['596h', 2_145_600_000]],
  bad: ['0', '0s', '-1s', '15', '1.5s', '15 s', 'soon', '597h'],
  expected: DURATION,
});

const boolean = (field: keyof Config): Cases => ({
  field,
  good: [['true', true], ['TRUE', true], ['1', true], ['false', false], ['False', false], ['0', false]],
  bad: ['yes', 'on', '2', 'tru'],
  expected: BOOLEAN,
});

const CASES: Readonly<Record<string, Cases>> = {
  GATEWAY_ADDR: {
    field: 'listen',
    good: [
      [':8080', { type: 'tcp', host: undefined, port: 8080 }],
      [':0', { type: 'tcp', host: undefined, port: 0 }],
      ['127.0.0.1:65535', { type: 'tcp', host: '127.0.0.1', port: 65535 }],
      ['my-gateway.example.com:80', { type: 'tcp', host: 'my-gateway.example.com', port: 80 }],
      ['[::1]:8080', { type: 'tcp', host: '::1', port: 8080 }],
      ['[::]:443', { type: 'tcp', host: '::', port: 443 }],
      ['unix:/run/gateway.sock', { type: 'unix', path: '/run/gateway.sock' }],
      [`unix:/${'x'.repeat(106)}`, { type: 'unix', path: `/${'x'.repeat(106)}` }],
    ],
    bad: ['8080', 'localhost', 'localhost:', ':65536', ':-1', '::1:80', '[::1]', '[nothing]:80', '[127.0.0.1]:80', 'unix:run', `unix:/${'ü'.repeat(54)}`, 'http://x:80', 'a b:80'],
    expected: ADDRESS,
  },
  GATEWAY_REQUEST_TIMEOUT: duration('requestTimeoutMs'),
  GATEWAY_CONNECT_TIMEOUT: duration('connectTimeoutMs'),
  GATEWAY_ATTEMPT_TIMEOUT: duration('attemptTimeoutMs'),
  GATEWAY_STREAM_IDLE_TIMEOUT: duration('streamIdleTimeoutMs'),
  GATEWAY_STREAM_TIMEOUT: duration('streamTimeoutMs'),
  GATEWAY_WRITE_STALL_TIMEOUT: duration('writeStallTimeoutMs'),
  GATEWAY_CONNECTION_IDLE_TIMEOUT: duration('connectionIdleTimeoutMs'),
  GATEWAY_MAX_RETRIES: {
    field: 'retriesMax',
    good: [['0', 0], ['100', 100], ['007', 7]],
    bad: ['-1', '101', '1.0', 'three', '1e1', '9999999999999999'],
    expected: RETRIES,
  },
  GATEWAY_RETRY_BASE_DELAY: { field: 'retryBaseDelayMs', good: [['0', 0], ['1s', 1000]], bad: ['-1s', '5', '597h'], expected: DELAY },
  GATEWAY_RETRY_MAX_DELAY: { field: 'retryMaxDelayMs', good: [['500ms', 500], ['1m', 60_000]], bad: ['-1s', '5', '597h'], expected: DELAY },
  GATEWAY_RETRY_AFTER_CAP: { field: 'retryAfterCapMs', good: [['0', 0], ['1m', 60_000]], bad: ['-1s', '5', '597h'], expected: DELAY },
  GATEWAY_DRAIN_DELAY: { field: 'drainDelayMs', good: [['0', 0], ['5s', 5000]], bad: ['-1s', '5', '597h'], expected: DELAY },
  GATEWAY_SHUTDOWN_GRACE: { field: 'shutdownGraceMs', good: [['0', 0], ['5s', 5000]], bad: ['-1s', '5', '597h'], expected: DELAY },
  GATEWAY_HEARTBEAT_INTERVAL: {
    field: 'heartbeatIntervalMs',
    good: [['5s', 5000], ['0', 0], ['-1s', 0]],
    bad: ['off', '5', '597h'],
    expected: INTERVAL,
  },
  GATEWAY_MAX_CONCURRENT: {
    field: 'concurrentMax',
    good: [['1', 1], ['1000000', 1_000_000]],
    bad: ['0', '-1', '1000001', 'unlimited'],
    expected: CONCURRENT,
  },
  GATEWAY_MAX_CONNECTIONS: {
    field: 'connectionsMax',
    good: [['1', 1], ['1000000', 1_000_000]],
    bad: ['0', '-1', '1000001', 'unlimited'],
    expected: CONCURRENT,
  },
  GATEWAY_MAX_BODY_BYTES: {
    field: 'bodyBytesMax',
    good: [['1', 1], ['512KiB', 524_288], ['256MiB', 268_435_456]],
    bad: ['0', '-1', '16MB', '268435457', '1GiB', '1.5MiB'],
    expected: SIZE,
  },
  GATEWAY_ALLOWED_ORIGINS: {
    field: 'allowedOrigins',
    good: [
      ['https://app.example.com', ['https://app.example.com']],
      ['https://a.example, http://localhost:3000/,', ['https://a.example', 'http://localhost:3000']],
      ['HTTPS://A.example:443', ['https://a.example']],
      ['app://obsidian.md,chrome-extension://abcdef, tauri://localhost:1420', ['app://obsidian.md', 'chrome-extension://abcdef', 'tauri://localhost:1420']],
      // As electron-serve has it, and Safari.
      ['app://-,safari-web-extension://5A0D-1F', ['app://-', 'safari-web-extension://5A0D-1F']],
    ],
    bad: [
      '*', 'null', 'app.example.com', 'https://a.example/path', 'https://a.example?', 'https://user@a.example', 'https://a.example, *',
      'https://*.example.com', 'app://*', 'app://obsidian.md/', 'app://user@a.example', 'App://a.example', 'file://', 'file://a', 'data:text', 'wss://a.example',
    ],
    expected: ORIGINS,
  },
  GATEWAY_METRICS: boolean('isMetricsEnabled'),
  GATEWAY_INCLUDE_RAW: boolean('includesRaw'),
  GATEWAY_LOG_ADDRESS: boolean('logsAddress'),
  GATEWAY_DIALECTS: {
    field: 'dialects',
    good: [['anthropic', ['anthropic']], ['openai-chat, anthropic,', ['openai-chat', 'anthropic']], ['none', []]],
    bad: ['native', 'Anthropic', 'anthropic,none', 'none,anthropic', 'all', ','],
    expected: 'expected some of openai-chat, openai-responses, anthropic, separated by commas, or none',
  },
  GATEWAY_MODEL_PREFIXES: boolean('takesModelPrefixes'),
  GATEWAY_RELAY_STORED: boolean('relaysStored'),
  GATEWAY_WORKERS: {
    field: 'workers',
    good: [['1', 1], ['128', 128]],
    bad: ['0', '129', 'all', '1.5', '-1'],
    expected: 'expected a whole number from 1 to 128, or auto',
  },
  GATEWAY_FORWARD_ERROR_MESSAGES: boolean('forwardsErrorMessages'),
  GATEWAY_PROPAGATE_TRACE: boolean('propagatesTrace'),
  GATEWAY_LOG_LEVEL: {
    field: 'logLevel',
    good: [['debug', 'debug'], ['info', 'info'], ['warn', 'warn'], ['error', 'error']],
    bad: ['INFO', 'trace', 'toString'],
    expected: 'expected one of debug, info, warn, error',
  },
  GATEWAY_LOG_FORMAT: { field: 'logFormat', good: [['json', 'json'], ['text', 'text']], bad: ['xml'], expected: 'expected one of json, text' },
  GATEWAY_TRANSPORT: { field: 'transport', good: [['http', 'http'], ['fetch', 'fetch'], ['wire', 'wire']], bad: ['undici'], expected: 'expected one of http, fetch, wire' },
  GATEWAY_DEFAULT_PROVIDER: { field: 'defaultProvider', good: [['zeta', 'zeta']], bad: ['Zeta', 'a b', 'x'.repeat(65)], expected: NAME },
};

for (const [variable, { field, good, bad, expected }] of Object.entries(CASES)) {
  for (const [text, value] of good) {
    test(`${variable}=${text} is accepted`, () => deepEqual(configWith({ [variable]: text })[field], value));
  }
  for (const text of bad) {
    test(`${variable}=${text} is refused`, () => {
      const shown = text.length > 60 ? `${text.slice(0, 59)}…` : text;
      deepEqual(problemsWith({ [variable]: text }), [`${variable}: ${expected}, got "${shown}"`]);
    });
  }
}

test('every setting is either among the good and bad values or has tests of its own', () => {
  const own = ['GATEWAY_AUTH_TOKEN', 'GATEWAY_AUTH_TOKENS', 'GATEWAY_COMPAT_BASE_URL', 'GATEWAY_COMPAT_NAME', 'GATEWAY_COMPAT_API_KEY', 'GATEWAY_METRICS_TOKEN', 'GATEWAY_TRUSTED_PROXIES'];
  own.push('GATEWAY_COMPAT_STRUCTURED_OUTPUT', 'GATEWAY_TLS_CERT_FILE', 'GATEWAY_TLS_KEY_FILE', 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'GATEWAY_LIMITS_URL', 'OPENAI_API', 'GATEWAY_CLOUDS');
  // In routing.test.ts.
  own.push('GATEWAY_COMPAT_API_KEYS', 'GATEWAY_ROUTES', 'GATEWAY_CALLER_LIMITS', 'GATEWAY_ROUTING_FILE');
  deepEqual(rows.map(({ variable }) => variable).sort(), [...Object.keys(CASES), ...own].sort());
});

test('GATEWAY_WORKERS=auto is as many as there are cores', () => {
  deepEqual(configWith({ GATEWAY_WORKERS: 'auto' }).workers, Math.min(availableParallelism(), 128));
});

test('each of several workers gets its part of the limits of the machine, rounded up', () => {
  const config = configWith({ GATEWAY_WORKERS: '4', GATEWAY_MAX_CONCURRENT: '10', GATEWAY_MAX_CONNECTIONS: '100' });
  deepEqual([config.concurrentMax, config.connectionsMax], [3, 25]);
  deepEqual([configWith({ GATEWAY_WORKERS: '4' }).concurrentMax, configWith({ GATEWAY_WORKERS: '4' }).connectionsMax], [undefined, undefined]);
});

test('a process takes as many connections as half of its descriptors allow; more by the setting are a warning', () => {
  const limits = { '/proc/self/limits': 'Max open files            1024                 4096                 files' };
  for (const GATEWAY_WORKERS of ['1', '4']) deepEqual(loadWith({ GATEWAY_WORKERS }, limits).config?.connectionsMax, 488);
  const warningsOf = (variables: Variables): readonly string[] => loadWith(variables, limits).warnings;
  deepEqual(warningsOf({ GATEWAY_MAX_CONNECTIONS: '489' }), [
    'GATEWAY_MAX_CONNECTIONS: 489 connections of a process take the descriptors of its calls to providers; raise ulimit -n, which is enough for 488',
  ]);
  deepEqual(warningsOf({ GATEWAY_MAX_CONNECTIONS: '488' }), []);
  deepEqual(warningsOf({ GATEWAY_MAX_CONNECTIONS: '1952', GATEWAY_WORKERS: '4' }), []);
});

test('an empty or blank value counts as absent', () => {
  const config = configWith({ GATEWAY_MAX_RETRIES: '', GATEWAY_METRICS: '  ', GATEWAY_METRICS_TOKEN_FILE: '', ALPHA_API_KEY: ' ', GATEWAY_TYPO: '' });
  deepEqual([config.retriesMax, config.isMetricsEnabled, config.metricsToken, config.providers.length], [3, true, undefined, 1]);
});

test('a value is quoted with its quotes, on one line', () => {
  deepEqual(problemsWith({ GATEWAY_MAX_RETRIES: '"3"\n4' }), ['GATEWAY_MAX_RETRIES: expected a whole number from 0 to 100, got "\\"3\\"\\n4"']);
});

test('a key pasted into the wrong variable is masked', () => {
  deepEqual(problemsWith({ GATEWAY_MAX_RETRIES: 'sk-ant-api03-0123456789abcdef' }), [
    'GATEWAY_MAX_RETRIES: expected a whole number from 0 to 100, got "[key]"',
  ]);
});

test('a token in the place of another value is masked to its end, whatever it is made of', () => {
  const plain = 'abcdefghijklmnop/qrst+uvwxyz0123=';
  for (const token of [plain, 'ab"cdefghi\\jklmnop"qr\\st!u:v;w,x(y)z~', 'abcdefghijklmnop\\']) {
    for (const value of [token, `${token}-and-more`, token.slice(0, 20)]) {
      deepEqual(load({ GATEWAY_AUTH_TOKEN: token, ALPHA_API_KEY: KEY, GATEWAY_MAX_RETRIES: value }).problems, [
        'GATEWAY_MAX_RETRIES: expected a whole number from 0 to 100, got "[key]"',
      ]);
    }
  }
  const { effective } = load({ GATEWAY_AUTH_TOKEN: plain, ALPHA_API_KEY: KEY, GATEWAY_ROUTES: `smart=alpha/${plain}` });
  equal(effective.find(({ variable }) => variable === 'GATEWAY_ROUTES')?.value, 'smart=alpha/[key]');
});

test('every problem is told at once', () => {
  deepEqual(load({ GATEWAY_ADDR: 'nowhere', GATEWAY_MAX_RETRIES: 'many' }).problems, [
    'GATEWAY_ADDR: expected host:port, :port, [ipv6]:port or unix:/path of at most 107 bytes, got "nowhere"',
    'GATEWAY_MAX_RETRIES: expected a whole number from 0 to 100, got "many"',
    'GATEWAY_AUTH_TOKEN: required; choose the token that callers must send, e.g. with: openssl rand -hex 32',
    'ZETA_API_KEY, ALPHA_API_KEY, OWN_API_KEY: no provider is configured; set one of these, or another that --help lists',
  ]);
  deepEqual(load({ GATEWAY_AUTH_TOKEN: 'two words', ALPHA_API_KEY: KEY, GATEWAY_MAX_RETRIES: 'many' }).problems, [
    'GATEWAY_AUTH_TOKEN: expected 1 to 4000 printable ASCII characters without a space',
    'GATEWAY_MAX_RETRIES: expected a whole number from 0 to 100, got "many"',
  ]);
});

test('PORT counts where GATEWAY_ADDR is absent', () => {
  deepEqual(configWith({ PORT: '3000' }).listen, { type: 'tcp', host: undefined, port: 3000 });
});

test('PORT is not even looked at where GATEWAY_ADDR is set', () => {
  deepEqual(configWith({ PORT: 'tcp://10.0.0.1:80', GATEWAY_ADDR: ':1' }).listen, { type: 'tcp', host: undefined, port: 1 });
});

test('a malformed PORT is a problem of PORT', () => {
  deepEqual(problemsWith({ PORT: '80x' }), ['PORT: expected a port from 0 to 65535, got "80x"']);
  deepEqual(problemsWith({ PORT: '65536' }), ['PORT: expected a port from 0 to 65535, got "65536"']);
});

test('GATEWAY_RETRY_BASE_DELAY must not pass GATEWAY_RETRY_MAX_DELAY', () => {
  deepEqual(problemsWith({ GATEWAY_RETRY_BASE_DELAY: '2s', GATEWAY_RETRY_MAX_DELAY: '1s' }), [
    'GATEWAY_RETRY_BASE_DELAY: expected no more than GATEWAY_RETRY_MAX_DELAY, which is 1s, got 2s',
  ]);
  equal(configWith({ GATEWAY_RETRY_BASE_DELAY: '1s', GATEWAY_RETRY_MAX_DELAY: '1s' }).retryBaseDelayMs, 1000);
});

// Secrets and files

const SECRET = '1 to 4000 printable ASCII characters without a space';

function callersOf(config: Config): unknown {
  return config.callers.map(({ label, token }) => [label, token.reveal()]);
}

test('GATEWAY_AUTH_TOKEN is trimmed', () => {
  deepEqual(callersOf(configWith({ GATEWAY_AUTH_TOKEN: `  ${TOKEN}\n` })), [['default', TOKEN]]);
});

for (const [what, text] of [
  ['a line break', 'abcdefgh\nijklmnop'],
  ['a space', 'abcdefgh ijklmnop'],
  ['a NUL', 'abcdefgh\0ijklmnop'],
  ['an umlaut', 'abcdefghüijklmnop'],
  ['4001 characters', 'x'.repeat(4001)],
] as const) {
  test(`a secret with ${what} is refused and not shown`, () => {
    deepEqual(problemsWith({ GATEWAY_AUTH_TOKEN: text }), [`GATEWAY_AUTH_TOKEN: expected ${SECRET}`]);
    deepEqual(problemsWith({ ZETA_API_KEY: text }), [`ZETA_API_KEY: expected ${SECRET}`]);
    deepEqual(problemsWith({ GATEWAY_METRICS_TOKEN: text }), [`GATEWAY_METRICS_TOKEN: expected ${SECRET}`]);
  });
}

test('a secret of 4000 characters is accepted', () => {
  deepEqual(callersOf(configWith({ GATEWAY_AUTH_TOKEN: 'x'.repeat(4000) })), [['default', 'x'.repeat(4000)]]);
});

test('every secret may come from a file, whose trailing line break is dropped', () => {
  const files = { '/token': `${TOKEN}\n`, '/tokens': 'ci:token-of-the-ci-job\r\n', '/metrics': 'token-of-prometheus', '/key': '\uFEFFkey-from-file\n', '/compat': 'key-of-compat\n', '/proxy': 'http://u:p@proxy.example:1\n', '/limits': 'redis://:password@redis\n' };
  const { config, problems, effective } = load(
    {
      GATEWAY_AUTH_TOKEN_FILE: '/token',
      GATEWAY_AUTH_TOKENS_FILE: '/tokens',
      GATEWAY_METRICS_TOKEN_FILE: '/metrics',
      ZETA_API_KEY_FILE: '/key',
      GATEWAY_COMPAT_API_KEY_FILE: '/compat',
      GATEWAY_COMPAT_BASE_URL: 'https://compat.example',
      HTTPS_PROXY_FILE: '/proxy',
      GATEWAY_LIMITS_URL_FILE: '/limits',
    },
    files,
  );
  deepEqual(problems, []);
  ok(config);
  deepEqual(callersOf(config), [['default', TOKEN], ['ci', 'token-of-the-ci-job']]);
  equal(config.metricsToken?.reveal(), 'token-of-prometheus');
  deepEqual(config.providers.map(({ keys: [key] }) => key?.secret.reveal()), ['key-of-compat', 'key-from-file']);
  equal(config.proxy.httpsProxy?.credentials?.reveal(), 'u:p');
  equal(config.limitsEngine?.password?.reveal(), 'password');
  deepEqual(effective.filter(({ source }) => source === 'file').map(({ variable, value }) => `${variable} ${value}`), [
    'GATEWAY_AUTH_TOKEN [set]',
    'GATEWAY_AUTH_TOKENS [set]',
    'GATEWAY_METRICS_TOKEN [set]',
    'HTTPS_PROXY [set]',
    'GATEWAY_LIMITS_URL [set]',
    'ZETA_API_KEY [set]',
    'GATEWAY_COMPAT_API_KEY [set]',
  ]);
});

test('a secret both in its variable and in a file is a problem', () => {
  deepEqual(problemsWith({ GATEWAY_AUTH_TOKEN_FILE: '/token' }, { '/token': TOKEN }), [
    'GATEWAY_AUTH_TOKEN, GATEWAY_AUTH_TOKEN_FILE: both are set, expected only one of them',
  ]);
  deepEqual(problemsWith({ ZETA_API_KEY_FILE: '/key' }, { '/key': KEY }), ['ZETA_API_KEY, ZETA_API_KEY_FILE: both are set, expected only one of them']);
});

test('a file that cannot be read is a problem with the error code and without the path', () => {
  deepEqual(problemsWith({ GATEWAY_METRICS_TOKEN_FILE: '/nowhere' }), ['GATEWAY_METRICS_TOKEN_FILE: the file cannot be read (ENOENT)']);
});

for (const [what, thrown] of [
  ['an error without a code', new Error('x')],
  ['a code that is no word', Object.assign(new Error('x'), { code: 'a b' })],
  ['a code that is no text', Object.assign(new Error('x'), { code: 7 })],
  ['no error at all', 'x'],
] as const) {
  test(`a file whose reading ends in ${what} is a problem too`, () => {
    const { problems } = loadConfig({ GATEWAY_AUTH_TOKEN_FILE: '/x', ZETA_API_KEY: KEY }, PROVIDERS, compatRow, () => {
      throw thrown;
    });
    deepEqual(problems, ['GATEWAY_AUTH_TOKEN_FILE: the file cannot be read (unknown error)']);
  });
}

test('a file without or with a bad secret is a problem of the file variable', () => {
  deepEqual(problemsWith({ GATEWAY_METRICS_TOKEN_FILE: '/empty' }, { '/empty': '\n' }), [`GATEWAY_METRICS_TOKEN_FILE: expected ${SECRET}`]);
  deepEqual(problemsWith({ GATEWAY_METRICS_TOKEN_FILE: '/two' }, { '/two': 'line-one\nline-two\n' }), [`GATEWAY_METRICS_TOKEN_FILE: expected ${SECRET}`]);
});

test('an unknown setting is held against what follows the prefix of all, and may be a part of a name', () => {
  const meantBy = (word: string): string | undefined => loadWith({ [`GATEWAY_${word}`]: 'x' }).unknownVariables[0]?.split('; did you mean ')[1];
  const guesses = { TOKEN: 'GATEWAY_AUTH_TOKEN?', RETRIES: 'GATEWAY_MAX_RETRIES?', LEVEL: 'GATEWAY_LOG_LEVEL?', HTTPS_PROXY: 'HTTPS_PROXY?', PORT: 'GATEWAY_ADDR?', ADDRESS: 'GATEWAY_ADDR?', DEBUG: undefined };
  for (const [word, meant] of Object.entries(guesses)) equal(meantBy(word), meant, word);
});

test('what is no secret has no file form', () => {
  deepEqual(loadWith({ GATEWAY_MAX_RETRIES_FILE: '/x' }).unknownVariables, [
    'GATEWAY_MAX_RETRIES_FILE: there is no such setting; did you mean GATEWAY_MAX_RETRIES?',
  ]);
});

// Callers

test('GATEWAY_AUTH_TOKENS adds callers; a token may contain colons', () => {
  const config = configWith({ GATEWAY_AUTH_TOKENS: 'ci:token:of:the:ci:job, ops.team-1_a : token-of-operations ,' });
  deepEqual(callersOf(config), [['default', TOKEN], ['ci', 'token:of:the:ci:job'], ['ops.team-1_a', 'token-of-operations']]);
});

test('GATEWAY_AUTH_TOKENS may have one entry a line, as its file does', () => {
  const lines = '\uFEFFci:token-of-the-ci-job\r\n\r\nops : token-of-operations,\r\nweb:token-of-the-web\r\n';
  const { config, problems } = load({ GATEWAY_AUTH_TOKENS_FILE: '/tokens', ZETA_API_KEY: KEY }, { '/tokens': lines });
  deepEqual(problems, []);
  ok(config);
  deepEqual(callersOf(config), [['ci', 'token-of-the-ci-job'], ['ops', 'token-of-operations'], ['web', 'token-of-the-web']]);
});

test('GATEWAY_AUTH_TOKENS alone is enough, and may then use the label default', () => {
  const { config, problems } = load({ GATEWAY_AUTH_TOKENS: `default:${TOKEN}`, ZETA_API_KEY: KEY });
  deepEqual(problems, []);
  ok(config);
  deepEqual(callersOf(config), [['default', TOKEN]]);
});

const ENTRY = `expected label:token, a label of up to 64 letters, digits, ".", "_" or "-" and a token of ${SECRET}`;

for (const entry of ['only-a-token-itself', ':token-without-label', 'label:', 'la bel:token-of-callers', `${'l'.repeat(65)}:token-of-callers`, 'label:token of callers', 'label:tokén']) {
  test(`the entry "${entry}" of GATEWAY_AUTH_TOKENS is refused and not shown`, () => {
    deepEqual(problemsWith({ GATEWAY_AUTH_TOKENS: `ci:token-of-the-ci-job,${entry}` }), [`GATEWAY_AUTH_TOKENS, entry 2: ${ENTRY}`]);
  });
}

test('GATEWAY_AUTH_TOKENS without an entry is a problem, and the only one', () => {
  deepEqual(load({ GATEWAY_AUTH_TOKENS: ' , ', ZETA_API_KEY: KEY }).problems, [
    'GATEWAY_AUTH_TOKENS: expected label:token, more of them separated by commas',
  ]);
});

test('labels must differ', () => {
  deepEqual(problemsWith({ GATEWAY_AUTH_TOKENS: 'default:token-of-the-ci-job,ops:token-of-operations,ops:token-of-others' }), [
    'GATEWAY_AUTH_TOKENS, entry 1: has the same label as GATEWAY_AUTH_TOKEN',
    'GATEWAY_AUTH_TOKENS, entry 3: has the same label as GATEWAY_AUTH_TOKENS, entry 2',
  ]);
});

test('tokens must differ', () => {
  deepEqual(problemsWith({ GATEWAY_AUTH_TOKENS: `ci:${TOKEN},ops:token-of-operations,others:token-of-operations` }), [
    'GATEWAY_AUTH_TOKENS, entry 1: has the same token as GATEWAY_AUTH_TOKEN',
    'GATEWAY_AUTH_TOKENS, entry 3: has the same token as GATEWAY_AUTH_TOKENS, entry 2',
  ]);
});

test('a bad GATEWAY_AUTH_TOKEN is not reported as a missing one as well', () => {
  deepEqual(problemsWith({ GATEWAY_AUTH_TOKEN: 'a b' }), [`GATEWAY_AUTH_TOKEN: expected ${SECRET}`]);
});

test('a token of fewer than 16 characters is a warning', () => {
  const short = { GATEWAY_AUTH_TOKEN: '123456789012345', GATEWAY_AUTH_TOKENS: 'ci:1234567890123456,ops:short', GATEWAY_METRICS_TOKEN: 'brief' };
  const { config, warnings } = loadWith(short);
  ok(config);
  deepEqual(warnings, [
    'GATEWAY_AUTH_TOKEN: the token has fewer than 16 characters and can be guessed',
    'GATEWAY_AUTH_TOKENS, entry 2: the token has fewer than 16 characters and can be guessed',
    'GATEWAY_METRICS_TOKEN: the token has fewer than 16 characters and can be guessed',
  ]);
});

test('a secret in quotes is a warning', () => {
  const { config, warnings } = loadWith({ GATEWAY_AUTH_TOKEN: '"123456789012345678"', ZETA_API_KEY: '', ZETA_API_KEY_FILE: '/key' }, { '/key': "'sk-0123456789'\n" });
  equal(config?.callers[0]?.token.reveal(), '"123456789012345678"');
  deepEqual(warnings, [
    'GATEWAY_AUTH_TOKEN: the quotes around it are part of it; remove them',
    'ZETA_API_KEY_FILE: the quotes around it are part of it; remove them',
  ]);
});

test('a metrics token without metrics is a warning', () => {
  deepEqual(loadWith({ GATEWAY_METRICS: 'false', GATEWAY_METRICS_TOKEN: 'token-of-prometheus' }).warnings, [
    'GATEWAY_METRICS_TOKEN: has no effect while GATEWAY_METRICS is false',
  ]);
});

// Providers

test('each key registers its provider; they are sorted, and the first is the default', () => {
  const config = configWith({ ALPHA_API_KEY: 'key-of-alpha' });
  deepEqual(config.providers.map(({ name, baseUrl, keys: [key], keyHeader, adapter }) => [name, baseUrl.href, key?.secret.reveal(), keyHeader.name, adapter.dialect]), [
    ['alpha', 'https://alpha.example/v1beta', 'key-of-alpha', 'authorization', 'dialect of alpha'],
    ['zeta', 'https://api.zeta.example/v1', KEY, 'authorization', 'dialect of zeta'],
  ]);
  equal(config.defaultProvider, 'alpha');
  equal(configWith({ ALPHA_API_KEY: KEY, GATEWAY_DEFAULT_PROVIDER: 'zeta' }).defaultProvider, 'zeta');
});

test('OPENAI_API reaches the codecs', () => {
  const heard: unknown[] = [];
  const createAdapter: ProviderRow['createAdapter'] = (_name, settings) => {
    heard.push(settings);
    return {} as Adapter;
  };
  for (const api of [undefined, 'chat', 'responses']) {
    loadConfig({ GATEWAY_AUTH_TOKEN: TOKEN, ZETA_API_KEY: KEY, OPENAI_API: api }, [row('zeta', { createAdapter })], compatRow, () => '');
  }
  deepEqual(heard, [{ openAiApi: 'auto' }, { openAiApi: 'chat' }, { openAiApi: 'responses' }]);
});

test('what an operator says of the answers of a host reaches its codec, and no other', () => {
  const heard: unknown[] = [];
  const createAdapter: ProviderRow['createAdapter'] = (name, settings) => {
    heard.push([name, settings]);
    return {} as Adapter;
  };
  const saying = (name: string): ProviderRow => row(name, { createAdapter, structuredOutputVariable: `${name.toUpperCase()}_STRUCTURED_OUTPUT` });
  const known = [saying('zeta'), saying('alpha')];
  const variables = { GATEWAY_AUTH_TOKEN: TOKEN, ZETA_API_KEY: KEY, ALPHA_API_KEY: KEY };
  for (const word of ['schema', 'json_object', 'none']) loadConfig({ ...variables, ALPHA_STRUCTURED_OUTPUT: word }, known, compatRow, () => '');
  deepEqual(heard, ['schema', 'json_object', 'none'].flatMap((structuredOutput) => [
    ['zeta', { openAiApi: 'auto' }],
    ['alpha', { openAiApi: 'auto', structuredOutput }],
  ]));
  deepEqual(loadConfig({ ...variables, ALPHA_STRUCTURED_OUTPUT: 'json' }, known, compatRow, () => '').problems, [
    'ALPHA_STRUCTURED_OUTPUT: expected one of schema, json_object, none, got "json"',
  ]);
  const unregistered = loadConfig({ GATEWAY_AUTH_TOKEN: TOKEN, ZETA_API_KEY: KEY, ALPHA_STRUCTURED_OUTPUT: 'schema' }, known, compatRow, () => '');
  deepEqual(unregistered.warnings, ['ALPHA_STRUCTURED_OUTPUT: has no effect without ALPHA_API_KEY']);
});

test('what is said of the answers of the operator\'s own host counts once it is registered', () => {
  const variables = { GATEWAY_COMPAT_STRUCTURED_OUTPUT: 'none' };
  deepEqual(loadWith(variables).warnings, ['GATEWAY_COMPAT_STRUCTURED_OUTPUT: has no effect without GATEWAY_COMPAT_BASE_URL']);
  const { warnings, unknownVariables } = loadWith({ ...variables, GATEWAY_COMPAT_BASE_URL: 'https://models.example' });
  deepEqual([warnings, unknownVariables], [[], []]);
});

test('a bad OPENAI_API is a problem', () => {
  deepEqual(problemsWith({ OPENAI_API: 'Responses' }), ['OPENAI_API: expected one of auto, chat, responses, got "Responses"']);
});

test('a default provider that is not configured is a problem that names those that are', () => {
  deepEqual(problemsWith({ ALPHA_API_KEY: KEY, GATEWAY_DEFAULT_PROVIDER: 'zetta' }), [
    'GATEWAY_DEFAULT_PROVIDER: expected a configured provider (alpha, zeta), got "zetta"',
  ]);
});

test('without any provider the default provider is not complained about', () => {
  deepEqual(load({ GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_DEFAULT_PROVIDER: 'zeta' }).problems, [
    'ZETA_API_KEY, ALPHA_API_KEY, OWN_API_KEY: no provider is configured; set one of these, or another that --help lists',
  ]);
});

test('the second key variable serves where the first is absent', () => {
  const { config, warnings } = loadWith({ OTHER_API_KEY: 'other-key' });
  equal(config?.providers[0]?.keys[0]?.secret.reveal(), 'other-key');
  deepEqual(warnings, []);
});

test('the first key variable wins, with a warning about the other', () => {
  const { config, warnings } = loadWith({ ALPHA_API_KEY: 'alpha-key', OTHER_API_KEY: 'other-key' });
  equal(config?.providers[0]?.keys[0]?.secret.reveal(), 'alpha-key');
  deepEqual(warnings, ['OTHER_API_KEY: ignored, because ALPHA_API_KEY is set']);
});

test('a base URL without the key it needs registers nothing, with a warning', () => {
  const { config, warnings } = loadWith({ ALPHA_BASE_URL: 'https://x.example' });
  deepEqual(config?.providers.map(({ name }) => name), ['zeta']);
  deepEqual(warnings, ['ALPHA_BASE_URL: has no effect without ALPHA_API_KEY or OTHER_API_KEY']);
});

test('a host without a key is registered by its base URL alone', () => {
  const [provider] = configWith({ OWN_BASE_URL: 'http://127.0.0.1:11434/v1' }).providers;
  deepEqual([provider?.name, provider?.baseUrl.href, provider?.keys[0]], ['own', 'http://127.0.0.1:11434/v1', undefined]);
});

test('a host that needs no key is registered by one, at its usual place', () => {
  const [provider] = configWith({ OWN_API_KEY: 'own-key' }).providers;
  deepEqual([provider?.baseUrl.href, provider?.keys[0]?.secret.reveal()], ['http://localhost:11434/v1', 'own-key']);
});

test('a key without a place to go is a problem', () => {
  deepEqual(problemsWith({ PLACELESS_API_KEY: KEY }), ['PLACELESS_BASE_URL: required, because PLACELESS_API_KEY is set']);
  deepEqual(problemsWith({ GATEWAY_COMPAT_API_KEY: KEY }), ['GATEWAY_COMPAT_BASE_URL: required, because GATEWAY_COMPAT_API_KEY is set']);
});

test('GATEWAY_COMPAT_BASE_URL registers a host, under GATEWAY_COMPAT_NAME and with GATEWAY_COMPAT_API_KEY', () => {
  const url = { GATEWAY_COMPAT_BASE_URL: 'https://models.example/v1/' };
  const [unnamed] = configWith(url).providers;
  deepEqual([unnamed?.name, unnamed?.baseUrl.href, unnamed?.keys[0]], ['compat', 'https://models.example/v1', undefined]);
  const [named] = configWith({ ...url, GATEWAY_COMPAT_NAME: 'in-house_1', GATEWAY_COMPAT_API_KEY: 'compat-key' }).providers;
  deepEqual([named?.name, named?.keys[0]?.secret.reveal(), named?.adapter.dialect], ['in-house_1', 'compat-key', 'dialect of in-house_1']);
});

for (const name of ['Compat', 'a.b', 'a b', 'ä', 'x'.repeat(65)]) {
  test(`GATEWAY_COMPAT_NAME=${name} is refused`, () => {
    const shown = name.length > 60 ? `${name.slice(0, 59)}…` : name;
    deepEqual(problemsWith({ GATEWAY_COMPAT_BASE_URL: 'https://models.example', GATEWAY_COMPAT_NAME: name }), [
      `GATEWAY_COMPAT_NAME: ${NAME}, got "${shown}"`,
    ]);
  });
}

test('GATEWAY_COMPAT_NAME has no effect without a host, and says so', () => {
  deepEqual(loadWith({ GATEWAY_COMPAT_NAME: 'in-house' }).warnings, ['GATEWAY_COMPAT_NAME: has no effect without GATEWAY_COMPAT_BASE_URL']);
  const url = { GATEWAY_COMPAT_BASE_URL: 'https://models.example' };
  deepEqual(loadWith({ ...url, GATEWAY_COMPAT_NAME: 'in-house' }).warnings, []);
});

test('GATEWAY_COMPAT_NAME must not be the name of a configured provider', () => {
  deepEqual(problemsWith({ GATEWAY_COMPAT_BASE_URL: 'https://models.example', GATEWAY_COMPAT_NAME: 'zeta' }), [
    'GATEWAY_COMPAT_NAME: zeta is configured already; choose another name',
  ]);
});

test('a bad provider key is not reported as a missing provider as well', () => {
  deepEqual(load({ GATEWAY_AUTH_TOKEN: TOKEN, ZETA_API_KEY: 'a b' }).problems, [`ZETA_API_KEY: expected ${SECRET}`]);
});

/** Base URL → what becomes of it with the version segment `v1beta`, and without one. */
const BASE_URLS: readonly (readonly [string, string, string])[] = [
  ['https://x.example', 'https://x.example/v1beta', 'https://x.example/'],
  ['https://x.example/', 'https://x.example/v1beta', 'https://x.example/'],
  ['https://x.example///', 'https://x.example/v1beta', 'https://x.example/'],
  ['HTTPS://X.Example:443/', 'https://x.example/v1beta', 'https://x.example/'],
  ['https://x.example:8443/proxy/', 'https://x.example:8443/proxy/v1beta', 'https://x.example:8443/proxy'],
  ['https://x.example/v1', 'https://x.example/v1', 'https://x.example/v1'],
  ['https://x.example/v1/', 'https://x.example/v1', 'https://x.example/v1'],
  ['https://x.example/v1beta', 'https://x.example/v1beta', 'https://x.example/v1beta'],
  ['https://x.example/v1beta2/', 'https://x.example/v1beta2', 'https://x.example/v1beta2'],
  ['https://x.example/proxy/v12alpha', 'https://x.example/proxy/v12alpha', 'https://x.example/proxy/v12alpha'],
  ['https://x.example/v1/proxy', 'https://x.example/v1/proxy/v1beta', 'https://x.example/v1/proxy'],
  ['https://x.example/v1gamma', 'https://x.example/v1gamma/v1beta', 'https://x.example/v1gamma'],
  ['https://x.example/version1', 'https://x.example/version1/v1beta', 'https://x.example/version1'],
  ['https://[::1]:1/a%20b', 'https://[::1]:1/a%20b/v1beta', 'https://[::1]:1/a%20b'],
];

for (const [text, versioned, plain] of BASE_URLS) {
  test(`the base URL ${text} is ${versioned} where a version belongs to it, else ${plain}`, () => {
    const { providers } = configWith({ ALPHA_API_KEY: KEY, ALPHA_BASE_URL: text, ZETA_BASE_URL: text });
    deepEqual(providers.map(({ baseUrl }) => baseUrl.href), [versioned, plain]);
  });
}

for (const text of ['x.example', 'ftp://x.example', 'xhttps://x.example', 'https://x.example/a b', 'https:x.example', 'https://', 'https://user@x.example', 'https://user:pass@x.example', 'https://:pass@x.example', 'https://x.example/?key=1', 'https://x.example?', 'https://x.example/#a', 'https://x.ex ample', 'https://x.example:99999', 'file:///etc/passwd', 'javascript:0']) {
  test(`the base URL ${text} is refused and not shown`, () => {
    const expected = 'expected an http or https URL without user name, password, query or fragment';
    deepEqual(problemsWith({ ZETA_BASE_URL: text }), [`ZETA_BASE_URL: ${expected}`]);
    deepEqual(problemsWith({ GATEWAY_COMPAT_BASE_URL: text }), [`GATEWAY_COMPAT_BASE_URL: ${expected}`]);
  });
}

for (const host of ['localhost', 'sub.localhost:1', '127.0.0.1', '127.1.2.3:8', '[::1]:9']) {
  test(`http to ${host} is no reason to warn`, () => deepEqual(loadWith({ OWN_BASE_URL: `http://${host}/v1` }).warnings, []));
}

for (const host of ['ollama:11434', '10.0.0.1', '128.0.0.1', '[::2]', 'localhost.example', '127.0.0.1.example']) {
  test(`http to ${host} is a warning`, () => {
    const { config, warnings } = loadWith({ OWN_BASE_URL: `http://${host}/v1` });
    ok(config);
    deepEqual(warnings, [`OWN_BASE_URL: keys and prompts travel to ${host} unencrypted; use https`]);
  });
}

// TLS, proxies, transport

const CERTIFICATE = createCertificate();
const TLS_VARIABLES = { GATEWAY_TLS_CERT_FILE: '/cert.pem', GATEWAY_TLS_KEY_FILE: '/key.pem' };

test('a certificate with its key makes tls, and the key is a secret', () => {
  const loaded = loadWith(TLS_VARIABLES, { '/cert.pem': CERTIFICATE.cert, '/key.pem': CERTIFICATE.key });
  deepEqual(loaded.problems, []);
  equal(loaded.config?.tls?.cert, CERTIFICATE.cert);
  equal(loaded.config?.tls?.key.reveal(), CERTIFICATE.key);
  ok(!said(loaded).includes('PRIVATE KEY'));
});

for (const [what, text] of [['text', 'certificate'], ['nothing', ''], ['a broken one', `${CERTIFICATE.cert.slice(0, 200)}\n-----END CERTIFICATE-----\n`]] as const) {
  test(`a certificate file with ${what} is a problem that names the variable`, () => {
    deepEqual(problemsWith(TLS_VARIABLES, { '/cert.pem': text, '/key.pem': CERTIFICATE.key }), ['GATEWAY_TLS_CERT_FILE: expected a certificate in PEM']);
  });
}

for (const [what, text] of [['text', 'key'], ['nothing', ''], ['the certificate', CERTIFICATE.cert]] as const) {
  test(`a key file with ${what} is a problem that names the variable`, () => {
    deepEqual(problemsWith(TLS_VARIABLES, { '/cert.pem': CERTIFICATE.cert, '/key.pem': text }), [
      'GATEWAY_TLS_KEY_FILE: expected a private key without a passphrase in PEM',
    ]);
  });
}

test('a key with a passphrase is a problem', () => {
  const encrypted = createPrivateKey(CERTIFICATE.key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }).toString();
  deepEqual(problemsWith(TLS_VARIABLES, { '/cert.pem': CERTIFICATE.cert, '/key.pem': encrypted }), [
    'GATEWAY_TLS_KEY_FILE: expected a private key without a passphrase in PEM',
  ]);
});

test('NODE_TLS_REJECT_UNAUTHORIZED as Node obeys it is a problem that names the way out', () => {
  for (const text of ['0', ' 0 ']) {
    deepEqual(problemsWith({ NODE_TLS_REJECT_UNAUTHORIZED: text }), [
      'NODE_TLS_REJECT_UNAUTHORIZED: 0 would hand keys to whoever answers; remove it, and name the authority of a private certificate in NODE_EXTRA_CA_CERTS',
    ]);
  }
  for (const text of ['1', '', undefined]) deepEqual(problemsWith({ NODE_TLS_REJECT_UNAUTHORIZED: text }), []);
});

test('the key of another certificate is a problem, of the same kind or not', () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  for (const key of [createCertificate().key, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()]) {
    deepEqual(problemsWith(TLS_VARIABLES, { '/cert.pem': CERTIFICATE.cert, '/key.pem': key }), [
      'GATEWAY_TLS_KEY_FILE: is not the key of the certificate in GATEWAY_TLS_CERT_FILE',
    ]);
  }
});

test('a certificate without its key, or a key without its certificate, is a problem', () => {
  deepEqual(problemsWith({ GATEWAY_TLS_CERT_FILE: '/f' }, { '/f': CERTIFICATE.cert }), ['GATEWAY_TLS_KEY_FILE: required, because GATEWAY_TLS_CERT_FILE is set']);
  deepEqual(problemsWith({ GATEWAY_TLS_KEY_FILE: '/f' }, { '/f': CERTIFICATE.key }), ['GATEWAY_TLS_CERT_FILE: required, because GATEWAY_TLS_KEY_FILE is set']);
});

test('certificate and key must be readable', () => {
  deepEqual(problemsWith({ GATEWAY_TLS_CERT_FILE: '/no', GATEWAY_TLS_KEY_FILE: '/none' }), [
    'GATEWAY_TLS_CERT_FILE: the file cannot be read (ENOENT)',
    'GATEWAY_TLS_KEY_FILE: the file cannot be read (ENOENT)',
  ]);
});

for (const [https, http, no] of [['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'], ['https_proxy', 'http_proxy', 'no_proxy']] as const) {
  test(`${https}, ${http} and ${no} make the proxy`, () => {
    const { proxy } = configWith({ [https]: 'http://user:pass@proxy.example:3128', [http]: 'https://other.example/', [no]: 'Localhost, .internal.example 10.0.0.1' });
    const { credentials, ...address } = proxy.httpsProxy ?? {};
    deepEqual(address, { protocol: 'http:', hostname: 'proxy.example', port: 3128 });
    equal(credentials?.reveal(), 'user:pass');
    deepEqual(proxy.httpProxy, { protocol: 'https:', hostname: 'other.example', port: 443, credentials: undefined });
    deepEqual(proxy.noProxy, ['localhost', '.internal.example', '10.0.0.1']);
  });
}

test('of both spellings of a proxy the upper case one counts', () => {
  equal(configWith({ HTTPS_PROXY: 'http://upper.example', https_proxy: 'http://lower.example' }).proxy.httpsProxy?.hostname, 'upper.example');
});

for (const text of ['proxy.example:3128', 'socks5://proxy.example', 'http://', 'http://proxy.example/path', 'http://user:pass@proxy.example?', 'http://user:%ff@proxy.example']) {
  test(`the proxy ${text} is refused and not shown`, () => {
    const expected = 'expected an http or https URL such as http://proxy.example.com:3128';
    deepEqual(problemsWith({ HTTPS_PROXY: text }), [`HTTPS_PROXY: ${expected}`]);
    deepEqual(problemsWith({ http_proxy: text }), [`http_proxy: ${expected}`]);
  });
}

const ENGINES: readonly (readonly [text: string, parts: readonly unknown[]])[] = [
  ['redis://redis', [false, 'redis', 6379, undefined, undefined, 0]],
  ['REDIS://10.0.0.7:7000/', [false, '10.0.0.7', 7000, undefined, undefined, 0]],
  ['rediss://:p%40ss@[::1]:1/15', [true, '::1', 1, undefined, 'p@ss', 15]],
  ['rediss://gw:p%C3%A4ss@cache.example.com/10000', [true, 'cache.example.com', 6379, 'gw', 'päss', 10_000]],
];

for (const [text, parts] of ENGINES) {
  test(`GATEWAY_LIMITS_URL=${text} is an engine`, () => {
    const { isTls, hostname, port, user, password, database } = configWith({ GATEWAY_LIMITS_URL: text }).limitsEngine ?? {};
    deepEqual([isTls, hostname, port, user, password?.reveal(), database], parts);
  });
}

for (const text of ['redis', 'http://redis', 'redis://', 'redis:///0', 'redis://h/x', 'redis://h/1/2', 'redis://h/100000', 'redis://h:0', 'redis://h:99999', 'redis://h?db=1', 'redis://h#0', 'redis://canary@h', 'redis://u:%ff@h', 'redis://%ff:p@h', 'redis://a b', 'redis://:a b@h', 'http://redis://h']) {
  test(`GATEWAY_LIMITS_URL=${text} is refused without being shown`, () => {
    deepEqual(problemsWith({ GATEWAY_LIMITS_URL: text }), ['GATEWAY_LIMITS_URL: expected redis://[user:password@]host[:6379][/0], or rediss:// for TLS']);
  });
}

test('GATEWAY_LIMITS_URL without a limit that it could keep is a warning', () => {
  deepEqual(loadWith({ GATEWAY_LIMITS_URL: 'redis://redis' }).warnings, ['GATEWAY_LIMITS_URL: has no effect, because no caller has a limit']);
  deepEqual(loadWith({ GATEWAY_LIMITS_URL: 'redis://redis', GATEWAY_CALLER_LIMITS: 'default:rpm=1' }).warnings, []);
});

test('a network in NO_PROXY is a warning, since it exempts nothing', () => {
  deepEqual(loadWith({ NO_PROXY: 'localhost,10.0.0.0/8' }).warnings, ['NO_PROXY: "10.0.0.0/8" exempts nothing: networks are not understood, list hosts']);
});

test('the limits of fetch are said at start-up', () => {
  const limits = 'GATEWAY_TRANSPORT: fetch gives up after 10s of connecting and 300s of silence, even where longer timeouts are set';
  deepEqual(loadWith({ GATEWAY_TRANSPORT: 'fetch' }).warnings, [limits]);
  for (const variable of ['HTTPS_PROXY', 'HTTP_PROXY']) {
    deepEqual(loadWith({ GATEWAY_TRANSPORT: 'fetch', [variable]: 'http://proxy.example' }).warnings, [
      limits,
      'GATEWAY_TRANSPORT: fetch does not use HTTPS_PROXY and HTTP_PROXY',
    ]);
  }
});

// Unknown variables, what is in effect

test('an unknown GATEWAY_ variable is named with the nearest known one', () => {
  const { config, warnings, unknownVariables } = loadWith({
    GATEWAY_MAX_RETRYS: '4',
    GATEWAY_AUTH_TOKEN_FLIE: '/x',
    GATEWAY_SOMETHING_ALTOGETHER_ELSE: 'x',
    'GATEWAY_A\nB': 'x',
    gateway_metrics: 'x',
    MY_GATEWAY_ADDR: 'x',
  });
  ok(config);
  deepEqual(warnings, []);
  deepEqual(unknownVariables, [
    'GATEWAY_MAX_RETRYS: there is no such setting; did you mean GATEWAY_MAX_RETRIES?',
    'GATEWAY_AUTH_TOKEN_FLIE: there is no such setting; did you mean GATEWAY_AUTH_TOKEN_FILE?',
    'GATEWAY_SOMETHING_ALTOGETHER_ELSE: there is no such setting',
    '"GATEWAY_A\\nB": there is no such setting',
  ]);
});

test('effective says what is set, from where, and what is not', () => {
  const { effective } = loadWith({ PORT: '3000', GATEWAY_LOG_LEVEL: ' debug ', ZETA_BASE_URL: 'https://x.example' });
  const said = new Map(effective.map(({ variable, value, source }) => [variable, `${value} (${source})`]));
  equal(said.get('PORT'), '3000 (environment)');
  equal(said.has('GATEWAY_ADDR'), false);
  equal(said.get('GATEWAY_LOG_LEVEL'), 'debug (environment)');
  equal(said.get('GATEWAY_LOG_FORMAT'), 'json (default)');
  equal(said.get('GATEWAY_AUTH_TOKEN'), '[set] (environment)');
  equal(said.get('GATEWAY_METRICS_TOKEN'), 'none (default)');
  equal(said.get('GATEWAY_ALLOWED_ORIGINS'), 'none (default)');
  equal(said.get('ZETA_API_KEY'), '[set] (environment)');
  equal(said.get('ZETA_BASE_URL'), 'https://x.example (environment)');
  equal(effective.length, said.size);
});

// Secrets stay secret

const CANARY = 'canary0canary1canary2';

/** Everything that is written somewhere; the configuration as logs and debuggers would print it. */
function said(loaded: LoadedConfig): string {
  return JSON.stringify(loaded) + inspect(loaded, { depth: 9, showHidden: true });
}

const SECRET_VARIABLES = ['GATEWAY_AUTH_TOKEN', 'GATEWAY_METRICS_TOKEN', 'ZETA_API_KEY', 'ALPHA_API_KEY', 'OTHER_API_KEY', 'GATEWAY_COMPAT_API_KEY'];

for (const variable of SECRET_VARIABLES) {
  for (const value of [CANARY, `${CANARY} `, `${CANARY}\n${CANARY}`, `${CANARY}é`, `a ${CANARY}`]) {
    test(`${variable}=${JSON.stringify(value)} is never shown`, () => {
      const compat = { GATEWAY_COMPAT_BASE_URL: 'https://models.example' };
      ok(!said(loadWith({ ...compat, [variable]: value })).includes('canary'));
      ok(!said(loadWith({ ...compat, [variable]: undefined, [`${variable}_FILE`]: '/f' }, { '/f': value })).includes('canary'));
      ok(!said(loadWith({ ...compat, [variable]: value, [`${variable}_FILE`]: CANARY })).includes('canary'));
      ok(!said(loadWith({ ...compat, [variable]: undefined, [`${variable}_FILE`]: CANARY })).includes('canary'));
    });
  }
}

test('no token of GATEWAY_AUTH_TOKENS is ever shown', () => {
  for (const value of [`ci:${CANARY}`, CANARY, `${CANARY}:`, `a:${CANARY},b:${CANARY}`, `${CANARY} x:${CANARY}`, `a:${CANARY} x`]) {
    ok(!said(loadWith({ GATEWAY_AUTH_TOKENS: value })).includes('canary'), value);
  }
});

test('no password of a URL is ever shown', () => {
  for (const value of [`http://u:${CANARY}@proxy.example`, `http://u:${CANARY}@proxy.example/path`, `u:${CANARY}@proxy.example`]) {
    for (const variable of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy', 'ZETA_BASE_URL', 'GATEWAY_COMPAT_BASE_URL']) {
      ok(!said(loadWith({ [variable]: value })).includes('canary'), `${variable}=${value}`);
    }
  }
  for (const value of [`redis://u:${CANARY}@redis`, `redis://u:${CANARY}@redis/x`, `u:${CANARY}@redis`]) {
    ok(!said(loadWith({ GATEWAY_LIMITS_URL: value })).includes('canary'), value);
  }
});

test('the secrets of a configuration are Secrets', () => {
  const config = configWith({ GATEWAY_METRICS_TOKEN: 'token-of-prometheus' });
  for (const secret of [config.callers[0]?.token, config.metricsToken, config.providers[0]?.keys[0]?.secret]) ok(secret instanceof Secret);
});

// What people read

test('renderHelp names every setting with its default, and every provider with its variables', () => {
  const help = renderHelp(PROVIDERS);
  for (const setting of rows) {
    const value = setting.default ? `default ${setting.default}` : (setting.absence ?? 'none');
    ok(help.includes(`  ${setting.variable}  (${setting.type.name}; ${value})\n      `), setting.variable);
  }
  ok(help.includes('  zeta        ZETA_API_KEY\n              ZETA_BASE_URL (default https://api.zeta.example/v1)\n'));
  ok(help.includes('  alpha       ALPHA_API_KEY or OTHER_API_KEY\n'));
  ok(help.includes('  own         OWN_API_KEY (optional)\n'));
  ok(help.includes('PLACELESS_BASE_URL (required)\n'));
  ok(renderHelp([row('far', { cloud: 'azure', defaultBaseUrl: undefined })]).includes('FAR_BASE_URL (default by its cloud)\n'));
});

test('renderHelp is plain text of at most 100 columns that ends in one line break, and has every word of what settings mean', () => {
  const help = renderHelp(PROVIDERS);
  const words = (text: string): string => text.replaceAll('`', '').replaceAll(/\s+/g, ' ');
  for (const { meaning } of rows) ok(words(help).includes(words(meaning)), meaning);
  for (const line of help.split('\n')) ok(line.length <= 100 && line === line.trimEnd(), line);
  match(help, /[^\n]\n$/);
  ok(!help.includes('`') && !help.includes('undefined'));
});

test('renderSettingsTable has a row of four cells for every setting and every provider', () => {
  const lines = renderSettingsTable(PROVIDERS).split('\n').filter((line) => line.startsWith('|'));
  equal(lines.length, rows.length + PROVIDERS.length + 4);
  for (const line of lines) equal(line.split(/(?<!\\)\|/).length, 6, line);
});
