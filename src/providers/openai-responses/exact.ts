/**
 * What a reply of the Responses API holds as it is written, digit for digit, and what becomes of one that is too deep or
 * too large to be read so: a failure that names the limit, since an item left out could be a call.
 */

import { parseJson } from '../../base/json/parse.ts';
import { JsonArray, JsonObject, JsonProblem } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { Failure, malformedReply } from '../../core/failure.ts';

/** Gives one item of a reply as it is written; undefined when it is nowhere. Parses strictly, so ask only where it counts. */
export type ExactItem = () => JsonValue | undefined | Failure;

/** The items of a whole body. Failure: server, for JSON beyond the limits. */
export function exactOutput(provider: string, body: string): readonly JsonValue[] | Failure {
  const response = parseJson(body);
  if (response instanceof JsonProblem) return unreadable(provider, response, 'the body is not strict JSON');
  const output = memberOf(response, 'output');
  return output instanceof JsonArray ? output.items : [];
}

/** The item of one event. Failure: server, for JSON beyond the limits. */
export function exactItem(provider: string, data: string): JsonValue | undefined | Failure {
  const event = parseJson(data);
  if (event instanceof JsonProblem) return unreadable(provider, event, 'an event of the stream is not strict JSON');
  return memberOf(event, 'item');
}

/** The member of an object; undefined for anything else. */
export function memberOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.entries.get(key) : undefined;
}

/** What `parseJson` says of a text that it does not take for its depth or size alone. */
const LIMIT_REASON = /^(?:nesting beyond|more than) /;

/** The failure for what cannot be read: of a limit of the gateway's own, or else for `what` is wrong with it. */
export function unreadable(provider: string, parsed: JsonValue | JsonProblem, what: string): Failure {
  return limitFailure(provider, parsed) ?? malformedReply(provider, 200, what);
}

/** The failure of a limit, if it was one that kept a text from being parsed. */
export function limitFailure(provider: string, parsed: JsonValue | JsonProblem): Failure | undefined {
  if (!(parsed instanceof JsonProblem) || !LIMIT_REASON.test(parsed.reason)) return undefined;
  return beyondLimit(provider, `JSON with ${parsed.reason}`);
}

/** A reply that is more than the gateway takes. */
export function beyondLimit(provider: string, what: string): Failure {
  return new Failure('server', `${provider} answered 200, but the gateway does not take ${what}`, { upstreamStatus: 200, isOwn: true });
}
