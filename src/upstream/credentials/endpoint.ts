/**
 * One question to whoever gives credentials: token endpoints on the internet, metadata servers beside the machine.
 *
 * Bounded in time and size. Metadata servers are asked directly, never through a proxy, and have a second. What an endpoint
 * answers is a secret or may quote one: of it, a sentence holds no more than the status and a code that is known here.
 */

import { isLinkLocal } from '../../base/link-local.ts';
import { isLoopback } from '../../base/loopback.ts';
import type { UpstreamHeaders } from '../../core/adapter.ts';
import { Failure } from '../../core/failure.ts';
import { Scope } from '../../core/scope.ts';
import type { AttemptLimits, Transport } from '../transport.ts';

/** Ten times what an answer has. */
const ANSWER_BYTES_MAX = 64 * 1024;
const INTERNET_LIMITS: AttemptLimits = { connectMs: 10_000, attemptMs: 10_000, idleMs: undefined };
/** Where there is no metadata server nobody answers at all. */
const METADATA_LIMITS: AttemptLimits = { connectMs: 1000, attemptMs: 1000, idleMs: undefined };

export type Question = {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Part of the machine, or of the platform that it runs on, wherever its address is. */
  readonly isMetadata?: boolean;
};

export type Answer = { readonly status: number; readonly headers: UpstreamHeaders; readonly text: string };

/** Asks. Whatever the status, the answer is returned. Failures: unknown. */
export type AskEndpoint = (question: Question) => Promise<Answer | Failure>;

export type Endpoints = {
  readonly ask: AskEndpoint;
  /** Ends what is being asked. */
  close(): void;
};

/** `internet` takes the proxy where there is one, `direct` never does. */
export function createEndpoints(internet: Transport, direct: Transport): Endpoints {
  const scopes = new Set<Scope>();
  return {
    async ask(question) {
      const scope = new Scope();
      scopes.add(scope);
      const answer = await askOver(isDirect(question) ? direct : internet, question, scope, isMetadataServer(question) ? METADATA_LIMITS : INTERNET_LIMITS);
      scopes.delete(scope);
      return answer;
    },
    close() {
      for (const scope of scopes) scope.end('shutdown');
    },
  };
}

function isDirect({ url, isMetadata = false }: Question): boolean {
  return isMetadata || isLinkLocal(url.hostname);
}

/** A token endpoint on this machine is none: it may have to ask one on the internet first. */
function isMetadataServer(question: Question): boolean {
  return question.isMetadata === true || (isDirect(question) && !isLoopback(question.url.hostname));
}

async function askOver(transport: Transport, { method, url, headers, body }: Question, scope: Scope, limits: AttemptLimits): Promise<Answer | Failure> {
  const name = nameOf(url);
  const place = { name, baseUrl: new URL(url.origin), keys: [], keyHeader: { name: '', prefix: '' } };
  const response = await transport.send(place, { method, path: url.pathname + url.search, headers, body }, scope, limits);
  const bytes = response instanceof Failure ? response : await response.readBody(ANSWER_BYTES_MAX);
  // The limits are not the operator's settings that a transport names.
  if (bytes instanceof Failure && bytes.limit !== undefined) return new Failure('unknown', `${name} did not answer within ${limits.attemptMs} ms`);
  if (bytes instanceof Failure) return new Failure('unknown', bytes.message, { code: bytes.code, isRetried: bytes.isRetried, isAtProxy: bytes.isAtProxy });
  if (response instanceof Failure) return response;
  return { status: response.status, headers: response.headers, text: bytes.toString('utf8') };
}

/** What a sentence calls an endpoint. */
export function nameOf(url: URL): string {
  return `the credential endpoint ${url.host}`;
}

/** Codes by which endpoints say why: RFC 6749, RFC 8693, AWS STS. What else they say is not repeated. */
const KNOWN_CODES: ReadonlySet<string> = new Set([
  'invalid_request', 'invalid_client', 'invalid_grant', 'invalid_scope', 'invalid_target', 'unauthorized_client', 'unsupported_grant_type', 'access_denied',
  'temporarily_unavailable', 'server_error', 'identity_not_found', 'AccessDenied', 'ExpiredTokenException', 'IDPCommunicationError', 'IDPRejectedClaim',
  'InvalidIdentityToken', 'MalformedPolicyDocument', 'RegionDisabledException', 'Throttling', 'ValidationError',
]);

/** Those of them that pass, though the status may be a refusal's: AWS STS says 400 to a rate, and of an issuer that it cannot reach. */
const PASSING_CODES: ReadonlySet<string> = new Set(['temporarily_unavailable', 'server_error', 'IDPCommunicationError', 'Throttling']);

/** What an answer that is no credential comes to. `code` is what the endpoint calls it. */
export function refusalFrom(url: URL, { status }: Answer, code = ''): Failure {
  const facts = KNOWN_CODES.has(code) ? `HTTP ${status}, code ${code}` : `HTTP ${status}`;
  // An identity that is still being assigned is not found, and a rate limit passes.
  const isPassing = status === 404 || status === 408 || status === 410 || status === 429 || PASSING_CODES.has(code);
  const isRefused = status >= 400 && status < 500 && !isPassing;
  if (isRefused) return new Failure('auth', `${nameOf(url)} refused the gateway's identity (${facts})`, { upstreamStatus: status });
  return new Failure('unknown', `${nameOf(url)} gave no credential (${facts})`, { upstreamStatus: status });
}

/** An answer that should have been a credential and is none. */
export function senselessAnswer(url: URL): Failure {
  return new Failure('unknown', `${nameOf(url)} answered 200, but not with a credential`);
}

/** A form as endpoints take it. */
export function formQuestion(url: URL, fields: Readonly<Record<string, string>>): Question {
  return { method: 'POST', url, headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: new URLSearchParams(fields).toString() };
}
