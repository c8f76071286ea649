/** From starting a process to its first answer. */

import { ROUNDS } from './compare.ts';
import { ratios } from './compare.ts';
import { renderSpread, renderTable, spread } from './figures.ts';
import { askHealth, cpuUs, startFloor, startGateway } from './programs.ts';
import type { Program } from './programs.ts';

const NAMES = ['bare', 'translating', 'gateway'] as const;

/** A figure a round. CPU time is what a busy machine does not prolong. */
export type Start = { readonly program: string; readonly ms: readonly number[]; readonly cpuMs: readonly number[] };

export async function measureStart(upstream: Program): Promise<readonly Start[]> {
  const found = NAMES.map((program) => ({ program, ms: [] as number[], cpuMs: [] as number[] }));
  for (let round = 0; round < 2 * ROUNDS + 1; round += 1) {
    for (const { program: name, ms, cpuMs } of found) {
      const startedAtMs = performance.now();
      const program = name === 'gateway' ? await startGateway(upstream) : await startFloor(name, upstream);
      await askHealth(program);
      // The first may find nothing in the system's caches.
      if (round > 0) {
        ms.push(performance.now() - startedAtMs);
        cpuMs.push(cpuUs(program.pid) / 1000);
      }
      program.stop();
    }
  }
  return found;
}

export function renderStart(found: readonly Start[]): string {
  const [bare] = found;
  const rows = found.map(({ program, ms, cpuMs }) => [
    program, spread(ms).median.toFixed(0), renderSpread(spread(ratios(ms, bare?.ms ?? []))), spread(cpuMs).median.toFixed(0), renderSpread(spread(ratios(cpuMs, bare?.cpuMs ?? []))),
  ]);
  return `${renderTable([['start to the first /healthz', 'ms', '× bare', 'ms of CPU', '× bare'], ...rows])}\n`;
}
