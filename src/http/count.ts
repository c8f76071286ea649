/** Counts of tokens, in the dialects that have them: always the provider's own, never an estimate. */

import type { TokenCounting, UpstreamCall } from '../core/adapter.ts';
import type { DialectCounting, DialectRelay } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { contextOf, endedWhileSending, receive, relayedCall, relayTo, translatedCall } from './asked.ts';
import type { Received } from './asked.ts';
import { Deadline } from './deadline.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';
import { takePlace } from './place.ts';

/** Answers with the tokens that a request would bring, limited and tried again as a chat is. */
export async function answerCount(exchange: Exchange, parts: ServerParts, counting: DialectCounting): Promise<void> {
  if (!takePlace(exchange, parts)) return;
  const deadline = new Deadline(exchange, parts.config, false);
  try {
    const received = (await receive(exchange, parts, counting.route)) ?? endedWhileSending(exchange, deadline.setting);
    if (received === undefined) return;
    const asked = received instanceof Failure ? received : askedOf(exchange, parts, counting, received);
    if (asked instanceof Failure) {
      if (asked.limit !== undefined) parts.metrics.limit(asked.limit);
      exchange.sendFailure(asked);
      return;
    }
    const reply = await parts.gateway.count(asked.provider, asked.counting, asked.call, contextOf(exchange, parts, deadline));
    if (reply instanceof Failure) exchange.sendFailure(parts.presentable(reply));
    else exchange.sendJson(200, asked.relay === undefined ? counting.render(reply.inputTokens, { provider: asked.provider.name, model: asked.model }) : reply.raw);
  } finally {
    deadline.clear();
  }
}

type Asked = {
  readonly provider: Received['target']['provider'];
  readonly model: string;
  /** As the provider does it. */
  readonly counting: TokenCounting;
  readonly call: UpstreamCall;
  /** Undefined where the request was translated. */
  readonly relay: DialectRelay | undefined;
};

function askedOf(exchange: Exchange, parts: ServerParts, dialects: DialectCounting, { decoded, target }: Received): Asked | Failure {
  const { provider, model } = target;
  const { counting } = provider.adapter;
  if (counting === undefined) return new Failure(dialects.missing, `${provider.name} counts no tokens`);
  const { relayPath } = dialects;
  const relay = relayPath === undefined ? undefined : relayTo(provider, exchange);
  const call =
    relay === undefined || relayPath === undefined
      ? translatedCall(exchange, parts, decoded, model, (request) => counting.encode(request))
      : relayedCall(exchange, parts, relay, relayPath, decoded, model);
  return call instanceof Failure ? call : { provider, model, counting, call, relay };
}
