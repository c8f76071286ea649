/**
 * What can go wrong, as values. A `Failure` is expected and returned; exceptions are for bugs.
 *
 * The sentence of a failure is the gateway's own. What a provider wrote goes into `detail`, which
 * reaches the operator's log (bounded, keys masked) and a caller only when the operator allows it.
 */

import { limitPassed } from '../base/json/lenient.ts';
import type { JsonProblem } from '../base/json/value.ts';
import { REPLY_CALLS_MAX, REPLY_CHARS_MAX } from './chat.ts';
import type { ChatReply } from './chat.ts';

export type FailureKind =
  | 'auth'
  | 'rate_limit'
  | 'not_found'
  | 'bad_request'
  | 'unsupported'
  | 'refusal'
  | 'server'
  | 'unknown';

type FailureKindRow = {
  /** The status a caller gets when an upstream call failed in this way. */
  readonly status: number;
  /** Whether another attempt may succeed. */
  readonly isRetried: boolean;
  readonly meaning: string;
};

/** The table of the contract; the README's is printed from it. */
export const FAILURE_KINDS: Readonly<Record<FailureKind, FailureKindRow>> = {
  auth: { status: 502, isRetried: false, meaning: "The provider rejected the gateway's credential (401 when it is the caller's token)." },
  rate_limit: { status: 429, isRetried: true, meaning: 'The provider, or the gateway itself, is at its limit. Shed load.' },
  not_found: { status: 404, isRetried: false, meaning: 'No such provider, model or path.' },
  bad_request: { status: 400, isRetried: false, meaning: 'The request is malformed, by the gateway\'s own check or the provider\'s.' },
  unsupported: { status: 400, isRetried: false, meaning: 'The provider cannot express part of the request.' },
  refusal: { status: 422, isRetried: false, meaning: 'The model or its safety system declined. Do not send it again unchanged.' },
  server: { status: 502, isRetried: true, meaning: 'The provider failed, or its answer was cut short or made no sense.' },
  unknown: { status: 502, isRetried: true, meaning: 'No answer from the provider: refused, reset, timed out. Also a bug in the gateway (500).' },
};

export type FailureFields = {
  /** Another status than the kind's, for failures of the gateway's own making (401, 405, 413, 415, 500 …). */
  readonly status?: number;
  /** Overrides the kind's own rule, e.g. for an exhausted quota. */
  readonly isRetried?: boolean | undefined;
  /** Most further attempts, where another is worth less than elsewhere; undefined = as many as the operator allows. */
  readonly retriesMax?: number | undefined;
  /** How long the provider asked to wait. */
  readonly retryAfterMs?: number | undefined;
  /** The provider's HTTP status, 0 or absent when there was none. */
  readonly upstreamStatus?: number;
  /** What the provider wrote: for the operator. */
  readonly detail?: string | undefined;
  /** Which of the gateway's limits ended it, as its variable's name, e.g. `GATEWAY_ATTEMPT_TIMEOUT`. */
  readonly limit?: string | undefined;
  /** Words of others that the sentence repeats as they are: a provider's code, a caller's key. They are searched for secrets. */
  readonly quotes?: readonly string[];
  /** The gateway's own doing (out of descriptors, a limit of its own): not retried, and not held against the provider. */
  readonly isOwn?: boolean;
  /** The platform's code for what became of the connection, e.g. `ECONNREFUSED`. */
  readonly code?: string | undefined;
  /** It happened at the proxy on the way. */
  readonly isAtProxy?: boolean;
  /** The request is more than this model, or this account's whole rate, takes: another may take it. */
  readonly isTooLong?: boolean;
  /** What the account may spend or use is used up, for longer than a rate's minute. */
  readonly isQuota?: boolean;
  /** The provider says that it has more to do than it can, by a word: a status may say so, too, and inside a 200 there is none. */
  readonly isOverloaded?: boolean;
  /** What the provider does not have is something that the request refers to, rather than the model. */
  readonly isReference?: boolean;
  /** The code by which the SDK of a format tells this failure from others, and mends it by itself. */
  readonly errorCode?: string | undefined;
  /** The model did not manage what this request asks of it, which says nothing of how the provider does. */
  readonly isUnmet?: boolean;
  /** What came with a refusal that has no word of an answer: model, usage, reasoning. */
  readonly reply?: ChatReply | undefined;
};

