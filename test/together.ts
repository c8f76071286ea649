/**
 * Runs the test files that are named in TOGETHER in one process: each process costs most of a second of CPU time before its
 * first test, and files that test pure functions need none of their own.
 */

import { pathToFileURL } from 'node:url';

for (const file of (process.env['TOGETHER'] ?? '').split(' ').filter((name) => name !== '')) await import(pathToFileURL(file).href);
