/**
 * What a second worker brings. The load and the upstream need processors too, so that chats a second say less the fewer there
 * are; how many the busiest process could serve with a core of its own is told from CPU time.
 */

import { renderTable } from './figures.ts';
import { BareCaller, requestBytes, warmUp } from './load.ts';
import { childrenOf, cpuUs, startGateway } from './programs.ts';
import type { Program } from './programs.ts';
import { ROWS } from './rows.ts';
import type { Row } from './rows.ts';

const CALLERS = 32;
const ROUND_MS = 3000;
const ROUNDS = 3;
const WARM_UP_CHATS = 4000;

/** Of the best round. */
export type Throughput = {
  readonly name: string;
  readonly workers: number;
  readonly chatsPerSecond: number;
  /** CPU time of all processes for a chat. */
  readonly us: number;
  /** Chats for each second that the busiest process computed. */
  readonly chatsPerBusySecond: number;
};

export async function measureWorkers(upstream: Program): Promise<readonly Throughput[]> {
  const [row] = ROWS as readonly [Row];
  const turns = Array.from({ length: 201 }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', text: `Turn ${i}. ${'Some words. '.repeat(20)}` }));
  const chats = [
    { name: 'small chats', request: requestBytes(row.toGateway('whole', false)) },
    { name: 'chats of 200 turns', request: requestBytes({ path: '/v1/chat', body: JSON.stringify({ provider: 'compat', model: 'whole', messages: turns }) }) },
  ];
  const found: Throughput[] = [];
  const gateways = [
    { workers: 1, gateway: await startGateway(upstream, [], { GATEWAY_WORKERS: '1' }) },
    { workers: 2, gateway: await startGateway(upstream, [], { GATEWAY_WORKERS: '2' }) },
  ];
  for (const { name, request } of chats) {
    for (const { workers, gateway } of gateways) await warmUp(gateway, request, WARM_UP_CHATS * workers);
    // In turn, so that whatever else the machine does is in both.
    const rounds: Throughput[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { workers, gateway } of gateways) rounds.push({ name, workers, ...(await measureRound(gateway, request)) });
    }
    for (const { workers } of gateways) {
      found.push(rounds.filter((each) => each.workers === workers).reduce((best, each) => (each.chatsPerBusySecond > best.chatsPerBusySecond ? each : best)));
    }
  }
  for (const { gateway } of gateways) gateway.stop();
  return found;
}

async function measureRound(gateway: Program, request: Buffer): Promise<Omit<Throughput, 'name' | 'workers'>> {
  const pids = [gateway.pid, ...childrenOf(gateway.pid)];
  const ownUs = (pid: number): number => childrenOf(pid).reduce((us, child) => us - cpuUs(child), cpuUs(pid));
  const before = pids.map(ownUs);
  const startedAtMs = performance.now();
  let count = 0;
  await Promise.all(Array.from({ length: CALLERS }, async () => {
    const caller = new BareCaller(gateway);
    while (performance.now() - startedAtMs < ROUND_MS) {
      await caller.ask(request);
      count += 1;
    }
    caller.close();
  }));
  const seconds = (performance.now() - startedAtMs) / 1000;
  const usedUs = pids.map((pid, index) => ownUs(pid) - (before[index] ?? 0));
  const sumUs = usedUs.reduce((sum, us) => sum + us, 0);
  return { chatsPerSecond: count / seconds, us: sumUs / count, chatsPerBusySecond: count / (Math.max(...usedUs) / 1e6) };
}

export function renderWorkers(found: readonly Throughput[]): string {
  const rows = found.map((each) => {
    const one = found.find(({ name, workers }) => name === each.name && workers === 1) ?? each;
    const ratio = (of: (throughput: Throughput) => number): string => `${(of(each) / of(one)).toFixed(2)}×`;
    return [
      `${each.name}, ${each.workers === 1 ? 'one worker' : `${each.workers} workers`}`,
      each.chatsPerSecond.toFixed(0), ratio((throughput) => throughput.chatsPerSecond),
      each.us.toFixed(0),
      each.chatsPerBusySecond.toFixed(0), ratio((throughput) => throughput.chatsPerBusySecond),
    ];
  });
  return `Workers\n${renderTable([['', 'chats/s', '', 'µs a chat', 'chats/s of the busiest process on a core of its own', ''], ...rows])}\n`;
}
