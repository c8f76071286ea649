/**
 * The documents: the README and the rooms' own pages. `node --import tsx test/readme.ts` prints their tables from the code
 * anew; readme.test.ts holds them to it.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MESSAGES_FIELDS } from '../src/callers/anthropic/fields.ts';
import { failureBody } from '../src/callers/anthropic/failure.ts';
import type { FieldRule, FieldTable } from '../src/callers/field-table.ts';
import { DIALECTS } from '../src/callers/index.ts';
import { CHAT_FIELDS } from '../src/callers/openai-chat/fields.ts';
import { errorObject } from '../src/callers/openai-common/failure.ts';
import { RESPONSES_FIELDS } from '../src/callers/openai-responses/fields.ts';
import { REQUEST_FEATURES } from '../src/core/adapter.ts';
import type { Adapter, RequestFeature } from '../src/core/adapter.ts';
import { Failure, FAILURE_KINDS } from '../src/core/failure.ts';
import type { FailureKind } from '../src/core/failure.ts';
import { createMetrics } from '../src/metrics.ts';
import { renderQuestions } from '../src/operate/questions.ts';
import { compatRow, PROVIDER_ROWS } from '../src/providers/index.ts';
import { MOVES } from '../src/routing/moves.ts';
import { FAULTS, MODELS } from '../src/sandbox/index.ts';
import { CLIENTS, reasonsOf } from './clients/sdks/clients.ts';
import type { Case, Client } from './clients/sdks/clients.ts';
import { OPTION_TYPES, renderOptionTypes } from './config/option-types.ts';
import { renderSettingsTable } from './config/settings-table.ts';
import { files, purposeOf, ROOMS, sizeOfGateway, sizeOfRoom, sizeOfTests, touchedByFile } from './house.ts';
import type { Size } from './house.ts';

const ROOT = new URL('../', import.meta.url);

const TABLES = {
  size: sizeSentence,
  house: houseTable,
  capabilities: capabilitiesTable,
  formats: formatsTable,
  failures: failuresTable,
  'dialect-failures': dialectFailuresTable,
  clients: clientsTable,
  'chat-fields': () => fieldsTable(CHAT_FIELDS),
  'responses-fields': () => fieldsTable(RESPONSES_FIELDS),
  'messages-fields': () => fieldsTable(MESSAGES_FIELDS),
  models: () => namesTable(MODELS),
  faults: () => namesTable(FAULTS),
  matrix: matrixTable,
  moves: movesTable,
  hosts: hostsTable,
  settings: () => renderSettingsTable(PROVIDER_ROWS),
  metrics: metricsTable,
  questions: () => `\`\`\`promql\n${renderQuestions()}\`\`\``,
} satisfies Readonly<Record<string, () => string>>;

/** Every page, from the project's root, and the tables that it holds. */
export const PAGES: Readonly<Record<string, readonly (keyof typeof TABLES)[]>> = {
  'README.md': ['size', 'house'],
  '.github/SECURITY.md': ['capabilities'],
  'src/README.md': ['metrics', 'questions'],
  'src/callers/README.md': ['formats', 'dialect-failures', 'clients'],
  'src/callers/anthropic/README.md': ['messages-fields'],
  'src/callers/native/README.md': ['failures'],
  'src/callers/openai-chat/README.md': ['chat-fields'],
  'src/callers/openai-responses/README.md': ['responses-fields'],
  'src/config/README.md': ['settings'],
  'src/embedded/README.md': [],
  'src/http/README.md': [],
  'src/limits/README.md': [],
  'src/providers/README.md': ['matrix', 'hosts'],
  'src/routing/README.md': ['moves'],
  'src/sandbox/README.md': ['models', 'faults'],
  'src/upstream/README.md': [],
  'src/workers/README.md': [],
};

export function readPage(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

export type Block = { readonly language: string; readonly text: string; readonly line: number };

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map((match) => ({
    language: match[1] ?? '',
    text: match[2] ?? '',
    line: page.slice(0, match.index).split('\n').length,
  }));
}

