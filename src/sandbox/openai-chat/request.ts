/**
 * Requests to the sandbox's Chat Completions API, checked as strictly as the provider does, in two dialects.
 *
 * That of a compatible host calls the limit `max_tokens` and demands its `reasoning_content` back on turns that made
 * calls, as DeepSeek does. An id of a call tells whether reasoning came before it.
 * Source: OpenAI, Chat Completions, request body; DeepSeek API, thinking mode with tool calls.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { field, isObject, listField, numberField, stringField } from '../../base/loose.ts';
import { Complaint, conversationFacts, digest, tokenCount, toolTokens, wordCount } from '../protocol.ts';
import type { Ask, Choice, Incoming, Turn } from '../protocol.ts';
import {
  anyObject, anything, boolean, count, first, integer, listOf, mapOf, matching, nullable, number, object, oneOf, openObject, string, stringOr, tagged,
} from '../shape.ts';
import type { Shape } from '../shape.ts';
import { BREAKPOINT, CACHE_FIELDS, CALLER_FIELDS, CHAT_CACHE_OPTIONS, cachePlan, checkLengths, isMarked, tooLong } from './caching.ts';
import { complaintOf, invalid } from './complaint.ts';
import { checkFile } from './file.ts';
import { RESPONSE_FORMAT, chatOutput, checkParameters } from './output.ts';

/** In what the two differ. */
export type Dialect = { readonly isCompatible: boolean; readonly request: Shape };

