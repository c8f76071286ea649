/** CRC-32 of IEEE 802.3, as gzip and AWS's event stream have it. */

import * as zlib from 'node:zlib';

/** From Node 20.15 and 22.2 on. */
const builtIn: typeof zlib.crc32 | undefined = zlib.crc32;

/** The checksum, from 0 to 2³² − 1. */
export function crc32(bytes: Uint8Array): number {
  return builtIn === undefined ? crc32ByTable(bytes) : builtIn(bytes);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

/** The same, a byte at a time, where Node has none of its own. */
export function crc32ByTable(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (sum >>> 8) ^ (TABLE[(sum ^ byte) & 0xff] ?? 0);
  return (sum ^ 0xffffffff) >>> 0;
}
