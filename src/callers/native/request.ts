/**
 * The body of a chat request: bytes in, a `ChatRequest` or the reason why not.
 *
 * Checks everything that can be told from the body alone. It does not know which providers exist, what
 * any of them supports, or whether tool results match their calls (core/conversation.ts).
 *
 * null reads as absent. A sentence names where the problem is and what was expected; of the body it
 * repeats at most a key, because sentences end up in logs.
 */

import { FieldProblem, Fields, textItem } from '../../base/fields.ts';
import type { Path } from '../../base/fields.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { EFFORTS, unreachable } from '../../core/chat.ts';
import type {
  AssistantPart,
  ChatRequest,
  ImagePart,
  TextPart,
  Thinking,
  Tool,
  ToolChoice,
  ToolResultPart,
  Turn,
  UserTurn,
} from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { parseBody } from '../body.ts';
import { isBase64, isImageType, isWebUrl } from '../image.ts';
import { readModel } from '../model.ts';

const REQUEST_FIELDS = [
  'provider',
  'model',
  'system',
  'messages',
  'max_tokens',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'tool_choice',
  'thinking',
  'provider_options',
];
const TURN_FIELDS = ['role', 'text', 'content'];
const TOOL_FIELDS = ['name', 'description', 'parameters'];
const TOOL_CHOICE_FIELDS = ['mode', 'name'];
const THINKING_FIELDS = ['enabled', 'effort'];

const TEXT_FIELDS = ['type', 'text'];
/** The fields of a part by the role of its turn and its type. */
const PARTS = {
  user: { text: TEXT_FIELDS, image: ['type', 'media_type', 'data', 'url'] },
  assistant: { text: [...TEXT_FIELDS, 'provider_state'], tool_call: ['type', 'id', 'name', 'arguments', 'provider_state'] },
  tool: { tool_result: ['type', 'tool_call_id', 'content', 'is_error'] },
} as const;
const PART_FIELDS: readonly string[] = [...new Set(Object.values(PARTS).flatMap((types) => Object.values(types).flat()))];

/** Decodes one body. Every failure is a bad_request (400). Never throws, whatever the bytes. */
// hot: per request
export function decodeChatRequest(body: Buffer): ChatRequest | Failure {
  const value = parseBody(body);
  if (value instanceof Failure) return value;
  const request = problemOr(() => readRequest(new Fields(value, undefined, REQUEST_FIELDS)));
  return request instanceof FieldProblem ? failureFrom(request, value) : request;
}

/** What `read` returns, or the problem that it throws. */
function problemOr<T>(read: () => T): T | FieldProblem {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof FieldProblem) return thrown;
    throw thrown;
  }
}

/** A field that is missing may stand elsewhere under a name that nobody knows, and that is then what is said. */
function failureFrom(problem: FieldProblem, body: JsonObject): Failure {
  const { message, quote } = (problem.isMissing ? problemOr(() => openAll(body)) : undefined) ?? problem;
  return new Failure('bad_request', message, { quotes: quote === undefined ? [] : [quote] });
}

