/** A gateway of several processes in front of the sandbox, and what can be seen of them from outside. */

import { readdirSync, readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { RunningProcess } from '../e2e/running-process.ts';
import { sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';

export type LogLine = Readonly<Record<string, unknown>>;

export class RunningWorkers {
  readonly sandbox: Sandbox;
  readonly running: RunningProcess;
  readonly address: string;

  constructor(sandbox: Sandbox, running: RunningProcess, address: string) {
    this.sandbox = sandbox;
    this.running = running;
    this.address = address;
  }

  /** The processes of the workers, the oldest first. */
  get pids(): readonly number[] {
    return childrenOf(this.running.child.pid ?? 0);
  }

  /** There is always one: a signal to 0 would be one to the test itself. */
  get oldest(): number {
    const [pid] = this.pids;
    if (pid === undefined) throw new Error('there is no worker');
    return pid;
  }

  /** The lines so far; each has to be whole. */
  get lines(): readonly LogLine[] {
    return this.running.out.split('\n').slice(0, -1).map((line) => JSON.parse(line) as LogLine);
  }

  linesOf(message: string): readonly LogLine[] {
    return this.lines.filter((line) => line['message'] === message);
  }

  chat(model: string, text = 'Hello', isStream = false): Promise<Response> {
    return fetch(`${this.address}/v1/chat${isStream ? '/stream' : ''}`, {
      method: 'POST',
      // A connection each, so that each may go to another worker.
      headers: { authorization: `Bearer ${TOKEN}`, connection: 'close' },
      body: JSON.stringify({ provider: 'openai', model, messages: [user(text)] }),
    });
  }

  /** A worker may be killed while it is asked, and a busy machine may be too slow for it. */
  async page(): Promise<string> {
    for (;;) {
      const response = await fetch(`${this.address}/metrics`, { headers: { connection: 'close' } }).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (response?.status === 200 && text !== undefined) return text;
    }
  }
}

export async function startWorkers(t: TestContext, program: string, workers: number, environment: Readonly<Record<string, string>> = {}): Promise<RunningWorkers> {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, program], {
    ...sandboxEnvironment(sandbox),
    GATEWAY_LOG_LEVEL: 'info',
    GATEWAY_WORKERS: String(workers),
    ...environment,
  });
  return new RunningWorkers(sandbox, running, await running.address());
}

/** In the order in which they were started, which their numbers do not say: these begin anew. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => childrenOfThread(`/proc/${pid}/task/${task}/children`))
    .filter((child) => child !== '')
    .map(Number);
}

/** A thread may have ended since it was listed. */
function childrenOfThread(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split(' ');
  } catch {
    return [];
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // One that is over and was not waited for has no memory.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
