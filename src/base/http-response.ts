/**
 * An HTTP/1.1 response, from bytes as they come to status, headers and pieces of its body (RFC 9112).
 *
 * As strict as Node's own parser or stricter: what two readers could frame differently is refused, never guessed. Knows no
 * socket: the reader feeds it and asks for what comes next, so that it may stop between any two pieces.
 */

import { ByteBuffer } from './byte-buffer.ts';

/** Names are in lower case. Repeated ones are joined by commas, but for `set-cookie`. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type ResponseHead = {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Whether another request may follow on the connection, once this response is over. */
  readonly isKept: boolean;
};

/** Why a response is refused: the names that Node's parser has for it. */
export type ResponseFault =
  | 'HPE_INVALID_CONSTANT'
  | 'HPE_INVALID_VERSION'
  | 'HPE_INVALID_STATUS'
  | 'HPE_INVALID_HEADER_TOKEN'
  | 'HPE_INVALID_CONTENT_LENGTH'
  | 'HPE_INVALID_TRANSFER_ENCODING'
  | 'HPE_INVALID_CHUNK_SIZE'
  | 'HPE_STRICT'
  | 'HPE_HEADER_OVERFLOW'
  | 'HPE_CHUNK_EXTENSIONS_OVERFLOW';

/** `head`, also of an interim response, which has no `end`; `body`: a piece; `more`: feed it; `fault`: nothing more will come. */
export type ResponseEvent = 'head' | 'body' | 'end' | 'more' | 'fault';

/** Most bytes of one chunk's extensions, which mean nothing here. As Node. */
const EXTENSION_BYTES_MAX = 16 * 1024;
/** A size of more hexadecimal digits cannot be counted exactly. */
const CHUNK_DIGITS_MAX = 13;

const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING: Buffer = Buffer.alloc(0);

