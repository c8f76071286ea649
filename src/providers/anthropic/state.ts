/**
 * What an assistant turn of the Messages API has to carry back beside its text and calls: reasoning with its
 * signatures, and the blocks of tools that the provider itself runs.
 *
 * Such blocks come back whole, unchanged and in their old place, or the provider refuses the request or forgets what
 * it thought. A block travels in the state of the text or call that follows it, and so do the fields of a part's
 * own block that a chat has no name for. A state is admitted only in the shape that is written here.
 * Source: Anthropic Messages API, extended thinking (preserving blocks), content blocks, citations, tool callers.
 */

import type { JsonBudget } from '../../base/json/limits.ts';
import { outFrom } from '../../base/json/merge.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonOut, JsonValue } from '../../base/json/value.ts';
import type { AssistantPart } from '../../core/chat.ts';
import { DAMAGED_STATE, decodeState, encodeState } from '../../core/provider-state.ts';

/** The wire format's name in states. */
export const ANTHROPIC_DIALECT = 'anthropic';

/** The fields of a content block, in the order they came. */
export type BlockFields = ReadonlyMap<string, JsonValue>;

export type PartState = {
  /** Blocks that came before the part's own, in order, as `carriedBlock` writes them. */
  readonly before: readonly RawJson[];
  /** Further fields of the part's own block. */
  readonly own: ReadonlyMap<string, JsonOut>;
};

const NO_OWN: ReadonlyMap<string, JsonOut> = new Map();
const NO_STATE: PartState = { before: [], own: NO_OWN };

/** The provider_state of a part; undefined when nothing has to travel. */
export function encodePartState(
  provider: string,
  before: readonly RawJson[],
  own: ReadonlyMap<string, JsonOut>,
): string | undefined {
  if (before.length === 0 && own.size === 0) return undefined;
  return encodeState(ANTHROPIC_DIALECT, provider, {
    before: before.length === 0 ? undefined : before,
    own: own.size === 0 ? undefined : own,
  });
}

/** What `encodePartState` put in; empty when there is none or another provider made it. Admits nothing else. */
export function decodePartState(provider: string, part: AssistantPart, budget: JsonBudget): PartState | typeof DAMAGED_STATE {
  const content = decodeState(ANTHROPIC_DIALECT, provider, part.state, budget);
  if (content === undefined) return NO_STATE;
  if (content === DAMAGED_STATE) return DAMAGED_STATE;
  let { before, own } = NO_STATE;
  for (const [key, value] of content.entries) {
    if (key === 'before' && value instanceof JsonArray && value.items.every(isCarriedBlock)) {
      before = value.items.map((block) => block.raw);
    } else if (key === 'own' && value instanceof JsonObject && value.duplicateKey === undefined) {
      own = ownFields(part.type, value.entries);
      if (own.size !== value.entries.size) return DAMAGED_STATE;
    } else {
      return DAMAGED_STATE;
    }
  }
  return before.length === 0 && own.size === 0 ? DAMAGED_STATE : { before, own };
}

/** The only fields of blocks that are the provider's word on its own reasoning, all of them strings. */
const REASONING_FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['thinking', ['type', 'thinking', 'signature']],
  ['redacted_thinking', ['type', 'data']],
]);

/** Blocks that are the chat's own, each under its rules, or that only a user sends. */
const CHAT_BLOCKS: ReadonlySet<string> = new Set(['text', 'image', 'document', 'search_result', 'tool_use', 'tool_result']);

/**
 * All other blocks: calls and results of the provider's own tools (`server_tool_use`, `web_search_tool_result`,
 * `mcp_tool_use` …), what else it writes into a turn for itself (`compaction`, `container_upload`, `fallback`), and
 * types that nobody knows yet. What is inside is the provider's to know and changes with every tool, so of these
 * blocks, and of citations, only the outermost level is checked: it decides where they stand and how they are read.
 * Depth and size have the bounds of any JSON here.
 */
function isOpaque(type: string): boolean {
  return /^[a-z][a-z0-9_]{0,63}$/.test(type) && !CHAT_BLOCKS.has(type);
}

/** The text of a reply's block as it is to travel; undefined for a type that does not. */
export function carriedBlock(fields: BlockFields): RawJson | undefined {
  const type = fields.get('type');
  if (typeof type !== 'string') return undefined;
  const known = REASONING_FIELDS.get(type);
  if (known === undefined && !isOpaque(type)) return undefined;
  const kept = new Map<string, JsonOut>();
  for (const key of known ?? fields.keys()) {
    const value = fields.get(key);
    if (value === undefined || (known !== undefined && typeof value !== 'string')) continue;
    kept.set(key, outFrom(value));
  }
  return new RawJson(renderJson(kept));
}

function isCarriedBlock(block: JsonValue): block is JsonObject {
  if (!(block instanceof JsonObject) || block.duplicateKey !== undefined) return false;
  const type = block.entries.get('type');
  if (typeof type !== 'string') return false;
  const known = REASONING_FIELDS.get(type);
  if (known === undefined) return isOpaque(type);
  for (const [key, value] of block.entries) if (!known.includes(key) || typeof value !== 'string') return false;
  return true;
}

/** Fields of a text or call that have no name in a chat and are not the same for every block. */
const OWN_FIELDS: Readonly<Record<AssistantPart['type'], ReadonlyMap<string, (value: JsonValue) => boolean>>> = {
  text: new Map([['citations', isCitationList]]),
  tool_call: new Map([
    ['caller', isIndirectCaller],
    ['toolset_name', (value) => typeof value === 'string'],
  ]),
};

/** Those fields of a block that have to travel with its part. */
export function ownFields(type: AssistantPart['type'], fields: BlockFields): ReadonlyMap<string, JsonOut> {
  let own: Map<string, JsonOut> | undefined;
  for (const [key, value] of fields) {
    if (OWN_FIELDS[type].get(key)?.(value) !== true) continue;
    own ??= new Map();
    own.set(key, outFrom(value));
  }
  return own ?? NO_OWN;
}

function isCitationList(value: JsonValue): boolean {
  return value instanceof JsonArray && value.items.length > 0 && value.items.every((item) => item instanceof JsonObject);
}

/** A call that the model made from inside code that it runs; `direct` is the default. */
function isIndirectCaller(value: JsonValue): boolean {
  return value instanceof JsonObject && value.entries.get('type') !== 'direct';
}
