/** One worker as its primary sees it: a process, and the channel to it. */

import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Snapshot } from '../base/prometheus.ts';
import type { Taker } from './dispatch.ts';
import { decodeToPrimary } from './messages.ts';
import type { ToPrimary, ToWorker } from './messages.ts';

/** Between the end of the channel and that of its process, which then has nothing left to do. */
const EXIT_MS_MAX = 2000;

export type MemberListener = {
  onMessage(member: Member, message: ToPrimary): void;
  /** The process is over, and everything that it said was heard. `how` is for the log. */
  onGone(member: Member, how: string): void;
};

export class Member implements Taker<Socket> {
  /** 1 for the first that was started, and so on; no two have the same. */
  readonly number: number;
  readonly startedAtMs = performance.now();
  /** Whether it has begun to serve: it is asked for what it counted. */
  isReady = false;
  /** Whether its end is expected: it is given no more connections. */
  isLeaving = false;
  /** Undefined until it has said. */
  leftClean: boolean | undefined;
  /** What it had counted when it was last heard. */
  snapshot: Snapshot = [];
  /** The number of the last request for a snapshot that it answered. */
  answered = 0;
  readonly #child: ChildProcess;
  readonly #listener: MemberListener;
  #given: Socket | undefined;
  /** The last snapshot that it was asked for, and the last before it was given what it has. */
  #asked = 0;
  #askedBeforeGiven = 0;
  #exitTimer: NodeJS.Timeout | undefined;
  #isGone = false;

  /** Throws where the system lets no process be started. */
  constructor(number: number, program: string, listener: MemberListener) {
    this.number = number;
    this.#listener = listener;
    // Nobody writes to it, and a terminal is read by one process alone.
    this.#child = fork(program, ['--worker'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#child.on('message', (value) => {
      const message = decodeToPrimary(value);
      if (message !== undefined) listener.onMessage(this, message);
    });
    this.#child.on('error', (error: NodeJS.ErrnoException) => {
      // Only what keeps it from being started is its end.
      if (this.#child.pid === undefined) this.#gone(error.code ?? error.name);
    });
    this.#child.on('disconnect', () => {
      this.#exitTimer = setTimeout(() => this.kill(), EXIT_MS_MAX);
    });
    // After the exit and the last message.
    this.#child.on('close', (code, signal) => this.#gone(signal ?? `exit ${code}`));
  }

  get isServing(): boolean {
    return this.isReady && !this.isLeaving;
  }

  /** Dropped where it is gone, which is seen soon. */
  send(message: ToWorker): void {
    if (message.type === 'snapshot') this.#asked = message.id;
    if (this.#child.connected) this.#child.send(message, undefined, {}, ignore);
  }

  /**
   * The connection stays open here until the worker has it: of one that Node closes by itself, what becomes of it when the worker
   * dies on the way depends on the moment, and in one it stays open for good.
   */
  give(socket: Socket): void {
    this.#given = socket;
    this.#askedBeforeGiven = this.#asked;
    if (this.#child.connected) this.#child.send({ type: 'connection' } satisfies ToWorker, socket, { keepOpen: true }, ignore);
  }

  /** The worker has what it was given. To close it here ends nothing there. */
  taken(): void {
    this.#given?.destroy();
    this.#given = undefined;
  }

  /**
   * What was lost on the way, as happens where the worker has no descriptor for it: it answered what it was asked later, and has
   * not said that it has the connection.
   */
  lostBefore(answeredId: number): Socket | undefined {
    return answeredId > this.#askedBeforeGiven ? this.takeBack() : undefined;
  }

  /** What the worker was given and never had. It has read nothing of it, so that another can serve it. */
  takeBack(): Socket | undefined {
    const given = this.#given;
    this.#given = undefined;
    return given;
  }

  /** At once, whatever it does. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #gone(how: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#exitTimer);
    this.#listener.onGone(this, how);
  }
}

/** What cannot be sent any more is noticed by the end of the process. */
function ignore(): void {}
