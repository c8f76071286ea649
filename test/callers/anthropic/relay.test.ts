import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderJson } from '../../../src/base/json/render.ts';
import { ANTHROPIC } from '../../../src/callers/anthropic/dialect.ts';
import { Failure } from '../../../src/core/failure.ts';
import { sentText } from '../../sent-text.ts';
import { decodedBy, FACTS } from '../dialect-testing.ts';

/** The messages that are passed on of these, and what is named as left out. */
function relayedFrom(...messages: readonly string[]): readonly [string, readonly string[]] {
  const decoded = decodedBy(ANTHROPIC, `{"model":"m","max_tokens":9,"messages":[${messages.join(',')}]}`);
  if (decoded instanceof Failure) return assert.fail(decoded.message);
  const relayed = ANTHROPIC.relay?.encode(decoded, 'm', { caller: 'shop', allowsStored: true, isVendor: true }) ?? assert.fail();
  if (relayed instanceof Failure) return assert.fail(relayed.message);
  return [sentText(relayed).slice('{"model":"m","max_tokens":9,"messages":['.length, -2), relayed.ignored];
}

const HI = '{"role":"user","content":"Hi"}';
const OWN = '{"type":"thinking","thinking":"Hm.","signature":"gateway:own=a.acme.AA"}';
const OTHERS = '{"type":"thinking","thinking":"Hm.","signature":"CsMBAQ=="}';
const TEXT = '{"type":"text","text":"\\u0041"}';

test('what the gateway carried for another provider is taken out of a message, and all else of it stays as it was written', () => {
  assert.deepEqual(relayedFrom(HI, `{"role":"assistant","content":[${OWN},${OTHERS},${TEXT}]}`, HI), [
    `${HI},{"role":"assistant","content":[${OTHERS},${TEXT}]},${HI}`,
    ['messages[1].content[0]'],
  ]);
});

test('a message that held nothing else is left out whole', () => {
  assert.deepEqual(relayedFrom(HI, `{"role":"assistant","content":[${OWN}]}`, HI), [`${HI},${HI}`, ['messages[1].content[0]']]);
});

test('texts without a word are taken out of what an assistant said, and out of nothing else', () => {
  const [blank, other] = ['{"type":"text","text":" \\n"}', '{"type":"hologram","text":""}'];
  const said = (role: string, ...blocks: readonly string[]): string => `{"role":"${role}","content":[${blocks.join(',')}]}`;
  assert.deepEqual(relayedFrom(said('user', blank), said('assistant', blank, other, TEXT), HI), [
    `${said('user', blank)},${said('assistant', other, TEXT)},${HI}`,
    ['messages[1].content[0]'],
  ]);
});

test('a whole answer goes on as it came, but for the model that its caller asked for', () => {
  const relayed = (raw: string): string => renderJson(ANTHROPIC.relay?.encodeReply(raw, FACTS) ?? assert.fail());
  for (const raw of ['{"model":"asked-model", "later":1.0,"content":[]}', '{"model":"other",}']) assert.equal(relayed(raw), raw);
  assert.equal(relayed('{"id":"a", "model":"other","later":1.0}'), '{"id":"a","model":"asked-model","later":1.0}');
});
