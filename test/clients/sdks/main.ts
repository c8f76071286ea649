/** Real clients through the gateway: installs them outside the tree, runs each at every provider, prints a table. */

import { CASE_NAMES, tryClient } from './cases.ts';
import type { Ending, Row, Verdict } from './cases.ts';
import { CLIENTS } from './clients.ts';
import { tryExamples } from './examples.ts';
import { FOLDER, install } from './packages.ts';

const only = new RegExp(process.env['ONLY'] ?? '');
const notes: string[] = [];
const counts = new Map<Verdict['is'], number>();

console.log(`The clients are kept in ${FOLDER}.`);
install();

const chosen = CLIENTS.filter(({ name }) => only.test(name));
const clientWidth = Math.max(0, ...chosen.map(({ name }) => name.length));
console.log(['client'.padEnd(clientWidth), 'provider '.padEnd(9), ...CASE_NAMES].join(' | '));
const endings: Ending[] = [];
for (const client of chosen) endings.push(...(await tryClient(client, print)));

console.log('\nA failed stream: what the user reads when the connection is destroyed behind the error, and when it ends in order.');
for (const [text, count] of counted(endings)) console.log(`${text}${count === 1 ? '' : ` (${count} times)`}`);
console.log(`\n${notes.map((note, index) => `${index + 1}: ${note}`).join('\n')}`);
const examples = only.test('README') ? await tryExamples() : [];
if (examples.length > 0) console.log("\nThe README's examples, with the packages themselves.");
for (const { name, why } of examples) {
  count(why === undefined ? 'ok' : 'FAIL');
  console.log(`${name.padEnd(clientWidth)} | ${why === undefined ? 'ok' : `FAIL ${why}`}`);
}

const of = (is: Verdict['is']): number => counts.get(is) ?? 0;
console.log(`\n${of('ok')} went well, ${of('cannot')} the clients cannot do, ${of('none')} there is nothing to try of, ${of('FAIL')} failed.`);
process.exitCode = of('FAIL') === 0 ? 0 : 1;

function print({ client, provider, cases }: Row): void {
  const cells = CASE_NAMES.map((name) => {
    const { is, why } = cases[name];
    count(is);
    const note = is === 'ok' ? '' : ` ${noteOf(is === 'FAIL' ? `${client.name}, ${provider}, ${name}: ${why}` : why)}`;
    return `${is === 'none' ? '-' : is}${note}`.padEnd(name.length);
  });
  console.log([client.name.padEnd(clientWidth), provider.padEnd(9), ...cells].join(' | '));
}

function count(is: Verdict['is']): void {
  counts.set(is, (counts.get(is) ?? 0) + 1);
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
