/**
 * A chat request as the payload of the Messages API.
 *
 * The messages of a conversation are a function of its turns alone, each encoded without a look at later ones, so a
 * longer conversation's messages begin with those of the shorter one (a new turn of the same role extends the last
 * message). Provider caches and the signatures of reasoning depend on it.
 * Source: Anthropic Messages API, create a message; tool use; vision.
 */

import { createJsonBudget } from '../../base/json/limits.ts';
import type { JsonBudget } from '../../base/json/limits.ts';
import { mergePatch } from '../../base/json/merge.ts';
import { RawJson } from '../../base/json/value.ts';
import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import { CallIds } from '../../core/call-id.ts';
import { unreachable } from '../../core/chat.ts';
import type { AssistantTurn, ChatRequest, ContentPart, OutputFormat, Tool, ToolChoice, Turn } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { DAMAGED_STATE, damagedState } from '../../core/provider-state.ts';
import { schemaWith } from '../../core/tool-schema.ts';
import { refuseContent } from '../refused-content.ts';
import type { Objection } from '../refused-content.ts';
import { countedMembers } from '../token-count.ts';
import { encodePart, encodeResult } from './content.ts';
import type { MessagesHost } from './host.ts';
import { modelFields } from './model-rules.ts';
import { decodePartState } from './state.ts';

/** The payload. Failures: bad_request, for a damaged state; unsupported. */
// hot: per request
export function encodePayload(provider: string, host: MessagesHost, request: ChatRequest, isStream: boolean): JsonOut | Failure {
  const payload = payloadOf(provider, host, request, isStream);
  if (payload instanceof Failure) return payload;
  return request.providerOptions === undefined ? payload : mergePatch(payload, request.providerOptions);
}

/** What the count of tokens takes (Anthropic, count tokens in a message). */
const COUNTED = ['model', 'anthropic_version', 'cache_control', 'thinking', 'output_config', 'system', 'messages', 'tools', 'tool_choice', 'context_management', 'mcp_servers'];

/** The payload that has its tokens counted. */
export function encodeCountPayload(provider: string, host: MessagesHost, request: ChatRequest): JsonOut | Failure {
  const payload = payloadOf(provider, host, request, false);
  if (payload instanceof Failure) return payload;
  // Also where the model of an answer is in its path.
  const named = { ...payload, model: request.model };
  return countedMembers(request.providerOptions === undefined ? named : mergePatch(named, request.providerOptions), COUNTED);
}

function payloadOf(provider: string, host: MessagesHost, request: ChatRequest, isStream: boolean): JsonOutObject | Failure {
  const refused = refuseContent(request.turns, (part) => urlObjection(provider, host, part));
  if (refused !== undefined) return refused;
  const format = encodeFormat(request.output);
  if (format instanceof Failure) return format;
  const past = { provider, ids: new CallIds(CALL_IDS), budget: createJsonBudget() };
  const messages = encodeMessages(past, request.turns);
  if (messages instanceof Failure) return messages;
  const meant = { ...request, model: host.modelOf(request.model) };
  const fields = modelFields(meant, () => !isForced(request.toolChoice) && !lacksReasoning(messages));
  // The prefix up to the last block that can be cached; kept for five minutes unless told otherwise.
  const cached = request.cache && { type: 'ephemeral', ttl: request.cache.ttl === 'long' ? '1h' : undefined };
  const isMarkedWhole = host.cacheMark === 'whole';
  const mark = isMarkedWhole ? undefined : cached;
  if (mark !== undefined) markLastBlock(messages, mark);
  return {
    model: host.body.has === 'model' ? request.model : undefined,
    anthropic_version: host.body.has === 'model' ? undefined : host.body.version,
    max_tokens: fields.max_tokens,
    thinking: fields.thinking,
    output_config: format === undefined ? fields.output_config : { effort: fields.output_config?.effort, format },
    cache_control: isMarkedWhole ? cached : undefined,
    metadata: request.user === undefined ? undefined : { user_id: request.user },
    system: mark === undefined ? request.system : markedSystem(request.system, mark),
    messages,
    tools: request.tools.length === 0 ? undefined : request.tools.map(encodeTool),
    tool_choice: encodeToolChoice(request),
    temperature: request.temperature,
    top_p: request.topP,
    stop_sequences: request.stop.length === 0 ? undefined : request.stop,
    stream: isStream && (host.body.has === 'model' || host.body.hasStream) ? true : undefined,
  };
}

/** What a URL leads to is taken for a PDF where it is fetched. */
function urlObjection(provider: string, { fetchesUrls }: MessagesHost, part: ContentPart): Objection | undefined {
  if (part.type === 'text' || part.source.type !== 'url') return undefined;
  if (!fetchesUrls) return { field: '.url', why: `${provider} fetches no URLs; send base64` };
  const isText = part.type === 'document' && part.mediaType === 'text/plain';
  return isText ? { field: '.url', why: 'Anthropic fetches no text/plain documents; send base64' } : undefined;
}

/** So that other conversations with the same system text and tools find these in the cache. A blank text would be refused as a block. */
function markedSystem(system: string | undefined, mark: JsonOutObject): JsonOut | undefined {
  return system === undefined || system.trim() === '' ? system : [{ type: 'text', text: system, cache_control: mark }];
}

/** Marks the last block that can be marked: one of reasoning, which is carried as text, cannot. */
function markLastBlock(messages: readonly Message[], mark: JsonOutObject): void {
  const content = messages.at(-1)?.content ?? [];
  const at = content.findLastIndex((block) => typeof block === 'object' && block !== null && 'type' in block);
  const block = content[at];
  if (block !== undefined) content[at] = { ...(block as JsonOutObject), cache_control: mark };
}

