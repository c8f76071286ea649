/**
 * What a request costs: CPU time of the gateway's process, beside a proxy that only copies bytes (the floor) and,
 * if you like, beside a peer. Ratios in one run mean something, absolute times only on your machine.
 *
 * A peer: PEER_PID and PEER_URL, e.g. http://127.0.0.1:4000/v1/chat/completions, with PEER_TOKEN; let it reach
 * the upstream whose address is printed. Linux only (reads /proc).
 */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request as sendRequest } from 'node:http';
import { fileURLToPath } from 'node:url';

const CONNECTIONS = 32;
const REQUESTS = Number(process.env['REQUESTS'] ?? 10_000);
const ROUNDS = 3;
const TOKEN = 'a-token-for-the-benchmark';
const TICKS_PER_SECOND = 100;

type Target = { readonly name: string; readonly url: string; readonly pid: number; readonly body: string; readonly token: string };

const children: ChildProcess[] = [];
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

await run();
process.exit(0);

async function run(): Promise<void> {
  const upstream = await start(['--import', 'tsx', here('upstream.ts')], {});
  const floor = await start(['--import', 'tsx', here('floor.ts'), upstream.line], {});
  const gateway = await start([here('../../dist/main.js')], {
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_AUTH_TOKEN: TOKEN,
    GATEWAY_COMPAT_BASE_URL: `http://127.0.0.1:${upstream.line}/v1`,
    GATEWAY_LOG_LEVEL: process.env['GATEWAY_LOG_LEVEL'] ?? 'info',
  });
  const address = gateway.line;
  process.stdout.write(`node ${process.version}; upstream at http://127.0.0.1:${upstream.line}/v1\n\n`);

  const turns = [{ role: 'user', text: 'A question of usual length, asked by somebody who waits for the answer.' }];
  const whole = JSON.stringify({ model: 'bench', messages: turns });
  const openai = (extra: object): string =>
    JSON.stringify({ model: 'bench', messages: turns.map(({ role, text }) => ({ role, content: text })), ...extra });
  const targets = (kind: 'chat' | 'stream'): Target[] => {
    const path = kind === 'chat' ? '/v1/chat' : '/v1/chat/stream';
    const native = openai(kind === 'stream' ? { stream: true } : {});
    const list: Target[] = [
      { name: 'floor', url: `http://127.0.0.1:${floor.line}/`, pid: floor.pid, body: native, token: TOKEN },
      { name: 'gateway', url: address + path, pid: gateway.pid, body: whole, token: TOKEN },
    ];
    const { PEER_URL, PEER_PID, PEER_TOKEN } = process.env;
    if (PEER_URL !== undefined) list.push({ name: 'peer', url: PEER_URL, pid: Number(PEER_PID), body: native, token: PEER_TOKEN ?? '' });
    return list;
  };
  await compare('chat', targets('chat'));
  await compare('stream of 66 frames', targets('stream'));
}

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/** A child process, once it has printed where it listens: a port, or an address in a line of its own. */
function start(words: readonly string[], environment: Record<string, string>): Promise<{ pid: number; line: string }> {
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...environment } });
  children.push(child);
  return new Promise((resolve, reject) => {
    let text = '';
    child.on('exit', (code) => reject(new Error(`${words.join(' ')} exited with ${code}`)));
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more;
      const line = /^\d+$|listening on (http[^"\s]+)/m.exec(text);
      if (line !== null) resolve({ pid: child.pid ?? 0, line: line[1] ?? line[0] });
    });
  });
}

async function compare(title: string, targets: readonly Target[]): Promise<void> {
  process.stdout.write(`${title}: ${REQUESTS} requests, ${CONNECTIONS} connections, best of ${ROUNDS} rounds\n`);
  const best = new Map<string, number>();
  for (const target of targets) await load(target, REQUESTS / 5);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const target of targets) {
      const before = cpuMicroseconds(target.pid);
      await load(target, REQUESTS);
      const each = (cpuMicroseconds(target.pid) - before) / REQUESTS;
      best.set(target.name, Math.min(each, best.get(target.name) ?? Infinity));
    }
  }
  const floor = best.get('floor') ?? NaN;
  for (const [name, each] of best) {
    process.stdout.write(`  ${name.padEnd(8)} ${each.toFixed(0).padStart(6)} µs of CPU each, ${(each / floor).toFixed(2)} × the floor\n`);
  }
  process.stdout.write('\n');
}

/** Sends that many requests over the connections and waits for every answer. */
async function load(target: Target, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await once(target, agent);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  agent.destroy();
}

function once(target: Target, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${target.token}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(target.body) };
    const request = sendRequest(target.url, { method: 'POST', agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${target.name} answered ${response.statusCode}`));
      response.resume();
      response.on('end', resolve);
    });
    request.on('error', reject);
    request.end(target.body);
  });
}

function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}
