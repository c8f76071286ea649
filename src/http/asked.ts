/** What a caller asks: from the body of a request to the call for the provider that is to serve it. */

import { largeUtf8Text } from '../base/utf8.ts';
import type { Provider, UpstreamCall } from '../core/adapter.ts';
import type { ChatRequest } from '../core/chat.ts';
import { checkConversation } from '../core/conversation.ts';
import type { DecodedRequest, DialectRelay, DialectRoute } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import { tenantRequest } from '../core/tenant.ts';
import type { CallContext } from '../gateway/gateway.ts';
import type { Deadline } from './deadline.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';
import { targetOf } from './target.ts';
import type { Target } from './target.ts';
import { traceHeaders } from './trace.ts';

/** From this size on, reading, decoding, parsing and encoding take turns of the event loop of their own, for the sake of everybody else. */
const LARGE_BODY_BYTES = 512 * 1024;

/** A request as far as its dialect is known, and who is to serve it. */
export type Received = { readonly decoded: DecodedRequest; readonly target: Target };

/** Undefined when the exchange ended while its caller was sending. */
export async function receive(exchange: Exchange, parts: ServerParts, route: DialectRoute): Promise<Received | Failure | undefined> {
  const body = await exchange.readBody(parts.config.bodyBytesMax);
  if (body === undefined || body instanceof Failure) return body;
  exchange.readAtMs = performance.now();
  const isLarge = body.length >= LARGE_BODY_BYTES;
  if (isLarge) await nextTurn();
  exchange.receivedBytes = body.length;
  parts.metrics.receivedBytes.add(body.length);
  // What is no text is the dialect's to refuse.
  const text = isLarge ? await largeUtf8Text(body, nextTurn) : undefined;
  const decoded = exchange.dialect.decodeRequest(text ?? body, route);
  if (decoded instanceof Failure) return decoded;
  if (isLarge) await nextTurn();
  const target = targetOf(exchange.dialect, decoded, exchange.header('x-gateway-provider'), parts.providers, parts.config);
  if (target instanceof Failure) return target;
  exchange.record.provider = target.provider.name;
  exchange.record.requestedModel = decoded.model;
  if (exchange.dialect.vendor !== undefined) {
    exchange.setHeader('X-Gateway-Target', headerText(`${target.provider.name}/${target.model}`));
  }
  return { decoded, target };
}

/** What a caller is told whose time was over before its body had come. */
export function endedWhileSending(exchange: Exchange, timeoutSetting: string): Failure | undefined {
  const { ended } = exchange.scope;
  return ended === undefined || ended === 'caller-gone' ? undefined : scopeFailure(ended, timeoutSetting);
}

/** The limits of the exchange's calls. */
export function contextOf({ scope, record, trace }: Exchange, { config }: ServerParts, deadline: Deadline): CallContext {
  return { scope, deadline, record, extraHeaders: config.propagatesTrace ? traceHeaders(trace) : undefined };
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
  const isOneCaller = config.callers.length === 1 && parts.authenticate === undefined;
  const relayed = relay.encode(decoded, model, { caller: exchange.caller, allowsStored: config.relaysStored || isOneCaller });
  if (relayed instanceof Failure) return relayed;
  nameIgnored(exchange, parts, relayed.ignored);
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: isStream ? 'text/event-stream' : 'application/json' };
  for (const name of Object.keys(relay.headers)) {
    const value = exchange.header(name) ?? relay.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  return { method: 'POST', path, headers, body: relayed.body };
}

/** Tells the caller what was left out of its request, and counts it. */
function nameIgnored(exchange: Exchange, { metrics }: ServerParts, ignored: readonly string[]): void {
  if (ignored.length === 0) return;
  const { dialect } = exchange;
  exchange.setHeader('X-Gateway-Ignored', ignored.map(headerText).join(', '));
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
