/**
 * The sandbox's Chat Completions API, as one protocol for each of its dialects.
 *
 * Source: OpenAI, Chat Completions, errors, models; DeepSeek API, error codes.
 */

import { renderJson } from '../../base/json/render.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { Complaint, MODEL_IDS, digest, jsonReply } from '../protocol.ts';
import type { Protocol, Reply } from '../protocol.ts';
import { CREATED_S, renderReply, requestId } from './reply.ts';
import { COMPATIBLE_DIALECT, OPENAI_DIALECT, decodeRequest } from './request.ts';
import type { Dialect } from './request.ts';

const BLOCKED = new Complaint(400, 'Your request was rejected because it may violate our usage policy.', { code: 'content_policy_violation' });

/** OpenAI. */
export const OPENAI: Protocol = {
  ...protocolOf(OPENAI_DIALECT),
  missingKey: new Complaint(401, "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."),
  overloaded: new Complaint(503, 'The server is currently overloaded. Please try again later.', { code: 'server_is_overloaded' }),
  quotaExhausted: new Complaint(429, 'You exceeded your current quota, please check your plan and billing details.', { code: 'insufficient_quota' }),
};

/** A compatible host that wants no key and thinks aloud. */
export const COMPATIBLE: Protocol = {
  ...protocolOf(COMPATIBLE_DIALECT),
  missingKey: undefined,
  overloaded: new Complaint(503, 'Service is too busy. Please retry later.', { code: 'service_unavailable' }),
  quotaExhausted: new Complaint(402, 'Insufficient Balance', { code: 'invalid_request_error' }),
};

function protocolOf(dialect: Dialect): Omit<Protocol, 'missingKey' | 'overloaded' | 'quotaExhausted'> {
  return {
    keyOf: ({ headers }) => /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1],
    wrongKey: new Complaint(401, 'Incorrect API key provided. You can find your API key in your account settings.', { code: 'invalid_api_key' }),
    decode: (incoming) => (incoming.path === '/chat/completions' && incoming.method === 'POST' ? decodeRequest(incoming, dialect) : undefined),
    resource: (incoming) => (incoming.path === '/models' && incoming.method === 'GET' ? renderModels() : undefined),
    render: (ask, script) => (script.ending === 'blocked' ? renderComplaint(BLOCKED) : renderReply(ask, script, dialect)),
    renderComplaint,
    renderErrorEvent: (complaint) => `data: ${renderJson({ error: errorOf(complaint) })}\n\n`,
  };
}

function renderComplaint(complaint: Complaint): Reply {
  return jsonReply(complaint.status, renderJson({ error: errorOf(complaint) }), {
    ...requestId(digest(complaint.message)),
    ...(complaint.retryAfterS === undefined ? {} : { 'retry-after': String(complaint.retryAfterS) }),
  });
}

/** The complaint as OpenAI puts it. */
export function errorOf({ status, message, code, param }: Complaint): JsonOutObject {
  const type = status >= 500 ? 'server_error' : status === 429 ? (code ?? 'requests') : 'invalid_request_error';
  const codes: Readonly<Record<number, string>> = { 404: 'model_not_found', 429: 'rate_limit_exceeded' };
  return { message, type, param: param ?? null, code: code ?? codes[status] ?? null };
}

function renderModels(): string {
  return renderJson({ object: 'list', data: MODEL_IDS.map((id) => ({ id, object: 'model', created: CREATED_S, owned_by: 'sandbox' })) });
}
