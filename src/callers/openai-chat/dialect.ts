/** OpenAI Chat Completions at the front: POST /v1/chat/completions. */

import { renderJson } from '../../base/json/render.ts';
import type { CallerDialect } from '../../core/dialect.ts';
import { errorObject, retryHeaders } from '../openai-common/failure.ts';
import { renderModelList } from '../openai-common/models.ts';
import { CHAT_FIELDS } from './fields.ts';
import { CompletionChunks, renderCompletion } from './reply.ts';
import { decodeChatCompletions } from './request.ts';

export const OPENAI_CHAT: CallerDialect = {
  name: 'openai-chat',
  vendor: 'openai',
  takesModelPrefixes: true,
  takesApiKey: true,
  fieldNames: new Set(Object.keys(CHAT_FIELDS)),
  routes: [{ name: 'chat_completions', path: '/v1/chat/completions', stream: 'asked' }],
  decodeRequest: decodeChatCompletions,
  renderReply: renderCompletion,
  createFrames: (facts) => new CompletionChunks(facts),
  renderFailure: (failure) => ({ body: renderJson({ error: errorObject(failure) }), headers: retryHeaders(failure) }),
  renderModels: renderModelList,
  breaksFailedStreams: true,
  repliesRefusals: true,
};
