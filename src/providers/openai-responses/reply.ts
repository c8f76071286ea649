/**
 * A reply of the Responses API while it is being put together, from a whole body or from a stream's events.
 *
 * A reply is an ordered list of items. Messages and function calls become parts; sealed reasoning, and the items of
 * tools that OpenAI runs, travel in the state of the part that follows them. Both ways go through the same code, so a
 * streamed answer and its whole twin come out alike.
 * Source: OpenAI, Responses API, the response object.
 */

import { JSON_DEPTH_MAX, parseLenient, parseUncounted } from '../../base/json/parse.ts';
import { JsonArray, JsonObject } from '../../base/json/value.ts';
import type { JsonValue, RawJson } from '../../base/json/value.ts';
import { countField, field, isObject, listField, stringField, textField } from '../../base/loose.ts';
import type { DeltaSink } from '../../core/adapter.ts';
import { makeCallId } from '../../core/call-id.ts';
import { REPLY_CHARS_MAX, replyText } from '../../core/chat.ts';
import type { AssistantPart, ChatReply, StopReason, ToolCallPart, Usage } from '../../core/chat.ts';
import { beyondLimit, Failure, malformedReply, unreadableReply, upstreamFailure } from '../../core/failure.ts';
import { failureInside } from '../openai-common/failure.ts';
import { carriedReasoning, encodePartState, isCarriedItem, isServerItem, ownField, summaryTexts } from './state.ts';

/** What an item costs beside its text, so that a flood of empty ones is bounded too. */
const ITEM_CHARS = 64;

const INCOMPLETE_REASONS: ReadonlyMap<string, StopReason> = new Map([
  ['max_output_tokens', 'max_tokens'],
  ['content_filter', 'refusal'],
]);

/** A whole 200 body. Failures: server, refusal, or what an error inside it says. */
export function decodeResponse(provider: string, body: string): ChatReply | Failure {
  const json = parseLenient(body);
  if (!isObject(json)) return unreadableReply(provider, body, 'the body is not a JSON object');
  const failure = failureInside(provider, json);
  if (failure !== undefined) return failure;
  const output = field(json, 'output');
  if (!Array.isArray(output)) return malformedReply(provider, 200, 'the body holds no output');
  const status = textField(json, 'status') ?? 'completed';
  if (status !== 'completed' && status !== 'incomplete') return malformedReply(provider, 200, 'the answer is not complete');
  const draft = new ResponseDraft(provider);
  let exactItems: readonly JsonValue[] | undefined;
  for (const [index, item] of (output as readonly unknown[]).entries()) {
    const problem = draft.takeItem(index, item, () => (exactItems ??= exactOutput(body))[index], () => {});
    if (problem !== undefined) return problem;
  }
  draft.takeHead(json);
  return draft.finish(json);
}

/** The items of a body with numbers digit for digit. */
function exactOutput(body: string): readonly JsonValue[] {
  const response = parseUncounted(body);
  const output = response instanceof JsonObject ? response.entries.get('output') : undefined;
  return output instanceof JsonArray ? output.items : [];
}

// hot: per token
export class ResponseDraft {
  readonly #provider: string;
  readonly #parts: AssistantPart[] = [];
  readonly #callIds = new Set<string>();
  /** Text of messages that are not done, by index; the sink has it already. */
  readonly #streamed = new Map<number, string>();
  /** Items waiting for the next part, in whose state they travel. */
  #before: RawJson[] = [];
  #thinking = '';
  /** Which paragraph of which item's summary came last. */
  #thoughtItem = -1;
  #thoughtPart = -1;
  #isRefused = false;
  /** Arguments that are none, of the last call that has such. */
  #brokenArguments: string | undefined;
  #chars = 0;
  #id: string | undefined;
  #model: string | undefined;
  #usage: Usage | undefined;

  constructor(provider: string) {
    this.#provider = provider;
  }

  /** The failure once more has come than is kept. A whole body is bounded by itself. */
  get overflow(): Failure | undefined {
    if (this.#chars <= REPLY_CHARS_MAX) return undefined;
    return beyondLimit(this.#provider, 200, `the reply is longer than ${REPLY_CHARS_MAX} characters`);
  }

  /** Takes what a response says about itself; a later one completes an earlier. */
  takeHead(response: unknown): void {
    this.#id = textField(response, 'id') ?? this.#id;
    this.#model = textField(response, 'model') ?? this.#model;
    this.#usage = usageFrom(field(response, 'usage')) ?? this.#usage;
  }

  /** Takes a piece of a message's text. */
  takeText(index: number, text: string, sink: DeltaSink): void {
    if (text === '') return;
    this.#streamed.set(index, (this.#streamed.get(index) ?? '') + text);
    this.#chars += text.length;
    sink({ type: 'text', text });
  }

  /** Takes a piece of a message in which the model declines. */
  takeRefusal(index: number, text: string, sink: DeltaSink): void {
    if (text !== '') this.#isRefused = true;
    this.takeText(index, text, sink);
  }

  /** Takes a piece of a summary's paragraph; an empty line stands between two paragraphs. */
  takeSummary(index: number, paragraph: number, text: string, sink: DeltaSink): void {
    if (text === '') return;
    const isNext = index !== this.#thoughtItem || paragraph !== this.#thoughtPart;
    this.#thoughtItem = index;
    this.#thoughtPart = paragraph;
    const piece = isNext && this.#thinking !== '' ? `\n\n${text}` : text;
    this.#thinking += piece;
    this.#chars += piece.length;
    sink({ type: 'thinking', text: piece });
  }

  /**
   * Takes an item that is done; of what was streamed of it nothing is passed on again. `exact` gives the item with its
   * numbers as they are written, undefined when its text is too deep. Failure: server, then and for a call that makes no sense.
   */
  takeItem(index: number, item: unknown, exact: () => JsonValue | undefined, sink: DeltaSink): Failure | undefined {
    this.#chars += ITEM_CHARS;
    const type = textField(item, 'type') ?? '';
    if (type === 'message') this.#takeMessage(index, item, sink);
    else if (type === 'function_call') return this.#takeCall(item, sink);
    else if (type === 'reasoning') this.#takeReasoning(index, item, sink);
    else if (isServerItem(type)) return this.#takeServerItem(exact());
    return undefined;
  }

  #takeMessage(index: number, item: unknown, sink: DeltaSink): void {
    if (!this.#streamed.has(index)) {
      for (const part of listField(item, 'content')) {
        this.takeText(index, stringField(part, 'text') ?? '', sink);
        this.takeRefusal(index, stringField(part, 'refusal') ?? '', sink);
      }
    }
    const text = this.#streamed.get(index) ?? '';
    this.#streamed.delete(index);
    if (text !== '') this.#parts.push({ type: 'text', text, state: this.#takeState('text', ownField('text', item)) });
  }

  #takeReasoning(index: number, item: unknown, sink: DeltaSink): void {
    if (index !== this.#thoughtItem) {
      for (const [paragraph, text] of summaryTexts(item).entries()) this.takeSummary(index, paragraph, text, sink);
    }
    // Hosts that number nothing give the next item the same index.
    this.#thoughtItem = -1;
    const carried = carriedReasoning(item);
    if (carried !== undefined) this.#carry(carried);
  }

