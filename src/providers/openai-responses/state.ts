/**
 * What an assistant turn of the Responses API has to carry back beside its text and calls: sealed reasoning, and items
 * that a chat has no name for, such as those of tools that the provider itself runs.
 *
 * Nothing is stored at the provider, so reasoning comes back as its encrypted content, in its old place before what it
 * led to. An item travels in the state of the part that follows it, and so do those fields of the part's own item that
 * a chat has no name for. A state is admitted only in the shape that is written here.
 * Source: OpenAI, Responses API, input items; reasoning models, encrypted reasoning items; programmatic tool calling.
 */

import type { JsonBudget } from '../../base/json/limits.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { field, listField, stringField, textField } from '../../base/loose.ts';
import type { AssistantPart } from '../../core/chat.ts';
import { DAMAGED_STATE, decodeState, encodeState } from '../../core/provider-state.ts';
import { isStoredItem } from '../../core/stored.ts';

/** The wire format's name in states. */
export const RESPONSES_DIALECT = 'openai-responses';

/** The type of a call of a tool that takes plain text. */
export const CUSTOM_CALL = 'custom_tool_call';

/** What a part's own item says that a chat has no name for. */
export type OwnFields = {
  /** A message's `phase` (commentary or answer), which models want back. */
  readonly phase: string | undefined;
  /** The `namespace` of a call's tool, which the API demands. */
  readonly namespace: string | undefined;
  /** The `call_id` of the program that made the call. */
  readonly program: string | undefined;
  /** A call's type, where it is CUSTOM_CALL. */
  readonly type: string | undefined;
};

export type PartState = {
  /** Items that came before the part's own, in order. */
  readonly before: readonly JsonObject[];
  readonly own: OwnFields;
};

const NO_FIELDS: OwnFields = { phase: undefined, namespace: undefined, program: undefined, type: undefined };
const NO_STATE: PartState = { before: [], own: NO_FIELDS };

const FIELDS_OF: Readonly<Record<AssistantPart['type'], readonly string[]>> = { text: ['phase'], tool_call: ['namespace', 'program', 'type'] };

const WORD = /^[\w.:-]{1,128}$/;

/** The provider_state of a part; undefined when nothing has to travel. `before` is ready to go back. */
export function encodePartState(provider: string, before: readonly RawJson[], own: OwnFields): string | undefined {
  if (before.length === 0 && Object.values(own).every((value) => value === undefined)) return undefined;
  return encodeState(RESPONSES_DIALECT, provider, { before: before.length === 0 ? undefined : before, ...own });
}

/** What `encodePartState` put in; empty when there is none or another provider made it. Admits nothing else. */
export function decodePartState(provider: string, part: AssistantPart, budget: JsonBudget): PartState | typeof DAMAGED_STATE {
  const content = decodeState(RESPONSES_DIALECT, provider, part.state, budget);
  if (content === undefined) return NO_STATE;
  if (content === DAMAGED_STATE || content.entries.size === 0) return DAMAGED_STATE;
  let { before, own } = NO_STATE;
  for (const [key, value] of content.entries) {
    if (key === 'before' && value instanceof JsonArray && value.items.length > 0 && value.items.every(isCarriedItem)) {
      before = value.items;
    } else if (FIELDS_OF[part.type].includes(key) && typeof value === 'string' && isOwnValue(key, value)) {
      own = { ...own, [key]: value };
    } else {
      return DAMAGED_STATE;
    }
  }
  return { before, own };
}

function isOwnValue(key: string, value: string): boolean {
  return key === 'type' ? value === CUSTOM_CALL : WORD.test(value);
}

/** The own fields of a reply's item, as far as they can travel; all undefined without an item. */
export function ownFields(type: AssistantPart['type'], item: unknown): OwnFields {
  const word = (value: string | undefined): string | undefined => (value !== undefined && WORD.test(value) ? value : undefined);
  if (type === 'text') return { ...NO_FIELDS, phase: word(stringField(item, 'phase')) };
  return {
    ...NO_FIELDS,
    namespace: word(stringField(item, 'namespace')),
    program: word(stringField(field(item, 'caller'), 'caller_id')),
    type: stringField(item, 'type') === CUSTOM_CALL ? CUSTOM_CALL : undefined,
  };
}

