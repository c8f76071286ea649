/** A gateway of several processes: one address, one page of metrics, one log, and what becomes of all that when one of them ends. */

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, readSync, renameSync, writeFileSync } from 'node:fs';
import { Agent, request as sendRequest } from 'node:http';
import https from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { startSandbox } from '../../src/sandbox/index.ts';
import { buildProgram, makeFolder } from '../e2e/built-program.ts';
import { ROOT, RunningProcess } from '../e2e/running-process.ts';
import { RawCaller } from '../http/raw-caller.ts';
import { parsePage, valueOf } from '../metrics-page.ts';
import { framesOf, holdReplies, PROVIDER_KEY, sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';
import { Caller } from '../streams/caller.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { childrenOf, isAlive, startWorkers } from './running-workers.ts';
import type { RunningWorkers } from './running-workers.ts';

const MAIN = join(buildProgram(), 'dist/main.js');
const ENDED = 'a worker ended, another takes its place';

/** Asks now and then: what is waited for takes a moment in other processes. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(10);
}

/** Holds every counter of each page to the one before. */
class Falling {
  #before = new Map<string, number>();
  pages = 0;

  check(page: string): void {
    this.pages += 1;
    const now = new Map<string, number>();
    for (const { type, samples } of parsePage(page).values()) {
      if (type === 'gauge') continue;
      for (const { name, labels, value } of samples) now.set(`${name} ${[...labels].join(' ')}`, value);
    }
    for (const [series, value] of this.#before) assert.ok((now.get(series) ?? -1) >= value, `${series}: ${now.get(series)} after ${value}`);
    this.#before = now;
  }
}

async function chats(gateway: RunningWorkers, count: number): Promise<void> {
  const answers = await Promise.all(Array.from({ length: count }, () => gateway.chat('fake-chat')));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  await Promise.all(answers.map((answer) => answer.text()));
}

test('four workers share an address, a page of metrics and a log; one is killed, and nobody else notices', async (t) => {
  const gateway = await startWorkers(t, MAIN, 4);
  const { running, sandbox, address } = gateway;
  const falling = new Falling();
  let isScraping = true;
  const scraping = (async () => {
    while (isScraping) falling.check(await gateway.page());
  })();
  const answered = async (): Promise<number | undefined> => valueOf(await gateway.page(), 'gateway_http_requests_total', { route: 'chat', status: '200' });

  await chats(gateway, 40);
  assert.deepEqual([...new Set(gateway.linesOf('chat').map((line) => line['worker']))].sort(), [1, 2, 3, 4]);
  await until(async () => (await answered()) === 40);
  assert.equal(valueOf(await gateway.page(), 'gateway_workers'), 4);

  const streams = Array.from({ length: 8 }, () => new Caller(t, address).ask({ provider: 'openai', model: 'fake-stall-mid', messages: [user('x')] }));
  for (const stream of streams) await stream.until(({ writes }) => writes.length > 0);
  const [, ...others] = gateway.pids;
  const killed = gateway.oldest;
  process.kill(killed, 'SIGKILL');
  await until(async () => {
    const page = await gateway.page();
    return valueOf(page, 'gateway_worker_restarts_total') === 1 && valueOf(page, 'gateway_workers') === 4;
  });
  const cut = streams.filter(({ socket }) => socket.destroyed).length;
  assert.ok(cut > 0 && cut < streams.length, `${cut}`);
  assert.deepEqual(gateway.pids.slice(0, 3), others);
  assert.equal(gateway.linesOf(ENDED)[0]?.['how'], 'SIGKILL');
  assert.equal(gateway.linesOf(ENDED).length, 1);
  assert.equal(await answered(), 40);

  await chats(gateway, 40);
  await until(async () => (await answered()) === 80);
  assert.ok(gateway.linesOf('chat').some((line) => line['worker'] === 5), 'the new one serves');
  for (const stream of streams) stream.socket.destroy();
  isScraping = false;
  await scraping;
  assert.ok(falling.pages > 2);

  const release = holdReplies(sandbox);
  const held = gateway.chat('held');
  const before = sandbox.calls.length;
  await until(() => sandbox.calls.length > before);
  const { pids } = gateway;
  running.child.kill('SIGTERM');
  await running.printed(/SIGTERM: draining/);
  release();
  assert.equal((await held).status, 200);
  const { code, err } = await running.exited;
  assert.deepEqual([code, err], [0, '']);
  assert.deepEqual(pids.filter(isAlive), []);
  for (const message of ['settings', `listening on ${address}`, 'SIGTERM: draining', 'stopped']) {
    assert.deepEqual(gateway.linesOf(message).map((line) => line['worker']), [undefined], message);
  }
});

test('an address that is taken is one line and exit 1, and no worker is started', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const address = taken.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const running = new RunningProcess(t, [process.execPath, MAIN], { OPENAI_API_KEY: PROVIDER_KEY, GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_WORKERS: '3', GATEWAY_ADDR: `127.0.0.1:${port}` });
  const { code, out } = await running.exited;
  assert.equal(code, 1);
  assert.deepEqual(out.split('\n').filter((line) => /"level":"(error|warn)"/.test(line)).map((line) => (JSON.parse(line) as { message: string }).message), ['GATEWAY_ADDR: cannot listen there (EADDRINUSE)']);
});

test('without a primary nothing is a worker', async (t) => {
  const { code, err } = await new RunningProcess(t, [process.execPath, MAIN, '--worker'], {}).exited;
  assert.deepEqual([code, err], [2, 'gateway: unknown argument "--worker". Try --help.\n']);
});

test('when the primary is killed its workers finish what is in flight and end, and the address is free', async (t) => {
  const gateway = await startWorkers(t, MAIN, 2);
  const release = holdReplies(gateway.sandbox);
  const held = [gateway.chat('held'), gateway.chat('held')];
  await until(() => gateway.sandbox.calls.length === 2);
  const { pids } = gateway;
  gateway.running.child.kill('SIGKILL');
  await until(() => gateway.linesOf('the primary is gone: draining, then exiting with 1').length === 2);
  const next = createServer();
  t.after(() => next.close());
  await new Promise<void>((resolve) => next.listen(Number(new URL(gateway.address).port), '127.0.0.1', resolve));
  release();
  assert.deepEqual((await Promise.all(held)).map(({ status }) => status), [200, 200]);
  await until(() => !pids.some(isAlive));
});

test('a worker that hangs is counted as silent and given nothing; what it was given others serve once it is killed; the grace ends it', async (t) => {
  const gateway = await startWorkers(t, MAIN, 2, { GATEWAY_SHUTDOWN_GRACE: '100ms' });
  const hanging = gateway.oldest;
  const answered = async (): Promise<number | undefined> => valueOf(await gateway.page(), 'gateway_http_requests_total', { route: 'chat', status: '200' });
  await chats(gateway, 4);
  await until(async () => (await answered()) === 4);
  process.kill(hanging, 'SIGSTOP');
  t.after(() => isAlive(hanging) && process.kill(hanging, 'SIGKILL'));
  // Of two connections each is given one. What the hanging one was given before anybody knew waits for it.
  const callers = [0, 1].map(() => new RawCaller(t, gateway.address).write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'));
  await Promise.race(callers.map((caller) => caller.answered()));
  await until(async () => valueOf(await gateway.page(), 'gateway_workers_silent') === 1);
  await chats(gateway, 10);
  await until(async () => (await answered()) === 14);
  assert.equal(callers.filter(({ answers }) => answers.length === 0).length, 1);
  process.kill(hanging, 'SIGKILL');
  await Promise.all(callers.map((caller) => caller.answered()));

  const next = gateway.oldest;
  process.kill(next, 'SIGSTOP');
  t.after(() => isAlive(next) && process.kill(next, 'SIGKILL'));
  gateway.running.child.kill('SIGTERM');
  assert.equal((await gateway.running.exited).code, 0);
  assert.ok(!isAlive(next));
  assert.equal(gateway.linesOf('a worker did not end within GATEWAY_SHUTDOWN_GRACE and is ended').length, 1);
});

test('workers that a signal ends before they have begun to serve cut nobody off', async (t) => {
  const stuck = join(makeFolder(t), 'stuck.cjs');
  writeFileSync(stuck, "if (process.argv.includes('--worker')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);");
  const running = new RunningProcess(t, [process.execPath, MAIN], {
    OPENAI_API_KEY: PROVIDER_KEY,
    GATEWAY_AUTH_TOKEN: TOKEN,
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_WORKERS: '2',
    NODE_OPTIONS: `--require ${stuck}`,
  });
  const primary = running.child.pid ?? 0;
  await until(() => childrenOf(primary).length === 2);
  running.child.kill('SIGINT');
  await running.printed(/SIGINT: draining/);
  for (const pid of childrenOf(primary)) process.kill(pid, 'SIGINT');
  const { code, out } = await running.exited;
  assert.equal(code, 0);
  assert.match(out, /"message":"stopped"\}\n$/);
});

test('callers that were accepted before a drain are served, however many there are for each worker', async (t) => {
  const gateway = await startWorkers(t, MAIN, 2);
  const { pids } = gateway;
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  t.after(() => pids.filter(isAlive).forEach((pid) => process.kill(pid, 'SIGKILL')));
  const callers = Array.from({ length: 10 }, () => new RawCaller(t, gateway.address).write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'));
  await Promise.all(callers.map(({ socket }) => once(socket, 'connect')));
  gateway.running.child.kill('SIGTERM');
  await gateway.running.printed(/SIGTERM: draining/);
  for (const pid of pids) process.kill(pid, 'SIGCONT');
  await Promise.all(callers.map((caller) => caller.answered()));
  assert.equal((await gateway.running.exited).code, 0);
});

test('a bug in a worker: what it has in flight finishes while another takes its place; a second signal ends all at once', async (t) => {
  const gateway = await startWorkers(t, MAIN, 2, { NODE_OPTIONS: `--import ${join(ROOT, 'test/e2e/throw-on-signal.mjs')}`, GATEWAY_DRAIN_DELAY: '60s' });
  const { running, sandbox } = gateway;
  const release = holdReplies(sandbox);
  const held = [gateway.chat('held'), gateway.chat('held')];
  await until(() => sandbox.calls.length === 2);
  const faulty = gateway.oldest;
  process.kill(faulty, 'SIGUSR2');
  await until(async () => {
    const page = await gateway.page();
    return valueOf(page, 'gateway_worker_restarts_total') === 1 && valueOf(page, 'gateway_workers') === 2;
  });
  assert.ok(isAlive(faulty));
  release();
  assert.deepEqual((await Promise.all(held)).map(({ status }) => status), [200, 200]);
  await until(() => !isAlive(faulty));
  assert.equal(gateway.linesOf('an unexpected error: draining, then exiting with 1').length, 1);
  await until(async () => valueOf(await gateway.page(), 'gateway_http_requests_total', { route: 'chat', status: '200' }) === 2);

  const stream = gateway.chat('fake-stall-mid', 'x', true);
  const opened = await stream;
  const { pids } = gateway;
  running.child.kill('SIGTERM');
  await running.printed(/SIGTERM: draining/);
  running.child.kill('SIGTERM');
  assert.equal(framesOf(await opened.text()).at(-1)?.type, 'error');
  assert.equal((await running.exited).code, 1);
  assert.deepEqual(pids.filter(isAlive), []);
  assert.equal(gateway.linesOf('chat_stream').filter((line) => line['ended'] === 'shutdown').length, 1);
});

test('limits hold for four workers as for one, and workers that are killed give their places back', async (t) => {
  const gateway = await startWorkers(t, MAIN, 4, { GATEWAY_CALLER_LIMITS: 'default:rpm=20,concurrent=6' });
  const { sandbox } = gateway;
  const startedAtMs = performance.now();
  const statuses = async (models: readonly string[]): Promise<readonly number[]> => Promise.all(models.map(async (model) => {
    const answer = await gateway.chat(model).catch(() => undefined);
    await answer?.text().catch(() => undefined);
    return answer?.status ?? 0;
  }));
  // At once, to workers that have yet to serve anything.
  const held = statuses(Array.from({ length: 48 }, () => 'fake-stall'));
  await until(() => gateway.linesOf('chat').length >= 42 && sandbox.calls.length >= 6);
  assert.deepEqual([gateway.linesOf('chat').length, sandbox.calls.length], [42, 6]);
  // Nobody knows which of them have the places.
  for (const pid of gateway.pids) process.kill(pid, 'SIGKILL');
  await until(() => gateway.linesOf(ENDED).length === 4);
  const answers: number[] = [];
  for (let asked = 0; asked < 40; asked += 1) answers.push(...(await statuses(['fake-chat'])));
  const admitted = 6 + answers.filter((status) => status === 200).length;
  assert.ok(answers.includes(200) && answers.includes(429), answers.join(' '));
  assert.ok(admitted >= 20 && admitted <= 21 + (performance.now() - startedAtMs) / 3000, `${admitted}`);
  gateway.running.child.kill('SIGKILL');
  await held;
});

test('what one worker finds out of a target all know, also those that are started later', async (t) => {
  const gateway = await startWorkers(t, MAIN, 2, { GATEWAY_ROUTES: 'smart=anthropic/fake-status-404,openai/fake-chat' });
  const askedInVain = (): number => gateway.sandbox.calls.filter(({ model }) => model === 'fake-status-404').length;
  const ask = async (): Promise<void> => {
    const headers = { authorization: `Bearer ${TOKEN}`, connection: 'close' };
    const answer = await fetch(`${gateway.address}/v1/chat`, { method: 'POST', headers, body: JSON.stringify({ model: 'smart', messages: [user('Hello')] }) });
    assert.equal(answer.status, 200, await answer.text());
  };
  await ask();
  const isOut = /^gateway_target_out\{provider="anthropic",model="fake-status-404"\} 1$/m;
  await until(async () => isOut.test(await gateway.page()));
  for (let asked = 0; asked < 8; asked += 1) await ask();
  assert.equal(askedInVain(), 1);
  for (const pid of gateway.pids) process.kill(pid, 'SIGKILL');
  await until(() => gateway.linesOf(ENDED).length === 2);
  await until(async () => /^gateway_workers 2$/m.test(await gateway.page()));
  for (let asked = 0; asked < 8; asked += 1) await ask();
  assert.equal(askedInVain(), 1);
});

test('SIGHUP reaches every worker; a bad file changes nothing, not even for a worker that is started later', async (t) => {
  const folder = makeFolder(t);
  const [tokenFile, routingFile] = [join(folder, 'token'), join(folder, 'routing.json')];
  const write = (text: string): void => {
    writeFileSync(`${tokenFile}.new`, text);
    renameSync(`${tokenFile}.new`, tokenFile);
  };
  write('the-first-token-of-callers');
  writeFileSync(routingFile, '{"providers": {"removed-later": {"like": "compat", "base_url": "http://127.0.0.1:1"}}}');
  const gateway = await startWorkers(t, MAIN, 2, { GATEWAY_AUTH_TOKEN: '', GATEWAY_AUTH_TOKEN_FILE: tokenFile, GATEWAY_ROUTING_FILE: routingFile });
  const { running, address } = gateway;
  const ask = async (token: string): Promise<readonly (readonly [status: number, body: string])[]> => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => fetch(`${address}/v1/providers`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } })));
    return Promise.all(answers.map(async (answer) => [answer.status, await answer.text()] as const));
  };
  const statuses = async (token: string): Promise<readonly number[]> => [...new Set((await ask(token)).map(([status]) => status))];
  assert.deepEqual(await statuses('the-first-token-of-callers'), [200]);
  write('the-second-token-of-callers');
  writeFileSync(routingFile, '{"providers": {"known-between": {"like": "compat", "base_url": "http://127.0.0.1:1"}}}');
  running.child.kill('SIGHUP');
  await running.printed(/were read again","changed":"token of default, provider known-between"/);
  await running.printed(/takes a restart","changed":"provider removed-later"/);
  writeFileSync(routingFile, '{}');
  running.child.kill('SIGHUP');
  await running.printed(/takes a restart","changed":"provider known-between, provider removed-later"/);
  assert.deepEqual([await statuses('the-first-token-of-callers'), await statuses('the-second-token-of-callers')], [[401], [200]]);

  write('with a space\n and a break');
  running.child.kill('SIGHUP');
  await running.printed(/nothing was changed, since what was read is not valid/);
  const killed = gateway.oldest;
  process.kill(killed, 'SIGKILL');
  await until(() => gateway.linesOf(ENDED).length === 1);
  await until(async () => {
    const page = await gateway.page();
    return valueOf(page, 'gateway_worker_restarts_total') === 1 && valueOf(page, 'gateway_workers') === 2;
  });
  const asked = await ask('the-second-token-of-callers');
  for (const [status, body] of asked) assert.deepEqual([status, body.includes('removed-later'), body.includes('known-between')], [200, true, true]);
});

test('workers have the files that their primary read, whatever these are called', async (t) => {
  const folder = makeFolder(t);
  writeFileSync(join(folder, '__proto__'), TOKEN);
  const environment = { GATEWAY_ADDR: '127.0.0.1:0', OPENAI_API_KEY: PROVIDER_KEY, GATEWAY_AUTH_TOKEN_FILE: '__proto__', GATEWAY_WORKERS: '2' };
  const address = await new RunningProcess(t, [process.execPath, MAIN], environment, folder).address();
  const { status } = await fetch(`${address}/v1/providers`, { headers: { authorization: `Bearer ${TOKEN}` } });
  assert.equal(status, 200);
});

test('TLS sessions are resumed at another worker, also with a certificate that was read again', async (t) => {
  const folder = makeFolder(t);
  const write = (): Buffer => {
    const { cert, key } = createCertificate();
    writeFileSync(join(folder, 'cert.pem'), cert);
    writeFileSync(join(folder, 'key.pem'), key);
    return Buffer.from(cert);
  };
  let ca = write();
  const gateway = await startWorkers(t, MAIN, 2, { GATEWAY_TLS_CERT_FILE: join(folder, 'cert.pem'), GATEWAY_TLS_KEY_FILE: join(folder, 'key.pem') });
  const port = Number(new URL(gateway.address).port);
  let session: Buffer | undefined;
  /** Whether the session of the connection before was resumed. */
  const ask = (): Promise<boolean> => new Promise((resolve, reject) => {
    const request = https.get({ port, path: '/healthz', ca, servername: 'localhost', agent: false, ...(session === undefined ? {} : { session }) }, (response) => {
      const isResumed = (response.socket as TLSSocket).isSessionReused();
      response.resume().on('end', () => resolve(isResumed));
    });
    request.on('error', reject);
    request.on('socket', (socket) => socket.on('session', (next: Buffer) => (session = next)));
  });
  const resumed = async (): Promise<readonly boolean[]> => [await ask(), await ask(), await ask(), await ask()];
  assert.deepEqual(await resumed(), [false, true, true, true]);
  ca = write();
  gateway.running.child.kill('SIGHUP');
  await gateway.running.printed(/"changed":"certificate"/);
  session = undefined;
  assert.deepEqual(await resumed(), [false, true, true, true]);
  gateway.running.child.kill('SIGTERM');
  assert.equal((await gateway.running.exited).code, 0);
});

test('on a Unix socket it is the same, and no file is left behind', async (t) => {
  const path = join(makeFolder(t), 'gateway.sock');
  const running = new RunningProcess(t, [process.execPath, MAIN], { OPENAI_API_KEY: PROVIDER_KEY, GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_DRAIN_DELAY: '0', GATEWAY_ADDR: `unix:${path}`, GATEWAY_WORKERS: '2' });
  await running.printed(/listening on unix:/);
  const status = await new Promise((resolve, reject) => sendRequest({ socketPath: path, path: '/readyz' }, (response) => resolve(response.resume().statusCode)).on('error', reject).end());
  assert.equal(status, 200);
  running.child.kill('SIGTERM');
  assert.equal((await running.exited).code, 0);
  assert.ok(!existsSync(path));
});

test('no line of one worker stands inside a line of another, however long they are and slow the reader is', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  // What Node gives a child as 'pipe' is a socket.
  const path = join(makeFolder(t), 'pipe');
  execFileSync('mkfifo', [path]);
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const write = openSync(path, constants.O_WRONLY);
  t.after(() => closeSync(read));
  const environment = { PATH: process.env['PATH'] ?? '', ...sandboxEnvironment(sandbox), GATEWAY_LOG_LEVEL: 'info', GATEWAY_WORKERS: '4' };
  const child = spawn(process.execPath, [MAIN], { env: environment, stdio: ['ignore', write, 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  closeSync(write);
  const chunks: Buffer[] = [];
  const readOn = (bytesMax: number): boolean => {
    const chunk = Buffer.alloc(bytesMax);
    try {
      const count = readSync(read, chunk);
      chunks.push(chunk.subarray(0, count));
      return count > 0;
    } catch {
      return false;
    }
  };
  const text = (): string => Buffer.concat(chunks).toString();
  const lines = (): readonly string[] => text().split('\n').slice(0, -1);
  await until(() => !readOn(3000) && text().includes('listening on'));
  const address = /listening on (http[^\s"]+)/.exec(text())?.[1] ?? '';

  // Each line 2 KB: it has a name twice whose characters are written as six each.
  const strange = '\u200b'.repeat(128);
  const agent = new Agent({ keepAlive: true, maxSockets: 40 });
  t.after(() => agent.destroy());
  const ask = (): Promise<void> => new Promise((resolve, reject) => {
    const request = sendRequest(`${address}/v1/chat`, { method: 'POST', agent, headers: { authorization: `Bearer ${TOKEN}` } }, (response) => {
      response.resume().on('end', resolve);
    });
    request.on('error', reject).end(JSON.stringify({ provider: 'openai', model: strange, messages: [user('x')] }));
  });
  let isAnswered = false;
  const asked = Promise.all(Array.from({ length: 600 }, ask)).then(() => (isAnswered = true));
  const chatLines = (): readonly Record<string, unknown>[] => lines().map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line['message'] === 'chat');
  // Slower than what comes, so that the pipe is full most of the time.
  while (readOn(3000) || !isAnswered) await new Promise((resolve) => setImmediate(resolve));
  await asked;
  await until(() => !readOn(3000) && chatLines().length >= 600);
  assert.equal(chatLines().length, 600);
  assert.ok(chatLines().every((line) => typeof line['worker'] === 'number'));
  assert.ok(lines().filter((line) => line.length > 1500).length >= 600);
});
