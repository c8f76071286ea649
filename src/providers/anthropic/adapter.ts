/**
 * The codec of the Anthropic Messages API: messages, models, counts of tokens.
 *
 * Ties together what its neighbours encode and decode; no I/O.
 * Source: Anthropic API reference, version 2023-06-01.
 */

import type { JsonOut } from '../../base/json/value.ts';
import type { Adapter, ProviderRow, Support, SupportTable, UpstreamCall } from '../../core/adapter.ts';
import type { ChatRequest, Effort } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { decodeCount } from '../token-count.ts';
import { decodeAnthropicFailure, failureInside } from './failure.ts';
import { BUDGET_TOKENS } from './model-rules.ts';
import { VENDOR_HOST } from './host.ts';
import type { MessagesHost } from './host.ts';
import { decodeModels, encodeModels } from './models.ts';
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
  createAdapter: (name) => createAnthropicAdapter(name),
};

/** The codec for a provider registered as `provider`. */
export function createAnthropicAdapter(provider: string, host = VENDOR_HOST): Adapter {
  const { countPath } = host;
  return {
    dialect: ANTHROPIC_DIALECT,
    support: SUPPORT,
    encodeChat: (request, isStream) => encodeChat(provider, host, request, isStream),
    decodeChat: (body, json, exact) => decodeReply(provider, body, json, exact),
    createStreamDecoder: (use) => new AnthropicStream(provider, use),
    encodeModels,
    decodeModels: (body, json) => decodeModels(provider, body, json),
    counting: countPath === undefined
      ? undefined
      : { encode: (request) => post(host, countPath, encodeCountPayload(provider, host, request)), decode: (body) => decodeCount(provider, body, failureInside, 'input_tokens') },
    decodeFailure: (status, body) => decodeAnthropicFailure(provider, status, body),
  };
}

const SUPPORT: SupportTable = {
  model: { is: 'sent', as: '`model`' },
  system: { is: 'sent', as: '`system`' },
  'user text': { is: 'sent', as: '`text` block' },
  'user image (inline)': { is: 'sent', as: '`image` block, source `base64`' },
  'user image (url)': { is: 'sent', as: '`image` block, source `url`' },
  'user document (pdf inline)': { is: 'sent', as: '`document` block, source `base64`, its name as `title`' },
  'user document (pdf url)': { is: 'sent', as: '`document` block, source `url`, its name as `title`' },
  'user document (text)': { is: 'sent', as: '`document` block, source `text`, its name as `title`; by URL refused' },
  'assistant text': { is: 'sent', as: '`text` block; one of white space only, which is refused, is left out' },
  'assistant tool_call': { is: 'sent', as: '`tool_use` block; an id that would be refused gets another form' },
  'assistant provider_state': {
    is: 'sent',
    as: '`thinking`, `redacted_thinking`, server-tool and unknown blocks, `citations`, each in its place',
  },
  tool_result: { is: 'sent', as: '`tool_result` block, all in one user message' },
  'tool_result.is_error': { is: 'sent', as: '`is_error`; an empty one, which is refused, says `Error`, and so does one with an image or document, instead of the flag' },
  'tool_result image': { is: 'sent', as: '`image` block in its `content`' },
  'tool_result document': { is: 'sent', as: '`document` block in its `content`' },
  max_tokens: { is: 'sent', as: '`max_tokens`; 4096 when absent, more when a thinking budget is added' },
  temperature: { is: 'sent', as: '`temperature`' },
  top_p: { is: 'sent', as: '`top_p`' },
  stop: { is: 'sent', as: '`stop_sequences`' },
  tools: { is: 'sent', as: '`tools`, schema as `input_schema`' },
  'tools without parameters': { is: 'translated', as: '`input_schema` of an object without properties' },
  'tools strict': { is: 'sent', as: '`strict: true`' },
  'tool_choice auto': { is: 'sent', as: '`tool_choice.type: auto`; nothing without tools' },
  'tool_choice none': { is: 'sent', as: '`tool_choice.type: none`; nothing without tools' },
  'tool_choice required': { is: 'sent', as: '`tool_choice.type: any`' },
  'tool_choice tool': { is: 'sent', as: '`tool_choice.name`' },
  'tool_choice.parallel false': { is: 'sent', as: '`tool_choice.disable_parallel_tool_use: true`; nothing with mode `none`' },
  'thinking on': {
    is: 'sent',
    as: '`thinking.type: adaptive`; Claude 3.7 to 4.5: `enabled` with a budget; to 4.6: `disabled` where other fields (a `temperature` but 1, a `top_p` below 0.95; with a budget also a forced `tool_choice`) or the loop rule it out',
  },
  'thinking off': { is: 'sent', as: '`thinking.type: disabled`; models that always think: `between_tools`, or effort `low`' },
  ...effortSupport(),
  output: { is: 'refused', as: 'JSON only by a schema' },
  'output.schema': { is: 'sent', as: '`output_config.format`, without a name' },
  'output.strict false': { is: 'translated', as: '`output_config.format`, always enforced' },
  cache: { is: 'translated', as: '`cache_control.type: ephemeral` for the whole conversation, without a key' },
  'cache.ttl long': { is: 'translated', as: '`cache_control.ttl: 1h`' },
  user: { is: 'sent', as: '`metadata.user_id`' },
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

function encodeChat(provider: string, host: MessagesHost, request: ChatRequest, isStream: boolean): UpstreamCall | Failure {
  const path = host.path(request.model, isStream);
  if (path === undefined) return new Failure('bad_request', 'model: not a model name that can be part of a URL');
  return post(host, path, encodePayload(provider, host, request, isStream));
}

function post(host: MessagesHost, path: string, body: JsonOut | Failure): UpstreamCall | Failure {
  return body instanceof Failure ? body : { method: 'POST', path, headers: { 'content-type': 'application/json', ...host.headers }, body };
}
