/** A caller that hangs up ends its request wherever it is: the provider is let go, and nothing more is tried. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { chunkOf, CHUNKED_HEAD } from '../upstream/raw-server.ts';
import type { RawServer } from '../upstream/raw-server.ts';
import { Caller, HANG_UPS } from './caller.ts';
import { chunkFrame, startRawGateway, streamLines, until } from './wires.ts';

const TRIES = 50;
const ASK = { model: 'm', messages: [user('x')] };
const TOO_MANY = 'HTTP/1.1 429 Too Many Requests\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n';

type Stage = {
  readonly name: string;
  /** What the provider does with a request. */
  readonly act: (socket: Socket) => void;
  /** Resolves when the try, counted from 1, has come as far as the stage says. */
  readonly reach: (caller: Caller, upstream: RawServer, gateway: RunningGateway, tries: number) => Promise<void>;
  /** Calls of the provider in one try. */
  readonly calls: 0 | 1;
  /** Whether the provider's connection is in use at that stage, and has to go. */
  readonly isConnected: boolean;
};

function attempts(gateway: RunningGateway): number {
  return gateway.logLines.filter((line) => line['message'] === 'attempt').length;
}

const STAGES: readonly Stage[] = [
  {
    name: 'sending its body',
    act: () => undefined,
    reach: async (caller, _upstream, gateway) => {
      caller.ask(ASK, 20);
      await until(async () => (await (await gateway.get('/metrics')).text()).includes('gateway_requests_in_flight 1\n'));
    },
    calls: 0,
    isConnected: false,
  },
  {
    name: 'waiting for headers',
    act: () => undefined,
    reach: async (caller, upstream, _gateway, tries) => {
      caller.ask(ASK);
      await upstream.arrived(tries);
    },
    calls: 1,
    isConnected: true,
  },
  {
    name: 'waiting for the first event, with the stream open',
    act: (socket) => void socket.write(CHUNKED_HEAD),
    reach: async (caller, upstream, _gateway, tries) => {
      const stream = caller.ask(ASK);
      // On a starved machine a comment comes before the provider is called.
      await upstream.arrived(tries);
      await stream.until(({ comments }) => comments > 0);
    },
    calls: 1,
    isConnected: true,
  },
  {
    name: 'in mid-stream',
    act: (socket) => void socket.write(CHUNKED_HEAD + chunkOf(chunkFrame({ content: 'Once upon' }))),
    reach: (caller) => caller.ask(ASK).until(({ frames }) => frames.length > 0),
    calls: 1,
    isConnected: true,
  },
  {
    name: 'between two attempts',
    act: (socket) => void socket.write(TOO_MANY),
    reach: async (caller, _upstream, gateway, tries) => {
      caller.ask(ASK);
      await until(() => attempts(gateway) === tries);
    },
    calls: 1,
    isConnected: false,
  },
];

for (const { name, act, reach, calls, isConnected } of STAGES) {
  test(`a caller that hangs up while ${name} ends everything, ${TRIES} times of ${TRIES}`, async (t) => {
    const { gateway, upstream } = await startRawGateway(t, { onRequest: act }, { GATEWAY_HEARTBEAT_INTERVAL: '10ms' });
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const caller = new Caller(t, gateway.url);
      await reach(caller, upstream, gateway, tries);
      caller.hangUp(HANG_UPS[tries % HANG_UPS.length] ?? 'end');
      await until(() => streamLines(gateway).length === tries);
      if (isConnected) await upstream.closed(tries);
    }
    assert.equal(upstream.requests.length, TRIES * calls);
    for (const line of streamLines(gateway)) {
      assert.equal(line['attempts'] ?? 0, calls);
      // Half a request is also one that makes no sense, and may be answered so.
      if (calls === 0 && line['status'] === 400) continue;
      assert.equal(line['status'], 499);
      assert.equal(line['ended'], 'caller-gone');
    }
    const page = await (await gateway.get('/metrics')).text();
    assert.match(page, /gateway_requests_in_flight 0\n/);
    assert.match(page, /gateway_open_streams 0\n/);
  });
}

test('a caller that hangs up while it is behind ends everything', async (t) => {
  const block = chunkOf(chunkFrame({ content: 'word '.repeat(10) }).repeat(400));
  const providers: Socket[] = [];
  const { gateway, upstream } = await startRawGateway(t, {
    onRequest: (socket) => {
      providers.push(socket);
      socket.write(CHUNKED_HEAD);
      const push = (): void => {
        while (socket.write(block));
      };
      socket.on('drain', push);
      push();
    },
  });
  for (const [at, way] of (['destroy', 'reset', 'destroy', 'reset', 'destroy'] as const).entries()) {
    const caller = new Caller(t, gateway.url).ask(ASK);
    caller.socket.pause();
    await upstream.arrived(at + 1);
    // The provider is stopped when it gets no further for a while; nothing else says so.
    for (let before = -1; before !== providers[at]?.bytesWritten; await new Promise((resolve) => setTimeout(resolve, 30))) {
      before = providers[at]?.bytesWritten ?? 0;
    }
    caller.hangUp(way);
    await upstream.closed(at + 1);
    await until(() => streamLines(gateway).length === at + 1);
  }
  assert.equal(upstream.requests.length, 5);
  assert.ok(streamLines(gateway).every((line) => line['ended'] === 'caller-gone' && line['status'] === 499));
});
