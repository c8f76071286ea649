/** What an operator sees of the process: settings at start-up, a socket, exit codes, and a start with the least of rights. */

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startSandbox } from '../../src/sandbox/index.ts';
import { PROVIDER_KEY, sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { buildProgram, makeFolder } from './built-program.ts';
import { RunningProcess } from './running-process.ts';

const PROGRAM = buildProgram();
const GATEWAY: readonly string[] = [process.execPath, join(PROGRAM, 'dist/main.js')];
const GOOD = { GATEWAY_AUTH_TOKEN: TOKEN, ANTHROPIC_API_KEY: PROVIDER_KEY };
const HELLO = JSON.stringify({ model: 'fake-chat', messages: [user('Hello')] });

/** The environment of a gateway in front of a sandbox of its own. */
async function environmentOf(t: TestContext): Promise<Record<string, string>> {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  return sandboxEnvironment(sandbox);
}

/** One chat over a Unix socket; its status. */
function chatOver(socketPath: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath, path: '/v1/chat', method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } });
    request.on('error', reject).on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    request.end(HELLO);
  });
}

function lineOf(out: string, message: string): Record<string, unknown> | undefined {
  const lines = out.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  return lines.find((line) => line['message'] === message);
}

test('the start-up log says in one line what is set and from where, secrets as [set]', async (t) => {
  const folder = makeFolder(t);
  writeFileSync(join(folder, 'key'), `${PROVIDER_KEY}\n`);
  const running = new RunningProcess(t, GATEWAY, {
    GATEWAY_AUTH_TOKEN: TOKEN,
    ANTHROPIC_API_KEY_FILE: join(folder, 'key'),
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_MAX_RETRIES: '1',
    GATEWAY_DRAIN_DELAY: '0',
  });
  await running.address();
  running.child.kill('SIGTERM');
  const { out, err } = await running.exited;
  const { time: _, ...settings } = lineOf(out, 'settings') ?? {};
  assert.deepEqual(settings, {
    level: 'info',
    message: 'settings',
    GATEWAY_ADDR: '127.0.0.1:0 (environment)',
    GATEWAY_AUTH_TOKEN: '[set] (environment)',
    GATEWAY_MAX_RETRIES: '1 (environment)',
    GATEWAY_DRAIN_DELAY: '0 (environment)',
    ANTHROPIC_API_KEY: '[set] (file)',
  });
  assert.equal(lineOf(out, 'defaults'), undefined);
  for (const secret of [TOKEN, PROVIDER_KEY]) assert.ok(!(out + err).includes(secret));
});

test('at debug the log also says which settings have their default, before anything that is odd about them', async (t) => {
  const running = new RunningProcess(t, GATEWAY, { ...(await environmentOf(t)), GATEWAY_MAX_RETRY: '1' });
  await running.address();
  const messages = running.out.split('\n', 3).map((line) => (JSON.parse(line) as { message: string }).message);
  assert.deepEqual(messages, ['settings', 'defaults', 'GATEWAY_MAX_RETRY: there is no such setting; did you mean GATEWAY_MAX_RETRIES?']);
  const defaults = lineOf(running.out, 'defaults');
  assert.equal(defaults?.['GATEWAY_CONNECT_TIMEOUT'], '10s');
  assert.equal(defaults?.['GATEWAY_MAX_CONCURRENT'], 'none');
  assert.equal(defaults?.['GATEWAY_AUTH_TOKEN'], undefined);
});

test('a certificate whose key is another is a problem at start and under --check, which names the variable', async (t) => {
  const folder = makeFolder(t);
  writeFileSync(join(folder, 'cert.pem'), createCertificate().cert);
  writeFileSync(join(folder, 'key.pem'), createCertificate().key);
  const environment = { ...GOOD, GATEWAY_TLS_CERT_FILE: join(folder, 'cert.pem'), GATEWAY_TLS_KEY_FILE: join(folder, 'key.pem') };
  for (const words of [[], ['--check']]) {
    const { code, err } = await new RunningProcess(t, [...GATEWAY, ...words], environment).exited;
    assert.equal(code, 1);
    assert.match(err, /^GATEWAY_TLS_KEY_FILE: is not the key of the certificate in GATEWAY_TLS_CERT_FILE\n/);
  }
});

