/**
 * RESP2, the protocol of Redis and Valkey: commands in, bytes out; bytes in, replies out. Pure.
 *
 * Follows redis.io/docs/latest/develop/reference/protocol-spec. The types that RESP3 added are malformed here: nobody asks
 * for that protocol. The decoder is incremental and bounded in everything that a peer could choose: the length of a line and
 * of a string, how many values a reply has, and how deep it nests. It believes no length: room is taken as bytes come.
 */

import { ByteBuffer } from './byte-buffer.ts';

const CR = 0x0d;
const LF = 0x0a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const SIMPLE_STRING = 0x2b;
const ERROR = 0x2d;
const INTEGER = 0x3a;
const BULK_STRING = 0x24;
const ARRAY = 0x2a;

/** Of a simple string, an error or a number: servers write one sentence. */
const LINE_BYTES_MAX = 1024;
/** Digits of a number that a double holds exactly, whatever they are. */
const DIGITS_MAX = 15;
/** Arrays within arrays: scripts return one, and more would be a peer that plays. */
const DEPTH_MAX = 8;
/** A larger buffer is not kept for the next string. */
const BYTES_KEPT = 16 * 1024;

/** `null`: a string or an array that there is not. */
export type RespReply = string | number | null | RespError | readonly RespReply[];

/** An error that the peer answered with, e.g. `NOSCRIPT No matching script`. */
export class RespError {
  /** Its first word; `ERR` where that is none of capital letters. */
  readonly code: string;
  /** The whole line. May repeat arguments of the command, a password among them. */
  readonly text: string;

  constructor(text: string) {
    this.code = /^[A-Z]{2,32}(?= |$)/.exec(text)?.[0] ?? 'ERR';
    this.text = text;
  }
}

/** A command and its arguments as an array of strings, in UTF-8. */
export function encodeCommand(words: readonly string[]): string {
  let text = `*${words.length}\r\n`;
  for (const word of words) text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
  return text;
}

/** The most that one reply may be. */
export type RespBounds = {
  /** Of one string. */
  readonly stringBytesMax: number;
  /** Values of a reply, those inside arrays and the arrays themselves included. */
  readonly valuesMax: number;
};

/** An array that is not whole yet. */
type OpenArray = { readonly items: RespReply[]; missing: number };

/** Reads replies as their bytes come. Bounded: see `feed`. */
export class RespDecoder {
  readonly #onReply: (reply: RespReply) => void;
  readonly #bounds: RespBounds;
  /** The beginning of a line or string whose end has not come yet. */
  readonly #pending: ByteBuffer;
  /** Bytes of the string that is being read; undefined = a line is being read. */
  #stringBytes: number | undefined;
  /** From the outermost to the innermost. */
  readonly #open: OpenArray[] = [];
  #values = 0;
  #isBroken = false;

  /** `onReply` is called synchronously from `feed`, once a reply. */
  constructor(onReply: (reply: RespReply) => void, bounds: RespBounds) {
    this.#onReply = onReply;
    this.#bounds = bounds;
    this.#pending = new ByteBuffer(Math.max(LINE_BYTES_MAX, bounds.stringBytesMax) + 2);
  }

  /** Takes the next bytes. False once they were malformed or beyond a bound: nothing is read from then on. */
  feed(chunk: Buffer): boolean {
    let at = 0;
    while (!this.#isBroken && at < chunk.length) at = this.#stringBytes === undefined ? this.#feedLine(chunk, at) : this.#feedString(chunk, at, this.#stringBytes);
    return !this.#isBroken;
  }

  /** Where the line that is being read ends in the chunk, or the chunk itself. */
  #feedLine(chunk: Buffer, from: number): number {
    const lf = chunk.indexOf(LF, from);
    const end = lf === -1 ? chunk.length : lf + 1;
    if (this.#pending.length + end - from > LINE_BYTES_MAX + 2) return this.#break();
    if (lf !== -1 && this.#pending.length === 0) {
      this.#line(chunk, from, end - 2);
      return end;
    }
    this.#pending.append(chunk, from, end);
    if (lf === -1) return end;
    const line = this.#pending.bytes;
    this.#line(line, 0, line.length - 2);
    this.#pending.clear(BYTES_KEPT);
    return end;
  }

  #feedString(chunk: Buffer, from: number, bytes: number): number {
    const end = Math.min(chunk.length, from + bytes + 2 - this.#pending.length);
    this.#pending.append(chunk, from, end);
    if (this.#pending.length < bytes + 2) return end;
    const string = this.#pending.bytes;
    if (string[bytes] !== CR || string[bytes + 1] !== LF) return this.#break();
    const text = string.toString('utf8', 0, bytes);
    this.#pending.clear(BYTES_KEPT);
    this.#stringBytes = undefined;
    this.#value(text);
    return end;
  }

  /** `end`: of what the line says, before its CRLF. */
  #line(bytes: Buffer, from: number, end: number): void {
    // Also where the line is too short to have a type.
    if (end <= from || bytes[end] !== CR) return void this.#break();
    const type = bytes[from];
    if (type === SIMPLE_STRING) return this.#value(bytes.toString('utf8', from + 1, end));
    if (type === ERROR) return this.#value(new RespError(bytes.toString('utf8', from + 1, end)));
    const number = readInteger(bytes, from + 1, end);
    if (number === undefined) return void this.#break();
    if (type === INTEGER) return this.#value(number);
    if (type !== BULK_STRING && type !== ARRAY) return void this.#break();
    if (number === -1) return this.#value(null);
    if (number < 0) return void this.#break();
    if (type === ARRAY) return this.#openArray(number);
    if (number > this.#bounds.stringBytesMax) return void this.#break();
    this.#stringBytes = number;
  }

  #openArray(length: number): void {
    if (length === 0) return this.#value([]);
    if (this.#open.length === DEPTH_MAX || this.#values + length >= this.#bounds.valuesMax) return void this.#break();
    this.#values += 1;
    this.#open.push({ items: [], missing: length });
  }

  /** A value is whole, and with it perhaps the arrays that it was the last of. */
  #value(value: RespReply): void {
    this.#values += 1;
    if (this.#values > this.#bounds.valuesMax) return void this.#break();
    let whole = value;
    for (let innermost = this.#open.at(-1); innermost !== undefined; innermost = this.#open.at(-1)) {
      innermost.items.push(whole);
      innermost.missing -= 1;
      if (innermost.missing > 0) return;
      whole = innermost.items;
      this.#open.pop();
    }
    this.#values = 0;
    this.#onReply(whole);
  }

  /** Gives back what was kept. */
  #break(): number {
    this.#isBroken = true;
    this.#pending.clear();
    this.#open.length = 0;
    return Infinity;
  }
}

/** A whole number of at most 15 digits; undefined = something else. */
function readInteger(bytes: Buffer, from: number, end: number): number | undefined {
  const isNegative = bytes[from] === MINUS;
  const start = isNegative ? from + 1 : from;
  if (end === start || end - start > DIGITS_MAX) return undefined;
  let number = 0;
  for (let at = start; at < end; at += 1) {
    const digit = bytes[at] ?? 0;
    if (digit < ZERO || digit > NINE) return undefined;
    number = number * 10 + digit - ZERO;
  }
  return isNegative ? 0 - number : number;
}
