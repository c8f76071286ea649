/** The gateway's own format: POST /v1/chat, POST /v1/chat/stream and POST /v1/count_tokens. */

import { renderJson } from '../../base/json/render.ts';
import { KEEP_ALIVE } from '../../core/dialect.ts';
import type { CallerDialect, DecodedRequest, DialectRoute, RequestBody } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { headOfChat, loopOwnerOfChat } from '../affinity.ts';
import { NATIVE_MODELS } from './models.ts';
import { encodeChatReply, renderDeltaFrame, renderFailureBody } from './reply.ts';
import { decodeChatRequest } from './request.ts';

const NO_HEADERS = {};

export const NATIVE: CallerDialect = {
  name: 'native',
  vendor: undefined,
  takesModelPrefixes: false,
  takesApiKey: false,
  requestIdHeader: undefined,
  fieldNames: new Set(),
  routes: [
    { name: 'chat', path: '/v1/chat', stream: 'never' },
    { name: 'chat_stream', path: '/v1/chat/stream', stream: 'always' },
  ],
  relay: undefined,
  counting: {
    route: { name: 'chat_count_tokens', path: '/v1/count_tokens', stream: 'never' },
    relayPath: undefined,
    missing: 'unsupported',
    render: (inputTokens, { provider, model }) => renderJson({ provider, model, input_tokens: inputTokens }),
  },
  decodeRequest,
  encodeReply: (reply, { provider }, raw) => encodeChatReply(provider, reply, raw),
  createFrames: ({ provider }) => ({ render: (delta) => renderDeltaFrame(provider, delta) }),
  keepAlive: KEEP_ALIVE,
  renderFailure: (failure) => ({ body: renderFailureBody(failure), headers: NO_HEADERS }),
  models: NATIVE_MODELS,
  breaksFailedStreams: false,
  repliesRefusals: false,
};

function decodeRequest(body: RequestBody, route: DialectRoute): DecodedRequest | Failure {
  const request = decodeChatRequest(body);
  if (request instanceof Failure) return request;
  return {
    provider: request.provider,
    model: request.model,
    isStream: route.stream === 'always',
    wantsUsage: true,
    source: undefined,
    providerOptions: request.providerOptions,
    translate: (model) => ({ request: model === request.model ? request : { ...request, model }, ignored: [] }),
    head: () => headOfChat(request),
    loopOwner: () => loopOwnerOfChat(request.turns),
  };
}
