/** A whole body from its chunks, within a bound. */

import { malformedReply } from '../core/failure.ts';
import type { Failure } from '../core/failure.ts';
import type { UpstreamResponse } from './transport.ts';

/**
 * After the receiver said `enough`: how much more may come, and for how long, before the connection is closed. What follows a
 * stream's last event is its end, usually in the same packet.
 */
export const REST_BYTES_MAX = 64 * 1024;
export const REST_MS_MAX = 1000;

/** The chunks of `response` as one buffer of at most `bytesMax`; beyond it the response is discarded (server). */
export async function collectBody(
  response: Pick<UpstreamResponse, 'status' | 'readChunks'>,
  provider: string,
  bytesMax: number,
): Promise<Buffer | Failure> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const failure = await response.readChunks((chunk) => {
    bytes += chunk.length;
    if (bytes > bytesMax) return false;
    chunks.push(chunk);
    return undefined;
  });
  if (failure !== undefined) return failure;
  if (bytes > bytesMax) return malformedReply(provider, response.status, `its body has more than ${bytesMax} bytes`);
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bytes);
}
