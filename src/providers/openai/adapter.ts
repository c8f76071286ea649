/** OpenAI itself: the vendor's row, with its two APIs. */

import type { Adapter, AdapterSettings, ProviderRow } from '../../core/adapter.ts';
import { unreachable } from '../../core/chat.ts';
import { createOpenAiAdapter } from '../openai-chat/adapter.ts';
import { OPENAI_HOST } from '../openai-chat/profile.ts';
import { createResponsesAdapter } from '../openai-responses/adapter.ts';
import { createRoutedAdapter } from './api-choice.ts';

/** OpenAI. Its base URL includes the version, as its SDKs read `OPENAI_BASE_URL`. */
export const OPENAI_ROW: ProviderRow = {
  name: 'openai',
  keyVariables: ['OPENAI_API_KEY'],
  isKeyRequired: true,
  baseUrlVariable: 'OPENAI_BASE_URL',
  defaultBaseUrl: 'https://api.openai.com/v1',
  keyHeader: { name: 'authorization', prefix: 'Bearer ' },
  speaks: ['openai-chat', 'openai-responses'],
  createAdapter: createVendorAdapter,
};

function createVendorAdapter(name: string, { openAiApi }: AdapterSettings = { openAiApi: 'auto' }): Adapter {
  const chat = createOpenAiAdapter(name, OPENAI_HOST);
  const responses = createResponsesAdapter(name);
  // Whatever is asked by default, a relayed request is answered by the API of its own format.
  const routed = createRoutedAdapter(chat, responses);
  const { decodeChat, createStreamDecoder } = routed;
  switch (openAiApi) {
    case 'chat':
      return { ...chat, decodeChat, createStreamDecoder };
    case 'responses':
      return { ...responses, decodeChat, createStreamDecoder };
    case 'auto':
      return routed;
    default:
      return unreachable(openAiApi);
  }
}
