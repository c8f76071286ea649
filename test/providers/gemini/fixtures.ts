/** Shared by the Gemini tests: requests, the parsed payload, replies, streams. */

import { readFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { parseJson } from '../../../src/base/json/parse.ts';
import { JsonObject, RawJson } from '../../../src/base/json/value.ts';
import type { AssistantPart, AssistantTurn, ChatReply, ChatRequest, ToolCallPart, Turn } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { createGeminiAdapter } from '../../../src/providers/gemini/adapter.ts';
import { sentText } from '../../sent-text.ts';

export const adapter = createGeminiAdapter('gemini');

export function fixture(name: string): Buffer {
  return readFileSync(new URL(`../../fixtures/gemini/${name}`, import.meta.url));
}

const PLAIN: ChatRequest = {
  provider: undefined,
  model: 'gemini-3.8-flash',
  system: undefined,
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi', state: undefined }] }],
  maxTokens: undefined,
  temperature: undefined,
  topP: undefined,
  stop: [],
  tools: [],
  toolChoice: undefined,
  thinking: undefined,
  output: undefined, cache: undefined, user: undefined, providerOptions: undefined,
};

export function requestOf(fields: Partial<ChatRequest> = {}): ChatRequest {
  return { ...PLAIN, ...fields };
}

export function options(json: string): JsonObject {
  const parsed = parseJson(json);
  if (!(parsed instanceof JsonObject)) throw new Error('not an object');
  return parsed;
}

export const user = (text: string): Turn => ({ role: 'user', parts: [{ type: 'text', text, state: undefined }] });
export const assistant = (...parts: AssistantPart[]): AssistantTurn => ({ role: 'assistant', parts });
export const text = (value: string, state?: string): AssistantPart => ({ type: 'text', text: value, state });
export const call = (id: string, name: string, args = '{}', state?: string): ToolCallPart => ({
  type: 'tool_call',
  id,
  name,
  arguments: new RawJson(args),
  state,
});
export const result = (toolCallId: string, content: string, isError = false): Turn => ({
  role: 'tool',
  parts: [{ type: 'tool_result', toolCallId, content, isError }],
});

/** The text of the payload for a request that is accepted. */
export function payloadText(request: ChatRequest): string {
  const encoded = adapter.encodeChat(request, false);
  if (encoded instanceof Failure) throw new Error(encoded.message);
  assert.ok(encoded.body !== undefined);
  return sentText(encoded);
}

export type Payload = {
  contents: { role: string; parts: Record<string, unknown>[] }[];
  [key: string]: unknown;
};

export function payload(request: ChatRequest): Payload {
  return JSON.parse(payloadText(request)) as Payload;
}

export function refused(request: ChatRequest): Failure {
  const encoded = adapter.encodeChat(request, false);
  if (!(encoded instanceof Failure)) throw new Error('it was accepted');
  return encoded;
}

/** A reply body with these parts. */
export function body(parts: readonly unknown[], fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0, ...fields }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
    modelVersion: 'gemini-3.8-flash',
    responseId: 'resp-1',
  });
}

export function reply(source: string): ChatReply {
  const decoded = adapter.decodeChat(source);
  if (decoded instanceof Failure) throw new Error(decoded.message);
  return decoded;
}

export function failedReply(source: string): Failure {
  const decoded = adapter.decodeChat(source);
  if (!(decoded instanceof Failure)) throw new Error('it was decoded');
  return decoded;
}

/** Every delta of the frames, each given as its data. */
export function deltasOf(frames: readonly string[]): Delta[] {
  const deltas: Delta[] = [];
  const decoder = adapter.createStreamDecoder();
  for (const frame of frames) decoder.frame('', frame, (delta) => void deltas.push(delta));
  decoder.end((delta) => void deltas.push(delta));
  return deltas;
}

/** Ids that the gateway made are random: `made-0`, `made-1`, … in their order. */
export function withStableIds<T>(value: T): T {
  const seen = new Map<string, string>();
  const json = JSON.stringify(value, (_key, inner: unknown) => (inner instanceof RawJson ? { raw: inner.text } : inner));
  return JSON.parse(
    json.replace(/gwcall_[0-9a-f]{24}/g, (id) => {
      const stable = seen.get(id) ?? `made-${seen.size}`;
      seen.set(id, stable);
      return stable;
    }),
  ) as T;
}

/** A small deterministic generator, so that a failing fuzz case can be repeated. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
