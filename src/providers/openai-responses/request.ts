/**
 * A chat request as a Responses payload (OpenAI, Responses API, create a response).
 *
 * Nothing is stored at OpenAI: the whole conversation goes out as a list of items, sealed reasoning among them. The
 * items of a turn are a function of the turns up to it, so a longer conversation's list begins with the shorter one's.
 */

import { createJsonBudget } from '../../base/json/limits.ts';
import type { JsonBudget } from '../../base/json/limits.ts';
import { mergePatch } from '../../base/json/merge.ts';
import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import type { UpstreamCall } from '../../core/adapter.ts';
import { CallIds } from '../../core/call-id.ts';
import { unreachable } from '../../core/chat.ts';
import type { AssistantTurn, ChatRequest, ContentPart, DocumentPart, Tool, ToolCallPart, ToolResultPart, Turn } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { asMeant } from '../../core/model-name.ts';
import type { ModelNames } from '../../core/model-name.ts';
import { DAMAGED_STATE, damagedState } from '../../core/provider-state.ts';
import { argumentsText } from '../../core/text-arguments.ts';
import { encodeCacheLife } from '../openai-common/cache.ts';
import { dataUrl, imageUrl, resultText, textOf } from '../openai-common/content.ts';
import { openAiRule } from '../openai-common/model-rules.ts';
import { encodeReasoning } from '../openai-common/thinking.ts';
import { parametersOf } from '../openai-common/tools.ts';
import { refuseContent, textByUrl } from '../refused-content.ts';
import { countedMembers } from '../token-count.ts';
import { CUSTOM_CALL, decodePartState } from './state.ts';
import type { OwnFields } from './state.ts';

/** In what a host differs from OpenAI itself. */
export type ResponsesHost = {
  readonly name: string;
  /** The field for who asks. */
  readonly userField: 'safety_identifier' | 'user';
  /** Whether the wish to keep a cached beginning for long is told to models that take it. */
  readonly hasCacheLife: boolean;
  /** What its names of models stand for. */
  readonly models: ModelNames | undefined;
};

/** The call for a request. Failures: unsupported; bad_request, for a damaged provider_state. */
export function encodeResponsesCall(host: ResponsesHost, request: ChatRequest, isStream: boolean): UpstreamCall | Failure {
  if (request.stop.length > 0) return new Failure('unsupported', `stop: the Responses API of ${host.name} has no stop sequences`);
  const payload = payloadOf(host, request, isStream);
  return payload instanceof Failure ? payload : post('/responses', payload, isStream);
}

/** What the count of tokens takes (OpenAI, get input token counts). */
const COUNTED = [
  'model', 'instructions', 'input', 'tools', 'tool_choice', 'parallel_tool_calls', 'text', 'reasoning', 'truncation', 'conversation', 'previous_response_id',
];

/** The call that has a request's tokens counted. */
export function encodeCountCall(host: ResponsesHost, request: ChatRequest): UpstreamCall | Failure {
  const payload = payloadOf(host, request, false);
  return payload instanceof Failure ? payload : post('/responses/input_tokens', countedMembers(payload, COUNTED), false);
}

function post(path: string, body: JsonOut, isStream: boolean): UpstreamCall {
  return { method: 'POST', path, headers: { 'content-type': 'application/json', accept: isStream ? 'text/event-stream' : 'application/json' }, body };
}

function payloadOf(host: ResponsesHost, asked: ChatRequest, isStream: boolean): JsonOut | Failure {
  const request = asMeant(asked, host.models);
  const refused = refuseContent(request.turns, textByUrl);
  if (refused !== undefined) return refused;
  const { isReasoning } = openAiRule(request.model);
  const input = encodeInput(host.name, isReasoning, request.turns);
  if (input instanceof Failure) return input;
  const payload: JsonOutObject = {
    model: asked.model,
    instructions: request.system,
    input,
    max_output_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    ...encodeTools(request),
    reasoning: encodeReasoning(request),
    text: encodeOutput(request),
    // Without reasoning a model refuses to seal any.
    include: isReasoning ? ['reasoning.encrypted_content'] : undefined,
    [host.userField]: request.user,
    prompt_cache_key: request.cache?.key,
    ...(host.hasCacheLife ? encodeCacheLife(request.model, request.cache, '12h') : {}),
    store: false,
    stream: isStream ? true : undefined,
  };
  return request.providerOptions === undefined ? payload : mergePatch(payload, request.providerOptions);
}

/** What the turns of one conversation share while they are encoded, in order. */
type Past = {
  readonly provider: string;
  /** Whether the model reasons; one that does not refuses to read any. */
  readonly isReasoning: boolean;
  readonly ids: CallIds;
  readonly budget: JsonBudget;
  /** What the latest call with an id said of itself, which its result has to match. */
  readonly calls: Map<string, OwnFields>;
};

/** The API takes call ids of up to 64 characters. */
const CALL_ID_FORM = { accepted: /^[A-Za-z0-9_-]{1,64}$/, length: 64 };

