/**
 * Answers of the sandbox's Responses API, whole and streamed.
 *
 * Every thought is an item of its own, sealed when that is asked for. An id of a call tells how many of them came before
 * it in its turn.
 * Source: OpenAI, Responses API, the response object, streaming events.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { renderJson } from '../../base/json/render.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { isObject, stringField } from '../../base/loose.ts';
import { CREATED_S, requestId } from '../openai-chat/reply.ts';
import { digest, joined, jsonReply, sign, slicesOf, streamReply } from '../protocol.ts';
import type { Ask, Block, Piece, Reply, Script, Usage } from '../protocol.ts';

/** The script as the answer to a request. A blocked prompt has none. */
export function renderResponse(ask: Ask, script: Script): Reply {
  if (ask.isStream) return streamReply(renderStream(ask, script), requestId(ask.seed));
  return jsonReply(200, renderJson(endedResponse(ask, script)), requestId(ask.seed));
}

const SEED_CHARS = 16;

/** What stands for a thought that nobody can read. */
function sealed(seed: string): string {
  const nonce = seed.slice(0, SEED_CHARS);
  return nonce + sign('reasoning', nonce);
}

/** Whether a sealed thought is one of those above. */
export function isSealed(content: string): boolean {
  return content === sealed(content);
}

/** The schema that stands for a custom tool's plain text, which is then called with that text alone. */
export const CUSTOM_INPUT = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };

function isCustom(ask: Ask, name: string): boolean {
  return ask.tools.some((tool) => tool.name === name && tool.schema === CUSTOM_INPUT);
}

type Item = JsonOutObject & { readonly id: string };

function itemsOf(ask: Ask, script: Script): Item[] {
  const hasCalls = script.blocks.some((block) => block.type === 'call');
  let thoughtCount = 0;
  return script.blocks.map((block, index) => {
    const seed = digest(ask.seed + index);
    if (block.type === 'thinking' || block.type === 'redacted') {
      thoughtCount += 1;
      const summary = summaryOf(block).map((text) => ({ type: 'summary_text', text }));
      return { id: `rs_${seed}`, type: 'reasoning', encrypted_content: ask.isSealed === true ? sealed(seed) : null, summary };
    }
    const isCut = script.ending === 'max_tokens' && index === script.blocks.length - 1;
    const status = isCut ? 'incomplete' : 'completed';
    if (block.type === 'call') {
      const callId = `call_r${thoughtCount}${seed.slice(0, 22)}`;
      if (isCustom(ask, block.name)) {
        return { id: `ctc_${seed}`, type: 'custom_tool_call', status, call_id: callId, input: customInput(block.argumentsText), name: block.name };
      }
      return { id: `fc_${seed}`, type: 'function_call', status, arguments: block.argumentsText, call_id: callId, name: block.name };
    }
    const content = [contentOf(script, joined(block))];
    return { id: `msg_${seed}`, type: 'message', status, role: 'assistant', content, phase: hasCalls ? 'commentary' : 'final_answer' };
  });
}

/** Of a call that is cut, what is there of it. */
function customInput(argumentsText: string): string {
  return stringField(parseLenient(argumentsText), 'input') ?? argumentsText;
}

function summaryOf(block: Block): string[] {
  return block.type === 'thinking' && !block.isOmitted ? [joined(block)] : [];
}

function contentOf(script: Script, text: string): JsonOutObject {
  return script.ending === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', annotations: [], logprobs: [], text };
}

/** The id of the response to a request. */
export function responseId(ask: Ask): string {
  return `resp_${ask.seed.slice(0, 48)}`;
}

/** The items of an answer as the provider keeps them: its own thoughts it can read. */
export function storedItems(ask: Ask, script: Script): readonly Readonly<Record<string, unknown>>[] {
  const items = itemsOf({ ...ask, isSealed: true }, script);
  return (JSON.parse(renderJson(items)) as readonly unknown[]).filter(isObject);
}

