/** The settings as options, printed from the table in settings.ts by test/readme.ts. Durations: `1m30s`, or milliseconds. Sizes: `16MiB`, or bytes. */

export type SettingOptions = {
  /** Serves requests that name no provider. Requests in the format of OpenAI or Anthropic only if it speaks that format, or if that vendor is not configured. Default: first by name. */
  readonly defaultProvider?: string | undefined;
  /** Time for a whole answer that is not streamed, or a model list, retries and waits included. Default: `10m`. */
  readonly requestTimeout?: string | number | undefined;
  /** Time to connect to a provider: DNS, TCP and TLS. Default: `10s`. */
  readonly connectTimeout?: string | number | undefined;
  /** Time for one attempt; of a stream, until its first event. Default: `10m`. */
  readonly attemptTimeout?: string | number | undefined;
  /** The longest silence of a provider within a stream. Default: `5m`. */
  readonly streamIdleTimeout?: string | number | undefined;
  /** Time for a whole stream. Default: `1h`. */
  readonly streamTimeout?: string | number | undefined;
  /** Retries after the first attempt. Default: `3`. */
  readonly maxRetries?: number | undefined;
  /** The longest wait before the first retry; doubles with each retry. Default: `500ms`. */
  readonly retryBaseDelay?: string | number | undefined;
  /** The longest wait before any retry, unless the provider asks for more. Default: `30s`. */
  readonly retryMaxDelay?: string | number | undefined;
  /** The longest wait that a provider may ask for; if it asks for more, the failure is returned at once. Default: `5m`. */
  readonly retryAfterCap?: string | number | undefined;
  /** After this time without an event in a stream a comment is sent; `0` or negative = off. Default: `15s`. */
  readonly heartbeatInterval?: string | number | undefined;
  /** Chats, token counts and model lists in flight, each until the caller has taken its answer; further ones get 429 with `Retry-After`. Default: unlimited. */
  readonly maxConcurrent?: number | undefined;
  /** Callers' connections; further ones are closed at once. By default half of the process's file descriptors (`ulimit -n`, less 48 for itself), so that each chat has one for its provider; unlimited if that cannot be read. Default: from the descriptor limit. */
  readonly maxConnections?: number | undefined;
  /** How long a caller's connection may be idle. It must be longer than a load balancer in front keeps it: behind Google's, `620s`. Default: `75s`. */
  readonly connectionIdleTimeout?: string | number | undefined;
  /** The largest request body. Default: `16MiB`. */
  readonly maxBodyBytes?: string | number | undefined;
  /** Origins whose pages may call (CORS), e.g. `https://app.example.com`, or `app://obsidian.md` of an application; separated by commas. */
  readonly allowedOrigins?: string | readonly string[] | undefined;
  /** Whether `/metrics` is served. Default: `true`. */
  readonly metrics?: boolean | undefined;
  /** The bearer token that `/metrics` requires; if absent, it requires none. */
  readonly metricsToken?: string | undefined;
  /** Adds the provider's unchanged body to answers of `/v1/chat`, as `raw`. Default: `false`. */
  readonly includeRaw?: boolean | undefined;
  /** Adds the provider's own words to errors, shortened and with keys masked. They can repeat parts of prompts. Default: `false`. */
  readonly forwardErrorMessages?: boolean | undefined;
  /** On SIGTERM or SIGINT: the time from `/readyz` answering 503 until no new connection is accepted. Default: `2s`. */
  readonly drainDelay?: string | number | undefined;
  /** After that: how long requests in flight may take. Streams that remain end with an `error` event. Default: `30s`. */
  readonly shutdownGrace?: string | number | undefined;
  /** The lowest level that is logged. Default: `info`. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | undefined;
  /** Adds the caller's address to its log line. Default: `true`. */
  readonly logAddress?: boolean | undefined;
  /** Addresses and networks of your proxies, separated by commas; only these may give the caller's address, in `Forwarded` or `X-Forwarded-For`. */
  readonly trustedProxies?: string | readonly string[] | undefined;
  /** How providers are called: `wire` = the gateway's own HTTP client; `http` = node:http, which takes more CPU; `fetch` = the built-in fetch, which has time limits of its own. Default: `wire`. */
  readonly transport?: 'http' | 'fetch' | 'wire' | undefined;
  /** A caller that reads nothing of its answer for this long is cut off. Default: `60s`. */
  readonly writeStallTimeout?: string | number | undefined;
  /** A PEM certificate with its chain: the gateway then serves HTTPS. */
  readonly tlsCertFile?: string | undefined;
  /** The certificate's private key, PEM. */
  readonly tlsKeyFile?: string | undefined;
  /** Passes the caller's `traceparent` on to providers. Default: `false`. */
  readonly propagateTrace?: boolean | undefined;
  /** The proxy for calls to providers over https. Lower-case names work too, here and in the next two. */
  readonly httpsProxy?: string | undefined;
  /** The proxy for calls to providers over http. */
  readonly httpProxy?: string | undefined;
  /** What is called without a proxy: hosts with their subdomains, `host:port`, IP addresses, or `*`; separated by commas. */
  readonly noProxy?: string | readonly string[] | undefined;
  /** The other vendors' formats that are served beside the gateway's own; `none` = none. The paths of the others answer 404. Default: `openai-chat,openai-responses,anthropic`. */
  readonly dialects?: string | readonly string[] | undefined;
  /** Whether a model named `provider/model` is asked of that provider, if there is one of that name. Default: only in the formats of other vendors. */
  readonly modelPrefixes?: boolean | undefined;
  /** Routes: names that stand for targets, in order of preference: `name=provider/model,provider/model;name=…`. When one fails, the next is asked. */
  readonly routes?: string | undefined;
  /** What callers may use, by label: requests and tokens a minute, tokens a day, requests in flight: `label:rpm=60,tpm=100000,tpd=5000000,concurrent=8;label:…`. `*` = each caller without limits of its own. */
  readonly callerLimits?: string | undefined;
  /** With several callers: whether requests may refer to files, responses and the like stored at the provider, which another caller may have stored. Default: `false`. */
  readonly relayStored?: boolean | undefined;
  /** A Redis or Valkey (5 or newer) in which several gateways count callers' limits together: `redis://[user:password@]host[:6379][/0]`, or `rediss://` for TLS. Without it, or while it does not answer, each process counts alone. */
  readonly limitsUrl?: string | undefined;
  /** Which API of `openai` is called: Chat Completions, Responses, or, with `auto`, the one that the model and the request need. Default: `auto`. */
  readonly openaiApi?: 'auto' | 'chat' | 'responses' | undefined;
};
