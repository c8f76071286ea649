/**
 * `make soak-workers`: a gateway of several processes under load while one of its workers is killed each second, its metrics are
 * read ten times a second, and its configuration is read again. Shows that no counter falls, that the sums are what the callers
 * had, that nobody waits long for a page, and that no connection is lost but those of a worker that was killed.
 *
 * SECONDS=30, WORKERS=4, KILL_MS=1000 and RELOAD_MS=1500 apart (0 = never), CALLERS=16 on kept connections and as many that
 * connect anew for each chat, PROGRAM=dist/main.js. Linux only (reads /proc).
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parsePage, valueOf } from '../metrics-page.ts';
import { childrenOf } from '../workers/running-workers.ts';
import { startUpstream } from './soak.ts';

const { SECONDS = '30', WORKERS = '4', KILL_MS = '1000', RELOAD_MS = '1500', CALLERS = '16', PROGRAM = 'dist/main.js' } = process.env;
const TOKEN = 'a-caller-token-for-the-soak';
const SCRAPE_MS = 100;
const PAGE_MS_MAX = 1200;
/** Longer than any chat may take, on a machine that is busy with others. */
const CHAT_MS_MAX = 20_000;
/** What a worker has counted since it was last asked is lost with it: a second, and the time that asking takes. */
const UNHEARD_MS = 2000;
const CHAT = '{"model":"m","messages":[{"role":"user","text":"x"}]}';

const upstream = await startUpstream();
const gateway = spawn(process.execPath, [PROGRAM], {
  env: {
    PATH: process.env['PATH'] ?? '',
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_AUTH_TOKEN: TOKEN,
    GATEWAY_COMPAT_BASE_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    GATEWAY_WORKERS: WORKERS,
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
process.on('exit', () => gateway.kill('SIGKILL'));
/** The lines that are not of a request; of those that are, which worker answered when. */
const lines: string[] = [];
const served: { readonly worker: number; readonly atMs: number }[] = [];
const url = await new Promise<string>((resolve) => {
  let rest = '';
  gateway.stdout.setEncoding('utf8').on('data', (text: string) => {
    const whole = (rest + text).split('\n');
    rest = whole.pop() ?? '';
    for (const line of whole) {
      if (!line.includes('"message":"chat"')) lines.push(line);
      else if (line.includes('"status":200')) served.push(entryOf(line));
    }
    const address = /listening on (http[^\s"]+)/.exec(lines.join('\n'))?.[1];
    if (address !== undefined) resolve(address);
  });
});

function entryOf(line: string): { readonly worker: number; readonly atMs: number } {
  const { worker, time } = JSON.parse(line) as { worker: number; time: string };
  return { worker, atMs: Date.parse(time) };
}

const startedAtMs = performance.now();
const endAtMs = startedAtMs + Number(SECONDS) * 1000;
const isOver = (): boolean => performance.now() >= endAtMs;
/** Chats by how they ended: a status, or the code of an error. */
const ended = new Map<string, number>();
let killed = 0;
const pageMs: number[] = [];
const fallen: string[] = [];
let pagesCut = 0;
let chatMsMost = 0;

/** Resolves with the status and the text, or rejects. */
function ask(method: string, path: string, agent: Agent | false, body = ''): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = sendRequest(`${url}${path}`, { method, agent, headers: { authorization: `Bearer ${TOKEN}` }, timeout: CHAT_MS_MAX }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => (text += more));
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('nothing came'), { code: 'TIMEOUT' })));
    outgoing.on('error', reject).end(body);
  });
}

async function chat(agent: Agent | false): Promise<void> {
  const beganAtMs = performance.now();
  const end = await ask('POST', '/v1/chat', agent, CHAT).then(({ status }) => String(status), (error: NodeJS.ErrnoException) => error.code ?? error.name);
  chatMsMost = Math.max(chatMsMost, performance.now() - beganAtMs);
  ended.set(end, (ended.get(end) ?? 0) + 1);
}

async function callOn(agent: Agent | false): Promise<void> {
  while (!isOver()) await chat(agent);
}

