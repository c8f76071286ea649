/**
 * One chat, count or list of models, from a call to a reply.
 *
 * Knows providers only through their adapters and the network only through a transport; knows nothing of
 * the inbound side but the exchange's scope and a sink for deltas.
 */

import { createJsonBudget } from '../base/json/limits.ts';
import { renderJson, renderLargeJson } from '../base/json/render.ts';
import type { ParsedText } from '../base/json/parse.ts';
import type { JsonProblem, JsonValue } from '../base/json/value.ts';
import { retryAfterMs } from '../base/retry-after.ts';
import { LARGE, nextTurn } from '../base/turn.ts';
import { largeUtf8Text, utf8Text } from '../base/utf8.ts';
import type { Provider } from '../core/adapter.ts';
import { REPLY_BYTES_MAX } from '../core/chat.ts';
import type { ChatReply, ModelInfo } from '../core/chat.ts';
import type { Delta } from '../core/delta.ts';
import { beyondLimit, Failure, malformedReply } from '../core/failure.ts';
import { TIMER_MS_MAX } from '../core/scope.ts';
import type { Metrics } from '../metrics.ts';
import { RoutingState } from '../routing/state.ts';
import type { RetryPolicy } from '../upstream/retry.ts';
import type { AttemptLimits, Transport, UpstreamResponse } from '../upstream/transport.ts';
import { askOne } from './ask.ts';
import type { Ask, Candidate, Outcome } from './ask.ts';
import type { Attempt } from './attempt.ts';
import { REAL_CLOCK } from './attempt-parts.ts';
import type { AttemptLog, CallContext } from './attempt-parts.ts';
import { Attempts } from './attempts.ts';
import type { CallRecord } from './call-record.ts';
import { GatedSink } from './gated-sink.ts';
import { parseLargeText } from './large-text.ts';
import { pipeStream } from './pipe-stream.ts';
import type { StreamSink } from './pipe-stream.ts';

/** Largest error body read; the rest is thrown away with its connection. */
const FAILURE_BYTES_MAX = 64 * 1024;
/** How long an error body may take: one that never ends must not hold its request for the attempt's limit. */
const FAILURE_MS_MAX = 5000;
/** How large a whole answer may be; without `valuesMax` its values are bounded as those of every answer. */
type Bounds = { readonly bytesMax: number; readonly valuesMax?: number };
const REPLY: Bounds = { bytesMax: REPLY_BYTES_MAX };
/** Of an answer that is a number of tokens. */
const COUNT: Bounds = { bytesMax: 64 * 1024 };
/** Of a page of a model list: several times the longest there is, of OpenRouter. */
const LIST: Bounds = { bytesMax: 4 * 1024 * 1024, valuesMax: 300_000 };
/** Most models of one provider. */
const MODELS_MAX = 20_000;
/** Most pages of a model list; at 1,000 models a page nobody has more. */
const MODEL_PAGES_MAX = 50;

export type GatewaySettings = {
  readonly connectTimeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly streamIdleTimeoutMs: number;
  readonly retryPolicy: RetryPolicy;
};

export type { CallContext };

/** `exact` is what `raw` says without loss, parsed where it is large. */
export type WholeReply = { readonly reply: ChatReply; readonly raw: string; readonly exact?: JsonValue | JsonProblem | undefined };

export type CountReply = { readonly inputTokens: number; readonly raw: string };

export interface Gateway {
  complete<C extends Candidate>(ask: Ask<C>, context: CallContext): Promise<Outcome<C, WholeReply>>;
  /** Pushes every delta but `failed`, which is the result; resolves when the stream is over. */
  stream<C extends Candidate>(ask: Ask<C>, context: CallContext, sink: StreamSink): Promise<Outcome<C, undefined>>;
  /** What the provider's counting says, for calls of that. */
  count<C extends Candidate>(ask: Ask<C>, context: CallContext): Promise<Outcome<C, CountReply>>;
  /** All pages. */
  models(provider: Provider, context: CallContext): Promise<readonly ModelInfo[] | Failure>;
}

/** What routes need of outside; each absent where there are none. */
export type RoutingSurroundings = {
  /** What is remembered of targets and keys. */
  readonly routing?: RoutingState;
  /** Calls in flight at a provider at most, by its name. */
  readonly concurrentMax?: (provider: string) => number | undefined;
  readonly isDraining?: () => boolean;
};