/** A page with every table between its markers printed anew. */
export function withTables(path: string): string {
  return (PAGES[path] ?? []).reduce((text, name) => {
    const begin = `<!-- ${name} -->`;
    const end = `<!-- /${name} -->`;
    const from = text.indexOf(begin);
    const to = text.indexOf(end);
    if (from === -1 || to < from) throw new Error(`${path} has no place for the table ${name}`);
    return `${text.slice(0, from + begin.length)}\n${TABLES[name]().trimEnd()}\n${text.slice(to)}`;
  }, readPage(path));
}

function thousands(count: number): string {
  return String(count).replace(/(?<=\d)(?=(\d{3})+$)/g, ',');
}

function sizeSentence(): string {
  const { code, comments } = sizeOfGateway();
  return `${thousands(code)} lines of code and ${thousands(comments)} of comments are all that runs; ${roundTests().code} lines of tests check what these pages say.`;
}

/** To the nearest thousand: every test that is added would change the README otherwise. */
function roundTests(): { readonly code: string; readonly comments: string } {
  const { code, comments } = sizeOfTests();
  const rounded = (lines: number): string => `about ${thousands(Math.round(lines / 1000) * 1000)}`;
  return { code: rounded(code), comments: rounded(comments) };
}

function houseTable(): string {
  const row = (name: string, is: string, touches: string, { code, comments }: Size): string =>
    `| ${name} | ${is} | ${touches} | ${thousands(code)} | ${thousands(comments)} |`;
  const rowsOf = (isBeside: boolean): string[] =>
    Object.entries(ROOMS)
      .filter(([, room]) => (room.isBeside === true) === isBeside)
      .map(([room, { is, touches }]) => row(`\`${room.endsWith('.ts') ? room : `${room}/`}\``, is, touches.join(', '), sizeOfRoom(room)));
  return [
    '| room | what is in it | touches | code | comments |',
    '|---|---|---|---|---|',
    ...rowsOf(false),
    row('**the gateway**', '', '', sizeOfGateway()),
    ...rowsOf(true),
    `| \`test/\` | not in the package | | ${roundTests().code} | ${roundTests().comments} |`,
  ].join('\n');
}

/** The files that touch anything; those that no gateway needs to serve come last. */
function capabilitiesTable(): string {
  const rowsOf = (isBeside: boolean): string[] =>
    files
      .filter((file) => (ROOMS[file.room]?.isBeside === true) === isBeside && touchedByFile(file).length > 0)
      .map((file) => `| \`${file.path}\` | ${touchedByFile(file).join(', ')} | ${purposeOf(file)} |`);
  return ['| file | touches | what it is |', '|---|---|---|', ...rowsOf(false), '| **not needed to serve** | | |', ...rowsOf(true)].join('\n');
}

/** The dialects, and who is sent a request of theirs as it came. */
function formatsTable(): string {
  const rows = DIALECTS.map(({ name, routes, relay, counting }) => {
    const speakers = PROVIDER_ROWS.filter(({ speaks }) => relay !== undefined && speaks?.includes(name) === true);
    const paths = [...routes, ...(counting === undefined ? [] : [counting.route])].map(({ path }) => `\`POST ${path}\``).join(', ');
    return `| [${name}](${name}/README.md) | ${paths} | ${speakers.map((row) => `\`${row.name}\``).join(', ') || 'nobody'} |`;
  });
  return ['| format | paths | relayed to |', '|---|---|---|', ...rows].join('\n');
}

function dialectFailuresTable(): string {
  const rows = (Object.keys(FAILURE_KINDS) as FailureKind[]).map((kind) => {
    const failure = new Failure(kind, '');
    const { type, code } = errorObject(failure);
    const { error } = failureBody(failure, '') as { readonly error?: { readonly type?: string } };
    return `| \`${kind}\` | ${failure.status} | \`${String(type)}\` | ${code === null ? 'null' : `\`${String(code)}\``} | \`${error?.type ?? ''}\` |`;
  });
  const head = '| kind | status | Chat Completions and Responses: `error.type` | `error.code` | Messages: `error.type` |';
  return [head, '|---|---|---|---|---|', ...rows].join('\n');
}

/** What becomes of each field of a dialect. */
function fieldsTable(table: FieldTable): string {
  const rows = Object.entries(table).map(([name, rule]) => `| \`${name}\` | ${outcomeOf(rule)} |`);
  return ['| field | what becomes of it |', '|---|---|', ...rows, ''].join('\n');
}

