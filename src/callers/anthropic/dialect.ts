/** Anthropic Messages at the front: POST /v1/messages and POST /v1/messages/count_tokens. */

import { renderJson } from '../../base/json/render.ts';
import type { CallerDialect } from '../../core/dialect.ts';
import { retryHeaders } from '../retry-headers.ts';
import { failureBody } from './failure.ts';
import { MESSAGES_FIELDS } from './fields.ts';
import { ANTHROPIC_MODELS } from './models.ts';
import { MESSAGES_RELAY } from './relay.ts';
import { encodeMessage } from './reply.ts';
import { decodeMessages } from './request.ts';
import { MessageEvents, PING } from './stream.ts';

export const ANTHROPIC: CallerDialect = {
  name: 'anthropic',
  vendor: 'anthropic',
  takesModelPrefixes: true,
  takesApiKey: true,
  requestIdHeader: 'request-id',
  fieldNames: new Set(Object.keys(MESSAGES_FIELDS)),
  routes: [{ name: 'messages', path: '/v1/messages', stream: 'asked' }],
  relay: MESSAGES_RELAY,
  counting: {
    route: { name: 'count_tokens', path: '/v1/messages/count_tokens', stream: 'never' },
    relayPath: '/messages/count_tokens',
    // Its clients then estimate by themselves.
    missing: 'not_found',
    render: (inputTokens) => renderJson({ input_tokens: inputTokens }),
  },
  decodeRequest: decodeMessages,
  encodeReply: encodeMessage,
  createFrames: (facts) => new MessageEvents(facts),
  keepAlive: PING,
  renderFailure: (failure, requestId) => ({
    body: renderJson(failureBody(failure, requestId)),
    headers: retryHeaders(failure),
  }),
  models: ANTHROPIC_MODELS,
  breaksFailedStreams: true,
  repliesRefusals: true,
};
