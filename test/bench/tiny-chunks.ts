/**
 * What MB (3) megabytes cost that come in chunks of one byte: resident memory, and how long others wait meanwhile, by the
 * latency of `/healthz` and, on a machine that does other work too, by the longest turn of the event loop in CPU time. Sent by a caller, and by a provider as a whole reply and as a stream, each to a process of its own
 * with 128 MB of heap. Prints figures, and exits with 1 when one misses its target.
 *
 * TRANSPORT=fetch takes the other transport. Linux only (reads /proc).
 */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, createServer, get, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TOKEN, user } from '../running-gateway.ts';
import { chunkFrame, GOOD_END } from '../streams/wires.ts';

const BYTES = Number(process.env['MB'] ?? 3) * 1e6;
const LATENCY_MS_MAX = 200;
const FIXED_BYTES_MAX = 20e6;
const TIMES_BYTES_MAX = 3;
const FRAME_CHARS = 100;

type Source = 'caller' | 'whole' | 'stream';

const text = 'x'.repeat(BYTES);
const answers: Readonly<Record<Source, Buffer>> = {
  caller: inTinyChunks(wholeReply('Good.')),
  whole: inTinyChunks(wholeReply(text)),
  stream: inTinyChunks(chunkFrame({ content: 'x'.repeat(FRAME_CHARS) }).repeat(BYTES / chunkFrame({ content: 'x'.repeat(FRAME_CHARS) }).length) + GOOD_END),
};

/** An OpenAI-compatible provider that answers as the model's name says, without any HTTP library between. */
const provider = createServer((request) => {
  let body = '';
  request.setEncoding('utf8').on('data', (more: string) => (body += more));
  request.on('end', () => {
    const source = (JSON.parse(body) as { model: Source }).model;
    const type = source === 'stream' ? 'text/event-stream' : 'application/json';
    request.socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`);
    request.socket.write(answers[source]);
  });
});
provider.listen(0, '127.0.0.1');
await once(provider, 'listening');

let hasMissed = false;
process.stdout.write(`node ${process.version}, ${BYTES / 1e6} MB in chunks of one byte\n\n`);
process.stdout.write('sent by           status   took ms   resident MB   /healthz p50   longest ms   turn ms\n');
for (const source of ['caller', 'whole', 'stream'] as const) await measure(source);
process.exit(hasMissed ? 1 : 0);

async function measure(source: Source): Promise<void> {
  const gateway = startGateway();
  const address = await addressOf(gateway);
  const agent = new Agent({ keepAlive: true });
  // Warm, so that neither what the code itself takes is counted nor V8's young generation, which any load lets grow.
  for (let i = 0; i < 5000; i += 1) await chat(address, 'caller', JSON.stringify({ model: 'caller', messages: [user('x')] }));
  await longestTurnMs(gateway);
  const before = memoryOf(gateway, 'VmRSS');
  writeFileSync(`/proc/${gateway.pid}/clear_refs`, '5');
  let isOver = false;
  const body = JSON.stringify({ model: source, messages: [user(source === 'caller' ? text : 'x')] });
  const startedAtMs = performance.now();
  const answered = chat(address, source, body).catch((error: unknown) => String(error)).finally(() => (isOver = true));
  const latencies: number[] = [];
  while (!isOver && gateway.exitCode === null && gateway.signalCode === null) {
    latencies.push(await healthLatencyMs(address, agent));
    await delay(5);
  }
  const status = await answered;
  const tookMs = performance.now() - startedAtMs;
  const isAlive = gateway.exitCode === null && gateway.signalCode === null;
  const turnMs = isAlive ? await longestTurnMs(gateway) : NaN;
  const resident = isAlive ? memoryOf(gateway, 'VmHWM') - before : NaN;
  gateway.kill('SIGKILL');
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const longestMs = latencies.at(-1) ?? NaN;
  const isGood = status === 200 && longestMs <= LATENCY_MS_MAX && resident <= TIMES_BYTES_MAX * BYTES + FIXED_BYTES_MAX;
  hasMissed ||= !isGood;
  const cells = [
    tookMs.toFixed(0).padStart(8), (resident / 1e6).toFixed(1).padStart(13), (latencies[latencies.length >> 1] ?? NaN).toFixed(1).padStart(14), longestMs.toFixed(0).padStart(12), turnMs.toFixed(0).padStart(9),
  ];
  process.stdout.write(`${source.padEnd(18)}${String(status).padEnd(8)}${cells.join(' ')}${isAlive ? '' : '  the process died'}${isGood ? '' : '  MISSED'}\n`);
}

function startGateway(): ChildProcess {
  const child = spawn(process.execPath, ['--max-old-space-size=128', '--import', 'tsx', '--import', here('loop-watch.mjs'), here('../../src/main.ts')], {
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    env: {
      ...process.env,
      GATEWAY_ADDR: '127.0.0.1:0',
      GATEWAY_AUTH_TOKEN: TOKEN,
      GATEWAY_COMPAT_BASE_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`,
      GATEWAY_TRANSPORT: process.env['TRANSPORT'] ?? 'wire',
      GATEWAY_MAX_RETRIES: '0',
    },
  });
  process.on('exit', () => child.kill('SIGKILL'));
  return child;
}

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/** The longest turn since the last call. */
async function longestTurnMs(child: ChildProcess): Promise<number> {
  child.send('how long?');
  const [longestMs] = (await once(child, 'message')) as [number];
  return longestMs;
}

/** Where the gateway listens, from its first line. What it logs later is read and dropped. */
async function addressOf(child: ChildProcess): Promise<string> {
  let output = '';
  for (;;) {
    const [more] = (await once(child.stdout ?? process.stdin, 'data')) as [Buffer];
    output += more.toString();
    const found = /listening on (http:[^"\s]+)/.exec(output)?.[1];
    if (found === undefined) continue;
    child.stdout?.resume();
    return found;
  }
}

/** The status, once the whole answer was read. */
function chat(address: string, source: Source, body: string): Promise<number> {
  const isTiny = source === 'caller' && body.length > 1000;
  return new Promise((resolve, reject) => {
    const framing = isTiny ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) };
    const path = source === 'stream' ? '/v1/chat/stream' : '/v1/chat';
    const request = sendRequest(address + path, { method: 'POST', agent: false, headers: { authorization: `Bearer ${TOKEN}`, ...framing } });
    request.on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0)).on('error', reject);
    });
    request.on('error', reject);
    if (!isTiny) {
      request.end(body);
      return;
    }
    request.flushHeaders();
    request.on('socket', (socket) => socket.once('connect', () => socket.write(inTinyChunks(body))));
  });
}

function healthLatencyMs(address: string, agent: Agent): Promise<number> {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    const took = (): void => resolve(performance.now() - startedAtMs);
    get(`${address}/healthz`, { agent }, (response) => void response.resume().on('end', took).on('error', took)).on('error', took);
  });
}

function wholeReply(content: string): string {
  return JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] });
}

/** The text as the body of a chunked message, ASCII only. */
function inTinyChunks(ascii: string): Buffer {
  const wire = Buffer.alloc(6 * ascii.length + 5, '1\r\n_\r\n');
  for (let i = 0; i < ascii.length; i += 1) wire[6 * i + 3] = ascii.charCodeAt(i);
  wire.write('0\r\n\r\n', 6 * ascii.length, 'latin1');
  return wire;
}

function memoryOf({ pid }: ChildProcess, field: 'VmRSS' | 'VmHWM'): number {
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
