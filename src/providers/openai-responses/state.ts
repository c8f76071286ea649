/**
 * What an assistant turn of the Responses API has to carry back beside its text and calls: sealed reasoning, and the
 * items of tools that OpenAI itself runs.
 *
 * Nothing is stored at OpenAI, so reasoning comes back as its encrypted content, in its old place before what it led
 * to. An item travels in the state of the part that follows it, and so does the one field of the part's own item that
 * a chat has no name for. A state is admitted only in the shape that is written here.
 * Source: OpenAI, Responses API, input items; reasoning models, encrypted reasoning items.
 */

import type { JsonBudget } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { listField, stringField, textField } from '../../base/loose.ts';
import type { AssistantPart } from '../../core/chat.ts';
import { DAMAGED_STATE, decodeState, encodeState } from '../../core/provider-state.ts';

/** The wire format's name in states. */
export const RESPONSES_DIALECT = 'openai-responses';

export type PartState = {
  /** Items that came before the part's own, in order, ready to go back. */
  readonly before: readonly RawJson[];
  /** The field of the part's own item that OWN_FIELDS names. */
  readonly own: string | undefined;
};

const NO_STATE: PartState = { before: [], own: undefined };

/** A message's `phase` (commentary or answer), which models want back; the `namespace` of a call's tool, which the API demands. */
export const OWN_FIELDS: Readonly<Record<AssistantPart['type'], string>> = { text: 'phase', tool_call: 'namespace' };

const OWN_VALUE = /^[\w.-]{1,128}$/;

/** The provider_state of a part; undefined when nothing has to travel. */
export function encodePartState(provider: string, type: AssistantPart['type'], { before, own }: PartState): string | undefined {
  if (before.length === 0 && own === undefined) return undefined;
  return encodeState(RESPONSES_DIALECT, provider, {
    before: before.length === 0 ? undefined : before,
    [OWN_FIELDS[type]]: own,
  });
}

/** What `encodePartState` put in; empty when there is none or another provider made it. Admits nothing else. */
export function decodePartState(provider: string, part: AssistantPart, budget: JsonBudget): PartState | typeof DAMAGED_STATE {
  if (part.state === undefined) return NO_STATE;
  const content = decodeState(RESPONSES_DIALECT, provider, part.state, budget);
  if (content === undefined) return NO_STATE;
  if (content === DAMAGED_STATE || content.entries.size === 0) return DAMAGED_STATE;
  let { before, own } = NO_STATE;
  for (const [key, value] of content.entries) {
    if (key === 'before' && value instanceof JsonArray && value.items.length > 0 && value.items.every(isCarriedItem)) {
      before = value.items.map((item) => item.raw);
    } else if (key === OWN_FIELDS[part.type] && typeof value === 'string' && OWN_VALUE.test(value)) {
      own = value;
    } else {
      return DAMAGED_STATE;
    }
  }
  return { before, own };
}

/** The own field of a reply's item, if it has one that can travel. */
export function ownField(type: AssistantPart['type'], item: unknown): string | undefined {
  const value = stringField(item, OWN_FIELDS[type]);
  return value !== undefined && OWN_VALUE.test(value) ? value : undefined;
}

/**
 * A reply's reasoning as it is to go back; undefined without encrypted content, since the API would look for the item
 * among those it stored. Without its id: one with an id is refused unless the item after it has its old id too.
 */
export function carriedReasoning(item: unknown): RawJson | undefined {
  const sealed = textField(item, 'encrypted_content');
  if (sealed === undefined) return undefined;
  const summary = summaryTexts(item).map((text) => ({ type: 'summary_text', text }));
  return new RawJson(renderJson({ type: 'reasoning', summary, encrypted_content: sealed }));
}

/** The paragraphs in which a reasoning item is disclosed. */
export function summaryTexts(item: unknown): string[] {
  return listField(item, 'summary').map((part) => textField(part, 'text') ?? '').filter((text) => text !== '');
}

/** Items of tools that OpenAI runs, and what else it writes into a turn for itself. Calls that wait for the caller are not among them. */
const SERVER_ITEMS: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
  'mcp_call',
  'tool_search_call',
  'tool_search_output',
  'compaction',
]);

export function isServerItem(type: string): boolean {
  return SERVER_ITEMS.has(type);
}

/** True for reasoning in exactly the form of `carriedReasoning`, and for server items, whose content is OpenAI's business. */
export function isCarriedItem(item: JsonValue | undefined): item is JsonObject {
  if (!(item instanceof JsonObject) || item.duplicateKey !== undefined) return false;
  const type = item.entries.get('type');
  if (type !== 'reasoning') return typeof type === 'string' && isServerItem(type);
  const { size } = item.entries;
  return size === 3 && isText(item.entries.get('encrypted_content')) && isSummary(item.entries.get('summary'));
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
