/**
 * HTTP/1.1 responses, from bytes as they come to heads and pieces of bodies (RFC 9112). What a head says is for http-head.ts.
 *
 * As strict as Node's own parser or stricter: what two readers could frame differently is refused, never guessed. Knows no
 * socket: the reader feeds it and asks for what comes next, so that it may stop between any two pieces.
 */

import { ByteBuffer } from './byte-buffer.ts';
import { HEAD_PREFIX, parseHead, trailersFault } from './http-head.ts';
import type { BodyStart, ResponseFault, ResponseHead } from './http-head.ts';

/** `head`, also of an interim response, which has no `end`; `body`: a piece; `more`: feed it; `fault`: nothing more will come. */
export type ResponseEvent = 'head' | 'body' | 'end' | 'more' | 'fault';

/** Most bytes of one chunk's extensions, which mean nothing here. As Node. */
export const EXTENSION_BYTES_MAX = 16 * 1024;
/** A size of more hexadecimal digits cannot be counted exactly. */
const CHUNK_DIGITS_MAX = 13;

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING: Buffer = Buffer.alloc(0);

type State = BodyStart | 'extension' | 'size-lf' | 'chunk' | 'chunk-cr' | 'chunk-lf' | 'trailer' | 'fields' | 'last-lf' | 'over' | 'fault';

/** The responses of one connection, one after another. */
// hot: per token
export class ResponseParser {
  readonly #headBytesMax: number;
  #state: State = 'head';
  #input: Buffer = NOTHING;
  #at = 0;
  /** What has come of a head or of trailers whose end has not; undefined = nothing. */
  #partial: ByteBuffer | undefined;
  /** Of the body with a length, or of the chunk. */
  #bytesLeft = 0;
  #digits = 0;
  /** Of the chunk, from behind their first semicolon. */
  #extensions = '';
  #head: ResponseHead = NO_HEAD;
  #body: Buffer = NOTHING;
  #fault: ResponseFault | undefined;

  constructor(headBytesMax: number) {
    this.#headBytesMax = headBytesMax;
  }

  /** The last head. */
  get head(): ResponseHead {
    return this.#head;
  }

  /** The piece of the last event `body`: part of what was fed, not a copy. */
  get body(): Buffer {
    return this.#body;
  }

  /** Set from the event `fault` on. */
  get fault(): ResponseFault | undefined {
    return this.#fault;
  }

  /** How many bytes wait that no event has told of. */
  get restLength(): number {
    return this.#input.length - this.#at;
  }

