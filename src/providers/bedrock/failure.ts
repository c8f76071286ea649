/**
 * What Amazon Bedrock says when it fails: before an answer by a status and the name of an exception, inside a stream by a message
 * that is one.
 *
 * The name stands in the header `x-amzn-errortype`, up to a colon; else in `__type`, behind a `#`, or in `code`. The formats of
 * other vendors that it serves have errors of their own.
 * Source: Amazon Bedrock, InvokeModel, errors; InvokeModelWithResponseStream, ResponseStream.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { field, stringField, textField } from '../../base/loose.ts';
import type { UpstreamHeaders } from '../../core/adapter.ts';
import { kindFromStatus, upstreamFailure } from '../../core/failure.ts';
import type { Failure, FailureKind } from '../../core/failure.ts';
import { UNKNOWN_FIELD } from '../anthropic/failure.ts';

/** By name, without `Exception`. All others are what their status says; in a stream, where there is none, the provider's failure. */
const KINDS: ReadonlyMap<string, FailureKind> = new Map([
  ['AccessDenied', 'auth'],
  ['ExpiredToken', 'auth'],
  ['IncompleteSignature', 'auth'],
  ['InvalidSignature', 'auth'],
  ['MissingAuthenticationToken', 'auth'],
  ['UnrecognizedClient', 'auth'],
  ['Validation', 'bad_request'],
  ['ResourceNotFound', 'not_found'],
  // A path that is not there, in this region at least.
  ['UnknownOperation', 'not_found'],
  ['ServiceQuotaExceeded', 'rate_limit'],
  ['Throttling', 'rate_limit'],
  // An imported model that is being loaded.
  ['ModelNotReady', 'rate_limit'],
]);

/** A day's tokens are used up, which is said as a rate is. */
const DAILY_QUOTA = /too many tokens per day/i;

/** Sent as a validation error. */
const UNKNOWN_MODEL = /^the provided model identifier is invalid/i;
const NEEDS_PROFILE = /inference profile/i;
/** More than the model's context, in Bedrock's words and in Claude's, or than InvokeModel takes at all. */
const TOO_LONG = /\b(?:prompt|input) is too long\b|exceed context limit|'body' failed to satisfy constraint: member must have length/i;

/** The failure for a reply whose status is not 2xx; undefined where it is none of Bedrock's own. */
export function decodeBedrockFailure(provider: string, status: number, body: string, headers: UpstreamHeaders = {}): Failure | undefined {
  const json = parseLenient(body);
  const name = stringField(headers, 'x-amzn-errortype')?.split(':')[0] ?? typeIn(json)?.split('#').at(-1) ?? textField(json, 'code');
  const message = textField(json, 'message') ?? textField(json, 'Message') ?? textField(field(json, 'error'), 'message');
  const isOwn = name !== undefined || (message !== undefined && field(json, 'error') === undefined && field(json, 'type') === undefined);
  return isOwn ? failureOf(provider, status, name ?? '', message) : undefined;
}

/** That of a path that is not there lies deeper. */
function typeIn(json: unknown): string | undefined {
  return stringField(json, '__type') ?? stringField(field(json, 'Output'), '__type');
}

/** The failure that a message of a stream is, by its name and payload. */
export function streamedFailure(provider: string, name: string, payload: string): Failure {
  const json = parseLenient(payload);
  return failureOf(provider, 200, name, textField(json, 'message') ?? textField(json, 'originalMessage'));
}

function failureOf(provider: string, status: number, name: string, message: string | undefined): Failure {
  const plain = name.replace(/Exception$/, '');
  const key = plain.slice(0, 1).toUpperCase() + plain.slice(1);
  const said = KINDS.get(key) ?? kindOf(status);
  const kind = said === 'bad_request' && UNKNOWN_FIELD.test(message ?? '') ? 'unsupported' : said;
  const isQuota = key === 'ServiceQuotaExceeded' || (kind === 'rate_limit' && DAILY_QUOTA.test(message ?? ''));
  const isUnknownModel = kind === 'bad_request' && UNKNOWN_MODEL.test(message ?? '');
  return upstreamFailure({
    provider,
    status,
    kind: isUnknownModel ? 'not_found' : kind,
    code: name,
    detail: message,
    isOverloaded: key === 'ServiceUnavailable',
    isTooLong: kind === 'bad_request' && (status === 413 || TOO_LONG.test(message ?? '')),
    isQuota,
    isRetried: isQuota ? false : undefined,
    hint: hintFor(key, kind, message ?? ''),
  });
}

function hintFor(key: string, kind: FailureKind, message: string): string | undefined {
  if (key === 'UnknownOperation') return 'or this region has no such route; an id with a version behind a colon, or an ARN, is asked by InvokeModel instead';
  const needsProfile = kind === 'bad_request' && NEEDS_PROFILE.test(message);
  return needsProfile ? 'the model is served by an inference profile only, such as us.… or global.…' : undefined;
}

function kindOf(status: number): FailureKind {
  // A model that failed.
  return status === 424 ? 'server' : kindFromStatus(status);
}
