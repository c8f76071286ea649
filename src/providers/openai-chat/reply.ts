/**
 * A reply while it is being put together, from one whole message or from a stream's deltas.
 *
 * Both go through the same code, so a streamed answer and its whole twin come out alike. What hosts do
 * differently is absorbed here: where reasoning stands, what a finish reason is called, where usage
 * is. Source: OpenAI, Chat Completions, response and chunk objects; the hosts' own pages.
 */

import { GrowingText } from '../../base/growing-text.ts';
import { parseLenient } from '../../base/json/lenient.ts';
import type { JsonProblem, JsonValue } from '../../base/json/value.ts';
import { countField, field, isObject, listField, stringField, textField } from '../../base/loose.ts';
import type { AnswerUse, DeltaSink } from '../../core/adapter.ts';
import { REPLY_CHARS_MAX } from '../../core/chat.ts';
import type { AssistantPart, ChatReply, StopReason, Usage } from '../../core/chat.ts';
import { Failure, malformedReply, replyTooLong, tooManyCalls, unreadableReply, upstreamFailure } from '../../core/failure.ts';
import { failureInside } from '../openai-common/failure.ts';
import { CallDrafts } from './calls.ts';
import type { WholeCall } from './calls.ts';
import type { HostProfile } from './profile.ts';
import { MessageSource } from './raw.ts';
import { ReasoningDetails } from './reasoning-details.ts';
import { ReasoningTags } from './reasoning-tags.ts';
import type { Told } from './reasoning-tags.ts';
import { NO_TURN_STATE, partState } from './state.ts';
import type { TurnState } from './state.ts';

/**
 * What the finish reasons mean for an answer without calls. `eos` is Together's, `model_length` Mistral's, `sensitive` and the
 * context's name Z.ai's.
 */
const STOP_REASONS: ReadonlyMap<string, StopReason> = new Map([
  ['stop', 'end_turn'],
  ['eos', 'end_turn'],
  ['length', 'max_tokens'],
  ['model_length', 'max_tokens'],
  ['model_context_window_exceeded', 'max_tokens'],
  ['content_filter', 'refusal'],
  ['sensitive', 'refusal'],
]);

/** Finish reasons that mean the host broke down (DeepSeek; Mistral and OpenRouter; vLLM, SGLang and Z.ai; Z.ai). */
const FAILED_REASONS: ReadonlySet<string> = new Set(['insufficient_system_resource', 'error', 'abort', 'network_error']);

/** The most that OpenAI makes of one request. */
const CHOICES_MAX = 128;

/** A whole 200 body. Failures: server, refusal, or what an error inside it says. */
export function decodeChatBody(provider: string, profile: HostProfile, body: string, json = parseLenient(body), exact?: JsonValue | JsonProblem, use?: AnswerUse): ChatReply | Failure {
  if (!isObject(json)) return unreadableReply(provider, body, 'the body is not a JSON object');
  const failure = failureInside(provider, json);
  if (failure !== undefined) return failure;
  const draft = new ReplyDraft(provider, profile, use);
  draft.take(json, body, 'message', () => {}, exact);
  return draft.problem ?? draft.finish();
}

const NO_CALLS: readonly WholeCall[] = [];

/** Fields that disclose reasoning. Hosts send the same text in several, so the first that holds any is the only one read. */
const THINKING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;
type ThinkingField = (typeof THINKING_FIELDS)[number];

// hot: per token
export class ReplyDraft {
  readonly #provider: string;
  readonly #profile: HostProfile;
  readonly #use: AnswerUse | undefined;
  /** Undefined until there is one. */
  #calls: CallDrafts | undefined;
  readonly #details = new ReasoningDetails();
  #id: string | undefined;
  /** The model as the provider names it. */
  model: string | undefined;
  readonly #text = new GrowingText();
  readonly #thinking = new GrowingText();
  #thinkingField: ThinkingField | undefined;
  #tags: ReasoningTags | undefined;
  /** Whether a message, or a delta of one, has come. */
  #hasMessage = false;
  #isRefused = false;
  #isStopMatched = false;
  #finishReason: string | undefined;
  /** Indexes of choices besides the first that have no finish reason yet: nothing else of them is read. */
  readonly #unfinished = new Set<number>();
  #usage: Usage | undefined;
  #unreadable: Failure | undefined;

  constructor(provider: string, profile: HostProfile, use?: AnswerUse) {
    this.#provider = provider;
    this.#profile = profile;
    this.#use = use;
  }

