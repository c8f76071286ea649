/** What a roll-out, a bug and a shortage of descriptors do to a gateway under load, as its own process; and the recipes for containers. */

import assert from 'node:assert/strict';
import { Agent, request as sendRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { parseDuration } from '../../src/base/duration.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { PROVIDER_ROWS } from '../../src/providers/index.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { RawCaller } from '../http/raw-caller.ts';
import { blocksOf, readPage } from '../readme.ts';
import { framesOf, holdReplies, PROVIDER_KEY, sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';
import { buildProgram } from './built-program.ts';
import { ROOT, RunningProcess } from './running-process.ts';

const PROGRAM = buildProgram();
const MAIN = join(PROGRAM, 'dist/main.js');

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };

type Started = { readonly sandbox: Sandbox; readonly running: RunningProcess; readonly address: string };

async function start(t: TestContext, environment: Readonly<Record<string, string>>, before: readonly string[] = []): Promise<Started> {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [...before, process.execPath, MAIN], { ...sandboxEnvironment(sandbox), ...environment });
  return { sandbox, running, address: await running.address() };
}

function ask(address: string, path: string, model: string, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = sendRequest(address + path, { method: 'POST', agent, headers: { authorization: `Bearer ${TOKEN}` } });
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => (text += more));
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    request.end(JSON.stringify({ model, messages: [user('x')] }));
  });
}

/** True for a stream that ended well. */
function isDone(answer: Answer): boolean {
  return framesOf(answer.text).at(-1)?.type === 'done';
}

/** Asks again and again on one connection, until it is told that an answer was the last on it. */
async function keepAsking(t: TestContext, address: string, path: string): Promise<Answer[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const answers: Answer[] = [];
  do answers.push(await ask(address, path, 'fake-late-40', agent));
  while (answers.at(-1)?.headers.connection !== 'close');
  return answers;
}

test('SIGTERM under load: unready first, every request in flight is answered, each connection told to close, exit 0', async (t) => {
  const { sandbox, running, address } = await start(t, { GATEWAY_DRAIN_DELAY: '2s' });
  const callers = Array.from({ length: 10 }, async (_, i) => ({ i, answers: await keepAsking(t, address, i % 2 === 0 ? '/v1/chat' : '/v1/chat/stream') }));
  await until(() => sandbox.calls.length >= 60);
  const prober = new RawCaller(t, address);
  running.child.kill('SIGTERM');
  await running.printed(/SIGTERM: draining/);
  const [ready] = await prober.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n').answered();
  assert.deepEqual([ready?.status, ready?.body, ready?.headers.get('connection')], [503, '{"status":"draining"}', 'close']);
  for (const { i, answers } of await Promise.all(callers)) {
    for (const answer of answers) {
      assert.equal(answer.status, 200);
      if (i % 2 === 1) assert.ok(isDone(answer));
    }
  }
  const { code, out } = await running.exited;
  assert.equal(code, 0);
  const lines = out.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.equal(lines.at(-1)?.['message'], 'stopped');
  assert.deepEqual(lines.filter((line) => line['level'] === 'error' || line['level'] === 'warn'), []);
});

test('at the end of the grace an open stream gets an error frame, a whole request 503, a half-sent one too, and it exits 0', async (t) => {
  const { sandbox, running, address } = await start(t, { GATEWAY_SHUTDOWN_GRACE: '200ms' });
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const whole = ask(address, '/v1/chat', 'fake-stall', agent);
  const stream = ask(address, '/v1/chat/stream', 'fake-stall-mid', agent);
  const half = new RawCaller(t, address).write(`POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 1000\r\n\r\n{`);
  await until(() => sandbox.calls.length === 2);
  await until(async () => {
    const page = await (await fetch(`${address}/metrics`)).text();
    return page.includes('gateway_open_streams 1\n') && page.includes('gateway_requests_in_flight 3\n');
  });
  running.child.kill('SIGTERM');
  assert.deepEqual([(await whole).status, JSON.parse((await whole).text)], [503, { kind: 'unknown', error: 'the gateway is shutting down' }]);
  assert.deepEqual(framesOf((await stream).text).at(-1), { type: 'error', kind: 'unknown', error: 'the gateway is shutting down' });
  assert.equal((await half.answered())[0]?.status, 503);
  const { code, out } = await running.exited;
  assert.equal(code, 0);
  assert.match(out, /stopped, with requests cut off at the end of GATEWAY_SHUTDOWN_GRACE/);
});

test('with nothing in flight a drain ends with its delay, idle connections or not', async (t) => {
  const { running, address } = await start(t, {});
  const idle = new RawCaller(t, address).write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await idle.answered();
  const silent = new RawCaller(t, address);
  running.child.kill('SIGTERM');
  assert.equal((await running.exited).code, 0);
  await Promise.all([idle.closed, silent.closed]);
});

for (const [signal, name] of [['SIGUSR2', 'TypeError'], ['SIGWINCH', 'RangeError']] as const) {
  test(`a bug outside of any request (${name}): logged once without its message, what is in flight finishes, exit 1`, async (t) => {
    const { sandbox, running, address } = await start(t, { NODE_OPTIONS: `--import ${join(ROOT, 'test/e2e/throw-on-signal.mjs')}` });
    const agent = new Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    const inFlight = ask(address, '/v1/chat', 'fake-late-300', agent);
    await until(() => sandbox.calls.length === 1);
    running.child.kill(signal);
    await running.printed(/an unexpected error/);
    assert.equal((await inFlight).status, 200);
    const { code, out, err } = await running.exited;
    assert.equal(code, 1);
    assert.equal(out.split('an unexpected error').length - 1, 1);
    assert.match(out, new RegExp(`"error":"${name}"`));
    assert.ok(!(out + err).includes(PROVIDER_KEY));
  });
}

