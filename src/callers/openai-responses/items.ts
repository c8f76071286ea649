/**
 * The conversation of a Responses request (OpenAI, Responses API, input items) as turns.
 *
 * A conversation is a flat list of items. What an assistant said, thought and called in a row is one turn of its, and
 * results in a row are one turn. Reasoning that the gateway itself wrote gives its states to the turn's parts; that of
 * other vendors is left out.
 */

import { FieldProblem, Fields } from '../../base/fields.ts';
import type { Path } from '../../base/fields.ts';
import { createJsonBudget } from '../../base/json/limits.ts';
import { memberOf } from '../../base/json/member.ts';
import { JsonArray } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { isSilent } from '../../core/chat.ts';
import type { AssistantPart, ContentPart, DocumentPart, ImagePart, ToolResultPart, Turn, UserTurn } from '../../core/chat.ts';
import { textArguments } from '../../core/text-arguments.ts';
import { unsupported } from '../body.ts';
import { carriedStates, DAMAGED } from '../carried-state.ts';
import type { CarriedState } from '../carried-state.ts';
import { documentFromData, pdfAt } from '../document.ts';
import type { Ignored } from '../field-table.ts';
import { imageFromUrl } from '../image.ts';
import { joinTexts, readArguments, readText } from '../openai-common/content.ts';
import type { Places } from '../places.ts';
import { laterInstructions, LINE, PARAGRAPH, plainText } from '../texts.ts';
import { ADDITIONAL_TOOLS } from './tool-names.ts';
import type { ToolNames } from './tool-names.ts';

/** Where texts stand in the items of a list, by type; what the assistant declined with is what it said, too. */
const TEXTS: ReadonlyMap<string, string> = new Map([['input_text', 'text'], ['output_text', 'text'], ['refusal', 'refusal']]);

export type Conversation = {
  readonly system: string | undefined;
  readonly turns: readonly Turn[];
  /** The items that declare tools. */
  readonly added: readonly Fields[];
};

/** What `instructions` and `input` say. Where the items hold nothing but system text, which most providers refuse, it is what the user says. */
export function readConversation(fields: Fields, names: ToolNames, ignored: Ignored, places: Places): Conversation {
  const instructions = fields.string('instructions') ?? '';
  const draft = new ConversationDraft(names, places);
  const input = fields.any('input');
  if (input === undefined) throw fields.problem('input', 'required');
  if (typeof input === 'string') draft.takeUser([places.put(plainText(fields.requiredText('input')), fields.at('input'))]);
  else fields.list('input', (item, path) => readItem(Fields.from(item, path), draft, ignored), '; or a string');
  const { system, turns } = draft.finish();
  const { added } = draft;
  if (turns.length > 0) return { system: joinTexts([instructions, system], PARAGRAPH) || undefined, turns, added };
  if (system === '') throw fields.problem('input', 'must have at least one user message');
  return { system: instructions || undefined, turns: [{ role: 'user', parts: [plainText(system)] }], added };
}

/** What tools did that OpenAI runs, or that only its models can call, in a conversation that it served before. */
const VENDOR_ITEMS: ReadonlySet<string> = new Set([
  'code_interpreter_call', 'file_search_call', 'image_generation_call', 'mcp_call', 'mcp_list_tools', 'tool_search_call', 'tool_search_output', 'web_search_call',
]);

function readItem(item: Fields, draft: ConversationDraft, ignored: Ignored): void {
  const type = item.string('type') ?? (item.has('role') ? 'message' : isNamedAlone(item) ? 'item_reference' : item.requiredString('type'));
  if (VENDOR_ITEMS.has(type)) return ignored.add(item.path);
  if (type === 'message') readMessage(item, draft, ignored);
  else if (type === ADDITIONAL_TOOLS) draft.takeTools(item);
  else if (type === 'function_call' || type === 'custom_tool_call') draft.takePart(readCall(item, type, draft, ignored), item.path);
  else if (type === 'function_call_output' && isUnasked(item)) draft.takeInstructions(`${item.requiredText('name')}: ${readText(item, 'output', LINE, TEXTS, ignored)}`, item.path);
  else if (type === 'function_call_output' || type === 'custom_tool_call_output') draft.takeResult(readResult(item, ignored), item.path);
  else if (type === 'reasoning') readReasoning(item, draft, ignored);
  else if (type === 'item_reference') {
    throw new FieldProblem(item.path, 'refers to an item that is not stored here: set `store: false`, so that items are sent themselves');
  } else throw unsupported(item.at('type'), 'items of this type are not supported');
  ignored.addUnreadOfItem(item);
}

/** A reference may leave its type out. */
function isNamedAlone(item: Fields): boolean {
  return item.has('id') && !item.has('call_id');
}

