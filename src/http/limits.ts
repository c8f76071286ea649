/**
 * What callers may use, as they meet it: refusals and headers.
 *
 * Of a caller that is over a limit no body is read. What a request costs is taken once it is known what it asks, and settled when
 * its exchange ends (settlement.ts).
 */

import { renderDuration } from '../base/duration.ts';
import { JsonObject } from '../base/json/value.ts';
import { countsTokens, rulesOf } from '../core/route.ts';
import type { CallerLimits, LimitName } from '../core/route.ts';
import type { DecodedRequest } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { bucketsOf } from '../limits/account.ts';
import type { Bucket } from '../limits/account.ts';
import { estimateBody, estimateChat, tokensOfChars } from '../limits/estimate.ts';
import type { Refused, Taken } from '../limits/limiter.ts';
import type { Standing, Standings } from '../limits/store.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';

/** What counts as a request: a chat with its tokens, a count of tokens without. A list of models takes a place alone. */
export type Asked = 'chat' | 'count' | 'models';

/** The clients of OpenAI and Anthropic try again at once where they are told to wait for longer. */
const CLIENT_WAIT_MS_MAX = 60_000;

/**
 * Whether a request of this caller could be let in, as far as is known before its body is read. False = it is over one of its
 * limits, and was told so.
 */
// hot: per request
export function isWithinLimits(exchange: Exchange, parts: ServerParts, asked: Asked): boolean {
  const caller = parts.callerLabel(exchange.caller);
  const limits = limitsOf(parts, caller, asked);
  if (limits === undefined) return true;
  // No text of the body is longer than the body.
  const refused = parts.limits.peek(caller, limits, tokensOfChars(Number(exchange.header('content-length') ?? 0)));
  if (refused === undefined) return true;
  refuse(exchange, parts, caller, limits, refused);
  return false;
}

/** Takes what the request is taken to cost from its caller's limits, until the exchange ends. False = it was refused, and told so, or is gone. */
// hot: per request
export function takeLimits(exchange: Exchange, parts: ServerParts, asked: Asked, decoded?: DecodedRequest): boolean | Promise<boolean> {
  const caller = parts.callerLabel(exchange.caller);
  const limits = limitsOf(parts, caller, asked);
  if (limits === undefined) return true;
  const tokens = decoded !== undefined && countsTokens(limits) ? estimateOf(decoded) : 0;
  const taken = parts.limits.take(caller, limits, tokens);
  if (!(taken instanceof Promise)) return isTaken(exchange, parts, taken);
  // A caller that hung up meanwhile is not to be worked for.
  return taken.then((later) => isTaken(exchange, parts, later) && exchange.scope.ended !== 'caller-gone');
}

function isTaken(exchange: Exchange, parts: ServerParts, { charge, decision }: Taken): boolean {
  if (decision.refusedBy !== undefined) {
    refuse(exchange, parts, charge.caller, charge.limits, decision);
    return false;
  }
  exchange.charged = { charge, deliveredChars: 0 };
  setStandings(exchange, charge.limits, decision.standings);
  return true;
}

/** The limits that hold for what is asked; undefined = none. */
// hot: per request
function limitsOf({ config }: ServerParts, caller: string, asked: Asked): CallerLimits | undefined {
  if (config.routing.callers.size === 0) return undefined;
  const limits = rulesOf(config.routing, caller)?.limits;
  if (limits === undefined || asked === 'chat') return limits;
  const requestsPerMinute = asked === 'count' ? limits.requestsPerMinute : undefined;
  if (requestsPerMinute === undefined && limits.concurrent === undefined) return undefined;
  return { requestsPerMinute, tokensPerMinute: undefined, tokensPerDay: undefined, concurrent: limits.concurrent };
}

/** The failure for a stream that would keep its usage from a limit on tokens; undefined where none would. What is relayed always tells it. */
// hot: per request
export function uncounted(exchange: Exchange, parts: ServerParts, { isStream, providerOptions }: DecodedRequest): Failure | undefined {
  if (!isStream || providerOptions === undefined) return undefined;
  const patch = providerOptions.entries.get('stream_options');
  if (patch === undefined || (patch instanceof JsonObject && (!patch.entries.has('include_usage') || patch.entries.get('include_usage') === true))) return undefined;
  const limits = limitsOf(parts, parts.callerLabel(exchange.caller), 'chat');
  if (limits === undefined || !countsTokens(limits)) return undefined;
  return new Failure('bad_request', 'provider_options.stream_options: a caller with a limit on tokens must keep include_usage');
}

