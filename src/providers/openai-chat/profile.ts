/**
 * In what a host differs from others that speak OpenAI Chat Completions, as data.
 *
 * A quirk is here only when it changes bytes that are sent, or what is kept for a later turn. What
 * hosts do differently in their replies is absorbed for all of them alike, since any of them may sit
 * behind any base URL.
 */

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
  /** `dropped`: an assistant turn with neither text nor calls is refused. */
  readonly emptyTurns: 'sent' | 'dropped';
  /** Whether reasoning text goes back on turns that made calls. */
  readonly reasoningContent: 'dropped' | 'returned';
  /** What takes its place where the caller lost it, for hosts that refuse such a turn without any. */
  readonly lostReasoning: string | undefined;
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
  emptyTurns: 'sent',
  reasoningContent: 'dropped',
  lostReasoning: undefined,
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
};
