/**
 * The seam between the gateway and a vendor's protocol.
 *
 * An adapter is a pure codec: it encodes a call and decodes bytes, opens no socket, reads no clock
 * and keeps nothing between exchanges. Transport, time limits, cancellation and retries exist once,
 * elsewhere.
 */

import type { ParsedText } from '../base/json/parse.ts';
import type { JsonOut, JsonProblem, JsonValue } from '../base/json/value.ts';
import type { Secret } from '../base/secret.ts';
import type { ChatReply, ChatRequest, ModelInfo } from './chat.ts';
import type { CredentialPlan } from './credential-plan.ts';
import type { Delta } from './delta.ts';
import type { Failure } from './failure.ts';
import type { ModelNames } from './model-name.ts';

/** One upstream request as data, encoded once and used by every attempt, which writes it as text. Never holds the key. */
export type UpstreamCall = {
  readonly method: 'GET' | 'POST';
  /** Path and query below the provider's base URL, starting with `/`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined = none. No text, because writing a large one takes many turns of the event loop, which a codec does not have. */
  readonly body: JsonOut | undefined;
};

/** Response headers as node:http has them: lower-case names. */
export type UpstreamHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** One credential of a provider. */
export type ProviderKey = {
  readonly secret: Secret;
  /** From 1, in the operator's order: what logs and metrics call it. */
  readonly number: number;
  /** The same for the same key wherever it is read, and no way back to it. */
  readonly id: string;
};

/** A configured destination: one account, however many keys it has. */
export type Provider = {
  readonly name: string;
  /** The known provider whose API it has, where the operator says so. */
  readonly like?: string | undefined;
  readonly adapter: Adapter;
  /** What its codec was made with. */
  readonly settings?: AdapterSettings | undefined;
  /** Includes the version segment; no trailing slash in its path. */
  readonly baseUrl: URL;
  /** In the operator's order, all different; empty where the host needs none, or credentials of another kind. */
  readonly keys: readonly ProviderKey[];
  /** Where its credentials come from when they are no key. */
  readonly credentials?: CredentialPlan | undefined;
  /** What every call to it says besides. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How a key travels: header `name`, value `prefix` + key. */
  readonly keyHeader: { readonly name: string; readonly prefix: string };
  /** The dialects of callers that it speaks as their vendor does. */
  readonly speaks: readonly string[];
};

/** What the answers of a host can be held to: a JSON schema, JSON of any kind, nothing. Each includes those after it. */
export const STRUCTURED_OUTPUTS = ['schema', 'json_object', 'none'] as const;
export type StructuredOutput = (typeof STRUCTURED_OUTPUTS)[number];

/** What settings tell a codec. */
export type AdapterSettings = {
  /** Which of OpenAI's two APIs serves chats; `auto` = Chat Completions, and Responses for what that cannot serve. */
  readonly openAiApi: 'auto' | 'chat' | 'responses';
  /** In place of what is known of the host; absent = what is known. */
  readonly structuredOutput?: StructuredOutput | undefined;
  /** What names of models stand for, as the operator says; absent = nothing is said. */
  readonly models?: ModelNames | undefined;
  /** Of a cloud whose paths name it; absent where they do not. */
  readonly project?: { readonly id: string; readonly location: string } | undefined;
};

/** Clouds that know other credentials than keys. */
export const CLOUD_NAMES = ['azure', 'foundry', 'bedrock', 'claude-aws', 'vertex'] as const;
export type CloudName = (typeof CLOUD_NAMES)[number];

/** How one provider is configured from the environment. Adding a provider is adding a row. */
export type ProviderRow = {
  /** Its name in requests: `[a-z0-9_-]{1,64}`. */
  readonly name: string;
  /** As a provider has it. */
  readonly like?: string;
  /** Variables that may hold its key; the first that is set wins. */
  readonly keyVariables: readonly string[];
  /** False for hosts that work without a key: then a set base URL alone registers the provider. */
  readonly isKeyRequired: boolean;
  readonly baseUrlVariable: string;
  /** Absent when there is no usual one: then the variable is needed. */
  readonly defaultBaseUrl?: string | undefined;
  /** Added to the base URL's path unless that already ends in a version, e.g. `v1beta`. Absent = used as it is. */
  readonly versionSegment?: string | undefined;
  readonly keyHeader: { readonly name: string; readonly prefix: string };
  /** The variable in which an operator says what its answers are held to; absent = there is no question. */
  readonly structuredOutputVariable?: string;
  /** The variable in which an operator chooses its name; absent = it has one. */
  readonly nameVariable?: string;
  /** The dialects of callers that it speaks as their vendor does; absent = none. */
  readonly speaks?: readonly string[];
  /** The cloud that it is, which has variables of its own besides. */
  readonly cloud?: CloudName;
  /** The codec, for a provider registered under this name; without settings, by their defaults. */
  readonly createAdapter: (name: string, settings?: AdapterSettings) => Adapter;
};

