/**
 * What a host of the Chat Completions format says when it fails, as a Failure.
 *
 * Reads every shape in use: `{error: {message, type, param, code}}` (OpenAI, error codes), the same
 * with a numeric code (OpenRouter, Perplexity), with `error` as a string (xAI, Ollama), flat
 * (Mistral, old vLLM), `{detail}` (FastAPI hosts), `{base_resp}` (MiniMax), and any of them inside an array (Google's layer).
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { field, isObject, listField, numberField, stringField, textField } from '../../base/loose.ts';
import { kindFromStatus, upstreamFailure } from '../../core/failure.ts';
import type { Failure, FailureKind } from '../../core/failure.ts';
import { BASE_URL_HINT, isNoPath } from '../no-path.ts';

/** The model did not manage to match the schema. It may at the second try, and hardly at a third. */
const UNMATCHED_SCHEMA = 'json_validate_failed';
/** Or wrote a malformed call. */
const UNMET_CODES: ReadonlySet<string> = new Set([UNMATCHED_SCHEMA, 'tool_use_failed']);

/** Codes that say more than the status beside them. */
const KINDS_BY_CODE: ReadonlyMap<string, FailureKind> = new Map([
  ['model_not_found', 'not_found'],
  ['invalid_api_key', 'auth'],
  ['content_filter', 'refusal'],
  ['ResponsibleAIPolicyViolation', 'refusal'],
  ['content_policy_violation', 'refusal'],
  ['image_content_policy_violation', 'refusal'],
  ['misalignment_policy_violation', 'refusal'],
  // DashScope.
  ['data_inspection_failed', 'refusal'],
  ['invalid_prompt', 'refusal'],
  ['cyber_policy', 'refusal'],
  ['bio_policy', 'refusal'],
  // DashScope's 400 for an account that owes, which others say by 402.
  ['Arrearage', 'auth'],
  // The model wrote a malformed call; another attempt may well succeed (Groq).
  ['tool_use_failed', 'server'],
  // Or an answer that does not match its schema (Groq).
  [UNMATCHED_SCHEMA, 'server'],
]);

/** Exhausted for good, unlike a rate. */
const QUOTA_CODES: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded',
  'organization_usage_limit_exceeded',
  'billing_hard_limit_reached',
  'billing_not_active',
  // Moonshot; MiniMax.
  'exceeded_current_quota_error',
  'insufficient_balance_error',
]);

/** Z.ai's, beside 429: no balance, the plan's hours, week or month used up, the plan ended. A number is no name, so only there. */
const QUOTA_NUMBERS: ReadonlySet<string> = new Set(['1113', '1308', '1309', '1310']);

/** What MiniMax's numbers are called elsewhere, which it writes into a 200; others are failures of its own. 0 is none. */
const TYPES_BY_NUMBER: ReadonlyMap<number, string> = new Map([
  [1002, 'rate_limit_error'],
  [1039, 'rate_limit_error'],
  [1041, 'rate_limit_error'],
  [2045, 'rate_limit_error'],
  [1004, 'authentication_error'],
  [2049, 'authentication_error'],
  [1008, 'insufficient_balance_error'],
  [2056, 'insufficient_balance_error'],
  [1026, 'content_policy_violation'],
  [1027, 'content_policy_violation'],
  [1042, 'invalid_request_error'],
  [2013, 'invalid_request_error'],
]);

/** OpenAI's, llama.cpp's and Perplexity's. */
const TOO_LONG_CODES: ReadonlySet<string> = new Set(['context_length_exceeded', 'exceed_context_size_error', 'too_many_prompt_tokens']);

/**
 * DeepSeek, vLLM, OpenRouter, Mistral; xAI; Together; Groq; Ollama, Perplexity, hosts of Anthropic's models; Google's layer;
 * Moonshot; DashScope; SGLang; Z.ai, twice.
 */
const TOO_LONG = new RegExp(
  [
    'max(?:imum)? (?:context|prompt|model) length',
    'context (?:length|window|size)',
    'reduce the length of the messages',
    '(?:prompt|input|messages) (?:is |are )?too long',
    'exceeds the maximum number of tokens',
    'exceeded model token limit',
    'range of input length should be',
    'exceeds the maximum allowed length',
    'prompt exceeds max length',
    'tokens in request more than max tokens',
  ].join('|'),
  'i',
);

