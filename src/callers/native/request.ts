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
import { RawJson } from '../../base/json/value.ts';
import type { JsonObject, JsonValue } from '../../base/json/value.ts';
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
import type { Failure } from '../../core/failure.ts';
import { decodeBody } from '../body.ts';
import { isBase64, isImageType, isWebUrl } from '../image.ts';
import { readModel } from '../model.ts';

/** Decodes one body. Every failure is a bad_request (400). Never throws, whatever the bytes. */
// hot: per request
export function decodeChatRequest(body: Buffer): ChatRequest | Failure {
  return decodeBody(body, readRequest);
}

function readRequest(fields: Fields): ChatRequest {
  const request: ChatRequest = {
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
  fields.end();
  return request;
}

function readProvider(fields: Fields): string | undefined {
  const name = fields.string('provider');
  if (name === '') throw fields.problem('provider', 'must not be empty');
  return name;
}

function readTurns(fields: Fields): readonly Turn[] {
  const turns = fields.list('messages', decodeTurn);
  if (turns === undefined) throw fields.problem('messages', 'required');
  if (turns.length === 0) throw fields.problem('messages', 'must not be empty');
  return turns;
}

function decodeTurn(item: JsonValue, path: Path): Turn {
  const fields = Fields.from(item, path);
  const turn = readTurn(fields, fields.requiredOneOf('role', ['user', 'assistant', 'tool']));
  fields.end();
  return turn;
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
  if (text === undefined) throw new FieldProblem(fields.path, 'set either text or content');
  if (text === '') throw fields.problem('text', 'must not be empty');
  return [{ type: 'text', text, state: undefined }];
}

function readToolResults(fields: Fields): readonly ToolResultPart[] {
  if (fields.string('text') !== undefined) {
    throw fields.problem('text', 'a tool message takes only tool_result parts, in content');
  }
  const parts = fields.list('content', decodeToolPart, ' (a tool message takes tool_result parts, not `text`)');
  if (parts === undefined) throw fields.problem('content', 'required');
  return parts;
}

function atLeastOne<T>(fields: Fields, parts: readonly T[]): readonly T[] {
  if (parts.length === 0) throw fields.problem('content', 'must not be empty');
  return parts;
}

function decodeUserPart(item: JsonValue, path: Path): UserTurn['parts'][number] {
  const fields = Fields.from(item, path);
  const type = readPartType(fields, 'user', ['text', 'image']);
  return endPart(fields, type === 'text' ? readUserText(fields) : readImage(fields));
}

function decodeAssistantPart(item: JsonValue, path: Path): AssistantPart {
  const fields = Fields.from(item, path);
  const type = readPartType(fields, 'assistant', ['text', 'tool_call']);
  return endPart(fields, type === 'text' ? readAssistantText(fields) : readToolCall(fields));
}

function decodeToolPart(item: JsonValue, path: Path): ToolResultPart {
  const fields = Fields.from(item, path);
  readPartType(fields, 'tool', ['tool_result']);
  return endPart(fields, readToolResult(fields));
}

function readPartType<T extends string>(fields: Fields, role: Turn['role'], allowed: readonly T[]): T {
  const type = fields.requiredString('type');
  const found = allowed.find((candidate) => candidate === type);
  if (found !== undefined) return found;
  throw fields.problem('type', `must be ${allowed.join(' or ')} in a message of role ${role}`);
}

const PART_FIELDS = [
  'text',
  'media_type',
  'data',
  'url',
  'id',
  'name',
  'arguments',
  'tool_call_id',
  'content',
  'is_error',
  'provider_state',
] as const;

/**
 * Ends a part. A field of another type is unknown to it, unless it is null: programs that keep every part in one
 * record write all of its fields.
 */
function endPart<T>(fields: Fields, part: T): T {
  for (const name of PART_FIELDS) if (!fields.has(name)) fields.string(name);
  fields.end();
  return part;
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
  throw new FieldProblem(fields.path, 'an image needs either media_type and data, or url');
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
  const fields = Fields.from(item, path);
  const name = fields.requiredText('name');
  if (names.has(name)) throw fields.problem('name', 'another tool has this name');
  names.add(name);
  const tool: Tool = { name, description: fields.string('description'), parameters: readParameters(fields) };
  fields.end();
  return tool;
}

function readParameters(fields: Fields): RawJson | undefined {
  const schema = fields.opaqueObject('parameters');
  const type = schema?.entries.get('type');
  if (type === undefined || type === 'object') return schema?.raw;
  throw new FieldProblem({ parent: fields.at('parameters'), key: 'type' }, 'must be "object"');
}

function readToolChoice(fields: Fields): ToolChoice | undefined {
  const choice = fields.object('tool_choice');
  if (choice === undefined) return undefined;
  const mode = choice.requiredOneOf('mode', ['auto', 'none', 'required', 'tool']);
  const name = choice.string('name') || undefined;
  choice.end();
  if (mode === 'tool') {
    if (name === undefined) throw choice.problem('name', 'required with mode tool');
    return { mode, name };
  }
  if (name !== undefined) throw choice.problem('name', `only mode tool takes a name, not ${mode}`);
  return { mode };
}

function readThinking(fields: Fields): Thinking | undefined {
  const thinking = fields.object('thinking');
  if (thinking === undefined) return undefined;
  const enabled = thinking.boolean('enabled');
  if (enabled === undefined) throw thinking.problem('enabled', 'required');
  const effort = thinking.oneOf('effort', EFFORTS);
  thinking.end();
  return { enabled, effort };
}

function readProviderOptions(fields: Fields): JsonObject | undefined {
  const options = fields.opaqueObject('provider_options');
  if (options?.entries.has('stream') !== true) return options;
  throw new FieldProblem({ parent: fields.at('provider_options'), key: 'stream' }, 'not allowed, the path decides it');
}
