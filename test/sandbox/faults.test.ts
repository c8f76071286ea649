/** Each fault, seen from the wire. */

import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { FAULTS } from '../../src/sandbox/index.ts';
import { PROTOCOL_NAMES, at, chat, events, observe, open, until } from './client.ts';

const HALF = /Hello.*from/s;
const MIB = 1024 * 1024;

/** What of the text a stream has brought. */
function textOf(body: Buffer): string {
  const deltas = [...body.toString().matchAll(/"content":"([^"]*)"/g)].map((match) => match[1]);
  return deltas.join('');
}

test('every fault says in one line what it means', () => {
  for (const [name, { meaning }] of Object.entries(FAULTS)) {
    assert.match(name, /^fake-[a-z0-9-]+(?:N+)?$/);
    assert.match(meaning, /^.{3,110}$/, name);
  }
});

for (const protocol of PROTOCOL_NAMES) {
  test(`${protocol} fails with the status in the model's name, in its own words`, async (t) => {
    const sandbox = await open(t);
    for (const status of [400, 401, 403, 404, 413, 422, 500, 503]) {
      const answer = await chat(sandbox, protocol, `fake-status-${status}`);
      assert.equal(answer.status, status);
      assert.match(String(at(JSON.parse(answer.text), 'error', 'message')), /asked to fail/);
    }
    assert.equal((await chat(sandbox, protocol, 'fake-status-999')).status, 500);
  });

  test(`${protocol} asks for patience with a 429`, async (t) => {
    const sandbox = await open(t);
    for (const [model, seconds] of [['fake-status-429', '1'], ['fake-status-429-after-7', '7']] as const) {
      const answer = await chat(sandbox, protocol, model);
      const asked = protocol === 'gemini' ? at(JSON.parse(answer.text), 'error', 'details', 0, 'retryDelay') : answer.headers.get('retry-after');
      assert.deepEqual([answer.status, asked], [429, protocol === 'gemini' ? `${seconds}s` : seconds]);
    }
  });

  test(`${protocol} reports an overload by status, or as the first event of a stream`, async (t) => {
    const sandbox = await open(t);
    assert.equal((await chat(sandbox, protocol, 'fake-overloaded')).status, protocol === 'anthropic' ? 529 : 503);
    const streamed = await chat(sandbox, protocol, 'fake-overloaded', true);
    assert.equal(streamed.status, 200);
    assert.notEqual(at(events(streamed.text)[0], 'error'), undefined);
  });

  test(`${protocol} reports an error after some text`, async (t) => {
    const sandbox = await open(t);
    const streamed = await chat(sandbox, protocol, 'fake-error-mid', true);
    assert.match(streamed.text, HALF);
    assert.notEqual(at(events(streamed.text).at(-1), 'error'), undefined);
    assert.equal((await chat(sandbox, protocol, 'fake-error-mid')).status, 500);
  });

  test(`${protocol} ends in the middle, as cleanly as HTTP can`, async (t) => {
    const sandbox = await open(t);
    const good = await observe(sandbox, 'fake-chat', { protocol, isStream: true });
    const cut = await observe(sandbox, 'fake-truncate', { protocol, isStream: true });
    assert.match(cut.body.toString(), HALF);
    assert.ok(cut.isComplete && cut.body.length < good.body.length);
    const whole = await observe(sandbox, 'fake-truncate', { protocol });
    assert.ok(whole.isComplete);
    assert.throws(() => JSON.parse(whole.body.toString()));
  });
}

const quotas = { anthropic: [429, 'enforced_spend_limit_reached'], openai: [429, 'insufficient_quota'], gemini: [429, 'PerDay'], compat: [402, 'Insufficient Balance'] } as const;
for (const protocol of PROTOCOL_NAMES) {
  test(`${protocol} has nothing left to spend`, async (t) => {
    const answer = await chat(await open(t), protocol, 'fake-quota');
    assert.equal(answer.status, quotas[protocol][0]);
    assert.ok(answer.text.includes(quotas[protocol][1]));
  });
}

test('fake-echo-key repeats the key', async (t) => {
  const answer = await chat(await open(t), 'openai', 'fake-echo-key');
  assert.deepEqual([answer.status, answer.text.includes('sandbox-key')], [401, true]);
});

test('fake-flaky-N fails N times for each last user text', async (t) => {
  const sandbox = await open(t);
  const statuses: number[] = [];
  for (const text of ['a', 'a', 'b', 'a']) statuses.push((await chat(sandbox, 'openai', 'fake-flaky-2', false, text)).status);
  assert.deepEqual(statuses, [503, 503, 503, 200]);
});

test('fake-flaky-N forgets the oldest of more than a thousand texts', async (t) => {
  const sandbox = await open(t);
  assert.equal((await chat(sandbox, 'openai', 'fake-flaky-1', false, 'first')).status, 503);
  for (let index = 0; index < 1000; index += 1) await chat(sandbox, 'openai', 'fake-flaky-1', false, `text ${index}`);
  assert.equal((await chat(sandbox, 'openai', 'fake-flaky-1', false, 'first')).status, 503);
});

