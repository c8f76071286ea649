/**
 * The fields of a Chat Completions request (OpenAI, Chat Completions, request body) and what becomes of each when it is
 * translated.
 */

import { JsonArray } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { isEmpty, isValue } from '../field-table.ts';
import type { FieldTable } from '../field-table.ts';

export const CHAT_FIELDS = {
  model: { is: 'mapped', as: '`model`' },
  messages: { is: 'mapped', as: '`system` and `messages`' },
  max_completion_tokens: { is: 'mapped', as: '`max_tokens`' },
  max_tokens: { is: 'mapped', as: '`max_tokens`, where `max_completion_tokens` is absent' },
  temperature: { is: 'mapped', as: '`temperature`' },
  top_p: { is: 'mapped', as: '`top_p`' },
  stop: { is: 'mapped', as: '`stop`' },
  stream: { is: 'mapped', as: 'a stream or a whole answer' },
  stream_options: { is: 'mapped', as: '`include_usage`: a last chunk with the usage' },
  tools: { is: 'mapped', as: '`tools`' },
  tool_choice: { is: 'mapped', as: '`tool_choice`' },
  parallel_tool_calls: { is: 'mapped', as: '`tool_choice.parallel`' },
  response_format: { is: 'mapped', as: '`output`' },
  reasoning_effort: { is: 'mapped', as: '`thinking`: `none` is off, `minimal` is low, `xhigh` is max' },
  cache_control: { is: 'mapped', as: "`cache`, Anthropic's form; so is one on the last message of the user, on its last part, or on a message behind it" },
  store: { is: 'tolerated', as: 'nothing is stored' },
  metadata: { is: 'tolerated', as: 'belongs to what is stored' },
  user: { is: 'tolerated', as: 'identifies end users to the vendor' },
  safety_identifier: { is: 'tolerated', as: 'identifies end users to the vendor' },
  prompt_cache_key: { is: 'tolerated', as: 'only a hint' },
  prompt_cache_options: { is: 'tolerated', as: 'only a hint' },
  prompt_cache_retention: { is: 'tolerated', as: 'only a hint' },
  service_tier: { is: 'tolerated', as: "chooses among the vendor's tiers" },
  seed: { is: 'tolerated', as: 'OpenAI promises no effect' },
  verbosity: { is: 'tolerated', as: 'only a wish' },
  prediction: { is: 'tolerated', as: 'only a hint' },
  n: { is: 'refused', as: 'only one answer can be asked for', unless: isValue(1) },
  logprobs: { is: 'refused', as: 'the answer has no log probabilities', unless: isValue(false) },
  top_logprobs: { is: 'refused', as: 'the answer has no log probabilities', unless: isValue(0) },
  logit_bias: { is: 'refused', as: 'tokens cannot be weighted', unless: isEmpty },
  frequency_penalty: { is: 'refused', as: 'no penalty can be set', unless: isValue(0) },
  presence_penalty: { is: 'refused', as: 'no penalty can be set', unless: isValue(0) },
  modalities: { is: 'refused', as: 'the answer is text only', unless: isTextAlone },
  audio: { is: 'refused', as: 'the answer is text only' },
  web_search_options: { is: 'refused', as: 'only its vendor runs this tool' },
  functions: { is: 'refused', as: 'use `tools`', unless: isEmpty },
  function_call: { is: 'refused', as: 'use `tool_choice`' },
  moderation: { is: 'refused', as: 'only OpenAI moderates requests' },
} as const satisfies FieldTable;

function isTextAlone(value: JsonValue): boolean {
  return value instanceof JsonArray && value.items.length === 1 && value.items[0] === 'text';
}
