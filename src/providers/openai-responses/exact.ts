/**
 * What a reply of the Responses API holds as it is written, digit for digit. What cannot be read so is a failure, since an
 * item left out could be a call.
 */

import { createReplyBudget } from '../../base/json/limits.ts';
import { itemsOf, memberOf } from '../../base/json/member.ts';
import { parseReplied, repliedOf } from '../../base/json/parse.ts';
import type { ParsedText } from '../../base/json/parse.ts';
import { JsonProblem } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { Failure, problemReply } from '../../core/failure.ts';

/** Gives one item of a reply as it is written; undefined when it is nowhere. Parses strictly, so ask only where it counts. */
export type ExactItem = () => JsonValue | undefined | Failure;

/** The items of a whole body. Failure: server, for JSON that is nested too deep. */
export function exactOutput(provider: string, body: string, response = parseReplied(body)): readonly JsonValue[] | Failure {
  if (response instanceof JsonProblem) return problemReply(provider, response, 'the body is not strict JSON');
  return itemsOf(memberOf(response, 'output'));
}

/** The items of the response that a stream's last event holds. Failure: server, for JSON that is nested too deep. */
export function exactLateOutput(provider: string, data: string, event = parseReplied(data)): readonly JsonValue[] | Failure {
  if (event instanceof JsonProblem) return problemReply(provider, event, 'an event of the stream is not strict JSON');
  return itemsOf(memberOf(memberOf(event, 'response'), 'output'));
}

/** The item of one event. Failure: server, for JSON that is nested too deep, or events with too many values for their budget. */
export function exactItem(provider: string, data: string, parsed: ParsedText | undefined, budget = createReplyBudget()): JsonValue | undefined | Failure {
  const event = repliedOf(data, parsed, budget);
  if (event instanceof JsonProblem) return problemReply(provider, event, 'an event of the stream is not strict JSON');
  return memberOf(event, 'item');
}
