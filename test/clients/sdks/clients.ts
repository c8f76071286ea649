/** Every client that is tried: how it is run, what it cannot do by itself, and how it names what went wrong. */

import type { Runtime } from './packages.ts';

export const PROVIDERS = ['anthropic', 'openai', 'gemini', 'compat'] as const;
export type Provider = (typeof PROVIDERS)[number];
export type Dialect = 'chat' | 'responses' | 'messages';
export type Case =
  | 'chat' | 'stream' | 'loop' | 'loop streamed' | 'state' | 'state streamed' | 'parallel' | 'image' | 'structured' | 'thinking' | 'usage' | 'cancel'
  | 'failures' | 'cut' | 'relay' | 'sends';

/** A sentence for each provider where it is so. */
type Reasons = string | Partial<Readonly<Record<Provider, string>>>;

export type Client = {
  readonly name: string;
  readonly dialect: Dialect;
  readonly runtime: Runtime;
  readonly program: string;
  readonly words: readonly string[];
  /** What it raises for an answer's status; `cut` for a stream that ends too early. */
  readonly classes: Readonly<Record<number | 'cut', string>>;
  /** Statuses that it tells in place of an answer's own. */
  readonly retold: Readonly<Record<number, number>>;
  /** Whether it is an agent: with tools, words and wishes of its own. */
  readonly isAgent: boolean;
  /** What it offers no way to try. */
  readonly lacks: Partial<Readonly<Record<Case, string>>>;
  /** What fails because of what it does itself. Tried all the same: that it succeeds is a failure of this table. */
  readonly cannot: Partial<Readonly<Record<Case, Reasons>>>;
};

const OFFICIAL = { 400: 'BadRequestError', 401: 'AuthenticationError', 404: 'NotFoundError', 429: 'RateLimitError', 502: 'InternalServerError', cut: 'APIError' };
const AI_SDK = { 400: 'AI_APICallError', 401: 'AI_APICallError', 404: 'AI_APICallError', 429: 'AI_APICallError', 502: 'AI_APICallError', cut: 'AI_StreamProviderError' };
const PYDANTIC = { 400: 'ModelHTTPError', 401: 'ModelHTTPError', 404: 'ModelHTTPError', 429: 'ModelHTTPError', 502: 'ModelHTTPError', cut: 'ModelAPIError' };
/** It chooses by words that it finds in the message, so of a failure at the provider only the base is certain. */
const LITELLM = { ...OFFICIAL, 502: 'APIError', cut: 'MidStreamFallbackError' };
const AGENT = { 400: 'AgentError', 401: 'AgentError', 404: 'AgentError', 429: 'AgentError', 502: 'AgentError', cut: 'AgentError' };
const NO_FIELD = 'it reads no field that could hold it';
const BY_HAND = { 'state streamed': 'a stream assembled by hand keeps only the usual fields' } as const;
const LAST_PIECE = 'of a field that it does not know it keeps only the last piece';
const REFERS = 'without `store: false` it refers to items that it believes to be stored';
/** Its vendor stores them. */
const UNSTORED = { anthropic: REFERS, gemini: REFERS, compat: REFERS } as const;
const NEVER_KEEPS = { state: NO_FIELD, 'state streamed': NO_FIELD } as const;
const UNKNOWN_NAMES = 'it does not ask models whose names it does not know for it';
const NO_THINKING = 'it reads no reasoning in this format';
/** `provider_specific_fields`, which the sandbox refuses as any unknown field of a message. */
const OWN_FIELD = 'it returns the message with a field of its own, which OpenAI refuses';
const NO_CANCEL = { cancel: 'it offers no way to leave a stream' } as const;

function client(name: string, dialect: Dialect, run: readonly [Runtime, string, ...string[]], more: Partial<Client> = {}): Client {
  const [runtime, program, ...words] = run;
  return { name, dialect, runtime, program, words, classes: OFFICIAL, retold: {}, isAgent: false, lacks: {}, cannot: {}, ...more };
}

/** Why a client cannot do something at a provider; undefined where it can. */
export function reasonOf({ cannot }: Client, name: Case, provider: Provider): string | undefined {
  const reasons = cannot[name];
  return typeof reasons === 'string' ? reasons : reasons?.[provider];
}

/** The same in words, with the providers where it is not so everywhere. */
export function reasonsOf({ cannot }: Client, name: Case): string | undefined {
  const reasons = cannot[name];
  if (reasons === undefined || typeof reasons === 'string') return reasons;
  return `${[...new Set(Object.values(reasons))].join('; ')} (${Object.keys(reasons).join(', ')})`;
}

