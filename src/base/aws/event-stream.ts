/**
 * AWS's binary event stream: bytes in, messages out.
 *
 * A message is `total u32 | headers u32 | CRC of these 8 bytes | headers | payload | CRC of all before`, big-endian. The first sum
 * is checked before its lengths are believed, so that a broken length holds up nothing. Lengths are bounded twice: as the format
 * has it, and as the reader wants it.
 * Source: Smithy, "application/vnd.amazon.eventstream"; limits as in botocore.
 */

import { ByteBuffer } from '../byte-buffer.ts';
import { crc32 } from '../crc32.ts';

const PRELUDE_BYTES = 12;
const CRC_BYTES = 4;
const HEADERS_BYTES_MAX = 128 * 1024;
const PAYLOAD_BYTES_MAX = 24 * 1024 * 1024;
/** A larger buffer is not kept for the next message: a stream may be idle for minutes. */
const BYTES_KEPT = 16 * 1024;

/** The text headers of a message, by name. Those of another type are read over: nothing that is looked at here has one. */
export type EventHeaders = ReadonlyMap<string, string>;

/** Receives a message. The payload is good until the call returns. */
export type EventSink = (headers: EventHeaders, payload: Buffer) => void;

/** Why a stream cannot be read on: a sum does not match, the parts of a message do not fit, or it is larger than allowed. */
export type EventProblem = 'checksum' | 'malformed' | 'too large';

/** Cuts a byte stream into messages. */
// hot: per token
export class EventStreamBuffer {
  readonly #onEvent: EventSink;
  readonly #bytesMax: number;
  /** The beginning of a message whose end has not come yet. */
  readonly #pending: ByteBuffer;
  #problem: EventProblem | undefined;

  /** `onEvent` is called synchronously from `feed`, once a message. `bytesMax` is the longest message. */
  constructor(onEvent: EventSink, bytesMax: number) {
    this.#onEvent = onEvent;
    this.#bytesMax = bytesMax;
    this.#pending = new ByteBuffer(bytesMax);
  }

  /** Takes the next bytes. A problem is final: nothing is read from then on. */
  feed(chunk: Buffer): EventProblem | undefined {
    let from = 0;
    while (from < chunk.length && this.#problem === undefined) {
      from = this.#pending.length === 0 ? this.#readWhole(chunk, from) : this.#complete(chunk, from);
    }
    return this.#problem;
  }

  /** Reads a message that lies in the chunk as a whole; puts aside the beginning of another. Returns where it ends. */
  #readWhole(chunk: Buffer, from: number): number {
    const left = chunk.length - from;
    const total = left < PRELUDE_BYTES ? undefined : this.#totalOf(chunk.subarray(from, from + PRELUDE_BYTES));
    if (this.#problem !== undefined) return chunk.length;
    if (total === undefined || left < total) {
      // Fits: less than a prelude, or than a total that was checked.
      this.#pending.append(chunk, from);
      return chunk.length;
    }
    this.#message(chunk.subarray(from, from + total));
    return from + total;
  }

  /** Adds to the message whose beginning was put aside, and reads it when that is all. Returns how far the chunk was used. */
  #complete(chunk: Buffer, from: number): number {
    const total = this.#pending.length < PRELUDE_BYTES ? PRELUDE_BYTES : this.#pending.bytes.readUInt32BE(0);
    const end = Math.min(chunk.length, from + total - this.#pending.length);
    this.#pending.append(chunk, from, end);
    if (this.#pending.length < total) return end;
    if (total === PRELUDE_BYTES) {
      this.#totalOf(this.#pending.bytes);
      return end;
    }
    this.#message(this.#pending.bytes);
    this.#pending.clear(BYTES_KEPT);
    return end;
  }

  /** How long a message is, by its prelude. */
  #totalOf(prelude: Buffer): number | undefined {
    const total = prelude.readUInt32BE(0);
    const headersBytes = prelude.readUInt32BE(4);
    const payloadBytes = total - headersBytes - PRELUDE_BYTES - CRC_BYTES;
    if (crc32(prelude.subarray(0, 8)) !== prelude.readUInt32BE(8)) this.#problem = 'checksum';
    else if (payloadBytes < 0) this.#problem = 'malformed';
    else if (headersBytes > HEADERS_BYTES_MAX || payloadBytes > PAYLOAD_BYTES_MAX || total > this.#bytesMax) this.#problem = 'too large';
    return this.#problem === undefined ? total : undefined;
  }

  #message(bytes: Buffer): void {
    const sumAt = bytes.length - CRC_BYTES;
    if (crc32(bytes.subarray(0, sumAt)) !== bytes.readUInt32BE(sumAt)) {
      this.#problem = 'checksum';
      return;
    }
    const payloadAt = PRELUDE_BYTES + bytes.readUInt32BE(4);
    const headers = headersFrom(bytes.subarray(PRELUDE_BYTES, payloadAt));
    if (headers === undefined) this.#problem = 'malformed';
    else this.#onEvent(headers, bytes.subarray(payloadAt, sumAt));
  }
}

/** Bytes of a value by its type's number: true, false, i8, i16, i32, i64, bytes, text, time, UUID. Undefined = it says so itself. */
const VALUE_BYTES: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];
const TEXT_TYPE = 7;

/** Undefined when they do not end where they should. */
function headersFrom(bytes: Buffer): EventHeaders | undefined {
  const headers = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const type = bytes[nameEnd];
    if (type === undefined || type >= VALUE_BYTES.length) return undefined;
    let valueAt = nameEnd + 1;
    let valueBytes = VALUE_BYTES[type];
    if (valueBytes === undefined) {
      if (valueAt + 2 > bytes.length) return undefined;
      valueBytes = bytes.readUInt16BE(valueAt);
      valueAt += 2;
    }
    if (valueAt + valueBytes > bytes.length) return undefined;
    if (type === TEXT_TYPE) headers.set(bytes.toString('utf8', at + 1, nameEnd), bytes.toString('utf8', valueAt, valueAt + valueBytes));
    at = valueAt + valueBytes;
  }
  return headers;
}