const NO_QUOTES: readonly string[] = [];

export class Failure {
  readonly kind: FailureKind;
  /** The gateway's own sentence; safe for a caller. */
  readonly message: string;
  readonly status: number;
  readonly isRetried: boolean;
  readonly retriesMax: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly upstreamStatus: number;
  readonly detail: string | undefined;
  readonly limit: string | undefined;
  readonly quotes: readonly string[];
  readonly isOwn: boolean;
  readonly code: string | undefined;
  readonly isAtProxy: boolean;
  readonly isTooLong: boolean;
  readonly isQuota: boolean;
  readonly isOverloaded: boolean;
  readonly isReference: boolean;
  readonly errorCode: string | undefined;
  readonly isUnmet: boolean;
  readonly reply: ChatReply | undefined;

  constructor(kind: FailureKind, message: string, fields: FailureFields = {}) {
    const row = FAILURE_KINDS[kind];
    this.kind = kind;
    this.message = message;
    this.status = fields.status ?? row.status;
    this.isOwn = fields.isOwn ?? false;
    this.isRetried = fields.isRetried ?? (row.isRetried && !this.isOwn);
    this.retriesMax = fields.retriesMax;
    this.retryAfterMs = fields.retryAfterMs;
    this.upstreamStatus = fields.upstreamStatus ?? 0;
    this.detail = fields.detail;
    this.limit = fields.limit;
    this.quotes = fields.quotes ?? NO_QUOTES;
    this.code = fields.code;
    this.isAtProxy = fields.isAtProxy ?? false;
    this.isTooLong = fields.isTooLong ?? false;
    this.isQuota = fields.isQuota ?? false;
    this.isOverloaded = fields.isOverloaded ?? false;
    this.isReference = fields.isReference ?? false;
    this.errorCode = fields.errorCode;
    this.isUnmet = fields.isUnmet ?? false;
    this.reply = fields.reply;
  }

  /** The same failure but for what is given here. */
  with({ message = this.message, ...fields }: FailureFields & { readonly message?: string }): Failure {
    return new Failure(this.kind, message, { ...this, ...fields });
  }
}

/** The kind for a provider's HTTP status where its body says nothing more precise. Not for 2xx. */
export function kindFromStatus(status: number): FailureKind {
  if (status === 401 || status === 402 || status === 403 || status === 407) return 'auth';
  if (status === 404) return 'not_found';
  if (status === 429) return 'rate_limit';
  if (status === 408 || status === 409 || status >= 500 || status < 400) return 'server';
  return 'bad_request';
}

/** What a provider said of its failure, once a codec has read it. */
export type UpstreamReport = Pick<FailureFields, 'retryAfterMs' | 'isRetried' | 'retriesMax' | 'isTooLong' | 'isQuota' | 'isOverloaded' | 'isUnmet' | 'reply'> & {
  readonly provider: string;
  /** HTTP status, 200 for an error inside a good reply. */
  readonly status: number;
  readonly kind: FailureKind;
  /** The provider's machine-readable code, if any; shown only when it looks like one. */
  readonly code?: string | undefined;
  /** The parameter that the provider names, if any; shown only when it looks like one. */
  readonly param?: string | undefined;
  /** The provider's prose. */
  readonly detail?: string | undefined;
  /** The code by which its own SDK tells this failure from others; goes on only when it looks like one. */
  readonly errorCode?: string | undefined;
  /** A not_found is known to be about what the request refers to; unless it is true, parameter and prose decide. */
  readonly isReference?: boolean;
  /** Replaces the sentence's ending where the gateway has better advice. */
  readonly hint?: string | undefined;
};

