/**
 * Google's Vertex AI: Gemini as in the Gemini API, Claude by the Messages API, others by Chat Completions; below the path of a
 * project and a location. By a key there is neither, and Gemini alone (express mode).
 *
 * Source: Vertex AI, generateContent, rawPredict, partner models, OpenAI compatibility, express mode.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { isObject, listField, stringField, textField } from '../../base/loose.ts';
import type { Adapter, AdapterSettings, ModelsPage, ProviderRow, TokenCounting, UpstreamCall } from '../../core/adapter.ts';
import type { ChatRequest, ModelInfo } from '../../core/chat.ts';
import { Failure, unreadableReply } from '../../core/failure.ts';
import { createAnthropicAdapter } from '../anthropic/adapter.ts';
import { VENDOR_HOST, modelSegment } from '../anthropic/host.ts';
import type { MessagesHost } from '../anthropic/host.ts';
import { isMessages } from '../anthropic/reply.ts';
import { below, createAdapterByModel, movedBy } from '../by-model.ts';
import { createGeminiAdapter } from '../gemini/adapter.ts';
import { decodeGeminiFailure, failureInside } from '../gemini/failure.ts';
import { createOpenAiAdapter } from '../openai-chat/adapter.ts';
import { PLAIN_HOST } from '../openai-chat/profile.ts';
import type { HostProfile } from '../openai-chat/profile.ts';
import { countedMembers, decodeCount } from '../token-count.ts';

/** An origin: each format has a version of its own. */
export const VERTEX_ROW: ProviderRow = {
  name: 'vertex',
  cloud: 'vertex',
  keyVariables: ['GOOGLE_VERTEX_API_KEY'],
  isKeyRequired: true,
  baseUrlVariable: 'GOOGLE_VERTEX_BASE_URL',
  defaultBaseUrl: 'https://aiplatform.googleapis.com',
  keyHeader: { name: 'x-goog-api-key', prefix: '' },
  createAdapter: createVertexAdapter,
};

const OPENAI_LAYER: HostProfile = { ...PLAIN_HOST, output: 'schema', returnsThoughtSignature: true };

function createVertexAdapter(name: string, settings?: AdapterSettings): Adapter {
  const { project } = settings ?? {};
  if (project === undefined) return { ...below('/v1/publishers/google', createGeminiAdapter(name)), ...googleLayer(name) };
  const place = `projects/${project.id}/locations/${project.location}`;
  const claude = createAnthropicAdapter(name, claudeHost(`/v1/${place}`));
  const gemini = below(`/v1beta1/${place}/publishers/google`, createGeminiAdapter(name));
  const joint = createAdapterByModel([
    { adapter: claude, serves: isClaude, isIts: isMessages },
    { adapter: below(`/v1/${place}/endpoints/openapi`, createOpenAiAdapter(name, OPENAI_LAYER)), serves: hasPublisher, isIts: (json) => 'choices' in json },
    // A tuned model has no publisher: it is at an endpoint of the project.
    { adapter: movedBy((path) => path.replace('/models/', `/v1beta1/${place}/`), createGeminiAdapter(name)), serves: isTuned, isIts: () => false },
    { adapter: gemini, serves: () => true, isIts: isGenerated },
  ]);
  const counting: TokenCounting = {
    encode(request) {
      if (isClaude(request.model) && claude.counting !== undefined) return claude.counting.encode(request);
      if (isTuned(request.model) || hasPublisher(request.model)) return new Failure('unsupported', `${name} counts no tokens of this model`);
      return encodeCount(gemini, request);
    },
    // Gemini's and Claude's.
    decode: (body) => decodeCount(name, body, failureInside, 'totalTokens', 'input_tokens'),
  };
  return { ...joint, ...googleLayer(name), counting };
}

/** What a count takes here, without the object around it that the Gemini API wants (Vertex AI, countTokens). */
const COUNTED = ['contents', 'systemInstruction', 'tools', 'generationConfig'];

function encodeCount(gemini: Adapter, request: ChatRequest): UpstreamCall | Failure {
  const call = gemini.encodeChat(request, false);
  if (!('path' in call)) return call;
  return { ...call, path: call.path.replace(/:generateContent$/, ':countTokens'), body: countedMembers(call.body, COUNTED) };
}

function isTuned(model: string): boolean {
  return /^endpoints\/[^/]+$/.test(model);
}

function claudeHost(prefix: string): MessagesHost {
  const path = (model: string, isStream: boolean): string | undefined => {
    // A revision stands behind an `@` as it is.
    const segment = modelSegment(model)?.replaceAll('%40', '@');
    return segment && `${prefix}/publishers/anthropic/models/${segment}:${isStream ? 'streamRawPredict' : 'rawPredict'}`;
  };
  const body = { has: 'version', version: 'vertex-2023-10-16', hasStream: true } as const;
  // No header: those of the vendor's that it does not know are refused.
  return { ...VENDOR_HOST, path, countPath: `${prefix}/publishers/anthropic/models/count-tokens:rawPredict`, headers: {}, body, fetchesUrls: false, cacheMark: 'block' };
}

function isClaude(model: string): boolean {
  return model.startsWith('claude-');
}

/** Names that Google's own models have slashes in. */
function hasPublisher(model: string): boolean {
  return /^[\w.-]+\/[^/]+$/.test(model) && !/^(?:models|tunedModels|endpoints)\//.test(model);
}

const GENERATED = ['candidates', 'promptFeedback', 'usageMetadata', 'modelVersion', 'responseId', 'error'];

/** An answer of Gemini's or a piece of one, whose fields may come alone, or an error of Google's own layer. */
function isGenerated(json: object): boolean {
  return GENERATED.some((name) => name in json);
}

/** The list of models, and failures, are those of Google's own layer, whichever model was asked; Claude's own failures have a type in them and are read there. */
function googleLayer(name: string): Pick<Adapter, 'encodeModels' | 'decodeModels' | 'decodeFailure'> {
  const claude = createAnthropicAdapter(name);
  return {
    encodeModels,
    decodeModels: (body, json) => decodeModels(name, body, json),
    decodeFailure(status, body) {
      const json = parseLenient(body);
      return stringField(json, 'type') === 'error' ? claude.decodeFailure(status, body) : decodeGeminiFailure(name, status, body);
    },
  };
}

/** Google's own models; nobody lists those of the others. */
function encodeModels(cursor: string | undefined): UpstreamCall {
  const query = new URLSearchParams({ pageSize: '100', ...(cursor === undefined ? {} : { pageToken: cursor }) });
  return { method: 'GET', path: `/v1beta1/publishers/google/models?${query}`, headers: {}, body: undefined };
}

const PUBLISHER = 'publishers/google/models/';

function decodeModels(provider: string, body: string, page = parseLenient(body)): ModelsPage | Failure {
  if (!isObject(page)) return unreadableReply(provider, body, 'its list of models is not a JSON object');
  const failure = failureInside(provider, page);
  if (failure !== undefined) return failure;
  const models: ModelInfo[] = [];
  for (const entry of listField(page, 'publisherModels')) {
    const name = textField(entry, 'name');
    if (name === undefined) continue;
    const id = name.startsWith(PUBLISHER) ? name.slice(PUBLISHER.length) : name;
    models.push({ id, displayName: undefined, contextWindow: undefined, inputTokensMax: undefined, outputTokensMax: undefined, input: undefined, deprecatedAt: undefined });
  }
  return { models, nextCursor: textField(page, 'nextPageToken') };
}