for (const model of ['fake-late-5', 'fake-slow-1', 'fake-close-idle', 'fake-early-hints', 'fake-big-headers', 'fake-no-done']) {
  for (const isStream of [false, true]) {
    test(`${model} is good in the end${isStream ? ', streamed' : ''}`, async (t) => {
      const { status, isComplete, body } = await observe(await open(t), model, { isStream });
      assert.deepEqual([status, isComplete], [200, true]);
      assert.ok(isStream ? textOf(body).endsWith('machine.') : body.toString().includes('machine.'));
    });
  }
}

test('fake-early-hints sends 102 and 103 first', async (t) => {
  assert.deepEqual((await observe(await open(t), 'fake-early-hints')).informational, [102, 103]);
});

test('fake-big-headers sends 100 KB of headers', async (t) => {
  const { headers } = await observe(await open(t), 'fake-big-headers');
  assert.equal(headers['x-padding']?.length, 100 * 1024);
});

test('fake-no-done leaves out [DONE] and keeps the reason', async (t) => {
  const { text } = await chat(await open(t), 'openai', 'fake-no-done', true);
  assert.ok(!text.includes('[DONE]'));
  assert.equal(at(events(text).at(-1), 'choices', 0, 'finish_reason'), 'stop');
});

test('fake-close-idle closes the connection after its reply', async (t) => {
  const sandbox = await open(t);
  const agent = new http.Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  await observe(sandbox, 'fake-chat', { agent });
  assert.equal(sandbox.openConnections(), 1);
  await observe(sandbox, 'fake-close-idle', { agent });
  await until(() => sandbox.openConnections() === 0);
});