function outcomeOf(rule: FieldRule): string {
  switch (rule.is) {
    case 'mapped':
      return rule.as;
    case 'tolerated':
      return `left out: ${rule.as}`;
    case 'refused':
      return `refused${rule.unless === undefined ? '' : ' unless it has its default value'}: ${rule.as}`;
  }
}

/** What each client does not do of itself; cases with one reason together. */
function clientsTable(): string {
  const others = (client: Client): string => {
    const byReason = new Map<string, string>();
    for (const name of (Object.keys(client.cannot) as Case[]).filter((one) => !one.startsWith('state'))) {
      const reason = reasonsOf(client, name) ?? '';
      byReason.set(reason, byReason.has(reason) ? `${byReason.get(reason)}, ${name}` : name);
    }
    return [...byReason].map(([reason, names]) => `${names}: ${reason}`).join('; ');
  };
  const back = (client: Client, name: Case): string => {
    const reason = reasonsOf(client, name);
    return client.lacks[name] !== undefined ? '' : reason === undefined ? 'yes' : `no: ${reason}`;
  };
  const rows = CLIENTS.map((client) => `| ${client.name} | ${back(client, 'state')} | ${back(client, 'state streamed')} | ${others(client)} |`);
  return ['| client | returns the state | from a stream | what else it cannot do |', '|---|---|---|---|', ...rows].join('\n');
}

function failuresTable(): string {
  const rows = Object.entries(FAILURE_KINDS).map(
    ([kind, row]) => `| \`${kind}\` | ${row.status} | ${row.isRetried ? 'yes' : 'no'} | ${row.meaning} |`,
  );
  return ['| kind | status | retried by the gateway | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

/** What follows each outcome of an attempt. */
function movesTable(): string {
  const mark = (isSo: boolean): string => (isSo ? 'yes' : '');
  const rows = Object.entries(MOVES).map(([name, { nextKey, nextTarget, health, key }]) => `| ${name} | ${mark(nextKey)} | ${mark(nextTarget)} | ${health} | ${key ?? ''} |`);
  return ['| outcome | next key | next target | to the target | to the key |', '|---|---|---|---|---|', ...rows].join('\n');
}

function namesTable(names: Readonly<Record<string, { readonly meaning: string }>>): string {
  const rows = Object.entries(names).map(([name, { meaning }]) => `| \`${name}\` | ${meaning} |`);
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

/** What not every host of Chat Completions takes, in few words. */
function hostsTable(): string {
  const takes = ({ support }: Adapter, feature: RequestFeature): boolean => support[feature].is !== 'refused' && support[feature].is !== 'ignored';
  const some = (...words: readonly (readonly [boolean, string])[]): string => words.flatMap(([isSo, word]) => (isSo ? [word] : [])).join(', ') || '-';
  const rows = [...PROVIDER_ROWS, compatRow('your own')].flatMap(({ name, structuredOutputVariable, createAdapter }) => {
    if (structuredOutputVariable === undefined) return [];
    const adapter = createAdapter(name);
    const { support } = adapter;
    const schema = takes(adapter, 'output.strict false') ? '`schema`' : '`schema`, strict, from gpt-oss, without tools';
    const cells = [
      takes(adapter, 'output.schema') ? schema : takes(adapter, 'output') ? '`json_object`' : '`none`',
      some([takes(adapter, 'tools strict'), support['tools strict'].as.includes('gpt-oss') ? 'gpt-oss' : 'yes']),
      some([takes(adapter, 'tool_choice.parallel false'), 'yes']),
      some([takes(adapter, 'user document (pdf inline)'), 'inline'], [takes(adapter, 'user document (pdf url)'), 'by URL']),
      some([takes(adapter, 'tool_result image'), 'yes']),
      some([takes(adapter, 'user'), support.user.as], [takes(adapter, 'cache'), support.cache.as]),
    ];
    return [`| ${name} | ${cells.join(' | ')} |`];
  });
  return ['| host | structured output | strict tools | one call a turn | PDFs | images from tools | hints, as |', `|${'---|'.repeat(7)}`, ...rows].join('\n');
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL(OPTION_TYPES, ROOT), renderOptionTypes());
  for (const path of Object.keys(PAGES)) writeFileSync(new URL(path, ROOT), withTables(path));
}
