/**
 * Requests to the sandbox's Responses API, checked as strictly as the provider does.
 *
 * Thoughts come back sealed, or by a name where they are stored. The provider takes a call whose thoughts were lost, and the model
 * then thinks again; here it is refused, so that a loss shows.
 * Source: OpenAI, Responses API, create a response, input items.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { field, isObject, listField, numberField, stringField } from '../../base/loose.ts';
import { BREAKPOINT, CACHE_FIELDS, CALLER_FIELDS, RESPONSES_CACHE_OPTIONS, cachePlan, checkLengths, isMarked, tooLong } from '../openai-chat/caching.ts';
import { complaintOf, invalid } from '../openai-chat/complaint.ts';
import { checkFile } from '../openai-chat/file.ts';
import { TEXT_FORMAT, checkParameters, responsesOutput } from '../openai-chat/output.ts';
import { choiceFrom, notObject } from '../openai-chat/request.ts';
import { Complaint, conversationFacts, digest, tokenCount, toolTokens, wordCount } from '../protocol.ts';
import type { Ask, Incoming, Memory, Turn } from '../protocol.ts';
import {
  anyObject, boolean, count, first, listOf, matching, nullable, number, object, oneOf, openObject, string, stringOr, tagged,
} from '../shape.ts';
import type { Mismatch, Shape } from '../shape.ts';
import { CUSTOM_INPUT, isSealed } from './reply.ts';
import { resolveInput } from './stored.ts';

type Item = Readonly<Record<string, unknown>>;

const CALL_ID_CHARS_MAX = 64;
const NAME = matching(/^[a-zA-Z0-9_-]+$/);
const AS_RETURNED = { id: matching(/./), status: nullable(oneOf('in_progress', 'completed', 'incomplete')) };
const INPUT_PARTS = {
  input_text: object({ type: string, text: string }, BREAKPOINT),
  input_image: object(
    { type: string },
    { image_url: matching(/^(https?:\/\/|data:image\/[a-z0-9.+-]+;base64,)/), file_id: nullable(string), detail: oneOf('auto', 'low', 'high', 'original'), ...BREAKPOINT },
  ),
  input_file: object(
    { type: string },
    { filename: string, file_data: string, file_url: matching(/^https?:\/\//), file_id: string, detail: oneOf('auto', 'low', 'high'), ...BREAKPOINT },
  ),
};
const OUTPUT_PARTS = {
  output_text: object({ type: string, text: string }, { annotations: listOf(anyObject), logprobs: nullable(listOf(anyObject)) }),
  refusal: object({ type: string, refusal: string }),
};
const asked = object({ role: string, content: stringOr(listOf(tagged('type', INPUT_PARTS))) }, { type: string, ...AS_RETURNED });
const MESSAGE = tagged('role', {
  user: asked,
  system: asked,
  developer: asked,
  assistant: object(
    { role: string, content: stringOr(listOf(tagged('type', OUTPUT_PARTS))) },
    { type: string, phase: nullable(oneOf('commentary', 'final_answer')), ...AS_RETURNED },
  ),
});
const OTHER_ITEM = tagged('type', {
  function_call: object({ type: string, call_id: string, name: NAME, arguments: string }, { namespace: string, caller: nullable(anyObject), ...AS_RETURNED }),
  function_call_output: object(
    { type: string, output: stringOr(listOf(tagged('type', INPUT_PARTS))) },
    { call_id: string, caller: nullable(anyObject), name: string, namespace: string, ...AS_RETURNED },
  ),
  custom_tool_call: object(
    { type: string, call_id: string, name: NAME, input: string },
    { namespace: string, caller: nullable(anyObject), ...AS_RETURNED },
  ),
  custom_tool_call_output: object(
    { type: string, call_id: string, output: stringOr(listOf(tagged('type', INPUT_PARTS))) },
    { caller: nullable(anyObject), ...AS_RETURNED },
  ),
  // The fake model calls none of them.
  additional_tools: object({ type: string, role: oneOf('developer'), tools: listOf(anyObject) }, AS_RETURNED),
  item_reference: object({ type: string, id: string }),
  reasoning: object(
    { type: string, summary: listOf(object({ type: oneOf('summary_text'), text: string })) },
    { id: matching(/./), encrypted_content: nullable(string), content: nullable(oneOf()) },
  ),
});
const isCall = (item: Item): boolean => item['type'] === 'function_call' || item['type'] === 'custom_tool_call';
const isOutput = (item: Item): boolean => item['type'] === 'function_call_output' || item['type'] === 'custom_tool_call_output';
const isMessage = (item: unknown): boolean => (stringField(item, 'type') ?? 'message') === 'message';
const ITEM: Shape = (item, path) => (isMessage(item) ? MESSAGE : OTHER_ITEM)(item, path);

const COUNTED = { model: string, input: stringOr(listOf(ITEM)) };
const COUNTED_TOO = {
  instructions: nullable(string),
  tools: listOf(tagged('type', {
    function: object(
      { type: string, name: NAME },
      { description: nullable(string), parameters: nullable(openObject({})), strict: nullable(boolean) },
    ),
    custom: object({ type: string, name: NAME }, { description: nullable(string), format: anyObject }),
    // Run by the vendor, or in groups; the fake model calls none of them.
    namespace: anyObject,
    web_search: anyObject,
  })),
  tool_choice: (value: unknown, path: Mismatch['path']) =>
    typeof value === 'string'
      ? oneOf('none', 'auto', 'required')(value, path)
      : object({ type: oneOf('function'), name: string })(value, path),
  parallel_tool_calls: nullable(boolean),
  reasoning: nullable(object({}, {
    effort: nullable(oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
    summary: nullable(oneOf('auto', 'concise', 'detailed')),
    context: nullable(string),
  })),
  text: object({}, { format: TEXT_FORMAT, verbosity: nullable(oneOf('low', 'medium', 'high')) }),
  truncation: nullable(oneOf('auto', 'disabled')),
  previous_response_id: nullable(string),
  conversation: nullable(stringOr(object({ id: string }))),
};
const COUNT = object(COUNTED, COUNTED_TOO);
const REQUEST = object(COUNTED, {
  ...COUNTED_TOO,
  max_output_tokens: nullable(count),
  temperature: nullable(number),
  top_p: nullable(number),
  include: nullable(listOf(oneOf('reasoning.encrypted_content', 'message.output_text.logprobs', 'web_search_call.action.sources'))),
  store: nullable(boolean),
  stream: nullable(boolean),
  stream_options: nullable(object({}, { include_obfuscation: boolean })),
  service_tier: nullable(oneOf('auto', 'default', 'flex', 'priority')),
  ...CALLER_FIELDS,
  ...CACHE_FIELDS,
  prompt_cache_options: RESPONSES_CACHE_OPTIONS,
  client_metadata: anyObject,
  background: nullable(boolean),
  max_tool_calls: nullable(count),
  top_logprobs: nullable(count),
  context_management: nullable(listOf(anyObject)),
  moderation: nullable(anyObject),
});

/** The request as the fake model sees it, or what the provider would say is wrong with it. */
export function decodeResponsesRequest(incoming: Incoming, memory: Memory): Ask | Complaint {
  return decodeAs(REQUEST, incoming, memory);
}