const ID_CHARS_MAX = 40;
const CHOICES_MAX = 128;
const NAME = matching(/^[a-zA-Z0-9_-]+$/);
const TEXT = object({ type: string, text: string }, BREAKPOINT);
const TEXTS = stringOr(listOf(tagged('type', { text: TEXT })));
const USER_PARTS = {
  text: TEXT,
  image_url: object({
    type: string,
    image_url: object({ url: matching(/^(https?:\/\/|data:image\/[a-z0-9.+-]+;base64,)/) }, { detail: oneOf('auto', 'low', 'high', 'original') }),
  }, BREAKPOINT),
  input_audio: object({ type: string, input_audio: anyObject }),
  file: object({ type: string, file: object({}, { filename: string, file_data: string, file_id: string }) }, BREAKPOINT),
};
/** What one or the other compatible host has besides. */
const COMPATIBLE_PARTS = { ...USER_PARTS, document_url: object({ type: string, document_url: string }) };
/** `index`: of the stream that it came from, which eino and others leave there. */
const CALL = object({ id: string, type: oneOf('function'), function: object({ name: NAME, arguments: string }) }, { index: count });
const ASSISTANT = { content: nullable(TEXTS), refusal: nullable(string), name: string, tool_calls: listOf(CALL) };
/** What OpenAI's own clients append to a conversation: their reply objects as they are. */
const AS_RETURNED = { annotations: anything, audio: anything, function_call: anything, parsed: anything };
const instructions = object({ role: string, content: TEXTS }, { name: string });
type Shapes = Readonly<Record<string, Shape>>;
const roles = (userParts: Shapes, assistant: Shapes): Shapes => ({
  system: instructions,
  user: object({ role: string, content: stringOr(listOf(tagged('type', userParts))) }, { name: string }),
  assistant: object({ role: string }, assistant),
  // LangChain's agents name the tool, as OpenAI's own examples once did.
  tool: object({ role: string, content: TEXTS, tool_call_id: string }, { name: string }),
});
const FIELDS = {
  stream: nullable(boolean),
  stream_options: nullable(object({}, { include_usage: boolean, include_obfuscation: boolean })),
  temperature: nullable(number),
  top_p: nullable(number),
  stop: nullable(stringOr(listOf(string))),
  tools: nullable(listOf(object({
    type: oneOf('function'),
    function: object({ name: NAME }, { description: string, parameters: openObject({}), strict: nullable(boolean) }),
  }))),
  tool_choice: (value, path) =>
    typeof value === 'string'
      ? oneOf('none', 'auto', 'required')(value, path)
      : object({ type: oneOf('function'), function: object({ name: string }) })(value, path),
  parallel_tool_calls: boolean,
  reasoning_effort: nullable(oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
  response_format: RESPONSE_FORMAT,
  seed: nullable(integer),
  n: nullable(count),
  ...CALLER_FIELDS,
  prompt_cache_key: CACHE_FIELDS.prompt_cache_key,
  presence_penalty: nullable(number),
  frequency_penalty: nullable(number),
  logit_bias: nullable(mapOf(number)),
  logprobs: nullable(boolean),
  top_logprobs: nullable(count),
} as const satisfies Readonly<Record<string, Shape>>;

/** OpenAI's own. */
export const OPENAI_DIALECT: Dialect = {
  isCompatible: false,
  request: object(
    { messages: listOf(tagged('role', { ...roles(USER_PARTS, { ...ASSISTANT, ...AS_RETURNED }), developer: instructions })), model: string },
    {
      ...FIELDS,
      max_completion_tokens: nullable(count),
      // Known, and refused with words of its own.
      max_tokens: nullable(count),
      ...CACHE_FIELDS,
      prompt_cache_options: CHAT_CACHE_OPTIONS,
      store: nullable(boolean),
      service_tier: nullable(oneOf('auto', 'default', 'flex', 'priority')),
      verbosity: nullable(oneOf('low', 'medium', 'high')),
      // Taken, and without effect on a text that is made up.
      modalities: nullable(listOf(oneOf('text', 'audio'))),
      audio: nullable(anyObject),
      prediction: nullable(anyObject),
      moderation: nullable(anyObject),
      web_search_options: anyObject,
    },
  ),
};

/** That of a compatible host. */
export const COMPATIBLE_DIALECT: Dialect = {
  isCompatible: true,
  request: object(
    { messages: listOf(tagged('role', roles(COMPATIBLE_PARTS, { ...ASSISTANT, reasoning_content: nullable(string) }))), model: string },
    {
      ...FIELDS,
      max_tokens: nullable(count),
      thinking: object({ type: oneOf('enabled', 'disabled') }),
      // Of one host each: who asks, and what a router of hosts is to look at.
      user_id: string,
      provider: anyObject,
      cache_control: nullable(object({ type: oneOf('ephemeral') }, { ttl: oneOf('5m', '1h') })),
    },
  ),
};

type Message = Readonly<Record<string, unknown>>;

/** The request as the fake model sees it, or what the provider would say is wrong with it. */
export function decodeRequest(incoming: Incoming, dialect: Dialect): Ask | Complaint {
  const body = parseLenient(incoming.body);
  if (!isObject(body)) return invalid('We could not parse the JSON body of your request.');
  const mismatch = dialect.request(body, []);
  if (mismatch !== undefined) return complaintOf(mismatch);
  const messages = listField(body, 'messages').filter(isObject);
  const output = chatOutput(field(body, 'response_format'), messages, dialect.isCompatible);
  if (output instanceof Complaint) return output;
  return checkLengths(body) ?? checkFields(body, dialect) ?? checkMessages(messages) ?? checkCallsAnswered(messages)
    ?? (dialect.isCompatible ? checkReasoningKept(messages) : undefined) ?? { ...askFrom(body, messages, dialect), output };
}

function checkFields(body: unknown, dialect: Dialect): Complaint | undefined {
  const tools = listField(body, 'tools').map((tool) => field(tool, 'function'));
  if (!dialect.isCompatible && typeof field(body, 'max_tokens') === 'number') {
    return invalid("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", 'max_tokens', 'unsupported_parameter');
  }
  const choiceCount = numberField(body, 'n') ?? 1;
  if (choiceCount < 1) return invalid(`Invalid 'n': integer below minimum value. Expected a value >= 1, but got ${choiceCount} instead.`, 'n', 'integer_below_min_value');
  if (choiceCount > CHOICES_MAX) return invalid(`Invalid 'n': integer above maximum value. Expected a value <= ${CHOICES_MAX}, but got ${choiceCount} instead.`, 'n', 'integer_above_max_value');
  if (listField(body, 'stop').length > 4) return invalid("Invalid 'stop': array too long. Expected an array with maximum length 4.", 'stop', 'array_above_max_length');
  if (Array.isArray(field(body, 'tools')) && tools.length === 0) return emptyArray('tools');
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
  return first(tools, (tool, index) => checkParameters(tool, field(tool, 'strict') === true && !dialect.isCompatible, `tools[${index}].function.parameters`));
}

function emptyArray(param: string): Complaint {
  return invalid(`Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`, param, 'empty_array');
}

function checkMessages(messages: readonly Message[]): Complaint | undefined {
  if (messages.length === 0) return emptyArray('messages');
  return first(messages, (message, index) => {
    const place = `messages[${index}]`;
    const calls = listField(message, 'tool_calls');
    if (message['role'] === 'user') {
      return first(listField(message, 'content'), (part, at) => (field(part, 'type') === 'file' ? checkFile(field(part, 'file'), `${place}.content[${at}].file`, PDF_TYPE) : undefined));
    }
    if (message['role'] !== 'assistant') return undefined;
    if (message['tool_calls'] !== undefined && calls.length === 0) return emptyArray(`${place}.tool_calls`);
    if (calls.length === 0 && typeof message['content'] !== 'string' && !Array.isArray(message['content']) && typeof message['refusal'] !== 'string') {
      return invalid("Invalid value for 'content': expected a string, got null.", `${place}.content`);
    }
    return first(calls, (call, at) => {
      const long = tooLong(`${place}.tool_calls[${at}].id`, stringField(call, 'id'), ID_CHARS_MAX);
      return long ?? notObject(`${place}.tool_calls[${at}].function.arguments`, argumentsOf(call));
    });
  });
}

/** What is wrong with arguments that are no object. */
export function notObject(param: string, text: string): Complaint | undefined {
  return isObject(parseLenient(text)) ? undefined : invalid(`Invalid '${param}': expected the text of a JSON object.`, param, 'invalid_value');
}

const PDF_TYPE = /^application\/pdf$/;

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

const THOUGHT_ID = /^call_t([0-9a-f]{7})/;

/** What the id of a call tells of the reasoning before it. */
export function reasoningMark(reasoning: string): string {
  return digest(reasoning).slice(0, 7);
}

/** Reasoning that led to calls has to come back as it was, if only as an empty text. */
function checkReasoningKept(messages: readonly Message[]): Complaint | undefined {
  const isLost = messages.some((message) => {
    const reasoning = stringField(message, 'reasoning_content');
    return listField(message, 'tool_calls').some((call) => {
      const mark = THOUGHT_ID.exec(stringField(call, 'id') ?? '')?.[1];
      return mark !== undefined && reasoning !== '' && (reasoning === undefined || reasoningMark(reasoning) !== mark);
    });
  });
  return isLost ? invalid('The `reasoning_content` in the thinking mode must be passed back to the API.', undefined, 'invalid_request_error') : undefined;
}

function askFrom(body: unknown, messages: readonly Message[], dialect: Dialect): Ask {
  const isInstruction = (message: Message): boolean => message['role'] === 'system' || message['role'] === 'developer';
  const functions = listField(body, 'tools').map((tool) => field(tool, 'function'));
  const tools = functions.map((tool) => ({ name: stringField(tool, 'name') ?? '', schema: field(tool, 'parameters') }));
  const segments = [
    ...tools.map((tool) => ({ value: tool, tokens: toolTokens(tool), isMarked: false })),
    ...messages.map((message) => ({
      value: message,
      tokens: isInstruction(message) ? wordCount(textOf(message)) : tokenCount(turnFrom(message)),
      isMarked: isMarked(listField(message, 'content')),
    })),
  ];
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
    choiceCount: numberField(body, 'n') ?? 1,
    isThinkingAsked: dialect.isCompatible && isThinkingAsked && !isThinkingOff,
    seed: digest(JSON.stringify(messages)),
    isUsageStreamed: dialect.isCompatible || field(field(body, 'stream_options'), 'include_usage') === true,
    isLines: true,
    isSerial: field(body, 'parallel_tool_calls') === false,
    cache: cachePlan(body, segments),
  };
}

function textOf(message: Message): string {
  return stringField(message, 'content') ?? listField(message, 'content').map((part) => stringField(part, 'text') ?? '').filter((text) => text !== '').join(' ');
}

function turnFrom(message: Message): Turn {
  if (message['role'] === 'assistant') return { by: 'assistant', text: textOf(message), calls: listField(message, 'tool_calls').map(argumentsOf) };
  if (message['role'] === 'tool') return { by: 'user', text: '', imageCount: 0, documents: [], results: [textOf(message)] };
  const ofType = (...types: readonly string[]): unknown[] => listField(message, 'content').filter((part) => types.includes(String(field(part, 'type'))));
  return { by: 'user', text: textOf(message), imageCount: ofType('image_url').length, documents: ofType('file', 'document_url').map(() => undefined), results: [] };
}

/** Responses says the name beside the type, Chat Completions in the function. */
export function choiceFrom(choice: unknown): Choice {
  const name = stringField(field(choice, 'function'), 'name') ?? stringField(choice, 'name');
  if (name !== undefined) return { mode: 'tool', name };
  return { mode: choice === 'required' || choice === 'none' ? choice : 'auto' };
}
