/**
 * Access to a folder of test vectors made by the vendors' own libraries, where one is present beside the project
 * (`../shared/spec/vectors`, or the folder that VECTORS_DIR names). Tests that need it skip when it is absent.
 */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = process.env['VECTORS_DIR'] ?? fileURLToPath(new URL('../../shared/spec/vectors/', import.meta.url));

/** Pass as a test's `skip` option. */
export const vectorsAbsent = existsSync(folder) ? false : 'no vectors beside the project';

/** The content of one of its files, as JSON of the given shape; not to be called where the folder is absent. */
export function readVectors<T>(name: string): T {
  return JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8')) as T;
}
