/**
 * The sandbox's Messages API: what belongs to neither a request nor a reply alone, and the whole as one protocol.
 *
 * Source: Anthropic Messages API, authentication, errors, models.
 */

import { renderJson } from '../../base/json/render.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { textField } from '../../base/loose.ts';
import {
  CONTEXT_TOKENS, Complaint, DEPRECATED_AT, DEPRECATED_ID, MODELS_PER_PAGE, MODEL_IDS, OUTPUT_TOKENS_MAX, RETIRES_AT, digest, jsonReply,
} from '../protocol.ts';
import type { Protocol } from '../protocol.ts';
import { renderReply, requestId } from './reply.ts';
import { decodeCount, decodeRequest } from './request.ts';

/** The protocol. */
export const ANTHROPIC: Protocol = {
  keyOf: ({ headers }) => textField(headers, 'x-api-key') ?? /^Bearer (.+)$/.exec(String(headers['authorization'] ?? ''))?.[1],
  missingKey: new Complaint(401, 'x-api-key header is required'),
  wrongKey: new Complaint(401, 'invalid x-api-key'),
  decode: (incoming) => {
    if (incoming.method !== 'POST') return undefined;
    const path = unversioned(incoming.path);
    if (path === '/messages') return decodeRequest(incoming);
    return path === '/messages/count_tokens' ? decodeCount(incoming) : undefined;
  },
  resource: (incoming) => (incoming.method === 'GET' ? readModels(unversioned(incoming.path), incoming.query) : undefined),
  render: (ask, script) =>
    ask.isCount === true ? jsonReply(200, renderJson({ input_tokens: ask.facts.inputTokens }), requestId(ask.seed)) : renderReply(ask, script),
  renderComplaint: (complaint) => jsonReply(complaint.status, renderError(complaint), {
    ...requestId(digest(complaint.message)),
    ...(complaint.retryAfterS === undefined ? {} : { 'retry-after': String(complaint.retryAfterS) }),
  }),
  renderErrorEvent: (complaint) => `event: error\ndata: ${renderError(complaint)}\n\n`,
  overloaded: new Complaint(529, 'Overloaded'),
  quotaExhausted: new Complaint(429, 'You have reached the spend limit of your organization.', { code: 'enforced_spend_limit_reached' }),
};

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error', 402: 'billing_error', 403: 'permission_error', 404: 'not_found_error', 409: 'conflict_error',
  413: 'request_too_large', 429: 'rate_limit_error', 503: 'overloaded_error', 504: 'timeout_error', 529: 'overloaded_error',
};

function renderError({ status, message: text, code }: Complaint): string {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  const details = code === undefined ? null : { error_code: code };
  return renderJson({ type: 'error', error: { type, message: text, details }, request_id: requestId(digest(text))['request-id'] });
}

/** The AI SDK reads the same variable as the vendor's own clients and adds no version to it. */
function unversioned(path: string): string {
  return path.replace(/^\/v1(?=\/)/, '');
}

function readModels(path: string, query: URLSearchParams): string | Complaint | undefined {
  if (path === '/models') return renderModels(query);
  const id = /^\/models\/(.+)$/.exec(path)?.[1];
  if (id === undefined) return undefined;
  return MODEL_IDS.includes(id) ? renderJson(modelInfo(id)) : new Complaint(404, `model: ${id}`);
}

/** A page of two, whatever `limit` says, from after the model named by `after_id`. */
function renderModels(query: URLSearchParams): string {
  const after = query.get('after_id');
  const from = MODEL_IDS.findIndex((id) => id === after) + 1;
  const ids = MODEL_IDS.slice(from, from + MODELS_PER_PAGE);
  return renderJson({ data: ids.map(modelInfo), has_more: from + MODELS_PER_PAGE < MODEL_IDS.length, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null });
}

const YES = { supported: true };
const NO = { supported: false };
const CAPABILITIES = {
  batch: NO, citations: YES, code_execution: NO, context_management: { ...YES, clear_thinking_20251015: YES, clear_tool_uses_20250919: NO, compact_20260112: NO },
  effort: { ...YES, low: YES, medium: YES, high: YES, xhigh: YES, max: YES }, image_input: YES, pdf_input: YES, server_tools: NO, structured_outputs: YES,
  thinking: { ...YES, types: { adaptive: YES, enabled: YES } },
};

function modelInfo(id: string): JsonOutObject {
  const isLeaving = id === DEPRECATED_ID;
  return {
    type: 'model', id, display_name: `Sandbox ${id}`, created_at: '2026-01-01T00:00:00Z', max_input_tokens: CONTEXT_TOKENS, max_tokens: OUTPUT_TOKENS_MAX,
    capabilities: CAPABILITIES, line: 'sonnet', lifecycle: isLeaving ? 'deprecated' : 'active',
    deprecated_at: isLeaving ? DEPRECATED_AT : null, retires_at: isLeaving ? RETIRES_AT : null,
  };
}
