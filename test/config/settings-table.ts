/** The tables of the settings' page, printed from the table of settings. `node --import tsx test/readme.ts` writes them. */

import { KEYS, REGISTRATION, STRUCTURED_OUTPUT, VALUES } from '../../src/config/settings-page.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import type { Setting } from '../../src/config/settings.ts';
import type { ProviderRow } from '../../src/core/adapter.ts';

/** The settings and the providers as Markdown tables. */
export function renderSettingsTable(rows: readonly ProviderRow[]): string {
  const settings = (SETTINGS as readonly Setting[]).map((row) =>
    markdownRow([`\`${row.variable}\``, row.type.name, row.default ? `\`${row.default}\`` : (row.absence ?? 'none'), row.meaning]),
  );
  const providers = rows.map((row) =>
    markdownRow([
      row.name,
      row.keyVariables.map((variable) => `\`${variable}\``).join(' or ') + (row.isKeyRequired ? '' : ' (optional)'),
      `\`${row.baseUrlVariable}\``,
      row.defaultBaseUrl ?? (row.cloud === undefined ? 'required' : 'by [its cloud](#clouds)'),
    ]),
  );
  return [
    '| variable | type | default | meaning |\n|---|---|---|---|',
    ...settings,
    `\n${VALUES}\n\n## Providers\n\n${REGISTRATION}\n`,
    '| provider | key | base URL | default base URL |\n|---|---|---|---|',
    ...providers,
    `\n${KEYS}\n\n${STRUCTURED_OUTPUT}\n`,
  ].join('\n');
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
