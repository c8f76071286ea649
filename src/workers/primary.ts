/**
 * The process above the workers. It serves nothing itself: it accepts connections and hands them out, starts workers and others
 * in their place, passes on signals, adds up what they counted, and holds what there is one of for all of them.
 *
 * To whoever runs it, it is what a gateway in one process is: something that listens, reloads, drains and stops.
 */

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { acceptWaiting } from '../base/accept-waiting.ts';
import type { Log } from '../base/log.ts';
import type { LocalStore } from '../limits/store.ts';
import type { Metrics } from '../metrics.ts';
import { Brake } from './brake.ts';
import { Collector } from './collect.ts';
import { Dispatch } from './dispatch.ts';
import { HeldLimits } from './held-limits.ts';
import { Member } from './member.ts';
import type { Changes, Files, ToPrimary } from './messages.ts';
import { Reloads } from './reloads.ts';
import type { Places } from './reloads.ts';
import { Transitions } from './transitions.ts';

/** Of TLS session tickets, as Node takes them. */
const TICKET_KEYS_BYTES = 48;
/** Connections that no worker has time for; beyond, they are closed. As many as the kernel is asked to keep. */
const WAITING_MAX = 4096;
/** Beyond the grace: for last words, the log and the exit of a worker. */
const LAST_MS = 2000;
/** For the same when nobody wants to wait. */
const SHORT_LAST_MS = 1000;
/** For all workers to take over what was read again. */
const RELOAD_MS_MAX = 5000;
const CHECK_MS = 20;

export type PrimarySettings = {
  /** At least one. */
  readonly workers: number;
  readonly drainDelayMs: number;
  readonly shutdownGraceMs: number;
};

export type PrimarySurroundings = {
  readonly log: Log;
  /** Of this process. */
  readonly metrics: Metrics;
  /** What is started for a worker, with `--worker`. */
  readonly program: string;
  /** The files that the configuration was read from: every worker begins with these, whatever has become of them since. */
  readonly files: Files;
  /** Where each provider of that configuration is. */
  readonly places: Places;
  /** Where the limits of all workers are kept; undefined = they need nothing of this process. */
  readonly limits: LocalStore | undefined;
  /** Makes the server listen where the configuration says; resolves with where. */
  readonly listen: (server: Server) => Promise<string>;
};

export class Primary {
  readonly #settings: PrimarySettings;
  readonly #surroundings: PrimarySurroundings;
  readonly #log: Log;
  /** The workers whose processes are there, each with the brake on its replacement; undefined once that has been arranged. */
  readonly #members = new Map<Member, Brake | undefined>();
  readonly #dispatch = new Dispatch<Socket>();
  readonly #collector: Collector;
  readonly #transitions = new Transitions();
  readonly #limits: HeldLimits<Member> | undefined;
  readonly #server: Server;
  readonly #ticketKeys = randomBytes(TICKET_KEYS_BYTES).toString('base64');
  /** One for each place of a worker. */
  readonly #brakes: readonly Brake[];
  readonly #restarts = new Set<NodeJS.Timeout>();
  readonly #followed: Reloads;
  #lastNumber = 0;
  #lastReload = 0;
  /** The workers that have yet to take over a reload, and what the first that did said of it. */
  readonly #reloads = new Map<number, { readonly left: Set<Member>; changes: Changes | undefined }>();
  #isStopping = false;
  #drained: Promise<boolean> | undefined;

