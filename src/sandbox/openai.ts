/**
 * The sandbox's Chat Completions API, twice: as OpenAI has it, and in the dialect of a compatible host that thinks aloud.
 *
 * The dialect wants no key, calls the limit `max_tokens`, and sends its reasoning as `reasoning_content`, which it demands
 * back on turns that made calls, as DeepSeek does. An id of a call tells whether reasoning came before it.
 * Source: OpenAI, Chat Completions, request, streaming and errors; DeepSeek API, thinking mode with tool calls.
 */

import { parseLenient, renderJson } from '../base/json.ts';
import type { JsonOutObject } from '../base/json.ts';
import { field, isObject, listField, numberField, stringField } from '../base/loose.ts';
import {
  Complaint, MODEL_IDS, conversationFacts, digest, joined, jsonReply, slicesOf, streamReply,
} from './protocol.ts';
import type { Ask, Choice, Incoming, Piece, Protocol, Reply, Script, Turn, Usage } from './protocol.ts';
import { anyObject, boolean, count, first, integer, listOf, matching, mapOf, nullable, number, object, oneOf, openObject, string, stringOr, tagged } from './shape.ts';
import type { Mismatch, Shape } from './shape.ts';

type Dialect = { readonly isCompatible: boolean; readonly request: Shape };

// What a request may hold.

const ID_CHARS_MAX = 40;
const NAME = matching(/^[a-zA-Z0-9_-]+$/);
const TEXT = object({ type: string, text: string });
const TEXTS = stringOr(listOf(tagged('type', { text: TEXT })));
const USER_PARTS = {
  text: TEXT,
  image_url: object({
    type: string,
    image_url: object({ url: matching(/^(https?:\/\/|data:image\/[a-z0-9.+-]+;base64,)/) }, { detail: oneOf('auto', 'low', 'high', 'original') }),
  }),
  input_audio: object({ type: string, input_audio: anyObject }),
  file: object({ type: string, file: anyObject }),
};
const CALL = object({ id: string, type: oneOf('function'), function: object({ name: NAME, arguments: string }) });
const ASSISTANT = { content: nullable(TEXTS), refusal: nullable(string), name: string, tool_calls: listOf(CALL) };
const instructions = object({ role: string, content: TEXTS }, { name: string });
const roles = (assistant: Readonly<Record<string, Shape>>): Readonly<Record<string, Shape>> => ({
  system: instructions,
  user: object({ role: string, content: stringOr(listOf(tagged('type', USER_PARTS))) }, { name: string }),
  assistant: object({ role: string }, assistant),
  tool: object({ role: string, content: TEXTS, tool_call_id: string }),
});
const FIELDS = {
  stream: nullable(boolean),
  stream_options: nullable(object({}, { include_usage: boolean, include_obfuscation: boolean })),
  temperature: nullable(number),
  top_p: nullable(number),
  stop: nullable(stringOr(listOf(string))),
  tools: listOf(object({
    type: oneOf('function'),
    function: object({ name: NAME }, { description: string, parameters: openObject({}), strict: nullable(boolean) }),
  })),
  tool_choice: (value, path) =>
    typeof value === 'string'
      ? oneOf('none', 'auto', 'required')(value, path)
      : object({ type: oneOf('function'), function: object({ name: string }) })(value, path),
  parallel_tool_calls: boolean,
  reasoning_effort: nullable(oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
  response_format: anyObject,
  seed: nullable(integer),
  n: nullable(count),
  user: string,
  presence_penalty: nullable(number),
  frequency_penalty: nullable(number),
  logit_bias: nullable(mapOf(number)),
  logprobs: nullable(boolean),
  top_logprobs: nullable(count),
} as const satisfies Readonly<Record<string, Shape>>;

const OPENAI_DIALECT: Dialect = {
  isCompatible: false,
  request: object(
    { messages: listOf(tagged('role', { ...roles(ASSISTANT), developer: instructions })), model: string },
    {
      ...FIELDS,
      max_completion_tokens: nullable(count),
      // Known, and refused with words of its own.
      max_tokens: nullable(count),
      metadata: nullable(mapOf(string)),
      store: nullable(boolean),
      service_tier: nullable(oneOf('auto', 'default', 'flex', 'priority')),
      verbosity: nullable(oneOf('low', 'medium', 'high')),
      prompt_cache_key: string,
      safety_identifier: string,
    },
  ),
};

const COMPATIBLE_DIALECT: Dialect = {
  isCompatible: true,
  request: object(
    { messages: listOf(tagged('role', roles({ ...ASSISTANT, reasoning_content: nullable(string) }))), model: string },
    { ...FIELDS, max_tokens: nullable(count), thinking: object({ type: oneOf('enabled', 'disabled') }) },
  ),
};

export const OPENAI: Protocol = {
  ...protocolOf(OPENAI_DIALECT),
  missingKey: new Complaint(401, "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."),
  overloaded: new Complaint(503, 'The server is currently overloaded. Please try again later.', { code: 'server_is_overloaded' }),
  quotaExhausted: new Complaint(429, 'You exceeded your current quota, please check your plan and billing details.', { code: 'insufficient_quota' }),
};

export const COMPATIBLE: Protocol = {
  ...protocolOf(COMPATIBLE_DIALECT),
  missingKey: undefined,
  overloaded: new Complaint(503, 'Service is too busy. Please retry later.', { code: 'service_unavailable' }),
  quotaExhausted: new Complaint(402, 'Insufficient Balance', { code: 'invalid_request_error' }),
};

function protocolOf(dialect: Dialect): Omit<Protocol, 'missingKey' | 'overloaded' | 'quotaExhausted'> {
  return {
    keyOf: ({ headers }) => /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1],
    wrongKey: new Complaint(401, 'Incorrect API key provided. You can find your API key in your account settings.', { code: 'invalid_api_key' }),
    decode: (incoming) => (incoming.path === '/chat/completions' && incoming.method === 'POST' ? decode(incoming, dialect) : undefined),
    models: (incoming) => (incoming.path === '/models' && incoming.method === 'GET' ? renderModels() : undefined),
    render: (ask, script) => render(ask, script, dialect),
    renderComplaint: (complaint) => jsonReply(complaint.status, renderError(complaint), {
      ...requestId(digest(complaint.message)),
      ...(complaint.retryAfterS === undefined ? {} : { 'retry-after': String(complaint.retryAfterS) }),
    }),
    renderErrorEvent: (complaint) => `data: ${renderError(complaint)}\n\n`,
  };
}

