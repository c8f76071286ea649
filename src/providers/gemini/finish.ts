/**
 * Why Gemini ended a reply or blocked a prompt.
 *
 * Source: Gemini API, Candidate.FinishReason and PromptFeedback.BlockReason.
 */

import type { StopReason } from '../../core/chat.ts';

/**
 * In the order of their numbers in google.ai.generativelanguage.v1beta, which come instead of names with
 * enum-encoding=int. (Vertex AI numbers its own list: the same up to 5, refusals at 7 and 8 in both.)
 */
const FINISH_REASONS = [
  'FINISH_REASON_UNSPECIFIED', 'STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'OTHER', 'LANGUAGE', 'BLOCKLIST',
  'PROHIBITED_CONTENT', 'SPII', 'MALFORMED_FUNCTION_CALL', 'IMAGE_SAFETY', 'UNEXPECTED_TOOL_CALL',
] as const;

const BLOCK_REASONS = ['BLOCK_REASON_UNSPECIFIED', 'SAFETY', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'IMAGE_SAFETY'] as const;

/** Why a candidate ended, by name; undefined when it does not say, which `…_UNSPECIFIED` means too. */
export function finishReasonFrom(value: unknown): string | undefined {
  return reasonFrom(value, FINISH_REASONS);
}

/** Why a prompt was blocked, by name; undefined when it was not, which `…_UNSPECIFIED` means too. */
export function blockReasonFrom(value: unknown): string | undefined {
  return reasonFrom(value, BLOCK_REASONS);
}

function reasonFrom(value: unknown, names: readonly string[]): string | undefined {
  const name = typeof value === 'number' ? (names[value] ?? `${value}`) : value;
  return typeof name === 'string' && name !== '' && name !== names[0] ? name : undefined;
}

const STOP_REASONS: ReadonlyMap<string, StopReason> = new Map([
  // Also after a stop sequence: the API does not tell them apart.
  ['STOP', 'end_turn'],
  ['MAX_TOKENS', 'max_tokens'],
  // One request's share of a longer answer is used up.
  ['CONTINUATION', 'max_tokens'],
  ['SAFETY', 'refusal'],
  ['RECITATION', 'refusal'],
  ['BLOCKLIST', 'refusal'],
  ['PROHIBITED_CONTENT', 'refusal'],
  ['SPII', 'refusal'],
  ['MODEL_ARMOR', 'refusal'],
  ['IMAGE_SAFETY', 'refusal'],
  ['IMAGE_PROHIBITED_CONTENT', 'refusal'],
  ['IMAGE_RECITATION', 'refusal'],
]);

/** The neutral stop reason; `unknown` for one that has no mapping or is missing. Tool calls are the reply's matter. */
export function stopReasonFrom(finishReason: string | undefined): StopReason {
  return STOP_REASONS.get(finishReason ?? '') ?? 'unknown';
}
