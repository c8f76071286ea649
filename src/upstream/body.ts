/** A whole body from its chunks, within a bound. */

import { ByteBuffer } from '../base/byte-buffer.ts';
import { beyondLimit } from '../core/failure.ts';
import type { Failure } from '../core/failure.ts';
import type { UpstreamResponse } from './transport.ts';

/**
 * After the receiver said `enough`: how much more may come, and for how long, before the connection is closed. What follows a
 * stream's last event is its end, usually in the same packet.
 */
export const REST_BYTES_MAX = 64 * 1024;
export const REST_MS_MAX = 1000;

/** The chunks of `response` as one buffer of at most `bytesMax`; beyond it the response is discarded (server, not retried). */
export function collectBody(
  response: Pick<UpstreamResponse, 'status' | 'headers' | 'readChunks'>,
  provider: string,
  bytesMax: number,
): Promise<Buffer | Failure> {
  const body = new ByteBuffer(bytesMax, Number(response.headers['content-length'] ?? 0));
  let isOverfull = false;
  const read = response.readChunks((chunk) => {
    isOverfull = !body.append(chunk);
    return isOverfull ? false : undefined;
  });
  return read.then((failure) => failure ?? (isOverfull ? beyondLimit(provider, response.status, `its body has more than ${bytesMax} bytes`) : body.bytes));
}
