/** What the head of an answer says of who serves it, up to the moment when its first byte is about to leave. */

import type { Failure } from '../core/failure.ts';
import { targetName } from '../core/route.ts';
import type { Ask } from '../gateway/ask.ts';
import type { CallerCandidate } from './caller-candidate.ts';
import type { Exchange } from './exchange.ts';

/** Names who serves or was asked last, and what its call lacks of the request. Nothing happens once the answer has begun. */
// hot: per request
export function showServer(exchange: Exchange, { route, candidates }: Ask<CallerCandidate>, { provider, model, left }: CallerCandidate): void {
  exchange.omitted = left.omitted;
  if (exchange.hasBegun) return;
  if (left.ignored.length > 0) exchange.setHeader('X-Gateway-Ignored', left.ignored.map(pathText).join(', '));
  else if (candidates.length > 1) exchange.setHeader('X-Gateway-Ignored', undefined);
  const { attempts, passedOver } = exchange.record;
  if (route !== undefined) {
    exchange.setHeader('X-Gateway-Target', headerText(targetName({ provider: provider.name, model })));
    exchange.setHeader('X-Gateway-Fallback', passedOver.length === 0 ? undefined : passedOver.map(({ provider: name, why }) => `${name}=${why}`).join(', '));
  }
  if (attempts > 1 && (route !== undefined || provider.keys.length > 1)) exchange.setHeader('X-Gateway-Attempts', String(attempts));
}

/** The same of whoever is asked at this moment: an answer that is opened while it is waited for has it from here. */
// hot: per request
export function showAsked(exchange: Exchange, ask: Ask<CallerCandidate>): void {
  const { provider, askedModel } = exchange.record;
  const asked = ask.candidates.find((candidate) => candidate.provider.name === provider && candidate.model === askedModel);
  if (asked !== undefined) showServer(exchange, ask, asked);
}

/**
 * Tells a caller whose route has nobody else left that its client need not try again by itself, and when it may pay to: a
 * failure that is no 429 has its hint here.
 */
export function showFailed(exchange: Exchange, { route }: Ask, failure: Failure): void {
  if (route === undefined || exchange.record.attempts === 0 || exchange.hasBegun) return;
  exchange.setHeader('X-Should-Retry', 'false');
  if (failure.retryAfterMs !== undefined && (failure.status === 502 || failure.status === 503)) {
    exchange.setHeader('Retry-After', String(Math.ceil(failure.retryAfterMs / 1000)));
  }
}

/** What hardly any name holds. */
const ODD = /[^\w.[\]/:@+-]/u;
const EACH_ODD = new RegExp(ODD, 'gu');

/** Text that a header can carry, with everything else escaped as in a URL. */
export function headerText(text: string): string {
  return ODD.test(text) ? text.replace(EACH_ODD, encodeURIComponent) : text;
}

/** What names in a path seldom hold. */
const ODD_IN_PATH = /[^\w.[\]-]/gu;

/** A path as a header says it; the number of those that are not named begins with a `+`, as no path does. */
function pathText(path: string): string {
  return path.startsWith('+') ? path : path.replace(ODD_IN_PATH, percentEncoded);
}

/** Also of what URLs have no need to escape. */
function percentEncoded(character: string): string {
  const encoded = encodeURIComponent(character);
  return encoded === character ? `%${character.charCodeAt(0).toString(16).toUpperCase()}` : encoded;
}
