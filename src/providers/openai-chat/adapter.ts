/**
 * OpenAI Chat Completions, and by profile any host that imitates it.
 *
 * Puts the pieces together: request, reply, stream, failure, models. Must not know hosts by name;
 * those are rows of a table elsewhere.
 */

import type { Adapter, SupportTable } from '../../core/adapter.ts';
import { decodeFailureBody } from '../openai-common/failure.ts';
import { decodeModelsBody, encodeModelsCall } from '../openai-common/model-list.ts';
import { COMMON_SUPPORT } from '../openai-common/support.ts';
import { thinkingSupport } from '../openai-common/thinking.ts';
import type { HostProfile } from './profile.ts';
import { decodeChatBody } from './reply.ts';
import { encodeChatCall } from './request.ts';
import { OPENAI_DIALECT } from './state.ts';
import { OpenAiStreamDecoder } from './stream.ts';

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
    decodeFailure: (status, body) => decodeFailureBody(provider, status, body),
  };
}

function supportOf(profile: HostProfile): SupportTable {
  return {
    ...COMMON_SUPPORT,
    system: {
      is: 'sent',
      as:
        profile.systemRole === 'by model'
          ? 'first message, role `developer`; before reasoning models `system`'
          : 'first message, role `system`',
    },
    'user text': { is: 'sent', as: profile.userTurns === 'merged' ? '`content`; turns in a row go out as one' : '`content`' },
    'user image (inline)': { is: 'sent', as: '`image_url` with a data URL' },
    'user image (url)': { is: 'sent', as: '`image_url`' },
    'assistant text': { is: 'sent', as: profile.emptyTurns === 'dropped' ? '`content`; an empty turn is left out' : '`content`' },
    'assistant tool_call': callSupport(profile),
    'assistant provider_state': stateSupport(profile),
    tool_result: { is: 'sent', as: 'a message of role `tool` each' },
    max_tokens: { is: 'sent', as: `\`${profile.maxTokensField}\`` },
    stop: { is: 'sent', as: '`stop`' },
    tools: { is: 'sent', as: '`tools` of type `function`' },
    'tool_choice tool':
      profile.namedToolChoice === 'sent'
        ? { is: 'sent', as: '`tool_choice.function.name`' }
        : { is: 'translated', as: 'that tool alone, with `tool_choice: required`' },
    ...thinkingSupport(profile.thinking),
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
