/** The table of settings as people read it: `--help`. */

import type { ProviderRow } from '../core/adapter.ts';
import { SETTINGS } from './settings.ts';
import type { Setting } from './settings.ts';

/** How values are written. These four stand on the settings' page, too. */
export const VALUES =
  'Durations: `250ms`, `15s`, `1m30s`, `1h`. Sizes: `65536`, `512KiB`, `16MiB`. Booleans: `true`, `false`, `1`, `0`. ' +
  'Every secret can come from a file instead: add `_FILE` to its variable and give a path. An empty value counts as absent.';

export const REGISTRATION =
  'A provider is registered by setting its key or, if the key is optional, its base URL; a cloud also by GATEWAY_CLOUDS. ' +
  'Clouds have further variables for their region, resource or project.';

export const KEYS =
  'Several keys of one account go into the plural of the variable instead, `OPENAI_API_KEYS` (where two variables are listed, of the first). ' +
  'They are separated by commas, in its `_FILE` also by lines.';

export const STRUCTURED_OUTPUT =
  'For each host that speaks Chat Completions (all but `openai`) the variable that ends in `_STRUCTURED_OUTPUT` instead of `_BASE_URL` ' +
  'replaces what the gateway assumes the host can enforce: `schema` (a JSON schema for answers, and the parameters of strict tools), ' +
  '`json_object` (any JSON), or `none`.';

const SIGNALS =
  'Exit codes: 0 stopped by a signal, or nothing is wrong; 1 cannot start, crashed, stopped at once by a second signal, or something is ' +
  'wrong; 2 unknown argument. SIGHUP reads the files of secrets, certificates and routing again.';

const HELP_COLUMNS = 100;

/** What `--help` prints: plain text of at most 100 columns. */
export function renderHelp(rows: readonly ProviderRow[]): string {
  const settings = (SETTINGS as readonly Setting[]).map((row) => {
    const value = row.default ? `default ${row.default}` : (row.absence ?? 'none');
    return `  ${row.variable}  (${row.type.name}; ${value})\n${wrapped(row.meaning, '      ')}`;
  });
  const providers = rows.map((row) => {
    const key = `${row.keyVariables.join(' or ')}${row.isKeyRequired ? '' : ' (optional)'}`;
    const absence = row.cloud === undefined ? '(required)' : '(default by its cloud)';
    const baseUrl = row.defaultBaseUrl === undefined ? absence : `(default ${row.defaultBaseUrl})`;
    return `  ${row.name.padEnd(12)}${key}\n${''.padEnd(14)}${row.baseUrlVariable} ${baseUrl}`;
  });
  return [
    'A chat completion gateway, configured by environment variables.',
    '',
    'Usage: gateway             serve until SIGTERM or SIGINT',
    '       gateway --check     check the configuration, print routes and limits',
    '       gateway --doctor    call each provider, say what is wrong and what to change; with',
    '                 --chat    also have a model of each write one token: the first of its list',
    '                           that does, or the one named, as --chat=provider/model',
    '                 --json    print the result as JSON',
    '       gateway --probe URL exit with 0 if the URL answers 200, else with 1',
    '       gateway --dashboard print a dashboard for Grafana',
    '       gateway --alerts    print alert rules for Prometheus',
    '       gateway --sandbox   serve as a fake provider, for tests; on any free port, or --port 9999',
    '       gateway --help      print this',
    '       gateway --version   print the version',
    '',
    wrapped(SIGNALS, ''),
    '',
    'Settings',
    '',
    ...settings,
    '',
    wrapped(VALUES, ''),
    '',
    'Providers',
    '',
    ...providers,
    '',
    wrapped(REGISTRATION, ''),
    '',
    wrapped(KEYS, ''),
    '',
    wrapped(STRUCTURED_OUTPUT, ''),
    '',
  ].join('\n');
}

function wrapped(markdown: string, indent: string): string {
  const lines: string[] = [];
  let line = '';
  for (const next of markdown.replaceAll('`', '').split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + next.length > HELP_COLUMNS) {
      lines.push(indent + line);
      line = next;
    } else {
      line = line === '' ? next : `${line} ${next}`;
    }
  }
  return [...lines, indent + line].join('\n');
}
