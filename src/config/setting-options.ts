/** The settings as options, printed from the table in settings.ts by test/readme.ts. Durations: `1m30s`, or milliseconds. Sizes: `16MiB`, or bytes. */

export type SettingOptions = {
  /** Serves the requests that name no provider; in the format of another maker only where it speaks that or the maker is not configured. Default: first by name. */
  readonly defaultProvider?: string | undefined;
  /** A whole answer that is not streamed, or a model list, retries and waits included. Default: `10m`. */
  readonly requestTimeout?: string | number | undefined;
  /** Connecting to a provider: name lookup, TCP and TLS. Default: `10s`. */
  readonly connectTimeout?: string | number | undefined;
  /** One attempt; of a stream, until its first event. Default: `10m`. */
  readonly attemptTimeout?: string | number | undefined;
  /** The longest silence of a provider inside a stream. Default: `5m`. */
  readonly streamIdleTimeout?: string | number | undefined;
  /** A whole stream. Default: `1h`. */
  readonly streamTimeout?: string | number | undefined;
  /** Retries after the first attempt. Default: `3`. */
  readonly maxRetries?: number | undefined;
  /** The longest wait before the first retry; doubles with each retry. Default: `500ms`. */
  readonly retryBaseDelay?: string | number | undefined;
  /** The longest wait before any retry, unless the provider asks for more. Default: `30s`. */
  readonly retryMaxDelay?: string | number | undefined;
  /** The longest wait a provider may ask for; beyond it the failure is returned at once. Default: `5m`. */
  readonly retryAfterCap?: string | number | undefined;
  /** A comment is sent after so long without an event in a stream; `0` or negative = off. Default: `15s`. */
  readonly heartbeatInterval?: string | number | undefined;
  /** Chats, counts of tokens and model lists in flight, each until its answer was taken; beyond it callers get 429 with `Retry-After`. Default: unlimited. */
  readonly maxConcurrent?: number | undefined;
  /** Callers' connections; more are closed at once. By default half of the process's descriptors (`ulimit -n`, less 48 for itself), so that each chat has one for its provider; unlimited where that cannot be read. Default: from the descriptor limit. */
  readonly maxConnections?: number | undefined;
  /** The largest request body. Default: `16MiB`. */
  readonly maxBodyBytes?: string | number | undefined;
  /** Web origins whose pages may call (CORS), e.g. `https://app.example.com`; separated by commas. */
  readonly allowedOrigins?: string | readonly string[] | undefined;
  /** Whether `/metrics` is there. Default: `true`. */
  readonly metrics?: boolean | undefined;
  /** The token that `/metrics` asks for; without it, it asks for none. */
  readonly metricsToken?: string | undefined;
  /** Adds the provider's untouched body to replies of `/v1/chat`, as `raw`. Default: `false`. */
  readonly includeRaw?: boolean | undefined;
  /** Adds the provider's own words to errors, cut and with keys masked. They can repeat parts of prompts. Default: `false`. */
  readonly forwardErrorMessages?: boolean | undefined;
  /** On SIGTERM or SIGINT: from unready until the listener closes. Default: `2s`. */
  readonly drainDelay?: string | number | undefined;
  /** Then: how long work in flight may take. Streams that are left get an `error` event. Default: `30s`. */
  readonly shutdownGrace?: string | number | undefined;
  /** The least level that is logged. Default: `info`. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | undefined;
  /** Adds the caller's address to its log line. Default: `true`. */
  readonly logAddress?: boolean | undefined;
  /** Addresses and networks of your proxies, separated by commas; only these may name the caller, by `Forwarded` or `X-Forwarded-For`. */
  readonly trustedProxies?: string | readonly string[] | undefined;
  /** `wire` calls providers with an HTTP client of the gateway's own; `http` with node:http, for more CPU; `fetch` with the built-in fetch, which has time limits of its own. Default: `wire`. */
  readonly transport?: 'http' | 'fetch' | 'wire' | undefined;
  /** A caller who takes nothing of its answer for so long is cut off. Default: `60s`. */
  readonly writeStallTimeout?: string | number | undefined;
  /** A PEM certificate with its chain: the gateway then serves HTTPS. */
  readonly tlsCertFile?: string | undefined;
  /** The certificate's private key, PEM. */
  readonly tlsKeyFile?: string | undefined;
  /** Passes the caller's `traceparent` on to providers. Default: `false`. */
  readonly propagateTrace?: boolean | undefined;
  /** The proxy for calls to providers over https. Lower case counts too, here and below. */
  readonly httpsProxy?: string | undefined;
  /** The proxy for calls to providers over http. */
  readonly httpProxy?: string | undefined;
  /** Called without a proxy: hosts and their subdomains, also `host:port` and IP addresses, or `*`; separated by commas. */
  readonly noProxy?: string | readonly string[] | undefined;
  /** The formats of other makers that are served beside the gateway's own; `none` = none. The paths of the others are unknown. Default: `openai-chat,openai-responses,anthropic`. */
  readonly dialects?: string | readonly string[] | undefined;
  /** Whether `provider/model` as a model asks that provider, where there is one of that name. Default: only in the formats of other makers. */
  readonly modelPrefixes?: boolean | undefined;
  /** Names that stand for targets, in order of preference: `name=provider/model,provider/model;name=…`. The next is asked where one fails. */
  readonly routes?: string | undefined;
  /** What callers may use, by label: requests and tokens a minute, tokens a day, requests in flight: `label:rpm=60,tpm=100000,tpd=5000000,concurrent=8;label:…`. `*` = those without limits of their own. */
  readonly callerLimits?: string | undefined;
  /** With several callers: whether requests may refer to what is stored at the provider, which another caller may have stored. Default: `false`. */
  readonly relayStored?: boolean | undefined;
  /** A Redis or Valkey (5 or newer) in which several gateways keep callers' limits together: `redis://[user:password@]host[:6379][/0]`, or `rediss://` for TLS. Without it, or while it is away, each process keeps its own. */
  readonly limitsUrl?: string | undefined;
  /** Which API serves `openai`: Chat Completions, Responses, or by model and request. Default: `auto`. */
  readonly openaiApi?: 'auto' | 'chat' | 'responses' | undefined;
};
