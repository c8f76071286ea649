/** From starting a process to its first answer. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ratios, ROUNDS } from './compare.ts';
import { renderSpread, renderTable, spread } from './figures.ts';
import { askHealth, cpuUs, here, startFloor, startGateway } from './programs.ts';
import type { Program } from './programs.ts';

/** The last where Node has one. */
const CACHED = 'gateway, compile cache';
const NAMES: readonly string[] = ['bare', 'translating', 'gateway', ...('enableCompileCache' in nodeModule ? [CACHED] : [])];

/** A figure a round. CPU time is what a busy machine does not prolong. */
export type Start = { readonly program: string; readonly ms: readonly number[]; readonly cpuMs: readonly number[] };

export async function measureStart(upstream: Program): Promise<readonly Start[]> {
  const found = NAMES.map((program) => ({ program, ms: [] as number[], cpuMs: [] as number[] }));
  const NODE_COMPILE_CACHE = mkdtempSync(join(tmpdir(), 'compiled-'));
  // Node writes what it compiled when it ends by itself.
  execFileSync(process.execPath, [here('../../dist/main.js'), '--version'], { env: { NODE_COMPILE_CACHE } });
  const start = (name: string): Promise<Program> => {
    if (name === 'bare' || name === 'translating') return startFloor(name, upstream);
    return startGateway(upstream, [], name === CACHED ? { NODE_COMPILE_CACHE } : {});
  };
  for (let round = 0; round < 2 * ROUNDS + 1; round += 1) {
    for (const { program: name, ms, cpuMs } of found) {
      const startedAtMs = performance.now();
      const program = await start(name);
      await askHealth(program);
      // The first may find nothing in the system's caches.
      if (round > 0) {
        ms.push(performance.now() - startedAtMs);
        cpuMs.push(cpuUs(program.pid) / 1000);
      }
      program.stop();
    }
  }
  rmSync(NODE_COMPILE_CACHE, { recursive: true });
  return found;
}

export function renderStart(found: readonly Start[]): string {
  const [bare] = found;
  const rows = found.map(({ program, ms, cpuMs }) => [
    program, spread(ms).median.toFixed(0), renderSpread(spread(ratios(ms, bare?.ms ?? []))), spread(cpuMs).median.toFixed(0), renderSpread(spread(ratios(cpuMs, bare?.cpuMs ?? []))),
  ]);
  return `${renderTable([['start to the first /healthz', 'ms', '× bare', 'ms of CPU', '× bare'], ...rows])}\n`;
}
