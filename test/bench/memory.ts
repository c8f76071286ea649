/** Resident memory: of a process, and of each stream on which nothing comes. */

import { setTimeout as delay } from 'node:timers/promises';
import { renderTable } from './figures.ts';
import { loadStreams, requestBytes, warmUp } from './load.ts';
import { residentBytes, startFloor, startGateway } from './programs.ts';
import type { Program } from './programs.ts';
import { ROWS } from './rows.ts';
import type { Row } from './rows.ts';

const STREAMS = [1000, 5000];
const OPENED_AT_ONCE = 250;
const WARM_UP_CHATS = 10_000;
const SETTLED_MS = 2000;

export type Memory = { readonly program: string; readonly streams: number; readonly startBytes: number; readonly streamBytes: number };

export async function measureMemory(upstream: Program): Promise<readonly Memory[]> {
  const [row] = ROWS as readonly [Row];
  const found: Memory[] = [];
  for (const name of ['bare', 'translating', 'gateway'] as const) {
    for (const streams of STREAMS) {
      const program = name === 'gateway' ? await startGateway(upstream) : await startFloor(name, upstream);
      const ask = name === 'gateway' ? row.toGateway : row.toProvider;
      await warmUp(program, requestBytes(ask('whole', false)), WARM_UP_CHATS);
      const startBytes = residentBytes(program.pid);
      const loads = [];
      for (let open = 0; open < streams; open += OPENED_AT_ONCE) loads.push(await loadStreams(program, requestBytes(ask('idle', true)), OPENED_AT_ONCE));
      await delay(SETTLED_MS);
      found.push({ program: name, streams, startBytes, streamBytes: (residentBytes(program.pid) - startBytes) / streams });
      for (const load of loads) load.stop();
      program.stop();
    }
  }
  return found;
}

export function renderMemory(found: readonly Memory[]): string {
  const rows = found.map(({ program, streams, startBytes, streamBytes }) => [
    `${program}, ${streams} idle streams`, (startBytes / 1e6).toFixed(0), (streamBytes / 1000).toFixed(1),
  ]);
  return `${renderTable([['resident memory', `MB after ${WARM_UP_CHATS} chats`, 'KB a stream more'], ...rows])}\n`;
}
