/** A place for each request that calls providers; without one it is refused. */

import { Failure } from '../core/failure.ts';
import type { Refusal } from './admission.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';

/** How soon a caller that found the gateway full may try again. */
const FULL_RETRY_AFTER_MS = 1000;

const REFUSAL_SENTENCES: Readonly<Record<Refusal, string>> = {
  concurrency: 'the gateway is at its limit of concurrent requests',
  event_loop: 'the gateway has more to do than it can keep up with',
  memory: 'the gateway has too little memory left',
};

/**
 * Takes a place, which is given back once the answer was taken or its caller is gone: until then it fills memory. False =
 * there is none, and the caller was told so.
 */
export function takePlace(exchange: Exchange, { admission, metrics }: ServerParts): boolean {
  const refusal = admission.enter();
  if (refusal !== undefined) {
    metrics.refused(refusal);
    exchange.sendFailure(new Failure('rate_limit', REFUSAL_SENTENCES[refusal], { retryAfterMs: FULL_RETRY_AFTER_MS }));
    return false;
  }
  metrics.inFlight.add(1);
  void exchange.closed.then(() => {
    admission.leave();
    metrics.inFlight.add(-1);
  });
  return true;
}
