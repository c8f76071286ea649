/** Messages of AWS's event stream as the frames that readers of server-sent events take. */

import type { FrameSink } from '../sse.ts';
import { EventStreamBuffer } from './event-stream.ts';
import type { EventHeaders, EventProblem } from './event-stream.ts';

/** The type of a body that is such a stream. */
export const EVENT_STREAM_TYPE = 'application/vnd.amazon.eventstream';

/**
 * Cuts a byte stream into frames. A message is a frame whose event is `:event`, `:exception` or `:error` and its name, e.g.
 * `:event chunk`, which no server-sent event is called; its data is the payload.
 */
export class EventFrames {
  readonly #buffer: EventStreamBuffer;
  #problem: EventProblem | undefined;

  constructor(onFrame: FrameSink, bytesMax: number) {
    this.#buffer = new EventStreamBuffer((headers, payload) => onFrame(nameOf(headers), dataOf(headers, payload)), bytesMax);
  }

  /** Takes the next bytes. False once there is a problem; nothing is read from then on. */
  feed(chunk: Buffer): boolean {
    this.#problem = this.#buffer.feed(chunk);
    return this.#problem === undefined;
  }

  /** Whether what came was no such stream, rather than too large a one. */
  get isBroken(): boolean {
    return this.#problem !== undefined && this.#problem !== 'too large';
  }
}

/** A failure that the service has not modelled has its name in another header, and no payload. */
function nameOf(headers: EventHeaders): string {
  const type = headers.get(':message-type') ?? 'event';
  const name = headers.get(`:${type}-type`) ?? headers.get(':error-code') ?? '';
  return `:${type} ${name}`;
}

/** The payload. Of a failure that the service has not modelled, whose words are in a header as well, what a modelled one would have. */
function dataOf(headers: EventHeaders, payload: Buffer): string {
  const words = payload.length === 0 ? headers.get(':error-message') : undefined;
  return words === undefined ? payload.toString('utf8') : JSON.stringify({ message: words });
}
