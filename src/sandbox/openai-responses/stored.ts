/**
 * The responses that OpenAI stores unless it is told not to: a later request names one of them, or an item, instead of sending it.
 *
 * Source: OpenAI, Responses API, conversation state; item references.
 */

import { field, isObject, listField, stringField } from '../../base/loose.ts';
import { Complaint } from '../protocol.ts';
import type { Memory } from '../protocol.ts';
import { invalid } from '../openai-chat/complaint.ts';

type Item = Readonly<Record<string, unknown>>;

/** As many and as much as there are requests to look at; the oldest are forgotten. */
const RESPONSES_MAX = 200;
const CHARS_MAX = 64 * 1024 * 1024;

/** The items of a request with what it refers to in its place. */
export function resolveInput(body: unknown, { responses }: Memory): readonly Item[] | Complaint {
  const text = stringField(body, 'input');
  const given: readonly Item[] = text === undefined ? listField(body, 'input').filter(isObject) : [{ role: 'user', content: text }];
  const conversation = stringField(body, 'conversation') ?? stringField(field(body, 'conversation'), 'id');
  if (conversation !== undefined) return new Complaint(404, `Conversation with id '${conversation}' not found.`, { param: 'conversation', code: 'conversation_not_found' });
  const previousId = stringField(body, 'previous_response_id');
  const previous = previousId === undefined ? [] : responses.get(previousId)?.items;
  if (previous === undefined) {
    return invalid(`Previous response with id '${previousId}' not found.`, 'previous_response_id', 'previous_response_not_found');
  }
  const stored = new Map([...responses.values()].flatMap(({ output }) => output.map((item) => [String(item['id']), item] as const)));
  const resolved = given.map((item) => (isReference(item) ? stored.get(String(item['id'])) : item));
  const missing = given[resolved.indexOf(undefined)];
  if (missing !== undefined) {
    return new Complaint(404, `Item with id '${String(missing['id'])}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`, { param: 'input', code: 'item_not_found' });
  }
  return [...previous, ...resolved.filter(isObject)];
}

/** Whether an item only names another, as reasoning does that comes back without its seal (the Agents SDK, AG2). */
function isReference(item: unknown): boolean {
  return field(item, 'type') === 'item_reference' || (field(item, 'type') === 'reasoning' && stringField(item, 'encrypted_content') === undefined);
}

/** Keeps a response: what it was asked, and what it said. */
export function storeResponse({ responses }: Memory, id: string, input: readonly unknown[], output: readonly Item[]): void {
  const items = [...input, ...output].filter(isObject);
  responses.delete(id);
  responses.set(id, { items, output, chars: JSON.stringify(items).length });
  let chars = [...responses.values()].reduce((sum, stored) => sum + stored.chars, 0);
  for (const [oldest, stored] of responses) {
    if (responses.size <= RESPONSES_MAX && chars <= CHARS_MAX) break;
    responses.delete(oldest);
    chars -= stored.chars;
  }
}
