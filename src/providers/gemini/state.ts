/**
 * What a Gemini turn has to carry back beside its text and calls: thought signatures, and parts that
 * have no place in a chat (executed code, generated images, server-side tools, signed thoughts).
 *
 * A signature belongs to the exact part it came on, so it travels in that part's provider_state;
 * the other parts travel, verbatim, in the state of the part they came before.
 * Source: Gemini API, thought signatures; Content and Part.
 */

import type { JsonBudget } from '../../base/json/limits.ts';
import { JsonArray, JsonObject } from '../../base/json/value.ts';
import type { JsonValue, RawJson } from '../../base/json/value.ts';
import { DAMAGED_STATE, decodeState, encodeState } from '../../core/provider-state.ts';

const DIALECT = 'gemini';

export type PartState = {
  /** The part's own `thoughtSignature`. */
  readonly signature: string | undefined;
  /** Parts that came before it, in order, as they were written. */
  readonly before: readonly RawJson[];
};

/** The state of a part that carries none of this provider's. */
export const NO_STATE: PartState = { signature: undefined, before: [] };

/** The provider_state of a part; undefined when nothing has to travel. */
export function encodePartState(provider: string, state: PartState): string | undefined {
  if (state.signature === undefined && state.before.length === 0) return undefined;
  const before = state.before.length === 0 ? undefined : state.before;
  return encodeState(DIALECT, provider, { signature: state.signature, before });
}

/** What `encodePartState` put in; NO_STATE when there is none or another provider made it. Admits nothing else. */
export function decodePartState(
  provider: string,
  state: string | undefined,
  budget: JsonBudget,
): PartState | typeof DAMAGED_STATE {
  const content = decodeState(DIALECT, provider, state, budget);
  if (content === DAMAGED_STATE) return DAMAGED_STATE;
  if (content === undefined) return NO_STATE;
  let signature: string | undefined;
  let before: readonly RawJson[] = [];
  for (const [key, value] of content.entries) {
    if (key === 'signature' && typeof value === 'string' && value !== '') signature = value;
    else if (key === 'before' && value instanceof JsonArray && value.items.every(isCarriedPart)) {
      before = value.items.map((part) => part.raw);
    } else return DAMAGED_STATE;
  }
  return signature === undefined && before.length === 0 ? DAMAGED_STATE : { signature, before };
}

/**
 * Kinds of part with no place in a chat. Not function calls and responses: those are subject to the tool rules. Nor
 * `fileData`, which no model writes: in a state that a caller made up it names any object of the account's buckets.
 */
const CARRIED_KINDS = ['executableCode', 'codeExecutionResult', 'inlineData', 'toolCall', 'toolResponse'];
const CARRIED_METADATA = ['videoMetadata', 'mediaResolution', 'partMetadata'];

/** True for a part that may travel in `before`: one known kind, or a thought, and nothing unknown beside it. */
export function isCarriedPart(part: JsonValue | undefined): part is JsonObject {
  if (!(part instanceof JsonObject) || part.duplicateKey !== undefined) return false;
  const isThought = part.entries.get('thought') === true;
  let kinds = 0;
  for (const [key, value] of part.entries) {
    if (CARRIED_KINDS.includes(key) && value instanceof JsonObject) kinds += 1;
    else if (key === 'text' && typeof value === 'string' && isThought) kinds += 1;
    else if (key === 'thought' && typeof value === 'boolean') continue;
    else if (key === 'thoughtSignature' && typeof value === 'string') continue;
    else if (CARRIED_METADATA.includes(key) && value instanceof JsonObject) continue;
    else return false;
  }
  return kinds === 1 || (kinds === 0 && isThought);
}
