/** Counts of tokens, in the dialects that have them: always the provider's own, never an estimate. */

import type { UpstreamCall } from '../core/adapter.ts';
import type { DialectCounting, DialectRelay } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import type { Ask, Candidate } from '../gateway/ask.ts';
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
    const { candidate, result } = await parts.gateway.count(asked, contextOf(exchange, parts, deadline));
    if (result instanceof Failure) exchange.sendFailure(parts.presentable(result));
    else exchange.sendJson(200, candidate.relay === undefined ? counting.render(result.inputTokens, { provider: candidate.provider.name, model: candidate.model }) : result.raw);
  } finally {
    deadline.clear();
  }
}

/** Somebody who may count. */
type CountCandidate = Candidate & {
  /** Undefined where the request is translated. */
  readonly relay: DialectRelay | undefined;
};

function askedOf(exchange: Exchange, parts: ServerParts, dialects: DialectCounting, { decoded, target }: Received): Ask<CountCandidate> | Failure {
  const { provider, model } = target;
  const { counting } = provider.adapter;
  if (counting === undefined) return new Failure(dialects.missing, `${provider.name} counts no tokens`);
  const { relayPath } = dialects;
  const relay = relayPath === undefined ? undefined : relayTo(provider, exchange);
  const call = (): UpstreamCall | Failure =>
    relay === undefined || relayPath === undefined
      ? translatedCall(exchange, parts, decoded, model, (request) => counting.encode(request))
      : relayedCall(exchange, parts, relay, relayPath, decoded, model);
  return { route: undefined, candidates: [{ provider, model, target: undefined, relay, call }], conversation: () => 0, loopProvider: undefined };
}
