/** One provider's stream, from chunks of bytes to deltas in a sink, and how it ended. */

import { EVENT_STREAM_TYPE, EventFrames } from '../base/aws/event-frames.ts';
import { parseLenient } from '../base/json/lenient.ts';
import type { ParsedText } from '../base/json/parse.ts';
import { field } from '../base/loose.ts';
import { SseBuffer } from '../base/sse.ts';
import { nextTurn } from '../base/turn.ts';
import type { DeltaSink, Provider } from '../core/adapter.ts';
import { REPLY_BYTES_MAX, REPLY_CHARS_MAX } from '../core/chat.ts';
import type { Delta } from '../core/delta.ts';
import { beyondLimit, Failure, malformedReply, truncatedStream } from '../core/failure.ts';
import { isFiller } from '../core/filler-frame.ts';
import type { UpstreamResponse } from '../upstream/transport.ts';
import type { Candidate } from './ask.ts';
import { parseLargeText, turnsOf } from './large-text.ts';

/** Takes a stream's deltas. `push` collects, `flush` sends what was collected; its promise is back-pressure. */
export interface StreamSink {
  push(delta: Delta): void;
  /** Takes an event as the provider wrote it, and parsed where it is large, behind its deltas; never one that says that the stream failed. */
  readonly relay?: ((event: string, data: string, parsed?: ParsedText) => void) | undefined;
  /** An attempt's first event comes next, from this candidate: what an earlier attempt left is to be forgotten. */
  begin?(candidate: Candidate): void;
  flush(): void | Promise<void>;
}

/** From so many characters on a frame is read in turns of its own: what is shorter takes some milliseconds, whatever it holds. */
const LARGE_FRAME = 128 * 1024;

/** Stands for the first event of an answer that the decoder has no delta for, and that is passed on as the provider wrote it. */
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
  /** Whether the answer has. Until then the sink holds what is relayed, since another attempt may be made. */
  let hasBegun = false;
  let heldChars = 0;
  /** A large frame, which is read in turns of its own, and what came behind it in the same chunk. */
  const waiting: [event: string, data: string][] = [];
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
  // hot: per token
  const onFrame = (event: string, data: string): void => {
    if (isFirstFrame) {
      isFirstFrame = false;
      response.startIdleLimit();
    }
    if (waiting.length > 0 || isLarge(data)) waiting.push([event, data]);
    else takeFrame(event, data, onDelta);
  };
  const takeFrame = (event: string, data: string, onItsDelta: DeltaSink, parsed?: ParsedText): void => {
    // What comes behind the end belongs to no answer: what a provider says of an error, for one.
    const wasOver = state.end !== undefined;
    if (!wasOver) decoder.frame(event, data, onItsDelta, parsed);
    // A blank one, by which hosts keep a connection alive, says nothing, and clients would read it as JSON.
    if (!takesEvents || wasOver || state.end instanceof Failure || data.trim() === '') return;
    if (!hasBegun && relay?.bringsAnswer(event, data, parsed) === true) onDelta(NOTHING_YET);
    if (!hasBegun) {
      heldChars += event.length + data.length;
      if (heldChars > REPLY_CHARS_MAX) state.end = beyondLimit(provider.name, 200, `its stream has more than ${REPLY_CHARS_MAX} characters before its answer begins`);
    }
    sink.relay?.(event, data, parsed);
  };
  let isOverflown = false;
  const flushed = (): void | false | 'enough' | Promise<void> => {
    if (state.end === undefined && !isOverflown) return sink.flush();
    if (state.end !== 'done') return false;
    void sink.flush();
    return 'enough';
  };
  const takeLarge = async (event: string, data: string): Promise<void> => {
    const parsed = await parseLargeText(provider.name, data, 'an event of its stream is not JSON');
    if (parsed instanceof Failure) {
      state.end = parsed;
      return;
    }
    // What is relayed goes out as the provider wrote it.
    if (relay !== undefined) return takeFrame(event, data, onDelta, parsed);
    const deltas: Delta[] = [];
    takeFrame(event, data, (delta) => deltas.push(delta), parsed);
    for (const turn of turnsOf(deltas)) {
      for (const delta of turn) onDelta(delta);
      if (state.end !== undefined) return;
      await sink.flush();
      await nextTurn();
    }
  };
  const takeWaiting = async (): Promise<void | false | 'enough'> => {
    for (const [event, data] of waiting) {
      if (state.end !== undefined) break;
      if (isLarge(data)) await takeLarge(event, data);
      else takeFrame(event, data, onDelta);
    }
    waiting.length = 0;
    return flushed();
  };
  const frames = isEventStream(response) ? new EventFrames(onFrame, REPLY_BYTES_MAX) : new SseBuffer(onFrame, REPLY_BYTES_MAX);
  const cut = await response.readChunks((chunk) => {
    isOverflown = !frames.feed(chunk);
    return waiting.length > 0 ? takeWaiting() : flushed();
  });
  if (isOverflown && state.end === undefined && frames instanceof EventFrames && frames.isBroken) {
    return malformedReply(provider.name, 200, 'its stream is damaged');
  }
  if (isOverflown && state.end === undefined) {
    return beyondLimit(provider.name, 200, `an event of its stream has more than ${REPLY_BYTES_MAX} bytes`);
  }
  state.end ??= frames instanceof SseBuffer ? bareFailure(provider, frames.bareJson) : undefined;
  // A page, say, which a wrong base URL brings.
  if (isFirstFrame && cut === undefined && state.end === undefined) return malformedReply(provider.name, response.status, 'its body holds no event of a stream');
  return endOfStream(provider, state.end, cut, () => {
    decoder.end(onDelta);
    void sink.flush();
    return state.end;
  });
}

/** Whether a frame is read in turns of its own. One that says nothing in any format is no JSON either. */
// hot: per token
function isLarge(data: string): boolean {
  return data.length >= LARGE_FRAME && !isFiller(data);
}

/** Whether the events are AWS's own rather than server-sent ones. */
function isEventStream({ headers }: UpstreamResponse): boolean {
  return String(headers['content-type'] ?? '').startsWith(EVENT_STREAM_TYPE);
}

/** The failure in an error that stands there without an event around it, as Google's do. Undefined where it is none. */
function bareFailure({ adapter }: Provider, text: string): Failure | undefined {
  if (text === '') return undefined;
  const json = parseLenient(text);
  const said = Array.isArray(json) ? (json as readonly unknown[])[0] : json;
  if ((field(said, 'error') ?? null) === null) return undefined;
  const reply = adapter.decodeChat(text);
  return reply instanceof Failure ? reply : undefined;
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
