/** POST /v1/chat and POST /v1/chat/stream: body → request → gateway → reply. */

import { renderChatReply } from '../callers/native/reply.ts';
import { decodeChatRequest } from '../callers/native/request.ts';
import type { Provider } from '../core/adapter.ts';
import type { ChatRequest } from '../core/chat.ts';
import { checkConversation } from '../core/conversation.ts';
import { Failure } from '../core/failure.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import { TIMER_MS_MAX } from '../core/scope.ts';
import type { CallContext } from '../gateway/gateway.ts';
import { checkBodyHeaders, readBody } from './body.ts';
import { EventStream } from './event-stream.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';
import { takePlace } from './place.ts';
import { traceHeaders } from './trace.ts';

/** From this size on, reading, decoding and encoding take a turn of the event loop each, for the sake of everybody else. */
const LARGE_BODY_BYTES = 512 * 1024;

export function answerChat(exchange: Exchange, parts: ServerParts): Promise<void> {
  return admitted(exchange, parts, parts.config.requestTimeoutMs, 'GATEWAY_REQUEST_TIMEOUT', async (asked, context) => {
    const outcome = await parts.gateway.complete(asked.provider, asked.request, context);
    if (outcome instanceof Failure) {
      exchange.sendFailure(parts.presentable(outcome));
    } else {
      const raw = parts.config.includesRaw ? outcome.raw : undefined;
      exchange.sendJson(200, renderChatReply(asked.provider.name, outcome.reply, raw));
    }
    observeChat(exchange, parts);
  });
}

export function answerChatStream(exchange: Exchange, parts: ServerParts): Promise<void> {
  return admitted(exchange, parts, parts.config.streamTimeoutMs, 'GATEWAY_STREAM_TIMEOUT', async (asked, context) => {
    const stream = new EventStream(exchange, asked.provider.name, parts.config, () => {
      parts.metrics.openStreams.add(1);
      void exchange.closed.then(() => parts.metrics.openStreams.add(-1));
    });
    try {
      const failure = await parts.gateway.stream(asked.provider, asked.request, context, stream);
      if (failure !== undefined) stream.fail(parts.presentable(failure));
      observeChat(exchange, parts);
    } finally {
      stream.close();
    }
  });
}

type Asked = { readonly provider: Provider; readonly request: ChatRequest };

/** Runs a chat with a place and inside a deadline. */
async function admitted(
  exchange: Exchange,
  parts: ServerParts,
  timeoutMs: number,
  timeoutSetting: string,
  answer: (asked: Asked, context: CallContext) => Promise<void>,
): Promise<void> {
  if (!takePlace(exchange, parts)) return;
  const deadline = setTimeout(() => exchange.scope.end('deadline'), Math.min(timeoutMs, TIMER_MS_MAX));
  try {
    const asked = (await readAsked(exchange, parts)) ?? endedWhileSending(exchange, timeoutSetting);
    if (asked === undefined) return;
    if (asked instanceof Failure) {
      if (asked.limit !== undefined) parts.metrics.limit(asked.limit);
      exchange.sendFailure(asked);
      return;
    }
    exchange.record.provider = asked.provider.name;
    exchange.record.requestedModel = asked.request.model;
    await answer(asked, {
      scope: exchange.scope,
      deadline: { atMs: exchange.startedAtMs + timeoutMs, setting: timeoutSetting },
      record: exchange.record,
      extraHeaders: parts.config.propagatesTrace ? traceHeaders(exchange.trace) : undefined,
    });
  } finally {
    clearTimeout(deadline);
  }
}

/** What a caller is told whose time was over before its body had come. */
function endedWhileSending(exchange: Exchange, timeoutSetting: string): Failure | undefined {
  const { ended } = exchange.scope;
  return ended === undefined || ended === 'caller-gone' ? undefined : scopeFailure(ended, timeoutSetting);
}

/** What the caller asks, once everything about it was checked; undefined when the exchange ended while it was sending. */
async function readAsked(exchange: Exchange, parts: ServerParts): Promise<Asked | Failure | undefined> {
  const refusal = checkBodyHeaders(exchange.request, parts.config.bodyBytesMax);
  if (refusal !== undefined) return refusal;
  if (exchange.expectsContinue) exchange.response.writeContinue();
  const body = await readBody(exchange, parts.config.bodyBytesMax);
  if (body === undefined || body instanceof Failure) return body;
  exchange.readAtMs = performance.now();
  if (body.length >= LARGE_BODY_BYTES) await nextTurn();
  exchange.receivedBytes = body.length;
  parts.metrics.receivedBytes.add(body.length);
  const request = decodeChatRequest(body);
  if (request instanceof Failure) return request;
  if (body.length >= LARGE_BODY_BYTES) await nextTurn();
  const name = request.provider ?? parts.config.defaultProvider;
  const provider = parts.providers.get(name);
  if (provider === undefined) return unknownProvider(name);
  return checkConversation(request.turns) ?? { provider, request };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The failure for a provider's name that is not registered. The name is the caller's text: quoted and cut. */
export function unknownProvider(name: string): Failure {
  return new Failure('not_found', `provider: ${JSON.stringify(name.slice(0, 64))} is not registered on this gateway`);
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