export const CLIENTS: readonly Client[] = [
  client('openai-node chat', 'chat', ['node', 'openai-chat.mjs', 'events'], { cannot: BY_HAND }),
  client('openai-node chat helper', 'chat', ['node', 'openai-chat.mjs', 'helper'], {
    cannot: { thinking: { anthropic: LAST_PIECE, compat: LAST_PIECE } },
  }),
  client('openai-node responses', 'responses', ['node', 'openai-responses.mjs', 'events']),
  client('openai-node responses helper', 'responses', ['node', 'openai-responses.mjs', 'helper']),
  client('openai-python chat', 'chat', ['python', 'openai_chat.py', 'events'], { cannot: BY_HAND }),
  client('openai-python chat helper', 'chat', ['python', 'openai_chat.py', 'helper']),
  client('openai-python responses', 'responses', ['python', 'openai_responses.py', 'events']),
  client('openai-python responses helper', 'responses', ['python', 'openai_responses.py', 'helper']),
  client('anthropic-node', 'messages', ['node', 'anthropic.mjs', 'events']),
  client('anthropic-node helper', 'messages', ['node', 'anthropic.mjs', 'helper']),
  client('anthropic-python', 'messages', ['python', 'anthropic_messages.py', 'events']),
  client('anthropic-python helper', 'messages', ['python', 'anthropic_messages.py', 'helper']),
  client('ai-sdk openai chat', 'chat', ['node', 'ai-sdk.mjs', 'chat'], { classes: AI_SDK, cannot: { ...NEVER_KEEPS, thinking: NO_THINKING } }),
  client('ai-sdk openai responses', 'responses', ['node', 'ai-sdk.mjs', 'responses'], { classes: AI_SDK }),
  client('ai-sdk openai responses by default', 'responses', ['node', 'ai-sdk.mjs', 'stored'], {
    classes: AI_SDK,
    cannot: { loop: UNSTORED, 'loop streamed': UNSTORED, state: UNSTORED, 'state streamed': UNSTORED, parallel: { gemini: REFERS } },
  }),
  client('ai-sdk openai-compatible', 'chat', ['node', 'ai-sdk.mjs', 'compatible'], { classes: AI_SDK }),
  client('ai-sdk anthropic', 'messages', ['node', 'ai-sdk.mjs', 'anthropic'], {
    classes: AI_SDK,
    cannot: { structured: { gemini: 'it asks models whose names it does not know for JSON by a tool with at most one call, which this provider cannot express' } },
  }),
  client('langchain-openai chat', 'chat', ['langchain', 'langchain_chat.py', 'chat'], { cannot: { ...NEVER_KEEPS, thinking: NO_THINKING } }),
  client('langchain-openai responses', 'responses', ['langchain', 'langchain_chat.py', 'responses'], {
    // `response.failed` is no class of its own there.
    classes: { ...OFFICIAL, cut: 'ValueError' },
  }),
  client('langchain-anthropic', 'messages', ['langchain', 'langchain_chat.py', 'anthropic']),
  client('pydantic-ai chat', 'chat', ['pydantic', 'pydantic_agent.py', 'chat'], { classes: PYDANTIC }),
  client('pydantic-ai responses', 'responses', ['pydantic', 'pydantic_agent.py', 'responses'], {
    classes: PYDANTIC,
    cannot: { state: UNKNOWN_NAMES, 'state streamed': UNKNOWN_NAMES },
  }),
  client('pydantic-ai anthropic', 'messages', ['pydantic', 'pydantic_agent.py', 'anthropic'], {
    classes: PYDANTIC,
    cannot: { structured: 'it refuses this itself for models whose names it does not know' },
  }),
  client('litellm chat', 'chat', ['litellm', 'litellm_client.py', 'openai'], {
    classes: LITELLM,
    lacks: NO_CANCEL,
    cannot: {
      loop: { openai: OWN_FIELD },
      parallel: { openai: OWN_FIELD },
      'state streamed': 'a stream that it assembles keeps only the usual fields',
    },
  }),
  client('litellm anthropic', 'messages', ['litellm', 'litellm_client.py', 'anthropic'], {
    classes: LITELLM,
    // An `overloaded_error` is a 500 to it.
    retold: { 502: 500 },
    lacks: NO_CANCEL,
  }),
  client('llm', 'chat', ['llm', 'llm_client.py'], { lacks: NO_CANCEL, cannot: { ...NEVER_KEEPS, thinking: 'it keeps no reasoning of this format' } }),
  client('Claude Code', 'messages', ['node', 'claude-code.mjs'], {
    classes: AGENT,
    isAgent: true,
    lacks: {
      'loop streamed': 'it always streams',
      'state streamed': 'it always streams',
      image: 'its command line takes none',
      structured: 'it has a tool of its own for that',
      thinking: 'it prints none',
    },
  }),
  client('Codex', 'responses', ['node', 'codex.mjs'], {
    classes: AGENT,
    isAgent: true,
    lacks: {
      stream: 'it prints no pieces',
      'loop streamed': 'it always streams',
      'state streamed': 'it always streams',
      image: 'its command line takes a file, not data',
      thinking: 'it prints none',
      cancel: 'it prints no pieces that one could wait for',
    },
  }),
];