  #takeServerItem(item: JsonValue | undefined): Failure | undefined {
    if (item === undefined) return beyondLimit(this.#provider, 200, `its JSON is nested beyond ${JSON_DEPTH_MAX} levels`);
    if (isCarriedItem(item)) this.#carry(item.raw);
    return undefined;
  }

  #carry(item: RawJson): void {
    this.#before.push(item);
    this.#chars += item.text.length;
  }

  #takeCall(item: unknown, sink: DeltaSink): Failure | undefined {
    const name = textField(item, 'name');
    if (name === undefined) return malformedReply(this.#provider, 200, 'a function call has no name');
    const text = (stringField(item, 'arguments') ?? '').trim();
    const args = parseUncounted(text === '' ? '{}' : text);
    if (!(args instanceof JsonObject) || textField(item, 'status') === 'incomplete') {
      // Whether the answer was cut for length is said at its end.
      this.#brokenArguments = text;
      return undefined;
    }
    const state = this.#takeState('tool_call', ownField('tool_call', item));
    const call: ToolCallPart = { type: 'tool_call', id: this.#callId(item), name, arguments: args.raw, state };
    this.#chars += args.raw.text.length;
    this.#parts.push(call);
    sink({ type: 'tool_call', call });
    return undefined;
  }

  #callId(item: unknown): string {
    const given = textField(item, 'call_id');
    const id = given === undefined || this.#callIds.has(given) ? makeCallId() : given;
    this.#callIds.add(id);
    return id;
  }

  #takeState(type: AssistantPart['type'], own: string | undefined): string | undefined {
    const state = encodePartState(this.#provider, type, { before: this.#before, own });
    this.#before = [];
    return state;
  }

  /** The reply, once the response is complete or says why it is not. Failures: server for a broken call, refusal when nothing was said. */
  finish(response: unknown): ChatReply | Failure {
    const isIncomplete = textField(response, 'status') === 'incomplete';
    if (this.#brokenArguments !== undefined && !isIncomplete) {
      return unreadableReply(this.#provider, this.#brokenArguments, 'the arguments of a function call are not a JSON object');
    }
    const parts = this.#finishParts();
    const reason = textField(field(response, 'incomplete_details'), 'reason') ?? '';
    const reply: ChatReply = {
      id: this.#id,
      model: this.#model,
      parts,
      thinking: this.#thinking,
      stopReason: this.#stopReason(isIncomplete, reason),
      usage: this.#usage,
    };
    if (reply.stopReason !== 'refusal' || replyText(reply) !== '') return reply;
    return upstreamFailure({ provider: this.#provider, status: 200, kind: 'refusal', code: reason });
  }

  #finishParts(): readonly AssistantPart[] {
    for (const text of this.#streamed.values()) this.#parts.push({ type: 'text', text, state: this.#takeState('text', undefined) });
    const homeless = this.#takeState('text', undefined);
    if (homeless !== undefined) this.#parts.push({ type: 'text', text: '', state: homeless });
    return this.#parts;
  }

  #stopReason(isIncomplete: boolean, reason: string): StopReason {
    if (this.#callIds.size > 0) return 'tool_use';
    if (this.#isRefused) return 'refusal';
    return isIncomplete ? (INCOMPLETE_REASONS.get(reason) ?? 'unknown') : 'end_turn';
  }
}

/** Usage as reported, or undefined. `input_tokens` counts cached tokens, `output_tokens` reasoning. */
function usageFrom(usage: unknown): Usage | undefined {
  const input = countField(usage, 'input_tokens');
  const output = countField(usage, 'output_tokens');
  if (input === undefined && output === undefined) return undefined;
  const inputDetails = field(usage, 'input_tokens_details');
  const outputTokens = output ?? 0;
  return {
    inputTokens: input ?? 0,
    outputTokens,
    cacheReadTokens: countField(inputDetails, 'cached_tokens') ?? 0,
    cacheWriteTokens: countField(inputDetails, 'cache_write_tokens') ?? 0,
    reasoningTokens: Math.min(countField(field(usage, 'output_tokens_details'), 'reasoning_tokens') ?? 0, outputTokens),
  };
}
