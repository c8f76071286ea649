/**
 * Streamed answers in the form of Responses (OpenAI, Responses API, streaming events).
 *
 * Items come one after another, each closed before the next begins; an event's name is its type. Text and disclosed
 * thinking are passed on as they come. Calls are sent once all of the turn is known, so that no client acts on a turn that
 * fails. What the texts' states are is known only then, too: they travel in a reasoning item behind the texts.
 */

import { GrowingText } from '../../base/growing-text.ts';
import type { ParsedText } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import { RawJson } from '../../base/json/value.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { field, numberField, stringField } from '../../base/loose.ts';
import type { AssistantPart, ChatReply } from '../../core/chat.ts';
import { unreachable } from '../../core/chat.ts';
import type { Delta } from '../../core/delta.ts';
import type { AnswerFacts, StreamFrames } from '../../core/dialect.ts';
import type { Failure } from '../../core/failure.ts';
import { carryStates, NOTHING_CARRIED, textStates } from '../carried-state.ts';
import { errorObject } from '../openai-common/failure.ts';
import { jsonOf, renderEvent } from '../relay.ts';
import { callFrom, contentFrom, endingOf, itemFrom, itemId, outputItems, responseFrom, writtenIn } from './reply.ts';
import type { OutputItem, ResponseStand } from './reply.ts';

/** The item whose pieces are being passed on. */
type OpenItem = {
  readonly type: 'message' | 'reasoning';
  /** The fields that say which item it is, as they stand in its events. */
  readonly place: string;
  /** An event of a piece, up to its sequence number and from behind it to the piece. */
  readonly pieceHead: string;
  readonly pieceMiddle: string;
  /** What came so far; bounded, like all that a stream keeps of a reply, by who decodes it. */
  readonly text: GrowingText;
};

/** Clients with strict types refuse a text's events without it. */
const NO_LOGPROBS = '"logprobs":[],';

export class ResponseEvents implements StreamFrames {
  readonly #facts: AnswerFacts;
  /** The items that are done, as JSON. */
  readonly #output: string[] = [];
  #open: OpenItem | undefined;
  #isBegun = false;
  /** What a relayed response says of itself, in place of the gateway's own. */
  #begunAs: JsonOutObject = {};
  #sequence = 0;

  constructor(facts: AnswerFacts) {
    this.#facts = facts;
  }

  // hot: per token
  relay(event: string, data: string, parsed?: ParsedText): string {
    if (!this.#isBegun) this.#takeOver(jsonOf(data, parsed));
    this.#sequence += 1;
    return renderEvent(event, data);
  }

  /** Notes which response the provider began: clients refuse a last event that speaks of another one. */
  #takeOver(json: unknown): void {
    this.#isBegun = true;
    const response = field(json, 'response');
    const id = stringField(response, 'id');
    const createdAt = numberField(response, 'created_at');
    const model = stringField(response, 'model');
    this.#begunAs = { ...(id !== undefined && { id }), ...(createdAt !== undefined && { created_at: createdAt }), ...(model !== undefined && { model }) };
  }

  // hot: per token
  render(delta: Delta): string {
    switch (delta.type) {
      case 'text':
        return this.#piece('message', delta.text);
      case 'thinking':
        return this.#piece('reasoning', delta.text);
      case 'tool_call':
        return this.#begin();
      case 'done':
        return this.#begin() + this.#end(delta.reply);
      case 'failed':
        return this.#begin() + this.#fail(delta.failure);
      default:
        return unreachable(delta);
    }
  }