test('--doctor, --probe, --dashboard and --alerts answer as a process, with their exit codes', async (t) => {
  const environment = await environmentOf(t);
  const runs = [['--doctor', '--json'], ['--probe', `${environment['OPENAI_BASE_URL']}/models`], ['--dashboard'], ['--alerts'], ['--alerts', '--doctor']];
  const ended = await Promise.all(runs.map((words) => new RunningProcess(t, [...GATEWAY, ...words], { ...environment, ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' }).exited));
  const [doctor, probe, dashboard, alerts, wrong] = ended;
  assert.deepEqual(ended.map(({ code }) => code), [1, 1, 0, 0, 2]);
  const { ok, providers } = JSON.parse(doctor?.out ?? '') as { ok: boolean; providers: { provider: string; ok: boolean }[] };
  assert.deepEqual([ok, ...providers.filter((provider) => !provider.ok).map(({ provider }) => provider)], [false, 'anthropic']);
  assert.match(probe?.err ?? '', /^gateway: http.* answered 401, expected 200\n$/);
  assert.equal((JSON.parse(dashboard?.out ?? '') as { title: string }).title, 'Chat Completion Gateway');
  assert.match(alerts?.out ?? '', /^groups:\n/);
  assert.match(wrong?.err ?? '', /unknown argument "--doctor"/);
  for (const { out, err } of ended) for (const secret of [TOKEN, PROVIDER_KEY]) assert.ok(!(out + err).includes(secret));
});

test('a second argument is refused like an unknown one', async (t) => {
  const { code, err } = await new RunningProcess(t, [...GATEWAY, '--check', '--verbose'], GOOD).exited;
  assert.equal(code, 2);
  assert.match(err, /unknown argument "--verbose"/);
});

for (const [how, environment, exitCode] of [
  ['drained', {}, 0],
  ['stopped at once by a second signal', { GATEWAY_DRAIN_DELAY: '60s' }, 1],
] as const) {
  test(`a Unix socket is served, and its file is gone when the process was ${how}`, async (t) => {
    const path = join(makeFolder(t), 'gateway.sock');
    const running = new RunningProcess(t, GATEWAY, { ...(await environmentOf(t)), GATEWAY_ADDR: `unix:${path}`, ...environment });
    await running.printed(/"listening on unix:/);
    assert.equal(await chatOver(path), 200);
    running.child.kill('SIGTERM');
    await running.printed(/draining/);
    if (exitCode === 1) running.child.kill('SIGTERM');
    assert.equal((await running.exited).code, exitCode);
    assert.equal(existsSync(path), false);
  });
}

const isFlag = (flag: string): boolean => process.allowedNodeEnvironmentFlags.has(flag);

/** As in the README: nothing may be written or started, and only these paths may be read. */
function permissionFlags(paths: readonly string[]): string[] {
  const flags = [isFlag('--permission') ? '--permission' : '--experimental-permission', ...paths.map((path) => `--allow-fs-read=${path}`)];
  return isFlag('--allow-net') ? [...flags, '--allow-net'] : flags;
}

/** Nobody's rights, where this test has root's to give up. */
const UNPRIVILEGED = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--no-new-privs'] : [];

test('the program serves, reloads and stops as nobody, allowed to read its own files and secrets only', async (t) => {
  const folder = makeFolder(t);
  const secret = join(folder, 'token');
  writeFileSync(secret, TOKEN);
  const { GATEWAY_AUTH_TOKEN: _, ...environment } = await environmentOf(t);
  const flags = permissionFlags([join(PROGRAM, 'dist/'), secret]);
  // A pipe, as under a container's log driver: the log cannot open it anew here, and writes to it as it is.
  const piped = ['sh', '-c', 'mkfifo "$0"; cat "$0" & exec "$@" >"$0"', join(folder, 'log')];
  const command = [...piped, ...UNPRIVILEGED, process.execPath, ...flags, join(PROGRAM, 'dist/main.js')];
  const running = new RunningProcess(t, command, { ...environment, GATEWAY_AUTH_TOKEN_FILE: secret }, PROGRAM);
  const address = await running.address();
  const chat = (token: string): Promise<Response> =>
    fetch(`${address}/v1/chat`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: HELLO });
  assert.equal((await chat(TOKEN)).status, 200);
  writeFileSync(secret, 'another-token-of-callers');
  running.child.kill('SIGHUP');
  await running.printed(/"changed":"token of default"/);
  assert.equal((await chat('another-token-of-callers')).status, 200);
  running.child.kill('SIGTERM');
  const { code, out } = await running.exited;
  assert.equal(code, 0);
  assert.match(out, /"message":"stopped"/);
});
