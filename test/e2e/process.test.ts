/** The gateway as its own process: start-up, refusal to start, signals, the built program alone. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startSandbox } from '../../src/sandbox/index.ts';
import { RawCaller } from '../http/raw-caller.ts';
import { framesOf, holdReplies, sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';
import { Caller } from '../streams/caller.ts';
import { until } from '../streams/wires.ts';
import { buildProgram } from './built-program.ts';
import { RunningProcess } from './running-process.ts';

const FOLDER = buildProgram();
const MAIN = join(FOLDER, 'dist/main.js');

function chat(address: string, body: object): Promise<Response> {
  return fetch(`${address}/v1/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify(body),
  });
}

test('with nothing configured it does not start, and names every problem on a line of its own', async (t) => {
  const { code, out, err } = await new RunningProcess(t, [process.execPath, MAIN], { GATEWAY_MAX_RETRIES: 'many', GATEWAY_ADDR: 'nowhere' }).exited;
  assert.equal(code, 1);
  assert.equal(out, '');
  for (const variable of ['GATEWAY_AUTH_TOKEN', 'GATEWAY_MAX_RETRIES', 'GATEWAY_ADDR', 'ANTHROPIC_API_KEY']) {
    assert.ok(err.split('\n').some((line) => line.includes(variable)), `${variable} in ${err}`);
  }
});

test('--check says whether the configuration is good, --help and --version answer, an unknown argument is refused', async (t) => {
  const good = { GATEWAY_AUTH_TOKEN: TOKEN, ANTHROPIC_API_KEY: 'k'.repeat(20) };
  const { code, out } = await new RunningProcess(t, [process.execPath, MAIN, '--check'], { ...good, GATEWAY_ROUTES: 'smart=anthropic/m' }).exited;
  assert.equal(code, 0);
  assert.match(out, /^The configuration is good\.\n\nRoutes\n {2}smart\n {4}1 {3}anthropic\/m {3}1 key /);
  const typing = await new RunningProcess(t, [process.execPath, MAIN, '--check'], { ...good, GATEWAY_MAX_RETRYS: '1' }).exited;
  assert.equal(typing.code, 1);
  assert.match(typing.err, /GATEWAY_MAX_RETRYS.*GATEWAY_MAX_RETRIES/);
  assert.match((await new RunningProcess(t, [process.execPath, MAIN, '--help'], {}).exited).out, /GATEWAY_AUTH_TOKEN/);
  assert.match((await new RunningProcess(t, [process.execPath, MAIN, '--version'], {}).exited).out, /^\d+\.\d+\.\d+\n$/);
  assert.equal((await new RunningProcess(t, [process.execPath, MAIN, '--frobnicate'], {}).exited).code, 2);
});

test('SIGTERM: unready, the request in flight finishes, exit 0', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, MAIN], { ...sandboxEnvironment(sandbox), GATEWAY_DRAIN_DELAY: '1s' });
  const address = await running.address();
  const release = holdReplies(sandbox);
  const slow = chat(address, { model: 'held', messages: [user('x')] });
  while (sandbox.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  running.child.kill('SIGTERM');
  while ((await fetch(`${address}/readyz`)).status !== 503);
  release();
  assert.equal((await slow).status, 200);
  const { code, out } = await running.exited;
  assert.equal(code, 0);
  for (const line of out.trim().split('\n')) JSON.parse(line);
  assert.match(out, /"message":"stopped"/);
});

test('a second signal stops it at once', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, MAIN], { ...sandboxEnvironment(sandbox), GATEWAY_DRAIN_DELAY: '60s' });
  await running.address();
  running.child.kill('SIGINT');
  await running.printed(/draining/);
  running.child.kill('SIGINT');
  assert.equal((await running.exited).code, 1);
});

test('a second signal ends open streams with an error frame and logs every request in flight', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, MAIN], { ...sandboxEnvironment(sandbox), GATEWAY_DRAIN_DELAY: '60s' });
  const address = await running.address();
  const streamed = fetch(`${address}/v1/chat/stream`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ model: 'fake-stall-mid', messages: [user('x')] }),
  });
  const whole = chat(address, { model: 'fake-stall', messages: [user('x')] });
  const stream = await streamed;
  while (sandbox.calls.length < 2) await new Promise((resolve) => setImmediate(resolve));
  running.child.kill('SIGTERM');
  await running.printed(/draining/);
  running.child.kill('SIGTERM');
  assert.equal(framesOf(await stream.text()).at(-1)?.type, 'error');
  assert.equal((await whole).status, 503);
  const { code, out } = await running.exited;
  assert.equal(code, 1);
  const lines = out.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(lines.filter((line) => line['ended'] === 'shutdown').map((line) => line['route']).sort(), ['chat', 'chat_stream']);
});

test('a second signal logs also the request whose caller takes nothing', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, MAIN], { ...sandboxEnvironment(sandbox), GATEWAY_DRAIN_DELAY: '60s' });
  const caller = new Caller(t, await running.address()).ask({ model: 'fake-flood', messages: [user('x')] });
  await caller.until(({ receivedBytes }) => receivedBytes > 0);
  caller.socket.pause();
  running.child.kill('SIGTERM');
  await running.printed(/draining/);
  running.child.kill('SIGTERM');
  assert.match((await running.exited).out, /"message":"chat_stream"/);
});

test('idle callers leave descriptors for providers: whoever is connected is served, and no provider is blamed', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const environment = { ...sandboxEnvironment(sandbox), GATEWAY_LOG_LEVEL: 'info' };
  const running = new RunningProcess(t, ['/bin/sh', '-c', 'ulimit -n 200 && exec "$@"', 'sh', process.execPath, MAIN], environment);
  const address = await running.address();
  const connected = new RawCaller(t, address);
  connected.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await connected.answered();
  const idle = Array.from({ length: 240 }, () => new RawCaller(t, address));
  // Half of the descriptors that are not reserved are for callers.
  await until(() => idle.filter(({ socket }) => socket.destroyed).length >= 240 - 75);
  await running.printed(/connections cannot be accepted \(GATEWAY_MAX_CONNECTIONS\)/);
  const body = JSON.stringify({ model: 'fake-chat', messages: [user('x')] });
  connected.write(`POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  assert.equal((await connected.answered(2))[1]?.status, 200);
  connected.write(`GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n`);
  const page = (await connected.answered(3))[2]?.body ?? '';
  assert.match(page, /gateway_upstream_attempts_total\{provider="anthropic",outcome="success"\} 1\n/);
  assert.doesNotMatch(page, /gateway_upstream_retries_total\{/);
  assert.match(page, /\ngateway_connections_dropped_total [1-9]/);
});

test('an address that is taken is said in one line', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const taken = new URL(sandbox.url).host;
  const { code, out } = await new RunningProcess(t, [process.execPath, MAIN], { ...sandboxEnvironment(sandbox), GATEWAY_ADDR: taken }).exited;
  assert.equal(code, 1);
  assert.match(out, /GATEWAY_ADDR: cannot listen there \(EADDRINUSE\)/);
});

test('the built program runs with dist and package.json alone', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, 'dist/main.js'], sandboxEnvironment(sandbox), FOLDER);
  const response = await chat(await running.address(), { model: 'fake-chat', messages: [user('built')] });
  assert.equal(response.status, 200);
  assert.match(await response.text(), /built/);
});
