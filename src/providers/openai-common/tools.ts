/** The parameters of a tool, in the form that both of OpenAI's APIs and the hosts that imitate them take. */

import { RawJson } from '../../base/json/value.ts';
import type { Tool } from '../../core/chat.ts';
import { schemaWith } from '../../core/tool-schema.ts';

/** A strict schema has to close its objects. */
const STRICT_NO_ARGUMENTS = new RawJson('{"type":"object","properties":{},"required":[],"additionalProperties":false}');

/** The caller's own schema, or that of a tool without arguments. Some models refuse an object schema without properties. */
export function parametersOf({ parameters, strict }: Tool): RawJson {
  if (parameters === undefined && strict === true) return STRICT_NO_ARGUMENTS;
  return schemaWith(parameters, ['type', 'properties']);
}
