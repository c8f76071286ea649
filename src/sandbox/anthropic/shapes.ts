/**
 * The shapes of requests to the sandbox's Messages API, and how the provider words what has not its shape.
 *
 * Source: Anthropic Messages API, create a message; count tokens.
 */

import {
  PDF, PDF_EXPECTED, anyObject, anything, base64, boolean, count, listOf, matching, nullable, number, object, oneOf, openObject, string, stringOr, tagged,
} from '../shape.ts';
import type { Mismatch, Shape } from '../shape.ts';

const CACHE = nullable(object({ type: oneOf('ephemeral') }, { ttl: oneOf('5m', '1h') }));
const TEXT = object({ type: string, text: string }, { cache_control: CACHE, citations: nullable(anything) });
const MEDIA_TYPE = oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp');
const IMAGE = object(
  {
    type: string,
    source: tagged('type', {
      base64: object({ type: string, media_type: MEDIA_TYPE, data: base64 }),
      url: object({ type: string, url: matching(/^https?:\/\//) }),
      file: object({ type: string, file_id: string }),
    }),
  },
  { cache_control: CACHE },
);
const DOCUMENT = object(
  {
    type: string,
    source: tagged('type', {
      base64: object({ type: string, media_type: oneOf('application/pdf'), data: PDF }),
      text: object({ type: string, media_type: oneOf('text/plain'), data: string }),
      url: object({ type: string, url: matching(/^https?:\/\//) }),
      file: object({ type: string, file_id: string }),
      content: object({ type: string, content: stringOr(listOf(tagged('type', { text: TEXT, image: IMAGE }))) }),
    }),
  },
  { title: nullable(string), context: nullable(string), citations: nullable(object({}, { enabled: boolean })), cache_control: CACHE },
);
const CALL_ID = matching(/^[a-zA-Z0-9_-]+$/);
const USER_BLOCKS = {
  text: TEXT,
  image: IMAGE,
  document: DOCUMENT,
  tool_result: object(
    { type: string, tool_use_id: CALL_ID },
    { content: stringOr(listOf(tagged('type', { text: TEXT, image: IMAGE, document: DOCUMENT }))), is_error: boolean, cache_control: CACHE },
  ),
};
const ASSISTANT_BLOCKS = {
  text: TEXT,
  thinking: object({ type: string, thinking: string, signature: string }),
  redacted_thinking: object({ type: string, data: string }),
  tool_use: object(
    { type: string, id: CALL_ID, name: matching(/^[a-zA-Z0-9_-]{1,128}$/), input: anyObject },
    { caller: openObject({ type: string }), cache_control: CACHE },
  ),
};
const message = (blocks: Readonly<Record<string, Shape>>): Shape =>
  object({ role: string, content: stringOr(listOf(tagged('type', blocks))) });
const DISPLAY = { display: nullable(oneOf('summarized', 'omitted', 'updates')) };
const PARALLEL = { disable_parallel_tool_use: boolean };
const ROLES = { user: message(USER_BLOCKS), assistant: message(ASSISTANT_BLOCKS) };
const COUNTED_TOO = {
  system: stringOr(listOf(TEXT)),
  tools: listOf(object(
    { name: matching(/^[a-zA-Z0-9_-]{1,128}$/), input_schema: openObject({ type: oneOf('object') }) },
    { type: oneOf('custom'), description: string, strict: boolean, cache_control: CACHE, defer_loading: boolean, eager_input_streaming: boolean },
  )),
  tool_choice: tagged('type', {
    auto: object({ type: string }, PARALLEL),
    any: object({ type: string }, PARALLEL),
    tool: object({ type: string, name: string }, PARALLEL),
    none: object({ type: string }),
  }),
  thinking: tagged('type', {
    adaptive: object({ type: string }, DISPLAY),
    enabled: object({ type: string, budget_tokens: count }, DISPLAY),
    disabled: object({ type: string }),
    between_tools: object({ type: string }),
  }),
  output_config: object({}, { effort: oneOf('low', 'medium', 'high', 'xhigh', 'max'), format: nullable(tagged('type', { json_schema: object({ type: string, schema: anyObject }) })) }),
  cache_control: CACHE,
  context_management: anyObject,
};
const UNCOUNTED = {
  metadata: object({}, { user_id: nullable(string) }),
  stop_sequences: listOf(matching(/\S/)),
  stream: boolean,
  temperature: number,
  top_p: number,
  top_k: count,
  service_tier: oneOf('auto', 'standard_only'),
  container: nullable(stringOr(anyObject)),
  diagnostics: nullable(object({}, { previous_message_id: nullable(string) })),
  inference_geo: nullable(string),
  speed: nullable(oneOf('standard', 'fast')),
  user_profile_id: string,
  workspace_id: string,
  thread: nullable(tagged('type', { create: object({ type: string }), continue: object({ type: string, previous_message_id: string }) })),
};

/** What is asked for: a message, or the count of its tokens; by roles. */
export type Requests = { readonly message: Shape; readonly count: Shape };
const requestsWith = (roles: Readonly<Record<string, Shape>>): Requests => {
  const counted = { model: string, messages: listOf(tagged('role', roles)) };
  return { message: object({ ...counted, max_tokens: count }, { ...COUNTED_TOO, ...UNCOUNTED }), count: object(counted, COUNTED_TOO) };
};
export const REQUESTS = requestsWith(ROLES);
export const BETA_REQUESTS = requestsWith({ ...ROLES, system: message({ text: TEXT }) });

/** A mismatch in Anthropic's words. */
export function wording({ path, is, expected, allowed, value }: Mismatch): string {
  // The variant is named where it is one of content, not where it is a role.
  const steps = path.map((step) => (typeof step === 'object' ? (['user', 'assistant', 'system'].includes(step.tag) ? [] : [step.tag]) : [step])).flat();
  const place = steps.join('.');
  if (is === 'unknown') return `${place}: Extra inputs are not permitted`;
  if (is === 'missing') return `${place}: Field required`;
  if (allowed.length > 0 && steps.at(-1) === 'type') {
    return `${steps.slice(0, -1).join('.')}: Input tag '${String(value)}' found using 'type' does not match any of the expected tags: ${expected}`;
  }
  if (expected === PDF_EXPECTED) return `${place}: The PDF specified was not valid.`;
  return `${place}: Input should be ${expected.replace(/^an? /, 'a valid ')}`;
}
