/** Each limit on a stream's time says its own name: in the body or the error frame, in the log, in the metric. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { framesOf, startGateway, user } from '../running-gateway.ts';
import type { ReplyBody } from '../running-gateway.ts';
import { chunkOf, CHUNKED_HEAD, startRawServer } from '../upstream/raw-server.ts';
import { chunkFrame, streamLines, until } from './wires.ts';

type Stage = {
  readonly name: string;
  /** `https` to a provider that never speaks TLS: for the gateway there is no connection. */
  readonly scheme: 'http' | 'https';
  /** What the provider does once it has the request. */
  readonly act: (socket: Socket) => void;
  readonly limit: string;
  readonly kind: string;
  /** 200 where the answer has begun by then. */
  readonly status: number;
};

function nothing(): void {}

function beginHead(socket: Socket): void {
  socket.write(CHUNKED_HEAD);
}

function begin(socket: Socket): void {
  socket.write(CHUNKED_HEAD + chunkOf(chunkFrame({ content: 'Once upon' })));
}

/** Alive, and saying nothing. */
function drip(socket: Socket): void {
  begin(socket);
  const timer = setInterval(() => socket.write(chunkOf(':\n')), 5);
  socket.on('close', () => clearInterval(timer));
}

const STAGES: readonly Stage[] = [
  { name: 'no connection', scheme: 'https', act: nothing, limit: 'GATEWAY_CONNECT_TIMEOUT', kind: 'unknown', status: 502 },
  { name: 'no headers', scheme: 'http', act: nothing, limit: 'GATEWAY_ATTEMPT_TIMEOUT', kind: 'unknown', status: 502 },
  { name: 'headers without an event', scheme: 'http', act: beginHead, limit: 'GATEWAY_ATTEMPT_TIMEOUT', kind: 'unknown', status: 502 },
  { name: 'silence after an event', scheme: 'http', act: begin, limit: 'GATEWAY_STREAM_IDLE_TIMEOUT', kind: 'server', status: 200 },
  { name: 'an answer without end', scheme: 'http', act: drip, limit: 'GATEWAY_STREAM_TIMEOUT', kind: 'unknown', status: 200 },
  { name: 'all of the time without an answer', scheme: 'http', act: nothing, limit: 'GATEWAY_STREAM_TIMEOUT', kind: 'unknown', status: 502 },
];

for (const { name, scheme, act, limit, kind, status } of STAGES) {
  test(`${name}: ${limit} ends the stream and says so`, async (t) => {
    const upstream = await startRawServer(t, scheme === 'https' ? {} : { onRequest: act });
    const gateway = await startGateway(t, {
      GATEWAY_COMPAT_BASE_URL: `${scheme}://${upstream.baseUrl.host}/v1`,
      GATEWAY_MAX_RETRIES: '0',
      GATEWAY_HEARTBEAT_INTERVAL: '0',
      // What has to begin first has time for it on a busy machine.
      [limit]: act === drip ? '600ms' : '150ms',
    });
    const response = await gateway.post('/v1/chat/stream', { provider: 'compat', model: 'm', messages: [user('x')] });
    const text = await response.text();
    assert.equal(response.status, status, text);
    const failure = status === 200 ? framesOf(text).at(-1) : (JSON.parse(text) as ReplyBody);
    assert.equal(failure?.kind, kind);
    assert.ok(failure?.error?.includes(limit), text);
    await until(() => streamLines(gateway).length > 0);
    assert.equal(streamLines(gateway)[0]?.['limit'], limit);
    assert.ok((await (await gateway.get('/metrics')).text()).includes(`gateway_limits_total{limit="${limit}"} 1\n`));
    await upstream.closed(1);
  });
}
