import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keep } from '../../src/base/keep.ts';

test('of too many entries the one that was added first is forgotten', () => {
  const map = new Map<string, number>();
  for (const [index, key] of ['a', 'b', 'a', 'c', 'd'].entries()) keep(map, key, index, 3);
  assert.deepEqual([...map], [['b', 1], ['c', 3], ['d', 4]]);
});