let before = new Map<string, number>();
/** No value may be below one that was seen before this page was asked for. */
function hold(page: string, seen: ReadonlyMap<string, number>): void {
  const next = new Map<string, number>();
  for (const { type, samples } of parsePage(page).values()) {
    if (type !== 'gauge') for (const { name, labels, value } of samples) next.set(`${name} ${[...labels].join(' ')}`, value);
  }
  for (const [series, value] of seen) if ((next.get(series) ?? -1) < value) fallen.push(`${series}: ${next.get(series)} after ${value}`);
  before = next;
}

async function scrape(): Promise<string | undefined> {
  const beganAtMs = performance.now();
  const seen = before;
  const page = await ask('GET', '/metrics', false).catch(() => undefined);
  if (page?.status !== 200) {
    // Of a worker that was killed while it was asked.
    pagesCut += 1;
    return undefined;
  }
  pageMs.push(performance.now() - beganAtMs);
  hold(page.text, seen);
  return page.text;
}

async function scrapeOn(): Promise<void> {
  const scrapes: Promise<unknown>[] = [];
  for (; !isOver(); await pause(SCRAPE_MS)) scrapes.push(scrape());
  await Promise.all(scrapes);
}

async function killOn(): Promise<void> {
  if (KILL_MS === '0') return;
  for (;;) {
    await pause(Number(KILL_MS));
    if (isOver()) return;
    const [oldest] = childrenOf(gateway.pid ?? 0);
    if (oldest === undefined) continue;
    process.kill(oldest, 'SIGKILL');
    killed += 1;
  }
}

async function reloadOn(): Promise<void> {
  if (RELOAD_MS === '0') return;
  for (;;) {
    await pause(Number(RELOAD_MS));
    if (isOver()) return;
    gateway.kill('SIGHUP');
  }
}

const agents = Array.from({ length: Number(CALLERS) }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
await Promise.all([...agents.map((agent) => callOn(agent)), ...agents.map(() => callOn(false)), scrapeOn(), killOn(), reloadOn()]);
for (const agent of agents) agent.destroy();

/** What the page says once two in a row say the same. */
async function counted(): Promise<number> {
  for (let last = -1; ; ) {
    await pause(1100);
    const page = await scrape();
    if (page === undefined) continue;
    const count = valueOf(page, 'gateway_http_requests_total', { route: 'chat', status: '200' }) ?? 0;
    if (count === last) return count;
    last = count;
  }
}

const answered = ended.get('200') ?? 0;
const cut = [...ended.values()].reduce((all, count) => all + count, 0) - answered;
const sum = await counted();
const gone = lines.filter((line) => line.includes('a worker ended')).map(entryOf);
// What it had not yet written to the log went with it, too.
const lostMax = Math.max(0, answered - served.length) + served.filter(({ worker, atMs }) => gone.some((end) => end.worker === worker && atMs > end.atMs - UNHEARD_MS)).length;
for (let more = 0; more < 100; more += 1) await chat(false);
const sumAfter = await counted();
gateway.kill('SIGTERM');
const [code] = (await once(gateway, 'exit')) as [number | null];

const slowest = Math.max(...pageMs);
const strange = [...ended].filter(([end]) => end !== '200' && !(killed > 0 && ['ECONNRESET', 'EPIPE'].includes(end)));
process.stdout.write(`${WORKERS} workers, ${SECONDS} s: ${killed} killed, ${lines.filter((line) => line.includes('were read again')).length} reloads
chats             ${[...ended].map(([end, count]) => `${end}: ${count}`).join(', ')}; the slowest ${chatMsMost.toFixed(0)} ms
pages             ${pageMs.length}, ${pagesCut} cut; the slowest ${slowest.toFixed(0)} ms
counted           ${sum} of ${answered} answered (at most ${lostMax} could die with their workers), then ${sumAfter - sum} of 100
`);
const wrong = [
  ...fallen.slice(0, 5).map((what) => `a counter fell: ${what}`),
  ...(sum > answered + cut || sum < answered - lostMax || sumAfter - sum !== 100 ? ['the sums are not what the callers had'] : []),
  ...(slowest > PAGE_MS_MAX ? ['a page took too long'] : []),
  ...strange.map(([end, count]) => `${count} chats ended in ${end}`),
  ...(code === 0 ? [] : [`exit ${code}`]),
];
process.stdout.write(wrong.length === 0 ? 'All is as it should be.\n' : `WRONG: ${wrong.join('; ')}\n`);
process.exit(wrong.length === 0 ? 0 : 1);
