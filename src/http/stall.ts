/** A caller that takes nothing of what waits for it: the one place that notices, for every kind of answer. */

import type { Socket } from 'node:net';
import type { Scope } from '../core/scope.ts';

/** What of an exchange is looked at, and ended. */
export type Watched = {
  readonly request: { readonly socket: Socket };
  readonly response: { destroy(): void };
  readonly scope: Scope;
};

/** A limit is looked at so many times before it is over: a caller is cut off at most a quarter late. */
const LOOKS = 4;

/**
 * Ends the exchange as `caller-stalled` once its caller has taken nothing for so long; returns how to stop watching.
 * Nothing may be written meanwhile. What counts is that something was taken, not that all of it was: a slow caller of a
 * large answer is behind for long. What is seen is what the kernel takes, in steps of up to half of its buffers, megabytes
 * where they have grown: a caller that takes less than a step within the limit looks like one that takes nothing.
 */
export function limitStall({ request, response, scope }: Watched, limitMs: number): () => void {
  let left = bytesLeft(request.socket);
  let looks = 0;
  const timer = setInterval(() => {
    const before = left;
    left = bytesLeft(request.socket);
    looks = left < before ? 0 : looks + 1;
    if (looks < LOOKS) return;
    clearInterval(timer);
    scope.end('caller-stalled');
    response.destroy();
  }, limitMs / LOOKS);
  return () => clearInterval(timer);
}

type Handle = { readonly writeQueueSize?: number; readonly _parent?: Handle | null };

/**
 * What is not in the kernel's hands yet. `writableLength` counts a write in full until the last of its bytes is gone; what
 * of it is left only the socket's handle knows, by which Node itself tells a slow `socket.setTimeout` from a dead one. With
 * TLS that is the handle below: all of a write is encrypted at once, and then waits there.
 */
export function bytesLeft(socket: Socket & { readonly _handle?: Handle | null }): number {
  const handle = socket._handle;
  return socket.writableLength + (handle?.writeQueueSize ?? 0) + (handle?._parent?.writeQueueSize ?? 0);
}
