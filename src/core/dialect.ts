/**
 * The seam between the gateway and what its callers speak.
 *
 * A dialect is a pure codec, the mirror image of an adapter: it decodes requests and encodes answers, opens no socket,
 * reads no clock and keeps nothing between exchanges. Tokens, limits, the choice of a provider and the ways in which
 * an answer travels exist once, elsewhere.
 */

import type { ParsedText } from '../base/json/parse.ts';
import type { JsonObject, JsonOut, JsonOutObject, JsonProblem, JsonValue } from '../base/json/value.ts';
import type { ChatReply, ChatRequest, ModelInfo } from './chat.ts';
import type { Delta } from './delta.ts';
import type { Failure } from './failure.ts';

/** A path on which chats are asked for, by POST. */
export type DialectRoute = {
  /** For logs and metrics. */
  readonly name: string;
  readonly path: string;
  /** Whether answers are streamed. `asked` = the body says so. */
  readonly stream: 'always' | 'never' | 'asked';
};

/** A request as far as it can be read before anybody knows who will serve it. */
export type DecodedRequest = {
  /** The registered provider that the body names; undefined = none. */
  readonly provider: string | undefined;
  /** The model as the caller names it. */
  readonly model: string;
  readonly isStream: boolean;
  /** Whether a stream is to say its usage, where the dialect leaves that to the request. */
  readonly wantsUsage: boolean;
  /** The body as it was parsed, for a dialect that can be relayed. */
  readonly source: JsonObject | undefined;
  /** A merge patch over the payload for the provider; undefined = none, or the dialect has no such thing. */
  readonly providerOptions: JsonObject | undefined;
  /** What the request asks, of a provider that knows the model as `model`. Failures: bad_request, unsupported. */
  translate(model: string): Translation | Failure;
  /** How its conversation begins: the same in each of its requests, whoever serves them. */
  head(): ConversationHead;
  /** Who made the state that an open tool loop carries; undefined where none is open, or it carries none. */
  loopOwner(): LoopOwner | undefined;
};

/** Empty = nothing is said there. */
export type ConversationHead = { readonly system: string; readonly user: string };

/** A provider by its name; or, in the vendor's own form, whoever was relayed to. */
export type LoopOwner = { readonly provider: string } | 'relayed';

export type Translation = {
  readonly request: ChatRequest;
  /** Where in the body something stands that was left out because the answer is the same without it. Empty = nothing. */
  readonly ignored: readonly string[];
  /** A sentence of a failure that was found in the request, with its places as the caller's own format names them; absent = they are the same. */
  readonly told?: (sentence: string) => string;
};

/** What an answer says besides the reply itself. */
export type AnswerFacts = {
  /** The request that is answered. */
  readonly request: DecodedRequest;
  readonly requestId: string;
  /** A UUID that no other answer has, for the ids in it: callers may give one request id to many requests. */
  readonly answerId: string;
  /** Who serves it. */
  readonly provider: string;
  /** The model as the provider names it; undefined as long as it has not, or when it names none. */
  readonly servedModel: string | undefined;
  /** When the request came, in seconds since 1970. */
  readonly createdAtS: number;
};

/**
 * One streamed answer in the making: deltas in, text for the caller out. Whoever feeds it ends with one `done` or one
 * `failed`, and sends nothing after that.
 */
export interface StreamFrames {
  /** The frames for one delta, blank lines included; empty when there is nothing to say yet. */
  render(delta: Delta): string;
  /**
   * In a dialect that is relayed, the text for one event of a provider that speaks it: name (empty when there is none) and data;
   * parsed where that is large. A failure after it is rendered so that it follows what was passed on.
   */
  relay?(event: string, data: string, parsed?: ParsedText): string;
}

/**
 * How a request goes to a provider that speaks its dialect: the caller's own JSON, but for what is said here, so that
 * whatever the vendor adds works on the day it appears.
 */
export interface DialectRelay {
  /** Below the provider's base URL. */
  readonly path: string;
  /** The caller's headers that go with it, in lower case, each with what stands in where the caller sent none. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The body for the provider. Failures: bad_request, unsupported. */
  encode(request: DecodedRequest, model: string, rules: RelayRules): RelayedBody | Failure;
  /** A whole good answer of the provider, as its caller gets it. `exact` is the same parsed, where somebody did that. */
  encodeReply(raw: string, facts: AnswerFacts, exact?: JsonValue | JsonProblem): JsonOut;
  /**
   * Whether an event brings a piece of the answer, be it of one that is a delta only once it is whole, such as a call. Asked until
   * one does, since until then another attempt may be made and nothing is passed on.
   */
  bringsAnswer(event: string, data: string, parsed?: ParsedText): boolean;
  /** Whether answers hold what only the account can read that made them. */
  readonly sealsForAccount: boolean;
  /** Whether a whole answer in which the provider declined without a word is passed on; else it is answered as any refusal. */
  readonly relaysDeclined: boolean;
}