export function createGateway(
  settings: GatewaySettings,
  transport: Pick<Transport, 'send'>,
  metrics: Metrics,
  logAttempt: AttemptLog,
  surroundings: RoutingSurroundings = {},
): Gateway {
  const wholeLimits: AttemptLimits = {
    connectMs: settings.connectTimeoutMs,
    attemptMs: settings.attemptTimeoutMs,
    idleMs: undefined,
  };
  const streamLimits: AttemptLimits = { ...wholeLimits, idleMs: settings.streamIdleTimeoutMs };

  const attempts = new Attempts({
    retryPolicy: settings.retryPolicy,
    attemptTimeoutMs: settings.attemptTimeoutMs,
    metrics,
    routing: surroundings.routing ?? new RoutingState(REAL_CLOCK, settings.retryPolicy.retryAfterCapMs),
    clock: REAL_CLOCK,
    concurrentMax: surroundings.concurrentMax ?? (() => undefined),
    isDraining: surroundings.isDraining ?? (() => false),
    logAttempt,
  });

  /** The configured limits, unless the route leaves this attempt less. */
  function limitsFor(configured: AttemptLimits, attemptMs: number): AttemptLimits {
    return attemptMs === configured.attemptMs ? configured : { ...configured, attemptMs };
  }

  function send(
    { candidate: { provider }, call, key, scope, attemptMs }: Attempt<Candidate>,
    { extraHeaders, isLarge }: CallContext,
    configured: AttemptLimits,
  ): Promise<UpstreamResponse | Failure> {
    const { method, path } = call;
    const headers = extraHeaders === undefined ? call.headers : { ...call.headers, ...extraHeaders };
    const limits = limitsFor(configured, attemptMs);
    if (isLarge === true && call.body !== undefined) {
      return renderLargeJson(call.body, nextTurn).then((body) => transport.send(provider, { method, path, headers, body }, scope, limits, key));
    }
    const body = call.body === undefined ? undefined : renderJson(call.body);
    return transport.send(provider, { method, path, headers, body }, scope, limits, key);
  }

  /** A whole answer as `decode` reads it; `parsed` is what its text says where that is large. */
  async function readWhole<T>(
    attempt: Attempt<Candidate>,
    context: CallContext,
    { bytesMax, valuesMax }: Bounds,
    decode: (text: string, parsed: ParsedText | undefined) => T | Failure,
  ): Promise<T | Failure> {
    const { provider } = attempt.candidate;
    const response = await send(attempt, context, wholeLimits);
    if (response instanceof Failure) return response;
    if (!isSuccess(response)) return readFailure(provider, response);
    const body = await response.readBody(bytesMax);
    if (body instanceof Failure) return body;
    if (body.length === 0) return malformedReply(provider.name, response.status, 'its body is empty');
    const text = body.length >= LARGE ? await largeUtf8Text(body, nextTurn) : utf8Text(body);
    if (text === undefined) return malformedReply(provider.name, response.status, 'its body is not UTF-8');
    const parsed = text.length >= LARGE ? await parseLargeText(provider.name, text, 'its body is not JSON', valuesMax === undefined ? undefined : createJsonBudget(valuesMax)) : undefined;
    return parsed instanceof Failure ? parsed : decode(text, parsed);
  }

  return {
    complete(ask, context) {
      const asked = attempts.run(ask, context, {
        isStream: false,
        isTooLate: never,
        tryOnce: (attempt) =>
          readWhole(attempt, context, REPLY, (raw, parsed) => {
            const { provider, relay } = attempt.candidate;
            const reply = provider.adapter.decodeChat(raw, parsed?.json, parsed?.exact, { isRelayed: relay !== undefined });
            if (reply instanceof Failure) {
              if (reply.reply !== undefined) context.record.declined = raw;
              return reply;
            }
            noteReply(context.record, reply);
            return { reply, raw, exact: parsed?.exact };
          }),
      });
      return asked.then((outcome) => {
        noteRefusal(context.record, outcome.result);
        return outcome;
      });
    },

    async stream<C extends Candidate>(ask: Ask<C>, context: CallContext, sink: StreamSink) {
      const startedAtMs = performance.now();
      let firstAtMs: number | undefined;
      let onFirstEvent: Attempt<Candidate>['onFirstEvent'];
      const begin = ({ candidate, onFirstEvent: told }: Attempt<C>): void => {
        onFirstEvent = told;
        sink.begin?.(candidate);
      };
      const pushDelta = (delta: Delta, servedModel: string | undefined): void => {
        if (firstAtMs === undefined) {
          firstAtMs = performance.now();
          context.record.servedModel = servedModel;
          context.record.firstDeltaMs = firstAtMs - startedAtMs;
          onFirstEvent?.();
        }
        if (delta.type === 'done') {
          context.record.restMs = performance.now() - firstAtMs;
          noteReply(context.record, delta.reply);
        }
        sink.push(delta);
      };
      const outcome = await attempts.run(ask, context, {
        isStream: true,
        isTooLate: () => firstAtMs !== undefined,
        async tryOnce(attempt) {
          const { candidate } = attempt;
          const response = await send(attempt, context, streamLimits);
          if (response instanceof Failure) return response;
          if (!isSuccess(response)) return readFailure(candidate.provider, response);
          if (isJson(response)) return readErrorInsteadOfStream(candidate.provider, response);
          if (attempt.entry !== undefined) {
            const gated = new GatedSink(sink, pushDelta, attempt.entry, () => begin(attempt));
            return pipeStream(candidate, response, gated.push, gated);
          }
          begin(attempt);
          return pipeStream(candidate, response, pushDelta, sink);
        },
      });
      const { candidate, result } = outcome;
      noteRefusal(context.record, result);
      const { ended } = context.scope;
      if (result instanceof Failure && firstAtMs !== undefined && ended !== 'caller-gone') metrics.streamCut(candidate.provider.name, result, ended);
      return outcome;
    },

    count(ask, context) {
      return attempts.run(ask, context, {
        isStream: false,
        isTooLate: never,
        async tryOnce(attempt) {
          const { provider } = attempt.candidate;
          const { counting } = provider.adapter;
          if (counting === undefined) return new Failure('unsupported', `${provider.name} counts no tokens`);
          const counted = await readWhole(attempt, context, COUNT, (raw) => {
            const inputTokens = counting.decode(raw);
            return inputTokens instanceof Failure ? inputTokens : { inputTokens, raw };
          });
          // Some models are not counted: whether it has this one is for chats to find out.
          return counted instanceof Failure && counted.kind === 'not_found' ? counted.with({ isReference: true }) : counted;
        },
      });
    },

    async models(provider, context) {
      const models: ModelInfo[] = [];
      let cursor: string | undefined;
      for (let pages = 0; pages < MODEL_PAGES_MAX; pages += 1) {
        const ask = askOne(provider, '', provider.adapter.encodeModels(cursor));
        const { result: page } = await attempts.run(ask, context, {
          isStream: false,
          isTooLate: never,
          tryOnce: (attempt) => readWhole(attempt, context, LIST, (body, parsed) => provider.adapter.decodeModels(body, parsed?.json)),
        });
        if (page instanceof Failure) {
          const isNone = page.kind === 'not_found' && provider.adapter.hasModelList === false;
          return isNone ? new Failure('unsupported', `${provider.name} has no list of models`) : page;
        }
        if (models.length + page.models.length > MODELS_MAX) return beyondLimit(provider.name, 200, `its model list has more than ${MODELS_MAX} models`);
        for (const model of page.models) models.push(model);
        if (page.nextCursor === undefined || page.nextCursor === cursor) return models;
        cursor = page.nextCursor;
      }
      return beyondLimit(provider.name, 200, `its model list has more than ${MODEL_PAGES_MAX} pages`);
    },
  };
}

