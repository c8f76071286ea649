/** OpenAI Chat Completions at the front: POST /v1/chat/completions. */

import { renderJson } from '../../base/json/render.ts';
import { KEEP_ALIVE } from '../../core/dialect.ts';
import type { CallerDialect } from '../../core/dialect.ts';
import { errorObject } from '../openai-common/failure.ts';
import { OPENAI_MODELS } from '../openai-common/models.ts';
import { retryHeaders } from '../retry-headers.ts';
import { CHAT_FIELDS } from './fields.ts';
import { CHAT_RELAY } from './relay.ts';
import { CompletionChunks, encodeCompletion } from './reply.ts';
import { decodeChatCompletions } from './request.ts';

export const OPENAI_CHAT: CallerDialect = {
  name: 'openai-chat',
  vendor: 'openai',
  takesModelPrefixes: true,
  takesApiKey: true,
  requestIdHeader: undefined,
  fieldNames: new Set(Object.keys(CHAT_FIELDS)),
  routes: [{ name: 'chat_completions', path: '/v1/chat/completions', stream: 'asked' }],
  relay: CHAT_RELAY,
  counting: undefined,
  decodeRequest: decodeChatCompletions,
  encodeReply: encodeCompletion,
  createFrames: (facts) => new CompletionChunks(facts),
  keepAlive: KEEP_ALIVE,
  renderFailure: (failure) => ({ body: renderJson({ error: errorObject(failure) }), headers: retryHeaders(failure) }),
  models: OPENAI_MODELS,
  breaksFailedStreams: true,
  repliesRefusals: true,
};
