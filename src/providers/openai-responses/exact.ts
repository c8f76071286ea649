/**
 * What a reply of the Responses API holds as it is written, digit for digit. What cannot be read so is a failure, since an
 * item left out could be a call.
 */

import { memberOf } from '../../base/json/member.ts';
import { parseReplied } from '../../base/json/parse.ts';
import type { JsonBudget } from '../../base/json/parse.ts';
import { JsonArray, JsonProblem } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { Failure, unreadableReply } from '../../core/failure.ts';

/** Gives one item of a reply as it is written; undefined when it is nowhere. Parses strictly, so ask only where it counts. */
export type ExactItem = () => JsonValue | undefined | Failure;

/** The items of a whole body. Failure: server, for JSON that is nested too deep. */
export function exactOutput(provider: string, body: string, response = parseReplied(body)): readonly JsonValue[] | Failure {
  if (response instanceof JsonProblem) return unreadableReply(provider, body, 'the body is not strict JSON');
  return outputOf(response);
}

/** The items of the response that a stream's last event holds. Failure: server, for JSON that is nested too deep. */
export function exactLateOutput(provider: string, data: string): readonly JsonValue[] | Failure {
  const event = parseReplied(data);
  if (event instanceof JsonProblem) return unreadableReply(provider, data, 'an event of the stream is not strict JSON');
  return outputOf(memberOf(event, 'response'));
}

function outputOf(response: JsonValue | undefined): readonly JsonValue[] {
  const output = memberOf(response, 'output');
  return output instanceof JsonArray ? output.items : [];
}

/** The item of one event. Failure: server, for JSON that is nested too deep, or events with too many values for their budget. */
export function exactItem(provider: string, data: string, budget?: JsonBudget): JsonValue | undefined | Failure {
  const event = parseReplied(data, budget);
  if (event instanceof JsonProblem) return unreadableReply(provider, data, 'an event of the stream is not strict JSON', budget);
  return memberOf(event, 'item');
}
