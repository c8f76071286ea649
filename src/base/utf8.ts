/** Bytes that should be UTF-8 as text. */

import { isAscii, isUtf8 } from 'node:buffer';

/** As much as is decoded at once: from Node 22 on a megabyte takes a millisecond, before it up to six (make bench ONLY=turns). */
const PIECE_BYTES = 1024 * 1024;

/** The text without its byte order mark; undefined where the bytes are no UTF-8. */
export function utf8Text(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8', startOf(bytes)) : undefined;
}

/** The same for what is large, piece by piece; between two of them `othersTurn` is waited for. */
export async function largeUtf8Text(bytes: Buffer, othersTurn: () => Promise<void>): Promise<string | undefined> {
  // A copy, byte by byte.
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) return undefined;
  const pieces: string[] = [];
  for (let at = startOf(bytes); at < bytes.length; await othersTurn()) {
    let end = Math.min(at + PIECE_BYTES, bytes.length);
    // Not within a character: all of its bytes but the first begin with the bits 10.
    while (end < bytes.length && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
    pieces.push(bytes.toString('utf8', at, end));
    at = end;
  }
  // Unlike a sum this is one piece of memory, of which characters are read twice as fast.
  return pieces.join('');
}

function startOf(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}