/** What requests name of what was stored at a provider: items of OpenAI's Responses, files, prompts, containers. */
const REFERENCE = /\b(?:items?|files?|responses?|conversations?|prompts?|containers?|vector stores?|skills?|cached ?contents?)\b/i;
const MODEL = /\b(?:models?|deployment)\b/i;
/** A place such as `tools[0].model` or `messages.2.content`: the request's model stands in none. */
const IN_A_LIST = /[.[]\d/;

/** In Anthropic's words, by which agents know that they have to shorten the conversation. */
const TOO_LONG_HINT = 'the prompt is too long';

const MACHINE_WORD = /^[A-Za-z0-9_.[\]-]{1,64}$/;

const KIND_PHRASE: Readonly<Record<FailureKind, string>> = {
  auth: "rejected the gateway's credential",
  rate_limit: 'is limiting the rate of requests',
  not_found: 'knows no such model',
  bad_request: 'refused the request as malformed',
  unsupported: 'cannot express part of the request',
  refusal: 'declined the request',
  server: 'failed on its side',
  unknown: 'gave no usable answer',
};

/** Of something `not_found` that is no model. */
const REFERENCE_PHRASE = 'does not have what the request refers to';

/** The failure for a provider's report, e.g. `groq refused the request as malformed (HTTP 400, code context_length_exceeded, parameter messages)`. */
export function upstreamFailure(report: UpstreamReport): Failure {
  const { provider, status, kind, code = '', param = '', errorCode = '', hint = isPromptTooLong(report) ? TOO_LONG_HINT : undefined, ...fields } = report;
  const facts = [`HTTP ${status}`];
  if (MACHINE_WORD.test(code)) facts.push(`code ${code}`);
  if (MACHINE_WORD.test(param)) facts.push(`parameter ${param}`);
  const isReference = refersInVain(report);
  const phrase = isReference ? REFERENCE_PHRASE : KIND_PHRASE[kind];
  return new Failure(kind, `${provider} ${phrase} (${facts.join(', ')})${hint === undefined ? '' : `: ${hint}`}`, {
    ...fields,
    upstreamStatus: status,
    quotes: [code, param].filter((word) => MACHINE_WORD.test(word)),
    errorCode: MACHINE_WORD.test(errorCode) ? errorCode : undefined,
    isReference,
  });
}

/** Whether it is the conversation that is more than the model takes, rather than more than a rate. */
export function isPromptTooLong({ kind, isTooLong = false }: Pick<UpstreamReport, 'kind' | 'isTooLong'>): boolean {
  return isTooLong && kind === 'bad_request';
}

/** Whether what the provider does not have is the request's own choice: other requests do without. */
function refersInVain({ kind, isReference: isSaid = false, param = '', detail = '' }: UpstreamReport): boolean {
  if (kind !== 'not_found' || isSaid) return isSaid;
  return IN_A_LIST.test(param) || (REFERENCE.test(detail) && !MODEL.test(detail));
}

/**
 * A reply that is no reply: not JSON, not the documented shape, empty. `what` completes "answered 200, but …". Carries
 * nothing of the reply itself, which may hold generated text: no log may.
 */
export function malformedReply(provider: string, status: number, what: string): Failure {
  return new Failure('server', `${provider} answered ${status}, but ${what}`, { upstreamStatus: status });
}

/**
 * A reply beyond a limit of the gateway's own, which `what` names with its number. Not tried again: the provider would be paid
 * for the same reply once more, and it would be refused again.
 */
export function beyondLimit(provider: string, status: number, what: string): Failure {
  const message = `${provider} answered ${status}, but ${what}, which is the gateway's limit`;
  return new Failure('server', message, { upstreamStatus: status, isOwn: true });
}

/** A reply with more text, reasoning and arguments than are kept. */
export function replyTooLong(provider: string): Failure {
  return beyondLimit(provider, 200, `the reply is longer than ${REPLY_CHARS_MAX} characters`);
}

/** A reply with more calls than are taken. */
export function tooManyCalls(provider: string): Failure {
  return beyondLimit(provider, 200, `the reply has more than ${REPLY_CALLS_MAX} tool calls`);
}

/** Text of a provider's that could not be read as JSON: beyond a limit on it, or else malformed, as `what` says. */
export function unreadableReply(provider: string, text: string, what: string): Failure {
  const limit = limitPassed(text);
  return limit === undefined ? malformedReply(provider, 200, what) : beyondLimit(provider, 200, limit);
}

/** The same of a text that was parsed and is no JSON, without another look at it. */
export function problemReply(provider: string, problem: JsonProblem, what: string): Failure {
  return problem.isLimit ? beyondLimit(provider, 200, `its JSON has ${problem.reason}`) : malformedReply(provider, 200, what);
}

/** A stream that ended before the provider's own terminal signal. */
export function truncatedStream(provider: string): Failure {
  return new Failure('server', `${provider} ended the stream before the answer was complete`, { upstreamStatus: 200 });
}
