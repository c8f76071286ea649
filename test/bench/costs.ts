/** CPU time of a chat and of a token, in every dialect, beside the floors on the same bytes. */

import { accessSync, constants } from 'node:fs';
import { compare, ratios, ROUND_MS, ROUNDS } from './compare.ts';
import type { Contestant } from './compare.ts';
import { quantile, renderSpread, renderTable, spread } from './figures.ts';
import { loadChats, loadStreams, requestBytes, warmUp } from './load.ts';
import { startNginx } from './nginx.ts';
import { startFloor, startGateway } from './programs.ts';
import type { Program } from './programs.ts';
import { ROWS } from './rows.ts';
import type { Ask, Row } from './rows.ts';

const STEADY_SHARE = 0.05;

/** What the upstream is asked by the model's name, and what is counted. */
export const KINDS = { chat: 'whole', 'token, ten to a write': 'steady-10', 'token, one to a write': 'steady-1' } as const;
export type Kind = keyof typeof KINDS;

/** Microseconds of CPU each, a figure a round, by program. */
export type Cost = { readonly kind: Kind; readonly row: string; readonly us: Readonly<Record<string, readonly number[]>> };

/** How much is measured. */
export type Extent = {
  readonly kinds: readonly Kind[];
  /** Each program's, before the first measurement of a row. */
  readonly warmUpChats: number;
  readonly rounds: number;
  readonly roundMs: number;
  /** How often a floor is measured beside itself until it comes out alike. */
  readonly steadyTries: number;
};

const WHOLE: Extent = { kinds: Object.keys(KINDS) as Kind[], warmUpChats: 8000, rounds: ROUNDS, roundMs: ROUND_MS, steadyTries: 3 };
/** Half a minute for two rows. Its medians come within a tenth of the whole's, with wider ranges. */
export const BRIEF: Extent = { kinds: ['chat', 'token, ten to a write'], warmUpChats: 4000, rounds: 5, roundMs: 600, steadyTries: 1 };

type Subject = { readonly program: Program; readonly askOf: (model: string, isStream: boolean) => Buffer };

/** Whether two processes of one program come out alike: what else a machine does can hit one of the two. */
export async function isSteady(upstream: Program, extent = WHOLE): Promise<{ isSteady: boolean; text: string; ratios: readonly number[] }> {
  const floors = [await startFloor('bare', upstream), { ...(await startFloor('bare', upstream)), name: 'again' }];
  const [row] = ROWS as readonly [Row];
  const subjects = floors.map((program) => ({ program, askOf: bytesOf(row.toProvider) }));
  let found: readonly number[] = [];
  for (let tries = 0; tries < extent.steadyTries; tries += 1) {
    const us = await measure(subjects, 'chat', extent);
    found = ratios(us['again'] ?? [], us['bare'] ?? []);
    if (Math.abs(quantile(found, 0.5) - 1) <= STEADY_SHARE) break;
  }
  for (const program of floors) program.stop();
  return { isSteady: Math.abs(quantile(found, 0.5) - 1) <= STEADY_SHARE, text: renderSpread(spread(found)), ratios: found };
}

export async function measureCosts(upstream: Program, rows = chosenRows(), extent = WHOLE): Promise<readonly Cost[]> {
  const floors = [await startFloor('bare', upstream), await startFloor('translating', upstream)];
  const nginx = hasNginx() ? await startNginx(upstream) : undefined;
  if (nginx !== undefined) floors.push(nginx);
  const costs: Cost[] = [];
  for (const row of rows) {
    const gateway = await startGateway(upstream);
    const subjects: Subject[] = floors.map((program) => ({ program, askOf: bytesOf(row.toProvider) }));
    subjects.push({ program: gateway, askOf: bytesOf(row.toGateway) });
    if (row === ROWS[0]) subjects.push(...peers());
    for (const kind of extent.kinds) costs.push({ kind, row: row.name, us: await measure(subjects, kind, extent) });
    gateway.stop();
  }
  for (const program of floors) program.stop();
  return costs;
}

function chosenRows(): readonly Row[] {
  const only = new RegExp(process.env['ROWS'] ?? '');
  return ROWS.filter(({ name }) => only.test(name));
}

function bytesOf(askOf: (model: string, isStream: boolean) => Ask): Subject['askOf'] {
  return (model, isStream) => requestBytes(askOf(model, isStream));
}

/** A peer in OpenAI's format, where one runs. The model's name is put before the one that the upstream knows. */
function peers(): readonly Subject[] {
  const { PEER, PEER_PID, PEER_TOKEN, PEER_MODEL = '' } = process.env;
  if (PEER === undefined) return [];
  const { hostname, port, pathname } = new URL(PEER);
  const program: Program = { name: 'peer', pid: Number(PEER_PID), host: hostname, port: Number(port), child: undefined, stop: () => undefined };
  const askOf = (model: string, stream: boolean): Buffer => {
    const body = JSON.stringify({ model: PEER_MODEL + model, stream, messages: [{ role: 'user', content: 'A question of usual length.' }] });
    return requestBytes({ path: pathname, body }, PEER_TOKEN);
  };
  return [{ program, askOf }];
}

async function measure(subjects: readonly Subject[], kind: Kind, { warmUpChats, rounds, roundMs }: Extent): Promise<Cost['us']> {
  const model = KINDS[kind];
  const contestants: Contestant[] = [];
  for (const { program, askOf } of subjects) {
    if (kind === 'chat') await warmUp(program, askOf(model, false), warmUpChats);
    contestants.push({ program, load: kind === 'chat' ? loadChats(program, askOf(model, false)) : await loadStreams(program, askOf(model, true)) });
  }
  return Object.fromEntries(await compare(contestants, rounds, roundMs));
}

function hasNginx(): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => {
    try {
      accessSync(`${folder}/nginx`, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function renderCosts(costs: readonly Cost[]): string {
  let text = 'CPU time of one, in µs, and its ratio: median (range) of the rounds. All programs of a line were loaded at once.\n\n';
  for (const kind of Object.keys(KINDS)) {
    const rows = costs.filter((cost) => cost.kind === kind);
    const others = Object.keys(rows[0]?.us ?? {}).filter((name) => !['bare', 'translating', 'gateway'].includes(name));
    const head = [`a ${kind}`, 'bare', 'translating', '× bare', 'gateway', '× bare', '× translating', 'a second of CPU', ...others.map((name) => `${name} × bare`)];
    text += `${renderTable([head, ...rows.map((cost) => cells(cost, others))])}\n`;
  }
  return text;
}

function cells({ row, us }: Cost, others: readonly string[]): readonly string[] {
  const { bare = [], translating = [], gateway = [] } = us;
  const median = (figures: readonly number[]): string => spread(figures).median.toFixed(1);
  const ratio = (figures: readonly number[], floor: readonly number[]): string => renderSpread(spread(ratios(figures, floor)));
  const ofOthers = others.map((name) => (us[name] === undefined ? '' : ratio(us[name], bare)));
  return [
    row, median(bare), median(translating), ratio(translating, bare), median(gateway), ratio(gateway, bare), ratio(gateway, translating),
    (1e6 / spread(gateway).median).toFixed(0), ...ofOthers,
  ];
}
