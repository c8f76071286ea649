/** What a caller asks: from the body of a request to those who may serve it. */

import { parseLargeJson } from '../base/json/parse.ts';
import { LARGE, nextTurn } from '../base/turn.ts';
import { largeUtf8Text } from '../base/utf8.ts';
import type { DecodedRequest, DialectRoute, RequestBody } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { targetName } from '../core/route.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import type { Ask } from '../gateway/ask.ts';
import type { CallContext } from '../gateway/gateway.ts';
import { notAllowed } from './allowed.ts';
import type { CallerCandidate } from './caller-candidate.ts';
import type { Deadline } from './deadline.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';
import { headerText } from './served.ts';
import { patchedStored } from './stored.ts';
import { choiceOf } from './target.ts';
import type { Choice } from './target.ts';
import { traceHeaders } from './trace.ts';

/** A decoded request, and who may serve it. */
export type Received = { readonly decoded: DecodedRequest; readonly choice: Choice; readonly isLarge: boolean };

/** Undefined when the exchange ended while its caller was sending. */
export function receive(exchange: Exchange, parts: ServerParts, route: DialectRoute): Promise<Received | Failure | undefined> {
  return exchange.readBody(parts.config.bodyBytesMax).then((body) => {
    if (body === undefined || body instanceof Failure) return body;
    exchange.readAtMs = performance.now();
    exchange.receivedBytes = body.length;
    parts.metrics.receivedBytes.add(body.length);
    if (body.length >= LARGE) return receiveLarge(exchange, parts, route, body);
    return receivedOf(exchange, parts, exchange.dialect.decodeRequest(body, route), false);
  });
}

async function receiveLarge(exchange: Exchange, parts: ServerParts, route: DialectRoute, body: Buffer): Promise<Received | Failure> {
  await nextTurn();
  const decoded = exchange.dialect.decodeRequest(await parseLarge(body), route);
  await nextTurn();
  return receivedOf(exchange, parts, decoded, true);
}

function receivedOf(exchange: Exchange, parts: ServerParts, decoded: DecodedRequest | Failure, isLarge: boolean): Received | Failure {
  if (decoded instanceof Failure) return decoded;
  const { record, dialect } = exchange;
  record.requestedModel = decoded.model;
  const chosen = choiceOf(dialect, decoded, exchange.header('x-gateway-provider'), parts.providers, parts.config);
  const choice = chosen instanceof Failure ? chosen : (notAllowed(parts.config.routing, exchange, decoded, chosen) ?? patchedStored(parts, decoded) ?? chosen);
  if (choice instanceof Failure) return choice;
  const first = choice.targets[0];
  record.provider = first.provider.name;
  record.modelRoute = choice.route?.name;
  if (choice.route !== undefined) exchange.setHeader('X-Gateway-Route', choice.route.name);
  if (dialect.vendor !== undefined || choice.route !== undefined) {
    exchange.setHeader('X-Gateway-Target', headerText(targetName({ provider: first.provider.name, model: first.model })));
  }
  return { decoded, choice, isLarge };
}

/** Translates a large request in one turn of the event loop, so that its call is encoded in another. */
export async function prepareLarge({ candidates: [first] }: Ask<CallerCandidate>): Promise<void> {
  first.prepare();
  await nextTurn();
}

/** What a caller is told whose time was over before its body had come. */
export function endedWhileSending(exchange: Exchange, timeoutSetting: string): Failure | undefined {
  const { ended } = exchange.scope;
  return ended === undefined || ended === 'caller-gone' ? undefined : scopeFailure(ended, timeoutSetting);
}

/** The limits of the exchange's calls. */
export function contextOf({ scope, record, trace, receivedBytes }: Exchange, { config }: ServerParts, deadline: Deadline): CallContext {
  return { scope, deadline, record, extraHeaders: config.propagatesTrace ? traceHeaders(trace) : undefined, isLarge: receivedBytes >= LARGE };
}

/** What is no text is the dialect's to refuse. */
async function parseLarge(body: Buffer): Promise<RequestBody> {
  const text = await largeUtf8Text(body, nextTurn);
  if (text === undefined) return body;
  await nextTurn();
  return parseLargeJson(text, nextTurn);
}
