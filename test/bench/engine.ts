/**
 * What limits in an engine cost, and what its faults cost: `node --import tsx test/bench/engine.ts`, where a redis-server or
 * valkey-server is installed. CPU time is this process's, the engine's own apart; waits are of callers.
 */

import type { CallerLimits } from '../../src/core/route.ts';
import type { EngineStore } from '../../src/limits/engine.ts';
import { createStore, Happenings, startRealEngine } from '../limits/engines.ts';
import type { RealEngine } from '../limits/engines.ts';
import { quantile, renderTable } from './figures.ts';

const LIMITS: CallerLimits = { requestsPerMinute: 1e9, tokensPerMinute: 1e12, tokensPerDay: 1e14, concurrent: 1e6 };
const CASE_MS = 1500;
/** After a fault, for so long a caller comes each millisecond. */
const FAULT_MS = 400;

const after: (() => unknown)[] = [];
// The part of a test's surroundings that engines and stores use.
const t = { after: (end: () => unknown) => void after.push(end) } as Parameters<typeof startRealEngine>[0];

const engine = await startRealEngine(t);
await showCosts();
await showFaults();
for (const end of after.reverse()) await end();

async function showCosts(): Promise<void> {
  const rows: string[][] = [];
  for (const inFlight of [1, 8, 64]) {
    const { store, up } = createStore(t, engine.address);
    await up();
    const waits: number[] = [];
    const endAtMs = performance.now() + CASE_MS;
    const before = process.cpuUsage();
    const caller = async (name: number): Promise<void> => {
      for (let count = 0; performance.now() < endAtMs; count += 1) {
        waits.push(await takeAndSettle(store, `${name}.${count}`));
        await new Promise(setImmediate);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, (_, name) => caller(name)));
    const { user, system } = process.cpuUsage(before);
    rows.push([String(inFlight), ((user + system) / waits.length).toFixed(1), quantile(waits, 0.5).toFixed(2), quantile(waits, 0.99).toFixed(2)]);
    store.close();
  }
  process.stdout.write(`${renderTable([['callers at once', 'µs of CPU a request', 'wait p50, ms', 'p99'], ...rows])}\n`);
}

/** How long the caller waited for its decision. */
async function takeAndSettle(store: EngineStore, lease: string): Promise<number> {
  const charge = { caller: 'ann', limits: LIMITS, tokens: 100, lease };
  const startedAtMs = performance.now();
  const decision = store.take(charge);
  if (decision instanceof Promise) await decision;
  const waitMs = performance.now() - startedAtMs;
  store.settle(charge, 17);
  return waitMs;
}

async function showFaults(): Promise<void> {
  const faults: readonly (readonly [name: string, begin: (of: RealEngine) => unknown, end: (of: RealEngine) => unknown])[] = [
    ['stopped (SIGSTOP)', (of) => of.signal('SIGSTOP'), (of) => of.signal('SIGCONT')],
    ['killed', (of) => of.stop(), (of) => of.start()],
    ['read-only', (of) => of.ask(`REPLICAOF 127.0.0.1 ${of.port}`), (of) => of.ask('REPLICAOF NO ONE')],
    ['full', (of) => of.ask('CONFIG SET maxmemory 1'), (of) => of.ask('CONFIG SET maxmemory 0')],
    ['scripts flushed', (of) => of.ask('SCRIPT FLUSH'), () => undefined],
    ['all flushed', (of) => of.ask('FLUSHALL'), () => undefined],
  ];
  const rows: string[][] = [];
  for (const [name, begin, end] of faults) {
    const { store, lines, failures, up } = createStore(t, engine.address, { timings: { answerMs: 50, connectMs: 1000, outMs: 1000 } });
    await up();
    await takeAndSettle(store, 'first');
    const waits = new Happenings<number>();
    const begun = Promise.resolve(begin(engine));
    const endAtMs = performance.now() + FAULT_MS;
    for (let count = 0; performance.now() < endAtMs; count += 1) {
      waits.add(await takeAndSettle(store, `${name} ${count}`));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await begun;
    const sorted = [...waits.all].sort((a, b) => b - a);
    await end(engine);
    const mendedAtMs = performance.now();
    await up();
    const backMs = performance.now() - mendedAtMs;
    rows.push([name, ...sorted.slice(0, 3).map((ms) => ms.toFixed(1)), quantile(sorted, 0.5).toFixed(3), String(failures.all.length), String(lines.all.length), backMs.toFixed(0)]);
    store.close();
  }
  process.stdout.write(`${renderTable([['fault', 'longest wait, ms', 'second', 'third', 'p50', 'failures', 'lines', 'back after, ms'], ...rows])}\n`);
}
