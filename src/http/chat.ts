/** Chats, in any dialect: body → request → gateway → reply. */

import type { Provider } from '../core/adapter.ts';
import type { ChatRequest } from '../core/chat.ts';
import { checkConversation } from '../core/conversation.ts';
import type { AnswerFacts, DecodedRequest, DialectRoute, StreamFrames } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import type { CallContext } from '../gateway/gateway.ts';
import { checkBodyHeaders, readBody } from './body.ts';
import { Deadline } from './deadline.ts';
import { EventStream } from './event-stream.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';
import { takePlace } from './place.ts';
import { traceHeaders } from './trace.ts';

/** From this size on, reading, decoding and encoding take a turn of the event loop each, for the sake of everybody else. */
const LARGE_BODY_BYTES = 512 * 1024;

/** Answers a chat on one of its dialect's paths. */
export async function answerChat(exchange: Exchange, parts: ServerParts, route: DialectRoute): Promise<void> {
  exchange.isChat = true;
  if (!takePlace(exchange, parts)) return;
  const deadline = new Deadline(exchange, parts.config, route.stream === 'always');
  try {
    const asked = (await readAsked(exchange, parts, route)) ?? endedWhileSending(exchange, deadline.setting);
    if (asked === undefined) return;
    if (asked instanceof Failure) {
      if (asked.limit !== undefined) parts.metrics.limit(asked.limit);
      exchange.sendFailure(asked);
      return;
    }
    deadline.startFor(asked.isStream);
    exchange.record.provider = asked.provider.name;
    exchange.record.requestedModel = asked.decoded.model;
    const context: CallContext = {
      scope: exchange.scope,
      deadline,
      record: exchange.record,
      extraHeaders: parts.config.propagatesTrace ? traceHeaders(exchange.trace) : undefined,
    };
    await (asked.isStream ? answerStreamed(exchange, parts, asked, context) : answerWhole(exchange, parts, asked, context));
  } finally {
    deadline.clear();
  }
}

async function answerWhole(exchange: Exchange, parts: ServerParts, asked: Asked, context: CallContext): Promise<void> {
  const outcome = await parts.gateway.complete(asked.provider, asked.request, context);
  if (outcome instanceof Failure) {
    exchange.sendFailure(parts.presentable(outcome));
  } else {
    const raw = parts.config.includesRaw ? outcome.raw : undefined;
    exchange.sendJson(200, exchange.dialect.renderReply(outcome.reply, factsOf(exchange, asked), raw));
  }
  observeChat(exchange, parts);
}

async function answerStreamed(exchange: Exchange, parts: ServerParts, asked: Asked, context: CallContext): Promise<void> {
  const createFrames = (): StreamFrames => exchange.dialect.createFrames(factsOf(exchange, asked));
  const stream = new EventStream(exchange, createFrames, parts.config, () => {
    parts.metrics.openStreams.add(1);
    void exchange.closed.then(() => parts.metrics.openStreams.add(-1));
  });
  exchange.failStream = (failure) => stream.fail(failure);
  try {
    const failure = await parts.gateway.stream(asked.provider, asked.request, context, stream);
    if (failure !== undefined) stream.fail(parts.presentable(failure));
    observeChat(exchange, parts);
  } finally {
    stream.close();
  }
}

function factsOf({ record, requestId, arrivedAtS }: Exchange, { decoded, provider }: Asked): AnswerFacts {
  return { request: decoded, requestId, provider: provider.name, servedModel: record.servedModel, createdAtS: arrivedAtS };
}

/** A chat that a provider can be asked for. */
type Asked = {
  readonly decoded: DecodedRequest;
  readonly provider: Provider;
  readonly request: ChatRequest;
  readonly isStream: boolean;
};

/** What a caller is told whose time was over before its body had come. */
function endedWhileSending(exchange: Exchange, timeoutSetting: string): Failure | undefined {
  const { ended } = exchange.scope;
  return ended === undefined || ended === 'caller-gone' ? undefined : scopeFailure(ended, timeoutSetting);
}

/** What the caller asks, once everything about it was checked; undefined when the exchange ended while it was sending. */
async function readAsked(exchange: Exchange, parts: ServerParts, route: DialectRoute): Promise<Asked | Failure | undefined> {
  const refusal = checkBodyHeaders(exchange.request, parts.config.bodyBytesMax);
  if (refusal !== undefined) return refusal;
  if (exchange.expectsContinue) exchange.response.writeContinue();
  const body = await readBody(exchange, parts.config.bodyBytesMax);
  if (body === undefined || body instanceof Failure) return body;
  exchange.readAtMs = performance.now();
  if (body.length >= LARGE_BODY_BYTES) await nextTurn();
  exchange.receivedBytes = body.length;
  parts.metrics.receivedBytes.add(body.length);
  const decoded = exchange.dialect.decodeRequest(body, route);
  if (decoded instanceof Failure) return decoded;
  if (body.length >= LARGE_BODY_BYTES) await nextTurn();
  const name = decoded.provider ?? parts.config.defaultProvider;
  const provider = parts.providers.get(name);
  if (provider === undefined) return unknownProvider(name);
  const translation = decoded.translate(decoded.model);
  if (translation instanceof Failure) return translation;
  const { request } = translation;
  return checkConversation(request.turns) ?? { decoded, provider, request, isStream: decoded.isStream };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The failure for a provider's name that is not registered. The name is the caller's text: quoted and cut. */
export function unknownProvider(name: string): Failure {
  const quote = JSON.stringify(name.slice(0, 64));
  return new Failure('not_found', `provider: ${quote} is not registered on this gateway`, { quotes: [quote] });
}

/** To be called once the answer was handed over: how fast the caller takes it is neither the provider's doing nor ours. */
function observeChat(exchange: Exchange, parts: ServerParts): void {
  const { record } = exchange;
  if (record.provider === undefined || record.attempts === 0) return;
  const durationMs = performance.now() - exchange.readAtMs;
  parts.metrics.chat({
    route: exchange.route,
    provider: record.provider,
    caller: exchange.caller,
    requestedModel: record.requestedModel ?? '',
    servedModel: record.servedModel,
    failure: exchange.failure,
    ended: exchange.scope.ended,
    durationMs,
    overheadMs: durationMs - record.upstreamMs - record.waitedMs,
    firstDeltaMs: record.firstDeltaMs,
    restMs: record.restMs,
    usage: record.usage,
  });
}