  /** Whether a finish reason has come, for every choice that was begun: the terminal signal of this format. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined && this.#unfinished.size === 0;
  }

  /** The failure once more has come than is kept, or what cannot be read to be kept. */
  get problem(): Failure | undefined {
    if (this.#unreadable !== undefined) return this.#unreadable;
    if (this.#calls?.isTooMany === true) return tooManyCalls(this.#provider);
    const chars = this.#text.length + this.#thinking.length + this.#details.keptChars + (this.#calls?.keptChars ?? 0);
    return chars <= REPLY_CHARS_MAX ? undefined : replyTooLong(this.#provider);
  }

  /** Takes a body or a frame; text and thinking go to the sink at once. Of several choices only index 0 counts. */
  take(json: unknown, text: string, part: 'message' | 'delta', sink: DeltaSink, exact?: JsonValue | JsonProblem): void {
    this.#id ??= textField(json, 'id');
    this.model ??= textField(json, 'model');
    const choices = listField(json, 'choices');
    const at = choices.findIndex(isFirstChoice);
    const choice = choices[at];
    this.#usage =
      usageFrom(field(json, 'usage')) ??
      usageFrom(field(field(json, 'x_groq'), 'usage')) ??
      usageFrom(field(choice, 'usage')) ??
      this.#usage;
    const message = field(choice, part);
    if (isObject(message)) {
      const source = new MessageSource(text, at, part === 'message', exact);
      this.#takeMessage(message, source, sink);
      if (source.isUnreadable) this.#unreadable = unreadableReply(this.#provider, text, 'the reply is not strict JSON');
    }
    this.#finishReason = reasonOf(choice) ?? this.#finishReason;
    if (this.#tags !== undefined && this.#finishReason !== undefined) this.#addTold(this.#tags.end(), sink);
    if (choices.length > (at === -1 ? 0 : 1)) this.#noteOthers(choices);
    // vLLM names the stop string that matched; a number there is a token.
    if (textField(choice, 'stop_reason') !== undefined) this.#isStopMatched = true;
  }

  #noteOthers(choices: readonly unknown[]): void {
    for (const choice of choices) {
      const index = field(choice, 'index');
      if (typeof index !== 'number' || index === 0) continue;
      if (reasonOf(choice) !== undefined) this.#unfinished.delete(index);
      else if (this.#unfinished.size < CHOICES_MAX) this.#unfinished.add(index);
    }
  }

  #takeMessage(message: unknown, source: MessageSource, sink: DeltaSink): void {
    this.#hasMessage = true;
    this.#takeThinking(message, source, sink);
    this.#takeContent(field(message, 'content'), source, sink);
    const refusal = textField(message, 'refusal');
    if (refusal !== undefined) {
      this.#isRefused = true;
      this.#addText(refusal, sink);
    }
    const calls = listField(message, 'tool_calls');
    const legacy = field(message, 'function_call');
    if (calls.length === 0 && !isObject(legacy)) return;
    this.#calls ??= new CallDrafts(this.#provider, this.#use);
    if (calls.length > 0) this.#calls.take(calls, source);
    else this.#calls.takeLegacy(legacy, source);
  }

  #takeThinking(message: unknown, source: MessageSource, sink: DeltaSink): void {
    this.#thinkingField ??= firstThinkingField(message);
    if (this.#thinkingField !== undefined) this.#addThinking(thinkingText(message, this.#thinkingField), sink);
    if (this.#profile.returnsReasoningDetails) this.#details.take(listField(message, 'reasoning_details'), source);
  }

  /** `content` is a string, nothing, a list of typed parts (Mistral, Databricks), or for JSON output an object (Cloudflare). */
  #takeContent(content: unknown, source: MessageSource, sink: DeltaSink): void {
    if (typeof content === 'string') {
      if (this.#text.length === 0 && this.#hasReasoningTags) this.#addTold((this.#tags ??= new ReasoningTags()).take(content), sink);
      else this.#addText(content, sink);
    } else if (Array.isArray(content)) {
      for (const part of content as readonly unknown[]) {
        const type = textField(part, 'type');
        if (type === 'thinking') this.#addThinking(nestedText(field(part, 'thinking')), sink);
        else if (type === 'reasoning') this.#addThinking(nestedText(field(part, 'summary')), sink);
        else this.#addText(typeof part === 'string' ? part : (stringField(part, 'text') ?? ''), sink);
      }
    } else if (isObject(content)) {
      this.#addText(source.rawAt('content')?.text ?? '', sink);
    }
  }

  get #hasReasoningTags(): boolean {
    return this.#profile.reasoningTags === 'gpt-oss' && this.model?.includes('gpt-oss') === true;
  }

  #addTold({ thinking, text }: Told, sink: DeltaSink): void {
    this.#addThinking(thinking, sink);
    this.#addText(text, sink);
  }

  #addText(text: string, sink: DeltaSink): void {
    if (text === '') return;
    this.#text.add(text);
    sink({ type: 'text', text });
  }

  #addThinking(text: string, sink: DeltaSink): void {
    if (text === '') return;
    this.#thinking.add(text);
    sink({ type: 'thinking', text });
  }

