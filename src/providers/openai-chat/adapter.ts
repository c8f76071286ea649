/**
 * OpenAI Chat Completions, and by profile any host that imitates it.
 *
 * Puts the pieces together: request, reply, stream, failure, models. Must not know hosts by name;
 * those are rows of a table elsewhere.
 */

import type { Adapter } from '../../core/adapter.ts';
import { asMeant } from '../../core/model-name.ts';
import type { ModelNames } from '../../core/model-name.ts';
import { decodeFailureBody } from '../openai-common/failure.ts';
import { decodeModelsBody, encodeModelsCall } from '../openai-common/model-list.ts';
import type { HostProfile } from './profile.ts';
import { decodeChatBody } from './reply.ts';
import { encodeChatCall } from './request.ts';
import { OPENAI_DIALECT } from './state.ts';
import { OpenAiStreamDecoder } from './stream.ts';
import { supportOf } from './support.ts';

/** The codec for a provider registered under this name, speaking the format with these quirks. `models`: what its names of models stand for. */
export function createOpenAiAdapter(provider: string, profile: HostProfile, models?: ModelNames): Adapter {
  return {
    dialect: OPENAI_DIALECT,
    support: supportOf(profile),
    encodeChat: (request, isStream) => encodeChatCall(provider, profile, asMeant(request, models), isStream, request.model),
    decodeChat: (body, json, exact, use) => decodeChatBody(provider, profile, body, json, exact, use),
    createStreamDecoder: (use) => new OpenAiStreamDecoder(provider, profile, use),
    encodeModels: encodeModelsCall,
    decodeModels: (body, json) => decodeModelsBody(provider, body, json),
    decodeFailure: (status, body) => decodeFailureBody(provider, status, body),
  };
}
