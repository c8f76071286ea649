/**
 * The stream to a caller: frames out, back-pressure in, a comment when idle.
 *
 * The status line is held back until the first frame, so that a failure before it is answered with its own
 * status; when one heartbeat interval passes first, the stream opens with a comment.
 */

import type { ChatReply } from '../core/chat.ts';
import type { Delta } from '../core/delta.ts';
import { KEEP_ALIVE } from '../core/dialect.ts';
import type { StreamFrames } from '../core/dialect.ts';
import type { Failure } from '../core/failure.ts';
import type { Candidate } from '../gateway/ask.ts';
import type { StreamSink } from '../gateway/pipe-stream.ts';
import type { Exchange } from './exchange.ts';

/** What a stream is made of. */
export type EventStreamSource = {
  /** The frames of an attempt. Called once at most for each, at its first event. */
  createFrames(): StreamFrames;
  /** The status line goes out next, once: with an answer's first frame, or with a comment while nobody has begun one. */
  onOpen(): void;
};

export type EventStreamLimits = {
  /** 0 = no keep-alive comments. */
  readonly heartbeatIntervalMs: number;
  /** How long a caller may take nothing of what waits for it. */
  readonly writeStallTimeoutMs: number;
};

/**
 * JSON may hold U+0085, U+2028 and U+2029 bare, but clients that split lines by Unicode's rules (Python's `splitlines`,
 * and with it several HTTP libraries) would cut a frame there. Checked once a write: 130 ns for four frames.
 */
function withoutForeignLineEnds(frames: string): string {
  if (!/[\u0085\u2028\u2029]/.test(frames)) return frames;
  return frames.replaceAll('\u0085', '\\u0085').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

export class EventStream implements StreamSink {
  readonly #exchange: Exchange;
  readonly #source: EventStreamSource;
  readonly #limits: EventStreamLimits;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  #frames: StreamFrames | undefined;
  /** Frames that were rendered and not sent yet. */
  #text = '';
  #isOpen = false;
  #isEnded = false;
  /** Whether the response was ended, too. */
  #isOver = false;
  #isRefused = false;
  /** Whether the answer has begun: until then another attempt may be made, and nothing of this one is sent. */
  #hasContent = false;

  /** Of an attempt that is relayed: takes the provider's own events, in place of the frames for its deltas. */
  relay: StreamSink['relay'];

  constructor(exchange: Exchange, source: EventStreamSource, limits: EventStreamLimits) {
    this.#exchange = exchange;
    this.#source = source;
    this.#limits = limits;
    if (limits.heartbeatIntervalMs > 0) {
      this.#heartbeat = setInterval(() => this.#keepAlive(), limits.heartbeatIntervalMs);
    }
  }

  // hot: per token
  push(delta: Delta): void {
    this.#hasContent = true;
    if (this.relay === undefined || delta.type === 'failed' || this.#isRefused) {
      this.#frames ??= this.#source.createFrames();
      this.#text += this.#frames.render(delta);
    }
    if (delta.type === 'done' || delta.type === 'failed') this.#isEnded = true;
  }

  begin({ relay }: Candidate): void {
    this.#text = '';
    this.#frames = undefined;
    this.relay = relay && ((event, data, parsed) => {
      this.#frames ??= this.#source.createFrames();
      this.#text += this.#frames.relay?.(event, data, parsed) ?? '';
    });
  }

  /** Sends what was pushed in one write. The promise, if any, resolves when the caller has read enough. */
  flush(): void | Promise<void> {
    if (!this.#hasContent || this.#isOver) return;
    const text = withoutForeignLineEnds(this.#text);
    this.#text = '';
    // Of a relayed stream everything may have been sent when it turns out to be complete.
    const isKeepingUp = text === '' || this.#write(text);
    if (this.#isEnded) this.#end();
    else if (!isKeepingUp) return this.#exchange.drained(this.#limits.writeStallTimeoutMs);
  }

  /** Ends a failed stream: an error body with its status while nothing was pushed or sent, else an `error` frame. */
  fail(failure: Failure): void {
    if (this.#isOpen || this.#hasContent) {
      this.#exchange.failure = failure;
      this.push({ type: 'failed', failure });
      void this.flush();
    } else {
      this.#exchange.sendFailure(failure);
    }
    this.close();
  }

  /** Ends a stream of which the provider declined the rest, or all. */
  refuse(failure: Failure, reply: ChatReply): void {
    this.#isRefused = true;
    this.push({ type: 'done', reply });
    void this.flush();
    this.#exchange.failure = failure;
  }

  /** Stops the heartbeat. Call it however the exchange ends. */
  close(): void {
    clearInterval(this.#heartbeat);
  }

  #end(): void {
    this.close();
    this.#isOver = true;
    const { dialect, failure } = this.#exchange;
    this.#exchange.endStream(failure !== undefined && dialect.breaksFailedStreams);
  }

  #keepAlive(): void {
    // A caller that is behind gets no comment on top of what waits for it.
    if (this.#isEnded || this.#exchange.isBehind) return;
    this.#write(this.#hasContent ? this.#exchange.dialect.keepAlive : KEEP_ALIVE);
  }

  #write(text: string): boolean {
    const exchange = this.#exchange;
    if (exchange.isOver) return true;
    if (!this.#isOpen) this.#open();
    this.#heartbeat?.refresh();
    return exchange.write(text);
  }

  #open(): void {
    this.#isOpen = true;
    this.#source.onOpen();
    this.#exchange.openStream();
  }
}
