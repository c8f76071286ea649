/** Chats, in any dialect: body → request → gateway → reply. */

import { parseLenient } from '../base/json/parse.ts';
import { field, isObject } from '../base/loose.ts';
import type { Provider, UpstreamCall } from '../core/adapter.ts';
import type { ChatReply, ChatRequest } from '../core/chat.ts';
import { checkConversation } from '../core/conversation.ts';
import type { AnswerFacts, CallerDialect, DecodedRequest, DialectRelay, DialectRoute, RelayedFrames, StreamFrames } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import { tenantRequest } from '../core/tenant.ts';
import type { CallContext } from '../gateway/gateway.ts';
import { checkBodyHeaders, readBody } from './body.ts';
import { Deadline } from './deadline.ts';
import { EventStream } from './event-stream.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';
import { takePlace } from './place.ts';
import { targetOf } from './target.ts';
import type { Target } from './target.ts';
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
    const context = contextOf(exchange, parts, deadline);
    await (asked.isStream ? answerStreamed(exchange, parts, asked, context) : answerWhole(exchange, parts, asked, context));
  } finally {
    deadline.clear();
  }
}

/** The limits of the exchange's calls. */
export function contextOf({ scope, record, trace }: Exchange, { config }: ServerParts, deadline: Deadline): CallContext {
  return { scope, deadline, record, extraHeaders: config.propagatesTrace ? traceHeaders(trace) : undefined };
}

async function answerWhole(exchange: Exchange, parts: ServerParts, asked: Asked, context: CallContext): Promise<void> {
  const { dialect } = exchange;
  const outcome = await parts.gateway.complete(asked.provider, asked.call, context);
  if (!(outcome instanceof Failure)) {
    const facts = factsOf(exchange, asked);
    const raw = parts.config.includesRaw ? outcome.raw : undefined;
    exchange.sendJson(200, asked.relay?.renderReply(outcome.raw, facts) ?? dialect.renderReply(outcome.reply, facts, raw));
  } else if (isRefusalReplied(outcome, dialect)) {
    exchange.failure = outcome;
    const facts = factsOf(exchange, asked);
    const declined = asked.relay?.relaysDeclined === true ? declinedAnswer(exchange) : undefined;
    const relayed = declined === undefined ? undefined : asked.relay?.renderReply(declined, facts);
    exchange.sendJson(200, relayed ?? dialect.renderReply(refusalReply(exchange), facts, undefined));
  } else {
    exchange.sendFailure(parts.presentable(outcome));
  }
  observeChat(exchange, parts);
}

async function answerStreamed(exchange: Exchange, parts: ServerParts, asked: Asked, context: CallContext): Promise<void> {
  const { dialect } = exchange;
  const { relay } = asked;
  const onOpen = (): void => {
    parts.metrics.openStreams.add(1);
    void exchange.closed.then(() => parts.metrics.openStreams.add(-1));
  };
  const createFrames = (): StreamFrames => dialect.createFrames(factsOf(exchange, asked));
  const createRelayed = relay && ((): RelayedFrames => relay.createFrames(factsOf(exchange, asked)));
  const stream = new EventStream(exchange, createFrames, parts.config, onOpen, createRelayed);
  exchange.failStream = (failure) => stream.fail(failure);
  try {
    const failure = await parts.gateway.stream(asked.provider, asked.call, context, stream);
    if (failure !== undefined && isRefusalReplied(failure, dialect)) stream.refuse(failure, refusalReply(exchange));
    else if (failure !== undefined) stream.fail(parts.presentable(failure));
    observeChat(exchange, parts);
  } finally {
    stream.close();
  }
}

function isRefusalReplied(failure: Failure, dialect: CallerDialect): boolean {
  return failure.kind === 'refusal' && dialect.repliesRefusals;
}

/** The provider's own answer that says that it declined; undefined where an error said so. */
function declinedAnswer({ record: { declined } }: Exchange): string | undefined {
  return declined === undefined || isObject(field(parseLenient(declined), 'error')) ? undefined : declined;
}

/** What a provider that declined without a word has said. */
function refusalReply({ record }: Exchange): ChatReply {
  return { id: undefined, model: record.servedModel, parts: [], thinking: '', stopReason: 'refusal', usage: record.usage };
}

function factsOf({ record, requestId, arrivedAtS }: Exchange, { decoded, provider }: Asked): AnswerFacts {
  return { request: decoded, requestId, provider: provider.name, servedModel: record.servedModel, createdAtS: arrivedAtS };
}

/** A chat that a provider can be asked for. */
type Asked = {
  readonly decoded: DecodedRequest;
  readonly provider: Provider;
  readonly call: UpstreamCall;
  /** Undefined where the request was translated. */
  readonly relay: DialectRelay | undefined;
  readonly isStream: boolean;
};

