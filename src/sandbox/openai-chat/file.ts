/**
 * Files in a request to OpenAI; Chat Completions and Responses put them in other places.
 *
 * Source: OpenAI, file inputs.
 */

import { field, stringField } from '../../base/loose.ts';
import type { Complaint } from '../protocol.ts';
import { isBase64 } from '../shape.ts';
import { invalid } from './complaint.ts';

const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)(?:;[a-z0-9=.+-]+)*;base64,/i;

/** What is wrong with a file that comes by its data, its id or, where that goes, its address. */
export function checkFile(file: unknown, place: string, typesTaken: RegExp): Complaint | undefined {
  const data = stringField(file, 'file_data');
  const sources = ['file_data', 'file_id', 'file_url'].filter((name) => field(file, name) !== undefined);
  if (sources.length === 0) return invalid(`Missing required parameter: '${place}.file_id'.`, `${place}.file_id`, 'missing_required_parameter');
  if (sources.length > 1) return invalid(`Mutually exclusive parameters: '${place}.${sources[0]}' and '${place}.${sources[1]}'. Ensure you are only providing one of them.`, place, 'mutually_exclusive_parameters');
  if (data === undefined) return undefined;
  if (!stringField(file, 'filename')) return invalid(`Missing required parameter: '${place}.filename'.`, `${place}.filename`, 'missing_required_parameter');
  const head = DATA_URL.exec(data.slice(0, 200));
  const expected = `Invalid file data: '${place}.file_data'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,aGVsbG8gd29ybGQ='), but got`;
  if (head === null) return invalid(`${expected} a value without the 'data:' prefix.`, `${place}.file_data`, 'invalid_value');
  if (!typesTaken.test(head[1] ?? '')) return invalid(`${expected} unsupported MIME type '${head[1]}'.`, `${place}.file_data`, 'invalid_value');
  return isBase64(data.slice(head[0].length)) ? undefined : invalid(`${expected} an invalid base64-encoded value.`, `${place}.file_data`, 'invalid_value');
}
