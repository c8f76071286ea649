/**
 * The codec of Google's Gemini API: generateContent, streamGenerateContent, models, countTokens.
 *
 * Ties together what its neighbours encode and decode; no I/O.
 * Source: Gemini API reference, v1beta.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import type { JsonOut } from '../../base/json/value.ts';
import { countField, field, isObject, listField, stringField, textField } from '../../base/loose.ts';
import type { Adapter, ModelsPage, ProviderRow, SupportTable, UpstreamCall } from '../../core/adapter.ts';
import type { ChatRequest, ModelInfo } from '../../core/chat.ts';
import { Failure, unreadableReply } from '../../core/failure.ts';
import { decodeCount } from '../token-count.ts';
import { decodeGeminiFailure, failureInside } from './failure.ts';
import { GeminiStream, decodeGeminiReply } from './reply.ts';
import { encodeCountPayload, encodePayload } from './request.ts';

/** How Gemini is configured from the environment. */
export const GEMINI_ROW: ProviderRow = {
  name: 'gemini',
  keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  isKeyRequired: true,
  baseUrlVariable: 'GEMINI_BASE_URL',
  defaultBaseUrl: 'https://generativelanguage.googleapis.com',
  versionSegment: 'v1beta',
  keyHeader: { name: 'x-goog-api-key', prefix: '' },
  createAdapter: createGeminiAdapter,
};

/** The codec for a provider registered as `provider`. */
export function createGeminiAdapter(provider: string): Adapter {
  return {
    dialect: 'gemini',
    support: SUPPORT,
    encodeChat: (request, isStream) => encodeChat(provider, request, isStream),
    decodeChat: (body, json, exact) => decodeGeminiReply(provider, body, json, exact),
    createStreamDecoder: () => new GeminiStream(provider),
    encodeModels,
    decodeModels: (body, json) => decodeModels(provider, body, json),
    counting: { encode: (request) => encodeCount(provider, request), decode: (body) => decodeCount(provider, body, failureInside, 'totalTokens') },
    decodeFailure: (status, body) => decodeGeminiFailure(provider, status, body),
  };
}

const SUPPORT: SupportTable = {
  model: { is: 'sent', as: 'in the path, after `models/`' },
  system: { is: 'sent', as: '`systemInstruction`; Gemma: text before the first user turn' },
  'user text': { is: 'sent', as: '`text`' },
  'user image (inline)': { is: 'sent', as: '`inlineData`' },
  'user image (url)': { is: 'refused', as: 'images go inline only' },
  'user document (pdf inline)': { is: 'sent', as: '`inlineData`, its name as text before it' },
  'user document (pdf url)': { is: 'sent', as: '`fileData`, its name as text before it; by https only, and not before 2.5' },
  'user document (text)': { is: 'sent', as: '`inlineData`, its name as text before it; by URL refused' },
  'assistant text': { is: 'sent', as: '`text`' },
  'assistant tool_call': { is: 'sent', as: '`functionCall`; an id that the gateway made stays at home' },
  'assistant provider_state': {
    is: 'sent',
    as: '`thoughtSignature` on its part, parts of server tools in their place; where it was lost, the value that skips the check',
  },
  tool_result: { is: 'sent', as: '`functionResponse.response.output`, named after its call' },
  'tool_result.is_error': { is: 'translated', as: '`functionResponse.response.error`; an empty one says `Error`' },
  'tool_result image': { is: 'sent', as: '`functionResponse.parts`; before 3 behind the responses, as the user\'s' },
  'tool_result document': { is: 'sent', as: '`functionResponse.parts`, its name as text; before 3 behind the responses, as the user\'s' },
  max_tokens: { is: 'sent', as: '`generationConfig.maxOutputTokens`' },
  temperature: { is: 'sent', as: '`generationConfig.temperature`' },
  top_p: { is: 'sent', as: '`generationConfig.topP`' },
  stop: { is: 'sent', as: '`generationConfig.stopSequences`' },
  tools: { is: 'sent', as: '`functionDeclarations`, schema as `parametersJsonSchema`' },
  'tools without parameters': { is: 'translated', as: '`parametersJsonSchema` of an object without properties' },
  'tools strict': { is: 'translated', as: '`functionCallingConfig.mode: VALIDATED`; a forced call matches anyway; beside tools that are not strict refused' },
  'tool_choice auto': { is: 'sent', as: '`functionCallingConfig.mode: AUTO`; nothing without tools' },
  'tool_choice none': { is: 'sent', as: '`functionCallingConfig.mode: NONE`; nothing without tools' },
  'tool_choice required': { is: 'sent', as: '`functionCallingConfig.mode: ANY`' },
  'tool_choice tool': { is: 'sent', as: '`functionCallingConfig.mode: ANY` and `allowedFunctionNames`' },
  'tool_choice.parallel false': { is: 'refused', as: 'calls cannot be kept to one at a time' },
  'thinking on': { is: 'sent', as: '`thinkingConfig.includeThoughts: true`; nothing for models that cannot think' },
  'thinking off': {
    is: 'translated',
    as: '`thinkingLevel: LOW`; Flash 3 to 3.6: `MINIMAL`; 2.5: the lowest `thinkingBudget`, 0 for Flash; nothing for models that cannot think or be led',
  },
  'thinking.effort low': { is: 'sent', as: '`thinkingLevel: LOW`; 2.5: a `thinkingBudget` of 1024' },
  'thinking.effort medium': { is: 'sent', as: '`thinkingLevel: MEDIUM`; 3 Pro: `HIGH`; 2.5: a `thinkingBudget` of 8192' },
  'thinking.effort high': { is: 'sent', as: '`thinkingLevel: HIGH`; 2.5: a `thinkingBudget` of 24576' },
  'thinking.effort max': {
    is: 'translated',
    as: '`thinkingLevel: HIGH`; 4 Hydrogen: `XHIGH`; 2.5: the highest `thinkingBudget`',
  },
  output: { is: 'sent', as: '`generationConfig.responseMimeType: application/json`; before 3 refused beside tools' },
  'output.schema': { is: 'sent', as: '`generationConfig.responseJsonSchema`, without a name; before 3 refused beside tools' },
  'output.strict false': { is: 'translated', as: '`generationConfig.responseJsonSchema`, always enforced' },
  cache: { is: 'ignored', as: 'it caches by itself' },
  'cache.ttl long': { is: 'ignored', as: 'it caches by itself' },
  user: { is: 'ignored', as: 'no field for it' },
  provider_options: { is: 'sent', as: 'merged over the payload' },
};