  /** Whether what waits may be the beginning of another response, line breaks before it passed over. */
  isFollowed(): boolean {
    let at = this.#at;
    while (this.#input[at] === CR || this.#input[at] === LF) at += 1;
    return isBegun(this.#input.subarray(at));
  }

  /** Bytes that came. They are not copied, and must not change before an event `more`. */
  feed(bytes: Buffer): void {
    this.#input = this.restLength > 0 ? Buffer.concat([this.#input.subarray(this.#at), bytes]) : bytes;
    this.#at = 0;
  }

  /** Copies what waits, so that the memory that was fed is free again. */
  keepInput(): void {
    if (this.restLength === 0) return;
    this.#input = Buffer.from(this.#input.subarray(this.#at));
    this.#at = 0;
  }

  /** The next response, once the last one is over. */
  restart(): void {
    this.#state = 'head';
  }

  /** No more bytes will come. True when that is the response's proper end. */
  finish(): boolean {
    return this.#state === 'until-close' || this.#state === 'over';
  }

  next(): ResponseEvent {
    while (this.#at < this.#input.length || this.#state === 'over' || (this.#state === 'length' && this.#bytesLeft === 0)) {
      switch (this.#state) {
        case 'head': {
          const text = this.#takeFields();
          if (text !== undefined) return this.#readHead(text);
          break;
        }
        case 'length':
          if (this.#bytesLeft > 0) return this.#takeBody(this.#bytesLeft);
          this.#state = 'over';
          break;
        case 'until-close':
          return this.#takeBody(Infinity);
        case 'size':
        case 'extension':
        case 'size-lf':
          this.#readSize();
          break;
        case 'chunk':
          if (this.#bytesLeft > 0) return this.#takeBody(this.#bytesLeft);
          this.#state = 'chunk-cr';
          break;
        case 'chunk-cr':
          this.#expect(CR, 'chunk-lf');
          break;
        case 'chunk-lf':
          this.#digits = 0;
          this.#expect(LF, 'size');
          break;
        case 'trailer':
          if (this.#input[this.#at] === CR) this.#expect(CR, 'last-lf');
          else this.#state = 'fields';
          break;
        case 'fields': {
          const text = this.#takeFields();
          if (text !== undefined) this.#readTrailers(text);
          break;
        }
        case 'last-lf':
          this.#expect(LF, 'over');
          break;
        case 'over':
          return 'end';
        case 'fault':
          return 'fault';
      }
    }
    return this.#state === 'fault' ? 'fault' : 'more';
  }

  /** Lines up to and with the empty one, which is left out; undefined while they are not whole. */
  #takeFields(): string | undefined {
    const partial = this.#partial;
    if (partial === undefined) {
      const end = this.#input.indexOf(HEAD_END, this.#at);
      if (end !== -1 && end + HEAD_END.length - this.#at <= this.#headBytesMax) {
        const text = this.#input.toString('latin1', this.#at, end + 2);
        this.#at = end + HEAD_END.length;
        return text;
      }
    }
    return this.#collectFields(partial ?? (this.#partial = new ByteBuffer(this.#headBytesMax)));
  }

  #collectFields(partial: ByteBuffer): string | undefined {
    const had = partial.length;
    const room = this.#headBytesMax - had;
    const taken = Math.min(this.#input.length - this.#at, room);
    partial.append(this.#input, this.#at, this.#at + taken);
    const end = partial.bytes.indexOf(HEAD_END, Math.max(0, had - HEAD_END.length + 1));
    if (end !== -1) {
      this.#at += end + HEAD_END.length - had;
      const text = partial.bytes.toString('latin1', 0, end + 2);
      this.#partial = undefined;
      return text;
    }
    this.#at += taken;
    // What is no response is refused as soon as that can be seen: its sender may wait for ever, and so would the end of a head.
    if (this.#state === 'head' && !isBegun(partial.bytes)) this.#fail('HPE_INVALID_CONSTANT');
    else if (hasBareFeed(partial.bytes, had)) this.#fail('HPE_STRICT');
    else if (taken === room) this.#fail('HPE_HEADER_OVERFLOW');
    return undefined;
  }

  #readHead(text: string): ResponseEvent {
    const head = parseHead(text);
    if (typeof head === 'string') return this.#fail(head);
    this.#head = head;
    this.#state = head.body;
    this.#bytesLeft = head.bytes;
    this.#digits = 0;
    return 'head';
  }

  #takeBody(bytesMax: number): ResponseEvent {
    const end = Math.min(this.#input.length, this.#at + bytesMax);
    this.#body = this.#at === 0 && end === this.#input.length ? this.#input : this.#input.subarray(this.#at, end);
    this.#bytesLeft -= end - this.#at;
    this.#at = end;
    return 'body';
  }

  /** The line before a chunk: its size, and extensions that are passed over. */
  #readSize(): void {
    const input = this.#input;
    while (this.#at < input.length) {
      if (this.#state === 'extension' && !this.#takeExtensions()) return;
      const byte = input[this.#at] as number;
      this.#at += 1;
      if (this.#state === 'size-lf') {
        if (byte === LF) this.#state = this.#bytesLeft === 0 ? 'trailer' : 'chunk';
        else this.#fail('HPE_STRICT');
        return;
      }
      if (byte === CR && this.#digits > 0) {
        this.#state = 'size-lf';
      } else if (byte === SEMICOLON && this.#digits > 0) {
        this.#extensions = '';
        this.#state = 'extension';
      } else {
        const digit = hexDigit(byte);
        if (digit === -1 || this.#digits === CHUNK_DIGITS_MAX) return void this.#fail('HPE_INVALID_CHUNK_SIZE');
        this.#bytesLeft = this.#bytesLeft * 16 + digit;
        this.#digits += 1;
      }
    }
  }

  /** Up to the end of their line; false while that has not come, and where they are refused. A slice, since byte by byte costs 40 ns each. */
  #takeExtensions(): boolean {
    const lineEnd = this.#input.indexOf(CR, this.#at);
    const room = EXTENSION_BYTES_MAX - this.#extensions.length;
    const end = Math.min(lineEnd === -1 ? this.#input.length : lineEnd, this.#at + room + 1);
    const piece = this.#input.toString('latin1', this.#at, end);
    this.#at = end;
    this.#extensions += piece;
    if (CONTROL.test(piece)) this.#fail('HPE_STRICT');
    else if (piece.length > room) this.#fail('HPE_CHUNK_EXTENSIONS_OVERFLOW');
    else if (end === lineEnd && !EXTENSIONS.test(this.#extensions)) this.#fail('HPE_STRICT');
    else return end === lineEnd;
    return false;
  }

  /** Trailers say nothing that is used here. */
  #readTrailers(text: string): void {
    const fault = trailersFault(text);
    if (fault === undefined) this.#state = 'over';
    else this.#fail(fault);
  }

  #expect(byte: number, state: State): void {
    if (this.#input[this.#at] !== byte) return void this.#fail('HPE_STRICT');
    this.#at += 1;
    this.#state = state;
  }

  #fail(fault: ResponseFault): 'fault' {
    this.#fault = fault;
    this.#state = 'fault';
    this.#partial = undefined;
    return 'fault';
  }
}

const NO_HEAD: ResponseHead = { status: 0, headers: {}, isKept: false, body: 'head', bytes: 0 };

const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
/** Names, each with a value or none (RFC 9112, section 7.1.1). */
const EXTENSIONS = /^(?:[!#$%&'*+\-.^_`|~\w]+(?:=(?:[!#$%&'*+\-.^_`|~\w]+|"(?:[^"\\]|\\.)*"))?(?:;(?!$)|$))+$/;

/** Whether the bytes may be the beginning of a response. */
function isBegun(bytes: Buffer): boolean {
  const text = bytes.toString('latin1', 0, HEAD_PREFIX.length);
  return HEAD_PREFIX.startsWith(text);
}

/** A line feed without its carriage return, from `from` on. */
function hasBareFeed(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) if (at === 0 || bytes[at - 1] !== CR) return true;
  return false;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
