/** Whole gateways that share an engine; skipped where none is installed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePage, valueOf } from '../metrics-page.ts';
import { holdReplies, startGateway, user } from '../running-gateway.ts';
import { REDIS_SERVER, startRealEngine } from './engines.ts';

const options = { skip: REDIS_SERVER === undefined && 'neither redis-server nor valkey-server is installed' };
const HELLO = { model: 'fake-chat', messages: [user('Hello')] };

test('a place that a caller has at one gateway is taken at another, until it comes back; without the engine it is not', options, async (t) => {
  const engine = await startRealEngine(t);
  const name = `127.0.0.1:${engine.port}`;
  const environment = { GATEWAY_LIMITS_URL: `redis://${name}`, GATEWAY_CALLER_LIMITS: 'default:concurrent=1,tpd=1000000' };
  const [here, there] = [await startGateway(t, environment), await startGateway(t, environment)];
  const isUp = async (): Promise<boolean> => valueOf(await (await there.get('/metrics')).text(), 'gateway_limit_store_up', { engine: name }) === 1;
  const untilStatus = async (wanted: number): Promise<Awaited<ReturnType<typeof there.chat>>> => {
    // On a slow machine an answer may be late, and then each gateway decides alone.
    for (;;) {
      const answer = await there.chat(HELLO);
      if (answer.status === wanted) return answer;
    }
  };
  while (!(await isUp())) await new Promise(setImmediate);
  /** A chat that has its place, and keeps it until it is released. */
  const hold = async (): Promise<() => Promise<number>> => {
    const release = holdReplies(here.sandbox);
    const { length } = here.sandbox.calls;
    const held = here.chat({ ...HELLO, model: 'held' });
    while (here.sandbox.calls.length === length) await new Promise(setImmediate);
    return async () => {
      release();
      return (await held).status;
    };
  };
  const release = await hold();
  const { body } = await untilStatus(429);
  assert.deepEqual([body.kind, body.error], ['rate_limit', 'the caller default has as many requests in flight as it may, which is its concurrent (1); try again in 1s']);
  assert.equal(await release(), 200);
  await untilStatus(200);
  const seconds = parsePage(await (await there.get('/metrics')).text()).get('gateway_limit_store_seconds');
  assert.ok((seconds?.samples.find(({ name: sample }) => sample.endsWith('_count'))?.value ?? 0) > 0);

  await engine.stop();
  const releaseAgain = await hold();
  await untilStatus(200);
  while (await isUp()) await new Promise(setImmediate);
  assert.equal((await there.get('/readyz')).status, 200);
  assert.equal(await releaseAgain(), 200);
  const said = (): readonly unknown[] => there.logLines.filter(({ level }) => level === 'warn').map(({ message, engine: which }) => [message, which]);
  while (said().length === 0) await new Promise(setImmediate);
  assert.deepEqual(said()[0], ['the engine of GATEWAY_LIMITS_URL does not answer; until it does, each process counts limits alone', name]);
});
