/**
 * Gemini's replies, whole and streamed.
 *
 * A stream is a series of partial replies of the same shape as a whole one, so both are read by one
 * assembly and a whole reply is a stream of one frame.
 * Source: Gemini API, GenerateContentResponse; streamGenerateContent with alt=sse.
 */

import { GrowingText } from '../../base/growing-text.ts';
import { parseLenient } from '../../base/json/lenient.ts';
import { itemsOf, memberOf } from '../../base/json/member.ts';
import { parseReplied } from '../../base/json/parse.ts';
import type { ParsedText } from '../../base/json/parse.ts';
import { JsonArray, JsonObject, JsonProblem, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { countField, field, isObject, listField, stringField, textEntry, textField } from '../../base/loose.ts';
import type { DeltaSink, StreamDecoder } from '../../core/adapter.ts';
import { ownCallId } from '../../core/call-id.ts';
import { isSilent, REPLY_CALLS_MAX, REPLY_CHARS_MAX, withoutCalls } from '../../core/chat.ts';
import type { AssistantPart, ChatReply, ToolCallPart, Usage } from '../../core/chat.ts';
import { beyondLimit, Failure, malformedReply, replyTooLong, tooManyCalls, truncatedStream, unreadableReply, upstreamFailure } from '../../core/failure.ts';
import { isFiller } from '../../core/filler-frame.ts';
import { StreamedArgs } from './arguments.ts';
import { failureInside } from './failure.ts';
import { blockReasonFrom, finishReasonFrom, stopReasonFrom } from './finish.ts';
import { encodePartState, isCarriedPart } from './state.ts';

/**
 * A whole 200 body. Failures: server (malformed, beyond a limit, or a failed attempt without content), refusal
 * (without content), or what an error inside says.
 */
export function decodeGeminiReply(provider: string, body: string, json?: unknown, exact?: JsonValue | JsonProblem): ChatReply | Failure {
  const assembly = new ReplyAssembly(provider);
  return assembly.absorb(body, ignore, json, exact) ?? assembly.finish();
}

function ignore(): void {}

/**
 * Decodes one stream. The terminal signal is a finish reason or a block; usage may follow it, so the
 * terminal delta comes with the last byte.
 */
export class GeminiStream implements StreamDecoder {
  readonly #provider: string;
  readonly #assembly: ReplyAssembly;
  #isOver = false;

  constructor(provider: string) {
    this.#provider = provider;
    this.#assembly = new ReplyAssembly(provider);
  }

  get servedModel(): string | undefined {
    return this.#assembly.model;
  }

  // hot: per token
  frame(event: string, data: string, sink: DeltaSink, parsed?: ParsedText): void {
    if (this.#isOver || isFiller(data)) return;
    // Gemini names no events; a proxy on the way may.
    const failure = event === 'error'
      ? failureInside(this.#provider, parseLenient(data), true)
      : this.#assembly.absorb(data, sink, parsed?.json, parsed?.exact);
    if (failure === undefined) return;
    this.#isOver = true;
    sink({ type: 'failed', failure });
  }

  end(sink: DeltaSink): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const reply = this.#assembly.isFinished ? this.#assembly.finish() : truncatedStream(this.#provider);
    sink(reply instanceof Failure ? { type: 'failed', failure: reply } : { type: 'done', reply });
  }
}

/** What a part costs beside its text, so that a flood of empty parts is bounded too. */
const PART_CHARS = 16;

/** A function call that arrives in pieces. */
type OpenCall = {
  readonly id: string | undefined;
  readonly name: string;
  readonly signature: string | undefined;
  readonly args: StreamedArgs;
};

class ReplyAssembly {
  readonly #provider: string;
  readonly #parts: AssistantPart[] = [];
  readonly #callIds = new Set<string>();
  /** The unsigned text being read, and what came before it. */
  #text = new GrowingText();
  #textBefore: readonly RawJson[] = [];
  /** Parts waiting for the next one, in whose state they travel. */
  #before: RawJson[] = [];
  #openCall: OpenCall | undefined;
  readonly #thinking = new GrowingText();
  #chars = 0;
  /** Of the text that is being read, where nothing of it is kept as it was written: a slice keeps all of it. */
  #sourceChars = 0;
  #id: string | undefined;
  /** The model as the provider names it. */
  model: string | undefined;
  #usage: Usage | undefined;
  #hasCandidate = false;
  #finishReason: string | undefined;
  #blockReason: string | undefined;
  /** The provider's prose about the ending. */
  #remark: string | undefined;

  constructor(provider: string) {
    this.#provider = provider;
  }

  /** True once the provider has said how the reply ends. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined || this.#blockReason !== undefined;
  }

  /** Takes the text of a reply or of a piece of one, or of an array of pieces (streams without alt=sse come so). */
  absorb(source: string, sink: DeltaSink, reply = parseLenient(source), exact?: JsonValue | JsonProblem): Failure | undefined {
    this.#sourceChars = source.length;
    if (isObject(reply)) return this.#absorbReply(reply, source, sink, exact);
    const pieces = Array.isArray(reply) ? (exact ?? parseReplied(source)) : undefined;
    if (!(pieces instanceof JsonArray)) return unreadableReply(this.#provider, source, 'the reply is not a JSON object');
    for (const [i, piece] of pieces.items.entries()) {
      if (!(piece instanceof JsonObject)) return this.#malformed('the reply is not a JSON object');
      const failure = this.#absorbReply((reply as readonly unknown[])[i], piece.raw.text, sink, piece);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  #absorbReply(reply: unknown, source: string, sink: DeltaSink, exact: JsonValue | JsonProblem | undefined): Failure | undefined {
    const failure = failureInside(this.#provider, reply);
    if (failure !== undefined) return failure;
    this.#id = textField(reply, 'responseId') ?? this.#id;
    this.model = textField(reply, 'modelVersion') ?? this.model;
    this.#usage = usageFrom(field(reply, 'usageMetadata')) ?? this.#usage;
    const feedback = field(reply, 'promptFeedback');
    this.#blockReason = blockReasonFrom(field(feedback, 'blockReason')) ?? this.#blockReason;
    this.#remark = textField(feedback, 'blockReasonMessage') ?? this.#remark;
    const candidates = listField(reply, 'candidates');
    // More than one comes only when provider_options asked for them.
    const at = candidates.findIndex((candidate) => (field(candidate, 'index') ?? 0) === 0);
    return at === -1 ? undefined : this.#absorbCandidate(candidates[at], source, at, sink, exact);
  }

  #absorbCandidate(candidate: unknown, source: string, at: number, sink: DeltaSink, exact: JsonValue | JsonProblem | undefined): Failure | undefined {
    this.#hasCandidate = true;
    this.#finishReason = finishReasonFrom(field(candidate, 'finishReason')) ?? this.#finishReason;
    this.#remark = textField(candidate, 'finishMessage') ?? this.#remark;
    let exactParts: readonly JsonValue[] | undefined;
    for (const [i, part] of listField(field(candidate, 'content'), 'parts').entries()) {
      let failure: Failure | undefined;
      if (isPlain(part)) {
        failure = this.#addPlain(part, sink);
      } else {
        exactParts ??= exactPartsOf(exact ?? parseReplied(source), at);
        if (exactParts === undefined) return unreadableReply(this.#provider, source, 'the reply is not a JSON object');
        failure = this.#addExact(exactParts[i], source, sink);
      }
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  // hot: per token
  #addPlain(part: unknown, sink: DeltaSink): Failure | undefined {
    const text = stringField(part, 'text') ?? '';
    if (field(part, 'thought') === true) return this.#addThinking(text, sink);
    return this.#addText(text, textField(part, 'thoughtSignature'), sink);
  }

  #addThinking(text: string, sink: DeltaSink): Failure | undefined {
    if (text === '') return undefined;
    if (!this.#hasRoomFor(text.length)) return replyTooLong(this.#provider);
    this.#thinking.add(text);
    sink({ type: 'thinking', text });
    return undefined;
  }

  #addText(text: string, signature: string | undefined, sink: DeltaSink): Failure | undefined {
    if (text === '' && signature === undefined) return undefined;
    if (!this.#hasRoomFor(text.length + (signature?.length ?? 0))) return replyTooLong(this.#provider);
    if (signature !== undefined) {
      // A signature belongs to exactly this part, which must not be merged with another, even when empty.
      this.#closeText();
      this.#parts.push({ type: 'text', text, state: this.#stateOf(signature) });
    } else {
      if (this.#before.length > 0) {
        this.#closeText();
        this.#textBefore = this.#takeBefore();
      }
      this.#text.add(text);
    }
    if (text !== '') sink({ type: 'text', text });
    return undefined;
  }

  /** A part that is needed as it was written: a function call, or one to be carried back. */
  #addExact(part: JsonValue | undefined, source: string, sink: DeltaSink): Failure | undefined {
    if (!(part instanceof JsonObject)) return unreadableReply(this.#provider, source, 'a part of the reply is not a JSON object');
    if (!this.#hasRoomFor(this.#sourceChars)) return replyTooLong(this.#provider);
    this.#sourceChars = 0;
    const call = part.entries.get('functionCall');
    if (call instanceof JsonObject) return this.#addCall(call, textEntry(part.entries, 'thoughtSignature'), sink);
    if (isCarriedPart(part)) this.#before.push(part.raw);
    return part.entries.get('thought') === true ? this.#addThinking(textEntry(part.entries, 'text') ?? '', sink) : undefined;
  }

  #addCall(call: JsonObject, signature: string | undefined, sink: DeltaSink): Failure | undefined {
    const name = textEntry(call.entries, 'name');
    const id = textEntry(call.entries, 'id');
    const isWhole = call.entries.get('willContinue') !== true;
    const pieces = itemsOf(call.entries.get('partialArgs'));
    if (name !== undefined) {
      if (this.#callIds.size === REPLY_CALLS_MAX) return tooManyCalls(this.#provider);
      if (this.#openCall !== undefined) return this.#malformed('a function call began before the last one ended');
      if (isWhole && pieces.length === 0) {
        const args = call.entries.get('args') ?? null;
        if (args !== null && !(args instanceof JsonObject)) {
          return this.#malformed('the arguments of a function call are no object');
        }
        this.#endCall(id, name, args === null ? new RawJson('{}') : args.raw, signature, sink);
        return undefined;
      }
      this.#openCall = { id, name, signature, args: new StreamedArgs() };
    }
    const open = this.#openCall;
    if (open === undefined) return this.#malformed('a function call has no name');
    for (const piece of pieces) {
      if (!open.args.add(piece)) return this.#misfit(open.args.limit);
    }
    if (!isWhole) return undefined;
    this.#openCall = undefined;
    this.#endCall(open.id, open.name, open.args.raw, open.signature ?? signature, sink);
    return undefined;
  }

  #misfit(limit: string | undefined): Failure {
    return limit === undefined ? this.#malformed('the arguments of a function call do not fit together') : beyondLimit(this.#provider, 200, limit);
  }

  #endCall(givenId: string | undefined, name: string, args: RawJson, signature: string | undefined, sink: DeltaSink): void {
    this.#closeText();
    const id = ownCallId(givenId, this.#callIds);
    const call: ToolCallPart = { type: 'tool_call', id, name, arguments: args, state: this.#stateOf(signature) };
    this.#parts.push(call);
    sink({ type: 'tool_call', call });
  }

  #closeText(): void {
    if (this.#text.length === 0) return;
    const state = encodePartState(this.#provider, { signature: undefined, before: this.#textBefore });
    this.#parts.push({ type: 'text', text: this.#text.text, state });
    this.#text = new GrowingText();
    this.#textBefore = [];
  }

  #stateOf(signature: string | undefined): string | undefined {
    return encodePartState(this.#provider, { signature, before: this.#takeBefore() });
  }

  #takeBefore(): readonly RawJson[] {
    const before = this.#before;
    if (before.length > 0) this.#before = [];
    return before;
  }

  #hasRoomFor(chars: number): boolean {
    this.#chars += chars + PART_CHARS;
    return this.#chars <= REPLY_CHARS_MAX;
  }

  /** Without the text itself: it may hold what the model wrote, which belongs in no log. */
  #malformed(what: string): Failure {
    return malformedReply(this.#provider, 200, what);
  }

  /** The reply. Call once, when nothing more will come. */
  finish(): ChatReply | Failure {
    if (!this.#hasCandidate && this.#blockReason === undefined) return this.#malformed('the reply holds no candidate');
    this.#closeText();
    if (this.#before.length > 0) this.#parts.push({ type: 'text', text: '', state: this.#stateOf(undefined) });
    const reason = this.#finishReason ?? this.#blockReason;
    const ending = this.#finishReason === undefined && this.#blockReason !== undefined ? 'refusal' : stopReasonFrom(reason);
    if (this.#openCall !== undefined && ending !== 'max_tokens') {
      return this.#malformed('the reply ended inside a function call');
    }
    const isDeclined = ending === 'refusal';
    const parts = isDeclined ? withoutCalls(this.#parts) : this.#parts;
    const isEmpty = parts.every(isSilent);
    // With nothing to show, an ending such as MALFORMED_FUNCTION_CALL is a failed attempt that another may mend.
    if (isEmpty && ending === 'unknown') return upstreamFailure({ provider: this.#provider, status: 200, kind: 'server', code: reason, detail: this.#remark });
    const reply: ChatReply = {
      id: this.#id,
      model: this.model,
      parts,
      thinking: this.#thinking.text,
      stopReason: this.#callIds.size > 0 && !isDeclined ? 'tool_use' : ending,
      usage: this.#usage,
    };
    if (!isEmpty || !isDeclined) return reply;
    return upstreamFailure({ provider: this.#provider, status: 200, kind: 'refusal', code: reason, detail: this.#remark, reply });
  }
}

/** True for text, a signature alone, and a thought that need not go back because nothing signed hangs on it. */
function isPlain(part: unknown): boolean {
  if (isObject(field(part, 'functionCall'))) return false;
  if (field(part, 'thought') === true) return field(part, 'thoughtSignature') === undefined;
  if (stringField(part, 'text') !== undefined) return true;
  return isObject(part) && Object.keys(part).every((key) => key === 'thoughtSignature' || part[key] === null);
}

/** The parts of a candidate as they were written: numbers digit for digit. Undefined when the text could not be read. */
function exactPartsOf(reply: JsonValue | JsonProblem, candidateAt: number): readonly JsonValue[] | undefined {
  if (reply instanceof JsonProblem) return undefined;
  const candidate = itemsOf(memberOf(reply, 'candidates'))[candidateAt];
  return itemsOf(memberOf(memberOf(candidate, 'content'), 'parts'));
}

/** Prompt tokens include cached ones but not the results of server-side tools; candidates' tokens do not include thoughts. */
function usageFrom(metadata: unknown): Usage | undefined {
  const prompt = countField(metadata, 'promptTokenCount');
  const output = countField(metadata, 'candidatesTokenCount');
  const thoughts = countField(metadata, 'thoughtsTokenCount');
  // Early frames may hold metadata without any count.
  if (prompt === undefined && output === undefined && thoughts === undefined) return undefined;
  return {
    inputTokens: (prompt ?? 0) + (countField(metadata, 'toolUsePromptTokenCount') ?? 0),
    outputTokens: (output ?? 0) + (thoughts ?? 0),
    cacheReadTokens: countField(metadata, 'cachedContentTokenCount') ?? 0,
    cacheWriteTokens: 0,
    reasoningTokens: thoughts ?? 0,
  };
}
