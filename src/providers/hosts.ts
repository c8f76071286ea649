/**
 * Hosts that speak OpenAI Chat Completions: a row each, with what is documented of its quirks.
 *
 * A new host is a new row. Base URLs are the documented ones, version included; each can be replaced by `<NAME>_BASE_URL`.
 * A host is asked only for what it is known to do. What its answers can be held to, the operator may know better
 * (`<NAME>_STRUCTURED_OUTPUT`). Sources: the hosts' own API references.
 */

import type { ProviderRow } from '../core/adapter.ts';
import { AZURE_ROW } from './azure/adapter.ts';
import { createOpenAiAdapter } from './openai-chat/adapter.ts';
import { PLAIN_HOST, withOutput } from './openai-chat/profile.ts';
import type { HostProfile } from './openai-chat/profile.ts';

/** A host on the internet: its key registers it. */
function hostedRow(name: string, keyVariable: string, baseUrl: string, quirks: Partial<HostProfile>): ProviderRow {
  const prefix = keyVariable.replace(/_(?:API_KEY|TOKEN)$/, '');
  return {
    name,
    keyVariables: [keyVariable],
    isKeyRequired: true,
    baseUrlVariable: `${prefix}_BASE_URL`,
    defaultBaseUrl: baseUrl,
    keyHeader: { name: 'authorization', prefix: 'Bearer ' },
    structuredOutputVariable: `${prefix}_STRUCTURED_OUTPUT`,
    createAdapter: (registeredName, settings) => {
      const known = { ...PLAIN_HOST, ...quirks };
      const said = settings?.structuredOutput;
      return createOpenAiAdapter(registeredName, said === undefined ? known : withOutput(known, said));
    },
  };
}

/** A server of the operator's own, usually without a key: its base URL registers it. */
function ownRow(name: string, variablePrefix: string, baseUrl: string | undefined, quirks: Partial<HostProfile>): ProviderRow {
  return {
    ...hostedRow(name, `${variablePrefix}_API_KEY`, '', quirks),
    isKeyRequired: false,
    defaultBaseUrl: baseUrl,
  };
}

/** The known hosts. */
export const HOST_ROWS: readonly ProviderRow[] = [
  AZURE_ROW,
  hostedRow('cerebras', 'CEREBRAS_API_KEY', 'https://api.cerebras.ai/v1', {
    maxTokensField: 'max_completion_tokens',
    output: 'schema',
    strictTools: 'sent',
    parallelToolCalls: 'sent',
    userField: 'user',
    cacheKey: 'prompt_cache_key',
  }),
  hostedRow('deepseek', 'DEEPSEEK_API_KEY', 'https://api.deepseek.com', {
    thinking: 'thinking type',
    reasoningContent: 'returned',
    lostReasoning: '',
    userTurns: 'merged',
    output: 'json_object',
    userField: 'user_id',
  }),
  hostedRow('fireworks', 'FIREWORKS_API_KEY', 'https://api.fireworks.ai/inference/v1', { output: 'schema', cacheKey: 'prompt_cache_key' }),
  hostedRow('groq', 'GROQ_API_KEY', 'https://api.groq.com/openai/v1', {
    maxTokensField: 'max_completion_tokens',
    thinking: 'groq',
    output: 'gpt-oss schema',
    strictTools: 'gpt-oss',
    parallelToolCalls: 'sent',
    userField: 'user',
  }),
  hostedRow('huggingface', 'HF_TOKEN', 'https://router.huggingface.co/v1', { userTurns: 'merged' }),
  ownRow('llamacpp', 'LLAMACPP', 'http://localhost:8080/v1', {
    thinking: 'chat template',
    namedToolChoice: 'narrowed',
    userTurns: 'merged',
    output: 'schema',
    parallelToolCalls: 'sent',
  }),
  hostedRow('mistral', 'MISTRAL_API_KEY', 'https://api.mistral.ai/v1', {
    thinking: 'mistral',
    // Usage comes unasked, and unknown fields are refused.
    sendsStreamOptions: false,
    callIds: { accepted: /^[A-Za-z0-9]{9}$/, length: 9 },
    userBehindResults: 'answered',
    emptyTurns: 'dropped',
    output: 'schema',
    strictTools: 'sent',
    parallelToolCalls: 'sent',
    pdf: 'document_url',
    // A user's message right behind one of a tool is refused.
    resultMedia: 'refused',
    cacheKey: 'prompt_cache_key',
  }),
  hostedRow('moonshot', 'MOONSHOT_API_KEY', 'https://api.moonshot.ai/v1', {
    thinking: 'moonshot',
    reasoningContent: 'returned',
    // An empty one counts as missing.
    lostReasoning: ' ',
    userTurns: 'merged',
    emptyTurns: 'dropped',
    output: 'json_object',
  }),
  hostedRow('nvidia', 'NVIDIA_API_KEY', 'https://integrate.api.nvidia.com/v1', { thinking: 'chat template', userTurns: 'merged' }),
  ownRow('ollama', 'OLLAMA', 'http://localhost:11434/v1', { output: 'schema' }),
  hostedRow('openrouter', 'OPENROUTER_API_KEY', 'https://openrouter.ai/api/v1', {
    thinking: 'openrouter',
    returnsReasoningDetails: true,
    output: 'schema',
    requiresParameters: true,
    parallelToolCalls: 'sent',
    pdf: 'file or url',
    userField: 'user',
  }),
  hostedRow('perplexity', 'PERPLEXITY_API_KEY', 'https://api.perplexity.ai', { userTurns: 'merged' }),
  hostedRow('together', 'TOGETHER_API_KEY', 'https://api.together.ai/v1', {
    thinking: 'together',
    output: 'schema',
    strictTools: 'sent',
    parallelToolCalls: 'sent',
    cacheKey: 'prompt_cache_key',
  }),
  hostedRow('vercel', 'AI_GATEWAY_API_KEY', 'https://ai-gateway.vercel.sh/v1', { thinking: 'openrouter', returnsReasoningDetails: true }),
  ownRow('vllm', 'VLLM', 'http://localhost:8000/v1', {
    thinking: 'chat template',
    userTurns: 'merged',
    output: 'schema',
    parallelToolCalls: 'sent',
  }),
  // Its Responses API is the recommended one; Chat Completions, deprecated, still serves every model, without sealed reasoning.
  hostedRow('xai', 'XAI_API_KEY', 'https://api.x.ai/v1', {
    thinking: 'xai',
    output: 'schema',
    strictTools: 'sent',
    parallelToolCalls: 'sent',
    userField: 'user',
    cacheKey: 'x-grok-conv-id',
  }),
  hostedRow('zai', 'ZAI_API_KEY', 'https://api.z.ai/api/paas/v4', { thinking: 'thinking type', reasoningContent: 'returned' }),
];

/**
 * The operator's own host under a name of the operator's choice. It is asked whatever OpenAI is, but for hints, which it may
 * refuse as unknown fields. It gets back whatever it sent for that purpose, and user turns in a row as one, since its
 * chat template may refuse them otherwise.
 */
export function compatRow(name: string): ProviderRow {
  const row = ownRow(name, 'GATEWAY_COMPAT', undefined, {
    userTurns: 'merged',
    output: 'schema',
    strictTools: 'sent',
    parallelToolCalls: 'sent',
    pdf: 'file',
    reasoningContent: 'returned',
    returnsReasoningDetails: true,
    returnsThoughtSignature: true,
  });
  return { ...row, nameVariable: 'GATEWAY_COMPAT_NAME' };
}
