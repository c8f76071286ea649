/**
 * The form of answers that a request to Gemini may ask for.
 *
 * What a JSON schema holds beyond the supported subset is ignored, as the provider does.
 * Source: Gemini API, structured output; GenerationConfig.
 */

import { field, isObject, listField, stringField } from '../../base/loose.ts';
import type { Complaint, Output } from '../protocol.ts';
import { isRecursive, resolveReference, subschemasOf } from '../schema/subschemas.ts';
import type { Subschema } from '../schema/subschemas.ts';
import { first } from '../shape.ts';
import { invalid } from './complaint.ts';

const MIME_TYPES = ['text/plain', 'application/json', 'text/x.enum', 'application/xml', 'application/yaml'];

/** What `generationConfig` asks for; undefined for plain text. */
export function outputOf(body: unknown): Output | Complaint | undefined {
  const config = field(body, 'generationConfig');
  const mimeType = stringField(config, 'responseMimeType') ?? 'text/plain';
  const [own, standard] = [field(config, 'responseSchema'), field(config, 'responseJsonSchema')];
  const schema = own ?? standard;
  if (!MIME_TYPES.includes(mimeType)) return invalid(`* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are ${MIME_TYPES.map((type) => `\`${type}\``).join(', ')}.`);
  if (own !== undefined && standard !== undefined) return invalid('Only one of response_schema and response_json_schema may be set.');
  if (schema !== undefined && !['application/json', 'text/x.enum'].includes(mimeType)) {
    return invalid(`* GenerateContentRequest.generation_config.${own === undefined ? 'response_json_schema' : 'response_schema'}: only allowed with response_mime_type application/json or text/x.enum.`);
  }
  if (mimeType === 'text/x.enum') {
    const isEnum = listField(schema, 'enum').length > 0;
    return isEnum ? { schema, isBare: true } : invalid('* GenerateContentRequest.generation_config.response_schema: an enum is required for mime type text/x.enum.');
  }
  if (mimeType !== 'application/json') return undefined;
  const mode = stringField(field(field(body, 'toolConfig'), 'functionCallingConfig'), 'mode');
  if (mode === 'ANY') return invalid("Forced function calling (ANY mode) with a response mime type: 'application/json' is unsupported");
  if (standard !== undefined && !isObject(standard)) return invalid('* GenerateContentRequest.generation_config.response_json_schema: must be an object.');
  const problem = first(subschemasOf(standard), (inner) => placeProblem(standard, inner))
    ?? (isRecursive(standard, ({ isOptional }) => !isOptional) ? 'cyclic references are only allowed within non-required properties.' : undefined);
  return problem === undefined ? { schema } : invalid(`* GenerateContentRequest.generation_config.response_json_schema: ${problem}`);
}

function placeProblem(root: unknown, { schema }: Subschema): string | undefined {
  const reference = stringField(schema, '$ref');
  if (reference === undefined) return undefined;
  if (Object.keys(schema).some((keyword) => !keyword.startsWith('$'))) return 'a schema with $ref may have no other fields than those that begin with $.';
  return resolveReference(root, reference) === undefined ? `reference to undefined schema ${reference}.` : undefined;
}
