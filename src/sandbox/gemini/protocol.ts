/**
 * The sandbox's Gemini API: what belongs to neither a request nor a reply alone, and the whole as one protocol.
 *
 * Source: Gemini API, authentication, errors, models.
 */

import { renderJson } from '../../base/json/render.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { textField } from '../../base/loose.ts';
import { CONTEXT_TOKENS, Complaint, MODELS_PER_PAGE, MODEL_IDS, OUTPUT_TOKENS_MAX, jsonReply } from '../protocol.ts';
import type { Ask, Protocol } from '../protocol.ts';
import { renderReply } from './reply.ts';
import { decodeRequest, storeContent, unversioned } from './request.ts';

/** The protocol. */
export const GEMINI: Protocol = {
  keyOf: ({ headers, query }) => textField(headers, 'x-goog-api-key') ?? query.get('key') ?? undefined,
  missingKey: new Complaint(403, "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."),
  wrongKey: new Complaint(400, 'API key not valid. Please pass a valid API key.', { code: 'API_KEY_INVALID' }),
  decode: decodeRequest,
  resource: (incoming) => {
    const path = unversioned(incoming.path);
    if (path === '/cachedContents' && incoming.method === 'POST') return storeContent(incoming);
    return incoming.method === 'GET' ? readModels(path, incoming.query) : undefined;
  },
  render: (ask, script) => (ask.isCount === true ? jsonReply(200, renderCount(ask)) : renderReply(ask, script)),
  renderComplaint: (complaint) => jsonReply(complaint.status, renderError(complaint)),
  renderErrorEvent: (complaint) => `data: ${renderError(complaint)}\r\n\r\n`,
  overloaded: new Complaint(503, 'The model is overloaded. Please try again later.'),
  quotaExhausted: new Complaint(429, 'You exceeded your current quota, please check your plan and billing details.', { code: 'GenerateRequestsPerDayPerProjectPerModel' }),
};

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 402: 'RESOURCE_EXHAUSTED', 403: 'PERMISSION_DENIED', 404: 'NOT_FOUND', 409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED', 499: 'CANCELLED', 500: 'INTERNAL', 503: 'UNAVAILABLE', 504: 'DEADLINE_EXCEEDED',
};

const DETAIL = 'type.googleapis.com/google.rpc.';

function renderError({ status, message, code, param, retryAfterS }: Complaint): string {
  const details: JsonOutObject[] = [];
  if (param !== undefined) details.push({ '@type': `${DETAIL}BadRequest`, fieldViolations: [{ field: param, description: message }] });
  if (code !== undefined && status === 429) details.push({ '@type': `${DETAIL}QuotaFailure`, violations: [{ quotaId: code }] });
  if (code !== undefined && status !== 429) details.push({ '@type': `${DETAIL}ErrorInfo`, reason: code, domain: 'googleapis.com' });
  if (retryAfterS !== undefined) details.push({ '@type': `${DETAIL}RetryInfo`, retryDelay: `${retryAfterS}s` });
  const error = { code: status, message, status: STATUS_NAMES[status] ?? 'UNKNOWN', details: details.length === 0 ? undefined : details };
  return renderJson({ error });
}

function renderCount({ facts }: Ask): string {
  return renderJson({
    totalTokens: facts.inputTokens,
    cachedContentTokenCount: facts.cachedTokens > 0 ? facts.cachedTokens : undefined,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: facts.inputTokens }],
  });
}

function readModels(path: string, query: URLSearchParams): string | Complaint | undefined {
  if (path === '/models') return renderModels(query);
  const id = /^\/models\/(.+)$/.exec(path)?.[1];
  if (id === undefined) return undefined;
  if (ALL_IDS.includes(id)) return renderJson(modelInfo(id));
  return new Complaint(404, `models/${id} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`);
}

/** One of the models cannot chat. */
const EMBEDDING_ID = 'fake-embedding';
const ALL_IDS = [...MODEL_IDS, EMBEDDING_ID];

/** A page of two, whatever `pageSize` says. */
function renderModels(query: URLSearchParams): string {
  const from = Number(query.get('pageToken') ?? 0);
  const next = from + MODELS_PER_PAGE;
  return renderJson({ models: ALL_IDS.slice(from, next).map(modelInfo), nextPageToken: next < ALL_IDS.length ? String(next) : undefined });
}

function modelInfo(id: string): JsonOutObject {
  const isChat = id !== EMBEDDING_ID;
  return {
    name: `models/${id}`, baseModelId: id, version: '001', displayName: `Sandbox ${id}`, inputTokenLimit: CONTEXT_TOKENS, outputTokenLimit: OUTPUT_TOKENS_MAX,
    supportedGenerationMethods: isChat ? ['generateContent', 'countTokens', 'createCachedContent'] : ['embedContent'],
    ...(isChat ? { thinking: true, temperature: 1, maxTemperature: 2, topP: 0.95, topK: 64 } : {}),
  };
}
