/**
 * Decodes one stream of the Messages API.
 *
 * Order: `message_start`; for each content block `content_block_start`, `content_block_delta`s, `content_block_stop`;
 * `message_delta`; `message_stop`, the only sign that the answer is complete. `ping` and unknown events mean nothing.
 * What comes in pieces is put together as the block that a whole reply would have had, and then read as one.
 * Source: Anthropic Messages API, streaming.
 */

import { GrowingText } from '../../base/growing-text.ts';
import { parseLenient } from '../../base/json/lenient.ts';
import { createReplyBudget } from '../../base/json/limits.ts';
import { itemsOf, memberOf } from '../../base/json/member.ts';
import { parseReplied, repliedOf } from '../../base/json/parse.ts';
import type { ParsedText } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonArray, JsonObject, JsonProblem, NO_OBJECT } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { field, isObject, listField, numberField, stringField, textEntry } from '../../base/loose.ts';
import type { AnswerUse, DeltaSink, StreamDecoder } from '../../core/adapter.ts';
import { REPLY_CHARS_MAX } from '../../core/chat.ts';
import { Failure, malformedReply, problemReply, replyTooLong, truncatedStream, unreadableReply } from '../../core/failure.ts';
import { isFiller } from '../../core/filler-frame.ts';
import { failureInside } from './failure.ts';
import { ReplyHead, TurnAssembly, exactContent, isWhole } from './reply.ts';
import type { BlockFields } from './state.ts';

/** What a piece costs beside its text, so that a flood of empty ones is bounded too. */
const PIECE_CHARS = 16;

/** In place of a piece of `input` that is no text: without it the others would be another call. */
const NO_JSON = '\0';

/** A block between its start and its stop. */
type OpenBlock = {
  readonly index: number | undefined;
  readonly type: string;
  /** The block as its start has it. */
  readonly start: BlockFields;
  /** Text or reasoning so far. */
  readonly text: GrowingText;
  /** Comes once, right before the stop. */
  signature: string | undefined;
  /** Some of its pieces are of kinds that are not known here and so were passed over. */
  hasUnknownPieces: boolean;
  /** Pieces of `input`, which are JSON only when whole. */
  inputText: string;
  readonly citations: JsonObject[];
};

/**
 * Text and reasoning are passed on as they arrive, a call once it is whole and something follows it. Failures: server
 * (cut short, malformed, longer than 32 Mi characters), refusal (no content), or what an error event says.
 */
export class AnthropicStream implements StreamDecoder {
  readonly #provider: string;
  readonly #isRelayed: boolean;
  readonly #head = new ReplyHead();
  readonly #turn: TurnAssembly;
  #open: OpenBlock | undefined;
  /** The last block that stopped. It waits for what follows: if the stop reason says so, it is a cut one. */
  #stopped: OpenBlock | undefined;
  #chars = 0;
  /** Of blocks and citations, which are kept as they were parsed. */
  readonly #budget = createReplyBudget();
  #isOver = false;

  constructor(provider: string, use?: AnswerUse) {
    this.#provider = provider;
    this.#isRelayed = use?.isRelayed === true;
    this.#turn = new TurnAssembly(provider);
  }

  get servedModel(): string | undefined {
    return this.#head.model;
  }

