/**
 * Microsoft's two: models of OpenAI and others on Azure, by its v1 API, and Claude on Foundry, which has the Messages API.
 *
 * A model is a deployment's name, which may hide the model; what is said has to suit every one of them, unless the operator names it.
 * Source: Azure OpenAI, v1 API; Claude in Microsoft Foundry.
 */

import type { Adapter, ProviderRow } from '../../core/adapter.ts';
import { createAnthropicAdapter } from '../anthropic/adapter.ts';
import { claudeOf, VENDOR_HOST } from '../anthropic/host.ts';
import { createOpenAiAdapter } from '../openai-chat/adapter.ts';
import { OPENAI_HOST, withOutput } from '../openai-chat/profile.ts';
import type { HostProfile } from '../openai-chat/profile.ts';
import { unenforcedFormat } from '../openai-chat/refusals.ts';
import { createResponsesAdapter } from '../openai-responses/adapter.ts';
import { createRoutedAdapter } from '../openai/api-choice.ts';

const AZURE: HostProfile = { ...OPENAI_HOST, systemRole: 'system', userField: 'user', cacheLife: undefined };

export const AZURE_ROW: ProviderRow = {
  name: 'azure',
  cloud: 'azure',
  keyVariables: ['AZURE_OPENAI_API_KEY'],
  isKeyRequired: true,
  baseUrlVariable: 'AZURE_OPENAI_BASE_URL',
  keyHeader: { name: 'api-key', prefix: '' },
  structuredOutputVariable: 'AZURE_OPENAI_STRUCTURED_OUTPUT',
  speaks: ['openai-chat', 'openai-responses'],
  createAdapter: (name, settings) => {
    const { structuredOutput: said, models } = settings ?? {};
    const profile = said === undefined ? AZURE : withOutput(AZURE, said);
    const chat = createOpenAiAdapter(name, profile, models);
    const responses = createResponsesAdapter(name, { userField: 'user', hasCacheLife: false, models });
    const encodeResponses: Adapter['encodeChat'] = (request, isStream) => unenforcedFormat(name, profile, request) ?? responses.encodeChat(request, isStream);
    // Nothing says that it counts tokens.
    return { ...createRoutedAdapter(chat, { ...responses, encodeChat: encodeResponses }, models), counting: undefined };
  },
};

export const FOUNDRY_ROW: ProviderRow = {
  name: 'foundry',
  cloud: 'foundry',
  keyVariables: ['ANTHROPIC_FOUNDRY_API_KEY'],
  isKeyRequired: true,
  baseUrlVariable: 'ANTHROPIC_FOUNDRY_BASE_URL',
  versionSegment: 'v1',
  keyHeader: { name: 'x-api-key', prefix: '' },
  speaks: ['anthropic'],
  createAdapter: (name, settings) => ({ ...createAnthropicAdapter(name, { ...VENDOR_HOST, modelOf: (model) => claudeOf(model, settings?.models) }), hasModelList: false }),
};
