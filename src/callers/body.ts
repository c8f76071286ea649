/** A request's body, from bytes to the fields of one JSON object, or the reason why not. */

import { FieldProblem } from '../base/fields.ts';
import type { Path } from '../base/fields.ts';
import { parseJson } from '../base/json/parse.ts';
import { JsonObject, JsonProblem } from '../base/json/value.ts';
import type { JsonValue } from '../base/json/value.ts';
import { utf8Text } from '../base/utf8.ts';
import type { RequestBody } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';

/** Something in a body that has no equal in a chat: thrown as a FieldProblem is, answered with kind `unsupported`. */
export class UnsupportedField extends FieldProblem {}

/** The problem of a part of a body that has no equal in a chat. */
export function unsupported(path: Path | undefined, complaint: string): UnsupportedField {
  return new UnsupportedField(path, complaint);
}

/** The object that a body is. Failure: bad_request. Never throws, whatever the bytes. */
// hot: per request
export function parseBody(body: RequestBody): JsonObject | Failure {
  if (!Buffer.isBuffer(body)) return objectFrom(body);
  const text = utf8Text(body);
  return text === undefined ? new Failure('bad_request', 'the body is not valid JSON: it is not UTF-8') : objectFrom(parseJson(text));
}

function objectFrom(value: JsonValue | JsonProblem): JsonObject | Failure {
  if (value instanceof JsonProblem) {
    return new Failure('bad_request', `the body is not valid JSON: ${value.reason} at character ${value.offset + 1}`);
  }
  return value instanceof JsonObject ? value : new Failure('bad_request', 'the body must be a JSON object');
}

/** What `read` returns, or the failure for the problem that it throws: bad_request, and unsupported for an UnsupportedField. */
export function caught<T>(read: () => T): T | Failure {
  const outcome = problemOr(read);
  return outcome instanceof FieldProblem ? failureFrom(outcome) : outcome;
}

/** What `read` returns, or the problem that it throws. */
export function problemOr<T>(read: () => T): T | FieldProblem {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof FieldProblem) return thrown;
    throw thrown;
  }
}

export function failureFrom(problem: FieldProblem): Failure {
  const { message, quote } = problem;
  return new Failure(problem instanceof UnsupportedField ? 'unsupported' : 'bad_request', message, { quotes: quote === undefined ? [] : [quote] });
}
