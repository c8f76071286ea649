/**
 * The README's tables, printed from the code. `node --import tsx test/readme.ts` writes them into the
 * README; readme.test.ts holds it to them.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { renderSettingsTable } from '../src/config/settings-page.ts';
import { REQUEST_FEATURES } from '../src/core/adapter.ts';
import type { Adapter } from '../src/core/adapter.ts';
import { FAILURE_KINDS } from '../src/core/failure.ts';
import { createMetrics } from '../src/metrics.ts';
import { compatRow, PROVIDER_ROWS } from '../src/providers/index.ts';
import { FAULTS } from '../src/sandbox/sandbox.ts';

const README = fileURLToPath(new URL('../README.md', import.meta.url));

export function readReadme(): string {
  return readFileSync(README, 'utf8');
}

/** The README with every table between its markers printed anew. */
export function withTables(readme: string): string {
  const tables: readonly (readonly [string, string])[] = [
    ['failures', failuresTable()],
    ['faults', faultsTable()],
    ['matrix', matrixTable()],
    ['settings', renderSettingsTable(PROVIDER_ROWS)],
    ['metrics', metricsTable()],
  ];
  return tables.reduce((text, [name, table]) => {
    const begin = `<!-- ${name} -->`;
    const end = `<!-- /${name} -->`;
    const from = text.indexOf(begin);
    const to = text.indexOf(end);
    if (from === -1 || to < from) throw new Error(`the README has no place for the table ${name}`);
    return `${text.slice(0, from + begin.length)}\n${table.trimEnd()}\n${text.slice(to)}`;
  }, readme);
}

function failuresTable(): string {
  const rows = Object.entries(FAILURE_KINDS).map(
    ([kind, row]) => `| \`${kind}\` | ${row.status} | ${row.isRetried ? 'yes' : 'no'} | ${row.meaning} |`,
  );
  return ['| kind | status | retried by the gateway | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function faultsTable(): string {
  const rows = Object.entries(FAULTS).map(([name, { meaning }]) => `| \`${name}\` | ${meaning} |`);
  return ['| model | what the fake provider does |', '|---|---|', ...rows].join('\n');
}

function matrixTable(): string {
  const columns = ['anthropic', 'openai', 'gemini'].map((name): [string, Adapter] => [name, adapterOf(name)]);
  columns.push(['compatible host', compatRow('compat').createAdapter('compat')]);
  const rows = REQUEST_FEATURES.map((feature) => {
    const cells = columns.map(([, adapter]) => `${adapter.support[feature].is}: ${adapter.support[feature].as}`);
    return `| ${feature} | ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return [`| field | ${columns.map(([name]) => name).join(' | ')} |`, `|---|${'---|'.repeat(columns.length)}`, ...rows].join('\n');
}

function metricsTable(): string {
  const { declarations } = createMetrics({ version: '', logLinesDropped: () => 0, upstreamSockets: () => 0 });
  const rows = declarations.map(
    ({ name, type, labelNames, help }) => `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  );
  return ['| name | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function adapterOf(name: string): Adapter {
  const row = PROVIDER_ROWS.find((candidate) => candidate.name === name);
  if (row === undefined) throw new Error(`no provider ${name}`);
  return row.createAdapter(name);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(README, withTables(readReadme()));
