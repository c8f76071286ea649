/**
 * The form of answers that a request to OpenAI may ask for, and the schemas that `strict` takes: of an answer, and of a
 * function's arguments. Chat Completions and Responses say the same in other places.
 *
 * Source: OpenAI, structured outputs (supported schemas), JSON mode; the messages of its errors as clients report them.
 */

import { field, isObject, listField, stringField } from '../../base/loose.ts';
import type { Complaint, Output } from '../protocol.ts';
import { isRecursive, resolveReference, subschemasOf, typesOf } from '../schema/subschemas.ts';
import type { Subschema } from '../schema/subschemas.ts';
import { anyObject, boolean, first, matching, nullable, object, oneOf, string, tagged } from '../shape.ts';
import type { Shape } from '../shape.ts';
import { tooLong } from './caching.ts';
import { invalid } from './complaint.ts';

const NAME_CHARS_MAX = 64;
const NAMED = { name: matching(/^[a-zA-Z0-9_-]+$/) };
const NAMED_TOO = { description: string, schema: anyObject, strict: nullable(boolean) };
const TYPED = object({ type: string });
/** In Chat Completions what is said of the schema lies in an object of its own; in Responses beside the type. */
export const RESPONSE_FORMAT: Shape = tagged('type', {
  text: TYPED, json_object: TYPED, json_schema: object({ type: string, json_schema: object(NAMED, NAMED_TOO) }),
});
export const TEXT_FORMAT: Shape = tagged('type', {
  text: TYPED, json_object: TYPED, json_schema: object({ type: oneOf('json_schema'), ...NAMED, schema: anyObject }, NAMED_TOO),
});

/** Where a protocol has the form of the answer, and its messages. */
type Place = { readonly schema: string; readonly name: string; readonly messages: string; readonly wanted: string };
const IN_CHAT: Place = {
  schema: 'response_format', name: 'response_format.json_schema.name', messages: 'messages',
  wanted: "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
};
const IN_RESPONSES: Place = {
  schema: 'text.format.schema', name: 'text.format.name', messages: 'input',
  wanted: "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
};

/** What a `response_format` asks for; undefined for plain text. */
export function chatOutput(format: unknown, messages: unknown, isAnySchema: boolean): Output | Complaint | undefined {
  return outputFrom(stringField(format, 'type'), field(format, 'json_schema'), messages, isAnySchema, IN_CHAT);
}

/** What a `text.format` asks for; undefined for plain text. */
export function responsesOutput(format: unknown, input: unknown): Output | Complaint | undefined {
  return outputFrom(stringField(format, 'type'), format, input, false, IN_RESPONSES);
}

function outputFrom(type: string | undefined, said: unknown, messages: unknown, isAnySchema: boolean, place: Place): Output | Complaint | undefined {
  if (type === 'json_object') return /json/i.test(JSON.stringify(messages)) ? { schema: undefined } : invalid(place.wanted, place.messages);
  if (type !== 'json_schema') return undefined;
  const name = stringField(said, 'name') ?? '';
  const long = tooLong(place.name, name, NAME_CHARS_MAX);
  if (long !== undefined) return long;
  const schema = field(said, 'schema');
  const problem = isAnySchema ? undefined : schemaProblem(schema, field(said, 'strict') === true);
  if (problem === undefined) return { schema };
  return invalid(`Invalid schema for response_format '${name}': ${problem}`, place.schema, place === IN_CHAT ? undefined : 'invalid_json_schema');
}

/** What is wrong with the schema of a function's arguments, which stands at `place`. */
export function checkParameters(tool: unknown, isStrict: boolean, place: string): Complaint | undefined {
  const parameters = field(tool, 'parameters') ?? (isStrict ? {} : undefined);
  const problem = parameters === undefined ? undefined : schemaProblem(parameters, isStrict);
  return problem === undefined ? undefined : invalid(`Invalid schema for function '${stringField(tool, 'name')}': ${problem}`, place, 'invalid_function_parameters');
}

