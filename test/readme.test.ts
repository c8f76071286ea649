import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readReadme, withTables } from './readme.ts';

test("the README's tables are what the code says (renew them with: node --import tsx test/readme.ts)", () => {
  assert.equal(readReadme(), withTables(readReadme()));
});
