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
  tools: { is: 'mapped', as: "`tools`; those that only the maker runs are left out where the model may choose" },
  tool_choice: { is: 'mapped', as: '`tool_choice`' },
  parallel_tool_calls: { is: 'mapped', as: '`tool_choice.parallel`' },
  reasoning: { is: 'mapped', as: '`thinking`: effort `none` is off, `minimal` is low, `xhigh` is max' },
  text: { is: 'mapped', as: '`output`, by its `format`' },
  include: { is: 'mapped', as: 'sealed reasoning is always in the answer; probabilities are not' },
  store: { is: 'tolerated', as: 'nothing is stored' },
  metadata: { is: 'tolerated', as: 'goes with what is stored' },
  client_metadata: { is: 'tolerated', as: 'goes with what is stored' },
  user: { is: 'tolerated', as: "tells the maker's own end users apart" },
  safety_identifier: { is: 'tolerated', as: "tells the maker's own end users apart" },
  prompt_cache_key: { is: 'tolerated', as: 'a hint' },
  prompt_cache_options: { is: 'tolerated', as: 'a hint' },
  prompt_cache_retention: { is: 'tolerated', as: 'a hint' },
  service_tier: { is: 'tolerated', as: "the maker's own tiers" },
  access_programs: { is: 'tolerated', as: "part of the maker's own accounts" },
  image: { is: 'tolerated', as: 'how the maker packs pictures' },
  stream_options: { is: 'tolerated', as: 'how frames are padded' },
  truncation: { is: 'tolerated', as: 'a conversation that is too long is refused' },
  context_management: { is: 'tolerated', as: 'a conversation that is too long is refused' },
  max_tool_calls: { is: 'tolerated', as: 'bounds tools that the maker runs' },
  previous_response_id: { is: 'refused', as: NOT_STORED },
  conversation: { is: 'refused', as: NOT_STORED },
  prompt: { is: 'refused', as: 'nothing is stored here: send the prompt itself' },
  background: { is: 'refused', as: 'nothing is stored here: the answer comes while the caller waits', unless: isValue(false) },
  top_logprobs: { is: 'refused', as: 'probabilities are not in the answer', unless: isValue(0) },
  moderation: { is: 'refused', as: "it is the maker's own" },
} as const satisfies FieldTable;
