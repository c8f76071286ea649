/** What the formats have in common that count the tokens of a request without answering it. */

import { parseLenient } from '../base/json/lenient.ts';
import type { JsonOut, JsonOutObject } from '../base/json/value.ts';
import { countField } from '../base/loose.ts';
import { unreadableReply } from '../core/failure.ts';
import type { Failure } from '../core/failure.ts';

/** The members of a payload that a count takes: anything else is refused there. */
export function countedMembers(payload: JsonOut | undefined, names: readonly string[]): JsonOutObject {
  const members = payload instanceof Map ? payload : new Map(Object.entries(payload ?? {}));
  return Object.fromEntries(names.map((name) => [name, members.get(name)]));
}

/** The count in a whole 200 body, under the first of these names that is there. Failures: server, or what an error inside says. */
export function decodeCount(provider: string, body: string, failureInside: (provider: string, json: unknown) => Failure | undefined, ...names: readonly string[]): number | Failure {
  const json = parseLenient(body);
  const count = names.map((name) => countField(json, name)).find((value) => value !== undefined);
  return failureInside(provider, json) ?? count ?? unreadableReply(provider, body, 'it sent no token count');
}
