/**
 * The transport over `fetch`: the global one, or one that an embedder brings with its own proxy, mock or client.
 *
 * What `fetch` does not let out stays unseen: the moment of connecting (so the connect limit cannot be told from the
 * attempt's), and whether a socket was kept. The built-in one gives up after 10 s without a connection, and after 300 s
 * without headers or without a chunk, whatever the limits are. It takes no lookup of ours, so that a silent name server stops
 * every provider; and looking a name up before it would be wrong wherever a proxy does that, which `fetch` does not show either.
 */

import { nextTurn } from '../base/turn.ts';
import { PIECES_PER_TURN, piecesIn } from '../base/pacer.ts';
import type { UpstreamHeaders } from '../core/adapter.ts';
import { Failure } from '../core/failure.ts';
import type { Scope } from '../core/scope.ts';
import { AttemptWatch } from './attempt-watch.ts';
import type { AttemptWaiter } from './attempt-watch.ts';
import { collectBody, REST_BYTES_MAX, REST_MS_MAX } from './body.ts';
import { checkDescriptors } from './descriptor-shortage.ts';
import { outboundHeaders, outboundPath } from './outbound.ts';
import { codeFrom, connectionFailure, cutFailure, encodingFailure, endedFailure, unwritableFailure } from './transport-failure.ts';
import type { AttemptLimits, ChunkReceiver, Destination, OutboundCall, Transport, UpstreamResponse } from './transport.ts';

/** The transport over the given function, by default the global one. It has to honour `signal` and `redirect: 'manual'`. */
export function createFetchTransport(fetchFunction: typeof fetch = fetch): Transport {
  return new FetchTransport(fetchFunction);
}

class FetchTransport implements Transport {
  readonly #fetch: typeof fetch;

  constructor(fetchFunction: typeof fetch) {
    this.#fetch = fetchFunction;
  }

  async send(provider: Destination, call: OutboundCall, scope: Scope, limits: AttemptLimits, key = provider.keys[0]): Promise<UpstreamResponse | Failure> {
    if (scope.ended !== undefined) return endedFailure(scope.ended);
    const headers = headersFrom(outboundHeaders(provider, call, key));
    if (headers === undefined) return unwritableFailure(provider.name);
    const aborter = new AbortController();
    const watch = new AttemptWatch(provider.name, scope, limits);
    let stopped: Failure | undefined;
    // A function that does not honour the signal is waited for no longer either.
    const stop = new Promise<Failure>((resolve) => {
      watch.waiter = {
        onStop(failure) {
          stopped ??= failure;
          aborter.abort();
          resolve(failure);
        },
      };
    });
    watch.startWait();
    watch.startAttemptLimit();
    try {
      const fetchFunction = this.#fetch;
      const answer = fetchFunction(provider.baseUrl.origin + outboundPath(provider, call), {
        method: call.method,
        headers,
        body: call.body ?? null,
        // Following would hand a key in a header such as x-api-key to another origin.
        redirect: 'manual',
        signal: aborter.signal,
      });
      const response = await Promise.race([answer, stop]);
      if (response instanceof Failure) stopped ??= response;
      else if (stopped === undefined) {
        watch.endWait();
        return new FetchResponse(provider.name, response, watch, aborter);
      }
    } catch (thrown) {
      const cause = LOOKUP_CODES.has(codeFrom(thrown)) ? ((await shortage()) ?? thrown) : thrown;
      stopped ??= connectionFailure(provider.name, cause);
    }
    watch.release();
    return stopped;
  }

  /** The sockets are those of `fetch`. */
  close(): void {}

  openSockets(): number {
    return 0;
  }
}

/** What a failed lookup is called, also one that failed for want of descriptors. */
const LOOKUP_CODES: ReadonlySet<string | undefined> = new Set(['ENOTFOUND', 'EAI_AGAIN']);

function shortage(): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise(checkDescriptors);
}

/** Undefined when one of the headers cannot be sent. The exception is dropped: it quotes the value, which may be the key. */
function headersFrom(values: Readonly<Record<string, string>>): Headers | undefined {
  try {
    return new Headers(values);
  } catch {
    return undefined;
  }
}

