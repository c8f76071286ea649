/** What a program adds to an answer's way on one connection: to a chat, and to a stream's first token. */

import { ROUNDS } from './compare.ts';
import { quantile, renderTable, spread } from './figures.ts';
import { BareCaller, requestBytes, warmUp } from './load.ts';
import { startFloor, startGateway } from './programs.ts';
import type { Program } from './programs.ts';
import { ROWS } from './rows.ts';
import type { Row } from './rows.ts';

const CHATS_A_ROUND = 400;
const WARM_UP_CHATS = 4000;

/** Milliseconds, a figure a round. */
type Times = { readonly p50Ms: readonly number[]; readonly p99Ms: readonly number[] };
export type Latency = { readonly kind: string; readonly program: string } & Times;

/** The programs take turns, answer by answer; `direct` asks the upstream itself. */
export async function measureLatency(upstream: Program): Promise<readonly Latency[]> {
  const [row] = ROWS as readonly [Row];
  const gateway = await startGateway(upstream);
  const programs = [{ ...upstream, name: 'direct' }, await startFloor('bare', upstream), await startFloor('translating', upstream), gateway];
  const found: Latency[] = [];
  for (const [kind, model] of [['chat', 'whole'], ['first token', 'tokens-1']] as const) {
    const isStream = kind === 'first token';
    const asks = programs.map((program) => requestBytes((program === gateway ? row.toGateway : row.toProvider)(model, isStream)));
    for (const [i, program] of programs.entries()) await warmUp(program, asks[i] ?? Buffer.alloc(0), WARM_UP_CHATS);
    const callers = programs.map((program) => new BareCaller(program));
    const times = programs.map(() => ({ p50Ms: [] as number[], p99Ms: [] as number[] }));
    for (let round = 0; round < ROUNDS; round += 1) {
      const tookMs = programs.map((): number[] => []);
      for (let chat = 0; chat < CHATS_A_ROUND; chat += 1) {
        for (const [i, caller] of callers.entries()) {
          const startedAtMs = performance.now();
          const first = caller.first();
          const whole = caller.ask(asks[i] ?? Buffer.alloc(0));
          await first;
          tookMs[i]?.push(performance.now() - startedAtMs);
          await whole;
        }
      }
      for (const [i, { p50Ms, p99Ms }] of times.entries()) {
        p50Ms.push(quantile(tookMs[i] ?? [], 0.5));
        p99Ms.push(quantile(tookMs[i] ?? [], 0.99));
      }
    }
    for (const caller of callers) caller.close();
    for (const [i, { name }] of programs.entries()) found.push({ kind, program: name, ...(times[i] ?? { p50Ms: [], p99Ms: [] }) });
  }
  for (const program of programs.slice(1)) program.stop();
  return found;
}

export function renderLatency(found: readonly Latency[]): string {
  const rows = found.map(({ kind, program, p50Ms, p99Ms }) => {
    const direct = found.find((other) => other.kind === kind && other.program === 'direct');
    const translating = found.find((other) => other.kind === kind && other.program === 'translating');
    const [p50, p99] = [spread(p50Ms).median, spread(p99Ms).median];
    return [
      `${kind}, ${program}`, p50.toFixed(2), (p50 - spread(direct?.p50Ms ?? []).median).toFixed(2), (p50 / spread(translating?.p50Ms ?? []).median).toFixed(2),
      p99.toFixed(2), (p99 - spread(direct?.p99Ms ?? []).median).toFixed(2), (p99 / spread(translating?.p99Ms ?? []).median).toFixed(2),
    ];
  });
  const head = ['ms on one connection', 'p50', 'added', '× translating', 'p99', 'added', '× translating'];
  return `${renderTable([head, ...rows])}\n`;
}
