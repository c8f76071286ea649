/** Ids that nobody else has and nobody can guess. */

import { randomFillSync } from 'node:crypto';

const ID_BYTES = 16;
/** Drawn from the system for so many at once. */
const POOL = Buffer.allocUnsafeSlow(256 * ID_BYTES);
let at = POOL.length;

/** 128 random bits, as 32 hex digits. `randomUUID` puts its text together from 36 pieces, which took 3 % of a chat's instructions. */
// hot: per request
export function randomId(): string {
  if (at === POOL.length) {
    randomFillSync(POOL);
    at = 0;
  }
  at += ID_BYTES;
  return POOL.toString('hex', at - ID_BYTES, at);
}
