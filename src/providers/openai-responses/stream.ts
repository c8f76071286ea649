/**
 * Decodes one stream of the Responses API (OpenAI, Responses API, streaming events).
 *
 * Text and reasoning come in pieces; every item comes whole once it is done. The answer is complete only with
 * `response.completed` or `response.incomplete`. Items are told apart by their place in the output: their ids change
 * from event to event on some hosts. Unknown events mean nothing.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { createReplyBudget } from '../../base/json/limits.ts';
import type { ParsedText } from '../../base/json/parse.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { countField, field, isObject, listField, stringField, textField } from '../../base/loose.ts';
import type { AnswerUse, DeltaSink, StreamDecoder } from '../../core/adapter.ts';
import { replyToolCalls } from '../../core/chat.ts';
import { Failure, malformedReply, truncatedStream, unreadableReply } from '../../core/failure.ts';
import { isFiller } from '../../core/filler-frame.ts';
import { failureInside } from '../openai-common/failure.ts';
import { exactItem, exactLateOutput } from './exact.ts';
import type { ExactItem } from './exact.ts';
import { ResponseDraft } from './reply.ts';
import { CUSTOM_CALL } from './state.ts';

/** An event that says that an item, or the response, is done. */
type DoneEvent = { readonly json: unknown; readonly data: string; readonly parsed: ParsedText | undefined };

/** Failures: server (cut short, malformed, too long), refusal (no content), unsupported, or what an error event says. */
export class ResponsesStream implements StreamDecoder {
  readonly #provider: string;
  readonly #draft: ResponseDraft;
  /** By index, the items that have begun, in that order. One that is done waits here for those before it. */
  readonly #begun = new Map<number, DoneEvent | undefined>();
  /** Of the events that wait, which are kept parsed, and are read together. */
  readonly #heldBudget = createReplyBudget();
  readonly #isRelayed: boolean;
  #callsBegun = 0;
  #isOver = false;

  constructor(provider: string, use?: AnswerUse) {
    this.#provider = provider;
    this.#isRelayed = use?.isRelayed === true;
    this.#draft = new ResponseDraft(provider, use);
  }

  get servedModel(): string | undefined {
    return this.#draft.model;
  }

