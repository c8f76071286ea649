/** What a caller goes on sending that nobody will read: a little of it is taken, so that it sees its answer. */

import type { Readable } from 'node:stream';

/** After an answer that left something unread: how long, and for how much of it, the caller may go on sending. */
const DISCARD_MS_MAX = 500;
export const DISCARD_BYTES_MAX = 64 * 1024;

/** Reads and drops, until the source ends or closes, or has taken too long or said too much; then calls `done`, once. */
export function discard(source: Readable, bytesMax: number, done: () => void): void {
  let bytesLeft = bytesMax;
  const onData = (chunk: Buffer): void => {
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) stop();
  };
  const stop = (): void => {
    clearTimeout(timer);
    source.off('data', onData).off('end', stop).off('close', stop);
    done();
  };
  const timer = setTimeout(stop, DISCARD_MS_MAX);
  source.on('data', onData).on('end', stop).on('close', stop);
  source.resume();
}
