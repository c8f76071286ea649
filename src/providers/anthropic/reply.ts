/**
 * Replies of the Messages API: a whole one, and what whole and streamed ones have in common.
 *
 * A turn is an ordered list of content blocks, told apart by their type alone. Texts and calls become parts; the
 * others travel in the state of the part that follows them.
 * Source: Anthropic Messages API, content blocks, stop reasons, usage.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { itemsOf, memberOf } from '../../base/json/member.ts';
import { parseReplied } from '../../base/json/parse.ts';
import { JsonObject, JsonProblem, RawJson } from '../../base/json/value.ts';
import type { JsonOut, JsonValue } from '../../base/json/value.ts';
import { countField, field, isObject, listField, stringField, textEntry, textField } from '../../base/loose.ts';
import type { DeltaSink } from '../../core/adapter.ts';
import { ownCallId } from '../../core/call-id.ts';
import { REPLY_CALLS_MAX, withoutCalls } from '../../core/chat.ts';
import type { AssistantPart, ChatReply, StopReason, ToolCallPart, Usage } from '../../core/chat.ts';
import { Failure, malformedReply, tooManyCalls, unreadableReply, upstreamFailure } from '../../core/failure.ts';
import { failureInside } from './failure.ts';
import { carriedBlock, encodePartState, ownFields } from './state.ts';
import type { BlockFields } from './state.ts';

/** Whether it is an answer of this API, one of its errors, or an event of its streams; a ping may be anybody's. */
export function isMessages(json: object, event: string): boolean {
  const type = stringField(json, 'type');
  return type === 'error' || /^(?:message|content_block)/.test(type ?? event);
}

/** A whole 200 body. Failures: server (malformed, or beyond a limit), refusal (no content), or what an error inside it says. */
// hot: per request
export function decodeReply(provider: string, body: string, message = parseLenient(body), exact?: JsonValue | JsonProblem): ChatReply | Failure {
  if (!isObject(message)) return unreadableReply(provider, body, 'its body is not a JSON object');
  const inside = failureInside(provider, message);
  if (inside !== undefined) return inside;
  const content = field(message, 'content');
  if (!Array.isArray(content)) return malformedReply(provider, 200, 'the reply has no content');
  const head = new ReplyHead();
  head.readMessage(message);
  const turn = new TurnAssembly(provider);
  return addBlocks(turn, content as readonly unknown[], { provider, text: body, exact, head }) ?? turn.finish(head);
}

type WholeReply = { readonly provider: string; readonly text: string; readonly exact: JsonValue | JsonProblem | undefined; readonly head: ReplyHead };

