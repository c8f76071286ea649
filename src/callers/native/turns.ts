/** The messages of a chat request: each object opened with the fields that its role and type may have. */

import { FieldProblem, Fields } from '../../base/fields.ts';
import type { Path } from '../../base/fields.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { DOCUMENT_TYPES, unreachable } from '../../core/chat.ts';
import type { AssistantPart, ContentPart, DocumentPart, ImagePart, TextPart, ToolResultPart, Turn } from '../../core/chat.ts';
import { documentProblem } from '../document.ts';
import { isBase64, isImageType, isWebUrl } from '../image.ts';
import type * as Wire from './wire.ts';

/** Field names by type of part. */
type FieldsOf<P extends Wire.Part> = { readonly [type in P['type']]: readonly (keyof Extract<P, { readonly type: type }>)[] };

const TURN_FIELDS = ['role', 'text', 'content'];
const TEXT_FIELDS = ['type', 'text'] as const;
/** What people and tools say, by type. */
const CONTENT = {
  text: TEXT_FIELDS,
  image: ['type', 'media_type', 'data', 'url'],
  document: ['type', 'media_type', 'data', 'url', 'name'],
} as const satisfies FieldsOf<Wire.ContentPart>;
/** The fields of a part by the role of its turn and its type. */
const PARTS = {
  user: CONTENT,
  assistant: { text: [...TEXT_FIELDS, 'provider_state'], tool_call: ['type', 'id', 'name', 'arguments', 'provider_state'] },
  tool: { tool_result: ['type', 'tool_call_id', 'content', 'is_error'] },
} as const satisfies { readonly [role in Turn['role']]: Partial<FieldsOf<Wire.Part>> };
const PART_FIELDS: readonly string[] = [...new Set(Object.values(PARTS).flatMap((types) => Object.values(types).flat()))];
const CONTENT_FIELDS: readonly string[] = [...new Set(Object.values(CONTENT).flat())];

/** The turns of a request, at least one. Throws a FieldProblem. */
export function readTurns(fields: Fields): readonly Turn[] {
  const turns = fields.list('messages', decodeTurn);
  if (turns === undefined) throw fields.missing('messages');
  if (turns.length === 0) throw fields.problem('messages', 'must not be empty');
  return turns;
}

/** Opens every object of the messages, which throws for the first unknown field. What has another shape is passed over. */
export function openTurns(body: JsonObject): void {
  for (const [turn, path] of objectsAt(body, undefined, 'messages')) {
    new Fields(turn, path, TURN_FIELDS);
    for (const [part, partPath] of objectsAt(turn, path, 'content')) {
      new Fields(part, partPath, PART_FIELDS).only(partFields(turn.entries.get('role'), part.entries.get('type')));
      for (const [inner, innerPath] of objectsAt(part, partPath, 'content')) {
        const type = inner.entries.get('type');
        new Fields(inner, innerPath, CONTENT_FIELDS).only(Object.entries(CONTENT).find(([name]) => name === type)?.[1] ?? CONTENT_FIELDS);
      }
    }
  }
}

/** Of a part whose role or type is none, every field that any part has. */
function partFields(role: JsonValue | undefined, type: JsonValue | undefined): readonly string[] {
  for (const [name, types] of Object.entries(PARTS)) {
    if (name === role) return Object.entries(types).find(([candidate]) => candidate === type)?.[1] ?? PART_FIELDS;
  }
  return PART_FIELDS;
}

/** The object that a field holds, or the objects of the array that it holds, each with its path. */
export function objectsAt(object: JsonObject, parent: Path | undefined, key: string): [JsonObject, Path][] {
  const value = object.entries.get(key);
  const path = { parent, key };
  if (value instanceof JsonObject) return [[value, path]];
  if (!(value instanceof JsonArray)) return [];
  return value.items.flatMap((item, index): [JsonObject, Path][] => (item instanceof JsonObject ? [[item, { parent: path, key: index }]] : []));
}

function decodeTurn(item: JsonValue, path: Path): Turn {
  const fields = Fields.from(item, path, TURN_FIELDS);
  return readTurn(fields, fields.requiredOneOf('role', ['user', 'assistant', 'tool']));
}

function readTurn(fields: Fields, role: Turn['role']): Turn {
  switch (role) {
    case 'user':
      return { role, parts: atLeastOne(fields, readSpokenParts(fields, decodeUserPart)) };
    case 'assistant':
      // May be empty: a model can produce an empty turn, and it has to replay.
      return { role, parts: readSpokenParts(fields, decodeAssistantPart) };
    case 'tool':
      return { role, parts: atLeastOne(fields, readToolResults(fields)) };
    default:
      return unreachable(role);
  }
}

/** The parts of a message that may use the shorthand `text`, which stands for one text part. */
function readSpokenParts<T>(fields: Fields, decodePart: (item: JsonValue, path: Path) => T): readonly (T | TextPart)[] {
  const text = fields.string('text');
  const parts = fields.list('content', decodePart, '; use `text` for plain text');
  if (parts !== undefined) {
    if (text === undefined) return parts;
    throw new FieldProblem(fields.path, 'set either text or content, not both');
  }
  if (text === undefined) throw new FieldProblem(fields.path, 'set either text or content', { isMissing: true });
  if (text === '') throw fields.problem('text', 'must not be empty');
  return [{ type: 'text', text, state: undefined }];
}