function readMessage(item: Fields, draft: ConversationDraft, ignored: Ignored): void {
  const role = item.requiredOneOf('role', ['user', 'assistant', 'system', 'developer']);
  if (role === 'user') draft.takeUser(readUserParts(item, draft.places, ignored));
  else if (role === 'assistant') draft.takePart(plainText(readText(item, 'content', '', TEXTS, ignored)), item.path);
  else draft.takeInstructions(readText(item, 'content', PARAGRAPH, TEXTS, ignored), item.path);
}

function readUserParts(item: Fields, places: Places, ignored: Ignored): UserTurn['parts'] {
  if (typeof item.any('content') === 'string') return [places.put(plainText(item.requiredText('content')), item.at('content'))];
  const parts = item.list('content', (part, path) => readContent(Fields.from(part, path), ignored).map((said) => places.put(said, path)), '; or a string');
  if (parts === undefined) throw item.problem('content', 'required');
  const said = parts.flat();
  if (said.length === 0) throw item.problem('content', 'must not be empty');
  return said;
}

/** What a user or a tool says; nothing for a text without a word, which providers refuse. */
function readContent(part: Fields, ignored: Ignored): readonly ContentPart[] {
  const type = part.requiredString('type');
  const decoded = type === 'input_text' ? plainText(part.requiredString('text')) : readMedia(part, type);
  ignored.addUnreadOfItem(part);
  if (!isSilent(decoded)) return [decoded];
  ignored.add(part.path);
  return [];
}

function readMedia(part: Fields, type: string): ContentPart {
  if (type === 'input_image') return readImage(part);
  if (type === 'input_file') return readFile(part);
  throw unsupported(part.at('type'), 'only input_text, input_image and input_file are supported');
}

/** A file at an address is taken for a PDF, which is what providers read there. */
function readFile(part: Fields): DocumentPart {
  if (part.has('file_id')) throw unsupported(part.at('file_id'), 'no files are stored here: send the file itself');
  const name = part.string('filename') || undefined;
  const url = part.string('file_url');
  if (url !== undefined) return pdfAt(url, name, part.at('file_url'));
  return documentFromData(part.requiredText('file_data'), name, part.at('file_data'));
}

function readImage(part: Fields): ImagePart {
  if (part.has('file_id')) throw unsupported(part.at('file_id'), 'no files are stored here: send the image itself');
  return imageFromUrl(part.requiredText('image_url'), part.at('image_url'));
}

function readCall(item: Fields, type: string, { names, budget }: ConversationDraft, ignored: Ignored): AssistantPart {
  const id = item.requiredText('call_id');
  const args = type === 'custom_tool_call' ? textArguments(item.string('input') ?? '') : readArguments(item, budget, ignored);
  return { type: 'tool_call', id, name: names.read(item), arguments: args, state: undefined };
}

/** An agent tells what no call asked for (Codex: the goal that was set) as an output with a name in place of a call. */
function isUnasked(item: Fields): boolean {
  return !item.has('call_id') && item.has('name');
}

function readResult(item: Fields, ignored: Ignored): ToolResultPart {
  const toolCallId = item.requiredText('call_id');
  return { type: 'tool_result', toolCallId, content: readOutput(item, ignored), isError: false };
}

/** A text, or parts where not all of them are texts. */
function readOutput(item: Fields, ignored: Ignored): ToolResultPart['content'] {
  const value = item.any('output');
  const isMedia = (part: JsonValue): boolean => memberOf(part, 'type') === 'input_image' || memberOf(part, 'type') === 'input_file';
  if (!(value instanceof JsonArray) || !value.items.some(isMedia)) return readText(item, 'output', LINE, TEXTS, ignored);
  return value.items.flatMap((part, index) => readContent(Fields.from(part, { parent: item.at('output'), key: index }), ignored));
}

/** The readable text of reasoning is not sent on: what a provider wants back of it is in its states. */
function readReasoning(item: Fields, draft: ConversationDraft, ignored: Ignored): void {
  item.any('summary');
  item.any('content');
  const states = carriedStates(item.string('encrypted_content') ?? '', draft.budget);
  if (states === DAMAGED) throw item.problem('encrypted_content', 'damaged, or not made by this gateway');
  if (states !== undefined) draft.takeStates(states, item.path);
  else ignored.add(item.path);
}

/** A conversation while it is put together from items, in their order. */
class ConversationDraft {
  readonly names: ToolNames;
  readonly places: Places;
  readonly added: Fields[] = [];
  /** Shared by all that the items carry and by the arguments of all calls. */
  readonly budget = createJsonBudget();
  readonly #system: string[] = [];
  readonly #turns: Turn[] = [];
  /** The assistant's turn, as long as items add to it. */
  #spoken: AssistantPart[] | undefined;
  /** Where in it texts stand that have no state. */
  #stateless: number[] = [];
  /** A state that belongs to the text behind it. */
  #waiting: string | undefined;
  /** States of the calls to come, which wait on where a client moved them before a text (AG2). */
  #ofCalls: string[] = [];
  /** Where the states came from that were taken last. */
  #statesPath: Path | undefined;
  /** The results of the last turn, as long as items add to it. */
  #results: ToolResultPart[] | undefined;
  /** Ids of calls that have no result yet. */
  readonly #unanswered = new Set<string>();
  /** What was said among their results, which comes behind them: here a result may stand anywhere behind its call (Codex: an image's size). */
  readonly #held: UserTurn[] = [];

