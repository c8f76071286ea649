/**
 * What many streams cost: the memory of idle ones and of stalled ones, the time that a token takes on its way while many are
 * open, and how soon a caller's hang-up reaches the provider. Prints figures, and exits with 1 when one misses its target.
 *
 * STREAMS open streams (5,000) take twice as many file descriptors, here and in the gateway: mind `ulimit -n`. TOKENS a second
 * (20) come on all of them together. Linux only (reads /proc).
 */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TOKEN, user } from '../running-gateway.ts';
import { Caller } from '../streams/caller.ts';
import { chunkFrame, GOOD_END } from '../streams/wires.ts';

const STREAMS = Number(process.env['STREAMS'] ?? 5_000);
const TOKENS = Number(process.env['TOKENS'] ?? 20);
const PACED_MS = 10_000;
const OPENING_AT_ONCE = 100;
const HANG_UPS = 200;
const STALLED = 100;
const FLOOD_BYTES = 200 * 1024 * 1024;
const STALL_SAMPLES = 30;

const IDLE_KB_MAX = 36;
const HANG_UP_P99_MS_MAX = 50;
const STALLED_MB_MAX = 20;
const ALL_STALLED_MB_MAX = 64;

type Model = 'idle' | 'mute' | 'flood';

const isOver = { after: (): void => undefined };
const opened: { readonly response: ServerResponse; readonly closed: Promise<unknown> }[] = [];
const block = Buffer.from(chunkFrame({ content: 'word '.repeat(10) }).repeat(400));
let hasMissed = false;

/** An OpenAI-compatible provider that does what the model's name says and keeps its responses. */
const provider = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => (body += text));
  request.on('end', () => {
    const { model } = JSON.parse(body) as { model: Model };
    if (model !== 'mute') response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (model === 'idle') response.write(chunkFrame({ content: 'Once upon' }));
    if (model === 'flood') flood(response);
    opened.push({ response, closed: once(response, 'close') });
  });
});
provider.listen(0, '127.0.0.1');
await once(provider, 'listening');

const providerUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;

const gateway = spawn(process.execPath, [fileURLToPath(new URL('../../dist/main.js', import.meta.url))], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: {
    PATH: process.env['PATH'],
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_AUTH_TOKEN: TOKEN,
    GATEWAY_COMPAT_BASE_URL: `${providerUrl}/v1`,
    GATEWAY_HEARTBEAT_INTERVAL: '2s',
    GATEWAY_LOG_LEVEL: 'info',
  },
});
process.on('exit', () => gateway.kill('SIGKILL'));
const address = await addressOf(gateway);

process.stdout.write(`node ${process.version}\n`);
await openStreams(200);
await finishAll();
await measureIdle();
await measurePaced();
for (const model of ['mute', 'idle', 'flood'] as const) await measureHangUps(model);
await measureStalled(1, STALLED_MB_MAX);
await measureStalled(STALLED, ALL_STALLED_MB_MAX);
process.exit(hasMissed ? 1 : 0);

async function measureIdle(): Promise<void> {
  const before = residentBytes();
  const callers = await openStreams(STREAMS);
  for (const caller of callers) await caller.until(({ comments }) => comments > 1);
  const eachKb = (residentBytes() - before) / STREAMS / 1000;
  await finishAll();
  let clean = 0;
  for (const caller of callers) {
    await caller.until(({ isWhole }) => isWhole);
    if (caller.frames.at(-1)?.type === 'done') clean += 1;
    caller.hangUp('destroy');
  }
  say(`${STREAMS} idle streams, two comments each, ${clean} clean ends`, clean === STREAMS);
  say(`  ${eachKb.toFixed(1)} KB of resident memory each (at most ${IDLE_KB_MAX})`, eachKb <= IDLE_KB_MAX);
}

/** A token now and then while all streams are open, through the gateway and, on as many as come in turn, past it. */
async function measurePaced(): Promise<void> {
  const callers = await openStreams(STREAMS);
  const through = opened.splice(0);
  const direct = Array.from({ length: 20 }, () => new Caller(isOver, providerUrl).ask({ model: 'idle' }));
  for (const caller of direct) await caller.until(({ status }) => status === 200);
  const past = opened.splice(0);
  const took = { through: [] as number[], past: [] as number[] };
  const watch = (caller: Caller, latencies: number[]): void => void caller.socket.on('data', (bytes: Buffer) => {
    for (const [, sentAtMs] of bytes.toString('latin1').matchAll(/@([\d.]+)@/g)) latencies.push(performance.now() - Number(sentAtMs));
  });
  for (const caller of callers) watch(caller, took.through);
  for (const caller of direct) watch(caller, took.past);
  const [cpuBefore, startedAtMs] = [cpuMs(), performance.now()];
  let sent = 0;
  for (; performance.now() - startedAtMs < PACED_MS; await delay(1)) {
    for (const due = ((performance.now() - startedAtMs) / 1000) * TOKENS; sent < due; sent += 1) {
      through[(sent * 7919) % through.length]?.response.write(chunkFrame({ content: `@${performance.now()}@` }));
      past[sent % past.length]?.response.write(chunkFrame({ content: `@${performance.now()}@` }));
    }
  }
  const share = (cpuMs() - cpuBefore) / PACED_MS;
  while (took.through.length < sent || took.past.length < sent) await delay(10);
  const [throughP50, throughP99] = percentiles(took.through);
  const [pastP50, pastP99] = percentiles(took.past);
  say(`${TOKENS} tokens a second on ${STREAMS} open streams: a token is there after ${throughP50.toFixed(2)} ms (p50), ${throughP99.toFixed(2)} ms (p99)`, true);
  say(`  of which the gateway adds ${(throughP50 - pastP50).toFixed(2)} ms (p50), ${(throughP99 - pastP99).toFixed(2)} ms (p99)`, true);
  say(`  ${(residentBytes() / 1e6).toFixed(0)} MB of resident memory in all, ${(100 * share).toFixed(0)} % of a core`, true);
  for (const { response, closed } of [...through, ...past]) {
    response.end(GOOD_END);
    await closed;
  }
  for (const caller of [...callers, ...direct]) caller.hangUp('destroy');
}

