/** POST /v1/chat and POST /v1/chat/stream: body → request → gateway → reply. */

import type { ChatRequest } from '../core/chat.ts';
import { checkConversation } from '../core/conversation.ts';
import type { Provider } from '../core/adapter.ts';
import { Failure } from '../core/failure.ts';
import { TIMER_MS_MAX } from '../core/scope.ts';
import type { CallContext } from '../gateway.ts';
import { checkBodyHeaders, readBody } from './body.ts';
import { decodeChatRequest } from './chat-request.ts';
import { renderChatReply } from './chat-reply.ts';
import { EventStream } from './event-stream.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './server.ts';

/** How soon a caller that found the gateway full may try again. */
const FULL_RETRY_AFTER_MS = 1000;

/** Chat requests being served, against GATEWAY_MAX_CONCURRENT. */
export class Admission {
  readonly #max: number;
  #count = 0;
  constructor(max: number | undefined) {
    this.#max = max ?? Infinity;
  }
  get count(): number {
    return this.#count;
  }
  /** Takes a place; false when there is none. Every taken place is given back with `leave`. */
  enter(): boolean {
    if (this.#count >= this.#max) return false;
    this.#count += 1;
    return true;
  }
  leave(): void {
    this.#count -= 1;
  }
}

export function answerChat(exchange: Exchange, parts: ServerParts): Promise<void> {
  return admitted(exchange, parts, parts.config.requestTimeoutMs, 'GATEWAY_REQUEST_TIMEOUT', async (asked, context) => {
    const outcome = await parts.gateway.complete(asked.provider, asked.request, context);
    if (outcome instanceof Failure) {
      exchange.sendFailure(parts.presentable(outcome));
      return;
    }
    const raw = parts.config.includesRaw ? outcome.raw : undefined;
    exchange.sendJson(200, renderChatReply(asked.provider.name, outcome.reply, raw));
  });
}

export function answerChatStream(exchange: Exchange, parts: ServerParts): Promise<void> {
  return admitted(exchange, parts, parts.config.streamTimeoutMs, 'GATEWAY_STREAM_TIMEOUT', async (asked, context) => {
    const stream = new EventStream(exchange, asked.provider.name, parts.config, () => parts.metrics.openStreams.add(1));
    try {
      const failure = await parts.gateway.stream(asked.provider, asked.request, context, stream);
      if (failure !== undefined) stream.fail(parts.presentable(failure));
    } finally {
      stream.close();
      if (stream.isOpen) parts.metrics.openStreams.add(-1);
    }
  });
}

type Asked = { readonly provider: Provider; readonly request: ChatRequest };

/** Runs a chat inside a place and a deadline, both given back however it ends. */
async function admitted(
  exchange: Exchange,
  parts: ServerParts,
  timeoutMs: number,
  timeoutSetting: string,
  answer: (asked: Asked, context: CallContext) => Promise<void>,
): Promise<void> {
  if (!parts.admission.enter()) {
    parts.metrics.refused('concurrency');
    exchange.sendFailure(
      new Failure('rate_limit', 'the gateway is at its limit of concurrent requests', { retryAfterMs: FULL_RETRY_AFTER_MS }),
    );
    return;
  }
  parts.metrics.inFlight.add(1);
  const deadline = setTimeout(() => exchange.scope.end('deadline'), Math.min(timeoutMs, TIMER_MS_MAX));
  try {
    const asked = await readAsked(exchange, parts);
    if (asked === undefined) return;
    if (asked instanceof Failure) {
      exchange.sendFailure(asked);
      return;
    }
    exchange.record.provider = asked.provider.name;
    exchange.record.requestedModel = asked.request.model;
    await answer(asked, {
      scope: exchange.scope,
      deadline: { atMs: exchange.startedAtMs + timeoutMs, setting: timeoutSetting },
      record: exchange.record,
    });
    observeChat(exchange, parts, asked.provider.name);
  } finally {
    clearTimeout(deadline);
    parts.admission.leave();
    parts.metrics.inFlight.add(-1);
  }
}

/** What the caller asks, once everything about it was checked; undefined when it hung up while sending. */
async function readAsked(exchange: Exchange, parts: ServerParts): Promise<Asked | Failure | undefined> {
  const refusal = checkBodyHeaders(exchange.request, parts.config.bodyBytesMax);
  if (refusal !== undefined) return refusal;
  if (exchange.expectsContinue) exchange.response.writeContinue();
  const body = await readBody(exchange.request, parts.config.bodyBytesMax);
  if (body === undefined || body instanceof Failure) return body;
  exchange.receivedBytes = body.length;
  parts.metrics.receivedBytes.add(body.length);
  const request = decodeChatRequest(body);
  if (request instanceof Failure) return request;
  const name = request.provider ?? parts.config.defaultProvider;
  const provider = parts.providers.get(name);
  if (provider === undefined) return unknownProvider(name);
  return checkConversation(request.turns) ?? { provider, request };
}

/** The failure for a provider's name that is not registered. The name is the caller's text: quoted and cut. */
export function unknownProvider(name: string): Failure {
  return new Failure('not_found', `provider: ${JSON.stringify(name.slice(0, 64))} is not registered on this gateway`);
}

function observeChat(exchange: Exchange, parts: ServerParts, provider: string): void {
  const { record } = exchange;
  parts.metrics.chat({
    operation: exchange.route === 'chat' ? 'chat' : 'stream',
    provider,
    caller: exchange.caller,
    requestedModel: record.requestedModel ?? '',
    servedModel: record.servedModel,
    errorType: exchange.failure?.kind ?? '',
    totalMs: exchange.elapsedMs,
    upstreamMs: record.upstreamMs,
    firstDeltaMs: record.firstDeltaMs,
    usage: record.usage,
  });
}
