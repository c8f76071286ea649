/**
 * One streamed answer as the events of the Messages API (Anthropic, streaming messages).
 *
 * Blocks come one after another, each with its place in the content for an index. Calls are sent when all of the turn is
 * known: what a provider wants back with a text is known only then, and has to stand before something that the clients
 * keep, so it rides in a block of reasoning before the first call.
 */

import type { ParsedText } from '../../base/json/parse.ts';
import { renderJson } from '../../base/json/render.ts';
import type { JsonOutObject } from '../../base/json/value.ts';
import { isSilent, unreachable } from '../../core/chat.ts';
import type { ChatReply, ToolCallPart } from '../../core/chat.ts';
import type { Delta } from '../../core/delta.ts';
import type { AnswerFacts, StreamFrames } from '../../core/dialect.ts';
import { carryStates, textStates } from '../carried-state.ts';
import type { CarriedState } from '../carried-state.ts';
import { nameOf, renderEvent } from '../relay.ts';
import { echoedStart } from './echo.ts';
import { failureBody } from './failure.ts';
import { callBlock, messageFrom, NO_STOP_SEQUENCE, reasoningBlock, stopReasonOf, usageFrom } from './reply.ts';
import { withOwnToolNames } from './tool-name.ts';

/** Its clients know it, and some of them know no comments. */
export const PING = 'event: ping\ndata: {"type":"ping"}\n\n';

type SpokenType = 'thinking' | 'text';

export class MessageEvents implements StreamFrames {
  readonly #facts: AnswerFacts;
  #isBegun = false;
  /** Whether events are relayed, the one among them that says how the message ends: only the last one may be missing. */
  #isRelayed = false;
  /** The block that deltas go to, the last one that was started; undefined when it is closed. */
  #open: SpokenType | undefined;
  /** Of the block that is open, else of the next one. */
  #index = 0;
  /** A delta of the open block up to its text, so that a token is one concatenation. */
  #deltaHead = '';

  constructor(facts: AnswerFacts) {
    this.#facts = facts;
  }

  // hot: per token
  relay(event: string, data: string, parsed?: ParsedText): string {
    // The vendor's clients skip events without a name.
    const name = nameOf(event, data, parsed);
    this.#isRelayed = true;
    if (name !== 'message_start') return renderEvent(name, data);
    this.#isBegun = true;
    return renderEvent(name, echoedStart(data, this.#facts, parsed?.exact));
  }

  // hot: per token
  render(delta: Delta): string {
    switch (delta.type) {
      case 'text':
      case 'thinking':
        return this.#begin() + this.#speak(delta.type, delta.text);
      case 'tool_call':
        return this.#begin();
      case 'done':
        return this.#begin() + this.#end(delta.reply);
      case 'failed':
        return frame(failureBody(delta.failure, this.#facts.requestId));
      default:
        return unreachable(delta);
    }
  }

  /** The counts are not known yet; the last event says them all. */
  #begin(): string {
    if (this.#isBegun) return '';
    this.#isBegun = true;
    return frame({ type: 'message_start', message: messageFrom(this.#facts, undefined, [], null, undefined) });
  }

  // hot: per token
  #speak(type: SpokenType, text: string): string {
    if (text === '') return '';
    const start = this.#open === type ? '' : this.#close([]) + this.#start(type);
    return `${start}${this.#deltaHead}${JSON.stringify(text)}}}\n\n`;
  }

  #start(type: SpokenType): string {
    this.#open = type;
    this.#deltaHead =
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},` +
      `"delta":{"type":"${type}_delta","${type}":`;
    return this.#blockStart(type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' });
  }

  /** Closes the block that is open. Open reasoning takes the states for its signature; else they are a block of their own. */
  #close(states: readonly CarriedState[]): string {
    const open = this.#open;
    this.#open = undefined;
    if (open === 'thinking') return this.#blockDelta({ type: 'signature_delta', signature: carryStates(states) }) + this.#blockStop();
    const closed = open === undefined ? '' : this.#blockStop();
    const block = reasoningBlock('', states);
    return block === undefined ? closed : closed + this.#blockStart(block) + this.#blockStop();
  }

  #end(reply: ChatReply): string {
    let events = '';
    let states = textStates(reply.parts);
    for (const part of withOwnToolNames(reply, this.#facts).parts) {
      if (part.type === 'text') {
        if (part.state !== undefined && isSilent(part)) states.push({ owner: 'empty', state: part.state });
        continue;
      }
      if (part.state !== undefined) states.push({ owner: 'call', state: part.state });
      events += this.#close(states) + this.#call(part);
      states = [];
    }
    // Claude Code takes the last block for its result, and prints nothing where that is reasoning. A turn without calls after its
    // text gets on without what belongs to it.
    events += this.#close(this.#open === 'text' ? [] : states);
    if (!this.#isRelayed) {
      const delta = { stop_reason: stopReasonOf(reply), stop_sequence: NO_STOP_SEQUENCE };
      events += frame({ type: 'message_delta', delta, usage: usageFrom(reply.usage) });
    }
    return events + frame({ type: 'message_stop' });
  }

  #call(call: ToolCallPart): string {
    const start = this.#blockStart(callBlock(call, {}));
    return start + this.#blockDelta({ type: 'input_json_delta', partial_json: call.arguments.text }) + this.#blockStop();
  }

  #blockStart(block: JsonOutObject): string {
    return frame({ type: 'content_block_start', index: this.#index, content_block: block });
  }

  #blockDelta(delta: JsonOutObject): string {
    return frame({ type: 'content_block_delta', index: this.#index, delta });
  }

  #blockStop(): string {
    const stop = frame({ type: 'content_block_stop', index: this.#index });
    this.#index += 1;
    return stop;
  }
}

/** One event: its line has to equal the type of its data. */
function frame(data: { readonly type: string } & JsonOutObject): string {
  return `event: ${data.type}\ndata: ${renderJson(data)}\n\n`;
}
