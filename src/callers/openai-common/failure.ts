/** Failures in the form of OpenAI's APIs (OpenAI, error codes): its SDKs choose their class by the status alone. */

import type { JsonOutObject } from '../../base/json/value.ts';
import { isPromptTooLong } from '../../core/failure.ts';
import type { Failure, FailureKind } from '../../core/failure.ts';

type Names = { readonly type: string; readonly code: string | null };

const NAMES: Readonly<Record<FailureKind, Names>> = {
  auth: { type: 'api_error', code: 'provider_auth' },
  rate_limit: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  not_found: { type: 'invalid_request_error', code: 'model_not_found' },
  bad_request: { type: 'invalid_request_error', code: null },
  unsupported: { type: 'invalid_request_error', code: 'unsupported' },
  refusal: { type: 'invalid_request_error', code: 'refusal' },
  server: { type: 'api_error', code: 'provider_error' },
  unknown: { type: 'api_error', code: 'provider_unreachable' },
};

/**
 * A caller's own token that was refused, which the kind alone does not tell from a provider's key. LiteLLM believes the type
 * before the status: with OpenAI's own `invalid_request_error` it would say that the request is malformed.
 */
const WRONG_TOKEN: Names = { type: 'authentication_error', code: 'invalid_api_key' };

/** OpenAI's own, by which programs know that they have to shorten the conversation. */
const TOO_LONG: Names = { type: 'invalid_request_error', code: 'context_length_exceeded' };

/** The object `error` of a failed answer, and of a stream's frame that says that it failed. */
export function errorObject(failure: Failure): JsonOutObject {
  const { type, code } = failure.status === 401 ? WRONG_TOKEN : isPromptTooLong(failure) ? TOO_LONG : NAMES[failure.kind];
  return { message: failure.message, type, param: null, code };
}