test('fake-crlf writes CRLF line ends and a byte order mark', async (t) => {
  const { text } = await chat(await open(t), 'openai', 'fake-crlf', true);
  assert.ok(!/[^\r]\n/.test(text));
  assert.equal(events(text).map((chunk) => at(chunk, 'choices', 0, 'delta', 'content') ?? '').join('').slice(0, 5), 'Hello');
  const { body } = await observe(await open(t), 'fake-crlf', { isStream: true });
  assert.deepEqual([...body.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
});

test('fake-comments writes comments and other fields between the data', async (t) => {
  const { text } = await chat(await open(t), 'openai', 'fake-comments', true);
  assert.match(text, /^: a comment\nid: 1\nretry: 10\ndata:\{/);
  assert.equal(events(text).map((chunk) => at(chunk, 'choices', 0, 'delta', 'content') ?? '').join('').slice(0, 5), 'Hello');
});

for (const model of ['fake-crlf', 'fake-comments']) {
  test(`${model} leaves a whole reply alone`, async (t) => {
    const { text } = await chat(await open(t), 'openai', model);
    assert.equal(typeof JSON.parse(text), 'object');
  });
}

for (const model of ['fake-stall', 'fake-stall-headers', 'fake-stall-mid', 'fake-drip']) {
  test(`${model} never ends, and notices that the peer hangs up`, async (t) => {
    const sandbox = await open(t);
    const hangUp = new AbortController();
    let hasHeaders = false;
    const observed = observe(sandbox, model, { isStream: true, signal: hangUp.signal, onHeaders: () => (hasHeaders = true) });
    await until(() => sandbox.calls.length === 1 && (hasHeaders || model === 'fake-stall'));
    assert.equal(sandbox.calls[0]?.closedEarly, false);
    hangUp.abort();
    assert.equal((await observed).isComplete, false);
    await until(() => sandbox.calls[0]?.closedEarly === true && sandbox.openConnections() === 0);
  });
}

test('fake-stall-mid sends some text first', async (t) => {
  const { body } = await observe(await open(t), 'fake-stall-mid', { isStream: true, bytesMax: 500 });
  assert.equal(textOf(body), 'Hello from ');
});

test('fake-drip sends one byte at a time', async (t) => {
  const { body } = await observe(await open(t), 'fake-drip', { bytesMax: 2 });
  assert.equal(body.toString(), '{"');
});

test('fake-reset resets before the headers', async (t) => {
  const { status, errorCode } = await observe(await open(t), 'fake-reset');
  assert.deepEqual([status, errorCode], [undefined, 'ECONNRESET']);
});

test('fake-reset-mid and fake-reset-at-N reset inside the body', async (t) => {
  const sandbox = await open(t);
  const mid = await observe(sandbox, 'fake-reset-mid', { isStream: true });
  assert.deepEqual([mid.status, mid.isComplete, mid.errorCode, textOf(mid.body)], [200, false, 'ECONNRESET', 'Hello from ']);
  const counted = await observe(sandbox, 'fake-reset-at-17', { isStream: true });
  assert.deepEqual([counted.isComplete, counted.errorCode, counted.body.length], [false, 'ECONNRESET', 17]);
  assert.equal(sandbox.calls[0]?.closedEarly, false);
});

test('fake-truncate-at-N ends after N bytes, down to none', async (t) => {
  const sandbox = await open(t);
  for (const length of [0, 1, 17]) {
    const { isComplete, body } = await observe(sandbox, `fake-truncate-at-${length}`);
    assert.deepEqual([isComplete, body.length], [true, length]);
  }
});

test('fake-close-mid closes without the end of the encoding', async (t) => {
  const { status, isComplete, body } = await observe(await open(t), 'fake-close-mid', { isStream: true });
  assert.deepEqual([status, isComplete, textOf(body)], [200, false, 'Hello from ']);
});

test('fake-short-length sends less than it announces: a whole body, or half a stream', async (t) => {
  const sandbox = await open(t);
  const whole = await observe(sandbox, 'fake-short-length');
  assert.equal(whole.isComplete, false);
  assert.equal(at(JSON.parse(whole.body.toString()), 'object'), 'chat.completion');
  assert.equal(Number(whole.headers['content-length']), whole.body.length + 100);
  const streamed = await observe(sandbox, 'fake-short-length', { isStream: true });
  assert.deepEqual([streamed.isComplete, textOf(streamed.body)], [false, 'Hello from ']);
});

test('fake-bad-chunk breaks the encoding after some text', async (t) => {
  const { status, isComplete, errorCode, body } = await observe(await open(t), 'fake-bad-chunk', { isStream: true });
  assert.deepEqual([status, isComplete, textOf(body)], [200, false, 'Hello from ']);
  assert.match(errorCode ?? '', /^HPE_|ECONNRESET/);
});

test('fake-html, fake-empty-body and fake-204 have no answer in them', async (t) => {
  const sandbox = await open(t);
  const html = await observe(sandbox, 'fake-html');
  assert.deepEqual([html.status, html.headers['content-type'], html.body.toString().slice(0, 6)], [200, 'text/html', '<html>']);
  const empty = await observe(sandbox, 'fake-empty-body', { isStream: true });
  assert.deepEqual([empty.status, empty.isComplete, empty.body.length], [200, true, 0]);
  const nothing = await observe(sandbox, 'fake-204');
  assert.deepEqual([nothing.status, nothing.isComplete, nothing.body.length], [204, true, 0]);
});

test('fake-101 switches protocols', async (t) => {
  assert.equal((await observe(await open(t), 'fake-101')).status, 101);
});

test('fake-redirect points to another origin', async (t) => {
  const sandbox = await open(t);
  const { status, headers } = await observe(sandbox, 'fake-redirect');
  assert.equal(status, 307);
  const target = new URL(headers.location ?? '');
  assert.notEqual(target.origin, new URL(sandbox.url).origin);
  assert.equal(target.pathname, '/elsewhere');
});

test('fake-gzip compresses a good reply', async (t) => {
  const { headers, body } = await observe(await open(t), 'fake-gzip');
  assert.equal(headers['content-encoding'], 'gzip');
  assert.equal(at(JSON.parse(gunzipSync(body).toString()), 'object'), 'chat.completion');
});

test('fake-malformed and fake-wrong-shape answer with what is no reply', async (t) => {
  const sandbox = await open(t);
  const broken = await observe(sandbox, 'fake-malformed');
  assert.throws(() => JSON.parse(broken.body.toString()));
  const stream = (await observe(sandbox, 'fake-malformed', { isStream: true })).body.toString();
  assert.match(stream, HALF);
  assert.match(stream, /data: \{"broken": nonsense\}\n\ndata: /);
  assert.deepEqual(JSON.parse((await observe(sandbox, 'fake-wrong-shape')).body.toString()), { unexpected: ['shape'] });
  assert.deepEqual(events((await observe(sandbox, 'fake-wrong-shape', { isStream: true })).body.toString()), [{ unexpected: ['shape'] }]);
});

test('fake-long-line has a line of ten million bytes in a good stream', async (t) => {
  const { isComplete, body } = await observe(await open(t), 'fake-long-line', { isStream: true });
  const lines = body.toString().split('\n');
  assert.ok(isComplete && (lines[0]?.length ?? 0) > 10 * MIB);
  assert.equal(textOf(Buffer.from(lines.slice(1).join('\n'))).slice(0, 5), 'Hello');
  assert.doesNotThrow(() => JSON.parse((lines[0] ?? '').slice('data: '.length)));
});

for (const [model, isStream] of [['fake-huge', false], ['fake-huge', true], ['fake-flood', false], ['fake-flood', true]] as const) {
  test(`${model} goes on${isStream ? ' in a stream' : ''} until the peer hangs up`, async (t) => {
    const sandbox = await open(t);
    const { body } = await observe(sandbox, model, { isStream, bytesMax: 2 * MIB });
    assert.ok(body.length >= 2 * MIB && body.length < 8 * MIB);
    if (model === 'fake-flood' && isStream) assert.ok(textOf(body.subarray(0, 4096)).startsWith('Hello Hello '));
    await until(() => sandbox.calls[0]?.closedEarly === true);
  });
}