  // hot: per token
  frame(event: string, data: string, sink: DeltaSink, parsed?: ParsedText): void {
    if (this.#isOver || event === 'ping' || isFiller(data)) return;
    const json = parsed === undefined ? parseLenient(data) : parsed.json;
    const failure = isObject(json)
      ? this.#read(event === 'error' ? event : (stringField(json, 'type') ?? event), json, data, sink, parsed)
      : unreadableReply(this.#provider, data, 'an event of the stream is not a JSON object');
    if (failure !== undefined) this.#fail(failure, sink);
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
      case 'content_block_delta':
        return this.#addPiece(json, data, sink, parsed);
      case 'content_block_start':
        return this.#release(sink) ?? this.#startBlock(json, data, sink, parsed);
      case 'content_block_stop':
        this.#stopBlock(numberField(json, 'index'));
        return undefined;
      case 'message_start':
        return this.#startMessage(json, data, sink, parsed);
      case 'message_delta':
        this.#head.readUsage(field(json, 'usage'));
        this.#head.readEnding(field(json, 'delta'));
        return undefined;
      case 'message_stop':
        return this.#release(sink) ?? this.#finish(sink);
      default:
        return failureInside(this.#provider, json, type === 'error');
    }
  }

  #startMessage(json: unknown, data: string, sink: DeltaSink, parsed: ParsedText | undefined): Failure | undefined {
    const message = field(json, 'message');
    this.#head.readMessage(message);
    if (listField(message, 'content').length === 0) return undefined;
    // A turn that the provider's own code execution goes on with begins with the blocks it has already.
    const exact = this.#exactEntry(data, parsed, 'message');
    if (exact instanceof Failure) return exact;
    for (const block of exactContent(exact)) {
      const failure = this.#release(sink);
      if (failure !== undefined) return failure;
      this.#openBlock(undefined, block, sink);
    }
    return this.#count(data.length);
  }

  #startBlock(json: unknown, data: string, sink: DeltaSink, parsed: ParsedText | undefined): Failure | undefined {
    const block = this.#exactEntry(data, parsed, 'content_block');
    if (block instanceof Failure) return block;
    if (!(block instanceof JsonObject)) return this.#malformed('a content block of the stream is not an object');
    this.#openBlock(numberField(json, 'index'), block.entries, sink);
    return this.#count(data.length);
  }

  /** An entry of an event as it was written; null when it has none. */
  #exactEntry(data: string, parsed: ParsedText | undefined, key: string): JsonValue | Failure {
    const event = repliedOf(data, parsed, this.#budget);
    if (event instanceof JsonProblem) return problemReply(this.#provider, event, 'an event of the stream is not JSON');
    return memberOf(event, key) ?? null;
  }

  #openBlock(index: number | undefined, start: BlockFields, sink: DeltaSink): void {
    const type = textEntry(start, 'type') ?? '';
    const open: OpenBlock = {
      index,
      type,
      start,
      text: new GrowingText(type === 'text' || type === 'thinking' ? textEntry(start, type) : undefined),
      signature: undefined,
      hasUnknownPieces: false,
      inputText: '',
      citations: itemsOf(start.get('citations')).filter((item) => item instanceof JsonObject),
    };
    this.#open = open;
    // Hosts that do not stream themselves send a block whole.
    if (open.text.length > 0) sink({ type: type === 'text' ? 'text' : 'thinking', text: open.text.text });
  }

