/**
 * What can go wrong on the way to a provider, in the gateway's own words.
 *
 * A sentence names the provider, the cause and the platform's error code. It never repeats an exception's message: those
 * quote addresses and, for an ill-formed header, its value.
 */

import { EXTENSION_BYTES_MAX } from '../base/http-response.ts';
import type { UpstreamHeaders } from '../core/adapter.ts';
import { beyondLimit, Failure, malformedReply } from '../core/failure.ts';
import type { ScopeEnd } from '../core/scope.ts';

/** Variables whose limits a transport enforces. */
export type LimitName = 'GATEWAY_CONNECT_TIMEOUT' | 'GATEWAY_ATTEMPT_TIMEOUT' | 'GATEWAY_STREAM_IDLE_TIMEOUT';

/** A limit that passed. Silence inside a stream is the provider's failure (server); before that there was no answer (unknown). */
export function limitFailure(provider: string, limit: LimitName, ms: number): Failure {
  switch (limit) {
    case 'GATEWAY_CONNECT_TIMEOUT':
      return new Failure('unknown', `no connection to ${provider} within ${ms} ms (${limit})`, { limit });
    case 'GATEWAY_ATTEMPT_TIMEOUT':
      return new Failure('unknown', `no complete answer from ${provider} within ${ms} ms (${limit})`, { limit });
    case 'GATEWAY_STREAM_IDLE_TIMEOUT':
      return new Failure('server', `${provider} was silent for ${ms} ms inside a stream (${limit})`, { limit });
  }
}

const END_PHRASE: Readonly<Record<ScopeEnd, string>> = {
  'caller-gone': 'the caller hung up',
  'caller-stalled': 'the caller stopped reading',
  deadline: "the request's time was over",
  shutdown: 'the gateway is shutting down',
  outpaced: 'another target answered earlier',
};

/** The exchange ended while the provider was being waited for. */
export function endedFailure(reason: ScopeEnd): Failure {
  return new Failure('unknown', END_PHRASE[reason], { isRetried: false });
}

/** Codes of a certificate that was not accepted (nodejs.org/api/tls.html, "X509 certificate error codes"). */
export const CERTIFICATE_CODE = /CERT|CRL|^UNABLE_TO_|^INVALID_(CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$|^HOSTNAME_MISMATCH$/;

/** A certificate that the other end wants to see (RFC 8446, section 6.2). Before TLS 1.3 there is no alert of its own for that. */
export const CERTIFICATE_WANTED_CODE = 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED';

/** Codes of a response that is not HTTP, or has too large a head: llhttp's, and those of undici. */
const PARSER_CODE = /^HPE_|^UND_ERR_(HEADERS_OVERFLOW|RES_)/;

/** Largest response head. Node's own limit, 16 KiB, is near what providers with many rate-limit headers and cookies send. */
export const RESPONSE_HEAD_BYTES_MAX = 64 * 1024;

/** Codes of what is HTTP, but larger than the gateway's parsers take: the next answer would be as large. */
const LIMIT_PHRASES: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', `its headers or trailers have more than ${RESPONSE_HEAD_BYTES_MAX} bytes`],
  ['UND_ERR_HEADERS_OVERFLOW', 'its headers or trailers have more bytes than fetch takes'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', `the extensions of a chunk have more than ${EXTENSION_BYTES_MAX} bytes`],
]);

const PHRASES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection without an answer',
  EPIPE: 'closed the connection without an answer',
  UND_ERR_SOCKET: 'closed the connection without an answer',
  ENOTFOUND: 'has a host name that does not exist',
  EAI_AGAIN: 'has a host name that could not be looked up',
};

/** The process, or the machine, may open no more files and sockets. */
const SHORTAGE_CODES: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE']);
/** Descriptors come back with the end of any connection. */
const SHORTAGE_RETRY_AFTER_MS = 1000;

/** A tunnel that did not come to be: the proxy answered with `status`, or could not be reached because of `cause`. */
export class ProxyError extends Error {
  readonly status: number | undefined;

  constructor(status: number | undefined, cause?: Error) {
    super('no tunnel through the proxy', { cause });
    this.name = 'ProxyError';
    this.status = status;
  }
}

