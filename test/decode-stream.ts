/** Runs bytes through the real SSE reader and an adapter's stream decoder. */

import { SseBuffer } from '../src/base/sse.ts';
import type { Adapter } from '../src/core/adapter.ts';
import { REPLY_BYTES_MAX } from '../src/core/chat.ts';
import type { ChatReply } from '../src/core/chat.ts';
import type { Delta } from '../src/core/delta.ts';
import { Failure } from '../src/core/failure.ts';

/** All deltas for the chunks, the terminal one last. */
export function decodeChunks(adapter: Adapter, chunks: readonly Buffer[]): Delta[] {
  const deltas: Delta[] = [];
  const sink = (delta: Delta): void => void deltas.push(delta);
  const decoder = adapter.createStreamDecoder();
  const frames = new SseBuffer((event, data) => decoder.frame(event, data, sink), REPLY_BYTES_MAX);
  for (const chunk of chunks) frames.feed(chunk);
  decoder.end(sink);
  return deltas;
}

/** How the stream ended: the reply of `done` or the failure of `failed`. Throws unless exactly one terminal delta came, last. */
export function endOf(deltas: readonly Delta[]): ChatReply | Failure {
  const terminal = deltas.filter((delta) => delta.type === 'done' || delta.type === 'failed');
  const last = deltas.at(-1);
  if (terminal.length !== 1 || last === undefined) throw new Error(`${terminal.length} terminal deltas`);
  if (last.type === 'done') return last.reply;
  if (last.type === 'failed') return last.failure;
  throw new Error(`the last delta is ${last.type}`);
}

/** The bytes as SSE, from an SSE recording or from one event's JSON a line. */
export function sseFrom(file: string, bytes: Buffer): Buffer {
  if (!file.endsWith('.chunks.jsonl')) return bytes;
  const lines = bytes.toString().split('\n').filter((line) => line.trim() !== '');
  return Buffer.from(lines.map((line) => `data: ${line}\n\n`).join(''));
}
