/**
 * A Chat Completions request (OpenAI, Chat Completions, request body) as a chat.
 *
 * Takes the shapes that clients really send, their own earlier replies included. A field that is not translated is left
 * out and named, or refused by its path: see `fields.ts`. An unknown type of message, part or tool is refused.
 */

import { FieldProblem, Fields, textItem } from '../../base/fields.ts';
import type { Path } from '../../base/fields.ts';
import { parseJson } from '../../base/json/parse.ts';
import { JsonArray, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import type { AssistantPart, ChatRequest, ImagePart, TextPart, Thinking, Tool, ToolChoice, Turn } from '../../core/chat.ts';
import type { DecodedRequest, Translation } from '../../core/dialect.ts';
import type { Failure } from '../../core/failure.ts';
import { caught, decodeBody, unsupported } from '../body.ts';
import { carriedStates, DAMAGED } from '../carried-state.ts';
import type { CarriedState } from '../carried-state.ts';
import { applyTable, Ignored } from '../field-table.ts';
import { imageFromUrl } from '../image.ts';
import { readModel } from '../model.ts';
import { CHAT_FIELDS } from './fields.ts';

/** Decodes one body. Failures: bad_request, and unsupported once it is translated. Never throws, whatever the bytes. */
export function decodeChatCompletions(body: Buffer): DecodedRequest | Failure {
  return decodeBody(body, (fields) => ({
    provider: undefined,
    model: readModel(fields),
    isStream: fields.boolean('stream') ?? false,
    wantsUsage: fields.object('stream_options')?.boolean('include_usage') ?? false,
    translate: (model) => caught(() => translate(fields, model)),
  }));
}

function translate(fields: Fields, model: string): Translation {
  const ignored = new Ignored();
  const { system, turns } = readMessages(fields, ignored);
  const maxCompletionTokens = fields.count('max_completion_tokens');
  const request: ChatRequest = {
    provider: undefined,
    model,
    system,
    turns,
    maxTokens: (maxCompletionTokens ?? fields.count('max_tokens')) || undefined,
    temperature: fields.finiteNumber('temperature'),
    topP: fields.finiteNumber('top_p'),
    stop: readStop(fields),
    tools: fields.list('tools', (item, path) => readTool(item, path, ignored)) ?? [],
    toolChoice: readToolChoice(fields),
    thinking: readThinking(fields),
    providerOptions: undefined,
  };
  if (maxCompletionTokens !== undefined) fields.any('max_tokens');
  applyTable(CHAT_FIELDS, fields, ignored);
  return { request, ignored: ignored.paths };
}

type Conversation = { readonly system: string | undefined; readonly turns: readonly Turn[] };

/** System and developer messages before the first turn are the system text; a later one stays in its place. */
function readMessages(fields: Fields, ignored: Ignored): Conversation {
  const system: string[] = [];
  const turns: Turn[] = [];
  const messages = fields.list('messages', (item, path) => {
    const message = Fields.from(item, path);
    const role = message.requiredOneOf('role', ['system', 'developer', 'user', 'assistant', 'tool']);
    if (role === 'system' || role === 'developer') {
      const text = readText(message, 'content');
      if (turns.length === 0) system.push(text);
      else turns.push({ role: 'user', parts: [plainText(`<system>\n${text}\n</system>`)] });
    } else if (role === 'user') {
      turns.push({ role, parts: readUserParts(message) });
    } else if (role === 'assistant') {
      turns.push({ role, parts: readAssistantParts(message, ignored) });
    } else {
      const part = { type: 'tool_result', toolCallId: message.requiredText('tool_call_id'), content: readText(message, 'content'), isError: false } as const;
      const last = turns.at(-1);
      if (last?.role === 'tool') turns[turns.length - 1] = { role, parts: [...last.parts, part] };
      else turns.push({ role, parts: [part] });
    }
    ignored.addUnread(message);
  });
  if (messages === undefined) throw fields.problem('messages', 'required');
  if (turns.length === 0) throw fields.problem('messages', 'must hold at least one message of a user');
  return { system: system.length === 0 ? undefined : system.join('\n\n'), turns };
}

function plainText(text: string): TextPart {
  return { type: 'text', text, state: undefined };
}

/** Text that may come as a string or as a list of text parts. */
function readText(message: Fields, name: string): string {
  const value = message.any(name);
  if (typeof value === 'string') return value;
  if (!(value instanceof JsonArray)) throw message.problem(name, 'expected a string or an array of text parts');
  return value.items.map((item, index) => readTextPart(item, { parent: message.at(name), key: index })).join('');
}

function readTextPart(item: JsonValue, path: Path): string {
  const part = Fields.from(item, path);
  const type = part.requiredString('type');
  if (type !== 'text') throw unsupported(part.at('type'), 'only text is taken here');
  return part.requiredString('text');
}

function readUserParts(message: Fields): readonly (TextPart | ImagePart)[] {
  const value = message.any('content');
  if (typeof value === 'string') return [plainText(message.requiredText('content'))];
  if (!(value instanceof JsonArray)) throw message.problem('content', 'expected a string or an array of parts');
  if (value.items.length === 0) throw message.problem('content', 'must not be empty');
  return value.items.map((item, index) => readUserPart(item, { parent: message.at('content'), key: index }));
}

function readUserPart(item: JsonValue, path: Path): TextPart | ImagePart {
  const part = Fields.from(item, path);
  const type = part.requiredString('type');
  if (type === 'text') return plainText(part.requiredText('text'));
  if (type !== 'image_url') throw unsupported(part.at('type'), 'only text and image_url are taken');
  const image = part.object('image_url');
  if (image === undefined) throw part.problem('image_url', 'required');
  return imageFromUrl(image.requiredText('url'), image.at('url'));
}

/** The text first, then the calls: the order of this format. */
function readAssistantParts(message: Fields, ignored: Ignored): readonly AssistantPart[] {
  const text = message.has('content') ? readSpokenText(message) : '';
  const states: CarriedState[] = [...statesAt(message.object('extra_content'))];
  const calls = message.list('tool_calls', (item, path) => readToolCall(item, path, states, ignored)) ?? [];
  const ofTexts = states.filter(({ owner }) => owner === 'text').map(({ state }) => state);
  const texts: TextPart[] = text === '' ? [] : [{ type: 'text', text, state: ofTexts.shift() }];
  // What belongs to texts that said nothing, or were one text with others.
  for (const state of ofTexts) texts.push({ type: 'text', text: '', state });
  return [...texts, ...calls];
}

/** An assistant's text: a refusal is what it said, too. */
function readSpokenText(message: Fields): string {
  const value = message.any('content');
  if (!(value instanceof JsonArray)) return readText(message, 'content');
  return value.items
    .map((item, index) => {
      const path = { parent: message.at('content'), key: index };
      const part = Fields.from(item, path);
      return part.string('type') === 'refusal' ? part.requiredString('refusal') : readTextPart(item, path);
    })
    .join('');
}

function readToolCall(item: JsonValue, path: Path, states: CarriedState[], ignored: Ignored): AssistantPart {
  const call = Fields.from(item, path);
  if ((call.string('type') ?? 'function') !== 'function') throw unsupported(call.at('type'), 'only calls of functions are taken');
  const called = call.object('function');
  if (called === undefined) throw call.problem('function', 'required');
  const carried = statesAt(call.object('extra_content'));
  states.push(...carried.filter(({ owner }) => owner === 'text'));
  const part: AssistantPart = {
    type: 'tool_call',
    id: call.requiredText('id'),
    name: called.requiredText('name'),
    arguments: readArguments(called),
    state: carried.find(({ owner }) => owner === 'own')?.state,
  };
  call.any('index');
  ignored.addUnread(call);
  return part;
}

/** The text of a JSON object; an empty text is a call without arguments. */
function readArguments(called: Fields): RawJson {
  const text = called.string('arguments') || '{}';
  const value = parseJson(text);
  if (!(value instanceof JsonObject)) throw called.problem('arguments', 'must be the text of a JSON object');
  return value.raw;
}

/** What the gateway itself put into `extra_content.google.thought_signature`; a signature of another maker is none. */
function statesAt(extra: Fields | undefined): readonly CarriedState[] {
  const google = extra?.object('google');
  const signature = google?.string('thought_signature');
  const states = signature === undefined ? undefined : carriedStates(signature);
  if (states === DAMAGED) throw new FieldProblem(google?.at('thought_signature'), 'damaged, or not made by this gateway');
  return states ?? [];
}

function readStop(fields: Fields): readonly string[] {
  const value = fields.any('stop');
  if (value === undefined) return [];
  return typeof value === 'string' ? [textItem(value, fields.at('stop'))] : (fields.list('stop', textItem) ?? []);
}

function readTool(item: JsonValue, path: Path, ignored: Ignored): Tool {
  const tool = Fields.from(item, path);
  if (tool.requiredString('type') !== 'function') throw unsupported(tool.at('type'), 'only tools of type function are taken');
  const named = tool.object('function');
  if (named === undefined) throw tool.problem('function', 'required');
  const name = named.requiredText('name');
  const decoded: Tool = {
    name,
    description: named.string('description') || undefined,
    parameters: named.opaqueObject('parameters')?.raw,
  };
  ignored.addUnread(named);
  ignored.addUnread(tool);
  return decoded;
}

function readToolChoice(fields: Fields): ToolChoice | undefined {
  const value = fields.any('tool_choice');
  if (value === undefined) return undefined;
  if (typeof value === 'string') return { mode: fields.requiredOneOf('tool_choice', ['auto', 'none', 'required']) };
  const choice = Fields.from(value, fields.at('tool_choice'));
  if (choice.requiredString('type') !== 'function') throw unsupported(choice.at('type'), 'only a function can be chosen');
  const name = choice.object('function')?.requiredText('name');
  if (name === undefined) throw choice.problem('function', 'required');
  return { mode: 'tool', name };
}

const EFFORTS: Readonly<Record<string, Thinking>> = {
  none: { enabled: false, effort: undefined },
  minimal: { enabled: true, effort: 'low' },
  low: { enabled: true, effort: 'low' },
  medium: { enabled: true, effort: 'medium' },
  high: { enabled: true, effort: 'high' },
  xhigh: { enabled: true, effort: 'max' },
  max: { enabled: true, effort: 'max' },
};

function readThinking(fields: Fields): Thinking | undefined {
  const effort = fields.oneOf('reasoning_effort', Object.keys(EFFORTS));
  return effort === undefined ? undefined : EFFORTS[effort];
}
