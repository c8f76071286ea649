/**
 * What the protocols have in common, as the server and the fake model see them: a request is an `Ask`, an answer
 * a `Script` rendered to a `Reply`, a failure a `Complaint`. Nothing here knows a wire format.
 */

import { createHash, createHmac } from 'node:crypto';

/** A tool that the model may call, with the JSON schema of its arguments. */
export type Tool = { readonly name: string; readonly schema: unknown };

/** Whether it has to. */
export type Choice = { readonly mode: 'auto' | 'none' | 'required' } | { readonly mode: 'tool'; readonly name: string };

/** What the fake model is asked. It keeps nothing: everything comes from the request. */
export type Ask = {
  readonly model: string;
  readonly isStream: boolean;
  readonly facts: ConversationFacts;
  readonly tools: readonly Tool[];
  readonly choice: Choice;
  readonly maxTokens: number | undefined;
  readonly stop: readonly string[];
  readonly isThinkingAsked: boolean;
  /** A digest of the conversation; ids are made of it. */
  readonly seed: string;
  /** Whether a stream is to end with usage, which on one protocol has to be asked for. */
  readonly isUsageStreamed: boolean;
  /** Whether a stream is made of event lines, which on one protocol has to be asked for. */
  readonly isLines: boolean;
  /** Whether only its tokens are to be counted, on the protocols that do. */
  readonly isCount?: boolean;
  /** The form that the answer is asked in, where it is not plain text. */
  readonly output?: Output | undefined;
  /** Undefined where nothing is said about caching. */
  readonly cache?: CachePlan | undefined;
  /** Whether what is written to a cache stays there for longer, on the one protocol that counts it apart. */
  readonly isLongCached?: boolean;
  /** How many answers are asked for; all are the same. */
  readonly choiceCount?: number;
  /** Whether a turn may call once at most. */
  readonly isSerial?: boolean;
  /** The whole conversation as items, on the one protocol where the provider keeps it; undefined where it is not to. */
  readonly storable?: readonly unknown[] | undefined;
  /** Whether reasoning comes sealed for the next turn, on the one protocol where that has to be asked for. */
  readonly isSealed?: boolean;
};

/** JSON, of any kind where there is no schema. */
export type Output = {
  readonly schema: unknown;
  /** Whether required properties come first, whatever the order in the schema. */
  readonly isRequiredFirst?: boolean;
  /** Whether the answer is one of the schema's texts, without quotation marks. */
  readonly isBare?: boolean;
};

/** The beginning of a request up to one of its parts. */
export type Prefix = { readonly key: string; readonly tokens: number };

/** What a request wants of the provider's cache. */
export type CachePlan = {
  /** What a prefix has to share besides its text. */
  readonly scope: string;
  /** Where an earlier one may have ended. */
  readonly reads: readonly Prefix[];
  /** Where this one ends, for later ones. */
  readonly writes: readonly Prefix[];
};

/** A document in a turn: its text, or undefined where it takes more than reading to get at it. */
export type TurnDocument = string | undefined;

/** One message, reduced to what the fake model looks at. Results make a user turn, as they do on two of the protocols. */
export type Turn =
  | {
      readonly by: 'user';
      readonly text: string;
      /** Those in results included, and documents likewise. */
      readonly imageCount: number;
      readonly documents: readonly TurnDocument[];
      readonly results: readonly string[];
    }
  | { readonly by: 'assistant'; readonly text: string; readonly calls: readonly string[] };

/** What a conversation comes down to. */
export type ConversationFacts = {
  /** The last text by the user, not counting results. */
  readonly userText: string;
  /** Since then, and in what the tools answered; documents likewise. */
  readonly imageCount: number;
  readonly documentCount: number;
  /** How many turns called tools since the user last said something. */
  readonly round: number;
  /** What the tools answered since then. */
  readonly results: readonly string[];
  readonly inputTokens: number;
  /** Of these, what an earlier request has brought already. */
  readonly cachedTokens: number;
  /** And what is kept of it for later ones. */
  readonly cacheWriteTokens: number;
};

