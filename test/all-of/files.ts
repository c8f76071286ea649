/** Runs the test files of a group, which the Makefile names, in this process. */

import { pathToFileURL } from 'node:url';

/** `variable` of the environment holds the paths. */
export async function runFiles(variable: string): Promise<void> {
  const files = (process.env[variable] ?? '').split(' ').filter((name) => name !== '');
  for (const file of files) await import(pathToFileURL(file).href);
}
