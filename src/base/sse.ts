/**
 * Server-sent events: bytes in, frames out.
 *
 * Follows the WHATWG parser (html.spec.whatwg.org, "server-sent events"): lines end in LF, CR or CRLF,
 * one byte order mark is skipped at the very start, bytes are UTF-8 (ill-formed ones become U+FFFD),
 * comments are skipped, data lines are joined by LF, and a frame that the end of the stream cuts is
 * dropped. `id` and `retry` concern reconnecting browsers and are ignored. JSON that stands bare where a frame should is kept
 * for whoever asks.
 *
 * Lines are found in the new chunk only. The obvious `buffered += chunk` followed by a search from the
 * start takes 32 s for one 10 MB line in 1400-byte pieces; this takes 13 ms, and stops at the limit.
 */

import { ByteBuffer } from './byte-buffer.ts';

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const BYTE_ORDER_MARK = '\uFEFF';

/** A larger buffer is not kept for the next line: a stream may be idle for minutes. */
const BYTES_KEPT = 16 * 1024;

/** Most that is kept of bare JSON, which is an error or of no use. */
const BARE_CHARS_MAX = 64 * 1024;

/** Receives a frame: the event's name (empty when it has none) and its data lines joined by LF. */
export type FrameSink = (event: string, data: string) => void;

/** Cuts a byte stream into frames. Bounded: see `feed`. */
// hot: per token
export class SseBuffer {
  readonly #onFrame: FrameSink;
  readonly #bytesMax: number;
  /** The beginning of a line whose end has not come yet. */
  readonly #pending: ByteBuffer;
  /** The data lines of the frame once it has several, joined. Strings of so few characters would take ten times their bytes. */
  readonly #lines: ByteBuffer;
  #frameBytes = 0;
  #event = '';
  /** The data line of the frame while it has only one. */
  #data = '';
  #hasData = false;
  #bare = '';
  #isBare = false;
  #isFirstLine = true;
  #endedInCr = false;
  #isOverflown = false;

  /**
   * `onFrame` is called synchronously from `feed`, once a frame. `bytesMax` is the longest line, and the largest sum of the
   * lines of one frame.
   */
  constructor(onFrame: FrameSink, bytesMax: number) {
    this.#onFrame = onFrame;
    this.#bytesMax = bytesMax;
    this.#pending = new ByteBuffer(bytesMax);
    // What is ill-formed takes three bytes for each.
    this.#lines = new ByteBuffer(3 * bytesMax);
  }

  /** Takes the next bytes. False once a line or frame passed the limit; nothing is read from then on. */
  feed(chunk: Buffer): boolean {
    if (this.#isOverflown) return false;
    let from = 0;
    if (this.#endedInCr && chunk.length > 0) {
      this.#endedInCr = false;
      if (chunk[0] === LF) from = 1;
    }
    let nextLf = chunk.indexOf(LF, from);
    let nextCr = chunk.indexOf(CR, from);
    while (nextLf !== -1 || nextCr !== -1) {
      const isCr = nextCr !== -1 && (nextLf === -1 || nextCr < nextLf);
      const lineEnd = isCr ? nextCr : nextLf;
      if (!this.#endLine(chunk, from, lineEnd)) return this.#overflow();
      from = lineEnd + 1;
      if (isCr) {
        if (from === chunk.length) this.#endedInCr = true;
        else if (chunk[from] === LF) from += 1;
        nextCr = chunk.indexOf(CR, from);
      }
      if (nextLf !== -1 && nextLf < from) nextLf = chunk.indexOf(LF, from);
    }
    if (from < chunk.length) {
      if (this.#pending.length + chunk.length - from + this.#frameBytes > this.#bytesMax) return this.#overflow();
      this.#pending.append(chunk, from);
    }
    return true;
  }

  /**
   * The first lines that are no frame's, begin as JSON does and end with an empty one, or with what came so far: hosts write
   * errors so. Cut at 64 Ki characters; empty when there are none.
   */
  get bareJson(): string {
    const last = this.#pending.bytes.toString('utf8', 0, BARE_CHARS_MAX);
    if (this.#isBare) return (this.#bare + last).slice(0, BARE_CHARS_MAX);
    return this.#bare === '' && !this.#hasData && beginsJson(last) ? last : this.#bare;
  }

  #overflow(): false {
    this.#isOverflown = true;
    this.#pending.clear();
    this.#lines.clear();
    this.#event = '';
    this.#data = '';
    return false;
  }

  #endLine(chunk: Buffer, from: number, end: number): boolean {
    const lineBytes = this.#pending.length + end - from;
    if (lineBytes === 0) {
      this.#isFirstLine = false;
      this.#endFrame();
      return true;
    }
    this.#frameBytes += lineBytes;
    if (this.#frameBytes > this.#bytesMax) return false;
    if (this.#pending.length === 0) {
      this.#line(chunk, from, end);
    } else {
      this.#pending.append(chunk, from, end);
      this.#line(this.#pending.bytes, 0, lineBytes);
      this.#pending.clear(BYTES_KEPT);
    }
    return true;
  }

  #line(bytes: Buffer, from: number, end: number): void {
    if (isDataLine(bytes, from, end)) {
      this.#isFirstLine = false;
      this.#appendData(bytes.toString('utf8', bytes[from + 5] === SPACE && end > from + 5 ? from + 6 : from + 5, end));
      return;
    }
    if (bytes[from] === COLON) {
      // Comments may come without end and must not count towards a frame that has not begun.
      if (!this.#hasData) this.#frameBytes = 0;
      this.#isFirstLine = false;
      return;
    }
    let line = bytes.toString('utf8', from, end);
    if (this.#isFirstLine && line.startsWith(BYTE_ORDER_MARK)) line = line.slice(1);
    this.#isFirstLine = false;
    if (!this.#takeBare(line)) this.#field(line);
  }

  /** Takes a line of bare JSON. False for any other. */
  #takeBare(line: string): boolean {
    if (!this.#isBare && (this.#bare !== '' || this.#hasData || !beginsJson(line))) return false;
    this.#isBare = true;
    if (this.#bare.length < BARE_CHARS_MAX) this.#bare = `${this.#bare}${line}\n`.slice(0, BARE_CHARS_MAX);
    return true;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1);
    if (name === 'data') this.#appendData(value);
    else if (name === 'event') this.#event = value;
  }

  #appendData(value: string): void {
    if (!this.#hasData) {
      this.#data = value;
      this.#hasData = true;
      return;
    }
    if (this.#lines.length === 0) this.#lines.append(Buffer.from(this.#data));
    this.#lines.append(Buffer.from(`\n${value}`));
  }

  #endFrame(): void {
    const event = this.#event;
    const data = this.#lines.length === 0 ? this.#data : this.#lines.bytes.toString();
    const hasData = this.#hasData;
    if (this.#lines.length > 0) this.#lines.clear(BYTES_KEPT);
    this.#frameBytes = 0;
    this.#event = '';
    this.#data = '';
    this.#hasData = false;
    this.#isBare = false;
    if (hasData) this.#onFrame(event, data);
  }
}

function beginsJson(line: string): boolean {
  const first = line.charCodeAt(0);
  return first === OPEN_BRACE || first === OPEN_BRACKET;
}

function isDataLine(bytes: Buffer, from: number, end: number): boolean {
  return (
    end >= from + 5 &&
    bytes[from] === 0x64 &&
    bytes[from + 1] === 0x61 &&
    bytes[from + 2] === 0x74 &&
    bytes[from + 3] === 0x61 &&
    bytes[from + 4] === COLON
  );
}
