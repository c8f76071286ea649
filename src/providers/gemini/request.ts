/**
 * A chat request as the payload of Gemini's generateContent.
 *
 * A turn's parts depend on nothing that comes after it, so the contents of a longer conversation begin
 * with those of the shorter one (a further turn of the same role extends the last content). Provider
 * caches depend on it.
 * Source: Gemini API, generateContent; function calling; thought signatures.
 */

import { createJsonBudget } from '../../base/json/limits.ts';
import type { JsonBudget } from '../../base/json/limits.ts';
import { mergePatch } from '../../base/json/merge.ts';
import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import { isMadeCallId } from '../../core/call-id.ts';
import { isKeptToOneCall, unreachable } from '../../core/chat.ts';
import type { AssistantTurn, ChatRequest, Tool, ToolChoice, Turn } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { DAMAGED_STATE, damagedState } from '../../core/provider-state.ts';
import { schemaWith } from '../../core/tool-schema.ts';
import { refuseContent } from '../refused-content.ts';
import { encodeContent, encodeResult, urlObjection } from './content.ts';
import { ruleFor, thinkingConfig } from './model-rules.ts';
import { NO_STATE, decodePartState } from './state.ts';
import type { PartState } from './state.ts';

/** The payload. Failures: unsupported, bad_request (a damaged state, an answer to no call). */
export function encodePayload(provider: string, request: ChatRequest): JsonOut | Failure {
  const payload = payloadOf(provider, request);
  if (payload instanceof Failure) return payload;
  return request.providerOptions === undefined ? payload : mergePatch(payload, request.providerOptions);
}

/**
 * The payload that has its tokens counted (Gemini API, countTokens): only inside `generateContentRequest`, which names the
 * model by its path, are the system text and the tools counted too.
 */
export function encodeCountPayload(provider: string, request: ChatRequest, modelPath: string): JsonOut | Failure {
  const payload = payloadOf(provider, request);
  if (payload instanceof Failure) return payload;
  const whole = { model: modelPath, ...payload };
  return { generateContentRequest: request.providerOptions === undefined ? whole : mergePatch(whole, request.providerOptions) };
}

function payloadOf(provider: string, request: ChatRequest): JsonOutObject | Failure {
  const refused = refuseCombination(request) ?? refuseContent(request.turns, (part, isResult) => urlObjection(request.model, part, isResult));
  if (refused !== undefined) return refused;
  const contents = encodeContents(provider, request);
  if (contents instanceof Failure) return contents;
  return {
    contents,
    systemInstruction:
      hasSystem(request) && ruleFor(request.model).hasSystemInstruction ? { parts: [{ text: request.system }] } : undefined,
    tools: request.tools.length === 0 ? undefined : [{ functionDeclarations: request.tools.map(encodeTool) }],
    toolConfig: encodeToolConfig(request),
    generationConfig: encodeGenerationConfig(request),
  };
}

/** What would be dropped or refused is said here by its path. */
function refuseCombination(request: ChatRequest): Failure | undefined {
  const { model, output, tools } = request;
  if (output !== undefined && tools.length > 0 && !ruleFor(model).mixesToolsWithJson) {
    return new Failure('unsupported', 'output: Gemini before 3 cannot combine JSON output with tools');
  }
  if (isKeptToOneCall(request)) return new Failure('unsupported', 'tool_choice.parallel: Gemini cannot be limited to one call at a time');
  const strict = tools.findIndex((tool) => tool.strict === true);
  if (strict === -1 || areStrict(tools)) return undefined;
  return new Failure('unsupported', `tools[${strict}].strict: Gemini enforces parameters for all tools or for none; set it on all or none`);
}

/** False also for an empty one, since an empty part is refused. */
function hasSystem(request: ChatRequest): boolean {
  return request.system !== undefined && request.system !== '';
}

type Content = { readonly role: 'user' | 'model'; readonly parts: JsonOut[] };

function encodeContents(provider: string, request: ChatRequest): Content[] | Failure {
  const contents: Content[] = [];
  if (hasSystem(request) && !ruleFor(request.model).hasSystemInstruction) {
    append(contents, 'user', [{ text: `${request.system}\n\n` }]);
  }
  const past = { provider, budget: createJsonBudget() };
  let calls: CallsById = new Map();
  for (const [i, turn] of request.turns.entries()) {
    const parts = encodeTurn(past, request, i, calls);
    if (parts instanceof Failure) return parts;
    append(contents, turn.role === 'assistant' ? 'model' : 'user', parts);
    if (turn.role === 'assistant') calls = callsOf(turn);
  }
  return contents;
}

/** Adds parts to the last content if it has their role, else as a new one. Never makes an empty content, which is refused. */
function append(contents: Content[], role: Content['role'], parts: readonly JsonOut[]): void {
  if (parts.length === 0) return;
  let content = contents.at(-1);
  if (content?.role !== role) {
    content = { role, parts: [] };
    contents.push(content);
  }
  for (const part of parts) content.parts.push(part);
}

type CallsById = ReadonlyMap<string, { readonly name: string; readonly order: number }>;

function callsOf(turn: AssistantTurn): CallsById {
  const calls = turn.parts.filter((part) => part.type === 'tool_call');
  return new Map(calls.map((call, order) => [call.id, { name: call.name, order }]));
}

/** What the turns of one conversation share while they are encoded. */
type Past = { readonly provider: string; readonly budget: JsonBudget };