type State = 'head' | 'length' | 'until-close' | 'size' | 'extension' | 'size-lf' | 'chunk' | 'chunk-cr' | 'chunk-lf' | 'trailer' | 'fields' | 'last-lf' | 'over' | 'fault';

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

  /** Whether bytes wait that no event has told of. */
  get hasInput(): boolean {
    return this.#at < this.#input.length;
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
    this.#input = this.hasInput ? Buffer.concat([this.#input.subarray(this.#at), bytes]) : bytes;
    this.#at = 0;
  }

  /** Copies what waits, so that the memory that was fed is free again. */
  keepInput(): void {
    if (!this.hasInput) return;
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
    const lineEnd = text.indexOf('\r\n');
    const line = text.slice(0, lineEnd);
    const headers = STATUS_LINE.test(line) ? readFields(text, lineEnd + 2) : undefined;
    if (headers === undefined) return this.#fail(headFault(text, line));
    const status = Number(text.slice(9, 12));
    const framing = framingOf(status, text[7] === '1', headers);
    if (typeof framing === 'string') return this.#fail(framing);
    this.#head = { status, headers, isKept: framing.isKept };
    this.#state = framing.state;
    this.#bytesLeft = framing.bytes;
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
        this.#bytesLeft = this.#digits === 0 ? digit : this.#bytesLeft * 16 + digit;
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
    if (readFields(text, 0) === undefined) this.#fail(BARE_FEED.test(text) ? 'HPE_STRICT' : 'HPE_INVALID_HEADER_TOKEN');
    else this.#state = 'over';
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

const NO_HEAD: ResponseHead = { status: 0, headers: {}, isKept: false };

const PREFIX = 'HTTP/';
const STATUS_LINE = /^HTTP\/1\.[01] [1-9][0-9][0-9](?: [\t\x20-\x7e\x80-\xff]*)?$/;
const VERSION = /^HTTP\/1\.[01] /;
const BARE_FEED = /(?<!\r)\n/;
const DIGITS = /^[0-9]{1,15}$/;
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
/** Names, each with a value or none (RFC 9112, section 7.1.1). */
const EXTENSIONS = /^(?:[!#$%&'*+\-.^_`|~\w]+(?:=(?:[!#$%&'*+\-.^_`|~\w]+|"(?:[^"\\]|\\.)*"))?(?:;(?!$)|$))+$/;

/** What may stand in a name, and what in a value (RFC 9110, section 5), by their codes: 1 = it may. */
const OF_NAMES = tableOf(/[!#$%&'*+\-.^_`|~0-9A-Za-z]/);
const OF_VALUES = tableOf(/[\t\x20-\x7e\x80-\xff]/);

function tableOf(allowed: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (allowed.test(String.fromCharCode(code)) ? 1 : 0));
}

/** Why a head was refused, as whoever reads it piece by piece would say. */
function headFault(text: string, line: string): ResponseFault {
  if (!line.startsWith(PREFIX)) return 'HPE_INVALID_CONSTANT';
  if (BARE_FEED.test(text)) return 'HPE_STRICT';
  if (STATUS_LINE.test(line)) return 'HPE_INVALID_HEADER_TOKEN';
  return VERSION.test(line) ? 'HPE_INVALID_STATUS' : 'HPE_INVALID_VERSION';
}

/** The fields in the lines from `at` on; undefined where one is none. 5 µs for 17 of them; 9 µs by regular expressions. */
// hot: per request
function readFields(text: string, at: number): Record<string, string | string[]> | undefined {
  const headers = Object.create(null) as Record<string, string | string[]>;
  while (at < text.length) {
    const from = at;
    while (OF_NAMES[text.charCodeAt(at)] === 1) at += 1;
    if (at === from || text.charCodeAt(at) !== COLON) return undefined;
    const name = text.slice(from, at).toLowerCase();
    const valueFrom = at + 1;
    at = valueFrom;
    while (OF_VALUES[text.charCodeAt(at)] === 1) at += 1;
    if (text.charCodeAt(at) !== CR || text.charCodeAt(at + 1) !== LF) return undefined;
    addField(headers, name, trimmed(text, valueFrom, at));
    at += 2;
  }
  return headers;
}

function addField(headers: Record<string, string | string[]>, name: string, value: string): void {
  const before = headers[name];
  if (name === 'set-cookie') {
    if (Array.isArray(before)) before.push(value);
    else headers[name] = [value];
  } else {
    headers[name] = before === undefined ? value : `${String(before)}, ${value}`;
  }
}

/** Without the spaces and tabs around it. Not `trim`, which takes more for a space. */
function trimmed(text: string, from: number, end: number): string {
  while (from < end && isSpace(text.charCodeAt(from))) from += 1;
  while (end > from && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(from, end);
}

type Framing = { readonly state: State; readonly bytes: number; readonly isKept: boolean };

/** How the body ends (RFC 9112, section 6.3). */
function framingOf(status: number, isNewer: boolean, headers: Record<string, string | string[]>): Framing | ResponseFault {
  const length = headers['content-length'] as string | undefined;
  const coding = headers['transfer-encoding'] as string | undefined;
  if (length !== undefined && !DIGITS.test(length)) return 'HPE_INVALID_CONTENT_LENGTH';
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || length !== undefined || !isNewer)) return 'HPE_INVALID_TRANSFER_ENCODING';
  const bytes = Number(length ?? 0);
  const isKept = keeps(headers['connection'] as string | undefined, isNewer);
  if (status < 200) return { state: 'head', bytes: 0, isKept };
  // What announces a body that it must not have could send one.
  if (status === 204 || status === 304) return { state: 'length', bytes: 0, isKept: isKept && bytes === 0 && coding === undefined };
  if (coding !== undefined) return { state: 'size', bytes: 0, isKept };
  if (length !== undefined) return { state: 'length', bytes, isKept };
  return { state: 'until-close', bytes: 0, isKept: false };
}

function keeps(connection: string | undefined, isNewer: boolean): boolean {
  if (connection === undefined) return isNewer;
  // By a pattern with spaces in it, 60 KB of them take seconds.
  const options = connection.toLowerCase().split(',').map((option) => trimmed(option, 0, option.length));
  return !options.includes('close') && (isNewer || options.includes('keep-alive'));
}

/** Whether the bytes may be the beginning of a response. */
function isBegun(bytes: Buffer): boolean {
  const text = bytes.toString('latin1', 0, PREFIX.length);
  return PREFIX.startsWith(text);
}

/** A line feed without its carriage return, from `from` on. */
function hasBareFeed(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) if (at === 0 || bytes[at - 1] !== CR) return true;
  return false;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