  // hot: per token
  #addPiece(json: unknown, data: string, sink: DeltaSink, parsed: ParsedText | undefined): Failure | undefined {
    const open = this.#open;
    if (open === undefined || !isIndexOf(open, numberField(json, 'index'))) return this.#misplaced();
    const delta = field(json, 'delta');
    switch (stringField(delta, 'type')) {
      case 'text_delta':
        return this.#addText(open, 'text', stringField(delta, 'text') ?? '', sink);
      case 'thinking_delta':
        return this.#addText(open, 'thinking', stringField(delta, 'thinking') ?? '', sink);
      case 'input_json_delta': {
        const given = field(delta, 'partial_json') ?? '';
        const piece = typeof given === 'string' ? given : NO_JSON;
        open.inputText += piece;
        return this.#count(piece.length);
      }
      case 'signature_delta':
        open.signature = stringField(delta, 'signature') ?? open.signature;
        return this.#count(data.length);
      case 'citations_delta':
        return this.#addCitation(open, data, parsed);
      case 'compaction_delta':
        open.text.add(stringField(delta, 'content') ?? '');
        return this.#count(data.length);
      default:
        open.hasUnknownPieces = true;
        return undefined;
    }
  }

  // hot: per token
  #addText(open: OpenBlock, type: 'text' | 'thinking', text: string, sink: DeltaSink): Failure | undefined {
    // SGLang puts the line break between two calls into the first of them.
    if (open.type !== type) return text.trim() === '' ? this.#count(text.length) : this.#misplaced();
    if (text !== '') {
      open.text.add(text);
      sink({ type, text });
    }
    return this.#count(text.length);
  }

  #addCitation(open: OpenBlock, data: string, parsed: ParsedText | undefined): Failure | undefined {
    const delta = this.#exactEntry(data, parsed, 'delta');
    if (delta instanceof Failure) return delta;
    const citation = memberOf(delta, 'citation');
    if (citation instanceof JsonObject) open.citations.push(citation);
    return this.#count(data.length);
  }

  #stopBlock(index: number | undefined): void {
    if (this.#open === undefined || !isIndexOf(this.#open, index)) return;
    this.#stopped = this.#open;
    this.#open = undefined;
  }

  /** Adds the last block to the turn, now that something follows it. Hosts may have left out its stop. */
  #release(sink: DeltaSink): Failure | undefined {
    this.#stopBlock(undefined);
    const block = this.#stopped;
    this.#stopped = undefined;
    if (block === undefined) return undefined;
    if (block.type === 'text') return this.#releaseText(block, sink);
    if (isFragment(block)) return undefined;
    const whole = block.type === 'thinking' ? thinkingFields(block) : otherFields(block);
    const isRead = !(whole instanceof JsonProblem);
    if (this.#head.isCut && !(isRead && isWhole(whole))) {
      if (isRead) this.#turn.addCut(whole);
      return undefined;
    }
    const fields = isRead ? whole : this.#relayedFields(block, whole);
    if (fields instanceof JsonProblem) return problemReply(this.#provider, fields, 'the arguments of a tool call are not a JSON object');
    return this.#turn.addBlock(fields, sink);
  }

  /**
   * A call whose input is no JSON object: with `eager_input_streaming` the API does not look at it, and who asked for
   * that reads it as a text.
   */
  #relayedFields({ start, inputText }: OpenBlock, problem: JsonProblem): BlockFields | JsonProblem {
    if (!this.#isRelayed || problem.isLimit) return problem;
    const input = parseReplied(renderJson({ input: inputText }));
    return input instanceof JsonProblem ? input : new Map(start).set('input', input);
  }

  #releaseText(block: OpenBlock, sink: DeltaSink): Failure | undefined {
    if (block.citations.length > 0) return this.#turn.addBlock(citedFields(block), sink);
    this.#turn.addText(block.text.text);
    return undefined;
  }

  #finish(sink: DeltaSink): Failure | undefined {
    const reply = this.#turn.finish(this.#head);
    if (reply instanceof Failure) return reply;
    this.#isOver = true;
    sink({ type: 'done', reply });
    return undefined;
  }

  /** Keeps what one stream may hold within its bound. */
  #count(chars: number): Failure | undefined {
    this.#chars += chars + PIECE_CHARS;
    return this.#chars <= REPLY_CHARS_MAX ? undefined : replyTooLong(this.#provider);
  }

  #misplaced(): Failure {
    return this.#malformed('a piece in its stream belongs to no open content block');
  }

  #malformed(what: string): Failure {
    return malformedReply(this.#provider, 200, what);
  }
}

/** Hosts that imitate the API may leave the index out. */
function isIndexOf(open: OpenBlock, index: number | undefined): boolean {
  return index === undefined || open.index === undefined || index === open.index;
}

/** True for a block of an unknown type of which only the beginning is there, so that the provider would not know it again. */
function isFragment({ type, hasUnknownPieces, text, inputText }: OpenBlock): boolean {
  return hasUnknownPieces && type !== 'thinking' && type !== 'tool_use' && text.length === 0 && inputText === '';
}

function thinkingFields({ text, signature, start }: OpenBlock): BlockFields {
  const fields = new Map<string, JsonValue>([['type', 'thinking'], ['thinking', text.text]]);
  const seal = signature ?? start.get('signature');
  return seal === undefined ? fields : fields.set('signature', seal);
}

function citedFields({ text, citations }: OpenBlock): BlockFields {
  const list = `[${citations.map((citation) => citation.raw.text).join(',')}]`;
  return new Map<string, JsonValue>([['type', 'text'], ['text', text.text], ['citations', new JsonArray(citations, list, 0, list.length)]]);
}

/** The block as its start has it, completed by its pieces; a problem when its input is not an object. */
function otherFields(block: OpenBlock): BlockFields | JsonProblem {
  const fields = new Map(block.start);
  if (block.text.length > 0) fields.set('content', block.text.text);
  // No piece, or only empty ones: the start's own input counts, which is `{}` there.
  if (block.inputText.trim() === '') return fields;
  const input = parseReplied(block.inputText);
  if (input instanceof JsonProblem) return input;
  // `null` stands for no arguments, as it does in a whole message.
  return input === null || input instanceof JsonObject ? fields.set('input', input) : NO_OBJECT;
}