function encodeTurn(past: Past, request: ChatRequest, i: number, calls: CallsById): JsonOut[] | Failure {
  const turn = request.turns[i] as Turn;
  switch (turn.role) {
    case 'user':
      return encodeContent(turn.parts);
    case 'assistant':
      return encodeAssistantTurn(past, request.model, turn, i);
    case 'tool':
      // Answers to one turn's calls may come as several turns; the first of them encodes all.
      return request.turns[i - 1]?.role === 'tool' ? [] : encodeAnswers(request, i, calls);
    default:
      return unreachable(turn);
  }
}

/** What Google documents for calls whose signature is lost or was never made, e.g. by another provider. */
const DUMMY_SIGNATURE = 'skip_thought_signature_validator';

function encodeAssistantTurn(past: Past, model: string, turn: AssistantTurn, i: number): JsonOut[] | Failure {
  const states: PartState[] = [];
  for (const [j, part] of turn.parts.entries()) {
    const state = decodePartState(past.provider, part.state, past.budget);
    if (state === DAMAGED_STATE) {
      return damagedState(i, j);
    }
    states.push(state);
  }
  // Of parallel calls only the first is signed, on itself, on a thought before it or on an empty text beside it: one
  // state there shows that none was lost.
  // The dummy also goes into turns before the last user turn, which are not validated: leaving it out there would
  // change the encoding of the past with every new user turn.
  const isAsWritten = turn.parts.some((part, j) => (part.type === 'tool_call' || part.text === '') && states[j] !== NO_STATE);
  let dummy = ruleFor(model).demandsSignatures && !isAsWritten ? DUMMY_SIGNATURE : undefined;
  const parts: JsonOut[] = [];
  for (const [j, part] of turn.parts.entries()) {
    const { signature, before } = states[j] as PartState;
    for (const carried of before) parts.push(carried);
    if (part.type === 'tool_call') {
      parts.push({ functionCall: { id: echoedId(part.id), name: part.name, args: part.arguments }, thoughtSignature: signature ?? dummy });
      dummy = undefined;
    } else if (part.text !== '' || signature !== undefined) {
      parts.push({ text: part.text, thoughtSignature: signature });
    }
  }
  return parts;
}

/** Some hosts of this protocol give no ids and refuse them; an id that the gateway made is therefore never sent. */
function echoedId(id: string): string | undefined {
  return isMadeCallId(id) ? undefined : id;
}

/** The answers of this and the directly following tool turns, in the order of the calls. */
function encodeAnswers({ model, turns }: ChatRequest, from: number, calls: CallsById): JsonOut[] | Failure {
  const answers: { readonly order: number; readonly part: JsonOut; readonly behind: readonly JsonOut[] }[] = [];
  for (let i = from; i < turns.length; i += 1) {
    const turn = turns[i] as Turn;
    if (turn.role !== 'tool') break;
    for (const [j, part] of turn.parts.entries()) {
      const call = calls.get(part.toolCallId);
      if (call === undefined) return new Failure('bad_request', `messages[${i}].content[${j}].tool_call_id: answers no call of the assistant turn before it`);
      const { response, parts, behind } = encodeResult(model, part);
      answers.push({ order: call.order, part: { functionResponse: { id: echoedId(part.toolCallId), name: call.name, response, parts } }, behind });
    }
  }
  answers.sort((a, b) => a.order - b.order);
  return [...answers.map(({ part }) => part), ...answers.flatMap(({ behind }) => behind)];
}

/** `parametersJsonSchema` takes any JSON schema as it is; `parameters` would take a subset of OpenAPI's. */
function encodeTool(tool: Tool): JsonOut {
  return { name: tool.name, description: tool.description, parametersJsonSchema: schemaWith(tool.parameters, []) };
}

const CALLING_MODES: Readonly<Record<ToolChoice['mode'], string>> = { auto: 'AUTO', none: 'NONE', required: 'ANY', tool: 'ANY' };

function encodeToolConfig({ tools, toolChoice }: ChatRequest): JsonOutObject | undefined {
  const mode = areStrict(tools) && (toolChoice === undefined || toolChoice.mode === 'auto') ? 'VALIDATED' : toolChoice && CALLING_MODES[toolChoice.mode];
  if (mode === undefined) return undefined;
  // Without tools there is nothing to choose; a forced call without any is the caller's error, for the provider to name.
  if (tools.length === 0 && mode !== 'ANY') return undefined;
  const allowedFunctionNames = toolChoice?.mode === 'tool' ? [toolChoice.name] : undefined;
  return { functionCallingConfig: { mode, allowedFunctionNames } };
}

/** A forced call matches its parameters by itself; else the mode says so, of all tools. */
function areStrict(tools: readonly Tool[]): boolean {
  return tools.every((tool) => tool.strict === true);
}

function encodeGenerationConfig(request: ChatRequest): JsonOutObject | undefined {
  const config: JsonOutObject = {
    maxOutputTokens: request.maxTokens,
    temperature: request.temperature,
    topP: request.topP,
    stopSequences: request.stop.length === 0 ? undefined : request.stop,
    responseMimeType: request.output === undefined ? undefined : 'application/json',
    responseJsonSchema: request.output?.schema,
    thinkingConfig: request.thinking === undefined ? undefined : thinkingConfig(request.model, request.thinking),
  };
  return Object.values(config).every((value) => value === undefined) ? undefined : config;
}
