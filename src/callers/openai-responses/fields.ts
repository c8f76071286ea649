/**
 * The fields of a Responses request (OpenAI, Responses API, create a response, request body) and what becomes of each
 * when it is translated.
 */

import { isValue } from '../field-table.ts';
import type { FieldTable } from '../field-table.ts';

const NOT_STORED = 'nothing is stored here: send the whole conversation in `input`';

export const RESPONSES_FIELDS = {
  model: { is: 'mapped', as: '`model`' },
  input: { is: 'mapped', as: '`system` and `messages`' },
  instructions: { is: 'mapped', as: 'the beginning of `system`' },
  max_output_tokens: { is: 'mapped', as: '`max_tokens`' },
  temperature: { is: 'mapped', as: '`temperature`' },
  top_p: { is: 'mapped', as: '`top_p`' },
  stream: { is: 'mapped', as: 'a stream or a whole answer' },
  tools: { is: 'mapped', as: "`tools`, and so are those of `additional_tools` in `input`; those that only OpenAI runs are left out, unless the model is forced to use one" },
  tool_choice: { is: 'mapped', as: '`tool_choice`' },
  parallel_tool_calls: { is: 'mapped', as: '`tool_choice.parallel`' },
  reasoning: { is: 'mapped', as: '`thinking`: effort `none` is off, `minimal` is low, `xhigh` is max' },
  text: { is: 'mapped', as: '`output`, by its `format`' },
  include: { is: 'mapped', as: 'sealed reasoning is always in the answer, log probabilities never' },
  store: { is: 'tolerated', as: 'nothing is stored' },
  metadata: { is: 'tolerated', as: 'belongs to what is stored' },
  client_metadata: { is: 'tolerated', as: 'belongs to what is stored' },
  user: { is: 'tolerated', as: 'identifies end users to the vendor' },
  safety_identifier: { is: 'tolerated', as: 'identifies end users to the vendor' },
  prompt_cache_key: { is: 'tolerated', as: 'only a hint' },
  prompt_cache_options: { is: 'tolerated', as: 'only a hint' },
  prompt_cache_retention: { is: 'tolerated', as: 'only a hint' },
  service_tier: { is: 'tolerated', as: "chooses among the vendor's tiers" },
  access_programs: { is: 'tolerated', as: "part of the vendor's accounts" },
  image: { is: 'tolerated', as: 'how OpenAI packs images' },
  stream_options: { is: 'tolerated', as: 'how frames are padded' },
  truncation: { is: 'tolerated', as: 'a conversation that is too long is refused' },
  context_management: { is: 'tolerated', as: 'a conversation that is too long is refused' },
  max_tool_calls: { is: 'tolerated', as: 'limits only tools that OpenAI runs' },
  previous_response_id: { is: 'refused', as: NOT_STORED },
  conversation: { is: 'refused', as: NOT_STORED },
  prompt: { is: 'refused', as: 'nothing is stored here: send the prompt itself' },
  background_options: { is: 'tolerated', as: 'for answers in the background, which are refused' },
  background: { is: 'refused', as: 'nothing is stored here: an answer cannot be fetched later', unless: isValue(false) },
  top_logprobs: { is: 'refused', as: 'the answer has no log probabilities', unless: isValue(0) },
  moderation: { is: 'refused', as: 'only OpenAI moderates requests' },
} as const satisfies FieldTable;
