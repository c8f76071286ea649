/**
 * What hosts of the Chat Completions format want back on a later turn, to and from `provider_state`.
 *
 * Three things travel, each only for hosts that ask for it: reasoning text, `reasoning_details`, and a
 * call's thought signature. The first two concern the turn and are carried by its first part. A state
 * is admitted only in the shape that is written here; plain OpenAI admits none.
 */

import type { JsonBudget } from '../../base/json/limits.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import type { AssistantTurn } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { DAMAGED_STATE, damagedState, decodeState, encodeState } from '../../core/provider-state.ts';
import type { HostProfile } from './profile.ts';

/** The wire format's name in states. */
export const OPENAI_DIALECT = 'openai-chat';

/** What belongs to a whole assistant turn. */
export type TurnState = {
  readonly reasoningContent: string | undefined;
  /** The text of a JSON array. */
  readonly reasoningDetails: RawJson | undefined;
};

/** A state for one part; undefined when there is nothing to carry. */
export function partState(provider: string, turn: TurnState, thoughtSignature: string | undefined): string | undefined {
  if (turn.reasoningContent === undefined && turn.reasoningDetails === undefined && thoughtSignature === undefined) {
    return undefined;
  }
  return encodeState(OPENAI_DIALECT, provider, {
    reasoning_content: turn.reasoningContent,
    reasoning_details: turn.reasoningDetails,
    thought_signature: thoughtSignature,
  });
}

/** The state for the parts of a turn after its first. */
export const NO_TURN_STATE: TurnState = { reasoningContent: undefined, reasoningDetails: undefined };

/** What an assistant turn's parts carry: the turn's own, and the signature of each call by part index. */
export type CarriedState = TurnState & { readonly signatures: ReadonlyMap<number, string> };

/** Reads the states of a turn; those of other providers are ignored. Failure: bad_request, naming the part. */
export function carriedState(
  provider: string,
  profile: HostProfile,
  turn: AssistantTurn,
  turnIndex: number,
  budget: JsonBudget,
): CarriedState | Failure {
  let reasoningContent: string | undefined;
  let reasoningDetails: RawJson | undefined;
  const signatures = new Map<number, string>();
  for (const [partIndex, part] of turn.parts.entries()) {
    const content = decodeState(OPENAI_DIALECT, provider, part.state, budget);
    if (content === undefined) continue;
    if (content === DAMAGED_STATE) return damagedState(turnIndex, partIndex);
    for (const [key, value] of content.entries) {
      if (key === 'reasoning_content' && typeof value === 'string' && profile.reasoningContent !== 'dropped') {
        reasoningContent ??= value;
      } else if (key === 'reasoning_details' && isDetailList(value) && profile.returnsReasoningDetails) {
        reasoningDetails ??= value.raw;
      } else if (
        key === 'thought_signature' && typeof value === 'string' && part.type === 'tool_call' && profile.returnsThoughtSignature
      ) {
        signatures.set(partIndex, value);
      } else {
        return damagedState(turnIndex, partIndex);
      }
    }
  }
  return { reasoningContent, reasoningDetails, signatures };
}

/** What is in the objects is the host's business: it only ever goes back into this one field. */
function isDetailList(value: JsonValue): value is JsonArray {
  return value instanceof JsonArray && value.items.every((item) => item instanceof JsonObject);
}
