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
  store: { is: 'tolerated', as: 'nothing is stored' },
  metadata: { is: 'tolerated', as: 'goes with what is stored' },
  user: { is: 'tolerated', as: "tells the maker's own end users apart" },
  safety_identifier: { is: 'tolerated', as: "tells the maker's own end users apart" },
  prompt_cache_key: { is: 'tolerated', as: 'a hint' },
  prompt_cache_options: { is: 'tolerated', as: 'a hint' },
  prompt_cache_retention: { is: 'tolerated', as: 'a hint' },
  service_tier: { is: 'tolerated', as: "the maker's own tiers" },
  seed: { is: 'tolerated', as: 'the maker promises no effect' },
  verbosity: { is: 'tolerated', as: 'a wish' },
  prediction: { is: 'tolerated', as: 'a hint' },
  n: { is: 'refused', as: 'one answer a request', unless: isValue(1) },
  logprobs: { is: 'refused', as: 'probabilities are not in the answer', unless: isValue(false) },
  top_logprobs: { is: 'refused', as: 'probabilities are not in the answer', unless: isValue(0) },
  logit_bias: { is: 'refused', as: 'tokens cannot be weighted', unless: isEmpty },
  frequency_penalty: { is: 'refused', as: 'penalties cannot be asked for', unless: isValue(0) },
  presence_penalty: { is: 'refused', as: 'penalties cannot be asked for', unless: isValue(0) },
  modalities: { is: 'refused', as: 'the answer is text', unless: isTextAlone },
  audio: { is: 'refused', as: 'the answer is text' },
  web_search_options: { is: 'refused', as: "it is a tool of the maker's own" },
  functions: { is: 'refused', as: 'use `tools`', unless: isEmpty },
  function_call: { is: 'refused', as: 'use `tool_choice`' },
  moderation: { is: 'refused', as: "it is the maker's own" },
} as const satisfies FieldTable;

function isTextAlone(value: JsonValue): boolean {
  return value instanceof JsonArray && value.items.length === 1 && value.items[0] === 'text';
}
