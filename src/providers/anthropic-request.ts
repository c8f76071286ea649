/**
 * A chat request as the payload of the Messages API.
 *
 * The messages of a conversation are a function of its turns alone, each encoded without a look at later ones, so a
 * longer conversation's messages begin with those of the shorter one (a new turn of the same role extends the last
 * message). Provider caches and the signatures of reasoning depend on it.
 * Source: Anthropic Messages API, create a message; tool use; vision.
 */

import { JsonObject, RawJson, mergePatch, parseJson, renderJson } from '../base/json.ts';
import type { JsonOut, JsonOutObject } from '../base/json.ts';
import { mappedCallId } from '../core/call-id.ts';
import { unreachable } from '../core/chat.ts';
import type { AssistantTurn, ChatRequest, Tool, ToolChoice, ToolTurn, Turn, UserTurn } from '../core/chat.ts';
import { Failure } from '../core/failure.ts';
import { DAMAGED_STATE } from '../core/provider-state.ts';
import { modelFields } from './anthropic-models.ts';
import { decodePartState } from './anthropic-state.ts';

/** The payload as JSON text. Failures: bad_request, for a damaged state. */
// hot: per request
export function encodePayload(provider: string, request: ChatRequest, isStream: boolean): string | Failure {
  const messages = encodeMessages(provider, request.turns);
  if (messages instanceof Failure) return messages;
  const payload: JsonOutObject = {
    model: request.model,
    ...modelFields(request, () => !isForced(request.toolChoice) && !lacksThinking(provider, request.turns)),
    system: request.system,
    messages,
    tools: request.tools.length === 0 ? undefined : request.tools.map(encodeTool),
    tool_choice: encodeToolChoice(request),
    temperature: request.temperature,
    top_p: request.topP,
    stop_sequences: request.stop.length === 0 ? undefined : request.stop,
    stream: isStream ? true : undefined,
  };
  return renderJson(request.providerOptions === undefined ? payload : mergePatch(payload, request.providerOptions));
}

// A type, not an interface: it has to be assignable to JSON's index signature.
type Message = { readonly role: 'user' | 'assistant'; readonly content: JsonOut[] };

function encodeMessages(provider: string, turns: readonly Turn[]): Message[] | Failure {
  const messages: Message[] = [];
  for (const [index, turn] of turns.entries()) {
    const blocks = encodeTurn(provider, turn, index);
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

function encodeTurn(provider: string, turn: Turn, index: number): JsonOut[] | Failure {
  switch (turn.role) {
    case 'user':
      return encodeUserTurn(turn);
    case 'assistant':
      return encodeAssistantTurn(provider, turn, index);
    case 'tool':
      return encodeToolTurn(turn);
    default:
      return unreachable(turn);
  }
}

function encodeUserTurn(turn: UserTurn): JsonOut[] {
  return turn.parts.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const { source } = part;
    return source.type === 'url'
      ? { type: 'image', source: { type: 'url', url: source.url } }
      : { type: 'image', source: { type: 'base64', media_type: source.mediaType, data: source.base64 } };
  });
}

function encodeAssistantTurn(provider: string, turn: AssistantTurn, index: number): JsonOut[] | Failure {
  const blocks: JsonOut[] = [];
  for (const [partIndex, part] of turn.parts.entries()) {
    const state = decodePartState(provider, part);
    if (state === DAMAGED_STATE) {
      const place = `messages[${index}].content[${partIndex}].provider_state`;
      return new Failure('bad_request', `${place}: damaged, or not made by this gateway`);
    }
    for (const block of state.before) blocks.push(block.raw);
    if (part.type === 'tool_call') {
      blocks.push(blockOf({ type: 'tool_use', id: callId(part.id), name: part.name, input: part.arguments }, state.own));
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

function encodeToolTurn(turn: ToolTurn): JsonOut[] {
  return turn.parts.map((part) => ({
    type: 'tool_result',
    tool_use_id: callId(part.toolCallId),
    content: part.content,
    is_error: part.isError ? true : undefined,
  }));
}

const CALL_ID = /^[A-Za-z0-9_-]+$/;
const MAPPED_ID_CHARS = 32;

/** Ids of other providers may have characters that this one refuses. */
function callId(id: string): string {
  return mappedCallId(id, CALL_ID, MAPPED_ID_CHARS);
}

/**
 * True inside a tool loop whose last assistant turn does not begin with reasoning, since another provider or a model
 * that did not think wrote it, or the caller dropped its state. With a budget the API then refuses to go on.
 */
function lacksThinking(provider: string, turns: readonly Turn[]): boolean {
  const index = turns.findLastIndex((turn) => turn.role === 'assistant');
  const turn = turns[index];
  if (turn?.role !== 'assistant' || turns[index + 1]?.role !== 'tool') return false;
  const first = turn.parts[0];
  const state = first === undefined ? undefined : decodePartState(provider, first);
  const type = state === undefined || state === DAMAGED_STATE ? undefined : state.before[0]?.entries.get('type');
  return type !== 'thinking' && type !== 'redacted_thinking';
}

const NO_ARGUMENTS = new RawJson('{"type":"object","properties":{}}');

function encodeTool(tool: Tool): JsonOut {
  return { name: tool.name, description: tool.description, input_schema: encodeSchema(tool.parameters) };
}

/** The caller's schema as it is written; the API demands its `type`, which is put first where it is missing. */
function encodeSchema(parameters: RawJson | undefined): RawJson {
  if (parameters === undefined) return NO_ARGUMENTS;
  const schema = parseJson(parameters.text);
  if (!(schema instanceof JsonObject) || schema.entries.has('type')) return parameters;
  const rest = parameters.text.slice(parameters.text.indexOf('{') + 1);
  return new RawJson(`{"type":"object"${schema.entries.size === 0 ? '' : ','}${rest}`);
}

/** Without tools, `auto` and `none` say nothing and would be refused; a forced choice is the provider's to refuse. */
function encodeToolChoice(request: ChatRequest): JsonOut | undefined {
  const { toolChoice } = request;
  if (toolChoice === undefined || (request.tools.length === 0 && !isForced(toolChoice))) return undefined;
  switch (toolChoice.mode) {
    case 'auto':
    case 'none':
      return { type: toolChoice.mode };
    case 'required':
      return { type: 'any' };
    case 'tool':
      return { type: 'tool', name: toolChoice.name };
    default:
      return unreachable(toolChoice);
  }
}

function isForced(choice: ToolChoice | undefined): boolean {
  return choice?.mode === 'required' || choice?.mode === 'tool';
}