/** What a caller is told whose time was over before its body had come. */
export function endedWhileSending(exchange: Exchange, timeoutSetting: string): Failure | undefined {
  const { ended } = exchange.scope;
  return ended === undefined || ended === 'caller-gone' ? undefined : scopeFailure(ended, timeoutSetting);
}

/** What the caller asks, once everything about it was checked; undefined when the exchange ended while it was sending. */
async function readAsked(exchange: Exchange, parts: ServerParts, route: DialectRoute): Promise<Asked | Failure | undefined> {
  const received = await receive(exchange, parts, route);
  return received === undefined || received instanceof Failure ? received : askedOf(exchange, parts, received.decoded, received.target);
}

/** A request as far as its dialect is known, and who is to serve it. */
export type Received = { readonly decoded: DecodedRequest; readonly target: Target };

/** Undefined when the exchange ended while its caller was sending. */
export async function receive(exchange: Exchange, parts: ServerParts, route: DialectRoute): Promise<Received | Failure | undefined> {
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
  const target = targetOf(exchange.dialect, decoded, singleHeader(exchange, 'x-gateway-provider'), parts.providers, parts.config);
  if (target instanceof Failure) return target;
  exchange.record.provider = target.provider.name;
  exchange.record.requestedModel = decoded.model;
  if (exchange.dialect.vendor !== undefined) {
    exchange.response.setHeader('X-Gateway-Target', headerText(`${target.provider.name}/${target.model}`));
  }
  return { decoded, target };
}

/** The request as its provider takes it: relayed where both speak one dialect, else translated. */
function askedOf(exchange: Exchange, parts: ServerParts, decoded: DecodedRequest, { provider, model }: Target): Asked | Failure {
  const { isStream } = decoded;
  const relay = relayTo(provider, exchange);
  const call =
    relay === undefined
      ? translatedCall(exchange, parts, decoded, model, (request) => provider.adapter.encodeChat(request, isStream))
      : relayedCall(exchange, parts, relay, relay.path, decoded, model);
  return call instanceof Failure ? call : { decoded, provider, relay, isStream, call };
}

/** Undefined where a request has to be translated. */
export function relayTo(provider: Provider, { dialect }: Exchange): DialectRelay | undefined {
  return provider.speaks.includes(dialect.name) ? dialect.relay : undefined;
}

/** The call that `encode` makes of the request as a chat. */
export function translatedCall(
  exchange: Exchange,
  parts: ServerParts,
  decoded: DecodedRequest,
  model: string,
  encode: (request: ChatRequest) => UpstreamCall | Failure,
): UpstreamCall | Failure {
  const translation = decoded.translate(model);
  if (translation instanceof Failure) return translation;
  const { ignored, told } = translation;
  const request = tenantRequest(translation.request, exchange.caller);
  const call = checkConversation(request.turns) ?? encode(request);
  if (call instanceof Failure) return told === undefined ? call : call.with({ message: told(call.message) });
  nameIgnored(exchange, parts, ignored);
  return call;
}

/** The caller's own request, to that path of a provider that speaks its dialect. */
export function relayedCall(
  exchange: Exchange,
  parts: ServerParts,
  relay: DialectRelay,
  path: string,
  decoded: DecodedRequest,
  model: string,
): UpstreamCall | Failure {
  const { config } = parts;
  const { isStream } = decoded;
  const relayed = relay.encode(decoded, model, { caller: exchange.caller, allowsStored: config.relaysStored || config.callers.length === 1 });
  if (relayed instanceof Failure) return relayed;
  nameIgnored(exchange, parts, relayed.ignored);
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: isStream ? 'text/event-stream' : 'application/json' };
  for (const name of Object.keys(relay.headers)) {
    const value = singleHeader(exchange, name) ?? relay.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  return { method: 'POST', path, headers, body: relayed.body };
}

function singleHeader({ request }: Exchange, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Tells the caller what was left out of its request, and counts it. */
function nameIgnored({ dialect, response }: Exchange, { metrics }: ServerParts, ignored: readonly string[]): void {
  if (ignored.length === 0) return;
  response.setHeader('X-Gateway-Ignored', ignored.map(headerText).join(', '));
  for (const path of ignored) {
    const [name = ''] = path.split(/[.[]/, 1);
    metrics.ignoredField(dialect.name, dialect.fieldNames.has(name) ? name : 'other');
  }
}

/** Text that a header can carry, with everything else escaped as in a URL. */
function headerText(text: string): string {
  return text.replace(/[^\w.[\]/:@+-]/gu, encodeURIComponent);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
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
