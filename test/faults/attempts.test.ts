/** The attempt loop at its edges: error bodies that never end, deadlines, lists of many pages. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import { answerJson, environmentFor, PATHS, samplesOf, startUpstream } from './upstream.ts';

for (const transport of ['http', 'wire', 'fetch']) {
  test(`over ${transport}, an error whose body never ends is answered by its status after seconds, not after the attempt's limit`, async (t) => {
    const upstream = await startUpstream(t, (response) => {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' });
      response.write('{"error":{"message":"Slow');
    });
    const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_TRANSPORT: transport, GATEWAY_ATTEMPT_TIMEOUT: '100h', GATEWAY_MAX_RETRIES: '0' });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const path of PATHS) {
      let response: Response | undefined;
      void gateway.post(path, { provider: 'openai', model: 'm', messages: [user('x')] }).then((answer) => (response = answer));
      // An hour of the clock, second by second, is far below the attempt's limit.
      for (let seconds = 0; response === undefined && seconds < 3600; seconds += 1) {
        await new Promise(setImmediate);
        t.mock.timers.tick(1000);
      }
      assert.deepEqual([response?.status, response?.headers.get('retry-after')], [429, '7']);
      await response?.body?.cancel();
    }
  });
}

test('an error body of more than 64 KB is not read to its end', async (t) => {
  let closes = 0;
  const upstream = await startUpstream(t, (response) => {
    response.on('close', () => (closes += 1));
    response.writeHead(500);
    const fill = (): void => {
      while (response.write('x'.repeat(16 * 1024))) if (response.destroyed) return;
    };
    response.on('drain', fill);
    fill();
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0' });
  const { status, body } = await gateway.chat({ provider: 'gemini', model: 'm', messages: [user('x')] });
  assert.deepEqual([status, body.kind], [502, 'server']);
  while (closes === 0) await new Promise(setImmediate);
});

test('a deadline that passes inside an attempt is counted under its own name', async (t) => {
  const upstream = await startUpstream(t, () => undefined);
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_REQUEST_TIMEOUT: '50ms', GATEWAY_STREAM_TIMEOUT: '50ms' });
  for (const path of PATHS) {
    const response = await gateway.post(path, { provider: 'openai', model: 'm', messages: [user('never answered')] });
    const body = (await response.json()) as { kind: string; error: string };
    assert.deepEqual([response.status, body.kind], [502, 'unknown']);
    assert.match(body.error, path.endsWith('stream') ? /GATEWAY_STREAM_TIMEOUT/ : /GATEWAY_REQUEST_TIMEOUT/);
  }
  assert.deepEqual(await samplesOf(gateway, 'gateway_limits_total'), [
    '{limit="GATEWAY_REQUEST_TIMEOUT"} 1',
    '{limit="GATEWAY_STREAM_TIMEOUT"} 1',
  ]);
});

test('every page of a model list is tried again by itself, a malformed one too, and the log counts all attempts', async (t) => {
  const answers: readonly (readonly [number, unknown])[] = [
    [503, {}],
    [200, { data: [{ id: 'a' }], has_more: true, last_id: 'a' }],
    [200, 'no list'],
    [200, { data: [{ id: 'b' }], has_more: false }],
  ];
  const upstream = await startUpstream(t, (response) => {
    const [status, body] = answers[upstream.calls() - 1] ?? [500, {}];
    answerJson(response, status, JSON.stringify(body));
  });
  const gateway = await startGateway(t, environmentFor(upstream));
  const response = await gateway.get('/v1/models?provider=anthropic');
  assert.deepEqual(await response.json(), { provider: 'anthropic', models: [{ id: 'a' }, { id: 'b' }] });
  while (!gateway.logLines.some((line) => line['route'] === 'models')) await new Promise(setImmediate);
  assert.equal(gateway.logLines.find((line) => line['route'] === 'models')?.['attempts'], 4);
});

test('a model list without end is a failure', async (t) => {
  const upstream = await startUpstream(t, (response) => {
    answerJson(response, 200, JSON.stringify({ data: [{ id: 'm' }], has_more: true, last_id: `m${upstream.calls()}` }));
  });
  const gateway = await startGateway(t, environmentFor(upstream));
  const response = await gateway.get('/v1/models?provider=anthropic');
  assert.deepEqual([response.status, ((await response.json()) as { kind: string }).kind], [502, 'server']);
  assert.equal(upstream.calls(), 50);
});

test('an answer that its provider could not match to the schema is asked for once more, and no more', async (t) => {
  const upstream = await startUpstream(t, (response) => {
    answerJson(response, 400, '{"error":{"message":"Failed to generate JSON.","type":"invalid_request_error","code":"json_validate_failed","failed_generation":"{"}}');
  });
  const gateway = await startGateway(t, { GROQ_BASE_URL: upstream.origin, GROQ_API_KEY: 'key-of-groq', GATEWAY_MAX_RETRIES: '3', GATEWAY_RETRY_BASE_DELAY: '1ms' });
  for (const path of PATHS) {
    const before = upstream.calls();
    const response = await gateway.post(path, { provider: 'groq', model: 'openai/gpt-oss-20b', messages: [user('x')], output: { type: 'json', schema: {} } });
    const { kind, error } = (await response.json()) as { kind: string; error: string };
    assert.deepEqual([response.status, kind, upstream.calls() - before], [502, 'server', 2]);
    assert.match(error, /code json_validate_failed/);
  }
});