/** Characters that ids of other providers may have and this one refuses. */
const CALL_IDS = { accepted: /^[A-Za-z0-9_-]+$/, length: 32 };

/** What the turns of one conversation share while they are encoded, in order. */
type Past = { readonly provider: string; readonly ids: CallIds; readonly budget: JsonBudget };

// A type, not an interface: it has to be assignable to JSON's index signature.
type Message = { readonly role: 'user' | 'assistant'; readonly content: JsonOut[] };

function encodeMessages(past: Past, turns: readonly Turn[]): Message[] | Failure {
  const messages: Message[] = [];
  for (const [index, turn] of turns.entries()) {
    const blocks = encodeTurn(past, turn, index);
    if (blocks instanceof Failure) return blocks;
    append(messages, turn.role === 'assistant' ? 'assistant' : 'user', blocks);
  }
  return messages;
}

/**
 * Adds blocks to the last message if it has their role, else as a new one: all results of a turn's calls, and what the
 * user says next, have to be one message. A turn without blocks says nothing, and an empty message would be refused.
 */
function append(messages: Message[], role: Message['role'], blocks: readonly JsonOut[]): void {
  if (blocks.length === 0) return;
  let message = messages.at(-1);
  if (message?.role !== role) {
    message = { role, content: [] };
    messages.push(message);
  }
  for (const block of blocks) message.content.push(block);
}

function encodeTurn(past: Past, turn: Turn, index: number): JsonOut[] | Failure {
  switch (turn.role) {
    case 'user':
      return turn.parts.map(encodePart);
    case 'assistant':
      return encodeAssistantTurn(past, turn, index);
    case 'tool':
      return turn.parts.map((part) => ({ type: 'tool_result', tool_use_id: past.ids.ofResult(part.toolCallId), ...encodeResult(part) }));
    default:
      return unreachable(turn);
  }
}

function encodeAssistantTurn(past: Past, turn: AssistantTurn, index: number): JsonOut[] | Failure {
  const blocks: JsonOut[] = [];
  for (const [partIndex, part] of turn.parts.entries()) {
    const state = decodePartState(past.provider, part, past.budget);
    if (state === DAMAGED_STATE) return damagedState(index, partIndex);
    for (const block of state.before) blocks.push(block);
    if (part.type === 'tool_call') {
      blocks.push(blockOf({ type: 'tool_use', id: past.ids.ofCall(part.id), name: part.name, input: part.arguments }, state.own));
    } else if (part.text.trim() !== '') {
      // The model may write a blank text, but the API does not take it back.
      blocks.push(blockOf({ type: 'text', text: part.text }, state.own));
    }
  }
  return blocks;
}

function blockOf(block: JsonOutObject, own: ReadonlyMap<string, JsonOut>): JsonOutObject {
  return own.size === 0 ? block : { ...block, ...Object.fromEntries(own) };
}

/**
 * True inside a tool loop in which no message begins with reasoning, since another provider or a model that did not
 * think wrote them, or the caller dropped their states. With a budget the API then refuses to go on. One is
 * enough: with a budget, models think before the first call of a loop only.
 */
function lacksReasoning(messages: readonly Message[]): boolean {
  let at = messages.length - 1;
  const isLoop = isResult(messages[at]?.content[0]);
  for (; isResult(messages[at]?.content[0]); at -= 2) {
    if (isReasoning(messages[at - 1]?.content[0])) return false;
  }
  return isLoop;
}

function isResult(block: JsonOut | undefined): boolean {
  return typeof block === 'object' && block !== null && 'type' in block && block.type === 'tool_result';
}

/** Blocks that were carried are text, with their type first. */
function isReasoning(block: JsonOut | undefined): boolean {
  return block instanceof RawJson && /^\{"type":"(?:redacted_)?thinking"/.test(block.text);
}

/** Whether asked for by `strict` or not, what comes back matches the schema. */
function encodeFormat(output: OutputFormat | undefined): JsonOutObject | undefined | Failure {
  if (output === undefined) return undefined;
  if (output.schema === undefined) return new Failure('unsupported', 'output.schema: Anthropic has no JSON mode; give a schema');
  return { type: 'json_schema', schema: output.schema };
}

function encodeTool({ name, description, parameters, strict }: Tool): JsonOut {
  return { name, description, input_schema: schemaWith(parameters, ['type']), strict };
}

/** Without tools, `auto` and `none` say nothing and would be refused; a forced choice is the provider's to refuse. */
function encodeToolChoice(request: ChatRequest): JsonOut | undefined {
  const { toolChoice } = request;
  if (toolChoice === undefined || (request.tools.length === 0 && !isForced(toolChoice))) return undefined;
  const disable_parallel_tool_use = toolChoice.parallel === false ? true : undefined;
  switch (toolChoice.mode) {
    case 'auto':
      return { type: 'auto', disable_parallel_tool_use };
    case 'none':
      // Of no call there is at most one, and the field is not taken here.
      return { type: 'none' };
    case 'required':
      return { type: 'any', disable_parallel_tool_use };
    case 'tool':
      return { type: 'tool', name: toolChoice.name, disable_parallel_tool_use };
    default:
      return unreachable(toolChoice);
  }
}

function isForced(choice: ToolChoice | undefined): boolean {
  return choice?.mode === 'required' || choice?.mode === 'tool';
}
