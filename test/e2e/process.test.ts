/** The gateway as its own process: start-up, refusal to start, signals, the built program alone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';
import { buildProgram } from './built-program.ts';
import { MAIN, RunningProcess } from './running-process.ts';

function chat(address: string, body: object): Promise<Response> {
  return fetch(`${address}/v1/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify(body),
  });
}

test('with nothing configured it does not start, and names every problem on a line of its own', async (t) => {
  const { code, out, err } = await new RunningProcess(t, [process.execPath, ...MAIN], { GATEWAY_MAX_RETRIES: 'many', GATEWAY_ADDR: 'nowhere' }).exited;
  assert.equal(code, 1);
  assert.equal(out, '');
  for (const variable of ['GATEWAY_AUTH_TOKEN', 'GATEWAY_MAX_RETRIES', 'GATEWAY_ADDR', 'ANTHROPIC_API_KEY']) {
    assert.ok(err.split('\n').some((line) => line.includes(variable)), `${variable} in ${err}`);
  }
});

test('--check says whether the configuration is good, --help and --version answer, an unknown argument is refused', async (t) => {
  const good = { GATEWAY_AUTH_TOKEN: TOKEN, ANTHROPIC_API_KEY: 'k'.repeat(20) };
  assert.deepEqual((await new RunningProcess(t, [process.execPath, ...MAIN, '--check'], good).exited).code, 0);
  const typing = await new RunningProcess(t, [process.execPath, ...MAIN, '--check'], { ...good, GATEWAY_MAX_RETRYS: '1' }).exited;
  assert.equal(typing.code, 1);
  assert.match(typing.err, /GATEWAY_MAX_RETRYS.*GATEWAY_MAX_RETRIES/);
  assert.match((await new RunningProcess(t, [process.execPath, ...MAIN, '--help'], {}).exited).out, /GATEWAY_AUTH_TOKEN/);
  assert.match((await new RunningProcess(t, [process.execPath, ...MAIN, '--version'], {}).exited).out, /^\d+\.\d+\.\d+\n$/);
  assert.equal((await new RunningProcess(t, [process.execPath, ...MAIN, '--frobnicate'], {}).exited).code, 2);
});

test('SIGTERM: unready, the request in flight finishes, exit 0', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, ...MAIN], { ...sandboxEnvironment(sandbox), GATEWAY_DRAIN_DELAY: '200ms' });
  const address = await running.address();
  const slow = chat(address, { model: 'fake-late-500', messages: [user('x')] });
  while (sandbox.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  running.child.kill('SIGTERM');
  while ((await fetch(`${address}/readyz`)).status !== 503);
  assert.equal((await slow).status, 200);
  const { code, out } = await running.exited;
  assert.equal(code, 0);
  for (const line of out.trim().split('\n')) JSON.parse(line);
  assert.match(out, /"message":"stopped"/);
});

test('a second signal stops it at once', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, ...MAIN], { ...sandboxEnvironment(sandbox), GATEWAY_DRAIN_DELAY: '60s' });
  await running.address();
  running.child.kill('SIGINT');
  while (!running.out.includes('draining')) await new Promise((resolve) => running.child.stdout?.once('data', resolve));
  running.child.kill('SIGINT');
  assert.equal((await running.exited).code, 1);
});

test('an address that is taken is said in one line', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const taken = new URL(sandbox.origin).host;
  const { code, out } = await new RunningProcess(t, [process.execPath, ...MAIN], { ...sandboxEnvironment(sandbox), GATEWAY_ADDR: taken }).exited;
  assert.equal(code, 1);
  assert.match(out, /GATEWAY_ADDR: cannot listen there \(EADDRINUSE\)/);
});

test('the built program runs with dist and package.json alone', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const running = new RunningProcess(t, [process.execPath, 'dist/main.js'], sandboxEnvironment(sandbox), buildProgram());
  const response = await chat(await running.address(), { model: 'fake-chat', messages: [user('built')] });
  assert.equal(response.status, 200);
  assert.match(await response.text(), /built/);
});
