/**
 * An exchange without a connection: objects of the same process in, objects out.
 *
 * The request becomes text and the answer is read from text, by the codec that serves HTTP callers too: what is accepted,
 * refused, limited and answered is then the same to the last field, and there is one codec to read.
 */

import { FieldProblem } from '../base/fields.ts';
import { plainJson, TOO_LONG } from '../base/json/plain.ts';
import { renderJson } from '../base/json/render.ts';
import type { JsonOut } from '../base/json/value.ts';
import { randomId } from '../base/random-id.ts';
import type { ChatEvent } from '../callers/native/wire.ts';
import type { Config } from '../config/config.ts';
import type { CallerDialect } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { tooLarge } from '../http/body.ts';
import { Exchange } from '../http/exchange.ts';

export class EmbeddedExchange extends Exchange {
  readonly method = undefined;
  readonly closed: Promise<void>;
  readonly #request: unknown;
  #resolveClosed: () => void = ignore;
  #body: string | undefined;
  #isClosed = false;
  #isLeft = false;
  /** The last event of a stream was written. */
  #isComplete = false;
  /** Events that were written and not taken yet: those of one chunk of the provider's at most. */
  readonly #events: ChatEvent[] = [];
  /** Told of events, of the end, and of events taken. */
  #onWritten: () => void = ignore;
  #onTaken: () => void = ignore;

  constructor(request: unknown, target: string, dialect: CallerDialect) {
    super(randomId(), undefined, target, dialect);
    this.#request = request;
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
  }

  /** Whether the caller wanted no more of it. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** The body of a whole answer; undefined when there is none, and then a failure, or the exchange ended. */
  get body(): string | undefined {
    return this.#body;
  }

  /** The next event of a stream; undefined when no more will come. */
  async nextEvent(): Promise<ChatEvent | undefined> {
    for (;;) {
      if (this.#isLeft) return undefined;
      const event = this.#events.shift();
      this.#onTaken();
      if (event !== undefined) return event;
      if (this.#isClosed) return undefined;
      await new Promise<void>((resolve) => (this.#onWritten = resolve));
    }
  }

  /** The caller wants no more of it. Nothing happens to an answer that is complete. */
  leave(): void {
    this.#isLeft = true;
    if (!this.#isComplete && !this.#isClosed) this.scope.end('caller-gone');
  }

  header(): undefined {}

  addressFor(): undefined {}

  async readBody(bytesMax: number): Promise<Buffer | Failure> {
    try {
      const text = plainJson(this.#request, bytesMax);
      if (text === TOO_LONG) return tooLarge(bytesMax);
      const body = Buffer.from(text);
      return body.length > bytesMax ? tooLarge(bytesMax) : body;
    } catch (thrown) {
      if (thrown instanceof FieldProblem) return new Failure('bad_request', thrown.message);
      throw thrown;
    }
  }

  get hasBegun(): boolean {
    return this.status !== 0;
  }

  get isBehind(): boolean {
    return this.#events.length > 0;
  }

  get isOver(): boolean {
    return this.scope.ended === 'caller-gone';
  }

  endKeepAlive(): void {}

  setHeader(): void {}

  sendText(status: number, _contentType: string, body: string): void {
    if (this.hasBegun) return;
    this.status = status;
    this.sentBytes += Buffer.byteLength(body);
    this.#body = body;
  }

  sendLargeJson(status: number, body: JsonOut): void {
    this.sendJson(status, renderJson(body));
  }

  sendFailure(failure: Failure): void {
    this.failure = failure;
    if (!this.hasBegun) this.status = failure.status;
  }

  openStream(): void {
    this.status = 200;
  }

  write(frames: string): boolean {
    this.sentBytes += Buffer.byteLength(frames);
    for (const frame of frames.split('\n\n')) {
      // What is left are comments, which nobody here waits for, and what follows the last blank line.
      if (!frame.startsWith(DATA)) continue;
      const event = JSON.parse(frame.slice(DATA.length)) as ChatEvent | { readonly type: 'error' };
      // A failure is thrown, not handed out.
      if (event.type !== 'error') this.#events.push(event);
    }
    this.#onWritten();
    return this.#events.length === 0;
  }

  drained(stallMs: number): Promise<void> {
    const { scope } = this;
    return new Promise((resolve) => {
      const timer = setTimeout(() => scope.end('caller-stalled'), stallMs);
      const settle = (): void => {
        clearTimeout(timer);
        this.#onTaken = ignore;
        scope.onEnd(undefined);
        resolve();
      };
      const taken = (): void => {
        if (this.#events.length === 0) settle();
        else timer.refresh();
      };
      this.#onTaken = taken;
      scope.onEnd(settle);
    });
  }

  endStream(): void {
    this.#isComplete = true;
  }

  abandon(): void {
    this.#body = undefined;
  }

  async taken(_config: Config): Promise<void> {
    this.#isClosed = true;
    this.#resolveClosed();
    this.#onWritten();
  }
}

const DATA = 'data: ';

function ignore(): void {}
