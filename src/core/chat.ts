/**
 * The vocabulary of a chat: what a caller asks, what a provider answers, in neither's own words.
 *
 * Every type is closed and has no optional property: absence is an explicit `undefined`, so adding a
 * field makes each place that has to decide about it fail to compile.
 */

import type { JsonObject, RawJson } from '../base/json/value.ts';

export type ChatRequest = {
  /** Registered provider's name; undefined = the gateway's default. */
  readonly provider: string | undefined;
  /** The provider's own model identifier, untouched. */
  readonly model: string;
  readonly system: string | undefined;
  /** At least one. */
  readonly turns: readonly Turn[];
  /** Undefined = the provider's default; never 0. */
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly stop: readonly string[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
  /** Undefined = the provider's default. */
  readonly thinking: Thinking | undefined;
  /** Undefined = any text. */
  readonly output: OutputFormat | undefined;
  /** A hint, never a reason to refuse. */
  readonly cache: CacheHint | undefined;
  /** Who among the caller's own users asks; opaque, and not as the caller wrote it once it leaves: see tenant.ts. */
  readonly user: string | undefined;
  /** A merge patch (RFC 7396) over the outbound payload. */
  readonly providerOptions: JsonObject | undefined;
};

export type Turn = UserTurn | AssistantTurn | ToolTurn;
export type UserTurn = { readonly role: 'user'; readonly parts: readonly ContentPart[] };
export type AssistantTurn = { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] };
/** Answers to calls of the nearest assistant turn before it. */
export type ToolTurn = { readonly role: 'tool'; readonly parts: readonly ToolResultPart[] };
export type AssistantPart = TextPart | ToolCallPart;
/** What people and tools say to a model. */
export type ContentPart = TextPart | ImagePart | DocumentPart;
export type Part = ContentPart | ToolCallPart | ToolResultPart;

/** Text is empty only on an assistant turn, beside a state. */
export type TextPart = { readonly type: 'text'; readonly text: string; readonly state: string | undefined };

export type ImagePart = {
  readonly type: 'image';
  readonly source:
    | { readonly type: 'inline'; readonly mediaType: string; readonly base64: string }
    | { readonly type: 'url'; readonly url: string };
};

export const DOCUMENT_TYPES = ['application/pdf', 'text/plain'] as const;
export type DocumentPart = {
  readonly type: 'document';
  readonly mediaType: (typeof DOCUMENT_TYPES)[number];
  /** Inline text is UTF-8. */
  readonly source: { readonly type: 'inline'; readonly base64: string } | { readonly type: 'url'; readonly url: string };
  /** What a reader would call it; a file name, usually. */
  readonly name: string | undefined;
};

export type ToolCallPart = {
  readonly type: 'tool_call';
  readonly id: string;
  readonly name: string;
  /** The text of a JSON object. */
  readonly arguments: RawJson;
  /** What the provider wants back with this part: opaque to the caller, see provider-state.ts. */
  readonly state: string | undefined;
};

export type ToolResultPart = {
  readonly type: 'tool_result';
  readonly toolCallId: string;
  /** Parts are at least one, each text of them without a state. */
  readonly content: string | readonly ContentPart[];
  readonly isError: boolean;
};

export type Tool = {
  readonly name: string;
  readonly description: string | undefined;
  /** The text of a JSON-schema object; undefined = a tool without arguments. */
  readonly parameters: RawJson | undefined;
  /** Whether calls have to match the parameters; undefined = as the provider does without being told. */
  readonly strict: boolean | undefined;
};

/** `parallel`: false = at most one call a turn; undefined = the provider's default. */
export type ToolChoice =
  | { readonly mode: 'auto' | 'none' | 'required'; readonly parallel: boolean | undefined }
  | { readonly mode: 'tool'; readonly name: string; readonly parallel: boolean | undefined };

