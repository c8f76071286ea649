/** SHA-256 (FIPS 180-4) in hex, in which form all digests here are used. */

import * as crypto from 'node:crypto';

/** From Node 20.12 on: a third of what a Hash object costs. */
const hash: typeof crypto.hash | undefined = crypto.hash;

/** The digest in hex of bytes, or of a text's UTF-8. */
export function sha256(content: string | Buffer): string {
  return hash === undefined ? crypto.createHash('sha256').update(content).digest('hex') : hash('sha256', content, 'hex');
}
