/**
 * Schemas that Anthropic makes a grammar of: of an answer, and of strict tools.
 *
 * Source: Anthropic, structured outputs (JSON schema limitations); the messages of its errors as clients report them.
 */

import { field, isObject, listField, stringField } from '../../base/loose.ts';
import type { Complaint, Output } from '../protocol.ts';
import { isRecursive, resolveReference, subschemasOf, typesOf } from '../schema/subschemas.ts';
import type { Subschema } from '../schema/subschemas.ts';
import { first } from '../shape.ts';
import { invalid } from './complaint.ts';

const STRICT_TOOLS_MAX = 20;
const OPTIONAL_MAX = 24;
const UNIONS_MAX = 16;

/** What `output_config` asks for; undefined for plain text. All strict schemas of a request share one grammar, and its limits. */
export function outputOf(body: unknown): Output | Complaint | undefined {
  const format = field(field(body, 'output_config'), 'format');
  const tools = listField(body, 'tools').map((tool, index) => ({ tool, index })).filter(({ tool }) => field(tool, 'strict') === true);
  const schemas = [
    ...(format === undefined ? [] : [{ place: 'output_config.format.schema', schema: field(format, 'schema') }]),
    ...tools.map(({ tool, index }) => ({ place: `tools.${index}.custom.input_schema`, schema: field(tool, 'input_schema') })),
  ];
  const problem = first(schemas, ({ place, schema }) => {
    const found = schemaProblem(schema);
    return found === undefined ? undefined : `${place}: ${found}`;
  }) ?? sizeProblem(tools.length, schemas.flatMap(({ schema }) => subschemasOf(schema)));
  if (problem !== undefined) return invalid(problem);
  return format === undefined ? undefined : { schema: field(format, 'schema'), isRequiredFirst: true };
}

const REFUSED = [
  'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas', 'patternProperties', 'propertyNames', 'unevaluatedProperties',
  'unevaluatedItems', 'contains', 'minContains', 'maxContains', 'prefixItems',
];
const REFUSED_BY_TYPE: ReadonlyMap<string, readonly string[]> = new Map([
  ['string', ['minLength', 'maxLength']],
  ['integer', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
  ['array', ['maxItems', 'uniqueItems']],
  ['object', ['minProperties', 'maxProperties']],
]);
const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'];
/** What a grammar cannot say: back-references, lookaround, edges of words. */
const HARD_PATTERN = /\\[1-9]|\\[bB]|\(\?<?[=!]/;

function schemaProblem(root: unknown): string | undefined {
  return first(subschemasOf(root), (inner) => placeProblem(root, inner))
    ?? (isRecursive(root) ? 'Circular reference detected in schema definitions. Recursive schemas are not supported' : undefined);
}

function placeProblem(root: unknown, { schema }: Subschema): string | undefined {
  const refused = REFUSED.find((keyword) => Object.hasOwn(schema, keyword));
  if (refused !== undefined) return `Schema keyword '${refused}' is not supported`;
  const reference = stringField(schema, '$ref');
  if (reference !== undefined && resolveReference(root, reference) === undefined) return `Reference '${reference}' cannot be resolved. Only references within the schema are supported`;
  if (listField(schema, 'allOf').some((part) => field(part, '$ref') !== undefined)) return "'allOf' with '$ref' is not supported";
  if (listField(schema, 'enum').some((value) => typeof value === 'object' && value !== null)) return 'Enum values must be strings, numbers, booleans or null';
  const format = stringField(schema, 'format');
  if (format !== undefined && !FORMATS.includes(format)) return `For 'string' type, format '${format}' is not supported`;
  if (HARD_PATTERN.test(stringField(schema, 'pattern') ?? '')) return "For 'string' type, the pattern uses features of regular expressions that are not supported";
  return first(typesOf(schema), (type) => typeProblem(schema, type));
}

function typeProblem(schema: Subschema['schema'], type: string): string | undefined {
  const names = (REFUSED_BY_TYPE.get(type) ?? []).filter((keyword) => Object.hasOwn(schema, keyword));
  if (names.length === 1) return `For '${type}' type, property '${names[0]}' is not supported`;
  if (names.length > 1) return `For '${type}' type, properties ${names.join(', ')} are not supported`;
  if (type === 'array' && ![undefined, 0, 1].includes(schema['minItems'] as undefined)) return "For 'array' type, 'minItems' values other than 0 or 1 are not supported";
  if (type !== 'object') return undefined;
  const others = schema['additionalProperties'];
  if (others === undefined) return "For 'object' type, 'additionalProperties' must be explicitly set to false";
  if (others !== false) return `For 'object' type, 'additionalProperties: ${JSON.stringify(others)}' is not supported. Please set 'additionalProperties' to false`;
  const extra = listField(schema, 'required').find((key) => !isObject(schema['properties']) || !Object.hasOwn(schema['properties'], String(key)));
  return extra === undefined ? undefined : `For 'object' type, required property '${String(extra)}' is not in 'properties'`;
}

function sizeProblem(strictToolCount: number, all: readonly Subschema[]): string | undefined {
  if (strictToolCount > STRICT_TOOLS_MAX) return `Too many strict tools: ${strictToolCount}. At most ${STRICT_TOOLS_MAX} are allowed.`;
  const optionalCount = all.reduce((total, { schema }) => {
    const required = listField(schema, 'required');
    const keys = isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
    return total + keys.filter((key) => !required.includes(key)).length;
  }, 0);
  const large = (what: string, count: number, limit: number): string =>
    `Schemas contain too many ${what} (${count}), which would make grammar compilation inefficient. Reduce their number (limit: ${limit}).`;
  if (optionalCount > OPTIONAL_MAX) return large('optional parameters', optionalCount, OPTIONAL_MAX);
  const unionCount = all.filter(({ schema }) => Array.isArray(schema['anyOf']) || Array.isArray(schema['type'])).length;
  return unionCount > UNIONS_MAX ? large('parameters with union types', unionCount, UNIONS_MAX) : undefined;
}