  constructor(names: ToolNames, places: Places) {
    this.names = names;
    this.places = places;
  }

  /** Takes an item that declares tools, which are read behind all others. */
  takeTools(item: Fields): void {
    for (const name of ['role', 'tools']) item.any(name);
    this.added.push(item);
  }

  /** Before the first turn they are the system text; later ones stay in their place. */
  takeInstructions(text: string, path: Path | undefined): void {
    if (text === '') return;
    if (this.#turns.length === 0 && this.#spoken === undefined) this.#system.push(text);
    else this.#say(laterInstructions(text, this.places, path));
  }

  takeUser(parts: UserTurn['parts']): void {
    this.#say({ role: 'user', parts });
  }

  #say(turn: UserTurn): void {
    if (this.#unanswered.size > 0) {
      this.#held.push(turn);
      return;
    }
    this.#endTurn();
    this.#turns.push(turn);
  }

  takeResult(result: ToolResultPart, path: Path | undefined): void {
    if (this.#results === undefined) {
      this.#endTurn();
      this.#results = [];
      this.#turns.push({ role: 'tool', parts: this.#results });
    }
    this.#results.push(this.places.put(result, path));
    this.#unanswered.delete(result.toolCallId);
  }

  /** Takes a text or a call and gives it the state that waits for it. An empty text is taken for its state alone. */
  takePart(part: AssistantPart, path: Path | undefined): void {
    const spoken = this.#open();
    if (part.type === 'tool_call') {
      this.#unanswered.add(part.id);
      // One that waits is of a text that the client did not keep, since a call's state says that it is one's.
      this.#leave();
    }
    const state = part.type === 'tool_call' ? this.#ofCalls.shift() : this.#waiting;
    this.#waiting = undefined;
    if (part.type === 'text' && state === undefined) {
      if (part.text === '') return;
      this.#stateless.push(spoken.length);
    }
    spoken.push(this.places.put({ ...part, state }, path));
  }

  takeStates(states: readonly CarriedState[], path: Path | undefined): void {
    if (states[0]?.owner !== 'call') this.#leave();
    // Reasoning that carries nothing, and has nothing behind it where an answer broke off, is no turn.
    if (states.length === 0) return;
    this.#statesPath = path;
    this.#giveToTexts(states.filter(({ owner }) => owner === 'text').map(({ state }) => state));
    for (const { owner, state } of states) {
      if (owner === 'call') this.#ofCalls.push(state);
      if (owner !== 'own') continue;
      this.#leave();
      this.#waiting = state;
    }
  }

  /** States of texts are told once all of the turn is known, in the order of the texts: the last of these are theirs. */
  #giveToTexts(states: readonly string[]): void {
    const spoken = this.#open();
    const owners = this.#stateless.splice(Math.max(0, this.#stateless.length - states.length));
    for (const [index, state] of states.entries()) {
      const at = owners[index];
      const owner = at === undefined ? undefined : spoken[at];
      if (at !== undefined && owner !== undefined) spoken[at] = this.places.move(owner, { ...owner, state });
      // What belongs to texts that said nothing, or were one text with others.
      else spoken.push(this.#silentText(state));
    }
  }

  /** A state that nothing stands behind belongs to a text that said nothing. */
  #leave(): void {
    if (this.#waiting === undefined) return;
    this.#open().push(this.#silentText(this.#waiting));
    this.#waiting = undefined;
  }

  #silentText(state: string): AssistantPart {
    return this.places.put({ type: 'text', text: '', state }, this.#statesPath);
  }

  #open(): AssistantPart[] {
    if (this.#spoken === undefined) {
      this.#endTurn();
      this.#spoken = [];
    }
    return this.#spoken;
  }

  #endTurn(): void {
    this.#results = undefined;
    if (this.#spoken !== undefined) {
      this.#leave();
      this.#spoken.push(...this.#ofCalls.splice(0).map((state) => this.#silentText(state)));
      this.#turns.push({ role: 'assistant', parts: this.#spoken });
      this.#spoken = undefined;
      this.#stateless = [];
    }
    if (this.#unanswered.size > 0) return;
    for (const turn of this.#held.splice(0)) this.#turns.push(turn);
  }

  /** The turns, and what stood before the first of them. */
  finish(): { readonly system: string; readonly turns: readonly Turn[] } {
    this.#endTurn();
    return { system: this.#system.join(PARAGRAPH), turns: [...this.#turns, ...this.#held] };
  }
}
