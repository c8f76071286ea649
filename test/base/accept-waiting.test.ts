import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { acceptWaiting } from '../../src/base/accept-waiting.ts';

const CONNECT_20 = `
  let left = 20;
  for (let caller = 0; caller < 20; caller += 1) require('node:net').connect(Number(process.argv[1]), '127.0.0.1', () => (left -= 1) === 0 && process.exit());
`;

test('acceptWaiting takes every connection that the kernel keeps for a server, and then no more', async (t) => {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    socket.on('error', () => undefined).resume();
  });
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // This process does nothing meanwhile.
  execFileSync(process.execPath, ['-e', CONNECT_20, String((server.address() as AddressInfo).port)]);
  assert.equal(accepted, 0);
  await acceptWaiting(server);
  assert.equal(accepted, 20);
  assert.equal(server.listenerCount('connection'), 1);
});
