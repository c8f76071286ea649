/** Connections that another process accepted are served as those of a server's own. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { valueOf } from '../metrics-page.ts';
import { startServer } from './bare-server.ts';
import { RawCaller } from './raw-caller.ts';

const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

test('a connection that was handed over serves one request after another', async (t) => {
  const { url } = await startServer(t, { isHandedOver: true });
  const caller = new RawCaller(t, url).write(HEALTH + HEALTH);
  await caller.answered(2);
  const [, , third] = await caller.write(HEALTH).answered(3);
  assert.equal(third?.body, '{"status":"ok"}');
});

test('a head that takes too long is answered with 408 there too', async (t) => {
  const { url } = await startServer(t, { isHandedOver: true, limits: { headMs: 50, requestMs: 60_000, checkIntervalMs: 10 } });
  const [answer] = await new RawCaller(t, url).write('GET /healthz HTTP/1.1\r\n').answered();
  assert.equal(answer?.status, 408);
});

test('a body that takes too long is answered with 408 there too', async (t) => {
  const { url } = await startServer(t, { isHandedOver: true, limits: { headMs: 50, requestMs: 100, checkIntervalMs: 10 } });
  const head = 'POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-caller-token-for-tests\r\nContent-Length: 10\r\n\r\n';
  const [answer] = await new RawCaller(t, url).write(head).answered();
  assert.equal(answer?.status, 408);
});

test('connections beyond GATEWAY_MAX_CONNECTIONS are closed and counted; who hangs up makes room', async (t) => {
  const { url, metricsPage, logLines } = await startServer(t, { isHandedOver: true, environment: { GATEWAY_MAX_CONNECTIONS: '2' } });
  const [first, second] = [new RawCaller(t, url).write(HEALTH), new RawCaller(t, url).write(HEALTH)];
  await Promise.all([first.answered(), second.answered()]);
  await new RawCaller(t, url).write(HEALTH).closed;
  assert.equal(valueOf(metricsPage(), 'gateway_connections_dropped_total'), 1);
  assert.ok(logLines.some((line) => line['message'] === 'connections cannot be accepted (GATEWAY_MAX_CONNECTIONS)'));
  first.socket.destroy();
  await once(first.socket, 'close');
  for (;;) {
    const caller = new RawCaller(t, url).write(HEALTH);
    if ((await caller.answered().catch(() => undefined)) !== undefined) return;
  }
});
