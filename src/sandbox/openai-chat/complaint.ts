/**
 * What is wrong with a request, in OpenAI's words; for both of its protocols.
 *
 * Source: OpenAI, errors.
 */

import { Complaint } from '../protocol.ts';
import { renderPath } from '../shape.ts';
import type { Mismatch } from '../shape.ts';

/** A mismatch in OpenAI's words. */
export function complaintOf({ path, is, expected, allowed, value }: Mismatch): Complaint {
  const param = renderPath(path);
  if (is === 'unknown') return invalid(`Unknown parameter: '${param}'.`, param, 'unknown_parameter');
  if (is === 'missing') return invalid(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
  if (allowed.length > 0) return invalid(`Invalid value: '${String(value)}'. Supported values are: ${expected}.`, param, 'invalid_value');
  if (typeof value === 'string' && expected.startsWith('a string matching ')) {
    return invalid(`Invalid '${param}': string does not match pattern. Expected ${expected.replace('matching', 'that matches the pattern')}.`, param, 'invalid_value');
  }
  const got = value === null ? 'null' : Array.isArray(value) ? 'an array' : `${typeof value}`;
  return invalid(`Invalid type for '${param}': expected ${expected}, but got ${got} instead.`, param, 'invalid_type');
}

/** A request that the provider refuses. */
export function invalid(message: string, param?: string, code?: string): Complaint {
  return new Complaint(400, message, { ...(param === undefined ? {} : { param }), ...(code === undefined ? {} : { code }) });
}