function requestId(seed: string): Record<string, string> {
  return { 'x-request-id': `req_${seed.slice(0, 32)}` };
}

/** A path as OpenAI writes it: `messages[0].content[1].text`. */
function placeOf(path: Mismatch['path']): string {
  return path.reduce<string>((place, step) => {
    if (typeof step === 'object') return place;
    if (typeof step === 'number') return `${place}[${step}]`;
    return place === '' ? step : `${place}.${step}`;
  }, '');
}

function complaintOf({ path, is, expected, allowed, value }: Mismatch): Complaint {
  const param = placeOf(path);
  if (is === 'unknown') return invalid(`Unknown parameter: '${param}'.`, param, 'unknown_parameter');
  if (is === 'missing') return invalid(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
  if (allowed.length > 0) return invalid(`Invalid value: '${String(value)}'. Supported values are: ${expected}.`, param, 'invalid_value');
  const got = value === null ? 'null' : Array.isArray(value) ? 'an array' : `${typeof value}`;
  return invalid(`Invalid type for '${param}': expected ${expected}, but got ${got} instead.`, param, 'invalid_type');
}

function invalid(message: string, param?: string, code?: string): Complaint {
  return new Complaint(400, message, { ...(param === undefined ? {} : { param }), ...(code === undefined ? {} : { code }) });
}

type Message = Readonly<Record<string, unknown>>;

function decode(incoming: Incoming, dialect: Dialect): Ask | Complaint {
  const body = parseLenient(incoming.body);
  if (!isObject(body)) return invalid('We could not parse the JSON body of your request.');
  const mismatch = dialect.request(body, []);
  if (mismatch !== undefined) return complaintOf(mismatch);
  const messages = listField(body, 'messages').filter(isObject);
  return checkFields(body, dialect) ?? checkMessages(messages) ?? checkCallsAnswered(messages)
    ?? (dialect.isCompatible ? checkReasoningKept(messages) : undefined) ?? askFrom(body, messages, dialect);
}

function checkFields(body: unknown, dialect: Dialect): Complaint | undefined {
  const tools = listField(body, 'tools').map((tool) => field(tool, 'function'));
  if (!dialect.isCompatible && typeof field(body, 'max_tokens') === 'number') {
    return invalid("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", 'max_tokens', 'unsupported_parameter');
  }
  if (listField(body, 'stop').length > 4) return invalid("Invalid 'stop': array too long. Expected an array with maximum length 4.", 'stop', 'array_above_max_length');
  if (field(body, 'tools') !== undefined && tools.length === 0) return emptyArray('tools');
  for (const name of ['tool_choice', 'parallel_tool_calls']) {
    if (tools.length === 0 && field(body, name) !== undefined) return invalid(`'${name}' is only allowed when 'tools' are specified.`, name);
  }
  const named = stringField(field(field(body, 'tool_choice'), 'function'), 'name');
  if (named !== undefined && !tools.some((tool) => stringField(tool, 'name') === named)) {
    return invalid(`Tool choice '${named}' not found in 'tools' parameter.`, 'tool_choice');
  }
  if (isObject(field(body, 'stream_options')) && field(body, 'stream') !== true) {
    return invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options');
  }
  return first(tools, (tool, index) => {
    const parameters = field(tool, 'parameters');
    if (parameters === undefined || field(parameters, 'type') === 'object') return undefined;
    const message = `Invalid schema for function '${stringField(tool, 'name')}': schema must be a JSON Schema of 'type: "object"'.`;
    return invalid(message, `tools[${index}].function.parameters`, 'invalid_function_parameters');
  });
}

function emptyArray(param: string): Complaint {
  return invalid(`Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`, param, 'empty_array');
}

function checkMessages(messages: readonly Message[]): Complaint | undefined {
  if (messages.length === 0) return emptyArray('messages');
  return first(messages, (message, index) => {
    const place = `messages[${index}]`;
    const calls = listField(message, 'tool_calls');
    if (message['role'] !== 'assistant') return undefined;
    if (message['tool_calls'] !== undefined && calls.length === 0) return emptyArray(`${place}.tool_calls`);
    if (calls.length === 0 && typeof message['content'] !== 'string' && !Array.isArray(message['content']) && typeof message['refusal'] !== 'string') {
      return invalid("Invalid value for 'content': expected a string, got null.", `${place}.content`);
    }
    return first(calls, (call, at) => {
      const id = stringField(call, 'id') ?? '';
      if (id.length > ID_CHARS_MAX) {
        const param = `${place}.tool_calls[${at}].id`;
        return invalid(`Invalid '${param}': string too long. Expected a string with maximum length ${ID_CHARS_MAX}, but got a string with length ${id.length} instead.`, param, 'string_above_max_length');
      }
      const param = `${place}.tool_calls[${at}].function.arguments`;
      return isObject(parseLenient(argumentsOf(call))) ? undefined : invalid(`Invalid '${param}': expected the text of a JSON object.`, param, 'invalid_value');
    });
  });
}

function argumentsOf(call: unknown): string {
  return stringField(field(call, 'function'), 'arguments') ?? '';
}

/** Every call is answered by one tool message before any other role speaks. */
function checkCallsAnswered(messages: readonly Message[]): Complaint | undefined {
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (message['role'] === 'tool') {
      const id = String(message['tool_call_id']);
      if (!open.includes(id)) {
        return invalid("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", `messages.[${index}].role`);
      }
      open = open.filter((other) => other !== id);
    } else if (open.length > 0) {
      return unanswered(open, index);
    } else {
      open = listField(message, 'tool_calls').map((call) => stringField(call, 'id') ?? '');
    }
  }
  return open.length > 0 ? unanswered(open, messages.length) : undefined;
}

