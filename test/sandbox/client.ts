/** Plain clients of the sandbox: one by `fetch` for each protocol, one that looks at the wire. */

import assert from 'node:assert/strict';
import http from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { TestContext } from 'node:test';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Sandbox, SandboxSettings } from '../../src/sandbox/index.ts';

export const KEY = 'sandbox-key';

/** A sandbox that closes with the test. */
export async function open(t: TestContext, settings: SandboxSettings = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(settings);
  t.after(() => sandbox.close());
  return sandbox;
}

export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string };

export async function request(url: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export type ProtocolName = 'anthropic' | 'openai' | 'gemini' | 'compat';
export const PROTOCOL_NAMES = ['anthropic', 'openai', 'gemini', 'compat'] as const;

export const HEADERS: Readonly<Record<ProtocolName, Record<string, string>>> = {
  anthropic: { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' },
  openai: { authorization: `Bearer ${KEY}` },
  gemini: { 'x-goog-api-key': KEY },
  compat: {},
};

/** Where a chat with this model is posted. */
export function chatUrl(sandbox: Sandbox, protocol: ProtocolName, model: string, isStream: boolean): string {
  const base = sandbox.baseUrls[protocol];
  if (protocol === 'anthropic') return `${base}/v1/messages`;
  if (protocol === 'gemini') return `${base}/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
  return `${base}/chat/completions`;
}

/** The smallest request with one user text. */
export function chatBody(protocol: ProtocolName, model: string, isStream: boolean, text: string): Record<string, unknown> {
  if (protocol === 'gemini') return { contents: [{ role: 'user', parts: [{ text }] }] };
  const messages = [{ role: 'user', content: text }];
  return { model, messages, ...(protocol === 'anthropic' ? { max_tokens: 1000 } : {}), ...(isStream ? { stream: true } : {}) };
}

export function chat(sandbox: Sandbox, protocol: ProtocolName, model: string, isStream = false, text = 'Hello'): Promise<Answer> {
  return request(chatUrl(sandbox, protocol, model, isStream), chatBody(protocol, model, isStream, text), HEADERS[protocol]);
}

/** The JSON of each event of a stream; `[DONE]` and comments left out. */
export function events(text: string): Record<string, unknown>[] {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:') && !line.includes('[DONE]'))
    .map((line) => JSON.parse(line.slice(5)) as Record<string, unknown>);
}

/** A value inside JSON, by its path. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Record<string | number, unknown> | null | undefined)?.[step], value);
}

export function parsed(answer: Answer): unknown {
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text);
}

/** What came over the wire. */
export type Observation = {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** True when HTTP says that the reply was whole. */
  readonly isComplete: boolean;
  readonly errorCode: string | undefined;
  /** Statuses below 200 that came first. */
  readonly informational: readonly number[];
};

export type ObserveSettings = {
  readonly protocol?: ProtocolName;
  readonly isStream?: boolean;
  readonly agent?: http.Agent | false;
  /** Hangs up after this many bytes of the body. */
  readonly bytesMax?: number;
  /** Hangs up when it fires. */
  readonly signal?: AbortSignal;
  readonly onHeaders?: () => void;
};

export function observe(sandbox: Sandbox, model: string, settings: ObserveSettings = {}): Promise<Observation> {
  const { protocol = 'openai', isStream = false, agent = false, bytesMax = Number.POSITIVE_INFINITY } = settings;
  const { signal = new AbortController().signal, onHeaders } = settings;
  const url = chatUrl(sandbox, protocol, model, isStream);
  return new Promise((resolve) => {
    const informational: number[] = [];
    const chunks: Buffer[] = [];
    let received = 0;
    let head: { readonly status: number | undefined; readonly headers: IncomingHttpHeaders } = { status: undefined, headers: {} };
    const outgoing = http.request(url, { method: 'POST', headers: HEADERS[protocol], agent, signal, maxHeaderSize: 256 * 1024 });
    const fail = (error: NodeJS.ErrnoException): void =>
      resolve({ ...head, body: Buffer.concat(chunks), isComplete: false, errorCode: error.code, informational });
    outgoing.on('information', ({ statusCode }) => informational.push(statusCode));
    outgoing.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode, headers: response.headers, body: Buffer.alloc(0), isComplete: false, errorCode: undefined, informational });
    });
    outgoing.on('error', fail);
    outgoing.on('response', (response) => {
      let errorCode: string | undefined;
      onHeaders?.();
      head = { status: response.statusCode, headers: response.headers };
      response.on('error', (error: NodeJS.ErrnoException) => (errorCode = error.code));
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        received += chunk.length;
        if (received >= bytesMax) outgoing.destroy();
      });
      response.on('close', () =>
        resolve({ ...head, body: Buffer.concat(chunks), isComplete: response.complete, errorCode, informational }));
    });
    outgoing.end(JSON.stringify(chatBody(protocol, model, isStream, 'Hello')));
  });
}

/** Waits for what another connection causes. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
