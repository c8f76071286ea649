/**
 * Answers as the text that goes to the caller: a whole reply, one frame of a stream, a failure.
 *
 * Knows no vendor and no socket. A reply's `message` has the shape that a request takes, so that a caller appends
 * it unread.
 */

import { renderJson } from '../../base/json/render.ts';
import { RawJson } from '../../base/json/value.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { replyText, replyToolCalls, unreachable } from '../../core/chat.ts';
import type { AssistantPart, ChatReply, ToolCallPart, Usage } from '../../core/chat.ts';
import type { Delta } from '../../core/delta.ts';
import type { Failure } from '../../core/failure.ts';

/**
 * The body of a good answer. What the provider did not report is left out, not guessed. `raw` is the text of the
 * provider's own body, which must be valid JSON and is spliced in untouched; undefined = not shown.
 */
// hot: per request
export function encodeChatReply(provider: string, reply: ChatReply, raw: string | undefined): JsonOutObject {
  const calls = replyToolCalls(reply);
  return {
    id: reply.id,
    provider,
    model: reply.model,
    text: replyText(reply),
    message: messageFrom(reply),
    stop_reason: reply.stopReason,
    tool_calls: calls.length === 0 ? undefined : calls.map(callFrom),
    usage: usageFrom(reply.usage),
    thinking: reply.thinking || undefined,
    raw: raw === undefined ? undefined : new RawJson(raw),
  };
}

/** One delta as a whole server-sent event, blank line included. */
// hot: per token
export function renderDeltaFrame(provider: string, delta: Delta): string {
  switch (delta.type) {
    case 'text':
      return `data: {"type":"text_delta","text":${JSON.stringify(delta.text)}}\n\n`;
    case 'thinking':
      return `data: {"type":"thinking_delta","text":${JSON.stringify(delta.text)}}\n\n`;
    case 'tool_call':
      return renderFrame({ type: 'tool_call', tool_call: callFrom(delta.call) });
    case 'done':
      return renderFrame(doneFrom(provider, delta.reply));
    case 'failed':
      return renderFrame({ type: 'error', ...failureFrom(delta.failure) });
    default:
      return unreachable(delta);
  }
}

/** The body of a failed answer: the failure's kind and the gateway's own sentence, nothing that a provider wrote. */
export function renderFailureBody(failure: Failure): string {
  return renderJson(failureFrom(failure));
}

/** Raw arguments may span lines, which would cut the frame. In JSON a bare line end only ever stands between tokens. */
function renderFrame(event: JsonOutObject): string {
  return `data: ${renderJson(event).replace(/[\r\n]/g, ' ')}\n\n`;
}

function doneFrom(provider: string, reply: ChatReply): JsonOutObject {
  return {
    type: 'done',
    id: reply.id,
    provider,
    model: reply.model,
    stop_reason: reply.stopReason,
    message: messageFrom(reply),
    usage: usageFrom(reply.usage),
  };
}

/** The turn as a request takes it, so without parts that say nothing, which a request may not have. */
function messageFrom(reply: ChatReply): { readonly role: 'assistant'; readonly content: readonly JsonOutObject[] } {
  const parts = reply.parts.filter((part) => part.type !== 'text' || part.text !== '' || part.state !== undefined);
  return { role: 'assistant', content: parts.map(partFrom) };
}

function partFrom(part: AssistantPart): JsonOutObject {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, provider_state: part.state };
    case 'tool_call':
      return { type: 'tool_call', ...callFrom(part) };
    default:
      return unreachable(part);
  }
}

function callFrom(call: ToolCallPart): JsonOutObject {
  return { id: call.id, name: call.name, arguments: call.arguments, provider_state: call.state };
}

/** The break-downs are left out at zero, where none cannot be told from not reported. */
function usageFrom(usage: Usage | undefined): JsonOutObject | undefined {
  if (usage === undefined) return undefined;
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens || undefined,
    cache_write_tokens: usage.cacheWriteTokens || undefined,
    reasoning_tokens: usage.reasoningTokens || undefined,
  };
}

function failureFrom(failure: Failure): JsonOutObject {
  return { kind: failure.kind, error: failure.message };
}
