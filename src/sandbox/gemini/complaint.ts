/**
 * What is wrong with a request, in Gemini's words.
 *
 * Source: Gemini API, errors.
 */

import { Complaint } from '../protocol.ts';
import { renderPath } from '../shape.ts';
import type { Mismatch } from '../shape.ts';

/** A path as the API writes it: `contents[0].parts[1].function_call`. */
function placeOf(path: Mismatch['path']): string {
  return renderPath(path, (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

/** A mismatch in its words. */
export function complaintOf({ path, is, expected, value }: Mismatch): Complaint {
  const place = placeOf(path);
  if (is === 'unknown') {
    const parent = placeOf(path.slice(0, -1));
    return invalid(`Invalid JSON payload received. Unknown name "${String(path.at(-1))}"${parent === '' ? '' : ` at '${parent}'`}: Cannot find field.`, parent);
  }
  if (is === 'missing') return invalid(`* GenerateContentRequest.${place}: ${String(path.at(-1))} is not specified`, place);
  return invalid(`Invalid value at '${place}' (expected ${expected}), ${JSON.stringify(value)?.slice(0, 100)}`, place);
}

/** A request that the provider refuses. */
export function invalid(message: string, param?: string): Complaint {
  return new Complaint(400, message, param === undefined ? {} : { param });
}