function encodeInput(provider: string, isReasoning: boolean, turns: readonly Turn[]): JsonOut[] | Failure {
  const past: Past = { provider, isReasoning, ids: new CallIds(CALL_ID_FORM), budget: createJsonBudget(), calls: new Map() };
  const input: JsonOut[] = [];
  for (const [index, turn] of turns.entries()) {
    const items = encodeTurn(past, turn, index);
    if (items instanceof Failure) return items;
    for (const item of items) input.push(item);
  }
  return input;
}

function encodeTurn(past: Past, turn: Turn, index: number): JsonOut[] | Failure {
  switch (turn.role) {
    case 'user':
      return [{ role: 'user', content: encodeContent(turn.parts) }];
    case 'assistant':
      return encodeAssistant(past, turn, index);
    case 'tool':
      return turn.parts.map((part) => encodeResult(past, part));
    default:
      return unreachable(turn);
  }
}

function encodeContent(parts: readonly ContentPart[]): JsonOut[] {
  return parts.flatMap((part) => {
    const text = textOf(part);
    if (text !== undefined) return inputText(text);
    if (part.type === 'image') return { type: 'input_image', image_url: imageUrl(part) };
    return part.type === 'document' ? encodeFile(part) : [];
  });
}

/** Data has to have a name; a URL must not have one, so its name is text before it. */
function encodeFile({ source, mediaType, name }: DocumentPart): JsonOut[] {
  if (source.type === 'inline') {
    return [{ type: 'input_file', filename: name ?? 'document.pdf', file_data: dataUrl(mediaType, source.base64) }];
  }
  const file = { type: 'input_file', file_url: source.url };
  return name === undefined ? [file] : [inputText(name), file];
}

function inputText(text: string): JsonOut {
  return { type: 'input_text', text };
}

function encodeAssistant(past: Past, turn: AssistantTurn, index: number): JsonOut[] | Failure {
  const items: JsonOut[] = [];
  for (const [partIndex, part] of turn.parts.entries()) {
    const state = decodePartState(past.provider, part, past.budget);
    if (state === DAMAGED_STATE) return damagedState(index, partIndex);
    for (const item of state.before) {
      if (past.isReasoning || item.entries.get('type') !== 'reasoning') items.push(item.raw);
    }
    if (part.type === 'tool_call') items.push(encodeCall(past, part, state.own));
    else if (part.text !== '') items.push({ role: 'assistant', content: part.text, phase: state.own.phase });
  }
  return items;
}

function encodeCall(past: Past, { id, name, arguments: args }: ToolCallPart, own: OwnFields): JsonOut {
  past.calls.set(id, own);
  const isCustom = own.type === CUSTOM_CALL;
  return {
    type: own.type ?? 'function_call',
    call_id: past.ids.ofCall(id),
    name,
    arguments: isCustom ? undefined : args.text,
    input: isCustom ? argumentsText(args) : undefined,
    namespace: own.namespace,
    caller: encodeCaller(own),
  };
}

function encodeResult(past: Past, part: ToolResultPart): JsonOut {
  const own = past.calls.get(part.toolCallId);
  return {
    type: own?.type === undefined ? 'function_call_output' : `${own.type}_output`,
    call_id: past.ids.ofResult(part.toolCallId),
    output: encodeOutputOf(part),
    caller: encodeCaller(own),
  };
}

function encodeOutputOf(part: ToolResultPart): JsonOut {
  if (typeof part.content === 'string') return resultText(part);
  const content = encodeContent(part.content);
  return part.isError ? [inputText('Error'), ...content] : content;
}

/** The program that called the tool, if one did. */
function encodeCaller(own: OwnFields | undefined): JsonOut | undefined {
  return own?.program === undefined ? undefined : { type: 'program', caller_id: own.program };
}

/**
 * `tools`, `tool_choice` and `parallel_tool_calls`. The last two without tools are an error to the API, so only a forced
 * choice, which needs tools, is sent alone.
 */
function encodeTools({ tools, toolChoice }: ChatRequest): JsonOutObject {
  const list = tools.length > 0 ? tools.map(encodeTool) : undefined;
  const parallel = list === undefined ? undefined : toolChoice?.parallel;
  const isChoiceSent = list !== undefined || toolChoice?.mode === 'required';
  const choice = toolChoice?.mode === 'tool' ? { type: 'function', name: toolChoice.name } : isChoiceSent ? toolChoice?.mode : undefined;
  return { tools: list, tool_choice: choice, parallel_tool_calls: parallel };
}

/** Where nothing is said, a tool is strict here when its schema happens to allow it. */
function encodeTool(tool: Tool): JsonOut {
  const { name, description, strict } = tool;
  return { type: 'function', name, description, parameters: parametersOf(tool), strict: strict ?? false };
}

function encodeOutput({ output }: ChatRequest): JsonOutObject | undefined {
  if (output === undefined) return undefined;
  const { name, strict, schema } = output;
  return { format: schema === undefined ? { type: 'json_object' } : { type: 'json_schema', name, strict, schema } };
}
