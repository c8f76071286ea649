/** Loaded into the gateway's process beside it: says on request what that process holds. Needs `--expose-gc`. */

import { readdirSync } from 'node:fs';

export type Holdings = {
  /** Open file descriptors, sockets among them. */
  readonly fds: number;
  readonly sockets: number;
  readonly timers: number;
  /** After a garbage collection. */
  readonly heapBytes: number;
  readonly residentBytes: number;
};

process.on('message', (message) => {
  if (message === 'measure') process.send?.(measure());
});
// The channel alone must not keep the gateway alive.
process.channel?.unref();

function measure(): Holdings {
  globalThis.gc?.();
  globalThis.gc?.();
  const resources = process.getActiveResourcesInfo();
  const { heapUsed, rss } = process.memoryUsage();
  return {
    fds: readdirSync('/dev/fd').length,
    sockets: resources.filter((kind) => kind === 'TCPSocketWrap').length,
    timers: resources.filter((kind) => kind === 'Timeout').length,
    heapBytes: heapUsed,
    residentBytes: rss,
  };
}
