/**
 * A Chat Completions request (OpenAI, Chat Completions, request body) as a chat.
 *
 * Takes the shapes that clients really send, their own earlier replies included. A field that is not translated is left
 * out and named, or refused by its path: see `fields.ts`. An unknown type of message, part or tool is refused.
 */

import { Fields, textItem } from '../../base/fields.ts';
import type { Path } from '../../base/fields.ts';
import { createJsonBudget } from '../../base/json/limits.ts';
import type { JsonBudget } from '../../base/json/limits.ts';
import { memberOf } from '../../base/json/member.ts';
import { JsonArray } from '../../base/json/value.ts';
import type { JsonObject, JsonValue } from '../../base/json/value.ts';
import { isSilent } from '../../core/chat.ts';
import type {
  AssistantPart, CacheHint, ChatRequest, ContentPart, DocumentPart, ImagePart, OutputFormat, TextPart, Tool, ToolChoice, ToolResultPart, Turn,
} from '../../core/chat.ts';
import type { DecodedRequest, RequestBody, Translation } from '../../core/dialect.ts';
import type { Failure } from '../../core/failure.ts';
import { unsupported } from '../body.ts';
import { cacheHint } from '../cache.ts';
import { carriedStates, DAMAGED } from '../carried-state.ts';
import type { CarriedState } from '../carried-state.ts';
import { documentFromData } from '../document.ts';
import { applyTable, Ignored } from '../field-table.ts';
import { imageFromUrl } from '../image.ts';
import { joinTexts, readArguments, readText } from '../openai-common/content.ts';
import { readMaxTokens } from '../openai-common/max-tokens.ts';
import { readFormat } from '../openai-common/output.ts';
import { withParallel } from '../openai-common/parallel.ts';
import { readEffort } from '../openai-common/thinking.ts';
import { Places } from '../places.ts';
import { laterInstructions, LINE, PARAGRAPH, plainText } from '../texts.ts';
import { ownName } from '../tool-name.ts';
import { decodeVendorRequest } from '../vendor-request.ts';
import { CHAT_FIELDS } from './fields.ts';

export function decodeChatCompletions(body: RequestBody): DecodedRequest | Failure {
  return decodeVendorRequest(body, translate, (fields) => readStreamOptions(fields, new Ignored()));
}

/** Whether a stream is to say its usage. */
function readStreamOptions(fields: Fields, ignored: Ignored): boolean {
  const options = fields.object('stream_options');
  const wantsUsage = options?.boolean('include_usage') ?? false;
  if (options !== undefined) ignored.addUnread(options);
  return wantsUsage;
}

function translate(fields: Fields, _source: JsonObject, model: string): Translation {
  const ignored = new Ignored();
  const places = new Places();
  const { system, turns, cache } = readMessages(fields, ignored, places);
  const names = new Set<string>();
  const tools = fields.list('tools', (item, path) => readTool(item, path, names, ignored, places)) ?? [];
  const maxCompletionTokens = readMaxTokens(fields, 'max_completion_tokens', ignored);
  const maxTokens = readMaxTokens(fields, 'max_tokens', ignored);
  if (maxCompletionTokens !== undefined && maxTokens !== undefined && maxTokens !== maxCompletionTokens) ignored.add(fields.at('max_tokens'));
  const request: ChatRequest = {
    provider: undefined,
    model,
    system,
    turns,
    maxTokens: maxCompletionTokens ?? maxTokens,
    temperature: fields.finiteNumber('temperature'),
    topP: fields.finiteNumber('top_p'),
    stop: readStop(fields),
    tools,
    toolChoice: withParallel(readToolChoice(fields, ignored), fields, tools.length, ignored),
    thinking: readEffort(fields, 'reasoning_effort'),
    output: readOutput(fields, ignored),
    cache: cacheHint(fields) ?? cache,
    user: undefined,
    providerOptions: undefined,
  };
  readStreamOptions(fields, ignored);
  applyTable(CHAT_FIELDS, fields, ignored);
  return { request, ignored: ignored.paths, told: (sentence) => places.told(sentence, request, NAMES) };
}

/** What fields of a chat that a provider may refuse are called here. */
const NAMES = {
  output: 'response_format',
  thinking: 'reasoning_effort',
  'tool_choice.parallel': 'parallel_tool_calls',
};

function readOutput(fields: Fields, ignored: Ignored): OutputFormat | undefined {
  const format = fields.object('response_format');
  return format === undefined ? undefined : readFormat(format, 'json_schema', ignored);
}

/** Where texts stand in the items of a list, by type; what the assistant declined with is what it said, too. */
const TEXTS: ReadonlyMap<string, string> = new Map([['text', 'text']]);
const SPOKEN_TEXTS: ReadonlyMap<string, string> = new Map([...TEXTS, ['refusal', 'refusal']]);

type Conversation = { readonly system: string | undefined; readonly turns: readonly Turn[]; readonly cache: CacheHint | undefined };

