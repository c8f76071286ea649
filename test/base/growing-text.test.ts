import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrowingText } from '../../src/base/growing-text.ts';

test('a text is all its pieces in order, read after any of them', () => {
  for (let count = 0; count <= 200; count += 1) {
    const pieces = Array.from({ length: count }, (_, i) => (i % 7 === 0 ? '' : `${i}é😀`));
    const text = new GrowingText('start');
    for (const piece of pieces) text.add(piece);
    assert.equal(text.length, 'start'.length + pieces.join('').length);
    assert.equal(text.text, `start${pieces.join('')}`);
  }
});

test('what is read between two pieces changes nothing', () => {
  const read = new GrowingText();
  let expected = '';
  for (let i = 0; i < 300; i += 1) {
    read.add(`${i},`);
    expected += `${i},`;
    if (i % 5 === 0) assert.equal(read.text, expected);
    assert.equal(read.length, expected.length);
  }
  assert.equal(read.text, expected);
  assert.equal(read.text, expected);
});

test('a text of no piece is empty', () => {
  assert.deepEqual([new GrowingText().text, new GrowingText().length], ['', 0]);
});
