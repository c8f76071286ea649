/**
 * How long one costly request holds the event loop of a gateway, in a process of its own: its longest turn in CPU time,
 * over several tries. Bodies are as large as the default limit allows. The aim is 100 ms, 150 ms with an inline image.
 * Linux only (reads /proc).
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request as sendRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import { startSandbox } from '../../src/sandbox/index.ts';
import { sandboxEnvironment, TOKEN } from '../running-gateway.ts';
import { COSTLY_BODIES } from '../costly-bodies.ts';

const TRIES = Number(process.env['TRIES'] ?? 5);
const BODY_BYTES_MAX = 16 * 1024 * 1024;

const sandbox = await startSandbox({});
const child = spawn(process.execPath, ['--import', 'tsx', '--import', here('loop-watch.mjs'), here('../../src/main.ts')], {
  stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  env: { ...process.env, ...sandboxEnvironment(sandbox), GATEWAY_LOG_LEVEL: 'info' },
});
process.on('exit', () => child.kill('SIGKILL'));
const address = await new Promise<string>((resolve) => {
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const found = /listening on (http[^\s"]+)/.exec(text)?.[1];
    if (found !== undefined) resolve(found);
  });
});

process.stdout.write(`node ${process.version}, ${TRIES} tries each, longest turn of the event loop in ms of CPU time\n\n`);
process.stdout.write(`${'body'.padEnd(28)}${'provider'.padEnd(11)}${'status'.padEnd(8)}${'best'.padStart(7)}${'median'.padStart(8)}${'worst'.padStart(7)}\n`);
for (const [name, bodyOf] of Object.entries(COSTLY_BODIES)) {
  for (const provider of ['anthropic', 'openai', 'gemini']) {
    const body = bodyOf(provider, BODY_BYTES_MAX);
    const delays: number[] = [];
    let status = 0;
    for (let i = 0; i < TRIES; i += 1) {
      await longestTurnMs();
      status = await post(body);
      delays.push(await longestTurnMs());
    }
    delays.sort((a, b) => a - b);
    const cells = [delays[0], delays[TRIES >> 1], delays.at(-1)].map((ms) => (ms ?? 0).toFixed(0).padStart(7));
    process.stdout.write(`${name.padEnd(28)}${provider.padEnd(11)}${String(status).padEnd(8)}${cells.join(' ')}\n`);
  }
}
await sandbox.close();
process.exit(0);

/** The longest turn since the last call. */
async function longestTurnMs(): Promise<number> {
  // So that the turn in which the answer went out is over.
  await new Promise((resolve) => setTimeout(resolve, 20));
  child.send('how long?');
  const [longestMs] = (await once(child, 'message')) as [number];
  return longestMs;
}

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

function post(body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = sendRequest(`${address}/v1/chat`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-length': body.length } });
    request.on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    request.on('error', reject);
    request.end(body);
  });
}