/**
 * A reply's reasoning as it is to go back; undefined without encrypted content, since the API would look for the item
 * among those it stored. Without its id: one with an id is refused unless the item after it has its old id too.
 */
export function carriedReasoning(item: unknown): RawJson | undefined {
  const sealed = textField(item, 'encrypted_content');
  if (sealed === undefined) return undefined;
  const summary = textsIn(item, 'summary').map((text) => ({ type: 'summary_text', text }));
  return new RawJson(renderJson({ type: 'reasoning', summary, encrypted_content: sealed }));
}

/** Whether an item of a reply is a message that the model says on its way to the answer. */
export function isAside(item: unknown): boolean {
  return stringField(item, 'type') === 'message' && stringField(item, 'phase') === 'commentary';
}

/** A reply's message as it is to go back where it is no part of its turn's text; undefined when it says nothing. */
export function carriedAside(item: unknown): RawJson | undefined {
  const content = textsIn(item, 'content').join('');
  if (content === '') return undefined;
  return new RawJson(renderJson({ type: 'message', role: 'assistant', content, phase: ownFields('text', item).phase }));
}

/** The texts of an item: paragraphs of reasoning, in its own words (`content`) or summarised; what a message says. */
export function textsIn(item: unknown, form: 'content' | 'summary'): string[] {
  return listField(item, form).flatMap((part) => textField(part, 'text') ?? []);
}

/** Items that wait for an answer which a chat has no form for. */
const CALLS_FOR_CALLER: ReadonlySet<string> = new Set([
  'apply_patch_call',
  'computer_call',
  'local_shell_call',
  'mcp_approval_request',
]);

/** Items that are a caller's to write, or have a part of their own. All others travel as they are, known or not. */
const NEVER_CARRIED: ReadonlySet<string> = new Set([
  ...CALLS_FOR_CALLER,
  CUSTOM_CALL,
  'apply_patch_call_output',
  'compaction_trigger',
  'computer_call_output',
  'configuration_update',
  'custom_tool_call_output',
  'function_call',
  'function_call_output',
  'item_reference',
  'local_shell_call_output',
  'mcp_approval_response',
  'message',
]);

/** Whether the answer can go on only once the caller has answered this item of a reply in the API's own form. */
export function isForCaller(type: string, item: unknown): boolean {
  if (type === 'shell_call') return stringField(field(item, 'environment'), 'type') !== 'container_reference';
  return CALLS_FOR_CALLER.has(type) || (type === 'tool_search_call' && stringField(item, 'execution') === 'client');
}

/**
 * True for reasoning in exactly the form of `carriedReasoning`, a message in that of `carriedAside`, and for the provider's
 * other items, whose content is its business, unless they have none: what an id alone stands for may be another caller's.
 */
export function isCarriedItem(item: JsonValue | undefined): item is JsonObject {
  if (!(item instanceof JsonObject) || item.duplicateKey !== undefined) return false;
  const type = item.entries.get('type');
  if (type === 'message') return isCarriedAside(item.entries);
  if (type !== 'reasoning') return typeof type === 'string' && type !== '' && !NEVER_CARRIED.has(type) && !isStoredItem(item);
  const { size } = item.entries;
  return size === 3 && isText(item.entries.get('encrypted_content')) && isSummary(item.entries.get('summary'));
}

function isCarriedAside(entries: JsonObject['entries']): boolean {
  const { size } = entries;
  const phase = entries.get('phase');
  if (entries.get('role') !== 'assistant' || !isText(entries.get('content'))) return false;
  return phase === undefined ? size === 3 : size === 4 && typeof phase === 'string' && WORD.test(phase);
}

function isSummary(value: JsonValue | undefined): boolean {
  return value instanceof JsonArray && value.items.every(isSummaryPart);
}

function isSummaryPart(part: JsonValue): boolean {
  if (!(part instanceof JsonObject) || part.duplicateKey !== undefined || part.entries.size !== 2) return false;
  return part.entries.get('type') === 'summary_text' && isText(part.entries.get('text'));
}

function isText(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}
