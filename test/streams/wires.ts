/** Streams as providers send them, where they end, and a gateway in front of a provider made of bare sockets. */

import type { TestContext } from 'node:test';
import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startGateway } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { startRawServer } from '../upstream/raw-server.ts';
import type { RawHandlers, RawServer } from '../upstream/raw-server.ts';

/** A gateway whose providers all are the raw server. */
export async function startRawGateway(
  t: TestContext,
  handlers: RawHandlers,
  environment: Record<string, string> = {},
): Promise<{ gateway: RunningGateway; upstream: RawServer }> {
  const upstream = await startRawServer(t, handlers);
  const origin = upstream.baseUrl.origin;
  const gateway = await startGateway(t, {
    ANTHROPIC_BASE_URL: origin,
    OPENAI_BASE_URL: `${origin}/v1`,
    GEMINI_BASE_URL: origin,
    GATEWAY_COMPAT_BASE_URL: `${origin}/v1`,
    GATEWAY_DEFAULT_PROVIDER: 'compat',
    ...environment,
  });
  return { gateway, upstream };
}

/** One frame of a compatible host. */
export function chunkFrame(delta: object, finish: string | null = null, fields: object = {}): string {
  return `data: ${JSON.stringify({ id: 'c1', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...fields })}\n\n`;
}

export const GOOD_END = `${chunkFrame({}, 'stop')}data: [DONE]\n\n`;

export function readFixture(name: string): string {
  return readFileSync(new URL(`../fixtures/${name}.sse`, import.meta.url), 'utf8');
}

export function splitFrames(sse: string): readonly string[] {
  return sse.split(/(?<=\r?\n\r?\n)/);
}

/** Whether a frame is the dialect's own sign that the answer is complete, read without the codec. */
export function isTerminal(dialect: string, frame: string): boolean {
  const data = frame.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trim()] : [])).join('\n');
  if (data === '' || data === '[DONE]') return false;
  const json = JSON.parse(data) as {
    type?: string;
    choices?: readonly { index?: number; finish_reason?: string | null }[];
    candidates?: readonly { finishReason?: string }[];
    promptFeedback?: { blockReason?: string };
  };
  if (dialect.startsWith('anthropic')) return json.type === 'message_stop';
  if (dialect.startsWith('openai')) return json.choices?.some(({ index, finish_reason }) => (index ?? 0) === 0 && Boolean(finish_reason)) === true;
  return Boolean(json.candidates?.[0]?.finishReason ?? json.promptFeedback?.blockReason);
}

/** How many bytes of a stream hold its terminal signal and all before it; Infinity where it has none. */
export function terminalBytes(dialect: string, sse: string): number {
  const frames = splitFrames(sse);
  const at = frames.findIndex((frame) => isTerminal(dialect, frame));
  if (at === -1) return Infinity;
  const bytes = Buffer.byteLength(frames.slice(0, at + 1).join(''));
  // A blank line is over at its CR, whether or not an LF follows.
  return frames[at]?.endsWith('\r\n') === true ? bytes - 1 : bytes;
}

/** Waits for something that no event tells of. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await nextTurn();
}

/** The log lines of finished streams. */
export function streamLines(gateway: RunningGateway): readonly Readonly<Record<string, unknown>>[] {
  return gateway.logLines.filter((line) => line['route'] === 'chat_stream');
}
