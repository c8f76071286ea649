/** Counts of tokens, in the dialects that have them: always the provider's own, never an estimate. */

import type { DialectCounting } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import type { Ask } from '../gateway/ask.ts';
import { contextOf, endedWhileSending, receive } from './asked.ts';
import type { Received } from './asked.ts';
import type { CallerCandidate } from './caller-candidate.ts';
import { askOf } from './candidates.ts';
import { Deadline } from './deadline.ts';
import type { Exchange } from './exchange.ts';
import { isWithinLimits, takeLimits } from './limits.ts';
import type { ServerParts } from './parts.ts';
import { takePlace } from './place.ts';
import { showFailed, showServer } from './served.ts';

/** Answers with the tokens that a request would bring, limited and tried again as a chat is. */
export async function answerCount(exchange: Exchange, parts: ServerParts, counting: DialectCounting): Promise<void> {
  if (!isWithinLimits(exchange, parts, 'count') || !takePlace(exchange, parts)) return;
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
    if (!(await takeLimits(exchange, parts, 'count'))) return;
    const { candidate, result } = await parts.gateway.count(asked, contextOf(exchange, parts, deadline));
    showServer(exchange, asked, candidate);
    if (result instanceof Failure) {
      showFailed(exchange, asked, result);
      exchange.sendFailure(parts.presentable(result));
      return;
    }
    const { provider, model, relay } = candidate;
    exchange.sendJson(200, relay === undefined ? counting.render(result.inputTokens, { provider: provider.name, model }) : result.raw);
  } finally {
    deadline.clear();
  }
}

/** Of a route, those of its targets that count. */
function askedOf(exchange: Exchange, parts: ServerParts, dialectCounting: DialectCounting, { decoded, choice }: Received): Ask<CallerCandidate> | Failure {
  const { route, targets: [preferred] } = choice;
  const [first, ...others] = choice.targets.filter(({ provider }) => provider.adapter.counting !== undefined);
  if (first === undefined) {
    return new Failure(dialectCounting.missing, route === undefined ? `${preferred.provider.name} counts no tokens` : `no target of route ${route.name} counts tokens`);
  }
  return askOf(exchange, parts, { decoded, choice: { route, targets: [first, ...others] } }, {
    relayPath: () => dialectCounting.relayPath,
    encode: ({ name, adapter: { counting } }, request) => counting?.encode(request) ?? new Failure(dialectCounting.missing, `${name} counts no tokens`),
  });
}
