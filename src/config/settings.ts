/**
 * Every setting, once: the table below is the parser, the default, the type, the start-up messages, `--help` and the
 * README. A new setting is a new row; what it fills is then a field of `Config`.
 */

import { LOG_LEVELS } from '../base/log.ts';
import { CLOUD_NAMES } from '../core/adapter.ts';
import { COMPAT, STRUCTURED_OUTPUT } from './providers.ts';
import { CALLER_LIMITS, ROUTES } from './routing-variables.ts';
import { ADDRESS, BASE_URL, BOOLEAN, DELAY, DURATION, ENGINE_URL, HOSTS, INTERVAL, KEY_LIST, NETWORKS, ORIGINS } from './setting-types.ts';
import { PATH, PORT, PROVIDER_NAME, PROXY_URL, SECRET, SECRET_LIST, WORKERS, count, size, someOf, word } from './setting-types.ts';
import type { SettingType } from './setting-types.ts';
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
    meaning: 'Where to listen: `host:port`, `:port`, `[ipv6]:port` or `unix:/path`. Without a host: every interface. If absent, a `PORT` set by a platform is used.' },
  { variable: 'GATEWAY_AUTH_TOKEN', field: 'authToken', type: SECRET, default: undefined, absence: 'required',
    meaning: 'The token of callers, labelled `default`. May be absent when `GATEWAY_AUTH_TOKENS` is set.' },
  { variable: 'GATEWAY_AUTH_TOKENS', field: 'authTokens', type: SECRET_LIST, default: undefined,
    meaning: 'More tokens: `label:token,label:token`, or one a line. Labels show in logs and metrics, tokens never.' },
  { variable: 'GATEWAY_DEFAULT_PROVIDER', field: 'defaultProvider', type: PROVIDER_NAME, default: undefined, absence: 'first by name',
    meaning: 'Serves requests that name no provider. Requests in the format of OpenAI or Anthropic only if it speaks that format, or if that vendor is not configured.' },
  { variable: 'GATEWAY_COMPAT_BASE_URL', field: 'providers', type: BASE_URL, default: undefined,
    meaning: 'Registers one more OpenAI-compatible host.' },
  { variable: 'GATEWAY_COMPAT_NAME', field: 'compatName', type: PROVIDER_NAME, default: COMPAT,
    meaning: 'The name of that host in requests.' },
  { variable: 'GATEWAY_COMPAT_API_KEY', field: 'providers', type: SECRET, default: undefined,
    meaning: 'The key of that host, if it needs one.' },
  { variable: 'GATEWAY_COMPAT_API_KEYS', field: 'providers', type: KEY_LIST, default: undefined,
    meaning: 'Several keys of one account at that host, instead.' },
  { variable: 'GATEWAY_COMPAT_STRUCTURED_OUTPUT', field: 'providers', type: STRUCTURED_OUTPUT, default: 'schema',
    meaning: 'What that host can enforce for answers: a JSON schema (and the parameters of strict tools), any JSON, or nothing. Requests for more are refused as `unsupported`.' },
  { variable: 'GATEWAY_CLOUDS', field: 'clouds', type: someOf(...CLOUD_NAMES), default: 'none',
    meaning: 'Clouds to call with credentials other than keys: roles, identities, account files. Many machines have variables of that kind, so these alone register no provider.' },
  { variable: 'GATEWAY_REQUEST_TIMEOUT', field: 'requestTimeoutMs', type: DURATION, default: '10m',
    meaning: 'Time for a whole answer that is not streamed, or a model list, retries and waits included.' },
  { variable: 'GATEWAY_CONNECT_TIMEOUT', field: 'connectTimeoutMs', type: DURATION, default: '10s',
    meaning: 'Time to connect to a provider: DNS, TCP and TLS.' },
  { variable: 'GATEWAY_ATTEMPT_TIMEOUT', field: 'attemptTimeoutMs', type: DURATION, default: '10m',
    meaning: 'Time for one attempt; of a stream, until its first event.' },
  { variable: 'GATEWAY_STREAM_IDLE_TIMEOUT', field: 'streamIdleTimeoutMs', type: DURATION, default: '5m',
    meaning: 'The longest silence of a provider within a stream.' },
  { variable: 'GATEWAY_STREAM_TIMEOUT', field: 'streamTimeoutMs', type: DURATION, default: '1h',
    meaning: 'Time for a whole stream.' },
  { variable: 'GATEWAY_MAX_RETRIES', field: 'retriesMax', type: count(0, 100), default: '3',
    meaning: 'Retries after the first attempt.' },
  { variable: 'GATEWAY_RETRY_BASE_DELAY', field: 'retryBaseDelayMs', type: DELAY, default: '500ms',
    meaning: 'The longest wait before the first retry; doubles with each retry.' },
  { variable: 'GATEWAY_RETRY_MAX_DELAY', field: 'retryMaxDelayMs', type: DELAY, default: '30s',
    meaning: 'The longest wait before any retry, unless the provider asks for more.' },
  { variable: 'GATEWAY_RETRY_AFTER_CAP', field: 'retryAfterCapMs', type: DELAY, default: '5m',
    meaning: 'The longest wait that a provider may ask for; if it asks for more, the failure is returned at once.' },
  { variable: 'GATEWAY_HEARTBEAT_INTERVAL', field: 'heartbeatIntervalMs', type: INTERVAL, default: '15s',
    meaning: 'After this time without an event in a stream a comment is sent; `0` or negative = off.' },
  { variable: 'GATEWAY_MAX_CONCURRENT', field: 'concurrentMax', type: count(1, 1_000_000), default: undefined, absence: 'unlimited',
    meaning: 'Chats, token counts and model lists in flight, each until the caller has taken its answer; further ones get 429 with `Retry-After`.' },
  { variable: 'GATEWAY_MAX_CONNECTIONS', field: 'connectionsMax', type: count(1, 1_000_000), default: undefined,
    absence: 'from the descriptor limit',
    meaning: "Callers' connections; further ones are closed at once. By default half of the process's file descriptors (`ulimit -n`, less 48 for itself), so that each chat has one for its provider; unlimited if that cannot be read." },
  // By default longer than AWS' load balancers keep theirs (60 s), so that they close first.
  { variable: 'GATEWAY_CONNECTION_IDLE_TIMEOUT', field: 'connectionIdleTimeoutMs', type: DURATION, default: '75s',
    meaning: "How long a caller's connection may be idle. It must be longer than a load balancer in front keeps it: behind Google's, `620s`." },
  // A body becomes one string, and strings end at 512 Mi characters.
  { variable: 'GATEWAY_MAX_BODY_BYTES', field: 'bodyBytesMax', type: size(256 * 1024 * 1024), default: '16MiB',
    meaning: 'The largest request body.' },
  { variable: 'GATEWAY_ALLOWED_ORIGINS', field: 'allowedOrigins', type: ORIGINS, default: '',
    meaning: 'Origins whose pages may call (CORS), e.g. `https://app.example.com`, or `app://obsidian.md` of an application; separated by commas.' },
  { variable: 'GATEWAY_METRICS', field: 'isMetricsEnabled', type: BOOLEAN, default: 'true',
    meaning: 'Whether `/metrics` is served.' },
  { variable: 'GATEWAY_METRICS_TOKEN', field: 'metricsToken', type: SECRET, default: undefined,
    meaning: 'The bearer token that `/metrics` requires; if absent, it requires none.' },
  { variable: 'GATEWAY_INCLUDE_RAW', field: 'includesRaw', type: BOOLEAN, default: 'false',
    meaning: "Adds the provider's unchanged body to answers of `/v1/chat`, as `raw`." },
  { variable: 'GATEWAY_FORWARD_ERROR_MESSAGES', field: 'forwardsErrorMessages', type: BOOLEAN, default: 'false',
    meaning: "Adds the provider's own words to errors, shortened and with keys masked. They can repeat parts of prompts." },
  { variable: 'GATEWAY_DRAIN_DELAY', field: 'drainDelayMs', type: DELAY, default: '2s',
    meaning: 'On SIGTERM or SIGINT: the time from `/readyz` answering 503 until no new connection is accepted.' },
  { variable: 'GATEWAY_SHUTDOWN_GRACE', field: 'shutdownGraceMs', type: DELAY, default: '30s',
    meaning: 'After that: how long requests in flight may take. Streams that remain end with an `error` event.' },
  { variable: 'GATEWAY_LOG_LEVEL', field: 'logLevel', type: word(...LOG_LEVELS), default: 'info',
    meaning: 'The lowest level that is logged.' },
  { variable: 'GATEWAY_LOG_FORMAT', field: 'logFormat', type: word('json', 'text'), default: 'json',
    meaning: '`json` is for machines, `text` for people.' },
  { variable: 'GATEWAY_LOG_ADDRESS', field: 'logsAddress', type: BOOLEAN, default: 'true',
    meaning: "Adds the caller's address to its log line." },
  { variable: 'GATEWAY_TRUSTED_PROXIES', field: 'trustedProxies', type: NETWORKS, default: '',
    meaning: 'Addresses and networks of your proxies, separated by commas; only these may give the caller\'s address, in `Forwarded` or `X-Forwarded-For`.' },
  { variable: 'GATEWAY_TRANSPORT', field: 'transport', type: word('http', 'fetch', 'wire'), default: 'wire',
    meaning: 'How providers are called: `wire` = the gateway\'s own HTTP client; `http` = node:http, which takes more CPU; `fetch` = the built-in fetch, which has time limits of its own.' },
  { variable: 'GATEWAY_WRITE_STALL_TIMEOUT', field: 'writeStallTimeoutMs', type: DURATION, default: '60s',
    meaning: 'A caller that reads nothing of its answer for this long is cut off.' },
  { variable: 'GATEWAY_TLS_CERT_FILE', field: 'tlsCertFile', type: PATH, default: undefined,
    meaning: 'A PEM certificate with its chain: the gateway then serves HTTPS.' },
  { variable: 'GATEWAY_TLS_KEY_FILE', field: 'tlsKeyFile', type: PATH, default: undefined,
    meaning: "The certificate's private key, PEM." },
  { variable: 'GATEWAY_PROPAGATE_TRACE', field: 'propagatesTrace', type: BOOLEAN, default: 'false',
    meaning: "Passes the caller's `traceparent` on to providers." },
  { variable: 'HTTPS_PROXY', field: 'httpsProxy', type: PROXY_URL, default: undefined,
    alternative: { variable: 'https_proxy', type: PROXY_URL },
    meaning: 'The proxy for calls to providers over https. Lower-case names work too, here and in the next two.' },
  { variable: 'HTTP_PROXY', field: 'httpProxy', type: PROXY_URL, default: undefined,
    alternative: { variable: 'http_proxy', type: PROXY_URL },
    meaning: 'The proxy for calls to providers over http.' },
  { variable: 'NO_PROXY', field: 'noProxy', type: HOSTS, default: '',
    alternative: { variable: 'no_proxy', type: HOSTS },
    meaning: 'What is called without a proxy: hosts with their subdomains, `host:port`, IP addresses, or `*`; separated by commas.' },
  { variable: 'GATEWAY_DIALECTS', field: 'dialects', type: someOf('openai-chat', 'openai-responses', 'anthropic'), default: 'openai-chat,openai-responses,anthropic',
    meaning: "The other vendors' formats that are served beside the gateway's own; `none` = none. The paths of the others answer 404." },
  { variable: 'GATEWAY_MODEL_PREFIXES', field: 'takesModelPrefixes', type: BOOLEAN, default: undefined, absence: 'only in the formats of other vendors',
    meaning: 'Whether a model named `provider/model` is asked of that provider, if there is one of that name.' },
  { variable: 'GATEWAY_ROUTES', field: 'routes', type: ROUTES, default: undefined,
    meaning: 'Routes: names that stand for targets, in order of preference: `name=provider/model,provider/model;name=…`. When one fails, the next is asked.' },
  { variable: 'GATEWAY_CALLER_LIMITS', field: 'callerLimits', type: CALLER_LIMITS, default: undefined,
    meaning: 'What callers may use, by label: requests and tokens a minute, tokens a day, requests in flight: `label:rpm=60,tpm=100000,tpd=5000000,concurrent=8;label:…`. `*` = each caller without limits of its own.' },
  { variable: 'GATEWAY_ROUTING_FILE', field: 'routingFile', type: PATH, default: undefined,
    meaning: 'A JSON file with routes, callers\' rules and further providers, in place of `GATEWAY_ROUTES`, `GATEWAY_CALLER_LIMITS` and `GATEWAY_MODEL_PREFIXES`. SIGHUP reads it again.' },
  { variable: 'GATEWAY_RELAY_STORED', field: 'relaysStored', type: BOOLEAN, default: 'false',
    meaning: 'With several callers: whether requests may refer to files, responses and the like stored at the provider, which another caller may have stored.' },
  { variable: 'GATEWAY_LIMITS_URL', field: 'limitsEngine', type: ENGINE_URL, default: undefined,
    meaning: "A Redis or Valkey (5 or newer) in which several gateways count callers' limits together: `redis://[user:password@]host[:6379][/0]`, or `rediss://` for TLS. Without it, or while it does not answer, each process counts alone." },
  { variable: 'GATEWAY_WORKERS', field: 'workers', type: WORKERS, default: '1',
    meaning: 'Processes that serve one address, with one `/metrics`; `auto` = as many as cores. `GATEWAY_MAX_CONCURRENT` and `GATEWAY_MAX_CONNECTIONS` are divided among them, rounded up.' },
  { variable: 'OPENAI_API', field: 'openAiApi', type: word('auto', 'chat', 'responses'), default: 'auto',
    meaning: 'Which API of `openai` is called: Chat Completions, Responses, or, with `auto`, the one that the model and the request need.' },
] as const satisfies readonly Setting[];

/** A row of the table. */
export type SettingRow = (typeof SETTINGS)[number];
type Row = Exclude<SettingRow, { readonly field: 'providers' }>;
type ValueOf<R extends Row> = R['type'] extends SettingType<infer T> ? (R['default'] extends string ? T : T | undefined) : never;

/** What the rows say, one by one. Those of field `providers` are read with their provider. */
export type Settings = { readonly [R in Row as R['field']]: ValueOf<R> };

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