/** Receives the deltas of one frame, in order. */
export type DeltaSink = (delta: Delta) => void;

/**
 * Decodes one stream. Feed every SSE frame in order, then `end` once.
 * Emits at most one terminal delta, last; after it, frames are ignored.
 */
export interface StreamDecoder {
  /** The model as the provider has named it so far; undefined before it has. */
  readonly servedModel: string | undefined;
  /** One SSE frame: its event name (empty when there is none) and its data lines joined by LF; parsed where that is large. */
  frame(event: string, data: string, sink: DeltaSink, parsed?: ParsedText): void;
  /**
   * No more bytes will come, for whatever reason. Emits the terminal delta if none was emitted yet:
   * `done` only when the provider's own terminal signal was seen, else `failed`.
   */
  end(sink: DeltaSink): void;
}

/** What an answer is read for. */
export type AnswerUse = {
  /** Its caller speaks the provider's own API and is sent the answer itself: what a chat has no words for is no failure then. */
  readonly isRelayed: boolean;
};

export type ModelsPage = {
  readonly models: readonly ModelInfo[];
  /** Pass to `encodeModels` for the next page; undefined = this was the last. */
  readonly nextCursor: string | undefined;
};

/** How a provider counts the tokens that a request would bring, without answering it. */
export interface TokenCounting {
  /** The call for a request, without what the provider refuses here. Failures: unsupported, bad_request. */
  encode(request: ChatRequest): UpstreamCall | Failure;
  /** Input tokens, from a whole 200 body. Failures: server, or what an error inside a 200 says. */
  decode(body: string): number | Failure;
}

export interface Adapter {
  /** The wire format's name, part of every provider_state: `anthropic`, `openai-chat`, `openai-responses`, `gemini`. */
  readonly dialect: string;
  /** What becomes of every part of a request: the README's matrix. */
  readonly support: SupportTable;
  /** The call for a request. Deterministic: same request, same bytes. Failures: unsupported, bad_request. */
  encodeChat(request: ChatRequest, isStream: boolean): UpstreamCall | Failure;
  /**
   * A whole 200 body, which `json` is parsed where somebody did that: null where it is no JSON, or beyond a limit. `exact` is the
   * same without loss, likewise. Failures: server (malformed), refusal (no content), or what an error inside a 200 says.
   */
  decodeChat(body: string, json?: unknown, exact?: JsonValue | JsonProblem, use?: AnswerUse): ChatReply | Failure;
  createStreamDecoder(use?: AnswerUse): StreamDecoder;
  encodeModels(cursor: string | undefined): UpstreamCall;
  /** False where its vendor has no list, so that one which is not found means nothing else; absent where there is one. */
  readonly hasModelList?: false | undefined;
  /** A page of its list, which `json` is parsed where that is large. Failures: server, or what an error inside a 200 says. */
  decodeModels(body: string, json?: unknown): ModelsPage | Failure;
  /** Absent where the provider does not count. */
  readonly counting?: TokenCounting | undefined;
  /** A reply whose status is not 2xx. Never throws, whatever the body. How long to wait is read elsewhere. */
  decodeFailure(status: number, body: string, headers?: UpstreamHeaders): Failure;
}

/** Everything in a request that an adapter has to take a stand on. */
export const REQUEST_FEATURES = [
  'model',
  'system',
  'user text',
  'user image (inline)',
  'user image (url)',
  'user document (pdf inline)',
  'user document (pdf url)',
  'user document (text)',
  'assistant text',
  'assistant tool_call',
  'assistant provider_state',
  'tool_result',
  'tool_result.is_error',
  'tool_result image',
  'tool_result document',
  'max_tokens',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'tools without parameters',
  'tools strict',
  'tool_choice auto',
  'tool_choice none',
  'tool_choice required',
  'tool_choice tool',
  'tool_choice.parallel false',
  'thinking on',
  'thinking off',
  'thinking.effort low',
  'thinking.effort medium',
  'thinking.effort high',
  'thinking.effort max',
  'output',
  'output.schema',
  'output.strict false',
  'cache',
  'cache.ttl long',
  'user',
  'provider_options',
] as const;
export type RequestFeature = (typeof REQUEST_FEATURES)[number];

/**
 * `sent`: as it is, under `as`. `translated`: the nearest the provider has, said in `as`.
 * `ignored`: a hint, which the provider has no field for and which is left out; `as` says what happens without it.
 * `refused`: answered with kind `unsupported` before any call; `as` says why.
 */
export type Support = { readonly is: 'sent' | 'translated' | 'ignored' | 'refused'; readonly as: string };
export type SupportTable = Readonly<Record<RequestFeature, Support>>;