const IMAGE_TOKENS = 85;
/** Of a document that is not plain text. */
const DOCUMENT_TOKENS = 1500;

/** The facts of a conversation. A token is a word; the same conversation costs the same on every protocol. */
export function conversationFacts(system: string, turns: readonly Turn[], tools: readonly Tool[]): ConversationFacts {
  const lastUserAt = turns.findLastIndex((turn, index) => isSaid(turn, turns[index - 1]));
  const lastUser = turns[lastUserAt];
  const since = turns.slice(lastUserAt + 1);
  const shown = [...(lastUser === undefined ? [] : [lastUser]), ...since].filter((turn) => turn.by === 'user');
  const lastAssistantAt = turns.findLastIndex((turn) => turn.by === 'assistant');
  const basis = wordCount(system) + sum(tools.map(toolTokens));
  return {
    userText: lastUser?.by === 'user' ? lastUser.text : '',
    imageCount: sum(shown.map((turn) => turn.imageCount)),
    documentCount: sum(shown.map((turn) => turn.documents.length)),
    round: since.filter((turn) => turn.by === 'assistant' && turn.calls.length > 0).length,
    results: since.flatMap((turn) => (turn.by === 'user' ? turn.results : [])),
    inputTokens: basis + sum(turns.map(tokenCount)),
    cachedTokens: lastAssistantAt === -1 ? 0 : basis + sum(turns.slice(0, lastAssistantAt).map(tokenCount)),
    cacheWriteTokens: 0,
  };
}

/** What a tool costs. */
export function toolTokens(tool: Tool): number {
  return wordCount(tool.name) + wordCount(JSON.stringify(tool.schema));
}

/** Whether the user says something. Images and documents beside results, or right after them, are the tools' own. */
function isSaid(turn: Turn, before: Turn | undefined): boolean {
  if (turn.by === 'assistant') return false;
  const hasMedia = turn.imageCount > 0 || turn.documents.length > 0;
  if (turn.results.length > 0) return turn.text !== '';
  return hasMedia ? before?.by !== 'user' || before.results.length === 0 : turn.text !== '';
}

/** What a turn costs. */
export function tokenCount(turn: Turn): number {
  if (turn.by === 'assistant') return wordCount(turn.text) + sum(turn.calls.map(wordCount));
  const documents = turn.documents.map((text) => (text === undefined ? DOCUMENT_TOKENS : wordCount(text)));
  return wordCount(turn.text) + sum(turn.results.map(wordCount)) + turn.imageCount * IMAGE_TOKENS + sum(documents);
}

