/**
 * OpenAI's Responses API: the successor of Chat Completions, which recent models demand for tools with reasoning.
 *
 * Puts the pieces together: request, reply, stream; failures and the list of models are those of Chat Completions.
 */

import type { Adapter, Support, SupportTable } from '../../core/adapter.ts';
import { decodeFailureBody, failureInside } from '../openai-common/failure.ts';
import { decodeModelsBody, encodeModelsCall } from '../openai-common/model-list.ts';
import { COMMON_SUPPORT } from '../openai-common/support.ts';
import { decodeCount } from '../token-count.ts';
import { decodeResponse } from './reply.ts';
import { encodeCountCall, encodeResponsesCall } from './request.ts';
import type { ResponsesHost } from './request.ts';
import { RESPONSES_DIALECT } from './state.ts';
import { ResponsesStream } from './stream.ts';

/** The codec for a provider registered under this name, which may differ from OpenAI itself. */
export function createResponsesAdapter(provider: string, differences: Partial<ResponsesHost> = {}): Adapter {
  const host: ResponsesHost = { name: provider, userField: 'safety_identifier', hasCacheLife: true, models: undefined, ...differences };
  return {
    dialect: RESPONSES_DIALECT,
    support: supportOf(host),
    encodeChat: (request, isStream) => encodeResponsesCall(host, request, isStream),
    decodeChat: (body, json, exact, use) => decodeResponse(provider, body, json, exact, use),
    createStreamDecoder: (use) => new ResponsesStream(provider, use),
    encodeModels: encodeModelsCall,
    decodeModels: (body, json) => decodeModelsBody(provider, body, json),
    counting: { encode: (request) => encodeCountCall(host, request), decode: (body) => decodeCount(provider, body, failureInside, 'input_tokens') },
    decodeFailure: (status, body) => decodeFailureBody(provider, status, body),
  };
}

const RESPONSES_SUPPORT: Omit<SupportTable, 'user'> = {
  ...COMMON_SUPPORT,
  system: { is: 'sent', as: '`instructions`' },
  'user text': { is: 'sent', as: '`input_text`' },
  'user image (inline)': { is: 'sent', as: '`input_image` with a data URL' },
  'user image (url)': { is: 'sent', as: '`input_image`' },
  'user document (pdf inline)': { is: 'sent', as: '`input_file` with `file_data`' },
  'user document (pdf url)': { is: 'sent', as: '`input_file` with `file_url`, its name as text before it' },
  'user document (text)': { is: 'sent', as: '`input_text`, behind its name; by URL refused' },
  'assistant text': { is: 'sent', as: '`content`' },
  'assistant tool_call': { is: 'sent', as: '`function_call`; an id that would be refused gets another form' },
  'assistant provider_state': {
    is: 'sent',
    as: 'sealed reasoning, and items of which a chat knows nothing, in their old place; `phase`, `namespace`, `caller`',
  },
  tool_result: { is: 'sent', as: '`function_call_output`' },
  'tool_result image': { is: 'sent', as: '`input_image` in `function_call_output`' },
  'tool_result document': { is: 'sent', as: '`input_file` in `function_call_output`' },
  max_tokens: { is: 'sent', as: '`max_output_tokens`' },
  stop: { is: 'refused', as: 'there are no stop sequences' },
  tools: { is: 'sent', as: '`tools` of type `function`, not strict unless asked to be' },
  'tools strict': { is: 'sent', as: '`strict: true`' },
  'tool_choice tool': { is: 'sent', as: '`tool_choice.name`' },
  'tool_choice.parallel false': { is: 'sent', as: '`parallel_tool_calls: false`; nothing without tools' },
  'thinking on': { is: 'translated', as: '`reasoning.effort: medium`, with a summary' },
  'thinking off': { is: 'translated', as: '`reasoning.effort: low`; `none` or `minimal` for models that take it' },
  'thinking.effort low': { is: 'sent', as: '`reasoning.effort: low`' },
  'thinking.effort medium': { is: 'sent', as: '`reasoning.effort: medium`' },
  'thinking.effort high': { is: 'sent', as: '`reasoning.effort: high`' },
  'thinking.effort max': { is: 'sent', as: '`reasoning.effort: max`, before gpt-5.6 the most they take' },
  output: { is: 'sent', as: '`text.format.type: json_object`' },
  'output.schema': { is: 'sent', as: '`text.format.schema`' },
  'output.strict false': { is: 'sent', as: '`text.format.strict: false`' },
  cache: { is: 'sent', as: '`prompt_cache_key`' },
  'cache.ttl long': { is: 'translated', as: '`prompt_cache_options.ttl: 12h`; gpt-4.1 to 5.5: `prompt_cache_retention: 24h` where they take it' },
};

function supportOf({ userField, hasCacheLife }: ResponsesHost): SupportTable {
  const user: Support = { is: 'sent', as: `\`${userField}\`` };
  return { ...RESPONSES_SUPPORT, user, ...(hasCacheLife ? {} : { 'cache.ttl long': { is: 'ignored', as: 'there is no field for it' } }) };
}
