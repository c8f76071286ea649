/**
 * Answers in the form of Chat Completions (OpenAI, Chat Completions, the chat completion object and its chunks).
 *
 * Every field that any of the common clients needs is always there. What the provider did not report is left out.
 */

import { renderJson } from '../../base/json/render.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { replyText, replyToolCalls } from '../../core/chat.ts';
import type { ChatReply, StopReason, ToolCallPart, Usage } from '../../core/chat.ts';
import type { Delta } from '../../core/delta.ts';
import type { AnswerFacts, StreamFrames } from '../../core/dialect.ts';
import { carryStates } from '../carried-state.ts';
import type { CarriedState } from '../carried-state.ts';
import { errorObject } from '../openai-common/failure.ts';
import { isWordlessRefusal, REFUSAL } from '../openai-common/refusal.ts';
import { renderEvent } from '../relay.ts';

const FINISH_REASONS: Readonly<Record<StopReason, string>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  stop_sequence: 'stop',
  refusal: 'content_filter',
  unknown: 'stop',
};

/** The body of a good answer. */
export function encodeCompletion(reply: ChatReply, facts: AnswerFacts): JsonOutObject {
  const { id, object, created, model } = headOf(facts, 'chat.completion', reply);
  return {
    id,
    object,
    created,
    model,
    choices: [{ index: 0, message: messageFrom(reply), logprobs: null, finish_reason: finishReason(reply) }],
    usage: usageFrom(reply.usage),
  };
}

function headOf({ answerId, createdAtS, request, servedModel }: AnswerFacts, object: string, reply?: ChatReply): JsonOutObject {
  const id = reply?.id?.startsWith('chatcmpl-') === true ? reply.id : `chatcmpl-${answerId}`;
  return { id, object, created: createdAtS, model: reply?.model ?? servedModel ?? request.model };
}

/** A refusal without a word is one that ended in order, as the vendor's own are. */
function finishReason(reply: ChatReply): string {
  return isWordlessRefusal(reply) ? 'stop' : FINISH_REASONS[reply.stopReason];
}

function messageFrom(reply: ChatReply): JsonOutObject {
  const text = replyText(reply);
  const calls = callsFrom(reply);
  const isRefusal = isWordlessRefusal(reply);
  return {
    role: 'assistant',
    content: (text === '' && calls.length > 0) || isRefusal ? null : text,
    refusal: isRefusal ? REFUSAL : null,
    reasoning_content: reply.thinking || undefined,
    tool_calls: calls.length === 0 ? undefined : calls,
    extra_content: calls.length === 0 ? signatureOf(textStates(reply)) : undefined,
  };
}

/** The calls of a turn. The first also carries what belongs to the turn's texts, which have no place for it that clients keep. */
function callsFrom(reply: ChatReply): JsonOutObject[] {
  return replyToolCalls(reply).map((call, index) => callFrom(call, index === 0 ? textStates(reply) : []));
}

function callFrom(call: ToolCallPart, ofTexts: readonly CarriedState[]): JsonOutObject {
  const own: readonly CarriedState[] = call.state === undefined ? [] : [{ owner: 'own', state: call.state }];
  return {
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments.text },
    extra_content: signatureOf([...own, ...ofTexts]),
  };
}

/** In the order of the parts: the texts are one here, and what belongs to one that said nothing is not that one's. */
function textStates(reply: ChatReply): readonly CarriedState[] {
  const states: CarriedState[] = [];
  for (const part of reply.parts) {
    if (part.type === 'text' && part.state !== undefined) states.push({ owner: part.text === '' ? 'empty' : 'text', state: part.state });
  }
  return states;
}

/** The one place for something opaque that several clients bring back: Google's, on its own endpoint of this format. */
function signatureOf(states: readonly CarriedState[]): JsonOutObject | undefined {
  return states.length === 0 ? undefined : { google: { thought_signature: carryStates(states) } };
}

function usageFrom(usage: Usage | undefined): JsonOutObject | undefined {
  if (usage === undefined) return undefined;
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens, cache_write_tokens: usage.cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

const DONE = 'data: [DONE]\n\n';

const NO_CHOICES = /"choices": ?\[\]/;
const USAGE = /"usage": ?\{/;

/**
 * The members cannot stand so in a text: its quotes are escaped. Hosts write JSON with a space behind a colon or without.
 * A token has no empty list as a rule, and two characters are found, or missed, twenty times as fast as a name: 0.1 µs.
 */
// hot: per token
function isUsageChunk(data: string): boolean {
  return data.includes('[]') && NO_CHOICES.test(data) && USAGE.test(data);
}

/** One stream of chunks. Calls are sent when all of the turn is known, because the first carries what belongs to the texts. */
export class CompletionChunks implements StreamFrames {
  /** Every chunk up to its choices, so that a token is one concatenation. */
  readonly #head: string;
  /** Every chunk from behind its choices on. */
  readonly #tail: string;
  readonly #includesUsage: boolean;
  #isBegun = false;
  #isRelayed = false;

  constructor(facts: AnswerFacts) {
    this.#head = `data: ${renderJson(headOf(facts, 'chat.completion.chunk')).slice(0, -1)},"choices":[`;
    this.#tail = facts.request.wantsUsage ? '],"usage":null}\n\n' : ']}\n\n';
    this.#includesUsage = facts.request.wantsUsage;
  }

  // hot: per token
  relay(event: string, data: string): string {
    this.#isRelayed = true;
    // The chunk that the gateway alone asked for.
    if (!this.#includesUsage && isUsageChunk(data)) return '';
    return renderEvent(event, data);
  }

  // hot: per token
  render(delta: Delta): string {
    switch (delta.type) {
      case 'text':
        return this.#begin() + this.#delta(`{"content":${JSON.stringify(delta.text)}}`);
      case 'thinking':
        return this.#begin() + this.#delta(`{"reasoning_content":${JSON.stringify(delta.text)}}`);
      case 'tool_call':
        return this.#begin();
      case 'done':
        // Of a relayed stream the provider has said everything else, its reason to finish included.
        return this.#isRelayed ? DONE : this.#begin() + this.#end(delta.reply);
      case 'failed':
        return `data: ${renderJson({ error: errorObject(delta.failure) })}\n\n`;
    }
  }

  #begin(): string {
    if (this.#isBegun) return '';
    this.#isBegun = true;
    return this.#delta('{"role":"assistant","content":""}');
  }

  #delta(delta: string, finishReason = 'null'): string {
    return `${this.#head}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finishReason}}${this.#tail}`;
  }

  #end(reply: ChatReply): string {
    let text = '';
    for (const [index, call] of callsFrom(reply).entries()) text += this.#delta(renderJson({ tool_calls: [{ index, ...call }] }));
    const extra = replyToolCalls(reply).length === 0 ? signatureOf(textStates(reply)) : undefined;
    if (extra !== undefined) text += this.#delta(renderJson({ extra_content: extra }));
    if (isWordlessRefusal(reply)) text += this.#delta(renderJson({ refusal: REFUSAL }));
    text += this.#delta('{}', JSON.stringify(finishReason(reply)));
    const usage = this.#includesUsage ? usageFrom(reply.usage) : undefined;
    if (usage !== undefined) text += `${this.#head}],"usage":${renderJson(usage)}}\n\n`;
    return text + DONE;
  }
}
