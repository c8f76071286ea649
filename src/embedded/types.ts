/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The library as TypeScript sees it.
 *
 * No type of Node or of browsers is named, so that a program without `@types/node` can use it: what is passed in and out is
 * described by as much of it as is used.
 */

import type { ChatEvent, ChatReply, ChatRequest, ModelList } from '../callers/native/wire.ts';
import type { SettingOptions } from '../config/setting-options.ts';

export type GatewayOptions = SettingOptions & {
  /** By the name that requests give them. At least one. */
  readonly providers: Readonly<Record<string, ProviderOptions | undefined>>;
  /** Tokens by label. Without any, and without `authenticate`, `handler` and `listen` answer everybody with 401. */
  readonly callers?: Readonly<Record<string, string | undefined>> | undefined;
  /** Routes and callers' rules, as the routing file has them, in place of `routes`, `callerLimits` and `modelPrefixes`. */
  readonly routing?: RoutingOptions | undefined;
  /** Used for calls to providers in place of own connections. It has to honour `signal` and `redirect: 'manual'`. */
  readonly fetch?: FetchFunction | undefined;
  /** Takes the log; nothing is logged without one. `console` is one. */
  readonly log?: LogReceiver | undefined;
  /**
   * The label of the caller that a request comes from, where no token of `callers` says it; undefined = it is refused.
   * Labels that are neither among `callers` nor in `routing` count as `other` in metrics.
   */
  authenticate?(request: HandledRequest): string | undefined | PromiseLike<string | undefined>;
};

export type ProviderOptions = {
  /** Never shown, and sent to this provider alone. */
  readonly key?: string | undefined;
  /** Several keys of one account, in place of `key`. */
  readonly keys?: readonly string[] | undefined;
  /** The vendor's own where absent. */
  readonly baseUrl?: string | undefined;
  /** Whose API it has, where its name does not say so: `openai`, `anthropic` …, or `compat` for any OpenAI-compatible host. */
  readonly like?: string | undefined;
  /** Of a host that speaks Chat Completions: what it holds answers to, where that is not known or other than known. */
  readonly structuredOutput?: 'schema' | 'json_object' | 'none' | undefined;
  /** Of a cloud: variables as its vendor's SDKs read them, which say where it is, unless `baseUrl` does, and by what it is called. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
};

/** What every field means stands with the settings. */
export type RoutingOptions = {
  /** Whether `provider/model` as a model asks that provider. */
  readonly model_prefixes?: boolean | undefined;
  /** Calls in flight, by the provider's name. */
  readonly providers?: Readonly<Record<string, { readonly concurrent?: number | undefined } | undefined>> | undefined;
  readonly routes?: Readonly<Record<string, RouteOptions | undefined>> | undefined;
  /** By label; `*` = everybody who has no rules of their own. */
  readonly callers?: Readonly<Record<string, CallerOptions | undefined>> | undefined;
};

export type RouteOptions = {
  /** 1 to 8, in order of preference. */
  readonly targets: readonly TargetOptions[];
  /** Whether conversations are spread over the targets by weight. */
  readonly spread?: boolean | undefined;
  /** After so long without a first event another target is asked beside the first. */
  readonly hedge_after?: string | undefined;
};

export type TargetOptions = {
  readonly provider: string;
  readonly model: string;
  /** What a request that does not say it is sent with. */
  readonly defaults?: Pick<ChatRequest, 'max_tokens' | 'temperature' | 'top_p' | 'stop' | 'thinking' | 'provider_options'> | undefined;
  /** What this target is never sent. */
  readonly omit?: readonly ('max_tokens' | 'temperature' | 'top_p' | 'stop' | 'thinking' | 'tool_choice.parallel' | 'cache' | 'user' | 'provider_options')[] | undefined;
  /** 1 to 1000, of a route that is spread. */
  readonly weight?: number | undefined;
  /** Calls in flight; beyond it the next target is asked. */
  readonly concurrent?: number | undefined;
  /** Of a stream. */
  readonly first_event_timeout?: string | undefined;
  /** Of a whole answer. */
  readonly attempt_timeout?: string | undefined;
};

export type CallerOptions = {
  readonly requests_per_minute?: number | undefined;
  readonly tokens_per_minute?: number | undefined;
  readonly tokens_per_day?: number | undefined;
  readonly concurrent?: number | undefined;
  /** Routes and `provider/model`, each with or without a trailing `*`; absent = everything. */
  readonly allow?: readonly string[] | undefined;
};

export type LogReceiver = {
  debug(message: string, fields?: LogFields): unknown;
  info(message: string, fields?: LogFields): unknown;
  warn(message: string, fields?: LogFields): unknown;
  error(message: string, fields?: LogFields): unknown;
};

export type LogFields = Readonly<Record<string, string | number | boolean>>;

/** `fetch` as the platform has it. Which options it is called with is its own type's to say. */
export type FetchFunction = (url: string, init: never) => PromiseLike<unknown>;

/** A request of `node:http`. */
export type HandledRequest = {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
};

/** A response of `node:http`. */
export type HandledResponse = { readonly headersSent: boolean };

/** An `AbortSignal`. */
export type Abortable = {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
};

export type CallOptions = {
  /** Ends the call at once, the provider's too; it rejects with the signal's reason. */
  readonly signal?: Abortable | undefined;
  /** On whose account it is; `default` where absent. */
  readonly caller?: string | undefined;
};

/** What is asked of the gateway without HTTP. Everything that fails throws a GatewayError. */
export type Calls = {
  chat(request: ChatRequest, options?: CallOptions): Promise<ChatReply>;
  /** Begins with the first event that is asked for. To leave the loop ends the provider's call. */
  stream(request: ChatRequest, options?: CallOptions): AsyncGenerator<ChatEvent, void, undefined>;
  /** What a provider, or else the default one, lists at this moment. */
  models(provider?: string, options?: CallOptions): Promise<ModelList>;
};

/** What a reload found to be different, by name; never a value. */
export type Reloaded = {
  readonly swapped: readonly string[];
  /** What takes another gateway to change. */
  readonly needsRestart: readonly string[];
};

export type Gateway = Calls & {
  /** The names of the providers, sorted; a reload adds to them. */
  readonly providers: readonly string[];
  /** Serves requests on a server of the embedder's, below whichever path: it reads `request.url` as it is given. */
  readonly handler: (request: HandledRequest, response: HandledResponse) => void;
  /** Serves on a server of its own: `host:port`, `:port`, `unix:/path` or a port. Resolves with where, e.g. `http://127.0.0.1:8080`. */
  listen(address: string | number): Promise<string>;
  /** The metrics, as Prometheus text; at most a second old. */
  metricsText(): string;
  /** Takes over tokens, keys, the certificate, routes, callers' rules and new providers. Calls in flight keep those they began with. Throws a ConfigError. */
  reload(options: GatewayOptions): Reloaded;
  /** Ends in order: unready, then what is in flight may finish. True when all of it did within `shutdownGrace`. */
  drain(): Promise<boolean>;
  /** Ends everything within 200 ms. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};
