/** A command-line agent for each order, in a home and a folder of its own that are empty. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Runs it to its end; `take` is given each line of JSON that it prints, and a way to end it. */
export async function runAgent(name, words, variables, take) {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-agent-'));
  const env = { PATH: process.env.PATH, HOME: folder, ...variables };
  const child = spawn(join(process.env.CLIENTS_DIR, 'node_modules/.bin', name), words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (more) => (complaints = (complaints + more).slice(-2000)));
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{')) take(JSON.parse(line), () => child.kill('SIGINT'));
  });
  await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  rmSync(folder, { recursive: true, force: true });
  return complaints;
}

/** An error that only has words. */
export class AgentError extends Error {
  name = 'AgentError';

  constructor(message) {
    super(message);
    const status = /\b[45]\d\d\b/.exec(message)?.[0];
    this.status = status === undefined ? undefined : Number(status);
  }
}