/**
 * System and developer messages before the first turn are the system text; a later one stays in its place. Where nothing but
 * system text came, which this format allows and most providers refuse, it is what the user says.
 */
function readMessages(fields: Fields, ignored: Ignored, places: Places): Conversation {
  const messages = fields.list('messages', Fields.from);
  if (messages === undefined) throw fields.problem('messages', fields.has('input') ? 'required; a body with `input` is for /v1/responses' : 'required');
  const system: string[] = [];
  const turns: Turn[] = [];
  /** The results of the last turn, while it is one of results: those in a row are one turn. */
  let results: ToolResultPart[] | undefined;
  const budget = createJsonBudget();
  let cache: CacheHint | undefined;
  const lastOfUser = messages.findLastIndex((message) => message.any('role') === 'user');
  for (const [index, message] of messages.entries()) {
    const role = message.requiredOneOf('role', ['system', 'developer', 'user', 'assistant', 'tool']);
    const parts = role === 'user' ? partsOf(message) : [];
    // Before they are read, by which what is left unread is named.
    if (index >= lastOfUser) for (const marked of [...parts.slice(-1), message]) cache = cacheHint(marked) ?? cache;
    if (role === 'tool') {
      if (results === undefined) turns.push({ role, parts: (results = []) });
      results.push(places.put(readResult(message, ignored), message.path));
    } else if (role === 'user' || role === 'assistant') {
      results = undefined;
      turns.push(role === 'user' ? { role, parts: readUserParts(message, parts, ignored, places) } : { role, parts: readAssistantParts(message, ignored, places, budget) });
    } else {
      const text = readText(message, 'content', PARAGRAPH, TEXTS, ignored);
      if (turns.length === 0) system.push(text);
      else if (text !== '') turns.push(laterInstructions(text, places, message.path));
      if (text !== '') results = undefined;
    }
    ignored.addUnreadOfItem(message);
  }
  const instructions = joinTexts(system, PARAGRAPH);
  if (turns.length > 0) return { system: instructions || undefined, turns, cache };
  if (instructions === '') throw fields.problem('messages', 'must have at least one user message');
  return { system: undefined, turns: [{ role: 'user', parts: [plainText(instructions)] }], cache };
}

function readResult(message: Fields, ignored: Ignored): ToolResultPart {
  const toolCallId = message.requiredText('tool_call_id');
  return { type: 'tool_result', toolCallId, content: readResultContent(message, ignored), isError: false };
}

/** A text, or parts where a picture or a file is among them: the vendor itself takes only texts here, agents show what a tool found (Zed). */
function readResultContent(message: Fields, ignored: Ignored): ToolResultPart['content'] {
  const value = message.any('content');
  if (!(value instanceof JsonArray) || !value.items.some(isMedia)) return readText(message, 'content', LINE, TEXTS, ignored);
  const parts = value.items.map((item, index) => readUserPart(Fields.from(item, { parent: message.at('content'), key: index }), ignored));
  return parts.filter((part) => !isSilent(part));
}

function isMedia(part: JsonValue): boolean {
  const type = memberOf(part, 'type');
  return type === 'image_url' || type === 'file';
}

/** The parts of a user's message; none for a text. */
function partsOf(message: Fields): readonly Fields[] {
  const value = message.any('content');
  if (typeof value === 'string') return [];
  if (!(value instanceof JsonArray)) throw message.problem('content', 'expected a string or an array of parts');
  return value.items.map((item, index) => Fields.from(item, { parent: message.at('content'), key: index }));
}

function readUserParts(message: Fields, given: readonly Fields[], ignored: Ignored, places: Places): readonly ContentPart[] {
  if (typeof message.any('content') === 'string') return [places.put(plainText(message.requiredText('content')), message.at('content'))];
  const parts: ContentPart[] = [];
  for (const fields of given) {
    const part = readUserPart(fields, ignored);
    // Apps send one beside a picture that nobody said anything about. Providers refuse it.
    if (isSilent(part)) ignored.add(fields.path);
    else parts.push(places.put(part, fields.path));
  }
  if (parts.length === 0) throw message.problem('content', 'must not be empty');
  return parts;
}

function readUserPart(part: Fields, ignored: Ignored): ContentPart {
  const decoded = readContent(part, part.requiredString('type'), ignored);
  ignored.addUnreadOfItem(part);
  return decoded;
}

function readContent(part: Fields, type: string, ignored: Ignored): ContentPart {
  if (type === 'text') return plainText(part.requiredString('text'));
  if (type === 'image_url') return readImage(part, ignored);
  if (type === 'file') return readFile(part, ignored);
  throw unsupported(part.at('type'), 'only text, image_url and file are supported');
}

function readFile(part: Fields, ignored: Ignored): DocumentPart {
  const file = part.requiredObject('file');
  if (file.has('file_id')) throw unsupported(file.at('file_id'), 'no files are stored here: send the file itself');
  const decoded = documentFromData(file.requiredText('file_data'), file.string('filename') || undefined, file.at('file_data'));
  ignored.addUnreadOfItem(file);
  return decoded;
}

