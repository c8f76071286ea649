/**
 * The sandbox's Messages API: what belongs to neither a request nor a reply alone, and the whole as one protocol.
 *
 * Source: Anthropic Messages API, authentication, errors, models.
 */

import { renderJson } from '../../base/json/render.ts';
import { CONTEXT_TOKENS, Complaint, MODELS_PER_PAGE, MODEL_IDS, OUTPUT_TOKENS_MAX, digest, jsonReply } from '../protocol.ts';
import type { Protocol } from '../protocol.ts';
import { renderReply, requestId } from './reply.ts';
import { decodeCount, decodeRequest, header } from './request.ts';

/** The protocol. */
export const ANTHROPIC: Protocol = {
  keyOf: ({ headers }) => header(headers['x-api-key']) ?? /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1],
  missingKey: new Complaint(401, 'x-api-key header is required'),
  wrongKey: new Complaint(401, 'invalid x-api-key'),
  decode: (incoming) => {
    if (incoming.method !== 'POST') return undefined;
    if (incoming.path === '/v1/messages') return decodeRequest(incoming);
    return incoming.path === '/v1/messages/count_tokens' ? decodeCount(incoming) : undefined;
  },
  resource: (incoming) => (incoming.path === '/v1/models' && incoming.method === 'GET' ? renderModels(incoming.query) : undefined),
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

/** A page of two, whatever `limit` says, from after the model named by `after_id`. */
function renderModels(query: URLSearchParams): string {
  const after = query.get('after_id');
  const from = MODEL_IDS.findIndex((id) => id === after) + 1;
  const ids = MODEL_IDS.slice(from, from + MODELS_PER_PAGE);
  return renderJson({
    data: ids.map((id) => ({
      type: 'model', id, display_name: `Sandbox ${id}`, created_at: '2026-01-01T00:00:00Z', max_input_tokens: CONTEXT_TOKENS, max_tokens: OUTPUT_TOKENS_MAX,
    })),
    has_more: from + MODELS_PER_PAGE < MODEL_IDS.length,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  });
}
