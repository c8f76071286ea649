/** OpenAI Responses at the front: POST /v1/responses. */

import { renderJson } from '../../base/json/render.ts';
import { KEEP_ALIVE } from '../../core/dialect.ts';
import type { CallerDialect } from '../../core/dialect.ts';
import { errorObject } from '../openai-common/failure.ts';
import { OPENAI_MODELS } from '../openai-common/models.ts';
import { retryHeaders } from '../retry-headers.ts';
import { RESPONSES_FIELDS } from './fields.ts';
import { RESPONSES_RELAY } from './relay.ts';
import { encodeResponse } from './reply.ts';
import { decodeResponses } from './request.ts';
import { ResponseEvents } from './stream.ts';

export const OPENAI_RESPONSES: CallerDialect = {
  name: 'openai-responses',
  vendor: 'openai',
  takesModelPrefixes: true,
  takesApiKey: true,
  requestIdHeader: undefined,
  fieldNames: new Set(Object.keys(RESPONSES_FIELDS)),
  routes: [{ name: 'responses', path: '/v1/responses', stream: 'asked' }],
  relay: RESPONSES_RELAY,
  counting: undefined,
  decodeRequest: decodeResponses,
  encodeReply: encodeResponse,
  createFrames: (facts) => new ResponseEvents(facts),
  keepAlive: KEEP_ALIVE,
  renderFailure: (failure) => ({ body: renderJson({ error: errorObject(failure) }), headers: retryHeaders(failure) }),
  models: OPENAI_MODELS,
  breaksFailedStreams: true,
  repliesRefusals: true,
};
