/**
 * The fields of a Messages request (Anthropic, Messages API, create a message) and what becomes of each when it is
 * translated.
 */

import { isEmpty, isValue } from '../field-table.ts';
import type { FieldTable } from '../field-table.ts';

export const MESSAGES_FIELDS = {
  model: { is: 'mapped', as: '`model`' },
  max_tokens: { is: 'mapped', as: '`max_tokens`' },
  system: { is: 'mapped', as: '`system`' },
  messages: { is: 'mapped', as: '`messages`; those of role `system` before the first turn are `system` too' },
  temperature: { is: 'mapped', as: '`temperature`' },
  top_p: { is: 'mapped', as: '`top_p`' },
  stop_sequences: { is: 'mapped', as: '`stop`' },
  stream: { is: 'mapped', as: 'a stream or a whole answer' },
  tools: { is: 'mapped', as: "`tools`; the maker's own are left out where the model may do without" },
  tool_choice: { is: 'mapped', as: '`tool_choice`' },
  thinking: {
    is: 'mapped',
    as: '`thinking`; a budget up to 5120 tokens is effort low, to 12288 medium, to 20480 high, beyond it max, where `output_config` says nothing',
  },
  output_config: { is: 'mapped', as: 'effort of `thinking`, `xhigh` is max; a `format` is `output`' },
  output_format: { is: 'mapped', as: '`output`, the older name of `output_config.format`' },
  metadata: { is: 'tolerated', as: "tells the maker's own end users apart" },
  user_profile_id: { is: 'tolerated', as: "tells the maker's own end users apart" },
  workspace_id: { is: 'tolerated', as: "part of the maker's own accounts" },
  billing_policy: { is: 'tolerated', as: "part of the maker's own accounts" },
  cache_control: { is: 'mapped', as: '`cache`; so is one on the last block of the last message of the user' },
  context_management: { is: 'tolerated', as: 'a history that the model reads whole' },
  thread: { is: 'tolerated', as: 'nothing is stored; one that continues another is answered 404, at which the SDK sends the whole conversation' },
  service_tier: { is: 'tolerated', as: "the maker's own tiers" },
  speed: { is: 'tolerated', as: 'a wish' },
  fallbacks: { is: 'tolerated', as: "a choice among the maker's own models" },
  fallback_credit_token: { is: 'tolerated', as: "a choice among the maker's own models" },
  diagnostics: { is: 'tolerated', as: 'of use to the maker alone' },
  betas: { is: 'tolerated', as: 'what they bring is judged where it stands' },
  anthropic_beta: { is: 'tolerated', as: 'what they bring is judged where it stands' },
  anthropic_version: { is: 'tolerated', as: 'the format is the same in all versions' },
  top_k: { is: 'refused', as: 'how many tokens are drawn from cannot be asked for' },
  compaction: { is: 'refused', as: 'a conversation is answered, not summed up' },
  container: { is: 'refused', as: "it belongs to the maker's own tools" },
  mcp_servers: { is: 'refused', as: "they belong to the maker's own tools", unless: isEmpty },
  inference_geo: { is: 'refused', as: 'where the model runs cannot be promised', unless: isValue('global') },
} as const satisfies FieldTable;