/** The same where only tokens are to be counted. */
export function decodeCount(incoming: Incoming, memory: Memory): Ask | Complaint {
  const ask = decodeAs(COUNT, incoming, memory);
  return ask instanceof Complaint ? ask : { ...ask, isCount: true };
}

function decodeAs(shape: Shape, incoming: Incoming, memory: Memory): Ask | Complaint {
  const body = parseLenient(incoming.body);
  if (!isObject(body)) return invalid('We could not parse the JSON body of your request.');
  const mismatch = shape(body, []);
  if (mismatch !== undefined) return complaintOf(mismatch);
  const items = resolveInput(body, memory);
  if (items instanceof Complaint) return items;
  const output = responsesOutput(field(field(body, 'text'), 'format'), items);
  if (output instanceof Complaint) return output;
  return checkLengths(body) ?? checkTools(body) ?? checkMedia(items) ?? checkCalls(items) ?? checkAnswered(items) ?? checkThoughts(items) ?? { ...askFrom(body, items), output };
}

function checkTools(body: unknown): Complaint | undefined {
  const tools = listField(body, 'tools');
  const choice = field(body, 'tool_choice');
  const named = stringField(choice, 'name');
  if (named !== undefined && !tools.some((tool) => stringField(tool, 'name') === named)) {
    return invalid(`Tool choice '${named}' not found in 'tools' parameter.`, 'tool_choice');
  }
  if (choice === 'required' && tools.length === 0) return invalid("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice');
  // Where it is left out, a tool is strict where the schema happens to fit.
  const isStrict = (tool: unknown): boolean => field(tool, 'strict') === true;
  return first(tools, (tool, index) => (field(tool, 'type') === 'function' ? checkParameters(tool, isStrict(tool), `tools[${index}].parameters`) : undefined));
}

const FILE_TYPES = /^(application|text)\//;

function checkMedia(items: readonly Item[]): Complaint | undefined {
  return first(items, (item, index) => first(['content', 'output'], (name) => first(listField(item, name), (part, at) => {
    const place = `input[${index}].${name}[${at}]`;
    if (field(part, 'type') === 'input_file') return checkFile(part, place, FILE_TYPES);
    const isEmpty = field(part, 'type') === 'input_image' && (field(part, 'image_url') ?? field(part, 'file_id') ?? null) === null;
    return isEmpty ? invalid(`Missing required parameter: '${place}.image_url'.`, `${place}.image_url`, 'missing_required_parameter') : undefined;
  })));
}

function checkCalls(items: readonly Item[]): Complaint | undefined {
  return first(items, (item, index) => tooLong(`input[${index}].call_id`, stringField(item, 'call_id'), CALL_ID_CHARS_MAX)
    ?? (item['type'] === 'function_call' ? notObject(`input[${index}].arguments`, String(item['arguments'])) : undefined));
}

/** Every call has its output, after it and before anybody says anything else. */
function checkAnswered(items: readonly Item[]): Complaint | undefined {
  let open: string[] = [];
  for (const item of items) {
    const id = String(item['call_id']);
    if (isCall(item)) open.push(id);
    else if (isOutput(item) && (item['call_id'] !== undefined || item['name'] === undefined)) {
      if (!open.includes(id)) return invalid(`No tool call found for function call output with call_id ${id}.`, 'input');
      open = open.filter((other) => other !== id);
    } else if (isMessage(item) && item['role'] !== 'assistant' && open.length > 0) break;
  }
  return open.length === 0 ? undefined : invalid(`No tool output found for function call ${open[0]}.`, 'input');
}

/** Thoughts come back sealed, and in front of the calls they led to. */
function checkThoughts(items: readonly Item[]): Complaint | undefined {
  let thoughtCount = 0;
  return first(items, (item, index) => {
    if (item['type'] === 'reasoning') {
      thoughtCount += 1;
      if (isSealed(String(item['encrypted_content']))) return undefined;
      return invalid('The encrypted content could not be verified.', `input[${index}].encrypted_content`, 'invalid_encrypted_content');
    }
    if (isCall(item)) {
      const expected = Number(/^call_r(\d)/.exec(String(item['call_id']))?.[1] ?? 0);
      if (thoughtCount >= expected) return undefined;
      return invalid(`Item '${String(item['call_id'])}' of type '${String(item['type'])}' was provided without its required 'reasoning' item.`, 'input');
    }
    if (item['role'] !== 'assistant') thoughtCount = 0;
    return undefined;
  });
}

function askFrom(body: unknown, items: readonly Item[]): Ask {
  const callable = listField(body, 'tools').filter((tool) => ['function', 'custom'].includes(stringField(tool, 'type') ?? ''));
  const tools = callable.map((tool) => ({ name: stringField(tool, 'name') ?? '', schema: schemaOf(tool) }));
  const isInstruction = (item: Item): boolean => item['role'] === 'system' || item['role'] === 'developer';
  const instructions = [stringField(body, 'instructions') ?? '', ...items.filter(isInstruction).map(textOf)].filter((text) => text !== '');
  const segments = [
    { value: field(body, 'instructions') ?? null, tokens: wordCount(stringField(body, 'instructions')), isMarked: false },
    ...tools.map((tool) => ({ value: tool, tokens: toolTokens(tool), isMarked: false })),
    ...items.map((item) => ({
      value: item,
      tokens: isInstruction(item) ? wordCount(textOf(item)) : tokenCount(turnFrom([item])),
      isMarked: isMarked([...listField(item, 'content'), ...listField(item, 'output')]),
    })),
  ];
  const effort = stringField(field(body, 'reasoning'), 'effort');
  return {
    model: stringField(body, 'model') ?? '',
    isStream: field(body, 'stream') === true,
    facts: conversationFacts(instructions.join(' '), turnsFrom(items.filter((item) => !isInstruction(item))), tools),
    tools,
    choice: choiceFrom(field(body, 'tool_choice')),
    maxTokens: numberField(body, 'max_output_tokens'),
    stop: [],
    isThinkingAsked: effort !== undefined && effort !== 'none',
    seed: digest(JSON.stringify(items)),
    storable: field(body, 'store') === false ? undefined : items,
    isUsageStreamed: true,
    isLines: true,
    isSerial: field(body, 'parallel_tool_calls') === false,
    cache: cachePlan(body, segments),
    isSealed: listField(body, 'include').includes('reasoning.encrypted_content'),
  };
}

function schemaOf(tool: unknown): unknown {
  return field(tool, 'type') === 'custom' ? CUSTOM_INPUT : field(tool, 'parameters');
}

/** The items in a row by one speaker are one turn. */
function turnsFrom(items: readonly Item[]): Turn[] {
  const groups: Item[][] = [];
  for (const item of items) {
    const group = groups.at(-1);
    if (group?.[0] !== undefined && speakerOf(group[0]) === speakerOf(item)) group.push(item);
    else groups.push([item]);
  }
  return groups.map(turnFrom);
}

function speakerOf(item: Item | undefined): 'user' | 'tool' | 'model' {
  if (item !== undefined && isOutput(item)) return 'tool';
  return item?.['role'] === 'user' ? 'user' : 'model';
}

function turnFrom(group: readonly Item[]): Turn {
  const speaker = speakerOf(group[0]);
  const text = group.map(textOf).filter((piece) => piece !== '').join(' ');
  if (speaker === 'model') {
    return { by: 'assistant', text, calls: group.filter(isCall).map((item) => String(item['arguments'] ?? item['input'])) };
  }
  const parts = group.flatMap((item) => [...listField(item, 'content'), ...listField(item, 'output')]);
  const ofType = (type: string): unknown[] => parts.filter((part) => field(part, 'type') === type);
  const results = speaker === 'tool' ? group.map((item) => stringField(item, 'output') ?? textOf({ content: item['output'] })) : [];
  return { by: 'user', text, imageCount: ofType('input_image').length, documents: ofType('input_file').map(() => undefined), results };
}

function textOf(item: Item): string {
  const texts = listField(item, 'content').map((part) => stringField(part, 'text') ?? stringField(part, 'refusal') ?? '');
  return stringField(item, 'content') ?? texts.filter((text) => text !== '').join(' ');
}
