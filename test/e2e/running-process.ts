/** The gateway as a child process. */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export type Exit = { readonly code: number | null; readonly out: string; readonly err: string };

export class RunningProcess {
  readonly child: ChildProcess;
  out = '';
  err = '';
  /** Once all that it printed is there. */
  readonly exited: Promise<Exit>;
  #isOver = false;

  /** Starts `command` with nothing in its environment but PATH and what is given. */
  constructor(t: TestContext, command: readonly string[], environment: Readonly<Record<string, string>>, folder = ROOT) {
    const [program = '', ...words] = command;
    const plain = { PATH: process.env['PATH'] ?? '', ...environment };
    this.child = spawn(program, words, { cwd: folder, env: plain, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.out += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.err += text));
    this.exited = new Promise((resolve) => {
      this.child.on('close', (code) => {
        this.#isOver = true;
        resolve({ code, out: this.out, err: this.err });
      });
    });
    t.after(() => this.child.kill('SIGKILL'));
  }

  /** The first match in what it has printed. Fails when it ends without one, also by a signal. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.out);
      if (match !== null) return match;
      if (this.#isOver) throw new Error(`exited: ${this.out}${this.err}`);
      await Promise.race([new Promise((resolve) => this.child.stdout?.once('data', resolve)), this.exited]);
    }
  }

  /** The address of the start-up line. */
  async address(): Promise<string> {
    return (await this.printed(/listening on (http[^\s"]+)/))[1] ?? '';
  }
}
