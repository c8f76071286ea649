/**
 * In what a host differs from others that speak OpenAI Chat Completions, as data.
 *
 * A quirk is here only when it changes bytes that are sent, or what is kept for a later turn. What
 * hosts do differently in their replies is absorbed for all of them alike, since any of them may sit
 * behind any base URL; except `reasoningTags`, which elsewhere could be part of the answer.
 */

import type { StructuredOutput } from '../../core/adapter.ts';
import type { CallIdForm } from '../../core/call-id.ts';
import type { ThinkingStyle } from '../openai-common/thinking.ts';

export type HostProfile = {
  /** OpenAI deprecated `max_tokens`, and its reasoning models refuse it; most other hosts know nothing else. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** `by model`: `developer` for OpenAI's reasoning models, which renamed the role. */
  readonly systemRole: 'system' | 'by model';
  readonly thinking: ThinkingStyle;
  /** Whether a stream asks for usage through `stream_options`. */
  readonly sendsStreamOptions: boolean;
  /** The form of call ids that the host takes; others are mapped to it. Undefined = any. */
  readonly callIds: CallIdForm | undefined;
  /** `narrowed`: a named tool choice is not honoured, so that tool alone is offered, and required. */
  readonly namedToolChoice: 'sent' | 'narrowed';
  /** `merged`: user turns in a row are refused, by the host or by its model's chat template, so they go out as one. */
  readonly userTurns: 'sent' | 'merged';
  /** `answered`: a user right behind results of tools is refused, so a word of the assistant's goes between. */
  readonly userBehindResults: 'sent' | 'answered';
  /** `dropped`: an assistant turn with neither text nor calls is refused. */
  readonly emptyTurns: 'sent' | 'dropped';
  /** `gpt-oss`: the answers of these models begin with reasoning between tags, which is no text of theirs. */
  readonly reasoningTags: 'gpt-oss' | 'none';
  /** Whether reasoning text goes back on turns that made calls. */
  readonly reasoningContent: 'dropped' | 'returned';
  /** What takes its place where the caller lost it, for hosts that refuse such a turn without any. */
  readonly lostReasoning: string | undefined;
  /**
   * What an answer can be held to, rather than asked to be. `gpt-oss schema`: a strict schema, without tools and by those
   * models alone; JSON by all.
   */
  readonly output: StructuredOutput | 'gpt-oss schema';
  /** Whether an answer in JSON is asked only of hosts that say they can give one, of those to which the request may go on. */
  readonly requiresParameters: boolean;
  /** `gpt-oss`: only these models hold their calls to a tool's parameters. */
  readonly strictTools: 'sent' | 'gpt-oss' | 'refused';
  /** Whether a turn can be held to one call, by `parallel_tool_calls`. */
  readonly parallelToolCalls: 'sent' | 'refused';
  /** The part in which a PDF goes out; `file` takes it as data alone, the other two by its URL as well. */
  readonly pdf: 'file' | 'file or url' | 'document_url' | 'refused';
  /** What a tool's result holds besides text. `user message`: goes out in one that follows all results of the turn. */
  readonly resultMedia: 'user message' | 'refused';
  /** The field for who asks. */
  readonly userField: 'safety_identifier' | 'user' | 'user_id' | undefined;
  /** Where the key of a cached beginning goes: a field, or a header. */
  readonly cacheKey: 'prompt_cache_key' | 'x-grok-conv-id' | undefined;
  /** Whether the wish to keep it for long is told to models that take it; undefined = to none. */
  readonly cacheLife: 'by model' | undefined;
  /** Whether `reasoning_details` (OpenRouter's form of signed or encrypted reasoning) goes back. */
  readonly returnsReasoningDetails: boolean;
  /** Whether a call's `extra_content.google.thought_signature` (Gemini's OpenAI layer) goes back. */
  readonly returnsThoughtSignature: boolean;
};

/** A host of which nothing special is known. */
export const PLAIN_HOST: HostProfile = {
  maxTokensField: 'max_tokens',
  systemRole: 'system',
  thinking: 'effort',
  sendsStreamOptions: true,
  callIds: undefined,
  namedToolChoice: 'sent',
  userTurns: 'sent',
  userBehindResults: 'sent',
  emptyTurns: 'sent',
  reasoningTags: 'none',
  reasoningContent: 'dropped',
  lostReasoning: undefined,
  output: 'none',
  requiresParameters: false,
  strictTools: 'refused',
  parallelToolCalls: 'refused',
  pdf: 'refused',
  resultMedia: 'user message',
  userField: undefined,
  cacheKey: undefined,
  cacheLife: undefined,
  returnsReasoningDetails: false,
  returnsThoughtSignature: false,
};

/** OpenAI itself. Takes ids of up to 40 characters, and no field that it does not know. */
export const OPENAI_HOST: HostProfile = {
  ...PLAIN_HOST,
  maxTokensField: 'max_completion_tokens',
  systemRole: 'by model',
  thinking: 'openai',
  callIds: { accepted: /^[A-Za-z0-9_-]{1,40}$/, length: 40 },
  output: 'schema',
  strictTools: 'sent',
  parallelToolCalls: 'sent',
  pdf: 'file',
  userField: 'safety_identifier',
  cacheKey: 'prompt_cache_key',
  cacheLife: 'by model',
};

/** A host of which the operator says what its answers are held to; calls of its tools are held to their parameters with them. */
export function withOutput(profile: HostProfile, output: StructuredOutput): HostProfile {
  return { ...profile, output, strictTools: output === 'schema' ? 'sent' : 'refused' };
}
