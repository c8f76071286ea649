/**
 * The codec of the Anthropic Messages API: messages, models, counts of tokens.
 *
 * Ties together what its neighbours encode and decode; no I/O.
 * Source: Anthropic API reference, version 2023-06-01.
 */

import { parseLenient } from '../../base/json/parse.ts';
import { countField, field, isObject, stringField, textField } from '../../base/loose.ts';
import type { Adapter, ModelsPage, ProviderRow, Support, SupportTable, UpstreamCall } from '../../core/adapter.ts';
import type { ChatRequest, Effort, ModelInfo } from '../../core/chat.ts';
import { NO_EXTENSIONS } from '../../core/extension.ts';
import { Failure, unreadableReply } from '../../core/failure.ts';
import { decodeAnthropicFailure, failureInside } from './failure.ts';
import { BUDGET_TOKENS } from './model-rules.ts';
import { decodeReply } from './reply.ts';
import { encodeCountPayload, encodePayload } from './request.ts';
import { ANTHROPIC_DIALECT } from './state.ts';
import { AnthropicStream } from './stream.ts';

/** How Anthropic is configured from the environment. */
export const ANTHROPIC_ROW: ProviderRow = {
  name: 'anthropic',
  keyVariables: ['ANTHROPIC_API_KEY'],
  isKeyRequired: true,
  baseUrlVariable: 'ANTHROPIC_BASE_URL',
  defaultBaseUrl: 'https://api.anthropic.com',
  versionSegment: 'v1',
  keyHeader: { name: 'x-api-key', prefix: '' },
  speaks: ['anthropic'],
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
    counting: { encode: (request) => encodeCount(provider, request), decode: (body) => decodeCount(provider, body) },
    decodeFailure: (status, body) => decodeAnthropicFailure(provider, status, body),
  };
}

const SUPPORT: SupportTable = {
  ...NO_EXTENSIONS,
  model: { is: 'sent', as: '`model`' },
  system: { is: 'sent', as: '`system`' },
  'user text': { is: 'sent', as: '`text` block' },
  'user image (inline)': { is: 'sent', as: '`image` block, source `base64`' },
  'user image (url)': { is: 'sent', as: '`image` block, source `url`' },
  'assistant text': { is: 'sent', as: '`text` block; one of white space only, which is refused, is left out' },
  'assistant tool_call': { is: 'sent', as: '`tool_use` block; an id that would be refused gets another form' },
  'assistant provider_state': {
    is: 'sent',
    as: '`thinking`, `redacted_thinking`, server-tool and unknown blocks, `citations`, each in its place',
  },
  tool_result: { is: 'sent', as: '`tool_result` block, all in one user message' },
  'tool_result.is_error': { is: 'sent', as: '`is_error`; an empty one, which is refused, says `Error`' },
  max_tokens: { is: 'sent', as: '`max_tokens`; 4096 when absent, more when a thinking budget is added' },
  temperature: { is: 'sent', as: '`temperature`' },
  top_p: { is: 'sent', as: '`top_p`' },
  stop: { is: 'sent', as: '`stop_sequences`' },
  tools: { is: 'sent', as: '`tools`, schema as `input_schema`' },
  'tools without parameters': { is: 'translated', as: '`input_schema` of an object without properties' },
  'tool_choice auto': { is: 'sent', as: '`tool_choice.type: auto`; nothing without tools' },
  'tool_choice none': { is: 'sent', as: '`tool_choice.type: none`; nothing without tools' },
  'tool_choice required': { is: 'sent', as: '`tool_choice.type: any`' },
  'tool_choice tool': { is: 'sent', as: '`tool_choice.name`' },
  'thinking on': {
    is: 'sent',
    as: '`thinking.type: adaptive`; Claude 3.7 to 4.5: `enabled` with a budget; to 4.6: `disabled` where other fields (a `temperature` but 1, a `top_p` below 0.95; with a budget also a forced `tool_choice`) or the loop rule it out',
  },
  'thinking off': { is: 'sent', as: '`thinking.type: disabled`; models that always think: `between_tools`, or effort `low`' },
  ...effortSupport(),
  provider_options: { is: 'sent', as: 'merged over the payload' },
};

function effortSupport(): Pick<SupportTable, `thinking.effort ${Effort}`> {
  const row = (effort: Effort): Support => ({
    is: 'sent',
    as: `\`output_config.effort: ${effort}\`; Claude 3.7 to 4.5: a budget of ${BUDGET_TOKENS[effort]} tokens`,
  });
  return {
    'thinking.effort low': row('low'),
    'thinking.effort medium': row('medium'),
    'thinking.effort high': row('high'),
    'thinking.effort max': row('max'),
  };
}

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
  if (!isObject(page) || !Array.isArray(data)) return unreadableReply(provider, body, 'it sent no list of models');
  const models: ModelInfo[] = [];
  for (const entry of data as readonly unknown[]) {
    const id = textField(entry, 'id');
    if (id === undefined) continue;
    models.push({
      id,
      displayName: stringField(entry, 'display_name'),
      contextWindow: countField(entry, 'max_input_tokens'),
      inputTokensMax: undefined,
      outputTokensMax: countField(entry, 'max_tokens'),
      input: undefined,
      deprecatedAt: undefined,
    });
  }
  return { models, nextCursor: field(page, 'has_more') === true ? textField(page, 'last_id') : undefined };
}

function encodeCount(provider: string, request: ChatRequest): UpstreamCall | Failure {
  const payload = encodeCountPayload(provider, request);
  if (payload instanceof Failure) return payload;
  return { method: 'POST', path: '/messages/count_tokens', headers: CHAT_HEADERS, body: payload };
}

function decodeCount(provider: string, body: string): number | Failure {
  const json = parseLenient(body);
  return failureInside(provider, json) ?? countField(json, 'input_tokens') ?? unreadableReply(provider, body, 'it sent no number of tokens');
}