function unanswered(ids: readonly string[], index: number): Complaint {
  return invalid(`An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`, `messages.[${index}].role`);
}

const THOUGHT_ID = /^call_t/;

/** Reasoning that led to calls has to come back, if only as an empty text. */
function checkReasoningKept(messages: readonly Message[]): Complaint | undefined {
  const isLost = messages.some((message) =>
    typeof message['reasoning_content'] !== 'string' && listField(message, 'tool_calls').some((call) => THOUGHT_ID.test(stringField(call, 'id') ?? '')));
  return isLost ? invalid('The `reasoning_content` in the thinking mode must be passed back to the API.', undefined, 'invalid_request_error') : undefined;
}

function askFrom(body: unknown, messages: readonly Message[], dialect: Dialect): Ask {
  const isInstruction = (message: Message): boolean => message['role'] === 'system' || message['role'] === 'developer';
  const tools = listField(body, 'tools').map((tool) => field(tool, 'function')).map((tool) => ({ name: stringField(tool, 'name') ?? '', schema: field(tool, 'parameters') }));
  const stop = field(body, 'stop');
  const isThinkingOff = stringField(body, 'reasoning_effort') === 'none' || stringField(field(body, 'thinking'), 'type') === 'disabled';
  const isThinkingAsked = field(body, 'reasoning_effort') !== undefined || field(body, 'thinking') !== undefined;
  return {
    model: stringField(body, 'model') ?? '',
    isStream: field(body, 'stream') === true,
    facts: conversationFacts(messages.filter(isInstruction).map(textOf).join(' '), messages.filter((message) => !isInstruction(message)).map(turnFrom), tools),
    tools,
    choice: choiceFrom(field(body, 'tool_choice')),
    maxTokens: numberField(body, 'max_completion_tokens') ?? numberField(body, 'max_tokens'),
    stop: typeof stop === 'string' ? [stop] : listField(body, 'stop').map(String),
    isThinkingAsked: dialect.isCompatible && isThinkingAsked && !isThinkingOff,
    seed: digest(JSON.stringify(messages)),
    isUsageStreamed: dialect.isCompatible || field(field(body, 'stream_options'), 'include_usage') === true,
    isLines: true,
  };
}