/** Of the body where there is one that can be relayed, of what it says otherwise: who serves it does not matter. */
function estimateOf(decoded: DecodedRequest): number {
  if (decoded.source !== undefined) return estimateBody(decoded.source);
  const translation = decoded.translate(decoded.model);
  return translation instanceof Failure ? 1 : estimateChat(translation.request);
}

function refuse(exchange: Exchange, parts: ServerParts, caller: string, limits: CallerLimits, { refusedBy, waitMs, standings }: Refused): void {
  parts.metrics.limitRefused(caller, refusedBy);
  setStandings(exchange, limits, standings);
  if (refusedBy === 'tokens_per_day' || waitMs > CLIENT_WAIT_MS_MAX) exchange.setHeader('X-Should-Retry', 'false');
  exchange.sendFailure(new Failure('rate_limit', sentenceOf(caller, limits, refusedBy, waitMs), { retryAfterMs: waitMs, limit: refusedBy }));
}

function sentenceOf(caller: string, limits: CallerLimits, refusedBy: LimitName, waitMs: number): string {
  const wait = renderDuration(wholeSeconds(waitMs) * 1000);
  if (refusedBy === 'concurrent') return `the caller ${caller} has as many requests in flight as it may, which is its concurrent (${limits.concurrent}); try again in ${wait}`;
  const limit = bucketsOf(limits).find(({ name }) => name === refusedBy)?.limit;
  return `the caller ${caller} has used its ${refusedBy} (${limit}); try again in ${wait}`;
}

/**
 * How the caller stands, in two forms: the draft of the IETF (draft-ietf-httpapi-ratelimit-headers), with every bucket, and
 * OpenAI's, which knows one limit of requests and one of tokens.
 */
// hot: per request
function setStandings(exchange: Exchange, limits: CallerLimits, standings: Standings): void {
  let state = '';
  let tightest: Bucket | undefined;
  let tightestRemaining = Infinity;
  for (const bucket of bucketsOf(limits)) {
    const standing = standings[bucket.name];
    if (standing === undefined) continue;
    const { remaining, resetMs } = standing;
    state += `${state === '' ? '' : ', '}"${bucket.short}";r=${remaining};t=${wholeSeconds(resetMs)}`;
    if (bucket.of === 'requests') setStanding(exchange, REQUEST_HEADERS, bucket, standing);
    else if (remaining < tightestRemaining) {
      tightest = bucket;
      tightestRemaining = remaining;
    }
  }
  if (state === '') return;
  exchange.setHeader('RateLimit-Policy', policyOf(limits));
  exchange.setHeader('RateLimit', state);
  const standing = tightest && standings[tightest.name];
  if (tightest !== undefined && standing !== undefined) setStanding(exchange, TOKEN_HEADERS, tightest, standing);
}

/** Rendered once for each configuration. */
const policies = new WeakMap<CallerLimits, string>();

function policyOf(limits: CallerLimits): string {
  let policy = policies.get(limits);
  if (policy === undefined) {
    policy = bucketsOf(limits).map(({ short, limit, periodMs }) => `"${short}";q=${limit};w=${periodMs / 1000}`).join(', ');
    policies.set(limits, policy);
  }
  return policy;
}

const REQUEST_HEADERS = ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'] as const;
const TOKEN_HEADERS = ['x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens'] as const;

function setStanding(exchange: Exchange, headers: typeof REQUEST_HEADERS | typeof TOKEN_HEADERS, { limit }: Bucket, { remaining, resetMs }: Standing): void {
  exchange.setHeader(headers[0], String(limit));
  exchange.setHeader(headers[1], String(remaining));
  exchange.setHeader(headers[2], renderReset(wholeSeconds(resetMs)));
}

/** As Go writes it, and OpenAI with it: `3s`, `6m0s`, `24h0m0s`. */
function renderReset(seconds: number): string {
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m${seconds % 60}s` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds % 60}s`;
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
