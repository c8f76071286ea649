/** What becomes of the parts of a request that both of OpenAI's APIs take alike. A new part is in neither until both decide. */

import type { SupportTable } from '../../core/adapter.ts';

export const COMMON_SUPPORT = {
  model: { is: 'sent', as: '`model`' },
  'tool_result.is_error': { is: 'translated', as: '`Error: ` before the content' },
  temperature: { is: 'sent', as: '`temperature`' },
  top_p: { is: 'sent', as: '`top_p`' },
  'tools without parameters': { is: 'translated', as: '`parameters` of an object without properties' },
  'tool_choice auto': { is: 'sent', as: '`tool_choice: auto`; nothing without tools' },
  'tool_choice none': { is: 'sent', as: '`tool_choice: none`; nothing without tools' },
  'tool_choice required': { is: 'sent', as: '`tool_choice: required`' },
  provider_options: { is: 'sent', as: 'merged over the payload' },
} as const satisfies Partial<SupportTable>;
