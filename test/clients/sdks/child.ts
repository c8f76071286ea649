/** A client in a process of its own: orders in, what became of them out. */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { commandOf, FOLDER } from './packages.ts';
import type { Runtime } from './packages.ts';

export type Order = {
  readonly operation: 'ask' | 'loop' | 'cancel';
  /** Of the gateway, without a path. */
  readonly url: string;
  readonly token: string;
  readonly model: string;
  readonly isStream?: boolean;
  readonly hasImage?: boolean;
  readonly isThinking?: boolean;
  /** Asks for JSON of one of the schemas that the programs share. */
  readonly isStructured?: boolean;
};

export type Seen = {
  readonly text?: string;
  /** In how many pieces the text came. */
  readonly pieces?: number;
  readonly thinking?: string;
  readonly usage?: { readonly input?: number | null; readonly output?: number | null };
  readonly calls?: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly error?: { readonly classes: readonly string[]; readonly status: number | null; readonly message: string };
};

/** No class of any package has this name. */
export const PROGRAM_ENDED = '(the program itself)';
const MARK = '@@';
/** For a client that hangs. */
const ORDER_MS_MAX = 120_000;

export class Child {
  readonly #child: ChildProcess;
  #waiting: ((seen: Seen) => void) | undefined;
  #complaints = '';
  #isClosed = false;

  constructor(runtime: Runtime, program: string, words: readonly string[]) {
    const [command, file] = commandOf(runtime, program);
    // Nothing of the operator's own settings: some of the clients read their vendors' keys and addresses from there.
    const env = { PATH: process.env['PATH'] ?? '', HOME: FOLDER, CLIENTS_DIR: FOLDER, PYTHONUNBUFFERED: '1', PYTHONWARNINGS: 'ignore' };
    this.#child = spawn(command, [file, ...words], { cwd: FOLDER, env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stderr?.setEncoding('utf8').on('data', (more: string) => (this.#complaints = (this.#complaints + more).slice(-400)));
    if (this.#child.stdout !== null) createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line));
    this.#child.on('error', (error) => this.#settle(failed(`did not start: ${error.message}`)));
    this.#child.on('close', (code) => this.#settle(failed(`exit code ${code}: ${this.#complaints}`)));
  }

  get hasEnded(): boolean {
    return this.#isClosed || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** One at a time. */
  run(order: Order): Promise<Seen> {
    return new Promise((resolve) => {
      const guard = setTimeout(() => {
        this.#settle(failed('no answer'));
        this.close();
      }, ORDER_MS_MAX);
      this.#waiting = (seen) => {
        clearTimeout(guard);
        resolve(seen);
      };
      this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#child.kill('SIGKILL');
  }

  #take(line: string): void {
    if (line.startsWith(MARK)) this.#settle(JSON.parse(line.slice(MARK.length)) as Seen);
  }

  #settle(seen: Seen): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(seen);
  }
}

function failed(message: string): Seen {
  return { error: { classes: [PROGRAM_ENDED], status: null, message } };
}
