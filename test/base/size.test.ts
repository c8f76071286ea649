import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSize, renderSize } from '../../src/base/size.ts';

const taken: readonly (readonly [text: string, bytes: number])[] = [
  ['0', 0],
  ['65536', 65_536],
  ['0KiB', 0],
  ['512KiB', 524_288],
  ['16MiB', 16_777_216],
  ['1GiB', 1_073_741_824],
  ['9007199254740991', 9_007_199_254_740_991],
];

for (const [text, bytes] of taken) {
  test(`parseSize reads ${text}`, () => assert.equal(parseSize(text), bytes));
}

for (const text of ['', 'KiB', '-1', '+1', '1.5MiB', '1 MiB', ' 1', '1\n', '1KB', '1kib', '1K', '1B', '1TiB', '0x10', '1e3', '9007199254740992', '8388608GiB']) {
  test(`parseSize refuses ${JSON.stringify(text)}`, () => assert.equal(parseSize(text), undefined));
}

const rendered: readonly (readonly [bytes: number, text: string])[] = [
  [0, '0'],
  [1000, '1000'],
  [1025, '1025'],
  [65_536, '64KiB'],
  [16_777_216, '16MiB'],
  [1_610_612_736, '1536MiB'],
  [1_073_741_824, '1GiB'],
];

for (const [bytes, text] of rendered) {
  test(`renderSize writes ${bytes} as ${text}, which reads back`, () => {
    assert.equal(renderSize(bytes), text);
    assert.equal(parseSize(text), bytes);
  });
}