  #piece(type: OpenItem['type'], text: string): string {
    if (text === '') return '';
    const before = this.#open?.type === type ? '' : this.#begin() + this.#close() + this.#openItem(type);
    const open = this.#open;
    if (open === undefined) return before;
    open.text.add(text);
    return `${before}${open.pieceHead}${this.#sequence++}${open.pieceMiddle}${JSON.stringify(text)}}\n\n`;
  }

  #begin(): string {
    if (this.#isBegun) return '';
    this.#isBegun = true;
    const stand = { status: 'in_progress', output: [] } as const;
    return this.#responseEvent('response.created', stand) + this.#responseEvent('response.in_progress', stand);
  }

  /** `fields` are the event's own, as JSON without braces. */
  #event(type: string, fields: string): string {
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},${fields}}\n\n`;
  }

  #responseEvent(type: string, stand: ResponseStand): string {
    return this.#event(type, `"response":${renderJson({ ...responseFrom(this.#facts, stand), ...this.#begunAs })}`);
  }

  #itemEvent(type: 'added' | 'done', item: string): string {
    return this.#event(`response.output_item.${type}`, `"output_index":${this.#output.length},"item":${item}`);
  }

  #placeOf(id: string): string {
    return `"item_id":${JSON.stringify(id)},"output_index":${this.#output.length}`;
  }

  #openItem(type: OpenItem['type']): string {
    const id = itemId(this.#facts, type, this.#output.length);
    const isMessage = type === 'message';
    const place = `${this.#placeOf(id)},${isMessage ? '"content_index":0' : '"summary_index":0'}`;
    const name = isMessage ? 'response.output_text.delta' : 'response.reasoning_summary_text.delta';
    this.#open = {
      type,
      place,
      pieceHead: `event: ${name}\ndata: {"type":"${name}","sequence_number":`,
      pieceMiddle: `,${place},${isMessage ? NO_LOGPROBS : ''}"delta":`,
      text: new GrowingText(),
    };
    return isMessage ? this.#addMessage(id, place, 'message') : this.#addReasoning(id, NOTHING_CARRIED) + this.#addSummary(place);
  }

  #addMessage(id: string, place: string, type: 'message' | 'refusal'): string {
    const item = { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    const part = renderJson(contentFrom(type, ''));
    return this.#itemEvent('added', renderJson(item)) + this.#event('response.content_part.added', `${place},"part":${part}`);
  }

  #addReasoning(id: string, sealed: string): string {
    return this.#itemEvent('added', renderJson(itemFrom({ type: 'reasoning', summary: '', sealed }, id)));
  }

  #addSummary(place: string): string {
    return this.#event('response.reasoning_summary_part.added', `${place},"part":{"type":"summary_text","text":""}`);
  }

  /** Ends the item that is open, if any. */
  #close(): string {
    const open = this.#open;
    if (open === undefined) return '';
    this.#open = undefined;
    return open.type === 'message' ? this.#endMessage(open.place, open.text.text) : this.#endReasoning(open.place, open.text.text);
  }

  #endMessage(place: string, text: string): string {
    const part = renderJson(contentFrom('message', text));
    return (
      this.#event('response.output_text.done', `${place},${NO_LOGPROBS}"text":${JSON.stringify(text)}`) +
      this.#event('response.content_part.done', `${place},"part":${part}`) +
      this.#done({ type: 'message', text })
    );
  }

  #endReasoning(place: string, summary: string): string {
    const text = `"text":${JSON.stringify(summary)}`;
    return (
      this.#event('response.reasoning_summary_text.done', `${place},${text}`) +
      this.#event('response.reasoning_summary_part.done', `${place},"part":{"type":"summary_text",${text}}`) +
      this.#done({ type: 'reasoning', summary, sealed: NOTHING_CARRIED })
    );
  }

  #done(item: OutputItem): string {
    const rendered = renderJson(itemFrom(item, this.#idOf(item)));
    const event = this.#itemEvent('done', rendered);
    this.#output.push(rendered);
    return event;
  }

  #idOf(item: OutputItem): string {
    return itemId(this.#facts, item.type, this.#output.length);
  }

  #end(reply: ChatReply): string {
    let events = this.#close();
    for (const item of itemsBehindPieces(reply, this.#facts)) events += this.#whole(item);
    const ending = endingOf(reply);
    return events + this.#responseEvent(`response.${ending.status}`, { ...ending, output: new RawJson(`[${this.#output.join(',')}]`) });
  }

  /** An item of which nothing was passed on before. */
  #whole(item: OutputItem): string {
    const id = this.#idOf(item);
    const place = this.#placeOf(id);
    switch (item.type) {
      case 'reasoning':
        return this.#addReasoning(id, item.sealed) + this.#done(item);
      case 'message':
        return this.#addMessage(id, `${place},"content_index":0`, 'message') + this.#endMessage(`${place},"content_index":0`, item.text);
      case 'refusal':
        return this.#wholeRefusal(id, `${place},"content_index":0`, item.text) + this.#done(item);
      case 'function_call':
      case 'custom_tool_call': {
        const call = renderJson(callFrom(item, id, 'in_progress', ''));
        const text = JSON.stringify(writtenIn(item));
        const isFunction = item.type === 'function_call';
        const name = isFunction ? 'response.function_call_arguments' : 'response.custom_tool_call_input';
        const whole = isFunction ? `"name":${JSON.stringify(item.declared?.name ?? item.call.name)},"arguments":${text}` : `"input":${text}`;
        return this.#itemEvent('added', call) + this.#event(`${name}.delta`, `${place},"delta":${text}`) + this.#event(`${name}.done`, `${place},${whole}`) + this.#done(item);
      }
    }
  }

  #wholeRefusal(id: string, place: string, text: string): string {
    const refusal = JSON.stringify(text);
    return (
      this.#addMessage(id, place, 'refusal') +
      this.#event('response.refusal.delta', `${place},"delta":${refusal}`) +
      this.#event('response.refusal.done', `${place},"refusal":${refusal}`) +
      this.#event('response.content_part.done', `${place},"part":${renderJson(contentFrom('refusal', text))}`)
    );
  }

  /**
   * Two events, since either alone is a good answer to some client. Before them always the first events: clients that put
   * a response together complain of their absence instead of telling what went wrong.
   */
  #fail(failure: Failure): string {
    const error = errorObject(failure);
    const facts: JsonOutObject = { code: error['code'] ?? error['type'], message: error['message'], param: null };
    const stand = { status: 'failed', output: [], error: { code: facts['code'], message: facts['message'] } } as const;
    return this.#responseEvent('response.failed', stand) + this.#event('error', `${renderJson(facts).slice(1, -1)},"error":${renderJson({ type: error['type'], ...facts })}`);
  }
}

/** What of a reply no pieces told: the states of its texts, texts that say nothing but have one, calls, a refusal. */
function itemsBehindPieces(reply: ChatReply, facts: AnswerFacts): readonly OutputItem[] {
  const isTold = (part: AssistantPart): boolean => part.type === 'text' && part.text !== '';
  const states = textStates(reply.parts);
  const ofTexts: readonly OutputItem[] = states.length === 0 ? [] : [{ type: 'reasoning', summary: '', sealed: carryStates(states) }];
  return [...ofTexts, ...outputItems(reply, reply.parts.filter((part) => !isTold(part)), '', facts)];
}
