/** What the native format asks beyond plain chats, at a real gateway whose providers check it as strictly as the real ones. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestFeature } from '../../src/core/adapter.ts';
import { hashedName } from '../../src/core/tenant.ts';
import { codecOf } from '../loops/codecs.ts';
import { startGateway, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';

const NO_RETRIES = { GATEWAY_MAX_RETRIES: '0' };
const PROVIDERS = [['anthropic', 'anthropic'], ['openai', 'openai (auto)'], ['gemini', 'gemini'], ['compat', 'compat']] as const;

/** True when the provider takes the feature; when its table says that it does not, the request was refused. */
async function isTaken(gateway: RunningGateway, label: string, feature: RequestFeature, request: object): Promise<boolean> {
  if (codecOf(label).adapter.support[feature].is !== 'refused') return true;
  const before = gateway.sandbox.calls.length;
  const { status, body } = await gateway.chat(request);
  assert.deepEqual([status, body.kind, gateway.sandbox.calls.length], [400, 'unsupported', before], label);
  return false;
}

const CITY = { type: 'object', properties: { city: { type: 'string' }, days: { type: ['integer', 'null'] } }, required: ['city', 'days'], additionalProperties: false };
const CITY_VALUE = { city: 'city 1', days: 1 };

test('an answer has the form that was asked for, whole and in a stream, and says when it was cut', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const [provider, label] of PROVIDERS) {
    const request = { provider, model: 'fake-chat', messages: [user('Where?')], output: { type: 'json', schema: CITY } };
    if (!(await isTaken(gateway, label, 'output.schema', request))) continue;
    const { body } = await gateway.chat(request);
    assert.deepEqual([JSON.parse(body.text ?? ''), body.stop_reason], [CITY_VALUE, 'end_turn'], label);
    const frames = await gateway.stream(request);
    assert.deepEqual(JSON.parse(frames.map(({ type, text }) => (type === 'text_delta' ? text : '')).join('')), CITY_VALUE, label);
    const { body: cut } = await gateway.chat({ ...request, max_tokens: 2 });
    assert.equal(cut.stop_reason, 'max_tokens', label);
    assert.throws(() => JSON.parse(cut.text ?? ''), SyntaxError, label);
  }
});

test('JSON without a schema is given or refused', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const [provider, label] of PROVIDERS) {
    const request = { provider, model: 'fake-chat', messages: [user('Where? Answer in JSON.')], output: { type: 'json' } };
    if (!(await isTaken(gateway, label, 'output', request))) continue;
    const { status, body } = await gateway.chat(request);
    assert.equal(status, 200, `${label}: ${body.error}`);
    assert.equal(typeof JSON.parse(body.text ?? ''), 'object', label);
  }
});

test("a schema that the provider refuses is the caller's bad request, without the provider's prose", async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const schema = { type: 'object', properties: { city: { type: 'string', minLength: 2 } }, required: ['city'] };
  const { status, body } = await gateway.chat({ provider: 'anthropic', model: 'fake-chat', messages: [user('Where?')], output: { type: 'json', schema } });
  assert.deepEqual([status, body.kind], [400, 'bad_request']);
  assert.doesNotMatch(body.error ?? '', /minLength|additionalProperties/);
});

const PDF = { type: 'document', media_type: 'application/pdf', data: 'JVBERi0xLjQK', name: 'a.pdf' };
const WORDS = { type: 'document', media_type: 'text/plain', data: 'b25lIHR3bw==', name: 'a.txt' };
const IMAGE = { type: 'image', media_type: 'image/png', data: 'iVBORw0KGgo=' };

for (const [feature, part] of [
  ['user document (pdf inline)', PDF],
  ['user document (pdf url)', { ...PDF, data: undefined, url: 'https://example.com/a.pdf' }],
  ['user document (text)', WORDS],
] as const) {
  test(`a ${feature} is read or refused`, async (t) => {
    const gateway = await startGateway(t, NO_RETRIES);
    for (const [provider, label] of PROVIDERS) {
      const request = { provider, model: 'fake-chat', messages: [{ role: 'user', content: [{ type: 'text', text: 'Read' }, part] }] };
      if (!(await isTaken(gateway, label, feature, request))) continue;
      const { status, body } = await gateway.chat(request);
      assert.equal(status, 200, `${label}: ${body.error}`);
      if (feature !== 'user document (text)') assert.match(body.text ?? '', /I read 1 document\./, label);
    }
  });
}

