/** A small soak; `make soak` runs a large one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soak } from './soak.ts';

test('after 200 streams at once, 600 requests and 300 streams whose callers hung up, the process holds what it held before', async () => {
  const { before, after, inFlight, upstreamConnections, warnings } = await soak(300, 600, 200);
  assert.ok(after.fds <= before.fds, `${before.fds} → ${after.fds} file descriptors`);
  assert.ok(after.sockets <= before.sockets, `${before.sockets} → ${after.sockets} sockets`);
  assert.ok(after.timers <= before.timers, `${before.timers} → ${after.timers} timers`);
  assert.deepEqual([inFlight, upstreamConnections, warnings], [0, 0, '']);
});
