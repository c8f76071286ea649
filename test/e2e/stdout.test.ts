/** The gateway as its own process whose output nobody reads. */

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { Agent, request as sendRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startSandbox } from '../../src/sandbox/index.ts';
import { valueOf } from '../metrics-page.ts';
import { sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';
import { buildProgram } from './built-program.ts';

const MAIN = join(buildProgram(), 'dist/main.js');
/** More lines than a full pipe and the queue behind it take, at 350 bytes a line. */
const PROBES = 5000;

/** A pipe that takes 64 KiB and then no more, and a way to read what it took. */
function createPipe(t: TestContext): { readonly read: number; readonly write: number } {
  const folder = mkdtempSync(join(tmpdir(), 'stdout-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const write = openSync(path, constants.O_WRONLY);
  t.after(() => {
    closeSync(read);
    rmSync(folder, { recursive: true });
  });
  return { read, write };
}

for (const kind of ['pipe', 'socket'] as const) {
  test(`a stdout that nobody reads (a ${kind}) loses lines, which are counted, and holds up neither requests nor the exit`, async (t) => {
    const sandbox = await startSandbox({});
    t.after(() => sandbox.close());
    const pipe = createPipe(t);
    // What Node gives a child as 'pipe' is a socket.
    const gateway = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env['PATH'] ?? '', ...sandboxEnvironment(sandbox) },
      stdio: ['ignore', kind === 'pipe' ? pipe.write : 'pipe', 'inherit'],
    });
    t.after(() => gateway.kill('SIGKILL'));
    closeSync(pipe.write);
    const url = kind === 'pipe' ? await firstAddress(() => readPipe(pipe.read)) : await firstAddress(() => String(gateway.stdout?.read() ?? ''));

    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    t.after(() => agent.destroy());
    const get = (path: string): Promise<string> => send(agent, `${url}${path}`, undefined);
    let left = PROBES;
    const probe = async (): Promise<void> => {
      while ((left -= 1) >= 0) assert.equal(await get('/healthz'), '{"status":"ok"}');
    };
    await Promise.all(Array.from({ length: 16 }, probe));
    assert.match(await send(agent, `${url}/v1/chat`, JSON.stringify({ model: 'fake-chat', messages: [user('still there')] })), /still there/);
    assert.ok((valueOf(await get('/metrics'), 'gateway_log_lines_dropped_total') ?? 0) > 0);

    gateway.kill('SIGTERM');
    assert.deepEqual(await once(gateway, 'exit'), [0, null]);
  });
}

/** Reads until the start-up line is there, and nothing after it. */
async function firstAddress(read: () => string): Promise<string> {
  let text = '';
  for (;;) {
    text += read();
    const match = /listening on (http[^\s"]+)/.exec(text);
    if (match?.[1] !== undefined) return match[1];
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function readPipe(fd: number): string {
  const chunk = Buffer.alloc(64 * 1024);
  try {
    return chunk.toString('utf8', 0, readSync(fd, chunk));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
    throw error;
  }
}

function send(agent: Agent, url: string, body: string | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'x-request-id': 'i'.repeat(128) };
    const request = sendRequest(url, { agent, headers, method: body === undefined ? 'GET' : 'POST' }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => (text += more));
      response.on('end', () => resolve(text));
    });
    request.on('error', reject);
    request.end(body);
  });
}

test('a command whose reader has read enough ends as it would have, and on a full disk it fails with one line', async (t) => {
  const run = async (word: string, closeOutput: boolean, full?: number): Promise<{ readonly code: number | null; readonly err: string }> => {
    const command = spawn(process.execPath, [MAIN, word], { env: {}, stdio: ['ignore', full ?? 'pipe', 'pipe'] });
    t.after(() => command.kill('SIGKILL'));
    if (closeOutput) command.stdout?.destroy();
    let err = '';
    command.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
    const [code] = (await once(command, 'close')) as [number | null];
    return { code, err };
  };
  const full = openSync('/dev/full', constants.O_WRONLY);
  t.after(() => closeSync(full));
  const ended = await Promise.all([run('--help', true), run('--alerts', true), run('--help', false, full), run('--alerts', false, full)]);
  const lost = 'gateway: stdout cannot be written (ENOSPC)\n';
  assert.deepEqual(ended, [{ code: 0, err: '' }, { code: 0, err: '' }, { code: 1, err: lost }, { code: 1, err: lost }]);
});
