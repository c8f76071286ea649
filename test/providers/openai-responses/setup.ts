/** What the tests of the Responses codec share. */

import { readFileSync } from 'node:fs';
import type { ChatRequest, Turn } from '../../../src/core/chat.ts';
import { createResponsesAdapter } from '../../../src/providers/openai-responses/adapter.ts';
import { RESPONSES_DIALECT } from '../../../src/providers/openai-responses/state.ts';
import { payload, requestOf } from '../openai-chat/setup.ts';

export const responses = createResponsesAdapter('openai');

export function fixture(name: string): Buffer {
  return readFileSync(new URL(`../../fixtures/openai-responses/${name}`, import.meta.url));
}

export const FIXTURES = ['text', 'tools', 'cut', 'refused'] as const;

export function inputOf(turns: readonly Turn[], fields: Partial<ChatRequest> = {}): readonly unknown[] {
  return payload(responses, requestOf({ turns, ...fields }))['input'] as readonly unknown[];
}

/** The content of a state, as JSON. */
export function contentOf(state: string | undefined): unknown {
  return state === undefined ? undefined : JSON.parse(Buffer.from(state.split('.')[2] ?? '', 'base64url').toString());
}

/** A state with this JSON text in it. */
export function stateOf(json: string, provider = 'openai'): string {
  return `${RESPONSES_DIALECT}.${provider}.${Buffer.from(json).toString('base64url')}`;
}

/** A whole body. */
export function bodyOf(output: unknown, fields: object = {}): string {
  return JSON.stringify({ id: 'resp_1', object: 'response', model: 'm1', status: 'completed', error: null, output, ...fields });
}

export const cutFor = (reason: string): object => ({ status: 'incomplete', incomplete_details: { reason } });

export const message = (text: string, fields: object = {}): object => ({
  type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }], ...fields,
});
export const functionCall = (callId: string, args: string, fields: object = {}): object => ({
  type: 'function_call', id: 'fc_1', call_id: callId, name: 'weather', arguments: args, status: 'completed', ...fields,
});
export const reasoning = (sealed: string | null, ...texts: string[]): object => ({
  type: 'reasoning', id: 'rs_1', encrypted_content: sealed, summary: texts.map((text) => ({ type: 'summary_text', text })),
});

/** SSE of events, each named by its type. */
export function sse(...events: readonly { readonly type: string }[]): Buffer {
  return Buffer.from(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

export const textDelta = (delta: string, index = 0): { type: string } => ({ type: 'response.output_text.delta', output_index: index, delta } as { type: string });
export const summaryDelta = (delta: string, index = 0, part = 0): { type: string } =>
  ({ type: 'response.reasoning_summary_text.delta', output_index: index, summary_index: part, delta } as { type: string });
export const itemDone = (item: object, index = 0): { type: string } => ({ type: 'response.output_item.done', output_index: index, item } as { type: string });
export const completed = (fields: object = {}): { type: string } =>
  ({ type: 'response.completed', response: { id: 'resp_1', object: 'response', model: 'm1', status: 'completed', error: null, output: [], ...fields } } as { type: string });
