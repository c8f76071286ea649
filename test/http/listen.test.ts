import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { listen } from '../../src/http/listen.ts';

function createServer(t: TestContext): http.Server {
  const server = http.createServer((_request, response) => response.end('here'));
  t.after(() => server.close());
  return server;
}

function makePath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'gateway.sock');
}

/** The file of a socket whose process is dead: closing removes the name that was listened on, not this other one. */
async function leaveStaleSocket(path: string): Promise<void> {
  const dead = net.createServer().listen(`${path}.listening`);
  await once(dead, 'listening');
  linkSync(`${path}.listening`, path);
  dead.close();
  await once(dead, 'close');
}

function ask(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    http.get({ socketPath, agent: false }, (response) => void response.setEncoding('utf8').on('data', resolve)).on('error', reject);
  });
}

test('listen says where, with the scheme and the port that it got', async (t) => {
  assert.match(await listen(createServer(t), { type: 'tcp', host: '127.0.0.1', port: 0 }, 'http'), /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.match(await listen(createServer(t), { type: 'tcp', host: undefined, port: 0 }, 'https'), /^https:\/\/localhost:[1-9]\d*$/);
});

test('listen fails with the code of a port that is taken, and can be called again', async (t) => {
  const taken = net.createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const server = createServer(t);
  const { port } = taken.address() as net.AddressInfo;
  await assert.rejects(listen(server, { type: 'tcp', host: '127.0.0.1', port }, 'http'), { code: 'EADDRINUSE' });
  assert.match(await listen(server, { type: 'tcp', host: '127.0.0.1', port: 0 }, 'http'), /^http:/);
});

test('listen serves a Unix socket, whose file goes with the server', async (t) => {
  const path = makePath(t);
  const server = createServer(t);
  assert.equal(await listen(server, { type: 'unix', path }, 'http'), `unix:${path}`);
  assert.equal(await ask(path), 'here');
  server.close();
  assert.equal(existsSync(path), false);
});

test('listen replaces the socket file of a dead process', async (t) => {
  const path = makePath(t);
  await leaveStaleSocket(path);
  assert.equal(existsSync(path), true);
  await listen(createServer(t), { type: 'unix', path }, 'http');
  assert.equal(await ask(path), 'here');
});

test('of several that find the socket file of a dead process at once, one listens and the others fail', async (t) => {
  const path = makePath(t);
  await leaveStaleSocket(path);
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => listen(createServer(t), { type: 'unix', path }, 'http')));
  const codes = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'listens' : (outcome.reason as NodeJS.ErrnoException).code));
  assert.deepEqual(codes.sort(), [...Array.from({ length: 7 }, () => 'EADDRINUSE'), 'listens']);
  assert.equal(await ask(path), 'here');
  assert.deepEqual(readdirSync(dirname(path)).filter((name) => !name.endsWith('.listening')), ['gateway.sock']);
});

test('listen leaves a living socket alone', async (t) => {
  const path = makePath(t);
  await listen(createServer(t), { type: 'unix', path }, 'http');
  await assert.rejects(listen(createServer(t), { type: 'unix', path }, 'http'), { code: 'EADDRINUSE' });
  assert.equal(await ask(path), 'here');
});

test('listen never removes a file that is no socket', async (t) => {
  const path = makePath(t);
  writeFileSync(path, 'precious');
  await assert.rejects(listen(createServer(t), { type: 'unix', path }, 'http'), { code: 'EADDRINUSE' });
  assert.equal(readFileSync(path, 'utf8'), 'precious');
});

test('listen fails where the folder of a socket is missing', async (t) => {
  await assert.rejects(listen(createServer(t), { type: 'unix', path: join(makePath(t), 'x') }, 'http'), { code: /^(EACCES|ENOENT)$/ });
});

test('listen lets more callers wait than the usual 511', async (t) => {
  const server = createServer(t);
  const asked = t.mock.method(server, 'listen');
  await listen(server, { type: 'tcp', host: '127.0.0.1', port: 0 }, 'http');
  assert.deepEqual(asked.mock.calls[0]?.arguments, [{ host: '127.0.0.1', port: 0, backlog: 4096 }]);
});