/** A response until its body has ended, in whatever way. */
class FetchResponse implements UpstreamResponse, AttemptWaiter {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly #provider: string;
  readonly #response: Response;
  readonly #watch: AttemptWatch;
  readonly #aborter: AbortController;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #isDone = false;
  /** Why it ended before its end; undefined when it ended well or was discarded. */
  #failure: Failure | undefined;

  constructor(provider: string, response: Response, watch: AttemptWatch, aborter: AbortController) {
    this.status = response.status;
    this.headers = Object.fromEntries(response.headers);
    this.#provider = provider;
    this.#response = response;
    this.#watch = watch;
    this.#aborter = aborter;
    watch.waiter = this;
  }

  readBody(bytesMax: number): Promise<Buffer | Failure> {
    return collectBody(this, this.#provider, bytesMax);
  }

  async readChunks(onChunk: ChunkReceiver): Promise<Failure | undefined> {
    const refusal = encodingFailure(this.#provider, this.status, this.headers);
    if (refusal !== undefined) this.#finish(refusal);
    const reader = this.#isDone ? undefined : this.#openReader();
    let ahead: Promise<Buffer | undefined> | undefined;
    try {
      for (let piecesLeft = PIECES_PER_TURN; reader !== undefined && !this.#isDone; ) {
        // Chunks that have come are handed out without a turn of the event loop between them.
        if (piecesLeft <= 0) {
          await nextTurn();
          piecesLeft = PIECES_PER_TURN;
        }
        const chunk = await (ahead ?? this.#nextChunk(reader));
        ahead = undefined;
        if (chunk === undefined) break;
        piecesLeft -= piecesIn(chunk.length);
        this.#watch.progress();
        const answer = onChunk(chunk);
        // What a body holds when its connection breaks is gone, and that may be the end of the answer.
        if (answer instanceof Promise) ahead = this.#nextChunk(reader);
        const isWanted = answer instanceof Promise ? await this.#holdWhile(answer) : answer;
        if (isWanted === false) break;
        if (isWanted === 'enough') {
          this.#end();
          void this.#readRest(reader);
        }
      }
      return this.#failure;
    } finally {
      this.discard();
    }
  }

  startIdleLimit(): void {
    this.#watch.startIdleLimit();
  }

  discard(): void {
    this.#finish(undefined);
  }

  onStop(failure: Failure): void {
    this.#finish(failure);
  }

  /** Undefined where there is no body, and where nobody can read it: a mock may give one response twice. node-fetch has a stream of Node's. */
  #openReader(): ReadableStreamDefaultReader<Uint8Array> | undefined {
    this.#watch.startWait();
    try {
      const body: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | null = this.#response.body;
      this.#reader = (body === null || 'getReader' in body ? body : ReadableStream.from(body))?.getReader();
    } catch (thrown) {
      this.#finish(cutFailure(this.#provider, this.status, thrown));
    }
    return this.#reader;
  }

  /** The next bytes; undefined when there are no more, and then `#failure` says why if it was not the end. */
  async #nextChunk(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Buffer | undefined> {
    try {
      const { done, value } = await reader.read();
      if (!done) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      this.#end();
    } catch (thrown) {
      this.#finish(cutFailure(this.#provider, this.status, thrown));
    }
    return undefined;
  }

  /** Lets the body come to its end for a moment, so that the connection can be kept. */
  async #readRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const timer = setTimeout(() => this.#aborter.abort(), REST_MS_MAX);
    try {
      for (let bytes = 0; bytes <= REST_BYTES_MAX; ) {
        const { done, value } = await reader.read();
        if (done) return;
        bytes += value.byteLength;
      }
      this.#aborter.abort();
    } catch {
      // Cut or aborted: the answer was complete before.
    } finally {
      clearTimeout(timer);
    }
  }

  async #holdWhile<A>(answer: Promise<A>): Promise<A> {
    this.#watch.startBusy();
    try {
      return await answer;
    } finally {
      this.#watch.endBusy();
    }
  }

  /** The body came to its end. Nothing is aborted, so that the connection can be kept. */
  #end(): void {
    this.#isDone = true;
    this.#watch.release();
  }

  /** Ends the response before its end. The first reason stays. */
  #finish(failure: Failure | undefined): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#failure = failure;
    this.#watch.release();
    this.#aborter.abort();
    // Ends what waits for a body that is not the signal's to end, such as one that was made up.
    this.#reader?.cancel().catch(ignore);
  }
}

function ignore(): void {}
