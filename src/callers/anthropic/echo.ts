/** A relayed answer with the model under the name that its caller used: clients throw reasoning away that another model made. */

import { parseReplied } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonObject } from '../../base/json/value.ts';
import type { JsonOut, JsonProblem, JsonValue } from '../../base/json/value.ts';
import type { AnswerFacts } from '../../core/dialect.ts';
import { withMembers } from '../relay.ts';

/** The message with the model as its caller named it; undefined where it says so already, or is none. */
export function echoed(message: JsonValue | JsonProblem | undefined, { request }: AnswerFacts): JsonOut | undefined {
  if (!(message instanceof JsonObject) || message.entries.get('model') === request.model) return undefined;
  return withMembers(message, new Map([['model', request.model]]));
}

/** The data of a `message_start`, likewise. */
export function echoedStart(data: string, facts: AnswerFacts): string {
  const event = parseReplied(data);
  if (!(event instanceof JsonObject)) return data;
  const message = echoed(event.entries.get('message'), facts);
  return message === undefined ? data : renderJson(withMembers(event, new Map([['message', message]])));
}
