/**
 * What a request is taken to cost before its provider has counted: a limit may guess, since it is settled by what was
 * reported. Time is linear in the number of parts, whatever their size.
 */

import { JsonArray, JsonObject } from '../base/json/value.ts';
import type { JsonValue } from '../base/json/value.ts';
import { unreachable } from '../core/chat.ts';
import type { ChatReply, ChatRequest, ContentPart, DocumentPart, Part } from '../core/chat.ts';
import type { Delta } from '../core/delta.ts';

const CHARS_PER_TOKEN = 4;
/** What an image comes to where it is neither tiny nor cut into many tiles. A document that nobody sees is taken for one. */
const IMAGE_TOKENS = 1000;
/** A page of some 2,000 tokens is some 48 KB of PDF, which is 64,000 characters of base64. */
const PDF_CHARS_PER_TOKEN = 32;
/** Base64 is a third longer than what it says. */
const BASE64_CHARS_PER_TOKEN = (CHARS_PER_TOKEN * 4) / 3;

/** Tokens of so many characters that were delivered. */
export function tokensOfChars(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** Tokens of a request: a quarter of all its characters, a thousand an image. At least one. */
// hot: per request
export function estimateChat({ system, turns, tools, output }: ChatRequest): number {
  let tokens = ((system?.length ?? 0) + (output?.schema?.text.length ?? 0)) / CHARS_PER_TOKEN;
  for (const { name, description, parameters } of tools) {
    tokens += (name.length + (description?.length ?? 0) + (parameters?.text.length ?? 0)) / CHARS_PER_TOKEN;
  }
  for (const turn of turns) for (const part of turn.parts) tokens += tokensOfPart(part);
  return Math.max(1, Math.ceil(tokens));
}

function tokensOfPart(part: Part): number {
  switch (part.type) {
    case 'text':
      return part.text.length / CHARS_PER_TOKEN;
    case 'image':
      return IMAGE_TOKENS;
    case 'document':
      return tokensOfDocument(part);
    case 'tool_call':
      return (part.name.length + part.arguments.text.length) / CHARS_PER_TOKEN;
    case 'tool_result':
      return typeof part.content === 'string' ? part.content.length / CHARS_PER_TOKEN : sumOf(part.content);
    default:
      return unreachable(part);
  }
}

function sumOf(parts: readonly ContentPart[]): number {
  let tokens = 0;
  for (const part of parts) tokens += tokensOfPart(part);
  return tokens;
}

function tokensOfDocument({ mediaType, source }: DocumentPart): number {
  if (source.type === 'url') return IMAGE_TOKENS;
  return mediaType === 'text/plain' ? source.base64.length / BASE64_CHARS_PER_TOKEN : tokensOfPdf(source.base64.length);
}

function tokensOfPdf(base64Chars: number): number {
  return Math.max(IMAGE_TOKENS, base64Chars / PDF_CHARS_PER_TOKEN);
}

/** What an answer comes to whose provider counted nothing. */
export function charsOfReply({ parts, thinking }: ChatReply): number {
  let chars = thinking.length;
  for (const part of parts) chars += part.type === 'text' ? part.text.length : part.name.length + part.arguments.text.length;
  return chars;
}

// hot: per token
export function charsOfDelta(delta: Delta): number {
  if (delta.type === 'text' || delta.type === 'thinking') return delta.text.length;
  return delta.type === 'tool_call' ? delta.call.name.length + delta.call.arguments.text.length : 0;
}

/** Objects of this type stand for an image, in every format that is relayed. */
const IMAGE_TYPES: ReadonlySet<string> = new Set(['image', 'image_url', 'input_image']);
/** These hold a file: its data, or where it is. */
const FILE_TYPES: ReadonlySet<string> = new Set(['document', 'file', 'input_file', 'input_audio']);
/** Members whose texts no model reads, or reads as a word. */
const UNREAD: ReadonlySet<string> = new Set([
  'type', 'role', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'model', 'status', 'phase', 'signature', 'encrypted_content', 'metadata', 'user', 'cache_control',
]);
/** Members that are JSON to the model too, names and all. */
const READ_AS_JSON: ReadonlySet<string> = new Set(['parameters', 'input_schema', 'schema', 'input', 'arguments']);

/** The same of a body as it is relayed, in any format of other vendors: of its texts, wherever they stand. */
// hot: per request
export function estimateBody(body: JsonObject): number {
  return Math.max(1, Math.ceil(tokensOfObject(body)));
}

function tokensOfValue(value: JsonValue): number {
  if (typeof value === 'string') return value.startsWith('data:image/') ? IMAGE_TOKENS : value.length / CHARS_PER_TOKEN;
  if (value instanceof JsonArray) {
    let tokens = 0;
    for (const item of value.items) tokens += tokensOfValue(item);
    return tokens;
  }
  return value instanceof JsonObject ? tokensOfObject(value) : 0;
}

function tokensOfObject(object: JsonObject): number {
  const type = object.entries.get('type');
  if (typeof type === 'string') {
    if (IMAGE_TYPES.has(type)) return IMAGE_TOKENS;
    if (FILE_TYPES.has(type)) return tokensOfFile(object);
  }
  let tokens = 0;
  for (const [name, value] of object.entries) {
    if (UNREAD.has(name)) continue;
    const isJson = value instanceof JsonObject && READ_AS_JSON.has(name);
    tokens += isJson ? value.raw.text.length / CHARS_PER_TOKEN : tokensOfValue(value);
  }
  return tokens;
}

/** Anthropic's documents have a source; OpenAI's files and sounds an object named like their type, or their members beside it. */
function tokensOfFile(object: JsonObject): number {
  const { entries } = object;
  const inner = entries.get('source') ?? entries.get('file') ?? entries.get('input_audio');
  const file = inner instanceof JsonObject ? inner.entries : entries;
  const data = file.get('data') ?? file.get('file_data');
  if (typeof data === 'string') return file.get('type') === 'text' ? data.length / CHARS_PER_TOKEN : tokensOfPdf(data.length);
  return IMAGE_TOKENS + tokensOfValue(file.get('content') ?? null);
}
