/**
 * The codec of the Anthropic Messages API: messages and models.
 *
 * Ties together what its neighbours encode and decode; no I/O.
 * Source: Anthropic API reference, version 2023-06-01.
 */

import { parseLenient } from '../base/json.ts';
import { countField, field, isObject, stringField, textField } from '../base/loose.ts';
import type { Adapter, ModelsPage, ProviderRow, Support, SupportTable, UpstreamCall } from '../core/adapter.ts';
import type { ChatRequest, ModelInfo } from '../core/chat.ts';
import { Failure, malformedReply } from '../core/failure.ts';
import { decodeAnthropicFailure, failureInside } from './anthropic-failure.ts';
import { decodeReply } from './anthropic-reply.ts';
import { encodePayload } from './anthropic-request.ts';
import { ANTHROPIC_DIALECT } from './anthropic-state.ts';
import { AnthropicStream } from './anthropic-stream.ts';

/** How Anthropic is configured from the environment. */
export const ANTHROPIC_ROW: ProviderRow = {
  name: 'anthropic',
  keyVariables: ['ANTHROPIC_API_KEY'],
  isKeyRequired: true,
  baseUrlVariable: 'ANTHROPIC_BASE_URL',
  defaultBaseUrl: 'https://api.anthropic.com',
  versionSegment: 'v1',
  keyHeader: { name: 'x-api-key', prefix: '' },
  createAdapter: createAnthropicAdapter,
};

/** The codec for a provider registered as `provider`. */
export function createAnthropicAdapter(provider: string): Adapter {
  return {
    dialect: ANTHROPIC_DIALECT,
    support: SUPPORT,
    encodeChat: (request, isStream) => encodeChat(provider, request, isStream),
    decodeChat: (body) => decodeReply(provider, body),
    createStreamDecoder: () => new AnthropicStream(provider),
    encodeModels,
    decodeModels: (body) => decodeModels(provider, body),
    decodeFailure: (status, headers, body) => decodeAnthropicFailure(provider, status, headers, body),
  };
}

const EFFORT: Support = {
  is: 'translated',
  as: '`output_config.effort`; a `budget_tokens` up to Claude 4.5; nothing where thinking is off',
};

const SUPPORT: SupportTable = {
  model: { is: 'sent', as: '`model`' },
  system: { is: 'sent', as: '`system`' },
  'user text': { is: 'sent', as: '`text` block' },
  'user image (inline)': { is: 'sent', as: '`image` block, source `base64`' },
  'user image (url)': { is: 'sent', as: '`image` block, source `url`' },
  'assistant text': { is: 'sent', as: '`text` block; one of white space only is left out' },
  'assistant tool_call': { is: 'sent', as: '`tool_use` block' },
  'assistant provider_state': { is: 'sent', as: 'reasoning and server-tool blocks, citations, in their old place' },
  tool_result: { is: 'sent', as: '`tool_result` block of one user message' },
  'tool_result.is_error': { is: 'sent', as: '`is_error`' },
  max_tokens: { is: 'sent', as: '`max_tokens`; 4096 when absent, more when a thinking budget is added' },
  temperature: { is: 'sent', as: '`temperature`' },
  top_p: { is: 'sent', as: '`top_p`' },
  stop: { is: 'sent', as: '`stop_sequences`' },
  tools: { is: 'sent', as: '`tools`, schema as `input_schema`' },
  'tools without parameters': { is: 'translated', as: 'an object schema without properties' },
  'tool_choice auto': { is: 'sent', as: '`auto`; nothing without tools' },
  'tool_choice none': { is: 'sent', as: '`none`; nothing without tools' },
  'tool_choice required': { is: 'sent', as: '`any`' },
  'tool_choice tool': { is: 'sent', as: '`tool`' },
  'thinking on': { is: 'translated', as: '`adaptive`; up to Claude 4.5 `enabled` with a budget, where max_tokens and tools allow one' },
  'thinking off': { is: 'translated', as: '`disabled`; `between_tools` or effort `low` for models that always think' },
  'thinking.effort low': EFFORT,
  'thinking.effort medium': EFFORT,
  'thinking.effort high': EFFORT,
  'thinking.effort max': EFFORT,
  provider_options: { is: 'sent', as: 'merged over the payload' },
};

/** The version that still takes sampling parameters where the model does. */
const VERSION_HEADER = { 'anthropic-version': '2023-06-01' };
const CHAT_HEADERS = { 'content-type': 'application/json', ...VERSION_HEADER };

function encodeChat(provider: string, request: ChatRequest, isStream: boolean): UpstreamCall | Failure {
  const payload = encodePayload(provider, request, isStream);
  if (payload instanceof Failure) return payload;
  return { method: 'POST', path: '/messages', headers: CHAT_HEADERS, body: payload };
}

/** The most the API gives at once. */
const MODELS_PAGE_SIZE = '1000';

function encodeModels(cursor: string | undefined): UpstreamCall {
  const query = new URLSearchParams({ limit: MODELS_PAGE_SIZE });
  if (cursor !== undefined) query.set('after_id', cursor);
  return { method: 'GET', path: `/models?${query}`, headers: VERSION_HEADER, body: undefined };
}

function decodeModels(provider: string, body: string): ModelsPage | Failure {
  const page = parseLenient(body);
  const inside = failureInside(provider, page);
  if (inside !== undefined) return inside;
  const data = field(page, 'data');
  if (!isObject(page) || !Array.isArray(data)) return malformedReply(provider, 200, 'it sent no list of models');
  const models: ModelInfo[] = [];
  for (const entry of data as readonly unknown[]) {
    const id = textField(entry, 'id');
    if (id === undefined) continue;
    models.push({
      id,
      displayName: stringField(entry, 'display_name'),
      contextWindow: countField(entry, 'max_input_tokens'),
      outputTokensMax: countField(entry, 'max_tokens'),
    });
  }
  return { models, nextCursor: field(page, 'has_more') === true ? textField(page, 'last_id') : undefined };
}
