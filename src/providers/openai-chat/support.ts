/** What becomes of each part of a request, by the profile of the host: its column of the matrix. */

import type { Support, SupportTable } from '../../core/adapter.ts';
import { unreachable } from '../../core/chat.ts';
import { COMMON_SUPPORT } from '../openai-common/support.ts';
import { thinkingSupport } from '../openai-common/thinking.ts';
import type { HostProfile } from './profile.ts';

const NO_FIELD: Support = { is: 'ignored', as: 'there is no field for it' };
const NO_PDF: Support = { is: 'refused', as: 'PDFs are not taken' };

/** The matrix of a host. */
export function supportOf(profile: HostProfile): SupportTable {
  const pdf: Support = profile.pdf === 'refused' ? NO_PDF : { is: 'sent', as: `\`${pdfPart(profile.pdf)}\`` };
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
    'user document (pdf inline)': pdf,
    'user document (pdf url)': profile.pdf === 'file' ? { is: 'refused', as: 'a PDF goes inline only' } : pdf,
    'user document (text)': { is: 'sent', as: '`text`, behind its name; by URL refused' },
    'assistant text': { is: 'sent', as: profile.emptyTurns === 'dropped' ? '`content`; an empty turn is left out' : '`content`' },
    'assistant tool_call': { is: 'sent', as: profile.callIds === undefined ? '`tool_calls`' : '`tool_calls`; an id that would be refused gets another form' },
    'assistant provider_state': stateSupport(profile),
    tool_result: {
      is: 'sent',
      as: `a message of role \`tool\` each${profile.userBehindResults === 'answered' ? ', and a word of the assistant before a user' : ''}`,
    },
    'tool_result image': mediaSupport(profile, '`image_url`'),
    'tool_result document': profile.pdf === 'refused' ? NO_PDF : mediaSupport(profile, `\`${pdfPart(profile.pdf)}\``),
    max_tokens: { is: 'sent', as: `\`${profile.maxTokensField}\`` },
    stop: { is: 'sent', as: '`stop`' },
    tools: { is: 'sent', as: '`tools` of type `function`' },
    'tools strict': strictToolsSupport(profile),
    'tool_choice tool':
      profile.namedToolChoice === 'sent'
        ? { is: 'sent', as: '`tool_choice.function.name`' }
        : { is: 'translated', as: 'that tool alone, with `tool_choice: required`' },
    'tool_choice.parallel false':
      profile.parallelToolCalls === 'sent'
        ? { is: 'sent', as: '`parallel_tool_calls: false`; nothing without tools' }
        : { is: 'refused', as: 'there is no field for it' },
    ...thinkingSupport(profile.thinking),
    ...outputSupport(profile),
    cache: profile.cacheKey === undefined ? NO_FIELD : { is: 'sent', as: `\`${profile.cacheKey}\`` },
    'cache.ttl long':
      profile.cacheLife === undefined
        ? NO_FIELD
        : { is: 'translated', as: '`prompt_cache_options.ttl: 30m`; gpt-4.1 to 5.5: `prompt_cache_retention: 24h` where they take it' },
    user: profile.userField === undefined ? NO_FIELD : { is: 'sent', as: `\`${profile.userField}\`` },
  };
}

function stateSupport(profile: HostProfile): SupportTable['assistant provider_state'] {
  const fields: string[] = [];
  if (profile.reasoningContent !== 'dropped') fields.push('`reasoning_content` of turns with calls');
  if (profile.returnsReasoningDetails) fields.push('`reasoning_details`');
  if (profile.returnsThoughtSignature) fields.push("a call's `thought_signature`");
  return { is: 'sent', as: fields.length === 0 ? 'nothing has to travel' : fields.join(', ') };
}

function pdfPart(pdf: HostProfile['pdf']): string {
  return pdf === 'document_url' ? pdf : 'file.file_data';
}

function mediaSupport({ resultMedia }: HostProfile, part: string): Support {
  if (resultMedia === 'refused') return { is: 'refused', as: 'results are text' };
  return { is: 'translated', as: `${part} in a message of role \`user\` behind all results of the turn` };
}

function strictToolsSupport({ strictTools }: HostProfile): Support {
  if (strictTools === 'refused') return { is: 'refused', as: 'calls are not held to parameters' };
  return { is: 'sent', as: `\`strict: true\`${strictTools === 'gpt-oss' ? '; refused but for gpt-oss models' : ''}` };
}

function outputSupport({ output, requiresParameters }: HostProfile): Pick<SupportTable, 'output' | 'output.schema' | 'output.strict false'> {
  const also = requiresParameters ? ', with `provider.require_parameters: true`' : '';
  const json: Support = { is: 'sent', as: `\`response_format.type: json_object\`${also}` };
  const schema: Support = { is: 'sent', as: `\`response_format.json_schema.schema\`${also}` };
  const none: Support = { is: 'refused', as: 'answers are not held to JSON' };
  const noSchema: Support = { is: 'refused', as: 'answers are held to no schema' };
  switch (output) {
    case 'schema':
      return { output: json, 'output.schema': schema, 'output.strict false': { is: 'sent', as: `\`json_schema.strict: false\`${also}` } };
    case 'gpt-oss schema':
      return {
        output: json,
        'output.schema': { ...schema, as: `${schema.as}; refused but for gpt-oss models, and with tools` },
        'output.strict false': { is: 'refused', as: 'a schema is strict' },
      };
    case 'json_object':
      return { output: json, 'output.schema': noSchema, 'output.strict false': noSchema };
    case 'none':
      return { output: none, 'output.schema': none, 'output.strict false': none };
    default:
      return unreachable(output);
  }
}
