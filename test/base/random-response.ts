/** HTTP responses for the parser's tests: random ones, and what it makes of one. */

import { ResponseParser } from '../../src/base/http-response.ts';
import type { ResponseHeaders } from '../../src/base/http-head.ts';
import type { Random } from './random.ts';

export type ReadResponse = {
  /** `whole`, `more` where it has not ended, or the fault. */
  outcome: string;
  interim: number;
  status: number;
  headers: ResponseHeaders;
  isKept: boolean;
  body: string;
  /** Bytes behind it. */
  rest: number;
};

/** The first response in the pieces, to the end of the connection where `isClosed`. */
export function readResponse(pieces: readonly Buffer[], headBytesMax: number, isClosed: boolean): ReadResponse {
  const parser = new ResponseParser(headBytesMax);
  const found: ReadResponse = { outcome: 'more', interim: 0, status: 0, headers: {}, isKept: false, body: '', rest: 0 };
  let fed = 0;
  for (const piece of pieces) {
    fed += piece.length;
    if (found.outcome !== 'more') continue;
    parser.feed(piece);
    found.outcome = readAll(parser, found);
    // Of this piece, and all of those that follow.
    fed = parser.restLength;
  }
  if (isClosed && found.outcome === 'more' && parser.finish()) found.outcome = 'whole';
  if (found.outcome === 'whole') found.rest = fed;
  return found;
}

function readAll(parser: ResponseParser, found: ReadResponse): string {
  for (;;) {
    switch (parser.next()) {
      case 'head':
        if (parser.head.status < 200) found.interim += 1;
        else readHead(parser, found);
        break;
      case 'body':
        found.body += parser.body.toString('latin1');
        break;
      case 'end':
        return 'whole';
      case 'fault':
        return String(parser.fault);
      case 'more':
        return 'more';
    }
  }
}

function readHead({ head }: ResponseParser, found: ReadResponse): void {
  found.status = head.status;
  found.headers = { ...head.headers };
  found.isKept = head.isKept;
}

/** A good response in one of its shapes; damaged, also in a smuggler's. */
export function randomResponse(random: Random, isDamaged: boolean): Buffer {
  const lines = [random.pick(['HTTP/1.1 200 OK', 'HTTP/1.1 429 Too Many', 'HTTP/1.1 500 ', 'HTTP/1.1 200'])];
  for (let count = random.below(4); count > 0; count -= 1) lines.push(random.pick(['a: b', 'X-Y:z', 'Date:  today ', 'set-cookie: a=b', 'e:', 'f: \xe9\t1']));
  const body = Array.from({ length: random.below(40) }, () => random.pick(['x', '{', '\r\n', '0', '\xff', ' '])).join('');
  const shape = random.below(3);
  if (shape === 0) lines.push(`content-length: ${body.length}`);
  else if (shape === 1) lines.push(random.pick(['transfer-encoding: chunked', 'Transfer-Encoding: CHUNKED']));
  else lines.push('connection: close');
  if (isDamaged) for (let count = 1 + random.below(2); count > 0; count -= 1) lines.splice(1 + random.below(lines.length), 0, random.pick(SMUGGLED));
  const interim = random.below(5) === 0 ? 'HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n' : '';
  const text = `${interim}${lines.join('\r\n')}\r\n\r\n${shape === 1 ? chunksOf(random, body) : body}`;
  return Buffer.from(isDamaged && random.below(2) === 0 ? damaged(random, text) : text, 'latin1');
}

const SMUGGLED = [
  'content-length: 3', 'Content-Length: 0', 'content-length: 3, 3', 'content-length: +3', 'content-length : 3', 'content-length: 3 ', 'content-length:\t3',
  'transfer-encoding: chunked', 'transfer-encoding: identity', 'transfer-encoding: gzip, chunked', 'transfer-encoding: chunked, gzip', 'Transfer-Encoding : chunked',
  'transfer-encoding:\x0bchunked', ' transfer-encoding: chunked', 'x: y\r\n z', 'x: y\rz', 'x: y\nz: w', 'x', ': y', 'x\0: y', 'connection: close, x', 'connection: keep-alive',
];

function chunksOf(random: Random, body: string): string {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const length = Math.min(1 + random.below(12), body.length - at);
    const size = random.pick([length.toString(16), length.toString(16).toUpperCase(), `0${length.toString(16)}`]);
    text += `${size}${random.pick(['', '', ';x', ';x=1', ';x="y;\\""', ';x;y=1'])}\r\n${body.slice(at, at + length)}\r\n`;
    at += length;
  }
  return `${text}0\r\n${random.pick(['', '', 'x-sum: 1\r\n'])}\r\n`;
}

function damaged(random: Random, text: string): string {
  const at = random.below(text.length);
  const piece = random.pick(['', '\r', '\n', '\r\n', ' ', '\0', ':', '0', ';', 'x', '\t', '\x7f', '-', 'ffffffffffffffffff']);
  return text.slice(0, at) + piece + text.slice(at + random.below(3));
}
