/**
 * Answers in the form of the Messages API: a whole one, and what whole and streamed ones have in common.
 *
 * Every field that any of the common clients needs is always there. What a provider wants back rides in blocks of
 * reasoning, which all of them bring back in their places: in the signature of disclosed reasoning, else in a redacted block.
 * Source: Anthropic, Messages API, create a message; extended thinking.
 */

import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import { isSilent } from '../../core/chat.ts';
import type { ChatReply, StopReason, ToolCallPart, Usage } from '../../core/chat.ts';
import type { AnswerFacts } from '../../core/dialect.ts';
import { carryStates } from '../carried-state.ts';
import type { CarriedState } from '../carried-state.ts';
import { shownCallId } from './call-id.ts';
import { withOwnToolNames } from './tool-name.ts';

/** The body of a good answer. */
// hot: per request
export function encodeMessage(reply: ChatReply, facts: AnswerFacts): JsonOutObject {
  return messageFrom(facts, reply.id, contentFrom(withOwnToolNames(reply, facts)), stopReasonOf(reply), reply.usage);
}

/**
 * A message, also one that is only beginning. The model is what the caller asked for: its most used client drops the
 * reasoning of an answer that names another.
 */
export function messageFrom(
  { answerId, request }: AnswerFacts,
  id: string | undefined,
  content: readonly JsonOutObject[],
  stopReason: string | null,
  usage: Usage | undefined,
): JsonOutObject {
  return {
    id: id?.startsWith('msg_') === true ? id : `msg_${answerId}`,
    type: 'message',
    role: 'assistant',
    model: request.model,
    content,
    stop_reason: stopReason,
    stop_sequence: NO_STOP_SEQUENCE,
    usage: usageFrom(usage),
  };
}

const STOP_REASONS: Readonly<Record<StopReason, string>> = {
  end_turn: 'end_turn',
  max_tokens: 'max_tokens',
  tool_use: 'tool_use',
  stop_sequence: 'stop_sequence',
  refusal: 'refusal',
  unknown: 'end_turn',
};

export function stopReasonOf(reply: ChatReply): string {
  return STOP_REASONS[reply.stopReason];
}

/** No provider is asked which of the sequences stopped it. */
export const NO_STOP_SEQUENCE = null;

/**
 * Input without what a cache served or stored, as this format counts: the three are all input, also where a host reports more
 * cached than there was, or tokens both as read and as written. Clients read the two sums as numbers or raise, so a usage
 * that was not reported is 0, which no real one is.
 */
export function usageFrom(usage: Usage | undefined): JsonOutObject {
  if (usage === undefined) return { input_tokens: 0, output_tokens: 0 };
  const { inputTokens, reasoningTokens } = usage;
  const read = Math.min(usage.cacheReadTokens, inputTokens);
  const written = Math.min(usage.cacheWriteTokens, inputTokens - read);
  return {
    input_tokens: inputTokens - read - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage.outputTokens,
    output_tokens_details: reasoningTokens === 0 ? undefined : { thinking_tokens: reasoningTokens },
  };
}

/** The turn's blocks, each behind the reasoning that carries its state. Disclosed reasoning is one text and comes first. */
function contentFrom(reply: ChatReply): readonly JsonOutObject[] {
  const content: JsonOutObject[] = [];
  let { thinking } = reply;
  let states: CarriedState[] = [];
  const addReasoning = (): void => {
    const block = reasoningBlock(thinking, states);
    if (block !== undefined) content.push(block);
    thinking = '';
    states = [];
  };
  for (const part of reply.parts) {
    if (part.state !== undefined) states.push({ owner: isSilent(part) ? 'empty' : part.type === 'text' ? 'own' : 'call', state: part.state });
    // This format does not take it back.
    if (isSilent(part)) continue;
    addReasoning();
    content.push(part.type === 'text' ? { type: 'text', text: part.text } : callBlock(part, part.arguments));
  }
  addReasoning();
  return content;
}

export function callBlock(call: ToolCallPart, input: JsonOut): JsonOutObject {
  return { type: 'tool_use', id: shownCallId(call.id), name: call.name, input };
}

/** The block for disclosed reasoning and for the states of what follows it; undefined where there is neither. */
export function reasoningBlock(thinking: string, states: readonly CarriedState[]): JsonOutObject | undefined {
  if (thinking !== '') return { type: 'thinking', thinking, signature: carryStates(states) };
  return states.length === 0 ? undefined : { type: 'redacted_thinking', data: carryStates(states) };
}
