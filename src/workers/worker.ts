/**
 * A worker's side of the channel: it serves what its primary hands it, obeys it, and ends when the primary is gone.
 *
 * Signals mean nothing here: a terminal and some supervisors send them to every process of a group, and the primary passes
 * them on.
 */

import type { Socket } from 'node:net';
import type { Log } from '../base/log.ts';
import type { Snapshot } from '../base/prometheus.ts';
import type { LimitStore, LocalStore } from '../limits/store.ts';
import type { Transition } from '../routing/transition.ts';
import { decodeToWorker } from './messages.ts';
import type { Changes, Files, ToPrimary, ToWorker } from './messages.ts';
import { PrimaryStore } from './primary-store.ts';

/** For a page of metrics, of which the workers have a second. */
const PAGE_MS_MAX = 2000;
/** For the last message to leave. */
const LAST_MS = 1000;
/** Messages that come before anybody wants to know. There are as many as targets and keys, and a few. */
const EARLY_MAX = 4096;
const FAILED = 1;

/** A gateway in this process. */
export type Serving = {
  take(socket: Socket): void;
  drain(listenerClosed: Promise<void>): Promise<boolean>;
  stop(): Promise<void>;
  reload(files: Files): Changes;
  snapshot(): Snapshot;
  /** Ends the process, once its log is written. */
  exit(code: number): void;
};

/** Resolves with the channel once it has said what is to be served; undefined where no primary started this process. */
export async function joinPrimary(): Promise<PrimaryChannel | undefined> {
  if (process.send === undefined) return undefined;
  const channel = new PrimaryChannel();
  return (await channel.isStarted) ? channel : undefined;
}

export class PrimaryChannel {
  /** Known once it is started: which worker this is, what its configuration is read from, and the keys of TLS session tickets. */
  number = 0;
  files: Files = {};
  ticketKeys: Buffer = Buffer.alloc(0);
  /** False where the primary ended first. */
  readonly isStarted: Promise<boolean>;
  /** What came before this process could serve. No connection does. */
  readonly #early: ToWorker[] = [];
  #serving: Serving | undefined;
  #log: Log | undefined;
  #limits: PrimaryStore | undefined;
  #isLeaving = false;
  #closeListener: () => void = () => {};
  readonly #listenerClosed = new Promise<void>((resolve) => (this.#closeListener = resolve));
  #lastPage = 0;
  #page: { readonly id: number; readonly resolve: (text: string | undefined) => void } | undefined;
  #asked: Promise<string | undefined> | undefined;
  #receive: ((transition: Transition) => void) | undefined;

  constructor() {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
    this.isStarted = new Promise((resolve) => {
      process.on('disconnect', () => {
        resolve(false);
        this.#primaryGone();
      });
      process.on('message', (value, handle) => {
        const message = decodeToWorker(value);
        if (message?.type === 'start') {
          ({ number: this.number, files: this.files } = message);
          this.ticketKeys = Buffer.from(message.ticketKeys, 'base64');
          resolve(true);
        } else if (message !== undefined) {
          this.#hear(message, handle as Socket | undefined);
        }
      });
    });
  }

  /** Serves until the primary has it end, or is gone, or `leave` is called. */
  serve(serving: Serving, log: Log): void {
    this.#serving = serving;
    this.#log = log;
    for (const message of this.#early.splice(0)) this.#hear(message, undefined);
    if (process.connected) this.#send({ type: 'ready' });
    else this.#primaryGone();
  }

  /** After a bug: what is in flight may finish, and the process ends with 1. Another takes its place meanwhile. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#send({ type: 'leaving' });
    void this.#drain(FAILED);
  }

  /** The page of all workers; undefined where it does not come in time. Whoever asks meanwhile gets the same one. */
  metricsPage(): Promise<string | undefined> {
    this.#asked ??= this.#askPage().finally(() => (this.#asked = undefined));
    return this.#asked;
  }

  /** Limits that hold for all workers; `own` are those of this process, for when the primary does not answer. */
  limitStore(own: LocalStore, log: Log): LimitStore {
    this.#limits = new PrimaryStore((message) => this.#send(message), own, log);
    return this.#limits;
  }

  /** Tells the other workers what this one found out. */
  publish(transition: Transition): void {
    this.#send({ type: 'transition', transition });
  }

  /** `receive` gets what others publish, and at first what still holds of what they did. To be called before `serve`. */
  subscribe(receive: (transition: Transition) => void): void {
    this.#receive = receive;
  }

  #hear(message: ToWorker, socket: Socket | undefined): void {
    const serving = this.#serving;
    if (serving === undefined) {
      if (this.#early.length < EARLY_MAX) this.#early.push(message);
      return;
    }
    switch (message.type) {
      case 'connection':
        // None where its caller, or the system, took it back on the way.
        if (socket !== undefined) serving.take(socket);
        this.#send({ type: 'taken' });
        return;
      case 'closed':
        return this.#closeListener();
      case 'drain':
        return void this.#drain(0);
      case 'stop':
        return void serving.stop().then(() => this.#exit(0, false));
      case 'reload':
        this.#send({ type: 'reloaded', id: message.id, changes: serving.reload(message.files) });
        return;
      case 'snapshot':
        this.#send({ type: 'snapshot', id: message.id, snapshot: serving.snapshot() });
        return;
      case 'page':
        if (this.#page?.id === message.id) this.#page.resolve(message.text);
        return;
      case 'decision':
        return this.#limits?.decided(message.id, message.decision);
      case 'transition':
        return this.#receive?.(message.transition);
      case 'start':
        return;
    }
  }

  #primaryGone(): void {
    this.#closeListener();
    this.#page?.resolve(undefined);
    this.#limits?.gone();
    if (this.#isLeaving || this.#serving === undefined) return;
    this.#log?.error('the primary is gone: draining, then exiting with 1');
    void this.#drain(FAILED);
  }

  async #drain(code: number): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    const isClean = await this.#serving?.drain(this.#listenerClosed);
    this.#exit(code, isClean === true);
  }

  /** Once the last message has left. */
  #exit(code: number, isClean: boolean): void {
    const exit = (): void => this.#serving?.exit(code);
    setTimeout(exit, LAST_MS);
    if (this.#serving !== undefined) this.#send({ type: 'left', isClean, snapshot: this.#serving.snapshot() }, exit);
  }

  async #askPage(): Promise<string | undefined> {
    const id = (this.#lastPage += 1);
    let limit: NodeJS.Timeout | undefined;
    const answered = new Promise<string | undefined>((resolve) => {
      this.#page = { id, resolve };
      limit = setTimeout(() => resolve(undefined), PAGE_MS_MAX);
      if (!this.#send({ type: 'page', id })) resolve(undefined);
    });
    const text = await answered;
    clearTimeout(limit);
    this.#page = undefined;
    return text;
  }

  /** False where nobody is there to hear it. `sent` is called in any case. */
  #send(message: ToPrimary, sent: () => void = () => {}): boolean {
    if (process.send === undefined || !process.connected) {
      sent();
      return false;
    }
    process.send(message, undefined, {}, sent);
    return true;
  }
}
