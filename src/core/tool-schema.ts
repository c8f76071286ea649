/** The schema of a tool's arguments as providers want it: the caller's own, never rewritten. */

import { parseJson } from '../base/json/parse.ts';
import { JsonObject, RawJson } from '../base/json/value.ts';
import type { JsonValue } from '../base/json/value.ts';

const NO_ARGUMENTS = new RawJson('{"type":"object","properties":{}}');

/** Members that say nothing new about an object schema and that some providers demand all the same. */
const MEMBERS = { type: '"object"', properties: '{}' } as const;

/**
 * The schema as it is written, after those of the demanded members that it lacks. Without a schema: that of a tool
 * without arguments.
 */
export function schemaWith(parameters: RawJson | undefined, demanded: readonly (keyof typeof MEMBERS)[]): RawJson {
  if (parameters === undefined) return NO_ARGUMENTS;
  if (demanded.length === 0) return parameters;
  const members = parameters.members ?? parsedMembers(parameters.text);
  if (members === undefined) return parameters;
  const missing = demanded.filter((name) => !members.has(name)).map((name) => `"${name}":${MEMBERS[name]}`);
  if (missing.length === 0) return parameters;
  const rest = parameters.text.slice(parameters.text.indexOf('{') + 1);
  return new RawJson(`{${missing.join(',')}${members.size === 0 ? '' : ','}${rest}`);
}

function parsedMembers(text: string): ReadonlyMap<string, JsonValue> | undefined {
  const schema = parseJson(text);
  return schema instanceof JsonObject ? schema.entries : undefined;
}