function responseOf(ask: Ask, fields: JsonOutObject): JsonOutObject {
  return {
    id: responseId(ask), object: 'response', created_at: CREATED_S, error: null, incomplete_details: null, model: ask.model, store: ask.storable !== undefined,
    // What SDKs with strict types demand; of the request it repeats only what is short.
    instructions: null, max_output_tokens: ask.maxTokens ?? null, metadata: {}, parallel_tool_calls: ask.isSerial !== true, previous_response_id: null,
    temperature: 1, tool_choice: 'auto', tools: [], top_p: 1, truncation: 'disabled',
    ...fields,
  };
}

function endedResponse(ask: Ask, script: Script): JsonOutObject {
  const reason = reasonOf(script);
  return responseOf(ask, {
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output: itemsOf(ask, script),
    usage: renderUsage(script.usage),
  });
}

/** Why an answer is not complete; a refusal in words is. */
function reasonOf({ ending, blocks }: Script): string | undefined {
  if (ending === 'max_tokens') return 'max_output_tokens';
  return ending === 'refusal' && blocks.length === 0 ? 'content_filter' : undefined;
}

function renderUsage(usage: Usage | undefined): JsonOutObject | null {
  if (usage === undefined) return null;
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

const ARGUMENT_CHARS = 12;

function renderStream(ask: Ask, script: Script): Piece[] {
  const pieces: Piece[] = [];
  const push = (type: string, fields: JsonOutObject, isText = false): void => {
    pieces.push({ bytes: `event: ${type}\ndata: ${renderJson({ type, sequence_number: pieces.length, ...fields })}\n\n`, isText });
  };
  const begun = { response: responseOf(ask, { status: 'in_progress', output: [], usage: null }) };
  push('response.created', begun);
  push('response.in_progress', begun);
  for (const [index, item] of itemsOf(ask, script).entries()) {
    const block = script.blocks[index] as Block;
    const place = { item_id: item.id, output_index: index };
    push('response.output_item.added', { output_index: index, item: begunItem(item) });
    if (block.type === 'text') {
      const kind = script.ending === 'refusal' ? 'refusal' : 'output_text';
      const text = joined(block);
      push('response.content_part.added', { ...place, content_index: 0, part: contentOf(script, '') });
      for (const delta of block.pieces) push(`response.${kind}.delta`, { ...place, content_index: 0, ...(kind === 'output_text' && { logprobs: [] }), delta }, true);
      push(`response.${kind}.done`, { ...place, content_index: 0, ...(kind === 'refusal' ? { refusal: text } : { text, logprobs: [] }) });
      push('response.content_part.done', { ...place, content_index: 0, part: contentOf(script, text) });
    } else if (block.type === 'call') {
      const isText = item['type'] === 'custom_tool_call';
      const kind = isText ? 'custom_tool_call_input' : 'function_call_arguments';
      const text = isText ? customInput(block.argumentsText) : block.argumentsText;
      for (const delta of slicesOf(text, ARGUMENT_CHARS)) push(`response.${kind}.delta`, { ...place, delta });
      push(`response.${kind}.done`, { ...place, ...(isText ? { input: text } : { name: block.name, arguments: text }) });
    } else if (block.type === 'thinking' && !block.isOmitted) {
      const text = joined(block);
      push('response.reasoning_summary_part.added', { ...place, summary_index: 0, part: { type: 'summary_text', text: '' } });
      for (const delta of block.pieces) push('response.reasoning_summary_text.delta', { ...place, summary_index: 0, delta });
      push('response.reasoning_summary_text.done', { ...place, summary_index: 0, text });
      push('response.reasoning_summary_part.done', { ...place, summary_index: 0, part: { type: 'summary_text', text } });
    }
    push('response.output_item.done', { output_index: index, item });
  }
  push(reasonOf(script) === undefined ? 'response.completed' : 'response.incomplete', { response: endedResponse(ask, script) });
  return pieces;
}

/** The item before anything of it was written. */
function begunItem(item: Item): JsonOutObject {
  if (item['type'] === 'reasoning') return { ...item, summary: [] };
  if (item['type'] === 'custom_tool_call') return { ...item, status: 'in_progress', input: '' };
  return item['type'] === 'message' ? { ...item, status: 'in_progress', content: [] } : { ...item, status: 'in_progress', arguments: '' };
}
