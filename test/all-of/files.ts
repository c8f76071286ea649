/** Runs the test files of a group, which the Makefile names, in this process. */

import { beforeEach } from 'node:test';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';

/** Far beyond what any test takes. The runner waits for three times as long, and knows only which file it waits for. */
const HANG_MS = 300_000;

/** `variable` of the environment holds the paths. */
export async function runFiles(variable: string): Promise<void> {
  endHang();
  const files = (process.env[variable] ?? '').split(' ').filter((name) => name !== '');
  for (const file of files) await import(pathToFileURL(file).href);
}

/** Ends the process, and names the test, when one hangs or what it left to be closed does. */
function endHang(): void {
  let begun = 'none';
  const guard = setTimeout(() => {
    process.stderr.write(`no other test began for ${HANG_MS / 1000} s after: ${begun}\n`);
    process.exit(1);
  }, HANG_MS).unref();
  beforeEach((t) => {
    begun = (t as TestContext).name;
    guard.refresh();
  });
}
