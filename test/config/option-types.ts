/** The options of settings as TypeScript sees them, printed from the table. `node --import tsx test/readme.ts` writes the file. */

import { optionRows } from '../../src/config/option-source.ts';
import type { SettingType } from '../../src/config/setting-types.ts';
import type { Setting } from '../../src/config/settings.ts';

export const OPTION_TYPES = 'src/config/setting-options.ts';

const HEADER = `/** The settings as options, printed from the table in settings.ts by test/readme.ts. Durations: \`1m30s\`, or milliseconds. Sizes: \`16MiB\`, or bytes. */

export type SettingOptions = {
`;

export function renderOptionTypes(): string {
  const options = [...optionRows()].map(([name, row]) => `  /** ${commentOf(row)} */\n  readonly ${name}?: ${typeOf(row.type)} | undefined;\n`);
  return `${HEADER}${options.join('')}};\n`;
}

function commentOf({ meaning, default: text, absence }: Setting): string {
  const value = text ? `\`${text}\`` : absence;
  return value === undefined ? meaning : `${meaning} Default: ${value}.`;
}

function typeOf({ takes, choices, name }: SettingType<unknown>): string {
  if (takes === 'milliseconds' || name === 'size') return 'string | number';
  if (takes === 'number') return 'number';
  if (takes === 'boolean') return 'boolean';
  if (takes === 'list') return 'string | readonly string[]';
  return choices === undefined ? 'string' : choices.map((choice) => `'${choice}'`).join(' | ');
}
