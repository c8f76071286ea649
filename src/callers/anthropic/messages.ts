/**
 * The conversation of a Messages request: its system text and its turns, block by block.
 *
 * Messages of one role in a row are one turn to the API, which matters where an assistant's reasoning stands in another
 * message than the call that it belongs to. An unknown field of a block is left out and named, an unknown type refused.
 * Source: Anthropic, Messages API, create a message; tool use; vision; extended thinking.
 */

import { Fields } from '../../base/fields.ts';
import type { Path } from '../../base/fields.ts';
import { createJsonBudget } from '../../base/json/limits.ts';
import type { JsonBudget } from '../../base/json/limits.ts';
import { memberOf } from '../../base/json/member.ts';
import { JsonArray, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import type { AssistantPart, CacheHint, ContentPart, DocumentPart, ImagePart, TextPart, ToolResultPart, Turn } from '../../core/chat.ts';
import { unsupported } from '../body.ts';
import { cacheHint } from '../cache.ts';
import { carriedStates, DAMAGED } from '../carried-state.ts';
import type { CarriedState } from '../carried-state.ts';
import { inlineDocument, pdfAt } from '../document.ts';
import type { Ignored } from '../field-table.ts';
import { imageFromUrl, inlineImage } from '../image.ts';
import type { Places } from '../places.ts';
import { laterInstructions, LINE, PARAGRAPH, plainText } from '../texts.ts';
import { givenCallId } from './call-id.ts';
import { shownToolName } from './tool-name.ts';

export type Conversation = { readonly system: string | undefined; readonly turns: readonly Turn[]; readonly cache: CacheHint | undefined };

/** System messages before the first turn are system text, too; a later one stays in its place, as text of the user. */
export function readConversation(fields: Fields, ignored: Ignored, places: Places): Conversation {
  const messages = fields.list('messages', Fields.from);
  if (messages === undefined) throw fields.problem('messages', 'required');
  const system = fields.has('system') ? [readText(fields, 'system', PARAGRAPH, ignored)] : [];
  const turns: Turn[] = [];
  const budget = createJsonBudget();
  let spoken: SpokenTurn | undefined;
  let cache: CacheHint | undefined;
  const lastOfUser = messages.findLastIndex((message) => message.any('role') === 'user');
  for (const [index, message] of messages.entries()) {
    const role = message.requiredOneOf('role', ['user', 'assistant', 'system']);
    if (role === 'assistant') {
      if (spoken === undefined) {
        spoken = new SpokenTurn(places);
        turns.push({ role, parts: spoken.parts });
      }
      readAssistantMessage(message, spoken, ignored, budget);
    } else {
      spoken?.finish();
      spoken = undefined;
      const blocks = role === 'user' ? readUserMessage(message, turns, ignored, places) : readSystemMessage(message, turns, system, places);
      if (index >= lastOfUser) cache = cacheHint(blocks.at(-1)) ?? cache;
      for (const block of blocks) ignored.addUnread(block);
    }
    ignored.addUnread(message);
  }
  spoken?.finish();
  if (turns.length === 0) throw fields.problem('messages', 'must have at least one user message');
  return { system: system.join(PARAGRAPH) || undefined, turns, cache };
}

/** Adds what the system says; one that only changes the effort says nothing. Returns the message's blocks. */
function readSystemMessage(message: Fields, turns: Turn[], system: string[], places: Places): readonly Fields[] {
  if (!message.has('content') && message.has('output_config')) return [];
  const { text, blocks } = readTexts(message, 'content', PARAGRAPH);
  if (text !== '' && turns.length === 0) system.push(text);
  else if (text !== '') turns.push(laterInstructions(text, places, message.path));
  return blocks;
}

/** Text that may come as a string or as text blocks, which `separator` joins. */
function readText(fields: Fields, name: string, separator: string, ignored: Ignored): string {
  const { text, blocks } = readTexts(fields, name, separator);
  for (const block of blocks) ignored.addUnread(block);
  return text;
}

/** Such a text and its blocks, none for a string. */
function readTexts(fields: Fields, name: string, separator: string): { readonly text: string; readonly blocks: readonly Fields[] } {
  const value = fields.any(name);
  if (typeof value === 'string') return { text: value, blocks: [] };
  const blocks = readBlocks(fields, name, value);
  const texts = blocks.map(({ block, type }) => {
    if (type !== 'text') throw unsupported(block.at('type'), 'only text is supported here');
    return block.requiredString('text');
  });
  return { text: texts.join(separator), blocks: blocks.map(({ block }) => block) };
}

type Block = { readonly block: Fields; readonly type: string; readonly path: Path };

/** The blocks in a field that is not a string. */
function readBlocks(fields: Fields, name: string, value: JsonValue | undefined): readonly Block[] {
  if (!(value instanceof JsonArray)) throw fields.problem(name, 'expected a string or an array of blocks');
  return value.items.map((item, index) => {
    const path = { parent: fields.at(name), key: index };
    const block = Fields.from(item, path);
    return { block, type: block.requiredString('type'), path };
  });
}

/** Adds the turns of a user's message: one of tools if it begins with results, one of the user if anything else follows. Returns its blocks. */
function readUserMessage(message: Fields, turns: Turn[], ignored: Ignored, places: Places): readonly Fields[] {
  const value = message.any('content');
  if (typeof value === 'string') {
    turns.push({ role: 'user', parts: [places.put(plainText(message.requiredText('content')), message.at('content'))] });
    return [];
  }
  const results: ToolResultPart[] = [];
  const parts: ContentPart[] = [];
  const blocks = readBlocks(message, 'content', value);
  if (blocks.length === 0) throw message.problem('content', 'must not be empty');
  for (const { block, type, path } of blocks) {
    if (type === 'tool_result') {
      if (parts.length > 0) throw block.problem('type', 'tool_result blocks must come first in a message');
      results.push(places.put(readToolResult(block, ignored), path));
    } else {
      parts.push(places.put(readContent(block, type, ignored), path));
    }
  }
  if (results.length > 0) turns.push({ role: 'tool', parts: results });
  if (parts.length > 0) turns.push({ role: 'user', parts });
  return blocks.map(({ block }) => block);
}

/** What a user or a tool says. */
function readContent(block: Fields, type: string, ignored: Ignored): ContentPart {
  if (type === 'text') return plainText(block.requiredText('text'));
  if (type === 'image') return readImage(block, ignored);
  if (type === 'document') return readDocument(block, ignored);
  throw unsupported(block.at('type'), 'only text, image, document and, from a user, tool_result are supported');
}

function readDocument(block: Fields, ignored: Ignored): DocumentPart {
  const source = block.requiredObject('source');
  if (block.object('citations')?.boolean('enabled') === true) throw unsupported(block.at('citations'), 'citations of documents are not supported');
  if (block.string('context') !== undefined) throw unsupported(block.at('context'), 'not supported; put it in a text block beside the document');
  const name = block.string('title') || undefined;
  const decoded = readDocumentSource(source, source.requiredString('type'), name);
  ignored.addUnread(source);
  return decoded;
}

function readDocumentSource(source: Fields, type: string, name: string | undefined): DocumentPart {
  if (type === 'url') return pdfAt(source.requiredText('url'), name, source.at('url'));
  if (type === 'base64') return inlineDocument(source.requiredString('media_type'), source.requiredString('data'), name, source.at('data'));
  if (type !== 'text') throw unsupported(source.at('type'), 'only base64, url and text are supported');
  source.oneOf('media_type', ['text/plain']);
  const base64 = Buffer.from(source.requiredText('data')).toString('base64');
  return { type: 'document', mediaType: 'text/plain', source: { type: 'inline', base64 }, name };
}

function readImage(block: Fields, ignored: Ignored): ImagePart {
  const source = block.requiredObject('source');
  const decoded = readImageSource(block, source, source.requiredString('type'));
  ignored.addUnread(source);
  return decoded;
}

function readImageSource(block: Fields, source: Fields, type: string): ImagePart {
  if (type === 'base64') return inlineImage(source.requiredString('media_type'), source.requiredString('data'), block.at('source'));
  if (type === 'url') return imageFromUrl(source.requiredText('url'), source.at('url'));
  throw unsupported(source.at('type'), 'only base64 and url are supported');
}

function readToolResult(block: Fields, ignored: Ignored): ToolResultPart {
  return {
    type: 'tool_result',
    toolCallId: givenCallId(block.requiredText('tool_use_id')),
    content: readResultContent(block, ignored),
    isError: block.boolean('is_error') ?? false,
  };
}

/** A text, or parts where not all of them are texts. */
function readResultContent(block: Fields, ignored: Ignored): ToolResultPart['content'] {
  const value = block.any('content');
  if (value === undefined) return '';
  if (!(value instanceof JsonArray) || value.items.every((block) => memberOf(block, 'type') === 'text')) return readText(block, 'content', LINE, ignored);
  const parts = readBlocks(block, 'content', value).map(({ block: inner, type }) => {
    const part = type === 'tool_reference' ? foundTool(inner) : readContent(inner, type, ignored);
    ignored.addUnread(inner);
    return part;
  });
  return parts.every((part) => part.type === 'text') ? parts.map(({ text }) => text).join(LINE) : parts;
}

/** What a search among tools found: the tool itself is in `tools`, of which other vendors' models see all (Anthropic, tool search). */
function foundTool(block: Fields): TextPart {
  return plainText(`Tool found: ${shownToolName(block.requiredText('tool_name'))}`);
}

/** What tools did that Anthropic runs, in a conversation that it served before. */
const VENDOR_BLOCKS = /^(?:server_tool_use|mcp_tool_use|container_upload|fallback|[a-z0-9_]+_tool_result)$/;

function readAssistantMessage(message: Fields, turn: SpokenTurn, ignored: Ignored, budget: JsonBudget): void {
  const value = message.any('content');
  if (typeof value === 'string') {
    turn.addText(value, message.at('content'));
    return;
  }
  for (const { block, type, path } of readBlocks(message, 'content', value)) {
    if (type === 'text') {
      turn.addText(block.requiredString('text'), path);
    } else if (type === 'tool_use') {
      turn.addCall(block);
    } else if (type === 'thinking' || type === 'redacted_thinking') {
      const states = readReasoning(block, type === 'thinking' ? 'signature' : 'data', budget);
      if (states === undefined) {
        ignored.add(path);
        continue;
      }
      for (const state of states) turn.carry(state, path);
    } else if (VENDOR_BLOCKS.test(type)) {
      ignored.add(path);
      continue;
    } else {
      throw unsupported(block.at('type'), 'only text, tool_use and reasoning are supported in a message of the assistant');
    }
    ignored.addUnread(block);
  }
}

/** What the gateway itself put into a block of reasoning; undefined for that of another vendor. */
function readReasoning(block: Fields, place: 'signature' | 'data', budget: JsonBudget): readonly CarriedState[] | undefined {
  const states = carriedStates(block.string(place) ?? '', budget);
  if (states === DAMAGED) throw block.problem(place, 'damaged, or not made by this gateway');
  // Its text is the provider's to repeat, in the state.
  block.any('thinking');
  return states;
}

/** A state that was carried, and the block of reasoning that brought it. */
type Brought = { readonly state: string; readonly path: Path };

/** An assistant's turn in the making, with what was carried for its parts. */
class SpokenTurn {
  readonly #places: Places;
  readonly parts: AssistantPart[] = [];
  /** For the part that comes next. */
  #own: Brought | undefined;
  readonly #ofTexts: Brought[] = [];
  readonly #ofCalls: Brought[] = [];

  constructor(places: Places) {
    this.#places = places;
  }

  carry({ owner, state }: CarriedState, path: Path): void {
    const brought = { state, path };
    if (owner === 'text' || owner === 'call') {
      (owner === 'text' ? this.#ofTexts : this.#ofCalls).push(brought);
      return;
    }
    this.#settle();
    if (owner === 'own') this.#own = brought;
    else this.parts.push(this.#silentText(brought));
  }

  /** An empty text says nothing. */
  addText(text: string, path: Path): void {
    if (text !== '') this.parts.push(this.#places.put({ type: 'text', text, state: this.#takeOwn()?.state }, path));
  }

  addCall(block: Fields): void {
    // One that waits is of a text that the client did not keep (Haystack), since a call's state says that it is one's.
    this.#settle();
    const call: AssistantPart = {
      type: 'tool_call',
      id: givenCallId(block.requiredText('id')),
      name: shownToolName(block.requiredText('name')),
      arguments: block.opaqueObject('input')?.raw ?? new RawJson('{}'),
      state: this.#ofCalls.shift()?.state,
    };
    this.parts.push(this.#places.put(call, block.path));
  }

  /** Call once, when no block will follow. */
  finish(): void {
    this.#settle();
    this.parts.push(...this.#ofCalls.splice(0).map((brought) => this.#silentText(brought)));
    let next = 0;
    let afterTexts = 0;
    for (const [index, part] of this.parts.entries()) {
      if (part.type !== 'text') continue;
      afterTexts = index + 1;
      if (part.state === undefined && next < this.#ofTexts.length) this.parts[index] = this.#places.move(part, { ...part, state: this.#ofTexts[next++]?.state });
    }
    // What belongs to texts that were one text with others, or that the client did not keep.
    const rest = this.#ofTexts.slice(next).map((brought) => this.#silentText(brought));
    this.parts.splice(afterTexts, 0, ...rest);
  }

  #takeOwn(): Brought | undefined {
    const own = this.#own;
    this.#own = undefined;
    return own;
  }

  /** What belongs to a part that the client did not keep still belongs to the turn. */
  #settle(): void {
    const own = this.#takeOwn();
    if (own !== undefined) this.parts.push(this.#silentText(own));
  }

  #silentText({ state, path }: Brought): TextPart {
    return this.#places.put({ type: 'text', text: '', state }, path);
  }
}
