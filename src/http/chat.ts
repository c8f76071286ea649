/** Chats, in any dialect: body → request → gateway → reply. */

import { renderJson } from '../base/json/render.ts';
import { LARGE, nextTurn } from '../base/turn.ts';
import type { ChatReply } from '../core/chat.ts';
import type { AnswerFacts, CallerDialect, DecodedRequest, DialectRoute } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import type { Ask } from '../gateway/ask.ts';
import type { CallContext } from '../gateway/gateway.ts';
import { contextOf, endedWhileSending, prepareLarge, receive } from './asked.ts';
import type { Received } from './asked.ts';
import type { CallerCandidate } from './caller-candidate.ts';
import { askOf } from './candidates.ts';
import { Deadline } from './deadline.ts';
import { EventStream } from './event-stream.ts';
import type { EventStreamSource } from './event-stream.ts';
import type { Exchange } from './exchange.ts';
import { isWithinLimits, takeLimits, uncounted } from './limits.ts';
import type { ServerParts } from './parts.ts';
import { takePlace } from './place.ts';
import { showAsked, showFailed, showServer } from './served.ts';
import { countedSink, noteDelivered } from './settlement.ts';

/** Answers a chat on one of its dialect's paths. */
export async function answerChat(exchange: Exchange, parts: ServerParts, route: DialectRoute): Promise<void> {
  exchange.isChat = true;
  if (!isWithinLimits(exchange, parts, 'chat') || !takePlace(exchange, parts)) return;
  const deadline = new Deadline(exchange, parts.config, route.stream === 'always');
  try {
    const received = (await receive(exchange, parts, route)) ?? endedWhileSending(exchange, deadline.setting);
    if (received === undefined) return;
    const asked = received instanceof Failure ? received : askedOf(exchange, parts, received);
    if (asked instanceof Failure) {
      if (asked.limit !== undefined) parts.metrics.limit(asked.limit);
      exchange.sendFailure(asked);
      return;
    }
    if (asked.isLarge) await prepareLarge(asked.ask);
    // Waited for only where a store is asked: an await that is not needed is another turn of microtasks.
    const isTaken = takeLimits(exchange, parts, 'chat', asked.decoded);
    if (isTaken !== true && !(await isTaken)) return;
    deadline.startFor(asked.isStream);
    const context = contextOf(exchange, parts, deadline);
    await (asked.isStream ? answerStreamed(exchange, parts, asked, context) : answerWhole(exchange, parts, asked, context, deadline));
  } finally {
    deadline.clear();
  }
}

async function answerWhole(exchange: Exchange, parts: ServerParts, asked: Asked, context: CallContext, deadline: Deadline): Promise<void> {
  const { dialect } = exchange;
  const { candidate, result } = await parts.gateway.complete(asked.ask, context);
  // A large answer is rendered and sent in turns, which are no reason to call it late.
  deadline.clear();
  const { relay } = candidate;
  showServer(exchange, asked.ask, candidate);
  const facts = factsOf(exchange, asked);
  if (!(result instanceof Failure)) {
    noteDelivered(exchange, result.reply);
    const raw = parts.config.includesRaw ? result.raw : undefined;
    const isLarge = result.raw.length >= LARGE;
    if (isLarge) await nextTurn();
    const body = relay?.encodeReply(result.raw, facts, result.exact) ?? dialect.encodeReply(result.reply, facts, raw);
    if (isLarge) await exchange.sendLargeJson(200, body);
    else exchange.sendJson(200, renderJson(body));
  } else if (isRefusalReplied(result, dialect)) {
    exchange.failure = result;
    const declined = relay?.relaysDeclined === true ? exchange.record.declined : undefined;
    const relayed = declined === undefined ? undefined : relay?.encodeReply(declined, facts);
    exchange.sendJson(200, renderJson(relayed ?? dialect.encodeReply(refusalReply(exchange, result), facts, undefined)));
  } else {
    showFailed(exchange, asked.ask, result);
    exchange.sendFailure(parts.presentable(result));
  }
  observeChat(exchange, parts);
}

async function answerStreamed(exchange: Exchange, parts: ServerParts, asked: Asked, context: CallContext): Promise<void> {
  const { dialect } = exchange;
  const { ask } = asked;
  const source: EventStreamSource = {
    createFrames: () => dialect.createFrames(factsOf(exchange, asked)),
    onOpen() {
      showAsked(exchange, ask);
      parts.metrics.openStreams.add(1);
      void exchange.closed.then(() => parts.metrics.openStreams.add(-1));
    },
  };
  const stream = new EventStream(exchange, source, parts.config);
  exchange.stream = stream;
  try {
    const { candidate, result } = await parts.gateway.stream(ask, context, countedSink(exchange, stream));
    showServer(exchange, ask, candidate);
    if (result instanceof Failure) showFailed(exchange, ask, result);
    if (result instanceof Failure && isRefusalReplied(result, dialect)) stream.refuse(result, refusalReply(exchange, result));
    else if (result instanceof Failure) stream.fail(parts.presentable(result));
    observeChat(exchange, parts);
  } finally {
    stream.close();
  }
}

function isRefusalReplied(failure: Failure, dialect: CallerDialect): boolean {
  return failure.kind === 'refusal' && dialect.repliesRefusals;
}

/** What a provider that declined without a word has said; one that declined by an error said nothing. */
function refusalReply({ record }: Exchange, { reply }: Failure): ChatReply {
  return reply ?? { id: undefined, model: record.servedModel, parts: [], thinking: '', stopReason: 'refusal', usage: undefined };
}

function factsOf({ record, requestId, answerId, arrivedAtS }: Exchange, { decoded }: Asked): AnswerFacts {
  return { request: decoded, requestId, answerId, provider: record.provider ?? '', servedModel: record.servedModel, createdAtS: arrivedAtS };
}

/** A chat that providers can be asked for. */
type Asked = {
  readonly decoded: DecodedRequest;
  readonly isStream: boolean;
  readonly isLarge: boolean;
  readonly ask: Ask<CallerCandidate>;
};

/** What the caller asks, once everything about it was checked. */
function askedOf(exchange: Exchange, parts: ServerParts, received: Received): Asked | Failure {
  const { decoded, isLarge } = received;
  const ask = askOf(exchange, parts, received, {
    relayPath: ({ path }) => path,
    encode: ({ adapter }, request) => adapter.encodeChat(request, decoded.isStream),
  });
  if (ask instanceof Failure) return ask;
  return uncounted(exchange, parts, decoded) ?? { decoded, isStream: decoded.isStream, isLarge, ask };
}

/** To be called once the answer was handed over: how fast the caller takes it is neither the provider's doing nor ours. */
function observeChat(exchange: Exchange, parts: ServerParts): void {
  const { record } = exchange;
  if (record.provider === undefined || record.attempts === 0) return;
  const durationMs = performance.now() - exchange.readAtMs;
  parts.metrics.chat({
    route: exchange.route,
    provider: record.provider,
    caller: parts.callerLabel(exchange.caller),
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
