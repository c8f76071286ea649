/**
 * The seam between the gateway and the network: one attempt of one call.
 *
 * Three transports stand behind it, `http.ts`, `wire.ts` and `fetch.ts`, and one contract suite runs on all. None knows what a
 * chat is, and none retries anything that the provider may have seen.
 */

import type { Provider, ProviderKey, UpstreamCall, UpstreamHeaders } from '../core/adapter.ts';
import type { Failure } from '../core/failure.ts';
import type { Scope } from '../core/scope.ts';

/** Where an attempt goes. */
export type Destination = Pick<Provider, 'name' | 'baseUrl' | 'keys' | 'keyHeader' | 'headers'>;

/**
 * What goes there. Its body is text, because node:http sends a head and a text in one write, where bytes would cost a second; a
 * large one is bytes. PUT is for metadata servers alone.
 */
export type OutboundCall = Omit<UpstreamCall, 'method' | 'body'> & {
  readonly method: UpstreamCall['method'] | 'PUT';
  readonly body: string | Buffer | undefined;
};

/** How long one attempt may take, in milliseconds. */
export type AttemptLimits = {
  /** Name lookup, TCP and TLS. */
  readonly connectMs: number;
  /** From the attempt's start until the whole body or, once `startIdleLimit` was called, until that call. */
  readonly attemptMs: number;
  /** When the attempt started, on the clock of `performance.now()`; absent = now. */
  readonly startedAtMs?: number;
  /** The longest silence once `startIdleLimit` was called; undefined = none, as for whole replies. */
  readonly idleMs: number | undefined;
};

export interface Transport {
  /**
   * Makes one attempt, with the given one of the provider's keys or else its first; resolves when the response headers are in,
   * whatever the status. Redirects are returned, never followed. Failures: unknown (no answer: refused, reset, name lookup, TLS,
   * a limit, the exchange ended), server (an answer that is not HTTP), rate_limit (the gateway's own: no descriptor is left).
   * The caller of `send` reads the response or discards it.
   */
  send(provider: Destination, call: OutboundCall, scope: Scope, limits: AttemptLimits, key?: ProviderKey): Promise<UpstreamResponse | Failure>;
  /** Closes idle sockets, and the others as soon as their responses have ended. */
  close(): void;
  /** Sockets in use and idle; 0 where the transport cannot tell. */
  openSockets(): number;
}

/**
 * Takes a chunk, which is its own until it returns: the memory is used again. False means that no more is wanted and the
 * connection is to be closed; `enough` that the answer is complete: the little that follows is read unseen, so that the
 * connection is kept. A promise holds the next chunk back until it settles, and may say the same.
 * While its promise is pending the scope's slot is the receiver's to use, and the promise has to settle when the exchange ends.
 */
export type ChunkReceiver = (chunk: Buffer) => void | false | 'enough' | Promise<void | false | 'enough'>;

/** A response whose headers are in. Its body is read once, by one of the two methods. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  /** Set where the provider refused the attempt's credential, and the next attempt will have a better one. */
  isCredentialMended?: boolean;
  /**
   * The whole body. Failures: server (cut short, more than `bytesMax`, compressed although that was not asked for),
   * unknown (the attempt's limit, the exchange ended).
   */
  readBody(bytesMax: number): Promise<Buffer | Failure>;
  /**
   * Hands over the chunks in order. Undefined = the body came to its proper end, or the receiver said false or `enough`.
   * Failures: as for `readBody`, and server when the idle limit passed. Never settles while a promise of the receiver is
   * pending. Rejects with what the receiver throws.
   */
  readChunks(onChunk: ChunkReceiver): Promise<Failure | undefined>;
  /** From now on the idle limit applies instead of the attempt's. Time in which the receiver is busy does not count. */
  startIdleLimit(): void;
  /**
   * Ends it, wherever it is: closes the socket unless the body was read to its end. A read in progress ends well, with what
   * had come. May be called again.
   */
  discard(): void;
}
