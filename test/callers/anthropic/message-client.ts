/** What a client makes of a stream of Messages events, strict about everything that any of the common ones is strict about. */

import { deepEqual, equal, fail, ok } from 'node:assert/strict';

export type Block = { readonly type: string; readonly [field: string]: unknown };

export type Message = {
  readonly id: string;
  readonly model: string;
  readonly content: readonly Block[];
  readonly stop_reason: unknown;
  readonly usage: unknown;
};

type Event = { readonly type: string; readonly [field: string]: unknown };

/** The events of the text, each line `event:` equal to the type of its data. Comments are skipped. */
export function eventsOf(text: string): readonly Event[] {
  ok(text === '' || text.endsWith('\n\n'), 'a frame is not ended');
  const frames = text.split('\n\n').slice(0, -1).filter((frame) => !frame.startsWith(':'));
  return frames.map((frame) => {
    const match = /^event: ([a-z_]+)\ndata: (\{[^\r\n]*\})$/.exec(frame) ?? fail(frame);
    const data = JSON.parse(match[2] ?? '') as Event;
    equal(data.type, match[1]);
    return data;
  });
}

const DELTAS: Readonly<Record<string, string>> = { thinking: 'thinking_delta', text: 'text_delta', tool_use: 'input_json_delta' };

/** The message that the events make, or undefined where the last one says that the stream failed. */
export function assemble(text: string): Message | undefined {
  const events = eventsOf(text).filter(({ type }) => type !== 'ping');
  const isFailed = events.at(-1)?.type === 'error';
  const rest = isFailed ? events.slice(0, -1) : events;
  if (isFailed && rest.length === 0) return undefined;
  const first = rest[0] as unknown as { readonly type: string; readonly message: Message };
  equal(first.type, 'message_start');
  deepEqual(first.message.content, []);
  equal(typeof (first.message.usage as { input_tokens: unknown }).input_tokens, 'number');
  const content: Block[] = [];
  let at = 1;
  let isOpen = false;
  for (; at < rest.length && rest[at]?.type.startsWith('content_block_') === true; at += 1) isOpen = takeBlockEvent(content, rest[at] as Event, isOpen);
  if (isFailed) {
    equal(at, rest.length);
    return undefined;
  }
  ok(!isOpen, 'a block is not closed');
  const { delta, usage } = rest[at] as unknown as { readonly delta: { readonly stop_reason: unknown }; readonly usage: unknown };
  deepEqual(rest.slice(at).map(({ type }) => type), ['message_delta', 'message_stop']);
  return { ...first.message, content, stop_reason: delta.stop_reason, usage };
}

/** True when a block is open afterwards. */
function takeBlockEvent(content: Block[], event: Event, isOpen: boolean): boolean {
  equal(isOpen, event.type !== 'content_block_start', event.type);
  if (event.type === 'content_block_start') {
    equal(event['index'], content.length);
    content.push(event['content_block'] as Block);
    return true;
  }
  equal(event['index'], content.length - 1);
  const block = content.at(-1) as Block;
  if (event.type === 'content_block_stop') {
    if (block.type === 'tool_use') content[content.length - 1] = { ...block, partial: undefined, input: JSON.parse(String(block['partial'])) };
    else if (block.type === 'thinking') ok(block['signature'] !== '');
    return false;
  }
  equal(event.type, 'content_block_delta');
  content[content.length - 1] = { ...block, ...added(block, event['delta'] as Block) };
  return true;
}

function added(block: Block, delta: Block): Partial<Block> {
  if (block.type === 'thinking' && delta.type === 'signature_delta') return { signature: String(block['signature']) + String(delta['signature']) };
  equal(delta.type, DELTAS[block.type]);
  if (block.type === 'tool_use') return { partial: String(block['partial'] ?? '') + String(delta['partial_json']) };
  return { [block.type]: String(block[block.type]) + String(delta[block.type]) };
}
