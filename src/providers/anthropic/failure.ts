/**
 * What the Messages API says when it fails, as a Failure: replies that are not 2xx, and error objects inside a 200.
 *
 * Shape: `{"type":"error","error":{"type","message","details"?},"request_id"}`. Hosts that imitate the API send other
 * shapes too; then the HTTP status decides.
 * Source: Anthropic API, errors; streaming, error events.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { field, isObject, stringField, textField } from '../../base/loose.ts';
import { kindFromStatus, upstreamFailure } from '../../core/failure.ts';
import type { Failure, FailureKind } from '../../core/failure.ts';
import { BASE_URL_HINT, isNoPath } from '../no-path.ts';

/** The failure for a reply whose status is not 2xx, whatever its body. */
export function decodeAnthropicFailure(provider: string, status: number, body: string): Failure {
  const json = parseLenient(body);
  return failureFrom(provider, status, field(json, 'error') ?? json, body);
}

/** The failure that a 200 carries inside, in a body or an event of a stream; undefined when it carries none. `isError`: it is one whatever its shape. */
export function failureInside(provider: string, json: unknown, isError = field(json, 'type') === 'error'): Failure | undefined {
  const error = field(json, 'error');
  const hasError = isObject(error) || (typeof error === 'string' && error !== '');
  return hasError || isError ? failureFrom(provider, 200, hasError ? error : json) : undefined;
}

/** `prose`: the detail where the error has no message. */
function failureFrom(provider: string, status: number, error: unknown, prose?: string): Failure {
  const type = stringField(error, 'type') ?? '';
  const errorCode = textField(field(error, 'details'), 'error_code');
  const message = typeof error === 'string' ? error : (textField(error, 'message') ?? '');
  const isSpent = SPENT_CODES.has(errorCode ?? '');
  const kind = kindFrom(status, type, errorCode, message);
  return upstreamFailure({
    provider,
    status,
    kind,
    code: errorCode ?? type,
    errorCode,
    param: /^([a-z_]+(?:\.[\w-]+)*): /.exec(message)?.[1],
    detail: message || prose,
    isRetried: isSpent ? false : undefined,
    isQuota: isSpent,
    isOverloaded: type === 'overloaded_error',
    isTooLong: kind === 'bad_request' && (type === 'request_too_large' || status === 413 || TOO_LONG.test(message)),
    hint: hintFor(status, type, message, prose ?? ''),
  });
}

function hintFor(status: number, type: string, message: string, prose: string): string | undefined {
  if (FOREIGN_THINKING.test(message)) return 'a provider_state belongs to another conversation or account';
  // A model is said to be none by a type.
  return type === '' && isNoPath(status, message || prose) ? BASE_URL_HINT : undefined;
}

/** Limits on spending, which no waiting lifts, unlike a rate. */
const SPENT_CODES: ReadonlySet<string> = new Set(['enforced_spend_limit_reached', 'contract_spend_limit_reached']);

/** Types that say as much as a status or more, whatever status they come with. */
const KINDS_BY_TYPE: ReadonlyMap<string, FailureKind> = new Map([
  ['authentication_error', 'auth'],
  ['permission_error', 'auth'],
  ['billing_error', 'auth'],
  ['not_found_error', 'not_found'],
  ['rate_limit_error', 'rate_limit'],
  ['timeout_error', 'server'],
  ['overloaded_error', 'server'],
]);

/** Types that hosts use for anything, and so count only where there is no status. */
const STATUSES_BY_TYPE: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['conflict_error', 409],
  ['request_too_large', 413],
]);

/**
 * Sent as 400 `invalid_request_error`, though nothing a caller could change: the account's money is used up. Only where a sentence
 * begins so: one about a field that is not known begins with that field, whose name is the caller's.
 */
const OUT_OF_CREDIT = /^your credit balance is too low|^you have reached your specified (?:\w+ )?API usage limits/i;

/** More than the model's context, as it is said beside `invalid_request_error`. */
const TOO_LONG = /prompt is too long|exceed context limit/i;

/** Reasoning that was edited, or came back in a conversation or account other than its own. */
const FOREIGN_THINKING = /Invalid `signature` in `thinking` block|bound to a different conversation/i;

/** A host whose schema is behind its vendor's, of a field that says what was asked for: a shape of the answer, an effort, strict tools. */
export const UNKNOWN_FIELD = /^(?:output_config|thinking|tools\.\d+(?:\.custom)?\.strict)\b[\w.]*: extra inputs are not permitted/i;

function kindFrom(status: number, type: string, errorCode: string | undefined, message: string): FailureKind {
  if (errorCode === 'organization_on_hold' || OUT_OF_CREDIT.test(message)) return 'auth';
  if (status === 400 && UNKNOWN_FIELD.test(message)) return 'unsupported';
  return KINDS_BY_TYPE.get(type) ?? kindFromStatus(status === 200 ? (STATUSES_BY_TYPE.get(type) ?? 500) : status);
}