function encodeChat(provider: string, request: ChatRequest, isStream: boolean): UpstreamCall | Failure {
  const modelPath = modelPathFrom(request.model);
  if (modelPath instanceof Failure) return modelPath;
  return post(modelPath + (isStream ? ':streamGenerateContent?alt=sse' : ':generateContent'), encodePayload(provider, request));
}

function post(path: string, body: JsonOut | Failure): UpstreamCall | Failure {
  return body instanceof Failure ? body : { method: 'POST', path, headers: { 'content-type': 'application/json' }, body };
}

/** The path of a model: every segment encoded, none of which may be one that URLs resolve away. */
function modelPathFrom(model: string): string | Failure {
  const segments = model.split('/');
  if (segments.some((segment) => /^\.{0,2}$/.test(segment) || /\p{Surrogate}/u.test(segment))) {
    return new Failure('bad_request', 'model: not a model name that can be part of a URL');
  }
  return `${hasCollection(model) ? '/' : '/models/'}${segments.map(encodeURIComponent).join('/')}`;
}

function hasCollection(model: string): boolean {
  return /^(?:models|tunedModels)\//.test(model);
}

/** The most the API gives at once. */
const MODELS_PAGE_SIZE = '1000';

function encodeModels(cursor: string | undefined): UpstreamCall {
  const query = new URLSearchParams({ pageSize: MODELS_PAGE_SIZE });
  if (cursor !== undefined) query.set('pageToken', cursor);
  return { method: 'GET', path: `/models?${query}`, headers: {}, body: undefined };
}

function decodeModels(provider: string, body: string, page = parseLenient(body)): ModelsPage | Failure {
  if (!isObject(page)) return unreadableReply(provider, body, 'its list of models is not a JSON object');
  const failure = failureInside(provider, page);
  if (failure !== undefined) return failure;
  const models: ModelInfo[] = [];
  for (const entry of listField(page, 'models')) {
    const name = textField(entry, 'name');
    if (name === undefined || !canGenerate(entry)) continue;
    models.push({
      id: name.startsWith('models/') ? name.slice('models/'.length) : name,
      displayName: stringField(entry, 'displayName'),
      contextWindow: undefined,
      inputTokensMax: countField(entry, 'inputTokenLimit'),
      outputTokensMax: countField(entry, 'outputTokenLimit'),
      input: undefined,
      deprecatedAt: undefined,
    });
  }
  return { models, nextCursor: textField(page, 'nextPageToken') };
}

/** False for models that only embed, speak and the like. Some hosts do not say. */
function canGenerate(entry: unknown): boolean {
  const methods = field(entry, 'supportedGenerationMethods');
  return !Array.isArray(methods) || methods.includes('generateContent');
}

function encodeCount(provider: string, request: ChatRequest): UpstreamCall | Failure {
  const { model } = request;
  const modelPath = modelPathFrom(model);
  if (modelPath instanceof Failure) return modelPath;
  return post(`${modelPath}:countTokens`, encodeCountPayload(provider, request, hasCollection(model) ? model : `models/${model}`));
}
