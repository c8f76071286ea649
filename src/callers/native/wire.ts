/** The objects of the gateway's own format as TypeScript sees them, for programs that have it built in. */

export type ChatRequest = {
  /** A configured provider; absent = the default one. */
  readonly provider?: string | undefined;
  /** The provider's own name of the model. */
  readonly model: string;
  readonly system?: string | undefined;
  /** At least one. */
  readonly messages: readonly Message[];
  /** Absent or 0 = the provider's default. */
  readonly max_tokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly tool_choice?: ToolChoice | undefined;
  readonly thinking?: Thinking | undefined;
  readonly output?: Output | undefined;
  readonly cache?: CacheHint | undefined;
  /** An opaque id of an end user; providers are sent a hash of it. */
  readonly user?: string | undefined;
  /** Merged over what the provider is sent (RFC 7396). */
  readonly provider_options?: JsonObject | undefined;
};

/** Any JSON object; what is undefined is absent. */
export type JsonObject = { readonly [key: string]: unknown };

/** Either `text` or `content`, but for a tool's results. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

export type UserMessage = {
  readonly role: 'user';
  readonly text?: string | undefined;
  readonly content?: readonly ContentPart[] | undefined;
};

export type AssistantMessage = {
  readonly role: 'assistant';
  readonly text?: string | undefined;
  readonly content?: readonly (TextPart | ToolCallPart)[] | undefined;
};

/** Answers calls of the assistant's message before it, all of them. */
export type ToolMessage = { readonly role: 'tool'; readonly content: readonly ToolResultPart[] };

export type Part = ContentPart | ToolCallPart | ToolResultPart;

/** What people and tools say. */
export type ContentPart = TextPart | ImagePart | DocumentPart;

export type TextPart = {
  readonly type: 'text';
  readonly text: string;
  /** Of an assistant's message: to be sent back as it came. */
  readonly provider_state?: string | undefined;
};

/** Either `media_type` and `data` (base64), or `url`. */
export type ImagePart = {
  readonly type: 'image';
  readonly media_type?: string | undefined;
  readonly data?: string | undefined;
  readonly url?: string | undefined;
};

/** Either `data` (base64) or `url`. */
export type DocumentPart = {
  readonly type: 'document';
  readonly media_type: 'application/pdf' | 'text/plain';
  readonly data?: string | undefined;
  readonly url?: string | undefined;
  readonly name?: string | undefined;
};

export type ToolCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** To be sent back as it came. */
  readonly provider_state?: string | undefined;
};

export type ToolCallPart = ToolCall & { readonly type: 'tool_call' };

export type ToolResultPart = {
  readonly type: 'tool_result';
  readonly tool_call_id: string;
  readonly content?: string | readonly ContentPart[] | undefined;
  readonly is_error?: boolean | undefined;
};

export type Tool = {
  readonly name: string;
  readonly description?: string | undefined;
  /** A JSON schema of an object; absent = no arguments. */
  readonly parameters?: JsonObject | undefined;
  /** Calls are held to the parameters. */
  readonly strict?: boolean | undefined;
};

export type ToolChoice = {
  /** `auto` where absent, which it may be beside `parallel`. */
  readonly mode?: 'auto' | 'none' | 'required' | 'tool' | undefined;
  /** Belongs to mode `tool`, which needs it. */
  readonly name?: string | undefined;
  /** False = at most one call a turn. */
  readonly parallel?: boolean | undefined;
};

/** The answer is JSON, of this schema where there is one. */
export type Output = {
  readonly type: 'json';
  readonly schema?: JsonObject | undefined;
  readonly name?: string | undefined;
  /** True where absent. */
  readonly strict?: boolean | undefined;
};

/** A hint, never an error. */
export type CacheHint = { readonly key?: string | undefined; readonly ttl?: 'short' | 'long' | undefined };

export type Thinking = { readonly enabled: boolean; readonly effort?: 'low' | 'medium' | 'high' | 'max' | undefined };

export type StopReason = 'end_turn' | 'max_tokens' | 'tool_use' | 'stop_sequence' | 'refusal' | 'unknown';

/** As the provider reported them. The last three break down the first two; absent = none or not reported. */
export type Usage = {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens?: number;
  readonly cache_write_tokens?: number;
  readonly reasoning_tokens?: number;
};

/** An assistant's message as a reply has it, to be appended to `messages` unchanged. */
export type ReplyMessage = { readonly role: 'assistant'; readonly content: readonly (TextPart | ToolCallPart)[] };

export type ChatReply = {
  readonly id?: string;
  readonly provider: string;
  /** As the provider named it; absent when it named none. */
  readonly model?: string;
  /** All text of the message. */
  readonly text: string;
  readonly message: ReplyMessage;
  readonly stop_reason: StopReason;
  /** Absent when there is none. */
  readonly tool_calls?: readonly ToolCall[];
  /** Absent when the provider reported none. */
  readonly usage?: Usage;
  /** Disclosed reasoning; absent when there is none. */
  readonly thinking?: string;
  /** The provider's own body, where the option `includeRaw` is set. */
  readonly raw?: unknown;
};

/** An event of a stream. The last one of a good stream is `done`. */
export type ChatEvent = TextDelta | ThinkingDelta | ToolCallEvent | DoneEvent;

export type TextDelta = { readonly type: 'text_delta'; readonly text: string };
export type ThinkingDelta = { readonly type: 'thinking_delta'; readonly text: string };
/** A whole call. */
export type ToolCallEvent = { readonly type: 'tool_call'; readonly tool_call: ToolCall };
/** The reply but for its text, which came before. */
export type DoneEvent = { readonly type: 'done' } & Pick<ChatReply, 'id' | 'provider' | 'model' | 'stop_reason' | 'message' | 'usage'>;

/** A provider's models; what it does not say of one is absent. */
export type ModelList = { readonly provider: string; readonly models: readonly Model[] };

export type Model = {
  readonly id: string;
  readonly display_name?: string;
  /** Tokens, as all that follow. */
  readonly max_input_tokens?: number;
  readonly max_output_tokens?: number;
  readonly context_window?: number;
  /** What it takes besides text. */
  readonly input?: readonly string[];
  readonly deprecated_at?: string;
};

/** What went wrong, for programs to branch on. */
export type ErrorKind = 'auth' | 'rate_limit' | 'not_found' | 'bad_request' | 'unsupported' | 'refusal' | 'server' | 'unknown';