function percentiles(latencies: number[]): [p50: number, p99: number] {
  latencies.sort((a, b) => a - b);
  return [latencies[Math.floor(latencies.length / 2)] ?? NaN, latencies[Math.floor(latencies.length * 0.99)] ?? NaN];
}

async function measureHangUps(model: Model): Promise<void> {
  const took: number[] = [];
  for (let tries = 0; tries < HANG_UPS; tries += 1) {
    const caller = ask(model);
    if (model === 'idle') await caller.until(({ frames }) => frames.length > 0);
    if (model === 'flood') caller.socket.pause();
    while (opened.length === 0) await delay(1);
    if (model === 'flood') await stopped(opened[0]?.response);
    const startedAtMs = performance.now();
    caller.hangUp('destroy');
    await opened.pop()?.closed;
    took.push(performance.now() - startedAtMs);
  }
  const [p50, p99] = percentiles(took);
  const stage = { mute: 'waiting for headers', idle: 'in mid-stream', flood: 'stalled' }[model];
  say(`${HANG_UPS} hang-ups ${stage}: the provider is let go after ${p50.toFixed(1)} ms (p50), ${p99.toFixed(1)} ms (p99, at most ${HANG_UP_P99_MS_MAX})`, p99 <= HANG_UP_P99_MS_MAX);
}

/** Callers that read nothing, in front of a provider that sends without end. */
async function measureStalled(count: number, mbMax: number): Promise<void> {
  const before = residentBytes();
  const callers = Array.from({ length: count }, () => ask('flood'));
  for (const caller of callers) caller.socket.pause();
  let most = 0;
  for (let sample = 0; sample < STALL_SAMPLES; sample += 1) {
    await delay(100);
    most = Math.max(most, residentBytes() - before);
  }
  const mb = most / 1e6;
  say(`${count} stalled: ${mb.toFixed(1)} MB of resident memory more (at most ${mbMax})`, mb <= mbMax);
  for (const caller of callers) caller.hangUp('destroy');
  for (const { closed } of opened.splice(0)) await closed;
}

/** Resolves when a response gets no further: every buffer on its way is full. */
async function stopped(response: ServerResponse | undefined): Promise<void> {
  for (let before = -1; before !== response?.socket?.bytesWritten; await delay(50)) before = response?.socket?.bytesWritten ?? 0;
}

function flood(response: ServerResponse): void {
  let sentBytes = 0;
  const push = (): void => {
    while (sentBytes < FLOOD_BYTES && !response.destroyed) {
      sentBytes += block.length;
      if (!response.write(block)) return;
    }
  };
  response.on('drain', push);
  push();
}

function ask(model: Model): Caller {
  return new Caller(isOver, address).ask({ model, messages: [user('Tell me something, but slowly.')] });
}

async function openStreams(count: number): Promise<readonly Caller[]> {
  const callers: Caller[] = [];
  while (callers.length < count) {
    const more = Array.from({ length: Math.min(OPENING_AT_ONCE, count - callers.length) }, () => ask('idle'));
    for (const caller of more) await caller.until(({ frames }) => frames.length > 0);
    callers.push(...more);
  }
  return callers;
}

async function finishAll(): Promise<void> {
  for (const { response, closed } of opened.splice(0)) {
    response.end(GOOD_END);
    await closed;
  }
}

function say(line: string, isGood: boolean): void {
  process.stdout.write(`${line}${isGood ? '' : '  MISSED'}\n`);
  hasMissed ||= !isGood;
}

/** Where the gateway listens, from its first line. What it logs later is read and dropped. */
async function addressOf(child: ChildProcess): Promise<string> {
  let text = '';
  for (;;) {
    const [more] = (await once(child.stdout ?? process.stdin, 'data')) as [Buffer];
    text += more.toString();
    const found = /listening on (http:[^"\s]+)/.exec(text)?.[1];
    if (found === undefined) continue;
    child.stdout?.resume();
    return found;
  }
}

function residentBytes(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** What the gateway's process has used of the processor, in the system's ticks of 10 ms. */
function cpuMs(): number {
  const fields = readFileSync(`/proc/${gateway.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
