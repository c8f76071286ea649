/**
 * The sandbox's Gemini API: what belongs to neither a request nor a reply alone, and the whole as one protocol.
 *
 * Source: Gemini API, authentication, errors, models.
 */

import { renderJson } from '../../base/json/render.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { CONTEXT_TOKENS, Complaint, MODELS_PER_PAGE, MODEL_IDS, OUTPUT_TOKENS_MAX, jsonReply } from '../protocol.ts';
import type { Protocol } from '../protocol.ts';
import { renderReply } from './reply.ts';
import { decodeRequest, storeContent } from './request.ts';

/** The protocol. */
export const GEMINI: Protocol = {
  keyOf: ({ headers, query }) => {
    const sent = headers['x-goog-api-key'];
    return typeof sent === 'string' && sent !== '' ? sent : (query.get('key') ?? undefined);
  },
  missingKey: new Complaint(403, "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."),
  wrongKey: new Complaint(400, 'API key not valid. Please pass a valid API key.', { code: 'API_KEY_INVALID' }),
  decode: decodeRequest,
  resource: (incoming) => {
    if (incoming.path === '/v1beta/cachedContents' && incoming.method === 'POST') return storeContent(incoming);
    return incoming.path === '/v1beta/models' && incoming.method === 'GET' ? renderModels(incoming.query) : undefined;
  },
  render: (ask, script) => (ask.isCount === true ? jsonReply(200, renderJson({ totalTokens: ask.facts.inputTokens })) : renderReply(ask, script)),
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

/** A page of two, whatever `pageSize` says. One of the models cannot chat. */
function renderModels(query: URLSearchParams): string {
  const from = Number(query.get('pageToken') ?? 0);
  const all = [...MODEL_IDS, 'fake-embedding'];
  const models = all.slice(from, from + MODELS_PER_PAGE).map((id) => ({
    name: `models/${id}`, displayName: `Sandbox ${id}`, inputTokenLimit: CONTEXT_TOKENS, outputTokenLimit: OUTPUT_TOKENS_MAX,
    supportedGenerationMethods: [id === 'fake-embedding' ? 'embedContent' : 'generateContent'],
  }));
  const next = from + MODELS_PER_PAGE;
  return renderJson({ models, nextPageToken: next < all.length ? String(next) : undefined });
}