/** Words as separated by white space. */
export function wordCount(text: string | undefined): number {
  return text?.match(/\S+/g)?.length ?? 0;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** A part of an answer. */
export type Block =
  /** `isOmitted`: kept back where the protocol can say that there was reasoning without showing it. */
  | { readonly type: 'thinking'; readonly pieces: readonly string[]; readonly isOmitted: boolean }
  /** Reasoning that is disclosed in sealed form only. */
  | { readonly type: 'redacted' }
  | { readonly type: 'text'; readonly pieces: readonly string[] }
  /** `isCut`: the limit of tokens fell into its arguments. */
  | { readonly type: 'call'; readonly name: string; readonly argumentsText: string; readonly isCut: boolean };

/** Why an answer ends. */
export type Ending = 'end' | 'tool_calls' | 'max_tokens' | 'stop_sequence' | 'refusal' | 'blocked';

/** What the fake model answers. */
export type Script = {
  readonly blocks: readonly Block[];
  readonly ending: Ending;
  readonly stopSequence: string | undefined;
  readonly usage: Usage | undefined;
};

/** What an answer cost. */
export type Usage = {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  /** Includes the reasoning. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
};

/** A piece of a body. `isText`: it carries text that the model generates, one token or a few. */
export type Piece = { readonly bytes: string; readonly isText: boolean };

/** An answer before it goes to the wire. A whole one has a single piece. */
export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: readonly Piece[];
  /** Whether the pieces are bytes as Latin-1, rather than text. */
  readonly isBinary?: boolean;
};

/** What is wrong with a request, or feigned to be wrong with the provider. */
export class Complaint {
  readonly status: number;
  readonly message: string;
  /** The provider's machine-readable code, where it has one. */
  readonly code: string | undefined;
  /** The field that is to blame, where the provider names it. */
  readonly param: string | undefined;
  readonly retryAfterS: number | undefined;
  constructor(status: number, message: string, more: { code?: string; param?: string; retryAfterS?: number | undefined } = {}) {
    this.status = status;
    this.message = message;
    this.code = more.code;
    this.param = more.param;
    this.retryAfterS = more.retryAfterS;
  }
}

/** A request as it came. `path` begins after the protocol's own prefix, is decoded and has no query. */
export type Incoming = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

/** A path, or a part of one, without its percent-encoding; as it is where that is broken. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

type Item = Readonly<Record<string, unknown>>;
/** What a provider keeps of each response: all items of the conversation so far, of these the answer, and how long they are as text. */
type Stored = { readonly items: readonly Item[]; readonly output: readonly Item[]; readonly chars: number };
export type Memory = { readonly responses: Map<string, Stored> };

/** One wire format. */
export type Protocol = {
  /** The key that came with a request; undefined when there was none. */
  readonly keyOf: (incoming: Incoming) => string | undefined;
  readonly missingKey: Complaint | undefined;
  readonly wrongKey: Complaint;
  /** Undefined when the path is neither that of a chat nor that of a count. */
  readonly decode: (incoming: Incoming, memory: Memory) => Ask | Complaint | undefined;
  /** Where the provider keeps what it answered. */
  readonly keep?: (ask: Ask, script: Script, memory: Memory) => void;
  /** What is neither: models, and what can be stored; undefined when the path is none of these. */
  readonly resource: (incoming: Incoming) => string | Complaint | undefined;
  readonly render: (ask: Ask, script: Script) => Reply;
  readonly renderComplaint: (complaint: Complaint) => Reply;
  /** The complaint as an event inside a stream. */
  readonly renderErrorEvent: (complaint: Complaint) => string;
  readonly overloaded: Complaint;
  readonly quotaExhausted: Complaint;
};

/** The models of every list; two to a page. The last is on its way out. */
export const MODEL_IDS: readonly string[] = ['fake-chat', 'fake-tool-loop', 'fake-thinking'];
export const DEPRECATED_ID = 'fake-thinking';
/** Since when, and until when. */
export const DEPRECATED_AT = '2026-09-01T00:00:00Z';
export const RETIRES_AT = '2027-03-01T00:00:00Z';
/** However many were asked for. */
export const MODELS_PER_PAGE = 2;
/** What every model is said to hold. */
export const CONTEXT_TOKENS = 200_000;
/** What every model is said to write at most. */
export const OUTPUT_TOKENS_MAX = 64_000;

/** A whole JSON answer. */
export function jsonReply(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, pieces: [{ bytes: text, isText: false }] };
}

/** A streamed answer. */
export function streamReply(pieces: readonly Piece[], headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...headers }, pieces };
}

const SIGNING_KEY = 'the sandbox signs what it must get back unchanged';

/** A signature over some texts, base64, 24 characters. */
export function sign(...texts: readonly string[]): string {
  return createHmac('sha256', SIGNING_KEY).update(JSON.stringify(texts)).digest('base64').slice(0, 24);
}

/** A digest of a text, hex. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A text in pieces as a model would write them: words with the space after them. */
export function piecesOf(text: string): string[] {
  return text.match(/\s*\S+\s?|\s+/g) ?? [];
}

/** A text cut into pieces of some characters, as arguments of calls are streamed. */
export function slicesOf(text: string, length: number): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, index) => text.slice(index * length, (index + 1) * length));
}

/** The text of the pieces. */
export function joined(block: { readonly pieces: readonly string[] }): string {
  return block.pieces.join('');
}