test('a bug during a drain does not cut it short, and the exit code tells of it', async (t) => {
  const { sandbox, running, address } = await start(t, { NODE_OPTIONS: `--import ${join(ROOT, 'test/e2e/throw-on-signal.mjs')}` });
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const release = holdReplies(sandbox);
  const inFlight = ask(address, '/v1/chat', 'held', agent);
  await until(() => sandbox.calls.length === 1);
  running.child.kill('SIGTERM');
  await running.printed(/SIGTERM: draining/);
  running.child.kill('SIGUSR2');
  await running.printed(/an unexpected error/);
  release();
  assert.equal((await inFlight).status, 200);
  assert.equal((await running.exited).code, 1);
});

test('out of file descriptors it lives on, and serves again when there are some', async (t) => {
  const { running, address } = await start(t, {}, ['sh', '-c', 'ulimit -n 200; exec "$@"', 'sh']);
  const crowd = Array.from({ length: 300 }, () => new RawCaller(t, address).write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'));
  // Those that got in are served; the others are turned away, so that descriptors for providers are left.
  await until(() => crowd.filter((caller) => caller.answers.length > 0).length >= 50);
  assert.equal(running.child.exitCode, null);
  for (const caller of crowd) caller.socket.destroy();
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  await until(async () => (await ask(address, '/v1/chat', 'fake-chat', agent).catch(() => undefined))?.status === 200);
  assert.doesNotMatch(running.out, /an unexpected error/);
});

/** The page's block of this language with this in it. */
function recipe(language: string, part: string): string {
  const found = blocksOf(readPage('src/README.md')).filter((block) => block.language === language && block.text.includes(part));
  assert.equal(found.length, 1);
  return found[0]?.text ?? '';
}

/** The words of an instruction in exec form. */
function wordsOf(dockerfile: string, instruction: RegExp): readonly string[] {
  const [, list = ''] = instruction.exec(dockerfile.replaceAll('\\\n', '')) ?? [];
  return JSON.parse(list) as readonly string[];
}

test("the image's recipe serves as it says, and its health check needs no shell to tell a gateway that lives from one that does not", async (t) => {
  const image = recipe('dockerfile', 'HEALTHCHECK');
  const here = (words: readonly string[]): string[] => words.slice(1).map((word) => word.replaceAll('/app/', `${PROGRAM}/`));
  // Of what Node cannot do everywhere, an older one has another name, and a newer one asks for more.
  const known = (flag: string): boolean => process.allowedNodeEnvironmentFlags.has(flag);
  const flags = here(wordsOf(image, /^ENTRYPOINT (\[.*\])$/m)).map((word) => (word === '--permission' && !known(word) ? '--experimental-permission' : word));
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, ...(known('--allow-net') ? ['--allow-net'] : []), ...flags], sandboxEnvironment(sandbox));
  const address = await running.address();
  const check = here(wordsOf(image, /^HEALTHCHECK .*?CMD (\[.*\])$/m)).map((word) => word.replace('http://localhost:8080', address));
  assert.ok(check.includes(`${address}/healthz`));
  assert.deepEqual(await new RunningProcess(t, [process.execPath, ...check], {}).exited, { code: 0, out: '', err: '' });
  running.child.kill('SIGTERM');
  assert.equal((await running.exited).code, 0);
  const { code, err } = await new RunningProcess(t, [process.execPath, ...check], {}).exited;
  assert.deepEqual([code, err], [1, `gateway: ${address}/healthz could not be asked (ECONNREFUSED)\n`]);
});

test('the Deployment asks for paths that there are, sets what is a setting, and leaves time to drain and memory beside the heap', async (t) => {
  const deployment = recipe('yaml', 'kind: Deployment');
  const { address } = await start(t, {});
  const paths = [...deployment.matchAll(/httpGet: \{path: ([^,]+), port: 8080\}/g)].map(([, path = '']) => path);
  assert.deepEqual(paths, ['/readyz', '/healthz']);
  for (const path of paths) assert.equal((await fetch(address + path)).status, 200);
  const known: readonly string[] = [...SETTINGS.map(({ variable }) => variable), ...PROVIDER_ROWS.flatMap(({ keyVariables }) => keyVariables)];
  const variables = [...deployment.matchAll(/\{name: ([A-Z_]+),/g)].map(([, name = '']) => name);
  assert.deepEqual(variables.filter((name) => !known.includes(name.replace(/_FILE$/, ''))), []);
  assert.ok(variables.includes('GATEWAY_AUTH_TOKEN_FILE'));
  // The variables of a Service that has the Deployment's name would be unknown settings.
  assert.match(deployment, /metadata: \{name: gateway\}[\s\S]*\n      enableServiceLinks: false /);
  const settled = (variable: string): number => parseDuration(SETTINGS.find((row) => row.variable === variable)?.default ?? '') ?? NaN;
  const graceMs = 1000 * Number(/terminationGracePeriodSeconds: (\d+)/.exec(deployment)?.[1]);
  assert.ok(graceMs > settled('GATEWAY_DRAIN_DELAY') + settled('GATEWAY_SHUTDOWN_GRACE'));
  const heapMiB = Number(/--max-old-space-size=(\d+)/.exec(recipe('dockerfile', 'ENTRYPOINT'))?.[1]);
  assert.ok(Number(/limits: \{memory: (\d+)Mi\}/.exec(deployment)?.[1]) > heapMiB);
});