/** No response, because of `error`. Of kind rate_limit where the gateway itself is at its limit. */
export function connectionFailure(provider: string, error: unknown): Failure {
  if (error instanceof ProxyError) return tunnelFailure(provider, error);
  const shortage = shortageFrom(error);
  if (shortage !== undefined) {
    const sentence = `the gateway has no file descriptor left for a connection to ${provider} (${shortage})`;
    return new Failure('rate_limit', sentence, { isOwn: true, retryAfterMs: SHORTAGE_RETRY_AFTER_MS });
  }
  const code = codeFrom(error);
  if (code === undefined) return new Failure('unknown', `${provider} could not be reached`);
  const limit = LIMIT_PHRASES.get(code);
  if (limit !== undefined) return new Failure('server', `${provider} answered, but ${limit}, which is the gateway's limit (${code})`, { isOwn: true, code });
  if (PARSER_CODE.test(code)) return new Failure('server', `${provider} sent an answer that is not acceptable HTTP (${code})`, { code });
  if (code === CERTIFICATE_WANTED_CODE) {
    return new Failure('unknown', `${provider} requires a TLS client certificate, which the gateway does not have (${code})`, { isRetried: false, code });
  }
  if (CERTIFICATE_CODE.test(code)) {
    return new Failure('unknown', `the TLS certificate of ${provider} was rejected (${code})`, { isRetried: false, code });
  }
  const phrase = Object.hasOwn(PHRASES, code) ? PHRASES[code] : 'could not be reached';
  return new Failure('unknown', `${provider} ${phrase} (${code})`, { code });
}

/** The code when a connection failed for want of descriptors, at whichever of a host's addresses. */
function shortageFrom(error: unknown): string | undefined {
  const code = codeFrom(error);
  if (SHORTAGE_CODES.has(code)) return code;
  if (error instanceof AggregateError) return error.errors.map(codeFrom).find((inner) => SHORTAGE_CODES.has(inner));
  return error instanceof Error ? shortageFrom(error.cause) : undefined;
}

/** No response from the proxy on the way to a provider, because of `error`. */
export function proxyFailure(provider: string, error: unknown): Failure {
  return connectionFailure(proxyName(provider), error).with({ isAtProxy: true });
}

/** What a sentence calls the proxy on the way to a provider. */
function proxyName(provider: string): string {
  return `the proxy to ${provider}`;
}

/** Refused credentials are the operator's business, as those of a provider are; a host that is not allowed stays so. */
function tunnelFailure(provider: string, { status, cause }: ProxyError): Failure {
  if (status === undefined) return proxyFailure(provider, cause);
  if (status === 407) return new Failure('auth', `${proxyName(provider)} rejected its credentials (HTTP 407)`, { isAtProxy: true });
  return new Failure('unknown', `${proxyName(provider)} refused the connection (HTTP ${status})`, { isRetried: status >= 500, isAtProxy: true });
}

/** A request that cannot be put into HTTP, e.g. because a header holds a line break. */
export function unwritableFailure(provider: string): Failure {
  return new Failure('unknown', `the request to ${provider} has a header or path that HTTP cannot carry`, { isRetried: false });
}

/** The response ended before its body did, because of `error` or without a word. */
export function cutFailure(provider: string, status: number, error: unknown): Failure {
  const code = codeFrom(error);
  const limit = LIMIT_PHRASES.get(code ?? '');
  if (limit !== undefined) return beyondLimit(provider, status, limit);
  return malformedReply(provider, status, `its body did not arrive whole${code === undefined ? '' : ` (${code})`}`);
}

/** Most interim responses (1xx) to one request. Each costs up to 40 µs, and nothing else bounds them. */
export const INTERIM_MAX = 1000;

/** Interim responses without end. */
export function interimFailure(provider: string): Failure {
  return new Failure('server', `${provider} sent more than ${INTERIM_MAX} interim responses (HTTP 1xx), which is the gateway's limit`, { isOwn: true });
}

/** An answer that changes the protocol, which nobody asked for. */
export function upgradeFailure(provider: string): Failure {
  return malformedReply(provider, 101, 'no other protocol was asked for');
}

/** The failure of reading a body that is compressed, undefined when it is not. */
export function encodingFailure(provider: string, status: number, headers: UpstreamHeaders): Failure | undefined {
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase();
  if (encoding === '' || encoding === 'identity') return undefined;
  return malformedReply(provider, status, 'its body is compressed, which was not asked for');
}

/** The machine-readable code of an error or of its cause; undefined when it has none that looks like one. */
export function codeFrom(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = (error as { readonly code?: unknown }).code;
  // A slash, because OpenSSL has reasons such as SSL/TLS_ALERT_HANDSHAKE_FAILURE.
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_/]{1,63}$/.test(code)) return code;
  // The fetch of Node 26 leaves the parser's code out.
  if (error.name === 'HTTPParserError') return 'HPE_UNKNOWN';
  return codeFrom(error.cause);
}
