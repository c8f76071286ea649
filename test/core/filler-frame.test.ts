import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFiller } from '../../src/core/filler-frame.ts';

test('isFiller is true of blank frames and of [DONE], and of nothing else', () => {
  for (const data of ['', ' ', '\n\t', '[DONE]', ' [DONE] ']) assert.equal(isFiller(data), true, data);
  for (const data of ['{}', '[]', 'DONE', '[done]', '"[DONE]"', '[DONE] {}']) assert.equal(isFiller(data), false, data);
});