test('a tool shows an image and a document, also when it failed', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const call = (id: string): object => ({ type: 'tool_call', id, name: 'look', arguments: {} });
  const result = (id: string, content: unknown, isError: boolean): object => ({ role: 'tool', content: [{ type: 'tool_result', tool_call_id: id, content, is_error: isError }] });
  const shown = (provider: string, model: string, isError: boolean): object => ({
    provider,
    model,
    messages: [
      user('Go'),
      { role: 'assistant', content: [call('call_1'), call('call_2')] },
      result('call_2', [{ type: 'text', text: 'chart' }, IMAGE, PDF], isError),
      result('call_1', 'nothing', false),
    ],
    tools: [{ name: 'look' }],
  });
  for (const [provider, label] of PROVIDERS) {
    // Before Gemini 3, results hold text alone.
    for (const model of provider === 'gemini' ? ['fake-chat', 'gemini-2.5-flash'] : ['fake-chat']) {
      if (!(await isTaken(gateway, label, 'tool_result document', shown(provider, model, false)))) continue;
      for (const isError of [false, true]) {
        const { status, body } = await gateway.chat(shown(provider, model, isError));
        assert.equal(status, 200, `${label}: ${body.error}`);
        assert.match(body.text ?? '', /I see 1 image\. I read 1 document\./, label);
      }
    }
  }
});

test('one call at a time is what comes, or the request is refused', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const [provider, label] of PROVIDERS) {
    const request = { provider, model: 'fake-parallel', messages: [user('Go')], tools: [{ name: 'look' }, { name: 'read' }], tool_choice: { parallel: false } };
    if (!(await isTaken(gateway, label, 'tool_choice.parallel false', request))) continue;
    const { status, body } = await gateway.chat(request);
    assert.deepEqual([status, body.tool_calls?.length], [200, 1], `${label}: ${body.error}`);
  }
});

test('tools that are all strict are called', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
  for (const [provider, label] of PROVIDERS) {
    const request = { provider, model: 'fake-parallel', messages: [user('Go')], tools: [{ name: 'look', parameters, strict: true }] };
    if (!(await isTaken(gateway, label, 'tools strict', request))) continue;
    const { status, body } = await gateway.chat(request);
    assert.equal(status, 200, `${label}: ${body.error}`);
    assert.equal(typeof body.tool_calls?.[0]?.arguments?.['city'], 'string', label);
  }
});

test('with a cache hint what one turn wrote at Anthropic, the next one reads', async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  const asked = (...messages: object[]): object => ({ provider: 'anthropic', model: 'fake-chat', system: 'be brief please', messages, cache: { ttl: 'long' } });
  const { body: first } = await gateway.chat(asked(user('one two three')));
  const { body: next } = await gateway.chat(asked(user('one two three'), first.message, user('four')));
  const written = first.usage?.['cache_write_tokens'] ?? 0;
  assert.ok(written > 0 && first.usage?.['cache_read_tokens'] === undefined, JSON.stringify(first.usage));
  assert.equal(next.usage?.['cache_read_tokens'], written);
  assert.match(gateway.sandbox.calls[0]?.body ?? '', /"cache_control":\{"type":"ephemeral","ttl":"1h"\}/);
});

test("a user's name and a cache's key leave the gateway as digests alone, and a hint is refused nowhere", async (t) => {
  const gateway = await startGateway(t, NO_RETRIES);
  for (const [provider, label] of PROVIDERS) {
    const { status, body } = await gateway.chat({ provider, model: 'fake-chat', messages: [user('Hi')], user: 'someone', cache: { key: 'something', ttl: 'long' } });
    assert.equal(status, 200, `${label}: ${body.error}`);
    const sent = gateway.sandbox.calls.at(-1)?.body ?? '';
    assert.ok(!sent.includes('someone') && !sent.includes('something'), label);
    assert.equal(sent.includes(String(hashedName('user', 'default', 'someone', 'user'))), codecOf(label).adapter.support.user.is !== 'ignored', label);
  }
});
