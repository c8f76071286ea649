/** The sandbox as a process of its own, and what a test in another language does to it over HTTP. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { portFrom } from '../../src/sandbox/command.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { buildProgram } from '../e2e/built-program.ts';
import { RunningProcess } from '../e2e/running-process.ts';
import { at, chat, open, request } from './client.ts';

const COMMAND = [process.execPath, join(buildProgram(), 'dist/main.js'), '--sandbox'];

test('--sandbox serves on the port that it is given, says how to point SDKs at it, and ends kindly', async (t) => {
  const free = await startSandbox();
  const { port } = new URL(free.url);
  await free.close();
  const running = new RunningProcess(t, [...COMMAND, '--port', port], {});
  const [, base = ''] = await running.printed(/^export OPENAI_BASE_URL=(\S+)$/m);
  await running.printed(/Ctrl-C ends it\.\n/);
  assert.equal(base, `http://127.0.0.1:${port}/openai/v1`);
  const answer = await request(`${base}/chat/completions`, { model: 'fake-chat', messages: [{ role: 'user', content: 'Hi' }] }, { authorization: 'Bearer x' });
  assert.match(answer.text, /Hello from fake-chat/);
  for (const line of running.out.trim().split('\n')) assert.match(line, /^(# |export [A-Z_]+=\S+$)/);
  running.child.kill('SIGINT');
  const { code, out, err } = await running.exited;
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /Stopped\. Goodbye\.\n$/);
});

test('--sandbox says that a port is taken', async (t) => {
  const { url } = await open(t);
  const { code, err } = await new RunningProcess(t, [...COMMAND, '--port', new URL(url).port], {}).exited;
  assert.equal(code, 1);
  assert.match(err, /^gateway: the sandbox cannot listen on port \d+ \(EADDRINUSE\)\n$/);
});

for (const [words, port] of [
  [[], 0], [['--port', '9999'], 9999], [['--port', '65536'], '--port takes a number from 0 to 65535'], [['--port'], '--port takes a number from 0 to 65535'],
  [['--port', '-1'], '--port takes a number from 0 to 65535'], [['--verbose'], 'unknown argument "--verbose"'], [['--port', '1', '2'], 'unknown argument "2"'],
] as const) {
  test(`--sandbox ${words.join(' ')} means ${port}`, () => {
    assert.equal(portFrom(['--sandbox', ...words]), port);
  });
}

test('below /sandbox a test writes replies, reads the calls and forgets them, which are no calls themselves', async (t) => {
  const sandbox = await open(t);
  const post = (path: string, body: unknown): ReturnType<typeof request> => request(`${sandbox.url}/sandbox/${path}`, body, {});
  assert.equal((await post('reply', { model: 'gpt', replies: ['first', { status: 503 }] })).status, 200);
  assert.match((await chat(sandbox, 'openai', 'gpt')).text, /first/);
  assert.equal((await chat(sandbox, 'openai', 'gpt')).status, 503);
  const { calls } = (await (await fetch(`${sandbox.url}/sandbox/calls`)).json()) as { calls: object[] };
  assert.deepEqual(calls.map((call) => [at(call, 'protocol'), at(call, 'model'), at(call, 'json', 'messages', 0, 'content')]), [['openai-chat', 'gpt', 'Hello'], ['openai-chat', 'gpt', 'Hello']]);
  assert.equal((await post('reset', {})).status, 200);
  assert.equal(sandbox.calls.length, 0);
  assert.match((await chat(sandbox, 'openai', 'gpt')).text, /Hello from gpt/);
});

test('another path or method below /sandbox says which there are, and is no call either', async (t) => {
  const sandbox = await open(t);
  for (const [method, path] of [['GET', '/sandbox/reply'], ['POST', '/sandbox/reset/'], ['GET', '/sandbox/']] as const) {
    const response = await fetch(sandbox.url + path, { method });
    assert.equal(response.status, 404);
    assert.match(await response.text(), /POST \/sandbox\/reply/);
  }
  assert.equal(sandbox.calls.length, 0);
});

test('a wrong reply over HTTP is refused with what is wrong, and the list names every model and fault', async (t) => {
  const sandbox = await open(t);
  for (const [body, message] of [['[]', /expected \{/], [{ model: 'gpt', replies: [{ status: 5 }] }, /status: expected a whole number/], [{ model: 'gpt', replies: 'x' }, /expected/]] as const) {
    const answer = await request(`${sandbox.url}/sandbox/reply`, body, {});
    assert.equal(answer.status, 400);
    assert.match(answer.text, message);
  }
  assert.match(await (await fetch(`${sandbox.url}/sandbox`)).text(), /^fake-chat +a short friendly answer[^]*\nfake-reset +resets/);
});
