/** Bytes that should be UTF-8, as text. */

import { isUtf8 } from 'node:buffer';

/** As much as is decoded at once: from Node 22 on 16 MB take 6 ms, before it up to 90. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** The text without its byte order mark; undefined where the bytes are no UTF-8. */
export function utf8Text(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8', startOf(bytes)) : undefined;
}

/** The same for what is large, piece by piece; between two of them `othersTurn` is waited for. */
export async function largeUtf8Text(bytes: Buffer, othersTurn: () => Promise<void>): Promise<string | undefined> {
  if (!isUtf8(bytes)) return undefined;
  let text = '';
  for (let at = startOf(bytes); at < bytes.length; await othersTurn()) {
    let end = Math.min(at + PIECE_BYTES, bytes.length);
    // Not within a character: all of its bytes but the first begin with the bits 10.
    while (end < bytes.length && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
    text += bytes.toString('utf8', at, end);
    at = end;
  }
  return text;
}

function startOf(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}
