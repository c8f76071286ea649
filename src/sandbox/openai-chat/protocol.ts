/**
 * The sandbox's Chat Completions API, as one protocol for each of its dialects.
 *
 * Source: OpenAI, Chat Completions, errors, models; DeepSeek API, error codes.
 */

import { renderJson } from '../../base/json/render.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { CONTEXT_TOKENS, Complaint, DEPRECATED_ID, MODEL_IDS, OUTPUT_TOKENS_MAX, RETIRES_AT, digest, jsonReply } from '../protocol.ts';
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
    keyOf: ({ headers }) => /^Bearer (.+)$/.exec(String(headers['authorization'] ?? ''))?.[1],
    wrongKey: new Complaint(401, 'Incorrect API key provided. You can find your API key in your account settings.', { code: 'invalid_api_key' }),
    decode: (incoming) => (incoming.path === '/chat/completions' && incoming.method === 'POST' ? decodeRequest(incoming, dialect) : undefined),
    resource: (incoming) => (incoming.method === 'GET' ? readModels(incoming.path, dialect) : undefined),
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

function readModels(path: string, dialect: Dialect): string | Complaint | undefined {
  const render = dialect.isCompatible ? hostedModel : listedModel;
  if (path === '/models') return renderJson({ object: 'list', data: MODEL_IDS.map(render) });
  const id = /^\/models\/(.+)$/.exec(path)?.[1];
  if (id === undefined) return undefined;
  return MODEL_IDS.includes(id) ? renderJson(render(id)) : new Complaint(404, `The model '${id}' does not exist or you do not have access to it.`, { param: 'model' });
}

/** OpenAI says nothing of limits. */
function listedModel(id: string): JsonOutObject {
  return { id, object: 'model', created: CREATED_S, owned_by: 'sandbox', shutdown_date: id === DEPRECATED_ID ? RETIRES_AT.slice(0, 10) : null };
}

/** What hosts say besides, each in other words: Mistral, OpenRouter, Together, Groq, vLLM. */
function hostedModel(id: string): JsonOutObject {
  return {
    id, object: 'model', created: CREATED_S, owned_by: 'sandbox', name: `Sandbox ${id}`,
    max_context_length: CONTEXT_TOKENS, context_length: CONTEXT_TOKENS, context_window: CONTEXT_TOKENS, max_model_len: CONTEXT_TOKENS,
    max_completion_tokens: OUTPUT_TOKENS_MAX, top_provider: { context_length: CONTEXT_TOKENS, max_completion_tokens: OUTPUT_TOKENS_MAX },
    architecture: { input_modalities: ['text', 'image', 'file'], output_modalities: ['text'] },
    capabilities: { completion_chat: true, function_calling: true, vision: true, reasoning: true },
    supported_parameters: ['tools', 'tool_choice', 'response_format', 'structured_outputs', 'reasoning', 'max_tokens'],
    deprecation: id === DEPRECATED_ID ? RETIRES_AT : null,
  };
}
