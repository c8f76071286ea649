/** The form of the answer (OpenAI, structured outputs), which both of OpenAI's formats ask for alike, one of them a level deeper. */

import type { Fields } from '../../base/fields.ts';
import type { OutputFormat } from '../../core/chat.ts';
import type { Ignored } from '../field-table.ts';
import { isSchemaName } from '../schema-name.ts';

/** What a format asks for; undefined = any text. `inner` is the member that holds the schema, where it is not the format itself. */
export function readFormat(format: Fields, inner: string | undefined, ignored: Ignored): OutputFormat | undefined {
  const type = format.requiredOneOf('type', ['text', 'json_object', 'json_schema']);
  const output = type === 'text' ? undefined : type === 'json_object' ? ANY_JSON : readSchema(format, inner, ignored);
  ignored.addUnread(format);
  return output;
}

const ANY_JSON: OutputFormat = { schema: undefined, name: 'output', strict: true };

function readSchema(format: Fields, inner: string | undefined, ignored: Ignored): OutputFormat {
  const named = inner === undefined ? format : format.object(inner);
  if (named === undefined) throw format.missing(inner ?? '');
  const name = named.requiredString('name');
  if (!isSchemaName(name)) throw named.problem('name', 'must be 1 to 64 letters, digits, _ or -');
  const schema = named.opaqueObject('schema')?.raw;
  const strict = named.boolean('strict') ?? false;
  if (named !== format) ignored.addUnread(named);
  // A schema may be left out, and then asks for any JSON.
  return { schema, name, strict: schema === undefined || strict };
}
