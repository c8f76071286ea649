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
  tools: { is: 'mapped', as: "`tools`; those that only Anthropic runs are left out, unless the model is forced to use one" },
  tool_choice: { is: 'mapped', as: '`tool_choice`' },
  thinking: {
    is: 'mapped',
    as: '`thinking`; a budget up to 5120 tokens is effort low, to 12288 medium, to 20480 high, beyond it max, where `output_config` says nothing',
  },
  output_config: { is: 'mapped', as: 'effort of `thinking`, `xhigh` is max; a `format` is `output`' },
  output_format: { is: 'mapped', as: '`output`, the older name of `output_config.format`' },
  metadata: { is: 'tolerated', as: 'identifies end users to the vendor' },
  user_profile_id: { is: 'tolerated', as: 'identifies end users to the vendor' },
  workspace_id: { is: 'tolerated', as: "part of the vendor's accounts" },
  billing_policy: { is: 'tolerated', as: "part of the vendor's accounts" },
  cache_control: { is: 'mapped', as: '`cache`; so is one on the last block of the last message of the user, or of the system behind it' },
  context_management: { is: 'tolerated', as: 'the model reads the whole history' },
  thread: { is: 'tolerated', as: 'nothing is stored; a request that continues a thread is answered 404, after which the SDK sends the whole conversation' },
  service_tier: { is: 'tolerated', as: "chooses among the vendor's tiers" },
  speed: { is: 'tolerated', as: 'only a wish' },
  fallbacks: { is: 'tolerated', as: "chooses among the vendor's models" },
  fallback_credit_token: { is: 'tolerated', as: "chooses among the vendor's models" },
  diagnostics: { is: 'tolerated', as: 'of use to Anthropic only' },
  betas: { is: 'tolerated', as: 'what they enable is judged field by field' },
  anthropic_beta: { is: 'tolerated', as: 'what they enable is judged field by field' },
  anthropic_version: { is: 'tolerated', as: 'the format is the same in all versions' },
  top_k: { is: 'refused', as: 'sampling by top_k cannot be asked for' },
  compaction: { is: 'refused', as: 'a conversation is answered, not summarised' },
  container: { is: 'refused', as: 'it belongs to tools that only Anthropic runs' },
  mcp_servers: { is: 'refused', as: 'they belong to tools that only Anthropic runs', unless: isEmpty },
  inference_geo: { is: 'refused', as: 'the region of inference cannot be promised', unless: isValue('global') },
} as const satisfies FieldTable;