function textOf(message: Message): string {
  return stringField(message, 'content') ?? listField(message, 'content').map((part) => stringField(part, 'text') ?? '').filter((text) => text !== '').join(' ');
}

function turnFrom(message: Message): Turn {
  if (message['role'] === 'assistant') return { by: 'assistant', text: textOf(message), calls: listField(message, 'tool_calls').map(argumentsOf) };
  if (message['role'] === 'tool') return { by: 'user', text: '', imageCount: 0, results: [textOf(message)] };
  const imageCount = listField(message, 'content').filter((part) => field(part, 'type') === 'image_url').length;
  return { by: 'user', text: textOf(message), imageCount, results: [] };
}

function choiceFrom(choice: unknown): Choice {
  const name = stringField(field(choice, 'function'), 'name');
  if (name !== undefined) return { mode: 'tool', name };
  return { mode: choice === 'required' || choice === 'none' ? choice : 'auto' };
}

// What it answers.

const BLOCKED = new Complaint(400, 'Your request was rejected because it may violate our usage policy.', { code: 'content_policy_violation' });
const CREATED_S = 1_767_225_600;

function render(ask: Ask, script: Script, dialect: Dialect): Reply {
  if (script.ending === 'blocked') return jsonReply(BLOCKED.status, renderError(BLOCKED), requestId(ask.seed));
  return ask.isStream ? streamReply(renderStream(ask, script, dialect), requestId(ask.seed)) : renderWhole(ask, script, dialect);
}

/** OpenAI's refusals are a text of their own; elsewhere, and where there are no words, a filter ended the answer. */
function isSpokenRefusal(script: Script, dialect: Dialect): boolean {
  return script.ending === 'refusal' && script.blocks.length > 0 && !dialect.isCompatible;
}

function finishReason(script: Script, dialect: Dialect): string {
  const reasons = { end: 'stop', tool_calls: 'tool_calls', max_tokens: 'length', stop_sequence: 'stop', refusal: 'content_filter', blocked: 'content_filter' };
  return isSpokenRefusal(script, dialect) ? 'stop' : reasons[script.ending];
}

function callId(ask: Ask, script: Script, index: number): string {
  const hasThought = script.blocks.some((block) => block.type === 'thinking');
  return `call_${hasThought ? 't' : 'p'}${digest(ask.seed + index).slice(0, 23)}`;
}

