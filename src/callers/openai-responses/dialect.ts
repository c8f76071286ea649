/** OpenAI Responses at the front: POST /v1/responses. */

import { renderJson } from '../../base/json/render.ts';
import type { CallerDialect } from '../../core/dialect.ts';
import { errorObject, retryHeaders } from '../openai-common/failure.ts';
import { renderModelList } from '../openai-common/models.ts';
import { RESPONSES_FIELDS } from './fields.ts';
import { renderResponse } from './reply.ts';
import { decodeResponses } from './request.ts';
import { ResponseEvents } from './stream.ts';

export const OPENAI_RESPONSES: CallerDialect = {
  name: 'openai-responses',
  vendor: 'openai',
  takesModelPrefixes: true,
  takesApiKey: true,
  fieldNames: new Set(Object.keys(RESPONSES_FIELDS)),
  routes: [{ name: 'responses', path: '/v1/responses', stream: 'asked' }],
  decodeRequest: decodeResponses,
  renderReply: renderResponse,
  createFrames: (facts) => new ResponseEvents(facts),
  renderFailure: (failure) => ({ body: renderJson({ error: errorObject(failure) }), headers: retryHeaders(failure) }),
  renderModels: renderModelList,
  breaksFailedStreams: true,
  repliesRefusals: true,
};
