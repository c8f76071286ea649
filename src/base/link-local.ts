/** Whether a host belongs to the machine or its platform, by its name alone. */

import { isLoopback } from './loopback.ts';

/** Metadata servers by address (RFC 3927, AWS's IPv6 ones) and by Google's name; loopback. `hostname` as a URL has it. */
export function isLinkLocal(hostname: string): boolean {
  return isLoopback(hostname) || /^(169\.254\.\d+\.\d+|\[fd00:ec2::[\da-f]+\]|\[fe80:[\da-f:]+\]|metadata(\.google\.internal\.?)?)$/.test(hostname);
}
