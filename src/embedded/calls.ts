/** Chats, streams and lists of models for code of the same process: the exchanges of HTTP, without a socket. */

import type { ChatEvent, ChatReply, ChatRequest, ModelList } from '../callers/native/wire.ts';
import { NATIVE } from '../callers/native/dialect.ts';
import { CALLER_LABEL, DEFAULT_CALLER, isCallerLabel } from '../core/caller.ts';
import type { DialectRoute } from '../core/dialect.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import { answerChat } from '../http/chat.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Exchanges } from '../http/exchanges.ts';
import { answerModels } from '../http/models.ts';
import type { ServerParts } from '../http/parts.ts';
import { GatewayError } from './errors.ts';
import { EmbeddedExchange } from './exchange.ts';
import type { Calls, CallOptions } from './types.ts';

type Work = (exchange: Exchange, parts: ServerParts) => Promise<void>;

export function createCalls(currentParts: () => ServerParts, exchanges: Exchanges): Calls {
  const [wholeRoute, streamRoute] = NATIVE.routes as readonly [DialectRoute, DialectRoute];
  const chatWork: Work = (exchange, parts) => answerChat(exchange, parts, wholeRoute);
  const streamWork: Work = (exchange, parts) => answerChat(exchange, parts, streamRoute);

  /** An exchange that is not served yet. */
  function open(request: unknown, target: string, route: string, { caller = DEFAULT_CALLER, signal }: CallOptions): EmbeddedExchange {
    if (typeof caller !== 'string' || !isCallerLabel(caller)) {
      throw new TypeError(`caller: expected ${CALLER_LABEL}`);
    }
    // Its controller in its place is the usual mistake.
    if (signal !== undefined && typeof signal?.addEventListener !== 'function') throw new TypeError('signal: expected an AbortSignal');
    const exchange = new EmbeddedExchange(request, target, NATIVE);
    exchange.route = route;
    exchange.caller = caller;
    return exchange;
  }

  /** A whole answer. */
  async function answerOf(exchange: EmbeddedExchange, work: Work, { signal }: CallOptions): Promise<unknown> {
    const stopListening = leaveOnAbort(exchange, signal);
    await exchanges.serve(exchange, currentParts(), work);
    exchanges.report();
    stopListening();
    throwIfFailed(exchange, signal);
    return JSON.parse(exchange.body ?? '');
  }

  type Events = AsyncGenerator<ChatEvent, void, undefined>;

  async function* eventsOf(request: ChatRequest, options: CallOptions, onOpen: (exchange: EmbeddedExchange) => void): Events {
    const { signal } = options;
    throwIfAborted(signal);
    const exchange = open(request, streamRoute.path, streamRoute.name, options);
    onOpen(exchange);
    const stopListening = leaveOnAbort(exchange, signal);
    const served = exchanges.serve(exchange, currentParts(), streamWork);
    try {
      for (let event = await exchange.nextEvent(); event !== undefined; event = await exchange.nextEvent()) yield event;
    } finally {
      await served;
      exchanges.report();
      stopListening();
    }
    throwIfFailed(exchange, signal);
  }

  /** A generator keeps its end waiting while it waits itself; who leaves, or throws into it as Node's streams do, hangs up at once. */
  function stream(request: ChatRequest, options: CallOptions = {}): Events {
    let leave = (): void => undefined;
    const events = eventsOf(request, options, (exchange) => (leave = () => exchange.leave()));
    const end = events.return.bind(events);
    const fail = events.throw.bind(events);
    const leaveAndReturn: Events['return'] = (value) => {
      leave();
      return end(value);
    };
    const leaveAndThrow: Events['throw'] = (error) => {
      leave();
      return fail(error);
    };
    events.return = leaveAndReturn;
    events.throw = leaveAndThrow;
    return events;
  }

  return {
    async chat(request, options = {}) {
      throwIfAborted(options.signal);
      return (await answerOf(open(request, wholeRoute.path, wholeRoute.name, options), chatWork, options)) as ChatReply;
    },
    stream,
    async models(provider = currentParts().config.defaultProvider, options = {}) {
      throwIfAborted(options.signal);
      const target = `/v1/models?${new URLSearchParams({ provider }).toString()}`;
      return (await answerOf(open(undefined, target, 'models', options), answerModels, options)) as ModelList;
    },
  };
}

function throwIfAborted(signal: CallOptions['signal']): void {
  if (signal?.aborted === true) throw signal.reason;
}

/** Returns how to stop. A listener that stays would be a leak on a signal that lives long. */
function leaveOnAbort(exchange: EmbeddedExchange, signal: CallOptions['signal']): () => void {
  if (signal === undefined) return () => undefined;
  const leave = (): void => exchange.leave();
  signal.addEventListener('abort', leave);
  return () => signal.removeEventListener('abort', leave);
}

function throwIfFailed(exchange: EmbeddedExchange, signal: CallOptions['signal']): void {
  const { ended } = exchange.scope;
  if (exchange.isLeft) throwIfAborted(signal);
  const failure = exchange.failure ?? (ended === undefined ? undefined : scopeFailure(ended, 'GATEWAY_REQUEST_TIMEOUT'));
  if (failure === undefined) return;
  const { kind, status, retryAfterMs } = failure;
  throw new GatewayError(failure.message, { kind, status, retryAfterMs, requestId: exchange.requestId });
}