  // hot: per token
  frame(event: string, data: string, sink: DeltaSink, parsed?: ParsedText): void {
    if (this.#isOver || isFiller(data)) return;
    const json = parsed === undefined ? parseLenient(data) : parsed.json;
    const failure = isObject(json)
      ? this.#read(event === 'error' ? event : (textField(json, 'type') ?? event), json, data, sink, parsed)
      : unreadableReply(this.#provider, data, 'an event of the stream is not a JSON object');
    const reason = failure ?? this.#draft.overflow;
    if (reason !== undefined) this.#fail(reason, sink);
  }

  end(sink: DeltaSink): void {
    if (!this.#isOver) this.#fail(truncatedStream(this.#provider), sink);
  }

  #fail(failure: Failure, sink: DeltaSink): void {
    this.#isOver = true;
    sink({ type: 'failed', failure });
  }

  // hot: per token
  #read(type: string, json: unknown, data: string, sink: DeltaSink, parsed: ParsedText | undefined): Failure | undefined {
    switch (type) {
      case 'response.output_text.delta':
        this.#draft.takeText(indexOf(json), stringField(json, 'delta') ?? '', sink);
        return undefined;
      case 'response.refusal.delta':
        this.#draft.takeRefusal(indexOf(json), stringField(json, 'delta') ?? '', sink);
        return undefined;
      case 'response.reasoning_text.delta':
        this.#draft.takeThought('content', indexOf(json), countField(json, 'content_index') ?? 0, stringField(json, 'delta') ?? '', sink);
        return undefined;
      case 'response.reasoning_summary_text.delta':
        this.#draft.takeThought('summary', indexOf(json), countField(json, 'summary_index') ?? 0, stringField(json, 'delta') ?? '', sink);
        return undefined;
      case 'response.output_item.added':
        this.#begin(indexOf(json), field(json, 'item'));
        return undefined;
      case 'response.output_item.done':
        return this.#takeDone(indexOf(json), { json, data, parsed }, sink);
      case 'response.created':
      case 'response.in_progress':
        this.#draft.takeHead(field(json, 'response'));
        return undefined;
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(type, { json, data, parsed }, sink);
      case 'response.failed':
        return failureInside(this.#provider, field(json, 'response'), true);
      default:
        return failureInside(this.#provider, json, isErrorType(type, json));
    }
  }

  #begin(index: number, item: unknown): void {
    if (this.#begun.has(index)) return;
    this.#begun.set(index, undefined);
    if (isCall(item)) this.#callsBegun += 1;
    this.#draft.begin(index, item);
    this.#draft.countHeld(0);
  }

  /** Hosts finish reasoning after what it led to; a reply has its items in the order in which they began. */
  #takeDone(index: number, done: DoneEvent, sink: DeltaSink): Failure | undefined {
    if (!this.#begun.has(index)) return this.#takeItem(index, done, sink);
    this.#begun.set(index, done);
    for (const [first, event] of this.#begun) {
      if (event === undefined) break;
      this.#begun.delete(first);
      const failure = this.#takeItem(first, event, sink);
      if (failure !== undefined) return failure;
    }
    if (!this.#begun.has(index)) return undefined;
    this.#draft.countHeld(done.data.length);
    const held = exactItem(this.#provider, done.data, done.parsed, this.#heldBudget);
    return held instanceof Failure ? held : undefined;
  }

  #takeItem(index: number, { json, data, parsed }: DoneEvent, sink: DeltaSink): Failure | undefined {
    const exact: ExactItem = () => {
      this.#draft.countHeld(data.length);
      return exactItem(this.#provider, data, parsed);
    };
    return this.#draft.takeItem(index, field(json, 'item'), exact, sink);
  }

  #finish(type: string, { json, data, parsed }: DoneEvent, sink: DeltaSink): Failure | undefined {
    const response = field(json, 'response');
    const failure = failureInside(this.#provider, response);
    if (failure !== undefined) return failure;
    this.#draft.takeHead(response);
    for (const [index, event] of this.#begun) {
      const held = event === undefined ? undefined : this.#takeItem(index, event, sink);
      if (held !== undefined) return held;
    }
    const problem = this.#takeLateItems(response, { data, parsed }, sink);
    if (problem !== undefined) return problem;
    const isIncomplete = type === 'response.incomplete' || stringField(response, 'status') === 'incomplete';
    const reply = this.#draft.finish(response, isIncomplete);
    if (reply instanceof Failure) return reply;
    // A caller of the API itself has had its pieces.
    if (replyToolCalls(reply).length < this.#callsBegun && !isIncomplete && !this.#isRelayed) return malformedReply(this.#provider, 200, 'a function call is never done');
    this.#isOver = true;
    sink({ type: 'done', reply });
    return undefined;
  }

  /**
   * Items that are told by the whole response alone, without which an answer would pass for a good one: all of them where
   * nothing came before, and calls where no call did.
   */
  #takeLateItems(response: unknown, { data, parsed }: Omit<DoneEvent, 'json'>, sink: DeltaSink): Failure | undefined {
    const { isEmpty, hasCalls } = this.#draft;
    if (hasCalls) return undefined;
    let exactItems: readonly JsonValue[] | Failure | undefined;
    for (const [index, item] of listField(response, 'output').entries()) {
      if (!isEmpty && !isCall(item)) continue;
      const exact: ExactItem = () => {
        exactItems ??= exactLateOutput(this.#provider, data, parsed?.exact);
        return exactItems instanceof Failure ? exactItems : exactItems[index];
      };
      const failure = this.#draft.takeItem(index, item, exact, sink);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }
}

function isCall(item: unknown): boolean {
  const type = stringField(item, 'type');
  return type === 'function_call' || type === CUSTOM_CALL;
}

function indexOf(json: unknown): number {
  return countField(json, 'output_index') ?? 0;
}

/** Errors are events of their own name, or on some hosts nothing but their flat selves. */
export function isErrorType(type: string, json: unknown): boolean {
  return type === 'error' || type.endsWith('_error') || (type === '' && textField(json, 'message') !== undefined);
}
