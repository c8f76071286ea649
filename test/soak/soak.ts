/**
 * A gateway process under requests and under streams whose callers hang up: what it holds before and after.
 *
 * The provider in front of which it stands is as cheap as one can be, and closes its idle connections before each
 * measurement, so that every socket that is left is one too many.
 */

import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request as sendRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inParallel } from '../faults/upstream.ts';
import type { Holdings } from './probe.ts';

export type Soak = {
  readonly before: Holdings;
  readonly after: Holdings;
  /** Requests that the gateway still served, and connections that the provider still had, when all was over. */
  readonly inFlight: number;
  readonly upstreamConnections: number;
  /** What the gateway's process wrote to stderr: warnings, e.g. of too many listeners. */
  readonly warnings: string;
};

const TOKEN = 'a-caller-token-for-the-soak';
const WIDTH = 50;
const WARM_UP = 200;

const FRAME = 'data: {"id":"c1","model":"m1","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n';
const REPLY = JSON.stringify({
  id: 'c1',
  model: 'm1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'A short answer.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
});

/**
 * Opens `crowd` streams at once, then runs so many requests and so many streams that end early. In this order, because
 * node:http lets go of what it held for a crowd of connections only seconds after their end.
 */
export async function soak(streams: number, requests: number, crowd: number): Promise<Soak> {
  const upstream = await startUpstream();
  const { port } = upstream.address() as AddressInfo;
  const gateway = await startGateway(port);
  const { child, url } = gateway;
  const load = async (streamCount: number, requestCount: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: WIDTH });
    await inParallel(requestCount, WIDTH, () => ask(url, agent));
    await inParallel(streamCount, WIDTH, (index) => abort(url, index));
    agent.destroy();
  };
  const idle = async (): Promise<void> => {
    while ((await inFlight(url)) > 0) await new Promise(setImmediate);
    upstream.closeIdleConnections();
    while ((await openConnections(upstream)) > 0) await new Promise(setImmediate);
  };
  try {
    await load(WARM_UP, WARM_UP);
    await idle();
    const before = await settledHoldings(child);
    await openAtOnce(url, crowd);
    await load(streams, requests);
    await idle();
    const after = await settledHoldings(child, before);
    return { before, after, inFlight: await inFlight(url), upstreamConnections: await openConnections(upstream), warnings: gateway.warnings() };
  } finally {
    child.kill('SIGKILL');
    upstream.closeAllConnections();
    upstream.close();
  }
}

export async function startUpstream(): Promise<Server> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => answer(response, body));
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function answer(response: ServerResponse, body: string): void {
  if (!body.includes('"stream":true')) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(REPLY) });
    response.end(REPLY);
    return;
  }
  if (body.includes('silent')) return;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (body.includes('endless')) {
    const write = (): void => {
      while (!response.destroyed && response.write(FRAME.repeat(50)));
    };
    response.on('drain', write);
    write();
  } else {
    response.write(FRAME);
  }
}

type RunningGateway = { readonly child: ChildProcess; readonly url: string; readonly warnings: () => string };

async function startGateway(port: number): Promise<RunningGateway> {
  const child = fork(fileURLToPath(new URL('../../src/main.ts', import.meta.url)), [], {
    execArgv: ['--expose-gc', '--import', 'tsx', '--import', new URL('probe.ts', import.meta.url).href],
    env: {
      PATH: process.env['PATH'] ?? '',
      GATEWAY_TRANSPORT: process.env['GATEWAY_TRANSPORT'] ?? 'wire',
      GATEWAY_ADDR: '127.0.0.1:0',
      GATEWAY_AUTH_TOKEN: TOKEN,
      GATEWAY_COMPAT_BASE_URL: `http://127.0.0.1:${port}`,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let warnings = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (warnings += text));
  const url = await new Promise<string>((resolve, reject) => {
    let out = '';
    // Goes on reading to the end: log lines that nobody reads are held back.
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (out.length < 10_000) out += text;
      const address = /listening on (http[^\s"]+)/.exec(out)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.on('exit', () => reject(new Error(`the gateway did not start: ${warnings}`)));
  });
  return { child, url, warnings: () => warnings };
}

/** One request on a kept connection, answered whole. */
async function ask(url: string, agent: Agent): Promise<void> {
  const outgoing = sendRequest(`${url}/v1/chat`, { method: 'POST', agent, headers: { authorization: `Bearer ${TOKEN}` } });
  outgoing.end('{"model":"m","messages":[{"role":"user","text":"x"}]}');
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  await once(response.resume(), 'end');
  if (response.statusCode === 200) return;
  if (response.statusCode !== 429) throw new Error(`answered ${response.statusCode}`);
  // The machine is too busy for both sides: as any caller would, try again when the gateway says so.
  await delay(Number(response.headers['retry-after']) * 1000);
  await ask(url, agent);
}

/** A stream whose caller hangs up: before the answer, after its first event, or in the middle of a flood. */
function abort(url: string, index: number): Promise<void> {
  return new Promise((resolve) => {
    const how = ['silent', 'one event', 'endless'][index % 3] ?? '';
    const outgoing = sendRequest(`${url}/v1/chat/stream`, { method: 'POST', agent: false, headers: { authorization: `Bearer ${TOKEN}` } }, (response) => {
      response.on('error', () => undefined);
      response.once('data', () => outgoing.destroy());
    });
    outgoing.on('error', () => undefined);
    outgoing.on('close', resolve);
    outgoing.end(`{"model":"m","messages":[{"role":"user","text":"${how}"}]}`, () => {
      if (how === 'silent') setImmediate(() => outgoing.destroy());
    });
  });
}

/** Opens so many streams, and hangs up once all have had their first event. Throws when one has another answer. */
async function openAtOnce(url: string, count: number): Promise<void> {
  const open: ClientRequest[] = [];
  await inParallel(count, WIDTH, async () => {
    const outgoing = sendRequest(`${url}/v1/chat/stream`, { method: 'POST', agent: false, headers: { authorization: `Bearer ${TOKEN}` } });
    outgoing.end('{"model":"m","messages":[{"role":"user","text":"one event"}]}');
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const [chunk] = (await once(response, 'data')) as [Buffer];
    if (!chunk.includes('text_delta')) throw new Error(`one of ${count} streams was answered ${chunk.toString()}`);
    open.push(outgoing);
  });
  for (const outgoing of open) outgoing.on('error', () => undefined).destroy();
}

async function inFlight(url: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
  return Number(/^gateway_requests_in_flight (\d+)$/m.exec(page)?.[1]);
}

function openConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}

/** Measurements until two agree, or are back to the base: sockets close in their own time. */
async function settledHoldings(child: ChildProcess, base?: Holdings): Promise<Holdings> {
  let last: Holdings | undefined;
  for (let tries = 0; tries < 200; tries += 1) {
    const measured = once(child, 'message') as Promise<[Holdings]>;
    child.send('measure');
    const [now] = await measured;
    const isBack = base === undefined ? now.fds === last?.fds && now.sockets === last.sockets : now.fds <= base.fds && now.sockets <= base.sockets;
    if (isBack && now.timers <= (base ?? now).timers) return now;
    last = now;
  }
  if (last === undefined) throw new Error('nothing was measured');
  return last;
}