/** The statuses that codes stand for where the HTTP status is 200: inside a stream, or in a good-looking body. */
const STATUS_BY_CODE: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['context_length_exceeded', 400],
  ['authentication_error', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['rate_limit_error', 429],
  ['rate_limit_exceeded', 429],
]);

/** Groq's status for capacity that its flex tier has run out of. */
const FLEX_CAPACITY_STATUS = 498;

/** More work than there is room for: words, and the statuses that hosts write as a code inside a 200. */
const OVERLOADED_CODES: ReadonlySet<string> = new Set(['server_is_overloaded', 'service_unavailable', '503', '529']);

/** Longest piece of a body without a message of a known shape that goes into the detail. */
const DETAIL_CHARS_MAX = 2000;

/** LM Studio's of a path that it does not have, inside a 200. */
const NO_PATH_INSIDE = /^unexpected endpoint or method/i;
const NO_PATH_HINT = `${BASE_URL_HINT}, e.g. without /v1`;

const TOOLS_HINT = 'on this endpoint the model takes tools only with thinking off';
/** OpenAI summarises reasoning for verified organisations only. */
const SUMMARY_HINT = 'to think without telling, ask with provider_options {"reasoning":{"summary":null}}';

/** A reply whose status is not 2xx. Never throws, whatever the body. */
export function decodeFailureBody(provider: string, status: number, body: string): Failure {
  const prose = body.slice(0, DETAIL_CHARS_MAX);
  return failureFrom(provider, status, readComplaint(parseLenient(body)) ?? { ...NO_COMPLAINT, message: prose }, prose);
}

/**
 * The failure that a 200 carries inside: a body, or a frame of a stream, with `error` in it. Undefined when it
 * carries none. `isError` = it came as an error event, so it is one whatever its shape.
 */
export function failureInside(provider: string, json: unknown, isError = false): Failure | undefined {
  const error = field(json, 'error') ?? field(field(json, 'x_groq'), 'error');
  const hasError = isObject(error) || (typeof error === 'string' && error !== '');
  if (!isError && !hasError && field(json, 'object') !== 'error' && !hasFailed(field(json, 'base_resp'))) return undefined;
  const root = hasError && field(json, 'error') === undefined ? { error } : json;
  return failureFrom(provider, 200, readComplaint(root) ?? NO_COMPLAINT);
}

type Complaint = {
  readonly message: string | undefined;
  readonly type: string | undefined;
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** Declined for its content, said by other means than a code. */
  readonly isModeration: boolean;
};

const NO_COMPLAINT: Complaint = {
  message: undefined,
  type: undefined,
  code: undefined,
  param: undefined,
  isModeration: false,
};

/** MiniMax says also of what went well how it went. */
function hasFailed(outcome: unknown): boolean {
  return (numberField(outcome, 'status_code') ?? 0) !== 0;
}

function readComplaint(json: unknown): Complaint | undefined {
  const root: unknown = Array.isArray(json) ? json[0] : json;
  if (!isObject(root)) return undefined;
  const nested = field(root, 'error');
  const outcome = field(root, 'base_resp');
  if (nested === undefined && hasFailed(outcome)) {
    const number = numberField(outcome, 'status_code') ?? 0;
    return { ...NO_COMPLAINT, message: textField(outcome, 'status_msg'), type: TYPES_BY_NUMBER.get(number), code: String(number) };
  }
  const error = isObject(nested) ? nested : root;
  const innerCode = textField(field(error, 'innererror'), 'code');
  return {
    message: textField(error, 'message') ?? textField(root, 'error') ?? detailText(root),
    type: textField(error, 'type'),
    code: innerCode !== undefined && KINDS_BY_CODE.has(innerCode) ? innerCode : codeText(field(error, 'code')),
    param: textField(error, 'param'),
    isModeration: isObject(field(error, 'misalignment')) || Array.isArray(field(field(error, 'metadata'), 'reasons')),
  };
}

function codeText(code: unknown): string | undefined {
  if (typeof code === 'number') return String(code);
  return typeof code === 'string' && code !== '' ? code : undefined;
}

/** FastAPI's `detail`: a sentence, or a list of what is wrong where. */
function detailText(root: unknown): string | undefined {
  const items = listField(root, 'detail');
  if (items.length === 0) return textField(root, 'detail');
  return items.map((item) => stringField(item, 'msg') ?? '').join('; ');
}