/** Plain text is taken as parsed; of all else the text in which it was written is needed. */
function addBlocks(turn: TurnAssembly, blocks: readonly unknown[], { provider, text: source, exact: whole, head }: WholeReply): Failure | undefined {
  let exactBlocks: readonly BlockFields[] | undefined;
  for (const [index, block] of blocks.entries()) {
    const type = stringField(block, 'type');
    const text = stringField(block, 'text');
    if (type === 'text' && text !== undefined && listField(block, 'citations').length === 0) {
      turn.addText(text);
      continue;
    }
    if (exactBlocks === undefined) {
      const message = whole ?? parseReplied(source);
      if (message instanceof JsonProblem) return unreadableReply(provider, source, 'its body is not JSON');
      exactBlocks = exactContent(message);
    }
    const exact = exactBlocks[index] ?? NO_FIELDS;
    if (head.isCut && index === blocks.length - 1 && type !== 'text' && !isWhole(exact)) {
      turn.addCut(exact);
      break;
    }
    const failure = turn.addBlock(exact, ignore);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

function ignore(): void {}

const NO_FIELDS: ReadonlyMap<string, never> = new Map<string, never>();

/** The content blocks of a message, numbers digit for digit. */
export function exactContent(message: JsonValue): readonly BlockFields[] {
  return itemsOf(memberOf(message, 'content')).map((block) => (block instanceof JsonObject ? block.entries : NO_FIELDS));
}

/**
 * True for a block of which nothing is missing wherever the stop fell: reasoning whose signature, which comes last, is there;
 * what a tool of the provider's own found, which no model wrote and without which its call is refused.
 */
export function isWhole(block: BlockFields): boolean {
  const type = textEntry(block, 'type');
  if (type === 'thinking') return textEntry(block, 'signature') !== undefined;
  if (type === 'redacted_thinking') return textEntry(block, 'data') !== undefined;
  return type?.endsWith('_tool_result') === true;
}

/** The parts of a turn, put together block by block. */
export class TurnAssembly {
  readonly #provider: string;
  readonly #parts: AssistantPart[] = [];
  readonly #callIds = new Set<string>();
  /** Blocks waiting for the next part, in whose state they travel. */
  #before: RawJson[] = [];
  #thinking = '';

  constructor(provider: string) {
    this.#provider = provider;
  }

  /** Adds a text block, of which nothing but text has to travel unless it is said. An empty one says nothing. */
  addText(text: string, own: ReadonlyMap<string, JsonOut> = NO_FIELDS): void {
    if (text !== '') this.#parts.push({ type: 'text', text, state: this.#takeState(own) });
  }

  /** Adds any block; `sink` gets the call if it is one. Failure: server, for a call that makes no sense. */
  addBlock(block: BlockFields, sink: DeltaSink): Failure | undefined {
    const type = block.get('type');
    if (type === 'tool_use') return this.#addCall(block, sink);
    if (type === 'text') {
      this.addText(textEntry(block, 'text') ?? '', ownFields('text', block));
      return undefined;
    }
    if (type === 'thinking') this.#thinking += textEntry(block, 'thinking') ?? '';
    const carried = carriedBlock(block);
    if (carried !== undefined) this.#before.push(carried);
    return undefined;
  }

  /** Adds a block that the stop cut. Its reasoning was disclosed and may be read, but is not what the provider takes back. */
  addCut(block: BlockFields): void {
    if (block.get('type') === 'thinking') this.#thinking += textEntry(block, 'thinking') ?? '';
  }

  #addCall(block: BlockFields, sink: DeltaSink): Failure | undefined {
    const name = textEntry(block, 'name');
    if (name === undefined) return malformedReply(this.#provider, 200, 'a tool call has no name');
    if (this.#callIds.size === REPLY_CALLS_MAX) return tooManyCalls(this.#provider);
    const input = block.get('input') ?? null;
    if (input !== null && !(input instanceof JsonObject)) {
      return malformedReply(this.#provider, 200, 'the arguments of a tool call are not an object');
    }
    const call: ToolCallPart = {
      type: 'tool_call',
      id: ownCallId(textEntry(block, 'id'), this.#callIds),
      name,
      arguments: input === null ? new RawJson('{}') : input.raw,
      state: this.#takeState(ownFields('tool_call', block)),
    };
    this.#parts.push(call);
    sink({ type: 'tool_call', call });
    return undefined;
  }

  #takeState(own: ReadonlyMap<string, JsonOut>): string | undefined {
    const state = encodePartState(this.#provider, this.#before, own);
    this.#before = [];
    return state;
  }

  /** The reply. Call once, when no block will follow. Failures, when nothing was said: refusal, and server where no reason is known. */
  finish(head: ReplyHead): ChatReply | Failure {
    const isDeclined = head.stopReason === 'refusal';
    const parts = isDeclined ? withoutCalls(this.#parts) : this.#parts;
    const isSilent = parts.length === 0;
    if (head.stopReason === 'unknown' && isSilent && this.#before.length === 0) {
      return malformedReply(this.#provider, 200, 'the reply has neither content nor a reason for its end');
    }
    if (this.#before.length > 0) parts.push({ type: 'text', text: '', state: this.#takeState(NO_FIELDS) });
    const reply: ChatReply = {
      id: head.id,
      model: head.model,
      parts,
      thinking: this.#thinking,
      // Calls are there to be run, whatever the provider says of its stop.
      stopReason: this.#callIds.size > 0 && !isDeclined ? 'tool_use' : head.stopReason,
      usage: head.usage,
    };
    if (!isDeclined || !isSilent) return reply;
    return upstreamFailure({
      provider: this.#provider,
      status: 200,
      kind: 'refusal',
      code: textField(head.stopDetails, 'category') ?? 'refusal',
      detail: textField(head.stopDetails, 'explanation'),
      reply,
    });
  }
}

/** `pause_turn` and others that only a provider's own tools and betas bring are `unknown`. */
const STOP_REASONS: ReadonlyMap<string, StopReason> = new Map([
  ['end_turn', 'end_turn'],
  ['max_tokens', 'max_tokens'],
  ['model_context_window_exceeded', 'max_tokens'],
  ['stop_sequence', 'stop_sequence'],
  ['tool_use', 'tool_use'],
  ['refusal', 'refusal'],
]);

/** What a message says of itself beside its content. In a stream it comes in several events; the last word counts. */
export class ReplyHead {
  id: string | undefined;
  model: string | undefined;
  stopReason: StopReason = 'unknown';
  stopDetails: unknown;
  #input: number | undefined;
  #cacheRead: number | undefined;
  #cacheWrite: number | undefined;
  #output: number | undefined;
  #reasoning: number | undefined;

  /** Takes a message: the whole one, or the empty one that begins a stream. */
  readMessage(message: unknown): void {
    this.id = textField(message, 'id') ?? this.id;
    this.model = textField(message, 'model') ?? this.model;
    this.readEnding(message);
    this.readUsage(field(message, 'usage'));
  }

  /** Takes `stop_reason` and what belongs to it, if they are there. */
  readEnding(from: unknown): void {
    const reason = textField(from, 'stop_reason');
    if (reason === undefined) return;
    this.stopReason = STOP_REASONS.get(reason) ?? 'unknown';
    this.stopDetails = field(from, 'stop_details');
  }

  /** Takes counts. They are totals so far, so they replace earlier ones; null and absent ones do not. */
  readUsage(usage: unknown): void {
    this.#input = countField(usage, 'input_tokens') ?? this.#input;
    this.#cacheRead = countField(usage, 'cache_read_input_tokens') ?? this.#cacheRead;
    this.#cacheWrite = countField(usage, 'cache_creation_input_tokens') ?? this.#cacheWrite;
    this.#output = countField(usage, 'output_tokens') ?? this.#output;
    this.#reasoning = countField(field(usage, 'output_tokens_details'), 'thinking_tokens') ?? this.#reasoning;
  }

  /**
   * True when the stop may have fallen inside the last block. Only a text is of use then, and what is whole all the same: a
   * call has lost arguments, though what is left of them may be an object.
   */
  get isCut(): boolean {
    return this.stopReason === 'max_tokens' || this.stopReason === 'refusal';
  }

  /** `input_tokens` of the API leaves out what a cache served or stored. */
  get usage(): Usage | undefined {
    if (this.#input === undefined && this.#output === undefined) return undefined;
    const cacheReadTokens = this.#cacheRead ?? 0;
    const cacheWriteTokens = this.#cacheWrite ?? 0;
    return {
      inputTokens: (this.#input ?? 0) + cacheReadTokens + cacheWriteTokens,
      outputTokens: this.#output ?? 0,
      cacheReadTokens,
      cacheWriteTokens,
      reasoningTokens: this.#reasoning ?? 0,
    };
  }
}