  /** The reply of what has come. Failures: server for calls that make no sense or no message, refusal for an answer withheld whole. */
  finish(): ChatReply | Failure {
    const reason = this.#finishReason ?? '';
    const stopReason = STOP_REASONS.get(reason) ?? 'unknown';
    if (FAILED_REASONS.has(reason)) return upstreamFailure({ provider: this.#provider, status: 200, kind: 'server', code: reason });
    // A filter may leave none.
    if (!this.#hasMessage && stopReason !== 'refusal') return malformedReply(this.#provider, 200, 'the reply holds no message');
    const calls = this.#calls?.finish(stopReason === 'max_tokens' || stopReason === 'refusal') ?? NO_CALLS;
    if (calls instanceof Failure) return calls;
    const turnState = this.#turnState(calls.length > 0);
    const parts: AssistantPart[] = [];
    const stateOf = (signature: string | undefined): string | undefined =>
      partState(this.#provider, parts.length === 0 ? turnState : NO_TURN_STATE, signature);
    if (this.#text.length > 0) parts.push({ type: 'text', text: this.#text.text, state: stateOf(undefined) });
    for (const { id, name, arguments: args, thoughtSignature } of calls) {
      const signature = this.#profile.returnsThoughtSignature ? thoughtSignature : undefined;
      parts.push({ type: 'tool_call', id, name, arguments: args, state: stateOf(signature) });
    }
    const homeless = stateOf(undefined);
    if (homeless !== undefined) parts.push({ type: 'text', text: '', state: homeless });
    if (parts.length === 0 && this.#thinking.length === 0 && stopReason === 'unknown') {
      return malformedReply(this.#provider, 200, 'the reply has neither content nor a reason for its end');
    }
    const reply: ChatReply = {
      id: this.#id,
      model: this.model,
      parts,
      thinking: this.#thinking.text,
      stopReason: calls.length > 0 ? 'tool_use' : this.#refine(stopReason),
      usage: this.#usage,
    };
    if (stopReason !== 'refusal' || this.#text.length > 0 || calls.length > 0) return reply;
    return upstreamFailure({ provider: this.#provider, status: 200, kind: 'refusal', code: reason, reply });
  }

  #refine(stopReason: StopReason): StopReason {
    if (this.#isRefused) return 'refusal';
    return stopReason === 'end_turn' && this.#isStopMatched ? 'stop_sequence' : stopReason;
  }

  #turnState(hasCalls: boolean): TurnState {
    const isContentReturned =
      this.#profile.reasoningContent !== 'dropped' && hasCalls && this.#thinkingField === 'reasoning_content';
    return {
      reasoningContent: isContentReturned ? this.#thinking.text : undefined,
      reasoningDetails: this.#details.raw,
    };
  }
}

/** Undefined while the answer goes on: older SGLang and Ollama write an empty text until then, hosts in front of Alibaba's own API `"null"`. */
function reasonOf(choice: unknown): string | undefined {
  const reason = field(choice, 'finish_reason');
  return (typeof reason === 'string' && reason !== '' && reason !== 'null') || typeof reason === 'number' ? String(reason) : undefined;
}

/** Hosts that send one choice leave its index out, or write null. */
function isFirstChoice(choice: unknown): boolean {
  const index = field(choice, 'index');
  return isObject(choice) && (typeof index !== 'number' || index === 0);
}

function firstThinkingField(message: unknown): ThinkingField | undefined {
  for (const name of THINKING_FIELDS) if (thinkingText(message, name) !== '') return name;
  return undefined;
}

function thinkingText(message: unknown, name: ThinkingField): string {
  if (name !== 'reasoning_details') return stringField(message, name) ?? '';
  let text = '';
  for (const detail of listField(message, name)) text += stringField(detail, 'text') ?? stringField(detail, 'summary') ?? '';
  return text;
}

/** Mistral's thinking and Databricks' summary: a list of text parts, once a string. */
function nestedText(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking;
  let text = '';
  if (Array.isArray(thinking)) for (const part of thinking as readonly unknown[]) text += stringField(part, 'text') ?? '';
  return text;
}

/**
 * Usage as reported, or undefined. `prompt_tokens` counts cached tokens, `completion_tokens` reasoning;
 * xAI leaves reasoning out of the latter, which its total shows. Tokens read from a cache: DeepSeek and Mistral have names of
 * their own for them; tokens written to one: LiteLLM, Vercel and Databricks.
 */
function usageFrom(usage: unknown): Usage | undefined {
  const input = countField(usage, 'prompt_tokens');
  const completion = countField(usage, 'completion_tokens');
  if (input === undefined && completion === undefined) return undefined;
  const inputTokens = input ?? 0;
  const written = completion ?? 0;
  const reasoning = countField(field(usage, 'completion_tokens_details'), 'reasoning_tokens') ?? 0;
  const isReasoningApart = countField(usage, 'total_tokens') === inputTokens + written + reasoning;
  const outputTokens = isReasoningApart ? written + reasoning : written;
  const inputDetails = field(usage, 'prompt_tokens_details');
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens:
      countField(inputDetails, 'cached_tokens') ??
      countField(usage, 'prompt_cache_hit_tokens') ??
      countField(usage, 'cached_tokens') ??
      countField(usage, 'num_cached_tokens') ??
      0,
    cacheWriteTokens:
      countField(inputDetails, 'cache_write_tokens') ??
      countField(inputDetails, 'cache_creation_tokens') ??
      countField(usage, 'cache_creation_input_tokens') ??
      0,
    reasoningTokens: Math.min(reasoning, outputTokens),
  };
}
