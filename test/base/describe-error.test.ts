import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, describeError } from '../../src/base/describe-error.ts';

test('describeError tells name, code and frames, and nothing of a message, also where a line of that looks like a frame', () => {
  const error: NodeJS.ErrnoException = new TypeError('quoted:\n    at the beginning of a prompt\n    at secret (file.ts:1:1)');
  error.code = 'E_TEST';
  const { error: name, at } = describeError(error);
  assert.equal(name, 'TypeError E_TEST');
  assert.match(at, /^at .*describe-error\.test\.ts/);
  assert.doesNotMatch(at, /prompt|secret/);
});

test('describeError tells no frames of a stack that is no text', () => {
  for (const stack of [[], [{}], null, undefined, 5]) assert.deepEqual(describeError(Object.assign(new RangeError('x'), { stack })), { error: 'RangeError', at: '' });
});

test('describeError tells of what is no error nothing but its type', () => {
  assert.deepEqual(describeError('a prompt'), { error: 'string', at: '' });
});

test('codeOf gives a code that looks like one, and nothing else', () => {
  const coded = (code: unknown): unknown => Object.assign(new Error('x'), { code });
  assert.deepEqual([coded('ENOENT'), coded('a b'), coded(5), new Error('x'), 'ENOENT'].map(codeOf), ['ENOENT', ...new Array<string>(4).fill('unknown error')]);
});