const LEVELS_MAX = 10;
const PROPERTIES_MAX = 5000;
const ENUM_VALUES_MAX = 1000;
const TEXT_CHARS_MAX = 120_000;
const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];
const KEYWORDS = [
  'type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', '$ref', '$defs', 'definitions',
  '$schema', '$id', '$comment', 'title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly',
  'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems',
];
const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** The first thing that is wrong with a schema. What is not strict only has to be an object. */
function schemaProblem(root: unknown, isStrict: boolean): string | undefined {
  const types = isObject(root) ? typesOf(root) : [];
  if (types.length !== 1 || types[0] !== 'object') return `schema must be a JSON Schema of 'type: "object"', got 'type: "${types[0] ?? 'None'}"'.`;
  if (!isStrict) return undefined;
  const all = subschemasOf(root);
  return first(all, (inner) => placeProblem(root, inner)) ?? sizeProblem(all) ?? rootProblem(root);
}

/** A required schema that has to hold itself can never be answered. */
function rootProblem(root: unknown): string | undefined {
  const isForced = ({ parents, schema }: Subschema): boolean => [...parents, schema].every((outer) => outer['anyOf'] === undefined && outer['items'] === undefined);
  return isRecursive(root, isForced) ? 'schema has a recursive reference that cannot end.' : undefined;
}

function placeProblem(root: unknown, { schema, place }: Subschema): string | undefined {
  const at = `In context=${contextOf(place)}, `;
  const types = typesOf(schema);
  const unknown = Object.keys(schema).find((keyword) => !KEYWORDS.includes(keyword));
  if (unknown !== undefined) return `${at}'${unknown}' is not permitted.`;
  const wrongType = types.find((type) => !TYPES.includes(type));
  if (wrongType !== undefined) return `${at}'${wrongType}' is not a valid type.`;
  const reference = stringField(schema, '$ref');
  if (reference !== undefined) {
    const beside = Object.keys(schema).filter((keyword) => !keyword.startsWith('$'));
    if (beside.length > 0) return `${at}$ref cannot have keywords {${beside.map((keyword) => `'${keyword}'`).join(', ')}}.`;
    return resolveReference(root, reference) === undefined ? `${at}reference to component '${reference}' which was not found in the schema.` : undefined;
  }
  const format = stringField(schema, 'format');
  if (format !== undefined && !FORMATS.includes(format)) return `${at}'${format}' is not a valid format.`;
  if (types.length === 0 && ['anyOf', 'enum', 'const'].every((keyword) => !Object.hasOwn(schema, keyword))) return `${at}schema must have a 'type' key.`;
  if (types.includes('array') && schema['items'] === undefined) return `${at}array schema missing items.`;
  return types.includes('object') ? objectProblem(schema, at) : undefined;
}

function objectProblem(schema: Subschema['schema'], at: string): string | undefined {
  if (schema['additionalProperties'] !== false) return `${at}'additionalProperties' is required to be supplied and to be false.`;
  const keys = isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
  const required = listField(schema, 'required');
  const every = `${at}'required' is required to be supplied and to be an array including every key in properties.`;
  const missing = keys.find((key) => !required.includes(key));
  if (missing !== undefined) return `${every} Missing '${missing}'.`;
  const extra = required.find((key) => !keys.includes(String(key)));
  return extra === undefined ? undefined : `${every} Extra required key '${String(extra)}' supplied.`;
}

/** As Python writes a tuple. */
function contextOf(place: readonly string[]): string {
  return `(${place.map((step) => `'${step}'`).join(', ')}${place.length === 1 ? ',' : ''})`;
}

function sizeProblem(all: readonly Subschema[]): string | undefined {
  const levels = Math.max(...all.map(({ schema, parents }) => [...parents, schema].filter((outer) => typesOf(outer).includes('object')).length));
  if (levels > LEVELS_MAX) return `${levels} levels of nesting exceeds limit of ${LEVELS_MAX}.`;
  const keys = all.flatMap(({ schema }) => (isObject(schema['properties']) ? Object.keys(schema['properties']) : []));
  if (keys.length > PROPERTIES_MAX) return `schema exceeds maximum number of properties: ${keys.length} > ${PROPERTIES_MAX}.`;
  const values = all.flatMap(({ schema }) => listField(schema, 'enum'));
  if (values.length > ENUM_VALUES_MAX) return `schema exceeds maximum number of enum values: ${values.length} > ${ENUM_VALUES_MAX}.`;
  const chars = [...keys, ...values].reduce<number>((total, text) => total + String(text).length, 0);
  return chars > TEXT_CHARS_MAX ? `schema exceeds maximum length of names and values: ${chars} > ${TEXT_CHARS_MAX}.` : undefined;
}
