/**
 * OpenAI Chat Completions, and by profile any host that imitates it; OpenAI's own row, which has a second API.
 *
 * Puts the pieces together: request, reply, stream, failure, models. Must not know hosts by name;
 * those are rows of a table elsewhere.
 */

import type { Adapter, AdapterSettings, ProviderRow, SupportTable } from '../core/adapter.ts';
import { unreachable } from '../core/chat.ts';
import { decodeFailureBody } from './openai-failure.ts';
import { decodeModelsBody, encodeModelsCall } from './openai-models.ts';
import { OPENAI_HOST } from './openai-profile.ts';
import type { HostProfile } from './openai-profile.ts';
import { decodeChatBody } from './openai-reply.ts';
import { encodeChatCall } from './openai-request.ts';
import { createResponsesAdapter } from './openai-responses.ts';
import { createRoutedAdapter } from './openai-routing.ts';
import { OPENAI_DIALECT } from './openai-state.ts';
import { OpenAiStreamDecoder } from './openai-stream.ts';
import { thinkingSupport } from './openai-thinking.ts';

/** The codec for a provider registered under this name, speaking the format with these quirks. */
export function createOpenAiAdapter(provider: string, profile: HostProfile): Adapter {
  return {
    dialect: OPENAI_DIALECT,
    support: supportOf(profile),
    encodeChat: (request, isStream) => encodeChatCall(provider, profile, request, isStream),
    decodeChat: (body) => decodeChatBody(provider, profile, body),
    createStreamDecoder: () => new OpenAiStreamDecoder(provider, profile),
    encodeModels: encodeModelsCall,
    decodeModels: (body) => decodeModelsBody(provider, body),
    decodeFailure: (status, _headers, body) => decodeFailureBody(provider, status, body),
  };
}

/** OpenAI. Its base URL includes the version, as its SDKs read `OPENAI_BASE_URL`. */
export const OPENAI_ROW: ProviderRow = {
  name: 'openai',
  keyVariables: ['OPENAI_API_KEY'],
  isKeyRequired: true,
  baseUrlVariable: 'OPENAI_BASE_URL',
  defaultBaseUrl: 'https://api.openai.com/v1',
  versionSegment: undefined,
  keyHeader: { name: 'authorization', prefix: 'Bearer ' },
  createAdapter: createVendorAdapter,
};

function createVendorAdapter(name: string, { openAiApi }: AdapterSettings = { openAiApi: 'auto' }): Adapter {
  switch (openAiApi) {
    case 'chat':
      return createOpenAiAdapter(name, OPENAI_HOST);
    case 'responses':
      return createResponsesAdapter(name);
    case 'auto':
      return createRoutedAdapter(createOpenAiAdapter(name, OPENAI_HOST), createResponsesAdapter(name));
    default:
      return unreachable(openAiApi);
  }
}

function supportOf(profile: HostProfile): SupportTable {
  return {
    model: { is: 'sent', as: '`model`' },
    system: {
      is: 'sent',
      as:
        profile.systemRole === 'by model'
          ? 'first message, role `developer`; before reasoning models `system`'
          : 'first message, role `system`',
    },
    'user text': { is: 'sent', as: '`content`' },
    'user image (inline)': { is: 'sent', as: '`image_url` with a data URL' },
    'user image (url)': { is: 'sent', as: '`image_url`' },
    'assistant text': { is: 'sent', as: '`content`' },
    'assistant tool_call': callSupport(profile),
    'assistant provider_state': stateSupport(profile),
    tool_result: { is: 'sent', as: 'a message of role `tool` each' },
    'tool_result.is_error': { is: 'translated', as: '`Error: ` before the content' },
    max_tokens: { is: 'sent', as: `\`${profile.maxTokensField}\`` },
    temperature: { is: 'sent', as: '`temperature`' },
    top_p: { is: 'sent', as: '`top_p`' },
    stop: { is: 'sent', as: '`stop`' },
    tools: { is: 'sent', as: '`tools` of type `function`' },
    'tools without parameters': { is: 'translated', as: '`parameters` of an object without properties' },
    'tool_choice auto': { is: 'sent', as: '`tool_choice: auto`; nothing without tools' },
    'tool_choice none': { is: 'sent', as: '`tool_choice: none`; nothing without tools' },
    'tool_choice required': { is: 'sent', as: '`tool_choice: required`' },
    'tool_choice tool':
      profile.namedToolChoice === 'sent'
        ? { is: 'sent', as: '`tool_choice.function.name`' }
        : { is: 'translated', as: 'that tool alone, with `tool_choice: required`' },
    ...thinkingSupport(profile.thinking),
    provider_options: { is: 'sent', as: 'merged over the payload' },
  };
}

function callSupport(profile: HostProfile): SupportTable['assistant tool_call'] {
  if (profile.callIds === undefined) return { is: 'sent', as: '`tool_calls`' };
  return { is: 'sent', as: '`tool_calls`; an id that would be refused gets another form' };
}

function stateSupport(profile: HostProfile): SupportTable['assistant provider_state'] {
  const fields: string[] = [];
  if (profile.reasoningContent !== 'dropped') fields.push('`reasoning_content` of turns with calls');
  if (profile.returnsReasoningDetails) fields.push('`reasoning_details`');
  if (profile.returnsThoughtSignature) fields.push("a call's `thought_signature`");
  return { is: 'sent', as: fields.length === 0 ? 'nothing has to travel' : fields.join(', ') };
}
