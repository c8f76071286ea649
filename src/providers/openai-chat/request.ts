/**
 * A chat request as a Chat Completions payload (OpenAI, Chat Completions, request body).
 *
 * The encoding of a prefix of a conversation never depends on what follows it: providers cache by
 * prefix. Where user turns in a row have to go out as one message, that message only grows at its end.
 * Nothing here knows a host by name; its peculiarities come as a profile.
 */

import { mergePatch } from '../../base/json/merge.ts';
import { createJsonBudget } from '../../base/json/parse.ts';
import type { JsonBudget } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import type { UpstreamCall } from '../../core/adapter.ts';
import { CallIds } from '../../core/call-id.ts';
import type {
  AssistantTurn, ChatRequest, ContentPart, Tool, ToolCallPart, ToolResultPart, UserTurn,
} from '../../core/chat.ts';
import { refuseExtensions } from '../../core/extension.ts';
import { Failure } from '../../core/failure.ts';
import { schemaWith } from '../../core/tool-schema.ts';
import { imageUrl, resultText } from '../openai-common/content.ts';
import { encodeThinking, isReasoningModel } from '../openai-common/thinking.ts';
import type { HostProfile } from './profile.ts';
import { carriedState } from './state.ts';

/** The call for a request. Failure: bad_request, for a damaged provider_state. */
export function encodeChatCall(
  provider: string,
  profile: HostProfile,
  request: ChatRequest,
  isStream: boolean,
): UpstreamCall | Failure {
  const refused = refuseExtensions(provider, request);
  if (refused !== undefined) return refused;
  const messages = encodeMessages(provider, profile, request);
  if (messages instanceof Failure) return messages;
  const payload: JsonOutObject = {
    model: request.model,
    messages,
    [profile.maxTokensField]: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: request.stop.length > 0 ? request.stop : undefined,
    ...encodeTools(profile, request),
    ...encodeThinking(profile.thinking, request),
    stream: isStream ? true : undefined,
    stream_options: isStream && profile.sendsStreamOptions ? { include_usage: true } : undefined,
  };
  const merged = request.providerOptions === undefined ? payload : mergePatch(payload, request.providerOptions);
  return {
    method: 'POST',
    path: '/chat/completions',
    headers: { 'content-type': 'application/json', accept: isStream ? 'text/event-stream' : 'application/json' },
    body: renderJson(merged),
  };
}

/** What the turns of one conversation share while they are encoded, in order. `ids` is undefined where any will do. */
type Past = {
  readonly provider: string;
  readonly profile: HostProfile;
  readonly ids: CallIds | undefined;
  readonly budget: JsonBudget;
};

function encodeMessages(provider: string, profile: HostProfile, request: ChatRequest): JsonOut[] | Failure {
  const ids = profile.callIds === undefined ? undefined : new CallIds(profile.callIds);
  const past = { provider, profile, ids, budget: createJsonBudget() };
  const messages: JsonOut[] = [];
  if (request.system !== undefined) {
    const isDeveloper = profile.systemRole === 'by model' && isReasoningModel(request.model);
    messages.push({ role: isDeveloper ? 'developer' : 'system', content: request.system });
  }
  // User turns that go out as one message once it is known what follows them.
  let row: UserTurn[] = [];
  for (const [index, turn] of request.turns.entries()) {
    if (turn.role === 'user') {
      if (profile.userTurns === 'merged') row.push(turn);
      else messages.push(encodeUser([turn]));
      continue;
    }
    const encoded = turn.role === 'tool' ? turn.parts.map((part) => encodeToolResult(past, part)) : encodeAssistant(past, turn, index);
    if (encoded instanceof Failure) return encoded;
    if (encoded.length === 0) continue;
    if (row.length > 0) messages.push(encodeUser(row));
    row = [];
    for (const message of encoded) messages.push(message);
  }
  if (row.length > 0) messages.push(encodeUser(row));
  return messages;
}

/** A text alone goes out as a string, which every host takes, as do those of several turns; some models have no template for lists. */
function encodeUser(turns: readonly UserTurn[]): JsonOut {
  const parts = turns.flatMap((turn) => turn.parts);
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const isPlain = texts.length === parts.length && (texts.length === 1 || turns.length > 1);
  return { role: 'user', content: isPlain ? texts.join('\n\n') : parts.map(encodeUserPart) };
}

function encodeUserPart(part: ContentPart): JsonOut {
  if (part.type === 'document') throw new Error('documents are refused before');
  return part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image_url', image_url: { url: imageUrl(part) } };
}

/** The turn's message; none where an empty one is refused. */
function encodeAssistant(past: Past, turn: AssistantTurn, index: number): readonly JsonOut[] | Failure {
  const { provider, profile } = past;
  const carried = carriedState(provider, profile, turn, index, past.budget);
  if (carried instanceof Failure) return carried;
  let text = '';
  const calls: JsonOut[] = [];
  for (const [partIndex, part] of turn.parts.entries()) {
    if (part.type === 'text') text += part.text;
    else calls.push(encodeToolCall(past, part, carried.signatures.get(partIndex)));
  }
  const hasCalls = calls.length > 0;
  if (text === '' && !hasCalls && profile.emptyTurns === 'dropped') return [];
  const fallback = hasCalls ? profile.lostReasoning : undefined;
  return [
    {
      role: 'assistant',
      content: text === '' && hasCalls ? null : text,
      reasoning_content: carried.reasoningContent ?? fallback,
      reasoning_details: carried.reasoningDetails,
      tool_calls: hasCalls ? calls : undefined,
    },
  ];
}

function encodeToolCall(past: Past, part: ToolCallPart, signature: string | undefined): JsonOut {
  return {
    id: past.ids?.ofCall(part.id) ?? part.id,
    type: 'function',
    function: { name: part.name, arguments: part.arguments.text },
    extra_content: signature === undefined ? undefined : { google: { thought_signature: signature } },
  };
}

function encodeToolResult(past: Past, part: ToolResultPart): JsonOut {
  return { role: 'tool', tool_call_id: past.ids?.ofResult(part.toolCallId) ?? part.toolCallId, content: resultText(part) };
}

/** `tools` and `tool_choice`. A choice without tools is an error to the API, so only a forced one, which needs tools, is sent alone. */
function encodeTools(profile: HostProfile, request: ChatRequest): JsonOutObject {
  const { tools, toolChoice } = request;
  if (toolChoice?.mode === 'tool') {
    const named = tools.filter((tool) => tool.name === toolChoice.name);
    if (profile.namedToolChoice === 'narrowed' && named.length > 0) {
      return { tools: named.map(encodeTool), tool_choice: 'required' };
    }
    return { tools: encodeToolList(tools), tool_choice: { type: 'function', function: { name: toolChoice.name } } };
  }
  const isChoiceSent = tools.length > 0 || toolChoice?.mode === 'required';
  return { tools: encodeToolList(tools), tool_choice: isChoiceSent ? toolChoice?.mode : undefined };
}

function encodeToolList(tools: readonly Tool[]): JsonOut | undefined {
  return tools.length > 0 ? tools.map(encodeTool) : undefined;
}

function encodeTool(tool: Tool): JsonOut {
  // Some models refuse an object schema without properties.
  const parameters = schemaWith(tool.parameters, ['type', 'properties']);
  return { type: 'function', function: { name: tool.name, description: tool.description, parameters } };
}
