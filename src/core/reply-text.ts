/**
 * The text of a reply, or of one frame of a stream, that a codec could not read, or need not.
 *
 * Text that is no JSON is the provider's fault, and another attempt may mend it. Text beyond a limit of the gateway's
 * own reader would be as long the next time. A part of a reply is never left out because it could not be read.
 */

import { parseJson } from '../base/json/parse.ts';
import { JsonProblem } from '../base/json/value.ts';
import { Failure, malformedReply } from './failure.ts';

/** True for a frame that says nothing in any format: blank, or the `[DONE]` that proxies add where a format has none. */
// hot: per token
export function isFiller(data: string): boolean {
  const word = data.trim();
  return word === '' || word === '[DONE]';
}

/** The failure for text that was not read, by the limit that it passed; if it passed none, by `what`, as `malformedReply` has it. */
export function unreadableReply(provider: string, text: string, what: string): Failure {
  const problem = parseJson(text);
  return problem instanceof JsonProblem && problem.isLimit
    ? oversizedReply(provider, problem.reason)
    : malformedReply(provider, 200, what);
}

/** A reply beyond a limit of the gateway's own: not retried, not held against the provider. `limit` completes "answered 200, but with …". */
export function oversizedReply(provider: string, limit: string): Failure {
  const message = `${provider} answered 200, but with ${limit}, which is the gateway's limit for a reply`;
  return new Failure('server', message, { upstreamStatus: 200, isOwn: true });
}