function renderWhole(ask: Ask, script: Script, dialect: Dialect): Reply {
  const textOfType = (type: 'text' | 'thinking'): string => script.blocks.map((block) => (block.type === type ? joined(block) : '')).join('');
  const calls = script.blocks.flatMap((block, index) => (block.type !== 'call' ? [] : [
    { id: callId(ask, script, index), type: 'function', function: { name: block.name, arguments: block.argumentsText } },
  ]));
  const text = textOfType('text');
  const isRefused = isSpokenRefusal(script, dialect);
  const hasContent = text !== '' || (calls.length === 0 && script.ending !== 'refusal');
  const hasThought = script.blocks.some((block) => block.type === 'thinking');
  const message: JsonOutObject = {
    role: 'assistant',
    content: hasContent && !isRefused ? text : null,
    refusal: isRefused ? text : null,
    reasoning_content: dialect.isCompatible && hasThought ? textOfType('thinking') : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(script, dialect) };
  return jsonReply(200, renderJson({ ...envelope(ask, 'chat.completion'), choices: [choice], usage: renderUsage(script.usage, dialect) }), requestId(ask.seed));
}

function envelope(ask: Ask, kind: string): JsonOutObject {
  return { id: `chatcmpl-${ask.seed.slice(0, 29)}`, object: kind, created: CREATED_S, model: ask.model, system_fingerprint: 'fp_sandbox' };
}

function renderUsage(usage: Usage | undefined, dialect: Dialect): JsonOutObject | undefined {
  if (usage === undefined) return undefined;
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    prompt_cache_hit_tokens: dialect.isCompatible ? usage.cachedTokens : undefined,
    prompt_cache_miss_tokens: dialect.isCompatible ? usage.inputTokens - usage.cachedTokens : undefined,
  };
}

const ARGUMENT_CHARS = 12;

function renderStream(ask: Ask, script: Script, dialect: Dialect): Piece[] {
  const base = envelope(ask, 'chat.completion.chunk');
  const usage = ask.isUsageStreamed ? renderUsage(script.usage, dialect) : undefined;
  const pieces: Piece[] = [];
  const push = (fields: JsonOutObject, isText = false): void => void pieces.push({ bytes: `data: ${renderJson({ ...base, ...fields })}\n\n`, isText });
  const chunk = (delta: JsonOutObject, isText = false): void => push({ choices: [{ index: 0, delta, logprobs: null, finish_reason: null }], usage: null }, isText);
  const isThinking = dialect.isCompatible && script.blocks.some((block) => block.type === 'thinking');
  chunk(isThinking ? { role: 'assistant', content: null, reasoning_content: '' } : { role: 'assistant', content: '', refusal: null });
  const textField = isSpokenRefusal(script, dialect) ? 'refusal' : 'content';
  let callIndex = 0;
  for (const [index, block] of script.blocks.entries()) {
    if (block.type === 'text') {
      for (const text of block.pieces) chunk({ [textField]: text }, true);
    } else if (block.type === 'thinking' && isThinking) {
      for (const text of block.pieces) chunk({ content: null, reasoning_content: text });
    } else if (block.type === 'call') {
      chunk({ tool_calls: [{ index: callIndex, id: callId(ask, script, index), type: 'function', function: { name: block.name, arguments: '' } }] });
      for (const text of slicesOf(block.argumentsText, ARGUMENT_CHARS)) chunk({ tool_calls: [{ index: callIndex, function: { arguments: text } }] });
      callIndex += 1;
    }
  }
  // The compatible host sends usage with the last choice, OpenAI after it.
  push({ choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: finishReason(script, dialect) }], usage: dialect.isCompatible ? usage : null });
  if (usage !== undefined && !dialect.isCompatible) push({ choices: [], usage });
  return [...pieces, { bytes: DONE, isText: false }];
}

/** The line that ends a stream. */
export const DONE = 'data: [DONE]\n\n';

function renderError({ status, message, code, param }: Complaint): string {
  const type = status >= 500 ? 'server_error' : status === 429 ? (code ?? 'requests') : 'invalid_request_error';
  const codes: Readonly<Record<number, string>> = { 404: 'model_not_found', 429: 'rate_limit_exceeded' };
  return renderJson({ error: { message, type, param: param ?? null, code: code ?? codes[status] ?? null } });
}

function renderModels(): string {
  return renderJson({ object: 'list', data: MODEL_IDS.map((id) => ({ id, object: 'model', created: CREATED_S, owned_by: 'sandbox' })) });
}
