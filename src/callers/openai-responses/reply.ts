/**
 * Whole answers in the form of Responses (OpenAI, Responses API, the response object), and the items that streamed ones
 * consist of, too.
 *
 * Every field that any of the common clients needs is always there; the echo of the request is no more than that. A state
 * travels as the sealed content of a reasoning item before what it belongs to. It is there whether the request asked for it
 * or not: clients that did not ask bring it back all the same, and without it their next request would lack it.
 */

import { outFrom } from '../../base/json/merge.ts';
import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import type { AssistantPart, ChatReply, StopReason, ToolCallPart, Usage } from '../../core/chat.ts';
import type { AnswerFacts, DecodedRequest } from '../../core/dialect.ts';
import { argumentsText } from '../../core/text-arguments.ts';
import { carryStates, NOTHING_CARRIED } from '../carried-state.ts';
import { isWordlessRefusal, REFUSAL } from '../openai-common/refusal.ts';
import { ToolNames } from './tool-names.ts';
import type { DeclaredTool } from './tool-names.ts';

/** The body of a good answer. */
export function encodeResponse(reply: ChatReply, facts: AnswerFacts): JsonOutObject {
  const output = outputItems(reply, reply.parts, reply.thinking, facts).map((item, index) => itemFrom(item, itemId(facts, item.type, index)));
  const { status, incompleteReason, model, usage } = endingOf(reply);
  return responseFrom(facts, { status, output, model, incompleteReason, usage });
}

/** One item of an answer's output. */
export type OutputItem =
  /** `summary` is what may be read of it, empty = nothing; `sealed` what clients bring back, never empty. */
  | { readonly type: 'reasoning'; readonly summary: string; readonly sealed: string }
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'refusal'; readonly text: string }
  | CallItem;

/** `declared` = the tool that the call's name stands for, where it is no plain function. */
type CallItem = { readonly type: 'function_call' | 'custom_tool_call'; readonly call: ToolCallPart; readonly declared: DeclaredTool | undefined };

/** The items that say these parts of a reply, thinking first. */
export function outputItems(reply: ChatReply, parts: readonly AssistantPart[], thinking: string, { request }: AnswerFacts): readonly OutputItem[] {
  const items: OutputItem[] = [];
  const names = parts.some((part) => part.type === 'tool_call') ? new ToolNames(request.source) : undefined;
  let summary = thinking;
  for (const [index, part] of parts.entries()) {
    if (summary !== '' || part.state !== undefined) items.push({ type: 'reasoning', summary, sealed: sealedOf(part) });
    summary = '';
    if (part.type === 'tool_call') items.push(callItem(part, names?.declaredAs(part.name)));
    else if (part.text !== '' || wouldOwn(parts[index + 1])) items.push({ type: 'message', text: part.text });
  }
  if (summary !== '') items.push({ type: 'reasoning', summary, sealed: NOTHING_CARRIED });
  if (isWordlessRefusal(reply)) items.push({ type: 'refusal', text: REFUSAL });
  return items;
}

function callItem(call: ToolCallPart, declared: DeclaredTool | undefined): CallItem {
  return { type: declared?.isCustom === true ? 'custom_tool_call' : 'function_call', call, declared };
}

function sealedOf({ type, state }: AssistantPart): string {
  return carryStates(state === undefined ? [] : [{ owner: type === 'text' ? 'own' : 'call', state }]);
}

/** Whether the state of a text that says nothing would be taken for that of the text behind it. */
function wouldOwn(next: AssistantPart | undefined): boolean {
  return next?.type === 'text' && next.state === undefined;
}

/** An item that is done. */
export function itemFrom(item: OutputItem, id: string): JsonOutObject {
  switch (item.type) {
    case 'reasoning': {
      const summary = item.summary === '' ? [] : [{ type: 'summary_text', text: item.summary }];
      return { id, type: 'reasoning', summary, encrypted_content: item.sealed };
    }
    case 'message':
    case 'refusal':
      return { id, type: 'message', status: 'completed', role: 'assistant', content: [contentFrom(item.type, item.text)] };
    case 'function_call':
    case 'custom_tool_call':
      return callFrom(item, id, 'completed', writtenIn(item));
  }
}

/** What the model wrote for the tool. */
export function writtenIn({ type, call }: CallItem): string {
  return type === 'function_call' ? call.arguments.text : argumentsText(call.arguments);
}

export function contentFrom(type: 'message' | 'refusal', text: string): JsonOutObject {
  return type === 'message' ? { type: 'output_text', text, annotations: [] } : { type: 'refusal', refusal: text };
}

export function callFrom({ type, call, declared }: CallItem, id: string, status: 'in_progress' | 'completed', written: string): JsonOutObject {
  const { namespace, name } = declared ?? { namespace: undefined, name: call.name };
  return { id, type, call_id: call.id, name, ...(namespace !== undefined && { namespace }), status, [type === 'function_call' ? 'arguments' : 'input']: written };
}

/** The parts of a response object that change while it is made. */
export type ResponseStand = {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output: JsonOut;
  readonly model?: string | undefined;
  readonly error?: JsonOutObject;
  readonly incompleteReason?: string | undefined;
  readonly usage?: Usage | undefined;
};

export function responseFrom(facts: AnswerFacts, stand: ResponseStand): JsonOutObject {
  return {
    id: `resp_${facts.answerId}`,
    object: 'response',
    created_at: facts.createdAtS,
    status: stand.status,
    error: stand.error ?? null,
    incomplete_details: stand.incompleteReason === undefined ? null : { reason: stand.incompleteReason },
    model: stand.model ?? facts.servedModel ?? facts.request.model,
    output: stand.output,
    usage: stand.usage === undefined ? null : usageFrom(stand.usage),
    ...echoOf(facts.request),
  };
}

/** What clients with strict types demand although it only repeats the request. What can be long is there, and says nothing. */
function echoOf({ source }: DecodedRequest): JsonOutObject {
  const given = (name: string): JsonOut => outFrom(source?.entries.get(name) ?? null);
  return {
    instructions: null,
    max_output_tokens: given('max_output_tokens'),
    metadata: {},
    parallel_tool_calls: given('parallel_tool_calls') ?? true,
    previous_response_id: null,
    temperature: given('temperature'),
    tool_choice: given('tool_choice') ?? 'auto',
    tools: [],
    top_p: given('top_p'),
    truncation: 'disabled',
  };
}

const INCOMPLETE_REASONS: ReadonlyMap<StopReason, string> = new Map([
  ['max_tokens', 'max_output_tokens'],
  ['refusal', 'content_filter'],
]);

/** How a good answer ended. A refusal without a word is one that ended in order, as the vendor's own are. */
export function endingOf(reply: ChatReply): Omit<ResponseStand, 'output'> & { readonly status: 'completed' | 'incomplete' } {
  const incompleteReason = isWordlessRefusal(reply) ? undefined : INCOMPLETE_REASONS.get(reply.stopReason);
  const status = incompleteReason === undefined ? 'completed' : 'incomplete';
  return { status, incompleteReason, model: reply.model, usage: reply.usage };
}

function usageFrom(usage: Usage): JsonOutObject {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cacheReadTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

const ID_PREFIXES: Readonly<Record<OutputItem['type'], string>> = {
  reasoning: 'rs',
  message: 'msg',
  refusal: 'msg',
  function_call: 'fc',
  custom_tool_call: 'ctc',
};

/** The id of an item: below the 64 characters that the API takes, as that of the response is. */
export function itemId({ answerId }: AnswerFacts, type: OutputItem['type'], index: number): string {
  return `${ID_PREFIXES[type]}_${answerId}_${index}`;
}
