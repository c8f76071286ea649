/**
 * A route of two targets on traces of outages, hangs and limits: the gateway's own loop, health, keys and budgets on a virtual
 * clock, and models of how others do it. `make simulate` prints the table of src/routing/README.md and writes it there.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Failure } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import { askRoute, createSubject, fakeProvider, fakeRoute, fakeTarget, request, VirtualClock } from './virtual.ts';
import { POLICIES } from './policies.ts';
import type { Policy } from './policies.ts';
import { TRACES, World } from './world.ts';
import type { Name, Times, Trace } from './world.ts';

/** How long an attempt may take. */
const ATTEMPT_MS = 10_000;
/** Traffic counts as back when of those who come within so many seconds nine tenths are served by A. */
const BACK_S = 5;

const HUNG = new Failure('unknown', 'no answer', { limit: 'GATEWAY_ATTEMPT_TIMEOUT' });

export type Figures = {
  readonly goodShare: number;
  readonly callsPerRequest: number;
  readonly callsOnAPerRequest: number;
  readonly p50S: number;
  readonly p99S: number;
  /** Until nine tenths of the traffic are back on A, after the fault; Infinity = never in this trace. */
  readonly backS: number;
  /** Most calls on A in any second after the fault. */
  readonly peakOnA: number;
};

type Seen = { readonly atS: number; tookS: number; isGood: boolean; by: Name | undefined; calls: number; callsOnA: number };

export type Run = { readonly trace: Trace; readonly times: Times; readonly rate: number; readonly seed: number };

/** One call as a policy makes it: good, failed, or hung until its limit or the end of its exchange. */
function callOf(world: World, seen: Seen, name: Name, scope: Scope, callsOnA: number[]): Promise<'good' | Failure> {
  seen.calls += 1;
  if (name === 'a') {
    seen.callsOnA += 1;
    callsOnA.push(world.nowS);
  }
  const { afterMs, result } = world.answer(name);
  return world.clock.answer(scope, Math.min(afterMs, ATTEMPT_MS), afterMs > ATTEMPT_MS ? HUNG : result);
}

/** The gateway's own loop. */
function simulateOurs(run: Run, hedgeAfterMs: number | undefined): Promise<Figures> {
  const providers = new Map(['a', 'b'].map((name) => [name, fakeProvider(name)]));
  const ask = askRoute(fakeRoute([fakeTarget('a/m'), fakeTarget('b/m')], { hedgeAfterMs }), providers);
  return simulate(run, (world, callsOnA) => {
    const subject = createSubject(world.clock, { attemptTimeoutMs: ATTEMPT_MS });
    return async (seen) => {
      const { outcome } = request(subject, ask, async ({ candidate, scope, entry }) => {
        const name = candidate.provider.name as Name;
        const result = await callOf(world, seen, name, scope, callsOnA);
        if (result === 'good' && entry?.claim() !== false) seen.by = name;
        return result;
      }, { isStream: true });
      return !((await outcome).result instanceof Failure);
    };
  });
}

function simulateOthers(run: Run, policy: Policy): Promise<Figures> {
  return simulate(run, (world, callsOnA) => {
    const serve = policy(world);
    return (seen) =>
      serve(async (name) => {
        const result = await callOf(world, seen, name, new Scope(), callsOnA);
        if (result === 'good') seen.by = name;
        return result;
      });
  });
}

async function simulate(
  { trace, times, rate, seed }: Run,
  create: (world: World, callsOnA: number[]) => (seen: Seen) => Promise<boolean>,
): Promise<Figures> {
  const clock = new VirtualClock(seed);
  const world = new World(clock, trace, times, seed);
  const callsOnA: number[] = [];
  const serve = create(world, callsOnA);
  const all: Seen[] = [];
  const startMs = clock.nowMs;
  const arrive = (): void => {
    const seen: Seen = { atS: world.nowS, tookS: 0, isGood: false, by: undefined, calls: 0, callsOnA: 0 };
    all.push(seen);
    void serve(seen).then((isGood) => {
      seen.isGood = isGood;
      seen.tookS = world.nowS - seen.atS;
    });
    const nextMs = (-Math.log(1 - world.random()) / rate) * 1000;
    if (clock.nowMs - startMs + nextMs < times.lastS * 1000) clock.after(nextMs, arrive);
  };
  arrive();
  await clock.run();
  return figuresOf(all, callsOnA, times);
}