/** `prose`: the detail where the complaint has no message. */
function failureFrom(provider: string, status: number, complaint: Complaint, prose?: string): Failure {
  const { message = '', type, code } = complaint;
  const isQuota = QUOTA_CODES.has(code ?? '') || QUOTA_CODES.has(type ?? '') || (status === 429 && QUOTA_NUMBERS.has(code ?? ''));
  const kind = isQuota ? 'rate_limit' : kindOf(status, complaint);
  // A request larger than the whole rate never fits, however long one waits.
  const isBeyondRate = kind === 'rate_limit' && !isQuota && /request too large/i.test(message);
  return upstreamFailure({
    provider,
    status,
    kind,
    code: code ?? type,
    param: complaint.param,
    detail: complaint.message ?? prose,
    isRetried: isQuota || isBeyondRate ? false : undefined,
    isQuota,
    isOverloaded: OVERLOADED_CODES.has(code ?? ''),
    isTooLong: isBeyondRate || (kind === 'bad_request' && isTooLong(status, complaint)),
    isUnmet: UNMET_CODES.has(code ?? ''),
    retriesMax: code === UNMATCHED_SCHEMA ? 1 : undefined,
    hint: hintFor(status, kind, complaint),
  });
}

/** More than the model's context, by the codes and, of hosts that have none for it, by the sentences in use. */
function isTooLong(status: number, { message = '', type = '', code = '' }: Complaint): boolean {
  return status === 413 || TOO_LONG_CODES.has(code) || TOO_LONG_CODES.has(type) || TOO_LONG.test(message);
}

function hintFor(status: number, kind: FailureKind, { message = '', param, code }: Complaint): string | undefined {
  // Azure repeats the status as a code.
  const isUncoded = code === undefined || code === String(status);
  if (isUncoded && isNoPath(status, message)) return NO_PATH_HINT;
  if (status === 200 && NO_PATH_INSIDE.test(message)) return NO_PATH_HINT;
  if (param === 'reasoning.summary') return SUMMARY_HINT;
  return kind === 'unsupported' && isToolsWithReasoning(message) ? TOOLS_HINT : undefined;
}

function kindOf(status: number, complaint: Complaint): FailureKind {
  const { message = '', type = '', code = '' } = complaint;
  if (complaint.isModeration) return 'refusal';
  const known = KINDS_BY_CODE.get(code) ?? KINDS_BY_CODE.get(type);
  if (known !== undefined) return known;
  if (status === 200 && NO_PATH_INSIDE.test(message)) return 'not_found';
  const actual = status === 200 ? statusInside(code, type) : status;
  if (actual === FLEX_CAPACITY_STATUS) return 'rate_limit';
  if (actual === 400) return kindOf400(message, code);
  // OpenRouter: of the hosts of this model none takes the request's tools, images or schema.
  if (actual === 404 && /^no endpoints found that /i.test(message)) return 'unsupported';
  // Together answers 403 when input and max_tokens pass the context.
  if (actual === 403 && /context length|max_(?:new_)?tokens/i.test(message)) return 'bad_request';
  return kindFromStatus(actual);
}

function kindOf400(message: string, code: string): FailureKind {
  // xAI answers 400 for a key that it does not know. Further on it may be a caller's own words: hosts repeat fields that they do not know.
  if (/^(?:incorrect|invalid) api key/i.test(message)) return 'auth';
  if (isToolsWithReasoning(message)) return 'unsupported';
  if (code.startsWith('unsupported_')) return 'bad_request';
  return /(?:does|do) not support|not supported/i.test(message) ? 'unsupported' : 'bad_request';
}

function isToolsWithReasoning(message: string): boolean {
  return /function tools with reasoning_effort/i.test(message);
}

/** The status that a failure inside a 200 would have had. */
function statusInside(code: string, type: string): number {
  const numeric = Number(code);
  if (Number.isInteger(numeric) && numeric >= 400 && numeric <= 599) return numeric;
  // `invalid_image_url`, `image_too_large`, `failed_to_download_image` … of the Responses API.
  if (code.includes('image')) return 400;
  return STATUS_BY_CODE.get(code) ?? STATUS_BY_CODE.get(type) ?? 500;
}
