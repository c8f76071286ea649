/**
 * Answers of the sandbox's Messages API, whole and streamed.
 *
 * Source: Anthropic Messages API, create a message; streaming; extended thinking.
 */

import { renderJson } from '../../base/json/render.ts';
import { RawJson } from '../../base/json/value.ts';
import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import { digest, joined, jsonReply, sign, slicesOf, streamReply } from '../protocol.ts';
import type { Ask, Piece, Reply, Script, Usage } from '../protocol.ts';

/** The type of a block of reasoning that nobody can read, and what stands for its text in the signature. */
export const SEALED = 'redacted_thinking';

/** The script as the answer to a request. */
export function renderReply(ask: Ask, script: Script): Reply {
  return ask.isStream ? streamReply(renderStream(ask, script), requestId(ask.seed)) : renderWhole(ask, script);
}

/** The header that names a request. */
export function requestId(seed: string): Record<string, string> {
  return { 'request-id': `req_01${seed.slice(0, 22)}` };
}

const STOP_REASONS = {
  end: 'end_turn', tool_calls: 'tool_use', max_tokens: 'max_tokens', stop_sequence: 'stop_sequence', refusal: 'refusal', blocked: 'refusal',
} as const satisfies Record<Script['ending'], string>;

/** The content as it is in a whole answer. A call whose arguments were cut is not there. */
function contentOf(ask: Ask, script: Script): JsonOutObject[] {
  const content: JsonOutObject[] = [];
  let before = ask.seed;
  let reasoningCount = 0;
  for (const [index, block] of script.blocks.entries()) {
    if (block.type === 'text') {
      content.push({ type: 'text', text: joined(block) });
    } else if (block.type === 'call') {
      const id = `toolu_01${reasoningCount}${digest(ask.seed + index).slice(0, 21)}`;
      const input = block.isCut ? undefined : new RawJson(block.argumentsText);
      content.push({ type: 'tool_use', id, name: block.name, input, caller: { type: 'direct' } });
    } else {
      const thinking = block.type === 'redacted' || block.isOmitted ? '' : joined(block);
      const signature = sign(block.type === 'redacted' ? SEALED : 'thinking', thinking) + sign('before', before);
      content.push(block.type === 'redacted' ? { type: SEALED, data: signature } : { type: 'thinking', thinking, signature });
      before = digest(before + signature);
      reasoningCount += 1;
    }
  }
  return content;
}

function envelope(ask: Ask, content: JsonOut[], usage: JsonOut | undefined): JsonOutObject {
  const id = `msg_01${ask.seed.slice(0, 22)}`;
  return { model: ask.model, id, type: 'message', role: 'assistant', content, stop_reason: null, stop_sequence: null, usage };
}

function ending({ ending: reason, stopSequence }: Script): JsonOutObject {
  const details = reason === 'refusal' || reason === 'blocked' ? { type: 'refusal', category: 'general_harms', explanation: null } : null;
  return { stop_reason: STOP_REASONS[reason], stop_sequence: stopSequence ?? null, stop_details: details };
}

function renderUsage(ask: Ask, usage: Usage | undefined, outputTokens: number | undefined): JsonOutObject | undefined {
  if (usage === undefined) return undefined;
  const { cacheWriteTokens: written } = usage;
  const [short, long] = ask.isLongCached === true ? [0, written] : [written, 0];
  return { ...renderCounts(usage, outputTokens), cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long }, service_tier: 'standard' };
}

/** What the end of a stream says of it. */
function renderCounts(usage: Usage | undefined, outputTokens: number | undefined): JsonOutObject | undefined {
  return usage && {
    input_tokens: usage.inputTokens - usage.cachedTokens - usage.cacheWriteTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  };
}

function renderWhole(ask: Ask, script: Script): Reply {
  const content = contentOf(ask, script).filter((block) => block['type'] !== 'tool_use' || block['input'] !== undefined);
  const whole = { ...envelope(ask, content, renderUsage(ask, script.usage, script.usage?.outputTokens)), ...ending(script) };
  return jsonReply(200, renderJson(whole), requestId(ask.seed));
}

function event(data: JsonOutObject, isText = false): Piece {
  return { bytes: `event: ${String(data['type'])}\ndata: ${renderJson(data)}\n\n`, isText };
}

const ARGUMENT_CHARS = 12;

function renderStream(ask: Ask, script: Script): Piece[] {
  const pieces = [event({ type: 'message_start', message: envelope(ask, [], renderUsage(ask, script.usage, 1)) }), event({ type: 'ping' })];
  for (const [index, content] of contentOf(ask, script).entries()) {
    const block = script.blocks[index];
    const delta = (fields: JsonOutObject, isText = false): void => {
      pieces.push(event({ type: 'content_block_delta', index, delta: fields }, isText));
    };
    const start = (fields: JsonOutObject): void => void pieces.push(event({ type: 'content_block_start', index, content_block: fields }));
    if (block?.type === 'text') {
      start({ type: 'text', text: '' });
      for (const text of block.pieces) delta({ type: 'text_delta', text }, true);
    } else if (block?.type === 'thinking') {
      start({ type: 'thinking', thinking: '', signature: '' });
      for (const thinking of block.isOmitted ? [] : block.pieces) delta({ type: 'thinking_delta', thinking });
      delta({ type: 'signature_delta', signature: content['signature'] });
    } else if (block?.type === 'call') {
      start({ ...content, input: {} });
      for (const partial of ['', ...slicesOf(block.argumentsText, ARGUMENT_CHARS)]) delta({ type: 'input_json_delta', partial_json: partial });
    } else {
      start(content);
    }
    pieces.push(event({ type: 'content_block_stop', index }));
  }
  pieces.push(event({ type: 'message_delta', delta: ending(script), usage: renderCounts(script.usage, script.usage?.outputTokens) }));
  return [...pieces, event({ type: 'message_stop' })];
}
