/**
 * What an exchange cost its caller, once it is over: the tokens that the provider reported; without a report what was estimated
 * and what was delivered; nothing where all came to nothing.
 */

import type { ChatReply } from '../core/chat.ts';
import type { Delta } from '../core/delta.ts';
import { countsTokens } from '../core/route.ts';
import type { Candidate } from '../gateway/ask.ts';
import type { StreamSink } from '../gateway/pipe-stream.ts';
import { charsOfDelta, charsOfReply, tokensOfChars } from '../limits/estimate.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';

/** The sink, which notes for its caller's limits how much goes through it, where they count tokens. */
export function countedSink({ charged }: Exchange, sink: StreamSink): StreamSink {
  return charged === undefined || !countsTokens(charged.charge.limits) ? sink : new CountedSink(charged, sink);
}

class CountedSink implements StreamSink {
  readonly #charged: NonNullable<Exchange['charged']>;
  readonly #sink: StreamSink;

  constructor(charged: NonNullable<Exchange['charged']>, sink: StreamSink) {
    this.#charged = charged;
    this.#sink = sink;
  }

  get relay(): StreamSink['relay'] {
    return this.#sink.relay;
  }

  begin(candidate: Candidate): void {
    this.#sink.begin?.(candidate);
  }

  // hot: per token
  push(delta: Delta): void {
    this.#charged.deliveredChars += charsOfDelta(delta);
    this.#sink.push(delta);
  }

  flush(): void | Promise<void> {
    return this.#sink.flush();
  }
}

/** Notes a whole answer as what went to its caller. */
export function noteDelivered({ charged }: Exchange, reply: ChatReply): void {
  if (charged !== undefined) charged.deliveredChars = charsOfReply(reply);
}

/** Gives the exchange's place back and charges what it used, once; for whatever it ended of. */
// hot: per request
export function settleLimits(exchange: Exchange, { limits, metrics }: ServerParts): void {
  const { charged } = exchange;
  if (charged === undefined) return;
  exchange.charged = undefined;
  const { charge, deliveredChars } = charged;
  if (!countsTokens(charge.limits)) {
    limits.settle(charge, charge.tokens);
    return;
  }
  const { usage, attempts } = exchange.record;
  if (usage !== undefined) {
    limits.settle(charge, usage.inputTokens + usage.outputTokens);
  } else if (deliveredChars > 0 || (attempts > 0 && !hasFailed(exchange))) {
    const tokens = charge.tokens + tokensOfChars(deliveredChars);
    metrics.limitTokensEstimated(charge.caller, tokens);
    limits.settle(charge, tokens);
  } else {
    limits.settle(charge, 0);
  }
}

/** Whether it failed, but not by its caller's hanging up: then a provider has worked for it. */
function hasFailed({ failure, scope }: Exchange): boolean {
  return failure !== undefined && scope.ended !== 'caller-gone';
}
