/**
 * Whether the gateway has become dearer: its costs as ratios to the translating floor, beside those that the repository
 * keeps. `make bench-check` exits with 1 where one is more than a quarter above. SHORT=1 measures two dialects briefly and
 * only reports, for machines that are shared; UPDATE=1 keeps what was measured.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { ratios } from './compare.ts';
import { BRIEF, isSteady, measureCosts } from './costs.ts';
import { renderSpread, renderTable, spread } from './figures.ts';
import { here, startUpstream } from './programs.ts';
import { ROWS } from './rows.ts';

const KEPT = here('ratios.json');
const ABOVE_MAX = 1.25;
const SHORT_ROWS = ['native to chat', 'messages to chat'];

const isShort = process.env['SHORT'] === '1';
const kept = JSON.parse(readFileSync(KEPT, 'utf8')) as Readonly<Record<string, number>>;
const upstream = await startUpstream();
const extent = isShort ? BRIEF : undefined;
const itself = await isSteady(upstream, extent);
process.stdout.write(`A floor beside itself: ${itself.text}.\n\n`);
const costs = await measureCosts(upstream, ROWS.filter(({ name }) => !isShort || SHORT_ROWS.includes(name)), extent);

const measured = new Map(costs.map(({ kind, row, us }) => [`${row}: a ${kind}`, spread(ratios(us['gateway'] ?? [], us['translating'] ?? []))]));
const rows = [...measured].map(([name, now]) => {
  const before = kept[name];
  const change = before === undefined ? undefined : now.median / before;
  return { cells: [name, before?.toFixed(2) ?? '', renderSpread(now), change?.toFixed(2) ?? 'new'], isAbove: change !== undefined && change > ABOVE_MAX };
});
process.stdout.write(renderTable([['× translating', 'kept', 'measured', 'change'], ...rows.map(({ cells, isAbove }) => [...cells.slice(0, 3), `${cells[3]}${isAbove ? ' !' : ''}`])]));
if (process.env['UPDATE'] === '1') {
  const next = { ...kept, ...Object.fromEntries([...measured].map(([name, { median }]) => [name, Number(median.toFixed(2))])) };
  writeFileSync(KEPT, `${JSON.stringify(next, undefined, 2)}\n`);
} else if (!isShort) {
  // What a machine that is busy with other things says proves nothing, in either direction.
  if (!itself.isSteady) process.stdout.write('\nThe machine is too busy for a verdict.\n');
  else if (rows.some(({ isAbove }) => isAbove)) process.exitCode = 1;
}
process.exit();
