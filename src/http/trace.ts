/**
 * W3C Trace Context (Recommendation, 2021): what a caller says about the trace that its request belongs to.
 *
 * The gateway records no spans; it names the trace in its log and, where the operator wants that, to the provider.
 */

import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export type Trace = {
  /** 32 small hex digits. */
  readonly traceId: string;
  /** 2 small hex digits. */
  readonly flags: string;
  /** What tracing systems add; undefined where there is nothing, or more than is passed on. */
  readonly state: string | undefined;
};

/** Version, trace id, parent id, flags. A later version may add more; `ff` is none. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;

/** As much as everybody has to pass on (section 3.3.1.5), in printable ASCII. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The trace in a request's headers; undefined when there is none, or none that is valid, which the standard says to ignore. */
export function traceFrom(headers: IncomingHttpHeaders): Trace | undefined {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId, flags, more] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || flags === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, flags, state: typeof tracestate === 'string' && TRACESTATE.test(tracestate) ? tracestate : undefined };
}

/** The headers that carry the trace on, with a span id of their own; undefined where there is none. */
export function traceHeaders(trace: Trace | undefined): Readonly<Record<string, string>> | undefined {
  if (trace === undefined) return undefined;
  const traceparent = `00-${trace.traceId}-${randomBytes(8).toString('hex')}-${trace.flags}`;
  return trace.state === undefined ? { traceparent } : { traceparent, tracestate: trace.state };
}
