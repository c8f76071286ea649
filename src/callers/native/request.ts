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
import { JsonObject } from '../../base/json/value.ts';
import type { JsonValue, RawJson } from '../../base/json/value.ts';
import { CACHE_TTLS, EFFORTS } from '../../core/chat.ts';
import type { CacheHint, ChatRequest, OutputFormat, Thinking, Tool, ToolChoice } from '../../core/chat.ts';
import type { RequestBody } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { failureFrom, parseBody, problemOr } from '../body.ts';
import { readModel } from '../model.ts';
import { isSchemaName } from '../schema-name.ts';
import { ownName } from '../tool-name.ts';
import { objectsAt, openTurns, readTurns } from './turns.ts';
import type * as Wire from './wire.ts';

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
  'output',
  'cache',
  'user',
  'provider_options',
] satisfies readonly (keyof Wire.ChatRequest)[];
const TOOL_FIELDS = ['name', 'description', 'parameters', 'strict'] satisfies readonly (keyof Wire.Tool)[];
const TOOL_CHOICE_FIELDS = ['mode', 'name', 'parallel'] satisfies readonly (keyof Wire.ToolChoice)[];
const THINKING_FIELDS = ['enabled', 'effort'] satisfies readonly (keyof Wire.Thinking)[];
const OUTPUT_FIELDS = ['type', 'schema', 'name', 'strict'] satisfies readonly (keyof Wire.Output)[];
const CACHE_FIELDS = ['key', 'ttl'] satisfies readonly (keyof Wire.CacheHint)[];

/** Decodes one body. Every failure is a bad_request (400). Never throws, whatever the bytes. */
// hot: per request
export function decodeChatRequest(body: RequestBody): ChatRequest | Failure {
  const value = parseBody(body);
  if (value instanceof Failure) return value;
  const request = problemOr(() => readRequest(new Fields(value, undefined, REQUEST_FIELDS)));
  if (!(request instanceof FieldProblem)) return request;
  // A field that is missing may stand elsewhere under a name that nobody knows, and that is then what is said.
  return failureFrom((request.isMissing ? problemOr(() => openAll(value)) : undefined) ?? request);
}

const OBJECTS = { tool_choice: TOOL_CHOICE_FIELDS, thinking: THINKING_FIELDS, tools: TOOL_FIELDS, output: OUTPUT_FIELDS, cache: CACHE_FIELDS };

/** Opens every object of the vocabulary in the body, which throws for the first unknown field. What has another shape is passed over. */
function openAll(body: JsonObject): void {
  for (const [name, known] of Object.entries(OBJECTS)) for (const [object, path] of objectsAt(body, undefined, name)) new Fields(object, path, known);
  openTurns(body);
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
    output: readOutput(fields),
    cache: readCache(fields),
    user: fields.string('user') || undefined,
    providerOptions: readProviderOptions(fields),
  };
}

function readProvider(fields: Fields): string | undefined {
  const name = fields.string('provider');
  if (name === '') throw fields.problem('provider', 'must not be empty');
  return name;
}

function readTools(fields: Fields): readonly Tool[] {
  const names = new Set<string>();
  return fields.list('tools', (item, path) => decodeTool(item, path, names)) ?? [];
}

/** `names` are those of the tools before this one; its own is added. */
function decodeTool(item: JsonValue, path: Path, names: Set<string>): Tool {
  const fields = Fields.from(item, path, TOOL_FIELDS);
  const name = ownName(fields.requiredText('name'), fields, names);
  return { name, description: fields.string('description'), parameters: readParameters(fields), strict: fields.boolean('strict') };
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
  const parallel = choice.boolean('parallel');
  const mode = choice.oneOf('mode', ['auto', 'none', 'required', 'tool']) ?? (parallel === undefined ? undefined : 'auto');
  if (mode === undefined) throw choice.missing('mode', 'required (one of auto, none, required, tool)');
  const name = choice.string('name') || undefined;
  if (mode === 'tool') {
    if (name === undefined) throw choice.missing('name', 'required with mode tool');
    return { mode, name, parallel };
  }
  if (name !== undefined) throw choice.problem('name', `allowed with mode tool only, not with ${mode}`);
  return { mode, parallel };
}

function readThinking(fields: Fields): Thinking | undefined {
  const thinking = fields.object('thinking', THINKING_FIELDS);
  if (thinking === undefined) return undefined;
  const enabled = thinking.boolean('enabled');
  if (enabled === undefined) throw thinking.missing('enabled');
  const effort = thinking.oneOf('effort', EFFORTS);
  return { enabled, effort };
}

function readOutput(fields: Fields): OutputFormat | undefined {
  const output = fields.object('output', OUTPUT_FIELDS);
  if (output === undefined) return undefined;
  output.requiredOneOf('type', ['json']);
  const schema = output.opaqueObject('schema')?.raw;
  const name = output.string('name');
  const strict = output.boolean('strict');
  if (schema === undefined && name !== undefined) throw output.problem('name', 'allowed with a schema only');
  if (schema === undefined && strict !== undefined) throw output.problem('strict', 'allowed with a schema only');
  if (name !== undefined && !isSchemaName(name)) throw output.problem('name', 'must be 1 to 64 letters, digits, _ or -');
  return { schema, name: name ?? 'output', strict: strict ?? true };
}

function readCache(fields: Fields): CacheHint | undefined {
  const cache = fields.object('cache', CACHE_FIELDS);
  if (cache === undefined) return undefined;
  return { key: cache.string('key') || undefined, ttl: cache.oneOf('ttl', CACHE_TTLS) };
}

function readProviderOptions(fields: Fields): JsonObject | undefined {
  const options = fields.opaqueObject('provider_options');
  if (options?.entries.has('stream') !== true) return options;
  throw new FieldProblem({ parent: fields.at('provider_options'), key: 'stream' }, 'not allowed: the path /v1/chat or /v1/chat/stream decides it');
}
