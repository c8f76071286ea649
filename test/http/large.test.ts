/** Large bodies and answers, which travel in pieces: not a character is lost, whoever carries them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';

/** As long as what takes turns of its own, with characters of every length, and escapes. */
const LARGE = `${'Line é語😀 "quoted" \\ \n'.repeat(26_000)}\ud83d`;
/** As it is on the wire, where half of a character is written as an escape. */
const WHOLE = LARGE.slice(0, -1);

for (const transport of ['http', 'wire', 'fetch']) {
  test(`a large body and a large answer come whole to their ends over ${transport}`, async (t) => {
    const gateway = await startGateway(t, { GATEWAY_TRANSPORT: transport });
    for (const provider of ['anthropic', 'gemini', 'compat']) {
      gateway.sandbox.reply('fake-chat', WHOLE);
      const { status, body } = await gateway.chat({ provider, model: 'fake-chat', max_tokens: 2_000_000, messages: [user(LARGE)] });
      assert.equal(status, 200, `${provider}: ${String(body.error)}`);
      assert.ok(body.text === WHOLE, provider);
      assert.ok(gateway.sandbox.calls.at(-1)?.body.includes(JSON.stringify(LARGE)), provider);
    }
  });
}

test('a large body in another dialect is relayed and translated whole', async (t) => {
  const gateway = await startGateway(t);
  for (const provider of ['openai', 'anthropic']) {
    gateway.sandbox.reply('fake-chat', WHOLE);
    const response = await gateway.post('/v1/chat/completions', { model: `${provider}/fake-chat`, max_completion_tokens: 2_000_000, messages: [{ role: 'user', content: WHOLE }] });
    const body = (await response.json()) as { choices: { message: { content: string } }[] };
    assert.equal(response.status, 200);
    assert.ok(body.choices[0]?.message.content === WHOLE, provider);
    assert.ok(gateway.sandbox.calls.at(-1)?.body.includes(JSON.stringify(WHOLE)), provider);
  }
});

test('a large answer that is no JSON, or beyond a limit, is a failure that says so', async (t) => {
  const gateway = await startGateway(t);
  for (const model of ['fake-huge', 'fake-flood']) {
    const { status, body } = await gateway.chat({ provider: 'openai', model, messages: [user('x')] });
    assert.equal(status, 502, model);
    assert.match(body.error ?? '', /is the gateway's limit/, model);
  }
});
