/** The model's name in a request, whatever its dialect. */

import type { Fields } from '../base/fields.ts';

/** Longest model identifier, in UTF-16 units. Real ones stay under 100; it also travels in URLs and log lines. */
const MODEL_CHARS_MAX = 256;

/** Any name the provider may know, but nothing that could break a header, a log line or the encoding of a URL. */
export function readModel(fields: Fields): string {
  const model = fields.requiredText('model');
  if (model.length > MODEL_CHARS_MAX) {
    throw fields.problem('model', `must not be longer than ${MODEL_CHARS_MAX} characters`);
  }
  if (/[\p{Cc}\p{Cs}]/u.test(model)) {
    throw fields.problem('model', 'must not contain control characters or unpaired surrogates');
  }
  return model;
}
