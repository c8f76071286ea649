import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteBuffer } from '../../src/base/byte-buffer.ts';
import { createRandom } from './random.ts';

test('ByteBuffer joins pieces of any size, whatever length was expected', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const random = createRandom(seed);
    const pieces = Array.from({ length: random.below(40) }, () => Buffer.alloc(random.below(100), random.below(256)));
    const buffer = new ByteBuffer(10_000, random.pick([0, 1, 50, 5000, 1e9, -1, NaN, Infinity]));
    for (const piece of pieces) assert.ok(buffer.append(piece));
    assert.deepEqual(buffer.bytes, Buffer.concat(pieces), `seed ${seed}`);
    assert.equal(buffer.length, buffer.bytes.length);
  }
});

test('ByteBuffer takes exactly its limit, and of a piece beyond it nothing', () => {
  const buffer = new ByteBuffer(5);
  assert.equal(buffer.append(Buffer.from('1234')), true);
  assert.equal(buffer.append(Buffer.from('56')), false);
  assert.equal(buffer.bytes.toString(), '1234');
  assert.equal(buffer.append(Buffer.from('5')), true);
  assert.equal(buffer.append(Buffer.from('6')), false);
  assert.equal(buffer.bytes.toString(), '12345');
});

test('ByteBuffer adds the part of a piece that it is told', () => {
  const buffer = new ByteBuffer(10);
  buffer.append(Buffer.from('abcdef'), 1, 3);
  buffer.append(Buffer.from('abcdef'), 4);
  assert.equal(buffer.bytes.toString(), 'bcef');
});

test('ByteBuffer keeps its own copy', () => {
  const buffer = new ByteBuffer(10);
  const piece = Buffer.from('first');
  buffer.append(piece);
  piece.fill('x');
  assert.equal(buffer.bytes.toString(), 'first');
});

test('ByteBuffer begins anew after clear', () => {
  for (const kept of [0, 100]) {
    const buffer = new ByteBuffer(10);
    buffer.append(Buffer.from('0123456789'));
    buffer.clear(kept);
    assert.equal(buffer.length, 0);
    assert.equal(buffer.append(Buffer.from('abc')), true);
    assert.equal(buffer.bytes.toString(), 'abc');
  }
});

test('ByteBuffer holds at most twice what was added, and never more than its limit', () => {
  const buffer = new ByteBuffer(1024 * 1024, 1e9);
  const one = Buffer.alloc(1024);
  for (let bytes = 1024; bytes <= 1024 * 1024; bytes += 1024) {
    buffer.append(one);
    // Small buffers share a pool, which has 64 KiB in newer versions of Node.
    assert.ok(buffer.bytes.buffer.byteLength <= Math.max(2 * bytes, 64 * 1024), `${bytes}`);
  }
});
