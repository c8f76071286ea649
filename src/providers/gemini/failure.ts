/**
 * Gemini's errors as failures: the body of a reply that is not 2xx, and error objects inside a 200.
 *
 * Shape: `{"error":{"code","message","status","details":[…]}}`, on streaming endpoints also inside an
 * array. There is no Retry-After header; the wait is in `details`.
 * Source: Gemini API, troubleshooting; google.rpc.Status, ErrorInfo, BadRequest, QuotaFailure, RetryInfo.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { countField, field, isObject, listField, stringField, textField } from '../../base/loose.ts';
import { protobufDurationMs } from '../../base/retry-after.ts';
import { kindFromStatus, upstreamFailure } from '../../core/failure.ts';
import type { Failure, FailureKind } from '../../core/failure.ts';
import { BASE_URL_HINT, isNoPath } from '../no-path.ts';

/** The failure for a reply whose status is not 2xx, whatever its body. */
export function decodeGeminiFailure(provider: string, status: number, body: string): Failure {
  const parsed = parseLenient(body);
  const error = field(Array.isArray(parsed) ? (parsed as readonly unknown[])[0] : parsed, 'error');
  return failureFrom(provider, { httpStatus: status, errorStatus: status, error, prose: body });
}

/**
 * The failure for an error in a 200 reply or stream; undefined where there is none. Its `code` may be missing; `status` then decides.
 * `isError`: it is one whatever its shape.
 */
export function failureInside(provider: string, json: unknown, isError = false): Failure | undefined {
  const inner = field(json, 'error');
  const hasError = isObject(inner) || (typeof inner === 'string' && inner !== '');
  if (!hasError && !isError) return undefined;
  const error = hasError ? inner : json;
  const code = countField(error, 'code') ?? 0;
  const errorStatus = code >= 400 ? code : (STATUS_OF_WORD.get(stringField(error, 'status') ?? '') ?? 500);
  return failureFrom(provider, { httpStatus: 200, errorStatus, error, prose: undefined });
}

/** HTTP statuses of google.rpc.Code, but for those that mean the same as 500. */
const STATUS_OF_WORD: ReadonlyMap<string, number> = new Map([
  ['CANCELLED', 499],
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['OUT_OF_RANGE', 400],
  ['UNAUTHENTICATED', 401],
  ['PERMISSION_DENIED', 403],
  ['NOT_FOUND', 404],
  ['RESOURCE_EXHAUSTED', 429],
  ['UNAVAILABLE', 503],
]);

type ErrorReport = {
  readonly httpStatus: number;
  /** The status that decides the kind. */
  readonly errorStatus: number;
  readonly error: unknown;
  /** The detail when the error has no message. */
  readonly prose: string | undefined;
};

function failureFrom(provider: string, report: ErrorReport): Failure {
  const { error } = report;
  const details = listField(error, 'details');
  const message = (typeof error === 'string' ? error : stringField(error, 'message')) || undefined;
  const refused = kindFrom(report.errorStatus, error, details);
  const isReference = refused === 'auth' && isAboutStored(message ?? '');
  const kind = isReference ? 'not_found' : refused;
  const isQuota = kind === 'rate_limit' && isDailyQuota(details);
  // A model is said to be none by a status in words.
  const isPath = textField(error, 'status') === undefined && isNoPath(report.httpStatus, message ?? report.prose ?? '');
  return upstreamFailure({
    provider,
    status: report.httpStatus,
    kind,
    code: stringField(error, 'status'),
    param: violatedField(details),
    detail: message ?? report.prose,
    retryAfterMs: retryDelayMs(details),
    isRetried: kind === 'unknown' || isQuota ? false : undefined,
    isQuota,
    isOverloaded: report.errorStatus === 503,
    isReference,
    isTooLong: kind === 'bad_request' && (report.errorStatus === 413 || TOO_LONG.test(message ?? '')),
    hint: isPath ? BASE_URL_HINT : undefined,
  });
}

function kindFrom(status: number, error: unknown, details: readonly unknown[]): FailureKind {
  // A bad key is answered 400; ErrorInfo's `@type` is sometimes missing, so its reason is what counts.
  if (details.some((detail) => /^API_KEY_(INVALID|EXPIRED)$/.test(stringField(detail, 'reason') ?? ''))) return 'auth';
  // The account's region or billing does not allow the call.
  if (stringField(error, 'status') === 'FAILED_PRECONDITION') return 'auth';
  // Cancelled: nobody waits for an answer any more.
  if (status === 499) return 'unknown';
  return kindFromStatus(status);
}

/** What a request refers to is refused as if the account were: a file or cache that is not there, is another's, or is not ready. */
function isAboutStored(message: string): boolean {
  return /\b(?:files?|cached ?contents?)\b/i.test(message) && /\bnot (?:found|exist|in an active state)\b/i.test(message);
}

/** More than the model's context: `INVALID_ARGUMENT` with nothing else to tell it by. */
const TOO_LONG = /token count\b.{0,40}\bexceeds the maximum number of tokens/i;

/** True when the exhausted quota is one for the whole day. */
function isDailyQuota(details: readonly unknown[]): boolean {
  const violations = details.flatMap((detail) => listField(detail, 'violations'));
  return violations.some((violation) => stringField(violation, 'quotaId')?.includes('PerDay') === true);
}

function violatedField(details: readonly unknown[]): string | undefined {
  return textField(details.flatMap((detail) => listField(detail, 'fieldViolations'))[0], 'field');
}

/** RetryInfo's delay. */
function retryDelayMs(details: readonly unknown[]): number | undefined {
  for (const detail of details) {
    const delayMs = protobufDurationMs(field(detail, 'retryDelay'));
    if (delayMs !== undefined) return delayMs;
  }
  return undefined;
}
