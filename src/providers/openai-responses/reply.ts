/**
 * A reply of the Responses API while it is being put together, from a whole body or from a stream's events.
 *
 * A reply is an ordered list of items. Messages and calls become parts; sealed reasoning, and items that a chat has no
 * name for, travel in the state of the part that follows them. Where the answer is to be JSON, what is said beside it is
 * reasoning to a caller, who would find two texts in one otherwise. Both ways go through the same code, so a
 * streamed answer and its whole twin come out alike.
 * Source: OpenAI, Responses API, the response object.
 */

import { GrowingText } from '../../base/growing-text.ts';
import { parseLenient } from '../../base/json/lenient.ts';
import { createReplyBudget } from '../../base/json/limits.ts';
import { memberOf } from '../../base/json/member.ts';
import { parseReplied } from '../../base/json/parse.ts';
import { JsonObject, JsonProblem, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { countField, field, isObject, listField, stringField, textField } from '../../base/loose.ts';
import type { AnswerUse, DeltaSink } from '../../core/adapter.ts';
import { ownCallId } from '../../core/call-id.ts';
import { REPLY_CALLS_MAX, REPLY_CHARS_MAX, replyText } from '../../core/chat.ts';
import type { AssistantPart, ChatReply, StopReason, ToolCallPart, Usage } from '../../core/chat.ts';
import { Failure, malformedReply, problemReply, replyTooLong, tooManyCalls, unreadableReply, upstreamFailure } from '../../core/failure.ts';
import { textArguments } from '../../core/text-arguments.ts';
import { failureInside } from '../openai-common/failure.ts';
import { exactOutput } from './exact.ts';
import type { ExactItem } from './exact.ts';
import {
  CUSTOM_CALL, carriedAside, carriedReasoning, encodePartState, isAside, isCarriedItem, isForCaller, ownFields, textsIn,
} from './state.ts';
import type { OwnFields } from './state.ts';

/** What an item costs beside its text, so that a flood of empty ones is bounded too. */
const ITEM_CHARS = 64;

const INCOMPLETE_REASONS: ReadonlyMap<string, StopReason> = new Map([
  ['max_output_tokens', 'max_tokens'],
  ['content_filter', 'refusal'],
]);

/** A whole 200 body. Failures: server, refusal, unsupported, or what an error inside it says. */
export function decodeResponse(provider: string, body: string, json = parseLenient(body), whole?: JsonValue | JsonProblem, use?: AnswerUse): ChatReply | Failure {
  if (!isObject(json)) return unreadableReply(provider, body, 'the body is not a JSON object');
  const failure = failureInside(provider, json);
  if (failure !== undefined) return failure;
  const output = field(json, 'output');
  if (!Array.isArray(output)) return malformedReply(provider, 200, 'the body holds no output');
  const status = textField(json, 'status') ?? 'completed';
  if (status === 'queued' || status === 'in_progress') return backgroundAnswer(provider, status);
  if (status !== 'completed' && status !== 'incomplete') return malformedReply(provider, 200, 'the answer is not complete');
  const draft = new ResponseDraft(provider, use);
  draft.takeHead(json);
  let exactItems: readonly JsonValue[] | Failure | undefined;
  for (const [index, item] of (output as readonly unknown[]).entries()) {
    const exact: ExactItem = () => {
      exactItems ??= exactOutput(provider, body, whole);
      return exactItems instanceof Failure ? exactItems : exactItems[index];
    };
    const problem = draft.takeItem(index, item, exact, () => {});
    if (problem !== undefined) return problem;
  }
  return draft.finish(json, status === 'incomplete');
}

/** Asking again would only begin another one. */
function backgroundAnswer(provider: string, status: string): Failure {
  const what = `${provider} answered that it will answer later (status ${status}), which the gateway cannot wait for; leave out background`;
  return new Failure('unsupported', what, { upstreamStatus: 200 });
}

/** Reasoning in its own words, or summarised. */
export type ThoughtForm = 'content' | 'summary';

// hot: per token
export class ResponseDraft {
  readonly #provider: string;
  readonly #isRelayed: boolean;
  readonly #parts: AssistantPart[] = [];
  readonly #callIds = new Set<string>();
  /** Of all calls together: a complete response may bring them all at once. */
  readonly #budget = createReplyBudget();
  /** Text of messages that are not done, by index; the sink has it already. */
  readonly #streamed = new Map<number, GrowingText>();
  /** Whether the answer is to be JSON, which is then one message: the first that is no aside. */
  #isJson = false;
  /** The index of that message, once it says something. */
  #answer: number | undefined;
  /** Messages that are not the answer and are not done, by index. */
  readonly #asides = new Set<number>();
  /** Items waiting for the next part, in whose state they travel. */
  #before: RawJson[] = [];
  readonly #thinking = new GrowingText();
  /** In which form each reasoning item that is not done is disclosed, by index. */
  readonly #thoughts = new Map<number, ThoughtForm>();
  /** Which paragraph of which item came last. */
  #thoughtItem = -1;
  #thoughtPart = -1;
  #isRefused = false;
  #hasBrokenCall = false;
  #chars = 0;
  #id: string | undefined;
  /** The model as the provider names it. */
  model: string | undefined;
  #usage: Usage | undefined;

  constructor(provider: string, use?: AnswerUse) {
    this.#provider = provider;
    this.#isRelayed = use?.isRelayed === true;
  }

  /** The failure once more has come than is kept. A whole body is bounded by itself. */
  get overflow(): Failure | undefined {
    return this.#chars <= REPLY_CHARS_MAX ? undefined : replyTooLong(this.#provider);
  }

  /** Whether nothing that is shown or carried has come. */
  get isEmpty(): boolean {
    return this.#parts.length === 0 && this.#before.length === 0 && this.#streamed.size === 0 && this.#thinking.length === 0 && !this.#hasBrokenCall;
  }

  /** Whether a call has come, whole or broken. */
  get hasCalls(): boolean {
    return this.#callIds.size > 0 || this.#hasBrokenCall;
  }

  /** Takes what a response says about itself; a later one completes an earlier. */
  takeHead(response: unknown): void {
    this.#id = textField(response, 'id') ?? this.#id;
    this.model = textField(response, 'model') ?? this.model;
    this.#usage = usageFrom(field(response, 'usage')) ?? this.#usage;
    if (isJsonAsked(response)) this.#isJson = true;
  }

  /** Takes notice of an item that has begun. */
  begin(index: number, item: unknown): void {
    if (this.#isJson && isAside(item)) this.#asides.add(index);
  }

  /** Takes a piece of a message's text. */
  takeText(index: number, text: string, sink: DeltaSink): void {
    if (text === '') return;
    if (this.#isJson && this.#isBeside(index)) return this.takeThought('content', index, 0, text, sink);
    let streamed = this.#streamed.get(index);
    if (streamed === undefined) {
      this.#streamed.set(index, (streamed = new GrowingText()));
      this.#chars += ITEM_CHARS;
    }
    streamed.add(text);
    this.#chars += text.length;
    sink({ type: 'text', text });
  }

  #isBeside(index: number): boolean {
    if (this.#asides.has(index)) return true;
    this.#answer ??= index;
    if (this.#answer === index) return false;
    this.#asides.add(index);
    return true;
  }

  /** Takes a piece of a message in which the model declines. */
  takeRefusal(index: number, text: string, sink: DeltaSink): void {
    if (text !== '') this.#isRefused = true;
    this.takeText(index, text, sink);
  }

  /**
   * Takes a piece of a paragraph of reasoning; an empty line stands between two paragraphs. Hosts that disclose an item
   * in both forms say much the same in the second, which is left out.
   */
  takeThought(form: ThoughtForm, index: number, paragraph: number, text: string, sink: DeltaSink): void {
    const known = this.#thoughts.get(index);
    if (text === '' || (known ?? form) !== form) return;
    if (known === undefined) {
      this.#thoughts.set(index, form);
      this.#chars += ITEM_CHARS;
    }
    const isNext = index !== this.#thoughtItem || paragraph !== this.#thoughtPart;
    this.#thoughtItem = index;
    this.#thoughtPart = paragraph;
    const piece = isNext && this.#thinking.length > 0 ? `\n\n${text}` : text;
    this.#thinking.add(piece);
    this.#chars += piece.length;
    sink({ type: 'thinking', text: piece });
  }

  /** Counts an event that is kept: until its item's turn, or by a slice of it, which keeps all of it. */
  countHeld(chars: number): void {
    this.#chars += ITEM_CHARS + chars;
  }

  /**
   * Takes an item that is done; of what was streamed of it nothing is passed on again. Failures: server, for a call that
   * makes no sense or JSON beyond the limits; unsupported, for an item that only a caller of the API itself can answer, unless it
   * is passed on to one.
   */
  takeItem(index: number, item: unknown, exact: ExactItem, sink: DeltaSink): Failure | undefined {
    this.#chars += ITEM_CHARS;
    const type = textField(item, 'type') ?? '';
    if (type === 'message') return this.#takeMessage(index, item, sink);
    if (type === 'function_call' || type === CUSTOM_CALL) return this.#takeCall(type, item, exact, sink);
    if (type === 'reasoning') return this.#takeReasoning(index, item, sink);
    if (!this.#isRelayed && isForCaller(type, item)) return callForCaller(this.#provider, type);
    return type === '' ? undefined : this.#takeOpaque(exact());
  }

  #takeMessage(index: number, item: unknown, sink: DeltaSink): undefined {
    if (this.#isJson && isAside(item) && !this.#streamed.has(index)) this.#asides.add(index);
    if (!this.#streamed.has(index) && !(this.#asides.has(index) && this.#thoughts.has(index))) {
      for (const part of listField(item, 'content')) {
        this.takeText(index, stringField(part, 'text') ?? '', sink);
        this.takeRefusal(index, stringField(part, 'refusal') ?? '', sink);
      }
    }
    if (this.#asides.delete(index)) return this.#carryAside(index, item);
    const text = this.#streamed.get(index)?.text ?? '';
    this.#streamed.delete(index);
    if (text !== '') this.#parts.push({ type: 'text', text, state: this.#takeState(ownFields('text', item)) });
  }

  #carryAside(index: number, item: unknown): undefined {
    this.#endThought(index);
    const carried = carriedAside(item);
    if (carried !== undefined) this.#carry(carried);
  }

  #takeReasoning(index: number, item: unknown, sink: DeltaSink): undefined {
    if (!this.#thoughts.has(index)) {
      for (const form of ['content', 'summary'] as const) {
        for (const [paragraph, text] of textsIn(item, form).entries()) this.takeThought(form, index, paragraph, text, sink);
      }
    }
    this.#endThought(index);
    const carried = carriedReasoning(item);
    if (carried !== undefined) this.#carry(carried);
  }

  /** Hosts that number nothing give the next item the same index. */
  #endThought(index: number): void {
    this.#thoughts.delete(index);
    if (this.#thoughtItem === index) this.#thoughtItem = -1;
  }

  #takeOpaque(item: JsonValue | undefined | Failure): Failure | undefined {
    if (item instanceof Failure) return item;
    if (isCarriedItem(item)) this.#before.push(item.raw);
    return undefined;
  }

  #carry(item: RawJson): void {
    this.#before.push(item);
    this.#chars += item.text.length;
  }

  #takeCall(type: string, item: unknown, exact: ExactItem, sink: DeltaSink): Failure | undefined {
    const name = textField(item, 'name');
    if (name === undefined) return malformedReply(this.#provider, 200, 'a function call has no name');
    if (this.#callIds.size === REPLY_CALLS_MAX) return tooManyCalls(this.#provider);
    const args = type === CUSTOM_CALL ? textArguments(stringField(item, 'input') ?? '') : this.#functionArguments(item, exact);
    if (args instanceof Failure) return args;
    if (args === undefined || textField(item, 'status') === 'incomplete') {
      // Whether the answer was cut for length is said at its end.
      this.#hasBrokenCall = true;
      return undefined;
    }
    const state = this.#takeState(ownFields('tool_call', item));
    const call: ToolCallPart = { type: 'tool_call', id: ownCallId(textField(item, 'call_id'), this.#callIds), name, arguments: args, state };
    this.#chars += args.text.length;
    this.#parts.push(call);
    sink({ type: 'tool_call', call });
    return undefined;
  }

  /**
   * The arguments as they are written; undefined when they are no JSON object, which is a text to callers of the API itself,
   * who read it themselves. Hosts leave them out for none, write `null`, or send the object itself.
   */
  #functionArguments(item: unknown, exact: ExactItem): RawJson | undefined | Failure {
    const given = field(item, 'arguments') ?? '';
    const whole = typeof given === 'string' ? undefined : exact();
    if (whole instanceof Failure) return whole;
    const parsed = typeof given === 'string' ? parseReplied(given.trim() || '{}', this.#budget) : memberOf(whole, 'arguments');
    if (parsed instanceof JsonObject) return parsed.raw;
    if (typeof given !== 'string') return undefined;
    if (parsed === null) return new RawJson('{}');
    if (parsed instanceof JsonProblem && parsed.isLimit) return problemReply(this.#provider, parsed, 'a call has no arguments');
    return this.#isRelayed ? textArguments(given) : undefined;
  }

  #takeState(own: OwnFields): string | undefined {
    const state = encodePartState(this.#provider, this.#before, own);
    this.#before = [];
    return state;
  }

  /** The reply, once the response is complete or says why it is not. Failures: server for a broken call, refusal when nothing was said. */
  finish(response: unknown, isIncomplete: boolean): ChatReply | Failure {
    if (this.#hasBrokenCall && !isIncomplete && !this.#isRelayed) {
      return malformedReply(this.#provider, 200, 'the arguments of a function call are not a JSON object');
    }
    const parts = this.#finishParts();
    const reason = textField(field(response, 'incomplete_details'), 'reason') ?? '';
    const reply: ChatReply = {
      id: this.#id,
      model: this.model,
      parts,
      thinking: this.#thinking.text,
      stopReason: this.#stopReason(isIncomplete, reason),
      usage: this.#usage,
    };
    if (reply.stopReason !== 'refusal' || replyText(reply) !== '') return reply;
    return upstreamFailure({ provider: this.#provider, status: 200, kind: 'refusal', code: reason, reply });
  }

  #finishParts(): readonly AssistantPart[] {
    const own = ownFields('text', undefined);
    for (const { text } of this.#streamed.values()) this.#parts.push({ type: 'text', text, state: this.#takeState(own) });
    const homeless = this.#takeState(own);
    if (homeless !== undefined) this.#parts.push({ type: 'text', text: '', state: homeless });
    return this.#parts;
  }

  #stopReason(isIncomplete: boolean, reason: string): StopReason {
    if (this.#callIds.size > 0) return 'tool_use';
    if (this.#isRefused) return 'refusal';
    return isIncomplete ? (INCOMPLETE_REASONS.get(reason) ?? 'unknown') : 'end_turn';
  }
}

/** A response repeats the form that it was asked for. */
function isJsonAsked(response: unknown): boolean {
  const type = stringField(field(field(response, 'text'), 'format'), 'type');
  return type === 'json_schema' || type === 'json_object';
}

/** What a chat has no words for, though the answer waits for it. */
function callForCaller(provider: string, type: string): Failure {
  return new Failure('unsupported', `${provider} answered with a ${type}, which can be answered only in its own API`, { upstreamStatus: 200 });
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
