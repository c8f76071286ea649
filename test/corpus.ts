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
  readonly dialect:
    | 'anthropic-messages'
    | 'bedrock-invoke'
    | 'vertex-anthropic'
    | 'openai-chat'
    | 'openai-responses'
    | 'gemini'
    | 'vertex-gemini';
  readonly features: readonly string[];
  readonly model: string | null;
  readonly status: number;
  readonly wire: string;
  /** The event stream's JSON, an event a line, where the recording itself is AWS's binary form. */
  readonly decoded?: string;
  /** The file of the request beside it, where it was recorded. */
  readonly request?: string;
};

/** The recordings of one dialect and kind; empty when the folder is absent. */
export function recordings(dialect: Recording['dialect'], kind: Recording['kind']): readonly Recording[] {
  return manifest().filter((row) => row.dialect === dialect && row.kind === kind);
}

/** Every model's name in the recordings, once; empty when the folder is absent. */
export function recordedModels(): readonly string[] {
  return [...new Set(manifest().flatMap((row) => row.model ?? []))];
}

function manifest(): readonly Recording[] {
  if (corpusAbsent !== false) return [];
  const lines = readFileSync(`${folder}/MANIFEST.jsonl`, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Recording);
}

/** The recorded bytes; of AWS's binary event stream the JSON of its events, one a line. */
export function readRecording(recording: Recording): Buffer {
  return readFileSync(`${folder}/${recording.decoded ?? recording.file}`);
}

/** The recorded request beside a payload; undefined where there is none. */
export function readRequest({ request }: Recording): unknown {
  return request === undefined ? undefined : (JSON.parse(readFileSync(`${folder}/${request}`, 'utf8')) as unknown);
}