  constructor(settings: PrimarySettings, surroundings: PrimarySurroundings) {
    const { log, metrics, limits } = surroundings;
    this.#settings = settings;
    this.#surroundings = surroundings;
    this.#log = log;
    this.#brakes = Array.from({ length: settings.workers }, () => new Brake());
    this.#limits = limits === undefined ? undefined : new HeldLimits(limits);
    this.#followed = new Reloads(surroundings.places);
    this.#collector = new Collector(metrics, () => [...this.#members.keys()]);
    this.#server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
      // Nobody reads here: what became of it, its worker sees.
      socket.on('error', () => socket.destroy());
      this.#dispatch.offer(socket);
    });
    // Those that a worker has are closed here, and do not count.
    this.#server.maxConnections = WAITING_MAX;
    this.#server.on('drop', () => metrics.droppedConnections.add(1));
  }

  /**
   * Listens, then starts the workers; resolves with where, once each has begun to serve or ended. Rejects when the address
   * cannot be had, or no process be started.
   */
  async listen(): Promise<string> {
    const address = await this.#surroundings.listen(this.#server);
    this.#server.on('error', (error: NodeJS.ErrnoException) => this.#log.error(`connections cannot be accepted (${error.code ?? error.name})`));
    for (const brake of this.#brakes) this.#start(brake);
    const first = [...this.#members.keys()];
    await until(() => first.every((member) => member.isReady || !this.#members.has(member)) && [...this.#members.keys()].some(({ isReady }) => isReady), Infinity);
    return address;
  }

  /** Has every worker read the files anew; resolves with what changed, once all have, or have had time to. */
  async reload(files: Files, places: Places): Promise<Changes> {
    const id = (this.#lastReload += 1);
    this.#followed.note({ id, files, places });
    // One that has yet to begin hears of it in its turn.
    const left = new Set([...this.#members.keys()].filter(({ isLeaving }) => !isLeaving));
    const reload: { left: Set<Member>; changes: Changes | undefined } = { left, changes: undefined };
    this.#reloads.set(id, reload);
    for (const member of left) member.send({ type: 'reload', id, files });
    if (!(await until(() => left.size === 0, RELOAD_MS_MAX))) this.#log.warn('SIGHUP: some workers have not applied what was read', { workers: left.size });
    this.#reloads.delete(id);
    return reload.changes ?? { swapped: [], needsRestart: [] };
  }

  /** As a gateway in one process does; a worker that takes longer than the grace and a little is ended. */
  drain(): Promise<boolean> {
    return (this.#drained ??= this.#drainOnce());
  }

  /** Ends everything, within a second. */
  async stop(): Promise<void> {
    this.#endStarts();
    for (const member of this.#members.keys()) member.send({ type: 'stop' });
    await until(() => this.#members.size === 0, SHORT_LAST_MS);
    this.close();
  }

  /** Ends everything now. */
  close(): void {
    this.#endStarts();
    this.#collector.stop();
    this.#stopListening();
    for (const member of this.#members.keys()) member.kill();
  }

  async #drainOnce(): Promise<boolean> {
    const { drainDelayMs, shutdownGraceMs } = this.#settings;
    this.#endStarts();
    const members = [...this.#members.keys()];
    for (const member of members) member.send({ type: 'drain' });
    await until(() => this.#members.size === 0, drainDelayMs);
    await acceptWaiting(this.#server);
    this.#server.close();
    // Who was accepted is served: workers are given one at a time, so that some may still wait.
    const endAtMs = performance.now() + shutdownGraceMs;
    await until(() => this.#dispatch.waitingCount === 0 || this.#members.size === 0, shutdownGraceMs);
    this.#stopListening();
    for (const member of this.#members.keys()) member.send({ type: 'closed' });
    await until(() => this.#members.size === 0, endAtMs - performance.now() + LAST_MS);
    for (const member of this.#members.keys()) {
      this.#log.error('a worker did not end within GATEWAY_SHUTDOWN_GRACE and is ended', { worker: member.number });
      member.kill();
    }
    // One that had yet to begin has cut nobody off, however it ended: a terminal's signal ends it too.
    return members.every(({ isReady, leftClean }) => !isReady || leftClean === true);
  }

  #stopListening(): void {
    this.#server.close();
    for (const socket of this.#dispatch.close()) socket.destroy();
  }

  #endStarts(): void {
    this.#isStopping = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    this.#restarts.clear();
  }

  #start(brake: Brake): void {
    const member = new Member((this.#lastNumber += 1), this.#surroundings.program, {
      onMessage: (sender, message) => this.#hear(sender, message),
      onGone: (gone, how) => this.#bury(gone, how),
    });
    this.#members.set(member, brake);
    member.send({ type: 'start', number: member.number, files: this.#surroundings.files, ticketKeys: this.#ticketKeys });
    // As those before it did, so that what takes a restart of the gateway differs at no worker.
    for (const { id, files } of this.#followed.followed) member.send({ type: 'reload', id, files });
    for (const transition of this.#transitions.current()) member.send({ type: 'transition', transition });
  }

  #startLater(brake: Brake, delayMs: number): void {
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      try {
        this.#start(brake);
        this.#surroundings.metrics.workerRestarts.add(1);
      } catch (thrown) {
        const { code, name } = thrown as NodeJS.ErrnoException;
        this.#log.error(`a worker cannot be started (${code ?? name})`);
        this.#startLater(brake, brake.delayAfter(0));
      }
    }, delayMs);
    this.#restarts.add(timer);
  }

  /** Once for each worker, when it is over or says that it will be. */
  #replace(member: Member, how: string): void {
    const brake = this.#members.get(member);
    if (this.#isStopping || brake === undefined) return;
    this.#members.set(member, undefined);
    const nowMs = performance.now();
    const delayMs = brake.delayAfter(nowMs - (member.readyAtMs ?? nowMs));
    this.#log.error('a worker ended, another takes its place', { worker: member.number, how, lived_ms: Math.round(nowMs - member.startedAtMs), after_ms: delayMs });
    this.#startLater(brake, delayMs);
  }

  #hear(member: Member, message: ToPrimary): void {
    switch (message.type) {
      case 'ready':
        member.readyAtMs = performance.now();
        this.#collector.welcome(member);
        if (!member.isLeaving) this.#dispatch.join(member);
        return;
      case 'taken':
        member.taken();
        return this.#dispatch.freed(member);
      case 'leaving':
        this.#dispatch.leave(member);
        member.isLeaving = true;
        member.send({ type: 'closed' });
        return this.#replace(member, 'an unexpected error');
      case 'left':
        this.#dispatch.leave(member);
        member.isLeaving = true;
        member.leftClean = message.isClean;
        return this.#collector.heard(member, message.snapshot);
      case 'snapshot': {
        const lost = member.lostBefore(message.id);
        if (lost !== undefined) {
          // To another first.
          this.#dispatch.offer(lost);
          this.#dispatch.freed(member);
        }
        return this.#collector.heard(member, message.snapshot, message.id);
      }
      case 'page':
        return void this.#collector.text().then((text) => member.send({ type: 'page', id: message.id, text }));
      case 'reloaded': {
        const reload = this.#reloads.get(message.id);
        // One that began meanwhile has followed others before it, and knows another configuration before.
        if (reload?.left.delete(member) === true) reload.changes ??= message.changes;
        return;
      }
      case 'transition': {
        const { transition } = message;
        if (!this.#transitions.note(transition)) return;
        for (const other of this.#members.keys()) if (other !== member) other.send({ type: 'transition', transition });
        return;
      }
      case 'take':
        if (this.#limits !== undefined) member.send({ type: 'decision', id: message.id, decision: this.#limits.take(member, message.charge) });
        return;
      case 'settle':
        return this.#limits?.settle(member, message.charge, message.tokensMore);
    }
  }

  #bury(member: Member, how: string): void {
    this.#replace(member, how);
    this.#dispatch.leave(member);
    this.#members.delete(member);
    const given = member.takeBack();
    if (given !== undefined) this.#dispatch.offer(given);
    this.#collector.retire(member);
    this.#limits?.release(member);
    for (const { left } of this.#reloads.values()) left.delete(member);
  }
}

/** Resolves true when it is so, or false when the time is over first. */
async function until(isSo: () => boolean, timeoutMs: number): Promise<boolean> {
  const endAtMs = performance.now() + timeoutMs;
  while (!isSo()) {
    const leftMs = endAtMs - performance.now();
    if (leftMs <= 0) return false;
    await new Promise((resolve) => setTimeout(resolve, Math.min(CHECK_MS, leftMs)));
  }
  return true;
}
