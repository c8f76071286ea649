/** What the tests of tool loops share: every codec there is, requests and turns, and payloads taken apart. */

import { parseJson } from '../../src/base/json/parse.ts';
import { JsonArray, JsonObject, RawJson } from '../../src/base/json/value.ts';
import type { Adapter, UpstreamCall } from '../../src/core/adapter.ts';
import type { AssistantPart, ChatReply, ChatRequest, ToolCallPart, Turn } from '../../src/core/chat.ts';
import { Failure } from '../../src/core/failure.ts';
import { PROVIDER_ROWS, compatRow } from '../../src/providers/index.ts';
import { sentText } from '../sent-text.ts';

export type Codec = {
  /** The provider's name, and for OpenAI the API that serves it. */
  readonly label: string;
  readonly provider: string;
  readonly adapter: Adapter;
  /** A model whose behaviour is the newest; for OpenAI one that the API serves. */
  readonly model: string;
};

/** Models of hosts whose rules depend on the model; elsewhere any name will do. */
const MODELS: Readonly<Record<string, string>> = {
  anthropic: 'claude-haiku-5-5',
  azure: 'gpt-9',
  foundry: 'claude-haiku-5-5',
  'claude-aws': 'claude-haiku-5-5',
  gemini: 'gemini-9-flash',
  vertex: 'gemini-9-flash',
  openai: 'gpt-9',
  xai: 'grok-9',
  groq: 'openai/gpt-oss-120b',
  moonshot: 'kimi-k3',
};

/** Every row of the registry; OpenAI once for each setting of its API. */
export const CODECS: readonly Codec[] = [...PROVIDER_ROWS, compatRow('compat')].flatMap(({ name, createAdapter }) => {
  const model = MODELS[name] ?? 'some-model';
  if (name !== 'openai') return [{ label: name, provider: name, adapter: createAdapter(name), model }];
  return (['auto', 'chat', 'responses'] as const).map((openAiApi) => ({
    label: `openai (${openAiApi})`,
    provider: name,
    adapter: createAdapter(name, { openAiApi }),
    model,
  }));
});

/** The ways to Claude on clouds that serve each model in its vendor's format, of which CODECS have another. */
export const CLOUD_CODECS: readonly Codec[] = (
  [
    ['bedrock', 'Messages', 'anthropic.claude-haiku-5-5'],
    ['bedrock', 'InvokeModel', 'us.anthropic.claude-haiku-5-5-v1:0'],
    ['vertex', 'rawPredict', 'claude-haiku-5-5'],
  ] as const
).flatMap(([provider, way, model]) => {
  const adapter = PROVIDER_ROWS.find(({ name }) => name === provider)?.createAdapter(provider, { openAiApi: 'auto', project: { id: 'p1', location: 'l1' } });
  return adapter === undefined ? [] : [{ label: `${provider} (${way})`, provider, adapter: { ...adapter, dialect: 'anthropic' }, model }];
});

/** One codec a wire format. */
export const DIALECTS: readonly Codec[] = ['anthropic', 'gemini', 'compat', 'openai (responses)'].map(codecOf);

export function codecOf(label: string): Codec {
  const codec = CODECS.find((candidate) => candidate.label === label);
  if (codec === undefined) throw new Error(`no codec ${label}`);
  return codec;
}

export function requestOf(fields: Partial<ChatRequest>): ChatRequest {
  return {
    provider: undefined, model: 'some-model', system: undefined, turns: [user('Go')], maxTokens: undefined,
    temperature: undefined, topP: undefined, stop: [], tools: [], toolChoice: undefined, thinking: undefined,
    output: undefined, cache: undefined, user: undefined, providerOptions: undefined, ...fields,
  };
}

export const user = (text: string): Turn => ({ role: 'user', parts: [{ type: 'text', text, state: undefined }] });
export const assistant = (...parts: AssistantPart[]): Turn => ({ role: 'assistant', parts });
export const text = (value: string, state?: string): AssistantPart => ({ type: 'text', text: value, state });
export const call = (id: string, args = '{}', state?: string): ToolCallPart => ({
  type: 'tool_call', id, name: 'look', arguments: new RawJson(args), state,
});
export const result = (toolCallId: string, content = 'ok', isError = false): Turn => ({
  role: 'tool', parts: [{ type: 'tool_result', toolCallId, content, isError }],
});

/** The call for a request that is accepted. */
export function encode(adapter: Adapter, request: ChatRequest): UpstreamCall {
  const encoded = adapter.encodeChat(request, false);
  if (encoded instanceof Failure) throw new Error(`${encoded.kind}: ${encoded.message}`);
  return encoded;
}

