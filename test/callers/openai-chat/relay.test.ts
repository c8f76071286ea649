import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPENAI_CHAT } from '../../../src/callers/openai-chat/dialect.ts';
import { Failure } from '../../../src/core/failure.ts';
import { sentText } from '../../sent-text.ts';
import { decodedBy } from '../dialect-testing.ts';

/** What is passed on of an assistant's message, and what is named as left out. */
function relayedFrom(message: string, isVendor: boolean): readonly [string, readonly string[]] {
  const [body, ignored] = relayedBody(`{"model":"m","messages":[${message}]}`, isVendor);
  return [body.slice('{"model":"m","messages":['.length, -2), ignored];
}

function relayedBody(body: string, isVendor: boolean): readonly [string, readonly string[]] {
  const decoded = decodedBy(OPENAI_CHAT, body);
  if (decoded instanceof Failure) return assert.fail(decoded.message);
  const relayed = OPENAI_CHAT.relay?.encode(decoded, 'm', { caller: 'shop', allowsStored: true, isVendor }) ?? assert.fail();
  if (relayed instanceof Failure) return assert.fail(relayed.message);
  return [sentText(relayed), relayed.ignored];
}

const OWN = '"extra_content":{"google":{"thought_signature":"gateway:text=a.acme.AA"}}';

test('reasoning beside what the gateway carried is taken out with it', () => {
  for (const isVendor of [true, false]) {
    assert.deepEqual(relayedFrom(`{"role":"assistant","content":"A","reasoning_content":"Hm.",${OWN}}`, isVendor), [
      '{"role":"assistant","content":"A"}',
      ['messages[0].reasoning_content', 'messages[0].extra_content'],
    ]);
    assert.deepEqual(relayedFrom(`{"role":"assistant","reasoning_content":"Hm.","tool_calls":[{"id":"c"},{"id":"d",${OWN}}]}`, isVendor), [
      '{"role":"assistant","tool_calls":[{"id":"c"},{"id":"d"}]}',
      ['messages[0].reasoning_content', 'messages[0].tool_calls[1].extra_content'],
    ]);
  }
});

test('other reasoning is kept from the vendor alone, which has no place for it', () => {
  const message = '{"role":"assistant", "content":"A", "reasoning_content":"Hm."}';
  assert.deepEqual(relayedFrom(message, false), [message, []]);
  assert.deepEqual(relayedFrom(message, true), ['{"role":"assistant","content":"A"}', ['messages[0].reasoning_content']]);
});

test('a message without any of it stays as it was written', () => {
  const message = '{ "role":"assistant", "content":"\\u0041", "extra_content":{"google":{"thought_signature":"CsMBAQ=="}} }';
  assert.deepEqual(relayedFrom(message, true), [message, []]);
});

test('messages that are no list are left to the provider to refuse', () => {
  for (const body of ['{"model":"m","messages":"Hi"}', '{"model":"m"}']) assert.deepEqual(relayedBody(body, true), [body, []]);
});
