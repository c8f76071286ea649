/** What the tests of the Anthropic codec share. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parseJson } from '../../../src/base/json/parse.ts';
import { JsonObject, RawJson } from '../../../src/base/json/value.ts';
import type { AssistantPart, ChatReply, ChatRequest, Turn } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { createAnthropicAdapter } from '../../../src/providers/anthropic/adapter.ts';
import { sentText } from '../../sent-text.ts';

export const adapter = createAnthropicAdapter('anthropic');

/** A stream `<name>.sse` and the whole reply `<name>.json` that says the same. */
export const TWINS = ['text', 'tools', 'server-tools', 'cut-call', 'refused'] as const;

export function fixture(name: string): Buffer {
  return readFileSync(new URL(`../../fixtures/anthropic/${name}`, import.meta.url));
}

/** A request that asks for nothing but an answer to "Hi". */
export function request(fields: Partial<ChatRequest> = {}): ChatRequest {
  return {
    provider: undefined,
    model: 'claude-opus-5-5',
    system: undefined,
    turns: [user('Hi')],
    maxTokens: undefined,
    temperature: undefined,
    topP: undefined,
    stop: [],
    tools: [],
    toolChoice: undefined,
    thinking: undefined,
    output: undefined, cache: undefined, user: undefined, providerOptions: undefined,
    ...fields,
  };
}

export function user(text: string): Turn {
  return { role: 'user', parts: [{ type: 'text', text, state: undefined }] };
}

export function assistant(...parts: AssistantPart[]): Turn {
  return { role: 'assistant', parts };
}

export function text(content: string, state?: string): AssistantPart {
  return { type: 'text', text: content, state };
}

export function call(id: string, args = '{}', state?: string): AssistantPart {
  return { type: 'tool_call', id, name: 'look', arguments: new RawJson(args), state };
}

export function result(toolCallId: string, content = 'ok', isError = false): Turn {
  return { role: 'tool', parts: [{ type: 'tool_result', toolCallId, content, isError }] };
}

export function options(json: string): JsonObject {
  const parsed = parseJson(json);
  assert.ok(parsed instanceof JsonObject);
  return parsed;
}

/** The payload's text. */
export function payloadText(fields: Partial<ChatRequest>, isStream = false): string {
  const encoded = adapter.encodeChat(request(fields), isStream);
  assert.ok(!(encoded instanceof Failure), encoded instanceof Failure ? encoded.message : '');
  return sentText(encoded);
}

type Payload = { readonly [key: string]: unknown; readonly messages: readonly { role: string; content: readonly unknown[] }[] };

export function payload(fields: Partial<ChatRequest>): Payload {
  return JSON.parse(payloadText(fields)) as Payload;
}

export function replyOf(outcome: ChatReply | Failure): ChatReply {
  assert.ok(!(outcome instanceof Failure), outcome instanceof Failure ? `${outcome.message} ${outcome.detail}` : '');
  return outcome;
}

export function failureOf(outcome: unknown): Failure {
  assert.ok(outcome instanceof Failure);
  return outcome;
}

/** A whole reply with these content blocks. */
export function body(content: string, rest = '"stop_reason":"end_turn"'): string {
  return `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[${content}],${rest}}`;
}

/** Undoes the `provider_state` of a part: the JSON that it carries. */
export function stateContent(part: AssistantPart | undefined): unknown {
  if (part?.state === undefined) return undefined;
  return JSON.parse(Buffer.from(part.state.split('.')[2] ?? '', 'base64url').toString());
}
