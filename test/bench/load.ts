/** Callers that cost little themselves: HTTP/1.1 on a bare socket, requests one after the other, answers counted and dropped. */

import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { TOKEN } from './programs.ts';
import type { Program } from './programs.ts';
import type { Ask } from './rows.ts';

/** Chats at once to each target, and how often: at a pace that leaves the machine room, since what waits for a processor finds its caches cold. */
const CHATS = 10;
const CHATS_EACH_MS = 10;
/** Streams at once to each target. */
const STREAMS = 40;
const OPENED_MS_MAX = 30_000;

/** Runs until it is stopped. */
export type Load = {
  /** Chats answered, or events received. */
  units(): number;
  stop(): void;
};

/** One connection, one request at a time. Whatever ends it before its answer fails who waits for that, and who asks later. */
export class BareCaller {
  readonly #socket: Socket;
  readonly #onEvents: ((count: number) => void) | undefined;
  #head = '';
  #bytesLeft: number | undefined;
  #isStatusSeen = false;
  #isClosed = false;
  #error: Error | undefined;
  #resolve: (() => void) | undefined;
  #resolveFirst: (() => void) | undefined;
  #reject: ((error: Error) => void) | undefined;
  #rejectFirst: ((error: Error) => void) | undefined;

  /** `onEvents` is told how many events each read of a stream ended. */
  constructor({ name, host, port }: Program, onEvents?: (count: number) => void) {
    this.#onEvents = onEvents;
    this.#socket = connect({ host, port, noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('error', (error) => this.fail(error));
    this.#socket.on('close', () => this.fail(new Error(`${name} closed the connection`)));
  }

  /** Resolves at the end of the answer. */
  ask(request: Buffer): Promise<void> {
    this.#isStatusSeen = false;
    this.#head = '';
    this.#bytesLeft = undefined;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (this.#error === undefined) this.#socket.write(request);
      else reject(this.#error);
    });
  }

  /** Resolves at the first byte of the next answer, where its status is 200. */
  first(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#resolveFirst = resolve;
      this.#rejectFirst = reject;
      if (this.#error !== undefined) reject(this.#error);
    });
  }

  fail(error: Error): void {
    if (this.#isClosed || this.#error !== undefined) return;
    this.#error = error;
    this.#reject?.(error);
    this.#rejectFirst?.(error);
    this.#socket.destroy();
  }

  /** Who still waits is told nothing. */
  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    let from = 0;
    if (!this.#isStatusSeen) {
      this.#head += chunk.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end === -1) return;
      this.#isStatusSeen = true;
      if (!this.#head.startsWith('HTTP/1.1 200')) return this.fail(new Error(`answered ${this.#head.slice(0, 600)}`));
      this.#resolveFirst?.();
      const length = /\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1];
      from = end + 4 - (this.#head.length - chunk.length);
      if (length !== undefined) this.#bytesLeft = Number(length);
    }
    if (this.#onEvents !== undefined) this.#onEvents(countEvents(chunk, from));
    if (this.#bytesLeft !== undefined) this.#bytesLeft -= chunk.length - from;
    if (this.#bytesLeft === undefined ? endsChunked(chunk) : this.#bytesLeft === 0) this.#resolve?.();
  }
}

/** Blank lines. One that a read cuts in two is not seen, which is one in thousands. */
function countEvents(chunk: Buffer, from: number): number {
  let count = 0;
  for (let at = chunk.indexOf('\n\n', from, 'latin1'); at !== -1; at = chunk.indexOf('\n\n', at + 2, 'latin1')) count += 1;
  return count;
}

function endsChunked(chunk: Buffer): boolean {
  return chunk.length >= 5 && chunk.toString('latin1', chunk.length - 5) === '0\r\n\r\n';
}

export function requestBytes({ path, body }: Ask, token = TOKEN): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    'Accept: application/json',
    'User-Agent: bench',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Chats: one on each connection that has its last answer, at a steady pace. */
export function loadChats(target: Program, request: Buffer): Load {
  let count = 0;
  const free = Array.from({ length: CHATS }, () => new BareCaller(target));
  const callers = [...free];
  const timer = setInterval(() => {
    for (const caller of free.splice(0)) void caller.ask(request).then(() => {
      count += 1;
      free.push(caller);
    });
  }, CHATS_EACH_MS);
  return {
    units: () => count,
    stop() {
      clearInterval(timer);
      for (const caller of callers) caller.close();
    },
  };
}

/** Chats one after the other on each connection, as many as it takes until V8 has compiled what is hot. */
export async function warmUp(target: Program, request: Buffer, chats: number): Promise<void> {
  let left = chats;
  await Promise.all(Array.from({ length: CHATS }, async () => {
    const caller = new BareCaller(target);
    while (left > 0) {
      left -= 1;
      await caller.ask(request);
    }
    caller.close();
  }));
}

/** Streams without end, once all of them run. */
export async function loadStreams(target: Program, request: Buffer, streams = STREAMS): Promise<Load> {
  let count = 0;
  const callers = Array.from({ length: streams }, () => new BareCaller(target, (events) => (count += events)));
  const opened = callers.map((caller) => {
    caller.ask(request).catch(() => undefined);
    return caller.first();
  });
  const hung = setTimeout(() => callers.forEach((caller) => caller.fail(new Error('not all streams began'))), OPENED_MS_MAX);
  await Promise.all(opened);
  clearTimeout(hung);
  return { units: () => count, stop: () => callers.forEach((caller) => caller.close()) };
}
