/**
 * Access to a folder of recorded provider payloads, where one is present beside the project
 * (`../shared/corpus`, or the folder that CORPUS_DIR names). Tests that need it skip when it is absent.
 */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = process.env['CORPUS_DIR'] ?? fileURLToPath(new URL('../../shared/corpus/', import.meta.url));

/** Pass as a test's `skip` option. */
export const corpusAbsent = existsSync(`${folder}/MANIFEST.jsonl`) ? false : 'no recordings beside the project';

export type Recording = {
  readonly file: string;
  readonly provider: string;
  readonly kind: 'complete' | 'stream' | 'error';
  readonly dialect: 'anthropic-messages' | 'openai-chat' | 'openai-responses' | 'gemini';
  readonly features: readonly string[];
  readonly model: string | null;
  readonly status: number;
  readonly wire: string;
  /** The file of the request beside it, where it was recorded. */
  readonly request?: string;
};

/** The recordings of one dialect and kind; empty when the folder is absent. */
export function recordings(dialect: Recording['dialect'], kind: Recording['kind']): readonly Recording[] {
  if (corpusAbsent !== false) return [];
  return readFileSync(`${folder}/MANIFEST.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Recording)
    .filter((row) => row.dialect === dialect && row.kind === kind);
}

export function readRecording(recording: Recording): Buffer {
  return readFileSync(`${folder}/${recording.file}`);
}

/** The recorded request beside a payload; undefined where there is none. */
export function readRequest({ request }: Recording): unknown {
  return request === undefined ? undefined : (JSON.parse(readFileSync(`${folder}/${request}`, 'utf8')) as unknown);
}
