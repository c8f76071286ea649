/** CPU time of a unit of work in several programs that are loaded at the same moment, so that what else the machine does hits all alike. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Load } from './load.ts';
import { cpuUs } from './programs.ts';
import type { Program } from './programs.ts';

export const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
export const ROUND_MS = Number(process.env['ROUND_MS'] ?? 2000);
const WARM_UP_MS = 1000;

export type Contestant = { readonly program: Program; readonly load: Load };

/** Microseconds a unit, by the programs' names, one figure a round. Ends the loads. */
export async function compare(contestants: readonly Contestant[], rounds: number, roundMs: number): Promise<ReadonlyMap<string, readonly number[]>> {
  const figures = new Map<string, number[]>(contestants.map(({ program }) => [program.name, []]));
  await delay(WARM_UP_MS);
  for (let round = 0; round < rounds; round += 1) {
    const before = contestants.map(read);
    await delay(roundMs);
    const after = contestants.map(read);
    contestants.forEach(({ program }, i) => {
      const [from, to] = [before[i], after[i]];
      if (from !== undefined && to !== undefined) figures.get(program.name)?.push((to.us - from.us) / (to.units - from.units));
    });
  }
  for (const { load } of contestants) load.stop();
  return figures;
}

function read({ program, load }: Contestant): { us: number; units: number } {
  return { us: cpuUs(program.pid), units: load.units() };
}

/** Round by round, how many times the other's figure. */
export function ratios(figures: readonly number[], others: readonly number[]): readonly number[] {
  return figures.map((figure, i) => figure / (others[i] ?? NaN));
}