/** The answer's text is JSON. */
export type OutputFormat = {
  /** The text of a JSON-schema object, sent digit for digit; undefined = any JSON. */
  readonly schema: RawJson | undefined;
  /** `[A-Za-z0-9_-]{1,64}`, for providers that want schemas named. */
  readonly name: string;
  /** Whether the answer has to match the schema, where a provider leaves that to the request. True without a schema. */
  readonly strict: boolean;
};

export const CACHE_TTLS = ['short', 'long'] as const;
export type CacheHint = {
  /** What requests with the same beginning share. */
  readonly key: string | undefined;
  /** Undefined = the provider's default. */
  readonly ttl: (typeof CACHE_TTLS)[number] | undefined;
};

export const EFFORTS = ['low', 'medium', 'high', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];
export type Thinking = { readonly enabled: boolean; readonly effort: Effort | undefined };

export type StopReason = 'end_turn' | 'max_tokens' | 'tool_use' | 'stop_sequence' | 'refusal' | 'unknown';

/** Tokens as the provider reported them. The last three break down the first two; 0 = none or not reported. */
export type Usage = {
  /** All input, cached or not. */
  readonly inputTokens: number;
  /** All output, reasoning included. */
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
};

/**
 * As many tokens are counted of one answer: more than any model reads and writes at once. A provider that reports more is wrong,
 * and would drown in sums what all others did.
 */
export const TOKENS_MAX = 100_000_000;

/** A whole answer. */
export type ChatReply = {
  /** The provider's id of the response. */
  readonly id: string | undefined;
  /** The model that served the request, as the provider names it; undefined when it names none. */
  readonly model: string | undefined;
  /** The assistant's turn. Append it to the conversation unchanged. */
  readonly parts: readonly AssistantPart[];
  /** Disclosed reasoning; empty = none. */
  readonly thinking: string;
  readonly stopReason: StopReason;
  /** Undefined when the provider reported none. */
  readonly usage: Usage | undefined;
};

/** Most text, reasoning and arguments kept of one reply, in UTF-16 units: as much as any model writes, many times over. */
export const REPLY_CHARS_MAX = 32 * 1024 * 1024;

/** Most calls of one reply: many times what any model makes, and each costs some microseconds to read and to write. */
export const REPLY_CALLS_MAX = 4096;

/** Largest whole reply taken from a provider, and largest frame of a stream: an image comes in one. */
export const REPLY_BYTES_MAX = 32 * 1024 * 1024;

export type ModelInfo = {
  readonly id: string;
  readonly displayName: string | undefined;
  /** Tokens of input and output together. */
  readonly contextWindow: number | undefined;
  /** Tokens. */
  readonly inputTokensMax: number | undefined;
  /** Tokens. */
  readonly outputTokensMax: number | undefined;
  /** What a request may hold: `text`, `image`, `pdf`, `audio`, … */
  readonly input: readonly string[] | undefined;
  /** When it becomes deprecated, or did, as the provider writes it. */
  readonly deprecatedAt: string | undefined;
};

/** Whether a part is a text without a word. */
export function isSilent(part: Part): boolean {
  return part.type === 'text' && part.text === '';
}

/** Every text part of the turn, concatenated. */
export function replyText(reply: ChatReply): string {
  let text = '';
  for (const part of reply.parts) if (part.type === 'text') text += part.text;
  return text;
}

/** The calls of the turn, in order. */
export function replyToolCalls(reply: ChatReply): readonly ToolCallPart[] {
  return reply.parts.filter((part) => part.type === 'tool_call');
}

/** What is left of a turn that its provider took back: none of its calls is to be run, and as long as they stood there each would want a result. */
export function withoutCalls(parts: readonly AssistantPart[]): AssistantPart[] {
  return parts.filter((part) => part.type !== 'tool_call');
}

/** Whether the turn has to be kept to one call. Without tools, or where none may be called, there is no other anyway. */
export function isKeptToOneCall({ tools, toolChoice }: ChatRequest): boolean {
  return toolChoice?.parallel === false && toolChoice.mode !== 'none' && tools.length > 0;
}

/** Marks a switch as complete: a new member of the union fails to compile here. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
