import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from '../../src/base/nearest.ts';

const known = ['GATEWAY_ADDR', 'GATEWAY_AUTH_TOKEN', 'GATEWAY_AUTH_TOKENS', 'GATEWAY_MAX_RETRIES', 'GATEWAY_LOG_LEVEL'];

const cases: readonly (readonly [what: string, word: string, expected: string | undefined])[] = [
  ['the word itself', 'GATEWAY_ADDR', 'GATEWAY_ADDR'],
  ['a word with a character missing', 'GATEWAY_MAX_RETRIE', 'GATEWAY_MAX_RETRIES'],
  ['a word with a character too many', 'GATEWAY_ADDRR', 'GATEWAY_ADDR'],
  ['a word with a character replaced', 'GATEWAY_LOG-LEVEL', 'GATEWAY_LOG_LEVEL'],
  ['a word with two neighbours swapped', 'GATEWAY_LOG_LEVLE', 'GATEWAY_LOG_LEVEL'],
  ['a word with its parts in another order', 'GATEWAY_RETRIES_MAX', undefined],
  ['the nearer of two', 'GATEWAY_AUTH_TOKENZ', 'GATEWAY_AUTH_TOKEN'],
  ['a word that resembles none', 'something', undefined],
  ['the empty word', '', undefined],
];

for (const [what, word, expected] of cases) {
  test(`nearest to ${what} is ${expected ?? 'nothing'}`, () => assert.equal(nearest(word, known), expected));
}

test('nearest counts a swap as one edit', () => {
  assert.equal(nearest('abcdef', ['xbcdez', 'bacdef']), 'bacdef');
});

test('nearest takes the first of several equally near', () => {
  assert.equal(nearest('abc', ['abx', 'aby']), 'abx');
});

test('nearest allows two edits in a short word and a third of a long one', () => {
  assert.equal(nearest('abcdef', ['abcdyz']), 'abcdyz');
  assert.equal(nearest('abcdef', ['abcxyz']), undefined);
  assert.equal(nearest('abcdefghijkl', ['abcdefghwxyz']), 'abcdefghwxyz');
  assert.equal(nearest('abcdefghijkl', ['abcdefgvwxyz']), undefined);
});

test('nearest does not suggest a word of which less than half was written', () => {
  assert.equal(nearest('abc', ['axy']), undefined);
  assert.equal(nearest('abcd', ['abxy']), 'abxy');
  assert.equal(nearest('a', ['b']), undefined);
  assert.equal(nearest('seed', ['stop', 'text', 'tools']), undefined);
});

test('nearest takes no heed of case', () => {
  assert.equal(nearest('MODEL', ['modem', 'model']), 'model');
  assert.equal(nearest('a', ['A']), 'A');
});

test('nearest does not look up a word of more than 128 characters', () => {
  assert.equal(nearest('x'.repeat(128), ['x'.repeat(128)]), 'x'.repeat(128));
  assert.equal(nearest('x'.repeat(129), ['x'.repeat(129)]), undefined);
});

test('nearest of an empty list is nothing', () => assert.equal(nearest('abc', []), undefined));
