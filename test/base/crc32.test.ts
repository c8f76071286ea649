import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, crc32ByTable } from '../../src/base/crc32.ts';
import { createRandom } from './random.ts';

const KNOWN: readonly (readonly [string, number])[] = [
  ['', 0],
  ['123456789', 0xcbf43926],
  ['The quick brown fox jumps over the lazy dog', 0x414fa339],
];

test('crc32 gives the known sums, by the table too', () => {
  for (const [text, sum] of KNOWN) {
    assert.equal(crc32(Buffer.from(text)), sum);
    assert.equal(crc32ByTable(Buffer.from(text)), sum);
  }
});

test('crc32 and its table agree on any bytes', () => {
  const random = createRandom(1);
  for (let round = 0; round < 50; round += 1) {
    const bytes = Buffer.from(Array.from({ length: random.below(300) }, () => random.below(256)));
    assert.equal(crc32(bytes), crc32ByTable(bytes));
  }
});