function never(): boolean {
  return false;
}

function noteReply(record: CallRecord, reply: ChatReply): void {
  record.servedModel = reply.model;
  record.usage = reply.usage;
}

/** A refusal costs what an answer costs. */
function noteRefusal(record: CallRecord, result: unknown): void {
  if (result instanceof Failure && result.reply !== undefined) noteReply(record, result.reply);
}

function isSuccess({ status }: UpstreamResponse): boolean {
  return status >= 200 && status < 300;
}

function isJson(response: UpstreamResponse): boolean {
  const type = response.headers['content-type'];
  return typeof type === 'string' && /^application\/json\b/i.test(type);
}

/** A stream was asked for and a JSON body came: an error inside a 200, or a host that cannot stream. */
async function readErrorInsteadOfStream(provider: Provider, response: UpstreamResponse): Promise<Failure> {
  const body = await readFailureBody(response);
  // More than is read of an error is no error.
  if (body instanceof Failure && !body.isOwn) return body;
  const reply = body instanceof Failure ? undefined : provider.adapter.decodeChat(body);
  if (reply instanceof Failure) return reply;
  return malformedReply(provider.name, response.status, 'it sent one whole body where a stream was asked for');
}

async function readFailure(provider: Provider, response: UpstreamResponse): Promise<Failure> {
  const body = await readFailureBody(response);
  const decoded = provider.adapter.decodeFailure(response.status, body instanceof Failure ? '' : body, response.headers);
  // The log says why it has none of the provider's own words.
  const said = body instanceof Failure ? decoded.with({ detail: body.message }) : decoded;
  const failure = response.isCredentialMended === true ? said.with({ isRetried: true }) : forbidsRetry(response) ? said.with({ isRetried: false }) : said;
  if (failure.retryAfterMs !== undefined) return failure;
  const waitMs = retryAfterMs(response.headers, Date.now());
  // An absurd wait goes out as a hint too, and has to be a number that a header can carry.
  return waitMs === undefined ? failure : failure.with({ retryAfterMs: Math.min(waitMs, TIMER_MS_MAX) });
}

/**
 * Whether the provider asks not to be tried again. That it would like to be is not heard: what is wrong with a request or
 * a key stays wrong, and of the rest the kind says it already.
 */
function forbidsRetry(response: UpstreamResponse): boolean {
  const advice = response.headers['x-should-retry'];
  return typeof advice === 'string' && advice.trim().toLowerCase() === 'false';
}

/** What of an error's body has come when it ends or its time is over. */
async function readFailureBody(response: UpstreamResponse): Promise<string | Failure> {
  const timer = setTimeout(() => response.discard(), FAILURE_MS_MAX);
  const body = await response.readBody(FAILURE_BYTES_MAX);
  clearTimeout(timer);
  response.discard();
  return body instanceof Failure ? body : body.toString('utf8');
}
