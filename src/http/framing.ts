/**
 * Requests that two readers could read differently, of which smuggling is made.
 *
 * node:http refuses most of them by itself, more with every version; these rules hold whatever it lets through.
 * Facts: RFC 9112, sections 2.3, 3.2, 6.1 and 6.3; RFC 9110, section 10.1.1.
 */

import type { IncomingMessage } from 'node:http';
import { Failure } from '../core/failure.ts';

/** Headers that decide something here. Of a doubled one node:http would take the first and drop the other. */
const SINGLE: ReadonlySet<string> = new Set(['host', 'authorization', 'content-type', 'content-encoding', 'content-length', 'expect', 'x-api-key', 'x-gateway-provider']);

/** `isMounted`: a host had the request before, and may have put headers of its own beside those that came. */
export type Origin = { readonly isMounted: boolean };

/** Why the request is refused before anything of it is used, or undefined. The connection must not be used again then. */
// hot: per request
export function checkFraming(request: IncomingMessage, { isMounted }: Origin): Failure | undefined {
  const { headers, httpVersion } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return refusal('this speaks HTTP/1.1 and HTTP/1.0 only', 505);
  if (!request.url?.startsWith('/')) return refusal('the request target must be a path');
  if (httpVersion === '1.1' && headers.host === undefined) return refusal('the header host is missing');
  // As many names as lines: none comes twice.
  const isEachOnce = !isMounted && Object.keys(headers).length === request.rawHeaders.length / 2;
  const doubled = isEachOnce ? undefined : doubledHeader(request.rawHeaders);
  if (doubled !== undefined) return refusal(`the header ${doubled} comes twice`);
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0' || headers['content-length'] !== undefined)) {
    return refusal('a Transfer-Encoding other than plain chunked is not accepted');
  }
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return refusal('an expectation other than 100-continue cannot be met', 417);
  }
  return undefined;
}

function doubledHeader(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

function refusal(message: string, status = 400): Failure {
  return new Failure('bad_request', message, { status });
}
