/** One provider's stream, from chunks of bytes to deltas in a sink, and how it ended. */

import { EVENT_STREAM_TYPE, EventFrames } from '../base/aws/event-frames.ts';
import { SseBuffer } from '../base/sse.ts';
import type { Provider } from '../core/adapter.ts';
import { REPLY_BYTES_MAX, REPLY_CHARS_MAX } from '../core/chat.ts';
import type { Delta } from '../core/delta.ts';
import { beyondLimit, Failure, malformedReply, truncatedStream } from '../core/failure.ts';
import type { UpstreamResponse } from '../upstream/transport.ts';
import type { Candidate } from './ask.ts';

/** Takes a stream's deltas. `push` collects, `flush` sends what was collected; its promise is back-pressure. */
export interface StreamSink<C extends Candidate = Candidate> {
  push(delta: Delta): void;
  /** Takes an event as the provider wrote it, behind its deltas; never one that says that the stream failed. */
  readonly relay?: ((event: string, data: string) => void) | undefined;
  /** An attempt's first event comes next, from this candidate: what an earlier attempt left is to be forgotten. */
  begin?(candidate: C): void;
  flush(): void | Promise<void>;
}

/** What a piece of an answer says to whoever does not read it. */
const NOTHING_YET: Delta = { type: 'text', text: '' };

/** Reads one response's frames to their end. Undefined = the stream was complete and `done` was pushed. */
export async function pipeStream(
  { provider, relay }: Pick<Candidate, 'provider' | 'relay'>,
  response: UpstreamResponse,
  push: (delta: Delta, servedModel: string | undefined) => void,
  sink: Pick<StreamSink, 'relay' | 'flush'>,
): Promise<undefined | Failure> {
  const decoder = provider.adapter.createStreamDecoder({ isRelayed: relay !== undefined });
  const takesEvents = sink.relay !== undefined;
  const state: { end: 'done' | Failure | undefined } = { end: undefined };
  let isFirstFrame = true;
  /** Until then the sink holds what is relayed, since another attempt may be made. */
  let hasBegun = false;
  let heldChars = 0;
  // hot: per token
  const onDelta = (delta: Delta): void => {
    if (delta.type === 'failed') {
      state.end ??= delta.failure;
      return;
    }
    hasBegun = true;
    if (delta.type === 'done') state.end ??= 'done';
    push(delta, decoder.servedModel);
  };
  const onFrame = (event: string, data: string): void => {
    if (isFirstFrame) {
      isFirstFrame = false;
      response.startIdleLimit();
    }
    // What comes behind the end belongs to no answer: what a provider says of an error, for one.
    const wasOver = state.end !== undefined;
    if (!wasOver) decoder.frame(event, data, onDelta);
    if (!takesEvents || wasOver || state.end instanceof Failure) return;
    if (!hasBegun && relay?.bringsAnswer(event, data) === true) onDelta(NOTHING_YET);
    if (!hasBegun) {
      heldChars += event.length + data.length;
      if (heldChars > REPLY_CHARS_MAX) state.end = beyondLimit(provider.name, 200, `its stream has more than ${REPLY_CHARS_MAX} characters before its answer begins`);
    }
    sink.relay?.(event, data);
  };
  const frames = isEventStream(response) ? new EventFrames(onFrame, REPLY_BYTES_MAX) : new SseBuffer(onFrame, REPLY_BYTES_MAX);
  let isOverflown = false;
  const cut = await response.readChunks((chunk) => {
    isOverflown = !frames.feed(chunk);
    if (!isOverflown && state.end === undefined) return sink.flush();
    if (state.end !== 'done') return false;
    void sink.flush();
    return 'enough';
  });
  if (isOverflown && state.end === undefined && frames instanceof EventFrames && frames.isBroken) {
    return malformedReply(provider.name, 200, 'its stream is damaged');
  }
  if (isOverflown && state.end === undefined) {
    return beyondLimit(provider.name, 200, `an event of its stream has more than ${REPLY_BYTES_MAX} bytes`);
  }
  return endOfStream(provider, state.end, cut, () => {
    decoder.end(onDelta);
    void sink.flush();
    return state.end;
  });
}

/** Whether the events are AWS's own rather than server-sent ones. */
function isEventStream({ headers }: UpstreamResponse): boolean {
  return String(headers['content-type'] ?? '').startsWith(EVENT_STREAM_TYPE);
}

/** How a stream whose bytes are over ended: what its frames said, else why the bytes stopped. */
function endOfStream(
  provider: Provider,
  said: 'done' | Failure | undefined,
  cut: Failure | undefined,
  atEnd: () => 'done' | Failure | undefined,
): Failure | undefined {
  const end = said ?? atEnd() ?? truncatedStream(provider.name);
  if (end === 'done') return undefined;
  return said === undefined ? (cut ?? end) : end;
}
