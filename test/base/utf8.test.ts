/** Bytes to text, at every way of cutting them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largeUtf8Text, utf8Text } from '../../src/base/utf8.ts';

const PIECE = 1024 * 1024;
const turn = async (): Promise<void> => undefined;

test('utf8Text takes a byte order mark away, and nothing else', () => {
  assert.equal(utf8Text(Buffer.from('\uFEFFé')), 'é');
  assert.equal(utf8Text(Buffer.from('é\uFEFF')), 'é\uFEFF');
  assert.equal(utf8Text(Buffer.alloc(0)), '');
  // Each has two of the mark's three bytes.
  for (const begun of ['\uFEC0b', '\uFF3Fb', '\u2EFFb']) assert.equal(utf8Text(Buffer.from(begun)), begun);
});

test('utf8Text and largeUtf8Text have no text for what is no UTF-8', async () => {
  for (const bytes of [[0xc3], [0xff], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
    assert.equal(utf8Text(Buffer.from(bytes)), undefined);
    assert.equal(await largeUtf8Text(Buffer.from(bytes), turn), undefined);
  }
});

test('largeUtf8Text gives the text that utf8Text gives, whatever character a piece would end in', async () => {
  for (const character of ['x', 'é', '語', '😀']) {
    for (let before = 0; before < 4; before += 1) {
      const bytes = Buffer.from(`\uFEFF${'a'.repeat(before)}${character.repeat(PIECE / 2)}`);
      assert.ok((await largeUtf8Text(bytes, turn)) === utf8Text(bytes), `${before} before ${character}`);
    }
  }
});

test('largeUtf8Text lets others have their turn after each piece', async () => {
  let turns = 0;
  await largeUtf8Text(Buffer.from('é'.repeat(3 * PIECE / 2 + 1)), async () => void (turns += 1));
  assert.equal(turns, 4);
});
