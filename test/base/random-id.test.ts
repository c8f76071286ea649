import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomId } from '../../src/base/random-id.ts';

test('a random id is 32 hex digits that no other of thousands has', () => {
  const ids = Array.from({ length: 5000 }, randomId);
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(new Set(ids.map((id) => id.slice(0, 16))).size, ids.length);
  assert.equal(new Set(ids.map((id) => id.slice(16))).size, ids.length);
});