/** How callers ask what a request would take, with the same body as for an answer. */
export interface DialectCounting {
  readonly route: DialectRoute;
  /** Below the base URL of a provider to which such a request is relayed; undefined = to none. */
  readonly relayPath: string | undefined;
  /** What it is called when the provider does not count. */
  readonly missing: 'not_found' | 'unsupported';
  /** The body of a good answer, unless it is the provider's own. */
  render(inputTokens: number, facts: CountFacts): string;
}

/** What was counted for whom. */
export type CountFacts = { readonly provider: string; readonly model: string };

/** What keeps callers apart who share a provider's account. */
export type RelayRules = {
  /** The caller's label. */
  readonly caller: string;
  /** Whether what is stored at the provider may be referred to. */
  readonly allowsStored: boolean;
  /** Whether it goes to the dialect's vendor, and not to a cloud that may have other vendors' models. */
  readonly isVendor: boolean;
};

export type RelayedBody = {
  readonly body: JsonOut;
  /** Where in the body something stands that was taken out. */
  readonly ignored: readonly string[];
};

/** A model as the callers of one dialect name it. */
export type ListedModel = {
  /** What a request has to say to reach it. */
  readonly name: string;
  /** Undefined where several may serve: the name is a route's. */
  readonly provider: string | undefined;
  readonly info: ModelInfo;
};

export type ModelList = {
  readonly models: readonly ListedModel[];
  /** Who serves a request that names no provider; undefined when its models are not among these, since it failed. */
  readonly defaultProvider: string | undefined;
};

/** How models are listed. Dialects share the paths for that. */
export interface DialectModels {
  /**
   * The header by which its callers are told from all others; undefined = there is none. Callers without such a header get
   * one object, which has the members of all dialects that are told by none.
   */
  readonly header: string | undefined;
  /** Members of the list, or of the page of it that the query asks for. Failure: bad_request. */
  list(list: ModelList, query: URLSearchParams): JsonOutObject | Failure;
  /** Members of one model. */
  one(model: ListedModel): JsonOutObject;
}

/** A comment, which every reader of event streams skips. */
export const KEEP_ALIVE = ': keep-alive\n\n';

/** The body of a failed answer, and the headers that its clients look at besides those of HTTP itself. */
export type FailureAnswer = { readonly body: string; readonly headers: Readonly<Record<string, string>> };

/** The bytes of a body, or what they were parsed to already. */
export type RequestBody = Buffer | JsonValue | JsonProblem;

export interface CallerDialect {
  /** For logs and metrics: `native`, `openai-chat`, … */
  readonly name: string;
  /** Whose format it is, as the name of a provider, which serves it where nothing else is said; undefined = nobody's but ours. */
  readonly vendor: string | undefined;
  /** Whether `provider/model` as a model asks that provider, unless the operator says otherwise. */
  readonly takesModelPrefixes: boolean;
  /** Whether a caller's token may also come as `x-api-key`. */
  readonly takesApiKey: boolean;
  /** The header that its clients read the request's id from, besides `X-Request-Id`. */
  readonly requestIdHeader: string | undefined;
  /** The names in its table of fields. Metrics count what was left out by them, all others as `other`. */
  readonly fieldNames: ReadonlySet<string>;
  readonly routes: readonly DialectRoute[];
  /** Undefined where no provider speaks it. */
  readonly relay: DialectRelay | undefined;
  /** Undefined where it has no such thing. */
  readonly counting: DialectCounting | undefined;
  /** A whole body. Never throws, whatever the bytes. Failures: bad_request, unsupported. */
  decodeRequest(body: RequestBody, route: DialectRoute): DecodedRequest | Failure;
  /** The body of a good answer. `raw` is the provider's own body where the operator shows it: valid JSON, spliced in untouched. */
  encodeReply(reply: ChatReply, facts: AnswerFacts, raw: string | undefined): JsonOut;
  createFrames(facts: AnswerFacts): StreamFrames;
  /** What goes to a caller whose streamed answer has begun, when there was nothing else to send for a while. */
  readonly keepAlive: string;
  renderFailure(failure: Failure, requestId: string): FailureAnswer;
  readonly models: DialectModels;
  /**
   * Whether the connection is broken off behind a failed stream instead of ended: clients that do not know the
   * dialect's error frame take a stream that ends in order for a whole answer.
   */
  readonly breaksFailedStreams: boolean;
  /** Whether a provider that declined without a word is answered as a reply, with stop reason `refusal`, and not as a failure. */
  readonly repliesRefusals: boolean;
}
