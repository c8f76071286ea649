/** What the tests of the Chat Completions codec share. */

import { readFileSync } from 'node:fs';
import { parseJson } from '../../../src/base/json/parse.ts';
import { RawJson } from '../../../src/base/json/value.ts';
import type { JsonObject } from '../../../src/base/json/value.ts';
import type { Adapter } from '../../../src/core/adapter.ts';
import type { AssistantPart, ChatReply, ChatRequest, ToolCallPart, Turn } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { HOST_ROWS, compatRow } from '../../../src/providers/hosts.ts';
import { OPENAI_ROW } from '../../../src/providers/openai/adapter.ts';
import { sentText } from '../../sent-text.ts';

/** The adapter of a row, registered under the row's own name; OpenAI's for Chat Completions alone. */
export function adapterOf(name: string): Adapter {
  const row = [OPENAI_ROW, ...HOST_ROWS, compatRow('compat')].find((candidate) => candidate.name === name);
  if (row === undefined) throw new Error(`no row ${name}`);
  return row.createAdapter(name, { openAiApi: 'chat' });
}

export function requestOf(fields: Partial<ChatRequest> = {}): ChatRequest {
  return {
    provider: undefined, model: 'gpt-4o', system: undefined, turns: [user('hi')], maxTokens: undefined,
    temperature: undefined, topP: undefined, stop: [], tools: [], toolChoice: undefined, thinking: undefined,
    output: undefined, cache: undefined, user: undefined, providerOptions: undefined, ...fields,
  };
}

export const user = (text: string): Turn => ({ role: 'user', parts: [{ type: 'text', text, state: undefined }] });
export const assistant = (...parts: AssistantPart[]): Turn => ({ role: 'assistant', parts });
export const text = (value: string, state?: string): AssistantPart => ({ type: 'text', text: value, state });
export const call = (id: string, args = '{}', state?: string): ToolCallPart => ({
  type: 'tool_call', id, name: 'weather', arguments: new RawJson(args), state,
});
export const result = (toolCallId: string, content: string, isError = false): Turn => ({
  role: 'tool', parts: [{ type: 'tool_result', toolCallId, content, isError }],
});
export const WEATHER = { name: 'weather', description: undefined, parameters: undefined, strict: undefined };

export function options(json: string): JsonObject {
  return parseJson(json) as JsonObject;
}

/** The text of the payload. */
export function bodyText(adapter: Adapter, request: ChatRequest, isStream = false): string {
  const encoded = adapter.encodeChat(request, isStream);
  if (encoded instanceof Failure) throw new Error(encoded.message);
  return sentText(encoded);
}

export function payload(adapter: Adapter, request: ChatRequest, isStream = false): Record<string, unknown> {
  return JSON.parse(bodyText(adapter, request, isStream)) as Record<string, unknown>;
}

export function messagesOf(adapter: Adapter, turns: readonly Turn[], fields: Partial<ChatRequest> = {}): readonly unknown[] {
  return payload(adapter, requestOf({ turns, ...fields }))['messages'] as readonly unknown[];
}

export function fixture(name: string): Buffer {
  return readFileSync(new URL(`../../fixtures/openai-chat/${name}`, import.meta.url));
}

/** A whole body with one choice. */
export function bodyWith(message: unknown, finishReason: unknown = 'stop', extra: object = {}): string {
  return JSON.stringify({ id: 'c1', model: 'm1', choices: [{ index: 0, message, finish_reason: finishReason }], ...extra });
}

export function good(reply: ChatReply | Failure): ChatReply {
  if (reply instanceof Failure) throw new Error(reply.message);
  return reply;
}

/** SSE of chunks, `[DONE]` included. */
export function sse(...chunks: readonly unknown[]): Buffer {
  return Buffer.from([...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join(''));
}

/** A chunk with one choice. */
export function chunk(delta: unknown, finishReason: unknown = null): object {
  return { id: 'c1', model: 'm1', choices: [{ index: 0, delta, finish_reason: finishReason }] };
}
