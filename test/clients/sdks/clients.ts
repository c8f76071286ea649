/** Every client that is tried: how it is run, what it cannot do by itself, and how it names what went wrong. */

import type { Runtime } from './packages.ts';

export type Dialect = 'chat' | 'responses' | 'messages';
export type Case = 'chat' | 'stream' | 'loop' | 'loop streamed' | 'parallel' | 'image' | 'thinking' | 'usage' | 'cancel' | 'failures' | 'cut';

export type Client = {
  readonly name: string;
  readonly dialect: Dialect;
  readonly runtime: Runtime;
  readonly program: string;
  readonly words: readonly string[];
  /** What it raises for an answer's status. */
  readonly classes: Readonly<Record<number, string>>;
  /** Whether it brings back what a provider wants to see again; a sentence says why not. */
  readonly state: { readonly whole: true | string; readonly streamed: true | string };
  /** Whether it is an agent: with tools, words and wishes of its own. */
  readonly isAgent: boolean;
  /** What it does not do, and why. */
  readonly without: Partial<Readonly<Record<Case, string>>>;
};

const OFFICIAL = { 400: 'BadRequestError', 401: 'AuthenticationError', 404: 'NotFoundError', 429: 'RateLimitError', 502: 'InternalServerError' };
const AI_SDK = { 400: 'AI_APICallError', 401: 'AI_APICallError', 404: 'AI_APICallError', 429: 'AI_APICallError', 502: 'AI_APICallError' };
const PYDANTIC = { 400: 'ModelHTTPError', 401: 'ModelHTTPError', 404: 'ModelHTTPError', 429: 'ModelHTTPError', 502: 'ModelHTTPError' };
/** It chooses by words that it finds in the message, so of a failure at the provider only the base is certain. */
const LITELLM = { ...OFFICIAL, 502: 'APIError' };
const AGENT = { 400: 'AgentError', 401: 'AgentError', 404: 'AgentError', 429: 'AgentError', 502: 'AgentError' };
const KEEPS = { whole: true, streamed: true } as const;
const BY_HAND = { whole: true, streamed: 'streams put together by hand keep the usual fields only' } as const;

function client(name: string, dialect: Dialect, run: readonly [Runtime, string, ...string[]], more: Partial<Client> = {}): Client {
  const [runtime, program, ...words] = run;
  return { name, dialect, runtime, program, words, classes: OFFICIAL, state: KEEPS, isAgent: false, without: {}, ...more };
}

export const CLIENTS: readonly Client[] = [
  client('openai-node chat', 'chat', ['node', 'openai-chat.mjs', 'events'], { state: BY_HAND }),
  client('openai-node chat helper', 'chat', ['node', 'openai-chat.mjs', 'helper'], {
    without: { thinking: 'of a field that it does not know it keeps the last piece' },
  }),
  client('openai-node responses', 'responses', ['node', 'openai-responses.mjs', 'events']),
  client('openai-node responses helper', 'responses', ['node', 'openai-responses.mjs', 'helper']),
  client('openai-python chat', 'chat', ['python', 'openai_chat.py', 'events'], { state: BY_HAND }),
  client('openai-python chat helper', 'chat', ['python', 'openai_chat.py', 'helper']),
  client('openai-python responses', 'responses', ['python', 'openai_responses.py', 'events']),
  client('openai-python responses helper', 'responses', ['python', 'openai_responses.py', 'helper']),
  client('anthropic-node', 'messages', ['node', 'anthropic.mjs', 'events']),
  client('anthropic-node helper', 'messages', ['node', 'anthropic.mjs', 'helper']),
  client('anthropic-python', 'messages', ['python', 'anthropic_messages.py', 'events']),
  client('anthropic-python helper', 'messages', ['python', 'anthropic_messages.py', 'helper']),
  client('ai-sdk openai chat', 'chat', ['node', 'ai-sdk.mjs', 'chat'], {
    classes: AI_SDK,
    state: { whole: 'it reads no field for it', streamed: 'it reads no field for it' },
    without: { thinking: 'it reads no reasoning in this format' },
  }),
  client('ai-sdk openai responses', 'responses', ['node', 'ai-sdk.mjs', 'responses'], { classes: AI_SDK }),
  client('ai-sdk openai-compatible', 'chat', ['node', 'ai-sdk.mjs', 'compatible'], { classes: AI_SDK }),
  client('ai-sdk anthropic', 'messages', ['node', 'ai-sdk.mjs', 'anthropic'], { classes: AI_SDK }),
  client('langchain-openai chat', 'chat', ['langchain', 'langchain_chat.py', 'chat'], {
    state: { whole: 'it reads no field for it', streamed: 'it reads no field for it' },
    without: { thinking: 'it reads no reasoning in this format' },
  }),
  client('langchain-openai responses', 'responses', ['langchain', 'langchain_chat.py', 'responses']),
  client('langchain-anthropic', 'messages', ['langchain', 'langchain_chat.py', 'anthropic']),
  client('pydantic-ai chat', 'chat', ['pydantic', 'pydantic_agent.py', 'chat'], { classes: PYDANTIC }),
  client('pydantic-ai responses', 'responses', ['pydantic', 'pydantic_agent.py', 'responses'], {
    classes: PYDANTIC,
    state: { whole: 'of models whose names it does not know it asks for none', streamed: 'of models whose names it does not know it asks for none' },
  }),
  client('pydantic-ai anthropic', 'messages', ['pydantic', 'pydantic_agent.py', 'anthropic'], { classes: PYDANTIC }),
  client('litellm chat', 'chat', ['litellm', 'litellm_client.py', 'openai'], {
    classes: LITELLM,
    state: { whole: true, streamed: 'of a stream that it puts together it keeps the usual fields only' },
    without: { cancel: 'it offers no way to leave a stream' },
  }),
  client('litellm anthropic', 'messages', ['litellm', 'litellm_client.py', 'anthropic'], {
    classes: LITELLM,
    without: { cancel: 'it offers no way to leave a stream' },
  }),
  client('llm', 'chat', ['llm', 'llm_client.py'], {
    state: { whole: 'it reads no field for it', streamed: 'it reads no field for it' },
    without: { thinking: 'it keeps no reasoning of this format', cancel: 'it offers no way to leave a stream' },
  }),
  client('Claude Code', 'messages', ['node', 'claude-code.mjs'], {
    classes: AGENT,
    isAgent: true,
    without: {
      'loop streamed': 'it always streams',
      image: 'its command line takes none',
      thinking: 'it prints none',
    },
  }),
  client('Codex', 'responses', ['node', 'codex.mjs'], {
    classes: AGENT,
    isAgent: true,
    without: {
      stream: 'it prints no pieces',
      'loop streamed': 'it always streams',
      image: 'its command line takes a file, not data',
      thinking: 'it prints none',
      cancel: 'it prints no pieces that one could wait for',
    },
  }),
];
