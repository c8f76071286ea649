/**
 * Whom a request may be served by, and what its caller may use: what an operator says of routes, as plain data.
 *
 * Knows neither how a target is chosen nor how a limit is kept.
 */

import type { Effort } from './chat.ts';
import type { JsonObject } from '../base/json/value.ts';

/** A provider, and the name by which it knows a model. */
export type Target = {
  /** A configured provider's name. */
  readonly provider: string;
  readonly model: string;
  /** What a request that does not say it is sent with. */
  readonly defaults: TargetDefaults | undefined;
  /** What this target is never sent, by the names of the gateway's own format. */
  readonly omit: readonly OmittableField[];
  /** Its share of the conversations of a route that is spread; 1 elsewhere. */
  readonly weight: number;
  /** Calls in flight at this target through this route; beyond it the next target is asked. */
  readonly concurrentMax: number | undefined;
  /** How long a stream may take until its first event; undefined = as long as the route leaves it. */
  readonly firstEventTimeoutMs: number | undefined;
  /** How long one attempt at a whole answer may take; undefined = as long as the route leaves it. */
  readonly attemptTimeoutMs: number | undefined;
};

/** A target of which nothing is said but who it is. */
export const PLAIN_TARGET: Omit<Target, 'provider' | 'model'> = {
  defaults: undefined,
  omit: [],
  weight: 1,
  concurrentMax: undefined,
  firstEventTimeoutMs: undefined,
  attemptTimeoutMs: undefined,
};

/** How long a stream may take until its first event at a target that is not the last one and names no time of its own. */
export const FIRST_EVENT_TIMEOUT_MS = 30_000;

export const OMITTABLE_FIELDS = ['max_tokens', 'temperature', 'top_p', 'stop', 'thinking', 'tool_choice.parallel', 'cache', 'user', 'provider_options'] as const;
export type OmittableField = (typeof OMITTABLE_FIELDS)[number];

/** Each undefined where the operator says nothing of it. */
export type TargetDefaults = {
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly stop: readonly string[] | undefined;
  readonly thinking: { readonly enabled: boolean; readonly effort: Effort | undefined } | undefined;
  readonly providerOptions: JsonObject | undefined;
};

/** A name that stands for targets. */
export type Route = {
  /** `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`: no slash, so that it is never taken for `provider/model`. */
  readonly name: string;
  /** 1 to 8, none twice; in the operator's order of preference. */
  readonly targets: readonly Target[];
  /** Whether conversations are spread over the targets by weight, instead of all asking the first. */
  readonly isSpread: boolean;
  /** After so long without a first event another target is asked beside the first; undefined = never. */
  readonly hedgeAfterMs: number | undefined;
};

export const LIMIT_NAMES = ['requests_per_minute', 'tokens_per_minute', 'tokens_per_day', 'concurrent'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** Whether what a failure calls its limit is one of its caller's, rather than a setting of the gateway. */
export function isLimitName(limit: string | undefined): limit is LimitName {
  return LIMIT_NAMES.some((name) => name === limit);
}

/** What one caller may use; undefined = as much as it likes. */
export type CallerLimits = {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  readonly tokensPerDay: number | undefined;
  /** Requests in flight. */
  readonly concurrent: number | undefined;
};

export function countsTokens({ tokensPerMinute, tokensPerDay }: CallerLimits): boolean {
  return tokensPerMinute !== undefined || tokensPerDay !== undefined;
}

export type CallerRules = {
  /** Undefined = none of them is limited. */
  readonly limits: CallerLimits | undefined;
  /** Routes, `provider/model`, each with or without a trailing `*`; undefined = everything. */
  readonly allow: readonly string[] | undefined;
};

/** The rules of everybody who has none of their own. */
export const ANY_CALLER = '*';

/** What an operator configured of all this. Empty maps = nothing: then everything is as if none of it existed. */
export type Routing = {
  readonly routes: ReadonlyMap<string, Route>;
  /** By label, or `ANY_CALLER`. */
  readonly callers: ReadonlyMap<string, CallerRules>;
  /** Calls in flight at a provider, by its name, where the operator bounds them. */
  readonly concurrentMax: ReadonlyMap<string, number>;
};

export const NO_ROUTING: Routing = { routes: new Map(), callers: new Map(), concurrentMax: new Map() };

/** The rules of the caller with this label; undefined where there are none. */
export function rulesOf({ callers }: Routing, label: string): CallerRules | undefined {
  return callers.get(label) ?? callers.get(ANY_CALLER);
}

/** A target as headers, log lines and metrics show it. */
export function targetName({ provider, model }: Pick<Target, 'provider' | 'model'>): string {
  return `${provider}/${model}`;
}