function readToolResults(fields: Fields): readonly ToolResultPart[] {
  if (fields.string('text') !== undefined) {
    throw fields.problem('text', 'a tool message takes only tool_result parts, in content');
  }
  const parts = fields.list('content', decodeToolPart, ' (a tool message takes tool_result parts, not `text`)');
  if (parts === undefined) throw fields.missing('content');
  return parts;
}

function atLeastOne<T>(fields: Fields, parts: readonly T[]): readonly T[] {
  if (parts.length === 0) throw fields.problem('content', 'must not be empty');
  return parts;
}

function decodeUserPart(item: JsonValue, path: Path): ContentPart {
  const fields = Fields.from(item, path, PART_FIELDS);
  return readContent(fields, openPart(fields, 'in a message of role user', PARTS.user));
}

function decodeAssistantPart(item: JsonValue, path: Path): AssistantPart {
  const fields = Fields.from(item, path, PART_FIELDS);
  return openPart(fields, 'in a message of role assistant', PARTS.assistant) === 'text' ? readAssistantText(fields) : readToolCall(fields);
}

function decodeToolPart(item: JsonValue, path: Path): ToolResultPart {
  const fields = Fields.from(item, path, PART_FIELDS);
  openPart(fields, 'in a message of role tool', PARTS.tool);
  return readToolResult(fields);
}

function decodeResultPart(item: JsonValue, path: Path): ContentPart {
  const fields = Fields.from(item, path, CONTENT_FIELDS);
  return readContent(fields, openPart(fields, 'in a tool result', CONTENT));
}

/** The type of a part, one of those that may stand there, once it has no field of another type. */
function openPart<T extends string>(fields: Fields, where: string, types: Readonly<Record<T, readonly string[]>>): T {
  const type = fields.requiredString('type');
  for (const candidate in types) {
    if (candidate !== type) continue;
    fields.only(types[candidate]);
    return candidate;
  }
  throw fields.problem('type', `must be ${orList(Object.keys(types))} ${where}`);
}

function orList(names: readonly string[]): string {
  return names.length < 3 ? names.join(' or ') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

function readContent(fields: Fields, type: ContentPart['type']): ContentPart {
  switch (type) {
    case 'text':
      return { type, text: fields.requiredText('text'), state: undefined };
    case 'image':
      return readImage(fields);
    case 'document':
      return readDocument(fields);
    default:
      return unreachable(type);
  }
}

function readAssistantText(fields: Fields): TextPart {
  const state = readState(fields);
  const text = state === undefined ? fields.requiredText('text') : fields.requiredString('text');
  return { type: 'text', text, state };
}

function readState(fields: Fields): string | undefined {
  const state = fields.string('provider_state');
  if (state === '') throw fields.problem('provider_state', 'must not be empty');
  return state;
}

function readImage(fields: Fields): ImagePart {
  const mediaType = fields.string('media_type');
  const base64 = fields.string('data');
  const url = fields.string('url');
  if (mediaType !== undefined && base64 !== undefined && url === undefined) {
    if (!isImageType(mediaType)) throw fields.problem('media_type', 'must have the form image/<subtype>');
    if (!isBase64(base64)) throw fields.problem('data', 'must be canonical base64 (RFC 4648 section 4, padded)');
    return { type: 'image', source: { type: 'inline', mediaType, base64 } };
  }
  if (url !== undefined && mediaType === undefined && base64 === undefined) {
    if (!isWebUrl(url)) throw fields.problem('url', 'must be an absolute http or https URL');
    return { type: 'image', source: { type: 'url', url } };
  }
  throw new FieldProblem(fields.path, 'an image needs either media_type and data, or url', { isMissing: true });
}

function readDocument(fields: Fields): DocumentPart {
  const mediaType = fields.requiredOneOf('media_type', DOCUMENT_TYPES);
  const base64 = fields.string('data');
  const url = fields.string('url');
  const name = fields.string('name') || undefined;
  if (base64 !== undefined && url === undefined) {
    const problem = documentProblem(mediaType, base64);
    if (problem !== undefined) throw fields.problem('data', problem);
    return { type: 'document', mediaType, source: { type: 'inline', base64 }, name };
  }
  if (url !== undefined && base64 === undefined) {
    if (!isWebUrl(url)) throw fields.problem('url', 'must be an absolute http or https URL');
    return { type: 'document', mediaType, source: { type: 'url', url }, name };
  }
  throw new FieldProblem(fields.path, 'a document needs either data or url', { isMissing: true });
}

function readToolCall(fields: Fields): AssistantPart {
  return {
    type: 'tool_call',
    id: fields.requiredText('id'),
    name: fields.requiredText('name'),
    arguments: fields.opaqueObject('arguments')?.raw ?? new RawJson('{}'),
    state: readState(fields),
  };
}

function readToolResult(fields: Fields): ToolResultPart {
  return {
    type: 'tool_result',
    toolCallId: fields.requiredText('tool_call_id'),
    content: readResultContent(fields),
    isError: fields.boolean('is_error') ?? false,
  };
}

/** A text, or parts; a list of none says what an empty text does. */
function readResultContent(fields: Fields): ToolResultPart['content'] {
  if (!(fields.any('content') instanceof JsonArray)) return fields.string('content') ?? '';
  const parts = fields.list('content', decodeResultPart) ?? [];
  return parts.length === 0 ? '' : parts;
}
