/** What OpenAI's and Anthropic's SDKs are told about trying again. */

import type { Failure } from '../core/failure.ts';

/**
 * They try everything from 408 up twice more by themselves: the gateway has done that already, or it is of no use. Only
 * what the gateway itself refuses for want of room is worth another try.
 */
export function retryHeaders(failure: Failure): Readonly<Record<string, string>> {
  const isOfUse = failure.upstreamStatus === 0 && (failure.status === 429 || failure.status === 503);
  return isOfUse ? {} : { 'x-should-retry': 'false' };
}
