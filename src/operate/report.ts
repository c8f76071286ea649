/** A doctor's report as text for a terminal. */

import type { Check, Report } from './doctor.ts';

const COLUMNS = 80;
/** Where the words of a check begin, behind its name, its state and its time. */
const INDENT = 29;

/** A table of at most 80 columns, no word broken. */
export function renderReport({ ok, providers }: Report): string {
  const failed = providers.filter((provider) => !provider.ok).length;
  const sections = providers.map(({ provider, checks }) => `${provider}\n${checks.map(renderCheck).join('')}`);
  const verdict = ok ? 'Nothing is wrong.' : `${failed} of ${providers.length} ${providers.length === 1 ? 'provider' : 'providers'} cannot serve as configured.`;
  return `${sections.join('\n')}\n${verdict}\n`;
}

function renderCheck({ check, ok, ms, detail, remedy }: Check): string {
  const time = ms === undefined ? '' : `${ms} ms`;
  const head = `  ${check.padEnd(7)}  ${(ok ? 'ok' : 'FAILED').padEnd(6)}  ${time.padStart(8)}  `;
  const [first = '', ...others] = [...wrapped(detail ?? ''), ...wrapped(remedy ?? '')];
  return [head + first, ...others.map((line) => ' '.repeat(INDENT) + line)].map((line) => `${line.trimEnd()}\n`).join('');
}

/** The lines of a text; none of an empty one. */
function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ').filter((each) => each !== '')) {
    const last = lines.at(-1);
    if (last !== undefined && INDENT + last.length + 1 + word.length <= COLUMNS) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