function readImage(part: Fields, ignored: Ignored): ImagePart {
  const image = part.requiredObject('image_url');
  const decoded = imageFromUrl(image.requiredText('url'), image.at('url'));
  ignored.addUnreadOfItem(image);
  return decoded;
}

/** The text first, then the calls: the order of this format. */
function readAssistantParts(message: Fields, ignored: Ignored, places: Places, budget: JsonBudget): readonly AssistantPart[] {
  if (message.has('function_call')) throw unsupported(message.at('function_call'), 'use `tool_calls`');
  if (message.has('audio')) throw unsupported(message.at('audio'), 'no answers are stored here: send what was said as `content`');
  const text = readSpokenText(message, ignored);
  const states: CarriedState[] = [...readStates(message, ignored, budget)];
  const calls = message.list('tool_calls', (item, path) => places.put(readToolCall(item, path, states, ignored, budget), path)) ?? [];
  return [...textsOf(text, states).map((part) => places.put(part, message.path)), ...calls];
}

/** The text with the first state of a text, before what belongs to texts that said nothing, or were one text with others. */
function textsOf(text: string, states: readonly CarriedState[]): readonly TextPart[] {
  const texts: TextPart[] = [];
  let unsaid = text;
  const say = (state: string | undefined): void => {
    texts.push({ type: 'text', text: unsaid, state });
    unsaid = '';
  };
  if (text !== '' && !states.some(({ owner }) => owner === 'text')) say(undefined);
  for (const { owner, state } of states) {
    if (owner === 'text') say(state);
    else if (owner === 'empty') texts.push({ type: 'text', text: '', state });
  }
  return texts;
}

function readSpokenText(message: Fields, ignored: Ignored): string {
  const refusal = message.string('refusal') ?? '';
  return message.has('content') ? readText(message, 'content', '', SPOKEN_TEXTS, ignored) + refusal : refusal;
}

function readToolCall(item: JsonValue, path: Path, states: CarriedState[], ignored: Ignored, budget: JsonBudget): AssistantPart {
  const call = Fields.from(item, path);
  if ((call.string('type') ?? 'function') !== 'function') throw unsupported(call.at('type'), 'only calls of type function are supported');
  const called = call.requiredObject('function');
  const carried = readStates(call, ignored, budget);
  states.push(...carried);
  const part: AssistantPart = {
    type: 'tool_call',
    id: call.requiredText('id'),
    name: called.requiredText('name'),
    arguments: readArguments(called, budget, ignored),
    state: carried.find(({ owner }) => owner === 'own')?.state,
  };
  // The place in a stream, which clients that put calls together from pieces leave in them.
  call.any('index');
  ignored.addUnreadOfItem(called);
  ignored.addUnreadOfItem(call);
  return part;
}

/** What the gateway itself put into `extra_content.google.thought_signature`; a signature of another vendor is left out. */
function readStates(owner: Fields, ignored: Ignored, budget: JsonBudget): readonly CarriedState[] {
  const extra = owner.object('extra_content');
  const signature = extra?.object('google')?.string('thought_signature');
  const states = signature === undefined ? undefined : carriedStates(signature, budget);
  if (states === DAMAGED) throw owner.problem('extra_content', 'damaged, or not made by this gateway');
  if (extra !== undefined && states === undefined) ignored.addOnce(owner, ['extra_content']);
  return states ?? [];
}

function readStop(fields: Fields): readonly string[] {
  const value = fields.any('stop');
  if (value === undefined) return [];
  return typeof value === 'string' ? [textItem(value, fields.at('stop'))] : (fields.list('stop', textItem) ?? []);
}

function readTool(item: JsonValue, path: Path, names: Set<string>, ignored: Ignored, places: Places): Tool {
  const tool = Fields.from(item, path);
  if (tool.requiredString('type') !== 'function') throw unsupported(tool.at('type'), 'only tools of type function are supported');
  const named = tool.requiredObject('function');
  const decoded: Tool = {
    name: ownName(named.requiredText('name'), named, names),
    description: named.string('description') || undefined,
    parameters: named.opaqueObject('parameters')?.raw,
    strict: named.boolean('strict'),
  };
  ignored.addUnreadOfItem(named);
  ignored.addUnreadOfItem(tool);
  return places.put(decoded, named.path);
}

function readToolChoice(fields: Fields, ignored: Ignored): ToolChoice | undefined {
  const value = fields.any('tool_choice');
  if (value === undefined) return undefined;
  if (typeof value === 'string') return { mode: fields.requiredOneOf('tool_choice', ['auto', 'none', 'required']), parallel: undefined };
  const choice = Fields.from(value, fields.at('tool_choice'));
  if (choice.requiredString('type') !== 'function') throw unsupported(choice.at('type'), 'only a function can be chosen');
  const named = choice.requiredObject('function');
  const name = named.requiredText('name');
  ignored.addUnread(named);
  ignored.addUnread(choice);
  return { mode: 'tool', name, parallel: undefined };
}
