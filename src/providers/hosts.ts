/**
 * Hosts that speak OpenAI Chat Completions: a row each, with what is documented of its quirks.
 *
 * A new host is a new row. Base URLs are the documented ones, version included; each can be replaced
 * by `<NAME>_BASE_URL`. Sources: the hosts' own API references.
 */

import type { ProviderRow } from '../core/adapter.ts';
import { createOpenAiAdapter } from './openai-chat/adapter.ts';
import { OPENAI_HOST, PLAIN_HOST } from './openai-chat/profile.ts';
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
    versionSegment: undefined,
    keyHeader: { name: 'authorization', prefix: 'Bearer ' },
    createAdapter: (registeredName) => createOpenAiAdapter(registeredName, { ...PLAIN_HOST, ...quirks }),
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
  {
    // The model is a deployment's name, which may hide the model; `system` suits every one of them.
    ...hostedRow('azure', 'AZURE_OPENAI_API_KEY', '', { ...OPENAI_HOST, systemRole: 'system' }),
    defaultBaseUrl: undefined,
    keyHeader: { name: 'api-key', prefix: '' },
  },
  hostedRow('cerebras', 'CEREBRAS_API_KEY', 'https://api.cerebras.ai/v1', { maxTokensField: 'max_completion_tokens' }),
  hostedRow('deepseek', 'DEEPSEEK_API_KEY', 'https://api.deepseek.com', {
    thinking: 'thinking type',
    reasoningContent: 'returned',
    lostReasoning: '',
    userTurns: 'merged',
  }),
  hostedRow('fireworks', 'FIREWORKS_API_KEY', 'https://api.fireworks.ai/inference/v1', {}),
  hostedRow('groq', 'GROQ_API_KEY', 'https://api.groq.com/openai/v1', { maxTokensField: 'max_completion_tokens', thinking: 'groq' }),
  hostedRow('huggingface', 'HF_TOKEN', 'https://router.huggingface.co/v1', { userTurns: 'merged' }),
  ownRow('llamacpp', 'LLAMACPP', 'http://localhost:8080/v1', {
    thinking: 'chat template',
    namedToolChoice: 'narrowed',
    userTurns: 'merged',
  }),
  hostedRow('mistral', 'MISTRAL_API_KEY', 'https://api.mistral.ai/v1', {
    thinking: 'mistral',
    // Usage comes unasked, and unknown fields are refused.
    sendsStreamOptions: false,
    callIds: { accepted: /^[A-Za-z0-9]{9}$/, length: 9 },
    emptyTurns: 'dropped',
  }),
  hostedRow('moonshot', 'MOONSHOT_API_KEY', 'https://api.moonshot.ai/v1', {
    thinking: 'moonshot',
    reasoningContent: 'returned',
    // An empty one counts as missing.
    lostReasoning: ' ',
    userTurns: 'merged',
    emptyTurns: 'dropped',
  }),
  hostedRow('nvidia', 'NVIDIA_API_KEY', 'https://integrate.api.nvidia.com/v1', { thinking: 'chat template', userTurns: 'merged' }),
  ownRow('ollama', 'OLLAMA', 'http://localhost:11434/v1', {}),
  hostedRow('openrouter', 'OPENROUTER_API_KEY', 'https://openrouter.ai/api/v1', { thinking: 'openrouter', returnsReasoningDetails: true }),
  hostedRow('perplexity', 'PERPLEXITY_API_KEY', 'https://api.perplexity.ai', { userTurns: 'merged' }),
  hostedRow('together', 'TOGETHER_API_KEY', 'https://api.together.ai/v1', { thinking: 'together' }),
  hostedRow('vercel', 'AI_GATEWAY_API_KEY', 'https://ai-gateway.vercel.sh/v1', { thinking: 'openrouter', returnsReasoningDetails: true }),
  ownRow('vllm', 'VLLM', 'http://localhost:8000/v1', { thinking: 'chat template', userTurns: 'merged' }),
  // Its Responses API is the recommended one; Chat Completions, deprecated, still serves every model, without sealed reasoning.
  hostedRow('xai', 'XAI_API_KEY', 'https://api.x.ai/v1', { thinking: 'xai' }),
  hostedRow('zai', 'ZAI_API_KEY', 'https://api.z.ai/api/paas/v4', { thinking: 'thinking type', reasoningContent: 'returned' }),
];

/**
 * The operator's own host under a name of the operator's choice. It gets back whatever it sent for that purpose, and user
 * turns in a row as one, since its chat template may refuse them otherwise.
 */
export function compatRow(name: string): ProviderRow {
  return ownRow(name, 'GATEWAY_COMPAT', undefined, {
    userTurns: 'merged',
    reasoningContent: 'returned',
    returnsReasoningDetails: true,
    returnsThoughtSignature: true,
  });
}
