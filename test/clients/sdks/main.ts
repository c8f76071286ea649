/** Real clients through the gateway: installs them outside the tree, runs each at every provider, prints a table. */

import { CASES, tryClient } from './cases.ts';
import type { Ending, Row } from './cases.ts';
import { CLIENTS } from './clients.ts';
import { FOLDER, install } from './packages.ts';

const only = new RegExp(process.env['ONLY'] ?? '');
const names = Object.keys(CASES);
const notes: string[] = [];
let failed = 0;

console.log(`The clients are kept in ${FOLDER}.`);
install();

const chosen = CLIENTS.filter(({ name }) => only.test(name));
const clientWidth = Math.max(...chosen.map(({ name }) => name.length));
console.log(['client'.padEnd(clientWidth), 'provider '.padEnd(9), ...names].join(' | '));
const endings: Ending[] = [];
for (const client of chosen) endings.push(...(await tryClient(client, print)));

console.log('\nA failed stream: what the user reads when the connection is destroyed behind the error, and when it ends in order.');
for (const [text, count] of counted(endings)) console.log(`${text}${count === 1 ? '' : ` (${count} times)`}`);
console.log(`\n${notes.map((note, index) => `${index + 1}: ${note}`).join('\n')}`);
console.log(failed === 0 ? '\nEverything went well.' : `\n${failed} failed.`);
process.exitCode = failed === 0 ? 0 : 1;

function print({ client, provider, cases }: Row): void {
  const cells = names.map((name) => {
    const verdict = cases[name];
    if (verdict === undefined || verdict.is === 'ok') return 'ok'.padEnd(name.length);
    if (verdict.is === 'FAIL') failed += 1;
    return `${verdict.is === 'FAIL' ? 'FAIL' : '-'} ${noteOf(verdict.is === 'FAIL' ? `${client.name}, ${provider}, ${name}: ${verdict.why}` : verdict.why)}`.padEnd(name.length);
  });
  console.log([client.name.padEnd(clientWidth), provider.padEnd(9), ...cells].join(' | '));
}

/** The number of a note, which is printed below the table. */
function noteOf(note: string): number {
  if (!notes.includes(note)) notes.push(note);
  return notes.indexOf(note) + 1;
}

function counted(list: readonly Ending[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { client, destroyed, orderly } of list) {
    const text = `${client.name.padEnd(clientWidth)} | ${destroyed} | ${orderly}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}