export function payload(adapter: Adapter, request: ChatRequest): Record<string, unknown> {
  return JSON.parse(sentText(encode(adapter, request))) as Record<string, unknown>;
}

/** The pieces of a payload's conversation in order, each as it is written: a block with its role, or a whole message. */
export function piecesOf(dialect: string, body: string): string[] {
  const canGrow = dialect === 'anthropic' || dialect === 'gemini';
  const pieces: string[] = [];
  for (const message of listOf(entryOf(parseJson(body), ['messages', 'contents', 'input']))) {
    const blocks = entryOf(message, ['content', 'parts']);
    // Blocks may be added to a message of the other two formats; here a message or item is whole at once.
    const isWhole = !(blocks instanceof JsonArray) || !canGrow;
    if (!isWhole) for (const block of blocks.items) pieces.push(`${String(entryOf(message, ['role']))} ${textOf(block)}`);
    else pieces.push(...growingTexts(dialect, message));
  }
  return pieces;
}

/** A message's text; a user's of Chat Completions, to which some hosts' codecs add the next turn's, by paragraphs or parts. */
function growingTexts(dialect: string, message: unknown): string[] {
  const content = entryOf(message, ['content']);
  if (dialect !== 'openai-chat' || entryOf(message, ['role']) !== 'user') return [textOf(message)];
  const parts = typeof content === 'string' ? [content] : listOf(content);
  return parts.flatMap((part) => {
    // A text that becomes the first part of a list is the same to a model.
    const text = typeof part === 'string' ? part : entryOf(part, ['text']);
    return typeof text === 'string' ? text.split('\n\n').map((paragraph) => `user ${paragraph}`) : [`user ${textOf(part)}`];
  });
}

function entryOf(value: unknown, names: readonly string[]): unknown {
  if (!(value instanceof JsonObject)) return undefined;
  return names.map((name) => value.entries.get(name)).find((found) => found !== undefined);
}

function listOf(value: unknown): readonly unknown[] {
  return value instanceof JsonArray ? value.items : [];
}

function textOf(value: unknown): string {
  return value instanceof JsonObject || value instanceof JsonArray ? value.raw.text : JSON.stringify(value);
}

/** The reply that a body decodes to. */
export function replyOf(outcome: ChatReply | Failure): ChatReply {
  if (outcome instanceof Failure) throw new Error(`${outcome.kind}: ${outcome.message}`);
  return outcome;
}

/** A reply with everything that a provider wants back, for each dialect: reasoning, some words, two calls. */
export function thoughtfulBody(dialect: string): string {
  switch (dialect) {
    case 'anthropic':
      return '{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"thinking","thinking":"first","signature":"sig-1"},{"type":"redacted_thinking","data":"sealed-2"},{"type":"text","text":"Words","citations":[{"type":"char_location","cited_text":"c","n":1.0}]},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"q":1e-7}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"tool_use","id":"toolu_1","name":"look","input":{"2":12345678901234567890,"1":1.0}},{"type":"thinking","thinking":"","signature":"sig-3"},{"type":"tool_use","id":"toolu_2","name":"look","input":{}}],"stop_reason":"tool_use"}';
    case 'gemini':
      return '{"candidates":[{"content":{"role":"model","parts":[{"text":"Words","thoughtSignature":"sig-1"},{"executableCode":{"language":"PYTHON","code":"1.0"}},{"functionCall":{"id":"call1","name":"look","args":{"2":12345678901234567890,"1":1.0}},"thoughtSignature":"sig-2"},{"functionCall":{"id":"call2","name":"look","args":{}}}]},"finishReason":"STOP"}]}';
    case 'openai-responses':
      return '{"object":"response","id":"r","model":"x","status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"first"}],"encrypted_content":"sealed-1"},{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Words","annotations":[]}]},{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"sealed-2"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":"{\\"2\\":12345678901234567890,\\"1\\":1.0}","status":"completed"},{"type":"function_call","id":"fc_2","call_id":"call_2","name":"look","arguments":"{}","status":"completed"}]}';
    default:
      return '{"id":"c","model":"x","choices":[{"index":0,"message":{"role":"assistant","content":"Words","reasoning_content":"first","reasoning_details":[{"type":"reasoning.text","text":"first","signature":"sig-1","index":0,"n":1.0}],"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\\"2\\":12345678901234567890,\\"1\\":1.0}"},"extra_content":{"google":{"thought_signature":"sig-2"}}},{"id":"call_2","type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}';
  }
}