function figuresOf(all: readonly Seen[], callsOnA: readonly number[], { beginS, endS, lastS }: Times): Figures {
  const during = all.filter(({ atS }) => atS >= beginS && atS < endS);
  const sum = (of: (seen: Seen) => number): number => during.reduce((total, seen) => total + of(seen), 0) / during.length;
  const took = during.map(({ tookS }) => tookS).sort((x, y) => x - y);
  const percentile = (share: number): number => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? NaN;
  let backS = Infinity;
  for (let second = 0; backS === Infinity && endS + second + BACK_S <= lastS; second += 1) {
    const window = all.filter(({ atS }) => atS >= endS + second && atS < endS + second + BACK_S);
    if (window.length > 0 && window.filter(({ by }) => by === 'a').length >= 0.9 * window.length) backS = second;
  }
  const bySecond = new Map<number, number>();
  for (const atS of callsOnA) if (atS >= endS) bySecond.set(Math.floor(atS), (bySecond.get(Math.floor(atS)) ?? 0) + 1);
  return {
    goodShare: sum(({ isGood }) => (isGood ? 1 : 0)),
    callsPerRequest: sum(({ calls }) => calls),
    callsOnAPerRequest: sum((seen) => seen.callsOnA),
    p50S: percentile(0.5),
    p99S: percentile(0.99),
    backS,
    peakOnA: Math.max(0, ...bySecond.values()),
  };
}

export function simulateOurLoop(run: Run, options: { readonly hedgeAfterMs?: number } = {}): Promise<Figures> {
  return simulateOurs(run, options.hedgeAfterMs);
}

/** As long as the figures of the page are from. */
export const LONG: Times = { beginS: 60, endS: 180, lastS: 300 };
const SEEDS = [1, 2, 3];
const RATE = 20;

async function averaged(one: (seed: number) => Promise<Figures>): Promise<string> {
  const figures: Figures[] = [];
  for (const seed of SEEDS) figures.push(await one(seed));
  const mean = (of: (figure: Figures) => number): number => figures.reduce((sum, figure) => sum + of(figure), 0) / figures.length;
  const short = (value: number): string => (value >= 9.95 ? value.toFixed(0) : value.toFixed(1));
  const back = mean(({ backS }) => backS);
  return [
    `${(mean(({ goodShare }) => goodShare) * 100).toFixed(1).replace(/\.0$/, '')}`,
    mean(({ callsPerRequest }) => callsPerRequest).toFixed(2),
    mean(({ callsOnAPerRequest }) => callsOnAPerRequest).toFixed(2),
    short(mean(({ p50S }) => p50S)),
    short(mean(({ p99S }) => p99S)),
    back === Infinity ? '–' : back.toFixed(0),
  ].join(' / ');
}

/** The table of the page. */
async function renderTable(): Promise<string> {
  const rows: string[] = [];
  for (const trace of Object.values(TRACES)) {
    const cells = [
      await averaged((seed) => simulateOurLoop({ trace, times: LONG, rate: RATE, seed })),
      await averaged((seed) => simulateOurLoop({ trace, times: LONG, rate: RATE, seed }, { hedgeAfterMs: 2000 })),
    ];
    for (const policy of Object.values(POLICIES)) cells.push(await averaged((seed) => simulateOthers({ trace, times: LONG, rate: RATE, seed }, policy)));
    rows.push(`| ${trace.name} | ${cells.join(' | ')} |`);
  }
  const columns = ['trace', 'this gateway', 'with `hedge_after` 2 s', ...Object.keys(POLICIES)];
  return [`| ${columns.join(' | ')} |`, `|${'---|'.repeat(columns.length)}`, ...rows].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const table = await renderTable();
  const page = new URL('../../src/routing/README.md', import.meta.url);
  writeFileSync(page, readFileSync(page, 'utf8').replace(/(<!-- simulated -->\n)[^]*(?=<!-- \/simulated -->)/, (_all, begin: string) => `${begin}${table}\n`));
  process.stdout.write(`${table}\n`);
}