/** Opens every object of the vocabulary, which throws for the first unknown field. What has another shape is passed over. */
function openAll(body: JsonObject): undefined {
  new Fields(body, undefined, REQUEST_FIELDS);
  for (const [choice, path] of objectsAt(body, undefined, 'tool_choice')) new Fields(choice, path, TOOL_CHOICE_FIELDS);
  for (const [thinking, path] of objectsAt(body, undefined, 'thinking')) new Fields(thinking, path, THINKING_FIELDS);
  for (const [tool, path] of objectsAt(body, undefined, 'tools')) new Fields(tool, path, TOOL_FIELDS);
  for (const [turn, path] of objectsAt(body, undefined, 'messages')) {
    new Fields(turn, path, TURN_FIELDS);
    for (const [part, partPath] of objectsAt(turn, path, 'content')) {
      new Fields(part, partPath, PART_FIELDS).only(partFields(turn.entries.get('role'), part.entries.get('type')));
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
function objectsAt(object: JsonObject, parent: Path | undefined, key: string): [JsonObject, Path][] {
  const value = object.entries.get(key);
  const path = { parent, key };
  if (value instanceof JsonObject) return [[value, path]];
  if (!(value instanceof JsonArray)) return [];
  return value.items.flatMap((item, index): [JsonObject, Path][] => (item instanceof JsonObject ? [[item, { parent: path, key: index }]] : []));
}

function readRequest(fields: Fields): ChatRequest {
  return {
    provider: readProvider(fields),
    model: readModel(fields),
    system: fields.string('system') || undefined,
    turns: readTurns(fields),
    maxTokens: fields.count('max_tokens') || undefined,
    temperature: fields.finiteNumber('temperature'),
    topP: fields.finiteNumber('top_p'),
    stop: fields.list('stop', textItem) ?? [],
    tools: readTools(fields),
    toolChoice: readToolChoice(fields),
    thinking: readThinking(fields),
    providerOptions: readProviderOptions(fields),
  };
}

function readProvider(fields: Fields): string | undefined {
  const name = fields.string('provider');
  if (name === '') throw fields.problem('provider', 'must not be empty');
  return name;
}

function readTurns(fields: Fields): readonly Turn[] {
  const turns = fields.list('messages', decodeTurn);
  if (turns === undefined) throw fields.missing('messages');
  if (turns.length === 0) throw fields.problem('messages', 'must not be empty');
  return turns;
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

function decodeUserPart(item: JsonValue, path: Path): UserTurn['parts'][number] {
  const fields = Fields.from(item, path, PART_FIELDS);
  return openPart(fields, 'user', PARTS.user) === 'text' ? readUserText(fields) : readImage(fields);
}

function decodeAssistantPart(item: JsonValue, path: Path): AssistantPart {
  const fields = Fields.from(item, path, PART_FIELDS);
  return openPart(fields, 'assistant', PARTS.assistant) === 'text' ? readAssistantText(fields) : readToolCall(fields);
}

function decodeToolPart(item: JsonValue, path: Path): ToolResultPart {
  const fields = Fields.from(item, path, PART_FIELDS);
  openPart(fields, 'tool', PARTS.tool);
  return readToolResult(fields);
}

/** The type of a part, one of those that its turn may have, once it has no field of another type. */
function openPart<T extends string>(fields: Fields, role: Turn['role'], types: Readonly<Record<T, readonly string[]>>): T {
  const type = fields.requiredString('type');
  for (const candidate in types) {
    if (candidate !== type) continue;
    fields.only(types[candidate]);
    return candidate;
  }
  throw fields.problem('type', `must be ${Object.keys(types).join(' or ')} in a message of role ${role}`);
}

function readUserText(fields: Fields): TextPart {
  return { type: 'text', text: fields.requiredText('text'), state: undefined };
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
    content: fields.string('content') ?? '',
    isError: fields.boolean('is_error') ?? false,
  };
}

function readTools(fields: Fields): readonly Tool[] {
  const names = new Set<string>();
  return fields.list('tools', (item, path) => decodeTool(item, path, names)) ?? [];
}

/** `names` are those of the tools before this one; its own is added. */
function decodeTool(item: JsonValue, path: Path, names: Set<string>): Tool {
  const fields = Fields.from(item, path, TOOL_FIELDS);
  const name = fields.requiredText('name');
  if (names.has(name)) throw fields.problem('name', 'another tool has this name');
  names.add(name);
  return { name, description: fields.string('description'), parameters: readParameters(fields) };
}

function readParameters(fields: Fields): RawJson | undefined {
  const schema = fields.opaqueObject('parameters');
  const type = schema?.entries.get('type');
  if (type === undefined || type === 'object') return schema?.raw;
  throw new FieldProblem({ parent: fields.at('parameters'), key: 'type' }, 'must be "object"');
}

function readToolChoice(fields: Fields): ToolChoice | undefined {
  const choice = fields.object('tool_choice', TOOL_CHOICE_FIELDS);
  if (choice === undefined) return undefined;
  const mode = choice.requiredOneOf('mode', ['auto', 'none', 'required', 'tool']);
  const name = choice.string('name') || undefined;
  if (mode === 'tool') {
    if (name === undefined) throw choice.missing('name', 'required with mode tool');
    return { mode, name };
  }
  if (name !== undefined) throw choice.problem('name', `only mode tool takes a name, not ${mode}`);
  return { mode };
}

function readThinking(fields: Fields): Thinking | undefined {
  const thinking = fields.object('thinking', THINKING_FIELDS);
  if (thinking === undefined) return undefined;
  const enabled = thinking.boolean('enabled');
  if (enabled === undefined) throw thinking.missing('enabled');
  const effort = thinking.oneOf('effort', EFFORTS);
  return { enabled, effort };
}

function readProviderOptions(fields: Fields): JsonObject | undefined {
  const options = fields.opaqueObject('provider_options');
  if (options?.entries.has('stream') !== true) return options;
  throw new FieldProblem({ parent: fields.at('provider_options'), key: 'stream' }, 'not allowed, the path decides it');
}
