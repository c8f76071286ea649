import assert from 'node:assert/strict';
import { test } from 'node:test';
import { format, inspect } from 'node:util';
import { padded, Secret } from '../../src/base/secret.ts';

const secret = new Secret('canary-value');

test('Secret shows its value only when asked to reveal it', () => {
  assert.equal(secret.reveal(), 'canary-value');
});

test('Secret prints as [set] wherever it is written', () => {
  const nested = { key: secret, list: [secret] };
  const written = [
    String(secret),
    `${secret}`,
    'x' + secret,
    JSON.stringify(nested),
    JSON.stringify({ ...secret }),
    Object.entries(secret).join(),
    inspect(nested, { depth: 9, showHidden: true }),
    inspect(new Map([[secret, secret]])),
    format('%s %o %O %j', secret, secret, secret, secret),
  ];
  for (const text of written) assert.doesNotMatch(text, /canary/);
  assert.equal(String(secret), '[set]');
  assert.equal(JSON.stringify(secret), '"[set]"');
  assert.equal(inspect(secret), '[set]');
});

test('Secret equals the padded form of its own value and of no other, whatever the lengths', () => {
  const texts = ['', 'canary-valu', 'canary-value', 'canary-value ', 'Canary-value', 'canary-value\0', 'canary-value\xff', 'x'.repeat(1_000_000)];
  for (let length = 120; length < 265; length += 1) texts.push('é'.repeat(8) + 'x'.repeat(length - 16));
  for (const text of texts) {
    const known = new Secret(text);
    for (const other of texts) assert.equal(known.equalsPadded(padded(other)), text === other);
  }
});

test('the padded form tells no length below that of most tokens', () => {
  assert.equal(padded('').length, padded('x'.repeat(127)).length);
  assert.ok(padded('x'.repeat(128)).length > 128);
});
