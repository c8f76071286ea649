/**
 * Answers of the sandbox's Chat Completions API, whole and streamed.
 *
 * Source: OpenAI, Chat Completions, streaming; DeepSeek API, thinking mode.
 */

import { renderJson } from '../../base/json/render.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { digest, joined, jsonReply, slicesOf, streamReply } from '../protocol.ts';
import type { Ask, Piece, Reply, Script, Usage } from '../protocol.ts';
import { reasoningMark } from './request.ts';
import type { Dialect } from './request.ts';

/** When everything here was made, in seconds since 1970. */
export const CREATED_S = 1_767_225_600;

/** The script as the answer to a request. A blocked prompt has none. */
export function renderReply(ask: Ask, script: Script, dialect: Dialect): Reply {
  return ask.isStream ? streamReply(renderStream(ask, script, dialect), requestId(ask.seed)) : renderWhole(ask, script, dialect);
}

/** OpenAI's refusals are a text of their own; elsewhere, and where there are no words, a filter ended the answer. */
function isSpokenRefusal(script: Script, dialect: Dialect): boolean {
  return script.ending === 'refusal' && script.blocks.length > 0 && !dialect.isCompatible;
}

const FINISH_REASONS = {
  end: 'stop', tool_calls: 'tool_calls', max_tokens: 'length', stop_sequence: 'stop', refusal: 'content_filter', blocked: 'content_filter',
} as const satisfies Record<Script['ending'], string>;

function finishReason(script: Script, dialect: Dialect): string {
  return isSpokenRefusal(script, dialect) ? 'stop' : FINISH_REASONS[script.ending];
}

/** Only the compatible host shows its reasoning and wants it back. */
function hasThought(script: Script, dialect: Dialect): boolean {
  return dialect.isCompatible && script.blocks.some((block) => block.type === 'thinking');
}

function callId(ask: Ask, script: Script, index: number, dialect: Dialect): string {
  const origin = hasThought(script, dialect) ? `t${reasoningMark(textOfType(script, 'thinking'))}` : 'p';
  return `call_${origin}${digest(ask.seed + index).slice(0, 16)}`;
}

function textOfType(script: Script, type: 'text' | 'thinking'): string {
  return script.blocks.map((block) => (block.type === type ? joined(block) : '')).join('');
}

function renderWhole(ask: Ask, script: Script, dialect: Dialect): Reply {
  const calls = script.blocks.flatMap((block, index) => (block.type !== 'call' ? [] : [
    { id: callId(ask, script, index, dialect), type: 'function', function: { name: block.name, arguments: block.argumentsText } },
  ]));
  const text = textOfType(script, 'text');
  const isRefused = isSpokenRefusal(script, dialect);
  const hasContent = text !== '' || (calls.length === 0 && script.ending !== 'refusal');
  const message: JsonOutObject = {
    role: 'assistant',
    content: hasContent && !isRefused ? text : null,
    refusal: isRefused ? text : null,
    reasoning_content: hasThought(script, dialect) ? textOfType(script, 'thinking') : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  };
  const choices = indexesOf(ask).map((index) => ({ index, message, logprobs: null, finish_reason: finishReason(script, dialect) }));
  const whole = { ...envelope(ask, 'chat.completion'), choices, usage: renderUsage(ask, script.usage, dialect) };
  return jsonReply(200, renderJson(whole), requestId(ask.seed));
}

function indexesOf({ choiceCount = 1 }: Ask): number[] {
  return Array.from({ length: choiceCount }, (_, index) => index);
}

function envelope(ask: Ask, kind: string): JsonOutObject {
  return { id: `chatcmpl-${ask.seed.slice(0, 29)}`, object: kind, created: CREATED_S, model: ask.model, system_fingerprint: 'fp_sandbox' };
}

function renderUsage({ choiceCount = 1 }: Ask, usage: Usage | undefined, dialect: Dialect): JsonOutObject | undefined {
  if (usage === undefined) return undefined;
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens * choiceCount,
    total_tokens: usage.inputTokens + usage.outputTokens * choiceCount,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: dialect.isCompatible ? undefined : usage.cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens * choiceCount },
    prompt_cache_hit_tokens: dialect.isCompatible ? usage.cachedTokens : undefined,
    prompt_cache_miss_tokens: dialect.isCompatible ? usage.inputTokens - usage.cachedTokens : undefined,
  };
}

const ARGUMENT_CHARS = 12;

function renderStream(ask: Ask, script: Script, dialect: Dialect): Piece[] {
  const base = envelope(ask, 'chat.completion.chunk');
  const usage = ask.isUsageStreamed ? renderUsage(ask, script.usage, dialect) : undefined;
  const piece = (fields: JsonOutObject, isText = false): Piece => ({ bytes: `data: ${renderJson({ ...base, ...fields })}\n\n`, isText });
  const pieces: Piece[] = [];
  for (const index of indexesOf(ask)) {
    const choices = (delta: JsonOutObject, reason: string | null): JsonOutObject[] => [{ index, delta, logprobs: null, finish_reason: reason }];
    for (const { delta, isText } of deltasOf(ask, script, dialect)) pieces.push(piece({ choices: choices(delta, null), usage: null }, isText));
    // The compatible host sends usage with the last choice, OpenAI after it.
    pieces.push(piece({ choices: choices({}, finishReason(script, dialect)), usage: dialect.isCompatible ? usage : null }));
  }
  if (usage !== undefined && !dialect.isCompatible) pieces.push(piece({ choices: [], usage }));
  return [...pieces, { bytes: DONE, isText: false }];
}

/** What one choice of a stream brings, piece by piece. */
function deltasOf(ask: Ask, script: Script, dialect: Dialect): readonly { readonly delta: JsonOutObject; readonly isText: boolean }[] {
  const isThinking = hasThought(script, dialect);
  const textField = isSpokenRefusal(script, dialect) ? 'refusal' : 'content';
  const deltas: { readonly delta: JsonOutObject; readonly isText: boolean }[] = [];
  const add = (delta: JsonOutObject, isText = false): void => void deltas.push({ delta, isText });
  add(isThinking ? { role: 'assistant', content: null, reasoning_content: '' } : { role: 'assistant', content: '', refusal: null });
  let callIndex = 0;
  for (const [index, block] of script.blocks.entries()) {
    if (block.type === 'text') {
      for (const text of block.pieces) add({ [textField]: text }, true);
    } else if (block.type === 'thinking' && isThinking) {
      for (const text of block.pieces) add({ content: null, reasoning_content: text });
    } else if (block.type === 'call') {
      add({ tool_calls: [{ index: callIndex, id: callId(ask, script, index, dialect), type: 'function', function: { name: block.name, arguments: '' } }] });
      for (const text of slicesOf(block.argumentsText, ARGUMENT_CHARS)) add({ tool_calls: [{ index: callIndex, function: { arguments: text } }] });
      callIndex += 1;
    }
  }
  return deltas;
}

/** The line that ends a stream. */
export const DONE = 'data: [DONE]\n\n';

/** The header that names a request. */
export function requestId(seed: string): Record<string, string> {
  return { 'x-request-id': `req_${seed.slice(0, 32)}` };
}
