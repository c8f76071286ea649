/**
 * The sandbox's Responses API, beside the Chat Completions of the same provider.
 *
 * Source: OpenAI, Responses API, errors, streaming events.
 */

import { renderJson } from '../../base/json/render.ts';
import { OPENAI, errorOf } from '../openai-chat/protocol.ts';
import { Complaint, jsonReply } from '../protocol.ts';
import type { Protocol } from '../protocol.ts';
import { renderResponse, responseId, storedItems } from './reply.ts';
import { decodeCount, decodeResponsesRequest } from './request.ts';
import { storeResponse } from './stored.ts';

const BLOCKED = new Complaint(400, 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.', { code: 'invalid_prompt' });

/** Everything below the path of the API itself. */
export const RESPONSES: Protocol = {
  ...OPENAI,
  decode: (incoming, memory) => {
    if (incoming.method !== 'POST') return undefined;
    if (incoming.path === '') return decodeResponsesRequest(incoming, memory);
    return incoming.path === '/input_tokens' ? decodeCount(incoming, memory) : undefined;
  },
  keep: (ask, script, memory) => {
    if (ask.storable !== undefined && ask.isCount !== true && script.ending !== 'blocked') storeResponse(memory, responseId(ask), ask.storable, storedItems(ask, script));
  },
  resource: () => undefined,
  render: (ask, script) => {
    if (ask.isCount === true) return jsonReply(200, renderJson({ object: 'response.input_tokens', input_tokens: ask.facts.inputTokens }));
    return script.ending === 'blocked' ? OPENAI.renderComplaint(BLOCKED) : renderResponse(ask, script);
  },
  renderErrorEvent: (complaint) => `event: error\ndata: ${renderJson({ type: 'error', sequence_number: 0, error: errorOf(complaint) })}\n\n`,
};
