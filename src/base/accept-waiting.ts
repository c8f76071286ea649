/** Before a server stops listening: takes the connections that the kernel keeps for it, which would be reset. */

import type { EventEmitter } from 'node:events';
import { nextTurn } from './turn.ts';

/** As many as the kernel is asked to keep; more come for as long as somebody connects. */
const TURNS_MAX = 4096;

/** Resolves once the event loop, which accepts one connection a turn, finds none. */
export async function acceptWaiting(server: EventEmitter): Promise<void> {
  let quietTurns = 0;
  const notice = (): void => void (quietTurns = -1);
  server.on('connection', notice);
  // The first may end the turn that this was called in, with nothing accepted since.
  for (let turns = 0; quietTurns < 2 && turns < TURNS_MAX; turns += 1) {
    await nextTurn();
    quietTurns += 1;
  }
  server.off('connection', notice);
}
