import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sha256 } from '../../src/base/sha256.ts';

test('sha256 gives the digest of the UTF-8 bytes in hex', () => {
  assert.equal(sha256('é'), '4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c');
});
